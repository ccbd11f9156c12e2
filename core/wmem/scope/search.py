"""Searching session memories: what matches, in what order, and how many there are.

The texts are kept folded beside the state from the first search on, and brought up
to date by what changed since the last.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from wmem.errors import InvalidInputError
from wmem.model.checks import as_tags, checked_limit
from wmem.model.item import Priority, checked_confidence
from wmem.model.outcomes import Hits
from wmem.model.row import Row
from wmem.model.values import load_json
from wmem.policy import PRIORITIES, Policy
from wmem.rules.importance import importance as importance_of
from wmem.rules.likeness import same
from wmem.rules.relevance import relevance
from wmem.scope.handle import Read
from wmem.scope.item_reads import as_item, shown
from wmem.state import State
from wmem.text.index import Index

__all__ = ["Order", "found"]

Order: TypeAlias = Literal["relevance", "recency", "importance", "recall"]

_ORDERS = ("relevance", "recency", "importance", "recall")


class _Filter(NamedTuple):
    """What an item must be, beside holding the query."""

    tags: frozenset[str]
    priority: str | None
    metadata: Mapping[str, Any]
    min_confidence: float | None
    include_expired: bool
    include_promoted: bool

    def passes(self, row: Row, now: float) -> bool:
        if not shown(row, now, include_expired=self.include_expired, include_promoted=self.include_promoted):
            return False
        if self.tags and self.tags.isdisjoint(row.tags):
            return False
        if self.priority is not None and row.priority != self.priority:
            return False
        if not self.metadata and self.min_confidence is None:
            return True
        rest = load_json(row.rest or b"{}")
        confidence = rest.get("confidence")
        if self.min_confidence is not None and (confidence is None or confidence < self.min_confidence):
            return False
        known = rest.get("metadata", {})
        return all(name in known and same(known[name], value) for name, value in self.metadata.items())


class _Haystack:
    """The folded texts of a state's items, and, once words are asked for, an index of them."""

    __slots__ = ("index", "texts")

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.index: Index | None = None

    @classmethod
    def of(cls, state: State) -> "_Haystack":
        """That of a state, up to date."""
        held = state.haystack
        fresh = not isinstance(held, cls) or state.sought is None
        made = cls() if fresh or not isinstance(held, cls) else held
        news = state.items if fresh else state.sought
        if news:
            for each in news:
                made.put(each, state.rows[each] if each in state.items else None)
        # Last, for a view is read without a lock: another of its readers must not meet half of it.
        state.haystack, state.sought = made, {}
        return made

    def put(self, changed: str, row: Row | None) -> None:
        if row is None:
            if self.texts.pop(changed, None) is not None and self.index is not None:
                self.index.remove(changed)
            return
        text = load_json(row.content)
        self.texts[changed] = text.casefold()
        if self.index is not None:
            self.index.add(changed, text)

    def words(self) -> Index:
        """The index, built when it is first needed."""
        if self.index is None:
            made = Index()
            for each, text in self.texts.items():
                made.add(each, text)
            self.index = made
        return self.index


def found(
    policy: Callable[[], Policy],
    query: str | None,
    *,
    tags: Iterable[str],
    priority: Priority | None,
    metadata: Mapping[str, Any] | None,
    min_confidence: float | str | None,
    include_expired: bool,
    include_promoted: bool,
    order: Order | None,
    limit: int,
) -> Read[Hits]:
    """What matches everything asked for, best first; see `ItemReads.search`."""
    if query is not None and not isinstance(query, str):
        msg = f"query must be text, or None for filters alone, got {query!r:.80}"
        raise InvalidInputError(msg)
    if order is not None and order not in _ORDERS:
        msg = f"order must be one of {', '.join(_ORDERS)}, got {order!r:.80}"
        raise InvalidInputError(msg)
    if priority is not None and priority not in PRIORITIES:
        msg = f"priority must be one of {', '.join(PRIORITIES)}, got {priority!r:.80}"
        raise InvalidInputError(msg)
    if metadata is not None and not isinstance(metadata, Mapping):
        msg = f"metadata must be pairs of names and values, got {metadata!r:.80}"
        raise InvalidInputError(msg)
    asked = _Filter(
        frozenset(as_tags(tags)),
        priority,
        metadata or {},
        None if min_confidence is None else checked_confidence(min_confidence),
        include_expired,
        include_promoted,
    )
    most = checked_limit(limit)
    wanted = (query or "").strip()

    def read(states: Sequence[State], now: float) -> Hits:
        state, ranked_by = states[0], order or policy().search_order
        matches = _matches(state, wanted, ranked_by)
        rows = state.rows
        kept = [(rows[each], score) for each, score in matches.items() if asked.passes(rows[each], now)]
        ranked = _ranked(state, kept, ranked_by, now, matched=bool(wanted))
        return Hits([(as_item(state, row, now), score) for row, score in ranked[:most]], len(ranked))

    return read


def _matches(state: State, wanted: str, ranked_by: Order) -> dict[str, float]:
    """The ids of what holds the query, oldest first: by relevance with the place of it, else with its BM25 score."""
    if not wanted:
        return dict.fromkeys(state.items, 0.0)
    haystack = _Haystack.of(state)
    if ranked_by == "relevance":
        needle = wanted.casefold()
        return {each: float(text.find(needle)) for each, text in haystack.texts.items() if needle in text}
    scores = dict(haystack.words().search(wanted, len(haystack.texts)))
    return {each: scores[each] for each in state.items if each in scores}


def _ranked(
    state: State, kept: list[tuple[Row, float]], ranked_by: Order, now: float, *, matched: bool
) -> list[tuple[Row, float]]:
    """The rows with what they are ranked by, best first; of equals the newest first."""
    unwritten = state.unwritten
    newest = kept[::-1]
    if ranked_by == "recency":
        return [(row, row.created_at) for row, _ in newest]
    if ranked_by == "recall" and matched:
        return sorted(newest, key=lambda each: -each[1])
    scored = []
    for row, at in newest:
        more, _ = unwritten.get(row.id, (0, 0.0))
        score = importance_of(row, now, more)
        if ranked_by == "relevance":
            score = relevance(int(at), row.length, row.access_count + more, score)
        scored.append((row, score))
    scored.sort(key=lambda each: -each[1])
    return scored
