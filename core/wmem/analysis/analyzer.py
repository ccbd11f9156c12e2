"""Analyzer: splits a text into index terms, folded and stemmed, without stop words.

Stemming is slow, so an analyzer caches stems. The cache holds words of what was analyzed: it belongs to an
engine, which clears it on erasure.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from wmem.analysis.normalization import fold
from wmem.analysis.plain_spelling import to_plain_spelling, to_simplified
from wmem.analysis.stemmer import stem
from wmem.analysis.stopwords import KOREAN_STOP_WORDS, STOP_WORDS, detect_language, detect_latin_language
from wmem.model.values import load_json

# Scripts that write no spaces between words, without their digits: Thai, Lao, Myanmar, Khmer, kana, Han.
_UNSPACED = (
    r"\u0e01-\u0e4f\u0e5a-\u0ecf\u0eda-\u0eff\u1000-\u103f\u104a-\u108f\u109a-\u109f\u1780-\u17df\u17ea-\u17ff"
    r"\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
)
# Vowel signs and accents are part of a word, though `\w` does not match them.
_MARKS = r"\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0dff"
_WORD = re.compile(rf"(?P<unspaced>[{_UNSPACED}]+)|(?:[^\W_{_UNSPACED}]|[{_MARKS}])+")
# For ASCII: its words are what stands between blanks then, which is many times faster than a pattern.
_ASCII_TO_WORDS = bytes(ord(chr(code).lower()) if code < 128 and chr(code).isalnum() else 32 for code in range(256))  # noqa: PLR2004
# Korean has spaces, but attaches particles to words.
_HANGUL = "\uac00", "\ud7a3"
_MIXED_KANA = re.compile(r"[\u30a0-\u30ff][\u3040-\u309f]|[\u3040-\u309f][\u30a0-\u30ff]")
_UNSPACED_OR_HANGUL = re.compile(rf"[{_UNSPACED}\uac00-\ud7a3]")
_ARABIC_ARTICLES = (
    "\u0648\u0627\u0644",
    "\u0628\u0627\u0644",
    "\u0643\u0627\u0644",
    "\u0641\u0627\u0644",
    "\u0644\u0644",
    "\u0627\u0644",
)
"""The article, which Arabic writes in one with the word, after "and", "with", "like", "so" and "for", and alone."""
_MIN_ARABIC_LETTERS = 3  # that remain when an article is removed
SPELLED = "="
"""Stands between a term and a spelling of it: in no term, for it is in no word."""
_MAX_STEMS = 65_536
_MAX_CONTENTS = 1_024
_MAX_QUERIES = 64
_MAX_CONTENT_BYTES = 4_096  # the terms of a longer content are not cached: they would make the cache large


def to_words(text: str) -> list[str]:
    """The words of a text in order, folded (NFKC, case); a run of an unspaced script is one word."""
    if text.isascii():
        return text.encode().translate(_ASCII_TO_WORDS).decode().split()
    return [match.group() for match in _WORD.finditer(fold(text))]


def list_unspaced_runs(text: str) -> list[str]:
    """The runs of a script that writes no spaces between words."""
    return [] if text.isascii() else [run for each in _WORD.finditer(text) if (run := each["unspaced"])]


def to_terms(text: str, default_language: str = "english") -> list[str]:
    """See `Analyzer.to_terms`; caches nothing."""
    return Analyzer().to_terms(text, default_language)


class Analysis(NamedTuple):
    """What a text is searched by.

    Attributes:
        language: Its detected language.
        terms: Its terms, in order.
        spellings: For each term whose word is spelled otherwise, the term, `SPELLED` and its spelling.
    """

    language: str
    terms: list[str]
    spellings: list[str]


class Analyzer:
    """Splits texts into terms, and caches stems, the terms of short contents and those of the last queries."""

    __slots__ = ("_content_terms", "_other_stems", "_queries", "_spelled", "_stems", "tellings")

    def __init__(self) -> None:
        self._stems: defaultdict[str, dict[str, str]] = defaultdict(dict)  # by language
        self._spelled: defaultdict[str, dict[str, tuple[str, str]]] = defaultdict(dict)  # terms and spellings
        self._content_terms: dict[bytes, tuple[str, ...]] = {}
        self._queries: dict[tuple[str, str], Analysis] = {}
        self._other_stems: dict[tuple[str, str, str], dict[str, str]] = {}
        self.tellings: dict[tuple[str, str], tuple[Mapping[str, float], float]] = {}
        """What sentences tell, by language and text: see `wmem.analysis.informativeness`, which bounds it."""

    def to_terms(self, text: str, default_language: str = "english") -> list[str]:
        """The index terms of a text, in order.

        Words, folded (NFKC, case) and stemmed, in plain spelling (`wmem.analysis.plain_spelling`), without the
        stop words of their language; for scripts without spaces, character bigrams.

        Args:
            default_language: The language of a text that tells none; see `detect_language`.
        """
        return self.analyze(text, default_language).terms

    def analyze_distinct(self, text: str, default_language: str = "english") -> Analysis:
        """As `analyze`, each term once; words that are repeated cost next to nothing."""
        language, terms, spellings = self._analyze(text, default_language, distinct=True)
        return Analysis(language, list(dict.fromkeys(terms)), list(dict.fromkeys(spellings)))

    def analyze_query(self, query: str, default_language: str) -> Analysis:
        """As `analyze_distinct`, once: a search asks for the terms of its query several times, in each scope."""
        key = query, default_language
        made = self._queries.get(key)
        if made is None:
            made = self.analyze_distinct(query, default_language)
            if len(self._queries) >= _MAX_QUERIES:
                self._queries.clear()
            self._queries[key] = made
        return made

    def map_stems(self, query: str, language: str, other: str) -> Mapping[str, str]:
        """The terms of the words of a query, to those that they have in texts of another language than its own."""
        key = query, language, other
        made = self._other_stems.get(key)
        if made is None:
            stop = STOP_WORDS[language]
            words = (word for word in dict.fromkeys(to_words(query)) if word not in stop)
            words = (word for word in words if not _UNSPACED_OR_HANGUL.match(word))
            made = {self.to_term(word, language): self.to_term(word, other) for word in words}
            if len(self._other_stems) >= _MAX_QUERIES:
                self._other_stems.clear()
            self._other_stems[key] = made
        return made

    def to_term(self, word: str, language: str) -> str:
        """The term of a folded word that no script sets apart."""
        if word.isascii():
            return self._stems[language].get(word) or self._add_stem(word, language)
        return (self._spelled[language].get(word) or self._add_spelled(word, language))[0]

    def analyze(self, text: str, default_language: str = "english") -> Analysis:
        """The detected language of a text, and its terms; see `to_terms`."""
        return self._analyze(text, default_language, distinct=False)

    def _analyze(self, text: str, default_language: str, *, distinct: bool) -> Analysis:
        """See `analyze`.

        Args:
            distinct: Whether a word counts once, however often it is repeated.
        """
        if text.isascii():
            words = text.encode().translate(_ASCII_TO_WORDS).decode().split()
            language = detect_latin_language(words, default_language)
            stop, stems = STOP_WORDS[language], self._stems[language]
            if distinct:
                words = list(dict.fromkeys(words))
            terms = [stems.get(word) or self._add_stem(word, language) for word in words if word not in stop]
            return Analysis(language, terms, [])
        found = [(each.group(), bool(each.lastgroup)) for each in _WORD.finditer(fold(text))]
        language = detect_language((word for word, unspaced in found if not unspaced), default_language)
        made = Analysis(language, [], [])
        stop, stems = STOP_WORDS[language], self._stems[language]
        for word, unspaced in dict.fromkeys(found) if distinct else found:
            if unspaced:
                _add_bigrams(made, word)
            elif _HANGUL[0] <= word[0] <= _HANGUL[1]:
                made.terms.extend(_to_korean_terms(word))
            elif word in stop:
                continue
            elif word.isascii():
                made.terms.append(stems.get(word) or self._add_stem(word, language))
            else:
                term, spelling = self._spelled[language].get(word) or self._add_spelled(word, language)
                made.terms.append(term)
                if spelling:
                    made.spellings.append(spelling)
        return made

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
        self._spelled.clear()
        self._content_terms.clear()
        self._queries.clear()
        self._other_stems.clear()
        self.tellings.clear()

    def _add_stem(self, word: str, language: str) -> str:
        stems = self._stems[language]
        if len(stems) >= _MAX_STEMS:
            stems.clear()
        made = stem(word, language)
        stems[word] = word if made == word else made  # one text where it is the same
        return made

    def _add_spelled(self, word: str, language: str) -> tuple[str, str]:
        """The term of a word that is not ASCII, and its spelling if that is another; see `Analysis`."""
        spelled = self._spelled[language]
        if len(spelled) >= _MAX_STEMS:
            spelled.clear()
        bare = _strip_article(word)
        plain = to_plain_spelling(bare) or bare
        root = stem(bare, language)
        # A stemmer knows the accents of its own language, and English has none.
        term = stem(plain, language) if language == "english" else to_plain_spelling(root) or plain
        spelling = "" if plain == bare else root if root != term else bare
        made = spelled[word] = term, f"{term}{SPELLED}{spelling}" if spelling else ""
        return made


def _strip_article(word: str) -> str:
    """An Arabic word without its article; any other as it is."""
    for article in _ARABIC_ARTICLES:
        if word.startswith(article) and len(word) >= len(article) + _MIN_ARABIC_LETTERS:
            return word[len(article) :]
    return word


def _add_bigrams(analysis: Analysis, word: str) -> None:
    plain = to_simplified(word)
    pairs = _bigrams(plain)
    analysis.terms.extend(pairs)
    if plain != word:
        analysis.spellings.extend(
            f"{term}{SPELLED}{pair}" for term, pair in zip(pairs, _bigrams(word), strict=True) if term != pair
        )


def _to_korean_terms(word: str) -> list[str]:
    if word in KOREAN_STOP_WORDS:
        return []
    return [word, *_bigrams(word)] if len(word) > 2 else [word]  # noqa: PLR2004  # a pair is the word


def _bigrams(word: str) -> list[str]:
    """The pairs of characters of a word, or else itself; a particle after a foreign word is no pair with its end."""
    pairs = [word[at : at + 2] for at in range(len(word) - 1)]
    if pairs and _MIXED_KANA.search(word):
        pairs = [pair for pair in pairs if not _MIXED_KANA.match(pair)]
    return pairs or [word]
