"""Journals in the memory of this process."""

import threading
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Generic, TypeVar

from wmem.journal.port import MISSED_MAX, Appended, Record, Tail, new_salt, quick_chain_after
from wmem.model.history import ORIGIN, Birth, Cursor, Path

__all__ = ["MemoryJournal"]

P = TypeVar("P")


class _Log(Generic[P]):
    """One journal; `cursors[n]` is the head after `records[n]`."""

    __slots__ = ("base", "birth", "bytes", "cursors", "records", "sizes", "snapshot")

    def __init__(self) -> None:
        self.base = ORIGIN
        self.birth = Birth(0)
        self.snapshot: P | None = None
        self.records: list[Record[P]] = []
        self.cursors: list[Cursor] = []
        self.sizes: list[int] = []
        self.bytes = 0

    @property
    def head(self) -> Cursor:
        return self.cursors[-1] if self.cursors else self.base

    def holds(self, cursor: Cursor) -> bool:
        place = cursor.version - self.base.version
        if place == 0:
            return cursor == self.base
        return 0 < place <= len(self.cursors) and self.cursors[place - 1] == cursor

    def tail(self, after: Cursor) -> Tail[P]:
        if self.holds(after):
            records = tuple(self.records[after.version - self.base.version :])
            return Tail(joined=True, base=after, snapshot=None, records=records, head=self.head, birth=self.birth)
        return Tail(
            joined=False,
            base=self.base,
            snapshot=self.snapshot,
            records=tuple(self.records),
            head=self.head,
            birth=self.birth,
        )


_NOTHING: Tail[object] = Tail(joined=True, base=ORIGIN, snapshot=None, records=(), head=ORIGIN, birth=None)
_GONE: Tail[object] = Tail(joined=False, base=ORIGIN, snapshot=None, records=(), head=ORIGIN, birth=None)


class _Register:
    """Tree of existing paths, so that listing a subtree does not visit the others."""

    __slots__ = ("_below",)

    def __init__(self) -> None:
        self._below: dict[Path, dict[Path, None]] = {}

    def add(self, path: Path) -> None:
        """Add a path, and its parents as nodes even if they have no journal."""
        for depth in range(len(path), 0, -1):
            branch = self._below.setdefault(path[: depth - 1], {})
            if path[:depth] in branch:
                return
            branch[path[:depth]] = None

    def at_or_below(self, prefix: Path) -> list[Path]:
        """All nodes of the subtree, including parents without a journal."""
        found = [prefix]
        for path in found:  # grows while iterating
            if path in self._below:
                found += self._below[path]
        return found

    def cut(self, prefix: Path, exists: Container[Path]) -> None:
        """Remove a subtree, and parents that have no journal and no other children."""
        for path in self.at_or_below(prefix):
            self._below.pop(path, None)
        for depth in range(len(prefix), 0, -1):
            parent, path = prefix[: depth - 1], prefix[:depth]
            if path in self._below or path in exists or path not in self._below.get(parent, ()):
                return
            del self._below[parent][path]
            if not self._below[parent]:
                del self._below[parent]


class MemoryJournal(Generic[P]):
    """A `Journal` in process memory, for one engine or for all engines that share a name.

    Args:
        size: Returns the size of a payload in bytes.
    """

    def __init__(self, size: Callable[[P], int]) -> None:
        self._size = size
        self._logs: dict[Path, _Log[P]] = {}
        self._register = _Register()
        self._lock = threading.Lock()

    def forked(self) -> None:
        """Replace the lock in a forked child: the inherited one may be held for ever."""
        self._lock = threading.Lock()

    def head(self, path: Path) -> Cursor:
        """The head of a journal, without taking the lock."""
        log = self._logs.get(path)
        if log is None:
            return ORIGIN
        return log.cursors[-1] if log.cursors else log.base

    def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[P]]:
        with self._lock:
            return {path: self._tail(path, cursor) for path, cursor in after.items()}

    def _tail(self, path: Path, after: Cursor) -> Tail[P]:
        log = self._logs.get(path)
        if log is None:
            return _NOTHING if after == ORIGIN else _GONE  # type: ignore[return-value]  # empty, so valid for any payload type
        return log.tail(after)

    def append(
        self, path: Path, record_id: int, record: P, expected: Cursor | Birth | None, _keep_s: float | None, /
    ) -> Appended[P]:
        size = self._size(record)
        with self._lock:
            log = self._logs.get(path)
            head = ORIGIN if log is None else log.cursors[-1] if log.cursors else log.base
            if expected is not None and (log is None or log.birth != expected) and head != expected:
                missed = self._tail(path, expected) if isinstance(expected, Cursor) else None
                if missed is not None and (len(missed.records) > MISSED_MAX or missed.snapshot is not None):
                    missed = None  # too much for a refusal: the writer reads
                return Appended(None, head, missed, 0 if log is None else log.bytes, None if log is None else log.birth)
            if log is None:
                log = self._logs[path] = _Log()
                self._register.add(path)
                cursor = Cursor(1, quick_chain_after(new_salt(), record_id))
                log.birth = Birth(cursor.chain)
            else:
                cursor = Cursor(head.version + 1, quick_chain_after(head.chain, record_id))
            log.records.append(Record(record_id, record))
            log.cursors.append(cursor)
            log.sizes.append(size)
            log.bytes += size
            return Appended(cursor, head, None, log.bytes, log.birth)

    def compact(self, path: Path, upto: Cursor, snapshot: P, _keep_s: float | None, /) -> bool:
        with self._lock:
            log = self._logs.get(path)
            if log is None or upto.version <= log.base.version or not log.holds(upto):
                return False
            gone = upto.version - log.base.version
            log.bytes -= sum(log.sizes[:gone])
            del log.records[:gone], log.cursors[:gone], log.sizes[:gone]
            log.base, log.snapshot = upto, snapshot
            return True

    def delete(self, path: Path, life: Birth | None, /) -> None:
        with self._lock:
            log = self._logs.get(path)
            if life is not None and (log is None or log.birth != life):
                return
            for each in self._register.at_or_below(path):
                self._logs.pop(each, None)
            self._register.cut(path, self._logs)

    def paths(self, prefix: Path, /) -> Iterable[Path]:
        with self._lock:
            return [each for each in self._register.at_or_below(prefix) if each in self._logs]
