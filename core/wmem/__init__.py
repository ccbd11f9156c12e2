"""wmem: working memory for LLM agents."""

from wmem.agent import AgentMemory, AsyncAgentMemory, aopen, open  # noqa: A004  # `wmem.open` reads well
from wmem.errors import (
    AlreadyPromotedError,
    BudgetError,
    CapacityError,
    ConflictError,
    CorruptionError,
    DisposedError,
    ExpiredError,
    FeatureNotEnabledError,
    InvalidInputError,
    MissingExtraError,
    NotFoundError,
    SerializationError,
    StoreError,
    UnknownOutcomeError,
    WmemError,
)
from wmem.model.context import Context
from wmem.model.item import MemoryItem
from wmem.model.message import Message, Native, Part, ToolCall
from wmem.policy import Policy
from wmem.scope import AsyncScope, Scope, ScopeView

__all__ = [
    "AgentMemory",
    "AlreadyPromotedError",
    "AsyncAgentMemory",
    "AsyncScope",
    "BudgetError",
    "CapacityError",
    "ConflictError",
    "Context",
    "CorruptionError",
    "DisposedError",
    "ExpiredError",
    "FeatureNotEnabledError",
    "InvalidInputError",
    "MemoryItem",
    "Message",
    "MissingExtraError",
    "Native",
    "NotFoundError",
    "Part",
    "Policy",
    "Scope",
    "ScopeView",
    "SerializationError",
    "StoreError",
    "ToolCall",
    "UnknownOutcomeError",
    "WmemError",
    "aopen",
    "open",
]
