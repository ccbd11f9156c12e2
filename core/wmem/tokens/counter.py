"""Token counts of messages, parts and tool schemas, by a counter of texts.

A count is an upper bound: never below the tokens of what `Message.to_openai()`
renders. Media have a flat estimate, however they are encoded.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from wmem.errors import MissingExtraError
from wmem.tokens.bpe import TiktokenCounter, require_encoding, warn_of_estimates
from wmem.tokens.estimate import EstimateCounter

if TYPE_CHECKING:
    from wmem.model.message import Message
    from wmem.model.part import Part, ToolCall

PROMPT_OVERHEAD = 3
"""Tokens a provider adds once to a prompt, to start the reply."""
MESSAGE_OVERHEAD = 4
"""Tokens a provider adds to each message: its delimiters and its role."""
_DEFAULT_ENCODING = "o200k_base"
_CALL_OVERHEAD = 8
_PART_OVERHEAD = 2
_TOOL_OVERHEAD = 8

# The most that any major provider charges for one of ordinary size.
_TOKENS_BY_MEDIA = {"image": 1_600, "audio": 2_000, "video": 8_000, "file": 4_000}
_LOW_DETAIL_IMAGE = 85
_MEDIA_BY_BLOCK_TYPE = {
    **{f"{prefix}{kind}": kind for kind in _TOKENS_BY_MEDIA for prefix in ("", "input_")},
    "image_url": "image",
    "document": "file",
}
# In a block of unknown type, a longer text without any space is encoded bytes, not language.
_OPAQUE_CHARS = 512


class Counter(Protocol):
    """Counts the tokens of a text: pure, never raises, never uses the network."""

    @property
    def name(self) -> str:
        """Key of cached counts: two counters of one name must count alike."""
        ...

    def __call__(self, text: str, /) -> int: ...


def default_counter() -> Counter:
    """The tokenizer of the current OpenAI models if its file is on this machine, else the estimate.

    Emits one `EstimateWarning` a process when it has to estimate, and looks for the file every 30 s at most.
    """
    try:
        return _make_exact_counter()
    except MissingExtraError as exc:
        warn_of_estimates(str(exc))
        return EstimateCounter()


@cache  # what is raised is not cached
def _make_exact_counter() -> TiktokenCounter:
    require_encoding(_DEFAULT_ENCODING)
    return TiktokenCounter(_DEFAULT_ENCODING)


def message_tokens(message: "Message", count: Counter) -> int:
    """Tokens of a message in a prompt, with its delimiters; `native` is not counted."""
    tokens = MESSAGE_OVERHEAD
    if message.name:
        tokens += count(message.name) + 1
    if message.tool_call_id:
        tokens += count(message.tool_call_id)
    if message.tool_calls:
        tokens += _calls_tokens(message.tool_calls, count)
    parts = message.parts
    if len(parts) == 1 and parts[0].kind == "text":
        return tokens + count(parts[0].text or "")
    if all(part.kind == "text" for part in parts):
        # Counted joined, as it is rendered: joining can add a token.
        return tokens + (count("\n".join(part.text or "" for part in parts)) + len(parts) if parts else 0)
    return tokens + sum(part_tokens(part, count) for part in parts)


def part_tokens(part: "Part", count: Counter) -> int:
    """Tokens of one part, with its delimiters; bytes never count as text."""
    tokens = _PART_OVERHEAD + (count(part.text) if part.text else 0)
    if part.kind in _TOKENS_BY_MEDIA:
        return tokens + _media_tokens(part.kind, part.data or {})
    if part.signature:
        # The provider decodes it to its own reasoning tokens: about one for six characters.
        tokens += len(part.signature) // 6
    if part.kind == "other" and part.data:
        block = _MEDIA_BY_BLOCK_TYPE.get(str(part.data.get("type")))
        tokens += _media_tokens(block, part.data) if block else count(_to_json(_mask_bytes(part.data)))
    return tokens


def tools_tokens(schemas: Sequence[Mapping[str, Any]], count: Counter) -> int:
    """Tokens of the tools' JSON schemas."""
    return sum(count(_to_json(schema)) + _TOOL_OVERHEAD for schema in schemas)


def _calls_tokens(calls: Sequence["ToolCall"], count: Counter) -> int:
    # Providers render calls differently; the larger of the two known forms is the upper bound.
    total = sum(count(call.id) + count(call.name) + count(call.arguments) + _CALL_OVERHEAD for call in calls)
    whole = _to_json(
        [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    )
    return max(total, count(whole))


def _media_tokens(kind: str, data: Mapping[str, Any]) -> int:
    """Flat estimate by kind; an image costs less in low detail, and by its tiles if its size is known."""
    if kind != "image":
        return _TOKENS_BY_MEDIA[kind]
    inner = data.get("image_url")
    detail = data.get("detail") or (inner.get("detail") if isinstance(inner, Mapping) else None)
    if detail == "low":
        return _LOW_DETAIL_IMAGE
    width, height = data.get("width"), data.get("height")
    if isinstance(width, int | float) and isinstance(height, int | float) and width > 0 and height > 0:
        tiles = -(-min(width, 2_048) // 512) * -(-min(height, 2_048) // 512)
        return min(_TOKENS_BY_MEDIA[kind], _LOW_DETAIL_IMAGE + 170 * int(tiles))
    return _TOKENS_BY_MEDIA[kind]


def _mask_bytes(value: Any) -> Any:
    if isinstance(value, str):
        opaque = len(value) > _OPAQUE_CHARS and " " not in value and value.isascii()
        return f"[{len(value)} characters]" if opaque else value
    if isinstance(value, Mapping):
        return {key: _mask_bytes(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_mask_bytes(each) for each in value]
    return value


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
