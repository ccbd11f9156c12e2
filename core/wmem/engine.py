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

from wmem.errors import ConflictError, CorruptionError, StoreError, UnknownOutcomeError, WrongKeyError
from wmem.flow import Flow, ask
from wmem.journal.codec import Codec
from wmem.journal.port import Appended, Journal, new_record_id
from wmem.model.change import Change, Event, ItemPut, ItemTouched, PolicyChanged
from wmem.model.checks import checked_listener
from wmem.model.history import ORIGIN, VECTORS, Birth, Cursor, Path, is_cache
from wmem.replica import Replica
from wmem.state import APPLIED_MAX, State
from wmem.waiting import Lines, Pause, Place, backoff

__all__ = [
    "KEEP_GRACE_S",
    "RETRY_S",
    "Callback",
    "Decide",
    "Engine",
    "Listener",
    "OtherLife",
    "Timed",
]

P = TypeVar("P")
R = TypeVar("R")

_log = logging.getLogger("wmem.engine")

RETRY_S = 5.0  # a write that meets others for longer raises ConflictError
COMPACT_MIN_BYTES = 64 * 1024
COMPACT_INLINE_BYTES = 8 * 1024 * 1024  # larger states are compacted by maintenance
KEEP_GRACE_S = 900.0  # an expired item can be listed and revived until cleanup, which runs every 300 s
REPLICA_BYTES = 256 * 1024 * 1024
_TOLD_MAX = 1_024
_EMPTY_MAX = 32  # new replicas between two evictions of those whose scope does not exist
_BUSY = 16  # a replica used within so many uses of the engine may still be in use

Listener = Callable[[Event], None]
Decide = Callable[[State], tuple[Sequence[Change], R]]


class Callback(Protocol):
    """The port that calls a user's function; async, it may be a coroutine function."""

    def call(self, function: Callable[[], Any], /) -> Any:
        """The function's result."""
        ...


