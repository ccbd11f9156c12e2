"""Typed events of entries and scopes, made from the engine's events.

`to_entry_event` converts one event; `entry_events` wraps a listener::

    memory.subscribe(wmem.observe.entry_events(listener))

Source: scoped key-value document, "MediatR Events".
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from wmem.model import change as changes
from wmem.model.checks import check_listener
from wmem.model.history import Path, to_scope_id
from wmem.model.row import Row
from wmem.model.values import decode_type_name, load_json

_RESERVED_PREFIX = "~"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrySet:
    """A value was stored under a key, by a write or by a merge.

    Attributes:
        type_name: The class of the value: bare for builtins, with its module otherwise.
        at: When it was set, UTC epoch seconds; a merge keeps the child's instant.
        scope_name: None in the agent's own scope.
        scope_id: The path as one text; None in the agent's own scope.
        is_update: Whether another value was under the key.
    """

    agent_id: str
    key: str
    type_name: str
    at: float
    scope_name: str | None = None
    scope_id: str | None = None
    is_update: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRemoved:
    """An entry was removed, expired or was evicted.

    Attributes:
        at: When it was removed, UTC epoch seconds; for an expired entry, when it expired. None
            when the record does not have it.
        scope_name: None in the agent's own scope.
        scope_id: The path as one text; None in the agent's own scope.
        reason: Whether it was removed by a call, by expiry or by eviction.
    """

    agent_id: str
    key: str
    at: float | None
    scope_name: str | None = None
    scope_id: str | None = None
    reason: Literal["removed", "expired", "evicted"] = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeCreated:
    """A scope below the agent's own was created, by its first write.

    Attributes:
        parent_scope_id: The parent's path as one text; None when it is the agent's own scope.
        at: UTC epoch seconds.
    """

    agent_id: str
    scope_name: str
    scope_id: str
    parent_scope_id: str | None
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeDisposed:
    """A scope was disposed with all its descendants, which have no events of their own.

    Attributes:
        scope_name: None for the agent's own scope.
        scope_id: The path as one text; None for the agent's own scope.
        entries_cleared: How many of its own entries were visible.
        at: UTC epoch seconds.
    """

    agent_id: str
    scope_name: str | None
    scope_id: str | None
    entries_cleared: int
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EntriesCleared:
    """A scope's entries were cleared; none of them has an event of its own.

    Attributes:
        entries_cleared: How many were visible; when the whole scope was cleared, its items
            and messages count too.
        at: UTC epoch seconds.
        scope_name: None in the agent's own scope.
        scope_id: The path as one text; None in the agent's own scope.
    """

    agent_id: str
    entries_cleared: int
    at: float
    scope_name: str | None = None
    scope_id: str | None = None


EntryEvent: TypeAlias = EntrySet | EntryRemoved | ScopeCreated | ScopeDisposed | EntriesCleared


def to_entry_event(event: changes.Event) -> EntryEvent | None:
    """Convert an event of the engine to one of entries and scopes; None when it concerns neither.

    There are none for items and messages, reserved scopes, fetches and promotions, and for
    what a reader jumped over (`Resynced`): subscribe to the engine's events for those.
    """
    path, change, before = event.path, event.change, event.before
    if any(segment.startswith(_RESERVED_PREFIX) for segment in path):
        return None
    agent_id, name, scope_id = path[0], _scope_name(path), _scope_id(path)
    match change:
        case changes.ItemPut(Row(key=str(key)) as row):
            return EntrySet(
                agent_id=agent_id,
                key=key,
                type_name=_entry_type_name(row),
                at=row.updated_at,
                scope_name=name,
                scope_id=scope_id,
                is_update=before is not None and before.visible(row.updated_at),
            )
        case changes.ItemRemoved() | changes.ItemExpired() | changes.ItemEvicted():
            return _to_entry_removed(path, change, before)
        case changes.ScopeOpened(at=at) if name is not None and scope_id is not None:
            return ScopeCreated(
                agent_id=agent_id, scope_name=name, scope_id=scope_id, parent_scope_id=_scope_id(path[:-1]), at=at
            )
        case changes.ScopeDisposed(entries, at):
            return ScopeDisposed(agent_id=agent_id, scope_name=name, scope_id=scope_id, entries_cleared=entries, at=at)
        case changes.Cleared("entries" | "all", count, at):
            return EntriesCleared(agent_id=agent_id, entries_cleared=count, at=at, scope_name=name, scope_id=scope_id)
        case _:
            return None


def _to_entry_removed(
    path: Path, change: changes.ItemRemoved | changes.ItemExpired | changes.ItemEvicted, before: Row | None
) -> EntryRemoved | None:
    if before is None or before.key is None:
        return None
    at = before.expires_at if isinstance(change, changes.ItemExpired) else change.at
    reason: Literal["removed", "expired", "evicted"] = "removed"
    if isinstance(change, changes.ItemEvicted):
        reason = "evicted"
    elif isinstance(change, changes.ItemExpired) or (at is not None and before.expired(at)):
        # It had expired, and was invisible, before it was removed.
        at, reason = before.expires_at, "expired"
    return EntryRemoved(
        agent_id=path[0], key=before.key, at=at, scope_name=_scope_name(path), scope_id=_scope_id(path), reason=reason
    )


def entry_events(listener: Callable[[EntryEvent], None]) -> Callable[[changes.Event], None]:
    """A listener for `memory.subscribe` that passes on what `to_entry_event` returns, unless None.

    Raises:
        InvalidInputError: The listener is not a plain function.
    """
    check_listener(listener)

    def listen(event: changes.Event) -> None:
        if (converted := to_entry_event(event)) is not None:
            listener(converted)

    return listen


def _scope_name(path: Path) -> str | None:
    return path[-1] if len(path) > 1 else None


def _scope_id(path: Path) -> str | None:
    return to_scope_id(path) if len(path) > 1 else None


def _entry_type_name(row: Row) -> str:
    """The class of an entry's value: stored, unless its JSON shows it."""
    stored = None if row.rest is None else load_json(row.rest).get("type_name")
    return str(stored) if stored is not None else decode_type_name(row.content)
