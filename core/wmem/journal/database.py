"""One SQLite file for all threads of this process and of its children, with typed errors.

Writers of one process take turns at a lock of the process; between processes they ask
again after short random waits, for SQLite's own waits grow to a tenth of a second and
let whoever never rests starve the others.
"""

import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from sqlite3 import Connection, IntegrityError
from typing import TypeVar
from urllib.parse import quote

from wmem.errors import ConflictError, CorruptionError, StoreError
from wmem.journal.gate import Gate, watch_forks

__all__ = ["Connection", "Database", "IntegrityError", "scrubbed", "typed_errors"]

R = TypeVar("R")

_IDLE_MAX = 16  # connections kept for readers to come
_PAUSE_MIN_S, _PAUSE_MAX_S = 0.0005, 0.010
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_SCRUB_MAX_BYTES = 64 * 1024 * 1024  # rewriting more would hold other writers up for longer than they wait


class Database:
    """The connections to `file`, which is made with mode 0600 in directories of mode 0700.

    Args:
        wait_s: Seconds a call waits for another writer before it raises `ConflictError`.
        prepare: Brings a file that was just opened into shape, with a connection outside any transaction.

    Raises:
        StoreError: The file cannot be made or opened.
        CorruptionError: It is no database, or damaged.
    """

    def __init__(self, file: str, *, wait_s: float, prepare: Callable[[Connection], None]) -> None:
        self.file = os.path.abspath(file)  # noqa: PTH100  # links stay as they are; SQLite follows them itself
        self.gate = Gate()
        self._wait_s = wait_s
        self._turn = threading.Lock()
        self._writer: Connection | None = None
        self._idle: list[Connection] = []
        self._life = object()
        """Changes with every `close`: a connection of an earlier life is closed when it comes back."""
        _make(self.file)

        def prepared() -> None:
            connection = self._connected(0)
            try:
                prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._writer = connection

        with typed_errors(self.file, wait_s):
            _asked_again(prepared, time.monotonic() + wait_s)
        watch_forks(self)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection outside any transaction, for reading only.

        Raises:
            ConflictError: The file was locked for `wait_s` seconds.
            CorruptionError: It is no database, or damaged.
            StoreError: Anything else.
        """
        with self.gate:
            life = self._life
            connection = self._taken()
            try:
                if connection is None:
                    connection = self._connected(self._wait_s)
                yield connection
            except BaseException as exc:
                if connection is not None:
                    connection.close()  # ends whatever it was at
                _retell(exc, self.file, self._wait_s)
                raise
            if life is self._life and len(self._idle) < _IDLE_MAX:
                self._idle.append(connection)
            else:
                connection.close()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A connection inside a transaction, which is committed at the end and undone by an exception.

        Raises:
            ConflictError: Other writers held the file for `wait_s` seconds; nothing was changed.
            CorruptionError: See `reading`.
            StoreError: Anything else; nothing was changed.
        """
        with self.gate:
            deadline = time.monotonic() + self._wait_s
            if not self._turn.acquire(timeout=self._wait_s):
                raise _locked(self.file, self._wait_s)
            try:
                connection = _asked_again(self._begun, deadline)
                yield connection
                connection.execute("COMMIT")
            except BaseException as exc:
                if self._writer is not None:
                    self._writer.close()  # undoes what was begun, whatever state it is in
                    self._writer = None
                _retell(exc, self.file, self._wait_s)
                raise
            finally:
                self._turn.release()

    def close(self) -> None:
        """Close every connection, those in use when their calls end; the next use connects again."""
        with self.gate:
            self.disconnect()

    def disconnect(self) -> bool:
        """See `close`; for whoever has shut the gate. None is left open."""
        self._life = object()
        with self._turn:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
        while True:
            try:
                self._idle.pop().close()
            except IndexError:
                return False

    def scrub(self) -> Sequence[str]:
        """See `scrubbed`."""
        with self.gate:
            return scrubbed(self.file, self._wait_s)

    def _taken(self) -> Connection | None:
        try:
            return self._idle.pop()
        except IndexError:  # asking first would be two steps, and another thread between them
            return None

    def _begun(self) -> Connection:
        """The writer's connection inside a new transaction. Under its lock."""
        if self._writer is None:
            self._writer = self._connected(0)
        self._writer.execute("BEGIN IMMEDIATE")
        return self._writer

    def _connected(self, wait_s: float) -> Connection:
        connection = _connected(self.file, wait_s)
        try:
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA secure_delete=ON")
            connection.execute("PRAGMA trusted_schema=OFF")
        except BaseException:
            connection.close()
            raise
        return connection