class Timed(Protocol):
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
        self.lines = Lines()
        self._listeners: list[tuple[str, Listener]] = []
        self._outbox: deque[Event] = deque()
        self._draining = threading.Lock()
        self._grown = 0
        """Bytes that replicas grew by since their size was last checked."""
        self._told: dict[object, None] = {}
        self._claimed: set[object] = set()
        self.let_go: dict[Path, Birth] = {}
        """Evicted caches, by path, with the incarnation they had."""
        self.unpurged: set[str] = set()
        """Agents with deleted content whose bytes are not yet purged."""

    def forked(self) -> None:
        """Reset after a fork, in the child process: locks and replicas belong to the parent."""
        self._replicas = {}
        self._lock = threading.Lock()
        self.lines.forked()
        self._outbox.clear()
        self._draining = threading.Lock()
        self._claimed = set()  # only the parent has the threads that would release them

    # -- replicas

    def replica(self, path: Path) -> Replica[P]:
        """This process's replica of a scope; a new one starts at the origin."""
        replica = self._replicas.get(path)
        if replica is None:
            with self._lock:
                listeners = () if is_cache(path) else self._listeners
                replica = self._replicas.setdefault(path, Replica(path, self.codec, listeners, self._outbox))
                replica.used = self._uses  # the caller is about to use it
                if len(self._replicas) % _EMPTY_MAX == 0:
                    self._shed()
        return replica

    def _shed(self) -> None:
        """Evict the least recently used replicas while all together are too large, caches first. Under the lock.

        Replicas of scopes that do not exist are evicted, too: asking for many such leaves nothing behind.
        """
        kept = 0
        for path, replica in sorted(self._replicas.items(), key=lambda each: (is_cache(each[0]), -each[1].used)):
            kept += replica.state.bytes + replica.beside
            idle = replica.cursor == ORIGIN or kept > self._replica_bytes
            # Keep the one in use, and one whose scope does not exist yet: it may be created next.
            busy = replica.used >= self._uses - (_BUSY if replica.cursor == ORIGIN else 0)
            if idle and replica.birth is not None and is_cache(path):
                self.let_go[path] = replica.birth  # in use or not: its user holds a reference
                busy = False
            if idle and not busy and not replica.state.unwritten:
                self._replicas.pop(path).retire()

    def grow(self, size: int) -> None:
        """Count growth in bytes; after each 1/16 of the limit, evict what is over it."""
        self._grown += size
        if self._grown > self._replica_bytes // 16:
            self._grown = 0
            with self._lock:
                self._shed()

    def first_time(self, what: object) -> bool:
        """Whether this was not asked before, among the last 1,024 such keys: the caller then logs it."""
        if what in self._told:
            return False
        self._told[what] = None
        if len(self._told) > _TOLD_MAX:
            self._told.pop(next(iter(self._told)), None)
        return True

    def claim(self, works: Iterable[R]) -> list[R]:
        """Claim the tasks that nobody in this process works on, and return them; the caller releases them."""
        with self._lock:
            mine = [each for each in works if each not in self._claimed]
            self._claimed.update(mine)
        return mine

    def disclaim(self, works: Iterable[object]) -> None:
        """Release claimed tasks, done or not."""
        with self._lock:
            self._claimed.difference_update(works)

    def claimed(self, works: Iterable[object]) -> bool:
        """Whether one of the tasks is still claimed."""
        return not self._claimed.isdisjoint(works)

    def settle(self, root: str, now: float) -> Flow[None]:
        """Write the touches of an agent's items that are not yet in the journal."""
        for path, replica in list(self._replicas.items()):
            if path[0] == root and replica.state.unwritten and replica.birth is not None:
                yield from self.post(path, replica.birth, (), now=now)

    def known(self, path: Path) -> Replica[P] | None:
        """This process's replica of a scope if it has synced one, else None; makes none."""
        replica = self._replicas.get(path)
        return replica if replica is not None and replica.known else None

    def counts(self, root: str) -> tuple[int, int]:
        """Counts of entries, and of scopes below its root, of an agent's working memory as this process knows it."""
        live = [
            replica
            for path, replica in list(self._replicas.items())
            if path[0] == root and replica.birth is not None and not replica.state.disposed
            if not any(segment.startswith("~") for segment in path)
        ]
        return sum(len(each.state.entries) for each in live), sum(len(each.path) > 1 for each in live)

    def bare(self, paths: Iterable[Path]) -> list[Path]:
        """Those of the scopes that are empty, as far as this process knows."""
        known = self._replicas.get
        return [path for path in paths if (replica := known(path)) is not None and not replica.state.rows]

    def ended(self, paths: Iterable[Path]) -> list[Path]:
        """Those of the scopes that this process knows to be disposed but not yet deleted."""
        known = self._replicas.get
        return [path for path in paths if (replica := known(path)) is not None and replica.state.disposed]

    def forget(self, prefix: Path) -> None:
        """Drop the replicas at and below a deleted path."""
        with self._lock:
            for path in [path for path in self._replicas if path[: len(prefix)] == prefix]:
                self._replicas.pop(path).retire()
            for path in [path for path in self.let_go if path[: len(prefix)] == prefix]:
                del self.let_go[path]

    def standing(self, paths: Sequence[Path]) -> list[Replica[P]] | None:
        """The replicas of `paths` if all are known to be at their journal's head; else None: read the journal."""
        head = self._head
        if head is None:
            return None
        found: list[Replica[P]] = []
        for path in paths:
            replica = self._replicas.get(path)
            self._uses = used = self._uses + (path[-1] != VECTORS)  # no cache, as below; a call costs too much here
            # By identity: a replica in step with its journal holds the journal's own cursor object.
            if replica is None or not replica.known or replica.cursor is not head(path):
                return None
            replica.used = used
            found.append(replica)
        return found

    def caught_up(self, paths: Sequence[Path]) -> Flow[list[Replica[P]]]:
        """The replicas of `paths` (one root), synced to one instant not before this call."""
        if (standing := self.standing(paths)) is not None:
            return standing
        while True:
            replicas = [self.replica(path) for path in paths]
            # A cache is read as part of another replica's use, which must not be evicted for it.
            self._uses += not all(map(is_cache, paths))
            reader = object()
            for replica in replicas:
                replica.used = self._uses
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
                adopted = replica.adopt(asked[replica.path], tails[replica.path]) and adopted
            if self._outbox:
                self.deliver()
            for tail in tails.values():
                if tail.records or tail.snapshot is not None:
                    self.grow(sum(self.codec.size(record.payload) for record in tail.records))
                    self.grow(0 if tail.snapshot is None else self.codec.size(tail.snapshot))
            if adopted:
                return replicas

    def readable(self, paths: Sequence[Path]) -> Flow[list[Replica[P]]]:
        """See `caught_up`; a scope that cannot be read at all is left out, and logged once."""
        try:
            return (yield from self.caught_up(paths))
        except (CorruptionError, WrongKeyError) as exc:
            if len(paths) == 1:
                if self.first_time(("closed", paths[0])):
                    _log.warning("scope %r is left out: %s", paths[0], exc)
                return []
        half = len(paths) // 2
        return [*(yield from self.readable(paths[:half])), *(yield from self.readable(paths[half:]))]

    # -- writing

    def post(
        self, path: Path, birth: Birth, changes: Sequence[Change], *, now: float, record_id: int | None = None
    ) -> Flow[bool]:
        """Append on the sole condition that the scope is still in this incarnation; it never conflicts.

        Returns:
            False when that incarnation is over; nothing was changed then.
        """
        record_id = new_record_id() if record_id is None else record_id
        yield from self.lines.give_way(path)
        replica = self.replica(path)
        since = replica.cursor
        full = tuple(changes)
        if replica.state.unwritten:
            with replica.lock:
                # Never put back: from here on they may be stored, and to count twice is worse than not at all.
                full = (*full, *replica.take_touches())
        payload = self.codec.write_record(full, path, record_id)
        deadline = time.monotonic() + RETRY_S
        while True:
            try:
                reply: Appended[P] = yield from ask(
                    Journal.append, path, record_id, payload, birth, keep_of(changes, now)
                )
            except UnknownOutcomeError:
                if time.monotonic() > deadline:
                    raise
                yield from ask(Pause.sleep, backoff(0))
                replica = yield from self._reached(path, unknown=True)
                if record_id in replica.state.applied or (
                    replica.cursor.version > since.version + APPLIED_MAX
                    and (yield from self._arrived(path, record_id, since))
                ):
                    return True
                continue
            break
        if reply.cursor is None:
            return False
        due = self._land(replica, reply, record_id, full)
        # A cache that was evicted is not read again for this: maintenance compacts it.
        yield from self._tidy(replica, now, due=due and (replica.known or path not in self.let_go))
        return not replica.state.disposed

    def commit(
        self, path: Path, decide: Decide[R], *, opening: Sequence[Change], birth: Birth | None, now: float
    ) -> Flow[tuple[R, Birth | None]]:
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
        with self.lines.place(path) as place:
            return (yield from self._committed(place, decide, opening=opening, birth=birth, now=now))

    def _committed(
        self, place: Place, decide: Decide[R], *, opening: Sequence[Change], birth: Birth | None, now: float
    ) -> Flow[tuple[R, Birth | None]]:
        path = place.path
        record_id = new_record_id()
        deadline = time.monotonic() + RETRY_S
        tries, unknown = 0, False
        step: _Step[R] | None = None
        while True:
            deadline += yield from self.lines.turn(place, tries)
            replica = yield from self._reached(path, unknown=unknown)
            earlier, step = step, _decided(replica, decide, record_id, birth, step)
            if step is None:
                assert earlier is not None  # only an earlier try can be in doubt
                if (yield from self._arrived(path, record_id, earlier.expected)):
                    return earlier.result, replica.birth
                unknown = False  # others took its place: it can no longer be stored
                continue
            if not step.changes:
                return step.result, step.birth
            # At the origin the scope is new, or new again: a store may drop one whose every item had expired.
            full = (*(opening if step.expected == ORIGIN else ()), *step.changes, *step.touches)
            payload = self.codec.write_record(full, path, record_id)
            tries += 1
            reply: Appended[P] | None = None
            try:
                reply = yield from ask(Journal.append, path, record_id, payload, step.expected, keep_of(full, now))
            except UnknownOutcomeError:
                unknown = True
                if time.monotonic() > deadline:
                    raise
            if reply is not None and reply.cursor is not None:
                self.lines.leave(place)  # before a listener may write here
                yield from self._tidy(replica, now, due=self._land(replica, reply, record_id, full))
                return step.result, reply.birth
            if reply is not None:
                if tries == 1:
                    deadline = time.monotonic() + RETRY_S  # a conflict only from here on: the first try took its time
                _refused(replica, step, reply)
                if reply.certain and not unknown:
                    step = None  # certainly not stored
            if time.monotonic() > deadline:
                raise _given_up(path, tries, unknown=unknown)
            yield from ask(Pause.sleep, backoff(tries))

    def _reached(self, path: Path, *, unknown: bool) -> Flow[Replica[P]]:
        """Sync a replica before a write; a failure after a lost reply leaves the outcome unknown."""
        try:
            (replica,) = yield from self.caught_up([path])
        except StoreError as exc:
            if not unknown:
                raise
            msg = f"scope {path!r}: the reply to a write was lost, and then the store failed: {exc}"
            raise UnknownOutcomeError(msg) from exc
        return replica

    def _arrived(self, path: Path, record_id: int, since: Cursor) -> Flow[bool]:
        """Whether the journal holds the record `record_id` after `since`.

        Raises:
            UnknownOutcomeError: The records were compacted, and too many came since to tell.
        """
        tail = (yield from ask(Journal.read, {path: since}))[path]
        if any(record.id == record_id for record in tail.records):
            return True
        if tail.joined or tail.snapshot is None:
            return False
        if record_id in self.codec.read_checkpoint(tail.snapshot, path, tail.base).applied:
            return True
        if tail.base.version > since.version + APPLIED_MAX:
            msg = f"scope {path!r}: the reply to a write was lost, and too much came since to tell; read to see"
            raise UnknownOutcomeError(msg)
        return False

    def _land(self, replica: Replica[P], reply: Appended[P], record_id: int, changes: Sequence[Change]) -> bool:
        """Apply an appended record; True when the journal's tail has grown enough to compact it."""
        before = replica.state.bytes
        replica.adopt_own(reply, record_id, changes)
        if self._outbox:
            self.deliver()
        if (grown := replica.state.bytes - before) > 0:
            self.grow(grown)
        # Another process may have compacted, and the snapshot's size be unknown here: estimate it from the state.
        return reply.tail_bytes >= COMPACT_MIN_BYTES and reply.tail_bytes >= (
            replica.snapshot_bytes or replica.state.bytes // 2
        )

    def _tidy(self, replica: Replica[P], now: float, *, due: bool) -> Flow[None]:
        if not due:
            return
        try:
            if replica.behind:
                (replica,) = yield from self.caught_up([replica.path])
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
            payload = self.codec.write_checkpoint(kept, replica.path, upto)
            keep_s = keep_of([ItemPut(row) for row in kept.rows], now)
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

    def listen(self, root: str, listener: Listener) -> Callable[[], None]:
        """Call a listener with every change below `root` from now on; returns the function that stops it."""
        checked_listener(listener)
        entry = (root, listener)
        self._listeners.append(entry)

        def stop() -> None:
            if entry in self._listeners:
                self._listeners.remove(entry)

        return stop

    def deliver(self) -> None:
        """Deliver the events of the outbox to the listeners, in order, one caller at a time."""
        while self._outbox and self._draining.acquire(blocking=False):
            try:
                while self._outbox:
                    event = self._outbox.popleft()
                    for root, listener in tuple(self._listeners):
                        if event.path[0] == root:
                            _tell(listener, event)
            finally:
                self._draining.release()


