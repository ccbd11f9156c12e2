"""Making room in a scope that is full, and storing an item in it: the item and what leaves for it are one record."""

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
_LARGE = 256  # items above which room is made for the next writes too
_FILLED = 0.95


class Stored(NamedTuple):
    """What became of storing an item.

    Attributes:
        row: As it is stored.
        seen: All rows that can be seen now, oldest first; the new one alone where nobody asked.
        gone: Who left for it, first to last.
    """

    row: Row
    seen: tuple[Row, ...]
    gone: tuple[Victim, ...]


def depends(policy: Policy) -> bool:
    """Whether what an add stores, or calls, depends on what is there."""
    return policy.capped or policy.flush_threshold is not None or _counts_steps(policy)


def _counts_steps(policy: Policy) -> bool:
    return policy.step_ttl is not None or policy.eviction == "guarded"


def size_of(rows: Iterable[Row]) -> Room:
    """How many items these are, and their tokens."""
    rows = list(rows)
    return Room(len(rows), sum(row.tokens or 0 for row in rows))


def made_room(handle: Handle, state: State, rows: Sequence[Row], now: float) -> list[Change]:
    """What must leave so that new or changed items fit; none of these leaves, and nothing pinned.

    Raises:
        CapacityError: Not even that makes room, or the policy lets nothing leave.
    """
    return changes_of(_leaving_for(handle, state, rows, now), now)


def changes_of(gone: Iterable[Victim], now: float) -> list[Change]:
    """What a record says of those who leave: an expired item was nobody's any more, so it is not evicted."""
    return [
        ItemExpired(victim.row.id)
        if victim.rule == "expired"
        else ItemEvicted(victim.row.id, victim.rule, victim.row.tokens or 0, now, victim.parts)
        for victim in gone
    ]


def log_evictions(handle: Handle, changes: Iterable[Change]) -> None:
    """Tell log and metrics who left, once that is stored; never what they said."""
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
    """Store an item, together with what leaves for it, and hand the items on if they are enough now.

    Args:
        queued: Note the scope's step on an item that was given none, whatever the policy, and
            tell all that can be seen.
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
    # Where something may leave, what nobody sees takes room too: it is bounded, and the first to go.
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
    """Who must leave so that no more than so many items and tokens are stored.

    Raises:
        CapacityError: Pinned ones alone are more.
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
    """How much more than a limit, None for no limit, a size is."""
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
