"""The trace of a scope's turns: what happened in each, in ids and numbers, in a reserved scope below it.

A turn is one record, appended on no condition. The trace goes with its scope; nobody hears of it unless asked to.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from wmem.codec.traces import decode_events, encode_events
from wmem.engine.replica import Replica
from wmem.errors import CorruptionError, NotFoundError
from wmem.flow import Flow, ask
from wmem.journal.port import Journal
from wmem.model.change import TurnTraced
from wmem.model.checks import check_id
from wmem.model.history import TRACE_SCOPE, Path, is_trace, to_scope_id
from wmem.model.trace import TraceEvent, TurnTrace
from wmem.policy import Policy
from wmem.scope.handle import Handle

_LEAST_BYTES = 64 * 1024  # that a trace may take of any scope: before, no journal is compacted
_SHARE = 20  # a trace takes no more than a twentieth of the scope's bytes


def trace_handle(handle: Handle) -> Handle:
    """A handle on the trace of a scope, bound to what this process knows of it."""
    settings = replace(handle.settings, policy=Policy.entries())
    traced = Handle(handle.engine, settings, (*handle.path, TRACE_SCOPE), policy=None, parent=handle)
    known = handle.engine.replicas.get(traced.path)
    if known is not None and known.incarnation is not None and not (known.torn or known.state.disposed):
        traced.bind(known)
    return traced


def append_trace(handle: Handle, turn_id: str, events: Sequence[TraceEvent], now: float) -> Flow[None]:
    """Append what happened in a turn of a scope to its trace: one record, on no condition.

    A turn may be told in several records.

    Args:
        now: UTC epoch seconds.
    """
    policy = handle.policy
    if events and policy.trace_turns:
        yield from trace_handle(handle).post([to_change(handle, turn_id, events, now)], now)


def to_change(handle: Handle, turn_id: str, events: Sequence[TraceEvent], now: float) -> TurnTraced:
    """What happened in a turn as the change that tells it."""
    policy, used = handle.policy, handle.engine.replica(handle.path).state.bytes
    return TurnTraced(
        check_id(turn_id),
        round(now, 3),
        encode_events(events),
        policy.trace_s,
        policy.trace_turns,
        max(_LEAST_BYTES, used // _SHARE),
    )


def read_trace(root: Handle, turn_id: str, session: Sequence[str] | None) -> Flow[TurnTrace]:
    """What happened in a turn; see `AgentMemory.trace`."""
    turn_id = check_id(turn_id)
    replicas = yield from _read_replicas(root, session)
    for replica in replicas:
        records = _list_records(replica, turn_id)
        if records:
            return TurnTrace(turn_id, replica.path[:-1], records[-1].at, _decode(replica.path, records))
    raise NotFoundError(f"no trace has a turn {turn_id!r}: it was not committed, or is too long ago")


def list_traces(root: Handle, session: Sequence[str]) -> Flow[list[TurnTrace]]:
    """What happened in the turns of a scope, oldest first; see `AgentMemory.traces`."""
    turns: dict[str, list[TurnTraced]] = {}
    for replica in (yield from _read_replicas(root, session)):
        for each in _list_records(replica, None):
            turns.setdefault(each.turn_id, []).append(each)
        return [
            TurnTrace(id, replica.path[:-1], records[-1].at, _decode(replica.path, records))
            for id, records in turns.items()
        ]
    return []


def _read_replicas(root: Handle, session: Sequence[str] | None) -> Flow[list[Replica[object]]]:
    """The traces of all scopes of an agent, or of one, caught up."""
    root.check_usable()
    if session is None:
        paths = [path for path in (yield from ask(Journal.paths, root.path)) if is_trace(path)]
    else:
        paths = [(*root.path, *session, TRACE_SCOPE)]
    return list((yield from root.engine.sync(paths))) if paths else []


def _list_records(replica: Replica[object], turn_id: str | None) -> list[TurnTraced]:
    with replica.lock:
        if replica.state.disposed:
            return []
        return [each for each in replica.state.traces if turn_id is None or each.turn_id == turn_id]


def _decode(path: Path, records: Iterable[TurnTraced]) -> tuple[TraceEvent, ...]:
    try:
        return tuple(event for each in records for event in decode_events(each.events))
    except (ValueError, LookupError) as exc:
        fault = type(exc).__name__
    raise CorruptionError(f"the trace of scope {to_scope_id(path[:-1])!r} reads as none: {fault}")
