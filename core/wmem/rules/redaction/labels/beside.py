"""Takes the value beside a label: after it, or before it where "is" stands between."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from wmem.rules.redaction.labels.table import FILLERS, IS_WORDS, NO_VALUES
from wmem.rules.redaction.labels.values import is_mixed, is_password, is_placeholder, is_secret
from wmem.rules.redaction.numbers import is_free_after, is_free_before
from wmem.rules.redaction.reading import Reading
from wmem.rules.redaction.spans import Span

_REACH = 72  # characters between a label and its value
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_SIGN = re.compile(r"[:=#>|]|->|→")
_SENTENCE_END_HERE = re.compile(
    r"(?<!\bno)(?<!\bnr)(?<!\btel)(?<!\bnum)(?<!\bn)(?<!\bтел)(?<!\bр)[.!?;。！？؟](?:[\s\"')]|$)|\n[ ]?\n|[\u4e00-\u9fff]。",
    re.IGNORECASE,
)
_MAX_STRANGERS = 4  # words between, of which nothing is known
_UNSPACED = re.compile("[\u0590-\u08ff\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

_NUMBER_HERE = re.compile(
    r"(?:[A-Za-z]{1,5}(?=\d)|[A-Z]{1,4}[ \-](?=\d))?\d[A-Za-z0-9]{0,30}(?:(?:[ ]?\r?\n[ ]{0,4}|%20|[ .\-/()]{1,2})[A-Za-z0-9]{0,12}?\d[A-Za-z0-9]{0,12}){0,7}(?:[ \-][A-Z]{1,2}(?![A-Za-z0-9]))?"
)
_PHONE_HERE = re.compile(r"[+(]{0,2}\d(?:[ ]?\r?\n[ ]{0,4}|%20|[ .\-/()]{0,3}\d){4,17}")
_PIN_HERE = re.compile(r"\d(?:[ \-]?\d){2,12}|[A-Z0-9]{3,4}-[A-Z0-9]{3,4}")
_CODE3_HERE = re.compile(r"\d{3,4}")
_MONTHS = r"[^\W\d_]{3,12}\.?"
_BIRTH_HERE = re.compile(
    rf"\d{{4}}[ ]?[./\-年년][ ]?\d{{1,2}}[ ]?[./\-月월][ ]?\d{{1,2}}[ ]?[日일]?|\d{{1,2}}[ ]?[./\-][ ]?\d{{1,2}}[ ]?[./\-][ ]?\d{{2,4}}|(?:19|20)\d\d[01]\d[0-3]\d(?!\d)|[0-3]\d[01]\d(?:19|20)\d\d(?!\d)"
    rf"|\d{{1,2}}(?:st|nd|rd|th|er|\.|º)?[ \-]{{1,2}}(?:of |de |di )?{_MONTHS}(?:[,]?[ \-](?:de |del |di )?)\d{{4}}|{_MONTHS}[ ]\d{{1,2}}(?:st|nd|rd|th)?,?[ ]\d{{4}}|\d{{1,2}}[ ]{_MONTHS}[ ]\d{{2}}(?!\d)",
    re.IGNORECASE,
)
_DEGREES = (
    r"[+\-]?\d{1,3}(?:(?:\.\d{3,15}|,\d{4,15})°?|°[ ]?\d{1,2}['′][ ]?\d{1,2}(?:\.\d{1,6})?[\"″]?)[ ]?[NSEWOnsewo]?"
)
_LOCATION_HERE = re.compile(
    rf"{_DEGREES}(?:[ ]?[,;/][ ]?(?:(?:lon|lng|long|longitude)[a-z\"']{{0,8}}[ ]?[:=]?[ ]?)?{_DEGREES}|[ ]{_DEGREES})?"
)
_PLATE_HERE = re.compile(r"(?=[^\n]{0,10}?\d)[A-Z0-9ÄÖÜА-Я\u4e00-\u9fff]{1,4}(?:[ \-·]?[A-Z0-9А-Я]{1,6}){1,3}")
_SEED_HERE = re.compile(r"[a-z]{3,10}(?:[ ,]{1,2}\n?[a-z]{3,10}){11,23}(?![a-z])")
_JOINT_HERE = re.compile(r"[ ]?(?:[,、;/]|and|or|und|oder|et|ou|y|e|o|en|of|i|lub|и|или|和|或|と|및)[ ]?(?:and |or )?")
_OLD_HERE = re.compile(r"(?<!\d)1[0-8]\d\d(?!\d)")
_DATE_HERE = re.compile(r"\d{1,4}[./\-]\d{1,2}[./\-]\d{1,4}(?:[T ].*)?|(?:19|20)\d\d")
_MONEY_BEFORE_HERE = re.compile(r"(?:[$€£¥₹]|usd|eur|gbp|r\$)[ ]?$", re.IGNORECASE)
_MONEY_AFTER_HERE = re.compile(
    r"[ ]?(?:[%€£¥₹°]|usd|eur|gbp|px|km|kg|ms|seconds|minutes|hours|days|years|times|miles|characters|digits|people|users|items|pages|bytes|kb|mb|gb)\b|%",
    re.IGNORECASE,
)


class _Shape(NamedTuple):
    """How the value of a kind is written.

    Attributes:
        pattern: What it begins as.
        least: The fewest digits that it has.
        most: The most.
    """

    pattern: "re.Pattern[str]"
    least: int
    most: int


_SHAPES: Mapping[str, _Shape] = {
    "pin": _Shape(_PIN_HERE, 3, 13),
    "card_security_code": _Shape(_CODE3_HERE, 3, 4),
    "date_of_birth": _Shape(_BIRTH_HERE, 3, 8),
    "passport": _Shape(_NUMBER_HERE, 5, 12),
    "driving_licence": _Shape(_NUMBER_HERE, 4, 18),
    "national_id": _Shape(_NUMBER_HERE, 6, 20),
    "tax_id": _Shape(_NUMBER_HERE, 7, 16),
    "health_id": _Shape(_NUMBER_HERE, 5, 20),
    "bank_account": _Shape(_NUMBER_HERE, 5, 24),
    "iban": _Shape(_NUMBER_HERE, 10, 34),
    "phone": _Shape(_PHONE_HERE, 6, 17),
    "device_id": _Shape(_NUMBER_HERE, 8, 24),
    "card": _Shape(_NUMBER_HERE, 12, 19),
    "location": _Shape(_LOCATION_HERE, 4, 36),
    "vehicle_id": _Shape(_PLATE_HERE, 1, 17),
    "seed_phrase": _Shape(_SEED_HERE, 0, 0),
}


def find_beside(reading: Reading, kind: str, start: int, end: int, *, is_weak: bool) -> Iterator[Span]:
    """What a label of a kind has beside it.

    Args:
        is_weak: The label means other things, too.
    """
    if kind in ("password", "password_sign", "secret", "session"):
        yield from _secret_beside(reading, kind, start, end, is_weak=is_weak)
        return
    shape = _SHAPES[kind]
    span = _value_after(reading, kind, shape, end, is_weak=is_weak) or _value_before(reading, kind, shape, start)
    if span:
        yield span
        yield from _more_values(reading.text, kind, shape, span.end)


def _more_values(text: str, kind: str, shape: _Shape, end: int) -> Iterator[Span]:
    """Values of the same kind that are listed after one."""
    while joint := _JOINT_HERE.match(text, end):
        match = shape.pattern.match(text, joint.end())
        span = _check_value(text, kind, shape, match.start(), match.end()) if match else None
        if span is None:
            return
        yield span
        end = span.end


def accepts(kind: str, value: str) -> bool:
    """Whether the whole value of a field, whose name is a label of a kind, is of the kind."""
    value = value.strip()
    if kind in ("password", "password_sign"):
        return is_password(value, quoted=True, ends=True)
    if kind in ("secret", "session"):
        return is_secret(value, quoted=True, assigned=True)
    shape = _SHAPES[kind]
    digits = sum(map(str.isdigit, value))
    if kind == "seed_phrase" or kind in ("date_of_birth", "location", "vehicle_id"):
        return shape.pattern.match(value) is not None and (kind != "location" or _is_precise(value))
    return (
        shape.least <= digits <= shape.most
        and len(value) <= 2 * shape.most
        and not (kind != "date_of_birth" and _DATE_HERE.fullmatch(value))
    )


def _is_precise(value: str) -> bool:
    return "." in value or "," in value or "°" in value


def _value_after(reading: Reading, kind: str, shape: _Shape, end: int, *, is_weak: bool) -> Span | None:
    text = reading.text
    limit = min(len(text), end + _REACH)
    for match in shape.pattern.finditer(text, end, min(len(text), limit + 80)):
        if match.start() > limit:
            return None
        if not is_free_before(text, match.start()) and text[match.start() - 1 : match.start()] not in "_=":
            continue
        if not _is_bridge(reading.lower[end : match.start()], is_weak=is_weak):
            return None
        return _check_value(text, kind, shape, match.start(), match.end())
    return None


def _check_value(text: str, kind: str, shape: _Shape, start: int, end: int) -> Span | None:
    value = text[start:end]
    digits = sum(map(str.isdigit, value))
    while digits > shape.most and (cut := max(value.rfind(each) for each in " -./\n()")) > 0:
        value = value[:cut].rstrip(" -./\n()")
        digits = sum(map(str.isdigit, value))
    end = start + len(value)
    if not shape.least <= digits <= shape.most or not is_free_after(text, end):
        return None
    if kind == "date_of_birth" and _OLD_HERE.search(value):
        return None
    if kind not in ("date_of_birth", "location") and (
        _DATE_HERE.fullmatch(value)
        or _MONEY_AFTER_HERE.match(text, end)
        or _MONEY_BEFORE_HERE.search(text, max(0, start - 4), start)
    ):
        return None
    if (
        kind in ("pin", "card_security_code")
        and text[end : end + 2].strip(" ")[:1] in (":", "/")
        and text[end + 1 : end + 2].isdigit()
    ):
        return None
    return Span(start, end, kind)


def _is_bridge(gap: str, *, is_weak: bool) -> bool:
    """Whether a label and a value belong together, from what stands between."""
    if _SENTENCE_END_HERE.search(gap):
        return False
    words = _WORD.findall(gap)
    if not NO_VALUES.isdisjoint(words):
        return False
    has_sign = _SIGN.search(gap) is not None or not IS_WORDS.isdisjoint(words)
    if _UNSPACED.search(gap):
        return len(gap) <= 16 and (has_sign or not is_weak or len(gap) <= 6)  # noqa: PLR2004
    if is_weak and not has_sign:
        return False
    strangers = sum(word not in FILLERS and word not in IS_WORDS for word in words)
    return strangers <= (_MAX_STRANGERS if has_sign else 0)


_IS_BEFORE_HERE = re.compile(r"\s(?:is|was|ist|est|es|è|é|jest|to|это|—|=)\s(?:[^\W\d_]{1,10}\s){0,3}$", re.IGNORECASE)
_IN_PARENTHESES_HERE = re.compile(r"\s?\((?:[^\W\d_]{1,10}\s){0,2}$")
_VALUE_END_HERE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9]|[ .\-/](?=[^\s]{0,12}\d)){2,30}$")


def _value_before(reading: Reading, kind: str, shape: _Shape, start: int) -> Span | None:
    """`4821 is my PIN`."""
    if kind in ("location", "seed_phrase", "date_of_birth", "phone", "card", "vehicle_id"):
        return None
    text = reading.text
    before = text[max(0, start - _REACH) : start]
    joint = _IS_BEFORE_HERE.search(before) or _IN_PARENTHESES_HERE.search(before)
    if joint is None:
        return None
    head = before[: joint.start()]
    value = _VALUE_END_HERE.search(head)
    if value is None or not is_free_before(head, value.start()):
        return None
    begin = start - len(before) + value.start()
    if not (tail := re.search(r"(?:^|(?<=\s))[A-Za-z0-9.\-/]*\d[A-Za-z0-9.\-/]*$", value[0])):
        return None
    return _check_value(text, kind, shape, begin + tail.start(), begin + value.end() - value.start())


_GAP = r"[^\n:=\"'`<>|]{0,48}?"
_CONNECT_HERE = re.compile(
    rf"(?P<gap>(?:\[?[\"'`]?\]?)?{_GAP})(?P<sign>\\{{0,3}}[\"'`]?\]?[ \t]{{0,8}}(?::=|=>|={{1,3}}|!==?|:(?!:)|->|→|>(?=[^<\s])|\|)[ \t]{{0,8}}(?:\r?\n[ \t]{{0,8}}(?![\-#]))?"
    rf"|[ ](?:is|are|was|lautet|ist|est|es|è|é|jest|brzmi|это|er|on|=|—|-)[ ]{{1,2}}(?:now[ ]|also[ ]|still[ ])?:?[ ]?"
    r"|[ ]?(?:是|为|為|は|が|هي|هو|는|은|가)[ ]?[:：]?[ ]?)(?P<open>\\{0,3}[\"'`]|[\"])?",
    re.IGNORECASE,
)
_DIRECT_HERE = re.compile(r"[ ]{1,2}(?:to[ ]|as[ ])?(?P<open>[\"'`])?")
_BARE_HERE = re.compile(
    r"(?:[^\s\"'`,;&<>|\\\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af]|[,;&|](?!\s|$|[\w.\-]{1,40}[=:]|[\"'])|[\"'`<>](?=[^\s,;)}\]\"'`<>/:])|\\(?![nrt\"'\\]))+"
)
_MAX_VALUE = 512
_LEAST_STRONG = 6
_CLAUSE_END_HERE = re.compile(
    r"[\"'`)\]}>]{0,3}[.,;!?。]{0,3}(?:\s*$|[ \t]*\r?\n|[.,;!?。](?:\s|$)|[ ]{1,4}#|[ ]?[,;})|]|[ ](?:and|und|et|y|e|en|i|и|for|für|pour|para|per|voor)\b|\\n|</)"
)


def _secret_beside(reading: Reading, kind: str, start: int, end: int, *, is_weak: bool) -> Iterator[Span]:
    text = reading.text
    flag = text.startswith("--", max(0, start - 24), start) or "--" in text[max(0, start - 24) : start].split(" ")[-1]
    connect = _CONNECT_HERE.match(text, end, min(len(text), end + 120))
    if connect and (span := _secret_behind_sign(reading, kind, connect, start)):
        yield span
        return
    if is_weak and not flag:
        return
    if direct := _DIRECT_HERE.match(text, end):
        value, begin, quoted = _read_value(text, direct.end(), direct["open"])
        if _is_direct_secret(kind, value, quoted=quoted is not None, flag=flag):
            yield Span(begin, begin + len(value), _kind_of(kind))
            return
    yield from _secret_before(text, kind, start)


def _is_direct_secret(kind: str, value: str, *, quoted: bool, flag: bool) -> bool:
    if kind in ("secret", "session"):
        return is_secret(value, quoted=quoted, assigned=flag)
    if flag:
        return is_password(value, quoted=True, ends=True) and not value.startswith("-")
    return is_password(value, quoted=quoted, ends=False) and (quoted or _is_strong(value))


def _is_strong(value: str) -> bool:
    """Whether a text is a password although nothing says so but the label before it."""
    return (
        len(value) >= _LEAST_STRONG
        and any(map(str.isdigit, value))
        and (any(map(str.isalpha, value)) or len(value) > _LEAST_STRONG + 1)
        and not re.fullmatch(r"\d+[a-z]{1,3}|[a-z]+\d", value)
    )


def _secret_behind_sign(reading: Reading, kind: str, connect: "re.Match[str]", start: int) -> Span | None:
    text = reading.text
    sign = connect["sign"].strip(" \t\r\n\\\"'`]")
    gap = connect["gap"].lower()
    words = _WORD.findall(gap)
    assigned = bool(sign) and not sign.isalpha() and sign not in ("—", "-")
    if not _may_lead(gap, words, sign):
        return None
    if kind == "password_sign" and not assigned:
        return None
    opened = connect["open"]
    value, begin, close = _read_value(text, connect.end(), opened)
    end = begin + len(value)
    if (sign in ("==", "===", "!=", "!==") and close is None) or (sign == ">" and not text.startswith("</", end)):
        return None
    if kind in ("secret", "session"):
        if _is_page_token(reading.lower, start):
            return None
        accepted = is_secret(value, quoted=close is not None, assigned=assigned)
    elif assigned:
        ends = _CLAUSE_END_HERE.match(text, end) is not None and (not gap.strip() or not words)
        accepted = is_password(value, quoted=close is not None, ends=ends and not text.startswith("(", end))
    else:
        accepted = (
            close is not None and is_password(value, quoted=True, ends=False) and not _SPACES_HERE.search(value)
        ) or (is_password(value, quoted=False, ends=False) and is_mixed(value))
    if not accepted or (value.endswith(":") and close is None):
        return None
    return Span(begin, end, _kind_of(kind))


_SPACES_HERE = re.compile(r"\s")
_NO_SUFFIX = frozenset(
    [
        "length",
        "count",
        "type",
        "policy",
        "field",
        "fields",
        "name",
        "names",
        "names",
        "id",
        "ids",
        "hint",
        "file",
        "path",
        "url",
        "uri",
        "expiry",
        "expires",
        "expiration",
        "ttl",
        "age",
        "manager",
        "generator",
        "strength",
        "min",
        "max",
        "limit",
        "limits",
        "size",
        "usage",
        "budget",
        "column",
        "input",
        "form",
        "box",
        "label",
        "placeholder",
        "prompt",
        "error",
        "errors",
        "required",
        "reset_url",
        "regex",
        "pattern",
        "rules",
        "rule",
        "validator",
        "confirmation_error",
        "updated",
        "created",
        "changed",
        "at",
        "date",
        "time",
        "scope",
        "scopes",
        "endpoint",
        "provider",
        "store",
        "budget_s",
        "per",
        "used",
        "total",
        "remaining",
        "left",
        "window",
        "counts",
        "index",
        "indices",
        "version",
        "format",
        "ring",
        "chain",
    ]
)
"""Words after a label that make it the label of something else."""


def _may_lead(gap: str, words: list[str], sign: str) -> bool:
    """Whether what stands between a label and a sign leaves the label what it is."""
    if _SENTENCE_END_HERE.search(gap) or "," in gap:
        return False
    if not _NO_SUFFIX.isdisjoint(words) or not NO_VALUES.isdisjoint(words):
        return False
    if sign in ("=", ":=", "==", "===", "=>", "|", ">"):
        return _SUFFIX_HERE.fullmatch(gap) is not None
    return sum(word not in FILLERS for word in words) <= _MAX_STRANGERS


_SUFFIX_HERE = re.compile(
    r"[\]\"'`)]{0,3}(?:[ ](?:value|val|content|default)|(?:[_\-.]?[^\W_]{1,16}){0,2})[\]\"'`)]{0,2}[ ]{0,8}"
)
_PAGE_TOKEN_HERE = re.compile(
    r"(?:page|next|continuation|cursor|sync|max|num|total|input|output|prompt|completion|reasoning|cached|stop|pad|eos|bos|special|mask|unk|sep|cls|csrf_header|per|used|budget)[ _\-]?$"
)


def _is_page_token(lower: str, start: int) -> bool:
    return _PAGE_TOKEN_HERE.search(lower, max(0, start - 16), start) is not None


def _read_value(text: str, at: int, quote: str | None) -> tuple[str, int, str | None]:
    """A value from where it begins: as it is, where it begins, and what it is quoted with, if it is closed."""
    if quote:
        close = text.find(quote, at, at + _MAX_VALUE)
        line = text.find("\n", at, at + _MAX_VALUE)
        if close > at and (line < 0 or line > close):
            return text[at:close].rstrip("\\"), at, quote
    match = _BARE_HERE.match(text, at, min(len(text), at + _MAX_VALUE))
    value = match[0] if match else ""
    while value and value[-1] in ".,;:)]}>*\\?\"'`":
        if value[-1] == ")" and "(" in value:
            break
        value = value[:-1]
    if value.startswith(("*", "(")) and not value.endswith(("*", ")")):
        at += 1
        value = value[1:]
    if value.startswith("**"):
        at, value = at + 2, value[2:].rstrip("*")
    return value, at, None


_SECRET_BEFORE_HERE = re.compile(
    r"(?:^|[\s\"'`(:])([^\s\"'`(]{6,64})[\"'`]?[ ](?:is|was|ist|est|es|è|é)[ ](?:my|the|our|his|her|their|your|mein|das|mon|le|mi|la|il|mio|o|meu|a|minha)?[ ]?(?:[^\W\d_]{1,12}[ ]){0,2}$",
    re.IGNORECASE,
)


def _secret_before(text: str, kind: str, start: int) -> Iterator[Span]:
    """`hunter2 is my password`."""
    before = _SECRET_BEFORE_HERE.search(text, max(0, start - 120), start)
    if (
        before
        and not is_placeholder(before[1])
        and any(map(str.isdigit, before[1]))
        and any(map(str.isalpha, before[1]))
    ):
        if kind == "secret" and not is_secret(before[1], quoted=False, assigned=False):
            return
        yield Span(*before.span(1), _kind_of(kind))


def _kind_of(kind: str) -> str:
    return {"password_sign": "password", "secret": "secret"}.get(kind, kind)
