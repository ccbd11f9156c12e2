"""Validation of arguments: names, keys, paths, tags, whole numbers, metadata and listeners."""

import inspect
import sys
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from wmem.errors import InvalidInputError
from wmem.model.history import Path

__all__ = [
    "as_tags",
    "checked_id",
    "checked_key",
    "checked_limit",
    "checked_listener",
    "checked_pairs",
    "checked_path",
    "checked_whole",
]

RESERVED = "~"
_MOST = 2**53 - 1


def _text(given: object, what: str) -> str:
    if type(given) is str and given.isascii() and given.isprintable() and given.strip():
        return given  # fast path: nearly every name
    if not isinstance(given, str) or not given.strip():
        msg = f"{what} must be text that is not blank, got {given!r:.80}"
        raise InvalidInputError(msg)
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in given):
        msg = f"{what} must not hold control characters, got {given!r:.80}"
        raise InvalidInputError(msg)
    return str(given)


def checked_key(given: object) -> str:
    """Check the key of an entry."""
    if type(given) is str and given.isalnum():
        return given  # so neither blank nor with control characters
    return _text(given, "a key")


def checked_id(given: object) -> str:
    """Check an id that the caller chose."""
    return _text(given, "an id")


def checked_path(segments: Iterable[object], *, reserved: bool = False) -> Path:
    """Check the segments of a scope's path; those that begin with ``~`` are reserved."""
    path = tuple(_text(segment, "a scope's name") for segment in segments)
    if not reserved and (taken := [segment for segment in path if segment.startswith(RESERVED)]):
        msg = f"scope names that begin with {RESERVED!r} are reserved, got {taken[0]!r}"
        raise InvalidInputError(msg)
    return path


def as_tags(given: Any) -> tuple[str, ...]:
    """Check tags; keep their order and remove duplicates."""
    listed = isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping)
    tags: list[Any] = list(given) if listed else [None]
    if not all(isinstance(tag, str) and tag.strip() for tag in tags):
        msg = f"tags must be a list of texts that are not blank, got {given!r:.80}"
        raise InvalidInputError(msg)
    return tuple(dict.fromkeys(tags))


def checked_pairs(given: object) -> Mapping[str, Any]:
    """Check metadata that an item must match; None becomes an empty mapping."""
    if given is not None and not isinstance(given, Mapping):
        msg = f"metadata must be pairs of names and values, got {given!r:.80}"
        raise InvalidInputError(msg)
    return given or {}


def checked_limit(limit: object) -> int:
    """Check a maximum number of results."""
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        msg = f"limit must be a whole number from 0, got {limit!r:.80}"
        raise InvalidInputError(msg)
    return min(limit, sys.maxsize)  # nothing can hold more


def checked_whole(given: object, what: str, least: int = 0) -> int:
    """Check an integer (a step, a position) that every JSON reader represents exactly."""
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= _MOST:
        msg = f"{what} must be a whole number from {least} to {_MOST}, got {given!r:.80}"
        raise InvalidInputError(msg)
    return given


def checked_listener(listener: object) -> None:
    """Refuse a listener that is async or not callable."""
    if not callable(listener):
        msg = f"a listener must be callable, not {type(listener).__name__!r}"
        raise InvalidInputError(msg)
    if inspect.iscoroutinefunction(listener) or inspect.iscoroutinefunction(type(listener).__call__):
        msg = "a listener must be a plain function: it runs in whichever thread brings the news"
        raise InvalidInputError(msg)
