"""Flows that write items: add, count an access, update, remove."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict, cast

from wmem.errors import ExpiredError, InvalidInputError, NotFoundError
from wmem.flow import Flow
from wmem.model.change import Change, ItemPut, ItemRemoved
from wmem.model.checks import as_tags, checked_id
from wmem.model.fingerprint import agent_fingerprint
from wmem.model.ids import new_ulid
from wmem.model.item import ItemKind, MemoryItem, Relation, Source, item_of, rest_of
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.policy import PRIORITIES
from wmem.rules.importance import importance as importance_of
from wmem.rules.promotion import due, touches_due
from wmem.rules.ttl import DefaultTtl, expiry, rewritten
from wmem.scope.handle import Handle
from wmem.scope.item_reads import as_item
from wmem.scope.room import depends, log_evictions, made_room, stored
from wmem.state import State

__all__ = ["ItemFields", "add", "checked_content", "drafted", "found", "remove", "touch", "update"]


_MAY_BE_NONE = frozenset(name for name, field in MemoryItem.model_fields.items() if field.default is None) | {
    "importance"  # None: it is computed
}


class ItemFields(TypedDict, total=False):
    """What an item may carry beside its content; see `MemoryItem`."""

    type: str
    kind: ItemKind
    dynamic_type: str | None
    importance: float | None
    pinned: bool
    confidence: float | str | None
    novelty: float | None
    tags: Iterable[str]
    metadata: Mapping[str, Any]
    source: Source | None
    participants: Sequence[str]
    causal_chain: Sequence[str]
    sources: Sequence[Mapping[str, Any]]
    agent_id: str | None
    agent_fingerprint: str | None
    task_id: str | None
    thread_id: str | None
    episode_id: str | None
    turn_id: str | None
    step_index: int | None
    relations: Sequence[Relation | Mapping[str, Any]]
    parent_id: str | None
    chunk_index: int | None
    lineage_ids: Sequence[str]
    valid_from: float | None
    valid_to: float | None
    retention: str | None


def _row(
    handle: Handle,
    content: object,
    *,
    priority: str,
    ttl_s: float | DefaultTtl | None,
    fields: ItemFields,
    now: float,
) -> Row:
    text = checked_content(handle, content)
    _checked_priority(priority)
    given = _given(fields)
    rest, columns = rest_of(given, now=now)
    counter = handle.settings.counter()
    return Row(
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


def _given(fields: ItemFields) -> dict[str, object]:
    """The caller's fields, with tags checked and the agent's fingerprint added."""
    given = dict(fields)
    if "tags" in given:
        given["tags"] = as_tags(cast("Iterable[str]", given["tags"]))
    if isinstance(agent_id := given.get("agent_id"), str) and given.get("agent_fingerprint") is None:
        given["agent_fingerprint"] = agent_fingerprint(agent_id)
    return given


def checked_content(handle: Handle, content: object) -> str:
    """Check an item's text against the scope's policy and return it."""
    if not isinstance(content, str) or not content:
        msg = f"content must be text of at least 1 character, got {content!r:.80}"
        raise InvalidInputError(msg)
    limit = handle.policy.max_content_bytes
    if len(content) * 4 > limit and (size := len(content.encode("utf-8", "surrogatepass"))) > limit:
        msg = f"content takes {size} bytes, more than the {limit} an item may take; store it in parts"
        raise InvalidInputError(msg)
    return str(content)


def _checked_priority(priority: object) -> None:
    if priority not in PRIORITIES:
        msg = f"priority must be one of {', '.join(PRIORITIES)}, got {priority!r:.80}"
        raise InvalidInputError(msg)


def drafted(
    handle: Handle, content: str, *, priority: str, ttl_s: float | DefaultTtl | None, fields: ItemFields
) -> Flow[tuple[Row, float]]:
    """Make the row of a new item, not stored yet; returns it and its time."""
    handle.check()
    if handle.birth is None:
        yield from handle.replica()
    now = handle.settings.clock()
    return _row(handle, content, priority=priority, ttl_s=ttl_s, fields=fields, now=now), now


def add(
    handle: Handle, content: str, *, priority: str, ttl_s: float | DefaultTtl | None, fields: ItemFields
) -> Flow[MemoryItem]:
    """Store an item; see `Items.add`."""
    row, now = yield from drafted(handle, content, priority=priority, ttl_s=ttl_s, fields=fields)
    if handle.birth is not None and not depends(handle.policy):
        yield from handle.post([ItemPut(row)], now)
    else:
        made = yield from stored(handle, row, now)
        row = made.row
    return item_of(row, importance_of(row, now))


def found(handle: Handle, state: State, wanted: str, now: float, *, deleted: bool = False) -> Row:
    """The row of a visible item; with `deleted`, also of a softly deleted one.

    Raises:
        NotFoundError: There is no such item.
        ExpiredError: It has expired.
    """
    row = state.rows.get(wanted)
    if row is None or wanted not in state.items or (row.deleted_at is not None and not deleted):
        handle.check_intact(alone=True)
        msg = f"no item {wanted!r} in scope {handle.path!r}"
        raise NotFoundError(msg)
    if row.expired(now):
        msg = f"item {wanted!r} in scope {handle.path!r} has expired"
        raise ExpiredError(msg)
    return row


def touch(handle: Handle, wanted: str) -> Flow[tuple[MemoryItem, str | None, bool]]:
    """Read an item and count the access.

    Returns:
        The item, the promotion rule it meets now, if any, and whether the access counts
        should be written now.
    """
    wanted = checked_id(wanted)
    now = handle.settings.clock()
    replica, state = yield from handle.replica()
    with replica.lock:
        row = found(handle, state, wanted, now)
        unwritten = replica.touch(wanted, now)
        write = touches_due(row, unwritten, replica.touched_at, now, handle.policy)
        rule = due(row, unwritten, now, handle.policy) if handle.policy.auto_promote else None
        fetched = as_item(state, row, now)
    return fetched, rule, write


def update(
    handle: Handle,
    wanted: str,
    *,
    content: str | None,
    priority: str | None,
    ttl_s: float | DefaultTtl | None,
    fields: ItemFields,
) -> Flow[MemoryItem]:
    """Change the given fields; see `Items.update`."""
    wanted = checked_id(wanted)
    now = handle.settings.clock()
    given = _given(fields)
    rest, columns = rest_of(given, now=now)
    told = load_json(rest or b"{}")
    untold = _untold(given, {**told, **columns})
    columns |= dict.fromkeys(untold & {"importance", "step_index", "turn_id"})
    if priority is not None:
        _checked_priority(priority)
        columns["priority"] = priority
    if content is not None:
        counter = handle.settings.counter()
        text = checked_content(handle, content)
        columns |= {"content": dump_json(text), "length": len(text), "tokens": counter(text), "counter": counter.name}

    def decide(state: State) -> tuple[Sequence[Change], tuple[MemoryItem, Sequence[Change]]]:
        row = rewritten(found(handle, state, wanted, now), now)._replace(**columns)
        if told or untold:
            held = {**load_json(row.rest or b"{}"), **told}
            kept = {name: value for name, value in held.items() if name not in untold}
            row = row._replace(rest=dump_json(kept) if kept else None)
        if not isinstance(ttl_s, DefaultTtl):
            row = row._replace(expires_at=expiry(handle.policy, row.priority, ttl_s, now, pinned=row.pinned))
        elif row.pinned:
            row = row._replace(expires_at=None)
        room = [] if content is None else made_room(handle, state, [row], now)
        return [*room, ItemPut(row)], (as_item(state, row, now), room)

    updated, room = yield from handle.commit(decide, now)
    log_evictions(handle, room)
    return updated


def _untold(given: Mapping[str, object], told: Mapping[str, object]) -> frozenset[str]:
    """The stored fields to clear: those that were given their default, which is not stored.

    None clears a field that may be None; for any other it is ignored.
    """
    names = {name for name, value in given.items() if name not in told and (value is not None or name in _MAY_BE_NONE)}
    if "agent_id" in names and "agent_fingerprint" not in told:
        names.add("agent_fingerprint")  # of an agent that is no longer named
    return frozenset(names)


def remove(handle: Handle, wanted: str) -> Flow[bool]:
    """Remove an item; False when there was no visible one."""
    wanted = checked_id(wanted)
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], bool]:
        if wanted not in state.items:
            return [], False
        # An expired item is removed too, although it was invisible.
        return [ItemRemoved(wanted)], state.rows[wanted].visible(now)

    return (yield from handle.commit(decide, now))
