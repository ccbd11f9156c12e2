"""Rows of a diskcache directory: bytes under text keys, inside its one SQLite file.

diskcache makes the tables and can read what is in them. The rows are read and written here,
because its transactions stay open when a signal interrupts them.
"""

import os
import time
from pathlib import Path

import diskcache

from wmem.errors import CorruptionError, StoreError
from wmem.journal.sqlite_files import Connection

_OWN_COLUMNS = [1, None, None]  # mode, filename and expiry of what was written here: the bytes in the column, for ever
_COLUMNS = "(key, raw, store_time, access_time, size, mode, value) VALUES (?, 1, ?, ?, 0, 1, ?)"


def make_directory(directory: str) -> str:
    """Make a directory with mode 0700 when it is missing, and return the name of its SQLite file.

    Raises:
        StoreError: It cannot be made.
    """
    if directory.startswith("~") or os.path.expandvars(directory) != directory:
        # diskcache expands both and would open another directory than the one created here.
        msg = f"cannot use the directory {directory!r}: '~' in front and '$' with a variable's name are expanded"
        raise StoreError(msg)
    try:
        path = Path(directory)
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if next(path.iterdir(), None) is None:
            path.chmod(0o700)
    except OSError as exc:
        raise StoreError(f"cannot make the directory {directory!r}: {exc.strerror or exc}") from exc
    return str(path / diskcache.core.DBNAME)


def make_tables(directory: str, wait_s: float) -> None:
    """Have diskcache make its tables, where they are missing.

    Raises:
        CorruptionError: Its table of settings is damaged.
    """
    try:
        diskcache.Cache(
            directory,
            timeout=wait_s,
            disk_min_file_size=2**40,
            eviction_policy="none",
            cull_limit=0,
            size_limit=2**62,
            sqlite_secure_delete=1,
        ).close()
    except (TypeError, ValueError) as exc:  # invalid rows in its table of settings
        raise CorruptionError(f"the store in {directory!r} has damaged settings: {exc}") from exc
    except OSError as exc:
        raise StoreError(f"the store in {directory!r} failed, nothing was changed: {exc}") from exc


def has_tables(connection: Connection) -> bool:
    """Whether diskcache's table of rows is there."""
    ((count,),) = connection.execute(
        "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'Cache'"
    ).fetchall()
    return bool(count)


def read_row(connection: Connection, key: str) -> bytes | None:
    """The bytes of a row; b"" for a row that was not written here, which no codec accepts as a payload."""
    query = "SELECT mode, filename, expire_time, value FROM Cache WHERE key = ? AND raw = 1"
    row = connection.execute(query, (key,)).fetchone()
    if row is None:
        return None
    *columns, value = row
    return value if columns == _OWN_COLUMNS and type(value) is bytes else b""


def write_row(connection: Connection, key: str, value: bytes) -> None:
    """Insert a row, or replace its bytes."""
    now = time.time()
    connection.execute(
        f"INSERT INTO Cache {_COLUMNS} ON CONFLICT (key, raw) DO UPDATE SET store_time = excluded.store_time, "
        "expire_time = NULL, size = 0, mode = 1, filename = NULL, value = excluded.value",
        (key, now, now, value),
    )


def add_row(connection: Connection, key: str, value: bytes) -> bool:
    """Insert a row unless there is one; whether it was inserted."""
    now = time.time()
    return connection.execute(f"INSERT OR IGNORE INTO Cache {_COLUMNS}", (key, now, now, value)).rowcount == 1


def delete_row(connection: Connection, key: str) -> None:
    """Delete a row, if there is one."""
    connection.execute("DELETE FROM Cache WHERE key = ? AND raw = 1", (key,))
