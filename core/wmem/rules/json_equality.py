"""Equality of metadata values."""

from collections.abc import Mapping, Sequence
from typing import Any


def json_equal(one: Any, other: Any) -> bool:
    """Whether two values are equal as JSON: a bool is no number, a tuple equals its list."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(json_equal(one[name], other[name]) for name in one)
    if _is_list(one) and _is_list(other):
        return len(one) == len(other) and all(map(json_equal, one, other))
    return bool(one == other)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
