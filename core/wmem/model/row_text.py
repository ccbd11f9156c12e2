"""The text of a row, as indexes, embedders and notes read it."""

import json
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from wmem.model.item import to_message
from wmem.model.message import Message
from wmem.model.part import Part, ToolCall
from wmem.model.recall_marks import OPENING, RETELLERS, is_memory_call, strip_recalled
from wmem.model.row import Row
from wmem.model.values import load_json


def row_text(row: Row) -> str:
    """The text of a row: a message's text and calls, an item's content, an entry as ``key: value``."""
    if row.role is not None:
        return message_text(to_message(row))
    value = load_json(row.content)
    return value if row.key is None else f"{row.key}: {_flatten(value)}"


class Wording(NamedTuple):
    """What a message says, and where.

    Attributes:
        text: See `message_text`.
        spoken: The text alone, without files and calls.
        name: Its author's, if it has one.
        thread: The id of its thread.
        has_calls: Whether it calls tools.
    """

    text: str
    spoken: str
    name: str | None
    thread: str | None
    has_calls: bool = False


def read_wording(row: Row) -> Wording:
    """What a stored message says.

    Raises:
        CorruptionError: The row's bytes cannot be read as a message.
    """
    if _OTHER_PART not in row.content and _CALLS not in row.content:
        # Text alone, as nearly every message: it is read without the model, which takes several times as long.
        plain = _read_plain(load_json(row.content))
        if plain is not None:
            if _MARK in row.content and row.role in RETELLERS:
                plain = plain._replace(text=strip_recalled(plain.text), spoken=strip_recalled(plain.spoken))
            return plain
    message = to_message(row)
    return Wording(message_text(message), _new_text(message), message.name, message.thread_id, bool(message.tool_calls))


_MARK = OPENING.encode()
_OTHER_PART, _CALLS = b'"kind":', b'"tool_calls":'  # in the JSON of other messages, and in no text: quotes are escaped


def _read_plain(fields: Any) -> Wording | None:
    """What a message without parts of another kind says; None if it does not read as one."""
    try:
        texts = [part.get("text", "") for part in fields.get("parts", ())]
        text = texts[0] if len(texts) == 1 else "\n".join(filter(None, texts))
        said = Wording(text, text, fields.get("name"), fields.get("thread_id"))
    except (AttributeError, TypeError):
        return None
    plain = isinstance(text, str) and isinstance(said.name, str | None) and isinstance(said.thread, str | None)
    return said if plain else None


def message_text(message: Message) -> str:
    """A message's text, then the name of each of its files and each of its tool calls on a line.

    What repeats a memory is left out: see `recall_marks`.
    """
    names = [file_name(part) for part in message.parts if part.kind not in ("text", "reasoning")]
    calls = [f"{call.name} {_arguments_text(call)}" for call in message.tool_calls if not is_memory_call(call)]
    return "\n".join(filter(None, (_new_text(message), *names, *calls)))


def _new_text(message: Message) -> str:
    return strip_recalled(message.text) if message.role in RETELLERS else message.text


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
