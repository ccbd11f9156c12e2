"""One SQLite file for all threads of this process and of its children, with typed errors.

Writers of one process share a lock; between processes they retry after short random
waits, because SQLite's own waits grow to a tenth of a second and let a busy writer starve
the others.
"""

import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from sqlite3 import Connection as Connection  # noqa: PLC0414  # for the journal beside it, too
from sqlite3 import IntegrityError as IntegrityError  # noqa: PLC0414
from typing import TypeVar
from urllib.parse import quote

from wmem.errors import ConflictError, CorruptionError, StoreError
from wmem.journal.fork_guard import ForkGuard, disconnect_on_fork

R = TypeVar("R")

_MAX_IDLE_CONNECTIONS = 16  # idle connections kept for later readers
_PAUSE_MIN_S, _PAUSE_MAX_S = 0.0005, 0.010
_BUSY_CODES = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_VACUUM_MAX_BYTES = 64 * 1024 * 1024  # vacuuming more would block other writers for longer than they wait


class Database:
    """The connections to `file`, which is made with mode 0600 in directories of mode 0700.

    Args:
        wait_s: Seconds a call waits for another writer before it raises `ConflictError`.
        prepare: Creates or checks the tables after opening; its connection is outside any transaction.

    Raises:
        StoreError: The file cannot be made or opened.
        CorruptionError: It is not a database, or damaged.
    """

    def __init__(self, file: str, *, wait_s: float, prepare: Callable[[Connection], None]) -> None:
        self.file = os.path.abspath(file)  # noqa: PTH100  # symbolic links are not resolved; SQLite follows them itself
        self.fork_guard = ForkGuard()
        self._wait_s = wait_s
        self._writer_lock = threading.Lock()
        self._writer: Connection | None = None
        self._idle: list[Connection] = []
        self._generation = object()
        """Replaced at every `close`: a connection from before it is closed when it is returned."""
        _create_file(self.file)

        def open_writer() -> None:
            connection = self._connect(0)
            try:
                prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._writer = connection

        with translate_errors(self.file, wait_s):
            _retry_while_busy(open_writer, time.monotonic() + wait_s)
        disconnect_on_fork(self)

    @contextmanager
    def read_connection(self) -> Iterator[Connection]:
        """A connection outside any transaction, for reading only.

        Raises:
            ConflictError: The file was locked for `wait_s` seconds.
            CorruptionError: It is not a database, or damaged.
            StoreError: Anything else.
        """
        with self.fork_guard:
            generation = self._generation
            connection = self._take_idle()
            try:
                if connection is None:
                    connection = self._connect(self._wait_s)
                yield connection
            except BaseException as exc:
                if connection is not None:
                    connection.close()  # ends any open statement or transaction
                _raise_typed(exc, self.file, self._wait_s)
                raise
            if generation is self._generation and len(self._idle) < _MAX_IDLE_CONNECTIONS:
                self._idle.append(connection)
            else:
                connection.close()

    @contextmanager
    def write_transaction(self) -> Iterator[Connection]:
        """A connection inside a write transaction, committed at the end and rolled back on an exception.

        Raises:
            ConflictError: Other writers held the file for `wait_s` seconds; nothing was changed.
            CorruptionError: See `read_connection`.
            StoreError: Anything else; nothing was changed.
        """
        with self.fork_guard:
            deadline = time.monotonic() + self._wait_s
            if not self._writer_lock.acquire(timeout=self._wait_s):
                raise _lock_error(self.file, self._wait_s)
            try:
                connection = _retry_while_busy(self._begin, deadline)
                yield connection
                connection.execute("COMMIT")
            except BaseException as exc:
                if self._writer is not None:
                    self._writer.close()  # rolls back, whatever state the connection is in
                    self._writer = None
                _raise_typed(exc, self.file, self._wait_s)
                raise
            finally:
                self._writer_lock.release()

    def close(self) -> None:
        """Close every connection, those in use when their calls end; the next use reconnects."""
        with self.fork_guard:
            self.disconnect()

    def disconnect(self) -> bool:
        """See `close`; to be called while the guard blocks. Returns False: none is left open."""
        self._generation = object()
        with self._writer_lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
        while True:
            try:
                self._idle.pop().close()
            except IndexError:
                return False

    def vacuum(self) -> Sequence[str]:
        """See `vacuum_file`."""
        with self.fork_guard:
            return vacuum_file(self.file, self._wait_s)

    def _take_idle(self) -> Connection | None:
        try:
            return self._idle.pop()
        except IndexError:  # checking first would race with other threads
            return None

    def _begin(self) -> Connection:
        """The write connection, inside a new transaction. The caller holds the writer lock."""
        if self._writer is None:
            self._writer = self._connect(0)
        self._writer.execute("BEGIN IMMEDIATE")
        return self._writer

    def _connect(self, wait_s: float) -> Connection:
        connection = _connect(self.file, wait_s)
        try:
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA secure_delete=ON")
            connection.execute("PRAGMA trusted_schema=OFF")
        except BaseException:
            connection.close()
            raise
        return connection


