"""The engine: one per store and process, with its replicas and the flows that read and write through them.

A write syncs the replica, decides, appends and applies; nothing waits between append
and apply. A refused or lost append is retried under the same record id.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from wmem.codec.codec import Codec
from wmem.engine.replica import Replica
from wmem.engine.write_queue import Pause, Ticket, WriteQueue, backoff
from wmem.errors import ConflictError, CorruptionError, StoreError, UnknownOutcomeError, WrongKeyError
from wmem.flow import Flow, ask
from wmem.journal.port import Appended, Journal, new_record_id
from wmem.model.change import Change, Event, ItemPut, ItemTouched, PolicyChanged
from wmem.model.checks import check_listener
from wmem.model.history import ORIGIN, VECTOR_SCOPE, Cursor, Incarnation, Path, is_cache
from wmem.state import APPLIED_MAX, State

__all__ = [
    "KEEP_GRACE_S",
    "RETRY_S",
    "Callback",
    "Decide",
    "Engine",
    "Listener",
    "StaleIncarnation",
    "TimedCallback",
]

P = TypeVar("P")
R = TypeVar("R")

_log = logging.getLogger("wmem.engine")

RETRY_S = 5.0  # a write that meets others for longer raises ConflictError
COMPACT_MIN_BYTES = 64 * 1024
COMPACT_INLINE_BYTES = 8 * 1024 * 1024  # larger states are compacted by maintenance
KEEP_GRACE_S = 900.0  # an expired item can be listed and revived until cleanup, which runs every 300 s
REPLICA_BYTES = 256 * 1024 * 1024
_WARNED_MAX = 1_024
_EVICT_EVERY = 32  # new replicas between two evictions of those whose scope does not exist
_BUSY_USES = 16  # a replica used within so many uses of the engine may still be in use

Listener = Callable[[Event], None]
Decide = Callable[[State], tuple[Sequence[Change], R]]


class Callback(Protocol):
    """The port that calls a user's function; async, it may be a coroutine function."""

    def call(self, function: Callable[[], Any], /) -> Any:
        """The function's result."""
        ...


class TimedCallback(Protocol):
    """The port that calls a user's function with a time limit."""

    def within(self, function: Callable[[], Any], seconds: float, /) -> Any:
        """The function's result, waiting at most so many seconds.

        A plain function runs in a thread of its own, which is abandoned when it takes longer;
        sync with infinite seconds, it runs in the caller's thread.

        Raises:
            TimeoutError: It took longer.
        """
        ...


