"""How many entries an agent is known to have in all its scopes, so that a limit on them costs a write next to nothing.

Each scope is a journal of its own: an exact count reads them all. A process therefore
remembers what it counted last and what it has written since, and counts afresh before
its own writes could matter: after a sixteenth of the room that was left, and for each
new key from 95 % of the limit on. So writers that race exceed it by one write each.
"""

import threading
from collections.abc import Mapping

from wmem.model.history import Path

__all__ = ["MANY_SCOPES", "NEARLY_FULL", "Census"]

NEARLY_FULL = 0.95
MANY_SCOPES = 256  # an agent of more is counted afresh only when nearly full: reading them all takes its time
_SHARE = 16


class Census:
    """The last known counts of one agent, by scope."""

    __slots__ = ("_counts", "_lock", "_since", "_total")

    def __init__(self) -> None:
        self._counts: dict[Path, int] = {}
        self._total = 0
        self._since = 0
        """New keys since the last full count."""
        self._lock = threading.Lock()

    def due(self, path: Path, entries: int, limit: int) -> bool:
        """Note that a scope of so many entries gets one more; whether to count afresh before it does."""
        with self._lock:
            counts = self._counts
            total = self._total = self._total + entries + 1 - counts.get(path, 0)
            counts[path] = entries + 1
            self._since += 1
            return self._since * _SHARE > limit - total or total > NEARLY_FULL * limit

    @property
    def total(self) -> int:
        """Entries in all scopes as far as known."""
        return self._total

    def counted(self, counts: Mapping[Path, int] | None) -> None:
        """Take over what was counted; None when it was put off."""
        with self._lock:
            self._since = 0
            if counts is not None:
                self._counts = dict(counts)
                self._total = sum(counts.values())
