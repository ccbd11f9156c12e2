"""Whether an agent may have one entry more in all its scopes, asked so that a write seldom waits for it."""

import time
from collections.abc import Callable
from typing import TypeVar

from wmem.engine import RETRY_S
from wmem.errors import CapacityError
from wmem.flow import Flow, ask
from wmem.journal.port import Journal
from wmem.scope.census import MANY_SCOPES, NEARLY_FULL
from wmem.scope.handle import Handle
from wmem.waiting import Pause, backoff

__all__ = ["has_plenty", "stored_within"]

R = TypeVar("R")

_FEW = 64  # as many writers at once are kept apart


def has_plenty(handle: Handle, entries: int) -> bool:
    """Note that a scope of so many entries gets one more; whether there is so much room that it is just appended."""
    path, census, limit = handle.path, handle.settings.census, handle.root.policy.max_entries
    return entries + _FEW < handle.policy.max_entries and not census.due(path, entries, limit)


def stored_within(handle: Handle, key: str, write: Callable[[], Flow[R]], now: float) -> Flow[R]:
    """Write an entry, if a new one only when its agent may have one more.

    Raises:
        CapacityError: The agent has as many entries as it may.
    """
    entries = handle.engine.replica(handle.path).state.entries
    census = handle.settings.census
    census.passing.add(write)
    try:
        if key in entries or not census.due(handle.path, len(entries), handle.root.policy.max_entries):
            return (yield from write())
    finally:
        census.passing.discard(write)
    deadline = time.monotonic() + RETRY_S
    tries = 0
    while True:
        # Announced before counting: of two that count at once, the later one knows of the earlier.
        others = census.begin(write)
        try:
            total = yield from _count(handle, now)
            limit = handle.root.policy.max_entries
            if total + others < limit:
                return (yield from write())
        finally:
            census.end(write)
        if total >= limit or time.monotonic() > deadline:
            msg = f"agent {handle.path[0]!r} is full: {total} of {limit} entries in all its scopes; remove some"
            raise CapacityError(msg)
        # There is room, unless the others take it.
        while census.writing >= limit - total and time.monotonic() < deadline:
            tries += 1
            yield from ask(Pause.sleep, backoff(tries))


def _count(handle: Handle, now: float) -> Flow[int]:
    """How many entries the agent has in all its scopes; what was known, where counting would take its time.

    What is in a scope that cannot be read takes nobody's room: it must not close the others.
    """
    census, limit = handle.settings.census, handle.root.policy.max_entries
    notes = census.notes
    listed = yield from ask(Journal.paths, handle.path[:1])
    paths = [path for path in listed if not any(segment.startswith("~") for segment in path)]
    if len(paths) > MANY_SCOPES and census.total <= NEARLY_FULL * limit:
        census.put_off(limit)
        return 0
    replicas = (yield from handle.engine.readable(paths)) if paths else []
    live = [replica for replica in replicas if not replica.state.disposed]
    total = sum(len(replica.state.entries) for replica in live)
    counts = {}
    for replica in live:
        with replica.lock:
            # What has expired takes nobody's room; as long as there is enough it need not be told apart.
            entries = replica.state.entries
            counts[replica.path] = len(entries if total < limit else replica.state.visible(entries.values(), now))
    census.counted({**counts, handle.path: counts.get(handle.path, 0) + 1}, limit, notes=notes)
    return sum(counts.values())
