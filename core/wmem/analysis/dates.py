"""Dates named in a question, and how well the day of a text matches them.

Understands English month names and relative words, ISO-like and CJK dates.
"""

import re
from collections.abc import Iterable
from datetime import UTC, date, tzinfo
from typing import NamedTuple

from wmem.model.zones import to_day

_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTH_PATTERN = "|".join([*_MONTHS, *(f"{month[:3]}(?=[.\\s,])" for month in _MONTHS if month != "may"), "sept"])
_MONTH_NAME_DATE = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?(?P<month>{_MONTH_PATTERN})\b\.?"
    r"(?:\s+(?P<day2>\d{1,2})(?:st|nd|rd|th)?\b(?!:))?(?:,?\s+(?:of\s+)?(?P<year>(?:19|20)\d\d)\b)?"
)
# Months that are ordinary words, too, need a preposition or the like before them.
_AMBIGUOUS_MONTHS = ("march", "may", "mar")
_MONTH_CONTEXT = re.compile(r"\b(?:in|since|during|until|till|by|of|from|last|this|next|early|late|mid)[\s-]{1,8}$")
_CONTEXT_CHARS = 16  # characters before a month that are searched: the longest such word, and what may follow it
_ISO = re.compile(r"\b(?P<year>(?:19|20)\d\d)[-/.](?P<month>\d{1,2})(?:[-/.](?P<day>\d{1,2}))?\b")
_CJK = re.compile(r"(?:(?P<year>(?:19|20)\d\d)[年년]\s*)?(?P<month>\d{1,2})[月월]\s*(?:(?P<day>\d{1,2})[日일号])?")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_NUMBER_WORDS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "a couple of": 2, "three": 3, "a few": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_AGO = re.compile(
    rf"\b(?P<count>\d{{1,3}}|{'|'.join(sorted(_NUMBER_WORDS, key=len, reverse=True))})\s+"
    r"(?P<unit>day|week|month|year)s?\s+ago\b"
)
_LAST = re.compile(rf"\blast\s+(?P<what>night|week|weekend|month|year|{'|'.join(_WEEKDAYS)})\b")
_UNIT_DAYS = {"day": 1, "night": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}

_DAY_SCORES = ((1, 1.0), (7, 0.7), (21, 0.3))
"""Greatest distance in days between the day asked for and that of the text, and its score."""
_NEXT_MONTH_SCORE = 0.5  # the text is of the month after: what happened in May is told in June
_YEAR_SCORE = 0.3


class PartialDate(NamedTuple):
    """A day, a month or a year asked for; parts that were not named are None."""

    year: int | None
    month: int | None = None
    day: int | None = None


def parse_dates(query: str, now: float, zone: tzinfo = UTC) -> list[PartialDate]:
    """The dates named in a question; relative ones are counted from the day of `now`, UTC epoch seconds, in a zone."""
    text = query.casefold()
    named_days = [_to_partial_date(each.groupdict()) for each in (*_ISO.finditer(text), *_CJK.finditer(text))]
    for each in _MONTH_NAME_DATE.finditer(text):
        named = {**each.groupdict(), "day": each["day"] or each["day2"]}
        alone = not named["day"] and not named["year"]
        if each["month"] in _AMBIGUOUS_MONTHS and alone:
            start = each.start()
            if not _MONTH_CONTEXT.search(text, max(0, start - _CONTEXT_CHARS), start):
                continue
        month = next(number for number, name in enumerate(_MONTHS, 1) if name.startswith(each["month"][:3]))
        named_days.append(_to_partial_date({**named, "month": month}))
    dates = [each for each in named_days if each is not None]
    if today := to_day(now, zone):
        dates += _parse_relative_dates(text, today)
    # A year alone is least specific: it counts only if nothing else was found.
    return dates or [PartialDate(int(each.group())) for each in _YEAR.finditer(text)]


def score_date(query_date: Iterable[PartialDate], day: date) -> float:
    """How well a day matches the best of the dates asked for, 0 to 1."""
    return max((_score_one(each, day) for each in query_date), default=0.0)


def _score_one(query_date: PartialDate, day: date) -> float:
    if query_date.month is None:
        return _YEAR_SCORE if day.year == query_date.year else 0.0
    year = day.year if query_date.year is None else query_date.year
    if query_date.day is not None:
        days = abs((day - date(year, query_date.month, query_date.day)).days)
        return next((match for most, match in _DAY_SCORES if days <= most), 0.0)
    months = (day.year - year) * 12 + day.month - query_date.month
    if query_date.year is None:
        months %= 12
    return {0: 1.0, 1: _NEXT_MONTH_SCORE}.get(months, 0.0)


def _to_partial_date(parts: dict[str, object]) -> PartialDate | None:
    year, month, day = (int(str(parts[name])) if parts.get(name) else None for name in ("year", "month", "day"))
    try:
        # Only checks that the day exists: without a year, in a leap year.
        date(2_000 if year is None else year, 1 if month is None else month, 1 if day is None else day)
    except ValueError:
        return None
    return PartialDate(year, month, min(day, 28) if day and month == 2 and year is None else day)  # noqa: PLR2004  # February


def _parse_relative_dates(text: str, today: date) -> list[PartialDate]:
    back: list[tuple[str, int]] = [
        (each["unit"], int(_NUMBER_WORDS.get(each["count"]) or each["count"])) for each in _AGO.finditer(text)
    ]
    days = [_WEEKDAYS.index(each["what"]) for each in _LAST.finditer(text) if each["what"] in _WEEKDAYS]
    back += [(each["what"], 1) for each in _LAST.finditer(text) if each["what"] in _UNIT_DAYS]
    back += [("day", 1)] * ("yesterday" in text) + [("day", 0)] * ("today" in text)
    then = [(unit, _days_before(today, _UNIT_DAYS[unit] * count)) for unit, count in back]
    then += [("day", _days_before(today, (today.weekday() - day - 1) % 7 + 1)) for day in days]
    return [
        PartialDate(on.year) if unit == "year" else PartialDate(on.year, on.month, None if unit == "month" else on.day)
        for unit, on in then
    ]


def _days_before(today: date, days: int) -> date:
    return date.fromordinal(max(1, today.toordinal() - days))
