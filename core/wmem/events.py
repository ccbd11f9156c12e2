"""Changes of a scope's state, by name, as listeners and `AgentMemory.changes` deliver them inside an `Event`.

Two of these names stand for something else elsewhere: `wmem.Erased` is the result of an
erasure, and `wmem.observe.ScopeDisposed` the event for those who follow entries alone.
"""

from wmem.engine.events import Listener
from wmem.model.change import (
    Cleared,
    Decided,
    DecisionKind,
    Erased,
    Event,
    ItemEvicted,
    ItemExpired,
    ItemPromoted,
    ItemPut,
    ItemRemoved,
    ItemTouched,
    MessagesRestored,
    MessagesWithdrawn,
    PolicyChanged,
    Resynced,
    RowPlace,
    ScopeDisposed,
    ScopeMerged,
    ScopeOpened,
    StepAdvanced,
    TurnEnded,
    TurnTraced,
)
from wmem.model.change import VisibleChange as Change
from wmem.model.row import Row

__all__ = [
    "Change",
    "Cleared",
    "Decided",
    "DecisionKind",
    "Erased",
    "Event",
    "ItemEvicted",
    "ItemExpired",
    "ItemPromoted",
    "ItemPut",
    "ItemRemoved",
    "ItemTouched",
    "Listener",
    "MessagesRestored",
    "MessagesWithdrawn",
    "PolicyChanged",
    "Resynced",
    "Row",
    "RowPlace",
    "ScopeDisposed",
    "ScopeMerged",
    "ScopeOpened",
    "StepAdvanced",
    "TurnEnded",
    "TurnTraced",
]
