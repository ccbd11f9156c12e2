"""Reasoning in OpenAI's chat form: where it comes in, and where it goes back to.

Providers put it under a key of the message, as text or as a list of their own, or into
blocks of its content. What a part cannot say is in its `data`: `key` and `value` of a
list under a key, or the whole `block`, so that each goes back as it came.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wmem.model.part import Part

REASONING_KEYS = ("reasoning_content", "reasoning", "reasoning_details", "thinking_blocks")
"""Keys of a message under which providers send reasoning: DeepSeek and its like, OpenRouter and vLLM, LiteLLM."""
_BLOCK_TYPES = frozenset(("thinking", "redacted_thinking", "reasoning", "reasoning_content"))
_SEALS = ("signature", "redactedContent", "encrypted_content")
_DEFAULT_KEY = REASONING_KEYS[0]


def read_reasoning(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The parts of the reasoning under keys of a message."""
    for key in REASONING_KEYS:
        if not (value := data.get(key)):
            continue
        if key == _DEFAULT_KEY or isinstance(value, str):
            yield {"kind": "reasoning", "text": value, "data": {"key": key}}
        else:
            yield {"kind": "reasoning", "data": {"key": key, "value": value}}


def read_reasoning_block(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """The part of a block of reasoning; None for any other block."""
    kind = block.get("type")
    if (not isinstance(kind, str) or kind not in _BLOCK_TYPES) and "reasoningContent" not in block:
        return None
    text, signature = block.get("thinking"), block.get("signature")
    if list(block) == ["type", "thinking", "signature"] and isinstance(text, str) and isinstance(signature, str):
        return {"kind": "reasoning", "text": text, "signature": signature}
    if list(block) == ["type", "data"] and isinstance(block["data"], str):
        return {"kind": "reasoning", "signature": block["data"], "data": {"redacted": True}}
    text = text or block.get("reasoning") or block.get("text")
    return {"kind": "reasoning", "text": text if isinstance(text, str) else None, "data": {"block": dict(block)}}


def is_signed(part: Part) -> bool:
    """Whether the part is reasoning that its provider verifies, signed or sealed."""
    block = (part.data or {}).get("block")
    if part.signature is not None or not isinstance(block, Mapping):
        return part.signature is not None
    thought = block.get("reasoningContent")
    inner = thought.get("reasoningText", thought) if isinstance(thought, Mapping) else block
    return isinstance(inner, Mapping) and any(isinstance(inner.get(key), str) for key in _SEALS)


def write_reasoning_block(part: Part) -> dict[str, Any] | None:
    """The block of a reasoning part that goes into the content; None for one that goes under a key."""
    data = part.data or {}
    if isinstance(block := data.get("block"), Mapping):
        return dict(block)
    if part.signature is None or isinstance(data.get("key"), str):
        return None
    if data.get("redacted"):
        return {"type": "redacted_thinking", "data": part.signature}
    if isinstance(named := data.get("id"), str):  # OpenAI's own, of the Responses API
        summary = [{"type": "summary_text", "text": part.text}] if part.text else []
        return {"type": "reasoning", "id": named, "summary": summary, "encrypted_content": part.signature}
    return {"type": "thinking", "thinking": part.text or "", "signature": part.signature}


def write_reasoning_keys(parts: Sequence[Part]) -> dict[str, Any]:
    """The keys of a message that carry its reasoning, beside what goes into its content."""
    written: dict[str, Any] = {}
    for part in parts:
        if part.kind != "reasoning" or write_reasoning_block(part) is not None:
            continue
        data = part.data or {}
        key = data.get("key", _DEFAULT_KEY)
        if not isinstance(key, str) or key not in REASONING_KEYS:
            continue  # of one framework's messages, which no provider reads there
        value = data.get("value", part.text)
        if isinstance(before := written.get(key), str) and isinstance(value, str):
            value = f"{before}\n{value}"
        if value:
            written[key] = value
    return written
