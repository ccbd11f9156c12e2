"""The job that turns what worked several times, as sequences of tool calls, into skills of semantic memory."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from wmem.agent.consolidation.jobs import Job, JobContext, JobReport, run_in_each
from wmem.agent.consolidation.skill_items import SkillUpdate, is_written, list_sources, to_draft
from wmem.agent.consolidation.tool_traces import (
    ClosedSessions,
    Signature,
    TrackedCalls,
    list_message_traces,
    parse_place,
)
from wmem.agent.gate.routing import choose_stores
from wmem.agent.types.draft import ItemDraft
from wmem.agent.types.flows import draft_row, find_minima
from wmem.agent.types.turn_pointers import SessionLife, is_alive
from wmem.engine.replica import Replica
from wmem.flow import Flow
from wmem.model.history import Cursor, Path, to_scope_id
from wmem.model.removal import SKILLS_JOB as NAME
from wmem.model.row import Row
from wmem.rules.routing import CONVERSATION, EPISODIC, SEMANTIC
from wmem.rules.skills.calls import Trace
from wmem.rules.skills.miner import MIN_SUPPORT, mine
from wmem.rules.skills.wording import Skill, to_skill
from wmem.scope.gate import weigh
from wmem.scope.handle import Handle
from wmem.scope.items.promotion import long_term_handle

_MAX_CALLS = 10_000
"""Calls that skills are mined from, the newest ones; what was counted before stays counted."""
_MAX_SESSIONS = 2_000
"""Closed sessions whose messages are read, the newest ones, each once in a process."""
_SESSIONS_PER_READ = 64
_MIN_SHARE, _MAX_WAIT_S = 8, 7 * 86_400.0
"""Of traces, that have to be new, and seconds, until skills are mined again where new traces are like known ones."""
_MINED = f"{NAME}: mined"


class _Session(NamedTuple):
    """The traces of a closed session.

    Attributes:
        cursor: Where its journal stood when it was read; None if it is gone.
    """

    signature: Signature
    cursor: Cursor | None
    traces: Sequence[Trace]


class _Sessions(NamedTuple):
    """The closed sessions, as far as this process has read them."""

    by_life: Mapping[SessionLife, _Session]


class _Version(NamedTuple):
    """What is another value whenever the traces of a long-term memory are others.

    Attributes:
        life: See `TrackedCalls.life`.
        calls: See `TrackedCalls.version`.
        sessions: The signatures and cursors of closed sessions.
    """

    life: object
    calls: int
    sessions: Mapping[SessionLife, tuple[Signature, Cursor | None]]

    def continues(self, earlier: "_Version") -> bool:
        """Whether nothing but additions may have come since, and no restore."""
        kept = all(self.sessions.get(life) == each for life, each in earlier.sessions.items())
        return kept and self.life is earlier.life


class _Mined(NamedTuple):
    """What skills were mined from last.

    Attributes:
        steps: How many steps each trace had.
        known: How many traces worked that have the same tools in the same order.
    """

    at: float
    version: _Version
    steps: Mapping[str, int]
    known: Mapping[tuple[str, ...], int]

    @classmethod
    def of(cls, traces: Sequence[Trace], version: _Version, now: float) -> "_Mined":
        known = Counter(tools for trace in traces if (tools := _list_tools(trace)))
        return cls(now, version, {trace.id: len(trace.steps) for trace in traces}, known)

    def may_wait(self, traces: Sequence[Trace], version: _Version, now: float) -> bool:
        """Whether all that came since is more of the same, which changes numbers alone, and yet little of that."""
        new = [trace for trace in traces if trace.id not in self.steps]
        kept = sum(self.steps.get(trace.id) == len(trace.steps) for trace in traces)
        if not new or kept < len(self.steps) or not version.continues(self.version):
            return False
        is_little = len(new) < max(1, len(self.steps) // _MIN_SHARE) and self.at <= now < self.at + _MAX_WAIT_S
        return is_little and all(self.known.get(_list_tools(trace), 0) >= MIN_SUPPORT for trace in new)


def _list_tools(trace: Trace) -> tuple[str, ...]:
    """The tools of a trace in order; none where something failed."""
    worked = not trace.failed and not any(step.failed for step in trace.steps)
    return tuple(step.tool for step in trace.steps) if worked else ()


def extract_skills(context: JobContext) -> Flow[JobReport]:
    """Mine the traces of each long-term memory, and bring its skills up to date."""
    scopes = {handle.path[:-1] for name in (EPISODIC, CONVERSATION) for handle in context.long_term(name)}
    targets = [long_term_handle(context.root, scope, SEMANTIC) for scope in sorted(scopes)]
    return (yield from run_in_each(targets if context.extracts_skills else (), partial(_extract_in, context)))


def _extract_in(context: JobContext, target: Handle) -> Flow[Mapping[str, int]]:
    scope = target.path[:-1]
    traces, version = yield from _read_traces(context, scope)
    # Of a scope that is there: what is known of others is forgotten.
    key = _MINED, next(path for name in (EPISODIC, CONVERSATION) if (path := (*scope, name)) in context.paths)
    mined = context.store.values.get(key)
    if isinstance(mined, _Mined) and (
        mined.version == version or (not context.named and mined.may_wait(traces, version, context.now))
    ):
        return {}
    newest = _choose_newest(traces)
    skills = [to_skill(pattern) for pattern in mine(newest)]
    counts = yield from _store_skills(context, target, skills, newest)
    context.store.values[key] = _Mined.of(traces, version, context.now)
    return counts


EXTRACT_SKILLS = Job(NAME, extract_skills)


# -- reading


def _read_traces(context: JobContext, scope: Path) -> Flow[tuple[list[Trace], _Version]]:
    """The traces of a long-term memory, and what is another value whenever they are others."""
    traces: list[Trace] = []
    threads: set[str] = set()
    life: object = None
    version = 0
    if (*scope, EPISODIC) in context.paths:
        [replica] = yield from context.engine.sync([(*scope, EPISODIC)])

        def list_tracked(calls: TrackedCalls) -> tuple[list[Trace], set[str], tuple[object, int]]:
            with replica.lock:
                replica.catch_up(TrackedCalls, calls)
                found = calls.list_traces(replica.path, replica.state)
                return found, calls.list_threads(), (calls.life, calls.version)

        traces, threads, (life, version) = replica.use_derived(TrackedCalls, list_tracked)
    sessions: Mapping[SessionLife, _Session] = {}
    if (*scope, CONVERSATION) in context.paths:
        sessions = yield from _read_sessions(context, (*scope, CONVERSATION))
    # Who tracks calls and stores messages, too, made each call once.
    untracked = {life: each for life, each in sessions.items() if to_scope_id(life.names) not in threads}
    traces += [trace for each in untracked.values() for trace in each.traces]
    return traces, _Version(life, version, {key: each[:2] for key, each in untracked.items() if each.traces})


def _read_sessions(context: JobContext, path: Path) -> Flow[Mapping[SessionLife, _Session]]:
    """The closed sessions; only those are read that were closed or written since the last pass."""
    [conversation] = yield from context.engine.sync([path])
    closed = conversation.use_derived(ClosedSessions, lambda sessions: sessions.list_newest(_MAX_SESSIONS))
    key = NAME, path
    stored = context.store.values.get(key)
    known = stored.by_life if isinstance(stored, _Sessions) else {}
    there = frozenset(context.paths)
    changed = [
        life
        for life, signature in closed.items()
        if (before := known.get(life)) is None
        or before.signature != signature
        or ((session := (*path[:1], *life.names)) in there and _was_written(context, session, before))
    ]
    read: dict[SessionLife, _Session] = {}
    for begin in range(0, len(changed), _SESSIONS_PER_READ):
        part = {(*path[:1], *life.names): life for life in changed[begin : begin + _SESSIONS_PER_READ]}
        for replica in (yield from context.engine.sync_readable(list(part))):
            life = part[replica.path]
            if is_alive(replica, life.incarnation):
                read[life] = _Session(closed[life], *_read_messages(replica))
    sessions = {life: read.get(life) or known.get(life) or _Session(closed[life], None, ()) for life in closed}
    context.store.values[key] = _Sessions(sessions)
    return sessions


def _was_written(context: JobContext, path: Path, before: _Session) -> bool:
    """Whether a session that is there was written since it was read.

    Maintenance has just read what does not stand as an earlier pass left it; it may have been evicted since.
    """
    cursor = context.standing.get(path)
    if cursor is None and (replica := context.engine.find_synced_replica(path)) is not None:
        cursor = replica.cursor
    return before.cursor not in (None, cursor)


def _read_messages(replica: Replica[Any]) -> tuple[Cursor, list[Trace]]:
    with replica.lock:
        cursor = replica.cursor
        rows = [row for id in replica.state.messages if (row := replica.state.rows[id]).calls]
    return cursor, list_message_traces(replica.path, rows)


def _choose_newest(traces: Iterable[Trace]) -> list[Trace]:
    chosen: list[Trace] = []
    calls = 0
    for trace in sorted(traces, key=lambda trace: (trace.steps[-1].at, trace.id), reverse=True):
        calls += len(trace.steps)
        if calls > _MAX_CALLS and chosen:
            break
        chosen.append(trace)
    return chosen


# -- writing


def _store_skills(
    context: JobContext, target: Handle, skills: Sequence[Skill], traces: Iterable[Trace]
) -> Flow[Counter[str]]:
    """Bring the skills of a semantic memory up to date; returns how many were changed how."""
    if not skills and target.path not in context.paths:
        return Counter()
    _, state = yield from target.replica()
    drafts: dict[str, Row] = {}
    for skill in skills:
        held = state.rows.get(skill.id)
        if held is not None and is_written(held, skill):
            drafts[skill.id] = held
            continue
        draft = to_draft(skill)
        row, _ = yield from draft_row(target, draft)
        row = row._replace(id=skill.id)
        drafts |= {skill.id: row} if held is not None else (yield from _pass_gate(context, target, draft, row))
    erased = yield from _list_erased(context, target, traces)
    return (yield from target.commit(SkillUpdate(skills, drafts, erased, context.now).decide, context.now))


def _pass_gate(context: JobContext, target: Handle, draft: ItemDraft, row: Row) -> Flow[dict[str, Row]]:
    """The row of a new skill, by its id, as it is to be stored; none if the gate sends it elsewhere or refuses it."""
    types = context.types.bind(context.root)
    if types.semantic.name not in choose_stores(types, draft):
        return {}
    weighed = yield from weigh(target, row, context.now, find_minima(target, types.semantic.name, gated=True))
    return {} if weighed.rejected is not None else {row.id: weighed.row}


def _list_erased(context: JobContext, target: Handle, traces: Iterable[Trace]) -> Flow[set[str]]:
    """The sources of known skills that were erased."""
    _, state = yield from target.replica()
    there = {step.call_id for trace in traces for step in trace.steps}
    by_scope: dict[Path, dict[str, str]] = {}
    for place in list_sources(state):
        if place not in there:
            path, id = parse_place(place, target.path[0])
            by_scope.setdefault(path, {})[id] = place
    paths = [path for path in by_scope if path in context.paths]
    replicas = (yield from context.engine.sync_readable(paths)) if paths else []
    erased: set[str] = set()
    for replica in replicas:
        with replica.lock:
            erased |= {place for id, place in by_scope[replica.path].items() if id in replica.state.erased}
    return erased
