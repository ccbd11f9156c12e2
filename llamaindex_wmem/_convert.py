"""Conversion of chat messages between LlamaIndex and wmem, without loss.

A round trip gives back LlamaIndex's own JSON byte for byte: what a wmem `Message`
does not reproduce is stored in its `Native`. Two things are normalised on
the way in. Tool calls that a vendor's SDK left as objects in ``additional_kwargs``
become ordinary calls, once each, so that the session can be sent to another
provider; and the deprecated ``images`` field is dropped, since LlamaIndex has made blocks of it.

LlamaIndex messages have no id, and none is put into ``additional_kwargs``:
integrations send that field to providers, which refuse unknown keys, and completion
models are shown it as text. For the same reason a note of recalled text is
recognised by its frame: when read back it is marked, and never stored.
"""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from llama_index.core.base.llms.types import BaseContentBlock, ChatMessage, MessageRole, TextBlock, ToolCallBlock
from pydantic import JsonValue
from pydantic_core import PydanticSerializationError

from llamaindex_wmem._blocks import block_of_call, block_of_json, block_of_part, if_there, json_of_block, parts_of
from llamaindex_wmem._calls import blocked_calls, extra_calls, vendor_keys
from llamaindex_wmem._values import plain, revived
from wmem import InvalidInputError, Message, Native, SerializationError, is_note

__all__ = ["from_llamaindex", "own_text", "to_llamaindex"]

_FRAMEWORK = "llamaindex"
_ROLES: Mapping[MessageRole, str] = {
    MessageRole.SYSTEM: "system",
    MessageRole.DEVELOPER: "developer",
    MessageRole.USER: "user",
    MessageRole.ASSISTANT: "assistant",
    MessageRole.CHATBOT: "assistant",
    MessageRole.MODEL: "assistant",
    MessageRole.TOOL: "tool",
    MessageRole.FUNCTION: "tool",
}
_PLAIN_ROLES = frozenset((MessageRole.SYSTEM, MessageRole.DEVELOPER, MessageRole.USER, MessageRole.ASSISTANT))
_SAID = ("role", "parts", "tool_calls", "tool_call_id", "name")
_log = logging.getLogger("wmem.llamaindex")


def to_llamaindex(messages: Iterable[Message]) -> list[ChatMessage]:
    """Convert wmem messages to LlamaIndex's chat messages.

    A message that came from LlamaIndex is given back as it was. In any other, content
    that LlamaIndex has no block for becomes text. Ids, times and metadata of wmem are
    left out.
    """
    return [_write(message) for message in messages]


def from_llamaindex(messages: Iterable[ChatMessage]) -> list[Message]:
    """Convert LlamaIndex's chat messages to wmem messages.

    Raises:
        InvalidInputError: Something that is no chat message.
        SerializationError: A value that cannot be stored without loss; the error names it.
    """
    if isinstance(messages, str) or not isinstance(messages, Iterable):
        msg = f"expected a sequence of ChatMessage, got {type(messages).__name__!r}"
        raise InvalidInputError(msg)
    try:
        return [_read(_checked(message)) for message in messages]
    except (PydanticSerializationError, UnicodeError) as exc:
        msg = f"cannot store a content block that LlamaIndex itself cannot write: {exc}"
        raise SerializationError(msg) from exc


def own_text(message: Message) -> str:
    """The message as JSON text of LlamaIndex's form, without id: the key by which messages are compared."""
    return json.dumps(_plain_json(message) or _own_json_of(_write(message)))


def _plain_json(message: Message) -> dict[str, JsonValue] | None:
    """Fast path for text-only messages, without LlamaIndex's models; None for all others."""
    own = message.native is not None and message.native.framework == _FRAMEWORK
    if own or message.role == "tool" or message.tool_calls or any(part.kind != "text" for part in message.parts):
        return None
    return {
        "role": message.role,
        "additional_kwargs": {} if message.name is None else {"name": message.name},
        "blocks": [{"block_type": "text", "text": part.text or ""} for part in message.parts],
    }


def _checked(given: object) -> ChatMessage:
    if not isinstance(given, ChatMessage):
        msg = f"expected a sequence of ChatMessage, got {type(given).__name__!r} in it"
        raise InvalidInputError(msg)
    if lost := type(given).model_fields.keys() - ChatMessage.model_fields.keys():
        msg = f"cannot store the fields {sorted(lost)} of {type(given).__name__!r}: use additional_kwargs for them"
        raise SerializationError(msg)
    return given


