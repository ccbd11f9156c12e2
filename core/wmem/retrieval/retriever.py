"""Retrieval over a scope and its parents by BM25 and vectors: `search` ranks, `match_words` finds shared words."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, tzinfo
from functools import partial
from itertools import chain, compress, islice, repeat
from operator import add, itemgetter, methodcaller, mul, truediv
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from wmem.analysis.query_intent import detect_intent
from wmem.engine.replica import Replica
from wmem.model.history import Path
from wmem.model.recall_profile import RecallProfile
from wmem.model.results import RecallForm
from wmem.model.row import Row
from wmem.retrieval.arrays import ArrayOps, ListOps
from wmem.retrieval.bm25 import Feedback
from wmem.retrieval.exchange_matches import NO_MATCHES, ExchangeMatches
from wmem.retrieval.index import WordMatches
from wmem.retrieval.ranking import (
    CandidateColumns,
    SignalMaxima,
    Signals,
    recency_decay,
    score_factors,
    score_function,
    score_parts,
    select_candidates,
    session_scores,
)
from wmem.retrieval.recall_index import RecallIndex, VectorCache
from wmem.retrieval.updates import mark_updates
from wmem.rules.importance import importance

if TYPE_CHECKING:
    from wmem.retrieval.vectors import Floats

CANDIDATE_LIMIT = 200  # candidates of one scope; a budget with room for more is not tight
_SHORTEST_TOKENS, _LONGEST_TOKENS = 10, 256  # between which tokens make a difference to the order of a pack
_NEWEST_MESSAGES = 4  # the newest messages, which every pack includes: what repeats them is a duplicate


_SCORE = itemgetter(0)
_Added: TypeAlias = tuple[str, float]  # what an exchange adds to a score: its name and how much


class Hit(NamedTuple):
    """A matching row, its score, a function that returns the score's parts, and the row's scope.

    Attributes:
        superseded_by: Id of a newer statement of the same that says otherwise; "" for none.
        form: Whether it is a record of a matching exchange, or stands where it does because its question matches.
    """

    row: Row
    score: float
    parts: Callable[[], Mapping[str, float]]
    path: Path
    superseded_by: str = ""
    form: RecallForm = ""


class QueryVector(NamedTuple):
    """A query's embedding: the embedder's name, and the vector, of length 1."""

    name: str
    vector: "Floats"


class _CandidateRows(NamedTuple):
    """Candidate rows of one scope, their signals as columns, and the arithmetic for these.

    Attributes:
        exchanges: What their exchanges add, by position instead of number.
        user_factor: Factor of what their exchanges add.
        density: The profile's, if short texts are preferred.
    """

    path: Path
    rows: list[Row]
    signals: Signals[Any]
    arithmetic: ArrayOps[Any]
    exchanges: ExchangeMatches = NO_MATCHES
    user_factor: float = 1.0
    density: float = 0.0

    def maxima(self) -> SignalMaxima:
        """The maximum of each signal that is not from 0 to 1 by itself."""
        sums, (words, near, session, vector, *_) = self.arithmetic, self.signals
        return SignalMaxima(sums.maximum(sums.apply(add, words, near)), sums.maximum(session), sums.maximum(vector))

    def score(self, maxima: SignalMaxima, profile: RecallProfile) -> Any:
        """The score of each row, without what exchanges add."""
        return self.arithmetic.apply(score_function(maxima, profile), *self.signals)

    def best_without_user(self, scores: Any) -> float:
        """The best score, if no message counted more for being the user's."""
        return self.arithmetic.maximum(self.arithmetic.apply(truediv, scores, self.signals.user))

    def rank(
        self, scores: Any, scale: float, limit: int
    ) -> Iterator[tuple[float, "_CandidateRows", int, _Added | None]]:
        """The best scores and their positions, with what exchanges add to them, best first.

        Args:
            scale: Of the scores of exchanges.
        """
        sums, added = self.arithmetic, dict[int, _Added]()
        if self.density:
            scores = sums.apply(mul, scores, sums.floats(list(map(self._density_factor, range(len(self.rows))))))
        if self.exchanges != NO_MATCHES:
            values = sums.to_list(scores)
            for at, score in self.exchanges.scores.items():
                added[at] = "exchange", scale * self.user_factor * score
                values[at] += added[at][1]
            for question, answers, share, part in self.exchanges.answers:
                lent = share * values[question]
                for at in answers:
                    if lent > values[at]:
                        values[at] = lent
                        added[at] = part, lent
            scores = sums.floats(values)
        places = sums.top_indices(scores, limit)
        return (
            (score, self, at, added.get(at))
            for score, at in zip(sums.to_list(sums.take(scores, places)), sums.to_list(places), strict=True)
        )

    def _density_factor(self, position: int) -> float:
        """The factor of one row for its tokens: 1 for a short one, and for what stands in an exchange with a record."""
        if position in self.exchanges.scores:
            return 1.0
        tokens = self.rows[position].tokens or _SHORTEST_TOKENS
        return float((_SHORTEST_TOKENS / min(max(tokens, _SHORTEST_TOKENS), _LONGEST_TOKENS)) ** self.density)

    def hit(
        self, position: int, score: float, added: _Added | None, maxima: SignalMaxima, profile: RecallProfile
    ) -> Hit:
        """One row as a hit."""
        part = "" if added is None else added[0]
        form: RecallForm = "answer" if part == "answer" else "record" if position in self.exchanges.records else ""
        parts = partial(self.parts, position, added, maxima, profile)
        return Hit(self.rows[position], score, parts, self.path, form=form)

    def parts(
        self, position: int, added: _Added | None, maxima: SignalMaxima, profile: RecallProfile
    ) -> Mapping[str, float]:
        """The parts of one row's score."""
        if added is not None and added[0] != "exchange":
            return dict([added])
        signals = Signals(*(float(column[position]) for column in self.signals))
        parts = dict(score_parts(signals, maxima, profile))
        if self.density and (factor := self._density_factor(position)) != 1.0:
            parts["x density"] = factor
        return parts if added is None else {**parts, added[0]: added[1]}


