"""When an item is due for promotion to long-term memory, and when its fetches must be written for that."""

from wmem.model.row import Row
from wmem.policy import Policy
from wmem.rules.importance import importance
from wmem.rules.retention import SESSION, find_retention_id

_MAX_UNWRITTEN_FETCHES = 32
_MAX_DELAY_S = 1.0


def promotion_rule(row: Row, unwritten_fetches: int, now: float, policy: Policy) -> str | None:
    """The rule by which an item is due for promotion now, or None.

    Args:
        unwritten_fetches: Fetches that are not yet in the row.
        now: UTC epoch seconds.

    Returns:
        ``accesses``, ``importance``, ``critical`` or ``age``; None also if it is promoted already.

    Source: session tools document, "Promotion Rules".
    """
    if row.promoted_to is not None or row.key is not None or row.role is not None or not row.visible(now):
        return None
    if row.rest is not None and b'"retention"' in row.rest and find_retention_id(row) == SESSION.id:
        return None
    accesses = row.access_count + unwritten_fetches
    if accesses >= policy.promote_accesses[row.priority]:
        return "accesses"
    if row.priority == "critical" and accesses >= 1:
        return "critical"
    if importance(row, now, unwritten_fetches) >= policy.promote_importance:
        return "importance"
    if accesses >= policy.promote_age_accesses and now - row.created_at > policy.promote_age_s:
        return "age"
    return None


def should_flush_touches(row: Row, unwritten_fetches: int, since: float | None, now: float, policy: Policy) -> bool:
    """Whether unwritten fetches go to the journal now instead of with the scope's next append.

    They do when they reach a quarter of what the item lacks for promotion, 32, or 1 s.
    """
    lacking = policy.promote_accesses[row.priority] - row.access_count
    if unwritten_fetches >= _MAX_UNWRITTEN_FETCHES or (since is not None and now - since >= _MAX_DELAY_S):
        return True
    return lacking > 0 and unwritten_fetches * 4 >= lacking
