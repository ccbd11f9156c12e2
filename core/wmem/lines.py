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
        self._starving: dict[Path, int] = {}
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

    def starve(self, path: Path, ticket: int) -> None:
        """Tell that `ticket` is first and is refused all the same: others write without a condition."""
        self._starving[path] = ticket

    def starving(self, path: Path) -> bool:
        """Whether those who write without a condition had better let one try go first."""
        return path in self._starving

    def fed(self, path: Path) -> None:
        """Tell that enough was done for who is starving."""
        self._starving.pop(path, None)

    def leave(self, path: Path, ticket: int) -> None:
        """Be done, or give up; without effect for one who never joined."""
        with self._lock:
            line = self._lines.get(path, [])
            if ticket in line:
                line.remove(ticket)
            if not line:
                self._lines.pop(path, None)
            if self._starving.get(path) == ticket:
                del self._starving[path]
