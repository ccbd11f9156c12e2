"""Plain spelling: letters without what is often left out or written otherwise, and digits as ASCII.

Accents of Latin, Greek and Cyrillic letters, points of Hebrew and Arabic, forms of alef and ta marbuta, the digits of
every script. What makes another letter of its language stays: the breve of Cyrillic й, syllables of Hangul, the vowels
of Indian scripts. Traditional Chinese becomes simplified where OpenCC is installed (extra ``chinese``).
"""

import importlib.util
import re
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache

_LATIN = r"\u00df-\u024f\u1e00-\u1eff"
_GREEK = r"\u0370-\u03ff\u1f00-\u1fff"
_CYRILLIC = r"\u0450\u0451\u045d\u0483-\u0487"
_HEBREW = r"\u0591-\u05bd\u05bf-\u05c7"
_ARABIC = r"\u0610-\u061a\u0622-\u0671\u06a9\u06be-\u06ed"
_INDIC = r"\u0901\u093c\u09bc\u0a3c\u0abc\u0b3c"
_COMBINING = r"\u0300-\u036f"
# A digit of another script, but for the ASCII ones, stands for itself.
_OTHERWISE_WRITTEN = re.compile(rf"(?:[{_LATIN}{_GREEK}{_CYRILLIC}{_HEBREW}{_ARABIC}{_INDIC}{_COMBINING}]|[^\D0-9])+")
_LETTERS = {
    "đ": "d",
    "ð": "d",
    "ħ": "h",
    "\u0131": "i",
    "ł": "l",
    "ŋ": "n",
    "ø": "o",
    "ŧ": "t",
    "æ": "ae",
    "œ": "oe",
    "þ": "th",
    "\u0629": "\u0647",  # ta marbuta to ha
    "\u0649": "\u064a",  # alef maksura to ya
    "\u0671": "\u0627",  # alef wasla to alef
    "\u0640": "",  # tatweel
    "\u06a9": "\u0643",  # Persian kaf
    "\u06cc": "\u064a",  # Persian ya
    **dict.fromkeys("\u06be\u06c0\u06c1\u06d5", "\u0647"),  # the ha of Persian, Urdu and Kurdish
    "\u0901": "\u0902",  # chandrabindu to anusvara
}
"""What Unicode does not take apart."""
_HAN = range(0x3400, 0xA000)


@cache
def has_simplifier() -> bool:
    """Whether OpenCC is installed."""
    return importlib.util.find_spec("opencc") is not None


def to_plain_spelling(folded: str) -> str:
    """A folded text in plain spelling; Chinese aside, see `to_simplified`."""
    return folded if folded.isascii() else _OTHERWISE_WRITTEN.sub(_replace_letters, folded)


def to_simplified(text: str) -> str:
    """A text with traditional Chinese characters replaced, one by one; unchanged without OpenCC."""
    table = _make_character_table()
    return text.translate(table) if table else text


def _replace_letters(match: "re.Match[str]") -> str:
    return "".join(map(_to_plain_letter, match.group()))


@lru_cache(4_096)
def _to_plain_letter(char: str) -> str:
    if char in _LETTERS:
        return _LETTERS[char]
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    if unicodedata.category(char) == "Mn":
        return ""
    base = unicodedata.normalize("NFD", char)[0]
    return _LETTERS.get(base, base)


@cache
def _make_character_table() -> Mapping[int, str]:
    """Simplified characters by the code points of others, without those that stay."""
    if not has_simplifier():
        return {}
    import opencc

    characters = [chr(code) for code in _HAN]
    # One by one: in a phrase a character may stay, and a query has the characters without the phrase.
    made = opencc.OpenCC("t2s").convert("\n".join(characters)).split("\n")
    return {ord(old): new for old, new in zip(characters, made, strict=True) if old != new and len(new) == 1}
