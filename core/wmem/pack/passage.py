"""Query-focused passage of a long memory for the note: its sentences that match the query, verbatim."""

import math
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple, Self

from wmem.analysis.normalization import fold
from wmem.analysis.plain_spelling import to_plain_spelling
from wmem.analysis.stemmer import irregular_forms, stem
from wmem.analysis.summarize import split_sentences
from wmem.graphemes import cut_before
from wmem.tokens.counter import Counter

_MAX_CHARS_READ = 100_000  # characters searched in one memory
_PREFIX_LETTERS = 5  # letters of a term that are matched: a later ending makes no other word
_NEIGHBOR_SHARES = ((1, 0.5), (-1, 0.25), (2, 0.2), (-2, 0.1))
"""Shares of its score that a sentence adds to its neighbours: an answer follows its question."""
_MAX_MISSES = 8  # sentences that do not fit before the passage counts as full
_MAX_CHARS_PER_TOKEN = 8  # characters per token left: a longer sentence cannot fit
_GAP = " … "
_LIST_NUMBER = re.compile(r"\A\W*(\d{1,3})[.):]\W")
_ORDINAL_NUMBER = re.compile(r"(\d{1,3})(?:st|nd|rd|th)?")
_ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth",
    "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth",
)  # fmt: skip


class Passage(NamedTuple):
    """Sentences in their order, and their tokens."""

    text: str
    tokens: int


class PassageTerms(NamedTuple):
    """What the sentences of a query's passages are searched for; made once for all its passages.

    Attributes:
        patterns: The beginnings of its terms, and what matches their irregular forms, whole: "ran" is in "grand".
        positions: The list positions that it names.
    """

    patterns: "Sequence[tuple[str, re.Pattern[str] | None]]"
    positions: frozenset[int]

    @classmethod
    def of(cls, terms: Iterable[str]) -> Self:
        """Of the terms of a query, folded and stemmed."""
        terms = tuple(terms)
        forms: dict[str, list[str]] = {}
        for term in terms:
            forms.setdefault(term[:_PREFIX_LETTERS], []).extend(irregular_forms(term))
        positions = frozenset(position for term in terms if (position := _list_position(term)) is not None)
        return cls(
            [(term, re.compile(rf"\b(?:{'|'.join(each)})\b") if each else None) for term, each in forms.items()],
            positions,
        )


def passage(text: str, terms: PassageTerms, tokens: int, count: Counter) -> Passage | None:
    """The sentences with most query terms, weighted by rarity, and their neighbours, as far as they fit.

    None when no sentence has any of the terms, or none fits.

    Args:
        tokens: The limit of the passage.
    """
    sentences = split_sentences(text[: cut_before(text, _MAX_CHARS_READ)])
    worths = _score_sentences(sentences, terms)
    if not any(worths):
        return None
    chosen: dict[int, int] = {}
    tokens_left, misses = tokens, 0
    for at in sorted(range(len(sentences)), key=lambda at: (-worths[at], at)):
        # A sentence that cannot fit is not encoded.
        cost = count(sentences[at]) + 1 if len(sentences[at]) <= _MAX_CHARS_PER_TOKEN * tokens_left else tokens_left + 1
        if cost <= tokens_left:
            chosen[at] = cost
            tokens_left -= cost
        elif (misses := misses + 1) == _MAX_MISSES:
            break
    shown = ""
    for at in sorted(chosen):
        shown += f"{'' if not shown else ' ' if at - 1 in chosen else _GAP}{sentences[at]}"
    return Passage(shown, tokens - tokens_left) if chosen else None


def _score_sentences(texts: Sequence[str], terms: PassageTerms) -> list[float]:
    folded = [to_plain_spelling(fold(sentence)) for sentence in texts]
    own = [0.0] * len(texts)
    for term, other in terms.patterns:
        hits = [at for at, said in enumerate(folded) if term in said or (other is not None and other.search(said))]
        for at in hits:
            own[at] += math.log(1 + len(texts) / len(hits))
    for at, sentence in enumerate(texts) if terms.positions else ():
        if (item := _LIST_NUMBER.match(sentence)) is not None and int(item[1]) in terms.positions:
            own[at] += math.log(1 + len(texts))
    worths = list(own)
    for at, worth in enumerate(own):
        for away, part in _NEIGHBOR_SHARES:
            if worth and 0 <= at + away < len(worths):
                worths[at + away] += part * worth
    return worths


def _list_position(term: str) -> int | None:
    """The list position that a query term names, as in "third" or "3rd"."""
    numbered = _ORDINAL_NUMBER.fullmatch(term)
    return _ordinal_positions().get(term) if numbered is None else int(numbered[1])


@cache
def _ordinal_positions() -> dict[str, int]:
    # On first use, not on import: it loads the stemmer.
    return {stem(word, "english"): position for position, word in enumerate(_ORDINALS, 1)}
