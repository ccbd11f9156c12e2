"""Journals in a diskcache directory, for any number of processes on one machine.

Only bytes are stored, under text keys, in one SQLite file: nothing is ever
unpickled and no file name is read from a row. Network file systems do not keep
SQLite's locks: the directory must be local.
"""

import json
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from wmem.errors import CorruptionError, StoreError
from wmem.journal.disk_cache import add_row, delete_row, has_tables, make_directory, make_tables, read_row, write_row
from wmem.journal.head import Head, StoredRecord, decide_append, refuse_append, verify_chain
from wmem.journal.port import Appended, Tail, chain_after, new_salt, path_name
from wmem.journal.sqlite_database import Database
from wmem.journal.sqlite_files import Connection
from wmem.journal.sqlite_maintenance import make_beside
from wmem.model.history import ORIGIN, Cursor, Incarnation, Path

_FORMAT = b"1"
_FORMAT_KEY = "wmem-format"
_SHARDS = 64
_RECORD_HEADER = struct.Struct(">QQ")


class DiskJournal:
    """A `Journal` of bytes in `directory`.

    Args:
        directory: Created with mode 0700 when missing.
        wait_s: Seconds a call waits for another process's write before it raises `ConflictError`.
        durable: Wait at each write until the disk has it, so that not even a power loss undoes it.

    Raises:
        StoreError: The directory cannot be created or opened.
        CorruptionError: It is not a store, or damaged.
    """

    def __init__(self, directory: str, *, wait_s: float = 5.0, durable: bool = False) -> None:
        self._directory = directory
        self._wait_s = wait_s
        self._database = Database(make_directory(directory), wait_s=wait_s, durable=durable, prepare=self._prepare)

    def close(self) -> None:
        """Close every connection; the next use reconnects."""
        self._database.close()

    # -- the port

    def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[bytes]]:
        return self._database.read(partial(self._read, after))

    def _read(self, after: Mapping[Path, Cursor], connection: Connection) -> Mapping[Path, Tail[bytes]]:
        connection.execute("BEGIN")
        tails = {
            path: self._read_tail(connection, name, self._read_head(connection, name), after[path])
            for path, name in [(path, path_name(path)) for path in after]
        }
        connection.execute("COMMIT")
        return tails

    def append(
        self, path: Path, record_id: int, record: bytes, expected: Cursor | Incarnation | None, _keep_s: float | None, /
    ) -> Appended[bytes]:
        return self._database.write(partial(self._append, path, record_id, record, expected))

    def _append(
        self,
        path: Path,
        record_id: int,
        record: bytes,
        expected: Cursor | Incarnation | None,
        connection: Connection,
    ) -> Appended[bytes]:
        name = path_name(path)
        meta = self._read_head(connection, name)
        accepted, missed_after = decide_append(meta, expected)
        if not accepted:
            missed = None if missed_after is None else self._read_tail(connection, name, meta, missed_after)
            return refuse_append(meta, missed)
        previous = meta.head if meta else ORIGIN
        cursor = Cursor(previous.version + 1, chain_after(previous.chain if meta else new_salt(), record_id))
        if meta is None:
            meta = Head.initial(cursor)
            self._register(connection, path)
        meta = meta._replace(head=cursor, tail_bytes=meta.tail_bytes + len(record))
        write_row(connection, f"m{name}", meta.to_bytes(_name_checksum(name)))
        row = _record_key(name, meta.incarnation, cursor.version)
        if not add_row(connection, row, _RECORD_HEADER.pack(record_id, cursor.chain) + record):
            msg = f"the journal of scope {name} in {self._directory!r} goes on beyond its head; nothing was changed"
            raise CorruptionError(msg)
        return Appended(cursor, previous, None, meta.tail_bytes, meta.incarnation)

    def compact(self, path: Path, upto: Cursor, snapshot: bytes, _keep_s: float | None, /) -> bool:
        return self._database.write(partial(self._compact, path_name(path), upto, snapshot))

    def _compact(self, name: str, upto: Cursor, snapshot: bytes, connection: Connection) -> bool:
        meta = self._read_head(connection, name)
        if meta is None or upto.version <= meta.base.version or not self._contains(connection, name, meta, upto):
            return False
        gone_bytes = 0
        for version in range(meta.base.version + 1, upto.version + 1):
            row = _record_key(name, meta.incarnation, version)
            stored = read_row(connection, row)
            gone_bytes += max(0, len(stored or b"") - _RECORD_HEADER.size)
            delete_row(connection, row)
        write_row(connection, f"s{name}", snapshot)
        meta = meta._replace(base=upto, tail_bytes=max(0, meta.tail_bytes - gone_bytes))
        write_row(connection, f"m{name}", meta.to_bytes(_name_checksum(name)))
        return True

    def delete(self, path: Path, incarnation: Incarnation | None, /) -> None:
        self._database.write(partial(self._delete, path, incarnation))

    def _delete(self, path: Path, incarnation: Incarnation | None, connection: Connection) -> None:
        if incarnation is not None:
            head = self._read_head(connection, path_name(path))
            if head is None or head.incarnation != incarnation:
                return
        for root in [path[0]] if path else self._list_roots(connection):
            paths = self._list_paths(connection, root)
            gone = [each for each in paths if each[: len(path)] == path]
            for each in gone:
                self._delete_journal(connection, each)
            if len(gone) == len(paths):
                self._unlist(connection, _root_shard_key(root), root)

    def paths(self, prefix: Path, /) -> Iterable[Path]:
        return self._database.read(
            lambda connection: [
                path
                for root in ([prefix[0]] if prefix else self._list_roots(connection))
                for path in self._list_paths(connection, root)
                if path[: len(prefix)] == prefix
            ]
        )

    def roots(self) -> Iterable[str]:
        return self._database.read(self._list_roots)

    def purge(self, _path: Path, /) -> Sequence[str]:
        """See `Purge`; vacuums the whole file, a large one in the next `sweep`."""
        return self._database.vacuum()

    def sweep(self, _path: Path, /) -> int:
        """See `Sweep`; vacuums the file if a purge put that off."""
        self._database.vacuum_if_due()
        return 0

    def backup(self, target: str, /) -> None:
        """See `Backup`; the target is a directory."""

        def copy(directory: str) -> None:
            self._database.copy_into(make_directory(directory))

        make_beside(target, copy)

    def is_current(self) -> bool:
        """Whether the file that was opened still has its name."""
        return self._database.is_current()

    # -- rows

    def _prepare(self, connection: Connection) -> None:
        """Make the tables of a new store, or check the format of an existing one."""
        version = read_row(connection, _FORMAT_KEY) if has_tables(connection) else None
        if version is None:
            make_tables(self._directory, self._wait_s)
            # Outside a transaction SQLite says "no such table" of one that it has not seen yet
            # and cannot look for, because another process locks the file: that would not be waited for.
            connection.execute("BEGIN IMMEDIATE")
            add_row(connection, _FORMAT_KEY, _FORMAT)
            version = read_row(connection, _FORMAT_KEY)
            connection.execute("COMMIT")
        if version != _FORMAT:
            msg = (
                f"{self._directory!r} was written in format {version!r}; "
                f"this version of wmem reads {_FORMAT!r}: upgrade it"
            )
            raise StoreError(msg)

    def _read_head(self, connection: Connection, name: str) -> Head | None:
        stored = read_row(connection, f"m{name}")
        if stored is None:
            return None
        try:
            return Head.from_bytes(stored, _name_checksum(name))
        except ValueError as exc:
            msg = f"the journal of scope {name} in {self._directory!r} has a damaged head; other scopes are readable"
            raise CorruptionError(msg) from exc

    def _contains(self, connection: Connection, name: str, meta: Head, cursor: Cursor) -> bool:
        if cursor in (meta.base, meta.head):
            return True
        if not meta.base.version < cursor.version < meta.head.version:
            return False
        stored = read_row(connection, _record_key(name, meta.incarnation, cursor.version))
        return (
            stored is not None
            and len(stored) >= _RECORD_HEADER.size
            and _RECORD_HEADER.unpack_from(stored)[1] == cursor.chain
        )

    def _read_tail(self, connection: Connection, name: str, meta: Head | None, cursor: Cursor) -> Tail[bytes]:
        """The tail up to `meta`, which was read in the same transaction: a row that is missing is damage."""
        if meta is None:
            return Tail(cursor == ORIGIN, ORIGIN, None, (), ORIGIN, None)
        head, incarnation = meta.head, meta.incarnation
        if cursor == head:
            return Tail(joined=True, base=cursor, snapshot=None, records=(), head=head, incarnation=incarnation)
        joined = self._contains(connection, name, meta, cursor)
        snapshot = None
        if not joined and meta.base != ORIGIN:
            snapshot = read_row(connection, f"s{name}") or b""
        base = cursor if joined else meta.base
        records = [
            self._read_record(connection, _record_key(name, incarnation, version))
            for version in range(base.version + 1, head.version + 1)
        ]
        return Tail(joined, base, snapshot, tuple(verify_chain(records, base, incarnation)), head, incarnation)

    def _read_record(self, connection: Connection, row: str) -> StoredRecord:
        stored = read_row(connection, row)
        if stored is None or len(stored) < _RECORD_HEADER.size:
            return None
        return (*_RECORD_HEADER.unpack_from(stored), stored[_RECORD_HEADER.size :])

    def _delete_journal(self, connection: Connection, path: Path) -> None:
        name = path_name(path)
        try:
            meta = self._read_head(connection, name)
        except CorruptionError:
            meta = None  # its record keys are no longer known
        if meta is not None:
            for version in range(meta.base.version + 1, meta.head.version + 1):
                delete_row(connection, _record_key(name, meta.incarnation, version))
        delete_row(connection, f"s{name}")
        delete_row(connection, f"m{name}")
        self._unlist(connection, _shard_key(path), list(path))

    # -- the register of scopes: sharded per root, so that a new scope rewrites little

    def _register(self, connection: Connection, path: Path) -> None:
        for shard, entry in ((_shard_key(path), list(path)), (_root_shard_key(path[0]), path[0])):
            listed = self._read_register(connection, shard)
            if entry not in listed:
                write_row(connection, shard, json.dumps([*listed, entry]).encode())
            elif entry == list(path):
                name = path_name(path)
                msg = f"the journal of scope {name} in {self._directory!r} has lost its head; nothing was changed"
                raise CorruptionError(msg)

    def _unlist(self, connection: Connection, shard: str, entry: Any) -> None:
        others = [other for other in self._read_register(connection, shard) if other != entry]
        if others:
            write_row(connection, shard, json.dumps(others).encode())
        else:
            delete_row(connection, shard)

    def _read_register(self, connection: Connection, shard: str) -> list[Any]:
        stored = read_row(connection, shard)
        try:
            return [] if stored is None else list(json.loads(stored))
        except (TypeError, ValueError) as exc:
            msg = f"the register {shard!r} of scopes in {self._directory!r} is damaged; known scopes are readable"
            raise CorruptionError(msg) from exc

    def _list_roots(self, connection: Connection) -> list[str]:
        return [root for number in range(_SHARDS) for root in self._read_register(connection, f"R{number}")]

    def _list_paths(self, connection: Connection, root: str) -> list[Path]:
        return [
            tuple(path)
            for number in range(_SHARDS)
            for path in self._read_register(connection, f"p{json.dumps(root)}{number}")
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
