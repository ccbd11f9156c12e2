"""A memory for an adapter: the caller's own, or one opened from a URL on first use."""

import threading
from typing import Protocol, TypeAlias

import wmem
from wmem.errors import InvalidInputError

__all__ = ["Counter", "Door", "Memory"]

Memory: TypeAlias = wmem.AgentMemory | wmem.AsyncAgentMemory


class Counter(Protocol):
    """A token counter that `wmem.open` accepts."""

    @property
    def name(self) -> str:
        """Cache key of its counts: two counters of one name must count alike."""
        ...

    def __call__(self, text: str, /) -> int: ...


class Door:
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
        self._own: Memory | None = None
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
        self._given = memory
        self._counter = counter

    def memory(self) -> wmem.AgentMemory:
        """The memory's sync face."""
        if isinstance(self._given, str):
            with self._lock:
                if self._own is None:
                    self._own = wmem.open(self._given, agent_id=self._agent_id, counter=self._counter)
                return _sync(self._own)
        return _sync(self._given)

    async def amemory(self) -> wmem.AsyncAgentMemory:
        """The memory's async face."""
        if not isinstance(self._given, str):
            return _aio(self._given)
        if self._own is None:
            opened = await wmem.aopen(self._given, agent_id=self._agent_id, counter=self._counter)
            with self._lock:
                late = self._own is not None
                self._own = self._own or opened
            if late:
                await opened.close()
        return _aio(self._own)

    def close(self) -> None:
        """Close the memory if it was opened here; one that was passed in stays open."""
        with self._lock:
            own, self._own = self._own, None
        if own is not None:
            _sync(own).close()

    async def aclose(self) -> None:
        """See `close`."""
        with self._lock:
            own, self._own = self._own, None
        if own is not None:
            await _aio(own).close()


def _sync(memory: Memory) -> wmem.AgentMemory:
    return memory if isinstance(memory, wmem.AgentMemory) else memory.sync()


def _aio(memory: Memory) -> wmem.AsyncAgentMemory:
    return memory.aio() if isinstance(memory, wmem.AgentMemory) else memory
