"""Finds what command lines and files of programs carry without naming it: `-p …`, a line of `.pgpass`."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from wmem.rules.redaction.labels.values import is_mixed, is_password, is_placeholder
from wmem.rules.redaction.reading import Reading, find_places
from wmem.rules.redaction.spans import Span


class _Command(NamedTuple):
    """How a command has a password.

    Attributes:
        anchors: One of them stands in every text that has it, in small letters.
    """

    anchors: tuple[str, ...]
    pattern: "re.Pattern[str]"


def _command(anchors: str, pattern: str) -> _Command:
    return _Command(tuple(anchors.split()), re.compile(pattern))


_COMMANDS = (
    _command(
        "curl wget http mysql mariadb psql docker redis",
        r"[ ](?:-u|--user|--proxy-user|-a|--auth)[ =]?[\"']?[^\s:\"']{1,64}:([^\s\"']{1,128})",
    ),
    _command("sshpass", r"\bsshpass[ ]{1,4}-p[ ]?[\"']?([^\s\"']{1,128})"),
    _command("mysql mariadb", r"\b(?:mysql|mysqldump|mariadb)\b[^\n|;]{0,80}?[ ]-p([^\s\"']{1,128})"),
    _command(
        "mongo", r"\bmongo(?:sh|dump|restore|export|import)?\b[^\n|;]{0,80}?[ ](?:-p|--password)[ ]([^\s\"']{1,128})"
    ),
    _command("/add", r"\bnet[ ]user[ ][^\s]{1,64}[ ]([^\s/*][^\s]{3,127})[ ]/add\b"),
    _command("useradd usermod", r"\buser(?:add|mod)\b[^\n|;]{0,80}?[ ]-p[ ][\"']?([^\s\"']{4,128})"),
    _command(
        "converttosecurestring convertto-securestring",
        r"(?i:ConvertTo-SecureString)[ ](?:-String[ ])?[\"']([^\"'\n]{4,128})[\"']",
    ),
    _command("--body", r"\bsecret[ ]set[ ][\w\-]{1,64}[ ]--body[ =][\"']?([^\s\"']{4,512})"),
    _command("/user:", r"[ ]/user:[^\s]{1,64}[ ]([^\s/]{4,128})"),
    _command("redis-cli", r"\bredis-cli\b[^\n|;]{0,80}?[ ]-a[ ]([^\s\"']{1,128})"),
    _command(
        "sqlplus sqlldr expdp impdp",
        r"\b(?:sqlplus|sqlldr|expdp|impdp)[ ](?:-\w{1,4}[ ]){0,3}[^/\s]{1,64}/([^@\s]{1,128})@",
    ),
    _command("jdbc:oracle:", r"\bjdbc:oracle:\w{1,8}:[^/\s]{1,64}/([^@\s]{1,128})@"),
    _command("@tcp( @unix(", r"(?<![\w.\-:/])[\w.\-]{1,64}:([^\s@/]{1,128})@(?:tcp|unix)\("),
    _command(
        "htpasswd",
        r"\bhtpasswd[ ]-(?=[A-Za-z]{0,8}b)[A-Za-z]{1,9}[ ][^\s]{1,128}[ ][^\s]{1,64}[ ]([^\s\"']{1,128})",
    ),
    _command("requirepass masterauth", r"\b(?:requirepass|masterauth)[ ]{1,4}\"?([^\s\"]{1,128})"),
    _command("sudo", r"\becho[ ](?:-n[ ])?[\"']?([^\s\"'|]{4,128})[\"']?[ ]?\|[ ]?sudo[ ](?:-\w[ ]){0,3}-S\b"),
    _command("wifi:", r"\bWIFI:(?:[A-OQ-Z]:[^;\n]{0,64};){0,5}P:((?:[^;\\\n]|\\.){4,64});"),
    _command(
        "storepass keypass pass:",
        r"[ ]-(?:(?:src|dest)?(?:store|key)pass[ ]|pass(?:in|out)?[ ]pass:)[\"']?([^\s\"']{1,128})",
    ),
    _command("7z 7za rar", r"\b(?:7z|7za|rar|unrar)\b[^\n|;]{0,80}?[ ]-p([^\s\"']{1,128})"),
    _command("zip", r"\b(?:zip|unzip)\b[^\n|;]{0,80}?[ ]-P[ ]?([^\s\"']{1,128})"),
    _command(
        "machine",
        r"\bmachine[ \t]{1,4}[^\s]{1,128}\s{1,8}login[ \t]{1,4}[^\s]{1,128}\s{1,8}password[ \t]{1,4}([^\s]{1,128})",
    ),
    _command(
        "docker podman helm", r"\b(?:docker|podman|helm registry)[ ]login\b[^\n|;]{0,80}?[ ]-p[ ]([^\s\"']{1,128})"
    ),
)
_ANCHORS_WITHOUT_SIGNS = ("requirepass", "masterauth", "machine")
_ANCHORS = tuple(dict.fromkeys(anchor for command in _COMMANDS for anchor in command.anchors))
_SIGNS = frozenset("-/:@")
"""One of them stands in all that the other commands find."""
PATTERNS = tuple(command.pattern for command in _COMMANDS)
"""All of them."""

_COLONS_OF_PGPASS = 4
_PORT = re.compile(r":(?:\d{4,5}|\*):")
_LINE_OF_PGPASS_HERE = re.compile(
    r"(?=[^:\s]*[A-Za-z*.])[\w.\-*/]{1,128}:(?:\d{4,5}|\*):[\w.\-*]{1,64}:(?=[^:\s]*[A-Za-z*])[\w.\-*@]{1,64}:([^\s:][^\s]{0,127})[ \t]{0,4}(?=\r?\n|$)"
)
"""Host, port, database, user, password."""
_MAX_HOST = 128
_AUTH_OF_REDIS = re.compile(
    r"AUTH[ ](?:(?<=^.....)|(?<=\n.....)|(?<=> .....))(?:[\w\-]{1,64}[ ])?([^\s]{4,128})[ ]{0,4}(?=\r?\n|$)"
)
_COOKIE_FLAG = re.compile(r"[ ](?:-b|--cookie)[ =][\"']?([\w.\-]{1,80}=[^\"'\r\n]{1,2048})")
_PAIR_LABELS = (
    *(
        "credential",
        "creds",
        "login",
        "zugang",
        "logindaten",
        "anmeldedaten",
        "identifiants",
        "credenciales",
        "credenziali",
    ),
    *(
        "credenciais",
        "inloggegevens",
        "dane logowania",
        "přihlašovací údaje",
        "логин",
        "账号密码",
        "帳號密碼",
        "登录信息",
    ),
    *("ログイン情報", "로그인 정보"),
)
_PAIR_HERE = re.compile(
    r"(?:s|sdaten)?(?:[ /и]{1,3}пароль)?[ ]?(?:are|is|sind|lauten|sont|son|sono|são|zijn|to|[:：=])[ ]{0,2}[\w.@+\-]{1,64}[ ]?[/|][ ]?([^\s/|]{4,64})"
)
"""`credentials: bob / hunter2`."""


def find_in_commands(reading: Reading) -> Iterator[Span]:
    """Passwords of command lines, of PostgreSQL and Redis; a name and a password apart by a stroke."""
    text, lower = reading.text, reading.lower
    for anchors, pattern in _COMMANDS if _may_have_commands(reading) else ():
        if any(anchor in lower for anchor in anchors):
            yield from (
                Span(*match.span(1), "password") for match in pattern.finditer(text) if not is_placeholder(match[1])
            )
    if _may_have_pgpass(reading):
        yield from _of_pgpass(text)
    if "AUTH " in text:
        for match in _AUTH_OF_REDIS.finditer(text):
            if is_mixed(match[1]) and not is_placeholder(match[1]):
                yield Span(*match.span(1), "password")
    if "/" in text or "|" in text:
        yield from _pairs(reading)
    if " -b" in text or "--cookie" in text:
        yield from (Span(*match.span(1), "session") for match in _COOKIE_FLAG.finditer(text))


def may_have_commands(reading: Reading) -> bool:
    """Whether `find_in_commands` may find anything in a text that this is a part of."""
    text, lower, signs = reading.text, reading.lower, reading.signs
    return (
        _may_have_commands(reading)
        or _may_have_pgpass(reading)
        or "AUTH " in text
        or ("=" in signs and (" -b" in text or "--cookie" in text))
        or (("/" in signs or "|" in signs) and any(label in lower for label in _PAIR_LABELS))
    )


def _may_have_commands(reading: Reading) -> bool:
    lower = reading.lower
    return any(anchor in lower for anchor in _ANCHORS_WITHOUT_SIGNS) or (
        not _SIGNS.isdisjoint(reading.signs) and any(anchor in lower for anchor in _ANCHORS)
    )


def _may_have_pgpass(reading: Reading) -> bool:
    return reading.signs.count(":") >= _COLONS_OF_PGPASS and _PORT.search(reading.text) is not None


def _of_pgpass(text: str) -> Iterator[Span]:
    for port in _PORT.finditer(text):
        start = text.rfind("\n", max(0, port.start() - _MAX_HOST), port.start()) + 1
        if not start and port.start() > _MAX_HOST:
            continue
        match = _LINE_OF_PGPASS_HERE.match(text, start)
        if match and not is_placeholder(match[1]):
            yield Span(*match.span(1), "password")


def _pairs(reading: Reading) -> Iterator[Span]:
    for label in _PAIR_LABELS:
        for at in find_places(reading.lower, label):
            if not (match := _PAIR_HERE.match(reading.lower, at)):
                continue
            start = match.start(1)
            value = reading.text[start : match.end()].rstrip(".,;:!?)")
            if is_password(value, quoted=False, ends=True) and (
                is_mixed(value) or label not in ("login", "credential")
            ):
                yield Span(start, start + len(value), "password")
