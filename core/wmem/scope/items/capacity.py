"""Capacity of a scope: choosing what to evict, and storing an item and its evictions as one record."""

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from wmem.engine.ports import Callback
from wmem.errors import CapacityError, InvalidInputError
from wmem.flow import Flow, ask
from wmem.log import find_logger, log_callback_failure
from wmem.model.change import Change, ItemEvicted, ItemExpired, ItemPut, ItemRemoved
from wmem.model.checks import is_coroutine_function
from wmem.model.item import to_item
from wmem.model.row import Row
from wmem.policy import Policy
from wmem.rules.eviction import Size, Victim, eviction_order, select_victims
from wmem.rules.importance import importance
from wmem.scope.handle import Handle
from wmem.state import State

_log = find_logger("wmem.scope.queue")
_EVICT_AHEAD_ABOVE = 256  # above so many items, eviction frees room for later writes too
_EVICT_AHEAD_TO = 0.95


class StoreResult(NamedTuple):
    """The result of storing an item.

    Attributes:
        row: The item's row as stored.
        visible: All visible rows, oldest first; only the new one unless queued or near the flush threshold.
        removed: What was removed to make room, first to last.
    """

    row: Row
    visible: tuple[Row, ...]
    removed: tuple[Victim, ...]


def depends_on_state(policy: Policy) -> bool:
    """Whether an add must read the state: for limits, the flush threshold or steps."""
    return policy.has_item_limit or policy.flush_threshold is not None or _counts_steps(policy)


def _counts_steps(policy: Policy) -> bool:
    return policy.step_ttl is not None or policy.eviction == "guarded"


def size_of(rows: Iterable[Row]) -> Size:
    """The number of rows and the sum of their tokens."""
    rows = list(rows)
    return Size(len(rows), sum(row.tokens or 0 for row in rows))


def make_room(handle: Handle, state: State, rows: Sequence[Row], now: float) -> list[Change]:
    """The changes that make new or changed rows fit; neither these nor pinned rows are evicted.

    Raises:
        CapacityError: Evicting all the others is not enough, or the policy does not evict.
    """
    return to_changes(_choose_evictions_for(handle, state, rows, now), now)


def to_changes(removed: Iterable[Victim], now: float) -> list[Change]:
    """The changes that record removals; an expired item is recorded as expired, not as evicted."""
    return [
        ItemExpired(victim.row.id, now)
        if victim.rule == "expired"
        else ItemEvicted(victim.row.id, victim.rule, victim.row.tokens or 0, now, victim.parts)
        for victim in removed
    ]


def log_evictions(handle: Handle, changes: Iterable[Change]) -> None:
    """Log and count evictions, once they are stored; never the items' content."""
    scope = handle.id
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


def store_item(
    handle: Handle,
    row: Row,
    now: float,
    *,
    queued: bool = False,
    find_same: Callable[[State], Row | None] | None = None,
) -> Flow[StoreResult]:
    """Store an item with its evictions, and call `on_flush` if it reaches the threshold.

    Args:
        find_same: Finds the same item where it is stored already, which then changes nothing. An invisible one
            under its id is replaced.
        queued: Set the scope's step on an item without one, whatever the policy, and return
            all visible rows.
    """

    def decide(state: State) -> tuple[Sequence[Change], tuple[StoreResult, Sequence[Change], bool]]:
        if find_same is not None and (same := find_same(state)) is not None:
            return [], (StoreResult(same, (), ()), [], False)
        policy = handle.policy
        counts = queued or _counts_steps(policy)
        put = row._replace(step_index=state.step) if counts and row.step_index is None else row
        gone = _choose_evictions_for(handle, state, [put], now)
        threshold = math.inf if policy.flush_threshold is None else policy.flush_threshold
        near = len(state.items) + 1 >= threshold  # visible or not: most adds need not count
        before = state.visible(state.items, now) if queued or near else []
        left = {put.id, *(victim.row.id for victim in gone)}
        seen = (*(each for each in before if each.id not in left), put)
        changes = to_changes(gone, now)
        if put.id in state.rows:
            changes.append(ItemRemoved(put.id, now))  # it expired or was forgotten: this is another, with its own place
        due = near and len(before) < threshold <= len(seen)
        return [*changes, ItemPut(put)], (StoreResult(put, seen, tuple(gone)), changes, due)

    made, changes, due = yield from handle.commit(decide, now)
    log_evictions(handle, changes)
    if due:
        yield from call_on_flush(handle, made.visible, now)
    return made


