"""Journals in the memory of this process."""

import threading
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Generic, TypeVar

from wmem.journal.head import decide_append, refuse_append
from wmem.journal.port import Appended, Record, Tail, new_salt, quick_chain_after
from wmem.model.history import ORIGIN, Cursor, Incarnation, Path

P = TypeVar("P")


class _Log(Generic[P]):
    """One journal; each entry is a record, the head after it, and the bytes of all records up to it.

    An append adds an entry and then sets `head`, which commits it in one step: what an interrupt left beyond the head
    counts for nothing, and the next append removes it.
    """

    __slots__ = ("_bytes_before", "base", "entries", "head", "incarnation", "snapshot")

    def __init__(self, incarnation: Incarnation, base: Cursor = ORIGIN, snapshot: P | None = None) -> None:
        self.base = self.head = base
        self.incarnation = incarnation
        self.snapshot = snapshot
        self.entries: list[tuple[Record[P], Cursor, int]] = []
        self._bytes_before = 0

    @property
    def tail_bytes(self) -> int:
        """Bytes of the records after the base."""
        count = self.head.version - self.base.version
        return self.entries[count - 1][2] - self._bytes_before if count else 0

    def contains(self, cursor: Cursor) -> bool:
        index = cursor.version - self.base.version
        if index == 0:
            return cursor == self.base
        return 0 < index <= self.head.version - self.base.version and self.entries[index - 1][1] == cursor

    def tail_after(self, after: Cursor) -> Tail[P]:
        joined = self.contains(after)
        base, snapshot = (after, None) if joined else (self.base, self.snapshot)
        entries = self.entries[base.version - self.base.version : self.head.version - self.base.version]
        return Tail(joined, base, snapshot, tuple([entry[0] for entry in entries]), self.head, self.incarnation)

    def append(self, record: Record[P], cursor: Cursor, size: int) -> int:
        """Append a record, all of it or nothing; returns the bytes of the tail."""
        entries, count = self.entries, cursor.version - self.base.version - 1
        if len(entries) > count:
            del entries[count:]
        before = self._bytes_before
        total = (entries[-1][2] if entries else before) + size
        entries.append((record, cursor, total))
        self.head = cursor
        return total - before

    def compact(self, upto: Cursor, snapshot: P) -> "_Log[P]":
        """This journal with a snapshot in place of the records up to a cursor."""
        log = _Log(self.incarnation, upto, snapshot)
        first, last = upto.version - self.base.version, self.head.version - self.base.version
        log.entries = self.entries[first:last]
        log._bytes_before = self.entries[first - 1][2]
        log.head = self.head
        return log


_EMPTY_TAIL: Tail[object] = Tail(joined=True, base=ORIGIN, snapshot=None, records=(), head=ORIGIN, incarnation=None)
_DELETED_TAIL: Tail[object] = Tail(joined=False, base=ORIGIN, snapshot=None, records=(), head=ORIGIN, incarnation=None)


class _PathTree:
    """Tree of existing paths, so that listing a subtree does not visit the others."""

    __slots__ = ("_children",)

    def __init__(self) -> None:
        self._children: dict[Path, dict[Path, None]] = {}

    def add(self, path: Path) -> None:
        """Add a path, and its parents as nodes even if they have no journal."""
        # From the root down: wherever it is interrupted, what was added is reachable, and adding it again completes it.
        for depth in range(1, len(path) + 1):
            self._children.setdefault(path[: depth - 1], {})[path[:depth]] = None

    def subtree(self, prefix: Path) -> list[Path]:
        """All nodes of the subtree, including parents without a journal."""
        nodes = [prefix]
        for path in nodes:  # grows while iterating
            if path in self._children:
                nodes += self._children[path]
        return nodes

    def roots(self) -> list[str]:
        """The first segments of all paths."""
        return [path[0] for path in self._children.get((), ())]

    def remove_subtree(self, prefix: Path, exists: Container[Path]) -> None:
        """Remove a subtree, and parents that have no journal and no other children."""
        for path in self.subtree(prefix):
            self._children.pop(path, None)
        for depth in range(len(prefix), 0, -1):
            parent, path = prefix[: depth - 1], prefix[:depth]
            if path in self._children or path in exists or path not in self._children.get(parent, ()):
                return
            del self._children[parent][path]
            if not self._children[parent]:
                del self._children[parent]


class MemoryJournal(Generic[P]):
    """A `Journal` in process memory, for one engine or for all engines that share a name.

    Args:
        size: Returns the size of a payload in bytes.
    """

    def __init__(self, size: Callable[[P], int]) -> None:
        self._size = size
        self._logs: dict[Path, _Log[P]] = {}
        self._register = _PathTree()
        self._lock = threading.RLock()

    def reset_after_fork(self) -> None:
        """Replace the lock in a forked child: the inherited one may be held for ever."""
        self._lock = threading.RLock()

    def head(self, path: Path) -> Cursor:
        """The head of a journal, without taking the lock."""
        log = self._logs.get(path)
        return ORIGIN if log is None else log.head

    def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[P]]:
        with self._lock:
            return {path: self._tail(path, cursor) for path, cursor in after.items()}

    def _tail(self, path: Path, after: Cursor) -> Tail[P]:
        log = self._logs.get(path)
        if log is None:
            return _EMPTY_TAIL if after == ORIGIN else _DELETED_TAIL  # type: ignore[return-value]  # empty, so valid for any payload type
        return log.tail_after(after)

    def append(
        self, path: Path, record_id: int, record: P, expected: Cursor | Incarnation | None, _keep_s: float | None, /
    ) -> Appended[P]:
        size = self._size(record)
        with self._lock:
            log = self._logs.get(path)
            accepted, missed_after = decide_append(log, expected)
            if not accepted:
                return refuse_append(log, None if missed_after is None else self._tail(path, missed_after))
            previous = ORIGIN if log is None else log.head
            chain = quick_chain_after(new_salt() if log is None else previous.chain, record_id)
            cursor = Cursor(previous.version + 1, chain)
            if log is None:
                log = _Log(Incarnation(chain))
                tail_bytes = log.append(Record(record_id, record), cursor, size)
                self._register.add(path)
                self._logs[path] = log
            else:
                tail_bytes = log.append(Record(record_id, record), cursor, size)
            return Appended(cursor, previous, None, tail_bytes, log.incarnation)

    def compact(self, path: Path, upto: Cursor, snapshot: P, _keep_s: float | None, /) -> bool:
        with self._lock:
            log = self._logs.get(path)
            if log is None or upto.version <= log.base.version or not log.contains(upto):
                return False
            self._logs[path] = log.compact(upto, snapshot)
            return True

    def delete(self, path: Path, incarnation: Incarnation | None, /) -> None:
        with self._lock:
            log = self._logs.get(path)
            if incarnation is not None and (log is None or log.incarnation != incarnation):
                return
            gone = [each for each in self._register.subtree(path) if each in self._logs]
            if len(gone) > 1:
                # In one step: an interrupt must not leave some of them.
                self._logs = {each: log for each, log in self._logs.items() if each[: len(path)] != path}
            elif gone:
                del self._logs[gone[0]]
            self._register.remove_subtree(path, self._logs)

    def paths(self, prefix: Path, /) -> Iterable[Path]:
        with self._lock:
            return [each for each in self._register.subtree(prefix) if each in self._logs]

    def roots(self) -> Iterable[str]:
        with self._lock:
            return self._register.roots()
