"""Pure reads of items over a state: get, list, count, expired, promoted, pending."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from wmem.describe import describe_name
from wmem.errors import NotFoundError
from wmem.log import find_logger
from wmem.model.checksum import is_intact
from wmem.model.item import MemoryItem, to_item
from wmem.model.removal import is_tombstone
from wmem.model.row import Row
from wmem.policy import Policy
from wmem.rules.importance import importance as importance_of
from wmem.rules.promotion import promotion_rule
from wmem.scope.handle import Read
from wmem.state import State

_log = find_logger("wmem.scope")
LOST_PLACE = "it is not here, or it was removed too long ago; go on from another one of that page"


def to_current_item(state: State, row: Row, now: float) -> MemoryItem:
    """The item of a row as of now, with the fetches that are not in the journal yet."""
    unwritten, at = state.unwritten_touches.get(row.id, (0, None))
    return to_item(row, importance_of(row, now, unwritten), unwritten_fetches=unwritten, last_fetched_at=at)


def is_listed(row: Row, now: float, *, include_expired: bool, include_promoted: bool) -> bool:
    """Whether a list includes a row: never a softly deleted one; expired and promoted ones on request."""
    if row.deleted_at is not None or (row.promoted_to is not None and not include_promoted):
        return False
    return include_expired or not row.expired(now)


def is_forgotten(row: Row, now: float) -> bool:
    """Whether an item was softly deleted and can be restored."""
    return row.deleted_at is not None and not row.expired(now) and not is_tombstone(row)


def leave_out_damaged(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows whose content is what was stored; others are logged, and raise `CorruptionError` if they are got."""
    for row in rows:
        if is_intact(row):
            yield row
        else:
            _log.warning("item %s is left out: its content is not what was stored", row.id)


def list_items(
    *,
    include_expired: bool = False,
    include_promoted: bool = False,
    limit: int | None = None,
    after: str | None = None,
) -> Read[list[MemoryItem]]:
    """The items, oldest first: the first ones, or those after the one of an id.

    Raises:
        NotFoundError: Nothing is known of that one any more.
    """

    def read(states: Sequence[State], now: float) -> list[MemoryItem]:
        state = states[0]
        rows = map(state.rows.__getitem__, state.items) if after is None else _items_after(state, after)
        listed = (
            row
            for row in rows
            if is_listed(row, now, include_expired=include_expired, include_promoted=include_promoted)
        )
        return [to_current_item(state, row, now) for row in islice(leave_out_damaged(listed), limit)]

    return read


def _items_after(state: State, id: str) -> Iterator[Row]:
    try:
        return state.items_after(id)
    except KeyError:
        raise NotFoundError(f"no page begins after {describe_name(id)}: {LOST_PLACE}") from None


def list_recent(limit: int) -> Read[list[MemoryItem]]:
    """The newest items, newest first."""

    def read(states: Sequence[State], now: float) -> list[MemoryItem]:
        rows = map(states[0].rows.__getitem__, reversed(states[0].items))
        listed = (row for row in rows if is_listed(row, now, include_expired=False, include_promoted=False))
        return [to_current_item(states[0], row, now) for row in islice(leave_out_damaged(listed), limit)]

    return read


def get_item(item_id: str) -> Read[MemoryItem | None]:
    """The visible item under an id, or None."""

    def read(states: Sequence[State], now: float) -> MemoryItem | None:
        row = states[0].rows.get(item_id)
        if row is None or row.key is not None or row.role is not None or not row.visible(now):
            return None
        return to_current_item(states[0], row, now)

    return read


def count_items(states: Sequence[State], now: float) -> int:
    """How many items are neither expired, softly deleted nor promoted."""
    rows = states[0].rows
    return sum(is_listed(rows[each], now, include_expired=False, include_promoted=False) for each in states[0].items)


def list_expired(states: Sequence[State], now: float) -> list[MemoryItem]:
    """The expired items that cleanup has not removed yet."""
    rows = leave_out_damaged(map(states[0].rows.__getitem__, states[0].items))
    return [to_current_item(states[0], row, now) for row in rows if row.expired(now) and row.deleted_at is None]


def list_forgotten(states: Sequence[State], now: float) -> list[MemoryItem]:
    """The softly deleted items that can be restored."""
    rows = leave_out_damaged(map(states[0].rows.__getitem__, states[0].items))
    return [to_current_item(states[0], row, now) for row in rows if is_forgotten(row, now)]


def list_promoted(states: Sequence[State], now: float) -> list[MemoryItem]:
    """The visible items that were copied to long-term memory."""
    visible = leave_out_damaged(states[0].visible(states[0].items, now))
    return [to_current_item(states[0], row, now) for row in visible if row.promoted_to is not None]


def list_pending(policy: Callable[[], Policy]) -> Read[list[MemoryItem]]:
    """The items that meet a promotion rule and are not promoted yet."""

    def read(states: Sequence[State], now: float) -> list[MemoryItem]:
        state, numbers = states[0], policy()
        found = []
        for row in leave_out_damaged(state.visible(state.items, now)):
            unwritten, _ = state.unwritten_touches.get(row.id, (0, 0.0))
            if promotion_rule(row, unwritten, now, numbers) is not None:
                found.append(to_current_item(state, row, now))
        return found

    return read
