"""How long an item lives."""

import math
import sys

from wmem.errors import InvalidInputError
from wmem.model.row import Row
from wmem.policy import Policy

__all__ = ["DEFAULT_TTL", "DefaultTtl", "bounded", "expiry", "extended", "lasting", "rewritten"]

_LONGEST_S = sys.float_info.max
_AHEAD_S = 86_400.0  # clocks of machines that share a store differ by less than this


class DefaultTtl:
    """The type of `DEFAULT_TTL`."""

    def __repr__(self) -> str:
        return "DEFAULT_TTL"


DEFAULT_TTL = DefaultTtl()
"""Ask for the policy's time to live, where None means for ever."""


def expiry(
    policy: Policy, priority: str, ttl_s: float | DefaultTtl | None, now: float, *, pinned: bool
) -> float | None:
    """The instant from which an item is invisible, in UTC epoch seconds; None for never.

    Source: session tools document, priority-based TTL; pinned items are exempt.

    Raises:
        InvalidInputError: `ttl_s` is neither None nor above 0.
    """
    chosen = lasting(policy, priority, ttl_s)
    return None if chosen is None or pinned else now + chosen


def lasting(policy: Policy, priority: str, ttl_s: float | DefaultTtl | None) -> float | None:
    """For how many seconds an item lives; None for ever.

    Raises:
        InvalidInputError: `ttl_s` is neither None nor above 0.
    """
    chosen = policy.ttl_s[priority] if isinstance(ttl_s, DefaultTtl) else ttl_s
    if chosen is None:
        return None
    if isinstance(chosen, bool) or not isinstance(chosen, int | float) or not 0 < chosen <= _LONGEST_S:
        msg = f"ttl_s must be above 0 seconds, or None for ever; got {chosen!r}"
        raise InvalidInputError(msg)
    return chosen


def extended(row: Row, ttl_s: float | None, now: float) -> float | None:
    """The instant until which an item lives when so many seconds are added; None for ever.

    What has expired begins again from now; what never expires stays so, and what is pinned never does.

    Source: session tools document, `extend_ttl`; an expired item is revived.
    """
    if ttl_s is None or row.expires_at is None or row.pinned:
        return None
    until = max(row.expires_at, now) + ttl_s
    return until if math.isfinite(until) else None


def bounded(row: Row, now: float) -> float | None:
    """The expiry of an item that was stored under a clock that ran ahead.

    Nothing is stored in the future: an item that says so was stored under a wrong clock,
    and its time is counted from now. Any other keeps the expiry it has.
    """
    if row.expires_at is None or row.updated_at <= now + _AHEAD_S:
        return row.expires_at
    return now + max(0.0, row.expires_at - row.updated_at)


def rewritten(row: Row, now: float) -> Row:
    """The row as written anew at an instant, to which its expiry is relative from then on: so it is bounded first."""
    return row._replace(expires_at=bounded(row, now), updated_at=now)
