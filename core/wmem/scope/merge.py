"""Merge of a scope's entries and items into its parent, in one record, once."""

import hashlib
from collections.abc import Sequence

from wmem.errors import DisposedError, InvalidInputError
from wmem.flow import Flow
from wmem.model.change import Change, ItemPut, ScopeMerged
from wmem.model.checks import check_flag
from wmem.model.history import Cursor, Path
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.scope.entries.quota import check_entry_limit
from wmem.scope.erasure import erase
from wmem.scope.handle import Handle
from wmem.scope.items.capacity import log_evictions, make_room
from wmem.state import State


def merge_to_parent(handle: Handle, *, overwrite: bool, items: bool) -> Flow[int]:
    """Copy the local entries, and optionally the plain items, into the parent.

    The parent stores which point of the source's history it has merged, and with which
    flags: repeating that merge adds nothing. A merge of a later point copies everything
    that the source holds again, also what the parent has removed meanwhile.

    Returns:
        How many entries and items were merged.

    Raises:
        InvalidInputError: The scope is a root, or a flag, which goes into the record, is not a bool.
        CapacityError: The parent has no room for all of them; nothing was merged.
    """
    check_flag(overwrite, "overwrite")
    check_flag(items, "items")
    parent = handle.parent
    if parent is None:
        raise InvalidInputError(f"scope {handle.path!r} is a root and has no parent to merge into")
    now = handle.settings.clock()
    replica, state = yield from handle.replica()
    if state.unwritten_touches:
        # Write pending fetch counts first, so that the parent gets them too.
        yield from handle.post((), now)
        replica, state = yield from handle.replica()
    with replica.lock:
        state, source = handle.bind(replica), replica.cursor
        rows = state.visible([*state.entries.values(), *(state.items if items else ())], now)

    def decide(target: State) -> tuple[Sequence[Change], tuple[int, Sequence[Change]]]:
        if not rows or target.merged.get((handle.path, overwrite, items)) == source:
            return [], (0, ())
        puts: list[ItemPut] = []
        for row in rows:
            held = target.entries.get(row.key) if row.key is not None else row.id if row.id in target.items else None
            if held is None and row.id in target.rows:
                msg = f"scope {parent.path!r} has something else under the id {row.id!r}; nothing was merged"
                raise InvalidInputError(msg)
            if held is not None and not overwrite and target.rows[held].visible(now):
                continue
            puts.append(ItemPut(_to_parent_row(row, None if held is None else target.rows[held], handle.path, source)))
        check_entry_limit(parent, target, [put.row for put in puts], now, "merged")
        room_made = make_room(parent, target, [put.row for put in puts if put.row.key is None], now)
        merged = ScopeMerged(handle.path, source, len(puts), now, overwrite=overwrite, with_items=items)
        return [*room_made, *puts, merged], (len(puts), room_made)

    count, evicted = yield from parent.commit(decide, now)
    log_evictions(parent, evicted)
    if count:
        yield from _erase_stale_copies(handle, rows)
    return count


def _erase_stale_copies(handle: Handle, rows: Sequence[Row]) -> Flow[None]:
    """Erase copies of rows that were erased while they were copied."""
    try:
        _, state = yield from handle.replica()
    except DisposedError:
        return
    if lost := [row.id for row in rows if row.id in state.erased and row.id not in state.rows]:
        yield from erase(handle, lost)


def _to_parent_row(row: Row, existing: Row | None, path: Path, source: Cursor) -> Row:
    """The row for the parent: an entry gets an id of its own, an item keeps its id.

    An item keeps the higher access count of both, and a promotion of either.
    """
    if row.key is not None:
        fresh = hashlib.sha256(repr((path, source, row.id)).encode()).hexdigest()[:26].upper()
        rest = load_json(row.rest or b"{}")
        # Record the source, so that erasing it finds this copy.
        rest["lineage_ids"] = list(dict.fromkeys((*rest.get("lineage_ids", ()), row.id)))
        return row._replace(id=fresh if existing is None else existing.id, rest=dump_json(rest))
    if existing is None:
        return row
    return row._replace(
        access_count=max(row.access_count, existing.access_count),
        last_accessed_at=max(row.last_accessed_at or 0.0, existing.last_accessed_at or 0.0) or None,
        promoted_to=row.promoted_to or existing.promoted_to,
        promoted_at=row.promoted_at or existing.promoted_at,
    )
