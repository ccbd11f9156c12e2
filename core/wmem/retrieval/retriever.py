"""Retrieval over a scope and its parents, by BM25 and vectors: an index beside each replica, kept up to date."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, compress, islice, repeat
from operator import add, itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from wmem.analysis.query_intent import detect_intent
from wmem.engine.replica import Replica
from wmem.model.item import to_message
from wmem.model.message import Message
from wmem.model.profile import RecallProfile
from wmem.model.row import Row
from wmem.model.values import load_json
from wmem.pack.quote_cache import QuoteCache
from wmem.retrieval.arrays import ArrayOps, ListOps
from wmem.retrieval.index import Feedback, Index
from wmem.retrieval.neighbors import NeighborGraph
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
from wmem.retrieval.vectors import VectorIndex
from wmem.rules.importance import importance

if TYPE_CHECKING:
    from wmem.retrieval.vectors import Floats

__all__ = [
    "Hit",
    "QueryVector",
    "add_vectors",
    "drop_removed_rows",
    "find_quote_cache",
    "row_text",
    "rows_without_vectors",
    "search",
]

CANDIDATE_LIMIT = 200  # candidates of one scope; a budget with room for more is not tight
_ITEM_THREAD = "\0items"
"""The thread of items in the neighbour graph, apart from the messages' threads."""
_SEQUENTIAL_TYPES = {
    "user_message": "user",
    "assistant_message": "assistant",
    "observation": "assistant",
    "thought": "assistant",
    "action": "assistant",
    "tool_call": "tool",
    "tool_result": "tool",
}
"""Item types that form a sequence, and the speaker's role; other types, such as facts, have no neighbours."""
_NEWEST_MESSAGES = 4
"""The newest messages, which every pack includes: what repeats them is a duplicate."""


_SCORE = itemgetter(0)


class Hit(NamedTuple):
    """A matching row, its score, and a function that returns the score's parts."""

    row: Row
    score: float
    parts: Callable[[], Mapping[str, float]]


class QueryVector(NamedTuple):
    """A query's embedding: the embedder's name, and the vector, of length 1."""

    name: str
    vector: "Floats"


class _CandidateRows(NamedTuple):
    """Candidate rows of one replica, their signals as columns, and the arithmetic for these."""

    rows: list[Row]
    signals: Signals[Any]
    arithmetic: ArrayOps[Any]

    def maxima(self) -> SignalMaxima:
        """The maximum of each signal that is not from 0 to 1 by itself."""
        sums, (words, near, session, vector, *_) = self.arithmetic, self.signals
        return SignalMaxima(sums.maximum(sums.apply(add, words, near)), sums.maximum(session), sums.maximum(vector))

    def rank(
        self, maxima: SignalMaxima, profile: RecallProfile, limit: int
    ) -> Iterator[tuple[float, "_CandidateRows", int]]:
        """The best scores and their positions, best first."""
        sums = self.arithmetic
        scores = sums.apply(score_function(maxima, profile), *self.signals)
        places = sums.top_indices(scores, limit)
        return zip(sums.to_list(sums.take(scores, places)), repeat(self), sums.to_list(places), strict=False)

    def parts(self, position: int, maxima: SignalMaxima, profile: RecallProfile) -> Mapping[str, float]:
        """The parts of one row's score."""
        return score_parts(Signals(*(float(column[position]) for column in self.signals)), maxima, profile)


class VectorCache:
    """One embedder's vectors of a replica's rows, and the ids of rows without an up-to-date vector."""

    __slots__ = ("missing", "vectors")

    def __init__(self, ids: Iterable[str]) -> None:
        self.vectors = VectorIndex()
        self.missing: dict[str, None] = dict.fromkeys(ids)

    def put(self, id: str, row: Row | None) -> None:
        """Drop the vector of a row that changed, or is gone."""
        self.vectors.remove(id)
        self.missing.pop(id, None)
        if row is not None:
            self.missing[id] = None


