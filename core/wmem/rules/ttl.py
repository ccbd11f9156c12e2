"""Time to live and expiry of an item."""

import math
import sys

from wmem.model.checks import check_seconds
from wmem.model.row import Row
from wmem.policy import Policy

_MAX_TTL_S = sys.float_info.max
_MAX_CLOCK_SKEW_S = 86_400.0  # clocks of machines that share a store differ by less than this


class DefaultTtl:
    """The type of `DEFAULT_TTL`."""

    def __repr__(self) -> str:
        return "DEFAULT_TTL"


DEFAULT_TTL = DefaultTtl()
"""Use the policy's TTL; None, in contrast, means for ever."""


def expiry(
    policy: Policy, priority: str, ttl_s: float | DefaultTtl | None, now: float, *, pinned: bool
) -> float | None:
    """The instant from which an item is invisible, in UTC epoch seconds; None for never.

    Source: session tools document, priority-based TTL; pinned items are exempt.

    Raises:
        InvalidInputError: `ttl_s` is neither None nor above 0.
    """
    ttl = resolve_ttl(policy, priority, ttl_s)
    return None if ttl is None or pinned else now + ttl


def resolve_ttl(policy: Policy, priority: str, ttl_s: float | DefaultTtl | None) -> float | None:
    """The TTL of an item in seconds; None for ever.

    Raises:
        InvalidInputError: `ttl_s` is neither None nor above 0.
    """
    ttl = policy.ttl_s[priority] if isinstance(ttl_s, DefaultTtl) else ttl_s
    if ttl is None:
        return None
    return check_seconds(ttl, "ttl_s, unless None for ever,", _MAX_TTL_S)


def extend_expiry(row: Row, ttl_s: float | None, now: float) -> float | None:
    """The expiry of an item after `ttl_s` seconds are added; None for never.

    An expired item counts from now; one that is pinned or never expires still never does.

    Source: session tools document, `extend_ttl`; an expired item is revived.
    """
    if ttl_s is None or row.expires_at is None or row.pinned:
        return None
    until = max(row.expires_at, now) + ttl_s
    return until if math.isfinite(until) else None


def clamp_expiry(row: Row, now: float) -> float | None:
    """The expiry of an item, corrected if it was stored under a clock that ran ahead.

    An item updated in the future was stored under a wrong clock: its remaining time
    counts from now. Any other keeps its expiry.
    """
    if row.expires_at is None or row.updated_at <= now + _MAX_CLOCK_SKEW_S:
        return row.expires_at
    return now + max(0.0, row.expires_at - row.updated_at)


def rewrite_row(row: Row, now: float) -> Row:
    """The row as rewritten now; its expiry is relative to `updated_at`, so it is corrected first."""
    return row._replace(expires_at=clamp_expiry(row, now), updated_at=now)
