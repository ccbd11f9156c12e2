"""Reads of a conversation as pure functions of a state, and writes as flows."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

from wmem.errors import InvalidInputError
from wmem.flow import Flow
from wmem.model.change import Change, Cleared, ItemPut, ItemRemoved
from wmem.model.checks import checked_id
from wmem.model.ids import new_ulid
from wmem.model.item import message_of
from wmem.model.message import Message, as_messages
from wmem.model.row import Row
from wmem.model.values import dump_model
from wmem.pack import is_note
from wmem.scope.handle import Handle, Read
from wmem.state import State
from wmem.text.tokens import message_tokens

__all__ = [
    "Sayable",
    "append",
    "as_stored",
    "by_turn",
    "counted",
    "drafted",
    "everything",
    "one",
    "pop",
    "remove",
    "replace",
    "row_of",
]


Sayable: TypeAlias = Message | Mapping[str, Any]
"""A message, or a dictionary in OpenAI's chat form."""

_IN_ROW = {"id", "turn_id", "created_at", "pinned"}
_TYPES = {"user": "user_message", "assistant": "assistant_message", "tool": "tool_result"}


# -- reads


def everything(limit: int | None) -> Read[list[Message]]:
    """The messages, oldest first; with a limit, only the newest ones."""

    def read(states: Sequence[State], now: float) -> list[Message]:
        del now  # messages have no time to live
        rows = states[0].rows
        ids = list(islice(reversed(states[0].messages), limit))
        return [message_of(rows[each]) for each in reversed(ids)]

    return read


def one(wanted: str) -> Read[Message | None]:
    """The message under an id."""

    def read(states: Sequence[State], now: float) -> Message | None:
        del now  # see `everything`
        return message_of(states[0].rows[wanted]) if wanted in states[0].messages else None

    return read


def counted(states: Sequence[State], _: float) -> int:
    """How many messages there are."""
    return len(states[0].messages)


def by_turn(messages: Sequence[Message]) -> list[list[Message]]:
    """Messages grouped by `turn_id`; without one, a turn begins with each user message."""
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
    """A message as a row, with its tokens counted and an id made if it has none."""
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
    """The changes needed to store these rows; none for a message that is stored unchanged."""
    changes: list[Change] = []
    latest: dict[str, Row] = {}
    for row in rows:
        there = latest.get(row.id) or state.rows.get(row.id)
        latest[row.id] = row
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


def append(handle: Handle, rows: Sequence[Row], now: float) -> Flow[list[Row]]:
    """Store the rows that are new or changed; returns all rows as stored, with their times."""
    handle.check()
    if handle.birth is None:
        yield from handle.replica()
    replica = handle.engine.replica(handle.path)
    changes = _changed(rows, replica.state)
    if len(changes) < len(rows):
        # A row that seems unchanged may have been changed or removed by others: catch up first.
        _, state = yield from handle.replica()
        changes = _changed(rows, state)
    if changes:
        yield from handle.post(changes, now)
        if replica.behind:
            # Another process may have stored one of the ids first, and its time stays.
            replica, _ = yield from handle.replica()
    return [replica.state.rows.get(row.id, row) for row in rows]


def replace(handle: Handle, rows: Sequence[Row], now: float) -> Flow[None]:
    """Replace all messages; see `Messages.replace`."""

    def decide(state: State) -> tuple[Sequence[Change], None]:
        before = list(state.messages)
        wanted = [row.id for row in rows]
        if wanted[: len(before)] == before:
            # The new conversation continues the old one: write only what is new or changed.
            return _changed(rows, state), None
        _changed(rows, state)  # raises for ids of items and entries
        return [Cleared("messages", len(before), now), *(ItemPut(row) for row in rows)], None

    yield from handle.commit(decide, now)


def pop(handle: Handle) -> Flow[Message | None]:
    """Remove and return the newest message."""
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], Message | None]:
        newest = next(reversed(state.messages), None)
        return ([], None) if newest is None else ([ItemRemoved(newest)], message_of(state.rows[newest]))

    return (yield from handle.commit(decide, now))


def remove(handle: Handle, wanted: str) -> Flow[bool]:
    """Remove a message; False when it does not exist."""
    wanted = checked_id(wanted)
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], bool]:
        return ([ItemRemoved(wanted)], True) if wanted in state.messages else ([], False)

    return (yield from handle.commit(decide, now))


def drafted(handle: Handle, given: Sayable | Sequence[Sayable]) -> tuple[list[Message], list[Row], float]:
    """The input as messages, the rows of those to store, and the time."""
    now = handle.settings.clock()
    said = as_messages(given)
    recalled = _recalled(said)
    return said, [row_of(message, handle, now) for at, message in enumerate(said) if at not in recalled], now


def _recalled(said: Sequence[Message]) -> set[int]:
    """The positions of messages that `pack` made from stored content.

    They carry a mark. Where it was lost, they are recognized by their form, except for the
    newest user message: a user may have pasted such a text.
    """
    newest = max((at for at, message in enumerate(said) if message.role == "user"), default=-1)
    return {
        at
        for at, message in enumerate(said)
        if message.recalled
        or (at != newest and len(message.parts) == 1 and message.role in ("user", "system") and is_note(message.text))
    }


def as_stored(said: Sequence[Message], stored_as: Sequence[Row], given: object) -> Message | list[Message]:
    """The messages as a read would return them: with their stored ids and times."""
    rows = iter(stored_as)
    stored = []
    recalled = _recalled(said) if len(stored_as) < len(said) else set()
    for at, message in enumerate(said):
        if at in recalled:
            stored.append(message)
            continue
        row = next(rows)
        same = message.id == row.id and message.created_at == row.created_at
        told = {"id": row.id, "created_at": row.created_at}
        stored.append(message if same else message.model_copy(update=told))
    return stored[0] if isinstance(given, Message | Mapping) else stored
