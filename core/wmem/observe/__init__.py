"""What wmem tells of itself: typed events of entries and scopes, and metrics."""

from wmem.observe.events import (
    EntriesCleared,
    EntryEvent,
    EntryRemoved,
    EntrySet,
    ScopeCreated,
    ScopeDisposed,
    entry_events,
    told,
)

__all__ = [
    "EntriesCleared",
    "EntryEvent",
    "EntryRemoved",
    "EntrySet",
    "ScopeCreated",
    "ScopeDisposed",
    "entry_events",
    "told",
]
