"""What can happen to a scope: changes state outcomes, never rules.

Changes are what a journal keeps, what subscribers receive and what another process
catches up on. The fold only upserts by id, removes and adds counts, so that
processes of different versions agree.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from wmem.model.history import Cursor, Path
from wmem.model.row import Row

__all__ = [
    "CHANGES",
    "Change",
    "Cleared",
    "Erased",
    "Event",
    "ItemEvicted",
    "ItemExpired",
    "ItemPromoted",
    "ItemPut",
    "ItemRemoved",
    "ItemTouched",
    "PolicyChanged",
    "Resynced",
    "ScopeDisposed",
    "ScopeMerged",
    "ScopeOpened",
    "StepAdvanced",
]


class ItemPut(NamedTuple):
    """An item is there from now on, new or in place of the one with its id."""

    row: Row


class ItemRemoved(NamedTuple):
    """An item is gone, since `at`; None in a record that does not tell when."""

    id: str
    at: float | None = None


class ItemTouched(NamedTuple):
    """An item was fetched so many times more, last at `at` (UTC epoch seconds)."""

    id: str
    times: int
    at: float


class ItemExpired(NamedTuple):
    """Cleanup took an item whose time was over."""

    id: str


class ItemPromoted(NamedTuple):
    """An item was copied to long-term memory under the id `to`."""

    id: str
    to: str
    at: float


class ItemEvicted(NamedTuple):
    """An item made room, by `rule`; the numbers that decided are in `parts`."""

    id: str
    rule: str
    tokens: int
    at: float
    parts: Mapping[str, float]


class Erased(NamedTuple):
    """Items are gone and their ids remain as tombstones without content."""

    ids: tuple[str, ...]


class ScopeOpened(NamedTuple):
    """The first record of a scope; `policy` is its JSON."""

    policy: str
    at: float


class ScopeDisposed(NamedTuple):
    """The last record of a scope; `entries` were cleared with it."""

    entries: int
    at: float


class Cleared(NamedTuple):
    """A facet (entries, items, messages) or all of them was emptied of so many visible items."""

    facet: str
    items: int
    at: float


class PolicyChanged(NamedTuple):
    """The scope follows another policy (its JSON) from now on."""

    policy: str
    at: float


class ScopeMerged(NamedTuple):
    """What `source` held at `cursor` has been merged into this scope: so many entries and items.

    With `overwrite` in place of what was there, without it only what was not; with
    `with_items` the plain items too.
    """

    source: Path
    cursor: Cursor
    items: int
    at: float
    overwrite: bool
    with_items: bool


class StepAdvanced(NamedTuple):
    """The scope stands at `step` from now on: steps are turns of its agent."""

    step: int
    at: float


Change: TypeAlias = (
    ItemPut
    | ItemRemoved
    | ItemTouched
    | ItemExpired
    | ItemPromoted
    | ItemEvicted
    | Erased
    | ScopeOpened
    | ScopeDisposed
    | Cleared
    | PolicyChanged
    | ScopeMerged
    | StepAdvanced
)

CHANGES: tuple[type[Change], ...] = (
    ItemPut,
    ItemRemoved,
    ItemTouched,
    ItemExpired,
    ItemPromoted,
    ItemEvicted,
    Erased,
    ScopeOpened,
    ScopeDisposed,
    Cleared,
    PolicyChanged,
    ScopeMerged,
    StepAdvanced,
)


class Resynced(NamedTuple):
    """The reader jumped over a snapshot: what changed in between was not seen one by one."""


class Event(NamedTuple):
    """One change as a listener sees it, at most once per process.

    Attributes:
        path: The scope.
        cursor: A cursor from which the change is no longer news.
        change: What happened; `Resynced` when a part of the history was jumped over.
        before: What was under the item's id until then; None for news of something new,
            and for a change that concerns no single item.
    """

    path: Path
    cursor: Cursor
    change: Change | Resynced
    before: Row | None = None

    @property
    def updated(self) -> bool:
        """Whether a put took the place of an item that was there."""
        return self.before is not None and isinstance(self.change, ItemPut)
