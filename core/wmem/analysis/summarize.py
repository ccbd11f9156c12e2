"""Extractive summary: the highest scoring sentences, verbatim, within a token limit."""

import math
import re
from collections import Counter as Tally
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from wmem.analysis.analyzer import Analyzer
from wmem.tokens.counter import Counter

# In scripts without spaces a full stop alone ends a sentence; the number of a list item ("1.") ends none.
# White space is matched from its beginning only: from every position, 100,000 spaces would take seconds.
_SENTENCE_END = re.compile(
    r"(?m)(?<=[.!?…])(?<!^\d\.)(?<!^\d\d\.)[\"'”’)\]]*\s+|(?<=[\u3002\uff01\uff1f])|(?<!\s)\s*\n\s*"
)


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


def split_sentences(text: str) -> list[str]:
    """The sentences of a text in order; a line break ends one, too."""
    ends = [0, *(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]
    sentences = (text[start:end].strip() for start, end in pairwise(ends))
    return [sentence for sentence in sentences if sentence]


def extract(texts: Sequence[WeightedText], limit: int, counter: Counter, analyzer: Analyzer | None = None) -> Extract:
    """The sentences of the texts with the highest weights, in the order of the texts, one a line, each once.

    Of about equal weight, sentences with rarer words come first. A sentence that does not
    fit is skipped; none is cut.

    Args:
        limit: Most tokens of the extract.
    """
    chosen: list[tuple[int, _Sentence]] = []
    tokens = 0
    for index, sentence in sorted(
        enumerate(_score_sentences(texts, counter, analyzer or Analyzer())), key=lambda each: (-each[1].score, each[0])
    ):
        if tokens + sentence.tokens <= limit:
            chosen.append((index, sentence))
            tokens += sentence.tokens
    # Line breaks cost tokens, too: drop the lowest scoring sentences until the whole text fits.
    while chosen:
        sentences = [sentence for _, sentence in sorted(chosen, key=lambda each: each[0])]
        text = "\n".join(sentence.text for sentence in sentences)
        if (over := counter(text) - limit) <= 0:
            return Extract(text, limit + over, tuple(dict.fromkeys(sentence.source_index for sentence in sentences)))
        while chosen and over > 0:  # several at once: each count reads the whole text
            over -= chosen.pop()[1].tokens + 1
    return Extract("", 0, ())


def _score_sentences(texts: Sequence[WeightedText], counter: Counter, analyzer: Analyzer) -> list[_Sentence]:
    split: dict[str, tuple[int, str, float]] = {}
    for index, (text, weight) in enumerate(texts):
        for sentence in split_sentences(text):
            same = sentence.casefold()
            if same not in split or split[same][2] < weight:
                split[same] = (index, sentence, weight)
    terms = {same: frozenset(analyzer.to_terms(same)) for same in split}
    held_by = Tally(chain.from_iterable(terms.values()))
    sentences = []
    for same, (index, sentence, weight) in split.items():
        tokens = counter(sentence)
        rarity = math.fsum(math.log(1 + len(split) / held_by[term]) for term in terms[same])
        # Rarity adds at most 0.1: it decides among texts of about equal weight.
        sentences.append(_Sentence(index, sentence, tokens, weight + 0.1 * rarity / (rarity + tokens)))
    return sorted(sentences, key=lambda each: each.source_index)
