"""Ranking: which candidates a query has, the signals of each, and the formula that makes one score of them.

Written once for columns of numbers, plain lists or numpy arrays; see `wmem.retrieval.arrays`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import lru_cache, partial
from itertools import compress
from operator import add, mul, ne
from typing import Any, Generic, NamedTuple, TypeVar

from wmem.analysis.dates import score_date
from wmem.analysis.query_intent import QueryIntent
from wmem.model.recall_profile import RecallProfile
from wmem.model.zones import to_day
from wmem.retrieval.arrays import ArrayOps
from wmem.retrieval.bm25 import QueryScorer
from wmem.retrieval.exchange_matches import ExchangeMatches, match_exchanges
from wmem.retrieval.neighbors import MAX_NEIGHBORS, NeighborGraph
from wmem.retrieval.vectors import Similarities

C = TypeVar("C")
_BEST_SCORES = 3  # best scores of a speaker, which are compared with the best of the others
_LEAST_RATIO, _RATIO_RANGE = 0.4, 0.5  # the speaker's factor counts from this ratio on, and in full after that range
_OVERSAMPLING = 2  # candidates scored per result wanted: a factor may raise one
_MUCH_TERMS = 25  # terms of a message that says much; one of more says no more to a question
_BEFORE, _AFTER = 0, 1  # columns of the nearest neighbours
_VECTOR_LENDING = 0.5  # of what is lent by words: a text that means the same is mostly the one that is wanted
_LENDING_TOKENS_RATIO = 2
"""The longest message that lends in full has so many times the tokens of the longest that borrows in full."""


class CandidateColumns(NamedTuple, Generic[C]):
    """Columns with a row for each candidate.

    Attributes:
        doc_numbers: Numbers of the texts in the index.
        bm25: Their own BM25 scores.
        near: The BM25 scores that their neighbours lend them.
        vector: The cosines to the power of 1.5, relative to the best, plus half of what their neighbours lend.
        borrow_share: The share each takes of what is lent: less for a long message, unless the
            query asks for what was answered, and none for a fact.
    """

    doc_numbers: C
    bm25: C
    near: C
    vector: C
    borrow_share: C

    def weigh(self, ops: ArrayOps[Any], shares: Mapping[int, float]) -> "CandidateColumns[Any]":
        """The candidates, some with a share of their own BM25 score, by their places."""
        if not shares:
            return self
        factors = ops.floats([shares.get(at, 1.0) for at in range(len(ops.to_list(self.doc_numbers)))])
        return CandidateColumns(self.doc_numbers, ops.apply(mul, self.bm25, factors), *self[2:])


def select_candidates(
    matches: QueryScorer,
    neighbors: NeighborGraph,
    intent: QueryIntent,
    profile: RecallProfile,
    limit: int,
    *,
    question_id: str | None,
    similarities: Similarities | None,
) -> tuple[CandidateColumns[Any], ExchangeMatches, float]:
    """The candidates by their own scores and those their neighbours lend, best first, then the rest of their exchanges.

    Args:
        intent: The intent of the query beside its words.
        limit: How many results will be wanted.
        question_id: Id of the message that is the query itself: it is no candidate and lends nothing to its neighbours.
        similarities: Vector similarities, without that message.

    Returns:
        The candidates, what their exchanges add, and the share of the query's words that the best of them has.
    """
    sums, take = matches.ops, matches.ops.take
    found, scores = matches.top(limit)
    if question_id is not None:
        others = sums.apply(partial(ne, matches.number(question_id)), found)
        found, scores = sums.select(found, others), sums.select(scores, others)
    lent_to, lent = _lend_to_neighbors(matches, neighbors, profile, found, scores)
    gathered, felt = [found, lent_to], None
    if similarities is not None and profile.vector:
        best = similarities.top(limit, lambda each: matches.number(each) or 0)
        alike = sums.ints([number for id in best if (number := matches.number(id)) is not None])
        felt_by, felt = _lend_to_neighbors(matches, neighbors, profile, alike, sums.floats(list(best.values())))
        gathered += [alike, felt_by]

    def to_columns(numbers: Any) -> CandidateColumns[Any]:
        words = matches.scores_of(numbers)
        slots, full = take(matches.columns.slots, numbers), profile.full_tokens
        borrows = sums.clip(sums.apply(lambda each: full / each, take(neighbors.tokens, slots)), 1.0)
        if intent.second_person:
            # The query asks for an answer itself: however long, it is found by the question before it.
            borrows = sums.apply(lambda each, user: user * each + (1 - user), borrows, take(neighbors.is_user, slots))
        near = sums.apply(mul, borrows, lent(numbers))
        vector = sums.apply(partial(mul, 0.0), words)
        if similarities is not None:
            vector = sums.floats(list(map(similarities.score, matches.ids(numbers))))
            if felt is not None:
                lent_alike = sums.apply(mul, borrows, felt(numbers))
                vector = sums.apply(lambda own, near: own + _VECTOR_LENDING * near, vector, lent_alike)
        return CandidateColumns(numbers, words, near, vector, borrows)

    columns = to_columns(sums.distinct(gathered))
    known = sums.apply(add, columns.bm25, columns.near)
    if similarities is not None:
        scale = profile.vector * (sums.maximum(scores) or 1.0)
        known = sums.apply(lambda each, similarity: each + scale * similarity, known, columns.vector)
    best = sums.top_indices(known, _OVERSAMPLING * limit)
    chosen = take(columns.doc_numbers, best)
    asked = set() if question_id is None or (number := matches.number(question_id)) is None else {number}
    coverage = matches.coverage(chosen)
    exchanges = match_exchanges(matches, neighbors, profile, chosen, coverage=coverage.shares, exclude=asked)
    more = list(exchanges.numbers())
    if more:
        return to_columns(sums.distinct([chosen, sums.ints(more)])), exchanges, coverage.best
    return CandidateColumns(*(take(column, best) for column in columns)), exchanges, coverage.best


def score_priors(
    columns: CandidateColumns[Any],
    matches: QueryScorer,
    neighbors: NeighborGraph,
    intent: QueryIntent,
    profile: RecallProfile,
) -> Any:
    """What each candidate scores before its words are looked at; nothing for what is no message.

    A message that says much answers more questions, and of what somebody did mostly he himself tells.
    """
    sums = matches.ops
    slots = sums.to_list(sums.take(matches.columns.slots, columns.doc_numbers))
    lengths = sums.to_list(sums.take(matches.columns.lengths, columns.doc_numbers))
    table = _substance_table(profile.substance)
    priors = [table[min(length, _MUCH_TERMS)] if slot else 0.0 for slot, length in zip(slots, lengths, strict=True)]
    if intent.speaker is not None and profile.named:
        by, named = neighbors.speakers, profile.named
        priors = [each + named * (by[slot] == intent.speaker) for each, slot in zip(priors, slots, strict=True)]
    return sums.floats(priors)


@lru_cache(16)
def _substance_table(substance: float) -> Sequence[float]:
    """What a message scores by its number of terms, up to the most that make a difference."""
    most = math.log(_MUCH_TERMS)
    return [substance * math.log(max(1, terms)) / most for terms in range(_MUCH_TERMS + 1)]


def session_scores(columns: CandidateColumns[Any], matches: QueryScorer) -> Any:
    """The damped BM25 score of each candidate's session."""
    sums = matches.ops
    groups = sums.take(matches.columns.groups, columns.doc_numbers)
    scores = matches.group_scores({*sums.to_list(groups)} - {0})
    of_group = sums.sum_by_key(sums.ints(list(scores)), sums.floats(list(scores.values())))
    return sums.apply(mul, columns.borrow_share, of_group(groups))


