"""Validation of arguments: names, keys, paths, tags, numbers, flags, metadata and listeners."""

import inspect
import math
import sys
import unicodedata
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, TypeVar

from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.model.history import RESERVED_PREFIX, Path

T = TypeVar("T")

_MAX_SAFE_INTEGER = 2**53 - 1
_REFUSED_CATEGORIES = ("Cc", "Cs")  # controls and surrogates
_MAX_NAME_CHARS = 1_024
_SEPARATORS = "\u2028", "\u2029"  # of lines and paragraphs


def _check_text(value: object, name: str) -> str:
    if type(value) is str and value.isascii() and value.isprintable() and value.strip():
        return value  # fast path: nearly every name
    if not isinstance(value, str) or not value.strip():
        raise InvalidInputError(f"{name} must be text that is not blank, got {describe(value)}")
    for place, char in enumerate(value):
        if unicodedata.category(char) in _REFUSED_CATEGORIES:
            told = f"got U+{ord(char):04X} as character {place + 1} of {len(value)}"
            raise InvalidInputError(f"{name} must not hold control characters, {told}")
    return plain_text(value)


def check_new_names(*names: str) -> None:
    """Refuse long names and line separators in new keys, ids and names of scopes; what has such a name can be read."""
    for name in names:
        if len(name) > _MAX_NAME_CHARS:
            msg = f"a new key, id or name has at most {_MAX_NAME_CHARS} characters, got {len(name)}"
            raise InvalidInputError(msg)
        if not name.isascii() and any(separator in name for separator in _SEPARATORS):
            raise InvalidInputError("a new key, id or name must not hold line separators (U+2028, U+2029)")


def plain_text(value: str) -> str:
    """A text as `str` itself: a member of an enumeration hashes by its name, and prints it."""
    return value if type(value) is str else str.__str__(value)


def check_key(key: object) -> str:
    """Check the key of an entry."""
    if type(key) is str and key.isalnum():
        return key  # so neither blank nor with control characters
    return _check_text(key, "a key")


def check_id(value: object) -> str:
    """Check an id that the caller chose."""
    return _check_text(value, "an id")


def check_turn_id(value: object) -> str:
    """Check the id of a turn, which is stored with what the turn writes."""
    turn_id = check_id(value)
    check_new_names(turn_id)
    return turn_id


def check_path(segments: object, *, reserved: bool = False) -> Path:
    """Check the segments of a scope's path; those that begin with ``~`` are reserved."""
    if not isinstance(segments, Iterable):
        raise InvalidInputError(f"a scope is told by its names, got {describe(segments)}")
    path = tuple(_check_text(segment, "a scope's name") for segment in segments)
    if not reserved and (taken := [segment for segment in path if segment.startswith(RESERVED_PREFIX)]):
        raise InvalidInputError(f"scope names that begin with {RESERVED_PREFIX!r} are reserved, got {taken[0]!r}")
    return path


def check_tags(value: Any) -> tuple[str, ...]:
    """Check tags; keep their order and remove duplicates."""
    listed = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    tags: list[Any] = list(value) if listed else [None]
    if not all(isinstance(tag, str) and tag.strip() for tag in tags):
        raise InvalidInputError(f"tags must be a list of texts that are not blank, got {describe(value)}")
    return tuple(dict.fromkeys(map(plain_text, tags)))


def check_metadata(metadata: object) -> Mapping[str, Any]:
    """Check metadata that an item must match; None becomes an empty mapping."""
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidInputError(f"metadata must be pairs of names and values, got {describe(metadata)}")
    return metadata or {}


def check_count(value: object, name: str, minimum: int = 0) -> int:
    """Check a whole number; one of an enumeration or of numpy counts as its value."""
    if isinstance(value, bool) or not isinstance(value, int | Integral) or value < minimum:
        raise InvalidInputError(f"{name} must be a whole number of at least {minimum}, got {describe(value)}")
    return int(value)


def check_limit(limit: object) -> int:
    """Check a maximum number of results."""
    return min(check_count(limit, "limit"), sys.maxsize)  # nothing can hold more


def check_whole_number(value: object, name: str, minimum: int = 0) -> int:
    """Check an integer (a step, a position) that every JSON reader represents exactly."""
    number = check_count(value, name, minimum)
    if number > _MAX_SAFE_INTEGER:
        raise InvalidInputError(f"{name} must be a whole number up to {_MAX_SAFE_INTEGER}, got {describe(number)}")
    return number


def check_fraction(value: object, name: str) -> float:
    """Check a number from 0 to 1."""
    number = value if type(value) is float else _to_number(value)
    if not 0 <= number <= 1:
        raise InvalidInputError(f"{name} must be a number from 0 to 1, got {describe(value)}")
    return float(number)


def check_seconds(value: object, name: str, limit: float = math.inf) -> float:
    """Check a duration in seconds."""
    number = _to_number(value)
    if not 0 < number <= limit:
        raise InvalidInputError(f"{name} must be above 0 seconds, got {describe(value)}")
    return number


def _to_number(value: object) -> float:
    """A number as `int` or `float` itself, one of an enumeration or of numpy too; nan for anything else."""
    if type(value) is float or type(value) is int:
        return value
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    return int(value) if isinstance(value, Integral) else float(value)


def check_flag(value: object, name: str) -> bool:
    """Check an option that is on or off."""
    if not isinstance(value, bool):
        raise InvalidInputError(f"{name} must be True or False, got {describe(value)}")
    return value


def check_instances(values: object, kind: type[T]) -> list[T]:
    """Check a list of a framework's objects, and return it as a new list."""
    if isinstance(values, kind | str) or not isinstance(values, Iterable):
        raise InvalidInputError(f"expected a sequence of {kind.__name__}, got {type(values).__name__!r}")
    listed = list(values)
    if wrong := [each for each in listed if not isinstance(each, kind)]:
        raise InvalidInputError(f"expected a sequence of {kind.__name__}, got {type(wrong[0]).__name__!r} in it")
    return listed


def check_listener(listener: object) -> None:
    """Refuse a listener that is async or not callable."""
    if not callable(listener):
        raise InvalidInputError(f"a listener must be callable, not {type(listener).__name__!r}")
    if is_coroutine_function(listener):
        raise InvalidInputError("a listener must be a plain function: it runs in whichever thread brings the news")


def is_coroutine_function(function: object) -> bool:
    """Whether a callable, or its ``__call__``, is a coroutine function."""
    return any(map(inspect.iscoroutinefunction, (function, getattr(type(function), "__call__", None))))  # noqa: B004  # not asked whether it is callable
