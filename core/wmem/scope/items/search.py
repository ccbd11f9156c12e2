"""Item search: filters, text match and ranking, as a pure read over a state.

From the first search on, the case-folded texts are kept beside the state and updated with
what changed since the last search.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from operator import itemgetter
from typing import Any, Literal, NamedTuple, TypeAlias

from wmem.analysis.analyzer import to_terms, to_words
from wmem.errors import InvalidInputError
from wmem.model.checks import check_limit, check_metadata, check_tags
from wmem.model.item import Priority, parse_confidence
from wmem.model.results import SearchResults
from wmem.model.row import Row
from wmem.model.values import load_json
from wmem.policy import PRIORITIES, Policy
from wmem.retrieval.index import Index
from wmem.retrieval.relevance import relevance
from wmem.rules.importance import importance as importance_of
from wmem.rules.json_equality import json_equal
from wmem.scope.handle import Read
from wmem.scope.items.reads import to_current_item
from wmem.state import State

__all__ = ["Order", "search_items"]

Order: TypeAlias = Literal["relevance", "recency", "importance", "recall"]

_ORDERS = ("relevance", "recency", "importance", "recall")


class _Filter(NamedTuple):
    """The filters of a search, beside the query."""

    tags: frozenset[str]
    priority: str | None
    metadata: Mapping[str, Any]
    min_confidence: float | None
    include_expired: bool
    include_promoted: bool

    def apply(self, rows: Iterable[Row], now: float) -> Iterator[Row]:
        """The rows that pass; written out for speed, for it runs on every match."""
        expired, promoted, tags, priority = self.include_expired, self.include_promoted, self.tags, self.priority
        plain = not self.metadata and self.min_confidence is None
        for row in rows:
            until = row.expires_at
            if row.deleted_at is not None or (until is not None and now >= until and not expired):
                continue
            if (row.promoted_to is not None and not promoted) or (priority is not None and row.priority != priority):
                continue
            if not (tags and tags.isdisjoint(row.tags)) and (plain or self._accepts(load_json(row.rest or b"{}"))):
                yield row

    def _accepts(self, rest: Mapping[str, Any]) -> bool:
        confidence = rest.get("confidence")
        if self.min_confidence is not None and (confidence is None or confidence < self.min_confidence):
            return False
        known = rest.get("metadata", {})
        return all(name in known and json_equal(known[name], value) for name, value in self.metadata.items())


class _ItemIndex:
    """The case-folded texts of a state's items and, once needed, a BM25 index of them."""

    __slots__ = ("index", "texts")

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.index: Index | None = None

    @classmethod
    def of(cls, state: State) -> "_ItemIndex":
        """The index of a state, brought up to date."""
        held = state.search_index
        fresh = not isinstance(held, cls) or state.search_changes is None
        made = cls() if fresh or not isinstance(held, cls) else held
        news = state.items if fresh else state.search_changes
        if news:
            for each in news:
                made.put(each, state.rows[each] if each in state.items else None)
        # Assigned last: a view is read without a lock, and its other readers must not see it half built.
        state.search_index, state.search_changes = made, {}
        return made

    def put(self, item_id: str, row: Row | None) -> None:
        if row is None:
            if self.texts.pop(item_id, None) is not None and self.index is not None:
                self.index.remove(item_id)
            return
        text = load_json(row.content)
        self.texts[item_id] = text.casefold()
        if self.index is not None:
            self.index.add(item_id, text)

    def bm25_index(self) -> Index:
        """The BM25 index, built on first use."""
        if self.index is None:
            made = Index()
            for each, text in self.texts.items():
                made.add(each, text)
            self.index = made
        return self.index


def search_items(
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
) -> Read[SearchResults]:
    """The items that match the query and every filter, best first; see `ItemReads.search`."""
    if query is not None and not isinstance(query, str):
        msg = f"query must be text, or None for filters alone, got {query!r:.80}"
        raise InvalidInputError(msg)
    if order is not None and order not in _ORDERS:
        msg = f"order must be one of {', '.join(_ORDERS)}, got {order!r:.80}"
        raise InvalidInputError(msg)
    if priority is not None and priority not in PRIORITIES:
        msg = f"priority must be one of {', '.join(PRIORITIES)}, got {priority!r:.80}"
        raise InvalidInputError(msg)
    asked = _Filter(
        frozenset(check_tags(tags)),
        priority,
        check_metadata(metadata),
        None if min_confidence is None else parse_confidence(min_confidence),
        include_expired,
        include_promoted,
    )
    most = check_limit(limit)
    wanted = (query or "").strip()

    def read(states: Sequence[State], now: float) -> SearchResults:
        state, ranked_by = states[0], order or policy().search_order
        matches = _matches(state, wanted, ranked_by)
        kept = list(asked.apply(map(state.rows.__getitem__, reversed(matches)), now))  # newest first among equals
        if ranked_by == "recency":
            best = [(row, row.created_at) for row in kept[:most]]
        else:
            scored = zip(kept, _scores(state, kept, matches, ranked_by, now, has_query=bool(wanted)), strict=True)
            best = nlargest(most, scored, key=itemgetter(1))
        return SearchResults([(to_current_item(state, row, now), score) for row, score in best], len(kept))

    return read


def _matches(state: State, query: str, ranked_by: Order) -> dict[str, float]:
    """Ids of matching items, oldest first, with the match's position for ``relevance``, else the BM25 score."""
    if not query:
        return dict.fromkeys(state.items, 0.0)
    haystack = _ItemIndex.of(state)
    needle, texts = query.casefold(), haystack.texts
    if ranked_by == "relevance":
        return {each: texts[each].find(needle) for each in state.items if needle in texts[each]}
    if not to_terms(query):
        holds = _stop_word_matcher(query)
        return {each: 0.0 for each in state.items if holds(texts[each])}
    scores = dict(haystack.bm25_index().search(query, len(haystack.texts)))
    return {each: scores[each] for each in state.items if each in scores}


def _stop_word_matcher(query: str) -> Callable[[str], bool]:
    """A test whether a folded text has any of a query's stop words, or its symbols if it has no words."""
    if not (words := to_words(query)):
        needle = query.casefold()
        return lambda text: needle in text
    alone = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, words))})(?![^\W_])")
    return lambda text: alone.search(text) is not None


def _scores(
    state: State, rows: Sequence[Row], matches: Mapping[str, float], ranked_by: Order, now: float, *, has_query: bool
) -> Iterator[float]:
    """The score each row is ranked by; larger is better."""
    unwritten = state.unwritten_touches
    for row in rows:
        if ranked_by == "recall" and has_query:
            yield matches[row.id]
            continue
        more = unwritten[row.id][0] if unwritten and row.id in unwritten else 0
        score = importance_of(row, now, more)
        if ranked_by == "relevance":
            score = relevance(int(matches[row.id]), row.length, row.access_count + more, score)
        yield score
