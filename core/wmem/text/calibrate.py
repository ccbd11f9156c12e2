"""What a provider's tokens are in ours, learned from the usage it reports back."""

import math
import threading
from dataclasses import dataclass, replace
from typing import NamedTuple

from wmem.errors import InvalidInputError

__all__ = ["Calibration", "Calibrations"]

_LEAST, _MOST = 0.5, 3.0
_DOWN = 0.2
"""The part of the way that one cheaper prompt takes it down."""
_SMALL = 64
"""Tokens below which a prompt is mostly delimiters, and tells little."""
_OVER = 1.1
"""What a refused prompt has at least, as a multiple of what was let in."""
_STEPS = 16
"""Steps of a budget's factor between one and two: the range in which a count varies from prompt to prompt."""


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


class _Known(NamedTuple):
    """What is known of one model."""

    short: Calibration = Calibration()
    """Learned from prompts below half of the limit."""
    long: Calibration = Calibration()
    factor: float = 1.0
    """What budgets go by: a step at or above what was learned."""

    @property
    def learned(self) -> Calibration:
        return self.long if self.long.seen else self.short

    def settled(self) -> "_Known":
        """The same with the factor moved, if what was learned is above it or far enough below."""
        due = max(1.0, math.ceil(self.learned.factor * _STEPS) / _STEPS)
        moves = due > self.factor or due < self.factor - 1 / _STEPS
        return self._replace(factor=due) if moves else self


class Calibrations:
    """What providers' tokens are in ours, learned of each model by its name, and the budgets that follow from it.

    A budget never exceeds the limit: what a provider counts cheaper in one prompt may be
    dear in the next, so a cheaper count only gives back what a dearer one took. It moves in
    steps, up at once and down late, so that the front of a prompt does not move with every
    report. What short prompts tell, which is mostly what a provider adds to each of them,
    counts until a prompt of at least half of the limit was reported.

    Safe to use from several threads. Nothing is stored.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, _Known] = {}

    def factor(self, model: str | None = None) -> float:
        """Tokens of the model for one of ours, at least 1, as budgets go by; without a name, the dearest known."""
        with self._lock:
            known = self._known.values() if model is None else [self._known.get(model, _Known())]
            return max((each.factor for each in known), default=1.0)

    def budget(self, limit: int, *, model: str | None = None, reserve: int = 0) -> int:
        """The budget of a pack, in our tokens, for a limit in the model's; at most the limit.

        Args:
            model: Its name; by default the dearest that is known.
            reserve: Tokens of the limit for the reply, in the model's as well; a pack
                is given the same number to keep free.
        """
        room = limit - reserve
        return reserve + Calibration(factor=self.factor(model)).budget(room) if room > 0 else limit

    def learn(self, model: str, counted: int, reported: int, *, limit: int) -> None:
        """Take in what a model's provider reported of a prompt.

        Args:
            counted: See `Calibration.learn`.
            reported: See `Calibration.learn`.
            limit: Tokens of the model that a prompt may have, without the reply's.
        """
        with self._lock:
            known = self._known.get(model, _Known())
            if 2 * max(reported, counted * known.factor) >= limit:
                known = known._replace(long=known.long.learn(counted, reported))
            else:
                known = known._replace(short=known.short.learn(counted, reported))
            self._known[model] = known.settled()

    def refused(self, model: str, counted: int, *, limit: int) -> None:
        """Take in that a model's provider refused a prompt as too large; see `Calibration.refused`."""
        with self._lock:
            known = self._known.get(model, _Known())
            self._known[model] = known._replace(long=known.learned.refused(counted, limit)).settled()

    def fade(self, model: str | None = None) -> None:
        """Trust what was learned a little less; of all models without a name.

        For when nothing fits the budget that follows from it: where nothing is sent, nothing
        is reported that could put right what was learned wrong.
        """
        with self._lock:
            for name in list(self._known) if model is None else [model]:
                known = self._known.get(name, _Known())
                if known.factor > 1.0:
                    # Downwards, to the next step at least.
                    factor = math.floor((known.factor + _DOWN * (1.0 - known.factor)) * _STEPS) / _STEPS
                    faded = replace(known.learned, factor=factor)
                    known = known._replace(long=faded) if known.long.seen else known._replace(short=faded)
                    self._known[name] = known._replace(factor=factor)
