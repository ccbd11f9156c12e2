"""The fixtures of tests over a memory, in the variants of the tier: see `tests.matrix`.

A test is written against the sync face; `call` runs the same-named method of whichever face it was given.
"""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import wmem
from tests.matrix import OPTIONS, Variant, make_url
from wmem.testing import NOON, Call, Clock, MemoryOpener

__all__ = ["NOON", "Call", "Clock", "MemoryOpener"]


@pytest.fixture
def mode(variant: Variant) -> str:
    """``"sync"`` or ``"async"``."""
    return variant.mode


@pytest.fixture
def backend(variant: Variant) -> str:
    return variant.backend


@pytest.fixture
def url(backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store of the backend."""
    return make_url(backend, request, tmp_path)


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
