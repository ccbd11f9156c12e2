"""Every backend in both colours: what a test says of one memory holds for all of them.

A backend joins with one line in `BACKENDS`, and one in `OPTIONS` if it is opened with more
than its URL. A test is written against the sync face; `call` runs the same-named method of
whichever face it was given.
"""

import asyncio
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import pytest

import wmem
from wmem.store import _registry
from wmem.text.tokens import EstimateCounter

P = ParamSpec("P")
R = TypeVar("R")

NOON = 1_764_288_000.0

BACKENDS: Mapping[str, Callable[[Path], str] | str] = {
    "memory": lambda place: f"memory://{place.parent.name}-{place.name}",
    "disk": lambda place: f"disk://{place}/store",
}
"""By backend: what writes the URL of an empty store from a fresh directory, or the name of a fixture that gives it."""

OPTIONS: Mapping[str, Mapping[str, Any]] = {}
"""By backend: what `wmem.open` is given beside the URL."""


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


class Call:
    """Runs a method of either face to its result; `loop` is None for the sync one."""

    def __init__(self, loop: asyncio.Runner | None) -> None:
        self._loop = loop

    def __call__(self, method: Callable[P, R], *args: P.args, **named: P.kwargs) -> R:
        return self._settled(method(*args, **named))

    def _settled(self, made: R) -> R:
        if self._loop is not None and inspect.isawaitable(made):
            return cast("R", self._loop.run(_awaited(made)))
        return made

    def together(self, calls: Sequence[Callable[[], R]]) -> list[R]:
        """Run all at once, in threads or as tasks of one loop."""
        if self._loop is not None:

            async def all_of_them() -> list[Any]:
                return await asyncio.gather(*(_awaited(call()) for call in calls))

            return self._loop.run(all_of_them())
        with ThreadPoolExecutor(len(calls)) as threads:
            return list(threads.map(lambda call: call(), calls))

    @contextmanager
    def within(self, manager: AbstractContextManager[R]) -> Iterator[R]:
        """Enter and leave a context manager of either colour."""
        if self._loop is None:
            with manager as entered:
                yield entered
            return
        twin: Any = manager
        entered = self._settled(twin.__aenter__())
        try:
            yield entered
        except BaseException as exc:
            if not self._settled(twin.__aexit__(type(exc), exc, exc.__traceback__)):
                raise
        else:
            self._settled(twin.__aexit__(None, None, None))


async def _awaited(made: Any) -> Any:
    return await made


class Opening:
    """Opens memories of one store in one colour, and closes what is still open at the end."""

    def __init__(self, url: str, options: Mapping[str, Any], call: Call, colour: str, clock: Clock) -> None:
        self.url = url
        self._options = options
        self._call = call
        self._open: Any = wmem.open if colour == "sync" else wmem.aopen
        self._clock = clock
        self._opened: list[wmem.AgentMemory] = []

    def __call__(self, agent_id: str = "agent", **options: Any) -> wmem.AgentMemory:
        """An agent's memory on the engine that this process has for the store."""
        given = {"clock": self._clock, "counter": EstimateCounter(), **self._options, **options}
        memory: wmem.AgentMemory = self._call(self._open, self.url, agent_id=agent_id, **given)
        self._opened.append(memory)
        return memory

    def elsewhere(self, agent_id: str = "agent", **options: Any) -> wmem.AgentMemory:
        """The same store as another process has it: through an engine and replicas of its own."""
        here = dict(_registry.stores)
        _registry.stores.clear()
        try:
            return self(agent_id, **options)
        finally:
            _registry.stores.clear()
            _registry.stores.update(here)

    def close(self) -> None:
        for memory in reversed(self._opened):
            self._call(memory.close)


@pytest.fixture(params=("sync", "async"))
def colour(request: pytest.FixtureRequest) -> str:
    """Threads or coroutines."""
    return str(request.param)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Each backend by name."""
    return str(request.param)


@pytest.fixture
def url(backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store of the backend."""
    made = BACKENDS[backend]
    return str(request.getfixturevalue(made)) if isinstance(made, str) else made(tmp_path)


@pytest.fixture
def options(backend: str) -> Mapping[str, Any]:
    """What the store is opened with beside its URL."""
    return OPTIONS.get(backend, {})


@pytest.fixture
def clock() -> Clock:
    """The clock of every memory that a test opens."""
    return Clock()


@pytest.fixture
def call(colour: str) -> Iterator[Call]:
    """Runs methods in the colour of the test."""
    if colour == "sync":
        yield Call(None)
        return
    with asyncio.Runner() as loop:
        yield Call(loop)


@pytest.fixture
def opening(url: str, options: Mapping[str, Any], call: Call, colour: str, clock: Clock) -> Iterator[Opening]:
    """Opens memories of the test's store."""
    made = Opening(url, options, call, colour, clock)
    yield made
    made.close()


@pytest.fixture
def memory(opening: Opening) -> wmem.AgentMemory:
    """One agent's memory; in the async colour its twin."""
    return opening()


@pytest.fixture
def session(memory: wmem.AgentMemory) -> wmem.Scope:
    """A session in which nothing is stored yet."""
    return memory.scope("session")
