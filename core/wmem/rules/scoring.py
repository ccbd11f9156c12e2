"""What makes a memory worth its place beside the words it shares with the query.

A rule is a pure function: no clock, no journal, no randomness of its own. The formula
is one for all profiles; a profile is a set of coefficients.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from wmem.model.scoring import Recall
from wmem.text.cues import Cues
from wmem.text.dates import fits
from wmem.text.turns import Turn

__all__ = ["Best", "Signals", "best_of", "damped", "factors", "freshness", "parts", "totals"]


class Signals(NamedTuple):
    """What is known of one candidate, before it is weighed."""

    words: float
    """Its own BM25 score."""
    near: float = 0.0
    """What its neighbours lend it."""
    session: float = 0.0
    """The BM25 score of its session, damped."""
    vector: float = 0.0
    """Its squared cosine with the query relative to the best, and what its neighbours lend it of theirs."""
    recency: float = 0.0
    importance: float = 0.0
    overlap: float = 0.0
    """The share of its words that the newest messages have."""
    speaker: float = 1.0
    user: float = 1.0
    date: float = 1.0
    when: float = 1.0


class Best(NamedTuple):
    """The most that any candidate has of what is not from 0 to 1 by itself."""

    words: float
    session: float
    vector: float


def damped(tokens: float, full: float) -> float:
    """How much a message of so many tokens borrows: a long one speaks for itself."""
    return full / tokens if tokens > full else 1.0


def freshness(age_s: float, half_life_s: float) -> float:
    """How new something is: 1 now, half after a half-life."""
    return float(0.5 ** (max(0.0, age_s) / half_life_s))


def factors(turn: Turn, cues: Cues, day: date | None, profile: Recall) -> tuple[float, float, float, float]:
    """What a message is multiplied by: for its speaker, its user, its day and its telling a time."""
    return (
        profile.speaker if cues.speaker is not None and turn.speaker == cues.speaker else 1.0,
        profile.user if cues.first_person and turn.user else 1.0,
        1.0 + profile.date * fits(cues.dates, day) if cues.dates and day is not None else 1.0,
        profile.when if cues.when and turn.timed else 1.0,
    )


def best_of(candidates: Sequence[Signals]) -> Best:
    """The most that any of them has."""
    return Best(
        max([each.words + each.near for each in candidates], default=0.0),
        max([each.session for each in candidates], default=0.0),
        max([each.vector for each in candidates], default=0.0),
    )


def totals(candidates: Iterable[Signals], best: Best, profile: Recall) -> list[float]:
    """The scores; see `wmem.Recall` for the formula."""
    # Written out, not as sums of `_terms`: it is asked of every candidate, those of the few that are told of.
    similarity, session, vector = profile.similarity, profile.session, profile.vector
    recency, importance, duplication = profile.recency, profile.importance, profile.duplication
    words_most, session_most, vector_most = best
    return [
        (
            (similarity * (words + near) / words_most if words_most else 0.0)
            + (session * sessions / session_most if session_most else 0.0)
            + (vector * meant / vector_most if vector_most else 0.0)
            + recency * recent
            + importance * important
            - duplication * overlap
        )
        * speaker
        * user
        * date
        * when
        for words, near, sessions, meant, recent, important, overlap, speaker, user, date, when in candidates
    ]


def parts(signals: Signals, best: Best, profile: Recall) -> Mapping[str, float]:
    """The score by component: what was added, and the factors other than 1."""
    made = {name: term for name, term in _terms(signals, best, profile).items() if term}
    for name, factor in zip(Signals._fields[-4:], signals[-4:], strict=True):
        if factor != 1.0:
            made[f"x {name}"] = factor
    return made


def _terms(signals: Signals, best: Best, profile: Recall) -> dict[str, float]:
    return {
        "bm25": profile.similarity * signals.words / best.words if best.words else 0.0,
        "near": profile.similarity * signals.near / best.words if best.words else 0.0,
        "session": profile.session * signals.session / best.session if best.session else 0.0,
        "vector": profile.vector * signals.vector / best.vector if best.vector else 0.0,
        "recency": profile.recency * signals.recency,
        "importance": profile.importance * signals.importance,
        "duplication": -profile.duplication * signals.overlap,
    }