class RecallIndex:
    """BM25 index, neighbour graph, vectors and quotes of one replica; lock it before the replica."""

    __slots__ = ("_last_user_message", "index", "lock", "neighbors", "quotes", "vector_caches")

    def __init__(self) -> None:
        self.index = Index()
        self.neighbors = NeighborGraph()
        self.vector_caches: dict[str, VectorCache] = {}
        self.lock = threading.Lock()
        self.quotes = QuoteCache()
        self._last_user_message: tuple[Row, str] | None = None
        """The user message that was indexed last, and its text."""

    def message_text(self, row: Row) -> str:
        """The text of a message; that of the newest user message is cached."""
        newest = self._last_user_message
        return newest[1] if newest is not None and newest[0] is row else row_text(row)

    def put(self, id: str, row: Row | None) -> None:
        """Index a row as it is now; None removes it."""
        self.quotes.forget(id)
        if self._last_user_message is not None and self._last_user_message[0].id == id:
            self._last_user_message = None
        for shelf in self.vector_caches.values():
            shelf.put(id, row)
        if row is None:
            self.index.remove(id)
            self.neighbors.remove(id)
            return
        if row.role is not None:
            message = to_message(row)
            text, said, name, thread = _message_text(message), message.text, message.name, message.thread_id
            if row.role == "user":
                self._last_user_message = row, text
        else:
            text = said = row_text(row)
            name, thread = None, _ITEM_THREAD
        if row.key is not None or (row.role is None and row.type not in _SEQUENTIAL_TYPES):
            self.neighbors.remove(id)
            self.index.add(id, text)
            return
        role = row.role or _SEQUENTIAL_TYPES[row.type]
        slot = self.neighbors.put(id, said, role=role, name=name, thread=thread, at=row.created_at, tokens=row.tokens)
        self.index.add(id, text, self.neighbors.sessions[slot], slot)


def search(
    replicas: Sequence[Replica[Any]],
    query: str,
    now: float,
    profile: RecallProfile,
    limit: int = CANDIDATE_LIMIT,
    *,
    query_vector: QueryVector | None = None,
) -> Iterator[Hit]:
    """Rank what matches a query, best first: all of the scope, and all but messages of its parents.

    Args:
        replicas: The scope's, then its parents'.
        profile: The weights of the score.
        limit: How many at most.
        query_vector: The query's embedding; None ranks by words alone.
    """
    weighed = [
        _collect_candidates(
            replica, query, now, profile, limit=limit, query_vector=query_vector, nearer=replicas[:depth]
        )
        for depth, replica in enumerate(replicas)
    ]
    best = SignalMaxima(*map(max, zip(*[each.maxima() for each in weighed], strict=True)))
    # A stable sort: of equal scores the nearer scope's and the better match stays first.
    ranked = sorted(chain.from_iterable(each.rank(best, profile, limit) for each in weighed), key=_SCORE, reverse=True)
    return (Hit(each.rows[at], score, partial(each.parts, at, best, profile)) for score, each, at in ranked[:limit])


def _is_inherited(row: Row | None, nearer: Sequence[Replica[Any]], now: float) -> bool:
    """Whether a parent's row is visible below: no message, and no entry that a nearer scope overrides."""
    if row is None or row.role is not None:
        return False
    return row.key is None or not any(each.state.entry(row.key, now) for each in nearer)


def find_quote_cache(replica: Replica[Any]) -> QuoteCache | None:
    """The quote cache of a replica; None before its first recall."""
    return replica.recall_index.quotes if isinstance(replica.recall_index, RecallIndex) else None


def drop_removed_rows(replica: Replica[Any]) -> None:
    """Drop removed rows from a replica's index now, not at the next query."""
    memory = replica.recall_index
    if isinstance(memory, RecallIndex):
        with memory.lock:
            _catch_up(memory, replica)


def rows_without_vectors(
    replica: Replica[Any], name: str, width: int, now: float, *, include_messages: bool
) -> list[Row]:
    """The visible rows without a vector by an embedder, newest first.

    Args:
        name: The embedder's name.
        width: Dimensions of its vectors; vectors of another width are dropped (an earlier model of the name).
        include_messages: Messages, too.
    """
    memory = _recall_index(replica)
    with memory.lock:
        _catch_up(memory, replica)
        with replica.lock:
            rows = replica.state.rows
            shelf = memory.vector_caches.get(name)
            if shelf is None or shelf.vectors.width not in (None, width):
                shelf = memory.vector_caches[name] = VectorCache(rows)
            waiting = [row for id in reversed(shelf.missing) if (row := rows.get(id)) is not None]
    return [row for row in waiting if row.visible(now) and (include_messages or row.role is None)]


def add_vectors(replica: Replica[Any], name: str, vectors: Iterable[tuple[Row, "Floats"]]) -> int:
    """Add the vectors of rows to the index; rows whose content has changed are skipped.

    Returns:
        By how many bytes the index grew.
    """
    memory = _recall_index(replica)
    with memory.lock:
        _catch_up(memory, replica)
        shelf = memory.vector_caches.get(name)
        if shelf is None:
            return 0  # the replica was reset
        with replica.lock:
            rows = replica.state.rows
            taken = [(row.id, vector) for row, vector in vectors if _has_same_content(rows.get(row.id), row)]
        for id, vector in taken:
            if id in shelf.missing and shelf.vectors.width in (None, len(vector)):
                del shelf.missing[id]
                shelf.vectors.put(id, vector)
        with replica.lock:
            if replica.recall_index is not memory:
                return 0
            before = replica.index_bytes
            replica.index_bytes = sum(each.vectors.bytes for each in memory.vector_caches.values())
            return replica.index_bytes - before


