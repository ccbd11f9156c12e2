"""Relevance floor: what holds too little of a question is no answer to it, judged by the scope's own texts.

How much a word says is told by how few of the texts hold it, and by whether the language uses it everywhere. No labels,
no scores of an earlier question: the same scope and question always give the same floor. Pure functions on numbers,
for one text or for columns of them.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

from wmem.model.results import Shortfall
from wmem.retrieval.postings import idf

WEAK = 0.5
"""How much a word says at most that is common in the language; 1 is the most that any word says."""
_HALF = 0.5
_IDF_OF_A_QUARTER = math.log(4)  # of a word in a quarter of many texts
_SCORE_SHARE = 0.6
_FEW_TEXTS = 16  # of fewer, shares tell nothing: both of two texts about a dog are no reason to call "dog" weak
_TOLERANCE = 1e-9  # sums of the same numbers in another order differ by less


def word_strength(texts_with_word: int, texts: int, *, common: bool) -> float:
    """How much it says that a text has a word of the question, from 0 to 1.

    1 for a word in up to a quarter of the texts, 1/2 in half of them, nearly 0 in all; half of that for a word that
    is common in the language.

    Args:
        texts_with_word: 0 for a word that no text has.
    """
    texts = max(_FEW_TEXTS, texts)
    rarity = idf(texts, max(1, texts_with_word)) / _IDF_OF_A_QUARTER
    return min(1.0, rarity) * (WEAK if common else 1.0)


class Match(NamedTuple):
    """What a text has of a question.

    Attributes:
        evidence: The sum of the strengths of the question's words that it has.
        score: Its BM25 score, for which it also counts how often it has them, and how long it is.
    """

    evidence: float
    score: float


class Floor(NamedTuple):
    """What a text must have of a question to be found; see `make_floor`.

    Attributes:
        above: A text with no more evidence is below the floor.
        share_of_evidence: The share of the best text's evidence that a text must have.
        share_of_score: The share of the best score that it must have, unless it has the evidence of the best: of two
            texts with one word each, a short one that is about it says more than a long one that mentions it.
    """

    above: float
    share_of_evidence: float
    share_of_score: float

    def shortfall(self, match: Match, best: Match) -> Shortfall | None:
        """Why a text is below the floor; None if it is not.

        Args:
            best: The most evidence, and the best score, of any text.
        """
        if match.evidence <= self.above + _TOLERANCE:
            return "weak words"
        if match.evidence >= best.evidence - _TOLERANCE:
            return None
        enough = match.evidence >= self.share_of_evidence * best.evidence - _TOLERANCE
        return None if enough and match.score >= self.share_of_score * best.score else "less than the best"


def make_floor(strengths: Iterable[float], texts: int, share_of_evidence: float) -> Floor:
    """The floor of a question.

    A text must have more than half of a short question, and more than one weak word of a long one: long questions
    cover little of themselves.

    Args:
        strengths: Of each of the question's words, those that no text has included; see `word_strength`.
        texts: How many texts there are.
        share_of_evidence: 0 switches the floor off.
    """
    if not share_of_evidence:
        return Floor(-1.0, 0.0, 0.0)
    return Floor(
        min(WEAK, _HALF * sum(strengths)),
        share_of_evidence,
        _SCORE_SHARE * share_of_evidence if texts >= _FEW_TEXTS else 0.0,
    )
