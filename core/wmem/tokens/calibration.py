"""Ratio of a provider's token counts to ours, learned from the usage it reports."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.fork import new_renewed_lock

_MIN_FACTOR, _MAX_FACTOR = 0.5, 3.0
_DECAY = 0.2  # how far one cheaper report lowers the factor, as a part of the difference
_MIN_PROMPT_TOKENS = 64  # fewest tokens of a prompt to learn from: a shorter one is mostly delimiters
_REFUSED_RATIO = 1.1  # least size assumed of a refused prompt, as a multiple of the limit
_FACTOR_STEPS = 16
"""Steps of a budget's factor between 1 and 2; one is about how much counts vary from prompt to prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How many tokens a provider counts for one of ours; an immutable value that the caller keeps.

    It rises to a higher count at once and falls slowly: a prompt that is too large is
    refused, one that is too small only wastes room. Nothing is stored.

    Attributes:
        factor: Provider's tokens for one of ours, from 0.5 to 3.
        seen: Number of reports it was learned from.
    """

    factor: float = 1.0
    seen: int = 0

    def __post_init__(self) -> None:
        if not _MIN_FACTOR <= self.factor <= _MAX_FACTOR:
            raise InvalidInputError(
                f"factor must be between {_MIN_FACTOR} and {_MAX_FACTOR}, not {describe(self.factor)}"
            )

    def learn(self, counted: int, reported: int) -> "Calibration":
        """The calibration after a provider reported the tokens of a prompt.

        A prompt of fewer than 64 of our tokens, or a report of 0, changes nothing.

        Args:
            counted: Our count of the prompt: `Context.tokens` without what was reserved.
            reported: The provider's count of input tokens, cached ones included.
        """
        if counted < 0 or reported < 0:
            raise InvalidInputError(
                f"tokens cannot be negative: counted {describe(counted)}, reported {describe(reported)}"
            )
        if counted < _MIN_PROMPT_TOKENS or not reported:
            return self
        ratio = min(_MAX_FACTOR, max(_MIN_FACTOR, reported / counted))
        # The first report is taken as it is.
        dearer = ratio >= self.factor or not self.seen
        factor = ratio if dearer else self.factor + _DECAY * (ratio - self.factor)
        return replace(self, factor=factor, seen=self.seen + 1)

    def learn_refusal(self, counted: int, limit: int) -> "Calibration":
        """The calibration after a provider refused a prompt as too large.

        Args:
            counted: Our count of the prompt.
            limit: The largest prompt that the provider accepts, in its tokens.
        """
        if counted <= 0 or limit <= 0:
            told = f"counted {describe(counted)}, limit {describe(limit)}"
            raise InvalidInputError(f"a refused prompt and its limit have tokens: {told}")
        factor = _REFUSED_RATIO * max(self.factor, limit / counted)
        return replace(self, factor=min(_MAX_FACTOR, max(_MIN_FACTOR, factor)), seen=self.seen + 1)

    def budget(self, limit: int) -> int:
        """The budget in our tokens for a limit in the provider's."""
        return max(1, math.floor(limit / self.factor))


class _ModelCalibration(NamedTuple):
    """What was learned about one model."""

    short: Calibration = Calibration()
    """Learned from prompts below half of the limit."""
    long: Calibration = Calibration()
    factor: float = 1.0
    """The factor that budgets use: what was learned, rounded up to a step."""

    @property
    def current(self) -> Calibration:
        return self.long if self.long.seen else self.short

    def with_stepped_factor(self) -> "_ModelCalibration":
        """A copy with the factor adjusted, if what was learned is above it or at least a step below."""
        due = max(1.0, math.ceil(self.current.factor * _FACTOR_STEPS) / _FACTOR_STEPS)
        moves = due > self.factor or due < self.factor - 1 / _FACTOR_STEPS
        return self._replace(factor=due) if moves else self


class Calibrations:
    """Calibrations by model name, and the budgets that follow from them.

    A budget never exceeds the limit: the next prompt may cost more per token than this one,
    so a lower count only gives back what a higher one took. The factor moves in steps, up at
    once and down late, so that the stable prefix of a prompt does not move with every report.
    Reports about short prompts, which mostly measure what a provider adds to each prompt,
    are used until a prompt of at least half of the limit was reported.

    Thread-safe. Nothing is stored.
    """

    def __init__(self) -> None:
        self._lock = new_renewed_lock()
        self._by_model: dict[str, _ModelCalibration] = {}

    def factor(self, model: str | None = None) -> float:
        """Tokens of the model for one of ours, at least 1, as budgets use it; without a name, the highest known."""
        with self._lock:
            known = self._by_model.values() if model is None else [self._by_model.get(model, _ModelCalibration())]
            return max((each.factor for each in known), default=1.0)

    def budget(self, limit: int, *, model: str | None = None, reserve: int = 0) -> int:
        """The budget of a pack, in our tokens, for a limit in the model's; at most the limit.

        Args:
            model: Name of the model; by default the one with the highest known factor.
            reserve: Part of the limit kept for the reply, in the model's tokens; pass the
                same number to the pack as its `reserve`.
        """
        room = limit - reserve
        return reserve + Calibration(factor=self.factor(model)).budget(room) if room > 0 else limit

    def learn(self, model: str, counted: int, reported: int, *, limit: int) -> None:
        """Learn from the usage that a model's provider reported.

        Args:
            counted: See `Calibration.learn`.
            reported: See `Calibration.learn`.
            limit: Largest prompt in the model's tokens, without the reply.
        """
        with self._lock:
            known = self._by_model.get(model, _ModelCalibration())
            if 2 * max(reported, counted * known.factor) >= limit:
                known = known._replace(long=known.long.learn(counted, reported))
            else:
                known = known._replace(short=known.short.learn(counted, reported))
            self._by_model[model] = known.with_stepped_factor()

    def learn_refusal(self, model: str, counted: int, *, limit: int) -> None:
        """Learn that a model's provider refused a prompt as too large; see `Calibration.refused`."""
        with self._lock:
            known = self._by_model.get(model, _ModelCalibration())
            self._by_model[model] = known._replace(
                long=known.current.learn_refusal(counted, limit)
            ).with_stepped_factor()

    def fade(self, model: str | None = None) -> None:
        """Lower a model's factor towards 1; without a name, that of all models.

        For when nothing fits the budget: without a prompt there is no report that could
        correct a wrong factor.
        """
        with self._lock:
            for name in list(self._by_model) if model is None else [model]:
                known = self._by_model.get(name, _ModelCalibration())
                if known.factor > 1.0:
                    # Rounded down to a step, so that it moves by one at least.
                    factor = math.floor((known.factor + _DECAY * (1.0 - known.factor)) * _FACTOR_STEPS) / _FACTOR_STEPS
                    faded = replace(known.current, factor=factor)
                    known = known._replace(long=faded) if known.long.seen else known._replace(short=faded)
                    self._by_model[name] = known._replace(factor=factor)
