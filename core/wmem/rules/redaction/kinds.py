"""The kinds of secrets and personal data that are found without a model, and how each is checked."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class RedactionKind(NamedTuple):
    """A kind of value.

    Attributes:
        finds: What it finds.
        validated: How a value is told from what only looks like one.
    """

    finds: str
    validated: str


REDACTION_KINDS: Mapping[str, RedactionKind] = MappingProxyType(
    {
        "card": RedactionKind(
            "numbers of payment cards, whole or in groups", "issuer ranges, lengths, Luhn; beside a label none"
        ),
        "email": RedactionKind("e-mail addresses", "shape"),
        "iban": RedactionKind("IBANs, whole or in groups", "length of the country, mod 97"),
        "ip_address": RedactionKind(
            "addresses of IPv4 and IPv6", "parsed; versions and networks of documents left out"
        ),
        "jwt": RedactionKind("JSON web tokens", "shape: a header that is base64 of JSON"),
    }
)
"""What there is to hide, by name; a mark has the name in capitals."""
ALL = frozenset(REDACTION_KINDS)
"""Every kind."""
