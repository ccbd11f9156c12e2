"""The memory of one agent, over the scopes of one store."""

from wmem.agent.async_memory import AsyncAgentMemory, aagents, aopen
from wmem.agent.memory import AgentMemory, agents, open  # noqa: A004  # `wmem.open` reads well
from wmem.agent.openers import Opener, register

__all__ = ["AgentMemory", "AsyncAgentMemory", "Opener", "aagents", "agents", "aopen", "open", "register"]
