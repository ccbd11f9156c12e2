"""One SQLite file for all threads of this process and of its children, with typed errors.

Writers of one process share a lock; between processes they retry after short random
waits, because SQLite's own waits grow to a tenth of a second and let a busy writer starve
the others.

A signal's handler may raise between any two steps of Python, but not within one call of a
C function. So whatever is taken is taken inside a ``try`` whose ``finally`` begins with the
one call that gives it back, and no context manager written in Python stands in between.
"""

import os
import random
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from wmem.errors import ConflictError, StoreError
from wmem.journal.fork_guard import fork_guard
from wmem.journal.sqlite_files import (
    Connection,
    TrackedConnection,
    close_all,
    create_file,
    identify,
    is_busy,
    lock_error,
    raise_typed,
)
from wmem.journal.sqlite_maintenance import VACUUM_MAX_BYTES, Due, copy_into, truncate_log, vacuum_file

R = TypeVar("R")

_MAX_IDLE_CONNECTIONS = 16  # idle connections kept for later readers
_PAUSE_MIN_S, _PAUSE_MAX_S = 0.0005, 0.010


class Database:
    """The connections to `file`, which is made with mode 0600 in directories of mode 0700.

    It stays the file that was opened: when another one has its name, or none, every call
    raises `StoreError`.

    Args:
        wait_s: Seconds a call waits for another writer before it raises `ConflictError`.
        durable: Whether a commit waits until the disk has it, so that not even a power loss undoes it.
        prepare: Creates or checks the tables after opening; its connection is outside any transaction.

    Raises:
        StoreError: The file cannot be made or opened.
        CorruptionError: It is not a database, or damaged.
    """

    def __init__(self, file: str, *, wait_s: float, durable: bool, prepare: Callable[[Connection], None]) -> None:
        self.file = os.path.realpath(file)
        self._wait_s = wait_s
        self._synchronous = "FULL" if durable else "NORMAL"
        self._connections: weakref.WeakSet[TrackedConnection] = weakref.WeakSet()
        self._writer_lock = threading.Lock()
        self._writer: TrackedConnection | None = None
        self._idle: list[TrackedConnection] = []
        self._generation = object()
        """Replaced at every `close`: a connection from before it is closed when it is returned."""
        self._due: Due = "nothing"
        create_file(self.file)
        self._identity = identify(self.file)
        fork_guard.add_owner(self)
        self._guard(partial(self._open, prepare))

    def read(self, work: Callable[[Connection], R]) -> R:
        """The result of `work` with a connection outside any transaction, for reading only.

        Raises:
            ConflictError: The file was locked for `wait_s` seconds.
            CorruptionError: It is not a database, or damaged.
            StoreError: Another file has its name, or none; or anything else.
        """
        return self._guard(partial(self._read, work))

    def write(self, work: Callable[[Connection], R]) -> R:
        """The result of `work` in a write transaction, committed at its end and rolled back on an exception.

        Raises:
            ConflictError: Other writers held the file for `wait_s` seconds; nothing was changed.
            CorruptionError: See `read`.
            StoreError: Another file has its name, or none: what was written will not be read. Or
                anything else; nothing was changed.
        """
        return self._guard(partial(self._write, work))

    def vacuum(self, *, max_bytes: int | None = None) -> Sequence[str]:
        """See `vacuum_file`; returns what still keeps deleted bytes."""
        self._due = "file"  # until it is done
        remaining, self._due = self._guard(
            lambda: self._use_new_connection(
                lambda connection: vacuum_file(connection, self.file, self._wait_s, max_bytes=max_bytes)
            )
        )
        return remaining

    def vacuum_if_due(self) -> None:
        """Do what a purge left, for the file was large or in use, or the disk full; where that fails, it stays due."""
        with suppress(StoreError, ConflictError):  # whoever purged was told that bytes remain
            if self._due == "log":
                # Without waiting: whoever reads may do so for long.
                if self._guard(lambda: self._use_new_connection(truncate_log, wait_s=0)):
                    self._due = "nothing"
            elif self._due == "file":
                self.vacuum(max_bytes=VACUUM_MAX_BYTES)

    def copy_into(self, file: str) -> None:
        """Write all that is committed into a new file of mode 0600, as of one instant; others may go on writing."""
        self._guard(lambda: self._use_new_connection(lambda connection: copy_into(connection, file)))

    def is_current(self) -> bool:
        """Whether the file that was opened still has its name."""
        return identify(self.file) == self._identity

    def close(self) -> None:
        """Close every connection, those in use when their calls end; the next use reconnects."""
        if not fork_guard.is_refusing:  # its connections are the parent's: they stay as they are
            self._guard(self._close)

    def disconnect(self) -> None:
        """See `ConnectionOwner`."""
        self._writer = None
        self._idle.clear()
        close_all(self._connections)

    def _guard(self, work: Callable[[], R]) -> R:
        """Call `work` while no fork is under way, and translate errors of SQLite."""
        token = object()
        try:
            fork_guard.enter(token)
            return work()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as exc:
            raise_typed(exc, self.file, self._wait_s)
            raise
        finally:
            fork_guard.leave(token, None)

    def _read(self, work: Callable[[Connection], R]) -> R:
        generation = self._generation
        connection: TrackedConnection | None = None
        try:
            connection = self._take_idle() or self._connect(self._wait_s)
            self._check_file()
            result = work(connection)
        except BaseException:
            if connection is not None:
                try:
                    if connection.in_transaction:
                        connection.rollback()
                finally:
                    connection.close()
            raise
        if generation is self._generation and len(self._idle) < _MAX_IDLE_CONNECTIONS:
            self._idle.append(connection)
        else:
            connection.close()
        return result

    def _write(self, work: Callable[[Connection], R]) -> R:
        deadline = time.monotonic() + self._wait_s
        held: list[bool] = []
        try:
            # One call takes the lock and notes it: no signal comes between.
            held.extend(map(self._writer_lock.acquire, (True,), (self._wait_s,)))
            if not held[0]:
                raise lock_error(self.file, self._wait_s)
            return self._transact(work, deadline)
        finally:
            if held and held[0]:
                self._writer_lock.release()

    def _transact(self, work: Callable[[Connection], R], deadline: float) -> R:
        """See `write`. The caller holds the writer lock."""
        generation = self._generation
        committed = False
        try:
            connection = _retry_while_busy(self._begin, deadline)
            self._check_file()
            result = work(connection)
            connection.execute("COMMIT")
            # A log that was taken away since is read by nobody: the commit must not be acknowledged.
            if identify(self.file + "-wal") != connection.log:
                raise self._replacement_error()
            committed = True
            return result
        finally:
            if not committed or generation is not self._generation:
                writer = self._writer
                try:
                    if writer is not None and writer.in_transaction:
                        writer.rollback()
                finally:
                    self._writer = None
                    if writer is not None:
                        writer.close()

    def _begin(self) -> TrackedConnection:
        """The write connection, inside a new transaction. The caller holds the writer lock."""
        if self._writer is None:
            self._writer = self._connect(0)
        self._writer.execute("BEGIN IMMEDIATE")
        if self._writer.log is None:
            self._writer.log = identify(self.file + "-wal")
        return self._writer

    def _open(self, prepare: Callable[[Connection], None]) -> None:
        def open_writer() -> None:
            connection = self._connect(0)
            try:
                prepare(connection)
            except BaseException:
                if connection.in_transaction:
                    connection.rollback()
                connection.close()
                raise
            self._writer = connection

        _retry_while_busy(open_writer, time.monotonic() + self._wait_s)

    def _close(self) -> None:
        self._generation = object()
        held: list[bool] = []
        try:
            held.extend(map(self._writer_lock.acquire, (True,), (self._wait_s,)))
            if held[0] and self._writer is not None:
                writer, self._writer = self._writer, None
                writer.close()
        finally:
            if held and held[0]:
                self._writer_lock.release()
        while (idle := self._take_idle()) is not None:
            idle.close()

    def _use_new_connection(self, work: Callable[[Connection], R], wait_s: float | None = None) -> R:
        connection: TrackedConnection | None = None
        try:
            connection = self._connect(self._wait_s if wait_s is None else wait_s)
            self._check_file()
            return work(connection)
        finally:
            if connection is not None:
                connection.close()

    def _take_idle(self) -> TrackedConnection | None:
        try:
            return self._idle.pop()
        except IndexError:  # checking first would race with other threads
            return None

    def _connect(self, wait_s: float) -> TrackedConnection:
        self._check_file()  # again when it is used: nothing foreign is opened, but for a moment
        connection = TrackedConnection(self.file, wait_s, self._connections)
        try:
            connection.execute(f"PRAGMA synchronous={self._synchronous}")
            connection.execute("PRAGMA secure_delete=ON")
            connection.execute("PRAGMA trusted_schema=OFF")
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_file(self) -> None:
        """Raise `StoreError` unless the file that was opened still has its name."""
        if identify(self.file) != self._identity:
            raise self._replacement_error()

    def _replacement_error(self) -> StoreError:
        return StoreError(
            f"the store in {self.file!r} was removed, moved or replaced while it was open: "
            "close every memory of it in this process and open it again, to read what is there now"
        )


def _retry_while_busy(step: Callable[[], R], deadline: float) -> R:
    """Call `step`; while another process locks the file, retry after short random waits until `deadline`."""
    longest = _PAUSE_MIN_S
    while True:
        try:
            return step()
        except sqlite3.OperationalError as exc:
            if not is_busy(exc) or time.monotonic() > deadline:
                raise
        time.sleep(random.uniform(0, longest))  # noqa: S311  # spreads writers, not cryptographic
        longest = min(2 * longest, _PAUSE_MAX_S)
