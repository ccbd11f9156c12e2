"""One engine per store and process: its replicas, and the flows that move them.

Each flow catches up, decides, appends and applies; nothing waits between append
and apply. A refused or lost append is repeated under the same record id.
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

RETRY_S = 5.0  # for how long a write meets others before it raises ConflictError
COMPACT_MIN_BYTES = 64 * 1024
COMPACT_INLINE_BYTES = 8 * 1024 * 1024  # above, compaction is left to maintenance
KEEP_GRACE_S = 900.0  # an expired item can be listed and revived until cleanup, which comes every 300 s
REPLICA_BYTES = 256 * 1024 * 1024
_TOLD_MAX = 1_024
_EMPTY_MAX = 32  # new replicas until those of scopes that do not exist are let go
_BUSY = 16  # uses of an engine within which a replica is surely somebody's

Listener = Callable[[Event], None]
Decide = Callable[[State], tuple[Sequence[Change], R]]


class Callback(Protocol):
    """The port that runs a user's function, which may be a coroutine function when async."""

    def call(self, function: Callable[[], Any], /) -> Any:
        """The function's result."""
        ...


class Timed(Protocol):
    """The port that runs a user's function which may take long."""

    def within(self, function: Callable[[], Any], seconds: float, /) -> Any:
        """The function's result, for which the caller waits so many seconds and no more.

        A plain function runs in a thread of its own, which is left behind when it takes longer;
        with infinite seconds threads run it themselves.

        Raises:
            TimeoutError: It took longer.
        """
        ...


