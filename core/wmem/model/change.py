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


class Decision(NamedTuple):
    """Why an item was evicted, expired, promoted or consolidated: rule and numbers, never content.

    Attributes:
        into: The id of the item that it went into, as a merge or a summary; empty for none.
    """

    id: str
    rule: str
    tokens: int
    at: float
    parts: Mapping[str, float]
    kind: DecisionKind = "evicted"
    into: str = ""


class Checkpoint(NamedTuple):
    """A stored state, which replaces the records before it in a journal.

    Attributes:
        identity: Of a scope that was restored, the chain of its first incarnation, which copies and pointers name; 0
            for that of its journal.
        replaces: The incarnations in whose place the scope was restored, the last ones.
        intent: What was last done to all scopes of the agent and is done to this one.
    """

    rows: tuple[Row, ...]
    policy: str | None
    disposed: bool
    applied: tuple[int, ...]
    merged: tuple[tuple[tuple[Path, bool, bool], Cursor], ...]
    decisions: tuple[Decision, ...]
    erased: tuple[str, ...]
    step: int = 0
    renewed_at: float = 0.0
    unfinished: tuple[Erased, ...] = ()
    turns: tuple[str, ...] = ()
    places: "Places | None" = None
    traces: tuple[TurnTraced, ...] = ()
    identity: int = 0
    replaces: tuple[int, ...] = ()
    intent: int = 0


class Places(NamedTuple):
    """The places of the rows of a checkpoint, as far as they are not those that counting gives.

    Attributes:
        messages: Where a message's place is not the one after that of the message before: its number among the
            messages of the checkpoint, from 0, and its place.
        items: The same of items.
        latest: The latest places of a message and an item.
        gone: Places of removed rows, and their ids; see `State.gone`.
        erased: Places of what was erased, in the order of `Checkpoint.erased`.
    """

    messages: tuple[tuple[int, int], ...]
    items: tuple[tuple[int, int], ...]
    latest: tuple[int, int]
    gone: tuple[tuple[int, str], ...]
    erased: tuple[int, ...]


class ScopeReplaced(NamedTuple):
    """All that the scope held was replaced at `at`: the agent's memory was restored."""

    content: Checkpoint
    at: float


class IntentReached(NamedTuple):
    """What an intent says of the agent's scopes is done to this one."""

    intent: int
    at: float


class ScopeContent(NamedTuple):
    """What a scope is to hold."""

    path: Path
    content: Checkpoint


class RestoreIntended(NamedTuple):
    """The agent's scopes are to be these and no others: the first record of its pending scope."""

    intent: int
    at: float
    scopes: tuple[ScopeContent, ...]


class ClearedScope(NamedTuple):
    """The facets of a scope that are to be emptied: entries, items, messages, or all."""

    path: Path
    facets: tuple[str, ...]


class ClearIntended(NamedTuple):
    """The agent's scopes are to be cleared of this: the only record of its pending scope."""

    intent: int
    at: float
    scopes: tuple[ClearedScope, ...]


class EndedScope(NamedTuple):
    """A scope that a restore ends: its incarnation, those that it had replaced itself, and its tombstones."""

    path: Path
    incarnation: int
    replaces: tuple[int, ...]
    erased: tuple[str, ...]


class RestorePrepared(NamedTuple):
    """What a restore ends: from here on scopes are replaced, by whoever sees this."""

    intent: int
    ended: tuple[EndedScope, ...]


VisibleChange: TypeAlias = (
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
"""What listeners hear of."""

IntentChange: TypeAlias = ScopeReplaced | IntentReached | RestoreIntended | ClearIntended | RestorePrepared
"""What is done to all scopes of an agent at once: listeners hear what becomes of each."""

Change: TypeAlias = VisibleChange | IntentChange

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
    change: VisibleChange | Resynced
    before: Row | None = None

    @property
    def updated(self) -> bool:
        """Whether a put replaced an existing item."""
        return self.before is not None and isinstance(self.change, ItemPut)
