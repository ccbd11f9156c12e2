"""Reports on the units of a pack, built on first access."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias, overload

__all__ = ["Fate", "LazyReports", "Placed", "RecallUse", "UnitReport"]

Fate: TypeAlias = Literal["included", "truncated", "dropped"]
Placed: TypeAlias = Literal["messages", "note", "nowhere"]


class UnitReport(NamedTuple):
    """Report on one unit: messages that are kept or dropped together, or one item.

    Attributes:
        ids: The messages or the item, in order.
        rule: Why, as a stable word: pinned, newest, in-flight, recent, recalled, filled,
            summary; for what was dropped: budget, orphan, superseded, older, …
        tokens: Tokens in the prompt; of a dropped unit, what it would have taken.
        tokens_cut: How many tokens a truncation took out; 0 otherwise.
        score: Its score in recall; None when recall did not rank it.
        parts: The score by component.
        says: Beginning of the text that the note quotes; "" outside the note.
        sources: Of a summary, which has no id: ids of the messages it quotes.
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


class RecallUse(NamedTuple):
    """A recalled unit of a prompt: the parts of its score, and whether the answer used it."""

    parts: Mapping[str, float]
    used: bool


class LazyReports(Sequence[UnitReport]):
    """Reports that are built on first access: most packs are sent without being explained."""

    __slots__ = ("_build", "_reports")

    def __init__(self, build: Callable[[], Sequence[UnitReport]]) -> None:
        self._build: Callable[[], Sequence[UnitReport]] | None = build
        self._reports: tuple[UnitReport, ...] = ()

    def _load(self) -> tuple[UnitReport, ...]:
        # Two threads may both build them; the results are equal.
        if (write := self._build) is not None:
            self._reports = tuple(write())
            self._build = None  # it references all that the pack considered
        return self._reports

    @overload
    def __getitem__(self, at: int, /) -> UnitReport: ...
    @overload
    def __getitem__(self, at: slice, /) -> tuple[UnitReport, ...]: ...
    def __getitem__(self, at: int | slice, /) -> UnitReport | tuple[UnitReport, ...]:
        return self._load()[at]

    def __len__(self) -> int:
        return len(self._load())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazyReports | tuple):
            return self._load() == tuple(other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._load())

    def __repr__(self) -> str:
        return repr(self._load())

    def __reduce__(self) -> tuple[type[tuple[UnitReport, ...]], tuple[tuple[UnitReport, ...]]]:
        # Pickle and copy as a plain tuple.
        return tuple, (self._load(),)
