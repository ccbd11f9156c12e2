"""What can be done with session memories: reads as pure functions over a state, writes as flows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict, cast

from wmem.errors import CapacityError, ExpiredError, InvalidInputError, NotFoundError
from wmem.flow import Flow
from wmem.model.change import Change, Cleared, ItemPut, ItemRemoved
from wmem.model.checks import as_tags, checked_id
from wmem.model.ids import new_ulid
from wmem.model.item import ItemKind, MemoryItem, Relation, Source, item_of, rest_of
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.policy import PRIORITIES
from wmem.rules.importance import importance as importance_of
from wmem.rules.promotion import touches_due
from wmem.rules.ttl import DefaultTtl, expiry
from wmem.scope.handle import Handle, Read
from wmem.state import State

__all__ = ["ItemFields", "add", "check_room", "clear", "counted", "fetch", "listed", "one", "remove", "update"]


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


# -- reads


def _shown(row: Row, now: float, *, include_expired: bool, include_promoted: bool) -> bool:
    if row.deleted_at is not None or (row.promoted_to is not None and not include_promoted):
        return False
    return include_expired or not row.expired(now)


def listed(
    *, include_expired: bool = False, include_promoted: bool = False, newest: int | None = None
) -> Read[list[MemoryItem]]:
    """The items that are shown, in the order they were added, or the newest so many, newest first."""

    def read(states: Sequence[State], now: float) -> list[MemoryItem]:
        rows = states[0].rows
        found: list[Row] = []
        for each in states[0].items if newest is None else reversed(states[0].items):
            if newest is not None and len(found) >= newest:
                break
            row = rows[each]
            if _shown(row, now, include_expired=include_expired, include_promoted=include_promoted):
                found.append(row)
        return [_item(states[0], row, now) for row in found]

    return read


def one(wanted: str) -> Read[MemoryItem | None]:
    """The item under an id, if it is shown."""

    def read(states: Sequence[State], now: float) -> MemoryItem | None:
        row = states[0].rows.get(wanted)
        if row is None or row.key is not None or row.role is not None or not row.visible(now):
            return None
        return _item(states[0], row, now)

    return read


def _item(state: State, row: Row, now: float) -> MemoryItem:
    """The item as of now, with the fetches that are not yet in the journal."""
    unwritten, at = state.unwritten.get(row.id, (0, None))
    return item_of(row, importance_of(row, now, unwritten), unwritten=unwritten, at=at)


def counted(states: Sequence[State], now: float) -> int:
    """How many items are shown."""
    rows = states[0].rows
    return sum(_shown(rows[each], now, include_expired=False, include_promoted=False) for each in states[0].items)


# -- writes


def _row(
    handle: Handle,
    content: object,
    *,
    priority: str,
    ttl_s: float | DefaultTtl | None,
    fields: ItemFields,
    now: float,
) -> Row:
    text = _checked_content(handle, content)
    _checked_priority(priority)
    given = dict(fields)
    if "tags" in given:
        given["tags"] = as_tags(cast("Iterable[str]", given["tags"]))
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


def _checked_content(handle: Handle, content: object) -> str:
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


def add(
    handle: Handle, content: str, *, priority: str, ttl_s: float | DefaultTtl | None, fields: ItemFields
) -> Flow[MemoryItem]:
    """Store an item; see `Items.add`."""
    handle.check()
    if handle.birth is None:
        yield from handle.replica()
    now = handle.settings.clock()
    row = _row(handle, content, priority=priority, ttl_s=ttl_s, fields=fields, now=now)
    if handle.policy.max_items is None and handle.policy.max_tokens is None:
        yield from handle.post([ItemPut(row)], now)
        return item_of(row, importance_of(row, now))

    def decide(state: State) -> tuple[Sequence[Change], MemoryItem]:
        check_room(handle, state, [row], now)
        return [ItemPut(row)], item_of(row, importance_of(row, now))

    return (yield from handle.commit(decide, now))


def check_room(handle: Handle, state: State, rows: Sequence[Row], now: float) -> None:
    """Raise `CapacityError` when a capped scope cannot hold these items beside those it has."""
    policy = handle.policy
    if policy.max_items is None and policy.max_tokens is None:
        return
    held = {row.id: row for row in (*state.visible(state.items, now), *rows)}
    tokens = sum(row.tokens or 0 for row in held.values())
    for name, size, limit in (("items", len(held), policy.max_items), ("tokens", tokens, policy.max_tokens)):
        if limit is not None and size > limit:
            msg = f"scope {handle.path!r} is full: it would hold {size} of {limit} {name}; remove some"
            raise CapacityError(msg)


def _found(handle: Handle, state: State, wanted: str, now: float) -> Row:
    row = state.rows.get(wanted)
    if row is None or row.key is not None or row.role is not None or row.deleted_at is not None:
        handle.check_intact(alone=True)
        msg = f"no item {wanted!r} in scope {handle.path!r}"
        raise NotFoundError(msg)
    if row.expired(now):
        msg = f"item {wanted!r} in scope {handle.path!r} has expired"
        raise ExpiredError(msg)
    return row


def fetch(handle: Handle, wanted: str) -> Flow[MemoryItem]:
    """Read an item and count it; see `Items.fetch`."""
    wanted = checked_id(wanted)
    now = handle.settings.clock()
    replica, state = yield from handle.replica()
    with replica.lock:
        row = _found(handle, state, wanted, now)
        unwritten = replica.touch(wanted, now)
        due = touches_due(row, unwritten, replica.touched_at, now, handle.policy)
        fetched = _item(state, row, now)
    if due:
        yield from handle.post((), now)
    return fetched


def update(
    handle: Handle,
    wanted: str,
    *,
    content: str | None,
    priority: str | None,
    ttl_s: float | DefaultTtl | None,
    fields: ItemFields,
) -> Flow[MemoryItem]:
    """Change what is given; see `Items.update`."""
    wanted = checked_id(wanted)
    now = handle.settings.clock()
    given = dict(fields)
    if "tags" in given:
        given["tags"] = as_tags(cast("Iterable[str]", given["tags"]))
    rest, columns = rest_of(given, now=now)
    columns["updated_at"] = now
    if "importance" in given:
        columns["importance"] = given["importance"]  # None goes back to the computed one
    if priority is not None:
        _checked_priority(priority)
        columns["priority"] = priority
    if content is not None:
        counter = handle.settings.counter()
        text = _checked_content(handle, content)
        columns |= {"content": dump_json(text), "length": len(text), "tokens": counter(text), "counter": counter.name}

    def decide(state: State) -> tuple[Sequence[Change], MemoryItem]:
        row = _found(handle, state, wanted, now)._replace(**columns)
        if rest is not None:
            row = row._replace(rest=dump_json({**load_json(row.rest or b"{}"), **load_json(rest)}))
        if not isinstance(ttl_s, DefaultTtl):
            row = row._replace(expires_at=expiry(handle.policy, row.priority, ttl_s, now, pinned=row.pinned))
        elif row.pinned:
            row = row._replace(expires_at=None)
        if content is not None:
            check_room(handle, state, [row], now)
        return [ItemPut(row)], _item(state, row, now)

    return (yield from handle.commit(decide, now))


def remove(handle: Handle, wanted: str) -> Flow[bool]:
    """Remove an item; False when nobody could see one."""
    wanted = checked_id(wanted)
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], bool]:
        if wanted not in state.items:
            return [], False
        # An expired item goes too, although nobody could see it.
        return [ItemRemoved(wanted)], state.rows[wanted].visible(now)

    return (yield from handle.commit(decide, now))


def clear(handle: Handle) -> Flow[int]:
    """Remove all items; how many could be seen."""
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], int]:
        count = len(state.visible(state.items, now))
        return ([Cleared("items", count, now)], count) if state.items else ([], 0)

    return (yield from handle.commit(decide, now))
