"""A journal of one's own in a dictionary, sync and async: as small as one that keeps every promise can be."""

import hashlib
import secrets
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from wmem.journal import MISSED_MAX, ORIGIN, Appended, Cursor, Incarnation, Path, Record, Tail

__all__ = ["AsyncDictJournal", "DictJournal", "Kept"]


@dataclass
class Kept:
    """One life of a path."""

    birth: Incarnation
    base: Cursor = ORIGIN
    snapshot: bytes | None = None
    records: list[tuple[Cursor, Record[bytes]]] = field(default_factory=list)

    @property
    def head(self) -> Cursor:
        return self.records[-1][0] if self.records else self.base

    @property
    def cursors(self) -> list[Cursor]:
        return [self.base, *(cursor for cursor, _ in self.records)]


class DictJournal:
    """Every method takes the lock for as long as it lasts: each is one step."""

    def __init__(self) -> None:
        self.kept: dict[Path, Kept] = {}
        self.lock = threading.RLock()

    def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[bytes]]:
        with self.lock:
            return {path: self.tail(path, cursor) for path, cursor in after.items()}

    def append(
        self, path: Path, record_id: int, record: bytes, expected: Cursor | Incarnation | None, _keep_s: float | None, /
    ) -> Appended[bytes]:
        with self.lock:
            kept = self.kept.get(path)
            head = kept.head if kept else ORIGIN
            if not self.is_met(expected, kept):
                missed = self.tail(path, expected) if isinstance(expected, Cursor) else None
                if missed and (missed.snapshot is not None or len(missed.records) > MISSED_MAX):
                    missed = None
                return Appended(None, head, missed, self.tail_bytes(kept), kept.birth if kept else None)
            cursor = Cursor(head.version + 1, self.chain(head.chain if kept else secrets.randbits(52), record_id))
            if kept is None:
                kept = self.kept[path] = Kept(birth=Incarnation(cursor.chain))
            kept.records.append((cursor, Record(record_id, record)))
            return Appended(cursor, head, None, self.tail_bytes(kept), kept.birth)

    def compact(self, path: Path, upto: Cursor, snapshot: bytes, _keep_s: float | None, /) -> bool:
        with self.lock:
            kept = self.kept.get(path)
            if kept is None or upto not in kept.cursors[1:]:
                return False
            kept.records = kept.records[kept.cursors.index(upto) :]
            kept.base, kept.snapshot = upto, snapshot
            return True

    def delete(self, path: Path, life: Incarnation | None, /) -> None:
        with self.lock:
            if life is None or (path in self.kept and self.kept[path].birth == life):
                for each in list(self.paths(path)):
                    del self.kept[each]

    def paths(self, prefix: Path, /) -> Iterable[Path]:
        with self.lock:
            return [path for path in self.kept if path[: len(prefix)] == prefix]

    # -- the rules, each in a place of its own

    def is_met(self, expected: Cursor | Incarnation | None, kept: Kept | None) -> bool:
        if isinstance(expected, Incarnation):
            return kept is not None and kept.birth == expected
        return expected is None or expected == (kept.head if kept else ORIGIN)

    def chain(self, before: int, record_id: int) -> int:
        return int(hashlib.sha256(f"{before}:{record_id}".encode()).hexdigest()[:13], 16)

    def tail(self, path: Path, after: Cursor) -> Tail[bytes]:
        kept = self.kept.get(path)
        if kept is None:
            return Tail(after == ORIGIN, ORIGIN, None, (), ORIGIN, None)
        joined = after in kept.cursors
        records = kept.records[kept.cursors.index(after) :] if joined else kept.records
        base, snapshot = (after, None) if joined else (kept.base, kept.snapshot)
        return Tail(joined, base, snapshot, tuple(record for _, record in records), kept.head, kept.birth)

    def tail_bytes(self, kept: Kept | None) -> int:
        return sum(len(record.payload) for _, record in kept.records) if kept else 0


class AsyncDictJournal:
    """The same for coroutines: what never waits is one step of a loop."""

    def __init__(self) -> None:
        self.inner = DictJournal()

    async def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[bytes]]:
        return self.inner.read(after)

    async def append(
        self, path: Path, record_id: int, record: bytes, expected: Cursor | Incarnation | None, keep_s: float | None, /
    ) -> Appended[bytes]:
        return self.inner.append(path, record_id, record, expected, keep_s)

    async def compact(self, path: Path, upto: Cursor, snapshot: bytes, keep_s: float | None, /) -> bool:
        return self.inner.compact(path, upto, snapshot, keep_s)

    async def delete(self, path: Path, life: Incarnation | None, /) -> None:
        self.inner.delete(path, life)

    async def paths(self, prefix: Path, /) -> Iterable[Path]:
        return self.inner.paths(prefix)
