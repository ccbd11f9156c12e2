"""Finds addresses of people and machines in networks: e-mail, IP, MAC, and passwords in URLs."""

import ipaddress
import re
from collections.abc import Iterator

from wmem.rules.redaction.reading import Reading
from wmem.rules.redaction.spans import Span

_MAX_LOCAL = 64
_LETTERS = "A-Za-z\u00c0-\u0590\u0621-\u064a\u0900-\u0dff"  # of scripts that set words apart
_LOCAL_END_HERE = re.compile(rf"[{_LETTERS}0-9._%+\-'&]{{0,{_MAX_LOCAL}}}", re.DOTALL)
_ANY_LOCAL_END_HERE = re.compile(rf"\w{{1,{_MAX_LOCAL}}}")
_NAME_END_HERE = re.compile(
    r"[._\-]?(?!(?:[箱件郵邮系絡络给給发發到至是为為请請找问問用讯訊与與和或]|址地|ルー|스레|일메)|[\u3040-\u30ff]{0,3}[はがをにへでともや])"
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,6}(?![\w])"
)
"""Read backwards: a name of Chinese, Japanese or Korean letters before the others, and no end of a sentence."""
_DOMAIN_HERE = re.compile(
    rf"[ ]?\n?(?:[{_LETTERS}0-9](?:[{_LETTERS}0-9\-]{{0,61}}[{_LETTERS}0-9])?\.){{1,8}}[{_LETTERS}][{_LETTERS}0-9\-]{{1,23}}"
)
_ANY_DOMAIN_HERE = re.compile(r"(?:\w[\w\-]{0,62}\.){1,8}[^\W\d_]{2,24}")
_IP_DOMAIN_HERE = re.compile(r"\[[0-9A-Fa-f:.]{7,45}\]")
_AT = re.compile(r"@|%40|[ ]?[(\[{<][ ]?(?:at|AT|@)[ ]?[)\]}>][ ]?|&#64;|\\u0040")
_SPELT_DOMAIN_HERE = re.compile(
    r"[A-Za-z0-9\-]{1,63}(?:(?:\.|[ ]?[(\[{<][ ]?(?:dot|DOT|\.)[ ]?[)\]}>][ ]?)[A-Za-z0-9\-]{1,63}){1,6}"
)
_SIGNS_FOR_AT = frozenset("%)]}>\\#")
_LOCAL_JUNK = "._%+-'&"
_FILE_AT_SCALE_HERE = re.compile(r"\d(?:\.\d)?x\.(?:png|jpe?g|gif|webp|svg|avif)", re.IGNORECASE)
_SERVICE_LOCALS = frozenset({"git", "hg", "svn"})
"""Before the @ of a repository's address: nobody's."""

_IN_URL_HERE = re.compile(r"://[^\s/@:]*:$")
_MAX_USER = 128