class Engine(Generic[P]):
    """The replicas of one store and the flows over them, for sync and async.

    Args:
        codec: Encodes changes as the journal's payloads.
        head: Returns a journal's head cursor, for a store that answers without waiting; a
            fresh replica is then read without asking the journal.
        replica_bytes: Limit of all replicas together; the least recently used are evicted.
    """

    def __init__(
        self, codec: Codec[P], *, head: Callable[[Path], Cursor] | None = None, replica_bytes: int = REPLICA_BYTES
    ) -> None:
        self.codec = codec
        self._head = head
        self._replica_bytes = replica_bytes
        self._replicas: dict[Path, Replica[P]] = {}
        self._uses = 0
        self._lock = threading.Lock()
        self.write_queue = WriteQueue()
        self._listeners: list[tuple[str, Listener]] = []
        self._outbox: deque[Event] = deque()
        self._delivery_lock = threading.Lock()
        self._unchecked_bytes = 0
        """Bytes that replicas grew by since their size was last checked."""
        self._warned: dict[object, None] = {}
        self._claimed_tasks: set[object] = set()
        self.evicted_caches: dict[Path, Incarnation] = {}
        """Evicted caches, by path, with the incarnation they had."""
        self.unpurged_agents: set[str] = set()
        """Agents with deleted content whose bytes are not yet purged."""

    def reset_after_fork(self) -> None:
        """Reset after a fork, in the child process: locks and replicas belong to the parent."""
        self._replicas = {}
        self._lock = threading.Lock()
        self.write_queue.reset_after_fork()
        self._outbox.clear()
        self._delivery_lock = threading.Lock()
        self._claimed_tasks = set()  # only the parent has the threads that would release them

    # -- replicas

    def replica(self, path: Path) -> Replica[P]:
        """This process's replica of a scope; a new one starts at the origin."""
        replica = self._replicas.get(path)
        if replica is None:
            with self._lock:
                listeners = () if is_cache(path) else self._listeners
                replica = self._replicas.setdefault(path, Replica(path, self.codec, listeners, self._outbox))
                replica.last_use = self._uses  # the caller is about to use it
                if len(self._replicas) % _EVICT_EVERY == 0:
                    self._evict_replicas()
        return replica

    def _evict_replicas(self) -> None:
        """Evict the least recently used replicas while all together are too large, caches first. Under the lock.

        Replicas of scopes that do not exist are evicted, too: asking for many such leaves nothing behind.
        """
        kept = 0
        for path, replica in sorted(self._replicas.items(), key=lambda each: (is_cache(each[0]), -each[1].last_use)):
            kept += replica.state.bytes + replica.index_bytes
            idle = replica.cursor == ORIGIN or kept > self._replica_bytes
            # Keep the one in use, and one whose scope does not exist yet: it may be created next.
            busy = replica.last_use >= self._uses - (_BUSY_USES if replica.cursor == ORIGIN else 0)
            if idle and replica.incarnation is not None and is_cache(path):
                self.evicted_caches[path] = replica.incarnation  # in use or not: its user holds a reference
                busy = False
            if idle and not busy and not replica.state.unwritten_touches:
                self._replicas.pop(path).retire()

    def track_growth(self, size: int) -> None:
        """Count growth in bytes; after each 1/16 of the limit, evict what is over it."""
        self._unchecked_bytes += size
        if self._unchecked_bytes > self._replica_bytes // 16:
            self._unchecked_bytes = 0
            with self._lock:
                self._evict_replicas()

    def warn_once(self, key: object) -> bool:
        """Whether this was not asked before, among the last 1,024 such keys: the caller then logs it."""
        if key in self._warned:
            return False
        self._warned[key] = None
        if len(self._warned) > _WARNED_MAX:
            self._warned.pop(next(iter(self._warned)), None)
        return True

    def claim(self, tasks: Iterable[R]) -> list[R]:
        """Claim the tasks that nobody in this process works on, and return them; the caller releases them."""
        with self._lock:
            mine = [each for each in tasks if each not in self._claimed_tasks]
            self._claimed_tasks.update(mine)
        return mine

    def release(self, tasks: Iterable[object]) -> None:
        """Release claimed tasks, done or not."""
        with self._lock:
            self._claimed_tasks.difference_update(tasks)

    def is_any_claimed(self, tasks: Iterable[object]) -> bool:
        """Whether one of the tasks is still claimed."""
        return not self._claimed_tasks.isdisjoint(tasks)

    def flush_touches(self, root: str, now: float) -> Flow[None]:
        """Write the touches of an agent's items that are not yet in the journal."""
        for path, replica in list(self._replicas.items()):
            if path[0] == root and replica.state.unwritten_touches and replica.incarnation is not None:
                yield from self.post(path, replica.incarnation, (), now=now)

    def synced_replica(self, path: Path) -> Replica[P] | None:
        """This process's replica of a scope if it has synced one, else None; makes none."""
        replica = self._replicas.get(path)
        return replica if replica is not None and replica.has_synced else None

    def counts(self, root: str) -> tuple[int, int]:
        """Counts of entries, and of scopes below its root, of an agent's working memory as this process knows it."""
        live = [
            replica
            for path, replica in list(self._replicas.items())
            if path[0] == root and replica.incarnation is not None and not replica.state.disposed
            if not any(segment.startswith("~") for segment in path)
        ]
        return sum(len(each.state.entries) for each in live), sum(len(each.path) > 1 for each in live)

    def empty_scopes(self, paths: Iterable[Path]) -> list[Path]:
        """Those of the scopes that are empty, as far as this process knows."""
        known = self._replicas.get
        return [path for path in paths if (replica := known(path)) is not None and not replica.state.rows]

    def disposed_scopes(self, paths: Iterable[Path]) -> list[Path]:
        """Those of the scopes that this process knows to be disposed but not yet deleted."""
        known = self._replicas.get
        return [path for path in paths if (replica := known(path)) is not None and replica.state.disposed]

    def drop_replicas(self, prefix: Path) -> None:
        """Drop the replicas at and below a deleted path."""
        with self._lock:
            for path in [path for path in self._replicas if path[: len(prefix)] == prefix]:
                self._replicas.pop(path).retire()
            for path in [path for path in self.evicted_caches if path[: len(prefix)] == prefix]:
                del self.evicted_caches[path]

    def fresh(self, paths: Sequence[Path]) -> list[Replica[P]] | None:
        """The replicas of `paths` if all are known to be at their journal's head; else None: read the journal."""
        head = self._head
        if head is None:
            return None
        found: list[Replica[P]] = []
        for path in paths:
            replica = self._replicas.get(path)
            self._uses = used = self._uses + (
                path[-1] != VECTOR_SCOPE
            )  # no cache, as below; a call costs too much here
            # By identity: a replica in step with its journal holds the journal's own cursor object.
            if replica is None or not replica.has_synced or replica.cursor is not head(path):
                return None
            replica.last_use = used
            found.append(replica)
        return found

    def sync(self, paths: Sequence[Path]) -> Flow[list[Replica[P]]]:
        """The replicas of `paths` (one root), synced to one instant not before this call."""
        if (standing := self.fresh(paths)) is not None:
            return standing
        while True:
            replicas = [self.replica(path) for path in paths]
            # A cache is read as part of another replica's use, which must not be evicted for it.
            self._uses += not all(map(is_cache, paths))
            reader = object()
            for replica in replicas:
                replica.last_use = self._uses
                replica.readers.add(reader)  # before its cursor is read: from then on it remembers what it applies
            asked = {replica.path: replica.cursor for replica in replicas}
            try:
                tails = yield from ask(Journal.read, asked)
            finally:
                for replica in replicas:
                    replica.readers.discard(reader)
            adopted = True
            for replica in replicas:
                # Apply every tail: when one replica refuses its own, the others still advance.
                adopted = replica.apply_tail(asked[replica.path], tails[replica.path]) and adopted
            if self._outbox:
                self.deliver_events()
            for tail in tails.values():
                if tail.records or tail.snapshot is not None:
                    self.track_growth(sum(self.codec.size(record.payload) for record in tail.records))
                    self.track_growth(0 if tail.snapshot is None else self.codec.size(tail.snapshot))
            if adopted:
                return replicas

    def sync_readable(self, paths: Sequence[Path]) -> Flow[list[Replica[P]]]:
        """See `caught_up`; a scope that cannot be read at all is left out, and logged once."""
        try:
            return (yield from self.sync(paths))
        except (CorruptionError, WrongKeyError) as exc:
            if len(paths) == 1:
                if self.warn_once(("closed", paths[0])):
                    _log.warning("scope %r is left out: %s", paths[0], exc)
                return []
        half = len(paths) // 2
        return [*(yield from self.sync_readable(paths[:half])), *(yield from self.sync_readable(paths[half:]))]

    # -- writing

    def post(
        self,
        path: Path,
        incarnation: Incarnation,
        changes: Sequence[Change],
        *,
        now: float,
        record_id: int | None = None,
    ) -> Flow[bool]:
        """Append on the sole condition that the scope is still in this incarnation; it never conflicts.

        Returns:
            False when that incarnation is over; nothing was changed then.
        """
        record_id = new_record_id() if record_id is None else record_id
        yield from self.write_queue.yield_to_starving(path)
        replica = self.replica(path)
        since = replica.cursor
        full = tuple(changes)
        if replica.state.unwritten_touches:
            with replica.lock:
                # Never put back: from here on they may be stored, and to count twice is worse than not at all.
                full = (*full, *replica.take_touches())
        payload = self.codec.encode_record(full, path, record_id)
        deadline = time.monotonic() + RETRY_S
        while True:
            try:
                reply: Appended[P] = yield from ask(
                    Journal.append, path, record_id, payload, incarnation, retention_s(changes, now)
                )
            except UnknownOutcomeError:
                if time.monotonic() > deadline:
                    raise
                yield from ask(Pause.sleep, backoff(0))
                replica = yield from self._sync_to_write(path, unknown=True)
                if record_id in replica.state.applied or (
                    replica.cursor.version > since.version + APPLIED_MAX
                    and (yield from self._is_stored(path, record_id, since))
                ):
                    return True
                continue
            break
        if reply.cursor is None:
            return False
        due = self._apply_appended(replica, reply, record_id, full)
        # A cache that was evicted is not read again for this: maintenance compacts it.
        yield from self._compact_if_due(
            replica, now, due=due and (replica.has_synced or path not in self.evicted_caches)
        )
        return not replica.state.disposed

    def commit(
        self, path: Path, decide: Decide[R], *, opening: Sequence[Change], incarnation: Incarnation | None, now: float
    ) -> Flow[tuple[R, Incarnation | None]]:
        """Decide on the current state and append the changes only if the state is still the same.

        Args:
            decide: Maps the state to changes and a result; pure, may run several times.
            opening: Changes that precede the others in the first record of a scope.
            birth: The incarnation the caller expects; None for any.

        Returns:
            The result, and the scope's incarnation (None: there is no such scope).

        Raises:
            OtherLife: The scope is not in the expected incarnation.
            ConflictError: Other writers came first for `RETRY_S` seconds; nothing was changed.
            UnknownOutcomeError: A reply was lost, and no later try showed whether the record is stored.
        """
        with self.write_queue.ticket(path) as place:
            return (yield from self._commit_in_turn(place, decide, opening=opening, incarnation=incarnation, now=now))

    def _commit_in_turn(
        self,
        ticket: Ticket,
        decide: Decide[R],
        *,
        opening: Sequence[Change],
        incarnation: Incarnation | None,
        now: float,
    ) -> Flow[tuple[R, Incarnation | None]]:
        path = ticket.path
        record_id = new_record_id()
        deadline = time.monotonic() + RETRY_S
        tries, unknown = 0, False
        step: _Attempt[R] | None = None
        while True:
            deadline += yield from self.write_queue.wait_turn(ticket, tries)
            replica = yield from self._sync_to_write(path, unknown=unknown)
            earlier, step = step, _decide(replica, decide, record_id, incarnation, step)
            if step is None:
                assert earlier is not None  # only an earlier try can be in doubt
                if (yield from self._is_stored(path, record_id, earlier.expected)):
                    return earlier.result, replica.incarnation
                unknown = False  # others took its place: it can no longer be stored
                continue
            if not step.changes:
                return step.result, step.incarnation
            # At the origin the scope is new, or new again: a store may drop one whose every item had expired.
            full = (*(opening if step.expected == ORIGIN else ()), *step.changes, *step.touches)
            payload = self.codec.encode_record(full, path, record_id)
            tries += 1
            reply: Appended[P] | None = None
            try:
                reply = yield from ask(Journal.append, path, record_id, payload, step.expected, retention_s(full, now))
            except UnknownOutcomeError:
                unknown = True
                if time.monotonic() > deadline:
                    raise
            if reply is not None and reply.cursor is not None:
                self.write_queue.leave(ticket)  # before a listener may write here
                yield from self._compact_if_due(replica, now, due=self._apply_appended(replica, reply, record_id, full))
                return step.result, reply.incarnation
            if reply is not None:
                if tries == 1:
                    deadline = time.monotonic() + RETRY_S  # a conflict only from here on: the first try took its time
                _handle_refusal(replica, step, reply)
                if reply.certain and not unknown:
                    step = None  # certainly not stored
            if time.monotonic() > deadline:
                raise _retry_error(path, tries, unknown=unknown)
            yield from ask(Pause.sleep, backoff(tries))

    def _sync_to_write(self, path: Path, *, unknown: bool) -> Flow[Replica[P]]:
        """Sync a replica before a write; a failure after a lost reply leaves the outcome unknown."""
        try:
            (replica,) = yield from self.sync([path])
        except StoreError as exc:
            if not unknown:
                raise
            msg = f"scope {path!r}: the reply to a write was lost, and then the store failed: {exc}"
            raise UnknownOutcomeError(msg) from exc
        return replica

    def _is_stored(self, path: Path, record_id: int, since: Cursor) -> Flow[bool]:
        """Whether the journal holds the record `record_id` after `since`.

        Raises:
            UnknownOutcomeError: The records were compacted, and too many came since to tell.
        """
        tail = (yield from ask(Journal.read, {path: since}))[path]
        if any(record.id == record_id for record in tail.records):
            return True
        if tail.joined or tail.snapshot is None:
            return False
        if record_id in self.codec.decode_checkpoint(tail.snapshot, path, tail.base).applied:
            return True
        if tail.base.version > since.version + APPLIED_MAX:
            msg = f"scope {path!r}: the reply to a write was lost, and too much came since to tell; read to see"
            raise UnknownOutcomeError(msg)
        return False

    def _apply_appended(
        self, replica: Replica[P], reply: Appended[P], record_id: int, changes: Sequence[Change]
    ) -> bool:
        """Apply an appended record; True when the journal's tail has grown enough to compact it."""
        before = replica.state.bytes
        replica.apply_appended(reply, record_id, changes)
        if self._outbox:
            self.deliver_events()
        if (grown := replica.state.bytes - before) > 0:
            self.track_growth(grown)
        # Another process may have compacted, and the snapshot's size be unknown here: estimate it from the state.
        return reply.tail_bytes >= COMPACT_MIN_BYTES and reply.tail_bytes >= (
            replica.snapshot_bytes or replica.state.bytes // 2
        )

    def _compact_if_due(self, replica: Replica[P], now: float, *, due: bool) -> Flow[None]:
        if not due:
            return
        try:
            if replica.stale:
                (replica,) = yield from self.sync([replica.path])
            yield from self.compact(replica, now)
        except StoreError as exc:
            # The write itself is stored; a later one compacts.
            _log.warning("scope %r was not compacted: %s", replica.path, exc)

    def compact(self, replica: Replica[P], now: float, *, limit: int | None = COMPACT_INLINE_BYTES) -> Flow[bool]:
        """Replace the records that a replica has applied by a checkpoint.

        A journal with a damaged record is not compacted: the record would be lost.

        Args:
            limit: Bytes of state above which compaction is left to maintenance; None for no limit.
        """
        with replica.lock:
            upto, state = replica.cursor, replica.state
            large = limit is not None and state.bytes > limit
            if replica.compacting or replica.damage or upto == ORIGIN or large:
                return False
            replica.compacting = True
            kept = state.checkpoint()
        try:
            payload = self.codec.encode_checkpoint(kept, replica.path, upto)
            keep_s = retention_s([ItemPut(row) for row in kept.rows], now)
            done = yield from ask(Journal.compact, replica.path, upto, payload, keep_s)
        except StoreError as exc:
            # The write itself is stored; a later one compacts.
            _log.warning("scope %r was not compacted: %s", replica.path, exc)
            return False
        finally:
            replica.compacting = False
        if done:
            replica.snapshot_bytes, replica.tail_bytes = self.codec.size(payload), 0
        return done

    # -- events

    def subscribe(self, root: str, listener: Listener) -> Callable[[], None]:
        """Call a listener with every change below `root` from now on; returns the function that stops it."""
        check_listener(listener)
        entry = (root, listener)
        self._listeners.append(entry)

        def stop() -> None:
            if entry in self._listeners:
                self._listeners.remove(entry)

        return stop

    def deliver_events(self) -> None:
        """Deliver the events of the outbox to the listeners, in order, one caller at a time."""
        while self._outbox and self._delivery_lock.acquire(blocking=False):
            try:
                while self._outbox:
                    event = self._outbox.popleft()
                    for root, listener in tuple(self._listeners):
                        if event.path[0] == root:
                            _notify(listener, event)
            finally:
                self._delivery_lock.release()


