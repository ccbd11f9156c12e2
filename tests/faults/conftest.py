"""Stores in a directory, other processes, and hands that reach into a store's file."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Protocol

import pytest

PATIENCE_S = 60.0  # for a child process on a busy machine


class Script(Protocol):
    """Runs Python text in another process and returns what it printed; a failure fails the test."""

    def __call__(self, code: str, *arguments: str) -> str: ...


class Spawn(Protocol):
    """Starts Python text in another process, with pipes; it is ended with the test."""

    def __call__(self, code: str, *arguments: str) -> subprocess.Popen[str]: ...


class Rows:
    """The rows of a store's file, as somebody with another tool sees them."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "cache.db"

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._file, isolation_level=None)) as connection:
            yield connection

    def keys(self, prefix: str) -> list[str]:
        """The keys that begin so, in the order they were written."""
        with self._connected() as connection:
            found = connection.execute("SELECT key FROM Cache ORDER BY rowid").fetchall()
        return [str(key) for (key,) in found if str(key).startswith(prefix)]

    def records(self, name: str) -> list[str]:
        """The keys of a scope's records, oldest first; `name` is the JSON of its path."""
        return self.keys(f"r{name}")

    def value(self, key: str) -> bytes:
        with self._connected() as connection:
            ((value,),) = connection.execute("SELECT value FROM Cache WHERE key = ?", (key,)).fetchall()
        return bytes(value)

    def values(self, prefix: str) -> dict[str, object]:
        """What is stored under the keys that begin so, of whatever type."""
        with self._connected() as connection:
            found = connection.execute("SELECT key, value FROM Cache").fetchall()
        return {str(key): value for key, value in found if str(key).startswith(prefix)}

    def put(self, key: str, /, **columns: object) -> None:
        """Overwrite columns of one row."""
        told = ", ".join(f"{column} = ?" for column in columns)
        with self._connected() as connection:
            changed = connection.execute(f"UPDATE Cache SET {told} WHERE key = ?", (*columns.values(), key)).rowcount
        assert changed == 1, f"no row {key!r} to tamper with"

    def remove(self, key: str) -> None:
        with self._connected() as connection:
            assert connection.execute("DELETE FROM Cache WHERE key = ?", (key,)).rowcount == 1

    def setting(self, key: str, value: object) -> None:
        """Write one of diskcache's own settings."""
        with self._connected() as connection:
            connection.execute("INSERT OR REPLACE INTO Settings VALUES (?, ?)", (key, value))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def url(directory: Path) -> str:
    return f"disk://{directory}"


@pytest.fixture
def rows(directory: Path) -> Rows:
    return Rows(directory)


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    started: list[subprocess.Popen[str]] = []

    def start(code: str, *arguments: str) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
            env={**os.environ, "PYTHONUTF8": "1"},
        )
        started.append(child)
        return child

    yield start
    for child in started:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # what it forked holds its pipes open
        child.communicate()


@pytest.fixture
def script(spawn: Spawn) -> Script:
    def run(code: str, *arguments: str) -> str:
        child = spawn(code, *arguments)
        printed, complaint = child.communicate(timeout=PATIENCE_S)
        assert child.returncode == 0, complaint
        return printed

    return run


@pytest.fixture
def together(spawn: Spawn) -> Callable[[str, list[tuple[str, ...]]], list[str]]:
    """Run one text in several processes at once, each with its own arguments.

    Each gets ready, prints a line, and goes on when it reads one: so all begin at the same moment.
    """

    def run(code: str, each: list[tuple[str, ...]]) -> list[str]:
        children = [spawn(code, *arguments) for arguments in each]
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n", child.communicate()[1]
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        printed = []
        for child in children:
            said, complaint = child.communicate(timeout=PATIENCE_S)
            assert child.returncode == 0, complaint
            printed.append(said)
        return printed

    return run
