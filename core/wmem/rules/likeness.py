"""Equality of metadata values."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["same"]


def same(known: Any, wanted: Any) -> bool:
    """Whether two values are equal as JSON: a bool is no number, a tuple equals its list."""
    if isinstance(known, bool) or isinstance(wanted, bool):
        return known is wanted
    if isinstance(known, Mapping) and isinstance(wanted, Mapping):
        return known.keys() == wanted.keys() and all(same(known[name], wanted[name]) for name in known)
    if _listed(known) and _listed(wanted):
        return len(known) == len(wanted) and all(map(same, known, wanted))
    return bool(known == wanted)


def _listed(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