def _has_same_content(now: Row | None, then: Row) -> bool:
    return now is not None and (now.content, now.key, now.role) == (then.content, then.key, then.role)


def _recall_index(replica: Replica[Any]) -> RecallIndex:
    with replica.lock:
        memory = replica.recall_index
        if not isinstance(memory, RecallIndex):
            memory = replica.recall_index = RecallIndex()
            replica.state.recall_changes = None
    return memory


def _catch_up(index: RecallIndex, replica: Replica[Any]) -> None:
    """Index what changed since the last call; the caller holds the index's lock."""
    with replica.lock:
        state = replica.state
        news: Iterable[str] = state.rows if state.recall_changes is None else state.recall_changes
        pending = [(each, state.rows.get(each)) for each in news]
        state.recall_changes = {}
    for each, row in pending:
        index.put(each, row)


def _collect_candidates(
    replica: Replica[Any],
    query: str,
    now: float,
    profile: RecallProfile,
    *,
    limit: int,
    query_vector: QueryVector | None,
    nearer: Sequence[Replica[Any]],
) -> _CandidateRows:
    """Visible candidates of one replica, with their signals; of a parent no messages and no overridden entries."""
    memory = _recall_index(replica)
    with memory.lock:
        _catch_up(memory, replica)
        with replica.lock:
            state = replica.state
            newest = list(islice(reversed(state.messages), _NEWEST_MESSAGES))
            last = next((state.rows[each] for each in newest if state.rows[each].role == "user"), None)
        if not memory.index.count:
            none = ListOps().floats(())
            return _CandidateRows([], Signals(*[none] * len(Signals._fields)), ListOps())
        asked, asked_at = None, now
        if last is not None and memory.message_text(last).strip() == query.strip():
            asked, asked_at = last.id, last.created_at
        shelf = None if query_vector is None else memory.vector_caches.get(query_vector.name)
        meant = (
            None if query_vector is None or shelf is None else shelf.vectors.similarities(query_vector.vector, asked)
        )
        matches = memory.index.scorer(
            query,
            k1=profile.k1,
            b=profile.b,
            feedback=Feedback(profile.feedback, profile.feedback_texts, profile.feedback_terms),
        )
        cues = detect_intent(query, asked_at, memory.neighbors.speaker_names())
        chosen = select_candidates(
            matches, memory.neighbors, cues, profile, limit, question_id=asked, similarities=meant
        )
        with replica.lock:
            known = replica.state.rows
            found = list(map(known.get, matches.ids(chosen.doc_numbers)))
            unwritten = dict(replica.state.unwritten_touches) if profile.importance else {}
        seen = [row is not None and row.visible(now) for row in found]
        if nearer:
            seen = [here and _is_inherited(row, nearer, now) for here, row in zip(seen, found, strict=True)]
        rows = [row for row in compress(found, seen) if row is not None]
        sums = matches.ops
        if len(rows) < len(found):
            places = sums.ints(list(compress(range(len(found)), seen)))
            chosen = CandidateColumns(*(sums.take(column, places) for column in chosen))
        told = frozenset[str]().union(*map(memory.index.terms, newest)) if profile.duplication else ()
        none = sums.floats([0.0] * len(rows))
        signals = Signals(
            chosen.bm25,
            chosen.near,
            session_scores(chosen, matches) if profile.session else none,
            chosen.vector,
            sums.floats([recency_decay(now - row.created_at, profile.half_life_s) for row in rows])
            if profile.recency
            else none,
            sums.floats([importance(row, now, unwritten.get(row.id, (0, 0.0))[0]) for row in rows])
            if profile.importance
            else none,
            sums.floats([0.0 if row.id in newest else _overlap(memory.index.terms(row.id), told) for row in rows])
            if told
            else none,
            *score_factors(chosen, matches, memory.neighbors, cues, profile),
        )
    return _CandidateRows(rows, signals, sums)


def _overlap(terms: frozenset[str], recent_terms: frozenset[str]) -> float:
    return len(terms & recent_terms) / len(terms) if terms else 0.0


def row_text(row: Row) -> str:
    """The text of a row: a message's text and calls, an item's content, an entry as ``key: value``."""
    if row.role is not None:
        return _message_text(to_message(row))
    told = load_json(row.content)
    return told if row.key is None else f"{row.key}: {_flatten(told)}"


def _message_text(message: Message) -> str:
    calls = [f"{call.name} {call.arguments}" for call in message.tool_calls]
    return "\n".join(filter(None, (message.text, *calls)))


def _flatten(value: Any) -> str:
    if isinstance(value, dict):
        if "~wmem" in value:
            return _flatten(value.get("value"))
        return ", ".join(f"{name}: {_flatten(each)}" for name, each in value.items())
    if isinstance(value, list):
        return ", ".join(_flatten(each) for each in value)
    return str(value)
