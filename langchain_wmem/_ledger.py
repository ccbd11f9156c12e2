"""What of a conversation is stored already, so that each message is stored once.

Frameworks hand over the same messages again and again, and sometimes an edited one
under its old id. A ledger tells the new and the edited from the known, by id.
"""

import hashlib
import json
import marshal
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage, HumanMessage

from langchain_wmem._convert import is_note
from wmem import Message
from wmem.errors import CorruptionError

__all__ = [
    "Ledger",
    "Ledgers",
    "alooked_up",
    "is_said",
    "kept_whole",
    "looked_up",
    "named",
    "newest_human",
    "reach",
    "with_turns",
]

_SESSIONS = 256
_LOOK_BACK = 64
_SAID = {"role", "parts", "tool_calls", "tool_call_id", "name", "native"}


def is_said(message: BaseMessage) -> bool:
    """Whether somebody said it, as opposed to recalled text and summaries."""
    return not _is_summary(message) and not is_note(message)


def _is_summary(message: BaseMessage) -> bool:
    return message.additional_kwargs.get("lc_source") == "summarization"


def newest_human(messages: Sequence[BaseMessage]) -> int:
    """The place of the newest message of a person, which begins the turn; 0 when there is none."""
    places = range(len(messages) - 1, -1, -1)
    return next((at for at in places if isinstance(messages[at], HumanMessage) and is_said(messages[at])), 0)


def reach(messages: Sequence[BaseMessage]) -> int:
    """How many of the newest stored messages to read to recognise these."""
    return max(_LOOK_BACK, 2 * len(messages))


class _Looked(NamedTuple):
    """What a message held when it was last looked at, and what that is in wmem's form."""

    quick: int
    print: int


class Ledger:
    """The messages of one session that are known to be stored, by id."""

    def __init__(self, stored: Iterable[Message]) -> None:
        self._known: dict[str, int] = {}
        self._looked: dict[str, _Looked] = {}
        self._objects: dict[str, weakref.ref[BaseMessage]] = {}
        self.enter(stored)

    def __contains__(self, message_id: str | None) -> bool:
        return message_id in self._known

    def enter(self, stored: Iterable[Message]) -> None:
        """Note what is stored now."""
        for message in stored:
            if message.id is not None:
                self._known[message.id] = _print_of(message)

    def fresh(
        self,
        messages: Sequence[BaseMessage],
        read: Callable[[BaseMessage], Message],
        *,
        summaries: bool = False,
        trust_objects: bool = False,
    ) -> list[Message]:
        """The messages that are not stored yet or say something else by now, in order.

        Args:
            read: Takes a message into wmem's form.
            summaries: Take a summary for something said although what it covers is stored.
            trust_objects: Before this turn, take an object that was looked at for unchanged.
        """
        # The summary of messages that were never stored is all that is left of them.
        summaries = summaries or not self._known
        begun = newest_human(messages)
        found: dict[str | int, Message] = {}
        for place, given in enumerate(messages):
            message_id = given.id or ""
            looked = self._looked.get(message_id)
            if looked is not None and self._known.get(message_id) == looked.print:
                if trust_objects and place < begun and self._objects[message_id]() is given:
                    continue
                if looked.quick == _quick_print_of(given):
                    self._objects[message_id] = weakref.ref(given)
                    continue
            if is_note(given) or (_is_summary(given) and not summaries and given.id not in self):
                continue
            message = read(given)
            made = _print_of(message)
            if message.id is not None:
                self._objects[message.id] = weakref.ref(given)
                self._looked[message.id] = _Looked(_quick_print_of(given), made)
            if message.id is None or self._known.get(message.id) != made:
                found[message.id or place] = message
        return list(found.values())

    def unknown(self, fresh: Iterable[Message]) -> list[str]:
        """The ids among them that were not seen here: they may have been stored long ago all the same."""
        return [message.id for message in fresh if message.id is not None and message.id not in self]

    def edited(self, fresh: Iterable[Message]) -> bool:
        """Whether one of them is stored in another form."""
        return any(message.id in self._known for message in fresh)


def _print_of(message: Message) -> int:
    said = message.model_dump(mode="json", include=_SAID)
    if message.native is not None and isinstance(beside := said["native"]["data"], dict):
        # A checkpoint gives documents back as dictionaries; that edits nothing.
        beside.pop("documents", None)
    # Sorted: a store may keep the keys of an object in another order.
    return hash(json.dumps(said, sort_keys=True))


def _quick_print_of(given: BaseMessage) -> int:
    """Tells whether an object holds what an earlier one held, a hundred times faster than wmem's form does."""
    held = (given.__dict__, given.__pydantic_extra__)
    try:
        # Version 2 knows no back references, which would tell equal values apart by their objects.
        return hash((type(given), marshal.dumps(held, 2)))
    except ValueError:
        return hash((type(given), repr(held)))


class Ledgers:
    """The ledgers of the scopes used last; a forgotten one is read again from the store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_path: OrderedDict[tuple[str, ...], Ledger] = OrderedDict()

    def get(self, path: tuple[str, ...]) -> Ledger | None:
        """The scope's ledger, or None when it has to be read."""
        with self._lock:
            if path in self._by_path:
                self._by_path.move_to_end(path)
            return self._by_path.get(path)

    def begin(self, path: tuple[str, ...], stored: Iterable[Message]) -> Ledger:
        """The scope's ledger, begun with what is stored unless another run was first."""
        begun = Ledger(stored)
        with self._lock:
            ledger = self._by_path.setdefault(path, begun)
            while len(self._by_path) > _SESSIONS:
                self._by_path.popitem(last=False)
            return ledger

    def forget(self, path: tuple[str, ...]) -> None:
        """Drop the ledger of a scope that is gone, and those below it."""
        with self._lock:
            for each in [known for known in self._by_path if known[: len(path)] == path]:
                del self._by_path[each]


def named(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """The messages, a blank id replaced by one that is made of the turn and of what is said in it.

    LangGraph names every message that has no id, but leaves a blank one as it is.
    """
    if all(message.id is None or message.id.strip() for message in messages):
        return messages
    turn: str | None = None
    made: list[BaseMessage] = []
    for message in messages:
        if isinstance(message, HumanMessage) and is_said(message):
            turn = message.id
        if message.id is None or message.id.strip():
            made.append(message)
            continue
        said = repr((turn, message.type, message.content, getattr(message, "tool_calls", None)))
        name = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        made.append(message.model_copy(update={"id": name}))
    return made


def with_turns(fresh: Iterable[Message], messages: Iterable[BaseMessage]) -> list[Message]:
    """The fresh ones among `messages`, each with its turn: the id of the person's message that began it."""
    turn: str | None = None
    turns: dict[str | None, str | None] = {}
    for message in messages:
        if isinstance(message, HumanMessage) and is_said(message):
            turn = message.id
        turns[message.id] = turn
    return [message.model_copy(update={"turn_id": turns.get(message.id)}) for message in fresh]


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


def looked_up(stored: Any, message_id: str) -> Message | None:
    """A message by its id; None too where damage keeps the store from saying that there is none."""
    try:
        found: Message | None = stored.get(message_id)
    except CorruptionError:
        return None
    return found


async def alooked_up(stored: Any, message_id: str) -> Message | None:
    """See `looked_up`."""
    try:
        found: Message | None = await stored.get(message_id)
    except CorruptionError:
        return None
    return found
