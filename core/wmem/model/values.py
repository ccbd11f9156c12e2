"""Values of entries as JSON and back, without loss.

JSON's own types stand for themselves. A few standard types are tagged and revive
as themselves; objects of the user's classes are tagged and need `as_type`;
anything else is refused. A tag is a dictionary with the key ``~wmem``: a user's
dictionary that has this key is escaped, so no stored data is ever taken for a tag.
"""

import base64
import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any, TypeAlias
from uuid import UUID

from pydantic import BaseModel, PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from wmem.errors import CorruptionError, InvalidInputError, SerializationError

__all__ = [
    "check_json",
    "dump_json",
    "dump_model",
    "dump_value",
    "load_json",
    "load_value",
    "stored_type_name",
    "type_name_of",
]

_TAG = "~wmem"
_DEPTH = 200  # safe for every reader's stack
_DIGITS = 4_300  # Python's limit for reading an integer from text
_INT_BITS = 14_000  # safely below that limit
_REPLACED = "\ufffd".encode()
_NO_TYPES = (str, bytes, int, float, Mapping, list, tuple, set)
_PLAIN = frozenset({str, bool, int, type(None)})
_ATOMS = (str, float, type(None))

_Writer: TypeAlias = Callable[[Any], Any]

_WRITERS: Mapping[type, tuple[str, _Writer]] = {
    bytes: ("bytes", lambda value: base64.b64encode(value).decode("ascii")),
    datetime: ("datetime", lambda value: [value.isoformat(), value.fold]),
    date: ("date", date.isoformat),
    time: ("time", lambda value: [value.isoformat(), value.fold]),
    timedelta: ("timedelta", lambda value: [value.days, value.seconds, value.microseconds]),
    Decimal: ("decimal", str),
    UUID: ("uuid", str),
    complex: ("complex", lambda value: [repr(value.real), repr(value.imag)]),
    PurePosixPath: ("posixpath", str),
    PureWindowsPath: ("windowspath", str),
    type(PurePath()): ("path", str),
    type(Path()): ("localpath", str),
}
_SEQUENCES: Mapping[type, str] = {tuple: "tuple", set: "set", frozenset: "frozenset"}
_READERS: Mapping[str, Callable[[Any], Any]] = {
    "bytes": lambda told: base64.b64decode(told, validate=True),
    "datetime": lambda told: datetime.fromisoformat(told[0]).replace(fold=told[1]),
    "date": date.fromisoformat,
    "time": lambda told: time.fromisoformat(told[0]).replace(fold=told[1]),
    "timedelta": lambda told: timedelta(*told),
    "decimal": Decimal,
    "uuid": UUID,
    "complex": lambda told: complex(float(told[0]), float(told[1])),
    "posixpath": PurePosixPath,
    "windowspath": PureWindowsPath,
    "path": PurePath,
    "localpath": Path,
    "float": float,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "dict": dict,
}


def type_name_of(value: object) -> str:
    """The name of a value's class: bare for builtins, with its module otherwise."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def stored_type_name(stored: bytes) -> str:
    """The class of an entry's value as its JSON shows it; any other class is stored beside it."""
    plain = load_json(stored)
    return "float" if isinstance(plain, dict) and plain.get(_TAG) == "float" else type_name_of(plain)


def dump_json(plain: object) -> bytes:
    """Compact UTF-8 JSON of plain data; lone surrogates survive."""
    try:
        return to_json(plain)
    except ValueError:  # pydantic's writer refuses a lone surrogate
        return json.dumps(plain, separators=(",", ":")).encode("ascii")


