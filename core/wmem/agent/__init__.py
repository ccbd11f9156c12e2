"""The memory of one agent, over the scopes of one store."""

from wmem.agent.async_memory import AsyncAgentMemory, aopen
from wmem.agent.memory import AgentMemory, open  # noqa: A004  # `wmem.open` reads well
from wmem.agent.openers import Opener, register

__all__ = ["AgentMemory", "AsyncAgentMemory", "Opener", "aopen", "open", "register"]
