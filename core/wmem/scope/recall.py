"""Retrieval over a scope and its parents, by BM25 and vectors: an index beside each replica, kept up to date."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, compress, islice, repeat
from operator import add, itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from wmem.model.item import message_of
from wmem.model.message import Message
from wmem.model.row import Row
from wmem.model.scoring import Recall
from wmem.model.values import load_json
from wmem.replica import Replica
from wmem.rules.candidates import Candidates, candidates, factors, sessions
from wmem.rules.importance import importance
from wmem.rules.scoring import Best, Signals, freshness, parts, total
from wmem.scope.quoting import Quoted
from wmem.text.columns import Arithmetic, Lists
from wmem.text.cues import cues_of
from wmem.text.index import Feedback, Index
from wmem.text.turns import Turns
from wmem.text.vectors import Vectors

if TYPE_CHECKING:
    from wmem.text.vectors import Floats

__all__ = ["Dense", "Found", "forgotten", "quoted", "recall", "shelved", "text_of", "unshelved"]

LIMIT = 200  # candidates of one scope; a budget with room for more is not tight
_ITEMS = "\0items"
"""The thread of items in the neighbour graph, apart from the messages' threads."""
_IN_SEQUENCE = {
    "user_message": "user",
    "assistant_message": "assistant",
    "observation": "assistant",
    "thought": "assistant",
    "action": "assistant",
    "tool_call": "tool",
    "tool_result": "tool",
}
"""Item types that form a sequence, and the speaker's role; other types, such as facts, have no neighbours."""
_NEWEST = 4
"""The newest messages, which every pack includes: what repeats them is a duplicate."""


_SCORE = itemgetter(0)


class Found(NamedTuple):
    """A matching row, its score, and a function that returns the score's parts."""

    row: Row
    score: float
    parts: Callable[[], Mapping[str, float]]


class Dense(NamedTuple):
    """A query's embedding: the embedder's name, and the vector, of length 1."""

    name: str
    vector: "Floats"


class _Weighed(NamedTuple):
    """Candidate rows of one replica, their signals as columns, and the arithmetic for these."""

    rows: list[Row]
    signals: Signals[Any]
    sums: Arithmetic[Any]

    def most(self) -> Best:
        """The maximum of each signal that is not from 0 to 1 by itself."""
        sums, (words, near, session, vector, *_) = self.sums, self.signals
        return Best(sums.most(sums.each(add, words, near)), sums.most(session), sums.most(vector))

    def ranked(self, best: Best, profile: Recall, limit: int) -> Iterator[tuple[float, "_Weighed", int]]:
        """The best scores and their positions, best first."""
        sums = self.sums
        scores = sums.each(total(best, profile), *self.signals)
        places = sums.largest(scores, limit)
        return zip(sums.plain(sums.take(scores, places)), repeat(self), sums.plain(places), strict=False)

    def parts(self, at: int, best: Best, profile: Recall) -> Mapping[str, float]:
        """The parts of one row's score."""
        return parts(Signals(*(float(column[at]) for column in self.signals)), best, profile)


class _Shelf:
    """One embedder's vectors of a replica's rows, and the ids of rows without an up-to-date vector."""

    __slots__ = ("vectors", "waiting")

    def __init__(self, ids: Iterable[str]) -> None:
        self.vectors = Vectors()
        self.waiting: dict[str, None] = dict.fromkeys(ids)

    def put(self, id: str, row: Row | None) -> None:
        """Drop the vector of a row that changed, or is gone."""
        self.vectors.remove(id)
        self.waiting.pop(id, None)
        if row is not None:
            self.waiting[id] = None


class _Recall:
    """BM25 index, neighbour graph, vectors and quotes of one replica; lock it before the replica."""

    __slots__ = ("_newest", "index", "lock", "quoted", "shelves", "turns")

    def __init__(self) -> None:
        self.index = Index()
        self.turns = Turns()
        self.shelves: dict[str, _Shelf] = {}
        self.lock = threading.Lock()
        self.quoted = Quoted()
        self._newest: tuple[Row, str] | None = None
        """The user message that was indexed last, and its text."""

    def said(self, row: Row) -> str:
        """The text of a message; that of the newest user message is cached."""
        newest = self._newest
        return newest[1] if newest is not None and newest[0] is row else text_of(row)

    def put(self, id: str, row: Row | None) -> None:
        """Index a row as it is now; None removes it."""
        self.quoted.forget(id)
        if self._newest is not None and self._newest[0].id == id:
            self._newest = None
        for shelf in self.shelves.values():
            shelf.put(id, row)
        if row is None:
            self.index.remove(id)
            self.turns.remove(id)
            return
        if row.role is not None:
            message = message_of(row)
            text, said, name, thread = _told(message), message.text, message.name, message.thread_id
            if row.role == "user":
                self._newest = row, text
        else:
            text = said = text_of(row)
            name, thread = None, _ITEMS
        if row.key is not None or (row.role is None and row.type not in _IN_SEQUENCE):
            self.turns.remove(id)
            self.index.add(id, text)
            return
        role = row.role or _IN_SEQUENCE[row.type]
        slot = self.turns.put(id, said, role=role, name=name, thread=thread, at=row.created_at, tokens=row.tokens)
        self.index.add(id, text, self.turns.sessions[slot], slot)


