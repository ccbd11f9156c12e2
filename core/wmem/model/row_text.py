"""The text of a row, as indexes, embedders and notes read it."""

import json
from typing import Any
from urllib.parse import unquote, urlsplit

from wmem.model.item import to_message
from wmem.model.message import Message
from wmem.model.part import Part, ToolCall
from wmem.model.row import Row
from wmem.model.values import load_json


def row_text(row: Row) -> str:
    """The text of a row: a message's text and calls, an item's content, an entry as ``key: value``."""
    if row.role is not None:
        return message_text(to_message(row))
    value = load_json(row.content)
    return value if row.key is None else f"{row.key}: {_flatten(value)}"


def message_text(message: Message) -> str:
    """A message's text, then the name of each of its files and each of its tool calls on a line."""
    names = [file_name(part) for part in message.parts if part.kind not in ("text", "reasoning")]
    calls = [f"{call.name} {_arguments_text(call)}" for call in message.tool_calls]
    return "\n".join(filter(None, (message.text, *names, *calls)))


def _arguments_text(call: ToolCall) -> str:
    """The arguments as they came, but for letters that some frameworks escape."""
    args = call.args if "\\u" in call.arguments else None
    return call.arguments if args is None else json.dumps(args, ensure_ascii=False)


def file_name(part: Part) -> str:
    """The name of a medium's file, as it was told or at the end of its URL's path; empty if there is none."""
    data = part.data or {}
    named = (name for key in ("filename", "title", "name") if isinstance(name := data.get(key), str) and name)
    if (name := next(named, None)) is not None:
        return name
    if not part.url or part.url.startswith("data:"):
        return ""
    try:
        # The path alone: what comes after it may be a secret.
        return unquote(urlsplit(part.url).path.rsplit("/", 1)[-1])
    except ValueError:
        return ""


def _flatten(value: Any) -> str:
    if isinstance(value, dict):
        if "~wmem" in value:
            return _flatten(value.get("value"))
        return ", ".join(f"{name}: {_flatten(each)}" for name, each in value.items())
    if isinstance(value, list):
        return ", ".join(_flatten(each) for each in value)
    return str(value)
