"""What a provider's tokens are in ours, learned from the usage it reports back."""

import math
from dataclasses import dataclass, replace

from wmem.errors import InvalidInputError

__all__ = ["Calibration"]

_LEAST, _MOST = 0.5, 3.0
_DOWN = 0.2
"""The part of the way that one cheaper prompt takes it down."""
_SMALL = 64
"""Tokens below which a prompt is mostly delimiters, and tells little."""
_OVER = 1.1
"""What a refused prompt has at least, as a multiple of what was let in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How many tokens a provider counts for one of ours; a value, kept by whoever learns.

    It rises to a dearer count at once and sinks slowly: a prompt that is too large is
    refused, one that is too small only wastes room. Nothing is recorded.

    Attributes:
        factor: Provider's tokens for one of ours, from 0.5 to 3.
        seen: Reports it was learned from.
    """

    factor: float = 1.0
    seen: int = 0

    def __post_init__(self) -> None:
        if not _LEAST <= self.factor <= _MOST:
            msg = f"factor must be between {_LEAST} and {_MOST}, not {self.factor!r}"
            raise InvalidInputError(msg)

    def learn(self, counted: int, reported: int) -> "Calibration":
        """The calibration after a provider reported what a prompt took that we counted.

        A report about fewer than 64 tokens of ours, or of none, changes nothing.

        Args:
            counted: Our count of the prompt: `Context.tokens` without what was reserved.
            reported: The provider's, of input tokens, cached ones included.
        """
        if counted < 0 or reported < 0:
            msg = f"tokens cannot be negative: counted {counted}, reported {reported}"
            raise InvalidInputError(msg)
        if counted < _SMALL or not reported:
            return self
        told = min(_MOST, max(_LEAST, reported / counted))
        # The first report is all there is to go by.
        dearer = told >= self.factor or not self.seen
        return replace(self, factor=told if dearer else self.factor + _DOWN * (told - self.factor), seen=self.seen + 1)

    def refused(self, counted: int, limit: int) -> "Calibration":
        """The calibration after a provider refused as too large a prompt that we counted.

        Args:
            limit: What the provider lets in.
        """
        if counted <= 0 or limit <= 0:
            msg = f"a refused prompt and its limit have tokens: counted {counted}, limit {limit}"
            raise InvalidInputError(msg)
        told = _OVER * max(self.factor, limit / counted)
        return replace(self, factor=min(_MOST, max(_LEAST, told)), seen=self.seen + 1)

    def budget(self, limit: int) -> int:
        """The budget in our tokens for a limit in the provider's."""
        return max(1, math.floor(limit / self.factor))
