"""Pydantic's errors as wmem's own: the field and what is wrong with it, never the input.

A `ValidationError` holds and prints the whole input, so none is chained to what wmem raises.
"""

from collections.abc import Callable
from typing import TypeVar

from pydantic import ValidationError

from wmem.describe import describe, describe_field
from wmem.errors import WmemError

T = TypeVar("T")

_MAX_FAULTS = 3
_MAX_STEPS = 8  # steps of the way to a field that are named


def parse(make: Callable[[], T], to_error: Callable[[ValidationError], WmemError]) -> T:
    """What `make` returns; its `ValidationError` is replaced by another error, unchained."""
    try:
        return make()
    except ValidationError as exc:
        error = to_error(exc)
    raise error  # outside `except`, or the chain would hold the input


def first_fault(exc: ValidationError) -> tuple[str, str]:
    """The field of the first fault, joined by dots, and what is wrong with its value."""
    first = exc.errors(include_url=False)[0]
    what = first["msg"]
    if first["type"] == "union_tag_invalid":  # the only message of pydantic's own that quotes the input
        what = f"expected one of {first['ctx']['expected_tags']}"
    return _field(first["loc"]), f"{what[:1].lower()}{what[1:]}, got {describe(first['input'])}"


def list_faults(exc: ValidationError) -> str:
    """Fields and kinds of fault, without messages: a user's own validator may quote the input."""
    faults = exc.errors(include_url=False, include_input=False, include_context=False)
    listed = [f"{_field(each['loc'])}: {each['type']}".removeprefix(": ") for each in faults[:_MAX_FAULTS]]
    return "; ".join(listed + ["…"] * (len(faults) > _MAX_FAULTS))


def describe_error(exc: BaseException) -> str:
    """An error in words that hold no content: only wmem's own messages are repeated."""
    if isinstance(exc, ValidationError):
        return ": ".join(filter(None, first_fault(exc)))
    return str(exc) if isinstance(exc, WmemError) else type(exc).__name__


def _field(location: tuple[int | str, ...]) -> str:
    shown = [*map(describe_field, location[:_MAX_STEPS]), *["…"] * (len(location) > _MAX_STEPS)]
    return ".".join(shown)
