"""Equality of metadata values."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["json_equal"]


def json_equal(known: Any, wanted: Any) -> bool:
    """Whether two values are equal as JSON: a bool is no number, a tuple equals its list."""
    if isinstance(known, bool) or isinstance(wanted, bool):
        return known is wanted
    if isinstance(known, Mapping) and isinstance(wanted, Mapping):
        return known.keys() == wanted.keys() and all(json_equal(known[name], wanted[name]) for name in known)
    if _is_list(known) and _is_list(wanted):
        return len(known) == len(wanted) and all(map(json_equal, known, wanted))
    return bool(known == wanted)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
