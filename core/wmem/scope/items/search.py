"""Item search: filters, text match and ranking; searches by words go through the index of recall and its floor."""

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from heapq import nlargest
from itertools import islice
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from wmem.analysis.analyzer import list_unspaced_runs, to_words
from wmem.analysis.normalization import fold
from wmem.analysis.plain_spelling import to_plain_spelling
from wmem.analysis.query_terms import condense_query
from wmem.describe import describe
from wmem.engine.derived import Derived
from wmem.engine.replica import Replica
from wmem.errors import InvalidInputError
from wmem.flow import Flow
from wmem.model.checks import check_limit
from wmem.model.results import BelowFloor, SearchResults, Shortfall
from wmem.model.row import Row
from wmem.model.values import load_json
from wmem.model.zones import to_zone
from wmem.policy import Policy
from wmem.retrieval.candidate_rows import Hit
from wmem.retrieval.floor import Match
from wmem.retrieval.index import WordMatches
from wmem.retrieval.near_equal import order_near_equals
from wmem.retrieval.question_time import QuestionTime, find_needed
from wmem.retrieval.relevance import relevance
from wmem.retrieval.retriever import Query, find_unfit_summaries, intersect_terms, keep_once, match_words
from wmem.retrieval.updates import MAX_HITS, find_updates, mark_updates
from wmem.rules.importance import importance as importance_of
from wmem.rules.precedence import is_item, precedence
from wmem.scope.handle import Handle
from wmem.scope.index_store import prepare_index
from wmem.scope.items.filters import ItemFilter
from wmem.scope.items.reads import to_current_item
from wmem.state import State

Order: TypeAlias = Literal["relevance", "recency", "importance", "recall"]

_ORDERS = ("relevance", "recency", "importance", "recall")
_MAX_UNSPACED_WORD = 4
_QUESTION_MARKS = ("?", "？", "؟")  # noqa: RUF001  # full width, and Arabic
_MAX_BELOW_LISTED = 100


class ItemTexts(Derived):
    """The texts of a scope's items, folded and in plain spelling; also as they are spelled, where that is another."""

    __slots__ = ("spelled", "texts")

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.spelled: dict[str, str] = {}

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        for id, row in changed.items():
            if row is not None and row.key is None and row.role is None:
                spelled = fold(load_json(row.content))
                self.texts[id] = plain = to_plain_spelling(spelled)
                if plain != spelled:
                    self.spelled[id] = spelled
                else:
                    self.spelled.pop(id, None)
            else:
                self.texts.pop(id, None)
                self.spelled.pop(id, None)

    def find(self, text: str, ids: Iterable[str]) -> tuple[dict[str, float], frozenset[str]]:
        """Where the text is in the items that contain it, and which of these spell it otherwise."""
        needle, texts = fold(text), self.texts
        plain = to_plain_spelling(needle)
        places: dict[str, float] = {id: texts[id].find(plain) for id in ids if plain in texts[id]}
        return places, frozenset(id for id in places if needle not in self.spelled.get(id, texts[id]))


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
    if _compares_words(replica, search, handle.policy):
        yield from prepare_index(handle.engine, [replica])
    return search_replica(replica, search, handle.policy, handle.settings.clock())


def search_replica(replica: Replica[Any], search: Search, policy: Policy, now: float) -> SearchResults:
    """The items of a replica that match, best first."""
    order = search.order or policy.search_order
    asked = QuestionTime(search.query, now, to_zone(policy.zone))
    rows, given = replica.state.rows, search
    search = search._replace(filter=given.filter.at_time(lambda row: asked.accepts_alone(row, rows)))
    if not search.query:
        with replica.lock:
            return _rank(replica.state, dict.fromkeys(replica.state.items, 0.0), search, order or "relevance", now)
    if not _compares_words(replica, search, policy):
        return _search_texts(replica, search, order or "relevance", now)
    if order not in (None, "recall"):
        return _search_by_words(replica, search, policy, order, now)
    # What was superseded may pass: the newer one comes with it.
    with_newer = given._replace(filter=given.filter.at_time(asked.accepts))
    by_words = _search_by_words(replica, with_newer, policy, "recall", now)
    if order is not None:
        return by_words
    if by_words.total:
        return by_words
    # Words that are typed in part ("next alp") share none, and stand in a text.
    as_it_stands = _search_texts(replica, search, "relevance", now)
    return as_it_stands if as_it_stands.total else by_words


def _compares_words(replica: Replica[Any], search: Search, policy: Policy) -> bool:
    """Whether a search goes through the index, and does not look for its text as it stands."""
    order, text = search.order or policy.search_order, condense_query(search.query)
    if order == "relevance" or not replica.analyzer.analyze_distinct(text).terms:
        return False
    return order is not None or is_question(text)


