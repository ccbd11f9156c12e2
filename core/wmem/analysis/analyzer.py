"""Analyzer: splits a text into index terms, folded and stemmed, without stop words.

Stemming is slow, so an analyzer caches stems. The cache holds words of what was analyzed: it belongs to an
engine, which clears it on erasure.
"""

import re
from collections import defaultdict

from wmem.analysis.normalization import fold
from wmem.analysis.stemmer import stem
from wmem.analysis.stopwords import STOP_WORDS, detect_language, detect_latin_language
from wmem.model.values import load_json

# Scripts that write no spaces between words: Thai, Lao, Myanmar, Khmer, kana, Han.
_UNSPACED = (
    r"\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff"
    r"\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
)
# Vowel signs and accents are part of a word, though `\w` does not match them.
_MARKS = r"\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0dff"
_WORD = re.compile(rf"(?P<unspaced>[{_UNSPACED}]+)|(?:[^\W_{_UNSPACED}]|[{_MARKS}])+")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
# Korean has spaces, but attaches particles to words.
_HANGUL = "\uac00", "\ud7a3"
_MAX_STEMS = 65_536
_MAX_CONTENTS = 1_024
_MAX_CONTENT_BYTES = 4_096  # the terms of a longer content are not cached: they would make the cache large


def to_words(text: str) -> list[str]:
    """The words of a text in order, folded (NFKC, case); a run of an unspaced script is one word."""
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    return [match.group() for match in _WORD.finditer(fold(text))]


def list_unspaced_runs(text: str) -> list[str]:
    """The runs of a script that writes no spaces between words."""
    return [] if text.isascii() else [run for each in _WORD.finditer(text) if (run := each["unspaced"])]


def to_terms(text: str, default_language: str = "english") -> list[str]:
    """See `Analyzer.to_terms`; caches nothing."""
    return Analyzer().to_terms(text, default_language)


class Analyzer:
    """Splits texts into terms, and caches stems and the terms of short contents."""

    __slots__ = ("_content_terms", "_stems")

    def __init__(self) -> None:
        self._stems: defaultdict[str, dict[str, str]] = defaultdict(dict)  # by language
        self._content_terms: dict[bytes, tuple[str, ...]] = {}

    def to_terms(self, text: str, default_language: str = "english") -> list[str]:
        """The index terms of a text, in order.

        Words, folded (NFKC, case) and stemmed, without the stop words of their language;
        for scripts without spaces, character bigrams.

        Args:
            default_language: The language of a text that tells none; see `detect_language`.
        """
        return self.analyze(text, default_language)[1]

    def analyze_distinct(self, text: str, default_language: str = "english") -> tuple[str, list[str]]:
        """As `analyze`, each term once; words that are repeated cost next to nothing."""
        language, terms = self._analyze(text, default_language, distinct=True)
        return language, list(dict.fromkeys(terms))

    def analyze(self, text: str, default_language: str = "english") -> tuple[str, list[str]]:
        """The detected language of a text, and its terms; see `to_terms`."""
        return self._analyze(text, default_language, distinct=False)

    def _analyze(self, text: str, default_language: str, *, distinct: bool) -> tuple[str, list[str]]:
        """See `analyze`.

        Args:
            distinct: Whether a word counts once, however often it is repeated.
        """
        if text.isascii():
            words = _ASCII_WORD.findall(text.lower())
            language = detect_latin_language(words, default_language)
            stop, stems = STOP_WORDS[language], self._stems[language]
            if distinct:
                words = list(dict.fromkeys(words))
            return language, [stems.get(word) or self._add_stem(word, language) for word in words if word not in stop]
        found = [(each.group(), bool(each.lastgroup)) for each in _WORD.finditer(fold(text))]
        language = detect_language((word for word, unspaced in found if not unspaced), default_language)
        stop, stems = STOP_WORDS[language], self._stems[language]
        terms: list[str] = []
        for word, unspaced in dict.fromkeys(found) if distinct else found:
            if unspaced:
                terms += _bigrams(word)
            elif _HANGUL[0] <= word[0] <= _HANGUL[1]:
                terms += [word, *_bigrams(word)] if len(word) > 2 else [word]  # noqa: PLR2004  # a pair is the word
            elif word not in stop:
                terms.append(stems.get(word) or self._add_stem(word, language))
        return language, terms

    def content_terms(self, content: bytes) -> tuple[str, ...]:
        """The terms of a text that is stored as JSON; those of short ones are cached."""
        terms = self._content_terms.get(content)
        if terms is None:
            terms = tuple(self.to_terms(load_json(content)))
            if len(content) <= _MAX_CONTENT_BYTES:
                if len(self._content_terms) >= _MAX_CONTENTS:
                    self._content_terms.clear()
                self._content_terms[content] = terms
        return terms

    def clear(self) -> None:
        """Forget every word and text."""
        self._stems.clear()
        self._content_terms.clear()

    def _add_stem(self, word: str, language: str) -> str:
        stems = self._stems[language]
        if len(stems) >= _MAX_STEMS:
            stems.clear()
        made = stem(word, language)
        stems[word] = word if made == word else made  # one text where it is the same
        return made


def _bigrams(word: str) -> list[str]:
    return [word[at : at + 2] for at in range(len(word) - 1)] or [word]
