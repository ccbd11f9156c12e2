"""Finds accounts and addresses of money, and identity numbers with letters, by form and checksum."""

import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from wmem.rules.redaction.checks import is_base58_checked, is_bech32, is_mod97
from wmem.rules.redaction.formats import WORDS
from wmem.rules.redaction.reading import Reading
from wmem.rules.redaction.spans import Span

_LENGTHS = (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 "
    "FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 "
    "LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 "
    "RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"
)
_LENGTH_OF = {each[:2]: int(each[2:]) for each in _LENGTHS.split()}
_IBAN_HEAD = re.compile(
    r"[0-9]{2}(?:(?<=[A-Za-z]{2}\d\d)(?<![A-Za-z0-9]....)|(?<=[A-Za-z]{2}[ ]\d\d)(?<![A-Za-z0-9].....))(?=[ \-.]?[A-Za-z0-9]|\s)",
    re.DOTALL,
)
_IBAN_CHARS_HERE = re.compile(r"(?:[ ]?\r?\n[ ]{0,4}|[ \-.]|%20)?([A-Za-z0-9]+)")
_WORD = re.compile(r"[A-Z0-9](?<![A-Za-z0-9_].)(?<![0-9]\..)[A-Z0-9]{7,17}(?![A-Za-z0-9_])")
_SPACED = (
    re.compile(
        r"[A-CEGHJ-PR-TW-Z](?<![A-Za-z0-9].)[A-CEGHJ-NPR-TW-Z][ \-]\d\d[ \-]?\d\d[ \-]?\d\d[ \-]?[A-D](?![A-Za-z0-9])"
    ),  # United Kingdom
    re.compile(r"[0-9](?<![A-Za-z0-9.].)[0-9]?\.?\d{3}\.?\d{3}[\- ][A-HJ-NP-TV-Z](?![A-Za-z0-9])"),  # Spain
    re.compile(
        r"[XYZ](?<![A-Za-z0-9].)[\-. ]\d{1,2}\.?\d{3}\.?\d{3}[\-. ][A-Z](?![A-Za-z0-9])"
    ),  # Spain, of foreigners
    re.compile(
        r"[A-Z](?<![A-Za-z0-9].)[A-Z]{2} [A-Z]{3} [\dLMNP-V]{2}[A-EHLMPRST][\dLMNP-V]{2} [A-Z][\dLMNP-V]{3}[A-Z](?![A-Za-z0-9])"
    ),  # Italy
)
_CRYPTO = re.compile(
    r"(?<![A-Za-z0-9])(?=[0-9a-zA-Z]{14})(?:(?P<ether>0x[0-9a-fA-F]{40})|(?P<segwit>(?:bc|tb|ltc)1[02-9ac-hj-np-z]{11,71}|(?:BC|TB|LTC)1[02-9AC-HJ-NP-Z]{11,71})"
    r"|(?P<base58>[13mn2LMDT9A][1-9A-HJ-NP-Za-km-z]{25,34})|(?P<key>[5KLc9][1-9A-HJ-NP-Za-km-z]{50,51})"
    r"|(?P<extended>x(?:prv|pub)[1-9A-HJ-NP-Za-km-z]{100,110}))(?![A-Za-z0-9])"
)
_MACHINE_READABLE = re.compile(
    r"[PIACV][A-Z<][A-Z]{3}(?<![A-Z0-9<]{6})[A-Z0-9<]{25,39}\s{1,8}[A-Z0-9<]{28,44}(?:\s{1,8}[A-Z0-9<]{28,36})?(?![A-Z0-9<])"
)
_LEAST_SPACED_DIGITS = 6
_SPACED_DIGITS = re.compile(r"[0-9](?:[ .\-]?[0-9]){5}[ .\-]?[A-Z]")
_COUNTRIES = "|".join(
    f"{first}[{''.join(each[1] for each in codes)}]"
    for first, codes in groupby(sorted(map(str.lower, _LENGTH_OF)), itemgetter(0))
)
_IBAN_DIGITS = re.compile(rf"[0-9][0-9](?:(?<=(?:{_COUNTRIES})[0-9][0-9])|(?<=(?:{_COUNTRIES})[ ][0-9][0-9]))")
_CRYPTO_RUN = "a" * 14
_WORD_RUN = "A" * 8
_SPACED_RUNS = "AAAAA AAAAA"
"""What the last of `_SPACED` has in it."""


def find_accounts(reading: Reading) -> Iterator[Span]:
    """IBANs, addresses of crypto currencies, identity numbers with letters."""
    if not reading.digits:
        return
    text = reading.text
    if "<<" in text:
        yield from (Span(*match.span(), "passport") for match in _MACHINE_READABLE.finditer(text))
    if _may_have_iban(reading):
        yield from _ibans(text)
    if _may_have_spaced(reading):
        yield from (Span(*match.span(), "national_id") for pattern in _SPACED for match in pattern.finditer(text))
    if _WORD_RUN in reading.capitals:
        yield from _words(text)
    if _CRYPTO_RUN in reading.runs:
        yield from _crypto(text)


def may_have_accounts(reading: Reading) -> bool:
    """Whether `find_accounts` may find anything in a text that this is a part of."""
    return reading.digits != b"" and (
        _WORD_RUN in reading.capitals
        or _CRYPTO_RUN in reading.runs
        or _may_have_spaced(reading)
        or _may_have_iban(reading)
        or "<<" in reading.text
    )


def _may_have_spaced(reading: Reading) -> bool:
    return _SPACED_RUNS in reading.capitals or (
        len(reading.digits) >= _LEAST_SPACED_DIGITS and _SPACED_DIGITS.search(reading.text) is not None
    )


def _may_have_iban(reading: Reading) -> bool:
    return len(reading.digits) > 1 and _IBAN_DIGITS.search(reading.lower) is not None


def _ibans(text: str) -> Iterator[Span]:
    for head in _IBAN_HEAD.finditer(text):
        start = head.start() - (3 if text[head.start() - 1] == " " else 2)
        if (end := _iban_end(text, start, head)) is not None:
            yield Span(start, end, "iban")


def _words(text: str) -> Iterator[Span]:
    for word in _WORD.finditer(text):
        for form in WORDS.get(len(word[0]), ()):
            if form.pattern.fullmatch(word[0]) and form.check(word[0]):
                yield Span(*word.span(), form.kind)
                break


def _iban_end(text: str, start: int, head: "re.Match[str]") -> int | None:
    number = text[start : head.end()].replace(" ", "").upper()
    if (length := _LENGTH_OF.get(number[:2])) is None:
        return None
    end = head.end()
    while len(number) < length and (more := _IBAN_CHARS_HERE.match(text, end)):
        number += more[1].upper()
        end = more.end()
    return end if len(number) == length and number.isascii() and is_mod97(number) else None


def _crypto(text: str) -> Iterator[Span]:
    for match in _CRYPTO.finditer(text):
        kind = "crypto_address"
        if match.lastgroup in ("base58", "key", "extended"):
            if not is_base58_checked(match[0]):
                continue
            kind = "private_key" if match.lastgroup == "key" or match[0].startswith("xprv") else kind
        elif match.lastgroup == "segwit" and not is_bech32(match[0].lower()):
            continue
        yield Span(*match.span(), kind)
