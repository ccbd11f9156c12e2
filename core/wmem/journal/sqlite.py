"""Journals in one SQLite file, for any number of processes on one machine.

When a process is killed, no acknowledged write is lost; when the machine loses power, the
last commits may be lost (whole ones, in order), because the log is synced at checkpoints
only, unless the journal is `durable`. Network file systems do not keep SQLite's locks: the
file must be local.
"""

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import islice
from typing import NamedTuple

from wmem.errors import CorruptionError, StoreError
from wmem.journal.head import Head, StoredRecord, decide_append, refuse_append, verify_chain
from wmem.journal.port import Appended, Tail, chain_after, new_salt
from wmem.journal.sqlite_database import Database
from wmem.journal.sqlite_files import Connection, IntegrityError
from wmem.journal.sqlite_maintenance import make_beside
from wmem.model.history import ORIGIN, Cursor, Incarnation, Path

_APPLICATION_ID = int.from_bytes(b"wmem", "big")
_FORMAT = 1
_VERSION_BITS = 32  # low bits of a record's place; the rest is its scope's number
_MAX_HEADS_PER_STATEMENT = 8  # most heads read in one statement

_TABLES = (
    # AUTOINCREMENT never reuses a number: records left by a scope that lost its row are never taken for another's.
    "CREATE TABLE scope (number INTEGER PRIMARY KEY AUTOINCREMENT, path BLOB NOT NULL UNIQUE, head BLOB NOT NULL)",
    # place = scope number and version, so a scope's records are adjacent; the base's place holds the checkpoint.
    "CREATE TABLE record (place INTEGER PRIMARY KEY, id INTEGER NOT NULL, chain INTEGER NOT NULL, payload BLOB)",
)
_SELECT_SCOPES = tuple(
    f"SELECT path, number, head FROM scope WHERE path IN ({', '.join('?' * count)})"  # noqa: S608  # question marks alone
    for count in range(_MAX_HEADS_PER_STATEMENT + 1)
)
_UPDATE_HEAD = "UPDATE scope SET head = ? WHERE number = ?"


class _ScopeRow(NamedTuple):
    """One row of the table `scope`; `key_checksum` is that of its key, which its stored head includes."""

    number: int
    head: Head
    key_checksum: int

    def place(self, version: int) -> int:
        """Primary key of the record with this version."""
        return self.number << _VERSION_BITS | version


