"""Merge of a scope's entries and items into its parent, in one record, once."""

import hashlib
from collections.abc import Collection, Sequence

from wmem.errors import DisposedError, InvalidInputError, WmemError
from wmem.flow import Flow
from wmem.model.change import Change, ItemPut, PolicyChanged, ScopeMerged
from wmem.model.checks import check_flag
from wmem.model.history import ORIGIN, Cursor
from wmem.model.origin import append_origin
from wmem.model.results import MergeCount
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.scope.copies import create_empty, is_erased, is_merge_of
from wmem.scope.entries.quota import check_entry_limit
from wmem.scope.erasure import erase
from wmem.scope.handle import Handle
from wmem.scope.items.capacity import log_evictions, make_room
from wmem.state import State


def merge_to_parent(handle: Handle, *, overwrite: bool, items: bool) -> Flow[MergeCount]:
    """Copy the local entries, and optionally the plain items, into the parent.

    The parent stores which point of the source's history it has merged, and with which
    flags: repeating that merge adds nothing. A merge of a later point copies everything
    that the source holds again, also what the parent has removed meanwhile.

    Returns:
        How many entries and items were merged, and what became of others.

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

    def decide(target: State, own: State) -> tuple[Sequence[Change], tuple[MergeCount, Sequence[Change]] | None]:
        if not rows or is_merged(target.merged.get((handle.path, overwrite, items)), source, state.identity):
            return [], (MergeCount(0), ())
        if target.policy is None:
            return create_empty(now)
        current = [row for row in rows if not is_erased(own, row.id)]
        puts, overwritten, renamed = _put_rows(
            handle, parent, target, current, source=source, now=now, overwrite=overwrite
        )
        made = [put.row for put in puts.values()]
        check_entry_limit(parent, target, made, now, "merged")
        room_made = make_room(parent, target, [row for row in made if row.key is None], now)
        merged = ScopeMerged(handle.path, source, len(puts), now, overwrite=overwrite, with_items=items)
        count = MergeCount(len(puts), overwritten=overwritten, renamed=renamed)
        return [*room_made, *puts.values(), merged], (count, room_made)

    done = None
    while done is None:
        done = yield from parent.commit_beside(decide, now, handle)
    count, evicted = done
    log_evictions(parent, evicted)
    if count:
        yield from _erase_stale_copies(handle, rows)
    return count


AS_RESTORED = ORIGIN
"""Of a merge that was restored with all that its source held then: where its source began anew."""


def is_merged(mark: Cursor | None, source: Cursor, identity: int) -> bool:
    """Whether a merge was of all that its source holds.

    Args:
        mark: Where the source was, as the target knows it.
        source: Where it is.
        identity: See `State.identity`: a scope that was restored begins with one record.
    """
    return mark == source or (mark == AS_RESTORED and bool(identity) and source.version == 1)


def _put_rows(
    handle: Handle, parent: Handle, target: State, rows: Sequence[Row], *, source: Cursor, now: float, overwrite: bool
) -> tuple[dict[str, ItemPut], list[str], dict[str, str]]:
    """What the parent gets, by id; which of its entries are overwritten, and which items have another id there."""
    puts: dict[str, ItemPut] = {}
    overwritten: list[str] = []
    renamed: dict[str, str] = {}
    for row in rows:
        id, existing = _find_place(handle, parent, target, row, source, used_ids=puts)
        made = parent.redact(_to_parent_row(handle, parent, row, id, existing))
        if existing is not None and existing.visible(now):
            if not overwrite:
                continue
            if existing.content != made.content:
                overwritten.append(existing.key or id)
        if row.key is None and id != row.id:
            renamed[row.id] = id
        puts[id] = ItemPut(made)
    return puts, overwritten, renamed


def merge_at_exit(handle: Handle) -> Flow[None]:
    """Merge a temporary scope; if that is refused, its lease is lifted, so that nothing takes it away."""
    try:
        yield from merge_to_parent(handle, overwrite=True, items=True)
    except WmemError:
        yield from _lift_lease(handle)
        raise


def _lift_lease(handle: Handle) -> Flow[None]:
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], None]:
        policy = handle.adopt_policy(state).model_copy(update={"lease_s": None})
        return [PolicyChanged(policy.model_dump_json(exclude_defaults=True), now)], None

    yield from handle.commit(decide, now)


def _erase_stale_copies(handle: Handle, rows: Sequence[Row]) -> Flow[None]:
    """Erase copies of rows that were erased while they were copied."""
    try:
        _, state = yield from handle.replica()
    except DisposedError:
        return
    if lost := [row.id for row in rows if row.id in state.erased and row.id not in state.rows]:
        yield from erase(handle, lost)


def _find_place(
    handle: Handle, parent: Handle, target: State, row: Row, source: Cursor, *, used_ids: Collection[str]
) -> tuple[str, Row | None]:
    """The id under which a row goes into the parent, and the row that it replaces there.

    An entry replaces the one under its key. An item replaces the copy that an earlier merge made
    of it; where its id is in use for anything else it gets another one, the same each time.
    """
    if row.key is not None:
        held = target.entries.get(row.key)
        fresh = hashlib.sha256(repr((handle.path, source, row.id)).encode()).hexdigest()[:26].upper()
        return (fresh, None) if held is None else (held, target.rows[held])
    life = handle.identity
    suffix = hashlib.sha256(repr((handle.path[1:], life)).encode()).hexdigest()[:8]
    derived = f"{row.id}~{suffix}"
    for id in (derived, row.id):
        existing = target.rows.get(id)
        if existing is not None and is_merge_of(existing, parent.path, row, handle.path, life):
            return id, existing
    for id in (row.id, derived):
        if id not in target.rows and id not in used_ids:
            return id, None
    msg = f"scope {parent.path!r} has something else under the ids {row.id!r} and {derived!r}; nothing was merged"
    raise InvalidInputError(msg)


def _to_parent_row(handle: Handle, parent: Handle, row: Row, id: str, existing: Row | None) -> Row:
    """The row for the parent, which says where it comes from.

    An item keeps the higher access count of both, and a promotion of either.
    """
    rest = load_json(row.rest or b"{}")
    life = handle.identity
    rest["origins"] = append_origin(rest, row, path=handle.path, incarnation=life, to=parent.path)
    if row.key is not None:
        rest["lineage_ids"] = list(dict.fromkeys((*rest.get("lineage_ids", ()), row.id)))
    row = row._replace(id=id, rest=dump_json(rest))
    if existing is None or row.key is not None:
        return row
    return row._replace(
        access_count=max(row.access_count, existing.access_count),
        last_accessed_at=max(row.last_accessed_at or 0.0, existing.last_accessed_at or 0.0) or None,
        promoted_to=row.promoted_to or existing.promoted_to,
        promoted_at=row.promoted_at or existing.promoted_at,
    )
