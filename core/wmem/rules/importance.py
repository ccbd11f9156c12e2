"""Computed importance of an item, in [0, 1]."""

from wmem.model.row import Row

_PRIORITY_WEIGHT = {"low": 0.25, "medium": 0.5, "high": 0.75, "critical": 1.0}


def time_decay(row: Row, now: float) -> float:
    """1 for a new item, falling to 0 at its expiry; 1 if it never expires."""
    if row.expires_at is None or row.expires_at <= row.created_at:
        return 1.0
    return min(1.0, max(0.0, 1.0 - (now - row.created_at) / (row.expires_at - row.created_at)))


def importance(row: Row, now: float, unwritten_fetches: int = 0) -> float:
    """The importance of an item, from use, age, priority and length.

    Args:
        now: UTC epoch seconds; an instant before `created_at` counts as `created_at`.
        unwritten_fetches: Fetches that are not yet in the row.

    Returns:
        A score in [0, 1]; a score the user gave is returned unchanged.

    Source: session tools document, "Importance Calculation".
    """
    if row.importance is not None:
        return row.importance
    # In ten-thousandths, where all but the decay is whole: 0.8 on paper must not become the float just below 0.8,
    # which misses the promotion threshold.
    return (
        4_000 * min(row.access_count + unwritten_fetches, 10) / 10
        + 3_000 * time_decay(row, now)
        + 2_000 * _PRIORITY_WEIGHT[row.priority]
        + 1_000 * min(row.length, 1_000) / 1_000
    ) / 10_000
