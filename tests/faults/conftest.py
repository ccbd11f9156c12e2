"""Stores in a directory, other processes, and hands that reach into a store's file."""

import functools
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

import pytest

from tests.faults.siblings import run_together
from tests.matrix import PLAIN, SHARED, make_url
from tests.unmeasured import COVERAGE_VARIABLES
from wmem.journal.disk import DiskJournal
from wmem.journal.sqlite import SqliteJournal

HERE = Path(__file__).parent
PATIENCE_S = 240.0  # for a child process on a busy machine


class Script(Protocol):
    """Runs Python text in another process and returns what it printed; a failure fails the test."""

    def __call__(self, code: str, *arguments: str) -> str: ...


class Spawn(Protocol):
    """Starts Python text in another process, with pipes; it is ended with the test."""

    def __call__(self, code: str, *arguments: str, pass_fds: Sequence[int] = ()) -> subprocess.Popen[str]: ...


Key: TypeAlias = str | tuple[str, int]
"""Names one row of a store's file."""


class Rows(Protocol):
    """The rows of a store's file, as somebody with another tool sees them.

    A scope is named by the JSON of its path.
    """

    backend: ClassVar[str]
    file: Path

    def keys(self) -> list[Key]:
        """Every row."""
        ...

    def head(self, name: str) -> Key:
        """Where a scope stands."""
        ...

    def checkpoint(self, name: str) -> list[Key]:
        """A scope's checkpoint, if it has one."""
        ...

    def records(self, name: str) -> list[Key]:
        """A scope's records, oldest first."""
        ...

    def value(self, key: Key) -> bytes: ...
    def put(self, key: Key, value: object) -> None: ...
    def remove(self, key: Key) -> None: ...
    def record_id(self, key: Key) -> int: ...
    def payload(self, key: Key) -> bytes:
        """What the codec made, of a record."""
        ...

    def forge(self, key: Key, payload: bytes) -> None:
        """Another payload under a record's own id."""
        ...

    def age(self, version: int) -> None:
        """Say that the whole store was written in another format."""
        ...


