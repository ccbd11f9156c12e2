"""Reads of entries, as pure functions of the states of a scope and its parents."""

import time
from collections.abc import Iterable, Sequence
from typing import cast

from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.log import find_logger
from wmem.model.checks import check_key
from wmem.model.item import MemoryItem, to_item
from wmem.model.row import Row
from wmem.rules.importance import importance as importance_of
from wmem.scope.handle import Handle, Read, nearest_entry
from wmem.state import State

_log = find_logger("wmem.scope")


def row_at(key: str) -> Read[Row | None]:
    """The visible row of a key, from the nearest scope that has one."""
    return lambda states, now: nearest_entry(key, states, now)


def local_and_nearest(key: str) -> Read[tuple[Row | None, Row | None]]:
    """The visible rows of a key in the scope alone, and in the nearest scope that has one."""
    return lambda states, now: (states[0].entry(key, now), nearest_entry(key, states, now))


def visible_rows(states: Sequence[State], now: float) -> dict[str, Row]:
    """The visible entries by key, nearest scope first; shadowed ones are left out."""
    found: dict[str, Row] = {}
    for state in states:
        for row in state.visible(state.entries.values(), now):
            found.setdefault(cast("str", row.key), row)
    return found


def visible_items(states: Sequence[State], now: float) -> dict[str, MemoryItem]:
    """The visible entries by key as items."""
    return {key: to_item(row, importance_of(row, now)) for key, row in visible_rows(states, now).items()}


def rows_at(keys: Sequence[str]) -> Read[dict[str, Row]]:
    """The rows of those keys that exist."""

    def read(states: Sequence[State], now: float) -> dict[str, Row]:
        found = {key: row_at(key)(states, now) for key in keys}
        return {key: row for key, row in found.items() if row is not None}

    return read


def check_keys(keys: Iterable[str]) -> list[str]:
    """Check each of several keys."""
    if isinstance(keys, str) or not isinstance(keys, Iterable):
        raise InvalidInputError(f"keys must be a list of keys, got {describe(keys)}")
    return [check_key(key) for key in keys]


def log_lookup(handle: Handle, key: str, row: Row | None, started_at: float) -> None:
    """Record the lookup of a key in log and metrics; its start is an instant of `time.perf_counter`."""
    if (metrics := handle.settings.metrics) is not None:
        metrics.get_ms.record((time.perf_counter() - started_at) * 1_000)
        own = handle.engine.find_synced_replica(handle.path)
        if handle.parent is not None and (own is None or own.state.entry(key, handle.settings.clock()) is None):
            metrics.fallbacks.add(1)
    _log.debug("Working memory scope %s (%s) lookup for key %s: %s", handle.path[-1], handle.id, key, row is not None)
