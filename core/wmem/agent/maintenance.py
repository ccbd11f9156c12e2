"""Maintenance of an agent's scopes: remove expired items, compact journals, delete disposed scopes.

Nothing here runs by itself: `maintain` is one pass, `Maintenance` repeats it until it is stopped.
"""

import threading
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from wmem.agent.consolidation.jobs import JobReport
from wmem.agent.looks import ExpiringRows, ScopeLook, find_due, find_lease_end
from wmem.clock import SteadyClock
from wmem.engine.engine import Engine
from wmem.engine.replica import Replica
from wmem.engine.writing import COMPACT_MIN_BYTES, StaleIncarnation, commit, post
from wmem.errors import ConflictError, StoreError, WmemError
from wmem.flow import Flow, ask
from wmem.journal.port import Journal
from wmem.log import find_logger
from wmem.model.change import Change, ItemExpired, ItemPut, ScopeDisposed
from wmem.model.history import Path, is_cache, is_index, is_trace, to_scope_id
from wmem.rules.routing import EPISODIC, SEMANTIC
from wmem.rules.ttl import clamp_expiry, rewrite_row
from wmem.scope.index_store import drop_index
from wmem.state import State

if TYPE_CHECKING:
    import asyncio

_log = find_logger("wmem.agent")
_READ_BATCH = 256  # scopes read in one call


class MaintenanceReport(NamedTuple):
    """What one maintenance pass did.

    Attributes:
        scopes: How many scopes the agent has, without its vector store.
        expired: How many expired items and entries this process removed.
        compacted: How many journals were compacted.
        deleted: How many scopes were deleted whose disposal had been interrupted, or whose lease had ended.
        closed: How many idle sessions were closed, as `ConversationSettings.idle_s` says.
        jobs: What each job of consolidation did, by its name.
    """

    scopes: int
    expired: int
    compacted: int
    deleted: int
    closed: int = 0
    jobs: Mapping[str, JobReport] = MappingProxyType({})


def maintain(
    engine: Engine[Any],
    agent_id: str,
    paths: Sequence[Path],
    clock: Callable[[], float],
    *,
    looks: dict[Path, ScopeLook],
    standing: Container[Path],
) -> Flow[MaintenanceReport]:
    """Run one pass over an agent's scopes; a scope that another process writes meanwhile is left to it.

    A scope that cannot be read, damaged or under another key, is skipped. The caller has to
    purge the bytes of what is deleted here.

    Args:
        looks: What is known of earlier passes; of each scope that is read here, it is what this one found.
        standing: Scopes that need no look.
    """
    expired = compacted = deleted = 0
    leased: list[Path] = []
    if doubtful := is_clock_ahead(clock):
        _log.warning("nothing of agent %s is cleaned up: this process was begun under a clock that ran ahead", agent_id)
    indexes = frozenset(filter(is_index, paths))
    yield from _drop_orphans(engine, indexes, frozenset(paths))
    paths = [path for path in paths if path not in indexes]  # each of these is read once, and replaced as a whole
    due = [path for path in paths if doubtful or path not in standing]
    for begin in range(0, len(due), _READ_BATCH):
        replicas = yield from engine.sync_readable(due[begin : begin + _READ_BATCH])
        for replica in replicas:
            looks.pop(replica.path, None)
            if replica.incarnation is None:
                continue
            cursor = replica.cursor  # what comes after it is looked at in the next pass
            if replica.state.disposed:
                yield from ask(Journal.delete, replica.path, replica.incarnation)
                engine.drop_replicas(replica.path)
                engine.unpurged_agents.add(agent_id)
                deleted += 1
                continue
            if not doubtful and _lease_ended(replica.state, clock()):
                leased.append(replica.path)
            if not doubtful and (gone := (yield from _remove_expired(engine, replica, clock()))):
                expired += gone
                yield from drop_index(engine, replica.path)  # it has words of what expired
            if is_trace(replica.path) and not doubtful:
                yield from _prune_trace(engine, replica, clock())
            # It outgrew its snapshot, and its writers had no time to compact it.
            if replica.tail_bytes >= max(COMPACT_MIN_BYTES, replica.snapshot_bytes):
                compacted += yield from engine.compact(replica, clock(), limit=None)
            if not doubtful and replica.tail_bytes < max(COMPACT_MIN_BYTES, replica.snapshot_bytes):
                looks[replica.path] = ScopeLook(cursor, clock(), find_due(replica))
    for path in leased:
        deleted += yield from _dispose_leased(engine, path, paths, clock())
    return MaintenanceReport(sum(not (is_cache(path) or is_trace(path)) for path in paths), expired, compacted, deleted)


def is_clock_ahead(clock: Callable[[], float]) -> bool:
    """Whether this process was begun under a clock that ran ahead, by which nothing may be taken away."""
    return isinstance(clock, SteadyClock) and clock.is_ahead()


def _drop_orphans(engine: Engine[Any], indexes: Iterable[Path], known: Container[Path]) -> Flow[None]:
    """Delete the indexes of scopes that are gone: a store drops one whose items had all expired."""
    for path in indexes:
        if path[:-1] not in known:
            yield from drop_index(engine, path[:-1])


def _lease_ended(state: State, now: float) -> bool:
    """Whether the lease of a scope has ended; false for one without a lease."""
    return find_lease_end(state) <= now


