"""How many entries an agent is known to have in all its scopes, so that a limit on them costs a write next to nothing.

Each scope is a journal of its own: an exact count reads them all. A process therefore
remembers what it counted last and what it has written since, and counts afresh before
its own writes could matter: when they reach a sixteenth of the room that was left, and
for each new key from 95 % of the limit on. So processes that race exceed it by one write
each; within a process, writes that count know of each other.
"""

from collections.abc import Mapping

from wmem.model.history import Path

__all__ = ["MANY_SCOPES", "NEARLY_FULL", "Census"]

NEARLY_FULL = 0.95
MANY_SCOPES = 256  # an agent of more is counted afresh only when nearly full: reading them all takes its time
_SHARE = 16


class Census:
    """The last known counts of one agent, by scope.

    It takes no lock: threads that meet may make the total a key or two off, until the next count.
    """

    __slots__ = ("_counting", "_counts", "_until", "notes", "passing", "total")

    def __init__(self) -> None:
        self._counts: dict[Path, int] = {}
        self.total = 0
        """Entries in all scopes, as far as known and with those about to be written."""
        self.notes = 0
        """How often something was noted."""
        self._until = -1.0
        """The total up to which nobody counts."""
        self.passing: set[object] = set()
        """Writes under way that needed no count."""
        self._counting: dict[object, None] = {}
        """Writes under way that count first, in the order in which they began."""

    def due(self, path: Path, entries: int, limit: int) -> bool:
        """Note that a scope of so many entries gets one more; whether to count afresh before it does."""
        known = self._counts.get(path)
        self._counts[path] = entries + 1
        self.notes += 1
        if known is None:
            # What a scope held when it was met is no growth.
            self._until = (limit / _SHARE if self._until < 0 else self._until) + entries
            known = 0
        self.total = total = self.total + entries + 1 - known
        # Those who are counting do not know of one that begins after them: it must know of them where room is short.
        return total > self._until or total + self.writing > NEARLY_FULL * limit

    @property
    def writing(self) -> int:
        """How many writes of new entries are under way in this process."""
        return len(self._counting) + len(self.passing)

    def begin(self, write: object) -> int:
        """Announce a write that counts first; how many others of this process may take room before it."""
        self._counting[write] = None
        return list(self._counting).index(write) + len(self.passing)

    def end(self, write: object) -> None:
        """The write is stored, or will not be."""
        del self._counting[write]

    def counted(self, counts: Mapping[Path, int], limit: int, *, notes: int) -> None:
        """Take over what was counted, with the entry to come.

        Args:
            notes: The number of notes when the count began: what was noted since may be missing in it.
        """
        known = {} if notes == self.notes else self._counts
        self._counts = {path: max(count, known.get(path, 0)) for path, count in counts.items()}
        self.total = sum(self._counts.values())
        self.put_off(limit)

    def put_off(self, limit: int) -> None:
        """Let the total grow by a sixteenth of the room that is left before the next count."""
        self._until = self.total + (limit - self.total) / _SHARE
