"""Relevance floor: what holds too little of a question is no answer to it, judged by the scope's own texts.

How much a word says is told by how few of the texts hold it, and by whether the language uses it everywhere. No labels,
no scores of an earlier question: the same scope and question always give the same floor. Pure functions on numbers,
for one text or for columns of them.
"""

from collections.abc import Iterable
from typing import NamedTuple

from wmem.model.results import Shortfall
from wmem.retrieval.postings import idf

WEAK = 0.5
"""How much a word says at most that is common in the language; 1 is the most that any word says."""
_HALF = 0.5
_FEW_TEXTS = 16  # of fewer, shares tell nothing: both of two texts about a dog are no reason to call "dog" weak
_TOLERANCE = 1e-9  # sums of the same numbers in another order differ by less


def word_strength(texts_with_word: int, texts: int, *, common: bool) -> float:
    """How much it says that a text has a word of the question, from 0 to 1.

    1 for a word in up to about the square root of `texts`, falling with its inverse document frequency to nearly 0
    for a word in all of them; half of that for a word that is common in the language.

    Args:
        texts_with_word: 0 for a word that no text has.
    """
    texts = max(_FEW_TEXTS, texts)
    rarity = idf(texts, max(1, texts_with_word)) / idf(texts, 1)
    return min(1.0, 2 * rarity) * (WEAK if common else 1.0)


class Floor(NamedTuple):
    """What a text must hold of a question: the sum of the strengths of the words they share.

    Attributes:
        above: A text that holds no more is below the floor, see `least_evidence`.
        share_of_best: The share it must have of what the best text holds; 0 switches the floor off.
    """

    above: float
    share_of_best: float

    def shortfall(self, evidence: float, best: float) -> Shortfall | None:
        """Why a text is below the floor; None if it is not.

        Args:
            evidence: The sum of the strengths of the question's words that the text has.
            best: That of the text that has most.
        """
        if not self.share_of_best:
            return None
        if evidence <= self.above + _TOLERANCE:
            return "weak words"
        return "less than the best" if evidence < self.share_of_best * best - _TOLERANCE else None


def least_evidence(strengths: Iterable[float]) -> float:
    """What a text must hold more of than this: half of a short question, or one weak word.

    Long questions cover little of themselves, so more than one weak word is enough for them.

    Args:
        strengths: Of each of the question's words, those that no text has included.
    """
    return min(WEAK, _HALF * sum(strengths))
