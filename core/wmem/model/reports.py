"""What became of each unit of a pack, told when somebody looks."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias, overload

__all__ = ["Fate", "Placed", "Reports", "UnitReport", "Use"]

Fate: TypeAlias = Literal["included", "truncated", "dropped"]
Placed: TypeAlias = Literal["messages", "note", "nowhere"]


class UnitReport(NamedTuple):
    """What became of one unit: messages that stand or fall together, or one item.

    Attributes:
        ids: The messages or the item, in order.
        rule: Why, as a stable word: pinned, newest, in-flight, recent, recalled, filled,
            summary; for what was dropped: budget, orphan, superseded, older, …
        tokens: What it costs in the prompt; for a dropped one what it would have cost.
        tokens_cut: How many tokens a truncation took out; 0 otherwise.
        score: What recall gave it, None when it was not asked.
        parts: The score by component.
        says: How it begins, of what the note quotes; what stands among the messages says it there.
        sources: Of a summary, which has no id: the messages that its sentences are from.
    """

    ids: tuple[str, ...]
    fate: Fate
    rule: str
    placed: Placed
    tokens: int
    tokens_cut: int = 0
    score: float | None = None
    parts: Mapping[str, float] = MappingProxyType({})
    says: str = ""
    sources: tuple[str, ...] = ()


class Use(NamedTuple):
    """One unit that a pack recalled, the parts of its score, and whether the answer made use of it."""

    parts: Mapping[str, float]
    used: bool


class Reports(Sequence[UnitReport]):
    """Reports that are written at the first look: most packs are sent, and few are asked why."""

    __slots__ = ("_made", "_write")

    def __init__(self, write: Callable[[], Sequence[UnitReport]]) -> None:
        self._write: Callable[[], Sequence[UnitReport]] | None = write
        self._made: tuple[UnitReport, ...] = ()

    def _told(self) -> tuple[UnitReport, ...]:
        # Two threads may both write them, and write the same.
        if (write := self._write) is not None:
            self._made = tuple(write())
            self._write = None  # it holds all that the pack looked at
        return self._made

    @overload
    def __getitem__(self, at: int, /) -> UnitReport: ...
    @overload
    def __getitem__(self, at: slice, /) -> tuple[UnitReport, ...]: ...
    def __getitem__(self, at: int | slice, /) -> UnitReport | tuple[UnitReport, ...]:
        return self._told()[at]

    def __len__(self) -> int:
        return len(self._told())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Reports | tuple):
            return self._told() == tuple(other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._told())

    def __repr__(self) -> str:
        return repr(self._told())

    def __reduce__(self) -> tuple[type[tuple[UnitReport, ...]], tuple[tuple[UnitReport, ...]]]:
        # What is stored or sent is what they say.
        return tuple, (self._told(),)
