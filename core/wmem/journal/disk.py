"""Journals in a diskcache directory, for any number of processes on one machine.

Only bytes are stored, under text keys, in one SQLite file: nothing is ever
unpickled and no file name is read from a row. Network file systems do not keep
SQLite's locks: the directory must be local.
"""

import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from wmem.errors import CorruptionError, StoreError
from wmem.journal.head import Found, Head, in_place
from wmem.journal.port import MISSED_MAX, Appended, Tail, chain_after, new_salt
from wmem.journal.safecache import SafeCache
from wmem.model.history import ORIGIN, Birth, Cursor, Path

__all__ = ["DiskJournal"]

_FORMAT = b"1"
_MARK = "wmem-format"
_SHARDS = 64
_TRIES = 3  # optimistic reads before a reader takes the lock
_RECORD = struct.Struct(">QQ")


class DiskJournal:
    """A `Journal` of bytes in `directory`.

    Args:
        directory: Created with mode 0700 when missing.
        wait_s: Seconds a call waits for another process's write before it raises `ConflictError`.

    Raises:
        StoreError: The directory cannot be created or opened.
        CorruptionError: It is not a store, or damaged.
    """

    def __init__(self, directory: str, *, wait_s: float = 5.0) -> None:
        self._directory = directory
        self._store = SafeCache(directory, wait_s=wait_s)
        with self._store.used() as cache:
            cache.add(_MARK, _FORMAT, retry=False)
            found = self._get(_MARK)
        if found != _FORMAT:
            self.close()
            msg = f"{directory!r} was written in format {found!r}; this version of wmem reads {_FORMAT!r}: upgrade it"
            raise StoreError(msg)

    def close(self) -> None:
        """Close the connections of this thread and of ended threads."""
        self._store.close()

    @property
    def _cache(self) -> Any:
        """The open diskcache; only inside ``self._store.used()``."""
        return self._store.cache

    # -- the port

    def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[bytes]]:
        names = {path: _name(path) for path in after}
        with self._store.used():
            for _ in range(_TRIES):
                seen = {path: self._meta(name) for path, name in names.items()}
                tails = self._tails(after, names, seen)
                # Consistent at one instant if no snapshot was read for a single path, if no path has
                # news, or if no head changed while the rows were read one by one.
                if tails is not None and (
                    (len(names) == 1 and all(tail.snapshot is None for tail in tails.values()))
                    or all(tails[path].head == cursor for path, cursor in after.items())
                    or all(self._meta(name) == seen[path] for path, name in names.items())
                ):
                    return tails
            with self._cache.transact(retry=False):
                seen = {path: self._meta(name) for path, name in names.items()}
                settled = self._tails(after, names, seen, settled=True)
        assert settled is not None  # nothing changes inside a transaction: a missing row counts as damage
        return settled

    def append(
        self, path: Path, record_id: int, record: bytes, expected: Cursor | Birth | None, _keep_s: float | None, /
    ) -> Appended[bytes]:
        name = _name(path)
        with self._store.used(), self._cache.transact(retry=False):
            meta = self._meta(name)
            head = meta.head if meta else ORIGIN
            if isinstance(expected, Cursor):
                refused = expected != head
            else:
                refused = expected is not None and (meta is None or meta.birth != expected)
            if refused:
                missed = None
                if isinstance(expected, Cursor) and head.version - expected.version <= MISSED_MAX:
                    found = self._tails({path: expected}, {path: name}, {path: meta}, settled=True)
                    missed = found[path] if found and found[path].snapshot is None else None
                return Appended(None, head, missed, meta.tail_bytes if meta else 0, meta.birth if meta else None)
            if meta is None:
                cursor = Cursor(1, chain_after(new_salt(), record_id))
                meta = Head.born(cursor)
                self._register(path)
            else:
                cursor = Cursor(head.version + 1, chain_after(head.chain, record_id))
            meta = meta._replace(head=cursor, tail_bytes=meta.tail_bytes + len(record))
            self._cache.set(f"m{name}", meta.packed(_seal(name)))
            row = _row(name, meta.birth, cursor.version)
            if not self._cache.add(row, _RECORD.pack(record_id, cursor.chain) + record):
                msg = f"the journal of scope {name} in {self._directory!r} goes on beyond its head; nothing was changed"
                raise CorruptionError(msg)
        return Appended(cursor, head, None, meta.tail_bytes, meta.birth)

    def compact(self, path: Path, upto: Cursor, snapshot: bytes, _keep_s: float | None, /) -> bool:
        name = _name(path)
        with self._store.used(), self._cache.transact(retry=False):
            meta = self._meta(name)
            if meta is None or upto.version <= meta.base.version or not self._holds(name, meta, upto):
                return False
            gone = 0
            for version in range(meta.base.version + 1, upto.version + 1):
                row = _row(name, meta.birth, version)
                stored = self._get(row)
                gone += max(0, len(stored or b"") - _RECORD.size)
                self._cache.delete(row)
            self._cache.set(f"s{name}", snapshot)
            self._cache.set(
                f"m{name}", meta._replace(base=upto, tail_bytes=max(0, meta.tail_bytes - gone)).packed(_seal(name))
            )
        return True

    def delete(self, path: Path, life: Birth | None, /) -> None:
        with self._store.used(), self._cache.transact(retry=False):
            if life is not None:
                found = self._meta(_name(path))
                if found is None or found.birth != life:
                    return
            for each in self._registered(path):
                name = _name(each)
                try:
                    meta = self._meta(name)
                except CorruptionError:
                    meta = None  # its record keys are no longer known
                if meta is not None:
                    for version in range(meta.base.version + 1, meta.head.version + 1):
                        self._cache.delete(_row(name, meta.birth, version))
                self._cache.delete(f"s{name}")
                self._cache.delete(f"m{name}")
                shard = _shard(each)
                kept = [other for other in self._listed(shard) if other != each]
                if kept:
                    self._cache.set(shard, json.dumps(kept).encode())
                else:
                    self._cache.delete(shard)

    def paths(self, prefix: Path, /) -> Iterable[Path]:
        with self._store.used():
            return self._registered(prefix)

    def purge(self, _path: Path, /) -> Sequence[str]:
        """See `Purge`; vacuums the whole file."""
        return self._store.scrub()

    # -- rows

    def _get(self, row: str) -> bytes | None:
        """The bytes of a row; b"" for a foreign row, which no codec accepts as a payload."""
        try:
            found: bytes | None = self._cache.get(row, retry=False)
        except ValueError:
            return b""
        return found

    def _meta(self, name: str) -> Head | None:
        stored = self._get(f"m{name}")
        if stored is None:
            return None
        try:
            return Head.unpacked(stored, _seal(name))
        except ValueError as exc:
            msg = f"the journal of scope {name} in {self._directory!r} has a damaged head; other scopes are readable"
            raise CorruptionError(msg) from exc

    def _holds(self, name: str, meta: Head, cursor: Cursor) -> bool:
        if cursor in (meta.base, meta.head):
            return True
        if not meta.base.version < cursor.version < meta.head.version:
            return False
        stored = self._get(_row(name, meta.birth, cursor.version))
        return stored is not None and len(stored) >= _RECORD.size and _RECORD.unpack_from(stored)[1] == cursor.chain

    def _tails(
        self,
        after: Mapping[Path, Cursor],
        names: Mapping[Path, str],
        seen: Mapping[Path, Head | None],
        *,
        settled: bool = False,
    ) -> dict[Path, Tail[bytes]] | None:
        """The tails up to the heads in `seen`; None when a concurrent compaction removed a row.

        Args:
            settled: Inside a transaction, so a missing row is damage.
        """
        tails: dict[Path, Tail[bytes]] = {}
        for path, cursor in after.items():
            meta = seen[path]
            if meta is None:
                tails[path] = Tail(cursor == ORIGIN, ORIGIN, None, (), ORIGIN, None)
                continue
            if cursor == meta.head:
                tails[path] = Tail(joined=True, base=cursor, snapshot=None, records=(), head=cursor, birth=meta.birth)
                continue
            name = names[path]
            joined = self._holds(name, meta, cursor)
            snapshot = None
            if not joined and meta.base != ORIGIN:
                snapshot = self._get(f"s{name}")
                if snapshot is None and settled:
                    snapshot = b""
                if snapshot is None:
                    return None
            base = cursor if joined else meta.base
            records = tuple(in_place(self._records(name, meta, base, settled=settled), base, meta.birth))
            if len(records) != meta.head.version - base.version:
                return None
            tails[path] = Tail(joined, base, snapshot, records, meta.head, meta.birth)
        return tails

    def _records(self, name: str, meta: Head, base: Cursor, *, settled: bool) -> Iterator[Found]:
        for version in range(base.version + 1, meta.head.version + 1):
            stored = self._get(_row(name, meta.birth, version))
            if stored is None and not settled:
                return
            if stored is None or len(stored) < _RECORD.size:
                yield None
            else:
                yield (*_RECORD.unpack_from(stored), stored[_RECORD.size :])

    # -- the register of scopes: sharded per root, so that a new scope rewrites little

    def _register(self, path: Path) -> None:
        for shard, entry in ((_shard(path), list(path)), (_root_shard(path[0]), path[0])):
            listed = self._register_row(shard)
            if entry not in listed:
                self._cache.set(shard, json.dumps([*listed, entry]).encode())
            elif entry == list(path):
                msg = (
                    f"the journal of scope {_name(path)} in {self._directory!r} has lost its head; nothing was changed"
                )
                raise CorruptionError(msg)

    def _register_row(self, shard: str) -> list[Any]:
        stored = self._get(shard)
        try:
            return [] if stored is None else list(json.loads(stored))
        except (TypeError, ValueError) as exc:
            msg = f"the register {shard!r} of scopes in {self._directory!r} is damaged; known scopes are readable"
            raise CorruptionError(msg) from exc

    def _listed(self, shard: str) -> list[Path]:
        return [tuple(each) for each in self._register_row(shard)]

    def _registered(self, prefix: Path) -> list[Path]:
        if prefix:
            roots = [prefix[0]]
        else:
            shards = (f"R{number}" for number in range(_SHARDS))
            roots = [root for shard in shards for root in self._register_row(shard)]
        return [
            path
            for root in roots
            for number in range(_SHARDS)
            for path in self._listed(f"p{json.dumps(root)}{number}")
            if path[: len(prefix)] == prefix
        ]


@lru_cache(1024)
def _name(path: Path) -> str:
    """Unique name of a path: its JSON."""
    return json.dumps(path, separators=(",", ":"))


@lru_cache(1024)
def _seal(name: str) -> int:
    return zlib.crc32(name.encode())


def _row(name: str, birth: Birth, version: int) -> str:
    return f"r{name}{birth.chain:x}.{version:x}"


def _shard(path: Path) -> str:
    return f"p{json.dumps(path[0])}{zlib.crc32(_name(path).encode()) % _SHARDS}"


def _root_shard(root: str) -> str:
    return f"R{zlib.crc32(json.dumps(root).encode()) % _SHARDS}"
