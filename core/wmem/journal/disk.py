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
from wmem.journal.disk_cache import SafeCache
from wmem.journal.head import Head, StoredRecord, decide_append, refuse_append, verify_chain
from wmem.journal.port import Appended, Tail, chain_after, new_salt, path_name
from wmem.model.history import ORIGIN, Cursor, Incarnation, Path

_FORMAT = b"1"
_FORMAT_KEY = "wmem-format"
_SHARDS = 64
_MAX_OPTIMISTIC_READS = 3  # optimistic reads before a reader takes the lock
_RECORD_HEADER = struct.Struct(">QQ")


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
        with self._store.use() as cache:
            cache.add(_FORMAT_KEY, _FORMAT, retry=False)
            version = self._read_row(_FORMAT_KEY)
        if version != _FORMAT:
            self.close()
            msg = f"{directory!r} was written in format {version!r}; this version of wmem reads {_FORMAT!r}: upgrade it"
            raise StoreError(msg)

    def close(self) -> None:
        """Close the connections of this thread and of ended threads."""
        self._store.close()

    @property
    def _cache(self) -> Any:
        """The open diskcache; only inside ``self._store.use()``."""
        return self._store.cache

    # -- the port

    def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[bytes]]:
        names = {path: path_name(path) for path in after}
        with self._store.use():
            for _ in range(_MAX_OPTIMISTIC_READS):
                heads = {path: self._read_head(name) for path, name in names.items()}
                tails = self._read_tails(after, names, heads)
                # Consistent at one instant if no snapshot was read for a single path, if no path has
                # news, or if no head changed while the rows were read one by one.
                if tails is not None and (
                    (len(names) == 1 and all(tail.snapshot is None for tail in tails.values()))
                    or all(tails[path].head == cursor for path, cursor in after.items())
                    or all(self._read_head(name) == heads[path] for path, name in names.items())
                ):
                    return tails
            with self._cache.transact(retry=False):
                heads = {path: self._read_head(name) for path, name in names.items()}
                settled = self._read_tails(after, names, heads, in_transaction=True)
        assert settled is not None  # nothing changes inside a transaction: a missing row counts as damage
        return settled

    def append(
        self, path: Path, record_id: int, record: bytes, expected: Cursor | Incarnation | None, _keep_s: float | None, /
    ) -> Appended[bytes]:
        name = path_name(path)
        with self._store.use(), self._cache.transact(retry=False):
            meta = self._read_head(name)
            accepted, missed_after = decide_append(meta, expected)
            if not accepted:
                after = {} if missed_after is None else {path: missed_after}
                tails = self._read_tails(after, {path: name}, {path: meta}, in_transaction=True)
                return refuse_append(meta, tails.get(path) if tails else None)
            previous = meta.head if meta else ORIGIN
            cursor = Cursor(previous.version + 1, chain_after(previous.chain if meta else new_salt(), record_id))
            if meta is None:
                meta = Head.initial(cursor)
                self._register(path)
            meta = meta._replace(head=cursor, tail_bytes=meta.tail_bytes + len(record))
            self._cache.set(f"m{name}", meta.to_bytes(_name_checksum(name)))
            row = _record_key(name, meta.incarnation, cursor.version)
            if not self._cache.add(row, _RECORD_HEADER.pack(record_id, cursor.chain) + record):
                msg = f"the journal of scope {name} in {self._directory!r} goes on beyond its head; nothing was changed"
                raise CorruptionError(msg)
        return Appended(cursor, previous, None, meta.tail_bytes, meta.incarnation)

    def compact(self, path: Path, upto: Cursor, snapshot: bytes, _keep_s: float | None, /) -> bool:
        name = path_name(path)
        with self._store.use(), self._cache.transact(retry=False):
            meta = self._read_head(name)
            if meta is None or upto.version <= meta.base.version or not self._contains(name, meta, upto):
                return False
            gone_bytes = 0
            for version in range(meta.base.version + 1, upto.version + 1):
                row = _record_key(name, meta.incarnation, version)
                stored = self._read_row(row)
                gone_bytes += max(0, len(stored or b"") - _RECORD_HEADER.size)
                self._cache.delete(row)
            self._cache.set(f"s{name}", snapshot)
            meta = meta._replace(base=upto, tail_bytes=max(0, meta.tail_bytes - gone_bytes))
            self._cache.set(f"m{name}", meta.to_bytes(_name_checksum(name)))
        return True

    def delete(self, path: Path, incarnation: Incarnation | None, /) -> None:
        with self._store.use(), self._cache.transact(retry=False):
            if incarnation is not None:
                head = self._read_head(path_name(path))
                if head is None or head.incarnation != incarnation:
                    return
            for each in self._list_paths(path):
                name = path_name(each)
                try:
                    meta = self._read_head(name)
                except CorruptionError:
                    meta = None  # its record keys are no longer known
                if meta is not None:
                    for version in range(meta.base.version + 1, meta.head.version + 1):
                        self._cache.delete(_record_key(name, meta.incarnation, version))
                self._cache.delete(f"s{name}")
                self._cache.delete(f"m{name}")
                shard = _shard_key(each)
                others = [other for other in self._read_shard(shard) if other != each]
                if others:
                    self._cache.set(shard, json.dumps(others).encode())
                else:
                    self._cache.delete(shard)

    def paths(self, prefix: Path, /) -> Iterable[Path]:
        with self._store.use():
            return self._list_paths(prefix)

    def purge(self, _path: Path, /) -> Sequence[str]:
        """See `Purge`; vacuums the whole file."""
        return self._store.vacuum()

    # -- rows

    def _read_row(self, row: str) -> bytes | None:
        """The bytes of a row; b"" for a foreign row, which no codec accepts as a payload."""
        try:
            value: bytes | None = self._cache.get(row, retry=False)
        except ValueError:
            return b""
        return value

    def _read_head(self, name: str) -> Head | None:
        stored = self._read_row(f"m{name}")
        if stored is None:
            return None
        try:
            return Head.from_bytes(stored, _name_checksum(name))
        except ValueError as exc:
            msg = f"the journal of scope {name} in {self._directory!r} has a damaged head; other scopes are readable"
            raise CorruptionError(msg) from exc

    def _contains(self, name: str, meta: Head, cursor: Cursor) -> bool:
        if cursor in (meta.base, meta.head):
            return True
        if not meta.base.version < cursor.version < meta.head.version:
            return False
        stored = self._read_row(_record_key(name, meta.incarnation, cursor.version))
        return (
            stored is not None
            and len(stored) >= _RECORD_HEADER.size
            and _RECORD_HEADER.unpack_from(stored)[1] == cursor.chain
        )

    def _read_tails(
        self,
        after: Mapping[Path, Cursor],
        names: Mapping[Path, str],
        heads: Mapping[Path, Head | None],
        *,
        in_transaction: bool = False,
    ) -> dict[Path, Tail[bytes]] | None:
        """The tails up to `heads`; None when a concurrent compaction removed a row.

        Args:
            in_transaction: Inside a transaction, where a missing row is damage.
        """
        tails: dict[Path, Tail[bytes]] = {}
        for path, cursor in after.items():
            meta = heads[path]
            if meta is None:
                tails[path] = Tail(cursor == ORIGIN, ORIGIN, None, (), ORIGIN, None)
                continue
            if cursor == meta.head:
                tails[path] = Tail(
                    joined=True, base=cursor, snapshot=None, records=(), head=cursor, incarnation=meta.incarnation
                )
                continue
            name = names[path]
            joined = self._contains(name, meta, cursor)
            snapshot = None
            if not joined and meta.base != ORIGIN:
                snapshot = self._read_row(f"s{name}")
                if snapshot is None and in_transaction:
                    snapshot = b""
                if snapshot is None:
                    return None
            base = cursor if joined else meta.base
            records = tuple(
                verify_chain(
                    self._read_records(name, meta, base, in_transaction=in_transaction), base, meta.incarnation
                )
            )
            if len(records) != meta.head.version - base.version:
                return None
            tails[path] = Tail(joined, base, snapshot, records, meta.head, meta.incarnation)
        return tails

    def _read_records(self, name: str, meta: Head, base: Cursor, *, in_transaction: bool) -> Iterator[StoredRecord]:
        for version in range(base.version + 1, meta.head.version + 1):
            stored = self._read_row(_record_key(name, meta.incarnation, version))
            if stored is None and not in_transaction:
                return
            if stored is None or len(stored) < _RECORD_HEADER.size:
                yield None
            else:
                yield (*_RECORD_HEADER.unpack_from(stored), stored[_RECORD_HEADER.size :])

    # -- the register of scopes: sharded per root, so that a new scope rewrites little

    def _register(self, path: Path) -> None:
        for shard, entry in ((_shard_key(path), list(path)), (_root_shard_key(path[0]), path[0])):
            listed = self._read_register(shard)
            if entry not in listed:
                self._cache.set(shard, json.dumps([*listed, entry]).encode())
            elif entry == list(path):
                name = path_name(path)
                msg = f"the journal of scope {name} in {self._directory!r} has lost its head; nothing was changed"
                raise CorruptionError(msg)

    def _read_register(self, shard: str) -> list[Any]:
        stored = self._read_row(shard)
        try:
            return [] if stored is None else list(json.loads(stored))
        except (TypeError, ValueError) as exc:
            msg = f"the register {shard!r} of scopes in {self._directory!r} is damaged; known scopes are readable"
            raise CorruptionError(msg) from exc

    def _read_shard(self, shard: str) -> list[Path]:
        return [tuple(each) for each in self._read_register(shard)]

    def _list_paths(self, prefix: Path) -> list[Path]:
        if prefix:
            roots = [prefix[0]]
        else:
            shards = (f"R{number}" for number in range(_SHARDS))
            roots = [root for shard in shards for root in self._read_register(shard)]
        return [
            path
            for root in roots
            for number in range(_SHARDS)
            for path in self._read_shard(f"p{json.dumps(root)}{number}")
            if path[: len(prefix)] == prefix
        ]


@lru_cache(1024)
def _name_checksum(name: str) -> int:
    return zlib.crc32(name.encode())


def _record_key(name: str, incarnation: Incarnation, version: int) -> str:
    return f"r{name}{incarnation.chain:x}.{version:x}"


def _shard_key(path: Path) -> str:
    return f"p{json.dumps(path[0])}{zlib.crc32(path_name(path).encode()) % _SHARDS}"


def _root_shard_key(root: str) -> str:
    return f"R{zlib.crc32(json.dumps(root).encode()) % _SHARDS}"
