"""What a scope can find for a question, by words and by meaning: an index beside each replica, kept up to date."""

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

LIMIT = 200  # candidates of one scope; a budget that holds more of them was no tight one
_ITEMS = "\0items"
"""The thread that items stand in, beside those of messages."""
_IN_SEQUENCE = {
    "user_message": "user",
    "assistant_message": "assistant",
    "observation": "assistant",
    "thought": "assistant",
    "action": "assistant",
    "tool_call": "tool",
    "tool_result": "tool",
}
"""Types of items that tell what happened one after the other, and who speaks; a fact stands for itself."""
_NEWEST = 4
"""Messages that every pack has already: what repeats them is a duplicate."""


_SCORE = itemgetter(0)


class Found(NamedTuple):
    """A row that matches, its score, and what tells what the score is made of."""

    row: Row
    score: float
    parts: Callable[[], Mapping[str, float]]


class Dense(NamedTuple):
    """What a query means: its vector, of length 1, by the embedder of a name."""

    name: str
    vector: "Floats"


class _Weighed(NamedTuple):
    """Rows of one replica, what is known of them by columns, and what reckons with these."""

    rows: list[Row]
    signals: Signals[Any]
    sums: Arithmetic[Any]

    def most(self) -> Best:
        """The most that any of them has of what is not from 0 to 1 by itself."""
        sums, (words, near, session, vector, *_) = self.sums, self.signals
        return Best(sums.most(sums.each(add, words, near)), sums.most(session), sums.most(vector))

    def ranked(self, best: Best, profile: Recall, limit: int) -> Iterator[tuple[float, "_Weighed", int]]:
        """The scores of the best and their places, best first."""
        sums = self.sums
        scores = sums.each(total(best, profile), *self.signals)
        places = sums.largest(scores, limit)
        return zip(sums.plain(sums.take(scores, places)), repeat(self), sums.plain(places), strict=False)

    def parts(self, at: int, best: Best, profile: Recall) -> Mapping[str, float]:
        """What the score of one is made of."""
        return parts(Signals(*(float(column[at]) for column in self.signals)), best, profile)


class _Shelf:
    """What one embedder made of the rows of a replica, and which rows it has not seen as they are now."""

    __slots__ = ("vectors", "waiting")

    def __init__(self, ids: Iterable[str]) -> None:
        self.vectors = Vectors()
        self.waiting: dict[str, None] = dict.fromkeys(ids)

    def put(self, id: str, row: Row | None) -> None:
        """Forget what a row said."""
        self.vectors.remove(id)
        self.waiting.pop(id, None)
        if row is not None:
            self.waiting[id] = None


class _Recall:
    """The index of one replica and its conversation; its lock comes before the replica's."""

    __slots__ = ("_newest", "index", "lock", "quoted", "shelves", "turns")

    def __init__(self) -> None:
        self.index = Index()
        self.turns = Turns()
        self.shelves: dict[str, _Shelf] = {}
        self.lock = threading.Lock()
        self.quoted = Quoted()
        self._newest: tuple[Row, str] | None = None
        """The message of the user that was taken in last."""

    def said(self, row: Row) -> str:
        """What a message says."""
        newest = self._newest
        return newest[1] if newest is not None and newest[0] is row else text_of(row)

    def put(self, id: str, row: Row | None) -> None:
        """Take in what a row says now; None is a row that is gone."""
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
    """What matches a query, best first: of the scope everything, of its parents all but messages.

    Args:
        replicas: The scope's, then its parents'.
        profile: How what matches is weighed.
        limit: How many may be found.
        dense: What the query means, beside its words.
    """
    weighed = [
        _searched(replica, query, now, profile, limit=limit, dense=dense, nearer=replicas[:depth])
        for depth, replica in enumerate(replicas)
    ]
    best = Best(*map(max, zip(*[each.most() for each in weighed], strict=True)))
    # Stable: of equal scores the nearer scope's and the better match stays first.
    ranked = sorted(
        chain.from_iterable(each.ranked(best, profile, limit) for each in weighed), key=_SCORE, reverse=True
    )
    return (Found(each.rows[at], score, partial(each.parts, at, best, profile)) for score, each, at in ranked[:limit])


def _inherited(row: Row | None, nearer: Sequence[Replica[Any]], now: float) -> bool:
    """Whether nearer scopes see it: no message, and no entry that one of them overrides."""
    if row is None or row.role is not None:
        return False
    return row.key is None or not any(each.state.entry(row.key, now) for each in nearer)


def quoted(replica: Replica[Any]) -> Quoted | None:
    """How rows of a replica were quoted; None where nothing was ever recalled."""
    return replica.recall.quoted if isinstance(replica.recall, _Recall) else None


def forgotten(replica: Replica[Any]) -> None:
    """Keep nothing of what is gone from a replica: not until the next question either."""
    memory = replica.recall
    if isinstance(memory, _Recall):
        with memory.lock:
            _catch_up(memory, replica)


def unshelved(replica: Replica[Any], name: str, width: int, now: float, *, messages: bool) -> list[Row]:
    """What can be seen and has no vector of an embedder's here, newest first.

    Args:
        name: The embedder's.
        width: That of its vectors; those of another model that had the name are let go.
        messages: Messages, too.
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
    """Take in the vectors of rows; of those that say something else by now none is taken.

    Returns:
        By how many bytes what is kept grew.
    """
    memory = _memory(replica)
    with memory.lock:
        _catch_up(memory, replica)
        shelf = memory.shelves.get(name)
        if shelf is None:
            return 0  # the replica began anew
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
    """Take in what changed since the last time. Under the memory's lock."""
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
    """What a replica has for the query and can be seen; of a parent's no messages, nor what nearer scopes override."""
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
    """What a row says, as one text: a message's text and calls, an item's content, an entry as ``key: value``."""
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
