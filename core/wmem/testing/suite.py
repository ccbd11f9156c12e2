"""`FacetSuite`: the fixtures of every suite over a memory, which run each test sync and async."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import pytest

import wmem
from wmem.testing.calls import Call
from wmem.testing.connect import Connect
from wmem.testing.opener import NOON, Clock, MemoryOpener
from wmem.testing.store_bytes import read_journal_bytes, read_store_bytes

__all__ = ["NOON", "Call", "Clock", "FacetSuite", "MemoryOpener", "ToSync"]

ToSync: TypeAlias = Callable[[wmem.Scope], wmem.Scope]


class FacetSuite:
    """The fixtures of a suite; a subclass overrides `url`, or `connect` for a custom journal.

    Every test runs sync and async. It is written against the sync face; `call` runs the
    same-named method of the face that the test was given.
    """

    @pytest.fixture(params=("sync", "async"))
    def mode(self, request: pytest.FixtureRequest) -> str:
        """``"sync"`` or ``"async"``."""
        return str(request.param)

    @pytest.fixture
    def connect(self) -> Connect | None:
        """Opens a new connection to a custom journal each time; None for a URL."""
        return None

    @pytest.fixture
    def url(self, connect: Connect | None) -> str:
        """URL of an empty store."""
        if connect is None:
            pytest.fail("a suite needs a store: override the fixture `url`, or `connect`", pytrace=False)
        return "journal://"

    @pytest.fixture
    def options(self) -> Mapping[str, Any]:
        """Further options of `wmem.open`."""
        return {}

    @pytest.fixture
    def clock(self) -> Clock:
        """The clock of every memory that the test opens."""
        return Clock()

    @pytest.fixture
    def call(self, mode: str) -> Iterator[Call]:
        """Runs methods, sync or async as the test is."""
        if mode == "sync":
            yield Call(None)
            return
        with asyncio.Runner() as loop:
            yield Call(loop)

    @pytest.fixture
    def open_memory(
        self, url: str, connect: Connect | None, options: Mapping[str, Any], call: Call, clock: Clock
    ) -> Iterator[MemoryOpener]:
        """Opens memories of the store."""
        made = MemoryOpener(url, options, call, call.mode, clock, connect=connect)
        yield made
        made.close()

    @pytest.fixture
    def store_bytes(
        self, url: str, connect: Connect | None, open_memory: MemoryOpener, call: Call
    ) -> Callable[[], bytes]:
        """Reads every byte of the store; for a custom journal, unless overridden, what the port returns."""
        return (
            (lambda: read_store_bytes(url))
            if connect is None
            else lambda: read_journal_bytes(open_memory.journals[0], call)
        )

    @pytest.fixture
    def is_plaintext(self, options: Mapping[str, Any]) -> bool:
        """Whether content is readable in those bytes before it is erased: not if encrypted."""
        return not options.get("key")

    @pytest.fixture
    def to_sync(self, open_memory: MemoryOpener) -> ToSync:
        """Gives the sync face of a scope."""
        return open_memory.to_sync

    @pytest.fixture
    def memory(self, open_memory: MemoryOpener) -> wmem.AgentMemory:
        """One agent's memory; an async one in async tests."""
        return open_memory()

    @pytest.fixture
    def session(self, memory: wmem.AgentMemory) -> wmem.Scope:
        """A session in which nothing is stored yet."""
        return memory.scope("session")
