"""What a prompt costs, counted on the JSON that is sent, without wmem's counting of messages.

The form: three tokens for a prompt and four for each message, which providers put in the
place of its role and keys, and one for each block beside others; texts as they are, since
no provider shows a model the escapes of JSON; all else as JSON; media at their estimates.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from wmem.tokens.counter import Counter

PROMPT, MESSAGE, BLOCK = 3, 4, 1
MEDIA = {
    **dict.fromkeys(("image_url", "image", "input_image"), 1_600),
    **dict.fromkeys(("input_audio", "audio"), 2_000),
    **dict.fromkeys(("video_url", "video", "media"), 8_000),
    **dict.fromkeys(("file", "document", "input_file", "document_url"), 4_000),
}
_CALL_KEYS = ("id", "type", "function", "custom")
_TEXT_KEYS = ("content", "name", "tool_call_id", "refusal", "reasoning_content", "reasoning")


def rendered_tokens(
    messages: Sequence[Mapping[str, Any]],
    count: Counter,
    *,
    tools: Sequence[Mapping[str, Any]] = (),
    system: Any = None,
) -> int:
    """Tokens of a prompt in OpenAI's or Anthropic's form, with its tools."""
    total = PROMPT + sum(_message_tokens(message, count) for message in messages)
    total += MESSAGE + _value_tokens(system, count) if system else 0
    return total + (count(_to_json(tools)) if tools else 0)


def _message_tokens(message: Mapping[str, Any], count: Counter) -> int:
    rest = {key: value for key, value in message.items() if key not in ("role", *_TEXT_KEYS) and value is not None}
    if calls := rest.get("tool_calls"):  # the order of their keys is worth a token, and is the writer's
        rest["tool_calls"] = [{**{key: call[key] for key in _CALL_KEYS if key in call}, **call} for call in calls]
    texts = sum(_value_tokens(message[key], count) for key in _TEXT_KEYS if message.get(key))
    return MESSAGE + texts + sum(count(_to_json(value)) for value in rest.values())


def _value_tokens(value: Any, count: Counter) -> int:
    if isinstance(value, str):
        return count(value)
    if isinstance(value, list):
        joints = BLOCK * len(value) if len(value) > 1 else 0
        return joints + sum(_block_tokens(block, count) for block in value)
    return count(_to_json(value))


def _block_tokens(block: Any, count: Counter) -> int:
    if isinstance(block, str):
        return count(block)
    kind = block.get("type")
    source = block.get("source")
    if kind in MEDIA and not (isinstance(source, Mapping) and source.get("type") in {"text", "content"}):
        return MEDIA[kind]
    if kind == "text":
        rest = {key: value for key, value in block.items() if key not in ("type", "text")}
        return count(block["text"]) + (count(_to_json(rest)) if rest else 0)
    if kind == "tool_result":
        rest = {key: value for key, value in block.items() if key != "content"}
        return count(_to_json(rest)) + _value_tokens(block.get("content") or "", count)
    return count(_to_json(block))


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