class Query(NamedTuple):
    """What is looked for, and how it is ranked.

    Attributes:
        now: UTC epoch seconds.
        limit: How many hits at most.
        profile: The weights of the score.
        vector: The text's embedding; None ranks by words alone.
        accepts: Which rows may be hits; None for those that are visible.
        zone: In which the days of the query and of the rows are counted.
        short_first: Whether short texts are preferred, by the profile's `density`.
    """

    text: str
    now: float
    profile: RecallProfile
    limit: int = CANDIDATE_LIMIT
    vector: QueryVector | None = None
    accepts: Callable[[Row], bool] | None = None
    zone: tzinfo = UTC
    short_first: bool = False


def search(replicas: Sequence[Replica[Any]], query: Query) -> Iterator[Hit]:
    """Rank what matches a query, best first: all of the scope, and all but messages of its parents.

    Args:
        replicas: The scope's, then its parents'.
    """
    profile, levels = query.profile, [(replica, replicas[:depth]) for depth, replica in enumerate(replicas)]
    found = [_collect_candidates(replica, query, profile, nearer) for replica, nearer in levels]
    maxima = SignalMaxima(*map(max, zip(*[each.maxima() for each in found], strict=True)))
    scores = [each.score(maxima, profile) for each in found]
    most = max(each.exchanges.best for each in found)
    # As much as the best score for the exchange that matches best.
    best = max(map(_CandidateRows.best_without_user, found, scores)) if most else 0.0
    scale = profile.exchange * best / most if most else 0.0
    ranked = chain.from_iterable(map(_CandidateRows.rank, found, scores, repeat(scale), repeat(query.limit)))
    # A stable sort: of equal scores the nearer scope's and the better match stays first.
    best_first = sorted(ranked, key=_SCORE, reverse=True)[: query.limit]
    hits = (each.hit(at, score, added, maxima, profile) for score, each, at, added in best_first)
    names = ((each.path, each.rows[at].id) for _, each, at, _ in best_first)
    return iter(mark_updates(hits, names, replicas, query, partial(_accept_rows, query)))


def match_words(replica: Replica[Any], text: str, share_of_best: float) -> WordMatches:
    """All of a scope that shares a word with a text, by BM25 alone; see `Index.match_words`."""
    return replica.use_derived(
        RecallIndex, lambda memory: memory.index.match_words(text, share_of_best), replica.analyzer
    )


def list_query_terms(replicas: Iterable[Replica[Any]], text: str) -> Sequence[str]:
    """The terms that a query is searched by, those of the nearest scope that has any; see `Index.query_terms`."""
    for replica in replicas if text.strip() else ():
        if terms := replica.use_derived(RecallIndex, lambda memory: memory.index.query_terms(text), replica.analyzer):
            return terms
    return ()


