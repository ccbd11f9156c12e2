"""The limit on an agent's entries over all its scopes, checked so that a write seldom has to count."""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from wmem.engine.write_queue import Pause, backoff
from wmem.engine.writing import RETRY_S
from wmem.errors import CapacityError
from wmem.flow import Flow, ask
from wmem.journal.port import Journal
from wmem.model.history import Path

if TYPE_CHECKING:
    from wmem.scope.handle import Handle  # a handle holds the counts

__all__ = ["MANY_SCOPES", "NEARLY_FULL", "EntryCounts", "has_ample_room", "store_within_limit"]

R = TypeVar("R")

_WRITERS_MARGIN = 64  # margin for so many concurrent writers


def has_ample_room(handle: "Handle", entries: int) -> bool:
    """Note that a scope of so many entries gets one more; true if there is room enough to just append it."""
    path, census, limit = handle.path, handle.settings.entry_counts, handle.root.policy.max_entries
    return entries + _WRITERS_MARGIN < handle.policy.max_entries and not census.record_write(path, entries, limit)


def store_within_limit(handle: "Handle", key: str, write: Callable[[], Flow[R]], now: float) -> Flow[R]:
    """Write an entry; a new one only if its agent is below its limit of entries.

    Raises:
        CapacityError: The agent has reached its limit of entries.
    """
    entries = handle.engine.replica(handle.path).state.entries
    census = handle.settings.entry_counts
    census.uncounted_writes.add(write)
    try:
        if key in entries or not census.record_write(handle.path, len(entries), handle.root.policy.max_entries):
            return (yield from write())
    finally:
        census.uncounted_writes.discard(write)
    deadline = time.monotonic() + RETRY_S
    tries = 0
    while True:
        # Announce before counting: of two concurrent counts, the later one knows of the earlier.
        others = census.begin_counted_write(write)
        try:
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


def _count_entries(handle: "Handle", now: float) -> Flow[int]:
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


NEARLY_FULL = 0.95
MANY_SCOPES = 256  # an agent with more is counted again only when nearly full: reading them all is slow
_ROOM_DIVISOR = 16


class EntryCounts:
    """The last known counts of one agent, by scope.

    It takes no lock: racing threads may put the total a key or two off, until the next count.
    """

    __slots__ = ("_counting_writes", "_counts", "_recount_above", "revision", "total", "uncounted_writes")

    def __init__(self) -> None:
        self._counts: dict[Path, int] = {}
        self.total = 0
        """Entries in all scopes as last known, including those about to be written."""
        self.revision = 0
        """How many writes were noted."""
        self._recount_above = -1.0
        """The total up to which no count is needed."""
        self.uncounted_writes: set[object] = set()
        """Writes in progress that needed no count."""
        self._counting_writes: dict[object, None] = {}
        """Writes in progress that count first, in the order in which they began."""

    def record_write(self, path: Path, entries: int, limit: int) -> bool:
        """Note that a scope of so many entries gets one more; true if a new count is needed first."""
        known = self._counts.get(path)
        self._counts[path] = entries + 1
        self.revision += 1
        if known is None:
            # What a scope held when first seen is not growth.
            self._recount_above = (limit / _ROOM_DIVISOR if self._recount_above < 0 else self._recount_above) + entries
            known = 0
        self.total = total = self.total + entries + 1 - known
        # Counts in progress do not know of a later write: near the limit it must count, and so know of them.
        return total > self._recount_above or total + self.writes_in_progress > NEARLY_FULL * limit

    @property
    def writes_in_progress(self) -> int:
        """How many writes of new entries are in progress in this process."""
        return len(self._counting_writes) + len(self.uncounted_writes)

    def begin_counted_write(self, write: object) -> int:
        """Announce a write that counts first; returns how many others of this process may take room before it."""
        self._counting_writes[write] = None
        return list(self._counting_writes).index(write) + len(self.uncounted_writes)

    def end_counted_write(self, write: object) -> None:
        """Note that a write which counts first was stored or failed."""
        del self._counting_writes[write]

    def replace_counts(self, counts: Mapping[Path, int], limit: int, *, revision: int) -> None:
        """Replace the counts by new ones, which include the entry about to be written.

        Args:
            revision: `revision` when the count began: the count may miss writes noted since.
        """
        known = {} if revision == self.revision else self._counts
        self._counts = {path: max(count, known.get(path, 0)) for path, count in counts.items()}
        self.total = sum(self._counts.values())
        self.postpone_recount(limit)

    def postpone_recount(self, limit: int) -> None:
        """Postpone the next count until the total has grown by a sixteenth of the room that is left."""
        self._recount_above = self.total + (limit - self.total) / _ROOM_DIVISOR
