"""How many entries an agent has, as last known, so that its limit can be checked without counting."""

from collections.abc import Mapping

from wmem.model.history import Path

NEARLY_FULL = 0.95
MANY_SCOPES = 256  # an agent with more is counted again only when nearly full: reading them all is slow
WRITERS_MARGIN = 64  # the most by which so many concurrent writers put a known count off
_ROOM_DIVISOR = 16


class EntryCounts:
    """The last known counts of one agent, by scope.

    It takes no lock, and two writers of one scope may note the same new count of it: until the next count, the total
    may be too low by as many entries as there are concurrent writers.
    """

    __slots__ = ("_counting_writes", "_counts", "_recount_above", "revision", "total", "uncounted_writes")

    def __init__(self) -> None:
        self._counts: dict[Path, int] = {}
        self.total = 0
        """Entries in all scopes as last known, including those about to be written."""
        self.revision = 0
        """How many writes were noted."""
        self._recount_above = -1.0  # the total up to which no count is needed
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
        near = min(NEARLY_FULL * limit, limit - WRITERS_MARGIN)
        return total > self._recount_above or total + self.writes_in_progress > near

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
        self._counting_writes.pop(write, None)

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
