"""Consolidation of long-term memory: the jobs of `AgentMemory.maintain` beside its cleanup."""
