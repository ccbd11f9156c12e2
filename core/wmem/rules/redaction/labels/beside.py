"""Takes the value beside a label: after it, or before it where "is" stands between."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from wmem.rules.redaction.labels.gap import is_bridge
from wmem.rules.redaction.labels.secret_beside import find_secret_beside
from wmem.rules.redaction.labels.values import is_password, is_secret, is_sure_secret
from wmem.rules.redaction.numbers import find_extension, is_free_after, is_free_before
from wmem.rules.redaction.reading import Reading
from wmem.rules.redaction.spans import Span

_LONG_REACH = 320  # of the words of a recovery phrase
_REACH = 72  # characters between a label and its value

_NUMBER_HERE = re.compile(
    r"(?:[A-Za-z]{1,5}(?=\d)|[A-Z]{6,8}(?=\d)|[A-Z]{1,4}[ \-](?=\d))?\d[A-Za-z0-9]{0,30}(?:(?:[ ]?\r?\n[ ]{0,4}|%20|[ .\-/()]{1,2})[A-Za-z0-9]{0,12}?\d[A-Za-z0-9]{0,12}){0,7}(?:[ \-][A-Z]{1,2}(?![A-Za-z0-9]))?"
)
_PHONE_HERE = re.compile(r"[+(]{0,2}\d(?:(?:[ ]?\r?\n[ ]{0,4}|%20|[ .\-/()]{0,3})\d){4,17}")
_PIN_HERE = re.compile(r"\d(?:[ \-]?\d){2,12}|[A-Z0-9]{3,4}-[A-Z0-9]{3,4}")
_CODE3_HERE = re.compile(r"\d{3,4}")
_MONTHS = r"[^\W\d_]{3,12}\.?"
_BIRTH_HERE = re.compile(
    rf"\d{{4}}[ ]?[./\-年년][ ]?\d{{1,2}}[ ]?[./\-月월][ ]?\d{{1,2}}(?:[ ]?[日일])?|\d{{1,2}}[ ]?[./\-][ ]?\d{{1,2}}[ ]?[./\-][ ]?\d{{2,4}}|(?:19|20)\d\d[01]\d[0-3]\d(?!\d)|[0-3]\d[01]\d(?:19|20)\d\d(?!\d)"
    rf"|\d{{1,2}}(?:st|nd|rd|th|er|\.|º)?[ \-]{{1,2}}(?:of |de |di )?{_MONTHS}(?:[,]?[ \-](?:de |del |di )?)\d{{4}}|{_MONTHS}[ ]\d{{1,2}}(?:st|nd|rd|th)?,?[ ]\d{{4}}|\d{{1,2}}[ ]{_MONTHS}[ ]\d{{2}}(?!\d)",
    re.IGNORECASE,
)
_DEGREES = r"[+\-]?\d{1,3}(?:(?:\.\d{3,15}|,\d{4,15})°?|°[ ]?\d{1,2}['′][ ]?\d{1,2}(?:\.\d{1,6})?[\"″]?)(?:[ ]?[NSEWOnsewo](?![a-z]))?"
_LOCATION_HERE = re.compile(
    rf"{_DEGREES}(?:[ ]?[,;/][ ]?(?:(?:lon|lng|long|longitude)[a-z\"']{{0,8}}[ ]?[:=]?[ ]?)?{_DEGREES}|[ ]{_DEGREES})?"
)
_IS_PAIR_HERE = re.compile(r"\d[^\d.]*[,;/ ][^\d.]*\d")
_PLATE_HERE = re.compile(r"(?=[^\n]{0,10}?\d)[A-Z0-9ÄÖÜА-Я\u4e00-\u9fff]{1,4}(?:[ \-·]?[A-Z0-9А-Я]{1,6}){1,3}")
_SEED_HERE = re.compile(r"[a-z]{3,10}(?:[ ,]{1,2}\n?[a-z]{3,10}){11,25}(?![a-z\u00c0-\u024f])")
_JOINT_HERE = re.compile(r"[ ]?(?:[,、;/]|and|or|und|oder|et|ou|y|e|o|en|of|i|lub|и|или|和|或|と|및)[ ]?(?:and |or )?")
_ACCOUNT_HERE = re.compile(r"(?:[ ]?[:#][ ]{0,2}|[ ](?:is[ ]|(?:no|nr)\.?[ ])?)(\d{8,17})(?![.,]?\d)")
_OTHER_ACCOUNT_HERE = re.compile(r"(?:aws|amazon|azure|gcp|cloud|github|gitlab|twitter|google|user|service)[ ]$")
_ACCOUNT_JOINT_HERE = re.compile(
    r"[ ]?[,;/]?[ ](?:and |und )?(?:account|acct|konto|kto)\b\.?(?:[ ](?:no|nr|number)\b\.?)?[ ]?[:#]?[ ]?",
    re.IGNORECASE,
)
"""`sort code 20-10-53, account 13181456`."""
_JUST_HERE = re.compile(r"[\"']?[ \t\n,(\-]{1,3}[\"']?")
_LEAST_JUST = {"phone": 7, "bank_account": 8, "device_id": 14}
"""How many digits right behind a label need no sign, though the label means other things, too."""
_NUMBER_OF_HERE = re.compile(
    r"\b(?:n[°º]|n\.[ ]?[°º]?|nr\.?|no\.|num[eé]ro|número|numer)[ ](?:(?:de|del|da|do|di)[ ](?:la[ ]|il[ ])?|d['’])?$"
)
"""`n° de permis`: what a label means that its number is told of."""
_MAX_NUMBER_OF = 24
_MAX_OTHER = 12
_BORN = (
    "born",
    "geboren",
    "né ",
    "née ",
    "né à",
    "nacid",
    "nació",
    "nato ",
    "nata ",
    "nascid",
    "nasceu",
    "urodz",
    "född",
    "født",
    "narozen",
)
_MAX_PLACE = 2
"""How many words may stand between without a sign: `nato a Roma il`; `birthday party on …` is none."""
_CODE_IS_HERE = re.compile(r"(?:[ ](?:is|ist|lautet|est|es|è|was)|[ ]?:)[ ](?=[^\n]{0,8}\d)", re.IGNORECASE)
_CODE_ALONE_HERE = re.compile(r"(?:^|[,.;:!?\n(\"'][ ]?|\b(?:and|und|et|y|e|en|i|new|neuer)[ ])$")
_CODE_ALONE_IS_HERE = re.compile(r"[ ](?:is|ist)[ ]\d{3}[ \-]?\d{1,5}(?=[.,;!?)\n]|\s{0,2}$)")
"""A code of which nothing says what it is: `got it, code is 482117`, unlike "zip code is …" and "code: …"."""
_NAMED_CODES = ("the ", "der ", "le ", "el ", "il ", "mi ", "mio ", "meu ")
_CODE_USED_HERE = re.compile(
    r"[ :]{1,2}[\"'*`]{0,2}\d{3}[ \-]?\d{1,5}[\"'*`]{0,2}(?:[.,;!]|\s{0,2}$|[ ](?:to|for|as|when|at|within|in|on|if|pour|para|per|om|aby|żeby|um|zum|ein)\b)"
)
_FLAG_HERE = re.compile(r"(?:^|\s)--(?:[a-z]{1,12}-){0,3}$")
_MAX_FLAG = 48
_OLD_HERE = re.compile(r"(?<!\d)1[0-8]\d\d(?!\d)")
_DATE_HERE = re.compile(
    r"(?:\d{4}[./\-]\d{1,2}[./\-]\d{1,2}|\d{1,2}[./\-]\d{1,2}[./\-]\d{2}(?:\d{2})?)(?:[T ].*)?|(?:19|20)\d\d"
)
_MONEY_BEFORE_HERE = re.compile(r"(?:[$€£¥₹]|usd|eur|gbp|r\$)[ ]?$", re.IGNORECASE)
_MONEY_AFTER_HERE = re.compile(
    r"[ ]?(?:[%€£¥₹°]|usd|eur|gbp|px|km|kg|ms|seconds|minutes|hours|days|years|times|miles|characters|digits|people|users|items|pages|bytes|kb|mb|gb)\b|%",
    re.IGNORECASE,
)


_WORD_OF_CAPITALS_HERE = re.compile(
    r"(?=(?:[A-Z]*\d){2})(?=\d*[A-Z])[A-Z0-9]{8,18}|(?=[A-Z]*\d)[CFGHJ-NPRTV-Z0-9]{9}"  # Germany's have no vowels
)
_MAY_BE_WORDS = frozenset({"passport", "driving_licence", "national_id", "health_id"})
"""Kinds of ids that may have more letters than digits, as `C4VJ7RK2L`."""
_MAY_BE_DATES = frozenset({"date_of_birth", "location", "pin", "card_security_code", "bank_account"})


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
    "pin_sign": _Shape(_PIN_HERE, 4, 8),
    "card_security_code": _Shape(_CODE3_HERE, 3, 4),
    "date_of_birth": _Shape(_BIRTH_HERE, 3, 8),
    "passport": _Shape(_NUMBER_HERE, 5, 12),
    "driving_licence": _Shape(_NUMBER_HERE, 4, 18),
    "national_id": _Shape(_NUMBER_HERE, 6, 20),
    "tax_id": _Shape(_NUMBER_HERE, 7, 16),
    "health_id": _Shape(_NUMBER_HERE, 5, 20),
    "bank_account": _Shape(_NUMBER_HERE, 5, 26),
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
    if kind in ("password", "password_sign", "secret", "secret_sign", "session"):
        yield from find_secret_beside(reading, kind, start, end, is_weak=is_weak)
        return
    is_weak = is_weak and not (
        _FLAG_HERE.search(reading.text, max(0, start - _MAX_FLAG), start)
        or _NUMBER_OF_HERE.search(reading.lower, max(0, start - _MAX_NUMBER_OF), start)
    )
    shape = _SHAPES.get(kind, _SHAPES["bank_account"])
    if kind == "pin_sign":  # "the code" means other things, too
        if reading.lower.startswith("code", start):
            form = (
                _CODE_ALONE_IS_HERE
                if _CODE_ALONE_HERE.search(reading.lower, max(0, start - _MAX_OTHER), start)
                else None
            )
        else:
            form = _CODE_IS_HERE if reading.lower.startswith(_NAMED_CODES, start) else _CODE_USED_HERE
        if form is None or not form.match(reading.text, end):
            return
        kind = "pin"
    if kind == "account_sign":  # so do accounts: of people, of clouds
        match = _ACCOUNT_HERE.match(reading.text, end)
        before = max(0, start - _MAX_OTHER)
        if (
            match
            and is_free_after(reading.text, match.end())
            and not _OTHER_ACCOUNT_HERE.search(reading.lower, before, start)
        ):
            yield Span(*match.span(1), "bank_account")
        return
    strangers = _MAX_PLACE if kind == "date_of_birth" and reading.lower.startswith(_BORN, start) else 0
    span = _value_after(reading, kind, shape, end, is_weak=is_weak, strangers=strangers) or _value_before(
        reading, kind, shape, start
    )
    if span:
        yield span
        yield from _more_values(reading.text, kind, shape, span.end)


def _more_values(text: str, kind: str, shape: _Shape, end: int) -> Iterator[Span]:
    """Values of the same kind that are listed after one."""
    while joint := (kind == "bank_account" and _ACCOUNT_JOINT_HERE.match(text, end)) or _JOINT_HERE.match(text, end):
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
    if kind == "secret_sign":
        return is_sure_secret(value)
    if kind in ("secret", "session"):
        return is_secret(value, quoted=True, assigned=True)
    shape = _SHAPES[kind]
    if kind == "seed_phrase" or kind in ("date_of_birth", "location", "vehicle_id"):
        return (
            shape.pattern.match(value) is not None
            and (kind != "location" or _is_precise(value))
            and (kind != "date_of_birth" or not _OLD_HERE.search(value))
        )
    return (
        _has_digits(kind, shape, value)
        and len(value) <= 2 * shape.most
        and (kind in _MAY_BE_DATES or not _DATE_HERE.fullmatch(value))
    )


def _has_digits(kind: str, shape: _Shape, value: str) -> bool:
    """Whether a value has as many digits as its kind, or is one word of capitals and digits where ids are such."""
    digits = sum(map(str.isdigit, value))
    if digits > shape.most:
        return False
    return digits >= shape.least or (kind in _MAY_BE_WORDS and _WORD_OF_CAPITALS_HERE.fullmatch(value) is not None)


def _is_precise(value: str) -> bool:
    return "." in value or "," in value or "°" in value


def _value_after(
    reading: Reading, kind: str, shape: _Shape, end: int, *, is_weak: bool, strangers: int = 0
) -> Span | None:
    text = reading.text
    limit = min(len(text), end + _REACH)
    reach = _LONG_REACH if kind == "seed_phrase" else _REACH
    for match in shape.pattern.finditer(text, end, min(len(text), limit + reach)):
        if match.start() > limit:
            return None
        if not is_free_before(text, match.start()) and text[match.start() - 1 : match.start()] not in "_=":
            continue
        gap = reading.lower[end : match.start()]
        if not (
            is_bridge(gap, is_weak=is_weak, strangers=strangers)
            or (
                kind in _LEAST_JUST
                and _JUST_HERE.fullmatch(gap)
                and sum(map(str.isdigit, match[0])) >= _LEAST_JUST[kind]
            )
        ):
            return None
        if kind == "location" and is_weak and not _IS_PAIR_HERE.search(match[0]):
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
    if kind == "phone":
        end = find_extension(text, end)
    if not _has_digits(kind, shape, value) or not is_free_after(text, end):
        return None
    if kind == "date_of_birth" and _OLD_HERE.search(value):
        return None
    if kind not in _MAY_BE_DATES and (
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


_IS_BEFORE_HERE = re.compile(
    r"\s(?:is|was|as|ist|est|es|è|é|jest|to|это|—|=)\s(?:[^\W\d_]{1,10}\s){0,3}$", re.IGNORECASE
)
_IN_PARENTHESES_HERE = re.compile(r"\s?\((?:[^\W\d_]{1,10}\s){0,2}$")
_SEED_BEFORE_HERE = re.compile(
    r"(?<![^\s\"'`(:])([a-z]{3,10}(?:[ ,]{1,2}\n?[a-z]{3,10}){11,23})[\"'`)]?[ ](?:is|are|was|ist|est|es|è|é)[ ](?:[^\W\d_]{1,12}[ ]){0,3}$"
)
_GROUP_HERE = re.compile(r"[A-Za-z0-9.\-/]+")
_PLATE_END_HERE = re.compile(r"(?<![A-Za-z0-9\-])((?=[^\n]{0,14}\d)[A-Z0-9]{1,4}(?:[ \-·]?[A-Z0-9]{1,6}){1,3})$")
_MAX_PLATE = 16
_VALUE_END_HERE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9]|[ .\-/](?=[^\s]{0,12}\d)){2,30}$")


def _value_before(reading: Reading, kind: str, shape: _Shape, start: int) -> Span | None:
    """`4821 is my PIN`."""
    text = reading.text
    before = text[max(0, start - _REACH) : start]
    if kind == "date_of_birth":
        return _date_before(text, before, start)
    if kind == "seed_phrase":
        words = _SEED_BEFORE_HERE.search(text, max(0, start - _LONG_REACH), start)
        return Span(*words.span(1), kind) if words else None
    if kind in ("location", "card"):
        return None
    joint = _IS_BEFORE_HERE.search(before) or _IN_PARENTHESES_HERE.search(before)
    if joint is None:
        return None
    head = before[: joint.start()]
    if kind == "vehicle_id":
        end = start - len(before) + joint.start()
        plate = _PLATE_END_HERE.search(text, max(0, end - _MAX_PLATE), end)
        return _check_value(text, kind, shape, plate.start(1), end) if plate else None
    value = _VALUE_END_HERE.search(head)
    if value is None or not is_free_before(head, value.start()):
        return None
    begin = start - len(before) + value.start()
    end = begin + value.end() - value.start()
    groups: list[str] = []
    for group in reversed(text[begin:end].split(" ")):
        digits = sum(map(str.isdigit, "".join((*groups, group))))
        if not _GROUP_HERE.fullmatch(group) or not any(map(str.isdigit, group)) or digits > shape.most:
            break
        if kind == "phone" and groups and any(map(str.isalpha, group)):
            break
        groups.append(group)
    return _check_value(text, kind, shape, end - len(" ".join(groups)), end) if groups else None


def _date_before(text: str, before: str, start: int) -> Span | None:
    """`am 12.03.1985 in Bonn geboren`."""
    dates = list(_BIRTH_HERE.finditer(before))
    if not dates:
        return None
    gap = before[dates[-1].end() :]
    if len(gap.split()) > _MAX_BETWEEN or re.search(r"[.!?;:\n,]", gap):
        return None
    at = start - len(before)
    return _check_value(text, "date_of_birth", _SHAPES["date_of_birth"], at + dates[-1].start(), at + dates[-1].end())


_MAX_BETWEEN = 3
