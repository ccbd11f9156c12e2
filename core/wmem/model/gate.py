"""What may enter which memory: the gate's minima, routing rules, and what it says of an item that it refuses."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.model.checks import check_fraction, check_id, check_new_names

NO_COUNTS: Mapping[str, int] = MappingProxyType({})


class Rejected(NamedTuple):
    """Why a memory type did not take an item.

    Attributes:
        reason: ``importance`` or ``novelty``, which is too little, or ``size``, which is too much.
        value: The item's importance or novelty, 0 to 1, or its tokens.
        minimum: What it had to be at least; of a size, at most.
    """

    reason: str
    value: float
    minimum: float


@dataclass(frozen=True, slots=True)
class Route:
    """A rule that says to which memory types an item goes; it applies where all that it names holds of the item.

    Upper and lower case, and blanks around a word, make no difference. What names nothing applies to every item.

    Attributes:
        name: What the reply and the trace call it.
        stores: The names of the memory types: built-in ones, or some of those that `wmem.open` gets as `memory_types`.
        types: One of these is the item's type; none accepts all, here and below.
        kinds: One of these is its kind, see `MemoryItem.kind`.
        tags: It has one of these tags at least.
        sources: One of these is its source, see `MemoryItem.source`.
        min_importance: Its importance is so high at least, 0 to 1.

    Raises:
        InvalidInputError: A value out of range.
    """

    name: str
    stores: Sequence[str]
    _: KW_ONLY
    types: Collection[str] = ()
    kinds: Collection[str] = ()
    tags: Collection[str] = ()
    sources: Collection[str] = ()
    min_importance: float = 0.0

    def __post_init__(self) -> None:
        check_new_names(check_id(self.name))
        for part in ("stores", "types", "kinds", "tags", "sources"):
            object.__setattr__(self, part, _check_words(getattr(self, part), f"{part} of the route {self.name!r}"))
        if not self.stores:
            raise InvalidInputError(f"the route {self.name!r} names no memory type in stores")
        check_fraction(self.min_importance, "min_importance")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What an item must have to enter a memory, and rules that say which.

    Items are weighed, messages of the conversation are not: they are always taken. So are tool calls that are tracked
    and progress that is reported, since they tell what has happened.

    Attributes:
        min_importance: The least importance of an item, 0 to 1; 0 takes all. What is as high is taken. An item that
            comes with none is weighed by its text and priority.
        min_novelty: The least novelty of an item, 0 to 1; 0 takes all. It is 1 less the greatest nearness to what the
            memory type holds: 0 for what is said there already. What differs in a number, a name, a negation or the
            order of its words is never below 0.5. Nor is what has a redacted value without a vault: nobody knows
            whether the value is the one that is stored.
        routes: The first one that applies decides; where none does, types and kinds decide.

    Raises:
        InvalidInputError: A value out of range, or two routes of one name.
    """

    min_importance: float = 0.0
    min_novelty: float = 0.0
    routes: Sequence[Route] = ()

    def __post_init__(self) -> None:
        check_fraction(self.min_importance, "min_importance")
        check_fraction(self.min_novelty, "min_novelty")
        listed = tuple(self.routes) if isinstance(self.routes, Sequence) and not isinstance(self.routes, str) else None
        if listed is None or not all(isinstance(each, Route) for each in listed):
            raise InvalidInputError(f"routes must be a list of wmem.Route, got {describe(self.routes)}")
        names = [each.name for each in listed]
        if len(set(names)) < len(names):
            raise InvalidInputError("two routes have the same name")
        object.__setattr__(self, "routes", listed)


class Minima(NamedTuple):
    """The least importance and novelty that a memory type takes."""

    importance: float = 0.0
    novelty: float = 0.0

    def raise_to(self, other: "Minima") -> "Minima":
        """The higher of each."""
        return Minima(*map(max, self, other))


@dataclass(frozen=True, slots=True)
class Gates:
    """The gate of a memory, with what its memory types ask for themselves."""

    gate: Gate = field(default_factory=Gate)
    by_store: Mapping[str, Minima] = field(default_factory=dict)

    def minima(self, store: str) -> Minima:
        """What an item must have to enter a memory type."""
        own = Minima(self.gate.min_importance, self.gate.min_novelty)
        return own.raise_to(self.by_store.get(store, Minima()))


def _check_words(words: object, name: str) -> tuple[str, ...]:
    listed = () if isinstance(words, str | bytes) or not isinstance(words, Collection) else tuple(words)
    if (not listed and words not in ((), [])) or not all(isinstance(each, str) and each.strip() for each in listed):
        raise InvalidInputError(f"{name} must be a list of words, got {describe(words)}")
    return tuple(dict.fromkeys(listed))
