"""What the texts of an index have in common with a query: BM25, and what widens it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from wmem.text.columns import Arithmetic, Lists, has_arrays
from wmem.text.postings import Columns, Postings, rarity
from wmem.text.sparse import Saturation, Scores, SparseScores

if TYPE_CHECKING:
    from array import array

__all__ = ["Feedback", "Matches"]

_DENSE_AT = 512
"""Texts from which arithmetic on whole columns is quicker than on single postings."""


class Feedback(NamedTuple):
    """Words that the best texts have in common, and the query lacks, count too.

    Attributes:
        weight: Of the first such word, where a word of the query has 1.
        texts: How many of the best texts give them.
        terms: How many words.
    """

    weight: float
    texts: int
    terms: int


class Matches:
    """The scores of one query; to be read before the index changes.

    Args:
        k1: Saturation of a term that is said again.
        b: How much a text is held its length against, 0 to 1.
    """

    def __init__(self, postings: Postings, terms: Iterable[str], k1: float, b: float) -> None:
        self._postings = postings
        self._terms = [number for term in dict.fromkeys(terms) if (number := postings.words.get(term)) is not None]
        self._k1, self._b = k1, b
        self._by = self._saturation(len(postings.numbers), postings.live_terms)
        self._scores: Scores[Any]
        self.sums: Arithmetic[Any]
        """What columns of numbers and scores are reckoned with."""
        if len(postings.ids) >= _DENSE_AT and has_arrays():
            from wmem.text.dense import Arrays, DenseScores

            self._scores, self.sums = DenseScores(postings.columns), Arrays(len(postings.ids))
        else:
            self._scores, self.sums = SparseScores(postings.columns, postings.longest), Lists()
        self._add([(term, 1.0) for term in self._terms])

    @property
    def columns(self) -> Columns:
        """What is known of each text, by its number."""
        return self._postings.columns

    @property
    def placed(self) -> "array[int]":
        """By slot, the number of the text that has it."""
        return self._postings.placed

    def number(self, id: str) -> int | None:
        """The number of a text; None for one that is not there."""
        return self._postings.numbers.get(id)

    def ids(self, numbers: Any) -> list[str]:
        """The ids of texts, of a column of their numbers."""
        return list(map(self._postings.ids.__getitem__, self.sums.plain(numbers)))

    def of(self, numbers: Any) -> Any:
        """The scores of texts, as a column; 0 for one that has nothing in common with the query."""
        return self._scores.of(numbers)

    def found(self, limit: int) -> tuple[Any, Any]:
        """The numbers of the best and their scores, best first, at most `limit`; of equal ones the earlier first."""
        return self._scores.best(max(0, limit))

    def best(self, limit: int) -> list[tuple[str, float]]:
        """The ids of the best and their scores, as `found` has them."""
        numbers, scores = self.found(limit)
        return list(zip(self.ids(numbers), self.sums.plain(scores), strict=True))

    def groups(self, wanted: Iterable[int]) -> dict[int, float]:
        """The scores of groups, each as one text."""
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
        """Let the words count, too, that the best texts have in common."""
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
        # Of equal weight by the word itself: numbers depend on what was here before.
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