class _Attempt(NamedTuple, Generic[R]):
    """What one try decided; without changes there is nothing to append.

    Attributes:
        expected: The head after which the record is to be appended.
        birth: The scope's incarnation at that head.
    """

    result: R
    changes: Sequence[Change]
    touches: tuple[ItemTouched, ...]
    expected: Cursor
    incarnation: Incarnation | None


def _decide(
    replica: Replica[Any],
    decide: Decide[R],
    record_id: int,
    incarnation: Incarnation | None,
    earlier: _Attempt[R] | None,
) -> _Attempt[R] | None:
    """Decide on a state; None when only the journal can tell whether an earlier try was stored."""
    with replica.lock:
        state, expected, met = replica.state, replica.cursor, replica.incarnation
        if earlier is not None and record_id in state.applied:
            # The earlier try was stored; only its reply was lost.
            return _Attempt(earlier.result, (), (), expected, met)
        if incarnation is not None and met != incarnation:
            raise StaleIncarnation(replica.path)
        if earlier is not None and expected.version > earlier.expected.version + APPLIED_MAX:
            return None  # a fold remembers only the last ids
        changes, result = decide(state)
        touches = replica.take_touches() if changes and met is not None else ()
        return _Attempt(result, changes, touches, expected, met)


def _handle_refusal(replica: Replica[P], step: _Attempt[Any], reply: Appended[P]) -> None:
    """Put touches back after a refusal, and apply the records it brought."""
    if step.touches:
        # Only a refusal says that they are not stored; after a failure, not counting beats counting twice.
        with replica.lock:
            replica.return_touches(step.touches)
    if reply.missed is not None:
        replica.apply_tail(step.expected, reply.missed)


class StaleIncarnation(Exception):  # noqa: N818  # a signal inside the engine, never seen outside
    """The scope was disposed, and perhaps created anew, since a handle last read it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path


def _retry_error(path: Path, tries: int, *, unknown: bool) -> StoreError:
    met = f"scope {path!r}: other writers came first for {RETRY_S} s ({tries} tries)"
    if unknown:
        return UnknownOutcomeError(f"{met}, and the reply to one try was lost: read to see whether it arrived")
    return ConflictError(f"{met}; nothing was changed")


def _notify(listener: Listener, event: Event) -> None:
    try:
        listener(event)
    except Exception:  # noqa: BLE001  # a user's function must not break the engine
        _log.exception("a listener failed on %s of scope %r", type(event.change).__name__, event.path)


def retention_s(changes: Iterable[Change], now: float) -> float | None:
    """Retention of a record in seconds from now: its longest TTL plus 15 min; None for ever.

    For ever if an item has no expiry or the policy changes: a policy outlasts the items.
    """
    longest = 0.0
    for change in changes:
        if type(change) is PolicyChanged:
            return None
        if type(change) is ItemPut:
            if change.row.expires_at is None:
                return None
            longest = max(longest, change.row.expires_at - now)
    return longest + KEEP_GRACE_S
