"""Dates named in a question, and how well the day of a text matches them.

Understands English month names and relative words, ISO-like and CJK dates.
"""

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import NamedTuple

__all__ = ["Asked", "dates_in", "day_at", "fits"]

_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTH = "|".join([*_MONTHS, *(f"{month[:3]}(?=[.\\s,])" for month in _MONTHS if month != "may"), "sept"])
_NAMED = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?(?P<month>{_MONTH})\b\.?"
    r"(?:\s+(?P<day2>\d{1,2})(?:st|nd|rd|th)?\b(?!:))?(?:,?\s+(?:of\s+)?(?P<year>(?:19|20)\d\d)\b)?"
)
# Months that are ordinary words, too, need a preposition or the like before them.
_WORDS_TOO = ("march", "may", "mar")
_SAYS_SO = re.compile(r"\b(?:in|since|during|until|till|by|of|from|last|this|next|early|late|mid)[\s-]+$")
_ISO = re.compile(r"\b(?P<year>(?:19|20)\d\d)[-/.](?P<month>\d{1,2})(?:[-/.](?P<day>\d{1,2}))?\b")
_CJK = re.compile(r"(?:(?P<year>(?:19|20)\d\d)[年년]\s*)?(?P<month>\d{1,2})[月월]\s*(?:(?P<day>\d{1,2})[日일号])?")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_COUNTS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "a couple of": 2, "three": 3, "a few": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_AGO = re.compile(
    rf"\b(?P<count>\d{{1,3}}|{'|'.join(sorted(_COUNTS, key=len, reverse=True))})\s+"
    r"(?P<unit>day|week|month|year)s?\s+ago\b"
)
_LAST = re.compile(rf"\blast\s+(?P<what>night|week|weekend|month|year|{'|'.join(_DAYS)})\b")
_LENGTHS = {"day": 1, "night": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}

_CLOSE = ((1, 1.0), (7, 0.7), (21, 0.3))
"""Greatest distance in days between the day asked for and that of the text, and its score."""
_MONTH_BEFORE = 0.5  # the text is of the month after: what happened in May is told in June
_YEAR_ALONE = 0.3


class Asked(NamedTuple):
    """A day, a month or a year asked for; parts that were not named are None."""

    year: int | None
    month: int | None = None
    day: int | None = None


def dates_in(query: str, now: float) -> list[Asked]:
    """The dates named in a question; relative ones are counted from `now`, UTC epoch seconds."""
    text = query.casefold()
    named_days = [_asked(each.groupdict()) for each in (*_ISO.finditer(text), *_CJK.finditer(text))]
    for each in _NAMED.finditer(text):
        named = {**each.groupdict(), "day": each["day"] or each["day2"]}
        alone = not named["day"] and not named["year"]
        if each["month"] in _WORDS_TOO and alone and not _SAYS_SO.search(text[: each.start()]):
            continue
        month = next(place for place, name in enumerate(_MONTHS, 1) if name.startswith(each["month"][:3]))
        named_days.append(_asked({**named, "month": month}))
    found = [each for each in named_days if each is not None]
    if today := day_at(now):
        found += _relative(text, today)
    # A year alone is least specific: it counts only if nothing else was found.
    return found or [Asked(int(each.group())) for each in _YEAR.finditer(text)]


def fits(asked: Iterable[Asked], on: date) -> float:
    """How well a day matches the best of the dates asked for, 0 to 1."""
    return max((_fit(each, on) for each in asked), default=0.0)


def day_at(at: float) -> date | None:
    """The UTC day of an instant; None outside the calendar."""
    try:
        return datetime.fromtimestamp(at, UTC).date()
    except (ValueError, OverflowError, OSError):
        return None


def _fit(asked: Asked, on: date) -> float:
    if asked.month is None:
        return _YEAR_ALONE if on.year == asked.year else 0.0
    year = on.year if asked.year is None else asked.year
    if asked.day is not None:
        apart = abs((on - date(year, asked.month, asked.day)).days)
        return next((match for most, match in _CLOSE if apart <= most), 0.0)
    months = (on.year - year) * 12 + on.month - asked.month
    if asked.year is None:
        months %= 12
    return {0: 1.0, 1: _MONTH_BEFORE}.get(months, 0.0)


def _asked(parts: dict[str, object]) -> Asked | None:
    year, month, day = (int(str(parts[name])) if parts.get(name) else None for name in ("year", "month", "day"))
    try:
        # Only checks that the day exists: without a year, in a leap year.
        date(2_000 if year is None else year, 1 if month is None else month, 1 if day is None else day)
    except ValueError:
        return None
    return Asked(year, month, min(day, 28) if day and month == 2 and year is None else day)  # noqa: PLR2004  # February


def _relative(text: str, today: date) -> list[Asked]:
    back: list[tuple[str, int]] = [
        (each["unit"], int(_COUNTS.get(each["count"]) or each["count"])) for each in _AGO.finditer(text)
    ]
    days = [_DAYS.index(each["what"]) for each in _LAST.finditer(text) if each["what"] in _DAYS]
    back += [(each["what"], 1) for each in _LAST.finditer(text) if each["what"] in _LENGTHS]
    back += [("day", 1)] * ("yesterday" in text) + [("day", 0)] * ("today" in text)
    then = [(unit, _before(today, _LENGTHS[unit] * count)) for unit, count in back]
    return [
        *(Asked(on.year) if unit == "year" else Asked(on.year, on.month, None if unit == "month" else on.day)
          for unit, on in then),
        *(_exactly(_before(today, (today.weekday() - day - 1) % 7 + 1)) for day in days),
    ]  # fmt: skip


def _before(today: date, days: int) -> date:
    return date.fromordinal(max(1, today.toordinal() - days))


def _exactly(on: date) -> Asked:
    return Asked(on.year, on.month, on.day)
