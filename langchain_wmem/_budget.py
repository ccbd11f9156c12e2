"""The ceiling of a model call in tokens: a number, a share of the model's window, or all of it."""

from collections.abc import Mapping
from numbers import Integral
from typing import Any, NamedTuple, Self, TypeVar, cast

from langchain_wmem._models import input_window
from wmem.adapter import check_budget, describe
from wmem.errors import InvalidInputError

_UNKNOWN_WINDOW = (
    "the model's window is not known: {model} has no profile with max_input_tokens; pass budget= as a number of "
    "tokens, or the model with profile={{'max_input_tokens': …}}"
)
S = TypeVar("S", bound=Mapping[str, Any])

_STATE_KEY = "wmem_ceiling"
"""Where a request's state tells the instances inside; the state that the agent keeps has no such key."""


class Ceiling(NamedTuple):
    """What a call may take, as one instance decided it: another one inside it that packs again stays below.

    Attributes:
        limit: Tokens of the model, the reply included.
        reserve: How many of these are kept for the reply.
        room: Tokens of the prompt, in wmem's own count; None while no prompt was packed.
        names: The instances that have decided, from the outermost on.
    """

    limit: int
    reserve: int
    room: int | None = None
    names: tuple[str, ...] = ()

    @classmethod
    def read(cls, state: Mapping[str, Any]) -> Self | None:
        """The ceiling of the instance around this one; None if this is the outermost."""
        found = state.get(_STATE_KEY)
        return found if isinstance(found, cls) else None

    def write(self, state: S) -> S:
        """The state of a request that is handed to the instances inside."""
        return cast("S", {**state, _STATE_KEY: self})

    def within(self, outer: "Ceiling | None") -> "Ceiling":
        """The ceiling that holds for both: the lower limit, and the least room for a prompt."""
        if outer is None:
            return self
        limit = min(self.limit, outer.limit)
        return Ceiling(
            limit, limit - min(self.limit - self.reserve, outer.limit - outer.reserve), outer.room, outer.names
        )

    def lower(self, budget: int) -> int:
        """The budget of a pack, at most what the room around it allows."""
        return budget if self.room is None else min(budget, self.room + self.reserve)


class Budget:
    """What a user chose as the ceiling, and what follows from it for each model.

    A model without a profile that comes after others, as one to fall back to, gets the
    smallest window of those: better a careful prompt than none.

    Args:
        size: Tokens; a share of the model's window, a float above 0 and up to 1; or None for the whole window.

    Raises:
        InvalidInputError: Anything else.
    """

    def __init__(self, size: float | None) -> None:
        self._size = check_budget(size)
        self._smallest: int | None = None  # window that was met

    @property
    def needs_model(self) -> bool:
        """Whether it depends on the model."""
        return not isinstance(self._size, Integral)

    def tokens(self, model: object) -> int:
        """The ceiling for a call of this model, the reply included.

        Raises:
            InvalidInputError: It depends on the window, and no model said how large its is.
        """
        if isinstance(self._size, Integral):
            return int(self._size)
        window = input_window(model)
        if window is not None:
            self._smallest = min(window, self._smallest or window)
        elif self._smallest is None:
            raise InvalidInputError(_UNKNOWN_WINDOW.format(model=describe(type(model).__name__)))
        share = 1.0 if self._size is None else self._size
        return max(1, int(share * (window or self._smallest)))
