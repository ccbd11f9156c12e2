"""The conversation of a scope: messages in the order of the journal, kept for ever."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias, TypeVar, overload

from wmem.errors import InvalidInputError
from wmem.flow import Flow
from wmem.model.change import Change, Cleared, ItemPut, ItemRemoved
from wmem.model.checks import checked_id, checked_limit
from wmem.model.ids import new_ulid
from wmem.model.item import message_of
from wmem.model.message import Message, as_messages
from wmem.model.row import Row
from wmem.model.values import dump_model
from wmem.pack import is_note
from wmem.scope.handle import Handle, Read
from wmem.state import State
from wmem.text.tokens import message_tokens

__all__ = ["AsyncMessages", "MessageReads", "Messages", "Sayable"]

R = TypeVar("R")

Sayable: TypeAlias = Message | Mapping[str, Any]
"""A message, or a dictionary in OpenAI's chat form."""

_IN_ROW = {"id", "turn_id", "created_at", "pinned"}
_TYPES = {"user": "user_message", "assistant": "assistant_message", "tool": "tool_result"}


# -- reads


def _all(limit: int | None) -> Read[list[Message]]:
    def read(states: Sequence[State], now: float) -> list[Message]:
        del now  # messages have no time to live
        rows = states[0].rows
        ids = list(islice(reversed(states[0].messages), limit))
        return [message_of(rows[each]) for each in reversed(ids)]

    return read


def _one(wanted: str) -> Read[Message | None]:
    def read(states: Sequence[State], now: float) -> Message | None:
        del now  # see `_all`
        return message_of(states[0].rows[wanted]) if wanted in states[0].messages else None

    return read


def _counted(states: Sequence[State], _: float) -> int:
    return len(states[0].messages)


def _by_turn(messages: Sequence[Message]) -> list[list[Message]]:
    """Messages grouped by turn; without a `turn_id` a turn begins with each user message."""
    turns: list[list[Message]] = []
    named: dict[str, list[Message]] = {}
    loose: list[Message] | None = None
    for message in messages:
        if message.turn_id is not None:
            if message.turn_id not in named:
                turns.append(named.setdefault(message.turn_id, []))
            named[message.turn_id].append(message)
            loose = None
        elif loose is None or message.role == "user":
            loose = [message]
            turns.append(loose)
        else:
            loose.append(message)
    return turns


# -- writes


def row_of(message: Message, handle: Handle, now: float) -> Row:
    """A message as a row, its tokens counted; an absent id is made."""
    counter = handle.settings.counter()
    created_at = now if message.created_at is None else message.created_at
    return Row(
        id=new_ulid(now) if message.id is None else checked_id(message.id),
        content=dump_model(message, exclude=_IN_ROW),
        created_at=created_at,
        updated_at=now,
        role=message.role,
        type="tool_call" if message.tool_calls else _TYPES.get(message.role, "observation"),
        length=len(message.text),
        tokens=message_tokens(message, counter),
        counter=counter.name,
        pinned=message.pinned,
        turn_id=message.turn_id,
        calls=message.answers,
    )


def _changed(rows: Sequence[Row], state: State) -> list[Change]:
    """What storing these rows changes: a message that is there as it is changes nothing."""
    changes: list[Change] = []
    for row in rows:
        there = state.rows.get(row.id)
        if there is not None and there.role is None:
            msg = f"{row.id!r} is the id of an item or entry of this scope; a message needs another"
            raise InvalidInputError(msg)
        same = there is not None and (there.content, there.turn_id, there.pinned, there.role) == (
            row.content,
            row.turn_id,
            row.pinned,
            row.role,
        )
        if not same:
            changes.append(ItemPut(row))
    return changes


def _append(handle: Handle, rows: Sequence[Row], now: float) -> Flow[list[Row]]:
    """Store the rows that change something; returns them with the instants they are stored under."""
    handle.check()
    if handle.birth is None:
        yield from handle.replica()
    replica = handle.engine.replica(handle.path)
    changes = _changed(rows, replica.state)
    if len(changes) < len(rows):
        # What seems to be there as it is may have been changed or taken out by others: look first.
        _, state = yield from handle.replica()
        changes = _changed(rows, state)
    if changes:
        yield from handle.post(changes, now)
    return [replica.state.rows.get(row.id, row) for row in rows]


def _replace(handle: Handle, rows: Sequence[Row], now: float) -> Flow[None]:
    def decide(state: State) -> tuple[Sequence[Change], None]:
        before = list(state.messages)
        wanted = [row.id for row in rows]
        if wanted[: len(before)] == before:
            # The new history continues the old one: only what is new or changed is written.
            return _changed(rows, state), None
        _changed(rows, state)  # refuses ids that are taken
        return [Cleared("messages", len(before), now), *(ItemPut(row) for row in rows)], None

    yield from handle.commit(decide, now)


def _pop(handle: Handle) -> Flow[Message | None]:
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], Message | None]:
        newest = next(reversed(state.messages), None)
        return ([], None) if newest is None else ([ItemRemoved(newest)], message_of(state.rows[newest]))

    return (yield from handle.commit(decide, now))


def _remove(handle: Handle, wanted: str) -> Flow[bool]:
    wanted = checked_id(wanted)
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], bool]:
        return ([ItemRemoved(wanted)], True) if wanted in state.messages else ([], False)

    return (yield from handle.commit(decide, now))


def _clear(handle: Handle) -> Flow[int]:
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], int]:
        count = len(state.messages)
        return ([Cleared("messages", count, now)], count) if count else ([], 0)

    return (yield from handle.commit(decide, now))


# -- faces


