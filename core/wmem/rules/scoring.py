"""Score formula of recall: BM25, neighbours, session, vector, recency, importance, duplication.

A rule is a pure function: no clock, no journal, no randomness of its own. All profiles
share one formula; a profile is a set of coefficients.
"""

from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from wmem.model.scoring import RecallProfile

__all__ = ["SignalMaxima", "Signals", "recency_decay", "score_function", "score_parts"]

C = TypeVar("C")


class Signals(NamedTuple, Generic[C]):
    """The scoring inputs of one candidate, or columns of them for many.

    Attributes:
        words: Its own BM25 score.
        near: The BM25 score that its neighbours lend it.
        session: The damped BM25 score of its session.
        vector: Its squared cosine with the query relative to the best, plus what its neighbours lend.
        overlap: The share of its terms that the newest messages have.
    """

    bm25: C
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


class SignalMaxima(NamedTuple):
    """The maxima over all candidates of signals that are not within [0, 1]: their scores are divided by them."""

    bm25: float
    session: float
    vector: float


def recency_decay(age_s: float, half_life_s: float) -> float:
    """Exponential recency: 1 now, one half after a half-life."""
    return float(0.5 ** (max(0.0, age_s) / half_life_s))


def score_function(maxima: SignalMaxima, profile: RecallProfile) -> Callable[..., Any]:
    """A function from signals, in field order, to a score; takes numbers or columns. See `wmem.Recall`."""
    similarity, session, vector = profile.similarity, profile.session, profile.vector
    words_most, session_most, vector_most = maxima

    def score(*signals: Any) -> Any:
        words, near, sessions, meant, recent, important, overlap, *factors = signals
        # Written out, not as a sum of named parts: it runs for every candidate, the parts only for the few reported.
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


def score_parts(signals: Signals[float], maxima: SignalMaxima, profile: RecallProfile) -> Mapping[str, float]:
    """The score by component: what is added, and the factors other than 1."""
    made = {name: term for name, term in _additive_parts(signals, maxima, profile).items() if term}
    for name, factor in zip(Signals._fields[-4:], signals[-4:], strict=True):
        if factor != 1.0:
            made[f"x {name}"] = factor
    return made


def _additive_parts(signals: Signals[float], maxima: SignalMaxima, profile: RecallProfile) -> dict[str, float]:
    return {
        "bm25": profile.similarity * signals.bm25 / maxima.bm25 if maxima.bm25 else 0.0,
        "near": profile.similarity * signals.near / maxima.bm25 if maxima.bm25 else 0.0,
        "session": profile.session * signals.session / maxima.session if maxima.session else 0.0,
        "vector": profile.vector * signals.vector / maxima.vector if maxima.vector else 0.0,
        "recency": profile.recency * signals.recency,
        "importance": profile.importance * signals.importance,
        "duplication": -profile.duplication * signals.overlap,
    }
