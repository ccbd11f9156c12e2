"""Item search: filters, text match and ranking; searches by words go through the index of recall."""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from heapq import nlargest
from operator import itemgetter
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from wmem.analysis.analyzer import to_terms, to_words
from wmem.describe import describe
from wmem.engine.derived import Derived
from wmem.engine.replica import Replica
from wmem.errors import InvalidInputError
from wmem.flow import Flow
from wmem.model.checks import check_limit
from wmem.model.results import SearchResults
from wmem.model.row import Row
from wmem.model.values import load_json
from wmem.policy import Policy
from wmem.retrieval.relevance import relevance
from wmem.retrieval.retriever import Query
from wmem.retrieval.retriever import search as retrieve
from wmem.rules.importance import importance as importance_of
from wmem.scope.handle import Handle
from wmem.scope.items.filters import ItemFilter
from wmem.scope.items.reads import to_current_item
from wmem.state import State

Order: TypeAlias = Literal["relevance", "recency", "importance", "recall"]

_ORDERS = ("relevance", "recency", "importance", "recall")


class ItemTexts(Derived):
    """The case-folded texts of a scope's items."""

    __slots__ = ("texts",)

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        for id, row in changed.items():
            if row is not None and row.key is None and row.role is None:
                self.texts[id] = load_json(row.content).casefold()
            else:
                self.texts.pop(id, None)


class Search(NamedTuple):
    """A search of items, checked; see `ItemReads.search`."""

    query: str
    filter: ItemFilter
    order: Order | None
    limit: int


class RunSearch(Protocol):
    """Runs a search of a scope's items."""

    def __call__(self, search: Search, /) -> SearchResults: ...


class AsyncRunSearch(Protocol):
    """See `RunSearch`."""

    def __call__(self, search: Search, /) -> Awaitable[SearchResults]: ...


def parse_search(query: str | None, item_filter: ItemFilter, order: Order | None, limit: int) -> Search:
    """Check the arguments of a search.

    Raises:
        InvalidInputError: Anything out of range.
    """
    if query is not None and not isinstance(query, str):
        raise InvalidInputError(f"query must be text, or None for filters alone, got {describe(query)}")
    if order is not None and order not in _ORDERS:
        raise InvalidInputError(f"order must be one of {', '.join(_ORDERS)}, got {describe(order)}")
    return Search((query or "").strip(), item_filter, order, check_limit(limit))


def search_items(handle: Handle, search: Search) -> Flow[SearchResults]:
    """The items of a scope that match, best first."""
    (replica,) = yield from handle.replicas(local_only=True)
    return search_replica(replica, search, handle.policy, handle.settings.clock())


def search_replica(replica: Replica[Any], search: Search, policy: Policy, now: float) -> SearchResults:
    """The items of a replica that match, best first."""
    order = search.order or policy.search_order
    if not search.query:
        with replica.lock:
            return _rank(replica.state, dict.fromkeys(replica.state.items, 0.0), search, order, now)
    if order != "relevance" and to_terms(search.query):
        return _search_words(replica, search, order, now)

    def match(known: ItemTexts) -> SearchResults:
        with replica.lock:
            known.apply(replica.take_changed_rows(ItemTexts))
            items, texts = replica.state.items, known.texts
            if order == "relevance":
                needle = search.query.casefold()
                matches: dict[str, float] = {each: texts[each].find(needle) for each in items if needle in texts[each]}
            else:
                holds = _stop_word_matcher(search.query)
                matches = {each: 0.0 for each in items if holds(texts[each])}
            return _rank(replica.state, matches, search, order, now)

    return replica.use_derived(ItemTexts, match)


def _search_words(replica: Replica[Any], search: Search, order: Order, now: float) -> SearchResults:
    """Search by the index of recall, among items that share a word."""
    query = Query(search.query, now, None, len(replica.state.rows), accepts=_is_item)
    scores = {hit.row.id: hit.score for hit in retrieve([replica], query)}
    with replica.lock:
        matches = {each: scores[each] for each in filter(scores.__contains__, replica.state.items)}
        return _rank(replica.state, matches, search, order, now)


def _is_item(row: Row) -> bool:
    return row.key is None and row.role is None


def _rank(state: State, matches: dict[str, float], search: Search, order: Order, now: float) -> SearchResults:
    """The matching items that pass the filters, best first.

    Args:
        matches: Ids, oldest first, with the match's position for ``relevance``, the score for ``recall``.
    """
    # Newest first among equals.
    rows = list(search.filter.apply(map(state.rows.__getitem__, reversed(matches)), now))
    if order == "recency":
        best = [(row, row.created_at) for row in rows[: search.limit]]
    else:
        scored = zip(rows, _scores(state, rows, matches, order, now, has_query=bool(search.query)), strict=True)
        best = nlargest(search.limit, scored, key=itemgetter(1))
    return SearchResults([(to_current_item(state, row, now), score) for row, score in best], len(rows))


def _stop_word_matcher(query: str) -> Callable[[str], bool]:
    """A test whether a folded text has any of a query's stop words, or its symbols if it has no words."""
    if not (words := dict.fromkeys(to_words(query))):  # few: all of them are stop words
        needle = query.casefold()
        return lambda text: needle in text
    alone = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, words))})(?![^\W_])")
    return lambda text: alone.search(text) is not None


def _scores(
    state: State, rows: Sequence[Row], matches: Mapping[str, float], order: Order, now: float, *, has_query: bool
) -> Iterator[float]:
    """The score each row is ranked by; larger is better."""
    unwritten = state.unwritten_touches
    for row in rows:
        if order == "recall" and has_query:
            yield matches[row.id]
            continue
        more = unwritten[row.id][0] if unwritten and row.id in unwritten else 0
        score = importance_of(row, now, more)
        if order == "relevance":
            score = relevance(int(matches[row.id]), row.length, row.access_count + more, score)
        yield score
