"""Retrieval over a scope and its parents by BM25 and vectors: `search` ranks, `match_words` finds shared words."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, tzinfo
from functools import partial
from itertools import chain, compress, islice, repeat
from operator import itemgetter, methodcaller
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from wmem.analysis.query_intent import detect_intent
from wmem.engine.replica import Replica
from wmem.model.coverage import SUMMARY
from wmem.model.history import Path
from wmem.model.ids import parse_promoted_id
from wmem.model.origin import list_merged_sources, names_merged, names_source
from wmem.model.recall_profile import RecallProfile
from wmem.model.results import Shortfall
from wmem.model.row import Row
from wmem.retrieval.arrays import ListOps
from wmem.retrieval.bm25 import Feedback, TermWeights
from wmem.retrieval.candidate_rows import CandidateRows, Hit, RankedRow, order_for_note
from wmem.retrieval.exchange_matches import NO_MATCHES
from wmem.retrieval.index import WordMatches
from wmem.retrieval.near_equal import order_near_equals
from wmem.retrieval.postings import TermStatistics
from wmem.retrieval.question_time import QuestionTime, find_needed
from wmem.retrieval.ranking import (
    CandidateColumns,
    SignalMaxima,
    Signals,
    recency_decay,
    score_factors,
    score_priors,
    select_candidates,
    session_scores,
)
from wmem.retrieval.recall_index import RecallIndex, VectorCache
from wmem.retrieval.skills import lead_with_skills
from wmem.retrieval.summaries import (
    MAX_JUDGED,
    NOT_JUDGED,
    PassageTerms,
    SummaryJudgement,
    find_once,
    is_represented,
    judge_summaries,
    read_coverage,
)
from wmem.retrieval.updates import mark_updates
from wmem.rules.composite_query import BesideText
from wmem.rules.importance import importance
from wmem.rules.precedence import is_item, precedence

if TYPE_CHECKING:
    from wmem.retrieval.vectors import Floats

CANDIDATE_LIMIT = 200  # candidates of one scope; a budget with room for more is not tight
_NO_RECENT_TERMS: tuple[frozenset[str], frozenset[str]] = frozenset(), frozenset()
_FEW_TEXTS = 16  # fewest texts whose words tell what a question is about
_MAX_BESIDE = (
    12  # terms of a text beside the question that are looked for, the rarest: a long one is no second question
)
_NOTHING_BESIDE: tuple[Sequence[tuple[str, float]], Sequence[Sequence[str]]] = (), ()
_NEWEST_MESSAGES = 4  # the newest messages, which every pack includes: what repeats them is a duplicate


_SCORE = itemgetter(0)


class QueryVector(NamedTuple):
    """A query's embedding: the embedder's name, and the vector, of length 1."""

    name: str
    vector: "Floats"


class Query(NamedTuple):
    """What is looked for, and how it is ranked.

    Attributes:
        now: UTC epoch seconds.
        limit: How many hits at most.
        profile: The weights of the score.
        vector: The text's embedding; None ranks by words alone.
        accepts: Which rows may be hits; None for those that are visible.
        zone: In which the days of the query and of the rows are counted.
        for_note: Whether the hits are to be quoted: the same scores, but shorter messages first, by the profile's
            `density`, and what is below its floors is marked so.
        beside: Texts that are looked for beside the question, as what an agent aims at, by the profile's `beside`;
            dates, speakers, intent and floors are read from the question alone.
        only: By scope, the ids of what may be found there; for others all that is seen.
        all_messages: Whether messages of all scopes may be hits, not of the first one alone: then these are
            conversations beside one another, not a scope and its parents.
        asked_time: See `time`.
    """

    text: str
    now: float
    profile: RecallProfile
    limit: int = CANDIDATE_LIMIT
    vector: QueryVector | None = None
    accepts: Callable[[Row], bool] | None = None
    zone: tzinfo = UTC
    for_note: bool = False
    beside: tuple[BesideText, ...] = ()
    only: Mapping[Path, Sequence[str]] = MappingProxyType({})
    all_messages: bool = False
    asked_time: QuestionTime | None = None

    @property
    def time(self) -> QuestionTime:
        """The time that it asks for; a search reads it once."""
        return self.asked_time or QuestionTime(self.text, self.now, self.zone)


def search(replicas: Sequence[Replica[Any]], query: Query) -> Iterator[Hit]:
    """Rank what matches a query, best first: all of the scope, and all but messages of its parents.

    Args:
        replicas: The scope's, then its parents'.
    """
    query = query._replace(asked_time=query.time)
    profile = query.profile
    inherited = [None, *(None if query.all_messages else _list_inherited(each) for each in replicas[1:])]
    shared = _share_statistics(replicas, inherited, (query.text, *(each.text for each in query.beside)))
    if query.only:
        inherited = [query.only.get(each.path, ids) for each, ids in zip(replicas, inherited, strict=True)]
    beside, aims = _weigh_beside(replicas, query, shared) if query.beside and profile.beside else _NOTHING_BESIDE
    recent = _list_recent_terms(replicas[0]) if profile.duplication else _NO_RECENT_TERMS
    texts = _count_texts(replicas, all_messages=query.all_messages)
    accept = partial(_accept, query, replicas)
    found = [
        _collect_candidates(
            replica, query, profile, partial(accept, replicas[:depth]), only, recent, shared, beside, aims, texts
        )
        for depth, (replica, only) in enumerate(zip(replicas, inherited, strict=True))
    ]
    maxima = SignalMaxima(*map(max, zip(*[each.maxima() for each in found], strict=True)))
    scores = [each.score(maxima, profile) for each in found]
    most = max(each.exchanges.best for each in found)
    # As much as the best score for the exchange that matches best.
    best = max(map(CandidateRows.best_without_user, found, scores)) if most else 0.0
    scale = profile.exchange * best / most if most else 0.0
    ranked = chain.from_iterable(map(CandidateRows.rank, found, scores, repeat(scale), repeat(query.limit)))
    # A stable sort: of equal scores the nearer scope's and the better match stays first.
    best_first = sorted(ranked, key=_SCORE, reverse=True)[: query.limit]
    if (has_items := any(replica.state.items for replica in replicas)) and profile.near_equal:
        best_first = lead_with_skills(_order_items(best_first, query.now, profile.near_equal))
    floor = -math.inf
    if query.for_note and best_first:
        is_relevant = any(each.coverage >= profile.question_floor for each in found)
        best = best_first[0][0]
        if not is_relevant:
            floor = math.inf
        elif best > 0 < profile.score_floor:  # a penalty makes scores negative
            floor = profile.score_floor * best
        if profile.density:
            best_first = order_for_note(best_first, profile.density)
    if has_items:
        by_path = {replica.path: replica for replica in replicas}
        best_first = find_once(best_first, _place_of, lambda path, row: read_coverage(by_path[path], row))
    hits = (each.hit(at, score, added, maxima, profile, floor=floor) for score, each, at, added in best_first)
    names = ((each.path, each.rows[at].id) for _, each, at, _ in best_first)
    marked = mark_updates(hits, names, replicas, query, partial(_accept_beside, query, accept))
    if any(each.has_dated for each in found):
        marked = _drop_alone(list(marked), replicas, query.now)
    return chain(marked, *(each.outdated for each in found)) if query.for_note else iter(marked)


def find_near(replica: Replica[Any], text: str, limit: int) -> list[str]:
    """The ids of texts of a scope that may say the same as a text; see `Index.find_near`."""
    return replica.use_derived(RecallIndex, lambda memory: memory.index.find_near(text, limit), replica.analyzer)


def _drop_alone(hits: Sequence[Hit], replicas: Sequence[Replica[Any]], now: float) -> list[Hit]:
    """The hits without those that are no longer so and whose newer item is no hit."""
    rows = {replica.path: replica.state.rows for replica in replicas}  # no lock: a look-up is atomic
    listed = {(hit.path, hit.row.id) for hit in hits}
    needs = ((hit, find_needed(hit.row, rows[hit.path], now)) for hit in hits)
    return [hit for hit, needed in needs if needed is None or (hit.path, needed) in listed]


def match_words(replica: Replica[Any], text: str, share_of_best: float) -> WordMatches:
    """All of a scope that shares a word with a text, by BM25 alone; see `Index.match_words`."""
    return replica.use_derived(
        RecallIndex, lambda memory: memory.index.match_words(text, share_of_best), replica.analyzer
    )


def find_unfit_summaries(
    replica: Replica[Any], text: str, rows: Sequence[Row], profile: RecallProfile, now: float
) -> dict[str, Shortfall]:
    """The summaries among some rows that a search of items does not find, and why: by the rule of `search`.

    Args:
        rows: Of the scope, best first.
    """
    if not any(row.type == SUMMARY for row in rows):
        return {}
    known = {replica.path: replica}
    accepted = [
        not is_represented(read_coverage(replica, row), known, known, now, items_only=True)
        if row.type == SUMMARY
        else True
        for row in rows
    ]
    unfit: dict[str, Shortfall] = {row.id: "told by others" for row, ok in zip(rows, accepted, strict=True) if not ok}
    if profile.item_floor:
        weights = replica.use_derived(
            RecallIndex, lambda memory: memory.index.scorer(text).weigh_terms(), replica.analyzer
        )
        fits = _judge_summaries(replica, rows, accepted, [weights]).fits
        left = (row for at, row in enumerate(rows) if not (accepted[at] and fits.get(at, True)))
        unfit |= {row.id: "no passage" for row in left if row.id not in unfit}
    return unfit


def keep_once(replica: Replica[Any], ranked: list[tuple[float, Row]]) -> list[tuple[float, Row]]:
    """Ranked rows of a scope without a summary after what it covers, and without what it covers after it."""
    return find_once(ranked, lambda each: (replica.path, each[1]), lambda _, row: read_coverage(replica, row))


def list_query_terms(replicas: Iterable[Replica[Any]], text: str) -> Sequence[str]:
    """The terms that a query is searched by, those of the nearest scope that has any; see `Index.query_terms`."""
    for replica in replicas if text.strip() else ():
        if terms := replica.use_derived(RecallIndex, lambda memory: memory.index.query_terms(text), replica.analyzer):
            return terms
    return ()


def intersect_terms(replica: Replica[Any], terms: Sequence[str], ids: Sequence[str]) -> list[tuple[str, ...]]:
    """Which of the terms each of some texts has; none for a text that is gone."""
    return replica.use_derived(RecallIndex, lambda memory: memory.index.intersect_terms(terms, ids), replica.analyzer)


def list_speakers(replica: Replica[Any]) -> list[str]:
    """The names of those who speak in a scope, folded and in plain spelling."""
    return replica.use_derived(RecallIndex, lambda memory: memory.neighbors.speaker_names(), replica.analyzer)


def rows_without_vectors(
    replica: Replica[Any], name: str, width: int, now: float, *, include_messages: bool
) -> list[Row]:
    """The visible rows without a vector by an embedder, newest first.

    Args:
        name: The embedder's name.
        width: Dimensions of its vectors; vectors of another width are dropped (an earlier model of the name).
    """

    def list_missing(index: RecallIndex) -> list[Row]:
        with replica.lock:
            rows = replica.state.rows
            cache = index.vector_caches.get(name)
            if cache is None or cache.vectors.width not in (None, width):
                cache = index.vector_caches[name] = VectorCache(rows)
            return [row for id in reversed(cache.missing) if (row := rows.get(id)) is not None]

    missing = replica.use_derived(RecallIndex, list_missing, replica.analyzer)
    return [row for row in missing if row.visible(now) and (include_messages or row.role is None)]


def add_vectors(replica: Replica[Any], name: str, vectors: Iterable[tuple[Row, "Floats"]]) -> int:
    """Add the vectors of rows to the index; rows whose content has changed are skipped.

    Returns:
        By how many bytes the index grew.
    """

    def add_current(index: RecallIndex) -> int:
        cache = index.vector_caches.get(name)
        if cache is None:
            return 0  # the replica was reset
        with replica.lock:
            rows = replica.state.rows
            current = [(row.id, vector) for row, vector in vectors if _has_same_content(rows.get(row.id), row)]
        before = index.bytes
        for id, vector in current:
            if id in cache.missing and cache.vectors.width in (None, len(vector)):
                del cache.missing[id]
                cache.vectors.put(id, vector)
        return index.bytes - before

    return replica.use_derived(RecallIndex, add_current, replica.analyzer)


def _has_same_content(now: Row | None, then: Row) -> bool:
    return now is not None and (now.content, now.key, now.role) == (then.content, then.key, then.role)


def _share_statistics(
    replicas: Sequence[Replica[Any]], inherited: Sequence[Sequence[str] | None], texts: Sequence[str]
) -> TermStatistics | None:
    """How many texts of all the scopes have each term of these: one ranking needs one rarity; None for one scope.

    What is not seen from below, the messages of parents, says nothing about how rare a word is.

    Args:
        inherited: For each replica the ids of what is seen of it; None for all.
    """
    others = zip(replicas[1:], inherited[1:], strict=True)
    if not any(replica.state.rows if ids is None else ids for replica, ids in others):
        return None
    terms = _list_terms(replicas, texts)

    def count(memory: RecallIndex, ids: Sequence[str] | None, *, with_aside: bool) -> TermStatistics:
        return memory.index.count_texts(terms, ids, with_aside=with_aside)

    def count_all(*, with_aside: bool) -> TermStatistics:
        return TermStatistics.sum(
            replica.use_derived(RecallIndex, partial(count, ids=ids, with_aside=with_aside), replica.analyzer)
            for replica, ids in zip(replicas, inherited, strict=True)
        )

    counted = count_all(with_aside=False)
    return counted if counted.texts >= _FEW_TEXTS else count_all(with_aside=True)


def _list_terms(replicas: Iterable[Replica[Any]], texts: Iterable[str]) -> list[str]:
    """The distinct terms of these texts by which any of the scopes is searched."""

    def list_terms(memory: RecallIndex) -> list[str]:
        return [term for text in texts for term in memory.index.query_terms(text)]

    found = (replica.use_derived(RecallIndex, list_terms, replica.analyzer) for replica in replicas)
    return list(dict.fromkeys(chain.from_iterable(found)))


def _weigh_beside(
    replicas: Sequence[Replica[Any]], query: Query, shared: TermStatistics | None
) -> tuple[Sequence[tuple[str, float]], Sequence[Sequence[str]]]:
    """The rarest terms, that some text has, of each text beside the question, with the largest weight of each.

    And all terms of each text that is in no memory.
    """
    terms = {each.text: _list_terms(replicas, (each.text,)) for each in query.beside}
    counts = shared or replicas[0].use_derived(
        RecallIndex,
        lambda memory: memory.index.count_texts(list({*chain.from_iterable(terms.values())})),
        replicas[0].analyzer,
    )
    weights: dict[str, float] = {}
    for text, share, is_stored in query.beside:
        found = [term for term in terms[text] if counts.with_term.get(term, 0) > is_stored]
        for term in sorted(found, key=counts.with_term.__getitem__)[:_MAX_BESIDE]:
            weights[term] = max(query.profile.beside * share, weights.get(term, 0.0))
    return list(weights.items()), [terms[each.text] for each in query.beside if not each.is_stored]


def _count_texts(replicas: Sequence[Replica[Any]], *, all_messages: bool) -> int:
    """How many texts a search looks at: all of the scope, and what is no message of the others."""
    if all_messages:
        return sum(len(replica.state.rows) for replica in replicas)
    others = sum(len(replica.state.items) + len(replica.state.entries) for replica in replicas[1:])
    return len(replicas[0].state.rows) + others


def _list_inherited(parent: Replica[Any]) -> Sequence[str] | None:
    """The ids of what is seen of a parent from below, which are no messages; None for all."""
    with parent.lock:
        state = parent.state
        return [*state.items, *state.entries.values()] if state.messages else None


def _order_items(ranked: list[RankedRow], now: float, near: float) -> list[RankedRow]:
    """The ranked rows, near-equal items by priority, importance and age; each has the score of its place."""
    places = [at for at, (_, each, position, _) in enumerate(ranked) if is_item(each.rows[position])]
    if len(places) > 1:
        items = [(ranked[at][0], ranked[at]) for at in places]
        ordered = list(order_near_equals(items, lambda each: precedence(each[1].rows[each[2]], now), near))
        for at, (score, _), (own, (_, candidates, position, added)) in zip(places, items, ordered, strict=True):
            ranked[at] = score, candidates, position, added if score == own else (*added, ("near-equal", score - own))
    return ranked


def _collect_candidates(  # noqa: PLR0917  # one call in a loop over all that differs
    replica: Replica[Any],
    query: Query,
    profile: RecallProfile,
    accept: Callable[[Sequence[Row | None]], list[bool]],
    inherited: Sequence[str] | None,
    recent: tuple[frozenset[str], frozenset[str]],
    shared: TermStatistics | None,
    beside: Sequence[tuple[str, float]],
    aims: Sequence[Sequence[str]],
    texts: int,
) -> CandidateRows:
    """Acceptable candidates of one replica, with their signals; of a parent no messages and no overridden entries.

    Args:
        accept: Which of some rows may be hits.
        inherited: The ids of what is seen of a parent; None for all.
        recent: Ids and terms of the newest messages of the scope that asks: what repeats them is a duplicate.
        shared: Statistics of all the scopes; None for those of this one.
        beside: Terms that are looked for beside the question's, with their weights.
        aims: The terms of each text beside the question that is in no memory, as a goal: what has them is relevant.
        texts: How many there are in all the scopes.
    """

    def collect(memory: RecallIndex) -> CandidateRows:
        with replica.lock:
            rows = replica.state.rows
            newest = [rows[each] for each in islice(reversed(replica.state.messages), _NEWEST_MESSAGES)]
        if not memory.index.count:
            none = ListOps().floats(())
            return CandidateRows(replica.path, [], Signals(*[none] * len(Signals._fields)), ListOps())
        question = _find_question(memory, newest, query.text)
        intent = detect_intent(
            query.text, question.created_at if question else query.now, memory.neighbors.speaker_names(), query.zone
        )
        question_id = question.id if question else None
        scorer = memory.index.scorer(
            query.text,
            k1=profile.k1,
            b=profile.b,
            feedback=Feedback(profile.feedback, profile.feedback_texts, profile.feedback_terms),
            related=profile.related,
            question_id=question_id,
            cue=intent.speaker or "",
            cue_weight=profile.name_weight,
            names=intent.names,
            shared=shared,
            only=inherited,
            beside=beside,
        )
        similarities = (
            memory.similarities(query.vector.name, query.vector.vector, question_id) if query.vector else None
        )
        if similarities is not None and inherited is not None:
            similarities = similarities.hide_others(inherited)
        is_close = similarities is not None and similarities.closeness() >= profile.closeness_floor
        columns, exchanges, coverage = select_candidates(
            scorer,
            memory.neighbors,
            intent,
            profile,
            query.limit,
            question_id=question_id,
            similarities=similarities,
        )
        with replica.lock:
            found = list(map(replica.state.rows.get, scorer.ids(columns.doc_numbers)))
            unwritten = dict(replica.state.unwritten_touches) if profile.importance else {}
        accepted = accept(found)
        # Most say nothing of their time: those that may are looked for first.
        dated = {row.id for row in found if row is not None and row.rest is not None and b"valid_" in row.rest}
        may_answer = query.time.accepts
        outdated = [
            row
            for row, ok in (zip(found, accepted, strict=True) if dated else ())
            if ok and row is not None and row.id in dated and not may_answer(row)
        ]
        if outdated:
            left = {row.id for row in outdated}
            accepted = [ok and row is not None and row.id not in left for row, ok in zip(found, accepted, strict=True)]
        if memory.index.postings.aside:
            weights = [scorer.weigh_terms(), *map(scorer.weigh_terms, aims)]
            judged = _judge_summaries(replica, found, accepted, weights)
            if profile.question_floor and not is_close:
                accepted = [ok and judged.fits.get(at, True) for at, ok in enumerate(accepted)]
            coverage = max(coverage, judged.coverage)
            columns = columns.weigh(scorer.ops, judged.shares)
        candidates = [row for row in compress(found, accepted) if row is not None]
        ops = scorer.ops
        if len(candidates) < len(found):
            places = ops.ints(list(compress(range(len(found)), accepted)))
            columns = CandidateColumns(*(ops.take(column, places) for column in columns))
        none = ops.floats([0.0] * len(candidates))
        signals = Signals(
            columns.bm25,
            columns.near,
            session_scores(columns, scorer) if profile.session else none,
            columns.vector,
            ops.floats([recency_decay(query.now - row.created_at, profile.half_life_s) for row in candidates])
            if profile.recency
            else none,
            ops.floats([importance(row, query.now, unwritten.get(row.id, (0, 0.0))[0]) for row in candidates])
            if profile.importance
            else none,
            ops.floats(_overlaps(memory, candidates, *recent)) if profile.duplication else none,
            score_priors(columns, scorer, memory.neighbors, intent, profile)
            if profile.substance or profile.named
            else none,
            *score_factors(columns, scorer, memory.neighbors, intent, profile, exchanges=exchanges),
        )
        if exchanges is not NO_MATCHES:
            numbers = ops.to_list(columns.doc_numbers)
            exchanges = exchanges.renumber({number: place for place, number in enumerate(numbers)})
        if aims and candidates:
            coverage = max(coverage, *(scorer.share_of(each, columns.doc_numbers) for each in aims))
        factor = profile.user if intent.of_user else 1.0
        if candidates and (intent.dates or is_close or texts < _FEW_TEXTS):
            # Found by its day or its meaning it need not have the question's words, and few texts tell of no word how
            # rare it is.
            coverage = 1.0
        left_out = [Hit(row, 0.0, dict, replica.path, below_floor=True, is_outdated=True) for row in outdated]
        return CandidateRows(replica.path, candidates, signals, ops, exchanges, factor, coverage, left_out, bool(dated))

    return replica.use_derived(RecallIndex, collect, replica.analyzer)


def _judge_summaries(
    replica: Replica[Any], rows: Sequence[Row | None], accepted: list[bool], questions: Sequence[TermWeights]
) -> SummaryJudgement:
    """What the summaries among candidates are worth by their best passages; nothing of a question without words.

    Args:
        rows: The candidates, best first.
        accepted: Which of them may be hits; those of later summaries become False.
        questions: What the question's words say, and those of what is looked for beside it.
    """
    sums = [
        (at, row)
        for at, row in enumerate(rows)
        if accepted[at] and row is not None and row.type == SUMMARY and read_coverage(replica, row)
    ]
    for at, _ in sums[MAX_JUDGED:]:
        accepted[at] = False
    questions = [each for each in questions if each.mass]
    if not sums or not questions:
        return NOT_JUDGED

    def judge(passages: PassageTerms) -> SummaryJudgement:
        return judge_summaries({at: passages.read(row) for at, row in sums[:MAX_JUDGED]}, questions)

    return replica.use_derived(PassageTerms, judge, replica.analyzer)


def _find_question(memory: RecallIndex, newest: Sequence[Row], text: str) -> Row | None:
    """The newest user message, if it is the query itself."""
    last = next((row for row in newest if row.role == "user"), None)
    return last if last is not None and memory.message_text(last).strip() == text.strip() else None


def _accept(
    query: Query, replicas: Sequence[Replica[Any]], nearer: Sequence[Replica[Any]], rows: Sequence[Row | None]
) -> list[bool]:
    """Which of the rows of one replica may be hits.

    Args:
        replicas: All that is searched.
        nearer: Those before this one.
    """
    accepts = query.accepts or methodcaller("visible", query.now)
    if not nearer or query.all_messages:
        accepted = [row is not None and accepts(row) for row in rows]
    else:
        accepted = [row is not None and accepts(row) and not _is_hidden(row, query.now, nearer) for row in rows]
    sums = [(at, row) for at, row in enumerate(rows) if accepted[at] and row is not None and row.type == SUMMARY]
    if sums:
        by_path = {each.path: each for each in replicas}
        with_messages = {*query.only, *(by_path if query.all_messages else (replicas[0].path,))}
        own = replicas[len(nearer)]
        for at, row in sums:
            accepted[at] = not is_represented(read_coverage(own, row), by_path, with_messages, query.now)
    return accepted


def _place_of(ranked: RankedRow) -> tuple[Path, Row]:
    _, candidates, position, _ = ranked
    return candidates.path, candidates.rows[position]


def _accept_beside(
    query: Query,
    accept: Callable[[Sequence[Replica[Any]], Sequence[Row | None]], list[bool]],
    rows: Sequence[Row | None],
    nearer: Sequence[Replica[Any]],
) -> list[bool]:
    """Which of the rows may be hits beside another that states the same: what was so before, but nothing to come."""
    is_ahead = query.time.is_ahead
    return [ok and row is not None and not is_ahead(row) for row, ok in zip(rows, accept(nearer, rows), strict=True)]


def _is_hidden(row: Row, now: float, nearer: Sequence[Replica[Any]]) -> bool:
    """Whether a row is not seen from below: a message, an entry that a nearer scope has, a copy of its item."""
    if row.role is not None or (row.key is not None and any(each.state.entry(row.key, now) for each in nearer)):
        return True
    if names_merged(row) and any(
        (item := each.state.rows.get(source)) is not None and item.visible(now)
        for each in nearer
        for source in list_merged_sources(row, each.path)
    ):
        return True
    if (source := parse_promoted_id(row.id)) is None:
        return False
    items = ((each.path, each.state.rows.get(source)) for each in nearer)  # no lock: a look-up is atomic
    # A copy that is not marked yet names the item that it is made of, too.
    return any(
        item is not None and item.visible(now) and (item.promoted_to == row.id or names_source(row, source, path))
        for path, item in items
    )


def _list_recent_terms(asker: Replica[Any]) -> tuple[frozenset[str], frozenset[str]]:
    """The ids of a scope's newest messages, and the terms of these."""
    with asker.lock:
        ids = frozenset(islice(reversed(asker.state.messages), _NEWEST_MESSAGES))
    return ids, asker.use_derived(RecallIndex, methodcaller("recent_terms", ids), asker.analyzer)


def _overlaps(
    memory: RecallIndex, rows: Sequence[Row], recent: frozenset[str], recent_terms: frozenset[str]
) -> list[float]:
    """The share of each row's terms that the newest messages have; 0 for those messages themselves."""
    return [0.0 if row.id in recent else _overlap(memory.index.terms(row.id), recent_terms) for row in rows]


def _overlap(terms: frozenset[str], recent_terms: frozenset[str]) -> float:
    return len(terms & recent_terms) / len(terms) if terms else 0.0