def _search_by_words(replica: Replica[Any], search: Search, policy: Policy, order: Order, now: float) -> SearchResults:
    """The items that share words with the query; in the order of recall, those above the floor."""
    words = match_words(replica, search.query, policy.recall_profile.item_floor)
    if order == "recall":
        return _search_by_recall(replica, search, words, policy, now)
    with replica.lock:
        best = search.filter.apply(map(replica.state.rows.__getitem__, _items_among(replica.state, words.by_id)), now)
        rows = sorted(best, key=lambda row: words.by_id[row.id].score, reverse=True)
    unfit = find_unfit_summaries(replica, search.query, rows, policy.recall_profile, now)
    ids = {row.id: None for row in rows if row.id not in unfit}
    newer = find_updates(replica, ids, partial(_accept, search.filter, now))
    with replica.lock:
        found = {*words.by_id, *newer, *newer.values()} - unfit.keys()
        matches = dict.fromkeys(_items_among(replica.state, found), 0.0)
        return _rank(replica.state, matches, search, order, now, superseded_by=newer)


def _search_texts(replica: Replica[Any], search: Search, order: Order, now: float) -> SearchResults:
    """The items whose text holds the query as it stands, or in another order than relevance any of its stop words."""

    def match(known: ItemTexts) -> SearchResults:
        with replica.lock:
            replica.catch_up(ItemTexts, known)
            items, texts = replica.state.items, known.texts
            if order == "relevance":
                places, otherwise = known.find(search.query, items)
                return _rank(replica.state, places, search, order, now, otherwise_spelled=otherwise)
            holds = _stop_word_matcher(search.query)
            return _rank(replica.state, {each: 0.0 for each in items if holds(texts[each])}, search, order, now)

    return replica.use_derived(ItemTexts, match)


def is_question(query: str) -> bool:
    """Whether a query is a question or several words, rather than one word to find as it stands.

    What has no spaces in it is one word, such as an address or a name with hyphens; in a script that writes none,
    up to `_MAX_UNSPACED_WORD` characters are.
    """
    if len(query.split()) > 1 or query.endswith(_QUESTION_MARKS):
        return True
    return any(len(run) > _MAX_UNSPACED_WORD for run in list_unspaced_runs(query))


def _search_by_recall(
    replica: Replica[Any], search: Search, words: WordMatches, policy: Policy, now: float
) -> SearchResults:
    """The items that share words with the query and are above the floor, by BM25, and what is below it."""
    matches = words.by_id
    with replica.lock:
        state = replica.state
        # Newest first among equals.
        newest = map(state.rows.__getitem__, reversed(_items_among(state, matches.keys())))
        passed = list(replace(search.filter, may_answer=None).apply(newest, now))
        timely = passed if search.filter.may_answer is None else filter(search.filter.may_answer, passed)
        rows = sorted(timely, key=lambda row: matches[row.id].score, reverse=True)
    # Before the best is known: what is no match is none that others are held against.
    unfit = find_unfit_summaries(replica, search.query, rows, policy.recall_profile, now)
    best = Match(*map(max, zip((0.0, 0.0), *(matches[row.id] for row in rows if row.id not in unfit), strict=True)))
    shortfalls = {row.id: unfit.get(row.id) or words.floor.shortfall(matches[row.id], best) for row in rows}
    above = keep_once(replica, [(matches[row.id].score, row) for row in rows if shortfalls[row.id] is None])
    above_ids = {row.id for _, row in above}
    shortfalls |= {row.id: "less than the best" for row in rows if not (shortfalls[row.id] or row.id in above_ids)}
    with replica.lock:
        by_precedence = order_near_equals(above, lambda row: _precedence(state, row, now))
        ordered = list(islice(by_precedence, max(search.limit, MAX_HITS)))
    results = _put_newer_first(replica, ordered, search, policy, now)
    more = {hit.row.id for _, hit in results} - above_ids
    kept = {row.id for row in rows}
    outdated: list[tuple[str, Shortfall]] = [(row.id, "not valid then") for row in passed if row.id not in kept]
    below = [(row.id, why) for row in rows if (why := shortfalls[row.id]) is not None and row.id not in more]
    below = [*outdated, *below]
    listed = below[:_MAX_BELOW_LISTED]
    shared = intersect_terms(replica, words.terms, [id for id, _ in listed])
    report = [BelowFloor(id, matches[id].score, terms, why) for (id, why), terms in zip(listed, shared, strict=True)]
    if search.filter.may_answer is not None:
        results = _drop_alone(results, replica.state.rows, now)
    shown = results[: search.limit]
    with replica.lock:
        items = [(to_current_item(replica.state, hit.row, now), score) for score, hit in shown]
    newer = {hit.row.id: hit.superseded_by for _, hit in shown if hit.superseded_by}
    return SearchResults(items, len(above) + len(more), report, len(below), newer)