def recall(
    replicas: Sequence[Replica[Any]],
    query: str,
    now: float,
    profile: Recall,
    limit: int = LIMIT,
    *,
    dense: Dense | None = None,
) -> Iterator[Found]:
    """Rank what matches a query, best first: all of the scope, and all but messages of its parents.

    Args:
        replicas: The scope's, then its parents'.
        profile: The weights of the score.
        limit: How many at most.
        dense: The query's embedding; None ranks by words alone.
    """
    weighed = [
        _searched(replica, query, now, profile, limit=limit, dense=dense, nearer=replicas[:depth])
        for depth, replica in enumerate(replicas)
    ]
    best = Best(*map(max, zip(*[each.most() for each in weighed], strict=True)))
    # A stable sort: of equal scores the nearer scope's and the better match stays first.
    ranked = sorted(
        chain.from_iterable(each.ranked(best, profile, limit) for each in weighed), key=_SCORE, reverse=True
    )
    return (Found(each.rows[at], score, partial(each.parts, at, best, profile)) for score, each, at in ranked[:limit])


def _inherited(row: Row | None, nearer: Sequence[Replica[Any]], now: float) -> bool:
    """Whether a parent's row is visible below: no message, and no entry that a nearer scope overrides."""
    if row is None or row.role is not None:
        return False
    return row.key is None or not any(each.state.entry(row.key, now) for each in nearer)


def quoted(replica: Replica[Any]) -> Quoted | None:
    """The quote cache of a replica; None before its first recall."""
    return replica.recall.quoted if isinstance(replica.recall, _Recall) else None


def forgotten(replica: Replica[Any]) -> None:
    """Drop removed rows from a replica's index now, not at the next query."""
    memory = replica.recall
    if isinstance(memory, _Recall):
        with memory.lock:
            _catch_up(memory, replica)


def unshelved(replica: Replica[Any], name: str, width: int, now: float, *, messages: bool) -> list[Row]:
    """The visible rows without a vector by an embedder, newest first.

    Args:
        name: The embedder's name.
        width: Dimensions of its vectors; vectors of another width are dropped (an earlier model of the name).
        messages: Include messages.
    """
    memory = _memory(replica)
    with memory.lock:
        _catch_up(memory, replica)
        with replica.lock:
            rows = replica.state.rows
            shelf = memory.shelves.get(name)
            if shelf is None or shelf.vectors.width not in (None, width):
                shelf = memory.shelves[name] = _Shelf(rows)
            waiting = [row for id in reversed(shelf.waiting) if (row := rows.get(id)) is not None]
    return [row for row in waiting if row.visible(now) and (messages or row.role is None)]


def shelved(replica: Replica[Any], name: str, made: Iterable[tuple[Row, "Floats"]]) -> int:
    """Add the vectors of rows to the index; rows whose content has changed are skipped.

    Returns:
        By how many bytes the index grew.
    """
    memory = _memory(replica)
    with memory.lock:
        _catch_up(memory, replica)
        shelf = memory.shelves.get(name)
        if shelf is None:
            return 0  # the replica was reset
        with replica.lock:
            rows = replica.state.rows
            taken = [(row.id, vector) for row, vector in made if _says(rows.get(row.id), row)]
        for id, vector in taken:
            if id in shelf.waiting and shelf.vectors.width in (None, len(vector)):
                del shelf.waiting[id]
                shelf.vectors.put(id, vector)
        with replica.lock:
            if replica.recall is not memory:
                return 0
            before = replica.beside
            replica.beside = sum(each.vectors.bytes for each in memory.shelves.values())
            return replica.beside - before


