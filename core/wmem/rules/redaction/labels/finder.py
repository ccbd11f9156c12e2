"""Finds labels, and takes what stands beside them."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from wmem.rules.redaction.labels.beside import find_beside
from wmem.rules.redaction.labels.table import ACRONYMS, PHRASES
from wmem.rules.redaction.reading import Reading, find_places
from wmem.rules.redaction.spans import Span

_WORD = re.compile(r"[^\W\d_]+")
_OTHER_ACRONYMS = frozenset({"rfc", "cc", "ci", "ni", "nn", "cf", "fin"})
_ABBREVIATIONS = frozenset(
    {"tel", "tél", "fecha nac", "f nac", "kto", "acct", "geb", "ur", "dob", "mob", "cel", "тел", "моб"}
)
_STEMS = (
    *((stem, "password") for stem in ("password", "passwd", "pwd", "passwort", "kennwort")),
    *((stem, "secret") for stem in ("secret", "apikey", "token", "secretkey", "accesskey")),
)
"""Words that others end in: `dbpassword`, `accesstoken`."""
_CAMEL_PARTS = (
    *(("Cvv", "card_security_code"), ("Cvc", "card_security_code"), ("CVV", "card_security_code")),
    *(("Imei", "device_id"), ("IMEI", "device_id"), ("Ssn", "national_id"), ("SSN", "national_id")),
    *(("Passport", "passport"), ("Pin", "pin"), ("PIN", "pin"), ("Otp", "pin"), ("Iban", "iban"), ("IBAN", "iban")),
    *(("Phone", "phone"), ("Mobile", "phone"), ("Dob", "date_of_birth"), ("Birth", "date_of_birth")),
)
"""Words that names in code end in: `cardCvv`, `deviceImei`."""


_SHORT = 3
_CAMEL_HERE = re.compile(r"(?:[dD]ay|Date|Number|No|Code)(?![a-z])")


class Label(NamedTuple):
    """A label, and the kind of what stands beside it."""

    phrase: str
    kind: str


class Labels(NamedTuple):
    """The labels.

    Attributes:
        by_word: By the longest word of each.
        unspaced: Those of scripts that do not set words apart, by a character that they have.
        kinds: The kind of each phrase.
        words: The words of `by_word`.
    """

    by_word: Mapping[str, tuple[Label, ...]]
    unspaced: Mapping[str, tuple[Label, ...]]
    kinds: Mapping[str, str]
    words: frozenset[str]


@cache
def load_labels() -> Labels:
    """The labels, ready to be looked up."""
    by_word: dict[str, list[Label]] = {}
    unspaced: dict[str, list[Label]] = {}
    kinds: dict[str, str] = {}
    for kind, phrases in PHRASES.items():
        for phrase in phrases.split("|"):
            joined = phrase.replace(" ", "").replace("'", "")
            for each in dict.fromkeys((phrase, joined)):
                kinds.setdefault(each, kind)
                label = Label(each, kind)
                if is_unspaced(each):
                    unspaced.setdefault(max(each), []).append(label)
                else:
                    by_word.setdefault(max(_WORD.findall(each), key=len), []).append(label)
    return Labels(
        {word: tuple(labels) for word, labels in by_word.items()},
        {char: tuple(of_char) for char, of_char in unspaced.items()},
        kinds,
        frozenset(by_word),
    )


def is_unspaced(text: str) -> bool:
    """Whether it is of a script that does not set words apart, or adds endings: from Hebrew on."""
    return any("\u0590" <= char <= "\u1100" or "\u3040" <= char < "\ufb00" for char in text)


def find_labelled(reading: Reading) -> Iterator[Span]:
    """What stands beside labels."""
    labels = load_labels()
    for word in reading.words & labels.words:
        for label in labels.by_word[word]:
            yield from _beside_each(reading, label, is_stem=False)
    if reading.is_unspaced:
        for char in set(reading.lower) & labels.unspaced.keys():
            for label in labels.unspaced[char]:
                yield from _beside_each(reading, label, is_stem=True)
    yield from _beside_camels(reading)
    for stem, kind in _STEMS:
        if stem in reading.lower:
            yield from _beside_each(reading, Label(stem, kind), is_stem=True)


def _beside_each(reading: Reading, label: Label, *, is_stem: bool) -> Iterator[Span]:
    spaced = reading.with_spaces
    at = spaced.find(label.phrase)
    while at >= 0:
        end = at + len(label.phrase)
        if is_stem or _is_word(spaced, at, end):
            if label.phrase in _ABBREVIATIONS and reading.text[end : end + 1] == ".":
                end += 1
            is_weak = label.phrase in ACRONYMS and (
                label.phrase in _OTHER_ACRONYMS or not reading.text[at:end].isupper()
            )
            yield from find_beside(reading, label.kind, at, end, is_weak=is_weak)
        at = spaced.find(label.phrase, end)


def _beside_camels(reading: Reading) -> Iterator[Span]:
    text = reading.text
    for part, kind in _CAMEL_PARTS:
        for end in find_places(text, part):
            start = end - len(part)
            if not (start and text[start - 1].islower()):
                continue
            more = _CAMEL_HERE.match(text, end)
            if more or not text[end : end + 1].islower():
                yield from find_beside(
                    reading, kind, start, more.end() if more else end, is_weak=kind in ("pin", "phone")
                )


def _is_word(text: str, start: int, end: int) -> bool:
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    if end - start <= _SHORT and (before.isdigit() or after.isdigit()):
        return False  # two letters of a hexadecimal number
    return not before.isalpha() and not after.isalpha()