def _dispose_leased(engine: Engine[Any], path: Path, paths: Sequence[Path], now: float) -> Flow[bool]:
    """Dispose a scope whose lease has ended, with all below it, unless somebody still writes there."""
    family = yield from engine.sync_readable([each for each in paths if each[: len(path)] == path])
    own = next((replica for replica in family if replica.path == path), None)
    if own is None or own.incarnation is None:
        return False
    with own.lock:
        policy, incarnation = own.state.policy, own.incarnation
    latest = max(replica.state.renewed_at for replica in family)

    def decide(state: State) -> tuple[Sequence[Change], bool]:
        if (
            state.disposed
            or state.policy != policy
            or not _lease_ended(state, now - max(0.0, latest - state.renewed_at))
        ):
            return [], False
        return [ScopeDisposed(len(state.visible(state.entries.values(), now)), now)], True

    try:
        ended, _ = yield from commit(engine, path, decide, opening=(), incarnation=incarnation, now=now)
    except (ConflictError, StaleIncarnation):
        return False  # somebody is there
    if ended:
        yield from ask(Journal.delete, path, incarnation)
        engine.drop_replicas(path)
        engine.unpurged_agents.add(path[0])
        _log.info("disposed scope %s, whose lease had ended", to_scope_id(path))
    return ended


def _prune_trace(engine: Engine[Any], replica: Replica[Any], now: float) -> Flow[None]:
    """Let turns leave a trace that are told of for longer than its policy says; each new turn does this, too."""
    with replica.lock:
        traces, incarnation = [*replica.state.traces[:1], *replica.state.traces[-1:]], replica.incarnation
    if traces and incarnation is not None and traces[0].at < now - traces[-1].keep_s:
        pruned = traces[-1]._replace(turn_id="", at=round(now, 3), events=b"")
        yield from post(engine, replica.path, incarnation, [pruned], now=now)


def _remove_expired(engine: Engine[Any], replica: Replica[Any], now: float) -> Flow[int]:
    """Remove what expired, in one record that is refused when another process came first."""
    is_long_term = replica.path[-1] in (SEMANTIC, EPISODIC)
    ids = replica.use_derived(ExpiringRows, lambda rows: rows.list_due(now))
    with replica.lock:
        ids += replica.state.withdrawn

    def decide(state: State) -> tuple[Sequence[Change], int]:
        if state.disposed:
            return [], 0
        changes: list[Change] = []
        gone = 0
        for row in (state.rows[id] for id in ids if id in state.rows):
            if is_long_term and row.rest is not None and b'"retention"' in row.rest:
                continue  # it can be brought back: see the job "apply-retention"
            if row.expired(now):
                changes.append(ItemExpired(row.id, now))
                gone += 1
            elif row.expires_at is not None and clamp_expiry(row, now) != row.expires_at:
                # Stored while a clock ran ahead: without this it would stay until that clock's time comes.
                changes.append(ItemPut(rewrite_row(row, now)))
        return changes, gone

    with replica.lock:
        changes, _ = decide(replica.state)
    if not changes:
        return 0
    try:
        gone, _ = yield from commit(engine, replica.path, decide, opening=(), incarnation=replica.incarnation, now=now)
    except (ConflictError, StaleIncarnation):
        return 0  # others are writing there, or disposed it; the next pass retries
    if gone:
        _log.debug("removed %d expired items from scope %s", gone, to_scope_id(replica.path))
    return gone


def _log_failure(exc: WmemError) -> bool:
    """Log a failed pass; returns whether to try again."""
    if isinstance(exc, StoreError):
        _log.warning("maintenance failed and will be tried again: %s", exc)
        return True
    return False  # the memory was closed


class Maintenance:
    """Repeats `AgentMemory.maintain` in a thread of its own, from `start` or ``with`` until `stop`.

    Attributes:
        every_s: Seconds between two passes.
        runs: How many passes were completed.
        last: The report of the last pass.
    """

    def __init__(self, run: Callable[[], MaintenanceReport], every_s: float) -> None:
        self.runs = 0
        self.last: MaintenanceReport | None = None
        self._run = run
        self.every_s = every_s
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> Self:
        """Start, with a first pass at once; a second call does nothing."""
        if self._thread is None:
            self._stopped.clear()
            self._thread = threading.Thread(target=self._repeat, name="wmem-maintenance", daemon=True)
            self._thread.start()
        return self

    def _repeat(self) -> None:
        while True:
            try:
                self.last = self._run()
                self.runs += 1
            except WmemError as exc:
                if not _log_failure(exc):
                    return
            if self._stopped.wait(self.every_s):
                return

    def stop(self) -> None:
        """Stop after the current pass; a second call does nothing."""
        self._stopped.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


class AsyncMaintenance:
    """See `Maintenance`; it repeats as a task of the running loop."""

    def __init__(self, run: Callable[[], Any], every_s: float) -> None:
        self.runs = 0
        self.last: MaintenanceReport | None = None
        self._run = run
        self.every_s = every_s
        self._task: asyncio.Task[None] | None = None

    def start(self) -> Self:
        """See `Maintenance.start`; needs a running loop."""
        import asyncio

        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._repeat(), name="wmem-maintenance")
        return self

    async def _repeat(self) -> None:
        import asyncio

        while True:
            try:
                self.last = await self._run()
                self.runs += 1
            except WmemError as exc:
                if not _log_failure(exc):
                    return
            await asyncio.sleep(self.every_s)

    def cancel(self) -> None:
        """Stop without waiting; the cancelled pass leaves each record whole or absent."""
        if self._task is not None and not self._task.get_loop().is_closed():
            self._task.cancel()

    async def stop(self) -> None:
        """See `Maintenance.stop`; the current pass is cancelled."""
        import asyncio

        task = self._task
        self.cancel()
        self._task = None
        if task is not None and task is not asyncio.current_task():
            await asyncio.wait([task])

    async def __aenter__(self) -> Self:
        return self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
