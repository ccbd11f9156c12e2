"""Stemming, by the Snowball stemmers where they are installed.

Stemming is a pure function of the word, but a stemmer object is not thread-safe.
"""

import importlib.util
import threading
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Protocol

from wmem.text.forms import BASES

__all__ = ["forms_of", "has_stemmers", "stem"]

_stemming = threading.Lock()


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802  # the name in snowballstemmer


@cache
def has_stemmers() -> bool:
    """Whether snowballstemmer is installed (extra ``recall``)."""
    return importlib.util.find_spec("snowballstemmer") is not None


@lru_cache(65_536)
def stem(word: str, language: str) -> str:
    """The stem of a word; a word that is not all letters stays as it is.

    Without snowballstemmer, English plural and tense endings are removed by rule.
    """
    if not word.isalpha():
        return word
    if language == "english":
        word = BASES.get(word, word)
    if has_stemmers():
        with _stemming:
            return _stemmer(language).stemWord(word)
    return _plain(word) if language == "english" else word


def forms_of(stemmed: str) -> Sequence[str]:
    """The irregular and variant English words that have this stem."""
    return _forms().get(stemmed, ())


@cache
def _forms() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for form in BASES:
        found.setdefault(stem(form, "english"), []).append(form)
    return found


@cache
def _stemmer(language: str) -> _Stemmer:
    import snowballstemmer

    found: _Stemmer = snowballstemmer.stemmer(language)
    return found


_ENDINGS = (("sses", "ss"), ("ies", "y"), ("ied", "y"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", ""))
_LEAST = 3
"""Fewest letters that remain when an ending is removed."""


def _plain(word: str) -> str:
    for ending, instead in _ENDINGS:
        kept = word[: -len(ending)]
        if word.endswith(ending) and len(kept) >= _LEAST and not word.endswith(("ss", "us", "is")):
            # Doubled and silent letters go, so that "running" equals "run" and "baking" equals "bake".
            kept = kept[:-1] if not instead and kept[-1] == kept[-2] and kept[-1] not in "ls" else kept + instead
            break
    else:
        kept = word
    return kept[:-1] if kept.endswith("e") and len(kept) > _LEAST else kept
