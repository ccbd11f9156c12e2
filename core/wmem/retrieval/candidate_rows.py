"""Candidates of one scope as rows with their signals, and what their scores are made of."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import repeat
from operator import add, truediv
from typing import Any, NamedTuple, TypeAlias

from wmem.model.coverage import SUMMARY, find_coverage
from wmem.model.history import Path
from wmem.model.recall_profile import RecallProfile
from wmem.model.results import RecallForm
from wmem.model.row import Row
from wmem.retrieval.arrays import ArrayOps
from wmem.retrieval.exchange_matches import NO_MATCHES, ExchangeMatches
from wmem.retrieval.ranking import SignalMaxima, Signals, score_function, score_parts

_SHORTEST_TOKENS, _LONGEST_TOKENS = 10, 256  # between which tokens make a difference to the order of a pack
Added: TypeAlias = tuple[tuple[str, float], ...]
"""What an exchange and the order of near-equal items add to a score: the name of each and how much."""
RankedRow: TypeAlias = tuple[float, "CandidateRows", int, Added]
"""A score, the candidates, a position in them, and what was added to the score."""
_WHOLE_SCORES = ("answer", "result")  # what is lent is all of a score


@lru_cache(16)
def _density_table(density: float) -> "array[float]":
    """The factor for each number of tokens, up to the longest that makes a difference."""
    factors = [(_SHORTEST_TOKENS / max(tokens, _SHORTEST_TOKENS)) ** density for tokens in range(_LONGEST_TOKENS + 1)]
    return array("d", factors)


def order_for_note(ranked: list[RankedRow], density: float) -> list[RankedRow]:
    """The rows in the order in which a note quotes them: of messages the shorter ones go first, as room is short.

    Not in exchanges that match, which would be torn apart.

    Args:
        ranked: Rows, best first; their scores stay as they are.
        density: The profile's.
    """
    factors = _density_table(density)
    worths = [
        score
        if added or (row := each.rows[at]).role is None
        else score * factors[min(row.tokens or 0, _LONGEST_TOKENS)]
        for score, each, at, added in ranked
    ]
    return [ranked[place] for place in sorted(range(len(ranked)), key=worths.__getitem__, reverse=True)]


class Hit(NamedTuple):
    """A matching row, its score, a function that returns the score's parts, and the row's scope.

    Attributes:
        superseded_by: Id of a newer statement of the same that says otherwise; "" for none.
        below_floor: Whether it is too weak a match to be quoted.
        is_repeated: Whether something else that is a hit, too, says all that it says.
        is_outdated: Whether it does not hold at the time that the question asks for; only what is to be quoted is told.
        form: Whether it is a record of a matching exchange, or stands where it does because its question matches.
    """

    row: Row
    score: float
    parts: Callable[[], Mapping[str, float]]
    path: Path
    superseded_by: str = ""
    form: RecallForm = ""
    below_floor: bool = False
    is_repeated: bool = False
    is_outdated: bool = False


class CandidateRows(NamedTuple):
    """Candidate rows of one scope, their signals as columns, and the arithmetic for these.

    Attributes:
        exchanges: What their exchanges add, by position instead of number.
        user_factor: Factor of what their exchanges add.
        coverage: The share of the question's words that the best of the texts has, by rarity.
        outdated: What matches, too, but does not hold at the time that the question asks for.
        has_dated: Whether any of them may say when it holds.
    """

    path: Path
    rows: list[Row]
    signals: Signals[Any]
    arithmetic: ArrayOps[Any]
    exchanges: ExchangeMatches = NO_MATCHES
    user_factor: float = 1.0
    coverage: float = 0.0
    outdated: Sequence[Hit] = ()
    has_dated: bool = False

    def maxima(self) -> SignalMaxima:
        """The maximum of each signal that is not from 0 to 1 by itself."""
        sums, (words, near, session, vector, *_) = self.arithmetic, self.signals
        return SignalMaxima(sums.maximum(sums.apply(add, words, near)), sums.maximum(session), sums.maximum(vector))

    def score(self, maxima: SignalMaxima, profile: RecallProfile) -> Any:
        """The score of each row, without what exchanges add."""
        return self.arithmetic.apply(score_function(maxima, profile), *self.signals)

    def best_without_user(self, scores: Any) -> float:
        """The best score, if no message counted more for being the user's."""
        return self.arithmetic.maximum(self.arithmetic.apply(truediv, scores, self.signals.user))

    def rank(self, scores: Any, scale: float, limit: int) -> Iterator[RankedRow]:
        """The best scores and their positions, with what exchanges add to them, best first.

        Args:
            scale: Of the scores of exchanges.
        """
        sums, added = self.arithmetic, dict[int, Added]()
        if self.exchanges is not NO_MATCHES:
            values = sums.to_list(scores)
            for at, score in self.exchanges.scores.items():
                gain = scale * self.user_factor * score
                added[at] = (("exchange", gain),)
                values[at] += gain
            for question, answers, share, part in self.exchanges.answers:
                lent = share * values[question]
                for at in answers:
                    if lent > values[at]:
                        values[at] = lent
                        added[at] = ((part, lent),)
            scores = sums.floats(values)
        best = sums.top_indices(scores, limit)
        places = sums.to_list(best)
        more: Iterable[Added] = [added.get(at, ()) for at in places] if added else repeat(())
        return zip(sums.to_list(sums.take(scores, best)), repeat(self), places, more, strict=False)

    def hit(
        self,
        position: int,
        score: float,
        added: Added,
        maxima: SignalMaxima,
        profile: RecallProfile,
        *,
        floor: float,
    ) -> Hit:
        """One row as a hit.

        Args:
            floor: The score that it must have to be quoted.
        """
        row = self.rows[position]
        form: RecallForm = "summary" if row.type == SUMMARY and find_coverage(row) else ""
        if added and not form:  # there is one of these for each hit, so that most take the shortest way
            form = "answer" if added[0][0] == "answer" else "record" if position in self.exchanges.records else ""
        parts = partial(self.parts, position, added, maxima, profile)
        return Hit(row, score, parts, self.path, "", form, score < floor)

    def parts(self, position: int, added: Added, maxima: SignalMaxima, profile: RecallProfile) -> Mapping[str, float]:
        """The parts of one row's score."""
        if added and added[0][0] in _WHOLE_SCORES:
            return dict(added)
        signals = Signals(*(float(column[position]) for column in self.signals))
        parts = score_parts(signals, maxima, profile)
        return {**parts, **dict(added)} if added else parts
