"""The words of a sentence, as frames compare them."""

import re
from typing import NamedTuple

_ABBREVIATED = 4  # characters of "e.g." and the like; a full stop behind them is one of an address
_MARKS = ",:;()*_.!।"
_ELIDED = re.compile(r"\b([jldnsm]')(?=\w)", re.IGNORECASE)
_SHORT = re.compile(
    r"(?P<verb>\w{2,5})n't\b|'(?P<am>m)\b|(?<=\b(?:it|he))'s\b|(?P<own>\w)'s?(?= )|'re\b", re.IGNORECASE
)
_SAME = (
    ("can't", "can not"),
    ("won't", "will not"),
    ("any more", "anymore"),
    ("no longer", "not longer"),
    (" years old", " years"),
    (", it's ", " but "),
    (", it is ", " but "),
)
"""What is written in two ways, or as one thing."""


class Word(NamedTuple):
    """A word in lower case.

    Attributes:
        named: Whether it is written like a name or a number.
        parts: The comma or the colon behind it; "" for none.
    """

    text: str
    named: bool
    parts: str = ""


def split_words(text: str) -> list[Word]:
    """The words of a sentence, without contractions and the ending of a possessive."""
    shown = text.replace("’", "'").replace("ʼ", "'")
    for one, other in _SAME:
        shown = shown.replace(one, other)
    if "'" in shown:
        shown = _ELIDED.sub(r"\1 ", _SHORT.sub(_expand, f"{shown} "))
    return [_to_word(each) for each in shown.split() if each.strip(_MARKS)]


def _to_word(each: str) -> Word:
    bare = each.strip(_MARKS)
    named = bare[0].isupper() or any(char.isdigit() or char in "@_" for char in bare) or "." in bare[_ABBREVIATED:]
    return Word(bare.lower(), named, each[-1] if each[-1] in ",:" else "")


def _expand(match: "re.Match[str]") -> str:
    if match["verb"]:
        return f"{match['verb']} not"
    if match["am"]:
        return " am"
    if match["own"]:
        return match["own"]
    return " are" if match.group().lower() == "'re" else " is"
