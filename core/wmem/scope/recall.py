"""What a scope can find for a question, by words and by meaning: an index beside each replica, kept up to date."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from wmem.model.item import message_of
from wmem.model.message import Message
from wmem.model.row import Row
from wmem.model.scoring import Recall
from wmem.model.values import load_json
from wmem.replica import Replica
from wmem.rules.importance import importance
from wmem.rules.scoring import Signals, best_of, damped, factors, freshness, parts, totals
from wmem.scope.quoting import Quoted
from wmem.text.cues import cues_of
from wmem.text.dates import day_at
from wmem.text.index import Feedback, Index
from wmem.text.turns import Turn, Turns
from wmem.text.vectors import Near, Vectors

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
_SPARE = 2
"""So many times as many are weighed in full: a factor may bring one up."""
_NEWEST = 4
"""Messages that every pack has already: what repeats them is a duplicate."""


class Found(NamedTuple):
    """A row that matches, its score, and what tells what the score is made of."""

    row: Row
    score: float
    parts: Callable[[], Mapping[str, float]]


class Dense(NamedTuple):
    """What a query means: its vector, of length 1, by the embedder of a name."""

    name: str
    vector: "Floats"


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

    __slots__ = ("index", "lock", "quoted", "shelves", "turns")

    def __init__(self) -> None:
        self.index = Index()
        self.turns = Turns()
        self.shelves: dict[str, _Shelf] = {}
        self.lock = threading.Lock()
        self.quoted = Quoted()

    def put(self, id: str, row: Row | None) -> None:
        """Take in what a row says now; None is a row that is gone."""
        self.quoted.forget(id)
        for shelf in self.shelves.values():
            shelf.put(id, row)
        if row is None:
            self.index.remove(id)
            self.turns.remove(id)
            return
        if row.role is not None:
            message = message_of(row)
            text, said, name, thread = _told(message), message.text, message.name, message.thread_id
        else:
            text = said = text_of(row)
            name, thread = None, _ITEMS
        if row.key is not None or (row.role is None and row.type not in _IN_SEQUENCE):
            self.index.add(id, text)
            return
        role = row.role or _IN_SEQUENCE[row.type]
        turn = self.turns.put(id, said, role=role, name=name, thread=thread, at=row.created_at, tokens=row.tokens)
        self.index.add(id, text, turn.session)


def recall(
    replicas: Sequence[Replica[Any]],
    query: str,
    now: float,
    profile: Recall,
    limit: int = LIMIT,
    *,
    dense: Dense | None = None,
) -> list[Found]:
    """What matches a query, best first: of the scope everything, of its parents all but messages.

    Args:
        replicas: The scope's, then its parents'.
        profile: How what matches is weighed.
        limit: How many may be found.
        dense: What the query means, beside its words.
    """
    rows: list[Row] = []
    near: list[Signals] = []
    for depth, replica in enumerate(replicas):
        for row, signals in _searched(replica, query, now, profile, limit=limit, dense=dense):
            if not row.visible(now):
                continue
            if depth and (row.role is not None or (row.key is not None and _shadowed(row.key, replicas[:depth], now))):
                continue
            rows.append(row)
            near.append(signals)
    best = best_of(near)
    scores = totals(near, best, profile)
    # Stable: of equal scores the nearer scope's and the better match stays first.
    ranked = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)[:limit]
    return [Found(rows[at], scores[at], partial(parts, near[at], best, profile)) for at in ranked]


def _shadowed(key: str, nearer: Sequence[Replica[Any]], now: float) -> bool:
    return any(each.state.entry(key, now) for each in nearer)


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
    replica: Replica[Any], query: str, now: float, profile: Recall, *, limit: int, dense: Dense | None
) -> list[tuple[Row, Signals]]:
    memory = _memory(replica)
    with memory.lock:
        _catch_up(memory, replica)
        with replica.lock:
            state = replica.state
            newest = list(islice(reversed(state.messages), _NEWEST))
            last = next((state.rows[each] for each in newest if state.rows[each].role == "user"), None)
        if not memory.index.count:
            return []
        asked = None if last is None or text_of(last).strip() != query.strip() else last.id
        shelf = None if dense is None else memory.shelves.get(dense.name)
        near = None if dense is None or shelf is None else shelf.vectors.near(dense.vector, asked)
        matched = list(_matched(memory, query, now, profile, limit=limit, asked=asked, meant=near))
        if not profile.duplication:
            newest = []
        told = frozenset[str]().union(*map(memory.index.terms, newest))
        with replica.lock:
            rows, unwritten = replica.state.rows, replica.state.unwritten
            found = [(rows[id], unwritten.get(id, (0, 0.0))[0], signals) for id, signals in matched if id in rows]
        if not (profile.recency or profile.importance or told):
            return [(row, signals) for row, _, signals in found]
        return [
            (
                row,
                signals._replace(
                    recency=freshness(now - row.created_at, profile.half_life_s),
                    importance=importance(row, now, more),
                    overlap=0.0 if row.id in newest else _overlap(memory.index.terms(row.id), told),
                ),
            )
            for row, more, signals in found
        ]


def _matched(
    memory: _Recall, query: str, now: float, profile: Recall, *, limit: int, asked: str | None, meant: Near | None
) -> Iterator[tuple[str, Signals]]:
    """What shares words with the query or means the like, and what stands beside that, best first.

    Args:
        asked: The message that is the question itself: it answers nothing, nor do those beside it for its sake.
        meant: How near in meaning each is, without the question.
    """
    matches = memory.index.matches(
        query,
        k1=profile.k1,
        b=profile.b,
        feedback=Feedback(profile.feedback, profile.feedback_texts, profile.feedback_terms),
    )
    found = {id: score for id, score in matches.best(limit) if id != asked}
    turns = memory.turns
    lent = _lent(found, turns, profile) if profile.next_to or profile.next_but_one else {}
    felt = meant.best(limit) if meant is not None and profile.vector else {}
    felt_beside = _lent(felt, turns, profile) if felt and (profile.next_to or profile.next_but_one) else {}
    scale = profile.vector * max(found.values(), default=1.0)
    full, vector = profile.full_tokens, 0.0
    based: list[tuple[float, int, str, float, Turn | None, float, float, float]] = []
    ids = list(found | lent | felt | felt_beside)
    for place, (id, words) in enumerate(zip(ids, matches.of(ids), strict=True)):
        turn = turns.get(id)
        borrows = 0.0 if turn is None else damped(turn.tokens, full)
        near = borrows * lent.get(id, 0.0)
        if meant is not None:
            vector = meant.of(id) + borrows * felt_beside.get(id, 0.0)
        based.append((-words - near - scale * vector, place, id, words, turn, near, borrows, vector))
    based.sort()
    del based[_SPARE * limit :]
    wanted = sorted({turn.session for _, _, _, _, turn, *_ in based if turn is not None}) if profile.session else ()
    sessions = matches.groups(wanted)
    cues = cues_of(query, now, turns.speakers())
    for _, _, id, words, turn, near, borrows, vector in based:
        if turn is None:
            yield id, Signals(words, 0.0, 0.0, vector)
            continue
        session = borrows * sessions.get(turn.session, 0.0)
        if not cues.any:
            yield id, Signals(words, near, session, vector)
            continue
        day = day_at(turn.at) if cues.dates else None
        yield id, Signals(words, near, session, vector, 0.0, 0.0, 0.0, *factors(turn, cues, day, profile))


def _lent(scores: Mapping[str, float], turns: Turns, profile: Recall) -> dict[str, float]:
    """What messages lend to those beside them: a question is matched, its answer is wanted."""
    lent: dict[str, float] = {}
    next_to, next_but_one = profile.next_to, profile.next_but_one
    for id, score in scores.items():
        turn = turns.get(id)
        if turn is None:
            continue
        before, after = turns.get(turn.before), turns.get(turn.after)
        beside = turn.before, turn.after
        beyond = None if before is None else before.before, None if after is None else after.after
        for share, ids in ((next_to, beside), (next_but_one, beyond)):
            if share:
                for each in ids:
                    if each is not None:
                        lent[each] = lent.get(each, 0.0) + share * score
    return lent


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
