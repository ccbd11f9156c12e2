"""Values as people write them, in one form: numbers, times, days, states and words."""

import re
from collections.abc import Iterator
from functools import cache

from wmem.rules.updates.table import StatementTable, compile_pattern

_NEAR = (
    r"(?:(?:about|around|approximately|roughly|almost|exactly|only|just|at|on|in|for|by|every|each|the|this|next|coming|ca|etwa|rund|auf|am|um|bei|zu|im"
    r"|der|den|dem|environ|à|au|de|du|le|en|a|al|el|los|unos) ){0,2}"
)
_TIME = re.compile(
    r"\b(?P<hour>[01]?\d|2[0-4])(?:[:.](?P<minute>[0-5]\d))? ?(?P<half>am|pm|a\.m\.?|p\.m\.?)(?!\w)"
    r"|\b(?P<hour2>[01]?\d|2[0-4])(?::(?P<minute2>[0-5]\d)(?!\d)| ?(?:o'clock|uhr|h\b)(?P<minute3>[0-5]\d)?)|\b(?P<noon>noon|midnight)\b"
)
_HOUR = re.compile(
    r"\b(?:at|until|till|by|from|um|à) (?P<hour>[01]?\d|2[0-4])(?P<half>)(?P<minute>)(?P<hour2>)(?P<minute2>)(?P<minute3>)(?P<noon>)(?![\w.:%]|,\d)(?! ?(?:%|percent|degrees|euros|dollars|kg|km))"
)
_AWAY = re.compile(r"\A(?:up|out|off|down|back) (?=at |on |until )")
_ISO = re.compile(r"\b(?:19|20)\d\d-(?P<month>\d{1,2})-(?P<day>\d{1,2})\b")
_NUMBER = re.compile(
    r"(?:[$€£¥]|us\$|eur |usd |chf )? ?(?P<number>\d{1,3}(?:[,' ]\d{3}){1,4}(?:\.\d{1,2})?|\d{1,12}(?:[.,]\d{1,4})?)"
    r" ?(?P<scale>k|m|million|thousand)?(?! ?\d|[.:/-]*\w)|(?:[$€£¥]) ?(?P<short>\d{1,6}(?:\.\d)?)(?P<scale2>k|m)\b"
)
_NUMBERED = re.compile(r"(?P<thing>port|room|gate|platform|version|floor|building|line|seat|track|page|desk) ")
_MARKS = ".,;:!?\"'()[]*_~"
_SCALES = {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6}
_NOON = 12
_MAX_WORDS = 4
MAX_PLACE_WORDS = 2  # behind a comma that say where a place is: "Hamburg, Germany"


def read_values(text: str, table: StatementTable) -> Iterator[tuple[str, str]]:
    """The kinds and values that a text begins with: a number or a state, else a day, a time, or both."""
    text = _AWAY.sub("", text)
    begin = compile_pattern(_NEAR).match(text)
    start = begin.end() if begin else 0
    time = _TIME.search(text) or _HOUR.search(text)
    when = day = _find_day(text, table)
    if day is not None and day[0] <= start + (time.end() if time else 0):
        yield "day", day[1]
    if time is not None and (time.start() <= start or when is not None):
        yield "time", _to_time(time)
    if day is not None or (time is not None and time.start() <= start):
        return
    of = _NUMBERED.match(text, start)
    number = _NUMBER.match(text, of.end() if of else start)
    if number is not None:
        yield f"number {of['thing']}" if of else "number", _to_number(number)
        return
    word, _, rest = text[start:].partition(" ")
    word = word.strip(_MARKS)
    if word in table.numbers:
        yield "number", table.numbers[word]
    elif word in table.states and len(rest.split()) <= _MAX_WORDS:
        yield "status", table.states[word]


def read_words(text: str, table: StatementTable) -> str:
    """The words of a value, up to one at which it ends; empty for what is none."""
    words: list[str] = []
    said = text.split()
    for at, each in enumerate(said, 1):
        word = each.strip(_MARKS)
        if word in table.first_person:
            return ""
        if not word or (word in table.stops and not (words and words[-1] == "of")):
            if words:
                break
            continue
        if word in table.empty:
            if not words and word in table.articles | table.owners:
                continue
            if not words:
                return ""
            break
        words.append(word)
        ends = each[-1:] in ";:!?" or (each[-1:] == "," and len(said) - at > MAX_PLACE_WORDS)
        if len(words) == _MAX_WORDS or ends:
            break
    return " ".join(words)


def is_qualified(text: str, table: StatementTable, *, dated: bool) -> bool:
    """Whether a value is followed by what it holds for: 40 euros for lunch, 9:00 in Graz, 40 euros a day.

    Args:
        dated: Whether it is a day or a time, which may have the other one behind it: 3 May at 9.
    """
    words = [word.strip(_MARKS) for word in text.split()]
    joints = table.stops | table.articles
    begin = next((at for at, word in enumerate(words) if word not in joints), len(words))
    for at in range(begin + 1, len(words)):
        if words[at] not in joints:
            continue
        told = next((word for word in words[at:] if word and word not in joints), "")
        if told and not (dated and (told[0].isdigit() or told in table.days or told in ("noon", "midnight"))):
            return True
    return False


def _find_day(text: str, table: StatementTable) -> tuple[int, str] | None:
    """Where a day begins, and which: of a month, or of the week."""
    if (iso := _ISO.search(text)) is not None:
        return iso.start(), f"{int(iso['month'])}-{int(iso['day'])}"
    months = _months(table)
    dated = compile_pattern(
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.|er)? {{0,2}}(?:of |de )?(?P<month>{months})\w{{0,7}}\b"
        rf"|\b(?P<month2>{months})\w{{0,7}}\.? (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b|\bthe (?P<day3>\d{{1,2}})(?:st|nd|rd|th)\b"
    ).search(text)
    if dated is not None:
        month, day = dated["month"] or dated["month2"] or "", dated["day"] or dated["day2"] or dated["day3"]
        return dated.start(), f"{months.split('|').index(month) + 1 if month else ''}-{int(day)}"
    found = [
        (match.start(), table.days[match.group()])
        for match in re.finditer(r"[^\W\d_]+", text)
        if match.group() in table.days
    ]
    return (found[0][0], " ".join(sorted({day for _, day in found}))) if found else None


@cache
def _months(table: StatementTable) -> str:
    return "|".join(table.months.split())


def _to_time(match: "re.Match[str]") -> str:
    if match["noon"]:
        return "12:00" if match["noon"] == "noon" else "0:00"
    hour = int(match["hour"] or match["hour2"])
    if match["half"]:
        hour = hour % _NOON + (_NOON if match["half"].startswith("p") else 0)
    return f"{hour}:{match['minute'] or match['minute2'] or match['minute3'] or '00'}"


def _to_number(match: "re.Match[str]") -> str:
    digits = match["number"] or match["short"]
    parts = re.split(r"[,' ]", digits)
    grouped = len(parts) > 1 and all(len(part.partition(".")[0]) == 3 for part in parts[1:])  # noqa: PLR2004  # thousands
    plain = "".join(parts) if grouped else digits.replace(",", ".")
    return f"{float(plain) * _SCALES.get(match['scale'] or match['scale2'] or '', 1.0):g}"
