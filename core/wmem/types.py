"""Names for annotations: the facets of a scope, and what the calls of wmem take and return.

Nobody calls these classes: wmem makes what it returns.
"""

from wmem.agent.openers import Opener
from wmem.agent.turns.drafts import Memorizable
from wmem.agent.types.async_face import (
    AsyncBuiltInType,
    AsyncConversationMemory,
    AsyncEpisodicMemory,
    AsyncMemoryTypes,
    AsyncSemanticMemory,
    AsyncWorkingMemory,
)
from wmem.agent.types.face import (
    BuiltInType,
    ConversationMemory,
    EpisodicMemory,
    MemoryTypes,
    SemanticMemory,
    WorkingMemory,
)
from wmem.agent.types.registry import AnyMemoryType
from wmem.agent.types.settings import TypeSettings
from wmem.agent.types.turn_pointers import ConversationTurn
from wmem.engine.records import Damage
from wmem.model.change import Decision
from wmem.model.context import Explanation, ProviderProfile
from wmem.model.episodes import Episode, Link, Transcript
from wmem.model.history import Cursor, Incarnation, Path
from wmem.model.item import ItemFields, ItemKind, Priority, Relation, Source
from wmem.model.origin import Origin
from wmem.model.part import PartKind, Role
from wmem.model.prompt import DroppedUnits, Roles
from wmem.model.recall_profile import Scoring
from wmem.model.removal import Removal
from wmem.model.results import BelowFloor, Fate, MergeCount, Placed, RecallHit, RecallKind, Shortfall, UnitReport
from wmem.model.snapshot import ClearedMemory, Restored
from wmem.model.standing import FindStandingRequests
from wmem.model.trace import (
    ConsolidationTraced,
    EvictionTraced,
    ExpiryTraced,
    ForgetTraced,
    MemorizeTraced,
    PackTraced,
    PromotionTraced,
    RecallTraced,
    RedactionTraced,
    RejectionTraced,
    RouteTraced,
    ToolCallTraced,
    TraceEvent,
)
from wmem.pack.request import NoteRole, Orphans, PromptCounter, Reasoning
from wmem.retrieval.embedder import Matrix
from wmem.rules.redaction import (
    REDACTION_KINDS,
    PresidioAnalyzer,
    PresidioResult,
    Recognizer,
    RedactionKind,
    RedactionStatus,
)
from wmem.rules.ttl import DEFAULT_TTL, DefaultTtl
from wmem.scope.context_window import ContextWindow
from wmem.scope.entries.async_face import AsyncEntries, AsyncLocalEntries
from wmem.scope.entries.face import Entries, EntriesView, EntryReads, LocalEntries
from wmem.scope.items.async_face import AsyncItems
from wmem.scope.items.face import ItemReads, Items
from wmem.scope.items.promotion import IfPromoted
from wmem.scope.items.search import Order
from wmem.scope.messages.async_face import AsyncMessages
from wmem.scope.messages.face import MessageReads, Messages
from wmem.scope.messages.flows import MessageInput
from wmem.scope.queue.async_face import AsyncQueue
from wmem.scope.queue.face import Queue, QueueReads
from wmem.scope.queue.flows import ForgetMode, SummarySpan
from wmem.scope.sources import Missing, Reason
from wmem.scope.summaries.port import SummarizerFunction

__all__ = [
    "DEFAULT_TTL",
    "REDACTION_KINDS",
    "AnyMemoryType",
    "AsyncBuiltInType",
    "AsyncConversationMemory",
    "AsyncEntries",
    "AsyncEpisodicMemory",
    "AsyncItems",
    "AsyncLocalEntries",
    "AsyncMemoryTypes",
    "AsyncMessages",
    "AsyncQueue",
    "AsyncSemanticMemory",
    "AsyncWorkingMemory",
    "BelowFloor",
    "BuiltInType",
    "ClearedMemory",
    "ConsolidationTraced",
    "ContextWindow",
    "ConversationMemory",
    "ConversationTurn",
    "Cursor",
    "Damage",
    "Decision",
    "DefaultTtl",
    "DroppedUnits",
    "Entries",
    "EntriesView",
    "EntryReads",
    "Episode",
    "EpisodicMemory",
    "EvictionTraced",
    "ExpiryTraced",
    "Explanation",
    "Fate",
    "FindStandingRequests",
    "ForgetMode",
    "ForgetTraced",
    "IfPromoted",
    "Incarnation",
    "ItemFields",
    "ItemKind",
    "ItemReads",
    "Items",
    "Link",
    "LocalEntries",
    "Matrix",
    "Memorizable",
    "MemorizeTraced",
    "MemoryTypes",
    "MergeCount",
    "MessageInput",
    "MessageReads",
    "Messages",
    "Missing",
    "NoteRole",
    "Opener",
    "Order",
    "Origin",
    "Orphans",
    "PackTraced",
    "PartKind",
    "Path",
    "Placed",
    "PresidioAnalyzer",
    "PresidioResult",
    "Priority",
    "PromotionTraced",
    "PromptCounter",
    "ProviderProfile",
    "Queue",
    "QueueReads",
    "Reason",
    "Reasoning",
    "RecallHit",
    "RecallKind",
    "RecallTraced",
    "Recognizer",
    "RedactionKind",
    "RedactionStatus",
    "RedactionTraced",
    "RejectionTraced",
    "Relation",
    "Removal",
    "Restored",
    "Role",
    "Roles",
    "RouteTraced",
    "Scoring",
    "SemanticMemory",
    "Shortfall",
    "Source",
    "SummarizerFunction",
    "SummarySpan",
    "ToolCallTraced",
    "TraceEvent",
    "Transcript",
    "TypeSettings",
    "UnitReport",
    "WorkingMemory",
]
