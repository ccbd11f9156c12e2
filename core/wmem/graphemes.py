"""Where a text may be cut: between grapheme clusters, what readers see as one character.

After Unicode's annex 29, from the categories of the interpreter's own `unicodedata` and a few
ranges that these do not tell.
"""

import unicodedata
from typing import Literal, TypeAlias

_Kind: TypeAlias = Literal[
    "other", "control", "extend", "joiner", "flag", "prepend", "spacing", "l", "v", "t", "lv", "lvt", "pictograph"
]  # fmt: skip

_MAX_CLUSTER_CHARS = 1_024  # characters of a cluster that are looked at; a longer one is a prank, and is cut

_FIRST_JOINING = "\u00a9"  # the first character that is neither ASCII nor stands alone
_JOINER = "\u200d"
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
_KIND_BY_RANGE: tuple[tuple[int, int, _Kind], ...] = (
    # Letters that are consonants and vowels of Hangul.
    (0x1100, 0x115F, "l"), (0x1160, 0x11A7, "v"), (0x11A8, 0x11FF, "t"),
    (0xA960, 0xA97C, "l"), (0xD7B0, 0xD7C6, "v"), (0xD7CB, 0xD7FB, "t"),
    # Marks that their category does not tell: Thai and Lao vowels, half-width marks, skin tones, tags.
    (0x0E33, 0x0E33, "spacing"), (0x0EB3, 0x0EB3, "spacing"), (0x200C, 0x200C, "extend"), (0xFF9E, 0xFF9F, "extend"),
    (0x1F3FB, 0x1F3FF, "extend"), (0xE0020, 0xE007F, "extend"), (0x1F1E6, 0x1F1FF, "flag"),
    # Signs that stand before the digits or letters they cover.
    (0x0600, 0x0605, "prepend"), (0x06DD, 0x06DD, "prepend"), (0x070F, 0x070F, "prepend"),
    (0x0890, 0x0891, "prepend"), (0x08E2, 0x08E2, "prepend"), (0x0D4E, 0x0D4E, "prepend"),
    (0x110BD, 0x110BD, "prepend"), (0x110CD, 0x110CD, "prepend"), (0x111C2, 0x111C3, "prepend"),
    (0x1193F, 0x1193F, "prepend"), (0x11941, 0x11941, "prepend"), (0x11A3A, 0x11A3A, "prepend"),
    (0x11A84, 0x11A89, "prepend"), (0x11D46, 0x11D46, "prepend"), (0x11F02, 0x11F02, "prepend"),
    # Pictographs, coarsely: it only matters for those that a joiner joins.
    (0x00A9, 0x00A9, "pictograph"), (0x00AE, 0x00AE, "pictograph"), (0x203C, 0x203C, "pictograph"),
    (0x2049, 0x2049, "pictograph"), (0x2122, 0x2122, "pictograph"), (0x2139, 0x2139, "pictograph"),
    (0x2190, 0x27BF, "pictograph"), (0x2900, 0x2BFF, "pictograph"), (0x3030, 0x3030, "pictograph"),
    (0x303D, 0x303D, "pictograph"), (0x3297, 0x3297, "pictograph"), (0x3299, 0x3299, "pictograph"),
    (0x1F000, 0x1F1E5, "pictograph"), (0x1F200, 0x1FAFF, "pictograph"), (0x1FC00, 0x1FFFD, "pictograph"),
)  # fmt: skip
_KIND_BY_CATEGORY: dict[str, _Kind] = {
    **dict.fromkeys(("Mn", "Me"), "extend"),
    "Mc": "spacing",
    **dict.fromkeys(("Cc", "Cf", "Zl", "Zp"), "control"),
}
# Marks with a width that Unicode counts among letters.
_NO_MARKS = frozenset(
    "\u102b\u102c\u1038\u1062\u1063\u1064\u1067\u1068\u1069\u106a\u106b\u106c\u106d\u1083\u1087\u1088\u1089\u108a\u108b"
    "\u108c\u108f\u109a\u109b\u109c\u1a61\u1a63\u1a64\uaa7b\uaa7d\U00011720\U00011721"
)
_FIRST_SYLLABLE, _LAST_SYLLABLE, _SYLLABLES_PER_VOWEL = 0xAC00, 0xD7A3, 28
_HANGUL_FOLLOWERS: dict[_Kind, tuple[_Kind, ...]] = {
    "l": ("l", "v", "lv", "lvt"),
    **dict.fromkeys(("v", "lv"), ("v", "t")),
    **dict.fromkeys(("t", "lvt"), ("t",)),
}
# Signs that join two consonants of Devanagari, Bengali, Gujarati, Oriya, Telugu and Malayalam.
_LINKERS = "\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d"
_SCRIPT_MASK = ~0x7F  # these scripts have a block of 128 characters each


