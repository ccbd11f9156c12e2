"""Data computed from a replica's rows, such as an index or a cache, and the feed that keeps it up to date.

What is missing is computed again, or begins with what an earlier process had computed. It belongs to one state, and
is dropped with it.
"""

import threading
from collections.abc import Iterable, Mapping
from typing import ClassVar, Generic, TypeVar

from wmem.model.row import Row


class Derived:
    """Data computed from rows; its user holds the follower's lock.

    Attributes:
        begins_empty: Whether it computes nothing before it is asked, so that it need not see the rows that are there.
    """

    __slots__ = ()

    begins_empty: ClassVar[bool] = False

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        """Take rows as they are now, by id; None for one that is gone."""
        raise NotImplementedError

    def compact(self) -> None:
        """Leave nothing of rows that are gone: an erasure follows. Not needed where `apply` drops all of it."""

    @property
    def bytes(self) -> int:
        """Memory it takes beside the rows; 0 for what need not be counted."""
        return 0


D = TypeVar("D", bound=Derived)


class Follower(Generic[D]):
    """Derived data, its lock, and the ids of rows that changed since it was updated.

    The lock is taken before the replica's, never after it.

    Attributes:
        pending: See `wmem.state.State.feeds`.
        in_use: Set while it is used and updated, and left set by an exception: whoever finds it
            set under the lock drops the data, even if a second signal stopped the first from that.
        reorderings: Those of the state when it began to follow; after another one it must begin anew.
    """

    __slots__ = ("data", "in_use", "lock", "pending", "reorderings")

    def __init__(self, data: D, ids: Iterable[str], reorderings: int) -> None:
        self.data = data
        self.lock = threading.RLock()
        self.in_use = False
        self.pending: dict[str, bool] = dict.fromkeys(ids, False)
        self.reorderings = reorderings
