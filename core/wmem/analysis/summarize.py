"""Extractive summary: the sentences that tell most, verbatim, within a token limit."""

import heapq
import math
import re
from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from wmem.analysis.analyzer import Analyzer, to_words
from wmem.analysis.informativeness import Telling, weigh
from wmem.analysis.sentences import mark_gaps, split_long, split_sentences
from wmem.analysis.stopwords import detect_language
from wmem.tokens.counter import Counter

DEFAULT_RATIO = 0.8
"""Tokens of a summary, as a share of those of the texts, if nobody says how many.

From here on at most two of a hundred answers are lost, where questions are asked about nearly every sentence.
"""
_PIECES = 2  # pieces of a sentence too long for the extract, that fill it
_MARK_TOKENS = 4  # of the marks beside a piece
_ROUNDS = 4  # in which the room that is left is filled: tokens of a whole are fewer than those of its sentences
_AGAIN = 0.2  # of a term's value, where a chosen sentence has it, too
_OVERHEAD_TOKENS = 3  # that each sentence is taken to cost beside its own
_LENGTH_POWER = 0.8  # of a sentence's tokens, that what it tells is divided by
_LIKENESS_POWER = 0.25  # of the number of sentences that differ in numbers alone, as lines of a log do
_LANGUAGE_SAMPLE = 2_000  # characters of a text that tell its language
_DIGITS = re.compile(r"\d+")


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
    weight: float
    telling: Telling
    is_piece: bool


def extract(texts: Sequence[WeightedText], limit: int, counter: Counter, analyzer: Analyzer | None = None) -> Extract:
    """The sentences that tell most, in the order of the texts, one a line, each once.

    What a sentence tells is what its terms are worth (`wmem.analysis.informativeness`), times the weight of its text,
    for what it costs; a term that a chosen sentence has counts little, and so does what a text of which much is chosen
    adds. A sentence that does not fit is
    skipped; of those that are longer than the whole extract, pieces fill what others leave, with marks where they are
    cut.

    Args:
        limit: Most tokens of the extract.
    """
    split = []
    for index, (text, weight) in enumerate(texts):
        language = detect_language(to_words(text[:_LANGUAGE_SAMPLE]))
        split += [(index, sentence, weight, language) for sentence in split_sentences(text)]
    return _extract(split, limit, counter, analyzer)


def extract_sentences(
    sentences: Sequence[WeightedText], limit: int, counter: Counter, analyzer: Analyzer | None = None
) -> Extract:
    """As `extract`, of texts that are a sentence each."""
    language = detect_language(word for text, _ in sentences for word in to_words(text))
    return _extract([(index, *each, language) for index, each in enumerate(sentences)], limit, counter, analyzer)


def _extract(
    split: Iterable[tuple[int, str, float, str]], limit: int, counter: Counter, analyzer: Analyzer | None
) -> Extract:
    selection = _Selection(_weigh_sentences(split, limit, counter, analyzer or Analyzer()))
    room = limit
    text, tokens = "", 0
    for number in range(_ROUNDS):
        # Line breaks cost tokens, too: at first they are left out of account, and what is too much is dropped again.
        if not selection.fill(room, break_tokens=min(number, 1)):
            break
        text = selection.to_text()
        while (tokens := counter(text)) > limit:
            selection.drop(tokens - limit)
            text = selection.to_text()
        room = limit - tokens
    return Extract(text, tokens, selection.list_sources()) if text else Extract("", 0, ())


