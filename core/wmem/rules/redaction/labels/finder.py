"""Finds labels, and takes what stands beside them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from wmem.rules.redaction.labels.beside import find_beside
from wmem.rules.redaction.labels.table import ACRONYMS, FILLERS, IS_WORDS, PHRASES
from wmem.rules.redaction.labels.values import is_mixed
from wmem.rules.redaction.reading import Reading, find_places
from wmem.rules.redaction.spans import Span

_WORD = re.compile(r"[^\W\d_]+")
_OTHER_ACRONYMS = frozenset({"rfc", "cc", "ci", "ni", "nn", "cf", "fin"})
_ABBREVIATIONS = frozenset(
    {"tel", "tél", "fecha nac", "f nac", "kto", "acct", "geb", "ur", "dob", "mob", "cel", "тел", "моб"}
)
_NUMBERS = (" no", " nr", " num")
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
    ("Pass", "password_sign"),
)
"""Words that names in code end in: `cardCvv`, `deviceImei`."""


_SHORT = 3
_CAMEL_HERE = re.compile(r"(?:[dD]ay|Date|Number|No|Code)(?![a-z])")
_WITHOUT_DIGITS = frozenset({"password", "password_sign", "secret", "secret_sign", "session", "seed_phrase"})
"""Kinds of labels whose values may have no digits."""


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
            names = (phrase, joined) if kind in _WITHOUT_DIGITS else (phrase, joined, f"{joined}number")
            for each in dict.fromkeys(names):
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


def find_labelled(reading: Reading) -> Iterator[Span]:
    """What stands beside labels."""
    labels = load_labels()
    for label in _list_labels(reading):
        yield from _beside_each(reading, label, is_stem=False)
    if reading.is_unspaced:
        for char in set(reading.lower) & labels.unspaced.keys():
            for label in labels.unspaced[char]:
                yield from _beside_each(reading, label, is_stem=True)
    if _may_have_camels(reading):
        yield from _beside_camels(reading)
    for stem, kind in _STEMS:
        if stem in reading.lower:
            yield from _beside_each(reading, Label(stem, kind), is_stem=True)


def may_have_labels(reading: Reading) -> bool:
    """Whether `find_labelled` may find anything in a text that this is a part of."""
    lower = reading.lower
    return (
        any(_list_labels(reading))
        or "passw" in lower
        or "secret" in lower
        or "token" in lower
        or "pwd" in lower
        or "key" in lower
        or "kennwort" in lower
        or reading.is_unspaced
        or _may_have_camels(reading)
    )


def _list_labels(reading: Reading) -> Sequence[Label]:
    """The labels all of whose words stand in a text."""
    labels = load_labels()
    first = labels.words if reading.digits else labels.words_of_secrets
    if first.isdisjoint(reading.words):
        return ()
    words = frozenset(reading.words)
    return [label for word in first & words for label in labels.by_word[word] if label.words <= words]


def _beside_each(reading: Reading, label: Label, *, is_stem: bool) -> Iterator[Span]:
    spaced = reading.with_spaces
    at = spaced.find(label.phrase)
    while at >= 0:
        end = at + len(label.phrase)
        if is_stem or _is_word(spaced, at, end):
            if (label.phrase in _ABBREVIATIONS or label.phrase.endswith(_NUMBERS)) and reading.text[
                end : end + 1
            ] == ".":
                end += 1
            is_weak = label.phrase in ACRONYMS and (
                label.phrase in _OTHER_ACRONYMS or not reading.text[at:end].isupper()
            )
            yield from find_beside(reading, label.kind, at, end, is_weak=is_weak)
        at = spaced.find(label.phrase, end)


def _may_have_camels(reading: Reading) -> bool:
    text = reading.text
    if not reading.digits:
        return False
    return any(part in text for part, _ in _CAMEL_PARTS)


def _beside_camels(reading: Reading) -> Iterator[Span]:
    text = reading.text
    for part, kind in _CAMEL_PARTS:
        for end in find_places(text, part):
            start = end - len(part)
            if not (start and text[start - 1].islower()):
                continue
            more = _CAMEL_HERE.match(text, end)
            if more or not text[end : end + 1].islower():
                spans = find_beside(reading, kind, start, more.end() if more else end, is_weak=kind in ("pin", "phone"))
                yield from (span for span in spans if kind != "password_sign" or is_mixed(text[span.start : span.end]))


def _is_word(text: str, start: int, end: int) -> bool:
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    if end - start <= _SHORT and (before.isdigit() or after.isdigit()):
        return False  # two letters of a hexadecimal number
    return not (before.isalpha() and not is_unspaced(before)) and not (after.isalpha() and not is_unspaced(after))
