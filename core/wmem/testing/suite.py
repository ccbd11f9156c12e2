"""What every suite over a memory shares: a store, a clock, a colour, and memories opened on it."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import pytest

import wmem
from wmem.testing.calls import Call
from wmem.testing.connect import Connect
from wmem.testing.opening import NOON, Clock, Opening
from wmem.testing.residue import residue, told

__all__ = ["NOON", "Call", "Clock", "FacetSuite", "Opening", "Plain"]

Plain: TypeAlias = Callable[[wmem.Scope], wmem.Scope]


class FacetSuite:
    """The fixtures of a suite; a subclass overrides `url`, or `connect` for a journal of its own.

    Every test runs in both colours. It is written against the sync face; `call` runs the
    same-named method of whichever face the test was given.
    """

    @pytest.fixture(params=("sync", "async"))
    def colour(self, request: pytest.FixtureRequest) -> str:
        """Threads or coroutines."""
        return str(request.param)

    @pytest.fixture
    def connect(self) -> Connect | None:
        """What connects to a journal of one's own, each time anew."""
        return None

    @pytest.fixture
    def url(self, connect: Connect | None) -> str:
        """An empty store."""
        if connect is None:
            pytest.fail("a suite needs a store: override the fixture `url`, or `connect`", pytrace=False)
        return "journal://"

    @pytest.fixture
    def options(self) -> Mapping[str, Any]:
        """What `wmem.open` is given beside the URL."""
        return {}

    @pytest.fixture
    def clock(self) -> Clock:
        """The clock of every memory that the test opens."""
        return Clock()

    @pytest.fixture
    def call(self, colour: str) -> Iterator[Call]:
        """Runs methods in the colour of the test."""
        if colour == "sync":
            yield Call(None)
            return
        with asyncio.Runner() as loop:
            yield Call(loop)

    @pytest.fixture
    def opening(
        self, url: str, connect: Connect | None, options: Mapping[str, Any], call: Call, clock: Clock
    ) -> Iterator[Opening]:
        """Opens memories of the store."""
        made = Opening(url, options, call, call.colour, clock, connect=connect)
        yield made
        made.close()

    @pytest.fixture
    def held(self, url: str, connect: Connect | None, opening: Opening, call: Call) -> Callable[[], bytes]:
        """Every byte of the store; of a journal of one's own, unless overridden, what the port tells of it."""
        return (lambda: residue(url)) if connect is None else lambda: told(opening.journals[0], call)

    @pytest.fixture
    def legible(self, options: Mapping[str, Any]) -> bool:
        """Whether content can be found in those bytes before it is erased."""
        return not options.get("key")

    @pytest.fixture
    def plain(self, opening: Opening) -> Plain:
        """The face of a scope that needs no loop."""
        return opening.plain

    @pytest.fixture
    def memory(self, opening: Opening) -> wmem.AgentMemory:
        """One agent's memory; in the async colour its twin."""
        return opening()

    @pytest.fixture
    def session(self, memory: wmem.AgentMemory) -> wmem.Scope:
        """A session in which nothing is stored yet."""
        return memory.scope("session")
