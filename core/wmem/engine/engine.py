"""The engine: one per store and process, with its replicas, their sync with the journals, and compaction."""

import math
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

from wmem.analysis.analyzer import Analyzer
from wmem.codec.codec import Codec
from wmem.engine.events import EventFeed
from wmem.engine.ports import TimedCallback
from wmem.engine.replacement import roll_forward
from wmem.engine.replica import DecodedTail, Replica
from wmem.engine.retention import retention_s
from wmem.engine.single_flight import SingleFlight
from wmem.engine.write_queue import WriteQueue
from wmem.errors import CorruptionError, StoreError, WrongKeyError
from wmem.flow import Flow, ask
from wmem.journal.port import Journal, Tail
from wmem.log import find_logger
from wmem.model.change import ItemPut
from wmem.model.history import ORIGIN, VECTOR_SCOPE, Cursor, Incarnation, Path, is_cache, pending_path

P = TypeVar("P")
R = TypeVar("R")

_log = find_logger("wmem.engine")

COMPACT_INLINE_BYTES = 8 * 1024 * 1024  # larger states are compacted by maintenance
REPLICA_BYTES = 256 * 1024 * 1024
_WARNED_MAX = 1_024
_BESIDE_LOOP_BYTES = 256 * 1024  # a larger reply is decoded in a thread while a loop goes on: some 10 ms
_EVICT_EVERY = 32  # new replicas between two evictions of those whose scope does not exist
_BUSY_USES = 16  # a replica used within so many uses of the engine may still be in use


