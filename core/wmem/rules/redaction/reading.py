"""A text as the finders read it: digits and letters in their plain forms, without what nobody sees."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from wmem.fork import cached_property

# Soft hyphens, joiners, marks of direction, variation selectors, tags: they may stand within a value.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]+"
)
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
    ord("。"): ".",
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
_NO_LETTERS = str.maketrans({chr(code): " " for code in range(128) if not chr(code).isalpha()})
_DIGIT = re.compile("[0-9]")
_WORD = re.compile(r"[^\W\d_]+")
_TO_SPACE = str.maketrans("_-./", "    ")
# Scripts whose words are not set apart, or carry endings: labels are found in the middle of a word, too.
_UNSPACED = re.compile("[\u0590-\u0fff\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


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


def find_places(text: str, part: str) -> Iterator[int]:
    """Where each of the parts of a text that are equal to a given one ends."""
    at = text.find(part)
    while at >= 0:
        at += len(part)
        yield at
        at = text.find(part, at)


class Reading:
    """A text as the finders read it.

    Attributes:
        text: In plain forms.
        lower: The same in small letters, of the same length.
    """

    def __init__(self, text: str) -> None:
        self._offsets: Sequence[int] | None = None
        if not text.isascii():
            if _UNSEEN.search(text):
                text = self._drop_unseen(text)
            if _FOLDABLE.search(text):
                text = text.translate(_plain_forms())
        self.text = text
        lower = text.lower()
        self.lower = lower if len(lower) == len(text) else "".join(char.lower()[:1] for char in text)

    def _drop_unseen(self, text: str) -> str:
        """The text without them, and where its characters stood."""
        pieces: list[str] = []
        offsets: list[int] = []
        at = 0
        for match in _UNSEEN.finditer(text):
            pieces.append(text[at : match.start()])
            offsets += range(at, match.start())
            at = match.end()
        pieces.append(text[at:])
        offsets += range(at, len(text))
        self._offsets = offsets
        return "".join(pieces)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where a stretch of what was read stands in the text itself."""
        if self._offsets is None or start >= end:
            return start, end
        return self._offsets[start], self._offsets[end - 1] + 1

    @cached_property
    def has_digit(self) -> bool:
        """Whether there is a digit."""
        return _DIGIT.search(self.text) is not None

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words in small letters, without digits and underscores."""
        lower = self.lower
        return frozenset(lower.translate(_NO_LETTERS).split() if lower.isascii() else _WORD.findall(lower))

    @cached_property
    def longest(self) -> int:
        """The length of the longest stretch without white space."""
        return max(map(len, self.text.split()), default=0)

    @cached_property
    def with_spaces(self) -> str:
        """In small letters, with spaces for what joins the words of a name."""
        return self.lower.translate(_TO_SPACE)

    @cached_property
    def is_unspaced(self) -> bool:
        """Whether it has words of scripts that do not set words apart."""
        return not self.text.isascii() and _UNSPACED.search(self.text) is not None
