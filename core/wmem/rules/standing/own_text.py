"""The sentences of a message that are its author's own words.

Code, quotations, tables, logs, markup, transcripts and documents that were pasted are left out: nobody asks for
what he merely shows. Of a long message only the beginning and the end are read; what lies between was pasted.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_WINDOW = 2_000  # characters read at either end of a long message
_MAX_SENTENCE_CHARS = 600
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_FOREIGN_LINE = re.compile(
    r"\s{0,8}(?:[>|{}\[\]<#@$%/+=]|\d{4}-\d\d|\d\d?:\d\d|"
    r"(?:def|class) \w{1,40} ?[(:]|import [\w.]{1,60}$|from [\w.]{1,60} import |(?:const|let|var) \w{1,40} ?=|function \w{0,40}\("
    r"|(?:user|assistant|system|human|ai|bot|agent|customer|developer)\s?: )",
    re.IGNORECASE,
)
_CODE_ENDS = (";", "{", "}")
_SPEAKER = re.compile(r"\s{0,4}[A-Z]\w{1,20}(?: [A-Z]\w{1,20})?: ")
_LETTER = re.compile(
    r"(?:subject|from|to|date|betreff|objet|asunto|sent)\s?: |(?:dear|hi|hello) [\w ]{2,40},$", re.IGNORECASE
)
_RULER = re.compile(r"\s{0,3}(?:-{3,80}|={3,80}|\*{3,80}|_{3,80})\s{0,3}$")
_SHOWN_BELOW = re.compile(
    r"\b(?:translat|summari[sz]|proofread|rewrit|rephras|paraphras|correct|edit|review|improv|analy[sz]|fix|explain|classif"
    r"|übersetz|fass|korrigier|tradui|résum|corrig|traduc|resum|traduz|corrij|riassum|corregg|vertaal|vat|översätt"
    r"|sammanfatt|rätta|перевед|исправ|перескаж|following|below|here(?:'s| is| are)|this|my (?:draft|email|letter|essay))"
    r"\w{0,8}\b[^:\n]{0,120}:(?=\s|$)|(?:翻译|总结|润色|翻訳|要約|添削)[^:：\n]{0,40}[:：]",
    re.IGNORECASE,
)
_RULES_BELOW = re.compile(r"\b(?:rules?|instructions|guidelines|preferences|conventions|requests)\b", re.IGNORECASE)
_QUOTED = re.compile(
    r'(?<!\w)"[^"\n]{0,400}(?:"|$)|“[^”\n]{0,400}(?:”|$)|«[^»\n]{0,400}(?:»|$)|„[^“”"\n]{0,400}(?:[“”"]|$)'
    r"|「[^」\n]{0,400}(?:」|$)|『[^』\n]{0,400}(?:』|$)|(?<!\w)['‘][^'’\n]{1,200}['’](?!\w)|`[^`\n]{1,400}`",
    re.MULTILINE,
)
_QUOTES = frozenset('"“«„「『‘`')
_SENTENCE_END = re.compile(r"[.!?…]{1,8}(?=\s)|[。！？；;]{1,8}|\n{1,8}")
_ABBREVIATION = re.compile(
    r"\b(?:e\.?g|i\.?e|etc|vs|mr|mrs|ms|dr|st|no|approx|z\.b|bzw|ca|p\.?s|sr|sra)$", re.IGNORECASE
)
STRAIGHT = str.maketrans("’‘ʼ", "'''")


class Sentence(NamedTuple):
    """A sentence of a message.

    Attributes:
        start: Where it begins in the message.
        text: It in lower case, with what is quoted hidden; as long as in the message.
        asks: Whether it ends in a question mark.
    """

    start: int
    text: str
    asks: bool


def own_sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a message that are its author's own words, in their order."""
    windows = [(0, text)]
    if len(text) > 2 * _WINDOW:
        windows = [(0, text[:_WINDOW]), (len(text) - _WINDOW, text[-_WINDOW:])]
    lines = _LineFilter()
    for offset, window in windows:
        if offset:
            lines.skip(text[_WINDOW:offset])
        own = lines.hide(window)
        if not _QUOTES.isdisjoint(own) or " '" in own or own[:1] == "'":
            own = _QUOTED.sub(_hide, own)
        shown = to_lower(own)
        yield from _split(shown, offset)


def to_lower(text: str) -> str:
    """A text in lower case, with straight apostrophes, of the same length."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(each if len(each.lower()) != 1 else each.lower() for each in text)
    return lower.translate(STRAIGHT)


def _hide(match: "re.Match[str]") -> str:
    return "x" * len(match.group())


class _LineFilter:
    """Blanks the lines that are not the author's own."""

    def __init__(self) -> None:
        self._in_fence = False
        self._in_tag = ""
        self._is_pasted = False
        self._is_ruled = False

    def skip(self, text: str) -> None:
        """Pass over text that is not read."""
        if text.count("```") % 2:
            self._in_fence = not self._in_fence

    def hide(self, text: str) -> str:
        """The text with blanks for what is shown, and not said."""
        lines = text.split("\n")
        speakers = text.count(": ") > 1 and sum(_SPEAKER.match(line) is not None for line in lines) > 1
        return "\n".join(
            " " * len(line) if speakers and _SPEAKER.match(line) else self._hide_line(line, at)
            for at, line in enumerate(lines)
        )

    def _hide_line(self, line: str, at: int) -> str:
        blank = " " * len(line)
        if _FENCE.match(line):
            self._in_fence = not self._in_fence
            return blank
        if self._in_fence or self._is_pasted or self._closes_tag(line):
            return blank
        if _RULER.match(line):
            self._is_ruled = not self._is_ruled
            return blank
        if self._is_ruled or line.rstrip()[-1:] in _CODE_ENDS or _FOREIGN_LINE.match(line):
            return blank
        if at and _LETTER.match(line):
            self._is_pasted = True
            return blank
        return self._hide_shown(line)

    def _closes_tag(self, line: str) -> bool:
        """Whether a line is inside of markup that began on a line of its own."""
        bare = line.strip()
        if self._in_tag:
            if bare.endswith(f"</{self._in_tag}>"):
                self._in_tag = ""
            return True
        if bare.startswith("<") and bare.endswith(">") and bare[1:-1].isalnum():
            self._in_tag = bare[1:-1]
        return bool(self._in_tag)

    def _hide_shown(self, line: str) -> str:
        """The line up to a colon after which somebody shows a text, rather than says it."""
        shown = _SHOWN_BELOW.search(line) if ":" in line or "：" in line else None
        if shown is None or _RULES_BELOW.search(shown.group()):
            return line
        self._is_pasted = True
        return line[: shown.end()] + " " * (len(line) - shown.end())


def _split(text: str, offset: int) -> Iterator[Sentence]:
    begun = 0
    for match in _SENTENCE_END.finditer(text):
        if match.group() == "." and _ABBREVIATION.search(text, max(begun, match.start() - 8), match.start()):
            continue
        yield from _to_sentence(text, begun, match.end(), offset)
        begun = match.end()
    yield from _to_sentence(text, begun, len(text), offset)


def _to_sentence(text: str, start: int, end: int, offset: int) -> Iterator[Sentence]:
    sentence = text[start:end].rstrip()
    bare = sentence.lstrip()
    if bare:
        start += len(sentence) - len(bare)
        yield Sentence(start + offset, bare[:_MAX_SENTENCE_CHARS], bare[-1] in "?？")