def _choose_evictions_for(handle: Handle, state: State, rows: Sequence[Row], now: float) -> list[Victim]:
    policy = handle.policy
    if not policy.has_item_limit or (
        policy.max_tokens is None and len(state.items) + len(rows) <= (policy.max_items or 0)
    ):
        return []
    fresh = {row.id: row for row in rows}
    # With eviction, invisible rows count too: so they are bounded, and they are evicted first.
    held = state.visible(state.items, now) if policy.eviction is None else map(state.rows.__getitem__, state.items)
    others = [row for row in held if row.id not in fresh]
    coming, there = size_of(fresh.values()), size_of(others)
    size = Size(coming.items + there.items, coming.tokens + there.tokens)
    limits = (policy.max_items, policy.max_tokens)
    needed = _excess(size, *limits)
    if needed == Size():
        return []
    if policy.eviction is None:
        raise _capacity_error(handle, size, "remove some")
    if _excess(coming, *limits) != Size():
        raise _capacity_error(handle, coming, "that alone does not fit; store it in parts")
    wanted = _excess(size, *map(_eviction_target, limits)) if size.items > _EVICT_AHEAD_ABOVE else needed
    return _select_victims(handle, others, needed, wanted, step=state.step, now=now)


def choose_evictions(
    handle: Handle, state: State, now: float, *, items: int | None = None, tokens: int | None = None
) -> list[Victim]:
    """Choose what to evict so that at most so many items and tokens stay stored.

    Raises:
        CapacityError: Pinned items alone are more.
    """
    rows = [state.rows[each] for each in state.items]
    needed = _excess(size_of(rows), items, tokens)
    return _select_victims(handle, rows, needed, needed, step=state.step, now=now)


def _select_victims(
    handle: Handle, rows: Sequence[Row], needed: Size, preferred: Size, *, step: int, now: float
) -> list[Victim]:
    gone = select_victims(
        eviction_order(rows, handle.policy, step=step, now=now, analyzer=handle.engine.analyzer), needed, preferred
    )
    freed = size_of(victim.row for victim in gone)
    if freed.items < needed.items or freed.tokens < needed.tokens:
        msg = (
            f"scope {handle.path!r} has to free {needed.items} items and {needed.tokens} tokens, and all but "
            f"{freed.items} items of {freed.tokens} tokens are pinned; unpin or remove some"
        )
        raise CapacityError(msg)
    return gone


def _excess(size: Size, items: int | None, tokens: int | None) -> Size:
    """By how much a size exceeds limits; None is no limit."""
    over_items = 0 if items is None else max(0, size.items - items)
    over_tokens = 0 if tokens is None else max(0, size.tokens - tokens)
    return Size(over_items, over_tokens)


def _eviction_target(limit: int | None) -> int | None:
    return None if limit is None else int(limit * _EVICT_AHEAD_TO)


def _capacity_error(handle: Handle, size: Size, advice: str) -> CapacityError:
    limits = (handle.policy.max_items, handle.policy.max_tokens)
    told = [
        f"{count} of {limit} {name}"
        for name, count, limit in zip(Size._fields, size, limits, strict=True)
        if limit is not None and count > limit
    ]
    return CapacityError(f"scope {handle.path!r} is full: it would hold {' and '.join(told)}; {advice}")


def call_on_flush(handle: Handle, rows: Sequence[Row], now: float) -> Flow[None]:
    """Call `on_flush` with the items, outside all locks; an exception is logged, not raised."""
    on_flush = handle.policy.on_flush
    if on_flush is None:
        return
    items = [to_item(row, importance(row, now)) for row in rows]
    try:
        yield from ask(Callback.call, partial(on_flush, items))
    except Exception as exc:  # noqa: BLE001  # a user's function: the item is stored, whatever it raises
        told = "on_flush failed for %d items of scope %s; they stay"
        log_callback_failure(_log, told, len(items), handle.id, exc=exc)


def check_sync_on_flush(policy: Policy) -> None:
    """Raise `InvalidInputError` if `on_flush` is a coroutine function."""
    if is_coroutine_function(policy.on_flush):
        raise InvalidInputError("on_flush is a coroutine function and needs the async face: use wmem.aopen")