_IPV4 = re.compile(r"[0-9](?<!\d\d)(?<!\w\.\d)[0-9]{0,2}(?:\.[0-9]{1,3}){3}(?!\.?\d)")
_VERSION_BEFORE_HERE = re.compile(
    r"(?:[=~<>!]=|[~^]|[a-z](?<!ip)[/_\-]|\bv|(?:version|release|build|(?<!ser)ver|upgrade(?:d)? (?:from|to)|sections?|chapter|clause|firmware|rev|revision|versión|versão|versie|wersja|версия|版本)[a-zé]{0,3}[ :.\"']{0,3})$",
    re.IGNORECASE,
)
_ADDRESS_BEFORE_HERE = re.compile(
    r"(?:\bips?\b|host|server|addr|ping|from|client|remote|gateway|dns|://|@|login|connect|адрес|地址)[^\d\n]{0,24}$",
    re.IGNORECASE,
)
_NOBODYS_IP_HERE = re.compile(r"127\.|0\.0\.0\.0|255\.255\.")
_POINTS = re.compile(r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]")
_LEAST_POINTS, _LEAST_DIGITS = 3, 4
_COLONS = re.compile(r":[0-9A-Fa-f]{0,4}:")
_BEHIND_WORD = "|".join(f"(?<=[G-Zg-z][A-Fa-f]{{{count}}}:%s)" for count in range(4))
"""A colon that ends a word, rather than a group of hexadecimal digits: `mac:0a:1b:…`."""
_IPV6 = re.compile(
    rf"(?:(?<![A-Za-z0-9_])(?<![A-Za-z0-9_:][:.])|{_BEHIND_WORD.replace('%s', '')})"
    r"(?:[0-9A-Fa-f]{0,4}:){2,8}(?:[0-9A-Fa-f]{1,4}|(?:\d{1,3}\.){3}\d{1,3})?(?![A-Za-z0-9_]|:[0-9A-Fa-f:])"
)
_IPV6_START_HERE = re.compile(r"(?:[23][0-9a-f]{3}|f[cd][0-9a-f]{2}|fe[89ab][0-9a-f]|64|::ffff)", re.IGNORECASE)
_LEAST_COLONS = 4
_MAC_JOINTS = 5
_MAC = re.compile(
    rf"[0-9A-Fa-f](?:(?<![A-Za-z0-9_].)(?<![A-Za-z0-9_:\-][:\-].)|{_BEHIND_WORD.replace('%s', '.')})"
    r"[0-9A-Fa-f]([:\-])(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}(?![A-Za-z0-9_]|[:\-][0-9A-Fa-f])"
)
_POINTS_OF_MAC = 2
_MIDDLE_OF_MAC = re.compile(r"\.[0-9A-Fa-f]{4}\.")
_MAC_OF_SWITCH_HERE = re.compile(
    r"(?<![A-Za-z0-9_.\-])(?:[0-9a-f]{4}(?:\.[0-9a-f]{4}){2}|[0-9A-F]{4}(?:\.[0-9A-F]{4}){2})(?![A-Za-z0-9_\-]|\.\w)"
)
"""As switches write it: `0a1b.2c3d.4e5f`."""
_BYTES = re.compile(r":[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}:|-[0-9A-Fa-f]{2}-[0-9A-Fa-f]{2}-")
_CONTEXT = 40
_MAX_BYTE = 255
_USERINFO_HERE = re.compile(r"[^\s/@\"'<>:`]{0,128}+:([^\s\"'<>`]{1,256}?)@(?=[\w\[.\-])|([A-Za-z0-9_\-]{20,256}+)@")
_PLACEHOLDER_HERE = re.compile(r"[\[<{$%*].*|\*+|x+|X+|\.+|[Pp]assword|[Pp]ass|PASS(?:WORD)?|pwd|secret|token|TOKEN")


def find_addresses(reading: Reading) -> Iterator[Span]:
    """E-mail addresses, network addresses, passwords in URLs."""
    text = reading.text
    if _may_have_at(reading):
        yield from _emails(text)
    if "@" in reading.signs and "://" in text:
        yield from _url_passwords(text)
    if _may_have_ipv4(reading):
        yield from _ipv4(reading)
    if _may_have_mac_of_switch(reading):
        yield from (
            Span(*match.span(), "mac_address")
            for middle in _MIDDLE_OF_MAC.finditer(text)
            if (match := _MAC_OF_SWITCH_HERE.match(text, max(0, middle.start() - 4)))
            and any(map(str.isdigit, match[0]))
            and any(map(str.isalpha, match[0]))
        )
    if _may_have_mac(reading):
        yield from (Span(*match.span(), "mac_address") for match in _MAC.finditer(text))
    if _may_have_ipv6(reading):
        yield from _ipv6(text)


def may_have_addresses(reading: Reading) -> bool:
    """Whether `find_addresses` may find anything in a text that this is a part of."""
    return bool(reading.signs) and (
        _may_have_at(reading)
        or _may_have_ipv4(reading)
        or _may_have_mac(reading)
        or _may_have_mac_of_switch(reading)
        or _may_have_ipv6(reading)
    )


def _may_have_ipv4(reading: Reading) -> bool:
    return (
        len(reading.digits) >= _LEAST_DIGITS
        and reading.signs.count(".") >= _LEAST_POINTS
        and _POINTS.search(reading.text) is not None
    )


def _may_have_mac(reading: Reading) -> bool:
    signs = reading.signs
    return (signs.count(":") >= _MAC_JOINTS or signs.count("-") >= _MAC_JOINTS) and _BYTES.search(
        reading.text
    ) is not None


def _may_have_mac_of_switch(reading: Reading) -> bool:
    return (
        reading.digits != b""
        and reading.signs.count(".") >= _POINTS_OF_MAC
        and _MIDDLE_OF_MAC.search(reading.text) is not None
    )


def _may_have_ipv6(reading: Reading) -> bool:
    return reading.signs.count(":") > 1 and _COLONS.search(reading.text) is not None


