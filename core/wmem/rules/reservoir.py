"""Which items of a long-lived log stay when it exceeds its bound: a weighted sample, the same at each look.

Efraimidis and Spirakis: an item of the weight w keeps the key u ** (1 / w), and the items with the largest keys are
the sample. Here u is drawn from a hash of the item's id, and w is its importance times exp(-λ·age). As age grows alike
for all items, their order never changes: a sample of a sample is what one sample of all would have been.
"""

import hashlib
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from wmem.rules.eviction import Size

_LEAST_IMPORTANCE = 0.01  # an item of no importance may be in the sample, too


class LogItem(NamedTuple):
    """What the rule reads of an item.

    Attributes:
        at: When it was created, UTC epoch seconds.
        importance: 0 to 1; must not depend on the time of the look.
        is_summarized: Whether a summary tells it: such items go before all others.
    """

    id: str
    at: float
    importance: float
    tokens: int
    is_summarized: bool = False


def sampling_key(item: LogItem, half_life_s: float) -> float:
    """The logarithm of an item's key in the sample, but for what all items have in common; the largest stay.

    Args:
        half_life_s: Seconds in which the weight of an item halves.

    Source: memory system document, "Compaction and Eviction": reservoir sampling with high-importance bias.
    """
    drawn = int.from_bytes(hashlib.blake2b(item.id.encode("utf-8", "surrogatepass"), digest_size=7).digest(), "big")
    u = (drawn + 1) / (2**56 + 2)  # in (0, 1)
    # ln(w) - ln(-ln u), of which a larger one is a larger u ** (1 / w); of ln(w) the same summand λ·now is left out.
    weight = math.log(max(item.importance, _LEAST_IMPORTANCE)) + math.log(2) * item.at / half_life_s
    return weight - math.log(-math.log(u))


def choose_to_thin(items: Iterable[LogItem], excess: Size, half_life_s: float) -> list[LogItem]:
    """The items that leave so that a log is smaller by `excess`, in the order in which they go.

    Those that a summary tells go first, and within each of the two groups those with the smallest keys.

    Args:
        items: Those that may go.

    Returns:
        All of them where that is not enough.
    """
    ordered: Sequence[LogItem] = sorted(
        items, key=lambda item: (not item.is_summarized, sampling_key(item, half_life_s), item.id)
    )
    chosen: list[LogItem] = []
    tokens = 0
    for item in ordered:
        if len(chosen) >= excess.items and tokens >= excess.tokens:
            break
        chosen.append(item)
        tokens += item.tokens
    return chosen
