"""Query-focused passage of a long memory for the note: its sentences that match the query, verbatim."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import NamedTuple, Self

from wmem.analysis.normalization import fold
from wmem.analysis.plain_spelling import to_plain_spelling
from wmem.analysis.sentences import GAP, split_long, split_sentences
from wmem.analysis.stemmer import irregular_forms, stem
from wmem.graphemes import cut_before
from wmem.tokens.counter import Counter

_MAX_CHARS_READ = 100_000  # characters searched in one memory
_PREFIX_LETTERS = 5  # letters of a word that are matched: a later ending makes no other word, but other numbers do
_NEIGHBOR_SHARES = ((1, 0.5), (-1, 0.25), (2, 0.2), (-2, 0.1))
"""Shares of its score that a sentence adds to its neighbours: an answer follows its question."""
_MAX_MISSES = 8  # sentences that do not fit before the passage counts as full
_MAX_CHARS_PER_TOKEN = 8  # characters per token left: a longer sentence cannot fit
_CHARS_PER_TOKEN = 4  # of a sample that tells how many a sentence has
_PIECES = 3  # pieces of a sentence too long for the passage, that fill it
_MARK_TOKENS = 4  # of the marks at both ends of such pieces
_LEAST_PIECE_TOKENS = 4
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
            forms.setdefault(term[:_PREFIX_LETTERS] if term.isalpha() else term, []).extend(irregular_forms(term))
        positions = frozenset(position for term in terms if (position := _list_position(term)) is not None)
        return cls(
            [(term, re.compile(rf"\b(?:{'|'.join(each)})\b") if each else None) for term, each in forms.items()],
            positions,
        )


def passage(text: str, terms: PassageTerms, tokens: int, count: Counter) -> Passage | None:
    """The sentences with most query terms, weighted by rarity, and their neighbours, as far as they fit.

    Where none fits, the pieces of the best that match. None when no sentence has any of the terms, or nothing fits.

    Args:
        tokens: The limit of the passage.
    """
    sentences = split_sentences(text[: cut_before(text, _MAX_CHARS_READ)])
    worths = _score_sentences(sentences, terms)
    if not any(worths):
        return None

    chosen = _select(sentences, worths, tokens, count)
    if chosen:
        return Passage(_join(chosen), sum(each.tokens for each in chosen.values()))
    return _cut_sentence(max(zip(worths, sentences, strict=True), key=itemgetter(0))[1], terms, tokens, count)


def _select(texts: Sequence[str], worths: Sequence[float], tokens: int, count: Counter) -> dict[int, Passage]:
    """The texts of most worth that fit, by their places."""
    chosen: dict[int, Passage] = {}
    left, misses = tokens, 0
    for at in sorted(range(len(texts)), key=lambda at: (-worths[at], at)):
        # A text that cannot fit is not encoded.
        cost = count(texts[at]) + 1 if len(texts[at]) <= _MAX_CHARS_PER_TOKEN * left else left + 1
        if cost <= left:
            chosen[at] = Passage(texts[at], cost)
            left -= cost
        elif (misses := misses + 1) == _MAX_MISSES:
            break
    return chosen


def _cut_sentence(sentence: str, terms: PassageTerms, tokens: int, count: Counter) -> Passage | None:
    """The pieces of a sentence that match the query, with marks where it is cut; None if nothing of it fits."""
    room = tokens - _MARK_TOKENS
    if room // _PIECES < _LEAST_PIECE_TOKENS:
        return None
    sample = sentence[: _CHARS_PER_TOKEN * room]
    pieces = split_long(sentence, max(1, len(sample) * (room // _PIECES) // max(1, count(sample))))
    worths = _score_sentences(pieces, terms)
    chosen = _select(pieces, worths, room, count) if any(worths) else {}
    if not chosen:
        return None
    text = _join(chosen)
    text = f"{GAP} {text}" if min(chosen) else text
    text = f"{text} {GAP}" if max(chosen) < len(pieces) - 1 else text
    return Passage(text, sum(each.tokens for each in chosen.values()) + _MARK_TOKENS)


def _join(chosen: Mapping[int, Passage]) -> str:
    """The texts in the order of their places, with a gap where some between them are left out."""
    joined = ""
    for at in sorted(chosen):
        joined += f"{'' if not joined else ' ' if at - 1 in chosen else f' {GAP} '}{chosen[at].text}"
    return joined


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