class ContextHolder(Protocol):
    """Holds a prompt beside the replicas that it is from."""

    def clear(self) -> None:
        """Forget it."""


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
        self.replicas: dict[Path, Replica[P]] = {}
        self._uses = 0
        self._lock = threading.RLock()
        self.analyzer = Analyzer()
        self.write_queue = WriteQueue()
        self.single_flight = SingleFlight()
        self.events = EventFeed()
        self._unchecked_bytes = 0  # bytes that replicas grew by since their size was last checked
        self._warned: dict[object, None] = {}
        self._claimed_tasks: set[object] = set()
        self.evicted_caches: dict[Path, Incarnation] = {}
        """Evicted caches, by path, with the incarnation they had."""
        self.context_holders: weakref.WeakSet[ContextHolder] = weakref.WeakSet()
        """What holds prompts, which an erasure must empty."""
        self.unpurged_agents: set[str] = set()
        """Agents with deleted content whose bytes are not yet purged."""
        self.unpurged_scopes: set[Path] = set()
        """Scopes of which content was taken away, and whose journals may hold it still."""

    def reset_after_fork(self) -> None:
        """Reset after a fork, in the child process: locks and replicas belong to the parent."""
        self.replicas = {}
        self._lock = threading.RLock()
        self.write_queue.reset_after_fork()
        self.single_flight.reset_after_fork()
        self.events.reset_after_fork()
        self._claimed_tasks = set()  # only the parent has the threads that would release them

    def clear(self) -> None:
        """Leave nothing of what was read or computed: the store is closed."""
        with self._lock:
            self.replicas = {}
        self.events.outbox.clear()
        self.forget_texts()

    # -- replicas

    def replica(self, path: Path) -> Replica[P]:
        """This process's replica of a scope; a new one, or one that replaces a torn one, starts at the origin."""
        replica = self.replicas.get(path)
        if replica is None or replica.torn:
            with self._lock:
                replica = self.replicas.get(path)
                if replica is None or replica.torn:
                    listeners = () if is_cache(path) else self.events.listeners
                    new = Replica(path, self.codec, listeners, self.events.outbox, self.analyzer)
                    new.last_use = self._uses  # the caller is about to use it
                    if replica is not None:
                        new.state.unwritten_touches = replica.state.unwritten_touches
                        replica.retire()
                    self.replicas[path] = replica = new
                if len(self.replicas) % _EVICT_EVERY == 0:
                    self._evict_replicas()
        return replica

    def _evict_replicas(self) -> None:
        """Evict the least recently used replicas while all together are too large, caches first. Under the lock.

        Replicas of scopes that do not exist are evicted, too: asking for many such leaves nothing behind.
        """
        total_bytes = 0
        for path, replica in sorted(self.replicas.items(), key=lambda each: (is_cache(each[0]), -each[1].last_use)):
            total_bytes += replica.state.bytes + replica.derived_bytes
            idle = replica.cursor == ORIGIN or total_bytes > self._replica_bytes
            # Keep the one in use, and one whose scope does not exist yet: it may be created next.
            busy = replica.last_use >= self._uses - (_BUSY_USES if replica.cursor == ORIGIN else 0)
            if idle and replica.incarnation is not None and is_cache(path):
                self.evicted_caches[path] = replica.incarnation  # in use or not: its user holds a reference
                busy = False
            if idle and not busy and not replica.state.unwritten_touches:
                self.replicas.pop(path).retire()

    def track_growth(self, size: int) -> None:
        """Count growth in bytes; after each 1/16 of the limit, evict what is over it."""
        self._unchecked_bytes += size
        if self._unchecked_bytes > self._replica_bytes // 16:
            self._unchecked_bytes = 0
            with self._lock:
                self._evict_replicas()

    def forget_texts(self) -> None:
        """Leave nothing of texts beside the replicas: an erasure follows."""
        self.analyzer.clear()
        for holder in tuple(self.context_holders):
            holder.clear()

    def warn_once(self, key: object) -> bool:
        """Whether this was not asked before, among the last 1,024 such keys: the caller then logs it."""
        if key in self._warned:
            return False
        self._warned[key] = None
        if len(self._warned) > _WARNED_MAX:
            self._warned.pop(next(iter(self._warned)), None)
        return True

    def claim(self, tasks: Iterable[R], mine: list[R]) -> None:
        """Add to `mine` the tasks that nobody in this process works on; the caller releases them, whatever happens."""
        with self._lock:
            mine += [each for each in tasks if each not in self._claimed_tasks]
            self._claimed_tasks.update(mine)

    def release(self, tasks: Iterable[object]) -> None:
        """Release claimed tasks, done or not."""
        with self._lock:
            self._claimed_tasks.difference_update(tasks)

    def is_any_claimed(self, tasks: Iterable[object]) -> bool:
        """Whether one of the tasks is still claimed."""
        return not self._claimed_tasks.isdisjoint(tasks)

    def find_synced_replica(self, path: Path) -> Replica[P] | None:
        """This process's replica of a scope if it has synced one, else None; makes none."""
        replica = self.replicas.get(path)
        return replica if replica is not None and replica.has_synced else None

    def counts(self, root: str) -> tuple[int, int]:
        """Counts of entries, and of scopes below its root, of an agent's working memory as this process knows it."""
        live = [
            replica
            for path, replica in list(self.replicas.items())
            if path[0] == root and replica.incarnation is not None and not replica.state.disposed
            if not any(segment.startswith("~") for segment in path)
        ]
        return sum(len(each.state.entries) for each in live), sum(len(each.path) > 1 for each in live)

    def empty_scopes(self, paths: Iterable[Path]) -> list[Path]:
        """Those of the scopes that are empty, as far as this process knows."""
        known = self.replicas.get
        return [path for path in paths if (replica := known(path)) is not None and not replica.state.rows]

    def list_disposed(self, paths: Iterable[Path]) -> list[Path]:
        """Those of the scopes that this process knows to be disposed but not yet deleted."""
        known = self.replicas.get
        return [path for path in paths if (replica := known(path)) is not None and replica.state.disposed]

    def drop_replicas(self, prefix: Path) -> None:
        """Drop the replicas at and below a deleted path."""
        with self._lock:
            for path in [path for path in self.replicas if path[: len(prefix)] == prefix]:
                self.replicas.pop(path).retire()
            for path in [path for path in self.evicted_caches if path[: len(prefix)] == prefix]:
                del self.evicted_caches[path]

    def fresh(self, paths: Sequence[Path]) -> list[Replica[P]] | None:
        """The replicas of `paths` if all are known to be at their journal's head; else None: read the journal."""
        head = self._head
        if head is None:
            return None
        replicas: list[Replica[P]] = []
        for path in paths:
            replica = self.replicas.get(path)
            # No cache, as below; a call costs too much here.
            self._uses = used = self._uses + (path[-1] != VECTOR_SCOPE)
            # By identity: a replica in step with its journal holds the journal's own cursor object.
            if replica is None or not replica.is_settled or replica.cursor is not head(path):
                return None
            replica.last_use = used
            replicas.append(replica)
        if replicas and replicas[0].incarnation is None and head(pending_path(paths[0])) is not ORIGIN:
            return None  # it may be about to be restored
        return replicas

    def sync(self, paths: Sequence[Path], *, is_watched: bool = False) -> Flow[list[Replica[P]]]:
        """The replicas of `paths` (one root), synced to one instant not before this call.

        What is being done to all scopes of the agent is done first: none is read before another is as it will be.

        Args:
            is_watched: Look for that even if these scopes show nothing of it.
        """
        if not is_watched and (standing := self.fresh(paths)) is not None:
            return standing
        while paths:
            replicas = [self.replica(path) for path in paths]
            # What is restored begins with sessions and ends with long-term memory and the agent's own scope. While the
            # first of these scopes is as it was, nothing has changed of the others: it is the first of a read.
            is_watched = is_watched or replicas[0].incarnation is None
            for replica in replicas:
                is_watched = is_watched or not replica.is_settled
            pending = yield from self._read(replicas, is_watched=is_watched)
            if pending is _NOTHING_PENDING:
                break
            if pending is not None:
                yield from roll_forward(self, pending_path(paths[0]), pending)
            is_watched = True  # others came first, or one was restored
        else:
            return []
        if self.events.outbox:
            self.events.deliver()
        return replicas

    def sync_pending(self, paths: Sequence[Path]) -> Flow[list[Replica[P]]]:
        """See `sync`; in the middle of what is being done to all scopes of the agent. No events are delivered."""
        while True:
            replicas = [self.replica(path) for path in paths]
            if (yield from self._read(replicas, is_watched=False, is_strict=False)) is not None:
                return replicas

    def _read(
        self, replicas: Sequence[Replica[P]], *, is_watched: bool, is_strict: bool = True
    ) -> Flow[Tail[P] | None]:
        """Read and apply what these replicas are missing.

        Args:
            is_watched: Read what is pending, too.
            is_strict: Apply nothing where a scope is in another life than it was, unless that is read.

        Returns:
            What is pending; None if all must be read again.
        """
        # A cache is read as part of another replica's use, which must not be evicted for it.
        self._uses += not is_cache(replicas[0].path) or not all(is_cache(each.path) for each in replicas)
        reader = object()
        try:
            for replica in replicas:
                replica.last_use = self._uses
                replica.readers.add(reader)  # before its cursor is read: from then on it remembers what it applies
            cursors = {replica.path: replica.cursor for replica in replicas}
            pending = pending_path(replicas[0].path)
            tails = yield from ask(Journal.read, cursors | {pending: ORIGIN} if is_watched else cursors)
            if is_watched and tails[pending].head != ORIGIN:
                return tails[pending]
            # Loops, not generators: most reads take some ten microseconds in all.
            sizes: dict[Path, int] = {}
            for replica in replicas:
                tail = tails[replica.path]
                if tail.incarnation != replica.incarnation and is_strict and not is_watched:
                    return None
                if tail.records or tail.snapshot:
                    sizes[replica.path] = self._size(tail)
            contents: dict[Path, DecodedTail] = {}
            if sizes and sum(sizes.values()) > _BESIDE_LOOP_BYTES:
                contents = yield from ask(TimedCallback.within, partial(_decode_tails, replicas, tails), math.inf)
        finally:
            for replica in replicas:
                replica.readers.discard(reader)
        adopted = _adopt(replicas, cursors, tails, contents, settles=is_watched)
        for size in sizes.values():
            self.track_growth(size)
        if is_strict:
            for replica in replicas:
                adopted = adopted and replica.is_settled
        return _NOTHING_PENDING if adopted else None

    def _size(self, tail: Tail[P]) -> int:
        """Bytes of a tail."""
        snapshot = 0 if tail.snapshot is None else self.codec.size(tail.snapshot)
        return snapshot + sum(self.codec.size(record.payload) for record in tail.records)

    def sync_readable(self, paths: Sequence[Path]) -> Flow[list[Replica[P]]]:
        """See `sync`; a scope that cannot be read at all is left out, and logged once."""
        try:
            return (yield from self.sync(paths))
        except (CorruptionError, WrongKeyError) as exc:
            if len(paths) == 1:
                if self.warn_once(("closed", paths[0])):
                    _log.warning("scope %r is left out: %s", paths[0], exc)
                return []
        half = len(paths) // 2
        return [*(yield from self.sync_readable(paths[:half])), *(yield from self.sync_readable(paths[half:]))]

    def find_unchanged(self, cursors: Mapping[Path, Cursor]) -> Flow[set[Path]]:
        """Those of these scopes (of one root) whose journals still end at a cursor; nothing is decoded or applied.

        One that cannot be read is not among them, nor one of which this process knows a later record.

        Args:
            cursors: Where each journal ended when it was looked at.
        """
        known = self.replicas.get
        doubtful = {
            path: cursor
            for path, cursor in cursors.items()
            if (replica := known(path)) is None or not replica.has_synced or replica.cursor == cursor
        }
        if (head := self._head) is not None:
            return {path for path, cursor in doubtful.items() if head(path) == cursor}
        return (yield from self._find_standing(doubtful)) if doubtful else set()

    def _find_standing(self, cursors: Mapping[Path, Cursor]) -> Flow[set[Path]]:
        try:
            tails = yield from ask(Journal.read, cursors)
        except (CorruptionError, WrongKeyError):
            if len(cursors) == 1:
                return set()
        else:
            return {path for path, tail in tails.items() if tail.joined and tail.head == cursors[path]}
        half = dict(islice(cursors.items(), len(cursors) // 2))
        others = {path: cursor for path, cursor in cursors.items() if path not in half}
        return (yield from self._find_standing(half)) | (yield from self._find_standing(others))

    # -- compaction

    def compact(self, replica: Replica[P], now: float, *, limit: int | None = COMPACT_INLINE_BYTES) -> Flow[bool]:
        """Replace the records that a replica has applied by a checkpoint.

        A journal with a damaged record is not compacted: the record would be lost.

        Args:
            limit: Bytes of state above which compaction is left to maintenance; None for no limit.
        """
        compactor = object()
        try:
            with replica.lock:
                upto, state = replica.cursor, replica.state
                large = limit is not None and state.bytes > limit
                if replica.compactor is not None or replica.torn or replica.damage or upto == ORIGIN or large:
                    return False
                replica.compactor = compactor
                checkpoint, place = state.checkpoint(), replica.place(upto.version)
            payload = self.codec.encode_checkpoint(checkpoint, replica.path, upto, place)
            keep_s = retention_s([ItemPut(row) for row in checkpoint.rows], now)
            done = yield from ask(Journal.compact, replica.path, upto, payload, keep_s)
        except StoreError as exc:
            # The write itself is stored; a later one compacts.
            _log.warning("scope %r was not compacted: %s", replica.path, exc)
            return False
        finally:
            if replica.compactor is compactor:
                replica.compactor = None
        if done:
            replica.snapshot_bytes, replica.tail_bytes = self.codec.size(payload), 0
        return done


def _adopt(
    replicas: Iterable[Replica[P]],
    cursors: Mapping[Path, Cursor],
    tails: Mapping[Path, Tail[P]],
    contents: Mapping[Path, DecodedTail],
    *,
    settles: bool,
) -> bool:
    """Apply every tail: when one replica refuses its own, the others still advance; returns whether none did.

    Args:
        settles: Nothing was pending.
    """
    adopted = True
    for replica in replicas:
        path = replica.path
        adopted = replica.apply_tail(cursors[path], tails[path], contents.get(path)) and adopted
        if settles:
            replica.settle_at(tails[path].head)
    return adopted


def _decode_tails(replicas: Iterable[Replica[P]], tails: Mapping[Path, Tail[P]]) -> dict[Path, DecodedTail]:
    """What these tails decode to, but for those that hold nothing."""
    return {
        each.path: each.decode_tail(tail)
        for each in replicas
        if (tail := tails[each.path]).records or tail.snapshot is not None
    }


_NOTHING_PENDING: Tail[Any] = Tail(joined=True, base=ORIGIN, snapshot=None, records=(), head=ORIGIN, incarnation=None)
