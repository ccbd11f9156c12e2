"""Typed events of entries and scopes, and OpenTelemetry metrics.

Subscribe to events with ``memory.subscribe(wmem.observe.entry_events(listener))``.
Metrics go to the meter provider that the process had set when the memory was opened;
without one, nothing is measured.
"""

from wmem.observe.events import (
    EntriesCleared,
    EntryEvent,
    EntryRemoved,
    EntrySet,
    ScopeCreated,
    ScopeDisposed,
    entry_events,
    to_entry_event,
)

__all__ = [
    "EntriesCleared",
    "EntryEvent",
    "EntryRemoved",
    "EntrySet",
    "ScopeCreated",
    "ScopeDisposed",
    "entry_events",
    "to_entry_event",
]
