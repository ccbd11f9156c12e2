"""Conversion of the free-form dictionaries of chat messages to JSON and back, without silent loss.

LlamaIndex itself writes bytes as text and tuples as lists, and never reads them
back. Here such values are tagged; other types are refused.
"""

import base64
import dataclasses
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from pydantic import BaseModel, JsonValue

from wmem import SerializationError

__all__ = ["from_json", "to_json"]

_TAG = "~wmem"
_WRITERS: Mapping[type, tuple[str, Callable[[Any], str]]] = {
    bytes: ("bytes", lambda value: base64.b64encode(value).decode("ascii")),
    datetime: ("datetime", datetime.isoformat),
    date: ("date", date.isoformat),
    Decimal: ("decimal", str),
    UUID: ("uuid", str),
    float: ("float", repr),
}
_READERS: Mapping[str, Callable[[Any], Any]] = {
    "bytes": base64.b64decode,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "decimal": Decimal,
    "uuid": UUID,
    "float": float,
    "tuple": tuple,
    "set": set,
    "dict": dict,
}


def to_json(value: object, where: str) -> JsonValue:
    """A value as JSON that `revived` turns into an equal value of the same type.

    Objects of a vendor's SDK (pydantic models, dataclasses) become dictionaries:
    their fields are kept, not their class.

    Args:
        where: The value's name in the error.

    Raises:
        SerializationError: Some part of it cannot be stored without loss.
    """
    try:
        return _to_json(value, where, vendor=False)
    except RecursionError as exc:
        msg = f"cannot store {where}: it contains itself or is nested too deep"
        raise SerializationError(msg) from exc


def _to_json(value: Any, where: str, *, vendor: bool) -> JsonValue:
    kind = type(value)
    if value is None or kind in (str, bool, int) or (kind is float and math.isfinite(value)):
        return value  # type: ignore[no-any-return]  # one of JSON's own types, just checked
    if kind is list:
        return [_to_json(each, f"{where}[{place}]", vendor=vendor) for place, each in enumerate(value)]
    if kind is dict:
        if _TAG not in value and all(type(name) is str for name in value):
            return {name: _to_json(each, f"{where}[{name!r}]", vendor=vendor) for name, each in value.items()}
        # Pairs preserve keys that are no strings, and a user's own key that looks like our tag.
        pairs: list[JsonValue] = [[_to_json(part, where, vendor=vendor) for part in pair] for pair in value.items()]
        return {_TAG: "dict", "value": pairs}
    if kind in (tuple, set):
        return {_TAG: kind.__name__, "value": [_to_json(each, where, vendor=vendor) for each in value]}
    if kind in _WRITERS:
        name, write = _WRITERS[kind]
        return {_TAG: name, "value": write(value)}
    if isinstance(value, BaseModel):
        return _to_json(value.model_dump(), where, vendor=True)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _to_json(dataclasses.asdict(value), where, vendor=True)
    if vendor and isinstance(value, Enum):
        return _to_json(value.value, where, vendor=True)
    msg = f"cannot store {where}: no faithful form for {kind.__qualname__!r}; use JSON types, bytes or a tuple"
    raise SerializationError(msg)


def from_json(value: JsonValue) -> Any:
    """The value that `plain` was given.

    Raises:
        ValueError: A tag that `plain` never wrote.
    """
    if isinstance(value, list):
        return [from_json(each) for each in value]
    if not isinstance(value, dict):
        return value
    if _TAG not in value:
        return {name: from_json(each) for name, each in value.items()}
    try:
        return _READERS[str(value[_TAG])](from_json(value["value"]))
    except (KeyError, TypeError, ArithmeticError) as exc:
        msg = f"no way to read the tagged value {value[_TAG]!r:.80}"
        raise ValueError(msg) from exc
