"""Values of fields and columns, whose names are labels: `{"password": …}`, `name,password`."""

import re
from collections.abc import Iterator

from wmem.rules.redaction.labels.beside import accepts
from wmem.rules.redaction.labels.names import kind_of_name, load_labels
from wmem.rules.redaction.reading import CAMEL, Reading
from wmem.rules.redaction.spans import Span

_MAX_NAME = 64
_ROW = re.compile(r"[^\r\n]+")
_DELIMITERS = "\t|,;"
_TITLE = re.compile(r"[\w .\-/#]{0,48}")
_CODE = re.compile(r"\b(?:import|from|return|def|const|let|var|and|or|und|et|y|e|en|i)\b|[{}=;]\s*$")
_MAX_TITLE_WORDS = 4
_LEAST_COLUMNS = 2
_MAX_HEADER = 400
_MAX_CELL = 512


def kind_of_field(name: str, value: str) -> str | None:
    """The kind of a field's whole value, if the field's name tells one and the value can be of it."""
    if not name or len(name) > _MAX_NAME or not value.strip():
        return None
    kind = kind_of_name(name)
    if kind is None:
        return None
    reading = Reading(value)
    return (kind.removesuffix("_sign")) if accepts(kind, reading.text) else None


def find_in_columns(reading: Reading) -> Iterator[Span]:
    """Values below a name of a column, in a table whose columns are set apart by commas, semicolons, bars or tabs."""
    if not may_have_columns(reading):
        return
    rows = _ROW.finditer(reading.text)
    kinds: dict[int, str] = {}
    delimiter, columns = "", 0
    for row in rows:
        if not delimiter or delimiter not in row[0]:
            delimiter, kinds = _read_header(row[0])
            columns = row[0].count(delimiter) if delimiter else 0
        elif kinds:
            yield from _read_row(row, delimiter, columns, kinds)


def may_have_columns(reading: Reading) -> bool:
    """Whether `find_in_columns` may find anything in a text that this is a part of."""
    text = reading.text
    return (
        "\n" in text
        and ("," in text or "|" in text or "\t" in text or ";" in text)
        and (
            reading.is_unspaced or CAMEL.search(text) is not None or not load_labels().longest.isdisjoint(reading.words)
        )
    )


def _read_header(line: str) -> tuple[str, dict[int, str]]:
    if len(line) > _MAX_HEADER:
        return "", {}
    delimiter = next((each for each in _DELIMITERS if each in line), "")
    if not delimiter:
        return "", {}
    names = [cell.strip(" \"'`*") for cell in line.split(delimiter)]
    if (
        sum(map(bool, names)) < _LEAST_COLUMNS
        or any(len(name.split()) > _MAX_TITLE_WORDS or not _TITLE.fullmatch(name) for name in names)
        or _CODE.search(line)
    ):
        return "", {}
    kinds = {index: kind for index, name in enumerate(names) if (kind := kind_of_name(name)) is not None}
    return (delimiter, kinds) if kinds else ("", {})


def _split_row(line: str, delimiter: str, columns: int) -> list[str]:
    """The cells of a row; those in quotation marks may have the delimiter in them."""
    cells = line.split(delimiter)
    if len(cells) - 1 <= columns or '"' not in line:
        return cells
    whole: list[str] = []
    pieces: list[str] = []
    marks = 0
    for cell in cells:
        pieces.append(cell)
        marks += cell.count('"')
        if marks % 2 == 0:
            whole.append(delimiter.join(pieces))
            pieces = []
    return [*whole, delimiter.join(pieces)] if pieces else whole


def _read_row(row: "re.Match[str]", delimiter: str, columns: int, kinds: dict[int, str]) -> Iterator[Span]:
    cells = _split_row(row[0], delimiter, columns)
    if len(cells) - 1 != columns:
        return
    at = row.start()
    for index, cell in enumerate(cells):
        value = cell.strip(" \"'`")
        kind = kinds.get(index)
        if kind is not None and 0 < len(value) <= _MAX_CELL and accepts(kind, value):
            start = at + cell.index(value)
            yield Span(start, start + len(value), kind.removesuffix("_sign"))
        at += len(cell) + 1
