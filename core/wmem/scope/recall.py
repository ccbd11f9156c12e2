"""What a scope can find by words: an index beside each replica, brought up to date when it is asked."""

import threading
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from wmem.model.item import message_of
from wmem.model.row import Row
from wmem.model.values import load_json
from wmem.replica import Replica
from wmem.text.index import Index

__all__ = ["Found", "recall", "text_of"]

LIMIT = 200  # candidates of one scope; a budget that holds more of them was no tight one


class Found(NamedTuple):
    """A row that matches, and its score."""

    row: Row
    score: float


class _Recall:
    """The index of one replica; its lock comes before the replica's."""

    __slots__ = ("index", "lock")

    def __init__(self) -> None:
        self.index = Index()
        self.lock = threading.Lock()


def recall(replicas: Sequence[Replica[Any]], query: str, now: float) -> list[Found]:
    """What matches a query, best first: of the scope everything, of its parents all but messages.

    Args:
        replicas: The scope's, then its parents'.
    """
    found: list[Found] = []
    for depth, replica in enumerate(replicas):
        for row, score in _search(replica, query):
            shadowed = row.key is not None and any(near.state.entry(row.key, now) for near in replicas[:depth])
            if row.visible(now) and not (depth and row.role is not None) and not shadowed:
                found.append(Found(row, score))
    # Stable: of equal scores the nearer scope's and the earlier one stays first.
    found.sort(key=lambda each: -each.score)
    return found


def _search(replica: Replica[Any], query: str) -> list[tuple[Row, float]]:
    with replica.lock:
        memory = replica.recall
        if not isinstance(memory, _Recall):
            memory = replica.recall = _Recall()
            replica.state.changed = None
    with memory.lock:
        with replica.lock:
            state = replica.state
            news: Iterable[str] = state.rows if state.changed is None else state.changed
            pending = [(each, state.rows.get(each)) for each in news]
            state.changed = {}
        for each, row in pending:
            if row is None:
                memory.index.remove(each)
            else:
                memory.index.add(each, text_of(row))
        hits = memory.index.search(query, LIMIT)
    with replica.lock:
        rows = replica.state.rows
        return [(rows[each], score) for each, score in hits if each in rows]


def text_of(row: Row) -> str:
    """What a row says, as one text: a message's text and calls, an item's content, an entry as ``key: value``."""
    if row.role is not None:
        message = message_of(row)
        calls = [f"{call.name} {call.arguments}" for call in message.tool_calls]
        return "\n".join(filter(None, (message.name, message.text, *calls)))
    told = load_json(row.content)
    return told if row.key is None else f"{row.key}: {_plain(told)}"


def _plain(told: Any) -> str:
    if isinstance(told, dict):
        if "~wmem" in told:
            return _plain(told.get("value"))
        return ", ".join(f"{name}: {_plain(each)}" for name, each in told.items())
    if isinstance(told, list):
        return ", ".join(_plain(each) for each in told)
    return str(told)
