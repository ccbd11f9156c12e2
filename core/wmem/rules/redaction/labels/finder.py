"""Finds labels, and takes what stands beside them."""

import re
from collections.abc import Iterator, Sequence

from wmem.rules.redaction.labels.beside import find_beside
from wmem.rules.redaction.labels.names import Label, is_unspaced, kind_of_name, load_labels
from wmem.rules.redaction.labels.table import ACRONYMS, split_words
from wmem.rules.redaction.labels.values import is_mixed
from wmem.rules.redaction.reading import Reading, find_places
from wmem.rules.redaction.spans import Span

_OTHER_ACRONYMS = frozenset({"rfc", "cc", "ci", "ni", "nn", "cf", "fin"})
_ABBREVIATIONS = frozenset(
    {"tel", "tél", "fecha nac", "f nac", "kto", "acct", "geb", "ur", "dob", "d o b", "mob", "cel", "cell", "fon"}
    | {"data ur", "tel kom", "nr rej", "тел", "моб"}
)
_NUMBERS = (" no", "nr", " num", " n")
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


_OWNERS = tuple(
    split_words(
        "db user admin root login mail smtp ftp ssh wifi mysql pg postgres redis app account client server key proxy"
    )
)
_HUMP = re.compile("[a-z][A-Z]")
_CAMEL_NAME = re.compile(r"(?<![A-Za-z])[A-Z]*+[a-z]++[A-Z][A-Za-z]*+")
_SIGN_HERE = re.compile(r"\\{0,3}[\"'`*]{0,2}\]?[ ]{0,4}[:=|]|>(?=[^\s<>=])")
_MAX_NAME = 48
_SHORT = 3
_CAMEL_HERE = re.compile(r"(?:[dD]ay|Date|Number|No|Code)(?![a-z])")


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
    return (bool(reading.digits) and any(part in text for part, _ in _CAMEL_PARTS)) or any(_list_camels(text))


def _list_camels(text: str) -> Iterator[tuple[int, str]]:
    """Where each name in code ends that a label is the end of, as `fechaNacimiento`, and its kind."""
    for match in _CAMEL_NAME.finditer(text) if _HUMP.search(text) else ():
        name = match[0]
        if name[0] in "nrt" and text[match.start() - 1 : match.start()] == "\\":  # "\n" in JSON
            name = name[1:]
        if len(name) <= _MAX_NAME and (kind := kind_of_name(name)):
            yield match.end(), kind


def _beside_camels(reading: Reading) -> Iterator[Span]:
    text = reading.text
    for end, kind in _list_camels(text):
        if _SIGN_HERE.match(text, end):
            yield from _beside_camel(reading, kind, end - 1, end)
    for part, kind in _CAMEL_PARTS if reading.digits else ():
        for end in find_places(text, part):
            start = end - len(part)
            if not (start and text[start - 1].islower()):
                continue
            more = _CAMEL_HERE.match(text, end)
            if more or not text[end : end + 1].islower():
                yield from _beside_camel(reading, kind, start, more.end() if more else end)


def _beside_camel(reading: Reading, kind: str, start: int, end: int) -> Iterator[Span]:
    """What stands beside the end of a name in code; `compilerPass = "lowering"` is no password."""
    for span in find_beside(reading, kind, start, end, is_weak=kind in ("pin", "phone")):
        if kind != "password_sign" or is_mixed(reading.text[span.start : span.end]) or _is_of_somebody(reading, end):
            yield span


def _is_of_somebody(reading: Reading, end: int) -> bool:
    """Whether a name that ends in `Pass` says whose it is."""
    return reading.text[: end - len("Pass")].endswith(_OWNERS)


def _is_word(text: str, start: int, end: int) -> bool:
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    if end - start <= _SHORT and (before.isdigit() or after.isdigit()):
        return False  # two letters of a hexadecimal number
    return not (before.isalpha() and not is_unspaced(before)) and not (after.isalpha() and not is_unspaced(after))
