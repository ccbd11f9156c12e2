"""Turns of closed sessions: items that point to messages where they lie, by ids and numbers, without their text."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from wmem.engine.derived import Derived
from wmem.engine.replica import Replica
from wmem.model.history import Path, to_scope_id
from wmem.model.item import to_message
from wmem.model.message import Message
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.rules.eviction import Size
from wmem.scope.messages.flows import group_by_turn

_MAX_MESSAGES = 512
"""Messages that one item points to; a longer turn is several items."""


class ConversationTurn(NamedTuple):
    """A turn of a closed session.

    Attributes:
        id: Of the item that points to it.
        session: The names of its session, below the agent's.
        turn_id: Its id, if its messages have one.
        created_at: When it began, UTC epoch seconds.
        messages: What is there of it, read from the session.
        missing: The ids of messages that are gone: removed, withdrawn or erased, or with the whole session.
    """

    id: str
    session: tuple[str, ...]
    turn_id: str | None
    created_at: float
    messages: tuple[Message, ...]
    missing: tuple[str, ...]


class SessionLife(NamedTuple):
    """A session in one life: its path below the agent's, and the chain of its first incarnation."""

    names: tuple[str, ...]
    incarnation: int


class TurnPointer(NamedTuple):
    """Where the messages of a turn lie, by their ids; `tokens` are those of all of them."""

    id: str
    session: SessionLife
    turn_id: str | None
    created_at: float
    closed_at: float
    message_ids: tuple[str, ...]
    tokens: int


def list_pointers(session: SessionLife, rows: Sequence[Row], counter: str, now: float) -> Iterator[Row]:
    """The rows that point to a session's messages, turn by turn.

    Args:
        rows: The messages, oldest first.
        counter: The name of the counter that counted their tokens.
    """
    for turn in group_by_turn(rows):
        for number, begin in enumerate(range(0, len(turn), _MAX_MESSAGES)):
            part = turn[begin : begin + _MAX_MESSAGES]
            # The same each time: who closes a session again, in any process, writes the same items.
            key = dump_json([*session.names, session.incarnation, part[0].id])
            pointer = TurnPointer(
                f"turn-{hashlib.sha256(key).hexdigest()[:24]}",
                session,
                turn[0].turn_id,
                turn[0].created_at,
                now,
                tuple(row.id for row in part),
                sum(row.tokens or 0 for row in part),
            )
            yield to_row(pointer, counter, chunk_index=number if len(turn) > _MAX_MESSAGES else None)


def to_row(pointer: TurnPointer, counter: str, *, chunk_index: int | None = None) -> Row:
    """The row of a pointer."""
    source = {
        "scope": list(pointer.session.names),
        "incarnation": pointer.session.incarnation,
        "messages": list(pointer.message_ids),
    }
    rest: dict[str, Any] = {"kind": "conversation", "sources": [source]}
    if chunk_index is not None:
        rest["chunk_index"] = chunk_index
    content = f"{len(pointer.message_ids)} messages"
    return Row(
        id=pointer.id,
        content=dump_json(content),
        created_at=pointer.created_at,
        updated_at=pointer.closed_at,
        type="turn",
        length=len(content),
        tokens=pointer.tokens,
        counter=counter,
        turn_id=pointer.turn_id,
        rest=dump_json(rest),
    )


def parse_pointer(row: Row) -> TurnPointer | None:
    """What a row points to; None for any other row."""
    sources = load_json(row.rest or b"{}").get("sources") if row.type == "turn" else None
    match sources:
        case [{"scope": [*names], "incarnation": int(incarnation), "messages": [*ids]}]:
            session = SessionLife(tuple(map(str, names)), incarnation)
            messages = tuple(map(str, ids))
            return TurnPointer(row.id, session, row.turn_id, row.created_at, row.updated_at, messages, row.tokens or 0)
        case _:
            return None


