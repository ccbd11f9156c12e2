"""The path of a LangGraph thread: which of its stored messages its state took back, and which it brought back.

A thread is a path, not a list: an answer is regenerated, a message edited or removed, an earlier
checkpoint gone on from. What its state no longer holds, although it holds something older, was taken
back. What is older than all it holds was trimmed, and is still memory. Messages of others in the
session, which never were in the thread's state, are never taken back by it.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

from langchain_core.messages import BaseMessage

from langchain_wmem._pieces import whole_id
from wmem import Message


class Moves(NamedTuple):
    """Ids of stored messages to withdraw and to restore, for the session to have the path last taken."""

    withdrawn: list[str]
    restored: list[str]


class StoredPath:
    """The stored messages of one session that its thread's state holds or held, in the session's order.

    Args:
        thread: The thread's name, which its messages have as `thread_id`. None if only what is added
            by `add_held` can be known to be of its state.
        stored: The session's messages.
        withdrawn: Those of the session that were withdrawn.
    """

    def __init__(self, thread: str | None, stored: Iterable[Message], withdrawn: Iterable[Message]) -> None:
        self.thread = thread
        self._withdrawn: dict[str, str | None] = {}
        self._own: dict[str, str | None] = {}
        self._places: dict[str | None, int] = {}
        """Places in the session, by LangChain's ids; of messages of others, too."""
        taken_back = list(withdrawn)
        self.add(_merge(list(stored), taken_back))
        self.set_withdrawn(taken_back)

    def add(self, stored: Iterable[Message]) -> None:
        """Add messages that were stored, or brought back by storing them again."""
        for message in stored:
            if message.id is not None:
                whole = whole_id(message)
                self._withdrawn.pop(message.id, None)
                self._places.setdefault(whole, len(self._places))
                if self.thread is not None and message.thread_id == self.thread:
                    self._own.setdefault(message.id, whole)

    def add_held(self, ids: Iterable[tuple[str, str | None]]) -> None:
        """Add messages that the state holds, though others may have stored them: by their ids here and in LangChain."""
        for id, whole in ids:
            self._own.setdefault(id, whole)

    def set_withdrawn(self, withdrawn: Iterable[Message]) -> None:
        """Take over which messages of the session are withdrawn now: another process may have moved some."""
        self._withdrawn = {message.id: whole_id(message) for message in withdrawn if message.id is not None}

    def list_misplaced(self, messages: Sequence[BaseMessage], start: int) -> list[str | None]:
        """Ids of a state's messages, in its order, from the first on that the session has before one ahead of it.

        Args:
            start: The place before which nothing has changed since they were found to be in order.
        """
        newest = -1
        for at in range(start - 1, -1, -1):
            if messages[at].id in self._places:
                newest = self._places[messages[at].id]
                break
        for at in range(start, len(messages)):
            place = self._places.get(messages[at].id, newest)
            if place < newest:
                return [message.id for message in messages[at:] if message.id in self._places]
            newest = place
        return []

    def put_last(self, ids: Iterable[str | None]) -> None:
        """Take over that messages were moved to the session's end."""
        last = max(self._places.values(), default=0)
        self._places |= {id: last + at for at, id in enumerate(ids, 1)}

    def is_disjoint(self, state_ids: set[str | None]) -> bool:
        """Whether there are messages here, and the state holds none of them."""
        return state_ids.isdisjoint(self._own.values()) and bool(self.list_own())

    def list_own(self) -> set[str | None]:
        """Ids, as LangChain has them, of the messages here that are not withdrawn."""
        return {whole for id, whole in self._own.items() if id not in self._withdrawn}

    def find_moves(self, state_ids: set[str | None], *, is_emptied: bool = False) -> Moves:
        """What is to be withdrawn and restored for the session to follow the state.

        Args:
            state_ids: Ids of the messages that the state holds.
            is_emptied: A state that holds none of the messages here took all of them back.
        """
        if not self._withdrawn and state_ids >= set(self._own.values()):
            return Moves([], [])
        own = [*self._own.items()]  # with the withdrawn: what the state brings back may be the oldest that it holds
        oldest = next((at for at, (_, whole) in enumerate(own) if whole in state_ids), 0 if is_emptied else len(own))
        return Moves(
            withdrawn=[id for id, whole in own[oldest:] if whole not in state_ids and id not in self._withdrawn],
            restored=[id for id, whole in self._withdrawn.items() if whole in state_ids],
        )

    def move(self, moves: Moves) -> None:
        """Take over moves that were made."""
        self._withdrawn |= {id: self._own.get(id) for id in moves.withdrawn}
        for id in moves.restored:
            self._withdrawn.pop(id, None)


def _merge(stored: Sequence[Message], withdrawn: Sequence[Message]) -> list[Message]:
    """All messages, in the session's order as far as it is known: those withdrawn where their time says."""
    times = accumulate((message.created_at or 0.0 for message in stored), max)
    timed = [*zip(times, stored, strict=True), *((message.created_at or 0.0, message) for message in withdrawn)]
    return [message for _, message in sorted(timed, key=itemgetter(0))]
