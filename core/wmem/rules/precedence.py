"""What decides between items that match a question nearly alike: priority, importance, then age."""

from wmem.model.row import Row
from wmem.policy import PRIORITIES
from wmem.rules.importance import importance


def is_item(row: Row) -> bool:
    """Whether a row is an item, which has a priority, rather than a message or an entry."""
    return row.role is None and row.key is None


def precedence(row: Row, now: float, unwritten_fetches: int = 0) -> tuple[int, float, float]:
    """Larger for what goes first: the higher priority, then importance to a tenth, then the newer one.

    Args:
        now: UTC epoch seconds.
        unwritten_fetches: Fetches that are not yet in the row.
    """
    return PRIORITIES.index(row.priority), round(importance(row, now, unwritten_fetches), 1), row.created_at
