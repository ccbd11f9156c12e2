"""What finds the kinds."""

import re
from collections.abc import Iterator

from wmem.rules.redaction.checks import is_luhn, is_mod97
from wmem.rules.redaction.spans import Span

_LEAST_CARD = 11
_EMAIL = re.compile(r"(?<![\w.+\-])[\w.+\-]{1,64}@(?:[\w\-]{1,63}\.){1,8}[A-Za-z]{2,24}")
_CARD = re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d\d(?: ?[A-Z0-9]){11,30}(?![A-Za-z0-9])")
_IP = re.compile(r"(?<![\d.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\d.])")
_JWT = re.compile(r"(?<![\w\-])eyJ[\w\-]{8,}+\.[\w\-]{4,}+\.[\w\-]*+")


def find_spans(text: str) -> Iterator[Span]:
    """What is to be hidden in a text; spans may overlap."""
    yield from (Span(*match.span(), "email") for match in _EMAIL.finditer(text))
    yield from (Span(*match.span(), "card") for match in _CARD.finditer(text) if is_luhn(re.sub("[ -]", "", match[0])))
    yield from (Span(*match.span(), "iban") for match in _IBAN.finditer(text) if is_mod97(match[0].replace(" ", "")))
    yield from (Span(*match.span(), "ip_address") for match in _IP.finditer(text))
    yield from (Span(*match.span(), "jwt") for match in _JWT.finditer(text))


def field_kind(name: str, value: str) -> str | None:
    """The kind of a field's value that its name tells."""
    return "card" if name.lower() in {"card_number", "pan"} and sum(map(str.isdigit, value)) > _LEAST_CARD else None
