"""Flows that change an item's lifetime (expire, extend, undelete) and its relations."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wmem.errors import InvalidInputError, NotFoundError
from wmem.flow import Flow
from wmem.model.change import Change, ItemPut
from wmem.model.checks import checked_id
from wmem.model.item import MemoryItem, rest_of
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.rules.ttl import DefaultTtl, bounded, extended, lasting, rewritten
from wmem.scope.handle import Handle
from wmem.scope.item_flows import found
from wmem.scope.item_reads import as_item
from wmem.scope.room import log_evictions, made_room
from wmem.state import State

__all__ = ["expire", "extend_ttl", "relate", "undelete"]


def _changed(
    handle: Handle, wanted: str, change: Callable[[State, Row, float], Row], *, growing: bool = False
) -> Flow[MemoryItem]:
    """Replace an item, visible or not, by what `change` returns for it."""
    wanted = checked_id(wanted)
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], tuple[MemoryItem, Sequence[Change]]]:
        row = state.rows.get(wanted)
        if row is None or wanted not in state.items:
            handle.check_intact(alone=True)
            msg = f"no item {wanted!r} in scope {handle.path!r}"
            raise NotFoundError(msg)
        changed = change(state, row, now)
        if changed is row:
            return [], (as_item(state, row, now), ())
        made = changed._replace(updated_at=now)
        if changed.expires_at == row.expires_at:
            made = rewritten(changed, now)
        room = made_room(handle, state, [made], now) if growing and not row.visible(now) else []
        return [*room, ItemPut(made)], (as_item(state, made, now), room)

    item, room = yield from handle.commit(decide, now)
    log_evictions(handle, room)
    return item


def expire(handle: Handle, wanted: str) -> Flow[MemoryItem]:
    """Expire an item; see `Items.expire`."""

    def change(state: State, row: Row, now: float) -> Row:
        if row.deleted_at is not None:
            found(handle, state, wanted, now)
        return row if row.expired(now) else row._replace(expires_at=now)

    return _changed(handle, wanted, change)


def extend_ttl(handle: Handle, wanted: str, ttl_s: float | DefaultTtl | None) -> Flow[MemoryItem]:
    """Extend an item's life, also an expired one's; see `Items.extend_ttl`."""

    def change(state: State, row: Row, now: float) -> Row:
        if row.deleted_at is not None:
            found(handle, state, wanted, now)
        known = row._replace(expires_at=bounded(row, now))
        until = extended(known, lasting(handle.policy, row.priority, ttl_s), now)
        return row if until == row.expires_at else row._replace(expires_at=until)

    return _changed(handle, wanted, change, growing=True)


def undelete(handle: Handle, wanted: str) -> Flow[MemoryItem]:
    """Undo a soft deletion; see `Items.undelete`."""

    def change(state: State, row: Row, now: float) -> Row:
        if row.deleted_at is None:
            return found(handle, state, wanted, now)
        return found(handle, state, wanted, now, deleted=True)._replace(deleted_at=None)

    return _changed(handle, wanted, change, growing=True)


def relate(
    handle: Handle, wanted: str, relation: str, target_id: str, metadata: Mapping[str, Any] | None
) -> Flow[MemoryItem]:
    """Add a relation to another element; see `Items.relate`."""
    for name, given in (("type", relation), ("target_id", target_id)):
        if not isinstance(given, str) or not given.strip():
            msg = f"a relation's {name} must be text that is not blank, got {given!r:.80}"
            raise InvalidInputError(msg)
    told = {"type": relation, "target_id": target_id, "metadata": {} if metadata is None else metadata}
    checked, _ = rest_of({"relations": [told]}, now=0.0)
    (made,) = load_json(checked or b"{}")["relations"]

    def change(state: State, row: Row, now: float) -> Row:
        found(handle, state, wanted, now)
        rest = load_json(row.rest or b"{}")
        known = rest.get("relations", [])
        if made in known:
            return row
        return row._replace(rest=dump_json({**rest, "relations": [*known, made]}))

    return _changed(handle, wanted, change)
