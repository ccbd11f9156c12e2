"""A text as the finders read it: digits and letters in their plain forms, without what nobody sees."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

# Soft hyphens, joiners, marks of direction, variation selectors, tags: they may stand within a value.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]+"
)
_ESCAPE = re.compile(r"\\[nrt]|%(?:[2-6][0-9A-F]|7[0-9A-E]|0[9AD])")
"""What stands for a character: in texts of code and JSON, in URLs and forms."""
_ESCAPE_BEFORE_WORD = re.compile(rf"(?:{_ESCAPE.pattern})\w")
"""Where it matters: a value or its label would begin within a word."""
_POINT_WITHIN = re.compile("(?<=[A-Za-z0-9])。(?=[A-Za-z0-9])")
_COMPATIBLE = (
    (0x00A0, 0x00A0),  # no-break space
    (0x00B2, 0x00B9),  # superscripts
    (0x1680, 0x1680),
    (0x2000, 0x200A),  # spaces
    (0x202F, 0x205F),
    (0x2070, 0x2089),  # superscripts, subscripts
    (0x2460, 0x24FF),  # in circles
    (0x3000, 0x3000),
    (0xFE50, 0xFE6B),  # small forms
    (0xFF01, 0xFF5E),  # full width
    (0x1D400, 0x1D7FF),  # of mathematics
    (0x1F100, 0x1F189),
)
_OTHERWISE = {
    **dict.fromkeys(map(ord, "‐‑‒–—―−﹣－"), "-"),
    **dict.fromkeys(map(ord, "“”„‟«»″"), '"'),
    **dict.fromkeys(map(ord, "‘’‚‛′"), "'"),
    **dict.fromkeys(map(ord, "\u2028\u2029\u0085"), "\n"),
    ord("İ"): "I",
    ord("、"): ",",
    ord("「"): '"',
    ord("」"): '"',
    ord("『"): '"',
    ord("』"): '"',
}
_FOLDABLE = re.compile(
    "["
    + "".join(f"{chr(low)}-{chr(high)}" for low, high in _COMPATIBLE)
    + "".join(map(chr, _OTHERWISE))
    + r"]|[^\D0-9]"
)
_WORD = re.compile(r"[^\W\d_]+")
_ASCII_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_DIGITS = b"0123456789"
_CAPITALS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NO_SIGNS = _ASCII_LETTERS + b" ,'!?\"" + bytes(range(128, 256))
_NO_DIGITS = bytes(set(range(256)) - {*_DIGITS})
_SMALL_LETTERS = bytes(code | 32 if code in _ASCII_LETTERS else 32 for code in range(256))
_CAPITALS_ONLY = bytes(65 if code in _DIGITS + _CAPITALS else 32 if code in b" " else 0 for code in range(256))
_RUNS_ONLY = bytes(97 if code in _ASCII_LETTERS + _DIGITS + b"_-" else 32 for code in range(256))
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_TO_SPACE = str.maketrans("_-./", "    ")
# Scripts whose words are not set apart, or carry endings: labels are found in the middle of a word, too.
_UNSPACED = re.compile("[\u0590-\u0fff\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_PART_OF_WORD = re.compile(r"[^\W\d_\u0590-\u11ff\u3040-\ufaff]+|[\u0590-\u11ff\u3040-\ufaff]+")
"""A word, or what is of one script of it: `IMEI` in `IMEI是`."""


@cache
def _plain_forms() -> Mapping[int, str]:
    forms: dict[int, str] = {}
    for low, high in _COMPATIBLE:
        for code in range(low, high + 1):
            if len(form := unicodedata.normalize("NFKC", chr(code))) == 1:
                forms[code] = form
    for code in range(0x80, 0x1FBFA):
        if (digit := unicodedata.decimal(chr(code), None)) is not None:
            forms[code] = str(digit)
    return forms | _OTHERWISE


def split_name(name: str) -> str:
    """The name of a field with blanks between the words that only capitals set apart."""
    return CAMEL.sub(" ", name)


def list_readings(text: str) -> Sequence["Reading"]:
    """The ways to read a text: as it is and, where characters are escaped in it, with these in their place."""
    reading = Reading(text)
    if ("\\" in text or "%" in text) and _ESCAPE_BEFORE_WORD.search(text):
        return reading, Reading(text, unescapes=True)
    return (reading,)


def _unescape(escape: "re.Match[str]") -> str:
    """A line break as a blank and a line break, as long as what stands for it."""
    return {"\\n": " \n", "\\r": "  ", "\\t": "  "}.get(escape[0]) or chr(int(escape[0][1:], 16))


def find_places(text: str, part: str) -> Iterator[int]:
    """Where each of the parts of a text that are equal to a given one ends."""
    at = text.find(part)
    while at >= 0:
        at += len(part)
        yield at
        at = text.find(part, at)


class Reading:
    """A text as the finders read it.

    What it has of signs, digits, words and runs says which finders can find nothing: a part of a text has no more.

    Attributes:
        text: In plain forms.
        lower: The same in small letters, of the same length.
        digits: All of its digits.
        signs: All of its ASCII characters but letters, digits, blanks, commas, quotation, exclamation and question marks.
    """

    __slots__ = (
        *("_bytes", "_capitals", "_ends", "_is_unspaced", "_offsets", "_runs", "_with_spaces", "_words"),
        *("digits", "lower", "signs", "text"),
    )

    def __init__(self, text: str, *, unescapes: bool = False) -> None:
        self._offsets: Sequence[int] | None = None  # of what was read: where it stands, and where that ends
        self._ends: Sequence[int] | None = None
        self._words: Sequence[str] | None = None
        self._with_spaces: str | None = None
        self._runs: str | None = None
        self._capitals: str | None = None
        self._is_unspaced: bool | None = None
        if unescapes:
            text = self._rewrite(text, _ESCAPE, _unescape)
        if not text.isascii():
            if _UNSEEN.search(text):
                text = self._rewrite(text, _UNSEEN, lambda _: "")
            if _FOLDABLE.search(text):
                text = text.translate(_plain_forms())
            if "。" in text:
                text = _POINT_WITHIN.sub(".", text)
        self.text = text
        lower = text.lower()
        self.lower = lower if len(lower) == len(text) else "".join(char.lower()[:1] for char in text)
        self._bytes = text.encode("utf-8", "surrogatepass")
        rest = self._bytes.translate(None, _NO_SIGNS)
        self.digits = rest.translate(None, _NO_DIGITS)
        self.signs = rest.translate(None, _DIGITS).decode("ascii")

    def _rewrite(self, text: str, pattern: "re.Pattern[str]", rewrite: "Callable[[re.Match[str]], str]") -> str:
        """The text with something else for what a pattern matches, and where its characters stood."""
        starts, ends = self._offsets or range(len(text)), self._ends or range(1, len(text) + 1)
        pieces: list[str] = []
        new_starts: list[int] = []
        new_ends: list[int] = []
        at = 0
        for match in pattern.finditer(text):
            made = rewrite(match)
            pieces += text[at : match.start()], made
            new_starts += starts[at : match.start()]
            new_ends += ends[at : match.start()]
            new_starts += [starts[match.start()]] * len(made)
            new_ends += [ends[match.end() - 1]] * len(made)
            at = match.end()
        pieces.append(text[at:])
        self._offsets = [*new_starts, *starts[at:]]
        self._ends = [*new_ends, *ends[at:]]
        return "".join(pieces)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where a stretch of what was read stands in the text itself."""
        if self._offsets is None or self._ends is None or start >= end:
            return start, end
        return self._offsets[start], self._ends[end - 1]

    @property
    def words(self) -> Sequence[str]:
        """Its words in small letters, without digits and underscores, each as often as it stands there."""
        if self._words is None:
            if self.text.isascii():
                self._words = self._bytes.translate(_SMALL_LETTERS).decode("ascii").split()
            else:
                self._words = (_PART_OF_WORD if self.is_unspaced else _WORD).findall(self.lower)
        return self._words

    @property
    def runs(self) -> str:
        """Its bytes with ``a`` for Latin letters, digits, hyphens and underscores, and blanks for all else."""
        if self._runs is None:
            self._runs = self._bytes.translate(_RUNS_ONLY).decode("ascii")
        return self._runs

    @property
    def capitals(self) -> str:
        """Its bytes with ``A`` for Latin capitals and digits, and no other letters; blanks stay."""
        if self._capitals is None:
            self._capitals = self._bytes.translate(_CAPITALS_ONLY).decode("ascii")
        return self._capitals

    @property
    def longest(self) -> int:
        """The length of the longest stretch without white space."""
        return max(map(len, self.text.split()), default=0)

    @property
    def with_spaces(self) -> str:
        """In small letters, with spaces for what joins the words of a name."""
        if self._with_spaces is None:
            self._with_spaces = self.lower.translate(_TO_SPACE)
        return self._with_spaces

    @property
    def is_unspaced(self) -> bool:
        """Whether it has words of scripts that do not set words apart."""
        if self._is_unspaced is None:
            self._is_unspaced = not self.text.isascii() and _UNSPACED.search(self.text) is not None
        return self._is_unspaced
