"""Values of entries and of frameworks' free-form fields as JSON and back, without loss.

JSON's own types stand for themselves. A few standard types are tagged and revive
as themselves; objects of the user's classes are tagged and need `as_type`, those of
a vendor's SDK become dictionaries; anything else is refused. A tag is a dictionary with the key ``~wmem``: a user's
dictionary that has this key is escaped, so no stored data is ever taken for a tag.
"""

import base64
import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from functools import partial
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any, TypeAlias
from uuid import UUID

from pydantic import BaseModel, PydanticUserError, TypeAdapter
from pydantic_core import from_json, to_json

from wmem.describe import describe, describe_field
from wmem.errors import CorruptionError, InvalidInputError, SerializationError
from wmem.model.validation import describe_error, list_faults, parse

_TAG_KEY = "~wmem"
_MAX_DEPTH = 200  # safe for every reader's stack
_MAX_INT_DIGITS = 4_300  # Python's limit for reading an integer from text
_MAX_INT_BITS = 14_000  # safely below that limit
_REPLACEMENT_CHAR = "\ufffd".encode()
_NOT_TYPES = (str, bytes, int, float, Mapping, list, tuple, set)
_SCALAR_TYPES = frozenset({str, bool, int, type(None)})
_UNCHECKED_TYPES = (str, float, type(None))

_EncodeValue: TypeAlias = Callable[[Any], Any]
_EncodeObject: TypeAlias = Callable[[Any, tuple[int, ...]], Any]
"""Encodes a value that has no form of its own, given the ids of the values that hold it."""

