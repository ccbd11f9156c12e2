"""A memory for an adapter: the caller's own, or one opened from a URL on first use."""

import threading
from typing import Protocol, TypeAlias

import wmem
from wmem.errors import InvalidInputError

__all__ = ["Counter", "LazyMemory", "Memory"]

Memory: TypeAlias = wmem.AgentMemory | wmem.AsyncAgentMemory


class Counter(Protocol):
    """A token counter that `wmem.open` accepts."""

    @property
    def name(self) -> str:
        """Cache key of its counts: two counters of one name must count alike."""
        ...

    def __call__(self, text: str, /) -> int: ...


class LazyMemory:
    """One memory with its sync and its async face.

    Args:
        memory: An open memory, which the caller closes, or a URL.
        agent_id: The agent that owns it; required with a URL, checked otherwise.
        counter: Counts tokens; only with a URL, since an open memory has its own.

    Raises:
        InvalidInputError: No agent, another agent than the memory's, or a counter for an open memory.
    """

    def __init__(self, memory: Memory | str, agent_id: str | None, counter: Counter | None = None) -> None:
        self._lock = threading.Lock()
        self._opened_memory: Memory | None = None
        if isinstance(memory, str):
            if not isinstance(agent_id, str) or not agent_id.strip():
                msg = f"whose memory is {memory!r}? pass agent_id; there is no default one"
                raise InvalidInputError(msg)
            self._agent_id = agent_id
        elif not isinstance(memory, wmem.AgentMemory | wmem.AsyncAgentMemory):
            msg = f"expected a URL or an open memory, not {type(memory).__name__!r}"
            raise InvalidInputError(msg)
        elif agent_id is not None and agent_id != memory.agent_id:
            msg = f"the memory is that of agent {memory.agent_id!r}, not of {agent_id!r}"
            raise InvalidInputError(msg)
        elif counter is not None:
            msg = "an open memory counts with its own counter; pass counter to wmem.open instead"
            raise InvalidInputError(msg)
        self._source = memory
        self._counter = counter

    def memory(self) -> wmem.AgentMemory:
        """The memory's sync face."""
        if isinstance(self._source, str):
            with self._lock:
                if self._opened_memory is None:
                    self._opened_memory = wmem.open(self._source, agent_id=self._agent_id, counter=self._counter)
                return _to_sync(self._opened_memory)
        return _to_sync(self._source)

    async def amemory(self) -> wmem.AsyncAgentMemory:
        """The memory's async face."""
        if not isinstance(self._source, str):
            return _to_async(self._source)
        if self._opened_memory is None:
            opened = await wmem.aopen(self._source, agent_id=self._agent_id, counter=self._counter)
            with self._lock:
                late = self._opened_memory is not None
                self._opened_memory = self._opened_memory or opened
            if late:
                await opened.close()
        return _to_async(self._opened_memory)

    def close(self) -> None:
        """Close the memory if it was opened here; one that was passed in stays open."""
        with self._lock:
            own, self._opened_memory = self._opened_memory, None
        if own is not None:
            _to_sync(own).close()

    async def aclose(self) -> None:
        """See `close`."""
        with self._lock:
            own, self._opened_memory = self._opened_memory, None
        if own is not None:
            await _to_async(own).close()


def _to_sync(memory: Memory) -> wmem.AgentMemory:
    return memory if isinstance(memory, wmem.AgentMemory) else memory.sync()


def _to_async(memory: Memory) -> wmem.AsyncAgentMemory:
    return memory.aio() if isinstance(memory, wmem.AgentMemory) else memory
