"""Values of SQL, whose columns are named before them: `INSERT INTO users (id, password) VALUES (1, '…')`."""

import re
from collections.abc import Iterator

from wmem.rules.redaction.labels.beside import accepts
from wmem.rules.redaction.labels.names import kind_of_name
from wmem.rules.redaction.reading import Reading, find_places
from wmem.rules.redaction.spans import Span

_COLUMNS_HERE = re.compile(
    r"\s{1,8}[^\s()]{1,200}\s{0,8}\(([^()]{1,2000})\)(?:\s{1,8}(?:overriding|output)\b[^();]{0,100})?\s{0,8}values?\b",
    re.IGNORECASE,
)
_PIECE = re.compile(r"'(?:[^'\\]|''|\\.)*+'?|\"(?:[^\"\\]|\"\"|\\.)*+\"?|[(),;]|[^\s'\"(),;]++", re.DOTALL)


def find_in_inserts(reading: Reading) -> Iterator[Span]:
    """Values whose column has the name of a kind."""
    if not may_have_inserts(reading):
        return
    text, lower = reading.text, reading.lower
    end = 0
    for place in find_places(lower, "into"):
        if place < end or not (header := _COLUMNS_HERE.match(text, place)):
            continue
        kinds = [kind_of_name(name.strip(" \t\r\n\"'`[]")) for name in header[1].split(",")]
        end = header.end()
        if any(kinds):
            for span in _read_rows(text, end, kinds):
                yield span
                end = span.end


def may_have_inserts(reading: Reading) -> bool:
    """Whether `find_in_inserts` may find anything in a text that this is a part of."""
    return "(" in reading.signs and "values" in reading.lower and "into" in reading.words


def _read_rows(text: str, start: int, kinds: list[str | None]) -> Iterator[Span]:
    """The values of rows, up to where they end."""
    depth, column = 0, 0
    for piece in _PIECE.finditer(text, start):
        match piece[0]:
            case "(":
                depth += 1
                column = 0 if depth == 1 else column
            case ")":
                depth -= 1
            case ",":
                column += depth == 1
            case word if depth <= 0 or word == ";":
                return
            case word:
                kind = kinds[column] if column < len(kinds) else None
                quotes = word[0] in "'\"" and len(word) > 1 and word[-1] == word[0]
                value = word[1:-1] if quotes else word
                if kind is not None and value and accepts(kind, value):
                    at = piece.start() + quotes
                    yield Span(at, at + len(value), kind.removesuffix("_sign"))
