"""Whether a prompt holds the turns that a question's answer stands in, told by their text alone."""

import html
import re
from collections.abc import Iterable

from demo_reading import Question, Turn

__all__ = ["kept", "plain"]

_QUOTE = re.compile(r"^> ?", re.MULTILINE)


def plain(text: str) -> str:
    """A text without what quoting does to it: marks before its lines, escapes, and line breaks."""
    return " ".join(html.unescape(_QUOTE.sub("", text)).split())


def kept(question: Question, prompt: Iterable[str]) -> tuple[Turn, ...]:
    """The evidence turns whose whole text is in the prompt; one that was cut does not count."""
    whole = [plain(text) for text in prompt]
    return tuple(turn for turn in question.evidence if any(plain(turn.text) in text for text in whole))