class _Step(NamedTuple, Generic[R]):
    """What one try decided; without changes there is nothing to append.

    Attributes:
        expected: The head after which the record is to be appended.
        birth: The scope's incarnation at that head.
    """

    result: R
    changes: Sequence[Change]
    touches: tuple[ItemTouched, ...]
    expected: Cursor
    birth: Birth | None


def _decided(
    replica: Replica[Any], decide: Decide[R], record_id: int, birth: Birth | None, earlier: _Step[R] | None
) -> _Step[R] | None:
    """Decide on a state; None when only the journal can tell whether an earlier try was stored."""
    with replica.lock:
        state, expected, met = replica.state, replica.cursor, replica.birth
        if earlier is not None and record_id in state.applied:
            # The earlier try was stored; only its reply was lost.
            return _Step(earlier.result, (), (), expected, met)
        if birth is not None and met != birth:
            raise OtherLife(replica.path)
        if earlier is not None and expected.version > earlier.expected.version + APPLIED_MAX:
            return None  # a fold remembers only the last ids
        changes, result = decide(state)
        touches = replica.take_touches() if changes and met is not None else ()
        return _Step(result, changes, touches, expected, met)


def _refused(replica: Replica[P], step: _Step[Any], reply: Appended[P]) -> None:
    """Put touches back after a refusal, and apply the records it brought."""
    if step.touches:
        # Only a refusal says that they are not stored; after a failure, not counting beats counting twice.
        with replica.lock:
            replica.return_touches(step.touches)
    if reply.missed is not None:
        replica.adopt(step.expected, reply.missed)


class OtherLife(Exception):  # noqa: N818  # a signal inside the engine, never seen outside
    """The scope was disposed, and perhaps created anew, since a handle last read it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path


def _given_up(path: Path, tries: int, *, unknown: bool) -> StoreError:
    met = f"scope {path!r}: other writers came first for {RETRY_S} s ({tries} tries)"
    if unknown:
        return UnknownOutcomeError(f"{met}, and the reply to one try was lost: read to see whether it arrived")
    return ConflictError(f"{met}; nothing was changed")


def _tell(listener: Listener, event: Event) -> None:
    try:
        listener(event)
    except Exception:  # noqa: BLE001  # a user's function must not break the engine
        _log.exception("a listener failed on %s of scope %r", type(event.change).__name__, event.path)


def keep_of(changes: Iterable[Change], now: float) -> float | None:
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