class _Selection:
    """The sentences that were chosen, and what they tell together."""

    def __init__(self, sentences: Sequence[_Sentence]) -> None:
        self._sentences = sentences
        self._left = list(range(len(sentences)))
        self._chosen: list[int] = []
        self._covered: Tally[str] = Tally()
        self._taken: Tally[int] = Tally()  # tokens of the chosen sentences, by text
        texts = len({sentence.source_index for sentence in sentences})
        self._mean_tokens = max(1.0, sum(sentence.tokens for sentence in sentences) / max(1, texts))

    def fill(self, room: int, *, break_tokens: int) -> bool:
        """Choose what tells most for its tokens, as far as it fits; False if nothing does."""
        before = len(self._chosen)
        heap = [(self._sentences[at].is_piece, -self._worth(at), at) for at in self._left]
        heapq.heapify(heap)
        self._left = []
        while heap:
            is_piece, rank, at = heapq.heappop(heap)
            tokens = self._sentences[at].tokens + break_tokens
            if tokens > room:
                self._left.append(at)
                continue
            current = is_piece, -self._worth(at), at
            if current[1] > rank and heap and current > heap[0]:  # others tell a part of it by now
                heapq.heappush(heap, current)
                continue
            room -= tokens
            self._chosen.append(at)
            self._count(at, 1)
        return len(self._chosen) > before

    def drop(self, tokens: int) -> None:
        """Drop what was chosen last, until so many tokens are free: several at once, for each count reads the whole."""
        while self._chosen and tokens > 0:
            at = self._chosen.pop()
            tokens -= self._sentences[at].tokens + 1
            self._count(at, -1)

    def _count(self, at: int, sign: int) -> None:
        sentence = self._sentences[at]
        self._covered.update(dict.fromkeys(sentence.telling.values, sign))
        self._taken[sentence.source_index] += sign * sentence.tokens

    def to_text(self) -> str:
        return "\n".join(self._sentences[at].text for at in sorted(self._chosen))

    def list_sources(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(self._sentences[at].source_index for at in sorted(self._chosen)))

    def _worth(self, at: int) -> float:
        sentence, covered = self._sentences[at], self._covered
        told: float = math.fsum(
            value * _AGAIN if covered[term] > 0 else value for term, value in sentence.telling.values.items()
        )
        cost: float = (sentence.tokens + _OVERHEAD_TOKENS) ** _LENGTH_POWER
        # A long text has no right to all the room: of a short one that stands alone the best is kept, too.
        taken = math.sqrt(1 + self._taken[sentence.source_index] / self._mean_tokens)
        return told * sentence.telling.factor * sentence.weight / (cost * taken)


def _weigh_sentences(
    split: Iterable[tuple[int, str, float, str]], limit: int, counter: Counter, analyzer: Analyzer
) -> list[_Sentence]:
    """The sentences in order, each once, with the pieces of those that are too long instead of them.

    Args:
        split: The places of their texts, the sentences, their weights and languages.
    """
    distinct: dict[str, tuple[int, str, int, float, str, bool]] = {}
    for index, sentence, weight, language in split:
        for part, tokens in _split_too_long(sentence, limit, counter):
            same = part.casefold()
            if same not in distinct or distinct[same][3] < weight:
                distinct[same] = (index, part, tokens, weight, language, part is not sentence)
    alike = Tally(_DIGITS.sub("0", same) for same in distinct)
    sentences = []
    for same, (index, part, tokens, weight, language, is_piece) in distinct.items():
        values, factor = weigh(part, language, analyzer)
        factor /= alike[_DIGITS.sub("0", same)] ** _LIKENESS_POWER
        sentences.append(_Sentence(index, part, tokens, weight, Telling(values, factor), is_piece))
    return sorted(sentences, key=lambda each: each.source_index)


def _split_too_long(sentence: str, limit: int, counter: Counter) -> list[tuple[str, int]]:
    """A sentence, or the pieces of one that takes more than the whole extract may, with their tokens."""
    if (tokens := counter(sentence)) <= limit:
        return [(sentence, tokens)]
    room = max(1, limit // _PIECES - _MARK_TOKENS)
    pieces = split_long(sentence, max(1, len(sentence) * room // tokens))
    marked = [mark_gaps(piece, place, len(pieces)) for place, piece in enumerate(pieces)]
    return [(piece, counter(piece)) for piece in marked]
