"""The text of a row, as indexes, embedders and notes read it."""

from typing import Any

from wmem.model.item import to_message
from wmem.model.message import Message
from wmem.model.row import Row
from wmem.model.values import load_json


def row_text(row: Row) -> str:
    """The text of a row: a message's text and calls, an item's content, an entry as ``key: value``."""
    if row.role is not None:
        return message_text(to_message(row))
    value = load_json(row.content)
    return value if row.key is None else f"{row.key}: {_flatten(value)}"


def message_text(message: Message) -> str:
    """A message's text, then each of its tool calls on a line."""
    calls = [f"{call.name} {call.arguments}" for call in message.tool_calls]
    return "\n".join(filter(None, (message.text, *calls)))


def _flatten(value: Any) -> str:
    if isinstance(value, dict):
        if "~wmem" in value:
            return _flatten(value.get("value"))
        return ", ".join(f"{name}: {_flatten(each)}" for name, each in value.items())
    if isinstance(value, list):
        return ", ".join(_flatten(each) for each in value)
    return str(value)
