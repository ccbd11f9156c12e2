"""Flows that write items: add, count an access, update, remove."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from wmem.describe import describe, describe_name
from wmem.errors import ExpiredError, InvalidInputError, NotFoundError
from wmem.flow import Flow
from wmem.model.change import Change, ItemPut, ItemRemoved
from wmem.model.checks import check_id, check_new_names, check_tags, plain_text
from wmem.model.fingerprint import agent_fingerprint
from wmem.model.ids import new_ulid, parse_promoted_id
from wmem.model.item import ItemFields, MemoryItem, check_validity, encode_fields, to_item
from wmem.model.removal import is_tombstone
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.policy import PRIORITIES
from wmem.rules.importance import importance as importance_of
from wmem.rules.promotion import promotion_rule, should_flush_touches
from wmem.rules.retention import is_permanent
from wmem.rules.routing import EPISODIC, SEMANTIC
from wmem.rules.ttl import DefaultTtl, expiry, rewrite_row
from wmem.scope.handle import Handle
from wmem.scope.items.capacity import depends_on_state, log_evictions, make_room, store_item
from wmem.scope.items.reads import to_current_item
from wmem.scope.metadata_limit import check_metadata_size
from wmem.state import State

_NULLABLE_FIELDS = frozenset(name for name, field in MemoryItem.model_fields.items() if field.default is None) | {
    "importance"  # None: it is computed
}


def _normalize_fields(handle: Handle, fields: ItemFields) -> dict[str, object]:
    """The caller's fields, with tags and retention checked and the agent's fingerprint added."""
    given = dict(fields)
    if given.get("retention") is not None:
        given["retention"] = handle.settings.retentions.check(given["retention"])
    if "tags" in given:
        given["tags"] = check_tags(cast("Iterable[str]", given["tags"]))
    if isinstance(agent_id := given.get("agent_id"), str) and given.get("agent_fingerprint") is None:
        given["agent_fingerprint"] = agent_fingerprint(agent_id)
    return given


def _check_content(handle: Handle, content: object) -> str:
    """Check an item's text against the scope's policy and return it."""
    if not isinstance(content, str) or not content:
        raise InvalidInputError(f"content must be text of at least 1 character, got {describe(content)}")
    limit = handle.policy.max_content_bytes
    if len(content) * 4 > limit and (size := len(content.encode("utf-8", "surrogatepass"))) > limit:
        msg = f"content takes {size} bytes, more than the {limit} an item may take; store it in parts"
        raise InvalidInputError(msg)
    return plain_text(content)


def content_columns(handle: Handle, content: object) -> dict[str, Any]:
    """The row columns of an item's text, checked and counted."""
    text, counter = _check_content(handle, content), handle.settings.counter()
    return {"content": dump_json(text), "length": len(text), "tokens": counter(text), "counter": counter.name}


def _check_priority(priority: object) -> str:
    """Check a priority and return it as plain text."""
    if not isinstance(priority, str) or priority not in PRIORITIES:
        raise InvalidInputError(f"priority must be one of {', '.join(PRIORITIES)}, got {describe(priority)}")
    return priority if type(priority) is str else plain_text(priority)


def draft_item(
    handle: Handle, content: str, *, priority: str, ttl_s: float | DefaultTtl | None, fields: ItemFields
) -> Flow[tuple[Row, float]]:
    """Make the row of a new item, not stored yet; returns it and its time."""
    handle.check_usable()
    if handle.incarnation is None:
        yield from handle.replica()
    now = handle.settings.clock()
    text, counter = _check_content(handle, content), handle.settings.counter()
    priority = _check_priority(priority)
    rest, columns = encode_fields(_normalize_fields(handle, fields), now=now)
    if rest is not None or columns:
        check_metadata_size(handle.policy, rest, columns)
    row = Row(  # written out: faster than the columns of `content_columns`
        id=new_ulid(now),
        content=dump_json(text),
        created_at=now,
        updated_at=now,
        priority=priority,
        length=len(text),
        tokens=counter(text),
        counter=counter.name,
        expires_at=expiry(handle.policy, priority, ttl_s, now, pinned=bool(columns.get("pinned"))),
        access_count=1,
        rest=rest,
        **columns,
    )
    if rest is not None and b'"retention"' in rest:
        row = _apply_retention(handle, row, isinstance(ttl_s, DefaultTtl))
    return handle.redact(row), now


def _apply_retention(handle: Handle, row: Row, has_default_ttl: bool) -> Row:  # noqa: FBT001  # a fact about the row
    """A new or changed row with the expiry that its retention gives it.

    Raises:
        InvalidInputError: It is for long-term memory, and its retention keeps it out.
    """
    retention = handle.settings.retentions.find(row)
    if handle.path[-1] in (SEMANTIC, EPISODIC):
        handle.settings.retentions.check_long_term(row)
    if is_permanent(row):
        return row._replace(expires_at=None)
    if retention.keep_s is None or row.pinned:
        return row
    until = row.created_at + retention.keep_s
    return row._replace(expires_at=until if has_default_ttl or row.expires_at is None else min(until, row.expires_at))


def add(handle: Handle, draft: Flow[tuple[Row, float]], id: str | None = None) -> Flow[MemoryItem]:
    """Store an item that `draft_item` makes; see `Items.add`."""
    if id is not None:
        return (yield from _add_once(handle, draft, id))
    row, now = yield from draft
    if handle.incarnation is not None and not depends_on_state(handle.policy):
        yield from handle.post([ItemPut(row)], now)
    else:
        row = (yield from store_item(handle, row, now)).row
    return to_item(row, importance_of(row, now))


