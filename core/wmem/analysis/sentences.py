"""Sentences of a text, and pieces of one that is too long: logs, tables and records have few full stops."""

import re

from wmem.graphemes import cut_before

GAP = "…"
"""Stands where a part of a sentence is left out."""
# In scripts without spaces a full stop alone ends a sentence; the number of a list item ("1.") and an initial end none.
_SENTENCE_END = re.compile(
    r"[.!?…\u3002\uff01\uff1f\u061f\u06d4\u0964](?:(?<=[\u3002\uff01\uff1f])|(?<!^\d\.)(?<!^\d\d\.)(?<!\b[A-Z]\.)[\"'”’)\]]*\s+)"
)
_RECORD = re.compile(r"\A\s*(?:\w{1,32}: ?)?[{\[]")
"""How JSON begins, also behind the name of who says it."""
_RECORD_END = re.compile(r"\},\s*")
_SOFT_ENDS = ("},", ";", "\uff1b", "|", "\t", "\uff0c", ",", "\u3001", " ")
"""Where a sentence is parted, the best first; behind each of them."""
_LEAST_PART = 2  # a piece ends in the last half of what it may take, if anything there parts the sentence


def split_sentences(text: str) -> list[str]:
    """The sentences of a text in order; a line break ends one, too, and in JSON what ends a record."""
    sentences: list[str] = []
    is_record = _RECORD.match(text) is not None
    for line in text.split("\n"):
        start = 0
        for end in _list_ends(line, is_record=is_record):
            sentences.append(line[start:end].strip())
            start = end
        sentences.append(line[start:].strip())
    return [sentence for sentence in sentences if sentence]


def split_long(sentence: str, most: int) -> list[str]:
    """The pieces of a sentence, of at most so many characters, parted where it reads best, and nowhere in a cluster."""
    pieces: list[str] = []
    start = 0
    while len(sentence) - start > most:
        window = sentence[start : start + most]
        ends = (window.rfind(end) + len(end) for end in _SOFT_ENDS)
        size = next((end for end in ends if end > most // _LEAST_PART), 0)
        size = size or cut_before(sentence, start + most) - start
        pieces.append(sentence[start : start + (size if size > 0 else most)])
        start += len(pieces[-1])
    pieces.append(sentence[start:])
    return [stripped for piece in pieces if (stripped := piece.strip())]


def mark_gaps(piece: str, place: int, count: int) -> str:
    """A piece of a sentence, with a mark on each side on which there is more.

    Args:
        place: Its place among the pieces.
        count: How many there are.
    """
    return f"{f'{GAP} ' if place else ''}{piece}{f' {GAP}' if place < count - 1 else ''}"


def _list_ends(line: str, *, is_record: bool) -> list[int]:
    ends = [match.end() for match in _SENTENCE_END.finditer(line)]
    return sorted({*ends, *(match.end() for match in _RECORD_END.finditer(line))}) if is_record else ends
