"""Every backend sync and async: what a test says of one memory holds for all of them.

A backend joins with one line in `BACKENDS`, and one in `OPTIONS` if it is opened with more
than its URL. A test is written against the sync face; `call` runs the same-named method of
whichever face it was given.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import wmem
from wmem.testing import NOON, Call, Clock, MemoryOpener

__all__ = ["BACKENDS", "NOON", "OPTIONS", "Call", "Clock", "MemoryOpener", "located"]

BACKENDS: Mapping[str, Callable[[Path], str] | str] = {
    "memory": lambda place: f"memory://{place.parent.name}-{place.name}",
    "disk": lambda place: f"disk://{place}/store",
    "sqlite": lambda place: f"sqlite://{place}/store.db",
    "redis": "valkey_url",
    "disk+key": lambda place: f"disk://{place}/store",
}
"""By backend: what writes the URL of an empty store from a fresh directory, or the name of a fixture that gives it."""

OPTIONS: Mapping[str, Mapping[str, Any]] = {"disk+key": {"key": wmem.KeyRing(b"\xa5" * 32)}}
"""By backend: what `wmem.open` is given beside the URL."""


def located(backend: str, request: pytest.FixtureRequest, place: Path) -> str:
    """The URL of an empty store of a backend."""
    made = BACKENDS[backend]
    return str(request.getfixturevalue(made)) if isinstance(made, str) else made(place)


@pytest.fixture(params=("sync", "async"))
def mode(request: pytest.FixtureRequest) -> str:
    """Threads or coroutines."""
    return str(request.param)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Each backend by name."""
    return str(request.param)


@pytest.fixture
def url(backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store of the backend."""
    return located(backend, request, tmp_path)


@pytest.fixture
def options(backend: str) -> Mapping[str, Any]:
    """What the store is opened with beside its URL."""
    return OPTIONS.get(backend, {})


@pytest.fixture
def clock() -> Clock:
    """The clock of every memory that a test opens."""
    return Clock()


@pytest.fixture
def call(mode: str) -> Iterator[Call]:
    """Runs methods in the mode of the test."""
    if mode == "sync":
        yield Call(None)
        return
    with asyncio.Runner() as loop:
        yield Call(loop)


@pytest.fixture
def open_memory(url: str, options: Mapping[str, Any], call: Call, mode: str, clock: Clock) -> Iterator[MemoryOpener]:
    """Opens memories of the test's store."""
    made = MemoryOpener(url, options, call, mode, clock)
    yield made
    made.close()


@pytest.fixture
def memory(open_memory: MemoryOpener) -> wmem.AgentMemory:
    """One agent's memory; in the async mode its twin."""
    return open_memory()


@pytest.fixture
def session(memory: wmem.AgentMemory) -> wmem.Scope:
    """A session in which nothing is stored yet."""
    return memory.scope("session")
