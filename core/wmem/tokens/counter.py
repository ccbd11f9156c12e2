"""Token counts of messages, parts and tool schemas, by a counter of texts.

A count is of what `Message.to_openai()` renders: texts as they are, since no provider
shows a model the escapes of JSON, and everything else as the JSON that is sent.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from wmem.errors import MissingExtraError
from wmem.model._openai import write_call
from wmem.model._reasoning import write_reasoning_block, write_reasoning_keys
from wmem.tokens.bpe import TiktokenCounter, require_encoding, warn_of_estimates
from wmem.tokens.estimate import EstimateCounter
from wmem.tokens.media import MEDIA_TOKENS, Medium, document_text, estimate_tokens, split_media

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

_PICTURE_KEYS = ("detail", "width", "height", "fps")  # they say how a medium is looked at, which its estimate covers
_OTHER_PART = b'"kind":'  # in the stored JSON of such a message, and in no text: its quotes are escaped


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


class MediaCounter:
    """A counter of texts that has estimates for media of its own."""

    def __init__(self, count: Counter, estimates: Mapping[str, int]) -> None:
        self.texts = count
        self.name = count.name
        self.estimates = {**MEDIA_TOKENS, **estimates}

    def __call__(self, text: str, /) -> int:
        return self.texts(text)


def media_estimates(count: Counter) -> Mapping[str, int]:
    """Tokens of media by kind: the counter's own estimates, or those for all."""
    return count.estimates if isinstance(count, MediaCounter) else MEDIA_TOKENS


def text_counter(count: Counter) -> Counter:
    """The counter of texts alone."""
    return count.texts if isinstance(count, MediaCounter) else count


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
    if len(parts) == 1 and parts[0].kind == "text" and parts[0].data is None:
        return tokens + count(parts[0].text or "")
    if all(part.kind == "text" and part.data is None for part in parts):
        # Counted joined, as it is rendered: joining can add a token.
        return tokens + (count("\n".join(part.text or "" for part in parts)) + len(parts) if parts else 0)
    return tokens + sum(part_tokens(part, count) for part in parts)


class MessageCost(NamedTuple):
    """Tokens of a message without its reasoning, and how many more it costs with it."""

    tokens: int
    reasoning: int


def message_cost(message: "Message", count: Counter) -> MessageCost:
    """See `MessageCost`."""
    for part in message.parts:
        if part.kind == "reasoning":
            tokens = message_tokens(message.without_reasoning(), count)
            return MessageCost(tokens, max(0, message_tokens(message, count) - tokens))
    return MessageCost(message_tokens(message, count), 0)


def parts_count_name(count: Counter) -> str:
    """The name under which the counts of messages that are not only text are stored: media estimates are part of it."""
    estimates = media_estimates(count)
    own = "".join(f" {kind}={tokens}" for kind, tokens in estimates.items() if tokens != MEDIA_TOKENS[kind])
    return f"{count.name} parts/2{own}"


def count_message(message: "Message", count: Counter) -> tuple[int, int, str]:
    """Tokens of a message and of its reasoning, see `MessageCost`, and the name under which its counts are stored."""
    parts = message.parts
    if len(parts) == 1 and parts[0].kind == "text" and parts[0].data is None:
        return message_tokens(message, count), 0, count.name
    tokens, reasoning = message_cost(message, count)
    if all(part.kind == "text" and part.data is None for part in parts):
        return tokens, reasoning, count.name
    return tokens, reasoning, parts_count_name(count)


def is_text_alone(content: bytes) -> bool:
    """Whether a message, as its stored JSON, is only text: other parts have a name of their own for their counts.

    Earlier versions counted other parts otherwise, under the counter's plain name.
    """
    return content.find(_OTHER_PART) < 0  # `in` raises and catches an error for each bytes that it looks for


def part_tokens(part: "Part", count: Counter) -> int:
    """Tokens of one part, with its delimiters; the bytes of media never count as text."""
    if part.kind in MEDIA_TOKENS:
        return _PART_OVERHEAD + _media_tokens(part, count)
    if part.kind == "reasoning":
        return _PART_OVERHEAD + _reasoning_tokens(part, count)
    data = _json_tokens(part.data, count) if part.data else 0
    return _PART_OVERHEAD + (count(part.text) if part.text else 0) + data


def _reasoning_tokens(part: "Part", count: Counter) -> int:
    block = write_reasoning_block(part)
    if block is not None:
        return _json_tokens(block, count)
    if not part.data:  # of a framework that has a block for it
        return count(_to_json({"type": "reasoning", "reasoning": part.text}))
    keys = write_reasoning_keys([part]) or dict(part.data)
    return sum(
        count(key) + (count(value) if isinstance(value, str) else count(_to_json(value))) for key, value in keys.items()
    )


def _media_tokens(part: "Part", count: Counter) -> int:
    data = part.data or {}
    width, height = data.get("width"), data.get("height")
    sized = isinstance(width, int | float) and isinstance(height, int | float) and min(width, height) > 0
    detail = data.get("detail")
    medium = Medium(
        part.kind,
        part.base64,
        part.mime_type,
        detail if isinstance(detail, str) else None,
        (cast("float", width), cast("float", height)) if sized else None,
    )
    beside = {key: value for key, value in data.items() if key not in _PICTURE_KEYS}
    tokens = count(part.text) if part.text else _medium_tokens(medium, count)
    return tokens + (count(_to_json(beside)) if beside else 0)


def _medium_tokens(medium: Medium, count: Counter) -> int:
    text = document_text(medium)
    return estimate_tokens(medium, media_estimates(count)) if text is None else count(text)


def _json_tokens(value: Mapping[str, Any], count: Counter) -> int:
    """Tokens of JSON as it is sent, the media in it by what they are."""
    rest, media = split_media(value)
    return (count(_to_json(rest)) if rest else 0) + sum(_medium_tokens(each, count) for each in media)


def tools_tokens(schemas: Sequence[Mapping[str, Any]], count: Counter) -> int:
    """Tokens of the tools' JSON schemas."""
    return sum(count(_to_json(schema)) + _TOOL_OVERHEAD for schema in schemas)


def _calls_tokens(calls: Sequence["ToolCall"], count: Counter) -> int:
    # Providers render calls differently; the larger of the two known forms is the upper bound.
    total = sum(count(call.id) + count(call.name) + count(call.arguments) + _CALL_OVERHEAD for call in calls)
    whole = _to_json([write_call(call) for call in calls])
    return max(total, count(whole))


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
