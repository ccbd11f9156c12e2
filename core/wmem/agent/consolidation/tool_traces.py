"""Tool calls of long-term memory as traces that skills are mined from, without any value of a user's."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from wmem.agent.types.turn_pointers import SessionLife, TurnPointer, parse_pointer
from wmem.engine.derived import Derived
from wmem.model.history import Path
from wmem.model.item import to_message
from wmem.model.message import Message
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.rules.skills.calls import ToolCall, Trace, tells_failure
from wmem.rules.skills.sequences import to_trace
from wmem.state import State

if TYPE_CHECKING:
    from wmem.model.part import ToolCall as ModelCall

_GAP_S = 4 * 3_600.0
"""Seconds between two calls of a thread after which the next one begins another trace."""
_RETURNED, _FAILED = "\nreturned: ", "\nfailed: "
ThreadKey: TypeAlias = tuple[str, str]
"""A thread and a task of it; without a thread its turn."""


def to_place(path: Path, id: str) -> str:  # the field's own name
    """Where a call is stored, as one text: ids are only those of a scope."""
    return dump_json([*path[1:], id]).decode()


def parse_place(place: str, agent_id: str) -> tuple[Path, str]:
    """The scope and the id of a call; see `to_place`."""
    *names, id = load_json(place.encode())
    return (agent_id, *names), id


Signature: TypeAlias = tuple[int, float]
"""How many messages of a session were closed, and when the last ones were."""


class _TrackedCall(NamedTuple):
    key: ThreadKey
    thread_id: str | None


class TrackedCalls(Derived):
    """The calls that were tracked in episodic memory, as traces.

    Attributes:
        life: Another object whenever this was made anew, from what is stored, as after a restore.
        version: Another number whenever a call was added or taken away.
    """

    __slots__ = ("_by_thread", "_places", "_stale", "_traces", "life", "version")

    def __init__(self) -> None:
        self.life = object()
        self.version = 0
        self._places: dict[str, _TrackedCall] = {}
        self._by_thread: dict[ThreadKey, dict[str, None]] = {}
        self._traces: dict[ThreadKey, list[Trace]] = {}
        self._stale: set[ThreadKey] = set()

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        for id, row in changed.items():
            place = None if row is None else _find_place(row)
            for each in {self._places.get(id), place} - {None}:
                assert each is not None
                self._stale.add(each.key)
                self.version += 1
            if (before := self._places.pop(id, None)) is not None:
                self._by_thread.get(before.key, {}).pop(id, None)
            if place is not None:
                self._places[id] = place
                self._by_thread.setdefault(place.key, {})[id] = None

    def list_threads(self) -> set[str]:
        """The threads in which calls were tracked."""
        return {each.thread_id for each in self._places.values() if each.thread_id is not None}

    def list_traces(self, path: Path, state: State) -> list[Trace]:
        """The traces of all threads; under the replica's lock.

        Args:
            path: Of the scope.
        """
        for key in self._stale:
            ids = sorted(self._by_thread.get(key, ()), key=lambda each: state.items.get(each, 0))
            calls = [_to_call(path, state.rows[id]) for id in ids if id in state.items]
            if calls:
                self._traces[key] = split_traces(dump_json(key).decode(), calls)
            else:
                self._traces.pop(key, None)
                self._by_thread.pop(key, None)
        self._stale.clear()
        return [trace for traces in self._traces.values() for trace in traces]

    @property
    def bytes(self) -> int:
        return 1_000 * len(self._places)


def _find_place(row: Row) -> _TrackedCall | None:
    """The thread of a tracked call; None for what is none, or the rest of a long one."""
    if row.type != "tool_result" or row.deleted_at is not None or row.rest is None or b'"tool_name"' not in row.rest:
        return None
    rest = load_json(row.rest)
    if rest.get("parent_id") or not _find_tool(rest):
        return None
    thread_id = rest.get("thread_id") or None
    return _TrackedCall((thread_id or f"turn {row.turn_id}", rest.get("task_id") or ""), thread_id)


def _find_tool(rest: Mapping[str, object]) -> str:
    metadata = rest.get("metadata")
    name = metadata.get("tool_name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else ""


def _to_call(path: Path, row: Row) -> ToolCall:
    metadata = load_json(row.rest or b"{}")["metadata"]
    text: str = load_json(row.content)
    parameters = metadata.get("parameters")
    result = text.partition(_RETURNED)[2]
    return ToolCall(
        to_place(path, row.id),
        metadata["tool_name"],
        parameters if isinstance(parameters, Mapping) else {},
        result,
        metadata.get("failed") is True or tells_failure(result),
        row.created_at,
        row.turn_id or "",
    )


def split_traces(name: str, calls: Sequence[ToolCall]) -> list[Trace]:
    """The calls of one thread as traces, parted where it rested for long.

    Args:
        calls: Oldest first.
    """
    parts: list[list[ToolCall]] = []
    for call in calls:
        if not parts or call.at - parts[-1][-1].at > _GAP_S:
            parts.append([])
        parts[-1].append(call)
    # By its first call: the same however much is thinned out before it.
    traces = (to_trace(f"{name} {part[0].id}", part) for part in parts)
    return [trace for trace in traces if trace.steps]  # one may hold nothing but thoughts


class ClosedSessions(Derived):
    """The sessions that closed turns point to, and what tells whether anything of them was closed or taken back."""

    __slots__ = ("_pointers", "_signatures")

    def __init__(self) -> None:
        self._pointers: dict[str, TurnPointer] = {}
        self._signatures: dict[SessionLife, Signature] = {}

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        for id, row in changed.items():
            if (before := self._pointers.pop(id, None)) is not None:
                self._count(before, -1)
            if row is not None and row.deleted_at is None and (pointer := parse_pointer(row)) is not None:
                self._pointers[id] = pointer
                self._count(pointer, 1)

    def _count(self, pointer: TurnPointer, sign: int) -> None:
        messages, at = self._signatures.get(pointer.session, (0, 0.0))
        messages += sign * len(pointer.message_ids)
        if messages:
            self._signatures[pointer.session] = messages, max(at, pointer.closed_at)
        else:
            self._signatures.pop(pointer.session, None)

    def list_newest(self, limit: int) -> dict[SessionLife, Signature]:
        """The sessions closed last, with their signatures."""
        newest = sorted(self._signatures.items(), key=lambda each: (-each[1][1], each[0]))
        return dict(newest[:limit])


def list_message_traces(path: Path, rows: Iterable[Row]) -> list[Trace]:
    """The calls of a session's messages as traces.

    Args:
        path: Of the session.
        rows: Messages that call tools or answer calls, oldest first.
    """
    threads: dict[str, list[ToolCall]] = {}
    for thread_id, call in _pair_calls(path, map(to_message, rows)):
        threads.setdefault(thread_id, []).append(call)
    return [trace for thread_id, calls in threads.items() for trace in split_traces(thread_id, calls)]


def _pair_calls(path: Path, messages: Iterable[Message]) -> list[tuple[str, ToolCall]]:
    """The answered calls of messages in the order of the calls, each with its thread."""
    made: dict[str, tuple[int, Message, ModelCall]] = {}
    answered: list[tuple[int, str, ToolCall]] = []
    places = count()
    for message in messages:
        made |= {call.id: (next(places), message, call) for call in message.tool_calls}
        if message.role != "tool" or message.id is None or message.tool_call_id not in made:
            continue
        place, caller, call = made.pop(message.tool_call_id)
        result, at = message.text, caller.created_at or 0.0
        failed = message.metadata.get("is_error") is True or tells_failure(result)
        # By the id of its answer: parallel calls are one message.
        read = ToolCall(
            to_place(path, message.id), call.name, call.args or {}, result, failed, at, caller.turn_id or ""
        )
        answered.append((place, caller.thread_id or "", read))
    return [(thread_id, call) for _, thread_id, call in sorted(answered, key=lambda each: each[0])]
