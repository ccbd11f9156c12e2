"""When fetches of an item must be written, so that promotion is decided on what the store knows."""

from wmem.model.row import Row
from wmem.policy import Policy

__all__ = ["touches_due"]

_MOST = 32
_LONGEST_S = 1.0


def touches_due(row: Row, unwritten: int, since: float | None, now: float, policy: Policy) -> bool:
    """Whether unwritten fetches go to the journal now, and not with the scope's next append.

    They do when they reach a quarter of what the item lacks for promotion, 32, or 1 s.
    """
    lacking = policy.promote_accesses[row.priority] - row.access_count
    if unwritten >= _MOST or (since is not None and now - since >= _LONGEST_S):
        return True
    return lacking > 0 and unwritten * 4 >= lacking
