"""Calling `on_flush` when the items of a buffer reach the flush threshold."""

import inspect
import logging
from collections.abc import Sequence
from functools import partial

from wmem.engine import Callback
from wmem.errors import InvalidInputError
from wmem.flow import Flow, ask
from wmem.model.item import to_item
from wmem.model.row import Row
from wmem.policy import Policy
from wmem.rules.importance import importance
from wmem.scope.handle import Handle

__all__ = ["call_on_flush", "check_sync_on_flush", "crosses_threshold", "may_cross_threshold"]

_log = logging.getLogger("wmem.scope.queue")


def may_cross_threshold(policy: Policy, item_count: int) -> bool:
    """Whether one more than the stored items, visible or not, could reach the threshold: most adds need not count."""
    return policy.flush_threshold is not None and item_count + 1 >= policy.flush_threshold


def crosses_threshold(policy: Policy, before: int, after: int) -> bool:
    """Whether an add took the number of items from below the threshold to it or above."""
    return policy.flush_threshold is not None and before < policy.flush_threshold <= after


def call_on_flush(handle: Handle, rows: Sequence[Row], now: float) -> Flow[None]:
    """Call `on_flush` with the items, outside all locks; an exception is logged, not raised."""
    on_flush = handle.policy.on_flush
    if on_flush is None:
        return
    items = [to_item(row, importance(row, now)) for row in rows]
    try:
        yield from ask(Callback.call, partial(on_flush, items))
    except Exception:  # noqa: BLE001  # a user's function: the item is stored, whatever it raises
        _log.exception("on_flush failed for %d items of scope %s; they stay", len(items), "/".join(handle.path))


def check_sync_on_flush(policy: Policy) -> None:
    """Raise `InvalidInputError` if `on_flush` is a coroutine function."""
    given = policy.on_flush
    if given is not None and (inspect.iscoroutinefunction(given) or inspect.iscoroutinefunction(type(given).__call__)):
        msg = "on_flush is a coroutine function and needs the async face: use wmem.aopen"
        raise InvalidInputError(msg)
