"""Propose scoring coefficients from which recalled units past answers used.

A rule is a pure function: it proposes, and the owner of the scope decides.
"""

from collections.abc import Iterable
from statistics import fmean

from wmem.model.recall_profile import RecallProfile, Scoring
from wmem.model.results import RecallUse

_MAX_RATIO = 2.0  # a proposal at most doubles or halves a coefficient: the next trace may say otherwise
_MIN_UNITS = 5  # used units, and unused ones, that a proposal needs at least
_TUNED_SUFFIX = ", tuned"
_COEFFICIENTS = {
    "bm25": "similarity",
    "near": "next_to",
    "session": "session",
    "vector": "vector",
    "recency": "recency",
    "importance": "importance",
    "duplication": "duplication",
}
"""The coefficient of each part of a score."""


def propose_profile(trace: Iterable[RecallUse], profile: Scoring) -> RecallProfile:
    """The profile with coefficients moved towards the parts that separate used from unused units.

    A part that is larger in used units weighs more, one that is larger in unused units
    weighs less; an equal part stays. The same trace gives the same proposal.

    Args:
        trace: The uses of packs by `profile`, any number of them: `Context.uses` returns those of one.
        profile: By name, or as coefficients, as in `Policy.recall`.

    Returns:
        The argument for `Scope.use_profile`; the coefficients of `profile` when there are fewer than
        five used, or fewer than five unused units.

    Source: memory system document, "Coefficient Tuning".
    """
    profile, uses = RecallProfile.resolve(profile), list(trace)
    used, unused = ([each.parts for each in uses if each.used is kind] for kind in (True, False))
    if min(len(used), len(unused)) < _MIN_UNITS:
        return profile
    moved: dict[str, float] = {}
    for part, coefficient in _COEFFICIENTS.items():
        mine, others = (fmean(abs(parts.get(part, 0.0)) for parts in kind) for kind in (used, unused))
        if mine == others:
            continue
        # A subtracted part counts the other way round.
        ratio = (others + mine) and (2 * (others if part == "duplication" else mine) / (mine + others))
        moved[coefficient] = getattr(profile, coefficient) * min(_MAX_RATIO, max(1 / _MAX_RATIO, ratio))
    name = f"{profile.name.removesuffix(_TUNED_SUFFIX)}{_TUNED_SUFFIX}"  # once, however often it is tuned
    return profile.model_copy(update={**moved, "name": name}) if moved else profile
