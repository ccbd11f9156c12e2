"""Change types, which the records of a journal are made of: outcomes, never rules.

Journals store changes, subscribers receive them and other processes catch up on
them. The fold only upserts by id, removes and adds counts, so that processes of
different versions agree.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias, get_args

from wmem.model.history import Cursor, Path
from wmem.model.row import Row


class ItemPut(NamedTuple):
    """An item was added, or replaced the one with its id."""

    row: Row


class ItemRemoved(NamedTuple):
    """An item was removed at `at`; None in a record without the time."""

    id: str
    at: float | None = None


class ItemTouched(NamedTuple):
    """An item was fetched `times` more times, last at `at` (UTC epoch seconds)."""

    id: str
    times: int
    at: float


class ItemExpired(NamedTuple):
    """Cleanup removed an expired item at `at`; None in a record without the time."""

    id: str
    at: float | None = None


class ItemPromoted(NamedTuple):
    """An item was copied to long-term memory under the id `to`, by `rule`; the numbers that decided are in `parts`.

    The rule is ``manual`` for a caller's request, and empty in a record without it.
    """

    id: str
    to: str
    at: float
    rule: str = ""
    parts: Mapping[str, float] | None = None


class ItemEvicted(NamedTuple):
    """An item was evicted by `rule`; the numbers that decided are in `parts`."""

    id: str
    rule: str
    tokens: int
    at: float
    parts: Mapping[str, float]


DecisionKind: TypeAlias = Literal[
    "evicted", "expired", "promoted", "merged", "superseded", "summarized", "thinned", "rejected"
]


class Decided(NamedTuple):
    """A decision without what it was about: an imported scope brought it along, or maintenance took it.

    Of the latter the rule is the job's name, and `into` the id of the item that the one under `id` went into.
    """

    kind: str
    id: str
    rule: str
    tokens: int
    at: float
    parts: Mapping[str, float]
    into: str = ""


class RowPlace(NamedTuple):
    """Where a row is: its scope, as segments below the agent's, the incarnation of that scope, and its id."""

    path: tuple[str, ...]
    incarnation: int
    id: str


class Erased(NamedTuple):
    """Items were erased; their ids remain as tombstones without content.

    With `others`, the same erasure goes on elsewhere: to rows in other scopes, each maybe erased already. If there are
    none, what was erased before is gone from all of them. None says nothing about that.
    """

    ids: tuple[str, ...]
    others: tuple[RowPlace, ...] | None = None


class MessagesWithdrawn(NamedTuple):
    """Messages were taken back at `at`: they stay stored, and no read of the conversation has them."""

    ids: tuple[str, ...]
    at: float


class MessagesRestored(NamedTuple):
    """Messages that were withdrawn are part of the conversation again, in their old places."""

    ids: tuple[str, ...]
    at: float


class ScopeOpened(NamedTuple):
    """The first record of a scope; `policy` is its JSON."""

    policy: str
    at: float


class ScopeDisposed(NamedTuple):
    """The last record of a scope; so many `entries` were cleared with it."""

    entries: int
    at: float


class Cleared(NamedTuple):
    """A facet (entries, items, messages), or all, was emptied; `items` counts what was visible."""

    facet: str
    items: int
    at: float


class PolicyChanged(NamedTuple):
    """The scope's policy was replaced; `policy` is the new one's JSON."""

    policy: str
    at: float


class ScopeMerged(NamedTuple):
    """`source` as of `cursor` was merged into this scope; `items` counts merged entries and items.

    With `overwrite` existing ones were replaced, without it only missing ones were
    added; with `with_items` plain items were merged too.
    """

    source: Path
    cursor: Cursor
    items: int
    at: float
    overwrite: bool
    with_items: bool


class StepAdvanced(NamedTuple):
    """The scope's step is now `step`: steps are turns of its agent.

    A step of 0 changes none: it says that a scope with a lease was written at `at`.
    """

    step: int
    at: float


class TurnEnded(NamedTuple):
    """A turn ended, by its id: the scope's step is one more, unless this turn ended before."""

    turn_id: str
    at: float


class TurnTraced(NamedTuple):
    """What happened in a turn, in ids and numbers; `events` are as `codec/traces.py` writes them.

    The oldest turns of the trace go: those more than `keep_s` seconds older than this one, and those beyond
    `keep_turns` turns or `keep_bytes` bytes. Without an id nothing is added.
    """

    turn_id: str
    at: float
    events: bytes
    keep_s: float
    keep_turns: int
    keep_bytes: int


Change: TypeAlias = (
    ItemPut
    | ItemRemoved
    | ItemTouched
    | ItemExpired
    | ItemPromoted
    | ItemEvicted
    | Decided
    | Erased
    | MessagesWithdrawn
    | MessagesRestored
    | ScopeOpened
    | ScopeDisposed
    | Cleared
    | PolicyChanged
    | ScopeMerged
    | StepAdvanced
    | TurnEnded
    | TurnTraced
)

CHANGE_TYPES: tuple[type[Change], ...] = get_args(Change)


class Resynced(NamedTuple):
    """The reader jumped over a snapshot; the changes before it were not delivered one by one."""


class Event(NamedTuple):
    """One change as a listener sees it, at most once per process.

    Attributes:
        path: The scope.
        cursor: A reader that continues from this cursor does not get the change again.
        change: What happened; `Resynced` when a part of the history was jumped over.
        before: The row under the item's id before the change; None for a new item,
            and for a change that concerns no single item.
    """

    path: Path
    cursor: Cursor
    change: Change | Resynced
    before: Row | None = None

    @property
    def updated(self) -> bool:
        """Whether a put replaced an existing item."""
        return self.before is not None and isinstance(self.change, ItemPut)
