"""Capacity of a scope: choosing what to evict, and storing an item and its evictions as one record."""

import logging
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from wmem.errors import CapacityError
from wmem.flow import Flow
from wmem.model.change import Change, ItemEvicted, ItemExpired, ItemPut
from wmem.model.row import Row
from wmem.policy import Policy
from wmem.rules.eviction import Room, Victim, leaving, victims
from wmem.scope.flush import crossed, flushed, may_cross
from wmem.scope.handle import Handle
from wmem.state import State

__all__ = ["Stored", "changes_of", "depends", "evicted_to", "log_evictions", "made_room", "size_of", "stored"]

_log = logging.getLogger("wmem.scope.queue")
_LARGE = 256  # above so many items, eviction frees room for later writes too
_FILLED = 0.95


class Stored(NamedTuple):
    """The result of storing an item.

    Attributes:
        row: The item's row as stored.
        seen: All visible rows, oldest first; only the new one unless queued or near the flush threshold.
        gone: What was removed to make room, first to last.
    """

    row: Row
    seen: tuple[Row, ...]
    gone: tuple[Victim, ...]


def depends(policy: Policy) -> bool:
    """Whether an add must read the state: for limits, the flush threshold or steps."""
    return policy.capped or policy.flush_threshold is not None or _counts_steps(policy)


def _counts_steps(policy: Policy) -> bool:
    return policy.step_ttl is not None or policy.eviction == "guarded"


def size_of(rows: Iterable[Row]) -> Room:
    """The number of rows and the sum of their tokens."""
    rows = list(rows)
    return Room(len(rows), sum(row.tokens or 0 for row in rows))


def made_room(handle: Handle, state: State, rows: Sequence[Row], now: float) -> list[Change]:
    """The changes that make new or changed rows fit; neither these nor pinned rows are evicted.

    Raises:
        CapacityError: Evicting all the others is not enough, or the policy does not evict.
    """
    return changes_of(_leaving_for(handle, state, rows, now), now)


def changes_of(gone: Iterable[Victim], now: float) -> list[Change]:
    """The changes that record removals; an expired item is recorded as expired, not as evicted."""
    return [
        ItemExpired(victim.row.id)
        if victim.rule == "expired"
        else ItemEvicted(victim.row.id, victim.rule, victim.row.tokens or 0, now, victim.parts)
        for victim in gone
    ]


def log_evictions(handle: Handle, changes: Iterable[Change]) -> None:
    """Log and count evictions, once they are stored; never the items' content."""
    scope = "/".join(handle.path)
    metrics = handle.settings.metrics
    for change in changes:
        if isinstance(change, ItemEvicted):
            if metrics is not None:
                metrics.evicted.add(1, {"rule": change.rule})
            important = change.rule == "guarded"
            _log.log(
                logging.WARNING if important else logging.INFO,
                "Evicted %sitem %s from scope %s to make room: %s, %d tokens, %s",
                "important " if important else "",
                change.id,
                scope,
                change.rule,
                change.tokens,
                ", ".join(f"{name} {number:.4g}" for name, number in change.parts.items()),
            )


def stored(handle: Handle, row: Row, now: float, *, queued: bool = False) -> Flow[Stored]:
    """Store an item with its evictions, and call `on_flush` if it reaches the threshold.

    Args:
        queued: Set the scope's step on an item without one, whatever the policy, and return
            all visible rows.
    """

    def decide(state: State) -> tuple[Sequence[Change], tuple[Stored, Sequence[Change], bool]]:
        policy = handle.policy
        counts = queued or _counts_steps(policy)
        put = row._replace(step_index=state.step) if counts and row.step_index is None else row
        gone = _leaving_for(handle, state, [put], now)
        near = may_cross(policy, len(state.items))
        before = state.visible(state.items, now) if queued or near else []
        left = {put.id, *(victim.row.id for victim in gone)}
        seen = (*(each for each in before if each.id not in left), put)
        changes = changes_of(gone, now)
        due = near and crossed(policy, len(before), len(seen))
        return [*changes, ItemPut(put)], (Stored(put, seen, tuple(gone)), changes, due)

    made, changes, due = yield from handle.commit(decide, now)
    log_evictions(handle, changes)
    if due:
        yield from flushed(handle, made.seen, now)
    return made


def _leaving_for(handle: Handle, state: State, rows: Sequence[Row], now: float) -> list[Victim]:
    policy = handle.policy
    if not policy.capped or (policy.max_tokens is None and len(state.items) + len(rows) <= (policy.max_items or 0)):
        return []
    fresh = {row.id: row for row in rows}
    # With eviction, invisible rows count too: so they are bounded, and they are evicted first.
    held = state.visible(state.items, now) if policy.eviction is None else map(state.rows.__getitem__, state.items)
    others = [row for row in held if row.id not in fresh]
    coming, there = size_of(fresh.values()), size_of(others)
    size = Room(coming.items + there.items, coming.tokens + there.tokens)
    limits = (policy.max_items, policy.max_tokens)
    needed = _excess(size, *limits)
    if needed == Room():
        return []
    if policy.eviction is None:
        raise _full(handle, size, "remove some")
    if _excess(coming, *limits) != Room():
        raise _full(handle, coming, "that alone does not fit; store it in parts")
    wanted = _excess(size, *map(_part, limits)) if size.items > _LARGE else needed
    return _chosen(handle, others, needed, wanted, step=state.step, now=now)


def evicted_to(
    handle: Handle, state: State, now: float, *, items: int | None = None, tokens: int | None = None
) -> list[Victim]:
    """Choose what to evict so that at most so many items and tokens stay stored.

    Raises:
        CapacityError: Pinned items alone are more.
    """
    rows = [state.rows[each] for each in state.items]
    needed = _excess(size_of(rows), items, tokens)
    return _chosen(handle, rows, needed, needed, step=state.step, now=now)


def _chosen(handle: Handle, rows: Sequence[Row], needed: Room, wanted: Room, *, step: int, now: float) -> list[Victim]:
    gone = victims(leaving(rows, handle.policy, step=step, now=now), needed, wanted)
    freed = size_of(victim.row for victim in gone)
    if freed.items < needed.items or freed.tokens < needed.tokens:
        msg = (
            f"scope {handle.path!r} has to free {needed.items} items and {needed.tokens} tokens, and all but "
            f"{freed.items} items of {freed.tokens} tokens are pinned; unpin or remove some"
        )
        raise CapacityError(msg)
    return gone


def _excess(size: Room, items: int | None, tokens: int | None) -> Room:
    """By how much a size exceeds limits; None is no limit."""
    over_items = 0 if items is None else max(0, size.items - items)
    over_tokens = 0 if tokens is None else max(0, size.tokens - tokens)
    return Room(over_items, over_tokens)


def _part(limit: int | None) -> int | None:
    return None if limit is None else int(limit * _FILLED)


def _full(handle: Handle, size: Room, advice: str) -> CapacityError:
    limits = (handle.policy.max_items, handle.policy.max_tokens)
    told = [
        f"{count} of {limit} {name}"
        for name, count, limit in zip(Room._fields, size, limits, strict=True)
        if limit is not None and count > limit
    ]
    return CapacityError(f"scope {handle.path!r} is full: it would hold {' and '.join(told)}; {advice}")
