"""What wmem tells of itself: typed events of entries and scopes, and metrics.

Events reach whoever subscribes: ``memory.subscribe(wmem.observe.entry_events(listener))``.
Metrics go, by OpenTelemetry, to the meter provider that the process had set when the
memory was opened; where there is none, nothing is measured.
"""

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
