"""The memory of one agent, over the scopes of one store."""

from wmem.agent.memory import AgentMemory, AsyncAgentMemory, aopen, open  # noqa: A004  # `wmem.open` reads well

__all__ = ["AgentMemory", "AsyncAgentMemory", "aopen", "open"]
