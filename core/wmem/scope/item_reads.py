"""What can be asked of session memories: pure reads over a state."""

from collections.abc import Callable, Sequence

from wmem.model.item import MemoryItem, item_of
from wmem.model.row import Row
from wmem.policy import Policy
from wmem.rules.importance import importance as importance_of
from wmem.rules.promotion import due
from wmem.scope.handle import Read
from wmem.state import State

__all__ = ["as_item", "counted", "expired", "listed", "one", "pending", "promoted", "shown"]


def as_item(state: State, row: Row, now: float) -> MemoryItem:
    """The item as of now, with the fetches that are not yet in the journal."""
    unwritten, at = state.unwritten.get(row.id, (0, None))
    return item_of(row, importance_of(row, now, unwritten), unwritten=unwritten, at=at)


def shown(row: Row, now: float, *, include_expired: bool, include_promoted: bool) -> bool:
    """Whether a list shows a row: never what is softly deleted, the rest as asked."""
    if row.deleted_at is not None or (row.promoted_to is not None and not include_promoted):
        return False
    return include_expired or not row.expired(now)


def listed(
    *, include_expired: bool = False, include_promoted: bool = False, newest: int | None = None
) -> Read[list[MemoryItem]]:
    """The items that are shown, in the order they were added, or the newest so many, newest first."""

    def read(states: Sequence[State], now: float) -> list[MemoryItem]:
        rows = states[0].rows
        found: list[Row] = []
        for each in states[0].items if newest is None else reversed(states[0].items):
            if newest is not None and len(found) >= newest:
                break
            row = rows[each]
            if shown(row, now, include_expired=include_expired, include_promoted=include_promoted):
                found.append(row)
        return [as_item(states[0], row, now) for row in found]

    return read


def one(wanted: str) -> Read[MemoryItem | None]:
    """The item under an id, if it is shown."""

    def read(states: Sequence[State], now: float) -> MemoryItem | None:
        row = states[0].rows.get(wanted)
        if row is None or row.key is not None or row.role is not None or not row.visible(now):
            return None
        return as_item(states[0], row, now)

    return read


def counted(states: Sequence[State], now: float) -> int:
    """How many items are shown."""
    rows = states[0].rows
    return sum(shown(rows[each], now, include_expired=False, include_promoted=False) for each in states[0].items)


def expired(states: Sequence[State], now: float) -> list[MemoryItem]:
    """The items whose time is over and that cleanup has not taken yet."""
    rows = map(states[0].rows.__getitem__, states[0].items)
    return [as_item(states[0], row, now) for row in rows if row.expired(now) and row.deleted_at is None]


def promoted(states: Sequence[State], now: float) -> list[MemoryItem]:
    """The visible items that long-term memory has too."""
    visible = states[0].visible(states[0].items, now)
    return [as_item(states[0], row, now) for row in visible if row.promoted_to is not None]


def pending(policy: Callable[[], Policy]) -> Read[list[MemoryItem]]:
    """The items that a rule of promotion names and that are not promoted yet."""

    def read(states: Sequence[State], now: float) -> list[MemoryItem]:
        state, numbers = states[0], policy()
        found = []
        for row in state.visible(state.items, now):
            unwritten, _ = state.unwritten.get(row.id, (0, 0.0))
            if due(row, unwritten, now, numbers) is not None:
                found.append(as_item(state, row, now))
        return found

    return read
