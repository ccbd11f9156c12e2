"""Reads of a conversation as pure functions of a state, and writes as flows."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from wmem.describe import describe_name
from wmem.engine.replica import Replica
from wmem.errors import InvalidInputError, NotFoundError
from wmem.flow import Flow
from wmem.model.call_ids import Pairing, pair_records, to_call_record, with_call_ids
from wmem.model.change import Change, Cleared, ItemPut, ItemRemoved, MessagesRestored, MessagesWithdrawn
from wmem.model.checks import check_id, check_new_names
from wmem.model.ids import new_ulid
from wmem.model.item import to_message
from wmem.model.message import Message, parse_messages
from wmem.model.row import Row
from wmem.model.standing import StandingRequest
from wmem.model.stray_results import CallRecord
from wmem.model.values import dump_model
from wmem.pack.render import is_note
from wmem.scope.handle import Handle, Read
from wmem.scope.items.reads import LOST_PLACE
from wmem.scope.messages.standing import find_requests
from wmem.scope.metadata_limit import check_message_metadata
from wmem.scope.redaction import redact_message
from wmem.state import State
from wmem.tokens.counter import count_message

MessageInput: TypeAlias = Message | Mapping[str, Any]
"""A message, or a dictionary in OpenAI's chat form."""

_ROW_FIELDS = {"id", "turn_id", "created_at", "pinned"}
# A message with these unchanged is not stored again; one that was withdrawn comes back.
_COMPARED = attrgetter("content", "turn_id", "pinned", "role", "withdrawn_at")
_ROLE = attrgetter("role")
_FAST_LOOK_BACK = 16
_CALL_LOOK_BACK = 256  # stored messages among which the call of a result is looked for
_TYPE_OF_ROLE = {"user": "user_message", "assistant": "assistant_message", "tool": "tool_result"}


# -- reads


def list_messages(limit: int | None, before: str | None = None) -> Read[list[Message]]:
    """The messages, oldest first: with a limit, only the newest ones, or the newest before the one of an id.

    Raises:
        NotFoundError: Nothing is known of that one any more.
    """

    def read(states: Sequence[State], _: float) -> list[Message]:  # messages have no time to live
        rows = states[0].newest_messages() if before is None else _messages_before(states[0], before)
        return [to_message(row) for row in reversed(list(islice(rows, limit)))]

    return read


def _messages_before(state: State, id: str) -> Iterator[Row]:
    try:
        return state.messages_before(id)
    except KeyError:
        raise NotFoundError(f"no page ends before {describe_name(id)}: {LOST_PLACE}") from None


def find_message(message_id: str) -> Read[Message | None]:
    """The message under an id, also one that was withdrawn."""

    def read(states: Sequence[State], _: float) -> Message | None:
        row = states[0].rows.get(message_id)
        return to_message(row) if row is not None and row.role is not None else None

    return read


def list_withdrawn(states: Sequence[State], _: float) -> list[Message]:
    """The messages that were withdrawn, oldest first."""
    places = sorted(states[0].withdrawn.items(), key=itemgetter(1))
    return [to_message(states[0].rows[each]) for each, _ in places]


def count_messages(states: Sequence[State], _: float) -> int:
    """How many messages there are."""
    return len(states[0].messages)


class OfTurn(Protocol):
    """A message, or its row: what says to which turn it belongs."""

    @property
    def role(self) -> str | None: ...
    @property
    def turn_id(self) -> str | None: ...


M = TypeVar("M", bound=OfTurn)


def group_by_turn(messages: Sequence[M]) -> list[list[M]]:
    """Messages grouped by `turn_id`; without one, a turn begins with each user message."""
    turns: list[list[M]] = []
    named: dict[str, list[M]] = {}
    loose: list[M] | None = None
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


def to_row(message: Message, handle: Handle, now: float, standing: tuple[StandingRequest, ...] | None = None) -> Row:
    """A message as a row, with its tokens counted and an id made if it has none.

    Args:
        standing: Its standing requests; None to look for them, see `find_requests`.
    """
    content = dump_model(message, exclude=_ROW_FIELDS)  # first: it refuses what is no message
    created_at = now if message.created_at is None else message.created_at
    tokens, reasoning, counter = count_message(message, handle.settings.counter())
    role, text = message.role, message.text
    if standing is None:
        standing = find_requests(message, text, handle) if role == "user" else ()
    return Row(
        id=new_ulid(now) if message.id is None else check_id(message.id),
        content=content,
        created_at=created_at,
        updated_at=now,
        role=role,
        type="tool_call" if message.tool_calls else _TYPE_OF_ROLE.get(role, "observation"),
        length=len(text),
        tokens=tokens,
        counter=counter,
        pinned=message.pinned,
        turn_id=message.turn_id,
        calls=message.answers,
        reasoning=reasoning,
        standing=standing,
    )