def _add_once(handle: Handle, draft: Flow[tuple[Row, float]], id: str) -> Flow[MemoryItem]:
    """Store an item under its caller's id, unless it is there."""
    check_new_names(check_id(id))
    if parse_promoted_id(id) is not None:
        raise InvalidInputError(f"{id!r} has the form of ids in long-term memory: take another")
    drafted, now = yield from draft
    row = drafted._replace(id=plain_text(id))
    stored = yield from store_item(handle, row, now, find_same=lambda state: _find_same(handle, state, row, now))
    return to_current_item(handle.engine.replica(handle.path).state, stored.row, now)


def _find_same(handle: Handle, state: State, row: Row, now: float) -> Row | None:
    """The visible item under the id of a new one, if it has the same content.

    Raises:
        InvalidInputError: The id is that of something else, or of what was erased.
    """
    there = state.rows.get(row.id)
    if row.id in state.erased:
        raise InvalidInputError(f"{row.id!r} was erased from scope {handle.path!r}: what is new needs another id")
    if there is None:
        return None
    if there.id not in state.items:
        raise InvalidInputError(f"{row.id!r} is the id of an entry or message of this scope; an item needs another")
    if not there.visible(now):
        return None
    if there.content != row.content:
        msg = f"item {row.id!r} of scope {handle.path!r} has other content: call `items.update`, or take another id"
        raise InvalidInputError(msg)
    return there


def find_item(handle: Handle, state: State, item_id: str, now: float, *, include_deleted: bool = False) -> Row:
    """The row of a visible item; with `deleted`, also of a softly deleted one.

    Raises:
        NotFoundError: There is no such item.
        ExpiredError: It has expired.
    """
    row = state.rows.get(item_id)
    is_hidden = row is not None and row.deleted_at is not None and (not include_deleted or is_tombstone(row))
    if row is None or item_id not in state.items or is_hidden:
        handle.check_intact(local_only=True)
        raise NotFoundError(f"no item {describe_name(item_id)} in scope {handle.path!r}")
    if row.expired(now):
        raise ExpiredError(f"item {describe_name(item_id)} in scope {handle.path!r} has expired")
    return row


def touch(handle: Handle, item_id: str) -> Flow[tuple[MemoryItem, str | None, bool]]:
    """Read an item and count the access.

    Returns:
        The item, the promotion rule it meets now, if any, and whether the access counts
        should be written now.
    """
    item_id = check_id(item_id)
    now = handle.settings.clock()
    replica, state = yield from handle.replica()
    with replica.lock:
        row = find_item(handle, state, item_id, now)
        unwritten = replica.touch(item_id, now)
        write = should_flush_touches(row, unwritten, replica.unwritten_since, now, handle.policy)
        rule = promotion_rule(row, unwritten, now, handle.policy) if handle.policy.auto_promote else None
        if rule is not None and not handle.settings.retentions.find(row).promotes:
            rule = None
        fetched = to_current_item(state, row, now)
    return fetched, rule, write


def update(
    handle: Handle,
    item_id: str,
    *,
    content: str | None,
    priority: str | None,
    ttl_s: float | DefaultTtl | None,
    fields: ItemFields,
) -> Flow[MemoryItem]:
    """Change the given fields; see `Items.update`."""
    item_id = check_id(item_id)
    now = handle.settings.clock()
    given = _normalize_fields(handle, fields)
    rest, columns = encode_fields(given, now=now)
    check_metadata_size(handle.policy, None, columns)
    told = load_json(rest or b"{}")
    untold = _fields_to_clear(given, {**told, **columns})
    columns |= dict.fromkeys(untold & {"importance", "step_index", "turn_id"})
    if priority is not None:
        columns["priority"] = _check_priority(priority)
    if content is not None:
        columns |= content_columns(handle, content)

    def decide(state: State) -> tuple[Sequence[Change], tuple[MemoryItem, Sequence[Change]]]:
        row = rewrite_row(find_item(handle, state, item_id, now), now)._replace(**columns)
        if told or untold:
            held = {**load_json(row.rest or b"{}"), **told}
            kept = {name: value for name, value in held.items() if name not in untold}
            check_validity(kept)
            row = row._replace(rest=dump_json(kept) if kept else None)
            check_metadata_size(handle.policy, row.rest, {})
        if not isinstance(ttl_s, DefaultTtl):
            row = row._replace(expires_at=expiry(handle.policy, row.priority, ttl_s, now, pinned=row.pinned))
        elif row.pinned:
            row = row._replace(expires_at=None)
        if "retention" in told or (not isinstance(ttl_s, DefaultTtl) and is_permanent(row)):
            row = _apply_retention(handle, row, has_default_ttl=isinstance(ttl_s, DefaultTtl))
        row = handle.redact(row)
        room = [] if content is None else make_room(handle, state, [row], now)
        return [*room, ItemPut(row)], (to_current_item(state, row, now), room)

    updated, room = yield from handle.commit(decide, now)
    log_evictions(handle, room)
    return updated


def _fields_to_clear(fields: Mapping[str, object], values: Mapping[str, object]) -> frozenset[str]:
    """The stored fields to clear: those that were given their default, which is not stored.

    None clears a field that may be None; for any other it is ignored.
    """
    names = {
        name for name, value in fields.items() if name not in values and (value is not None or name in _NULLABLE_FIELDS)
    }
    if "agent_id" in names and "agent_fingerprint" not in values:
        names.add("agent_fingerprint")  # of an agent that is no longer named
    return frozenset(names)


def remove(handle: Handle, item_id: str) -> Flow[bool]:
    """Remove an item; False when there was no visible one."""
    item_id = check_id(item_id)
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], bool]:
        if item_id not in state.items:
            return [], False
        # An expired item is removed too, although it was invisible.
        return [ItemRemoved(item_id)], state.rows[item_id].visible(now)

    return (yield from handle.commit(decide, now))
