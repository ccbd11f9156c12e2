"""Lenient conversion of messages in an agent's state: values that JSON cannot hold are left out.

The state comes back in every later run, so one object that JSON cannot hold must
not break a thread for good. What a message says is never left out: content, calls
and names that cannot be stored are refused here as everywhere.
"""

from contextlib import suppress
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage, ToolMessage
from pydantic import ValidationError

from langchain_wmem._convert import MESSAGE_CLASSES, read_message
from langchain_wmem._fields import to_json
from wmem import Message
from wmem.adapter import describe_field
from wmem.errors import SerializationError

_FILTERED_BY_KEY = ("additional_kwargs", "response_metadata")
_REQUIRED_FIELDS = ("content", "tool_calls", "invalid_tool_calls", "tool_call_id", "name", "id", "role", "status")


class LenientMessage(NamedTuple):
    """What a message is in wmem's form, and a description of each value left out of it; mostly none."""

    messages: list[Message]
    omitted: tuple[str, ...]


def read_leniently(original: BaseMessage, *, artifacts: bool = True) -> LenientMessage:
    """The message without the values that JSON cannot hold; a subclass is stored as its base.

    Args:
        artifacts: Keep a tool's artifact if it is plain data.

    Raises:
        SerializationError: What the message says cannot be stored.
    """
    if not artifacts and isinstance(original, ToolMessage) and original.artifact is not None:
        original = original.model_copy(update={"artifact": None})
    try:
        return LenientMessage(read_message(original), ())
    except SerializationError as exc:
        refusal = exc
    base: Any = next((each for each in type(original).__mro__ if each in MESSAGE_CLASSES), None)
    if base is None:
        raise refusal
    fields, left_out = _storable_fields(original)
    if type(original) is not base:
        left_out.insert(0, f"its class {type(original).__name__!r}")
    reduced = None
    if left_out:
        with suppress(ValidationError):  # not chained: it would quote the message
            reduced = base(**fields)
    if reduced is None:
        raise refusal
    return LenientMessage(read_message(reduced), tuple(left_out))


def _storable_fields(original: BaseMessage) -> tuple[dict[str, Any], list[str]]:
    """The fields that can be stored, and the names of those that cannot.

    A field that a subclass adds stays, since LangChain's classes accept extra fields.
    """
    # The artifact is checked undumped: a dumped document would pass for a dictionary.
    dumped = {**original.model_dump(warnings=False), "artifact": getattr(original, "artifact", None)}
    fields: dict[str, Any] = {}
    left_out: list[str] = []
    for name, value in {**original.__dict__, **(original.__pydantic_extra__ or {})}.items():
        if name == "type":
            continue
        if name in _FILTERED_BY_KEY and name in dumped:
            good = {
                key: each for key, each in value.items() if isinstance(key, str) and _is_storable(dumped[name][key])
            }
            left_out += [repr(f"{name}.{describe_field(key)}") for key in value if key not in good]
            fields[name] = good
        elif name in dumped and (name in _REQUIRED_FIELDS or _is_storable(dumped[name])):
            fields[name] = value
        else:  # also what a subclass excludes from the dump
            left_out.append(repr(name))
    return fields, left_out


def _is_storable(value: object) -> bool:
    try:
        to_json(value, ("", "", ""))
    except SerializationError:
        return False
    return True
