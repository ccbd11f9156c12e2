"""The trace of a scope's turns: what happened in each, in ids and numbers, in a reserved scope below it.

A turn is one record, appended on no condition. The trace goes with its scope; nobody hears of it unless asked to.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice, takewhile
from typing import Any

from wmem.codec.layouts import decode_layout
from wmem.codec.traces import decode_events, encode_events
from wmem.describe import describe_name
from wmem.engine.replica import Replica
from wmem.engine.writing import append_together
from wmem.errors import CorruptionError, DisposedError, InvalidInputError, NotFoundError, StoreError
from wmem.flow import Flow, ask
from wmem.journal.port import Journal
from wmem.log import find_logger
from wmem.model.change import TurnTraced
from wmem.model.checks import check_id, check_turn_id
from wmem.model.context import Context, unseal
from wmem.model.history import TRACE_SCOPE, Path, is_trace, to_scope_id
from wmem.model.ids import new_ulid
from wmem.model.item import to_message
from wmem.model.layout import RECALLED, Layout
from wmem.model.receipt import Sealed
from wmem.model.trace import PackTraced, RecallTraced, ToolCallTraced, TraceEvent, TurnTrace
from wmem.policy import Policy
from wmem.scope.handle import Handle
from wmem.scope.queue.flows import end_turn
from wmem.scope.sources import RowLoader
from wmem.scope.summaries.rolling import roll_after_turn

_LEAST_BYTES = 64 * 1024  # that a trace may take of any scope: before, no journal is compacted
_POLICY = Policy(name="trace")
_MAX_RESULTS = 256  # of the newest messages, among which a turn's results are looked for

_log = find_logger("wmem.scope")
_ROW_BYTES = 128  # of a row in memory that it does not take in a journal


def trace_handle(handle: Handle) -> Handle:
    """A handle on the trace of a scope, bound to what this process knows of it."""
    settings = replace(handle.settings, policy=_POLICY)
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
    policy, state = handle.policy, handle.engine.replica(handle.path).state
    stored = max(0, state.bytes - _ROW_BYTES * len(state.rows))
    return TurnTraced(
        check_turn_id(turn_id),
        round(now, 3),
        encode_events(events, handle.path, round(now, 3)),
        policy.trace_s,
        policy.trace_turns,
        max(_LEAST_BYTES, int(stored * policy.trace_share)),
    )


def read_trace(root: Handle, turn_id: str, session: Sequence[str] | None) -> Flow[TurnTrace]:
    """What happened in a turn; see `AgentMemory.trace`."""
    turn_id = check_id(turn_id)
    replicas = yield from _read_replicas(root, session)
    for replica in replicas:
        records = _list_records(replica, turn_id)
        if records:
            return (yield from _to_trace(root, replica.path[:-1], records))
    raise NotFoundError(f"no trace has a turn {describe_name(turn_id)}: it was not committed, or is too long ago")


def list_traces(root: Handle, session: Sequence[str]) -> Flow[list[TurnTrace]]:
    """What happened in the turns of a scope, oldest first; see `AgentMemory.traces`."""
    turns: dict[str, list[TurnTraced]] = {}
    traces = []
    for replica in (yield from _read_replicas(root, session)):
        for each in _list_records(replica, None):
            turns.setdefault(each.turn_id, []).append(each)
        for records in turns.values():
            traces.append((yield from _to_trace(root, replica.path[:-1], records)))  # noqa: PERF401  # no comprehension can yield from
    return traces


def trace_pack(context: Context) -> PackTraced:
    """A pack as its trace tells it.

    Raises:
        InvalidInputError: No scope has packed this context, or it is a copy.
    """
    return _unseal(context).event


def end_turn_with(handle: Handle, turn_id: str, contexts: Sequence[Context]) -> Flow[int]:
    """End a turn, and append to the trace what happened in it; see `Scope.end_turn`.

    A trace that cannot be written is logged: what it tells of was done.
    """
    prompts = list(map(_unseal, contexts))
    if others := [each.path for each in prompts if each.path != handle.path]:
        raise InvalidInputError(f"this context is of the scope {others[0]!r}, not of {handle.path!r}")
    handle.check_usable()
    if handle.incarnation is None:
        yield from handle.replica()
    # What was packed before the scope was disposed, and began anew, is no prompt of this turn.
    events: list[TraceEvent] = [each.event for each in prompts if each.identity in (0, handle.identity)]
    events += _list_tool_calls(handle, turn_id)
    step, _ = yield from append_together(end_turn(handle, turn_id), _append_or_log(handle, turn_id, events))
    if contexts and handle.settings.summarizer is not None:
        yield from roll_after_turn(handle, contexts)
    return step


def _append_or_log(handle: Handle, turn_id: str, events: Sequence[TraceEvent]) -> Flow[None]:
    try:
        yield from append_trace(handle, turn_id, events, handle.settings.clock())
    except StoreError as exc:
        _log.warning("the trace of turn %s was not written: %s", turn_id, exc)


def _list_tool_calls(handle: Handle, turn_id: str) -> list[TraceEvent]:
    """The calls of tools whose results are stored behind the message that began a turn, among the newest."""
    replica = handle.engine.replica(handle.path)
    with replica.lock:
        rows = list(islice(replica.state.newest_messages(), _MAX_RESULTS))
    turn = list(takewhile(lambda row: row.id != turn_id, rows))
    if len(turn) == len(rows):
        turn = [row for row in rows if row.turn_id == turn_id]
    return [
        ToolCallTraced(row.id, to_message(row).metadata.get("is_error") is True, row.tokens or 0)
        for row in reversed(turn)
        if row.role == "tool"
    ]


def record_pack(handle_of: Callable[[Path], Handle], context: Context, turn_id: str | None) -> Flow[str]:
    """Append a pack to the trace of its scope; see `AgentMemory.record`."""
    sealed = _unseal(context)
    handle = handle_of(sealed.path)
    if sealed.identity:
        yield from handle.replica()
        if handle.identity != sealed.identity:  # a trace of its own would outlive it
            raise DisposedError(f"scope {sealed.path!r} was disposed since it was packed")
    now = handle.settings.clock()
    yield from append_trace(handle, new_ulid(now) if turn_id is None else turn_id, [sealed.event], now)
    return sealed.receipt


def _unseal(context: Context) -> Sealed:
    if not isinstance(context, Context):
        raise InvalidInputError(f"expected what Scope.pack returned, not {type(context).__name__!r}")
    sealed = unseal(context)
    if sealed is None:
        raise InvalidInputError("this context has no receipt: no scope has packed it")
    return sealed


def _read_replicas(root: Handle, session: Sequence[str] | None) -> Flow[list[Replica[Any]]]:
    """The traces of all scopes of an agent, or of one, caught up."""
    root.check_usable()
    if session is None:
        paths = [path for path in (yield from ask(Journal.paths, root.path)) if is_trace(path)]
    else:
        paths = [(*root.path, *session, TRACE_SCOPE)]
    return list((yield from root.engine.sync(paths))) if paths else []


def _list_records(replica: Replica[Any], turn_id: str | None) -> list[TurnTraced]:
    with replica.lock:
        if replica.state.disposed:
            return []
        return [each for each in replica.state.traces if turn_id is None or each.turn_id == turn_id]


def _to_trace(root: Handle, path: Path, records: Sequence[TurnTraced]) -> Flow[TurnTrace]:
    """What records tell of a turn in a scope, with the ids of what was recalled."""
    fault = ""
    try:
        events = [event for each in records for event in decode_events(each.events, path, each.at)]
        layouts = [
            decode_layout(each.layout) if isinstance(each, PackTraced) and each.layout else None for each in events
        ]
    except (ValueError, LookupError) as exc:
        fault = type(exc).__name__
    if fault:
        raise CorruptionError(f"the trace of scope {to_scope_id(path)!r} reads as none: {fault}")
    others = {(path[0], *scope.path) for layout in layouts if layout is not None for scope in layout.scopes}
    paths = [path, *others]
    replicas = dict(zip(paths, (yield from root.engine.sync(paths)), strict=True)) if any(layouts) else {}
    told = tuple(
        event if layout is None or not isinstance(event, PackTraced) else _with_ids(event, layout, path, replicas)
        for event, layout in zip(events, layouts, strict=True)
    )
    return TurnTrace(records[-1].turn_id, path, records[-1].at, told)


def _with_ids(event: PackTraced, layout: Layout, path: Path, replicas: Mapping[Path, Replica[Any]]) -> PackTraced:
    """A pack with the ids of what was recalled, as far as they are known."""
    refs = [quote.ref for quote in layout.quotes if quote.rule == RECALLED]
    loader = RowLoader(layout, path, replicas, (), event.at)
    loader.find(refs)
    parts = {place: each.parts for place, each in enumerate(event.recalled)}
    return event._replace(
        recalled=tuple(RecallTraced(loader.ids.get(ref, ""), parts.get(place, {})) for place, ref in enumerate(refs))
    )
