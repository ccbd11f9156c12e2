"""Who waits, in this process, to write to a scope to which others write."""

import threading

from wmem.model.history import Path

__all__ = ["Lines"]


class Lines:
    """A line by scope of those whose write was refused, in the order in which they came.

    Whoever is first tries; the others need not, for each try but one of many at once is refused.
    """

    def __init__(self) -> None:
        self._lines: dict[Path, list[int]] = {}
        self._lock = threading.Lock()

    def __contains__(self, path: Path) -> bool:
        return path in self._lines

    def ahead(self, path: Path, ticket: int) -> list[int]:
        """Those before `ticket`, who joins if it is not there yet."""
        with self._lock:
            line = self._lines.setdefault(path, [])
            if ticket not in line:
                line.append(ticket)
            return line[: line.index(ticket)]

    def leave(self, path: Path, ticket: int) -> None:
        """Be done, or give up; without effect for one who never joined."""
        with self._lock:
            line = self._lines.get(path, [])
            if ticket in line:
                line.remove(ticket)
            if not line:
                self._lines.pop(path, None)
