"""Hides what is to be hidden in JSON documents, which stay valid, with all that is not hidden as it was written."""

import json
import re
from typing import Protocol, cast

from pydantic import JsonValue

from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.rules.redaction.reading import split_name

_PIECE = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\],:]|-?\d[\d.eE+\-]*+|[tfn][a-z]++|-?[NI][a-zA-Z]++', re.DOTALL)
_OPENING = ("{", "[")
_NAMING_FIELDS = frozenset(
    {"name", "key", "field", "label", "variable", "header", "param", "parameter", "property"}
) | {*("attribute", "column", "path", "element", "selector", "locator", "target")}
"""Fields whose text says what the value beside is: of JSON Patch and of tools that fill in forms, too."""
_VALUE_FIELDS = frozenset({"value", "val", "default", "content", "data", "text", "answer"})
_PARTS = frozenset({"number", "no", "nr", "num", "id", "code"})
_FLAG_HERE = re.compile(r"--[A-Za-z][\w\-]*")
_NO_NAME = re.compile(r"[^\w\-./:]+")
_TIME_NAME = re.compile(r"(?:^|_)(?:ts|at|time|timestamp|epoch|millis|ms)$|[a-z](?:At|Time|Timestamp|Ms|Ts)$")
_MILLISECONDS = 13  # digits
_ID_NAME = re.compile(r"(?:^|[_\-.])(?:id|ids|uuid|guid)$|[a-z](?:Id|Ids|ID)$")
_FIELD_BEFORE_HERE = re.compile(r"(\\{0,7}\")[ ]?:[ ]?$")
_FIELD_AFTER_HERE = re.compile(r"\s{0,8}[,}\]]")
_MAX_FIELD = 12
_MAX_NAME_CHARS = 64
_MAX_DEPTH = 50


class Hide(Protocol):
    """Hides what is to be hidden in a text, knowing the name of the field that it stands in; ``""`` for none."""

    def __call__(self, text: str, name: str, /) -> str: ...


def redact_text(text: str, hide: Hide, name: str = "") -> str:
    """A text, which may be a JSON document, without what is to be hidden."""
    stripped = text.strip()
    if not stripped.startswith(_OPENING) or stripped[-1] not in "}]" or not _is_document(stripped):
        return hide(text, name)
    return _Rewriter(hide, name).rewrite(text)


def redact_value(value: JsonValue, hide: Hide) -> JsonValue:
    """A JSON value without what is to be hidden; itself if there is nothing."""
    if isinstance(value, str):
        return redact_text(value, hide)
    try:
        document = json.dumps(value)
    except (TypeError, ValueError):
        raise InvalidInputError(f"a JSON value is asked for, got {describe(value)}") from None
    result = _Rewriter(hide, "").rewrite(document)
    if result == document:
        return value
    redacted: JsonValue = json.loads(result)
    return redacted


def collect_texts(value: object, texts: list[str], depth: int = 0) -> bool:
    """Add all that is read of a value of JSON to `texts`: texts, numbers, names, and the words of these.

    Returns:
        Whether that is all: it is not for what is nested too deep, and for documents with escapes within texts.
    """
    kind = type(value)
    if kind is str:
        return _collect_text(cast("str", value), texts)
    if kind is int or kind is float:
        texts.append(repr(value))
    elif kind is dict and depth < _MAX_DEPTH:
        return _collect_fields(cast("dict[object, object]", value), texts, depth)
    elif (kind is list or kind is tuple) and depth < _MAX_DEPTH:
        return all(collect_texts(each, texts, depth + 1) for each in cast("list[object]", value))
    else:
        return value is None or kind is bool
    return True


def _collect_text(text: str, texts: list[str]) -> bool:
    texts.append(text)
    if "{" not in text and "[" not in text:
        return True
    stripped = text.strip()
    if not stripped.startswith(_OPENING) or stripped[-1] not in "}]":
        return True
    texts.append(split_name(text))
    return "\\" not in text and text.isascii()


