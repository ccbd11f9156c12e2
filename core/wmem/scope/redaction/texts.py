"""Redaction of a text that leaves a memory, and what a quote of it says in its own words."""

from wmem.rules.redaction import Redaction
from wmem.rules.redaction.spans import find_marks


def redact_text(redaction: Redaction | None, text: str) -> str:
    """A text as it may leave this memory; None redacts nothing."""
    return text if redaction is None else redaction.redact(text).text


def restore_quote(redaction: Redaction, text: str, redacted: str, quote: str) -> str:
    """What a quote of a redacted text says in the text itself; the quote where that is not certain."""
    begin = redacted.find(quote)
    if begin < 0 or not find_marks(quote):
        return quote
    first, last = (_find_place(text, redacted, at) for at in (begin, begin + len(quote)))
    said = "" if first is None or last is None else text[first:last]
    return said if redaction.redact(said).text == quote else quote


def _find_place(text: str, redacted: str, offset: int) -> int | None:
    """Where in a text a place of its redacted form is; None if it cannot be told."""
    marks = find_marks(redacted)
    place, at = 0, 0  # up to where both are read
    for (begin, end), (following, _) in zip(marks, [*marks[1:], (len(redacted), 0)], strict=True):
        if offset <= begin:
            break
        between = redacted[end:following]
        if following == len(redacted):
            place = len(text) - len(between)
        elif not between or (place := text.find(between, place + begin - at + 1)) < 0:
            return None
        at = end
    return place + offset - at