def _put_newer_first(
    replica: Replica[Any], ordered: Sequence[tuple[float, Row]], search: Search, policy: Policy, now: float
) -> list[tuple[float, Hit]]:
    """The items as hits with their scores; of two that state otherwise of the same, both, as in recall."""
    places = sorted((score for score, _ in ordered), reverse=True)
    hits = [Hit(row, place, dict, replica.path) for place, (_, row) in zip(places, ordered, strict=True)]
    query = Query(search.query, now, policy.recall_profile, len(hits) + MAX_HITS, zone=to_zone(policy.zone))
    names = [(hit.path, hit.row.id) for hit in hits]
    marked = mark_updates(hits, names, [replica], query, partial(_accept, search.filter, now))
    # A score that was raised or lent is its place's.
    own = {(row.id, place): score for place, (score, row) in zip(places, ordered, strict=True)}
    return [(own.get((hit.row.id, hit.score), hit.score), hit) for hit in marked]


def _drop_alone(results: Sequence[tuple[float, Hit]], rows: Mapping[str, Row], now: float) -> list[tuple[float, Hit]]:
    """The results without what is no longer so and whose newer item is no result."""
    ids = {hit.row.id for _, hit in results}
    needed = (find_needed(hit.row, rows, now) for _, hit in results)
    return [each for each, other in zip(results, needed, strict=True) if other is None or other in ids]


def _accept(item_filter: ItemFilter, now: float, rows: Sequence[Row | None], _: Sequence[Replica[Any]]) -> list[bool]:
    """Which rows are items that pass a filter."""
    items = [row for row in rows if row is not None and is_item(row)]
    passed = {row.id for row in item_filter.apply(items, now)}
    return [row is not None and row.id in passed for row in rows]


def _items_among(state: State, ids: Collection[str]) -> list[str]:
    """The scope's items with these ids, oldest first."""
    return list(filter(ids.__contains__, state.items))


def _precedence(state: State, row: Row, now: float) -> tuple[int, float, float]:
    """See `wmem.rules.precedence.precedence`; fetches that are not yet written count."""
    unwritten = state.unwritten_touches
    fetches = unwritten[row.id][0] if unwritten and row.id in unwritten else 0
    return precedence(row, now, fetches)


def _rank(
    state: State,
    matches: dict[str, float],
    search: Search,
    order: Order,
    now: float,
    *,
    otherwise_spelled: Collection[str] = (),
    superseded_by: Mapping[str, str] = MappingProxyType({}),
) -> SearchResults:
    """The matching items that pass the filters, best first.

    Args:
        matches: Ids, oldest first, with the match's position for ``relevance``.
        otherwise_spelled: Ids of those that come behind what has the query as it is spelled.
        superseded_by: See `SearchResults`; others may be named, too.
    """
    # Newest first among equals.
    rows = list(search.filter.apply(map(state.rows.__getitem__, reversed(matches)), now))
    if order == "recency":
        best = [(row, row.created_at) for row in rows[: search.limit]]
    else:
        scored = zip(rows, _scores(state, rows, matches, order, now), strict=True)
        best = nlargest(search.limit, scored, key=lambda each: (each[0].id not in otherwise_spelled, each[1]))
    newer = {row.id: superseded_by[row.id] for row, _ in best if row.id in superseded_by}
    results = [(to_current_item(state, row, now), score) for row, score in best]
    return SearchResults(results, len(rows), superseded_by=newer)


def _stop_word_matcher(query: str) -> Callable[[str], bool]:
    """A test whether a folded text has any of a query's stop words, or its symbols if it has no words."""
    words = dict.fromkeys(map(to_plain_spelling, to_words(condense_query(query))))  # few: all of them are stop words
    if not words:
        needle = to_plain_spelling(fold(query))
        return lambda text: needle in text
    alone = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, words))})(?![^\W_])")
    return lambda text: alone.search(text) is not None


def _scores(
    state: State, rows: Sequence[Row], matches: Mapping[str, float], order: Order, now: float
) -> Iterator[float]:
    """The score each row is ranked by; larger is better."""
    unwritten = state.unwritten_touches
    for row in rows:
        more = unwritten[row.id][0] if unwritten and row.id in unwritten else 0
        score = importance_of(row, now, more)
        if order == "relevance":
            score = relevance(int(matches[row.id]), row.length, row.access_count + more, score)
        yield score