def score_factors(
    columns: CandidateColumns[Any],
    matches: QueryScorer,
    neighbors: NeighborGraph,
    intent: QueryIntent,
    profile: RecallProfile,
    *,
    exchanges: ExchangeMatches,
) -> list[Any]:
    """The score factors of each candidate: speaker, user, date, and whether it tells a time.

    What a tool told the user is the user's.
    """
    sums = matches.ops
    slots = sums.take(matches.columns.slots, columns.doc_numbers)
    ones = sums.factor_where(slots, 1.0)
    speaker, day = ones, ones
    if intent.speaker is not None:
        said_by = [neighbors.speakers[slot] == intent.speaker for slot in sums.to_list(slots)]
        share = _speaker_share(sums.to_list(columns.bm25), said_by)
        speaker = sums.factor_where(sums.ints(said_by), 1.0 + (profile.speaker - 1.0) * share)
    if intent.dates:
        fitting = _DateMatches(intent)
        days = [
            1.0 + profile.date * fitting[to_day(at, intent.zone)]
            for at in sums.to_list(sums.take(neighbors.created_at, slots))
        ]
        day = sums.floats(days)
    user = ones
    if intent.of_user:
        in_record = [number in exchanges.scores for number in sums.to_list(columns.doc_numbers)]
        either = sums.apply(add, sums.take(neighbors.is_user, slots), sums.ints(in_record))
        user = sums.factor_where(either, profile.user)
    return [
        speaker,
        user,
        day,
        sums.factor_where(sums.take(neighbors.mentions_time, slots), profile.when) if intent.asks_when else ones,
    ]


