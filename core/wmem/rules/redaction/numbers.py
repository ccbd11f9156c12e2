"""Finds numbers by their form and checksum: cards, telephones, and identity numbers that need no label."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from wmem.rules.redaction.checks import is_luhn, is_valid
from wmem.rules.redaction.formats import FORMATS
from wmem.rules.redaction.labels.table import split_words
from wmem.rules.redaction.reading import Reading
from wmem.rules.redaction.spans import Span

_RUN = re.compile(r"\d++(?:(?:[ ]?\r?\n[ ]{0,4}|%20|[ \-./+()·]{1,3}+)\d++)*+")
_DIGITS = re.compile(r"\d+")
_LEAST_DIGITS = 7
_SEVEN_DIGITS = re.compile(r"[0-9](?:[ \-./+()·%\r\n]{0,7}[0-9]){6}")
"""What is in any number that is found without four decimals."""
_MAX_GROUPS = 8

# Lengths and first digits by issuer. Thirteen digits are left out: they are the numbers of articles.
_ISSUERS_HERE = re.compile(
    r"4\d{15}(?:\d{3})?"  # Visa
    r"|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|(?:6011|64[4-9]\d|65\d\d|62\d\d|81\d\d)\d{12}(?:\d{1,3})?"  # Discover, UnionPay, RuPay
    r"|(?:30[0-5]\d|3095|3[689]\d\d)\d{10}(?:\d{2})?"  # Diners
    r"|35\d{14}(?:\d{3})?|(?:2131|1800)\d{11}|(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{8,11}"  # JCB
    r"|220[0-4]\d{12}(?:\d{3})?"  # Mir
    r"|(?:50(?:18|19|20|38|6[01]|9\d|[78]\d)|5[68]\d\d|6304|6759|676[1-3]|6521|60\d\d|9792|63(?:6[3-9]|7\d))\d{12}(?:\d{3})?"  # Maestro, RuPay, Elo, Verve, Troy
)
_CARD_SHAPES = frozenset(
    {
        (4, 4, 4, 4),
        (4, 4, 4, 3),
        (4, 4, 4, 2),
        (4, 6, 5),
        (4, 6, 4),
        (4, 4, 4, 4, 3),
        (4, 4, 4, 4, 2),
        (4, 4, 4, 4, 1),
        (6, 13),
        (8, 8),
        (6, 10),
        (4, 12),
        (4, 4, 8),
        (6, 4, 4, 2),
    }
)
_MAX_JOINT = 6
_CARD_JOINTS = frozenset(" -./+·\n")

_DATE_HERE = re.compile(r"\d{1,2}([./\-])\d{1,2}\1(?:19|20)?\d\d(?!\d)|(?:19|20)\d\d[./\-]?[01]\d[./\-]?[0-3]\d(?!\d)")
_INTERNATIONAL_HERE = re.compile(r"\d{1,4}(?:[ ]?\(0\))?(?:[ \-./()\n·]{0,3}\d{1,14}){1,6}")
_NATIONAL_HERE = re.compile(
    r"(?:1[ .\-]{1,2})?\(?[2-9]\d\d(?:\)[ .\-]?|[ .\-/])[2-9]\d\d[ .\-]\d{4}(?!\d)"  # North America
    r"|0\d{1,4}\)?(?:[ ]?[ \-./][ ]?\d{2,8}){1,4}(?!\d)"  # after a trunk 0
    r"|(?<=\()0?\d{2,3}\)[ \-]?\d{2,5}(?:[ \-]\d{2,4}){1,3}(?!\d)"  # area code in parentheses
    r"|\d\d[ ]9\d{4}-\d{4}(?!\d)"  # Brazil
    r"|8[ \-]?\(?\d{3}\)?[ \-]\d{3}[ \-]\d\d[ \-]?\d\d(?!\d)"  # Russia
    r"|1[3-9]\d[ \-]\d{4}[ \-]\d{4}(?!\d)"  # China
    r"|[67]\d\d[ \-]\d\d[ \-]\d\d[ \-]\d\d(?!\d)"  # Spain
    r"|3[2-9]\d[ \-/.]\d{3}(?:[ \-.]?\d{4}|[\-/]\d{3}|\d{3})(?!\d)"  # Italy
)
_MOBILE_HERE = re.compile(
    r"0[67]\d{8}(?!\d)|07\d{9}(?!\d)|01[567]\d{8,9}(?!\d)|05\d{9}(?!\d)|04\d{8}(?!\d)|0[789]0\d{8}(?!\d)|010\d{8}(?!\d)"
)
_MOBILE_OF_CHINA_HERE = re.compile(r"1[3-9]\d{9}(?!\d)")
_DIALLED_HERE = re.compile(r"00(?:[2-689]\d|7)\d{9,12}(?!\d)")
"""An international number without groups; numbers that are filled up with zeros are shorter mostly, or begin with more."""
_LEAST_PHONE, _MOST_PHONE = 9, 15
_MOST_NATIONAL = 13
_LEAST_WHOLE = 11  # digits of a number that is not apart in groups
_CONTEXT = 24  # characters before a number that say what it is
_OTHER_NUMBER_HERE = re.compile(
    r"(?:\b(?:isbn|issn|ean|upc|gtin|asin|doi|sku|art(?:icle|ikel)?|part|model|order|orders|invoice|ticket|tracking|shipment|parcel|case|txn|transaction|batch|lot|serial|s/n|build|job|seed|ver|version|commit"
    r"|bestellung|bestellnummer|auftrag|rechnung|sendung|commande|facture|colis|pedido|factura|ordine|fattura|encomenda|bestelling|factuur|zamówienie|zamówienia|faktura|sipariş|fatura)"
    r"|заказ|заказа|счёт-фактура|订单|訂單|单号|發票|发票|注文|注文番号|伝票番号|주문|주문번호|طلب|فاتورة)(?:[ \-]?(?:no|nr|number|numéro|número|numero|nummer|numer|id|13|10|号|號|番号|번호|номер))?[.:#=：＃°º ]{0,3}$"
)
"""Words before a number of another kind."""
_TIME_BEFORE_HERE = re.compile(
    r"(?:(?:^|[^A-Za-z])(?:ts|at|time|times?tamp|epoch|millis|created|updated)|[a-z](?:At|Time|Timestamp|Ts)|[Tt]imestamp)(?:_?ms)?\\{0,3}[\"']?[ ]{0,2}[:=]?[ ]{0,2}[\"']?$"
)
"""The name of a field of time, whose milliseconds have the form of an identity number."""
_PAIR_HERE = re.compile(
    r"[+\-]?(?:90(?:\.0{4,})?|[1-8]?\d\.\d{4,15})°?[ ]?[NSns]?[ ]?[,;][ ]?[+\-]?(?:180(?:\.0{4,})?|(?:1[0-7]\d|\d{1,2})\.\d{4,15})(?![\d.]*\d|[ ]?,[ ]?[+\-]?\d)"
)
"""Degrees with four decimals each: about ten metres."""
_AT_SEA_HERE = re.compile(r"[+\-]?0\.\d{4,15}[ ]?[,;][ ]?[+\-]?0\.\d{4,15}")
"""Two numbers below 1: water off Africa as degrees, but weights, scores or a vector nearly always."""
_MAX_DEGREES = 3
_NUMBER_BEFORE_HERE = re.compile(r"[\d.]$|\d,[ ]?$")
_FOUR_DECIMALS = re.compile(r"\.[0-9]{4}")
_EXTENSION_HERE = re.compile(
    r"[ ]?,?[ ]?(?:x|ext\.?|extension|#|durchwahl|dw|poste|int\.?|доб\.?)[ ]?\d{1,6}(?!\d)", re.IGNORECASE
)
_PORTUGUESE = split_words(
    "anota anote aí aqui pra você não minha meu seu sua dos das uma obrigado obrigada segue número já está ele ela dele dela cadastro cliente titular "
    "nome endereço favor foi ontem hoje oi olá valeu é são pelo pela também"
)
"""Words of Portuguese alone, where people write a CPF without points; elsewhere one number in a hundred passes for one."""
_CHINESE = re.compile("[\u3400-\u9fff]")


class _Group(NamedTuple):
    start: int
    end: int


def find_numbers(reading: Reading) -> Iterator[Span]:
    """What numbers say by their form and checksum."""
    if not may_have_numbers(reading):
        return
    text = reading.text
    yield from _pairs_of_degrees(text)
    for run in _RUN.finditer(text):
        if run.end() - run.start() < _LEAST_DIGITS:
            continue
        groups = [_Group(*match.span()) for match in _DIGITS.finditer(text, *run.span())]
        at = 0
        while at < len(groups):
            span = _find_at(reading, groups, at)
            if span is None:
                at += 1
                continue
            yield span
            while at < len(groups) and groups[at].start < span.end:
                at += 1


def may_have_numbers(reading: Reading) -> bool:
    """Whether `find_numbers` may find anything in a text that this is a part of."""
    return len(reading.digits) >= _LEAST_DIGITS and (
        _SEVEN_DIGITS.search(reading.text) is not None or _FOUR_DECIMALS.search(reading.text) is not None
    )


def _pairs_of_degrees(text: str) -> Iterator[Span]:
    """Coordinates that are precise, and no list of numbers."""
    end = 0
    for decimals in _FOUR_DECIMALS.finditer(text):
        start = decimals.start()
        while start > end and text[start - 1] in "0123456789" and decimals.start() - start < _MAX_DEGREES:
            start -= 1
        if start and text[start - 1] in "+-":
            start -= 1
        if start < end or _NUMBER_BEFORE_HERE.search(text, max(0, start - 4), start):
            continue
        if match := _PAIR_HERE.match(text, start):
            if not _AT_SEA_HERE.fullmatch(match[0]):
                yield Span(*match.span(), "location")
            end = match.end()


def _find_at(reading: Reading, groups: list[_Group], at: int) -> Span | None:
    start = groups[at].start
    is_free = is_free_before(reading.text, start)
    if not is_free and reading.text[start - 1] != ",":
        return None
    if card := _card(reading, groups, at):
        return card if is_free or len(groups) > 1 else None  # in a table, `7,4302 8772 …`, rather than a decimal
    if is_within_token(reading.text, start) or not (
        is_free or reading.text[groups[at].end : groups[at].end + 1] == "-"
    ):
        return None
    span = _format(reading, start, groups[at]) or _phone(reading, start)
    return None if span and is_before_token(reading.text, span.end) else span


def is_within_token(text: str, start: int) -> bool:
    """Whether a number goes on from letters or digits before a hyphen, as in a UUID."""
    return start > 1 and text[start - 1] in "-_" and text[start - 2].isascii() and text[start - 2].isalnum()


def is_before_token(text: str, end: int) -> bool:
    """Whether letters or digits go on after a hyphen behind a number."""
    return end + 1 < len(text) and text[end] in "-_" and text[end + 1].isascii() and text[end + 1].isalnum()


def is_free_before(text: str, start: int) -> bool:
    """Whether no Latin letter, digit, underscore or decimal point stands right before."""
    if start == 0:
        return True
    before = text[start - 1]
    if before in ".," and start > 1 and text[start - 2].isdigit():
        return False
    if before.isascii() and before.isalpha():  # "\n" in JSON is two characters
        return before in "nrt" and start > 1 and text[start - 2] == "\\"
    return not (before == "_" or (before.isdigit() and before.isascii()) or "\u00c0" <= before <= "\u024f")


def is_free_after(text: str, end: int) -> bool:
    """Whether no Latin letter, digit or underscore stands right after."""
    if end == len(text):
        return True
    after = text[end]
    return not ((after.isascii() and after.isalnum()) or after == "_" or "\u00c0" <= after <= "\u024f")


def _card(reading: Reading, groups: list[_Group], at: int) -> Span | None:
    text = reading.text
    digits, end = "", groups[at].start
    shape: list[int] = []
    for group in groups[at : at + 5]:
        if shape and (
            group.start - end > _MAX_JOINT
            or not _CARD_JOINTS.issuperset(text[end : group.start].replace("%20", " ").replace("\r", ""))
        ):
            break
        digits += text[group.start : group.end]
        shape.append(group.end - group.start)
        end = group.end
        if len(digits) > 19:  # noqa: PLR2004
            break
        fits = len(shape) == 1 or tuple(shape) in _CARD_SHAPES
        if fits and _ISSUERS_HERE.fullmatch(digits) and is_luhn(digits) and is_free_after(text, end):
            return Span(groups[at].start, end, "card")
    return None


def _format(reading: Reading, start: int, group: _Group) -> Span | None:
    size = group.end - start
    before = max(0, start - _CONTEXT)
    if size >= _LEAST_WHOLE and (
        _OTHER_NUMBER_HERE.search(reading.lower, before, start) or _TIME_BEFORE_HERE.search(reading.text, before, start)
    ):
        return None
    for form in FORMATS.get(size, ()):
        match = form.pattern.match(reading.text, start)
        if match and is_free_after(reading.text, match.end()) and form.check(match[0]):
            return Span(start, match.end(), form.kind)
    if size == _LEAST_WHOLE and not _PORTUGUESE.isdisjoint(reading.words):
        number = reading.text[start : group.end]
        if is_free_after(reading.text, group.end) and is_valid("br.cpf", number):
            return Span(start, group.end, "tax_id")
    return None


def _phone(reading: Reading, start: int) -> Span | None:
    text = reading.text
    if (
        start and text[start - 1] == "+" and not (start > 1 and text[start - 2].isascii() and text[start - 2].isalnum())
    ) or (start > 1 and text[start - 2 : start] in ("(+", "+(")):
        match = _INTERNATIONAL_HERE.match(text, start)
        return _if_phone(text, start - 1, match, _LEAST_PHONE - 1, _MOST_PHONE)
    if (
        text[start - 1 : start] == "/"
        or _DATE_HERE.match(text, start)
        or _OTHER_NUMBER_HERE.search(reading.lower, max(0, start - _CONTEXT), start)
    ):
        return None
    if text.startswith("000", start):
        return None  # no country's
    if text.startswith("00", start):
        match = _INTERNATIONAL_HERE.match(text, start)
        is_grouped = match is not None and (not match[0].isdigit() or _DIALLED_HERE.match(text, start) is not None)
        return _if_phone(text, start, match, _LEAST_PHONE + 2, _MOST_PHONE + 2) if is_grouped else None
    opened = start and text[start - 1] == "("
    if match := _NATIONAL_HERE.match(text, start):
        return _if_phone(text, start - bool(opened), match, _LEAST_PHONE, _MOST_NATIONAL)
    if match := _MOBILE_HERE.match(text, start):
        return Span(start, match.end(), "phone") if is_free_after(text, match.end()) else None
    if (match := _MOBILE_OF_CHINA_HERE.match(text, start)) and _CHINESE.search(
        text, max(0, start - _CONTEXT), match.end() + _CONTEXT
    ):
        return Span(start, match.end(), "phone") if is_free_after(text, match.end()) else None
    return None


def find_extension(text: str, end: int) -> int:
    """Where a telephone number ends, with its extension if it has one."""
    extension = _EXTENSION_HERE.match(text, end)
    return extension.end() if extension else end


def _if_phone(text: str, start: int, match: "re.Match[str] | None", least: int, most: int) -> Span | None:
    """The longest whole groups of a match that have the digits of a telephone number."""
    if match is None:
        return None
    ends = [each.end() for each in _DIGITS.finditer(text, match.start(), match.end())]
    counts = [sum(map(str.isdigit, text[match.start() : end])) for end in ends]
    for last, count in zip(reversed(ends), reversed(counts), strict=True):
        end = find_extension(text, last)
        if least <= count <= most and is_free_after(text, end):
            return Span(start, end, "phone")
    return None