class Engine(Generic[P]):
    """The replicas of one store and the flows over them, for both colours.

    Args:
        codec: How changes become the journal's payloads.
        head: Where a journal stands, for a store that answers without waiting; it spares
            such a store's readers the question.
        replica_bytes: Memory the replicas may take together; the least recently used leave.
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
        """Bytes written since replicas were last looked at."""
        self._told: dict[object, None] = {}
        self._claimed: set[object] = set()
        self.let_go: dict[Path, Birth] = {}
        """Caches that were too large to stay in memory, and the life they were met in."""
        self.unpurged: set[str] = set()
        """Agents of which something was deleted whose bytes nobody has seen to yet."""

    def forked(self) -> None:
        """Start over in a child process: locks and replicas belong to the parent."""
        self._replicas = {}
        self._lock = threading.Lock()
        self.lines.forked()
        self._outbox.clear()
        self._draining = threading.Lock()
        self._claimed = set()  # only the parent has the threads that would give them back

    # -- replicas

    def replica(self, path: Path) -> Replica[P]:
        """This process's copy of a scope; an unknown one stands at the origin."""
        replica = self._replicas.get(path)
        if replica is None:
            with self._lock:
                listeners = () if is_cache(path) else self._listeners
                replica = self._replicas.setdefault(path, Replica(path, self.codec, listeners, self._outbox))
                replica.used = self._uses  # whoever asked is about to use it
                if len(self._replicas) % _EMPTY_MAX == 0:
                    self._shed()
        return replica

    def _shed(self) -> None:
        """Let the least recently used replicas go while all together are too large, caches first. Under the lock.

        One of a scope that does not exist holds nothing: asking for many such leaves nothing behind.
        """
        kept = 0
        for path, replica in sorted(self._replicas.items(), key=lambda each: (is_cache(each[0]), -each[1].used)):
            kept += replica.state.bytes + replica.beside
            idle = replica.cursor == ORIGIN or kept > self._replica_bytes
            # The one in use stays; and so does one that does not exist yet, for it may be about to.
            busy = replica.used >= self._uses - (_BUSY if replica.cursor == ORIGIN else 0)
            if idle and replica.birth is not None and is_cache(path):
                self.let_go[path] = replica.birth  # in use or not: whoever looks into it has it
                busy = False
            if idle and not busy and not replica.state.unwritten:
                self._replicas.pop(path).retire()

    def grow(self, size: int) -> None:
        """Look at what the replicas take whenever they grew by a part of what they may."""
        self._grown += size
        if self._grown > self._replica_bytes // 16:
            self._grown = 0
            with self._lock:
                self._shed()

    def first_time(self, what: object) -> bool:
        """Whether this is told for the first time, as far as the last 1,024 such things go."""
        if what in self._told:
            return False
        self._told[what] = None
        if len(self._told) > _TOLD_MAX:
            self._told.pop(next(iter(self._told)), None)
        return True

    def claim(self, works: Iterable[R]) -> list[R]:
        """Those of some works that nobody in this process is at; who claims them gives them back by `disclaim`."""
        with self._lock:
            mine = [each for each in works if each not in self._claimed]
            self._claimed.update(mine)
        return mine

    def disclaim(self, works: Iterable[object]) -> None:
        """Be done with works that were claimed, or give them up."""
        with self._lock:
            self._claimed.difference_update(works)

    def claimed(self, works: Iterable[object]) -> bool:
        """Whether somebody is still at one of them."""
        return not self._claimed.isdisjoint(works)

    def settle(self, root: str, now: float) -> Flow[None]:
        """Write the fetches of an agent's items that are not yet in the journal."""
        for path, replica in list(self._replicas.items()):
            if path[0] == root and replica.state.unwritten and replica.birth is not None:
                yield from self.post(path, replica.birth, (), now=now)

    def known(self, path: Path) -> Replica[P] | None:
        """This process's copy of a scope, if it has met it; asking makes none."""
        replica = self._replicas.get(path)
        return replica if replica is not None and replica.known else None

    def counts(self, root: str) -> tuple[int, int]:
        """How many entries, and scopes below its own, an agent's working memory has as far as this process knows."""
        live = [
            replica
            for path, replica in list(self._replicas.items())
            if path[0] == root and replica.birth is not None and not replica.state.disposed
            if not any(segment.startswith("~") for segment in path)
        ]
        return sum(len(each.state.entries) for each in live), sum(len(each.path) > 1 for each in live)

    def bare(self, paths: Iterable[Path]) -> list[Path]:
        """Those of some scopes that hold nothing, as far as this process knows."""
        known = self._replicas.get
        return [path for path in paths if (replica := known(path)) is not None and not replica.state.rows]

    def ended(self, paths: Iterable[Path]) -> list[Path]:
        """Those of some scopes that are known here to be disposed, although their deletion has not come."""
        known = self._replicas.get
        return [path for path in paths if (replica := known(path)) is not None and replica.state.disposed]

    def forget(self, prefix: Path) -> None:
        """Let the replicas at and below a path go: it was deleted."""
        with self._lock:
            for path in [path for path in self._replicas if path[: len(prefix)] == prefix]:
                self._replicas.pop(path).retire()
            for path in [path for path in self.let_go if path[: len(prefix)] == prefix]:
                del self.let_go[path]

    def standing(self, paths: Sequence[Path]) -> list[Replica[P]] | None:
        """The replicas of `paths` if each is known to stand at its journal's head; else None: ask."""
        head = self._head
        if head is None:
            return None
        found: list[Replica[P]] = []
        for path in paths:
            replica = self._replicas.get(path)
            self._uses = used = self._uses + (path[-1] != VECTORS)  # as below; a call would cost more than the rest
            # By identity: a replica that moved with its journal holds the journal's own cursor.
            if replica is None or not replica.known or replica.cursor is not head(path):
                return None
            replica.used = used
            found.append(replica)
        return found

    def caught_up(self, paths: Sequence[Path]) -> Flow[list[Replica[P]]]:
        """The replicas of `paths` (one root), as of one instant not before this call."""
        if (standing := self.standing(paths)) is not None:
            return standing
        while True:
            replicas = [self.replica(path) for path in paths]
            # To look into a cache is part of another's use, who must not be let go for it.
            self._uses += not all(map(is_cache, paths))
            reader = object()
            for replica in replicas:
                replica.used = self._uses
                replica.readers.add(reader)  # before its cursor is read: from there on what lands is remembered
            asked = {replica.path: replica.cursor for replica in replicas}
            try:
                tails = yield from ask(Journal.read, asked)
            finally:
                for replica in replicas:
                    replica.readers.discard(reader)
            adopted = True
            for replica in replicas:
                # Every tail is offered: what one replica refuses, the others can use.
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
        """See `caught_up`; a scope that cannot be read at all is told to the log, once, and left out."""
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
        """Append without a condition but that the scope still lives; no conflict, ever.

        Returns:
            False when that life of the scope is over; nothing of it was changed then.
        """
        record_id = new_record_id() if record_id is None else record_id
        yield from self.lines.give_way(path)
        replica = self.replica(path)
        since = replica.cursor
        full = tuple(changes)
        if replica.state.unwritten:
            with replica.lock:
                # Never put back: from here on they may be stored, and twice would be worse than once less.
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
        # A cache that was let go for its size is not read again for this: maintenance compacts it.
        yield from self._tidy(replica, now, due=due and (replica.known or path not in self.let_go))
        return not replica.state.disposed

    def commit(
        self, path: Path, decide: Decide[R], *, opening: Sequence[Change], birth: Birth | None, now: float
    ) -> Flow[tuple[R, Birth | None]]:
        """Decide on the state as it is and append what was decided only if it still is.

        Args:
            decide: From the state, the changes and the result; pure, may run several times.
            opening: What the first record of a scope begins with.
            birth: The life the caller means; None for whichever there is.

        Returns:
            The result, and the scope's life (None: there is no such scope).

        Raises:
            OtherLife: The scope is not in the life the caller means.
            ConflictError: Others kept writing first for `RETRY_S` seconds; nothing was changed.
            UnknownOutcomeError: A reply was lost, and no later try told whether the record arrived.
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
                assert earlier is not None  # only after another try is there a doubt
                if (yield from self._arrived(path, record_id, earlier.expected)):
                    return earlier.result, replica.birth
                unknown = False  # others came where it was to come: it never will
                continue
            if not step.changes:
                return step.result, step.birth
            # At the origin it begins, or begins again: a store may let a scope lapse whose every item had expired.
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
                self.lines.leave(place)  # before a listener has a reason to write here
                yield from self._tidy(replica, now, due=self._land(replica, reply, record_id, full))
                return step.result, reply.birth
            if reply is not None:
                if tries == 1:
                    deadline = time.monotonic() + RETRY_S  # others came first from here on; the first try took its time
                _refused(replica, step, reply)
                if reply.certain and not unknown:
                    step = None  # nothing of it can have arrived
            if time.monotonic() > deadline:
                raise _given_up(path, tries, unknown=unknown)
            yield from ask(Pause.sleep, backoff(tries))

    def _reached(self, path: Path, *, unknown: bool) -> Flow[Replica[P]]:
        """Catch up to write; if that fails after a reply was lost, nobody knows what became of the write."""
        try:
            (replica,) = yield from self.caught_up([path])
        except StoreError as exc:
            if not unknown:
                raise
            msg = f"scope {path!r}: the reply to a write was lost, and then the store failed: {exc}"
            raise UnknownOutcomeError(msg) from exc
        return replica

    def _arrived(self, path: Path, record_id: int, since: Cursor) -> Flow[bool]:
        """Whether a record is among those after `since`, as the journal itself tells.

        Raises:
            UnknownOutcomeError: They were compacted, and too many came since.
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
        """Apply what was appended; True when the journal's tail has grown so far that it should be compacted."""
        before = replica.state.bytes
        replica.adopt_own(reply, record_id, changes)
        if self._outbox:
            self.deliver()
        if (grown := replica.state.bytes - before) > 0:
            self.grow(grown)
        # Another process may have compacted and its snapshot be unknown here: the state tells its size.
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
            # The write that led here is stored; a later one compacts.
            _log.warning("scope %r was not compacted: %s", replica.path, exc)

    def compact(self, replica: Replica[P], now: float, *, limit: int | None = COMPACT_INLINE_BYTES) -> Flow[bool]:
        """Put a checkpoint in place of the records a replica has applied.

        Nothing is compacted that holds damage: the damaged record would be lost with it.

        Args:
            limit: Bytes of state above which it is left to maintenance; None for whatever its size.
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
            # The write that led here is stored; a later one compacts.
            _log.warning("scope %r was not compacted: %s", replica.path, exc)
            return False
        finally:
            replica.compacting = False
        if done:
            replica.snapshot_bytes, replica.tail_bytes = self.codec.size(payload), 0
        return done

    # -- events

    def listen(self, root: str, listener: Listener) -> Callable[[], None]:
        """Hand every change below `root` to a listener from now on; returns how to stop."""
        checked_listener(listener)
        entry = (root, listener)
        self._listeners.append(entry)

        def stop() -> None:
            if entry in self._listeners:
                self._listeners.remove(entry)

        return stop

    def deliver(self) -> None:
        """Hand out what is in the outbox, in order, one caller at a time."""
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
        expected: Where the record is to come after.
        birth: The life that was met.
    """

    result: R
    changes: Sequence[Change]
    touches: tuple[ItemTouched, ...]
    expected: Cursor
    birth: Birth | None