def _speaker_share(scores: Sequence[float], said_by: Sequence[bool]) -> float:
    """How much of the speaker's factor holds, from 0 to 1: none where only others have the query's words."""
    his, others = (
        sum(sorted(compress(scores, flags), reverse=True)[:_BEST_SCORES])
        for flags in (said_by, [not each for each in said_by])
    )
    return min(1.0, max(0.0, (his / others - _LEAST_RATIO) / _RATIO_RANGE)) if others else 1.0


class _DateMatches(dict[date | None, float]):
    """How well days match the dates of the query, by day."""

    def __init__(self, intent: QueryIntent) -> None:
        super().__init__({None: 0.0})
        self._dates = intent.dates

    def __missing__(self, day: date) -> float:
        self[day] = score_date(self._dates, day)
        return self[day]


def _lend_to_neighbors(
    matches: QueryScorer, neighbors: NeighborGraph, profile: RecallProfile, doc_numbers: Any, scores: Any
) -> tuple[Any, Callable[[Any], Any]]:
    """The scores that messages lend to their neighbours: a question matches, its answer is wanted.

    A long message lends less: it has some words of every query, and nothing answers it. Where one
    person splits over several messages what others say in one, more of them are neighbours.

    Returns:
        The numbers of the texts lent to, and a function from numbers to the scores lent.
    """
    sums, take = matches.ops, matches.ops.take
    slots = take(matches.columns.slots, doc_numbers)
    most = _LENDING_TOKENS_RATIO * profile.full_tokens
    lends = sums.clip(sums.apply(lambda each: most / each, take(neighbors.tokens, slots)), 1.0)
    lends = sums.apply(mul, lends, scores)
    far = profile.next_but_one / 2
    shares = [share for share in (profile.next_to, profile.next_but_one, far, far) for _ in range(2)]
    shares[_BEFORE] *= profile.backward
    columns = [column for column, share in enumerate(shares) if share]
    near = sums.take_rows(neighbors.neighbors, MAX_NEIGHBORS, slots, columns)
    lent_to = take(matches.number_by_slot, sums.select(near, near))
    lent = sums.sum_by_key(lent_to, sums.select(sums.outer_product(lends, [shares[each] for each in columns]), near))
    # What a message that asks lends to the one after it beyond its share.
    more = profile.next_to * (profile.question - 1)
    if not more:
        return lent_to, lent
    answers = sums.take_rows(neighbors.neighbors, MAX_NEIGHBORS, slots, [_AFTER])
    amounts = sums.apply(lambda each, asks: more * each * asks, lends, take(neighbors.asks, slots))
    answered_by = take(matches.number_by_slot, sums.select(answers, answers))
    lent_more = sums.sum_by_key(answered_by, sums.select(amounts, answers))
    return lent_to, lambda numbers: sums.apply(add, lent(numbers), lent_more(numbers))


