"""Extractive summary: the highest scoring sentences, verbatim, within a token limit."""

import math
from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from wmem.analysis.analyzer import Analyzer
from wmem.analysis.sentences import mark_gaps, split_long, split_sentences
from wmem.tokens.counter import Counter

_PIECES = 2  # pieces of a sentence too long for the extract, that fill it
_MARK_TOKENS = 4  # of the marks beside a piece


class WeightedText(NamedTuple):
    """A text and its weight relative to the others, from 0."""

    text: str
    weight: float


class Extract(NamedTuple):
    """The extract, its tokens, and the indices of the texts it was taken from."""

    text: str
    tokens: int
    source_indices: tuple[int, ...]


class _Sentence(NamedTuple):
    source_index: int
    text: str
    tokens: int
    score: float
    is_piece: bool


def extract(texts: Sequence[WeightedText], limit: int, counter: Counter, analyzer: Analyzer | None = None) -> Extract:
    """The sentences of the texts with the highest weights, in the order of the texts, one a line, each once.

    Of about equal weight, sentences with rarer words come first. A sentence that does not fit is skipped; of those that
    are longer than the whole extract, pieces fill what others leave, with marks where they are cut.

    Args:
        limit: Most tokens of the extract.
    """
    split = [
        (index, sentence, weight) for index, (text, weight) in enumerate(texts) for sentence in split_sentences(text)
    ]
    return _extract(split, limit, counter, analyzer)


def extract_sentences(
    sentences: Sequence[WeightedText], limit: int, counter: Counter, analyzer: Analyzer | None = None
) -> Extract:
    """As `extract`, of texts that are a sentence each."""
    return _extract([(index, *each) for index, each in enumerate(sentences)], limit, counter, analyzer)


def _extract(
    split: Iterable[tuple[int, str, float]], limit: int, counter: Counter, analyzer: Analyzer | None
) -> Extract:
    chosen: list[tuple[int, _Sentence]] = []
    tokens = 0
    sentences = _score_sentences(split, limit, counter, analyzer or Analyzer())
    for index, sentence in sorted(enumerate(sentences), key=lambda each: (each[1].is_piece, -each[1].score, each[0])):
        if tokens + sentence.tokens <= limit:
            chosen.append((index, sentence))
            tokens += sentence.tokens
    # Line breaks cost tokens, too: drop the lowest scoring sentences until the whole text fits.
    while chosen:
        ordered = [sentence for _, sentence in sorted(chosen, key=lambda each: each[0])]
        text = "\n".join(sentence.text for sentence in ordered)
        if (over := counter(text) - limit) <= 0:
            return Extract(text, limit + over, tuple(dict.fromkeys(sentence.source_index for sentence in ordered)))
        while chosen and over > 0:  # several at once: each count reads the whole text
            over -= chosen.pop()[1].tokens + 1
    return Extract("", 0, ())


def _score_sentences(
    split: Iterable[tuple[int, str, float]], limit: int, counter: Counter, analyzer: Analyzer
) -> list[_Sentence]:
    """The sentences in order, each once, with the pieces of those that are too long instead of them.

    Args:
        split: The places of their texts, the sentences, and their weights.
    """
    distinct: dict[str, tuple[int, str, float, int, bool]] = {}
    for index, sentence, weight in split:
        for part, tokens in _split_too_long(sentence, limit, counter):
            same = part.casefold()
            if same not in distinct or distinct[same][2] < weight:
                distinct[same] = (index, part, weight, tokens, part is not sentence)
    terms = {same: frozenset(analyzer.to_terms(same)) for same in distinct}
    held_by = Tally(chain.from_iterable(terms.values()))
    sentences = []
    for same, (index, sentence, weight, tokens, is_piece) in distinct.items():
        rarity = math.fsum(math.log(1 + len(distinct) / held_by[term]) for term in terms[same])
        # Rarity adds at most 0.1: it decides among texts of about equal weight.
        sentences.append(_Sentence(index, sentence, tokens, weight + 0.1 * rarity / (rarity + tokens), is_piece))
    return sorted(sentences, key=lambda each: each.source_index)


def _split_too_long(sentence: str, limit: int, counter: Counter) -> list[tuple[str, int]]:
    """A sentence, or the pieces of one that takes more than the whole extract may, with their tokens."""
    if (tokens := counter(sentence)) <= limit:
        return [(sentence, tokens)]
    room = max(1, limit // _PIECES - _MARK_TOKENS)
    pieces = split_long(sentence, max(1, len(sentence) * room // tokens))
    marked = [mark_gaps(piece, place, len(pieces)) for place, piece in enumerate(pieces)]
    return [(piece, counter(piece)) for piece in marked]
