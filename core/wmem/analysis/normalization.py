"""Normalization of text for comparison (NFKC and case), in time linear in its length."""

import re
import unicodedata

# The order of combining marks is sorted by insertion: 40,000 of them in a row would take a second. Unicode's
# stream-safe format (UAX #15) allows 30 in a row; more are cut into runs by a joiner that changes no meaning.
_LONG_RUN_OF_MARKS = re.compile(r"([^\w\s\x00-\x7f]{30})(?=[^\w\s\x00-\x7f])")
_JOINER = "\u034f"


def normalize_nfkc(text: str) -> str:
    """A text in NFKC; a joiner stands after every 30 of more combining marks in a row."""
    return unicodedata.normalize("NFKC", _LONG_RUN_OF_MARKS.sub(rf"\1{_JOINER}", text))


def fold(text: str) -> str:
    """A text folded for comparison: NFKC, then case, then NFKC again, as casefolding can undo it."""
    return text.lower() if text.isascii() else normalize_nfkc(normalize_nfkc(text).casefold())
