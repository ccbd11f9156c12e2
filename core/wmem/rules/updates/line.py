"""Lines like ``key: value``, which state one value of one thing, and no entry of a log or a list.

Of what a record tells in its fields there are many: a date, a price, an expense. What is read so far of a key is dropped
unless the key names what has one value, and the value is all that stands behind it.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from wmem.rules.updates.english import ENGLISH
from wmem.rules.updates.frames.english import ENGLISH as ENGLISH_FRAMES
from wmem.rules.updates.frames.lexicon import words
from wmem.rules.updates.frames.numbers import is_month
from wmem.rules.updates.statement import Statement
from wmem.rules.updates.values import is_qualified

_KEY = re.compile(r"\w[\w .-]{0,39}")
_MAX_VALUE_CHARS = 80
_MAX_VALUE_WORDS = 5
_LISTED = frozenset(',;{[(="`\\')
"""Characters of a list, of code, and of what is more than one value."""
_NUMBER = re.compile(r"\d[\d,.]{0,15}")
_GROUPED = re.compile(r"(?<=\d),(?=\d{3})")
_SORTS = words(
    "user human assistant ai bot agent system tool function developer fact note observation thought action question answer result "
    "output input error reminder fyi quote message example log response reply comment memory episode"
)
"""Words that, alone before a colon, tell who speaks or of what sort a text is, and not what has a value."""
_FIELDS = words(
    "date time day start end begin from to duration departure arrival title subject headline amount sum total subtotal price cost fee "
    "score grade rating count value number id name email e-mail phone telephone address url link language type kind category topic "
    "location place room definition given description summary current previous distance speed reading item entry record"
)
"""Fields of records of which there are many: alone, they do not say of what."""
_LAST = words(
    "price fee score amount number id said says asked asks wrote writes see saw heard answered replied expense payment visit session"
)
"""The last words of what is in many records, or leads to what somebody said: "Economy price", "Ann said"."""
_FIRST = words("total number sum")
"""The first words of what is counted: "Total number of pages"."""


class Line(NamedTuple):
    """A line with a key and a value, both in lower case."""

    key: str
    value: str

    def keep(self, statements: Iterable[Statement]) -> Iterator[Statement]:
        """Those of the statements that "my key is value" makes that hold for a line, too: it ends the one before."""
        for each in statements:
            if not is_qualified(self.value, ENGLISH, dated=each.kind in ("day", "time")):
                yield each._replace(changes=True, single=True)


def split_line(text: str) -> Line | None:
    """The key and value of a line like ``key: value`` that states one value of one thing; None for any other text."""
    if "\n" in text.strip():
        return None
    key, colon, value = text[: 2 * _MAX_VALUE_CHARS].strip().partition(": ")
    value = value.rstrip(" .!")
    if not colon or not value or len(value) > _MAX_VALUE_CHARS or _KEY.fullmatch(key) is None:
        return None
    line = Line(" ".join(key.lower().replace("_", " ").split()), value.lower())
    return line if line.key and _names_one(line) and _is_one_value(line.value) else None


def _names_one(line: Line) -> bool:
    """Whether a key names one thing or one attribute, and none of several or what happens several times."""
    told = line.key.split()
    last = told[-1]
    if line.key in _SORTS or line.key in _FIELDS or last in _LAST or told[0] in _FIRST:
        return False
    if any(word in ENGLISH.days or is_month(word) or word[0].isdigit() for word in told):
        return False  # an entry of a log or a list
    if last in ENGLISH_FRAMES.several or last.removesuffix("s") in ENGLISH_FRAMES.several:
        return False
    plural = last.endswith("s") and not last.endswith(("ss", "us", "is"))
    return not plural or _NUMBER.fullmatch(line.value) is not None


def _is_one_value(value: str) -> bool:
    """Whether a text is short, and neither a list nor code nor a sentence."""
    plain = _GROUPED.sub("", value)
    return len(plain.split()) <= _MAX_VALUE_WORDS and _LISTED.isdisjoint(plain)
