"""Stemming, by the Snowball stemmers where they are installed.

Stemming is a pure function of the word, but a stemmer object is not thread-safe.
"""

import importlib.util
from collections.abc import Sequence
from functools import cache
from typing import Protocol

from wmem.analysis.inflections import BASE_FORMS
from wmem.fork import new_held_lock

_stem_lock = new_held_lock()


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802  # the name in snowballstemmer


@cache
def has_stemmers() -> bool:
    """Whether snowballstemmer is installed (extra ``recall``)."""
    return importlib.util.find_spec("snowballstemmer") is not None


def stem(word: str, language: str) -> str:
    """The stem of a word; a word that is not all letters stays as it is.

    Without snowballstemmer, English plural and tense endings are removed by rule.
    """
    if not word.isalpha():
        return word
    if language == "english":
        word = BASE_FORMS.get(word, word)
    if has_stemmers():
        with _stem_lock:
            return _stemmer(language).stemWord(word)
    return _strip_ending(word) if language == "english" else word


def irregular_forms(word_stem: str) -> Sequence[str]:
    """The irregular and variant English words that have this stem."""
    return _irregular_forms_by_stem().get(word_stem, ())


@cache
def _irregular_forms_by_stem() -> dict[str, list[str]]:
    forms: dict[str, list[str]] = {}
    for form in BASE_FORMS:
        forms.setdefault(stem(form, "english"), []).append(form)
    return forms


@cache
def _stemmer(language: str) -> _Stemmer:
    import snowballstemmer

    stemmer: _Stemmer = snowballstemmer.stemmer(language)
    return stemmer


_ENDINGS = (("sses", "ss"), ("ies", "y"), ("ied", "y"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", ""))
_MIN_STEM_CHARS = 3  # fewest letters that remain when an ending is removed


def _strip_ending(word: str) -> str:
    for ending, instead in _ENDINGS:
        root = word[: -len(ending)]
        if word.endswith(ending) and len(root) >= _MIN_STEM_CHARS and not word.endswith(("ss", "us", "is")):
            # Doubled and silent letters go, so that "running" equals "run" and "baking" equals "bake".
            root = root[:-1] if not instead and root[-1] == root[-2] and root[-1] not in "ls" else root + instead
            break
    else:
        root = word
    return root[:-1] if root.endswith("e") and len(root) > _MIN_STEM_CHARS else root