def _to_changes(rows: Sequence[Row], state: State) -> list[Change]:
    """The changes needed to store these rows; none for a message that is stored unchanged."""
    changes: list[Change] = []
    latest: dict[str, Row] = {}
    for row in rows:
        there = latest.get(row.id) or state.rows.get(row.id)
        latest[row.id] = row
        if there is not None and there.role is None:
            raise InvalidInputError(f"{row.id!r} is the id of an item or entry of this scope; a message needs another")
        if there is None or _COMPARED(there) != _COMPARED(row):
            changes.append(ItemPut(row))
    return changes


def to_call_records(rows: Iterable[Row]) -> Iterator[CallRecord]:
    """What pairing calls and results needs of these messages, as they are asked for."""
    return (CallRecord(row.role, row.calls, row.turn_id, partial(to_message, row)) for row in rows)


def pair_with_stored(records: Sequence[CallRecord], ids: Sequence[str | None], state: State) -> Pairing:
    """The calls that the results among these messages answer, in the light of what is stored. Under the lock.

    Args:
        ids: The ids of the messages; a stored result stays with its call.
    """
    before = [state.rows.get(id) if id is not None else None for id in ids]
    stored_ids = [row.calls[0] if row is not None and row.role == "tool" and row.calls else None for row in before]
    return pair_records(records, to_call_records(_list_before(ids, state)), stored_ids)


def pair_live(live: Sequence[Message], replica: Replica[Any]) -> list[Message]:
    """A framework's messages, each tool result with the call it answers, as the store has paired it."""
    if all(message.role != "tool" for message in live):
        return list(live)
    with replica.lock:
        pairing = pair_with_stored([*map(to_call_record, live)], [message.id for message in live], replica.state)
    return with_call_ids(live, pairing)


class _PairedRows(NamedTuple):
    """Rows to store, each result with the call it answers.

    Attributes:
        stray: Results that are stored already, and answer a call as is known only now.
        certain: All results said themselves what they answer.
    """

    rows: list[Row]
    stray: list[Row]
    certain: bool


def _pair_rows(handle: Handle, rows: Sequence[Row], state: State, now: float) -> _PairedRows:
    pairing = pair_with_stored([*to_call_records(rows)], [row.id for row in rows], state)

    def pair(row: Row, id: str) -> Row:
        return to_row(to_message(row).model_copy(update={"tool_call_id": id}), handle, now)

    paired = list(rows)
    for place, id in pairing.call_ids.items():
        paired[place] = pair(rows[place], id)
    past = list(_list_before((row.id for row in rows), state)) if pairing.past_call_ids else []
    stray = [pair(past[place], id) for place, id in pairing.past_call_ids.items()]
    return _PairedRows(paired, stray, pairing.certain)


def _list_before(ids: Iterable[str | None], state: State) -> Iterator[Row]:
    """The newest stored messages, newest first, without those of these ids, among which calls are looked for."""
    given = set(ids)
    return (row for row in islice(state.newest_messages(), _CALL_LOOK_BACK) if row.id not in given)


def _is_first_result(rows: Sequence[Row], state: State) -> bool:
    """Fast path: whether this is a single result, whose call is among the newest messages and not answered yet."""
    if len(rows) != 1 or not rows[0].calls or rows[0].id in state.rows:
        return False
    [id], turn_id = rows[0].calls, rows[0].turn_id
    others: set[str] = set()  # a result among them that is none of this call's message may answer what is left
    for row in islice(state.newest_messages(), _FAST_LOOK_BACK):
        if id in row.calls:
            return row.role == "assistant" and others.issubset(row.calls)
        if row.role == "tool" and (turn_id is None or row.turn_id in (None, turn_id)):
            others.update(row.calls)
    return False


def _append_paired(handle: Handle, rows: Sequence[Row], now: float) -> Flow[list[Row]]:
    """Append on the condition that nobody answers one of the calls meanwhile."""

    def decide(state: State) -> tuple[Sequence[Change], list[Row]]:
        paired = _pair_rows(handle, rows, state, now)
        return _to_changes([*paired.stray, *paired.rows], state), paired.rows

    paired = yield from handle.commit(decide, now)
    state = handle.engine.replica(handle.path).state
    return [state.rows.get(row.id, row) for row in paired]


def append(handle: Handle, rows: Sequence[Row], now: float) -> Flow[list[Row]]:
    """Store the rows that are new or changed; returns all rows as stored, with their times and calls."""
    handle.check_usable()
    if handle.incarnation is None:
        yield from handle.replica()
    replica = handle.engine.replica(handle.path)
    if "tool" in map(_ROLE, rows):
        with replica.lock:
            certain = _is_first_result(rows, replica.state) or _pair_rows(handle, rows, replica.state, now).certain
        if not certain:
            return (yield from _append_paired(handle, rows, now))
    changes = _to_changes(rows, replica.state)
    if len(changes) < len(rows):
        # A row that seems unchanged may have been changed or removed by others: catch up first.
        _, state = yield from handle.replica()
        changes = _to_changes(rows, state)
    if changes:
        yield from handle.post(changes, now)
        if replica.stale:
            # Another process may have stored one of the ids first, and its time stays.
            replica, _ = yield from handle.replica()
    return [replica.state.rows.get(row.id, row) for row in rows]


