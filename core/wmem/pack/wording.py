"""What is no text in words: tool calls and media, as the note and summaries tell of them.

A call is told so that no model takes it for a form to imitate; a picture, so that it is known to have been there.
"""

import json
from collections.abc import Mapping

from wmem.graphemes import cut_before
from wmem.model.message import Message
from wmem.model.part import Part, ToolCall
from wmem.model.recall_marks import OPENING, RETELLERS, is_memory_call, strip_recalled
from wmem.model.row_text import file_name

_MAX_CALL_CHARS = 1_000  # characters of a call's arguments
_MAX_NAME_CHARS = 80  # characters of a file's name
_MAX_DEPTH = 8  # levels of nested arguments
_MEDIA_WORDS = {"image": "picture", "audio": "audio", "video": "video", "file": "file"}


def message_text(message: Message) -> str:
    """The text of a message, with its media and its tool calls in words, but for what repeats a memory."""
    if len(message.parts) == 1 and not message.tool_calls:  # nearly every message
        text = _part_text(message.parts[0])
    else:
        texts = [text for part in message.parts if (text := _part_text(part))]
        text = "\n".join((*texts, *(call_in_words(call) for call in message.tool_calls if not is_memory_call(call))))
    return strip_recalled(text) if OPENING in text and message.role in RETELLERS else text


def normalize_text(text: str) -> str:
    """A text normalized for comparison: case-folded, white space collapsed."""
    return " ".join(text.split()).casefold()


def is_plain_text(message: Message) -> bool:
    """Whether a message is nothing but text."""
    return not message.tool_calls and all(part.kind == "text" for part in message.parts)


def _part_text(part: Part) -> str:
    if part.kind in ("text", "refusal"):
        return part.text or ""
    kind: str = part.kind
    if kind == "other" and part.data is not None:
        kind = _block_kind(part.data)
    word = _MEDIA_WORDS.get(kind)
    return f"[{word}: {_medium_name(part)}]" if word is not None else ""


def _block_kind(block: Mapping[str, object]) -> str:
    """The kind of medium of a provider's own block, by its type: "input_image", "document" and the like."""
    kind = str(block.get("type")).removeprefix("input_").removesuffix("_url")
    return "file" if kind == "document" else kind


def _medium_name(part: Part) -> str:
    """The name of a medium's file, else its type."""
    name = " ".join((file_name(part) or part.mime_type or part.file_id or "attached").split())
    return name[: cut_before(name, _MAX_NAME_CHARS)]


def call_in_words(call: ToolCall) -> str:
    """A call as a quote tells of it."""
    args = call.args if call.type == "function" else None
    told = " ".join((call.arguments if args is None else _in_words(args, 0)).split())
    if len(told) > _MAX_CALL_CHARS:
        told = f"{told[: cut_before(told, _MAX_CALL_CHARS)]}…"
    return f"(used {call.name} with {told})" if told else f"(used {call.name})"


def _in_words(value: object, depth: int) -> str:
    if depth == _MAX_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        told = ", ".join(f"{name}: {_in_words(each, depth + 1)}" for name, each in value.items())
        return f"({told})" if depth else told
    if isinstance(value, list):
        return ", ".join(_in_words(each, depth + 1) for each in value)
    return value if isinstance(value, str) else json.dumps(value)
