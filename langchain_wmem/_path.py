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
        self._end = 0
        taken_back = list(withdrawn)
        self.add(_merge(list(stored), taken_back))
        self.set_withdrawn(taken_back)

    def add(self, stored: Iterable[Message]) -> None:
        """Add messages that were stored, or brought back by storing them again."""
        for message in stored:
            if message.id is not None:
                whole = whole_id(message)
                self._withdrawn.pop(message.id, None)
                self._places.setdefault(whole, self._end)
                self._end += 1
                if self.thread is not None and message.thread_id == self.thread:
                    self._own.setdefault(message.id, whole)

    def add_newest(self, stored: Sequence[Message]) -> None:
        """Add the session's newest messages, in its order: others may have stored some before those that are known."""
        known = [self.has(message) for message in stored]
        self.add(stored)
        if known != sorted(known, reverse=True):
            self.put_last([*dict.fromkeys(map(whole_id, stored))])

    def set_all(self, stored: Sequence[Message], withdrawn: Sequence[Message]) -> None:
        """Take over all of the session, of which only the newest part was known."""
        held = self._own.keys()
        self._own, self._places = {}, {}
        for message in _merge(stored, withdrawn):
            self.add([message])
            if message.id in held:
                self.add_held([(message.id, whole_id(message))])
        self.set_withdrawn(withdrawn)

    def has_withdrawn(self, ids: Iterable[str | None]) -> bool:
        """Whether one of these messages, named by their ids in LangChain, is withdrawn."""
        return bool(self._withdrawn) and not set(self._withdrawn.values()).isdisjoint(ids)

    @property
    def end(self) -> int:
        """The place of what is added next."""
        return self._end

    def is_since(self, id: str, place: int) -> bool:
        """Whether a message, named by its id here, was added at a place or after it."""
        return self._places.get(self._own.get(id), -1) >= place

    def has(self, message: Message) -> bool:
        """Whether a stored message is known."""
        return self.knows(whole_id(message))

    def knows(self, id: str | None) -> bool:
        """Whether a message is known to be stored, by its id in LangChain."""
        return id in self._places

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

    def put_last(self, ids: Sequence[str | None]) -> None:
        """Take over that messages were moved to the session's end."""
        moved: dict[str | None, list[str]] = {whole: [] for whole in ids}
        for id, whole in self._own.items():
            if whole in moved:
                moved[whole].append(id)
        for whole, pieces in moved.items():
            self._places[whole] = self._end
            self._end += 1
            for id in pieces:
                del self._own[id]
                self._own[id] = whole

    def is_disjoint(self, state_ids: set[str | None]) -> bool:
        """Whether there are messages here that are not withdrawn, and the state holds none of them."""
        own = False
        for id, whole in self._own.items():
            if id not in self._withdrawn:
                if whole in state_ids:
                    return False
                own = True
        return own

    def brings_back(self, state_ids: set[str | None]) -> bool:
        """Whether the state holds messages that were withdrawn."""
        return not state_ids.isdisjoint(self._own[id] for id in self._withdrawn if id in self._own)

    def list_own(self) -> set[str | None]:
        """Ids, as LangChain has them, of the messages here that are not withdrawn."""
        return {whole for id, whole in self._own.items() if id not in self._withdrawn}

    def find_moves(self, state_ids: set[str | None], *, is_emptied: bool = False) -> Moves:
        """What is to be withdrawn and restored for the session to follow the state.

        Args:
            state_ids: Ids of the messages that the state holds.
            is_emptied: A state that holds none of the messages that are not withdrawn took all of them back.
        """
        if not self._withdrawn and state_ids >= set(self._own.values()):
            return Moves([], [])
        own = [(id, whole) for id, whole in self._own.items() if id not in self._withdrawn]
        oldest = next((at for at, (_, whole) in enumerate(own) if whole in state_ids), 0 if is_emptied else len(own))
        return Moves(
            withdrawn=[id for id, whole in own[oldest:] if whole not in state_ids],
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
