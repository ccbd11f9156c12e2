"""Query-focused passage of a long memory for the note: its sentences that match the query, verbatim."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import compress, repeat
from operator import contains, itemgetter
from typing import NamedTuple, Self

from wmem.analysis.normalization import fold
from wmem.analysis.plain_spelling import to_plain_spelling
from wmem.analysis.sentences import GAP, split_long, split_sentences
from wmem.analysis.stemmer import irregular_forms, stem
from wmem.fork import cached_property
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


class WordForms(NamedTuple):
    """What a sentence has that has a word.

    Attributes:
        beginning: The beginning of its regular forms.
        irregular: Its other forms, and what matches them whole: "ran" is in "grand".
    """

    beginning: str
    irregular: "tuple[tuple[str, re.Pattern[str]], ...]"

    @classmethod
    def of(cls, beginning: str, irregular: Iterable[str]) -> Self:
        """Of forms that are folded."""
        return cls(beginning, tuple((form, re.compile(rf"\b{form}\b")) for form in irregular))


class PassageTerms(NamedTuple):
    """What the sentences of a query's passages are searched for; made once for all its passages.

    Attributes:
        words: The forms of its terms; terms of one beginning are one word.
        positions: The list positions that it names.
    """

    words: tuple[WordForms, ...]
    positions: frozenset[int]

    @classmethod
    def of(cls, terms: Iterable[str]) -> Self:
        """Of the terms of a query, folded and stemmed."""
        terms = tuple(terms)
        forms: dict[str, list[str]] = {}
        for term in terms:
            forms.setdefault(term[:_PREFIX_LETTERS] if term.isalpha() else term, []).extend(irregular_forms(term))
        positions = frozenset(position for term in terms if (position := _list_position(term)) is not None)
        return cls(tuple(WordForms.of(beginning, each) for beginning, each in forms.items()), positions)


class LongText:
    """A text that is too long to be quoted whole; it is split and folded once for all queries.

    Args:
        count: Counts what of it is quoted.
    """

    def __init__(self, text: str, count: Counter) -> None:
        self.text = text
        self.count = count
        self._tokens: dict[int, int] = {}

    @cached_property
    def tokens(self) -> int:
        """Tokens of the whole text."""
        return self.count(self.text)

    @cached_property
    def sentences(self) -> "Sentences":
        """Its sentences, as far as it is read."""
        return Sentences(split_sentences(self.text[: cut_before(self.text, _MAX_CHARS_READ)]))

    def sentence_tokens(self, place: int) -> int:
        """Tokens of one sentence, counted once."""
        if place not in self._tokens:
            self._tokens[place] = self.count(self.sentences.texts[place])
        return self._tokens[place]


class Sentences:
    """Texts in which words are looked for."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        # All at once: none of them has a line break, through which nothing is folded with what is behind it.
        self._folded = to_plain_spelling(fold("\n".join(texts))).split("\n")

    def find(self, word: "WordForms") -> list[int]:
        """The places of the texts that have a word, in order."""
        found = self._list_places(word.beginning)
        if not word.irregular:
            return found
        for form, whole in word.irregular:  # a pattern alone takes many times longer
            found += [at for at in self._list_places(form) if whole.search(self._folded[at])]
        return sorted({*found})

    def _list_places(self, part: str) -> list[int]:
        return list(compress(range(len(self._folded)), map(contains, self._folded, repeat(part))))


def passage(text: LongText, terms: PassageTerms, tokens: int) -> Passage | None:
    """The sentences with most query terms, weighted by rarity, and their neighbours, as far as they fit.

    Where none fits, the pieces of the best that match. None when no sentence has any of the terms, or nothing fits.

    Args:
        tokens: The limit of the passage.
    """
    worths = _score_sentences(text.sentences, terms)
    if not any(worths):
        return None

    sentences = text.sentences.texts
    chosen = _select(sentences, worths, tokens, text.sentence_tokens)
    if chosen:
        return Passage(_join(chosen), sum(each.tokens for each in chosen.values()))
    return _cut_sentence(max(zip(worths, sentences, strict=True), key=itemgetter(0))[1], terms, tokens, text.count)


def _select(
    texts: Sequence[str], worths: Sequence[float], tokens: int, count: Callable[[int], int]
) -> dict[int, Passage]:
    """The texts of most worth that fit, by their places.

    Args:
        count: Tokens of a text, by its place.
    """
    chosen: dict[int, Passage] = {}
    left, misses = tokens, 0
    for at in sorted(range(len(texts)), key=worths.__getitem__, reverse=True):  # equal ones in order
        # A text that cannot fit is not encoded.
        cost = count(at) + 1 if len(texts[at]) <= _MAX_CHARS_PER_TOKEN * left else left + 1
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
    worths = _score_sentences(Sentences(pieces), terms)
    chosen = _select(pieces, worths, room, lambda at: count(pieces[at])) if any(worths) else {}
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


def _score_sentences(sentences: Sentences, terms: PassageTerms) -> list[float]:
    texts = sentences.texts
    own = [0.0] * len(texts)
    for word in terms.words:
        hits = sentences.find(word)
        rarity = math.log(1 + len(texts) / len(hits)) if hits else 0.0
        for at in hits:
            own[at] += rarity
    for at, sentence in enumerate(texts) if terms.positions else ():
        if (item := _LIST_NUMBER.match(sentence)) is not None and int(item[1]) in terms.positions:
            own[at] += math.log(1 + len(texts))
    worths = list(own)
    for at, worth in enumerate(own):
        for away, part in _NEIGHBOR_SHARES if worth else ():
            if 0 <= at + away < len(worths):
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
