"""Flows that change an item's lifetime (expire, extend, undelete) and its relations."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from wmem.describe import describe, describe_name
from wmem.errors import InvalidInputError, NotFoundError
from wmem.flow import Flow
from wmem.model.change import Change, ItemPut
from wmem.model.checks import check_id
from wmem.model.history import Path
from wmem.model.item import MemoryItem, encode_fields
from wmem.model.origin import find_merged_origins
from wmem.model.removal import find_current_removal
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.rules.merging import detach
from wmem.rules.ttl import DefaultTtl, clamp_expiry, extend_expiry, resolve_ttl, rewrite_row
from wmem.scope.handle import Handle
from wmem.scope.items.capacity import log_evictions, make_room
from wmem.scope.items.flows import find_item
from wmem.scope.items.reads import to_current_item
from wmem.scope.metadata_limit import check_metadata_size
from wmem.state import State


def _change_item(
    handle: Handle,
    item_id: str,
    change: Callable[[State, Row, float], Row],
    *,
    needs_room: bool = False,
    change_others: Callable[[State, Row], Sequence[Change]] = lambda _, __: (),
) -> Flow[MemoryItem]:
    """Replace an item, visible or not, by what `change` returns for it.

    Args:
        change_others: What else changes with it, by the row before.
    """
    item_id = check_id(item_id)
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], tuple[MemoryItem, Sequence[Change]]]:
        row = state.rows.get(item_id)
        if row is None or item_id not in state.items:
            handle.check_intact(local_only=True)
            raise NotFoundError(f"no item {describe_name(item_id)} in scope {handle.path!r}")
        changed = change(state, row, now)
        if changed is row:
            return [], (to_current_item(state, row, now), ())
        made = changed._replace(updated_at=now)
        if changed.expires_at == row.expires_at:
            made = rewrite_row(changed, now)
        made = handle.redact(made, before=row)
        room = make_room(handle, state, [made], now) if needs_room and not row.visible(now) else []
        return [*room, ItemPut(made), *change_others(state, row)], (to_current_item(state, made, now), room)

    item, room = yield from handle.commit(decide, now)
    log_evictions(handle, room)
    return item


def expire(handle: Handle, item_id: str) -> Flow[MemoryItem]:
    """Expire an item; see `Items.expire`."""

    def change(state: State, row: Row, now: float) -> Row:
        if row.deleted_at is not None:
            find_item(handle, state, item_id, now)
        return row if row.expired(now) else row._replace(expires_at=now)

    return _change_item(handle, item_id, change)


def extend_ttl(handle: Handle, item_id: str, ttl_s: float | DefaultTtl | None) -> Flow[MemoryItem]:
    """Extend an item's life, also an expired one's; see `Items.extend_ttl`."""

    def change(state: State, row: Row, now: float) -> Row:
        if row.deleted_at is not None:
            find_item(handle, state, item_id, now)
        known = row._replace(expires_at=clamp_expiry(row, now))
        until = extend_expiry(known, resolve_ttl(handle.policy, row.priority, ttl_s), now)
        return row if until == row.expires_at else row._replace(expires_at=until)

    return _change_item(handle, item_id, change, needs_room=True)


def hide_item(row: Row, now: float) -> ItemPut:
    """The change that softly deletes an item."""
    return ItemPut(rewrite_row(row, now)._replace(deleted_at=now))


def forget(handle: Handle, ids: Iterable[str]) -> Flow[tuple[str, ...]]:
    """Softly delete items by id; see `Items.forget`."""
    wanted = tuple(dict.fromkeys(map(check_id, ids)))
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], tuple[str, ...]]:
        rows = [state.rows[id] for id in wanted if id in state.items]
        gone = [row for row in rows if row.visible(now)]
        return [hide_item(row, now) for row in gone], tuple(row.id for row in gone)

    hidden = yield from handle.commit(decide, now)
    if len(hidden) < len(wanted):
        handle.check_intact(local_only=True)
    return hidden


def undelete(handle: Handle, item_id: str) -> Flow[MemoryItem]:
    """Undo a soft deletion; see `Items.undelete`."""

    def change(state: State, row: Row, now: float) -> Row:
        if row.deleted_at is None:
            return find_item(handle, state, item_id, now)
        return find_item(handle, state, item_id, now, include_deleted=True)._replace(deleted_at=None)

    def take_back(state: State, row: Row) -> Sequence[Change]:
        return [ItemPut(each) for each in undo_merges(state, row, handle.path)]

    return _change_item(handle, item_id, change, needs_room=True, change_others=take_back)


def undo_merges(state: State, row: Row, path: Path) -> list[Row]:
    """The items that a softly deleted one was merged into, without what they have of it."""
    changed: list[Row] = []
    ids = frozenset((row.id, *(each.merged_id for each in find_merged_origins(row, path))))
    into = find_current_removal(row)
    while into is not None and (survivor := state.rows.get(into.into)) is not None:
        without = detach(survivor, ids, path=path)
        changed += [without] if without is not survivor else []
        into = find_current_removal(survivor)
    return changed


def relate(
    handle: Handle, item_id: str, relation: str, target_id: str, metadata: Mapping[str, Any] | None
) -> Flow[MemoryItem]:
    """Add a relation to another element; see `Items.relate`."""
    for name, given in (("type", relation), ("target_id", target_id)):
        if not isinstance(given, str) or not given.strip():
            raise InvalidInputError(f"a relation's {name} must be text that is not blank, got {describe(given)}")
    told = {"type": relation, "target_id": target_id, "metadata": {} if metadata is None else metadata}
    checked, _ = encode_fields({"relations": [told]}, now=0.0)
    (made,) = load_json(checked or b"{}")["relations"]

    def change(state: State, row: Row, now: float) -> Row:
        find_item(handle, state, item_id, now)
        rest = load_json(row.rest or b"{}")
        known = rest.get("relations", [])
        if made in known:
            return row
        written = dump_json({**rest, "relations": [*known, made]})
        check_metadata_size(handle.policy, written, {})
        return row._replace(rest=written)

    return _change_item(handle, item_id, change)