def check_json(*given: object) -> None:
    """Check that what pydantic accepts as JSON reads back unchanged.

    Raises:
        SerializationError: An integer has more digits than can be read, or a name is not valid Unicode.
    """
    left = list(given)
    while left:
        value = left.pop()
        if isinstance(value, _ATOMS):
            continue
        if isinstance(value, int):
            _plain_number(value)
        elif isinstance(value, BaseModel):
            left += vars(value).values()
        elif isinstance(value, Mapping):
            if odd := [name for name in value if isinstance(name, str) and not _is_unicode(name)]:
                msg = f"the name {odd[0]!r:.80} holds a lone surrogate and would be stored as another"
                raise SerializationError(msg)
            left += value.values()
        elif isinstance(value, list | tuple):
            left += value


def _is_unicode(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def dump_model(model: BaseModel, *, exclude: set[str]) -> bytes:
    """Compact UTF-8 JSON of a model's fields that are not at their defaults.

    Raises:
        SerializationError: It would not read back unchanged.
    """
    try:
        written: bytes = model.__pydantic_serializer__.to_json(model, exclude=exclude, exclude_defaults=True)
    except ValueError:  # see `dump_json`
        written = dump_json(model.model_dump(mode="json", exclude=exclude, exclude_defaults=True))
    if len(written) > _DIGITS or _REPLACED in written:  # nothing else can fail the check
        check_json(model)
    return written


def load_json(stored: bytes) -> Any:
    """Read what `dump_json` wrote."""
    try:
        return from_json(stored)
    except ValueError:
        try:
            return json.loads(stored)
        except ValueError as exc:
            msg = f"stored JSON is damaged: {exc}"
            raise CorruptionError(msg) from exc


def dump_value(value: object, *, key: str) -> bytes:
    """A user's value as JSON.

    Raises:
        SerializationError: Some part of it cannot be stored without loss.
    """
    if type(value) is str:
        return dump_json(value)
    try:
        return dump_json(_plain(value, ()))
    except (RecursionError, ValueError) as exc:
        msg = f"cannot store the value of {key!r}: {exc}"
        raise SerializationError(msg) from exc
    except SerializationError as exc:
        msg = f"cannot store the value of {key!r}: {exc}"
        raise SerializationError(msg) from exc


def _plain(value: Any, above: tuple[int, ...]) -> Any:
    kind = type(value)
    if kind in _PLAIN or kind is float:
        return _plain_number(value) if kind in (int, float) else value
    if id(value) in above or len(above) > _DEPTH:
        msg = "it contains itself" if id(value) in above else f"it is nested more than {_DEPTH} deep"
        raise SerializationError(msg)
    above = (*above, id(value))
    if kind is list:
        return [_plain(each, above) for each in value]
    if kind is dict:
        if all(type(name) is str for name in value) and _TAG not in value:
            return {name: _plain(each, above) for name, each in value.items()}
        return {_TAG: "dict", "value": [[_plain(name, above), _plain(each, above)] for name, each in value.items()]}
    if name := _SEQUENCES.get(kind):
        return {_TAG: name, "value": [_plain(each, above) for each in _ordered(value, kind)]}
    if kind in _WRITERS:
        return _tagged(value, kind)
    if isinstance(value, Enum):
        return {_TAG: "object", "type": type_name_of(value), "value": _plain(value.value, above)}
    if isinstance(value, BaseModel):
        fields = {name: getattr(value, name) for name in type(value).model_fields} | (value.__pydantic_extra__ or {})
        return {_TAG: "object", "type": type_name_of(value), "value": _plain(fields, above)}
    if dataclasses.is_dataclass(value):
        told = {each.name: getattr(value, each.name) for each in dataclasses.fields(value) if each.init}
        return {_TAG: "object", "type": type_name_of(value), "value": _plain(told, above)}
    msg = (
        f"no way to store {type_name_of(value)!r} without loss; use JSON types, the standard types, "
        "a pydantic model, a dataclass or an enum"
    )
    raise SerializationError(msg)


def _plain_number(value: float) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else {_TAG: "float", "value": repr(value)}
    if value.bit_length() > _INT_BITS:
        msg = f"an integer of {value.bit_length()} bits could not be read back; store it as text or bytes"
        raise SerializationError(msg)
    return value


def _tagged(value: Any, kind: type) -> dict[str, Any]:
    name, write = _WRITERS[kind]
    zone = getattr(value, "tzinfo", None)
    if type(zone) is timezone:
        offset = value.utcoffset()
        if zone.tzname(None) != timezone(offset).tzname(None) or offset.microseconds:
            # Its text has neither the name nor a fraction of a second.
            told = [offset.days, offset.seconds, offset.microseconds, zone.tzname(None)]
            return {_TAG: f"{name}@offset", "value": write(value.replace(tzinfo=None)), "zone": told}
    elif zone is not None:
        key = getattr(zone, "key", None)
        if type(zone).__module__ != "zoneinfo" or not isinstance(key, str):
            msg = f"a time zone of {type_name_of(zone)!r} would come back as a bare offset; use zoneinfo.ZoneInfo"
            raise SerializationError(msg)
        # An offset alone would lose the zone's rules for summer time.
        return {_TAG: f"{name}@zone", "value": write(value.replace(tzinfo=None)), "zone": key}
    return {_TAG: name, "value": write(value)}


def _ordered(value: Iterable[Any], kind: type) -> Iterable[Any]:
    if kind is tuple:
        return value
    # A set has no order of its own: by repr, equal sets are stored as equal bytes.
    return sorted(value, key=repr)


def load_value(stored: bytes, as_type: Any = None, *, key: str = "") -> Any:
    """Read what `dump_value` wrote.

    Args:
        as_type: Revive as this type, by pydantic; user classes need it.

    Raises:
        SerializationError: It holds an object of a user's class and `as_type` is
            missing, or it does not validate as `as_type`.
        InvalidInputError: `as_type` is not a type, or not one that pydantic can make.
        CorruptionError: The stored text is damaged.
    """
    plain = load_json(stored)
    if type(plain) in _PLAIN and as_type is None:
        return plain
    revived = _revived(plain, key=key, bare=as_type is not None)
    if as_type is None:
        return revived
    made = _adapter(as_type)
    try:
        return made.validate_python(revived)
    except ValidationError as exc:
        msg = f"the value of {key!r} is no {getattr(as_type, '__name__', as_type)!r}: {exc.error_count()} errors"
        raise SerializationError(msg) from exc


def _adapter(as_type: Any) -> TypeAdapter[Any]:
    """Pydantic's adapter of a type. A string is refused: pydantic would evaluate it."""
    try:
        if not isinstance(as_type, _NO_TYPES):
            return TypeAdapter(as_type)
        cause = None
    except PydanticUserError as exc:
        cause = exc
    msg = f"as_type must be a type that pydantic can make, got {as_type!r:.80}"
    raise InvalidInputError(msg) from cause


def _revived(plain: Any, *, key: str, bare: bool) -> Any:
    if isinstance(plain, list):
        return [_revived(each, key=key, bare=bare) for each in plain]
    if not isinstance(plain, dict):
        return plain
    tag = plain.get(_TAG)
    if tag is None:
        return {name: _revived(each, key=key, bare=bare) for name, each in plain.items()}
    if tag == "object":
        if bare:
            return _revived(plain["value"], key=key, bare=bare)
        msg = f"the value of {key!r} holds a {plain.get('type')!r}: pass as_type= to revive it"
        raise SerializationError(msg)
    try:
        name, _, zoned = tag.partition("@")
        told = _revived(plain["value"], key=key, bare=bare)
        value = _READERS[name](told)
        return value.replace(tzinfo=_zone(zoned, plain["zone"])) if zoned else value
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as exc:
        msg = f"the stored value of {key!r} has a damaged tag {tag!r}"
        raise CorruptionError(msg) from exc


def _zone(kind: str, told: Any) -> Any:
    if kind == "offset":
        days, seconds, microseconds, name = told
        return timezone(timedelta(days, seconds, microseconds), name)
    from zoneinfo import ZoneInfo  # imported only where zones are stored

    return ZoneInfo(told)
