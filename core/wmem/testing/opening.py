"""Memories of one store for a test: opened in its colour, on its clock, and closed at its end."""

import inspect
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

import wmem
from wmem.store import _registry
from wmem.testing.connect import is_async, let_go
from wmem.text.tokens import EstimateCounter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wmem.testing.calls import Call
    from wmem.testing.connect import Connect

__all__ = ["NOON", "Clock", "Opening"]

NOON = 1_764_288_000.0


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


class Opening:
    """Opens memories of one store in one colour, and closes what is still open at the end.

    Args:
        options: What `wmem.open` is given beside the URL, the clock and a counter.
        connect: For a journal of one's own: what connects to it, once for each process there seems to be.

    Attributes:
        journals: The connections to a journal of one's own, this process's own first.
    """

    def __init__(
        self,
        url: str,
        options: Mapping[str, Any],
        call: "Call",
        colour: str,
        clock: Clock,
        *,
        connect: "Connect | None" = None,
    ) -> None:
        self.url = url
        self._options = options
        self._call = call
        self._open: Any = wmem.open if colour == "sync" else wmem.aopen
        self._colour = colour
        self._clock = clock
        self._connect = connect
        self.journals: list[Any] = []
        self._opened: list[wmem.AgentMemory] = []

    def __call__(self, agent_id: str = "agent", **options: Any) -> wmem.AgentMemory:
        """An agent's memory on the engine that this process has for the store; in the async colour its twin."""
        return self.at(self.url, agent_id, **options)

    def at(self, url: str, agent_id: str = "agent", **options: Any) -> wmem.AgentMemory:
        """The same at another URL."""
        given = {"clock": self._clock, "counter": EstimateCounter(), **self._options, **options}
        if self._connect is not None:
            given.setdefault("client", self.journals[0] if self.journals else self._connected(self._connect))
        memory: wmem.AgentMemory = self._call(self._open, url, agent_id=agent_id, **given)
        self._opened.append(memory)
        return memory

    def elsewhere(self, agent_id: str = "agent", **options: Any) -> wmem.AgentMemory:
        """The same store as another process has it: through an engine and replicas of its own."""
        with _apart():
            if self._connect is None:
                return self(agent_id, **options)
            if not self.journals:
                self._connected(self._connect)
            return self(agent_id, client=self._connected(self._connect), **options)

    def _connected(self, connect: "Connect") -> Any:
        """Another connection to the journal; a test in the colour that it has not is skipped."""
        journal = self._call(connect)
        if self._colour == "sync" and (inspect.iscoroutine(journal) or is_async(journal)):
            if inspect.iscoroutine(journal):
                journal.close()
            pytest.skip("the journal is for coroutines")
        self.journals.append(journal)
        return journal

    def plain(self, scope: wmem.Scope) -> wmem.Scope:
        """The face of a scope that needs no loop, for functions that the scope itself calls."""
        if self.journals and is_async(self.journals[0]):
            pytest.skip("the journal is for coroutines")
        return scope if isinstance(scope, wmem.Scope) else scope.sync()

    def close(self) -> None:
        """Close every memory that is still open, the newest first, and the connections made for them."""
        for memory in reversed(self._opened):
            self._call(memory.close)
        for journal in {id(journal): journal for journal in self.journals}.values():
            let_go(journal, self._call)


@contextmanager
def _apart() -> "Iterator[None]":
    """As in a process that has no store open yet."""
    here = dict(_registry.stores)
    _registry.stores.clear()
    try:
        yield
    finally:
        _registry.stores.clear()
        _registry.stores.update(here)
