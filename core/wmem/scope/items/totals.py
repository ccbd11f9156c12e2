"""How many visible items a large scope holds, and their tokens, without a walk over all of them."""

from collections.abc import Mapping

from wmem.engine.derived import Derived
from wmem.model.row import Row
from wmem.rules.eviction import Size


class ItemTotals(Derived):
    """Number and tokens of the items that never expire, and those that do, one by one."""

    __slots__ = ("_expiring", "_lasting", "_tokens")

    def __init__(self) -> None:
        self._lasting: dict[str, int] = {}
        """Tokens of each."""
        self._expiring: dict[str, tuple[int, float]] = {}
        """Tokens of each, and when it expires."""
        self._tokens = 0
        """Of those that never expire."""

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        for id, row in changed.items():
            self._tokens -= self._lasting.pop(id, 0)
            self._expiring.pop(id, None)
            if row is None or row.key is not None or row.role is not None or row.deleted_at is not None:
                continue
            if row.expires_at is None:
                self._lasting[id] = row.tokens or 0
                self._tokens += row.tokens or 0
            else:
                self._expiring[id] = row.tokens or 0, row.expires_at

    def size(self, now: float) -> Size:
        """The size of what is visible now."""
        alive = [tokens for tokens, until in self._expiring.values() if now < until]
        return Size(len(self._lasting) + len(alive), self._tokens + sum(alive))