def replace(handle: Handle, rows: Sequence[Row], now: float) -> Flow[None]:
    """Replace all messages; see `Messages.replace`."""
    rows = _pair_rows(handle, rows, State(), now).rows

    def decide(state: State) -> tuple[Sequence[Change], None]:
        before = list(state.messages)
        wanted = [row.id for row in rows]
        if wanted[: len(before)] == before:
            # The new conversation continues the old one: write only what is new or changed.
            return _to_changes(rows, state), None
        _to_changes(rows, state)  # raises for ids of items and entries
        return [Cleared("messages", len(before), now), *(ItemPut(row) for row in rows)], None

    yield from handle.commit(decide, now)


def pop(handle: Handle) -> Flow[Message | None]:
    """Remove and return the newest message."""
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], Message | None]:
        newest = next(reversed(state.messages), None)
        return ([], None) if newest is None else ([ItemRemoved(newest)], to_message(state.rows[newest]))

    return (yield from handle.commit(decide, now))


def remove(handle: Handle, message_id: str) -> Flow[bool]:
    """Remove a message; False when it does not exist."""
    message_id = check_id(message_id)
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], bool]:
        there = message_id in state.messages or message_id in state.withdrawn
        return ([ItemRemoved(message_id)], True) if there else ([], False)

    return (yield from handle.commit(decide, now))


def withdraw(handle: Handle, message_ids: Sequence[str]) -> Flow[int]:
    """Take messages out of the conversation; see `Messages.withdraw`."""
    return (yield from _move(handle, message_ids, MessagesWithdrawn, attrgetter("messages")))


def restore(handle: Handle, message_ids: Sequence[str]) -> Flow[int]:
    """Bring withdrawn messages back; see `Messages.restore`."""
    return (yield from _move(handle, message_ids, MessagesRestored, attrgetter("withdrawn")))


def move_to_end(handle: Handle, message_ids: Sequence[str]) -> Flow[int]:
    """Put messages after all others; see `Messages.move_to_end`."""
    wanted = dict.fromkeys(map(check_id, message_ids))
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], int]:
        rows = [state.rows[each] for each in wanted if each in state.messages]
        if [row.id for row in rows] == [*islice(reversed(state.messages), len(rows))][::-1]:
            return [], len(rows)
        return [*(ItemRemoved(row.id) for row in rows), *map(ItemPut, rows)], len(rows)

    return (yield from handle.commit(decide, now))


def _move(
    handle: Handle,
    message_ids: Sequence[str],
    change: type[MessagesWithdrawn | MessagesRestored],
    source: Callable[[State], Mapping[str, int]],
) -> Flow[int]:
    """Record a change of those of the messages that it concerns; returns how many these are."""
    asked = dict.fromkeys(map(check_id, message_ids))
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], int]:
        held = source(state)
        ids = tuple(each for each in asked if each in held)
        return ([change(ids, now)] if ids else []), len(ids)

    return (yield from handle.commit(decide, now))


def prepare_messages(
    handle: Handle, messages: MessageInput | Sequence[MessageInput]
) -> tuple[list[Message], list[Row], float]:
    """The input as messages, the rows of those to store, and the time."""
    now = handle.settings.clock()
    said = parse_messages(messages)
    for message in said:
        if message.id is not None:
            check_new_names(message.id)
        if message.metadata:
            check_message_metadata(handle.policy, message)
    if handle.redaction is not None:
        said = [redact_message(handle.redaction, each)[0] for each in said]
    recalled = _find_recalled(said)
    rows = [to_row(message, handle, now) for at, message in enumerate(said) if at not in recalled]
    return said, rows, now


def _find_recalled(messages: Sequence[Message]) -> set[int]:
    """The positions of messages that `pack` made from stored content.

    They carry a mark. Where it was lost, they are recognized by their form, except for the
    newest user message: a user may have pasted such a text.
    """
    newest = max((at for at, message in enumerate(messages) if message.role == "user"), default=-1)
    return {
        at
        for at, message in enumerate(messages)
        if message.recalled
        or (at != newest and len(message.parts) == 1 and message.role in ("user", "system") and is_note(message.text))
    }


def with_stored_ids(
    messages: Sequence[Message], stored_rows: Sequence[Row], argument: object
) -> Message | list[Message]:
    """The messages as a read would return them: with their stored ids, times and calls."""
    rows = iter(stored_rows)
    stored = []
    recalled = _find_recalled(messages) if len(stored_rows) < len(messages) else set()
    for at, message in enumerate(messages):
        if at in recalled:
            stored.append(message)
            continue
        row = next(rows)
        same = message.id == row.id and message.created_at == row.created_at and message.answers == row.calls
        told: dict[str, object] = {"id": row.id, "created_at": row.created_at}
        if message.role == "tool" and row.calls:
            told["tool_call_id"] = row.calls[0]
        stored.append(message if same else message.model_copy(update=told))
    return stored[0] if isinstance(argument, Message | Mapping) else stored
