"""Which coefficients the use of past packs speaks for.

A rule is a pure function: it proposes, and whoever owns the scope decides.
"""

from collections.abc import Iterable
from statistics import fmean

from wmem.model.reports import Use
from wmem.model.scoring import Recall, Scoring

__all__ = ["propose_profile"]

_MOST = 2.0
"""A proposal at most doubles or halves a coefficient: the next trace may say otherwise."""
_ENOUGH = 5
"""Units of each kind, used and unused, without which nothing is proposed."""
_TUNED = ", tuned"
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


def propose_profile(trace: Iterable[Use], profile: Scoring) -> Recall:
    """The profile with coefficients moved towards what told used units from unused ones.

    A part that used units have more of weighs more, one that unused units have more of
    weighs less; a part that tells nothing stays. The same trace gives the same proposal.

    Args:
        trace: What was packed by `profile`, of any number of packs: `Context.uses` tells it of each.
        profile: By name, or as coefficients, such as `Policy.recall` has it.

    Returns:
        What `Scope.use_profile` takes; the coefficients of `profile` when there are fewer than five
        used, or fewer than five unused units.

    Source: memory system document, "Coefficient Tuning".
    """
    profile, uses = Recall.named(profile), list(trace)
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
    name = f"{profile.name.removesuffix(_TUNED)}{_TUNED}"  # once, however often it was
    return profile.model_copy(update={**moved, "name": name}) if moved else profile