def cut_before(text: str, at: int) -> int:
    """The last place up to `at` that is not within a cluster."""
    if not 0 < at < len(text):
        return max(0, min(at, len(text)))
    least = max(0, at - _MAX_CLUSTER_CHARS)
    place = at
    while place > least and is_within_cluster(text, place):
        place -= 1
    return place if place > least or not least else at


def cut_after(text: str, at: int) -> int:
    """The first place from `at` on that is not within a cluster."""
    if not 0 < at < len(text):
        return max(0, min(at, len(text)))
    most = min(len(text), at + _MAX_CLUSTER_CHARS)
    place = at
    while place < most and is_within_cluster(text, place):
        place += 1
    return place if place < most or most == len(text) else at


def is_within_cluster(text: str, at: int) -> bool:
    """Whether a cut before the character at `at` would split a cluster.

    Source: Unicode Standard Annex 29, rules GB3 to GB13.
    """
    before, after = text[at - 1], text[at]
    if after < _FIRST_JOINING and before < _FIRST_JOINING:
        return before == "\r" and after == "\n"
    left, right = _kind(before), _kind(after)
    if left == "control" or right == "control":
        return False
    if right in ("extend", "joiner", "spacing") or left == "prepend":
        return True
    if right == "flag" and left == "flag":
        return _count_flags(text, at) % 2 == 1
    if right == "pictograph" and left == "joiner":
        return _is_joined_pictograph(text, at - 1)
    return right in _HANGUL_FOLLOWERS.get(left, ()) or _is_conjunct(text, at)


def _kind(char: str) -> _Kind:
    if char < _FIRST_JOINING:
        return "control" if unicodedata.category(char) == "Cc" else "other"
    if char == _JOINER:
        return "joiner"
    number = ord(char)
    if _FIRST_SYLLABLE <= number <= _LAST_SYLLABLE:
        return "lvt" if (number - _FIRST_SYLLABLE) % _SYLLABLES_PER_VOWEL else "lv"
    for first, last, kind in _KIND_BY_RANGE:
        if first <= number <= last:
            return kind
    if char in _NO_MARKS:
        return "other"
    return _KIND_BY_CATEGORY.get(unicodedata.category(char), "other")


def _count_flags(text: str, at: int) -> int:
    """How many letters of flags stand directly before a place; two make a flag."""
    until = text[:at]
    return at - len(until.rstrip(_FLAG_LETTERS))


def _is_joined_pictograph(text: str, joiner: int) -> bool:
    """Whether a pictograph, perhaps with marks, stands before a joiner."""
    place, least = joiner - 1, max(0, joiner - _MAX_CLUSTER_CHARS)
    while place > least and _kind(text[place]) == "extend":
        place -= 1
    return place >= 0 and _kind(text[place]) == "pictograph"


def _is_conjunct(text: str, at: int) -> bool:
    """Whether the consonant at a place is joined to one before it."""
    if unicodedata.category(text[at]) != "Lo":
        return False
    place, least, linked = at - 1, max(0, at - _MAX_CLUSTER_CHARS), False
    while place > least and _kind(text[place]) in ("extend", "joiner"):
        linked = linked or text[place] in _LINKERS
        place -= 1
    same_script = ord(text[place]) & _SCRIPT_MASK == ord(text[at]) & _SCRIPT_MASK
    return linked and same_script and unicodedata.category(text[place]) == "Lo"
