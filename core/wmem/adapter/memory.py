"""A memory for an adapter: the caller's own, or one opened from a URL on first use."""

from typing import TypeAlias

from wmem.agent import AgentMemory, AsyncAgentMemory, aopen, open  # noqa: A004  # `wmem.open` under its own name
from wmem.engine.store import check_url
from wmem.errors import InvalidInputError
from wmem.fork import new_renewed_lock
from wmem.tokens.counter import Counter

Memory: TypeAlias = AgentMemory | AsyncAgentMemory


class LazyMemory:
    """One memory with its sync and its async face.

    Args:
        memory: An open memory, which the caller closes, or a URL.
        agent_id: The agent that owns it; required with a URL, checked otherwise.
        counter: Counts tokens; only with a URL, since an open memory has its own.

    Raises:
        InvalidInputError: An unknown URL, no agent, another agent than the memory's, or a counter for an open memory.
    """

    def __init__(self, memory: Memory | str, agent_id: str | None, counter: Counter | None = None) -> None:
        if isinstance(memory, str):
            memory = check_url(memory)
            if not isinstance(agent_id, str) or not agent_id.strip():
                raise InvalidInputError(f"whose memory is {memory!r}? pass agent_id; there is no default one")
        elif not isinstance(memory, AgentMemory | AsyncAgentMemory):
            raise InvalidInputError(f"expected a URL or an open memory, not {type(memory).__name__!r}")
        elif agent_id is not None and agent_id != memory.agent_id:
            raise InvalidInputError(f"the memory is that of agent {memory.agent_id!r}, not of {agent_id!r}")
        elif counter is not None:
            raise InvalidInputError("an open memory counts with its own counter; pass counter to wmem.open instead")
        self.given = None if isinstance(memory, str) else memory
        """The caller's own memory; None where a URL was given."""
        self._url = memory if isinstance(memory, str) else memory.url
        self._agent_id = agent_id or ""
        self._counter = counter
        self._lock = new_renewed_lock()
        self._opened: Memory | None = None

    @property
    def url(self) -> str:
        """The memory's URL; once it was opened, one that is valid in any working directory."""
        return self._url

    def memory(self) -> AgentMemory:
        """The memory's sync face."""
        memory = self.given or self._opened
        if memory is None:
            opened = open(self._url, agent_id=self._agent_id, counter=self._counter)
            if (memory := self._keep_first(opened)) is not opened:
                opened.close()
        return _to_sync(memory)

    async def amemory(self) -> AsyncAgentMemory:
        """The memory's async face."""
        memory = self.given or self._opened
        if memory is None:
            opened = await aopen(self._url, agent_id=self._agent_id, counter=self._counter)
            if (memory := self._keep_first(opened)) is not opened:
                await opened.close()
        return _to_async(memory)

    def _keep_first(self, memory: Memory) -> Memory:
        """The memory that was opened first, if threads raced: this one, or another's."""
        with self._lock:
            kept = self._opened = self._opened or memory
            self._url = kept.url
        return kept

    def close(self) -> None:
        """Close the memory if it was opened here; the next use opens it again."""
        if (own := self._take_opened()) is not None:
            _to_sync(own).close()

    async def aclose(self) -> None:
        """See `close`."""
        if (own := self._take_opened()) is not None:
            await _to_async(own).close()

    def _take_opened(self) -> Memory | None:
        with self._lock:
            own, self._opened = self._opened, None
        return own


def _to_sync(memory: Memory) -> AgentMemory:
    return memory if isinstance(memory, AgentMemory) else memory.sync()


def _to_async(memory: Memory) -> AsyncAgentMemory:
    return memory.aio() if isinstance(memory, AgentMemory) else memory
