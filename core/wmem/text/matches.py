"""BM25 scores of a query over an index, with relevance feedback."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from wmem.text.columns import Arithmetic, Lists, has_arrays
from wmem.text.postings import Columns, Postings, rarity
from wmem.text.sparse import Saturation, Scores, SparseScores

if TYPE_CHECKING:
    from array import array

__all__ = ["Feedback", "Matches"]

_DENSE_AT = 512
"""Fewest texts for which numpy is faster than lists."""


class Feedback(NamedTuple):
    """Pseudo relevance feedback: terms of the best texts are added to the query.

    Attributes:
        weight: Weight of the best added term; a term of the query has 1.
        texts: How many of the best texts the terms are taken from.
        terms: How many terms are added.
    """

    weight: float
    texts: int
    terms: int


class Matches:
    """The BM25 scores of one query; valid until the index changes.

    Args:
        k1: Term frequency saturation.
        b: Length normalization, 0 to 1.
    """

    def __init__(self, postings: Postings, terms: Iterable[str], k1: float, b: float) -> None:
        self._postings = postings
        self._terms = [number for term in dict.fromkeys(terms) if (number := postings.words.get(term)) is not None]
        self._k1, self._b = k1, b
        self._by = self._saturation(len(postings.numbers), postings.live_terms)
        self._scores: Scores[Any]
        self.sums: Arithmetic[Any]
        """Array operations for columns of numbers and scores."""
        if len(postings.ids) >= _DENSE_AT and has_arrays():
            from wmem.text.dense import Arrays, DenseScores

            self._scores, self.sums = DenseScores(postings.columns), Arrays(len(postings.ids))
        else:
            self._scores, self.sums = SparseScores(postings.columns, postings.longest), Lists()
        self._add([(term, 1.0) for term in self._terms])

    @property
    def columns(self) -> Columns:
        """Data of each text, by its number."""
        return self._postings.columns

    @property
    def placed(self) -> "array[int]":
        """The number of the text in each slot."""
        return self._postings.placed

    def number(self, id: str) -> int | None:
        """The number of a text; None for an unknown id."""
        return self._postings.numbers.get(id)

    def ids(self, numbers: Any) -> list[str]:
        """The ids of the texts with these numbers."""
        return list(map(self._postings.ids.__getitem__, self.sums.plain(numbers)))

    def of(self, numbers: Any) -> Any:
        """The scores of these texts, as a column; 0 for a text that shares no term with the query."""
        return self._scores.of(numbers)

    def found(self, limit: int) -> tuple[Any, Any]:
        """Numbers and scores of the best texts, best first, at most `limit`; equal ones in order of their numbers."""
        return self._scores.best(max(0, limit))

    def best(self, limit: int) -> list[tuple[str, float]]:
        """The ids and scores of the best texts, in the order of `found`."""
        numbers, scores = self.found(limit)
        return list(zip(self.ids(numbers), self.sums.plain(scores), strict=True))

    def groups(self, wanted: Iterable[int]) -> dict[int, float]:
        """The BM25 scores of groups, each scored as one text."""
        held, count = self._postings, len(self._postings.group_sizes)
        flat, slope = self._saturation(count, sum(held.group_terms.values()))
        scores = dict.fromkeys(wanted, 0.0)
        for term in self._terms:
            frequencies = held.by_group(term)
            top = rarity(count, len(frequencies)) * (self._k1 + 1)
            for group in frequencies.keys() & scores.keys():
                frequency = frequencies[group]
                scores[group] += top * frequency / (frequency + flat + slope * held.group_terms[group])
        return scores

    def widen(self, feedback: Feedback) -> None:
        """Expand the query with the terms that weigh most in the best texts."""
        held = self._postings
        shares: dict[int, float] = {}
        numbers, scores = map(self.sums.plain, self.found(feedback.texts))
        for number, score in zip(numbers, scores, strict=True):
            share = score / scores[0]
            for term in held.terms_at(number):
                shares[term] = shares.get(term, 0.0) + share
        for term in self._terms:
            shares.pop(term, None)
        count, held_by = len(held.numbers), held.held_by
        weights = {term: share * rarity(count, held_by[term]) for term, share in shares.items()}
        least = sorted(weights.values(), reverse=True)[: feedback.terms][-1:] or [0.0]
        # Ties by the term itself: term numbers depend on texts that are gone.
        chosen = sorted(
            [term for term, weight in weights.items() if weight >= least[0]],
            key=lambda term: (-weights[term], held.terms[term]),
        )[: feedback.terms]
        self._add([(term, feedback.weight * weights[term] / weights[chosen[0]]) for term in chosen])

    def _add(self, weighted: Iterable[tuple[int, float]]) -> None:
        held, most = self._postings, self._k1 + 1
        self._scores.add([(held.of[term], weight * held.rarity(term) * most) for term, weight in weighted], self._by)

    def _saturation(self, count: int, terms: int) -> Saturation:
        return Saturation(self._k1 * (1 - self._b), self._k1 * self._b * count / max(1, terms))