@contextmanager
def typed_errors(file: str, wait_s: float) -> Iterator[None]:
    """Raise what SQLite says of `file` as an error of wmem."""
    try:
        yield
    except (sqlite3.DatabaseError, UnicodeDecodeError, OSError) as exc:
        _retell(exc, file, wait_s)
        raise


def scrubbed(file: str, wait_s: float) -> Sequence[str]:
    """Leave nothing of deleted rows in a file with a write-ahead log; what keeps some is told in sentences.

    Deletion overwrites a row where it lies. But when SQLite moved it from page to page
    before, what it left in the page stays there, and the log keeps pages as they were.
    So the file is written anew, and the log is cut off.
    """
    with typed_errors(file, wait_s), closing(_connected(file, wait_s)) as connection:
        left = []
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute("PRAGMA temp_store=MEMORY")  # nothing may appear in another file
        size = connection.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()[
            0
        ]
        if size > _SCRUB_MAX_BYTES:
            left.append(
                f"{file!r} holds {size} bytes, too many to be written anew while others write: fragments of deleted "
                "records may remain in its pages until you run VACUUM on it"
            )
        else:
            try:
                connection.execute("VACUUM")
            except sqlite3.OperationalError as exc:
                if _code(exc) not in _BUSY:
                    raise
                left.append(f"{file!r} was in use by another writer for {wait_s} s: purge it again when it is quiet")
        busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if busy:
            left.append(
                f"{file + '-wal'!r} keeps deleted records while another process reads or writes: "
                "purge again when it is done, or close every process that has the store open"
            )
        return left


def _asked_again(step: Callable[[], R], deadline: float) -> R:
    """What `step` gives; while another process holds the file, again after short random waits until `deadline`."""
    longest = _PAUSE_MIN_S
    while True:
        try:
            return step()
        except sqlite3.OperationalError as exc:
            if _code(exc) not in _BUSY or time.monotonic() > deadline:
                raise
        time.sleep(random.uniform(0, longest))  # noqa: S311  # spreads writers, hides nothing
        longest = min(2 * longest, _PAUSE_MAX_S)


def _retell(exc: BaseException, file: str, wait_s: float) -> None:
    """Raise what SQLite or the system says of `file` as an error of wmem."""
    if isinstance(exc, sqlite3.DatabaseError) and _code(exc) in _BUSY:
        raise _locked(file, wait_s) from exc
    if isinstance(exc, sqlite3.DatabaseError) and _code(exc) in _DAMAGED:
        msg = f"the store in {file!r} is damaged: {exc}"
        raise CorruptionError(msg) from exc
    if isinstance(exc, UnicodeDecodeError):  # SQLite's message quotes the damage, and the driver takes it for text
        msg = f"the store in {file!r} is damaged: it holds what is no text where names should be"
        raise CorruptionError(msg) from exc
    if isinstance(exc, (sqlite3.DatabaseError, OSError)):
        msg = f"the store in {file!r} failed, nothing was changed: {exc}"
        raise StoreError(msg) from exc


def _connected(file: str, wait_s: float) -> Connection:
    # A URI, for only it can say that a file which was taken away is not to be made anew.
    place = f"file:{quote(file)}?mode=rw"
    # Any thread may use a connection, one at a time; SQLite itself is built for that.
    connection = sqlite3.connect(place, timeout=wait_s, isolation_level=None, check_same_thread=False, uri=True)
    connection.text_factory = bytes  # text that is none must not fail before it can be told as damage
    return connection


def _code(exc: sqlite3.Error) -> int:
    """SQLite's primary code; the module's own complaints have none."""
    return getattr(exc, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def _locked(file: str, wait_s: float) -> ConflictError:
    return ConflictError(f"{file!r} was locked by other writers for {wait_s} s; try again")


def _make(file: str) -> None:
    """Make an empty file, readable by nobody else, unless there is one."""
    try:
        missing = []
        for directory in Path(file).parents:
            if directory.exists():
                break
            missing.append(directory)
        for directory in reversed(missing):
            directory.mkdir(mode=0o700, exist_ok=True)
        with suppress(FileExistsError):
            # Never opened when it is there: closing it would drop this process's locks on it.
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as exc:
        msg = f"cannot make the file {file!r}: {exc.strerror or exc}"
        raise StoreError(msg) from exc