def _says(now: Row | None, then: Row) -> bool:
    return now is not None and (now.content, now.key, now.role) == (then.content, then.key, then.role)


def _memory(replica: Replica[Any]) -> _Recall:
    with replica.lock:
        memory = replica.recall
        if not isinstance(memory, _Recall):
            memory = replica.recall = _Recall()
            replica.state.changed = None
    return memory


def _catch_up(memory: _Recall, replica: Replica[Any]) -> None:
    """Index what changed since the last call; the caller holds the index's lock."""
    with replica.lock:
        state = replica.state
        news: Iterable[str] = state.rows if state.changed is None else state.changed
        pending = [(each, state.rows.get(each)) for each in news]
        state.changed = {}
    for each, row in pending:
        memory.put(each, row)


def _searched(
    replica: Replica[Any],
    query: str,
    now: float,
    profile: Recall,
    *,
    limit: int,
    dense: Dense | None,
    nearer: Sequence[Replica[Any]],
) -> _Weighed:
    """Visible candidates of one replica, with their signals; of a parent no messages and no overridden entries."""
    memory = _memory(replica)
    with memory.lock:
        _catch_up(memory, replica)
        with replica.lock:
            state = replica.state
            newest = list(islice(reversed(state.messages), _NEWEST))
            last = next((state.rows[each] for each in newest if state.rows[each].role == "user"), None)
        if not memory.index.count:
            none = Lists().floats(())
            return _Weighed([], Signals(*[none] * len(Signals._fields)), Lists())
        asked, asked_at = None, now
        if last is not None and memory.said(last).strip() == query.strip():
            asked, asked_at = last.id, last.created_at
        shelf = None if dense is None else memory.shelves.get(dense.name)
        meant = None if dense is None or shelf is None else shelf.vectors.near(dense.vector, asked)
        matches = memory.index.matches(
            query,
            k1=profile.k1,
            b=profile.b,
            feedback=Feedback(profile.feedback, profile.feedback_texts, profile.feedback_terms),
        )
        cues = cues_of(query, asked_at, memory.turns.known())
        chosen = candidates(matches, memory.turns, cues, profile, limit, asked=asked, meant=meant)
        with replica.lock:
            known = replica.state.rows
            found = list(map(known.get, matches.ids(chosen.numbers)))
            unwritten = dict(replica.state.unwritten) if profile.importance else {}
        seen = [row is not None and row.visible(now) for row in found]
        if nearer:
            seen = [here and _inherited(row, nearer, now) for here, row in zip(seen, found, strict=True)]
        rows = [row for row in compress(found, seen) if row is not None]
        sums = matches.sums
        if len(rows) < len(found):
            places = sums.whole(list(compress(range(len(found)), seen)))
            chosen = Candidates(*(sums.take(column, places) for column in chosen))
        told = frozenset[str]().union(*map(memory.index.terms, newest)) if profile.duplication else ()
        none = sums.floats([0.0] * len(rows))
        signals = Signals(
            chosen.words,
            chosen.near,
            sessions(chosen, matches) if profile.session else none,
            chosen.vector,
            sums.floats([freshness(now - row.created_at, profile.half_life_s) for row in rows])
            if profile.recency
            else none,
            sums.floats([importance(row, now, unwritten.get(row.id, (0, 0.0))[0]) for row in rows])
            if profile.importance
            else none,
            sums.floats([0.0 if row.id in newest else _overlap(memory.index.terms(row.id), told) for row in rows])
            if told
            else none,
            *factors(chosen, matches, memory.turns, cues, profile),
        )
    return _Weighed(rows, signals, sums)


def _overlap(terms: frozenset[str], told: frozenset[str]) -> float:
    return len(terms & told) / len(terms) if terms else 0.0


def text_of(row: Row) -> str:
    """The text of a row: a message's text and calls, an item's content, an entry as ``key: value``."""
    if row.role is not None:
        return _told(message_of(row))
    told = load_json(row.content)
    return told if row.key is None else f"{row.key}: {_plain(told)}"


def _told(message: Message) -> str:
    calls = [f"{call.name} {call.arguments}" for call in message.tool_calls]
    return "\n".join(filter(None, (message.text, *calls)))


def _plain(told: Any) -> str:
    if isinstance(told, dict):
        if "~wmem" in told:
            return _plain(told.get("value"))
        return ", ".join(f"{name}: {_plain(each)}" for name, each in told.items())
    if isinstance(told, list):
        return ", ".join(_plain(each) for each in told)
    return str(told)
