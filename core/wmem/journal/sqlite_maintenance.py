"""Whole SQLite files: vacuumed so that nothing deleted remains, and copied while others write."""

import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from wmem.errors import InvalidInputError, StoreError
from wmem.journal.sqlite_files import Connection, create_file, is_busy

_VACUUM_NOW_MAX_BYTES = 64 * 1024 * 1024  # an erasure that vacuums more would keep its caller waiting
VACUUM_MAX_BYTES = 256 * 1024 * 1024  # vacuuming more would block other writers for longer than they wait


Due: TypeAlias = Literal["nothing", "log", "file"]
"""What of a file maintenance has still to rid of deleted bytes: its write-ahead log alone, or all of it."""


class Vacuumed(NamedTuple):
    """What became of the deleted bytes of a file.

    Attributes:
        remaining: A sentence for each place that still keeps some.
        due: What is left to maintenance.
    """

    remaining: Sequence[str]
    due: Due


def vacuum_file(connection: Connection, file: str, wait_s: float, *, max_bytes: int | None = None) -> Vacuumed:
    """Vacuum a file and truncate its write-ahead log, so that no bytes of deleted rows remain.

    Deletion overwrites a row in place. But copies remain in pages that SQLite moved it from,
    and in the log.

    Args:
        max_bytes: A larger file is not vacuumed; by default what takes a fraction of a second.
    """
    remaining: list[str] = []
    due: Due = "nothing"
    max_bytes = _VACUUM_NOW_MAX_BYTES if max_bytes is None else max_bytes
    connection.execute("PRAGMA temp_store=MEMORY")  # no copies in temporary files
    sizes = connection.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
    (size,) = sizes.fetchone()
    if size > max_bytes:
        due = "file" if size <= VACUUM_MAX_BYTES else "nothing"
        done = "you run VACUUM on it" if due == "nothing" else "`maintain()` of this process is done with it"
        remaining.append(
            f"{file!r} holds {size} bytes, too many to be written anew while others write: fragments of deleted "
            f"records may remain in its pages until {done}"
        )
    else:
        try:
            connection.execute("VACUUM")
        except sqlite3.OperationalError as exc:
            if not is_busy(exc):
                raise
            due = "file"
            remaining.append(f"{file!r} was in use by another writer for {wait_s} s: purge it again when it is quiet")
    if not truncate_log(connection):
        due = "log" if due == "nothing" else due
        remaining.append(
            f"{file + '-wal'!r} keeps deleted records while another process reads or writes: "
            "purge again when it is done, or close every process that has the store open"
        )
    return Vacuumed(remaining, due)


def truncate_log(connection: Connection) -> bool:
    """Take all that a write-ahead log holds into its file, and truncate it; false where others use it."""
    return not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]


def copy_into(connection: Connection, file: str) -> None:
    """Write what the connection's file holds at this instant into a new file of mode 0600; others may go on writing."""
    create_file(file)
    connection.execute("VACUUM INTO ?", (file,))
    _sync(file)


def make_beside(target: str, make: Callable[[str], None]) -> None:
    """Have `make` write a file or directory under a name beside `target`, and rename it when it is complete.

    Raises:
        InvalidInputError: Something has the name already.
        StoreError: It cannot be written; nothing is left.
    """
    place = Path(target)
    partial = place.with_name(f".{place.name}.{secrets.token_hex(4)}.partial")
    try:
        _check_free(place)
        make(str(partial))
        _check_free(place)
        partial.rename(place)
        _sync(str(place.parent))
    except OSError as exc:
        raise StoreError(f"the backup {target!r} cannot be written: {exc.strerror or exc}") from exc
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        with suppress(OSError):
            partial.unlink()


def _check_free(place: Path) -> None:
    if os.path.lexists(place):
        raise InvalidInputError(f"there is something at {str(place)!r} already: a backup replaces nothing")


def _sync(name: str) -> None:
    """Have the system write a file or a directory to the disk."""
    descriptor = os.open(name, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
