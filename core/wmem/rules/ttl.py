"""How long an item lives."""

from wmem.errors import InvalidInputError
from wmem.policy import Policy

__all__ = ["DEFAULT_TTL", "DefaultTtl", "expiry"]


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
    chosen = policy.ttl_s[priority] if isinstance(ttl_s, DefaultTtl) else ttl_s
    if chosen is None:
        return None
    if isinstance(chosen, bool) or not isinstance(chosen, int | float) or not 0 < chosen < float("inf"):
        msg = f"ttl_s must be above 0 seconds, or None for ever; got {chosen!r}"
        raise InvalidInputError(msg)
    return None if pinned else now + chosen