def _collect_fields(fields: dict[object, object], texts: list[str], depth: int) -> bool:
    for name, each in fields.items():
        if type(name) is not str or not name.isascii() or not collect_texts(each, texts, depth + 1):
            return False
        texts.append(name if name.islower() else f"{name} {split_name(name)}")
    return True


def _is_document(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def is_id(name: str, value: str) -> bool:
    """Whether a field's name and value say that it is an id, or a time in milliseconds: a number, and nobody's."""
    return value.isdigit() and (
        _ID_NAME.search(name) is not None or (len(value) == _MILLISECONDS and _TIME_NAME.search(name) is not None)
    )


def quote_of_number(text: str, start: int, end: int) -> str:
    """What a mark needs around it where a number of JSON stood within another text; ``""`` elsewhere."""
    before = _FIELD_BEFORE_HERE.search(text, max(0, start - _MAX_FIELD), start)
    return before[1] if before and _FIELD_AFTER_HERE.match(text, end) else ""


class _Container:
    """An object or array that is open.

    Attributes:
        name: The field that it is the value of, or stands in.
        field: The field that comes next, in an object.
        subject: What another field of the object says that its value is: `{"name": "password", "value": …}`; or the
            option that comes before, in an array: `["--password", …]`.
    """

    __slots__ = ("field", "is_object", "name", "seen", "subject")

    def __init__(self, name: str, *, is_object: bool) -> None:
        self.name = name
        self.is_object = is_object
        self.field: str | None = None
        self.subject = ""
        self.seen: set[str] = set()

    def name_of_value(self) -> str:
        if not self.is_object:
            return self.subject or self.name
        if self.field is None:
            return self.name
        if self.field.lower() in _VALUE_FIELDS:
            return self.subject or self.name
        if self.name and self.field.lower() in _PARTS:
            return f"{self.name} {self.field}"
        return self.field


class _Rewriter:
    """Writes a valid document anew, piece by piece."""

    def __init__(self, hide: Hide, name: str) -> None:
        self._hide = hide
        self._open = [_Container(name, is_object=False)]

    def rewrite(self, document: str) -> str:
        return _PIECE.sub(lambda match: self._write(match[0]), document)

    def _write(self, piece: str) -> str:
        top = self._open[-1]
        if piece[0] == '"':
            return self._write_text(piece, top)
        if piece in ("{", "["):
            self._open.append(_Container(top.name_of_value(), is_object=piece == "{"))
        elif piece in ("}", "]"):
            self._open.pop()
        elif piece == ",":
            top.field = None
        elif piece[0] == "-" or piece[0].isdigit():
            hidden = self._hide(piece, top.name_of_value())
            return piece if hidden == piece else json.dumps(hidden)
        return piece

    def _write_text(self, piece: str, top: _Container) -> str:
        text: str = json.loads(piece, strict=False)
        if top.is_object and top.field is None:
            hidden = self._new_name(text, top)
        else:
            option = _FLAG_HERE.fullmatch(text) is not None and not top.is_object
            hidden = redact_text(text, self._hide, top.name if option else top.name_of_value())
            if not top.is_object:
                top.subject = text.removeprefix("--") if option else ""
            elif top.field is not None and top.field.lower() in _NAMING_FIELDS and len(text) <= _MAX_NAME_CHARS:
                top.subject = _NO_NAME.sub(" ", text).strip()
        return piece if hidden == text else json.dumps(hidden, ensure_ascii=piece.isascii())

    def _new_name(self, name: str, top: _Container) -> str:
        """The name of a field, which is hidden only if it is a value itself, and stays one of its kind."""
        top.field = name
        hidden = self._hide(name, "")
        if hidden != name:
            plain, count = hidden, 1
            while hidden in top.seen:
                count += 1
                hidden = f"{plain} ({count})"
        top.seen.add(hidden)
        return hidden
