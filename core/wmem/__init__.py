"""wmem: working memory for LLM agents.

Names are imported lazily, on first use, as in pydantic: models take a tenth of
a second to build, and code that imports wmem only for its types need not wait.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wmem import errors, events, journal, observe, types
    from wmem.agent import AgentMemory, AsyncAgentMemory, aagents, agents, aopen, open, register  # noqa: A004  # `open` reads well
    from wmem.agent.consolidation.jobs import JobReport
    from wmem.agent.core import Changes
    from wmem.agent.maintenance import AsyncMaintenance, Maintenance, MaintenanceReport
    from wmem.agent.turns.async_face import AsyncTurn
    from wmem.agent.turns.contexts import Assembled, AssembledItem
    from wmem.agent.turns.face import Turn
    from wmem.agent.types.draft import ItemDraft
    from wmem.agent.types.protocol import AsyncMemoryType, MemoryType
    from wmem.agent.types.settings import ConversationSettings, EpisodicSettings, SemanticSettings, WorkingSettings
    from wmem.codec.keyring import KeyRing
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
        RejectedError,
        SerializationError,
        StoreError,
        TurnBudgetError,
        UnknownOutcomeError,
        WmemError,
        WrongKeyError,
    )
    from wmem.model.context import Context
    from wmem.model.features import Features
    from wmem.model.filters import Filters
    from wmem.model.fingerprint import agent_fingerprint
    from wmem.model.gate import Gate, Rejected, Route
    from wmem.model.item import MemoryItem
    from wmem.model.message import Message
    from wmem.model.part import Native, Part, ToolCall
    from wmem.model.recall_profile import RecallProfile
    from wmem.model.results import (
        BulkPromotion,
        Erased,
        Forgotten,
        Memorized,
        Promoted,
        RecallUse,
        Remembered,
        SearchResults,
        Summary,
    )
    from wmem.model.snapshot import Snapshot
    from wmem.model.standing import StandingRequest
    from wmem.model.trace import TurnTrace
    from wmem.model.turn import (
        BudgetStatus,
        Committed,
        GoalProgress,
        Routed,
        TurnBudget,
        TurnExports,
        TurnWrite,
    )
    from wmem.model.vault import MemoryVault, Vault
    from wmem.pack.render import is_note
    from wmem.policy import Capacity, Policy
    from wmem.retrieval.embedder import Embedder
    from wmem.retrieval.tuning import propose_profile
    from wmem.rules.redaction import PresidioRecognizer, Redacted, Redaction, Span
    from wmem.rules.retention import Retention
    from wmem.rules.standing import find_standing_requests
    from wmem.scope import AsyncScope, Scope, ScopeView
    from wmem.scope.replay import Replay
    from wmem.scope.stats import MemoryStats, ScopeStats
    from wmem.scope.summaries.port import Summarizer
    from wmem.scope.summaries.rolling import SessionSummary
    from wmem.tokens.bpe import TiktokenCounter
    from wmem.tokens.calibration import Calibration, Calibrations
    from wmem.tokens.counter import Counter
    from wmem.tokens.estimate import EstimateCounter, EstimateWarning

__all__ = [
    "AgentMemory",
    "AlreadyPromotedError",
    "Assembled",
    "AssembledItem",
    "AsyncAgentMemory",
    "AsyncMaintenance",
    "AsyncMemoryType",
    "AsyncScope",
    "AsyncTurn",
    "BudgetError",
    "BudgetStatus",
    "BulkPromotion",
    "Calibration",
    "Calibrations",
    "Capacity",
    "CapacityError",
    "Changes",
    "Committed",
    "ConflictError",
    "Context",
    "ConversationSettings",
    "CorruptionError",
    "Counter",
    "DisposedError",
    "Embedder",
    "EpisodicSettings",
    "Erased",
    "EstimateCounter",
    "EstimateWarning",
    "ExpiredError",
    "FeatureNotEnabledError",
    "Features",
    "Filters",
    "Forgotten",
    "Gate",
    "GoalProgress",
    "InvalidInputError",
    "ItemDraft",
    "JobReport",
    "KeyRing",
    "Maintenance",
    "MaintenanceReport",
    "Memorized",
    "MemoryItem",
    "MemoryStats",
    "MemoryType",
    "MemoryVault",
    "Message",
    "MissingExtraError",
    "Native",
    "NotFoundError",
    "Part",
    "Policy",
    "PresidioRecognizer",
    "Promoted",
    "RecallProfile",
    "RecallUse",
    "Redacted",
    "Redaction",
    "Rejected",
    "RejectedError",
    "Remembered",
    "Replay",
    "Retention",
    "Route",
    "Routed",
    "Scope",
    "ScopeStats",
    "ScopeView",
    "SearchResults",
    "SemanticSettings",
    "SerializationError",
    "SessionSummary",
    "Snapshot",
    "Span",
    "StandingRequest",
    "StoreError",
    "Summarizer",
    "Summary",
    "TiktokenCounter",
    "ToolCall",
    "Turn",
    "TurnBudget",
    "TurnBudgetError",
    "TurnExports",
    "TurnTrace",
    "TurnWrite",
    "UnknownOutcomeError",
    "Vault",
    "WmemError",
    "WorkingSettings",
    "WrongKeyError",
    "aagents",
    "agent_fingerprint",
    "agents",
    "aopen",
    "errors",
    "events",
    "find_standing_requests",
    "is_note",
    "journal",
    "observe",
    "open",
    "propose_profile",
    "register",
    "types",
]

_HOMES = {
    "wmem.agent": ("AgentMemory", "AsyncAgentMemory", "aagents", "agents", "aopen", "open", "register"),
    "wmem.agent.consolidation.jobs": ("JobReport",),
    "wmem.agent.core": ("Changes",),
    "wmem.agent.maintenance": ("AsyncMaintenance", "MaintenanceReport", "Maintenance"),
    "wmem.agent.types.draft": ("ItemDraft",),
    "wmem.agent.types.protocol": ("AsyncMemoryType", "MemoryType"),
    "wmem.agent.types.settings": ("ConversationSettings", "EpisodicSettings", "SemanticSettings", "WorkingSettings"),
    "wmem.agent.turns.contexts": ("Assembled", "AssembledItem"),
    "wmem.agent.turns.async_face": ("AsyncTurn",),
    "wmem.agent.turns.face": ("Turn",),
    "wmem.codec.keyring": ("KeyRing",),
    "wmem.model.context": ("Context",),
    "wmem.model.filters": ("Filters",),
    "wmem.model.features": ("Features",),
    "wmem.model.fingerprint": ("agent_fingerprint",),
    "wmem.model.gate": ("Gate", "Rejected", "Route"),
    "wmem.model.item": ("MemoryItem",),
    "wmem.model.message": ("Message", "Native", "Part", "ToolCall"),
    "wmem.model.results": (
        "BulkPromotion",
        "Erased",
        "Forgotten",
        "Memorized",
        "Promoted",
        "RecallUse",
        "Remembered",
        "SearchResults",
        "Summary",
    ),
    "wmem.model.recall_profile": ("RecallProfile",),
    "wmem.model.snapshot": ("Snapshot",),
    "wmem.model.standing": ("StandingRequest",),
    "wmem.model.trace": ("TurnTrace",),
    "wmem.model.turn": (
        "BudgetStatus",
        "Committed",
        "GoalProgress",
        "Routed",
        "TurnBudget",
        "TurnExports",
        "TurnWrite",
    ),
    "wmem.pack.render": ("is_note",),
    "wmem.model.vault": ("MemoryVault", "Vault"),
    "wmem.rules.retention": ("Retention",),
    "wmem.rules.redaction": ("PresidioRecognizer", "Redacted", "Redaction", "Span"),
    "wmem.rules.standing": ("find_standing_requests",),
    "wmem.policy": ("Capacity", "Policy"),
    "wmem.retrieval.tuning": ("propose_profile",),
    "wmem.scope": ("AsyncScope", "Scope", "ScopeView"),
    "wmem.scope.replay": ("Replay",),
    "wmem.scope.stats": ("MemoryStats", "ScopeStats"),
    "wmem.scope.summaries.port": ("Summarizer",),
    "wmem.scope.summaries.rolling": ("SessionSummary",),
    "wmem.tokens.calibration": ("Calibration", "Calibrations"),
    "wmem.retrieval.embedder": ("Embedder",),
    "wmem.tokens.counter": ("Counter", "EstimateCounter", "TiktokenCounter"),
    "wmem.tokens.estimate": ("EstimateWarning",),
}
_MODULES = ("errors", "events", "journal", "observe", "types")
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

# Hidden from type checkers: with it, they would accept every misspelt name.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'wmem' has no attribute {name!r}")
        if name in _MODULES:
            return importlib.import_module(f"wmem.{name}")
        value = getattr(importlib.import_module(_HOME_OF.get(name, "wmem.errors")), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