def _may_have_at(reading: Reading) -> bool:
    """Whether a text has an @, or what stands for one; a chain, for it is asked of every text."""
    signs = reading.signs
    if "@" in signs:
        return True
    if _SIGNS_FOR_AT.isdisjoint(signs):
        return False
    lower = reading.lower
    return (
        "%40" in lower
        or "at)" in lower
        or "at]" in lower
        or "at}" in lower
        or "at>" in lower
        or "u0040" in lower
        or "#64;" in lower
    )


def _emails(text: str) -> Iterator[Span]:
    before = 0
    for at in _AT.finditer(text):
        start = _local_start(text, before, at.start())
        before = at.end()
        if start is None or (end := _domain_end(text, at)) is None:
            continue
        local = text[start : at.start()]
        if text[start - 1 : start] == ":" and _IN_URL_HERE.search(text, max(0, start - _MAX_USER), start):
            continue  # a password, which has its own mark
        if local in _SERVICE_LOCALS and text[end : end + 1] in (":", "/"):
            continue
        if _FILE_AT_SCALE_HERE.fullmatch(text, at.end(), end):
            continue
        yield Span(start, end, "email")


def _local_start(text: str, least: int, end: int) -> int | None:
    slice_ = text[max(least, end - _MAX_LOCAL) : end][::-1]
    if slice_.startswith('"') and (quote := slice_.find('"', 1)) > 1:  # "a quoted name"@example.org
        return end - quote - 1
    local = _LOCAL_END_HERE.match(slice_) or _LOCAL_END_HERE.match("")
    assert local is not None  # it matches anything
    length = local.end()
    if (cut := slice_.find("&", 0, length)) >= 0:  # of a URL, rather than of a name
        length = cut
    while length and slice_[length - 1] in _LOCAL_JUNK:
        length -= 1
    if rest := (_NAME_END_HERE if length else _ANY_LOCAL_END_HERE).match(slice_, length):
        length = rest.end()
    start = end - length
    if length > 1 and text[start] in "nrtbf" and start and text[start - 1] == "\\":  # "\n" in JSON
        start += 1
    return start if start < end else None


def _domain_end(text: str, at: "re.Match[str]") -> int | None:
    for pattern in (_DOMAIN_HERE, _SPELT_DOMAIN_HERE if len(at[0]) > 3 else _IP_DOMAIN_HERE, _ANY_DOMAIN_HERE):  # noqa: PLR2004  # more than %40
        if match := pattern.match(text, at.end()):
            return match.end()
    return None


def _url_passwords(text: str) -> Iterator[Span]:
    at = text.find("://")
    while at >= 0:
        if match := _USERINFO_HERE.match(text, at + 3):
            group = 1 if match[1] is not None else 2
            if not _PLACEHOLDER_HERE.fullmatch(match[group]):
                yield Span(*match.span(group), "password")
        at = text.find("://", at + 3)


def _ipv4(reading: Reading) -> Iterator[Span]:
    """Addresses, and no numbers of the series that a version of the text is of: `10.4.2.1, fixed in version 10.4.2.0`."""
    text = reading.text
    matches = [(match, text[max(0, match.start() - _CONTEXT) : match.start()]) for match in _IPV4.finditer(text)]
    series = {_series(match[0]) for match, before in matches if _VERSION_BEFORE_HERE.search(before)}
    for match, before in matches:
        if _series(match[0]) in series and not _ADDRESS_BEFORE_HERE.search(before):
            continue
        if _is_address(text, match, before):
            yield Span(*match.span(), "ip_address")


def _series(number: str) -> str:
    return ".".join(number.split(".")[:2])


def _is_address(text: str, match: "re.Match[str]", before: str) -> bool:
    parts = match[0].split(".")
    if _NOBODYS_IP_HERE.match(match[0]) or any(int(part) > _MAX_BYTE or str(int(part)) != part for part in parts):
        return False
    if _VERSION_BEFORE_HERE.search(before):
        return False
    single = all(len(part) == 1 for part in parts)
    return (
        not single
        or _ADDRESS_BEFORE_HERE.search(before) is not None
        or text[match.end() : match.end() + 1] in (":", "/")
    )


def _ipv6(text: str) -> Iterator[Span]:
    for match in _IPV6.finditer(text):
        start, end = match.span()
        start += match[0].startswith(":") and not match[0].startswith("::")
        end -= match[0].endswith(":") and not match[0].endswith("::")
        if _is_ipv6(text[start:end]):
            yield Span(start, end, "ip_address")


def _is_ipv6(text: str) -> bool:
    if text.count(":") < _LEAST_COLONS and not _IPV6_START_HERE.match(text):
        return False
    if not any(map(str.isdigit, text)):
        return False
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)