@contextmanager
def connected(file: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        yield connection


class DiskRows:
    """diskcache's table: a record's value begins with its id and its chain."""

    backend: ClassVar[str] = "disk"

    def __init__(self, directory: Path) -> None:
        self.file = directory / "cache.db"

    def keys(self) -> list[Key]:
        return self.beginning("")

    def beginning(self, prefix: str) -> list[Key]:
        """The keys that begin so, in the order they were written."""
        with connected(self.file) as connection:
            found = connection.execute("SELECT key FROM Cache ORDER BY rowid").fetchall()
        return [str(key) for (key,) in found if str(key).startswith(prefix)]

    def head(self, name: str) -> Key:
        return f"m{name}"

    def checkpoint(self, name: str) -> list[Key]:
        return self.beginning(f"s{name}")

    def records(self, name: str) -> list[Key]:
        return self.beginning(f"r{name}")

    def value(self, key: Key) -> bytes:
        with connected(self.file) as connection:
            ((value,),) = connection.execute("SELECT value FROM Cache WHERE key = ?", (key,)).fetchall()
        return bytes(value)

    def values(self, prefix: str) -> dict[str, object]:
        """What is stored under the keys that begin so, of whatever type."""
        with connected(self.file) as connection:
            found = connection.execute("SELECT key, value FROM Cache").fetchall()
        return {str(key): value for key, value in found if str(key).startswith(prefix)}

    def put(self, key: Key, value: object) -> None:
        self.columns(key, value=value)

    def columns(self, key: Key, /, **columns: object) -> None:
        """Overwrite columns of one row."""
        told = ", ".join(f"{column} = ?" for column in columns)
        with connected(self.file) as connection:
            changed = connection.execute(f"UPDATE Cache SET {told} WHERE key = ?", (*columns.values(), key)).rowcount
        assert changed == 1, f"no row {key!r} to tamper with"

    def remove(self, key: Key) -> None:
        with connected(self.file) as connection:
            assert connection.execute("DELETE FROM Cache WHERE key = ?", (key,)).rowcount == 1

    def record_id(self, key: Key) -> int:
        return int.from_bytes(self.value(key)[:8], "big")

    def payload(self, key: Key) -> bytes:
        return self.value(key)[16:]

    def forge(self, key: Key, payload: bytes) -> None:
        self.put(key, self.value(key)[:16] + payload)

    def age(self, version: int) -> None:
        self.put("wmem-format", b"%d" % version)

    def setting(self, key: str, value: object) -> None:
        """Write one of diskcache's own settings."""
        with connected(self.file) as connection:
            connection.execute("INSERT OR REPLACE INTO Settings VALUES (?, ?)", (key, value))


class SqliteRows:
    """Tables `scope` and `record`: a key is a table and the number of a row."""

    backend: ClassVar[str] = "sqlite"
    _VALUES: ClassVar[Mapping[str, tuple[str, str]]] = {"scope": ("number", "head"), "record": ("place", "payload")}

    def __init__(self, directory: Path) -> None:
        self.file = directory / "store.db"
        self._numbers: dict[str, int] = {}

    def keys(self) -> list[Key]:
        with connected(self.file) as connection:
            return [
                (table, number)
                for table, (column, _) in self._VALUES.items()
                for (number,) in connection.execute(f"SELECT {column} FROM {table}").fetchall()
            ]

    def _number(self, name: str) -> int:
        if name not in self._numbers:  # a row that a test removes is still known
            path = b"".join(segment.encode() + b"\0" for segment in json.loads(name))
            with connected(self.file) as connection:
                found = connection.execute("SELECT number FROM scope WHERE path = ?", (path,)).fetchone()
            assert found, f"no scope {name}"
            self._numbers[name] = found[0]
        return self._numbers[name]

    def head(self, name: str) -> Key:
        return ("scope", self._number(name))

    def checkpoint(self, name: str) -> list[Key]:
        return self._records(name, "id = 0")

    def records(self, name: str) -> list[Key]:
        return self._records(name, "id <> 0")

    def _records(self, name: str, which: str) -> list[Key]:
        number = self._number(name)
        with connected(self.file) as connection:
            found = connection.execute(
                f"SELECT place FROM record WHERE place >= ? AND place < ? AND {which} ORDER BY place",
                (number << 32, (number + 1) << 32),
            ).fetchall()
        return [("record", place) for (place,) in found]

    def value(self, key: Key) -> bytes:
        number, column = self._VALUES[key[0]]
        with connected(self.file) as connection:
            ((value,),) = connection.execute(f"SELECT {column} FROM {key[0]} WHERE {number} = ?", (key[1],)).fetchall()
        return bytes(value)

    def put(self, key: Key, value: object) -> None:
        self.columns(key, **{self._VALUES[key[0]][1]: value})

    def columns(self, key: Key, /, **columns: object) -> None:
        """Overwrite columns of one row."""
        told = ", ".join(f"{column} = ?" for column in columns)
        number = self._VALUES[key[0]][0]
        with connected(self.file) as connection:
            changed = connection.execute(
                f"UPDATE {key[0]} SET {told} WHERE {number} = ?", (*columns.values(), key[1])
            ).rowcount
        assert changed == 1, f"no row {key!r} to tamper with"

    def remove(self, key: Key) -> None:
        with connected(self.file) as connection:
            told = f"DELETE FROM {key[0]} WHERE {self._VALUES[key[0]][0]} = ?"
            assert connection.execute(told, (key[1],)).rowcount == 1

    def record_id(self, key: Key) -> int:
        with connected(self.file) as connection:
            ((found,),) = connection.execute("SELECT id FROM record WHERE place = ?", (key[1],)).fetchall()
        return int(found)

    def payload(self, key: Key) -> bytes:
        return self.value(key)

    def forge(self, key: Key, payload: bytes) -> None:
        self.put(key, payload)

    def undecodable(self, key: Key) -> None:
        """Put text there that is none."""
        with connected(self.file) as connection:
            connection.execute("UPDATE record SET payload = CAST(x'fffe' AS TEXT) WHERE place = ?", (key[1],))

    def age(self, version: int) -> None:
        with connected(self.file) as connection:
            connection.execute(f"PRAGMA user_version={version}")


class Kind(NamedTuple):
    """A backend of one file."""

    url: Callable[[Path], str]
    rows: Callable[[Path], Rows]
    journal: Callable[[Path, float], Any]
    """From the directory, and the seconds that a call waits for another writer."""


FILES: Mapping[str, Kind] = {
    "disk": Kind(
        lambda place: f"disk://{place}", DiskRows, lambda place, wait_s: DiskJournal(str(place), wait_s=wait_s)
    ),
    "sqlite": Kind(
        lambda place: f"sqlite://{place}/store.db",
        SqliteRows,
        lambda place, wait_s: SqliteJournal(f"{place}/store.db", wait_s=wait_s),
    ),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All that goes wrong here takes its time."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(params=FILES)
def backend(request: pytest.FixtureRequest) -> str:
    """Each backend that keeps a file."""
    return str(request.param)


@pytest.fixture
def kind(backend: str) -> Kind:
    return FILES[backend]


@pytest.fixture
def directory() -> Iterator[Path]:
    """Where a store in a file goes: on a disk, which is what such a test is about, and `tmp_path` may lie in memory."""
    with tempfile.TemporaryDirectory() as place:
        yield Path(place) / "store"


@pytest.fixture
def url(kind: Kind, directory: Path) -> str:
    """An empty store in a file."""
    return kind.url(directory)


@pytest.fixture
def rows(kind: Kind, directory: Path) -> Rows:
    return kind.rows(directory)


@pytest.fixture(params=SHARED)
def shared_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store that several processes can open."""
    return make_url(request.param, request, tmp_path)


@pytest.fixture(params=PLAIN)
def any_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store of each backend."""
    return make_url(request.param, request, tmp_path)


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    started: list[subprocess.Popen[str]] = []

    def start(code: str, *arguments: str, pass_fds: Sequence[int] = ()) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(code), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
            pass_fds=pass_fds,
            env={**os.environ, "PYTHONUTF8": "1"},
        )
        started.append(child)
        return child

    yield start
    for child in started:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # what it forked holds its pipes open
        child.communicate()


def _listen(child: subprocess.Popen[str]) -> tuple[str, str]:
    """What a child prints until it ends, on stdout and stderr; of one that hangs, the stacks of its threads, too."""
    try:
        return child.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGABRT)  # what it forked may be what hangs
        return child.communicate()


@pytest.fixture
def script(spawn: Spawn) -> Script:
    def run(code: str, *arguments: str) -> str:
        child = spawn(code, *arguments)
        printed, complaint = _listen(child)
        assert child.returncode == 0, complaint
        return printed

    return run


@pytest.fixture
def unmeasured_script(script: Script, monkeypatch: pytest.MonkeyPatch) -> Script:
    """For texts whose signal handler raises anywhere; see `tests.unmeasured`."""
    for name in COVERAGE_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return script


@pytest.fixture
def together(spawn: Spawn) -> Callable[[str, list[tuple[str, ...]]], list[str]]:
    """Run one text in several processes at once, each with its own arguments: see `tests.faults.siblings`."""
    return functools.partial(run_together, spawn, _listen)