_ENCODERS: Mapping[type, tuple[str, _EncodeValue]] = {
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
# A set has no order of its own: by repr, equal sets are stored as equal bytes.
_by_repr = partial(sorted, key=repr)
_ELEMENTS: Mapping[type, Callable[[Any], Iterable[Any]]] = {tuple: iter, set: _by_repr, frozenset: _by_repr}
_DECODERS: Mapping[str, Callable[[Any], Any]] = {
    **{kind.__name__: kind for kind in (float, dict, *_ELEMENTS)},
    "bytes": lambda stored: base64.b64decode(stored, validate=True),
    "datetime": lambda stored: _to_datetime(*([stored] if isinstance(stored, str) else stored)),
    "date": date.fromisoformat,
    "time": lambda stored: time.fromisoformat(stored[0]).replace(fold=stored[1]),
    "timedelta": lambda stored: timedelta(*stored),
    "decimal": Decimal,
    "uuid": UUID,
    "complex": lambda stored: complex(float(stored[0]), float(stored[1])),
    "posixpath": PurePosixPath,
    "windowspath": PureWindowsPath,
    "path": PurePath,
    "localpath": Path,
}


def full_type_name(value: object) -> str:
    """The name of a value's class: bare for builtins, with its module otherwise."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def decode_type_name(data: bytes) -> str:
    """The class of an entry's value as its JSON shows it; any other class is stored beside it."""
    plain = load_json(data)
    return "float" if isinstance(plain, dict) and plain.get(_TAG_KEY) == "float" else full_type_name(plain)


def dump_json(value: object) -> bytes:
    """Compact UTF-8 JSON of plain data; lone surrogates survive."""
    try:
        return to_json(value)
    except ValueError:  # pydantic's writer refuses a lone surrogate
        return json.dumps(value, separators=(",", ":")).encode("ascii")


def dump_argument(value: object, claim: str) -> str:
    """A caller's JSON as text, without non-ASCII escapes.

    Raises:
        InvalidInputError: It is none; the message begins with the claim.
    """
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as exc:
        fault = str(exc)  # names classes; what is chained would also name keys
    raise InvalidInputError(f"{claim}: {fault}")


def check_json(*values: object) -> None:
    """Check that what pydantic accepts as JSON reads back unchanged.

    Raises:
        SerializationError: An integer has more digits than can be read, or a name is not valid Unicode.
    """
    left = list(values)
    while left:
        value = left.pop()
        if isinstance(value, _UNCHECKED_TYPES):
            continue
        if isinstance(value, int):
            _to_plain_number(value)
        elif isinstance(value, BaseModel):
            left += vars(value).values()
        elif isinstance(value, Mapping):
            if odd := [name for name in value if isinstance(name, str) and not _is_unicode(name)]:
                msg = f"the name {ascii(odd[0])[:20]} holds a lone surrogate and would be stored as another"
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
    written: bytes | None
    try:
        written = model.__pydantic_serializer__.to_json(model, exclude=exclude, exclude_defaults=True, warnings="error")
    except ValueError:
        written = None  # what is raised below is not chained: the chain would quote the field
    if written is None:
        written = _dump_surrogates(model, exclude)
    if len(written) > _MAX_INT_DIGITS or _REPLACEMENT_CHAR in written:  # nothing else can fail the check
        check_json(model)
    return written


def _dump_surrogates(model: BaseModel, exclude: set[str]) -> bytes:
    """A model as JSON where pydantic's writer refuses it: for a lone surrogate, see `dump_json`."""
    fields = None
    with suppress(ValueError):
        fields = model.model_dump(mode="json", exclude=exclude, exclude_defaults=True, warnings="error")
    if fields is None:
        raise SerializationError(f"a field of this {type(model).__name__} was replaced by what it cannot hold")
    return dump_json(fields)


def load_json(data: bytes) -> Any:
    """Read what `dump_json` wrote."""
    try:
        return from_json(data)
    except ValueError:
        pass  # it refuses a lone surrogate, too
    try:
        return json.loads(data)
    except ValueError as exc:
        fault = str(exc)
    raise CorruptionError(f"stored JSON is damaged: {fault}")  # unchained: json's error holds the document


def dump_value(value: object, *, key: str) -> bytes:
    """A user's value as JSON.

    Raises:
        SerializationError: Some part of it cannot be stored without loss.
    """
    if type(value) is str:
        return dump_json(value)
    try:
        return dump_json(_to_plain(value, (), _tag_object))
    except (SerializationError, RecursionError, ValueError) as exc:
        fault = describe_error(exc)
    raise SerializationError(f"cannot store the value of {key!r}: {fault}")


def _to_plain(value: Any, ancestors: tuple[int, ...], encode_object: _EncodeObject) -> Any:
    kind = type(value)
    if kind in _SCALAR_TYPES or kind is float:
        return _to_plain_number(value) if kind in (int, float) else value
    if id(value) in ancestors or len(ancestors) > _MAX_DEPTH:
        msg = "it contains itself" if id(value) in ancestors else f"it is nested more than {_MAX_DEPTH} deep"
        raise SerializationError(msg)
    ancestors = (*ancestors, id(value))
    if kind is list:
        return [_to_plain(each, ancestors, encode_object) for each in value]
    if kind is dict:
        if all(type(name) is str for name in value) and _TAG_KEY not in value:
            return {name: _to_plain(each, ancestors, encode_object) for name, each in value.items()}
        pairs = [[_to_plain(part, ancestors, encode_object) for part in pair] for pair in value.items()]
        return {_TAG_KEY: "dict", "value": pairs}
    if kind in _ELEMENTS:
        elements = [_to_plain(each, ancestors, encode_object) for each in _ELEMENTS[kind](value)]
        return {_TAG_KEY: kind.__name__, "value": elements}
    if kind in _ENCODERS and not _has_foreign_zone(value):
        return _to_tagged(value, kind)
    return encode_object(value, ancestors)


def _tag_object(value: Any, ancestors: tuple[int, ...]) -> Any:
    """An object's fields, tagged with its class."""
    if isinstance(value, Enum):
        told: Any = value.value
    elif isinstance(value, BaseModel):
        told = {name: getattr(value, name) for name in type(value).model_fields} | (value.__pydantic_extra__ or {})
    elif dataclasses.is_dataclass(value):
        told = {each.name: getattr(value, each.name) for each in dataclasses.fields(value) if each.init}
    else:
        raise _no_form(value)
    return {_TAG_KEY: "object", "type": full_type_name(value), "value": _to_plain(told, ancestors, _tag_object)}


def _unwrap_object(value: Any, ancestors: tuple[int, ...]) -> Any:
    """The fields of a vendor's object as a dictionary, without its class; its time zone as an offset."""
    if isinstance(value, BaseModel):
        return _to_plain(value.model_dump(warnings=False), ancestors, _unwrap_member)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _to_plain(dataclasses.asdict(value), ancestors, _unwrap_member)
    if type(value) is datetime:
        return _to_plain(value.astimezone(timezone(value.utcoffset() or timedelta())), ancestors, _unwrap_object)
    raise _no_form(value)


def _unwrap_member(value: Any, ancestors: tuple[int, ...]) -> Any:
    """A value inside a vendor's object, where a member of an enumeration stands for its value."""
    if isinstance(value, Enum):
        return _to_plain(value.value, ancestors, _unwrap_member)
    return _unwrap_object(value, ancestors)


def _no_form(value: object) -> SerializationError:
    if isinstance(value, datetime | time):
        zone = full_type_name(value.tzinfo)
        return SerializationError(f"a time zone of {zone!r} would come back as a bare offset; use zoneinfo.ZoneInfo")
    return SerializationError(
        f"no way to store {full_type_name(value)!r} without loss; use JSON types, the standard types, "
        "a pydantic model, a dataclass or an enum"
    )


def _has_foreign_zone(value: Any) -> bool:
    """Whether a time has a zone that is neither a fixed offset nor one of `zoneinfo` with a key."""
    zone = getattr(value, "tzinfo", None)
    if zone is None or type(zone) is timezone:
        return False
    return type(zone).__module__ != "zoneinfo" or not isinstance(getattr(zone, "key", None), str)


def _to_plain_number(value: float) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else {_TAG_KEY: "float", "value": repr(value)}
    if value.bit_length() > _MAX_INT_BITS:
        msg = f"an integer of {value.bit_length()} bits could not be read back; store it as text or bytes"
        raise SerializationError(msg)
    return value


def _to_tagged(value: Any, kind: type) -> dict[str, Any]:
    name, write = _ENCODERS[kind]
    zone = getattr(value, "tzinfo", None)
    if type(zone) is timezone:
        offset = value.utcoffset()
        if zone.tzname(None) != timezone(offset).tzname(None) or offset.microseconds:
            # Its text has neither the name nor a fraction of a second.
            told = [offset.days, offset.seconds, offset.microseconds, zone.tzname(None)]
            return {_TAG_KEY: f"{name}@offset", "value": write(value.replace(tzinfo=None)), "zone": told}
    elif zone is not None:
        # An offset alone would lose the zone's rules for summer time.
        return {_TAG_KEY: f"{name}@zone", "value": write(value.replace(tzinfo=None)), "zone": zone.key}
    return {_TAG_KEY: name, "value": write(value)}


def to_tagged_json(value: object, where: str) -> Any:
    """A framework's value as JSON that `from_tagged_json` turns into an equal value of the same type.

    Objects of a vendor's SDK (pydantic models, dataclasses) become dictionaries:
    their fields are kept, not their class.

    Args:
        where: The value's name in the error.

    Raises:
        SerializationError: Some part of it cannot be stored without loss; the error names its place.
    """
    try:
        return _to_plain(value, (), _unwrap_object)
    except (SerializationError, RecursionError) as exc:
        fault = describe_error(exc)
    raise SerializationError(f"cannot store {where}{_find_fault(value, ())}: {fault}")


def _find_fault(value: Any, ancestors: tuple[int, ...]) -> str:
    """The path within a value to what cannot be encoded, as one would write it in Python."""
    parts = value.items() if type(value) is dict else enumerate(value) if type(value) is list else ()
    for name, each in parts:
        try:
            _to_plain(each, ancestors, _unwrap_object)
        except (SerializationError, RecursionError):
            shown = repr(describe_field(name)) if isinstance(name, str) else describe(name)
            return "" if id(each) in ancestors else f"[{shown}]{_find_fault(each, (*ancestors, id(each)))}"
    return ""


def from_tagged_json(plain: Any) -> Any:
    """Read what `to_tagged_json` wrote.

    Raises:
        CorruptionError: A damaged or unknown tag.
        SerializationError: An object of a user's class.
    """
    return _revive(plain, key="", unwrap_objects=False)


def load_value(data: bytes, as_type: Any = None, *, key: str = "") -> Any:
    """Read what `dump_value` wrote.

    Args:
        as_type: Revive as this type, by pydantic; user classes need it.

    Raises:
        SerializationError: It holds an object of a user's class and `as_type` is
            missing, or it does not validate as `as_type`.
        InvalidInputError: `as_type` is not a type, or not one that pydantic can make.
        CorruptionError: The stored text is damaged.
    """
    plain = load_json(data)
    if type(plain) in _SCALAR_TYPES and as_type is None:
        return plain
    revived = _revive(plain, key=key, unwrap_objects=as_type is not None)
    if as_type is None:
        return revived
    made, name = _type_adapter(as_type), getattr(as_type, "__name__", as_type)
    return parse(
        lambda: made.validate_python(revived),
        lambda exc: SerializationError(
            f"the value of {key!r} is no {name!r}: {exc.error_count()} errors ({list_faults(exc)})"
        ),
    )


def _type_adapter(as_type: Any) -> TypeAdapter[Any]:
    """Pydantic's adapter of a type. A string is refused: pydantic would evaluate it."""
    with suppress(PydanticUserError):
        if not isinstance(as_type, _NOT_TYPES):
            return TypeAdapter(as_type)
    raise InvalidInputError(f"as_type must be a type that pydantic can make, got {describe(as_type)}")


def _revive(plain: Any, *, key: str, unwrap_objects: bool) -> Any:
    if isinstance(plain, list):
        return [_revive(each, key=key, unwrap_objects=unwrap_objects) for each in plain]
    if not isinstance(plain, dict):
        return plain
    tag = plain.get(_TAG_KEY)
    if tag is None:
        return {name: _revive(each, key=key, unwrap_objects=unwrap_objects) for name, each in plain.items()}
    if tag == "object":
        if unwrap_objects:
            return _revive(plain["value"], key=key, unwrap_objects=unwrap_objects)
        raise SerializationError(f"the value of {key!r} holds a {plain.get('type')!r}: pass as_type= to revive it")
    try:
        name, _, zoned = tag.partition("@")
        told = _revive(plain["value"], key=key, unwrap_objects=unwrap_objects)
        value = _DECODERS[name](told)
        return value.replace(tzinfo=_to_time_zone(zoned, plain["zone"])) if zoned else value
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError):
        fault = f"the stored value of {key!r} has a damaged tag {describe(tag)}"
    raise CorruptionError(fault)


def _to_datetime(text: str, fold: int = 0) -> datetime:
    """A naive or fixed-offset datetime; the adapter of LlamaIndex once stored its text alone."""
    return datetime.fromisoformat(text).replace(fold=fold)


def _to_time_zone(kind: str, value: Any) -> Any:
    if kind == "offset":
        days, seconds, microseconds, name = value
        return timezone(timedelta(days, seconds, microseconds), name)
    from zoneinfo import ZoneInfo  # imported only where zones are stored

    return ZoneInfo(value)
