"""Messages of other APIs, read as OpenAI's chat form: Anthropic, Bedrock, Gemini, OpenAI Responses, Vercel AI SDK.

A tool's call or result that is a block of the content becomes what the chat form has for it: a call of the assistant's,
a message of the tool's. So one message can become several; the first has its id, each further one that id and its
place (`m1`, `m1.1`), so that storing it again updates them. A block that is neither is read by what it holds, and
else stays as it is, within its message.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.model.exchange_blocks import (
    CallContent,
    is_exchange_type,
    is_result_block,
    read_call_block,
    split_blocks,
    write_call,
    write_result_content,
)
from wmem.model.plain_blocks import Json, block_type, is_plain_type, to_medium, to_text_blocks

_ITEM_TYPES = (
    "message",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "reasoning",
)
_FOREIGN_KEYS = frozenset(("type", "parts", "toolInvocations", "images"))
_SHARED_KEYS = ("id", "turn_id", "thread_id", "metadata", "created_at", "pinned", "complete", "name")


def to_chat_form(data: Json) -> Sequence[Json]:
    """The message as dictionaries in OpenAI's chat form; one that is in it already comes back alone, as it is.

    Raises:
        InvalidInputError: A call or a result stands where its API has none, or an item is no message.
    """
    content, kind = data.get("content"), data.get("type")
    if type(content) is str and _FOREIGN_KEYS.isdisjoint(data):
        return [data]  # nearly every message
    if kind is not None and ("role" not in data or kind == "message"):
        return [_read_item(data)]
    if (parts := _as_list(data.get("parts"))) is not None:
        return _split(data, parts, "content", "parts", "toolInvocations")
    if steps := _as_list(data.get("toolInvocations")):
        said = [{"type": "tool-invocation", "toolInvocation": each} for each in steps]
        return _split(data, [*said, *to_text_blocks(content)], "content", "toolInvocations")
    if (images := _as_list(data.get("images"))) and all(isinstance(each, str) for each in images):
        pictures = [to_medium("image/*", each) or each for each in images]
        return [{**data, "images": None, "content": [*to_text_blocks(content), *pictures]}]
    if isinstance(content, list | tuple) and any(map(_is_foreign, content)):
        if data.get("role") in ("tool", "function") and not any(map(_is_exchange, content)):
            return [{**data, "content": write_result_content(content)}]
        return _split(data, content, "content")
    return [data]


def _as_list(value: object) -> Sequence[Any] | None:
    return value if isinstance(value, list | tuple) else None


def _is_exchange(block: object) -> bool:
    return is_result_block(block) or read_call_block(block) is not None


def _is_foreign(block: object) -> bool:
    if not isinstance(block, Mapping):
        return False
    kind = block_type(block)
    return kind is None or is_exchange_type(kind) or is_plain_type(kind)


# --- OpenAI's Responses API ------------------------------------------------------------------------------------------


def _read_item(item: Json) -> Json:
    """An item of the Responses API."""
    kind = item["type"]
    if not isinstance(kind, str) or kind not in _ITEM_TYPES:
        msg = f"an item of type {describe(kind)} is no message; keep it in the metadata of one, or leave it out"
        raise InvalidInputError(msg)
    rest = {key: value for key, value in item.items() if key not in ("type", "status", "phase", "call_id")}
    if kind == "message":
        return rest
    if kind == "reasoning":
        return {**_common_fields(item), "role": "assistant", "content": [dict(item)]}
    if kind.endswith("_output"):
        return {
            **_common_fields(item),
            "role": "tool",
            "tool_call_id": item.get("call_id"),
            "content": write_result_content(item.get("output")),
        }
    if kind == "custom_tool_call":
        call = {"id": item.get("call_id"), "custom": {"name": item.get("name"), "input": item.get("input")}}
    else:
        call = write_call(CallContent(item.get("call_id"), item.get("name"), item.get("arguments")))
    return {**_common_fields(item), "role": "assistant", "content": None, "tool_calls": [call], "name": None}


# --- messages that hold calls and results ----------------------------------------------------------------------------


def _split(data: Json, blocks: Sequence[Any], *read: str) -> Sequence[Json]:
    """The message as one of its role for each run of blocks, and the tools' results between them."""
    role = {"model": "assistant", "ai": "assistant", "human": "user"}.get(str(data.get("role")), data.get("role"))
    listed = list(_as_list(data.get("tool_calls")) or ())
    known = [call.get("id") for call in listed if isinstance(call, Mapping)]
    rest = {key: value for key, value in data.items() if key not in read and key != "role"}
    made = [{**_common_fields(rest), **piece.form} for piece in split_blocks(role, blocks, known)]
    if made:
        calls = [*listed, *made[0].get("tool_calls", ())]
        made[0] = {**rest, **made[0], **({"tool_calls": calls} if calls else {})}
    if (named := data.get("id")) is not None:
        made[1:] = [{**each, "id": f"{named}.{place}"} for place, each in enumerate(made[1:], 1)]
    return made or [{**rest, "role": role, "content": []}]


def _common_fields(data: Json) -> dict[str, Any]:
    return {key: data[key] for key in _SHARED_KEYS if data.get(key) is not None}