@contextmanager
def translate_errors(file: str, wait_s: float) -> Iterator[None]:
    """Translate errors of SQLite and the operating system about `file` to errors of wmem."""
    try:
        yield
    except (sqlite3.DatabaseError, UnicodeDecodeError, OSError) as exc:
        _raise_typed(exc, file, wait_s)
        raise


def vacuum_file(file: str, wait_s: float) -> Sequence[str]:
    """Vacuum a file and truncate its write-ahead log, so that no bytes of deleted rows remain.

    Deletion overwrites a row in place. But copies remain in pages that SQLite moved it from,
    and in the log. Returns one sentence for each place that still keeps deleted bytes.
    """
    with translate_errors(file, wait_s), closing(_connect(file, wait_s)) as connection:
        remaining = []
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute("PRAGMA temp_store=MEMORY")  # no copies in temporary files
        sizes = connection.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        (size,) = sizes.fetchone()
        if size > _VACUUM_MAX_BYTES:
            remaining.append(
                f"{file!r} holds {size} bytes, too many to be written anew while others write: fragments of deleted "
                "records may remain in its pages until you run VACUUM on it"
            )
        else:
            try:
                connection.execute("VACUUM")
            except sqlite3.OperationalError as exc:
                if _result_code(exc) not in _BUSY_CODES:
                    raise
                remaining.append(
                    f"{file!r} was in use by another writer for {wait_s} s: purge it again when it is quiet"
                )
        busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if busy:
            remaining.append(
                f"{file + '-wal'!r} keeps deleted records while another process reads or writes: "
                "purge again when it is done, or close every process that has the store open"
            )
        return remaining


def _retry_while_busy(step: Callable[[], R], deadline: float) -> R:
    """Call `step`; while another process locks the file, retry after short random waits until `deadline`."""
    longest = _PAUSE_MIN_S
    while True:
        try:
            return step()
        except sqlite3.OperationalError as exc:
            if _result_code(exc) not in _BUSY_CODES or time.monotonic() > deadline:
                raise
        time.sleep(random.uniform(0, longest))  # noqa: S311  # spreads writers, not cryptographic
        longest = min(2 * longest, _PAUSE_MAX_S)


def _raise_typed(exc: BaseException, file: str, wait_s: float) -> None:
    """Raise the error of wmem for an error of SQLite or the system; return if there is none for it."""
    if isinstance(exc, sqlite3.DatabaseError) and _result_code(exc) in _BUSY_CODES:
        raise _lock_error(file, wait_s) from exc
    if isinstance(exc, sqlite3.DatabaseError) and _result_code(exc) in _DAMAGE_CODES:
        raise CorruptionError(f"the store in {file!r} is damaged: {exc}") from exc
    if isinstance(exc, UnicodeDecodeError):  # the driver decodes SQLite's message, which quotes damaged bytes
        msg = f"the store in {file!r} is damaged: it holds what is no text where names should be"
        raise CorruptionError(msg) from exc
    if isinstance(exc, (sqlite3.DatabaseError, OSError)):
        raise StoreError(f"the store in {file!r} failed, nothing was changed: {exc}") from exc


def _connect(file: str, wait_s: float) -> Connection:
    # A URI, because only its mode=rw prevents SQLite from recreating a deleted file.
    uri = f"file:{quote(file)}?mode=rw"
    # Any thread may use a connection, one at a time; SQLite supports that.
    connection = sqlite3.connect(uri, timeout=wait_s, isolation_level=None, check_same_thread=False, uri=True)
    connection.text_factory = bytes  # invalid UTF-8 must not fail before it can be reported as damage
    return connection


def _result_code(exc: sqlite3.Error) -> int:
    """SQLite's primary result code; SQLITE_ERROR for errors raised by the `sqlite3` module itself."""
    return getattr(exc, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def _lock_error(file: str, wait_s: float) -> ConflictError:
    return ConflictError(f"{file!r} was locked by other writers for {wait_s} s; try again")


def _create_file(file: str) -> None:
    """Create an empty file with mode 0600, unless it exists."""
    try:
        missing = []
        for directory in Path(file).parents:
            if directory.exists():
                break
            missing.append(directory)
        for directory in reversed(missing):
            directory.mkdir(mode=0o700, exist_ok=True)
        with suppress(FileExistsError):
            # An existing file is never opened: closing it would drop this process's locks on it.
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as exc:
        raise StoreError(f"cannot make the file {file!r}: {exc.strerror or exc}") from exc
