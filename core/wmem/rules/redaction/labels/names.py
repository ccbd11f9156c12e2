"""The labels, and the kind that a name in code or data tells."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from wmem.rules.redaction.labels.table import FILLERS, IS_WORDS, PHRASES, split_words
from wmem.rules.redaction.reading import Reading, split_name

_WORD = re.compile(r"[^\W\d_]+")
_WITHOUT_DIGITS = frozenset({"password", "password_sign", "secret", "secret_sign", "session", "seed_phrase"})
"""Kinds of labels whose values may have no digits."""
_LINK = re.compile(r"[ ](?:(?:de la|de|del|da|do|di)[ ]|d['’])")
_UMLAUT = re.compile("[äöü]")
_DIGRAPHS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_LEAST_PLAIN = 6  # letters
_JOINTS = re.compile(r"[\s_\-./:]+")
_MAX_WORDS = 8
_SUFFIXES = split_words(
    "number no num nr id code value text string plain raw new old confirm confirmation repeat again current 1 2 encoded full str hash hex b64 base64 nummer "
    "numero número номер 号码 番号 field"
)
_WEAK_FIELDS = split_words(
    "code account acct contact home location position card karte carte carta kart conto conta compte cuenta hesap konto on breite"
)
"""Names of fields that say too little of what stands in them: their values are read as texts."""
_PREFIXES = split_words(
    "page next continuation cursor sync max num total input output prompt completion reasoning cached stop pad eos bos"
)


def _spell_plainly(phrase: str) -> Iterator[str]:
    """How code has a label with accents: `contrasena`, `fuehrerschein`; short ones would be other words."""
    plain = unicodedata.normalize("NFKD", phrase).encode("ascii", "ignore").decode()
    if len(plain.replace(" ", "")) >= _LEAST_PLAIN and len(plain) >= len(phrase) and plain != phrase:
        yield plain
        yield phrase.translate(_DIGRAPHS).encode("ascii", "ignore").decode() if _UMLAUT.search(phrase) else plain


def _shorten(phrase: str) -> Iterator[str]:
    """How people write the word for a number in a label: `n° de permis`, `Rentenversicherungsnr.`."""
    for word, signs in _NUMBER_WORDS.items():
        if phrase.startswith(f"{word} "):
            yield from (f"{sign}{phrase[len(word) :]}" for sign in signs)
    if phrase.endswith("nummer"):
        yield f"{phrase.removesuffix('ummer')}r"


_NUMBER_WORDS = {
    "numéro": ("n°", "nº"),
    "número": ("nº", "n°", "n º"),
    "numero": ("n", "n°", "nº"),
    "numer": ("nr",),
    "номер": ("№",),
}


class Label(NamedTuple):
    """A label, the kind of what stands beside it, and the words that it consists of."""

    phrase: str
    kind: str
    words: frozenset[str] = frozenset()


class Labels(NamedTuple):
    """The labels.

    Attributes:
        by_word: By a word of each: one that is a label alone, or else the longest that is no filler, as "number" is.
        unspaced: Those of scripts that do not set words apart, by a character that they have.
        kinds: The kind of each phrase.
        longest: The longest word of each.
        words: The words of `by_word`.
        words_of_secrets: Those of labels whose values may have no digits.
    """

    by_word: Mapping[str, tuple[Label, ...]]
    unspaced: Mapping[str, tuple[Label, ...]]
    kinds: Mapping[str, str]
    longest: frozenset[str]
    words: frozenset[str]
    words_of_secrets: frozenset[str]


@cache
def load_labels() -> Labels:
    """The labels, ready to be looked up."""
    unspaced: dict[str, list[Label]] = {}
    kinds: dict[str, str] = {}
    spaced: list[Label] = []
    for kind, phrases in PHRASES.items():
        for phrase in phrases.split("|"):
            joined = phrase.replace(" ", "").replace("'", "")
            names = (
                (phrase, joined)
                if kind in _WITHOUT_DIGITS or is_unspaced(phrase)
                else (phrase, joined, f"{joined}number", f"{joined}nr")
            )
            bare = _LINK.sub(" ", phrase)  # `numeroCuenta`, `codigo_seguridad`
            plain = (each for name in dict.fromkeys((phrase, joined, bare)) for each in _spell_plainly(name))
            for each in dict.fromkeys((*names, bare, *_shorten(phrase), *plain)):
                kinds.setdefault(each, kind)
                label = Label(each, kind, frozenset(_WORD.findall(each)))
                if is_unspaced(each):
                    unspaced.setdefault(max(each), []).append(label)
                else:
                    spaced.append(label)
    single = {word for label in spaced if len(label.words) == 1 for word in label.words}
    by_word: dict[str, list[Label]] = {}
    for label in spaced:
        ranks = {word: (word in single, not (word in FILLERS or word in IS_WORDS), len(word)) for word in label.words}
        by_word.setdefault(max(sorted(ranks), key=ranks.__getitem__), []).append(label)
    return Labels(
        {word: tuple(labels) for word, labels in by_word.items()},
        {char: tuple(of_char) for char, of_char in unspaced.items()},
        kinds,
        frozenset(max(_WORD.findall(label.phrase), key=len) for label in spaced),
        frozenset(by_word),
        frozenset(word for word, of_word in by_word.items() if any(each.kind in _WITHOUT_DIGITS for each in of_word)),
    )


def is_unspaced(text: str) -> bool:
    """Whether it is of a script that does not set words apart, or adds endings: from Hebrew on."""
    return any("\u0590" <= char <= "\u1100" or "\u3040" <= char < "\ufb00" for char in text)


@lru_cache(maxsize=1024)
def kind_of_name(name: str) -> str | None:
    """The kind that the name of a field or a column tells, whatever stands in it."""
    kinds = load_labels().kinds
    words = _JOINTS.split(Reading(split_name(name)).lower.strip())[:_MAX_WORDS]
    if words[-1] not in kinds and len(last := words[-1].rstrip("0123456789")) > 1:  # `phone2`
        words[-1] = last
    end = len(words)
    while end:
        for start in range(end):
            phrase = " ".join(words[start:end])
            if phrase in kinds and phrase not in _WEAK_FIELDS:
                return None if start and words[start - 1] in _PREFIXES else kinds[phrase]
        if words[end - 1] not in _SUFFIXES and not words[end - 1].isdigit():
            return None
        end -= 1
    return None
