"""What the texts of an index have in common with a query: BM25, and what widens it."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from wmem.text.dense import DenseScores, has_arrays
from wmem.text.postings import Postings, rarity
from wmem.text.sparse import Saturation, Scores, SparseScores

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
        dense = len(postings.ids) >= _DENSE_AT and has_arrays()
        self._scores: Scores = DenseScores(postings.columns) if dense else SparseScores(postings.columns)
        self._add([(term, 1.0) for term in self._terms])

    def of(self, ids: Sequence[str]) -> list[float]:
        """The scores of texts; 0 for one that has nothing in common with the query, or is not there."""
        numbers = self._postings.numbers
        here = [number for id in ids if (number := numbers.get(id)) is not None]
        scores = self._scores.of(here)
        if len(here) == len(ids):
            return scores
        told = iter(scores)
        return [next(told) if id in numbers else 0.0 for id in ids]

    def best(self, limit: int) -> list[tuple[str, float]]:
        """The ids of the best and their scores, best first, at most `limit`; of equal ones the earlier first."""
        ids = self._postings.ids
        return [(ids[number], score) for number, score in self._scores.best(limit)] if limit > 0 else []

    def groups(self, wanted: Sequence[int]) -> dict[int, float]:
        """The scores of groups, each as one text."""
        held, count = self._postings, len(self._postings.group_sizes)
        flat, slope = self._saturation(count, sum(held.group_terms.values()))
        scores = dict.fromkeys(wanted, 0.0)
        for term in self._terms:
            frequencies, held_by = self._scores.grouped(held.of[term], wanted)
            top = rarity(count, held_by) * (self._k1 + 1)
            for group, frequency in zip(wanted, frequencies, strict=True):
                if frequency:
                    scores[group] += top * frequency / (frequency + flat + slope * held.group_terms[group])
        return scores

    def widen(self, feedback: Feedback) -> None:
        """Let the words count, too, that the best texts have in common."""
        held, asked = self._postings, set(self._terms)
        weights: dict[int, float] = {}
        rare: dict[int, float] = {}
        best = self._scores.best(feedback.texts)
        for number, score in best:
            share = score / best[0][1]
            for term in held.terms_at(number):
                if term not in asked:
                    if term not in rare:
                        rare[term] = held.rarity(term)
                    weights[term] = weights.get(term, 0.0) + share * rare[term]
        # Of equal weight by the word itself: numbers depend on what was here before.
        chosen = sorted(weights, key=lambda term: (-weights[term], held.terms[term]))[: feedback.terms]
        self._add([(term, feedback.weight * weights[term] / weights[chosen[0]]) for term in chosen])

    def _add(self, weighted: Iterable[tuple[int, float]]) -> None:
        held, most = self._postings, self._k1 + 1
        self._scores.add([(held.of[term], weight * held.rarity(term) * most) for term, weight in weighted], self._by)

    def _saturation(self, count: int, terms: int) -> Saturation:
        return Saturation(self._k1 * (1 - self._b), self._k1 * self._b * count / max(1, terms))
