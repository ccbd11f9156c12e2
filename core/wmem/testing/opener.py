"""Opens the memories of a test, sync or async, on its clock, and closes them at its end."""

import inspect
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

import wmem
from wmem.engine.store import _registry
from wmem.testing.connect import close_connection, is_async
from wmem.tokens.estimate import EstimateCounter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wmem.testing.calls import Call
    from wmem.testing.connect import Connect

__all__ = ["NOON", "Clock", "MemoryOpener"]

NOON = 1_764_288_000.0


class Clock:
    """A clock that stands still until it is advanced."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Advance the clock."""
        self.now += seconds


class MemoryOpener:
    """Opens memories of one store, sync or async, and closes those still open at the end.

    Args:
        options: Options of `wmem.open` besides the URL, the clock and a counter.
        connect: For a custom journal: opens a connection, called once for each simulated process.

    Attributes:
        journals: The connections to a custom journal, this process's own first.
    """

    def __init__(
        self,
        url: str,
        options: Mapping[str, Any],
        call: "Call",
        mode: str,
        clock: Clock,
        *,
        connect: "Connect | None" = None,
    ) -> None:
        self.url = url
        self._options = options
        self._call = call
        self._open: Any = wmem.open if mode == "sync" else wmem.aopen
        self._mode = mode
        self._clock = clock
        self._connect = connect
        self.journals: list[Any] = []
        self._memories: list[wmem.AgentMemory] = []

    def __call__(self, agent_id: str = "agent", **options: Any) -> wmem.AgentMemory:
        """An agent's memory on this process's engine for the store; an async one in async tests."""
        return self.open_url(self.url, agent_id, **options)

    def open_url(self, url: str, agent_id: str = "agent", **options: Any) -> wmem.AgentMemory:
        """The same at another URL."""
        given = {"clock": self._clock, "counter": EstimateCounter(), **self._options, **options}
        if self._connect is not None:
            given.setdefault("client", self.journals[0] if self.journals else self._connect_journal(self._connect))
        memory: wmem.AgentMemory = self._call(self._open, url, agent_id=agent_id, **given)
        self._memories.append(memory)
        return memory

    def in_other_process(self, agent_id: str = "agent", **options: Any) -> wmem.AgentMemory:
        """An agent's memory as in another process: with an engine and replicas of its own."""
        with _without_open_stores():
            if self._connect is None:
                return self(agent_id, **options)
            if not self.journals:
                self._connect_journal(self._connect)
            return self(agent_id, client=self._connect_journal(self._connect), **options)

    def _connect_journal(self, connect: "Connect") -> Any:
        """Another connection to the journal; skips sync tests of an async journal."""
        journal = self._call(connect)
        if self._mode == "sync" and (inspect.iscoroutine(journal) or is_async(journal)):
            if inspect.iscoroutine(journal):
                journal.close()
            pytest.skip("the journal is for coroutines")
        self.journals.append(journal)
        return journal

    def to_sync(self, scope: wmem.Scope) -> wmem.Scope:
        """The sync face of a scope, for functions that the scope itself calls."""
        if self.journals and is_async(self.journals[0]):
            pytest.skip("the journal is for coroutines")
        return scope if isinstance(scope, wmem.Scope) else scope.sync()

    def close(self) -> None:
        """Close every memory that is still open, newest first, and their connections."""
        for memory in reversed(self._memories):
            self._call(memory.close)
        for journal in {id(journal): journal for journal in self.journals}.values():
            close_connection(journal, self._call)


@contextmanager
def _without_open_stores() -> "Iterator[None]":
    """Simulate a process that has no store open yet."""
    here = dict(_registry.stores)
    _registry.stores.clear()
    try:
        yield
    finally:
        _registry.stores.clear()
        _registry.stores.update(here)
