"""What of a conversation is stored already, so that each message is stored once.

Frameworks hand over the same messages again and again, and sometimes an edited one
under its old id. A ledger tells the new and the edited from the known, by id.
"""

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from langchain_core.messages import BaseMessage, HumanMessage

from langchain_wmem._convert import from_langchain, is_note
from wmem import Message

__all__ = ["Ledger", "Ledgers", "is_said", "kept_whole", "newest_human", "reach", "with_turns"]

_SESSIONS = 256
_LOOK_BACK = 64
_SAID = {"role", "parts", "tool_calls", "tool_call_id", "name", "native"}


def is_said(message: BaseMessage) -> bool:
    """Whether somebody said it, as opposed to recalled text and summaries of what is stored already."""
    return not is_note(message) and message.additional_kwargs.get("lc_source") != "summarization"


def newest_human(messages: Sequence[BaseMessage]) -> int:
    """The place of the newest message of a person, which begins the turn; 0 when there is none."""
    places = range(len(messages) - 1, -1, -1)
    return next((at for at in places if isinstance(messages[at], HumanMessage) and is_said(messages[at])), 0)


def reach(messages: Sequence[BaseMessage]) -> int:
    """How many of the newest stored messages to read to recognise these."""
    return max(_LOOK_BACK, 2 * len(messages))


class Ledger:
    """The messages of one session that are known to be stored, by id."""

    def __init__(self, stored: Iterable[Message]) -> None:
        self._known: dict[str, int] = {}
        self.enter(stored)

    def __contains__(self, message_id: str | None) -> bool:
        return message_id in self._known

    def enter(self, stored: Iterable[Message]) -> None:
        """Note what is stored now."""
        for message in stored:
            if message.id is not None:
                self._known[message.id] = _print_of(message)

    def fresh(self, messages: Sequence[BaseMessage]) -> list[Message]:
        """The messages that are not stored yet or say something else by now, in order."""
        begun = newest_human(messages)
        found: dict[str | int, Message] = {}
        for place, given in enumerate(messages):
            # What came before this turn is past: only an unknown message is looked at.
            if (place < begun and given.id in self._known) or not is_said(given):
                continue
            [message] = from_langchain([given])
            if message.id is None or self._known.get(message.id) != _print_of(message):
                found[message.id or place] = message
        return list(found.values())

    def edited(self, fresh: Iterable[Message]) -> bool:
        """Whether one of them is stored in another form."""
        return any(message.id in self._known for message in fresh)


def _print_of(message: Message) -> int:
    # Sorted: a store may keep the keys of an object in another order.
    return hash(json.dumps(message.model_dump(mode="json", include=_SAID), sort_keys=True))


class Ledgers:
    """The ledgers of the sessions used last; a forgotten one is read again from the store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_session: OrderedDict[str, Ledger] = OrderedDict()

    def get(self, session: str) -> Ledger | None:
        """The session's ledger, or None when it has to be read."""
        with self._lock:
            if session in self._by_session:
                self._by_session.move_to_end(session)
            return self._by_session.get(session)

    def begin(self, session: str, stored: Iterable[Message]) -> Ledger:
        """The session's ledger, begun with what is stored unless another run was first."""
        begun = Ledger(stored)
        with self._lock:
            ledger = self._by_session.setdefault(session, begun)
            while len(self._by_session) > _SESSIONS:
                self._by_session.popitem(last=False)
            return ledger


def with_turns(fresh: Iterable[Message], messages: Iterable[BaseMessage]) -> list[Message]:
    """The fresh ones among `messages`, each with its turn: the id of the person's message that began it."""
    turn: str | None = None
    turns: dict[str | None, str | None] = {}
    for message in messages:
        if isinstance(message, HumanMessage) and is_said(message):
            turn = message.id
        turns[message.id] = turn
    return [message.model_copy(update={"turn_id": turns[message.id]}) for message in fresh]


def kept_whole(fresh: Iterable[Message], stored: Iterable[Message]) -> list[Message]:
    """The messages, the edited ones with the pins and metadata they have in the store."""
    old = {message.id: message for message in stored}
    return [
        message.model_copy(
            update={
                "pinned": old[message.id].pinned,
                "metadata": {**old[message.id].metadata, **message.metadata},
                "turn_id": old[message.id].turn_id or message.turn_id,
                "thread_id": old[message.id].thread_id,
                "created_at": old[message.id].created_at,
            },
        )
        if message.id in old
        else message
        for message in fresh
    ]
