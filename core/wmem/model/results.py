"""Results of operations: promotion, search, erasure, the queue's replies, and what became of each unit of a pack."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple, Self, TypeAlias, overload

from wmem.model.gate import NO_COUNTS, Rejected
from wmem.model.history import Path
from wmem.model.item import MemoryItem

RecallKind: TypeAlias = Literal["entry", "item", "message"]
Shortfall: TypeAlias = Literal["weak words", "less than the best", "not valid then", "told by others", "no passage"]
"""Why a text is left out: its words of the question say too little, or little beside the best text's; or what it says
does not hold at the time that the question asks for. Of a summary: what it covers can be found itself, or no two of its
sentences have enough of the question together."""


RecallForm: TypeAlias = Literal["", "record", "answer", "summary"]
"""What a hit is in its exchange: a record, or the answer to a question that matches."""


class RecallHit(NamedTuple):
    """One result of `Scope.recall`.

    Attributes:
        path: The scope that holds it: the one that was asked, or a parent.
        score: What it is ranked by; larger is better, comparable within one list only.
        parts: What was added up to the score, by name, and the factors other than 1 (``x date``); ``update``, perhaps
            0, where a newer statement of the same says otherwise, or it is the one that was put first.
        text: What was matched: a message with its calls, an item's content, an entry as ``key: value``.
        superseded_by: Id of a newer statement of the same that says otherwise; None for none.
    """

    id: str
    kind: RecallKind
    path: Path
    score: float
    parts: Mapping[str, float]
    text: str
    superseded_by: str | None = None


class Promoted(NamedTuple):
    """Result of promoting one item of several.

    Attributes:
        id: The requested id.
        success: Whether it is in long-term memory now.
        long_term_id: Its id there.
        error: Why it failed, for a person.
    """

    id: str
    success: bool
    long_term_id: str | None = None
    error: str | None = None


class BulkPromotion(NamedTuple):
    """Result of promoting several items: counts, and one result each in the requested order."""

    success: int
    failed: int
    results: tuple[Promoted, ...]


class Erased(NamedTuple):
    """Result of an erasure.

    Attributes:
        complete: Whether nothing that this store controls keeps any of the content.
        remaining: One sentence for each place that may keep some, and what its operator must do.
        ids: What was erased, copies included, by id.
    """

    complete: bool
    remaining: tuple[str, ...]
    ids: tuple[str, ...] = ()


class MergeCount(int):
    """How many entries and items a merge copied: a number that also says what became of others.

    Attributes:
        overwritten: What the merge replaced by other content in the parent: keys of entries, and ids of
            copies that an earlier merge had made.
        renamed: Items that went into the parent under another id, for it had something else under theirs:
            their id in the child, to their id in the parent.
    """

    overwritten: tuple[str, ...]
    renamed: Mapping[str, str]

    def __new__(cls, count: int, *, overwritten: Sequence[str] = (), renamed: Mapping[str, str] | None = None) -> Self:
        """Make the result."""
        made = super().__new__(cls, count)
        made.overwritten = tuple(overwritten)
        made.renamed = MappingProxyType({**(renamed or {})})
        return made


class BelowFloor(NamedTuple):
    """An item that shares words with a query, but too few to be a result.

    Attributes:
        score: By which it would have been ranked.
        words: Stems of the query's words that it has.
        reason: ``weak words``: they are in nearly every item, or common in the language, or few of a short query's.
            ``less than the best``: the best item has much more of the query. ``not valid then``: the time of the query
            is not between the item's `valid_from` and `valid_to`. Of summaries: see `Shortfall`.
    """

    id: str
    score: float
    words: tuple[str, ...]
    reason: Shortfall


class SearchResults(tuple[MemoryItem, ...]):  # noqa: SLOT001  # a tuple of variable size takes no slots
    """Items that a search found, best first, as a tuple.

    Attributes:
        total: How many matched, those beyond the limit included.
        scores: The ranking score of each, in the same order: relevance in [0, 1], importance,
            BM25, or for recency the time it was added. Of nearly equal BM25 scores the larger may come second.
        below_floor: The best hundred of those that share words with the query and are no match for it.
        below_floor_total: How many these are in all.
        superseded_by: Of results that a newer item says otherwise of, such as where one lives: their ids, to the
            newer item's. That one is a result, too, where the limit has room. Known of searches by words alone.
    """

    total: int
    scores: tuple[float, ...]
    below_floor: tuple[BelowFloor, ...]
    below_floor_total: int
    superseded_by: Mapping[str, str]

    def __new__(
        cls,
        matches: Sequence[tuple[MemoryItem, float]] = (),
        total: int = 0,
        below_floor: Sequence[BelowFloor] = (),
        below_floor_total: int = 0,
        superseded_by: Mapping[str, str] = MappingProxyType({}),
    ) -> Self:
        """Make the result of the best matches with their scores, and the number of all matches."""
        made = super().__new__(cls, (item for item, _ in matches))
        made.total = total
        made.scores = tuple(score for _, score in matches)
        made.below_floor = tuple(below_floor)
        made.below_floor_total = below_floor_total
        made.superseded_by = MappingProxyType({**superseded_by})
        return made

    def explain(self) -> str:
        """A line for each result with its score, and for each item below the floor with the reason."""
        lines = [f"{len(self)} of {self.total} matches"]
        newer = {id: f"  changed later: {by}" for id, by in self.superseded_by.items()}
        lines += [
            f"{score:8.3f}  {item.id}{newer.get(item.id, '')}" for item, score in zip(self, self.scores, strict=True)
        ]
        if self.below_floor_total:
            lines.append(f"below the floor: {self.below_floor_total}")
        lines += [f"{each.score:8.3f}  {each.id}  {each.reason}: {', '.join(each.words)}" for each in self.below_floor]
        return "\n".join(lines)


class Memorized(NamedTuple):
    """Result of memorizing one item.

    Attributes:
        item: As it is stored.
        position: Its position among the visible items, 0 for the oldest.
        evicted: Items evicted for it, first to last; softly deleted ones included.
        items: Number of visible items now.
        tokens: Total tokens of these.
        rejected: Why the memory type did not take it; then it is stored nowhere, and `item` and `position` are what
            they would be.
        redactions: How many texts of each kind were redacted in it.
    """

    item: MemoryItem
    position: int
    evicted: tuple[MemoryItem, ...]
    items: int
    tokens: int
    rejected: Rejected | None = None
    redactions: Mapping[str, int] = NO_COUNTS


class Remembered(NamedTuple):
    """One item that a memory type remembers for a query.

    Attributes:
        score: What it is ranked by; larger is better, comparable within one list only.
        parts: What the score is made of, by name, if the type tells.
    """

    item: MemoryItem
    score: float
    parts: Mapping[str, float] = MappingProxyType({})


class Forgotten(NamedTuple):
    """Result of an instruction to forget.

    Attributes:
        ids: Ids of the forgotten items, oldest first; empty when none matched.
        items: Number of visible items now.
        tokens: Total tokens of these.
    """

    ids: tuple[str, ...]
    items: int
    tokens: int


class Summary(NamedTuple):
    """Extractive summary: the most informative sentences, in their original order.

    Attributes:
        text: At most the requested number of tokens; empty when not even a piece of a sentence fits.
        tokens: Tokens of the text.
        sources: The ids of the items it quotes.
    """

    text: str
    tokens: int
    sources: tuple[str, ...]


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
        left_out: Tools whose calls the message goes without, because they have no result.
        blocks_left_out: Kinds of blocks that the messages go without, because the prompt's provider takes none.
        scope: Id of the scope that it is from: the one that was packed, a parent, or long-term memory.
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
    left_out: tuple[str, ...] = ()
    blocks_left_out: tuple[str, ...] = ()
    scope: str = ""


class RecallUse(NamedTuple):
    """A recalled unit of a prompt: the parts of its score, and whether the answer used it."""

    parts: Mapping[str, float]
    used: bool


class LazyReports(Sequence[UnitReport]):
    """Reports that are built on first access: most packs are sent without being explained.

    Args:
        has_any: Whether there is any, without building them.
    """

    __slots__ = ("_build", "_has_any", "_reports")

    def __init__(self, build: Callable[[], Sequence[UnitReport]], has_any: Callable[[], bool] | None = None) -> None:
        self._build: Callable[[], Sequence[UnitReport]] | None = build
        self._has_any = has_any
        self._reports: tuple[UnitReport, ...] = ()

    def __bool__(self) -> bool:
        if self._build is not None and (has_any := self._has_any) is not None:
            return has_any()
        return bool(self._load())

    def _load(self) -> tuple[UnitReport, ...]:
        # Two threads may both build them; the results are equal.
        if (write := self._build) is not None:
            self._reports = tuple(write())
            self._build = self._has_any = None  # they reference all that the pack considered
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
