"""The limit on an agent's entries over all its scopes, checked so that a write seldom has to count."""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from wmem.engine.write_queue import RETRY_S, Pause, backoff
from wmem.errors import CapacityError
from wmem.flow import Flow, ask
from wmem.journal.port import Journal
from wmem.model.row import Row
from wmem.scope.entries.counts import MANY_SCOPES, NEARLY_FULL, WRITERS_MARGIN
from wmem.scope.handle import Handle
from wmem.state import State

R = TypeVar("R")


def check_entry_limit(handle: Handle, state: State, rows: Sequence[Row], now: float, act: str) -> None:
    """Raise `CapacityError` if a scope has no room for the new entries among these rows."""
    fresh = sum(row.key is not None and row.key not in state.entries for row in rows)
    room = max(0, handle.policy.max_entries - len(state.visible(state.entries.values(), now)))
    if fresh > room:
        raise CapacityError(
            f"scope {handle.path!r} has room for {room} entries more, not for {fresh}; nothing was {act}"
        )


def has_ample_room(handle: Handle, entries: int) -> bool:
    """Note that a scope of so many entries gets one more; true if there is room enough to just append it."""
    path, census, limit = handle.path, handle.settings.entry_counts, handle.root.policy.max_entries
    return entries + WRITERS_MARGIN < handle.policy.max_entries and not census.record_write(path, entries, limit)


def store_within_limit(handle: Handle, key: str, write: Callable[[], Flow[R]], now: float) -> Flow[R]:
    """Write an entry; a new one only if its agent is below its limit of entries.

    Raises:
        CapacityError: The agent has reached its limit of entries.
    """
    entries = handle.engine.replica(handle.path).state.entries
    census = handle.settings.entry_counts
    try:
        census.uncounted_writes.add(write)
        if key in entries or not census.record_write(handle.path, len(entries), handle.root.policy.max_entries):
            return (yield from write())
    finally:
        census.uncounted_writes.discard(write)
    deadline = time.monotonic() + RETRY_S
    tries = 0
    while True:
        try:
            # Announce before counting: of two concurrent counts, the later one knows of the earlier.
            others = census.begin_counted_write(write)
            total = yield from _count_entries(handle, now)
            limit = handle.root.policy.max_entries
            if total + others < limit:
                return (yield from write())
        finally:
            census.end_counted_write(write)
        if total >= limit or time.monotonic() > deadline:
            msg = f"agent {handle.path[0]!r} is full: {total} of {limit} entries in all its scopes; remove some"
            raise CapacityError(msg)
        # There is room unless other writes take it: wait for them.
        while census.writes_in_progress >= limit - total and time.monotonic() < deadline:
            tries += 1
            yield from ask(Pause.sleep, backoff(tries))


def _count_entries(handle: Handle, now: float) -> Flow[int]:
    """Count the agent's entries in all its scopes; 0 where a count would be slow and the limit is far off.

    A scope that cannot be read counts as empty: it must not block writes to the others.
    """
    census, limit = handle.settings.entry_counts, handle.root.policy.max_entries
    notes = census.revision
    listed = yield from ask(Journal.paths, handle.path[:1])
    paths = [path for path in listed if not any(segment.startswith("~") for segment in path)]
    if len(paths) > MANY_SCOPES and census.total <= NEARLY_FULL * limit:
        census.postpone_recount(limit)
        return 0
    replicas = (yield from handle.engine.sync_readable(paths)) if paths else []
    live = [replica for replica in replicas if not replica.state.disposed]
    total = sum(len(replica.state.entries) for replica in live)
    counts = {}
    for replica in live:
        with replica.lock:
            # Expired entries do not count; below the limit they need not be filtered out.
            entries = replica.state.entries
            counts[replica.path] = len(entries if total < limit else replica.state.visible(entries.values(), now))
    census.replace_counts({**counts, handle.path: counts.get(handle.path, 0) + 1}, limit, revision=notes)
    return sum(counts.values())