class SqliteJournal:
    """A `Journal` of bytes in `file`.

    Args:
        file: Made with mode 0600 when missing, in directories of mode 0700.
        wait_s: Seconds a call waits for another process's write before it raises `ConflictError`.
        durable: Wait at each write until the disk has it, so that not even a power loss undoes it.

    Raises:
        StoreError: The file cannot be made or opened, or a newer version of wmem wrote it.
        CorruptionError: The file is not a store of wmem, or damaged.
    """

    def __init__(self, file: str, *, wait_s: float = 5.0, durable: bool = False) -> None:
        self._file = file
        self._database = Database(file, wait_s=wait_s, durable=durable, prepare=self._prepare)

    def close(self) -> None:
        """Close every connection; the next use reconnects."""
        self._database.close()

    # -- the port

    def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[bytes]]:
        return self._database.read(partial(self._read, after))

    def _read(self, after: Mapping[Path, Cursor], connection: Connection) -> Mapping[Path, Tail[bytes]]:
        if len(after) <= _MAX_HEADS_PER_STATEMENT:
            # One statement sees one instant: if no head has changed, no transaction is needed.
            scopes = self._fetch_scopes(connection, list(after))
            heads = [scope.head.head if scope else ORIGIN for scope in scopes]
            if heads == list(after.values()):
                return {
                    path: Tail(True, head, None, (), head, scope.head.incarnation if scope else None)  # noqa: FBT003  # joined
                    for path, head, scope in zip(after, heads, scopes, strict=True)
                }
        connection.execute("BEGIN")
        paths = iter(after)
        tails: dict[Path, Tail[bytes]] = {}
        while part := list(islice(paths, _MAX_HEADS_PER_STATEMENT)):
            scopes = self._fetch_scopes(connection, part)
            tails |= {
                path: self._read_tail(connection, row, after[path]) for path, row in zip(part, scopes, strict=True)
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
        scope = self._fetch_scope(connection, path)
        known = scope.head if scope else None
        accepted, missed_after = decide_append(known, expected)
        if not accepted:
            missed = None if missed_after is None else self._read_tail(connection, scope, missed_after)
            return refuse_append(known, missed)
        previous = known.head if known else ORIGIN
        cursor = Cursor(previous.version + 1, chain_after(previous.chain if known else new_salt(), record_id))
        if scope is None:
            scope = self._insert_scope(connection, path, cursor)
        head = Head(cursor, scope.head.base, scope.head.incarnation, scope.head.tail_bytes + len(record))
        try:
            connection.execute(
                "INSERT INTO record VALUES (?, ?, ?, ?)",
                (scope.place(cursor.version), record_id, cursor.chain, record),
            )
        except IntegrityError as exc:
            msg = f"the journal of scope {path!r} in {self._file!r} goes on beyond its head; nothing was changed"
            raise CorruptionError(msg) from exc
        connection.execute(_UPDATE_HEAD, (head.to_bytes(scope.key_checksum), scope.number))
        return Appended(cursor, previous, None, head.tail_bytes, head.incarnation)

    def compact(self, path: Path, upto: Cursor, snapshot: bytes, _keep_s: float | None, /) -> bool:
        return self._database.write(partial(self._compact, path, upto, snapshot))

    def _compact(self, path: Path, upto: Cursor, snapshot: bytes, connection: Connection) -> bool:
        scope = self._fetch_scope(connection, path)
        if scope is None or upto.version <= scope.head.base.version or not self._contains(connection, scope, upto):
            return False
        base, place = scope.place(scope.head.base.version), scope.place(upto.version)
        ((gone_bytes,),) = connection.execute(
            "SELECT coalesce(sum(length(payload)), 0) FROM record WHERE place > ? AND place <= ?", (base, place)
        ).fetchall()
        connection.execute("DELETE FROM record WHERE place >= ? AND place <= ?", (base, place))
        connection.execute("INSERT INTO record VALUES (?, 0, ?, ?)", (place, upto.chain, snapshot))
        head = scope.head._replace(base=upto, tail_bytes=max(0, scope.head.tail_bytes - gone_bytes))
        connection.execute(_UPDATE_HEAD, (head.to_bytes(scope.key_checksum), scope.number))
        return True

    def delete(self, path: Path, incarnation: Incarnation | None, /) -> None:
        self._database.write(partial(self._delete, path, incarnation))

    def _delete(self, path: Path, incarnation: Incarnation | None, connection: Connection) -> None:
        if incarnation is not None:
            scope = self._fetch_scope(connection, path)
            if scope is None or scope.head.incarnation != incarnation:
                return
        # By number, not by head: the records of a scope with a damaged head must go too.
        numbers = connection.execute(
            "SELECT number FROM scope WHERE path >= ? AND path < ?", _subtree_range(path)
        ).fetchall()
        for (number,) in numbers:
            places = (number << _VERSION_BITS, (number + 1) << _VERSION_BITS)
            connection.execute("DELETE FROM record WHERE place >= ? AND place < ?", places)
            connection.execute("DELETE FROM scope WHERE number = ?", (number,))

    def paths(self, prefix: Path, /) -> Iterable[Path]:
        # One joined row, as each row costs a step; no key holds the separator 0xFE, because UTF-8 never does.
        ((count, joined),) = self._database.read(
            lambda connection: connection.execute(
                "SELECT count(*), group_concat(path, CAST(x'FE' AS TEXT)) FROM scope WHERE path >= ? AND path < ?",
                _subtree_range(prefix),
            ).fetchall()
        )
        try:
            return _decode_paths(joined or b"", count)
        except ValueError as exc:
            raise self._register_damage_error() from exc

    def _register_damage_error(self) -> CorruptionError:
        return CorruptionError(f"the register of scopes in {self._file!r} is damaged; known scopes are readable")

    def roots(self) -> Iterable[str]:
        return self._database.read(self._list_roots)

    def _list_roots(self, connection: Connection) -> list[str]:
        """One look-up in the index of paths for each root, all in one transaction."""
        roots: list[str] = []
        after = b""
        connection.execute("BEGIN")
        while key := connection.execute("SELECT min(path) FROM scope WHERE path > ?", (after,)).fetchone()[0]:
            try:
                ((root, *_),) = _decode_paths(key, 1)
            except ValueError as exc:
                raise self._register_damage_error() from exc
            roots.append(root)
            _, after = _subtree_range((root,))
        connection.execute("COMMIT")
        return roots

    def purge(self, _path: Path, /) -> Sequence[str]:
        """See `Purge`; vacuums the whole file, a large one in the next `sweep`."""
        return self._database.vacuum()

    def sweep(self, _path: Path, /) -> int:
        """See `Sweep`; vacuums the file if a purge put that off."""
        self._database.vacuum_if_due()
        return 0

    def backup(self, target: str, /) -> None:
        """See `Backup`; the target is a file."""
        make_beside(target, self._database.copy_into)

    def is_current(self) -> bool:
        """Whether the file that was opened still has its name."""
        return self._database.is_current()

    # -- rows

    def _fetch_scopes(self, connection: Connection, paths: Sequence[Path]) -> list[_ScopeRow | None]:
        """The rows of these paths, at one instant; None where there is none."""
        keyed = [_key_and_checksum(path) for path in paths]
        keys = [key for key, _ in keyed]
        rows = {row[0]: row for row in connection.execute(_SELECT_SCOPES[len(keys)], keys)}
        return [
            self._to_scope(path, rows[key], checksum) if key in rows else None
            for path, (key, checksum) in zip(paths, keyed, strict=True)
        ]

    def _fetch_scope(self, connection: Connection, path: Path) -> _ScopeRow | None:
        key, checksum = _key_and_checksum(path)
        row = connection.execute(_SELECT_SCOPES[1], (key,)).fetchone()
        return None if row is None else self._to_scope(path, row, checksum)

    def _to_scope(self, path: Path, row: tuple[bytes, int, bytes], key_checksum: int) -> _ScopeRow:
        try:
            return _ScopeRow(row[1], Head.from_bytes(row[2], key_checksum), key_checksum)
        except (TypeError, ValueError) as exc:
            msg = f"the journal of scope {path!r} in {self._file!r} has a damaged head; other scopes are readable"
            raise CorruptionError(msg) from exc

    def _insert_scope(self, connection: Connection, path: Path, cursor: Cursor) -> _ScopeRow:
        key, checksum = _key_and_checksum(path)
        number = connection.execute("INSERT INTO scope (path, head) VALUES (?, x'')", (key,)).lastrowid
        assert number is not None  # a row was inserted
        return _ScopeRow(number, Head.initial(cursor), checksum)

    def _contains(self, connection: Connection, scope: _ScopeRow, cursor: Cursor) -> bool:
        if cursor in (scope.head.base, scope.head.head):
            return True
        if not scope.head.base.version < cursor.version < scope.head.head.version:
            return False
        row = connection.execute("SELECT chain FROM record WHERE place = ?", (scope.place(cursor.version),)).fetchone()
        return bool(row == (cursor.chain,))

    def _read_tail(self, connection: Connection, scope: _ScopeRow | None, cursor: Cursor) -> Tail[bytes]:
        if scope is None:
            return Tail(cursor == ORIGIN, ORIGIN, None, (), ORIGIN, None)
        head, incarnation = scope.head.head, scope.head.incarnation
        if cursor == head:
            return Tail(joined=True, base=cursor, snapshot=None, records=(), head=head, incarnation=incarnation)
        joined = self._contains(connection, scope, cursor)
        base = cursor if joined else scope.head.base
        snapshot = None
        if not joined and base != ORIGIN:
            (base_row,) = self._fetch_records(connection, scope, base.version - 1, base.version)
            snapshot = base_row[2] if base_row else b""
        records = self._fetch_records(connection, scope, base.version, head.version)
        return Tail(joined, base, snapshot, tuple(verify_chain(records, base, incarnation)), head, incarnation)

    def _fetch_records(self, connection: Connection, scope: _ScopeRow, after: int, upto: int) -> list[StoredRecord]:
        """The stored records after one version, up to and including another."""
        places = range(scope.place(after + 1), scope.place(upto + 1))
        rows = connection.execute(
            "SELECT place, id, chain, payload FROM record WHERE place >= ? AND place < ?", (places.start, places.stop)
        ).fetchall()
        sound = {
            place: (record_id, chain, payload)
            for place, record_id, chain, payload in rows
            if type(record_id) is int and record_id >= 0 and type(chain) is int and type(payload) is bytes
        }
        return [sound.get(place) for place in places]

    def _prepare(self, connection: Connection) -> None:
        """Create the tables of a new file, or check that an existing file has them."""
        if _is_new(connection):
            _enable_wal(connection, self._file)
            connection.execute("BEGIN IMMEDIATE")
            if _is_new(connection):  # no other process was first
                for table in _TABLES:
                    connection.execute(table)
                connection.execute(f"PRAGMA application_id={_APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version={_FORMAT}")
            connection.execute("COMMIT")
        ((application,),) = connection.execute("PRAGMA application_id").fetchall()
        ((version,),) = connection.execute("PRAGMA user_version").fetchall()
        ((tables,),) = connection.execute(
            "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('scope', 'record')"
        ).fetchall()
        if application != _APPLICATION_ID:
            raise CorruptionError(f"{self._file!r} is a database of another program; it was left as it is")
        if version != _FORMAT:
            msg = f"{self._file!r} was written in format {version}; this version of wmem reads {_FORMAT}: upgrade it"
            raise StoreError(msg)
        if tables != len(_TABLES):
            raise CorruptionError(f"the store in {self._file!r} is damaged: it lacks a table; it was left as it is")
        _enable_wal(connection, self._file)


def _is_new(connection: Connection) -> bool:
    ((application,),) = connection.execute("PRAGMA application_id").fetchall()
    ((objects,),) = connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    return (application, objects) == (0, 0)


def _enable_wal(connection: Connection, file: str) -> None:
    ((mode,),) = connection.execute("PRAGMA journal_mode=WAL").fetchall()
    if mode != b"wal":
        msg = f"{file!r} cannot keep a write-ahead log where it is: the store must be a file on a local disk"
        raise StoreError(msg)


@lru_cache(1024)
def _key_and_checksum(path: Path) -> tuple[bytes, int]:
    """The key of a path and the key's checksum."""
    key = _path_key(path)
    return key, zlib.crc32(key)


def _path_key(path: Path) -> bytes:
    """Unique key of a path and prefix of its descendants' keys: UTF-8 segments, each ending in an unescaped NUL."""
    return b"".join(segment.encode("utf-8", "surrogatepass").replace(b"\0", b"\0\xff") + b"\0" for segment in path)


def _subtree_range(path: Path) -> tuple[bytes, bytes]:
    """Half-open key range of a path and its descendants; 0xFF is above every segment, as UTF-8 never uses it."""
    return _path_key(path), _path_key(path) + b"\xff"


def _decode_paths(joined: bytes, count: int) -> list[Path]:
    """Decode `count` keys joined by 0xFE to paths.

    Raises:
        ValueError: One of them is not a key.
    """
    keys = joined[:-1].split(b"\0\xfe") if count else []
    if len(keys) != count or joined[-1:] != b"\0"[:count]:
        raise ValueError("a key without an end")
    if b"\0\xff" not in joined:
        return [tuple(str(key, "utf-8", "surrogatepass").split("\0")) for key in keys]
    return [
        tuple(str(each.replace(b"\0\xff", b"\0"), "utf-8", "surrogatepass") for each in re.split(rb"\0(?!\xff)", key))
        for key in keys
    ]
