"""Reasoning of LangChain's messages: where integrations put it, and a message without it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wmem import Part

BLOCK_TYPES = ("thinking", "redacted_thinking", "reasoning", "reasoning_content")
TEXT_KEY = "reasoning_content"
_LIST_KEYS = ("reasoning", "reasoning_details", "thinking_blocks", "__gemini_function_call_thought_signatures__")
_KEYS = frozenset((TEXT_KEY, *_LIST_KEYS))
_ITEM_KEYS = {"text": "id", "output_text": "id", "function_call": "id", "tool_call": "extras"}
"""Keys that name an item of OpenAI's Responses API, which refuses it without the reasoning it came with."""


def read_extra_reasoning(extra: Mapping[str, Any]) -> Iterator[Part]:
    """The reasoning that is beside the content and goes back from there, but for its text."""
    for key in _LIST_KEYS:
        if value := extra.get(key):
            yield Part(kind="reasoning", data={"key": key, "value": value})


def write_extra_reasoning(parts: Sequence[Part]) -> dict[str, Any]:
    """The `additional_kwargs` of reasoning that came from there, or from such a key of another form."""
    written = {}
    for part in parts:
        if is_beside_content(part) and part.data:
            written[str(part.data["key"])] = part.data.get("value", part.text)
    return written


def is_beside_content(part: Part) -> bool:
    """Whether a part is reasoning that goes into `additional_kwargs`."""
    return part.kind == "reasoning" and bool(part.data) and "key" in (part.data or {})


def without_reasoning(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts that are not reasoning."""
    return tuple(part for part in parts if part.kind != "reasoning")


def drop_reasoning(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a LangChain message without its reasoning; the other blocks stay as they are."""
    kept = dict(fields)
    if isinstance(content := kept.get("content"), list):
        kept["content"] = [_without_item(block) for block in content if not _is_reasoning(block)]
    if isinstance(extra := kept.get("additional_kwargs"), Mapping):
        kept["additional_kwargs"] = {key: value for key, value in extra.items() if key not in _KEYS}
    return kept


def _is_reasoning(block: object) -> bool:
    return isinstance(block, Mapping) and block.get("type") in BLOCK_TYPES


def _without_item(block: Any) -> Any:
    named = _ITEM_KEYS.get(str(block.get("type"))) if isinstance(block, Mapping) else None
    return {key: value for key, value in block.items() if key != named} if named else block