def intersect_terms(replica: Replica[Any], terms: Sequence[str], ids: Sequence[str]) -> list[tuple[str, ...]]:
    """Which of the terms each of some texts has; none for a text that is gone."""
    return replica.use_derived(RecallIndex, lambda memory: memory.index.intersect_terms(terms, ids), replica.analyzer)


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


def _collect_candidates(
    replica: Replica[Any], query: Query, profile: RecallProfile, nearer: Sequence[Replica[Any]]
) -> _CandidateRows:
    """Acceptable candidates of one replica, with their signals; of a parent no messages and no overridden entries."""

    def collect(memory: RecallIndex) -> _CandidateRows:
        with replica.lock:
            rows = replica.state.rows
            newest = [rows[each] for each in islice(reversed(replica.state.messages), _NEWEST_MESSAGES)]
        if not memory.index.count:
            none = ListOps().floats(())
            return _CandidateRows(replica.path, [], Signals(*[none] * len(Signals._fields)), ListOps())
        question = _find_question(memory, newest, query.text)
        intent = detect_intent(
            query.text, question.created_at if question else query.now, memory.neighbors.speaker_names(), query.zone
        )
        scorer = memory.index.scorer(
            query.text,
            k1=profile.k1,
            b=profile.b,
            feedback=Feedback(profile.feedback, profile.feedback_texts, profile.feedback_terms),
            question_id=question.id if question else None,
            cue=intent.speaker or "",
            cue_weight=profile.name_weight,
        )
        question_id = question.id if question else None
        similarities = (
            memory.similarities(query.vector.name, query.vector.vector, question_id) if query.vector else None
        )
        columns, exchanges = select_candidates(
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
        accepted = _accept(found, query, nearer)
        candidates = [row for row in compress(found, accepted) if row is not None]
        ops = scorer.ops
        if len(candidates) < len(found):
            places = ops.ints(list(compress(range(len(found)), accepted)))
            columns = CandidateColumns(*(ops.take(column, places) for column in columns))
        numbers = ops.to_list(columns.doc_numbers) if exchanges is not NO_MATCHES else ()
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
            ops.floats(_overlaps(memory, candidates, newest)) if profile.duplication else none,
            *score_factors(columns, scorer, memory.neighbors, intent, profile, exchanges=exchanges),
        )
        by_place = exchanges.renumber({number: place for place, number in enumerate(numbers)})
        factor = profile.user if intent.of_user else 1.0
        density = profile.density if query.short_first else 0.0
        return _CandidateRows(replica.path, candidates, signals, ops, by_place, factor, density)

    return replica.use_derived(RecallIndex, collect, replica.analyzer)


def _find_question(memory: RecallIndex, newest: Sequence[Row], text: str) -> Row | None:
    """The newest user message, if it is the query itself."""
    last = next((row for row in newest if row.role == "user"), None)
    return last if last is not None and memory.message_text(last).strip() == text.strip() else None


def _accept(rows: Sequence[Row | None], query: Query, nearer: Sequence[Replica[Any]]) -> list[bool]:
    """Which of the rows may be hits."""
    accepts = query.accepts or methodcaller("visible", query.now)
    if not nearer:
        return [row is not None and accepts(row) for row in rows]
    return [row is not None and accepts(row) and not _is_hidden(row, query.now, nearer) for row in rows]


def _accept_rows(query: Query, rows: Sequence[Row | None], nearer: Sequence[Replica[Any]]) -> list[bool]:
    return _accept(rows, query, nearer)


def _is_hidden(row: Row, now: float, nearer: Sequence[Replica[Any]]) -> bool:
    """Whether a parent's row is not seen from below: a message, or an entry that a nearer scope has."""
    return row.role is not None or (row.key is not None and any(each.state.entry(row.key, now) for each in nearer))


def _overlaps(memory: RecallIndex, rows: Sequence[Row], newest: Sequence[Row]) -> list[float]:
    """The share of each row's terms that the newest messages have; 0 for those messages themselves."""
    new = frozenset(row.id for row in newest)
    recent_terms = memory.recent_terms(new)
    return [0.0 if row.id in new else _overlap(memory.index.terms(row.id), recent_terms) for row in rows]


def _overlap(terms: frozenset[str], recent_terms: frozenset[str]) -> float:
    return len(terms & recent_terms) / len(terms) if terms else 0.0
