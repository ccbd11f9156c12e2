"""Finds, by their text, the evidence turns of a question that a prompt contains."""

import html
import re
from collections.abc import Iterable

from demo_reading import Question, Turn

__all__ = ["find_evidence", "normalize_text"]

_QUOTE = re.compile(r"^> ?", re.MULTILINE)


def normalize_text(text: str) -> str:
    """A text without quote marks, HTML escapes and line breaks."""
    return " ".join(html.unescape(_QUOTE.sub("", text)).split())


def find_evidence(question: Question, prompt: Iterable[str]) -> tuple[Turn, ...]:
    """The evidence turns whose whole text is in the prompt; truncated ones do not count."""
    whole = [normalize_text(text) for text in prompt]
    return tuple(turn for turn in question.evidence if any(normalize_text(turn.text) in text for text in whole))
