"""Which coefficients the use of past packs speaks for.

A rule is a pure function: it proposes, and whoever owns the scope decides.
"""

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import NamedTuple

from wmem.model.scoring import Recall

__all__ = ["Use", "propose_profile"]

_MOST = 2.0
"""A proposal at most doubles or halves a coefficient: the next trace may say otherwise."""
_ENOUGH = 5
"""Units of each kind, used and unused, without which nothing is proposed."""
_COEFFICIENTS = {
    "bm25": "similarity",
    "near": "next_to",
    "session": "session",
    "vector": "vector",
    "recency": "recency",
    "importance": "importance",
    "duplication": "duplication",
}
"""The coefficient that each part of a score has."""


class Use(NamedTuple):
    """One unit that a pack recalled, the parts of its score, and whether the answer made use of it."""

    parts: Mapping[str, float]
    used: bool


def propose_profile(trace: Iterable[Use], profile: Recall) -> Recall:
    """The profile with coefficients moved towards what told used units from unused ones.

    A part that used units have more of weighs more, one that unused units have more of
    weighs less; a part that tells nothing stays. The same trace gives the same proposal.

    Args:
        trace: What was packed by `profile`, with the parts that `explain()` shows.

    Returns:
        Equal to `profile` when there are fewer than five used, or fewer than five unused units.

    Source: memory system document, "Coefficient Tuning".
    """
    uses = list(trace)
    used, unused = ([each.parts for each in uses if each.used is kind] for kind in (True, False))
    if min(len(used), len(unused)) < _ENOUGH:
        return profile
    moved: dict[str, float] = {}
    for part, coefficient in _COEFFICIENTS.items():
        mine, others = (fmean(abs(parts.get(part, 0.0)) for parts in kind) for kind in (used, unused))
        if mine == others:
            continue
        # What is taken off speaks the other way round.
        ratio = (others + mine) and (2 * (others if part == "duplication" else mine) / (mine + others))
        moved[coefficient] = getattr(profile, coefficient) * min(_MOST, max(1 / _MOST, ratio))
    return profile.model_copy(update={**moved, "name": f"{profile.name}, tuned"}) if moved else profile
