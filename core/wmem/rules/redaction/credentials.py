"""Finds what headers, cookies and command lines carry."""

import base64
import binascii
import re
from collections.abc import Iterator

from wmem.rules.redaction.commands import find_in_commands, may_have_commands
from wmem.rules.redaction.labels.values import is_placeholder
from wmem.rules.redaction.reading import Reading, find_places
from wmem.rules.redaction.spans import Span

_SCHEMES = ("bearer", "token", "apikey", "api-key", "digest", "negotiate", "basic")
_SCHEMES_WITHOUT_DIGITS = ("digest", "basic")
_CREDENTIAL_HERE = re.compile(r"[ ]{1,4}([A-Za-z0-9._~+/\-=:|]{6,4096})")
_HEADER_HERE = re.compile(
    r"[\"']?[ ]{0,2}[:=][ ]{0,2}[\"']?(?:(?:bearer|basic|token|apikey|digest|key)[ ]{1,4})?([A-Za-z0-9._~+/\-=:|]{8,4096})",
    re.IGNORECASE,
)
_COOKIES_HERE = re.compile(r"2?[\"']?[ ]{0,2}[:=][ ]{0,2}[\"']?([\w.\-]{1,80}=[^\"'\r\n]{1,4096})")
_SESSIONS = (
    *(
        "phpsessid",
        "jsessionid",
        "asp.net_sessionid",
        "connect.sid",
        "laravel_session",
        "sessionid",
        "session_token",
        "_session",
    ),
    *("csrftoken", "xsrf-token", "__secure-", "__host-", "aspsessionid"),
)
_SESSION_HERE = re.compile(r"(?:(?<=-)[\w\-]{1,40}|(?<=id)[A-Z]{1,10})?=([A-Za-z0-9%._\-~+/=:]{8,2048})", re.IGNORECASE)
_LEAST_SURE = 20
_DIGEST_HERE = re.compile(r"[^\r\n]{0,400}?\bresponse=\"?([0-9a-f]{32,64})\b")


_CALL = re.compile(
    r"(?:\bauth\s?=\s?\(|\.login\(|BasicAuth\(|basic_auth\s?=\s?\(|Credentials?\()\s?[\"'][^\"'\n]{1,128}[\"']"
    r"\s?,\s?[\"']([^\"'\n]{1,128})[\"']"
)
"""What takes a name and a password, in code."""
_HASH = re.compile(
    r"(?:\$(?:2[abxy]|[1567y]|gy|apr1|argon2(?:id|i|d)|scrypt|pbkdf2[a-z0-9\-]{0,12})|\b(?:pbkdf2_sha\d{1,3}|bcrypt_sha256))"
    r"\$([./A-Za-z0-9+=,$_\-]{24,512}+)"
)
"""Hashes of passwords, as crypt and Django write them."""
_HEADERS = (("authorization", _HEADER_HERE, "authorization"), ("cookie", _COOKIES_HERE, "session"))


def find_credentials(reading: Reading) -> Iterator[Span]:
    """What headers and cookies carry."""
    text, lower = reading.text, reading.lower
    for scheme in _SCHEMES if reading.digits else _SCHEMES_WITHOUT_DIGITS:
        for at in find_places(lower, scheme):
            match = _CREDENTIAL_HERE.match(text, at)
            if scheme == "digest" and (response := _DIGEST_HERE.match(text, at)):
                yield Span(*response.span(1), "authorization")
            if match and (
                _is_basic(match[1])
                if scheme == "basic"
                else _is_credential(match[1]) and any(map(str.isdigit, match[1]))
            ):
                yield Span(*match.span(1), "authorization")
    yield from find_in_commands(reading)
    yield from _in_code(reading)
    for name, pattern, kind in _HEADERS if "=" in text or ":" in text else ():
        for at in find_places(lower, name):
            if (match := pattern.match(text, at)) and (kind == "session" or _is_credential(match[1])):
                yield Span(*match.span(1), kind)
    if _may_have_sessions(reading):
        for name in _SESSIONS:
            for at in find_places(lower, name):
                match = _SESSION_HERE.match(text, at)
                if match and any(map(str.isdigit, match[1])):
                    yield Span(*match.span(1), "session")


def may_have_credentials(reading: Reading) -> bool:
    """Whether `find_credentials` may find anything in a text that this is a part of."""
    signs, lower = reading.signs, reading.lower
    return (
        "basic" in lower
        or "digest" in lower
        or (reading.digits != b"" and ("token" in lower or "bearer" in lower or "api" in lower or "negotiate" in lower))
        or may_have_commands(reading)
        or _may_have_calls(reading)
        or "$" in signs
        or (("=" in signs or ":" in signs) and ("authorization" in lower or "cookie" in lower))
        or _may_have_sessions(reading)
    )


def _may_have_calls(reading: Reading) -> bool:
    lower = reading.lower
    return "(" in reading.signs and ("auth" in lower or "login(" in lower or "credential" in lower)


def _may_have_sessions(reading: Reading) -> bool:
    lower = reading.lower
    return (
        reading.digits != b""
        and "=" in reading.signs
        and ("sess" in lower or "rf" in lower or "connect.sid" in lower or "__" in lower)
    )


def _in_code(reading: Reading) -> Iterator[Span]:
    """Passwords in calls that take a name before them, and hashes of passwords."""
    text = reading.text
    if _may_have_calls(reading):
        for match in _CALL.finditer(text):
            if not is_placeholder(match[1]):
                yield Span(*match.span(1), "password")
    if "$" in text:
        for match in _HASH.finditer(text):
            if any(map(str.isdigit, match[1])):
                yield Span(*match.span(), "password")


def _is_credential(value: str) -> bool:
    return (
        not value.lower().startswith(("bearer", "basic"))
        and not is_placeholder(value)
        and (any(map(str.isdigit, value)) or len(value) >= _LEAST_SURE)
    )


def _is_basic(text: str) -> bool:
    try:
        return b":" in base64.b64decode(
            text + "=" * (-len(text) % 4), altchars=b"-_" if "-" in text or "_" in text else None
        )
    except (binascii.Error, ValueError):
        return False