class ClosedTurns(Derived):
    """The pointers of a scope, and how much those of each session point to.

    Attributes:
        sessions: The pointers of each session by their ids, in the order in which its turns were closed first.
        versions: How often those of each session changed.
        closed_at: When each session was closed last.
        life: Another object whenever this was made anew, from what is stored.
    """

    __slots__ = ("closed_at", "life", "pointers", "sessions", "sizes", "versions")

    def __init__(self) -> None:
        self.pointers: dict[str, TurnPointer] = {}
        self.sizes: dict[SessionLife, Size] = {}
        self.sessions: dict[SessionLife, dict[str, TurnPointer]] = {}
        self.versions: dict[SessionLife, int] = {}
        self.closed_at: dict[SessionLife, float] = {}
        self.life = object()

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        for id, row in changed.items():
            before = self.pointers.get(id)
            pointer = parse_pointer(row) if row is not None and row.deleted_at is None else None
            if before is not None:
                self._count(before, -1)
                if pointer is None:
                    del self.pointers[id], self.sessions[before.session][id]
            if pointer is not None:
                self.pointers[id] = pointer
                self.sessions.setdefault(pointer.session, {})[id] = pointer
                self.closed_at[pointer.session] = max(pointer.closed_at, self.closed_at.get(pointer.session, 0.0))
                self._count(pointer, 1)
            if (session := (pointer or before)) is not None:
                self.versions[session.session] = self.versions.get(session.session, 0) + 1

    def _count(self, pointer: TurnPointer, sign: int) -> None:
        items, tokens = self.sizes.get(pointer.session, Size())
        size = Size(items + sign * len(pointer.message_ids), tokens + sign * pointer.tokens)
        if size.items:
            self.sizes[pointer.session] = size
        else:
            self.sizes.pop(pointer.session, None)

    def size(self, *, besides: SessionLife | None) -> Size:
        """How much all sessions but one point to."""
        others = [size for session, size in self.sizes.items() if session != besides]
        return Size(sum(size.items for size in others), sum(size.tokens for size in others))

    def newest_sessions(self, limit: int, *, besides: SessionLife | None) -> list[SessionLife]:
        """The sessions closed last, but one, newest first: each in its last life, for no other can be read."""
        closed_at: dict[SessionLife, float] = {}
        for pointer in self.pointers.values():
            if pointer.session != besides:
                closed_at[pointer.session] = max(pointer.closed_at, closed_at.get(pointer.session, pointer.closed_at))
        # By name at last: the same in every process.
        newest = sorted(closed_at, key=lambda session: (-closed_at[session], session))
        by_name: dict[tuple[str, ...], SessionLife] = {}
        for session in newest:
            by_name.setdefault(session.names, session)
        return list(by_name.values())[:limit]

    def message_ids(self, sessions: Sequence[SessionLife]) -> dict[Path, set[str]]:
        """The ids of the messages that are pointed to, by the session's names."""
        ids: dict[Path, set[str]] = {session.names: set() for session in sessions}
        for pointer in self.pointers.values():
            if pointer.session.names in ids:
                ids[pointer.session.names].update(pointer.message_ids)
        return ids


def list_turns(replica: Replica[Any]) -> list[TurnPointer]:
    """The closed turns that a scope points to, in the order in which they were closed first."""

    def list_all(turns: ClosedTurns) -> list[TurnPointer]:
        with replica.lock:
            return [pointer for id in replica.state.items if (pointer := turns.pointers.get(id)) is not None]

    return replica.use_derived(ClosedTurns, list_all)


def list_closed_threads(replica: Replica[Any]) -> dict[str, float]:
    """When the sessions of which a scope points to turns were closed last, by the threads that they are."""
    closed: dict[str, float] = {}
    for session, at in replica.use_derived(ClosedTurns, lambda turns: dict(turns.closed_at)).items():
        thread = to_scope_id(session.names)
        closed[thread] = max(at, closed.get(thread, at))
    return closed


def is_alive(replica: Replica[Any], incarnation: int) -> bool:
    """Whether a session is still the one that was closed."""
    return replica.incarnation is not None and replica.identity == incarnation and not replica.state.disposed


def read_turn(pointer: TurnPointer, replica: Replica[Any] | None) -> ConversationTurn:
    """A turn as it can be read now."""
    rows: dict[str, Row] = {}
    if replica is not None and is_alive(replica, pointer.session.incarnation):
        with replica.lock:
            state = replica.state
            rows = {id: state.rows[id] for id in pointer.message_ids if id in state.messages}
    messages = tuple(map(to_message, rows.values()))
    missing = tuple(id for id in pointer.message_ids if id not in rows)
    return ConversationTurn(pointer.id, pointer.session.names, pointer.turn_id, pointer.created_at, messages, missing)