def _decided(
    replica: Replica[Any], decide: Decide[R], record_id: int, birth: Birth | None, earlier: _Step[R] | None
) -> _Step[R] | None:
    """Decide on a state; None when the journal alone can tell whether an earlier try arrived."""
    with replica.lock:
        state, expected, met = replica.state, replica.cursor, replica.birth
        if earlier is not None and record_id in state.applied:
            # It did, although its reply did not.
            return _Step(earlier.result, (), (), expected, met)
        if birth is not None and met != birth:
            raise OtherLife(replica.path)
        if earlier is not None and expected.version > earlier.expected.version + APPLIED_MAX:
            return None  # a fold remembers the last ids alone
        changes, result = decide(state)
        touches = replica.take_touches() if changes and met is not None else ()
        return _Step(result, changes, touches, expected, met)


def _refused(replica: Replica[P], step: _Step[Any], reply: Appended[P]) -> None:
    """Take what a refusal brings."""
    if step.touches:
        # Only a refusal says that they are not stored; after a failure once less is better than twice.
        with replica.lock:
            replica.return_touches(step.touches)
    if reply.missed is not None:
        replica.adopt(step.expected, reply.missed)


class OtherLife(Exception):  # noqa: N818  # a signal inside the engine, never seen outside
    """The scope was disposed, and perhaps began anew, since a handle met it."""

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
    except Exception:  # noqa: BLE001  # a user's function: whatever it raises must break nothing
        _log.exception("a listener failed on %s of scope %r", type(event.change).__name__, event.path)


def keep_of(changes: Iterable[Change], now: float) -> float | None:
    """For how many seconds from now a record must be kept: as long as its items live, and while they can be revived.

    For ever when somebody chose what the scope is to follow: that is remembered without any item.
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
