"""SQLite's files: made private, opened without being made anew, told from their replacements, errors translated."""

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from sqlite3 import Connection as Connection  # noqa: PLC0414  # for the modules beside it, too
from sqlite3 import IntegrityError as IntegrityError  # noqa: PLC0414
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from wmem.errors import ConflictError, CorruptionError, StoreError

if TYPE_CHECKING:
    import weakref

BUSY_CODES = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class FileIdentity(NamedTuple):
    """What a file is, under whatever name."""

    device: int
    inode: int


def identify(file: str) -> FileIdentity | None:
    """The identity of what has this name now; None when nothing has it, or nothing that can be seen."""
    try:
        # A symbolic link is not followed: one in the place of the file names another place for its log.
        status = os.lstat(file)
    except OSError:
        return None
    return FileIdentity(status.st_dev, status.st_ino)


class TrackedConnection(Connection):
    """A connection that is in its owner's set from before it opens until it is gone, whatever interrupts its making.

    Args:
        file: Opened, never made.
        wait_s: Seconds SQLite waits for another connection's lock.
        connections: The owner's set.
    """

    def __init__(self, file: str, wait_s: float, connections: "weakref.WeakSet[TrackedConnection]") -> None:
        connections.add(self)
        self.log: FileIdentity | None = None
        """The write-ahead log that it writes to."""
        super().__init__(
            f"file:{quote(file)}?mode=rw",  # only a URI's mode=rw prevents SQLite from recreating a deleted file
            timeout=wait_s,
            isolation_level=None,
            check_same_thread=False,  # any thread may use a connection, one at a time; SQLite supports that
            uri=True,
        )
        self.text_factory = bytes  # invalid UTF-8 must not fail before it can be reported as damage


def close_all(connections: "weakref.WeakSet[TrackedConnection]") -> None:
    """Close every connection that still exists."""
    for connection in list(connections):
        with suppress(sqlite3.ProgrammingError):  # it was interrupted before it opened
            connection.close()


def create_file(file: str) -> None:
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


def is_busy(exc: sqlite3.Error) -> bool:
    """Whether another connection's lock is the reason."""
    return _result_code(exc) in BUSY_CODES


def raise_typed(exc: sqlite3.DatabaseError | UnicodeDecodeError, file: str, wait_s: float) -> None:
    """Raise the error of wmem for an error of SQLite."""
    if isinstance(exc, UnicodeDecodeError):  # the driver decodes SQLite's message, which quotes damaged bytes
        msg = f"the store in {file!r} is damaged: it holds what is no text where names should be"
        raise CorruptionError(msg) from exc
    if is_busy(exc):
        raise lock_error(file, wait_s) from exc
    if _result_code(exc) in _DAMAGE_CODES:
        raise CorruptionError(f"the store in {file!r} is damaged: {exc}") from exc
    raise StoreError(f"the store in {file!r} failed, nothing was changed: {exc}") from exc


def lock_error(file: str, wait_s: float) -> ConflictError:
    """The error of a caller that waited in vain."""
    return ConflictError(f"{file!r} was locked by other writers for {wait_s} s; try again")


def _result_code(exc: sqlite3.Error) -> int:
    """SQLite's primary result code; SQLITE_ERROR for errors raised by the `sqlite3` module itself."""
    return getattr(exc, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
