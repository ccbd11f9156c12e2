"""What finds the kinds in a text."""

from collections.abc import Iterator

from wmem.rules.redaction.credentials import find_credentials
from wmem.rules.redaction.internet import find_addresses
from wmem.rules.redaction.keys import find_keys
from wmem.rules.redaction.labels.fields import find_in_columns, kind_of_field
from wmem.rules.redaction.labels.finder import find_labelled
from wmem.rules.redaction.labels.inserts import find_in_inserts
from wmem.rules.redaction.money import find_accounts
from wmem.rules.redaction.numbers import find_numbers
from wmem.rules.redaction.reading import Reading
from wmem.rules.redaction.spans import Span

_FINDERS = (
    find_addresses,
    find_accounts,
    find_numbers,
    find_keys,
    find_credentials,
    find_labelled,
    find_in_columns,
    find_in_inserts,
)


def find_spans(text: str) -> Iterator[Span]:
    """What is to be hidden in a text; spans may overlap."""
    reading = Reading(text)
    if _is_quiet(reading):
        return
    for find in _FINDERS:
        for span in find(reading):
            yield Span(*reading.place(span.start, span.end), span.kind)


SECRET_STEMS = (
    *(
        "pass",
        "pwd",
        "pword",
        "psw",
        "pw",
        "wort",
        "wört",
        "mdp",
        "contrase",
        "clave",
        "parol",
        "senha",
        "palavra",
        "woord",
        "hasł",
        "haseł",
        "haslo",
        "парол",
    ),
    *(
        "ифр",
        "şifre",
        "sifre",
        "lösen",
        "adgang",
        "salasana",
        "heslo",
        "jelsz",
        "κωδικ",
        "mật",
        "sandi",
        "secret",
        "secr",
        "key",
        "token",
        "credential",
        "sig",
    ),
    *(
        "schlüssel",
        "clé",
        "jeton",
        "chiave",
        "chave",
        "sleutel",
        "klucz",
        "ключ",
        "токен",
        "секрет",
        "anahtar",
        "nyckel",
        "clau",
        "geheim",
        "phrase",
        "phrase",
        "frase",
    ),
    *(
        *(
            "lösenor",
            "psk",
            "mysql",
            "mariadb",
            "sqlplus",
            "sqlldr",
            "redis",
            "sudo",
            "auth",
            "wifi:",
            "tcp(",
            "unix(",
            "login",
            "logi",
            "zugang",
        ),
        *(
            "identifiant",
            "credenciales",
            "credenziali",
            "credenciais",
            "gegevens",
            "údaje",
            "логин",
            "jdbc:",
            "zip",
            "7z",
            "rar ",
        ),
        "seed",
        "mnemoni",
        "мнемон",
        "сид",
        "zin",
        "fraza",
        "ifadesi",
        "sess",
        "sid",
        "cookie",
        "sitzung",
        "authoriz",
        "bearer",
        "basic",
        "csrf",
        "xsrf",
        "__",
        "-----",
    ),
)
"""What stands in every label of a value that may have no digit, in small letters."""


_LEAST_LONG = 20


def _is_quiet(reading: Reading) -> bool:
    """Whether a text has nothing that a finder starts from: most texts have not."""
    if reading.has_digit or reading.is_unspaced:
        return False
    text, lower = reading.text, reading.lower
    if (
        "@" in text
        or "://" in text
        or "at)" in lower
        or "at]" in lower
        or "at}" in lower
        or "at>" in lower
        or text.count(":") > 1
        or reading.longest >= _LEAST_LONG
    ):
        return False
    return not any(stem in lower for stem in SECRET_STEMS)


__all__ = ["find_spans", "kind_of_field"]