def _is_note(given: ChatMessage) -> bool:
    """Whether this is exactly a note of recalled text that wmem put into a prompt."""
    match given.blocks:
        case [TextBlock(text=text)] if not given.additional_kwargs:
            return is_note(text)
        case _:
            return False


def _read(given: ChatMessage) -> Message:
    neutral = _neutral(given)
    if (
        given.role in _PLAIN_ROLES
        and not given.additional_kwargs
        and all(type(each) is TextBlock for each in given.blocks)
    ):
        return neutral  # nearly every message: cannot lose anything, so no round trip to check it
    vendor = vendor_keys(given.additional_kwargs)
    extra = {key: value for key, value in given.additional_kwargs.items() if key not in (*vendor, "images")}
    blocked = {call.id for call in blocked_calls(given.blocks)}
    moved = [
        ToolCallBlock(tool_call_id=call.id, tool_name=call.name, tool_kwargs=call.arguments)
        for call in neutral.tool_calls
        if vendor and call.id not in blocked
    ]
    own = _own_json(MessageRole(given.role), extra, [*given.blocks, *moved])
    # Compared as text, because the order of keys counts: the bytes must be equal.
    if json.dumps(own) == json.dumps(_own_json_of(_written(neutral))):
        return neutral
    return neutral.model_copy(update={"native": Native(framework=_FRAMEWORK, data=own)})


def _neutral(given: ChatMessage) -> Message:
    """The message as a `Message` without `Native`."""
    extra = given.additional_kwargs
    role = _ROLES[MessageRole(given.role)]
    known = blocked_calls(given.blocks)
    return Message(
        role=cast("Any", role),
        parts=tuple(parts_of(given.blocks)),
        tool_calls=(*known, *extra_calls(extra, known)),
        tool_call_id=_answered(extra) if role == "tool" else None,
        name=_text_at(extra, "name"),
        metadata={"wmem": "note"} if _is_note(given) else {},
    )


def _answered(extra: Mapping[str, Any]) -> str | None:
    named = _text_at(extra, "name")
    return _text_at(extra, "tool_call_id") or _text_at(extra, "call_id") or (f"call_{named}" if named else None)


def _text_at(extra: Mapping[str, Any], key: str) -> str | None:
    value = extra.get(key)
    return value if isinstance(value, str) and value else None


def _write(message: Message) -> ChatMessage:
    native = message.native
    if native is None or native.framework != _FRAMEWORK:
        return _written(message)
    try:
        found = _revived(cast("dict[str, Any]", native.data))
        said = _neutral(found)
    except (ValueError, TypeError, KeyError, AttributeError) as exc:
        # Another version of LlamaIndex wrote it; the message's content is still readable.
        _log.warning("message %s is shown in its neutral form: %s", message.id, type(exc).__name__)
        return _written(message)
    if any(getattr(said, field) != getattr(message, field) for field in _SAID):
        return _written(message)  # changed since: a truncated message must not come back whole
    return found.model_copy(update={"blocks": [if_there(block) for block in found.blocks]})


def _written(message: Message) -> ChatMessage:
    extra: dict[str, Any] = {}
    if message.role == "tool" and message.tool_call_id is not None:
        extra["tool_call_id"] = message.tool_call_id
    if message.name is not None:
        extra["name"] = message.name
    blocks = [*map(block_of_part, message.parts), *map(block_of_call, message.tool_calls)]
    return ChatMessage(role=MessageRole(message.role), blocks=blocks, additional_kwargs=extra)


def _own_json_of(message: ChatMessage) -> dict[str, JsonValue]:
    return _own_json(message.role, message.additional_kwargs, message.blocks)


def _own_json(role: MessageRole, extra: Mapping[str, Any], blocks: Sequence[BaseContentBlock]) -> dict[str, JsonValue]:
    """`ChatMessage.model_dump(mode="json")` with bytes and the like tagged, so that it can be read back."""
    written: list[JsonValue] = [json_of_block(block) for block in blocks]
    return {
        "role": role.value,
        "additional_kwargs": {key: plain(value, f"additional_kwargs[{key!r}]") for key, value in extra.items()},
        "blocks": written,
    }


def _revived(own: Mapping[str, Any]) -> ChatMessage:
    return ChatMessage(
        role=MessageRole(own["role"]),
        additional_kwargs={key: revived(value) for key, value in own["additional_kwargs"].items()},
        blocks=[block_of_json(block) for block in own["blocks"]],
    )
