"""Which items of long-term memory leave when it exceeds its bounds: those of the least utility for the room they take.

The utility of an item is its importance, times a decay by the time since it was last used, times how often it was
used. What does not hold any more counts for half.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from wmem.model.row import Row
from wmem.rules.eviction import Size
from wmem.rules.importance import importance
from wmem.rules.validity import holds

HALF_LIFE_S = 90 * 86_400.0
"""Seconds without use in which the utility of an item halves."""
KEEP_ITEMS = 256
"""So many of the newest items stay in any case, if the bounds have room for twice as many."""
_LEAST_IMPORTANCE = 0.01  # what is of no importance may yet be of use
_OUTDATED = 0.5


class Valued(NamedTuple):
    """An item, and what it is worth to keep it."""

    row: Row
    utility: float

    @property
    def density(self) -> float:
        """Utility by token."""
        return self.utility / max(self.row.tokens or 0, 1)


def utility(row: Row, now: float, half_life_s: float = HALF_LIFE_S) -> float:
    """What an item is worth to keep: importance, times exp(-λ·age), times use.

    Args:
        now: UTC epoch seconds.
        half_life_s: Seconds since its last use in which that halves.

    Source: memory system document, "Compaction and Eviction": time-decay weight, greedy by utility density.
    """
    used_at = max(row.created_at, row.last_accessed_at or row.created_at)
    decay = math.exp(-math.log(2) * max(0.0, now - used_at) / half_life_s)
    use = 1 + math.log1p(row.access_count)
    return max(importance(row, now), _LEAST_IMPORTANCE) * decay * use * (1.0 if holds(row, now) else _OUTDATED)


def excess_of(size: Size, max_items: int | None, max_tokens: int | None, share: float = 1.0) -> Size:
    """By how much a memory exceeds a share of its bounds; None bounds nothing."""
    limits = (max_items, max_tokens)
    over = [0 if limit is None else max(0, at - int(limit * share)) for at, limit in zip(size, limits, strict=True)]
    return Size(*over)


def count_newest(rows: Sequence[Row], keep_items: int | None, max_items: int | None, max_tokens: int | None) -> int:
    """How many of the newest items of a memory stay in any case.

    Args:
        rows: Its items, oldest first.
        keep_items: So many; None: `KEEP_ITEMS`, or those that half of the bounds has room for.
    """
    if keep_items is not None:
        return keep_items
    most = KEEP_ITEMS if max_items is None else min(KEEP_ITEMS, max_items // 2)
    if max_tokens is None:
        return most
    sums = accumulate(row.tokens or 0 for row in reversed(rows[max(0, len(rows) - most) :]))
    return sum(total <= max_tokens // 2 for total in sums)


def choose_to_evict(rows: Iterable[Row], excess: Size, now: float) -> list[Valued]:
    """The items that leave so that a memory is smaller by `excess`, the least useful first; all of them if need be.

    For tokens the density counts, for a number of items alone the utility.

    Args:
        rows: Those that may go.
    """
    valued = [Valued(row, utility(row, now)) for row in rows]
    if excess.tokens:
        valued.sort(key=lambda each: (each.density, each.row.id))
    else:
        valued.sort(key=lambda each: (each.utility, each.row.id))
    chosen: list[Valued] = []
    tokens = 0
    for each in valued:
        if len(chosen) >= excess.items and tokens >= excess.tokens:
            break
        chosen.append(each)
        tokens += each.row.tokens or 0
    return chosen
