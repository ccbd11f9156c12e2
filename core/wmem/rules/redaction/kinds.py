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


_LABELLED = "beside a label, or in a field or column that is named so"

REDACTION_KINDS: Mapping[str, RedactionKind] = MappingProxyType(
    {
        "api_key": RedactionKind(
            "keys of some hundred more vendors, `sk-…` among them", "prefix, length, digits among letters"
        ),
        "authorization": RedactionKind(
            "credentials of `Authorization:` headers, `Bearer …`, `Basic …`", "Basic: decoded; Bearer: has a digit"
        ),
        "aws_key": RedactionKind("AWS access key ids, and the secret near one", "prefix, length, alphabet"),
        "bank_account": RedactionKind("account, routing and sort numbers", _LABELLED),
        "card": RedactionKind(
            "payment cards, whole or in groups", "issuer, length, Luhn; beside a label 12 to 19 digits"
        ),
        "card_security_code": RedactionKind("CVV, CVC", f"three or four digits {_LABELLED}"),
        "crypto_address": RedactionKind(
            "addresses of Bitcoin, Litecoin, Dogecoin, Tron, Ethereum", "Base58Check, Bech32; Ethereum: form"
        ),
        "date_of_birth": RedactionKind("dates", _LABELLED),
        "device_id": RedactionKind("IMEI, IMSI and the like", _LABELLED),
        "discord_token": RedactionKind("bot tokens", "form"),
        "driving_licence": RedactionKind("numbers of driving licences", _LABELLED),
        "email": RedactionKind("e-mail addresses, also as `(at)` and `%40`", "form; `git@host:` is nobody's"),
        "github_token": RedactionKind("tokens of GitHub, all prefixes", "prefix, length"),
        "gitlab_token": RedactionKind("tokens of GitLab, all prefixes", "prefix, length"),
        "google_key": RedactionKind("API keys, OAuth secrets, tokens and client ids", "prefix, length"),
        "health_id": RedactionKind("numbers of health insurance and medical records", _LABELLED),
        "huggingface_token": RedactionKind("tokens of Hugging Face", "prefix, length"),
        "iban": RedactionKind("IBANs, whole or in groups", "length of the country, mod 97; beside a label ten digits"),
        "ip_address": RedactionKind(
            "IPv4 and IPv6",
            "parsed; not versions and what is of their series, loopback and masks; `1.2.3.4` only after a word for an address",
        ),
        "jwt": RedactionKind("JSON web tokens", "form"),
        "location": RedactionKind("coordinates", f"three decimals {_LABELLED}; a pair with four decimals each"),
        "mac_address": RedactionKind("MAC addresses", "six bytes, as `0a1b.2c3d.4e5f` too"),
        "national_id": RedactionKind(
            "identity and social security numbers of some forty countries",
            "form and checksum (python-stdnum), or beside a label",
        ),
        "npm_token": RedactionKind("tokens of npm", "prefix, length"),
        "passport": RedactionKind("numbers of passports", _LABELLED),
        "password": RedactionKind(
            "passwords, in URLs, calls of `login`, command lines and `.pgpass` too; hashes of them, as `$2b$12$…`",
            f"{_LABELLED}; no placeholder, no code; a plain word where its sentence says that it is one",
        ),
        "phone": RedactionKind(
            "telephone numbers, international and common national forms", "form; beside a label six to fifteen digits"
        ),
        "pin": RedactionKind("PINs and one-time codes", f"three to thirteen digits {_LABELLED}"),
        "private_key": RedactionKind(
            "PEM, PGP and PuTTY private keys, also cut off or on one line; Bitcoin keys", "delimiters; Base58Check"
        ),
        "pypi_token": RedactionKind("tokens of PyPI", "prefix, length"),
        "secret": RedactionKind(
            "keys and tokens of any form", f"random characters {_LABELLED}; no placeholder, no code"
        ),
        "seed_phrase": RedactionKind("recovery phrases of wallets", f"12 to 24 words {_LABELLED}"),
        "sendgrid_key": RedactionKind("keys of SendGrid", "form"),
        "session": RedactionKind(
            "values of cookies, session ids", "`Cookie:` headers, names of cookies, random characters beside a label"
        ),
        "slack_token": RedactionKind("tokens of Slack, all prefixes", "prefix, length"),
        "stripe_key": RedactionKind("keys of Stripe, secrets of its webhooks", "prefix, length"),
        "tax_id": RedactionKind(
            "tax numbers",
            "form and checksum (CPF, without points only among Portuguese words, CNPJ, CUIT, RUT, PAN, ITIN), or beside a label",
        ),
        "telegram_token": RedactionKind("bot tokens", "form"),
        "twilio_key": RedactionKind("account ids and keys of Twilio", "prefix, length, hex"),
        "vehicle_id": RedactionKind("VINs; number plates", f"check digit; or {_LABELLED}"),
        "webhook_url": RedactionKind("webhooks of Slack, Discord and Teams", "form"),
    }
)
"""What there is to hide, by name; a mark has the name in capitals."""
ALL = frozenset(REDACTION_KINDS)
"""Every kind."""