class Signals(NamedTuple, Generic[C]):
    """The scoring inputs of one candidate, or columns of them for many.

    Attributes:
        bm25: Its own BM25 score.
        near: The BM25 score that its neighbours lend it.
        session: The damped BM25 score of its session.
        vector: Its cosine with the query to the power of 1.5, relative to the best, plus half of what neighbours lend.
        overlap: The share of its terms that the newest messages have.
        prior: What it scores for how much it says, and for who says it; no more counts than all before.
    """

    bm25: C
    near: C
    session: C
    vector: C
    recency: C
    importance: C
    overlap: C
    prior: C
    speaker: C
    user: C
    date: C
    when: C


_FACTORS = Signals._fields[-4:]


class SignalMaxima(NamedTuple):
    """The maxima over all candidates of signals that are not within [0, 1]: their scores are divided by them."""

    bm25: float
    session: float
    vector: float


def recency_decay(age_s: float, half_life_s: float) -> float:
    """Exponential recency: 1 now, one half after a half-life."""
    return float(0.5 ** (max(0.0, age_s) / half_life_s))


def _limit_prior(prior: Any, rest: Any) -> Any:
    """The lesser of both, at least 0, of numbers or columns: nothing is found for its length or its speaker alone."""
    lesser = (prior + rest - abs(prior - rest)) / 2
    return (lesser + abs(lesser)) / 2


def score_function(maxima: SignalMaxima, profile: RecallProfile) -> Callable[..., Any]:
    """A function from signals, in field order, to a score; takes numbers or columns. See `wmem.RecallProfile`."""
    similarity, session, vector = profile.similarity, profile.session, profile.vector
    words_most, session_most, vector_most = maxima

    def score(*signals: Any) -> Any:
        words, near, sessions, meant, recent, important, overlap, prior, *factors = signals
        # Written out, not as a sum of named parts: it runs for every candidate, the parts only for the few reported.
        made = (
            (similarity * (words + near) / words_most if words_most else 0.0)
            + (session * sessions / session_most if session_most else 0.0)
            + (vector * meant / vector_most if vector_most else 0.0)
            + profile.recency * recent
            + profile.importance * important
            - profile.duplication * overlap
        )
        made = made + _limit_prior(prior, made)
        for factor in factors:
            made = made * factor
        return made

    return score


def score_parts(signals: Signals[float], maxima: SignalMaxima, profile: RecallProfile) -> Mapping[str, float]:
    """The score by component: what is added, and the factors other than 1."""
    added = {
        "bm25": profile.similarity * signals.bm25 / maxima.bm25 if maxima.bm25 else 0.0,
        "near": profile.similarity * signals.near / maxima.bm25 if maxima.bm25 else 0.0,
        "session": profile.session * signals.session / maxima.session if maxima.session else 0.0,
        "vector": profile.vector * signals.vector / maxima.vector if maxima.vector else 0.0,
        "recency": profile.recency * signals.recency,
        "importance": profile.importance * signals.importance,
        "duplication": -profile.duplication * signals.overlap,
    }
    added["prior"] = _limit_prior(signals.prior, sum(added.values()))
    made = {name: term for name, term in added.items() if term}
    for name, factor in zip(_FACTORS, signals[-len(_FACTORS) :], strict=True):
        if factor != 1.0:
            made[f"x {name}"] = factor
    return made