class MessageReads:
    """The reads of a conversation, however a read is run."""

    __slots__ = ("_absent", "_run")

    def __init__(self, run: Callable[[Read[Any]], Any], absent: Callable[[], None]) -> None:
        self._run = run
        self._absent = absent

    def all(self, limit: int | None = None) -> list[Message]:
        """The messages, oldest first; with a limit the newest so many."""
        found: list[Message] = self._run(_all(None if limit is None else checked_limit(limit)))
        return found

    def get(self, id: str) -> Message | None:  # the field's own name
        """The message with an id, or None."""
        found: Message | None = self._run(_one(checked_id(id)))
        if found is None:
            self._absent()
        return found

    def turns(self) -> list[list[Message]]:
        """The messages by turn: those of one `turn_id` together, else from one user message to the next."""
        return _by_turn(self.all())

    def count(self) -> int:
        """How many messages there are."""
        count: int = self._run(_counted)
        return count


class Messages(MessageReads):
    """The conversation of one scope; nothing ever leaves it but by `remove`, `pop`, `replace` and `clear`."""

    __slots__ = ("_drive", "_handle")

    def __init__(self, handle: Handle, drive: Callable[[Flow[Any]], Any]) -> None:
        super().__init__(lambda read: drive(handle.read(read, alone=True)), lambda: handle.check_intact(alone=True))
        self._handle = handle
        self._drive = drive

    @overload
    def append(self, messages: Sayable) -> Message: ...
    @overload
    def append(self, messages: Sequence[Sayable]) -> list[Message]: ...
    def append(self, messages: Sayable | Sequence[Sayable]) -> Message | list[Message]:
        """Store one message or several, all or none; an id that is there is updated in place.

        Recalled text that a pack made is not stored again: it is in the store already.

        Returns:
            What is stored: the same messages, each with its id and instant; a note as it was given.

        Raises:
            InvalidInputError: Something is no message; nothing was stored.
        """
        said, rows, now = _rows(self._handle, messages)
        return _stored(said, self._drive(_append(self._handle, rows, now)), messages)

    def replace(self, messages: Sequence[Sayable]) -> None:
        """Put another conversation in place of this one, in one step."""
        _, rows, now = _rows(self._handle, messages)
        self._drive(_replace(self._handle, rows, now))

    def pop(self) -> Message | None:
        """Take the newest message out; of several callers at once each gets another one."""
        popped: Message | None = self._drive(_pop(self._handle))
        return popped

    def remove(self, id: str) -> bool:  # the field's own name
        """Remove a message; False when it is not there."""
        removed: bool = self._drive(_remove(self._handle, id))
        return removed

    def clear(self) -> int:
        """Remove all messages; returns how many there were."""
        count: int = self._drive(_clear(self._handle))
        return count


class AsyncMessages:
    """See `Messages`."""

    __slots__ = ("_drive", "_handle")

    def __init__(self, handle: Handle, drive: Callable[[Flow[Any]], Awaitable[Any]]) -> None:
        self._handle = handle
        self._drive = drive

    async def _read(self, read: Read[R]) -> R:
        result: R = await self._drive(self._handle.read(read, alone=True))
        return result

    async def all(self, limit: int | None = None) -> list[Message]:
        """See `MessageReads.all`."""
        return await self._read(_all(None if limit is None else checked_limit(limit)))

    async def get(self, id: str) -> Message | None:  # the field's own name
        """See `MessageReads.get`."""
        found = await self._read(_one(checked_id(id)))
        if found is None:
            self._handle.check_intact(alone=True)
        return found

    async def turns(self) -> list[list[Message]]:
        """See `MessageReads.turns`."""
        return _by_turn(await self.all())

    async def count(self) -> int:
        """See `MessageReads.count`."""
        return await self._read(_counted)

    @overload
    async def append(self, messages: Sayable) -> Message: ...
    @overload
    async def append(self, messages: Sequence[Sayable]) -> list[Message]: ...
    async def append(self, messages: Sayable | Sequence[Sayable]) -> Message | list[Message]:
        """See `Messages.append`."""
        said, rows, now = _rows(self._handle, messages)
        return _stored(said, await self._drive(_append(self._handle, rows, now)), messages)

    async def replace(self, messages: Sequence[Sayable]) -> None:
        """See `Messages.replace`."""
        _, rows, now = _rows(self._handle, messages)
        await self._drive(_replace(self._handle, rows, now))

    async def pop(self) -> Message | None:
        """See `Messages.pop`."""
        popped: Message | None = await self._drive(_pop(self._handle))
        return popped

    async def remove(self, id: str) -> bool:  # the field's own name
        """See `Messages.remove`."""
        removed: bool = await self._drive(_remove(self._handle, id))
        return removed

    async def clear(self) -> int:
        """See `Messages.clear`."""
        count: int = await self._drive(_clear(self._handle))
        return count


def _rows(handle: Handle, given: Sayable | Sequence[Sayable]) -> tuple[list[Message], list[Row], float]:
    now = handle.settings.clock()
    said = as_messages(given)
    return said, [row_of(message, handle, now) for message in said if not _is_recalled(message)], now


def _is_recalled(message: Message) -> bool:
    """Whether a pack made this text from what is stored, marked or known by its form alone."""
    return message.metadata.get("wmem") == "note" or (len(message.parts) == 1 and is_note(message.text))


def _stored(said: Sequence[Message], stored_as: Sequence[Row], given: object) -> Message | list[Message]:
    """The messages as a read gives them back: with the ids and instants they were stored under."""
    rows = iter(stored_as)
    stored = []
    for message in said:
        if _is_recalled(message):
            stored.append(message)
            continue
        row = next(rows)
        same = message.id == row.id and message.created_at == row.created_at
        told = {"id": row.id, "created_at": row.created_at}
        stored.append(message if same else message.model_copy(update=told))
    return stored[0] if isinstance(given, Message | Mapping) else stored
