"""How long a record must be kept."""

from collections.abc import Iterable

from wmem.journal.port import KEEP_GRACE_S
from wmem.model.change import Change, ItemPut, PolicyChanged, ScopeReplaced, TurnTraced


def retention_s(changes: Iterable[Change], now: float) -> float | None:
    """Retention of a record in seconds from now: its longest TTL plus 15 min; None for ever.

    For ever if an item has no expiry or the policy changes: a policy outlasts the items.
    """
    longest = 0.0
    for change in changes:
        if type(change) is ScopeReplaced:
            held: list[Change] = [*map(ItemPut, change.content.rows), *change.content.traces]
            if (keep_s := retention_s(held, now)) is None:
                return None
            longest = max(longest, keep_s - KEEP_GRACE_S)
        if type(change) is PolicyChanged:
            return None
        if type(change) is TurnTraced:
            longest = max(longest, change.keep_s)
        if type(change) is ItemPut:
            if change.row.expires_at is None:
                return None
            longest = max(longest, change.row.expires_at - now)
    return longest + KEEP_GRACE_S
