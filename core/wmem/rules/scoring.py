"""What makes a memory worth its place beside the words it shares with the query.

A rule is a pure function: no clock, no journal, no randomness of its own. The formula
is one for all profiles; a profile is a set of coefficients.
"""

from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from wmem.model.scoring import Recall

__all__ = ["Best", "Signals", "freshness", "parts", "total"]

C = TypeVar("C")


class Signals(NamedTuple, Generic[C]):
    """What is known of a candidate before it is weighed; or of many, by columns.

    Attributes:
        words: Its own BM25 score.
        near: What its neighbours lend it.
        session: The BM25 score of its session, damped.
        vector: Its squared cosine with the query relative to the best, and what its neighbours lend it of theirs.
        overlap: The share of its words that the newest messages have.
    """

    words: C
    near: C
    session: C
    vector: C
    recency: C
    importance: C
    overlap: C
    speaker: C
    user: C
    date: C
    when: C


class Best(NamedTuple):
    """The most that any candidate has of what is not from 0 to 1 by itself."""

    words: float
    session: float
    vector: float


def freshness(age_s: float, half_life_s: float) -> float:
    """How new something is: 1 now, half after a half-life."""
    return float(0.5 ** (max(0.0, age_s) / half_life_s))


def total(best: Best, profile: Recall) -> Callable[..., Any]:
    """What makes a score of signals, in their order, one candidate's or columns of them; see `wmem.Recall`."""
    similarity, session, vector = profile.similarity, profile.session, profile.vector
    words_most, session_most, vector_most = best

    def score(*signals: Any) -> Any:
        words, near, sessions, meant, recent, important, overlap, *factors = signals
        # Written out, not as a sum of `_terms`: it is asked of every candidate, those of the few that are told of.
        made = (
            (similarity * (words + near) / words_most if words_most else 0.0)
            + (session * sessions / session_most if session_most else 0.0)
            + (vector * meant / vector_most if vector_most else 0.0)
            + profile.recency * recent
            + profile.importance * important
            - profile.duplication * overlap
        )
        for factor in factors:
            made = made * factor
        return made

    return score


def parts(signals: Signals[float], best: Best, profile: Recall) -> Mapping[str, float]:
    """The score by component: what was added, and the factors other than 1."""
    made = {name: term for name, term in _terms(signals, best, profile).items() if term}
    for name, factor in zip(Signals._fields[-4:], signals[-4:], strict=True):
        if factor != 1.0:
            made[f"x {name}"] = factor
    return made


def _terms(signals: Signals[float], best: Best, profile: Recall) -> dict[str, float]:
    return {
        "bm25": profile.similarity * signals.words / best.words if best.words else 0.0,
        "near": profile.similarity * signals.near / best.words if best.words else 0.0,
        "session": profile.session * signals.session / best.session if best.session else 0.0,
        "vector": profile.vector * signals.vector / best.vector if best.vector else 0.0,
        "recency": profile.recency * signals.recency,
        "importance": profile.importance * signals.importance,
        "duplication": -profile.duplication * signals.overlap,
    }
