"""Conversion of chat messages between LlamaIndex and wmem, without loss.

A round trip gives back LlamaIndex's own JSON byte for byte: what a wmem `Message`
does not reproduce is stored in its `Native`. Two things are normalised on
the way in. Tool calls that a vendor's SDK left as objects in ``additional_kwargs``
become ordinary calls, once each, so that the session can be sent to another
provider, and a call without an id of its own gets one, as its result does; and the deprecated
``images`` field is dropped, since LlamaIndex has made blocks of it.

LlamaIndex messages have no id, and none is put into ``additional_kwargs``:
integrations send that field to providers, which refuse unknown keys, and completion
models are shown it as text. For the same reason a note of recalled text is
recognised by its frame: when read back it is marked, and never stored.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from llama_index.core.base.llms.types import (
    BaseContentBlock,
    ChatMessage,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from pydantic import JsonValue
from pydantic_core import PydanticSerializationError

from llamaindex_wmem._blocks import (
    block_from_json,
    block_to_json,
    call_to_block,
    part_to_block,
    replace_missing_file,
    to_parts,
)
from llamaindex_wmem._tool_calls import read_calls, vendor_keys
from wmem import CorruptionError, Message, Native, Part, SerializationError, is_note
from wmem.adapter import (
    check_instances,
    describe_error,
    describe_field,
    find_logger,
    from_tagged_json,
    pair_results,
    to_sendable,
    to_tagged_json,
)

_FRAMEWORK = "llamaindex"
_PLAIN_ROLES = frozenset((MessageRole.SYSTEM, MessageRole.DEVELOPER, MessageRole.USER, MessageRole.ASSISTANT))
_ROLES: Mapping[MessageRole, str] = {
    **{role: role.value for role in (*_PLAIN_ROLES, MessageRole.TOOL)},
    MessageRole.CHATBOT: "assistant",
    MessageRole.MODEL: "assistant",
    MessageRole.FUNCTION: "tool",
}
_REASONING_KEYS = ("reasoning_content", "reasoning")
_CONTENT_FIELDS = ("role", "parts", "tool_calls", "tool_call_id", "name")
_log = find_logger("wmem.llamaindex")


def to_llamaindex(messages: Iterable[Message]) -> list[ChatMessage]:
    """Convert wmem messages to LlamaIndex's chat messages.

    A message that came from LlamaIndex is given back as it was. In any other, content
    that LlamaIndex has no block for becomes text. Ids, times and metadata of wmem are
    left out.

    Raises:
        InvalidInputError: Something that is no wmem message.
    """
    return [_to_chat_message(message) for message in check_instances(messages, Message)]


def from_llamaindex(messages: Iterable[ChatMessage]) -> list[Message]:
    """Convert LlamaIndex's chat messages to wmem messages.

    Raises:
        InvalidInputError: Something that is no chat message.
        SerializationError: A value that cannot be stored without loss; the error names it.
    """
    given = check_instances(messages, ChatMessage)
    try:
        return pair_results([_to_message(_check_fields(message)) for message in given])
    except (PydanticSerializationError, UnicodeError, AttributeError) as exc:
        fault = describe_error(exc)
    raise SerializationError(f"cannot store a content block that LlamaIndex itself cannot write: {fault}")


def canonical_json(message: Message) -> str:
    """The message as JSON text of LlamaIndex's form, without id: the key by which messages are compared."""
    text = _dump(message)
    # A packed view holds what was sent. Few messages have half a character, and to look at each takes longest.
    return _dump(to_sendable(message)) if "\\ud" in text else text


def _dump(message: Message) -> str:
    return json.dumps(_text_only_json(message) or _message_json(_to_chat_message(message)))


def _text_only_json(message: Message) -> dict[str, JsonValue] | None:
    """Fast path for text-only messages, without LlamaIndex's models; None for all others."""
    own = message.native is not None and message.native.framework == _FRAMEWORK
    if own or message.role == "tool" or message.tool_calls or any(part.kind != "text" for part in message.parts):
        return None
    return {
        "role": message.role,
        "additional_kwargs": {} if message.name is None else {"name": message.name},
        "blocks": [{"block_type": "text", "text": part.text or ""} for part in message.parts],
    }


def _check_fields(message: ChatMessage) -> ChatMessage:
    if lost := type(message).model_fields.keys() - ChatMessage.model_fields.keys():
        msg = f"cannot store the fields {sorted(lost)} of {type(message).__name__!r}: use additional_kwargs for them"
        raise SerializationError(msg)
    return message


def _is_note(message: ChatMessage) -> bool:
    """Whether this is exactly a note of recalled text that wmem put into a prompt."""
    match message.blocks:
        case [TextBlock(text=text)] if not message.additional_kwargs:
            return is_note(text)
        case _:
            return False


def _to_message(message: ChatMessage) -> Message:
    neutral = _neutral_message(message)
    if (
        message.role in _PLAIN_ROLES
        and not message.additional_kwargs
        and all(type(each) is TextBlock for each in message.blocks)
    ):
        return neutral  # nearly every message: cannot lose anything, so no round trip to check it
    ids = [call.id for call in neutral.tool_calls]
    given = [call.id for call in read_calls(message.blocks, message.additional_kwargs)]
    vendor = vendor_keys(message.additional_kwargs, named=ids != given)
    extra = {key: value for key, value in message.additional_kwargs.items() if key not in (*vendor, "images")}
    blocks = _with_call_ids(message.blocks, ids)
    moved = [
        ToolCallBlock(tool_call_id=call.id, tool_name=call.name, tool_kwargs=call.arguments)
        for call in neutral.tool_calls[sum(isinstance(block, ToolCallBlock) for block in blocks) :]
        if vendor
    ]
    own = _native_json(MessageRole(message.role), extra, [*blocks, *moved])
    # Compared as text, because the order of keys counts: the bytes must be equal.
    if json.dumps(own) == json.dumps(_message_json(_neutral_to_chat_message(neutral))):
        return neutral
    return neutral.model_copy(update={"native": Native(framework=_FRAMEWORK, data=own)})


def _with_call_ids(blocks: Iterable[BaseContentBlock], ids: Iterable[str]) -> list[BaseContentBlock]:
    """The blocks, the calls among them with these ids, in order."""
    rest = iter(ids)
    return [
        block.model_copy(update={"tool_call_id": next(rest)}) if isinstance(block, ToolCallBlock) else block
        for block in blocks
    ]


def _neutral_message(message: ChatMessage) -> Message:
    """The message as a `Message` without `Native`."""
    extra = message.additional_kwargs
    role = _ROLES[MessageRole(message.role)]
    return Message(
        role=cast("Any", role),
        parts=(*_extra_reasoning(extra), *to_parts(message.blocks)),
        tool_calls=tuple(read_calls(message.blocks, extra)),
        tool_call_id=_find_call_id(message) if role == "tool" else None,
        name=_text_at(extra, "name"),
        metadata={"wmem": "note"} if _is_note(message) else {},
    )


def _find_call_id(result: ChatMessage) -> str | None:
    extra = result.additional_kwargs
    named = _text_at(extra, "name") if result.role == MessageRole.FUNCTION else None
    return _text_at(extra, "tool_call_id") or _text_at(extra, "call_id") or (f"call_{named}" if named else None)


def _text_at(extra: Mapping[str, Any], key: str) -> str | None:
    value = extra.get(key)
    return value if isinstance(value, str) and value else None


def _to_chat_message(message: Message) -> ChatMessage:
    native = message.native
    if native is None or native.framework != _FRAMEWORK:
        return _neutral_to_chat_message(message)
    try:
        found = _chat_message_from_json(cast("dict[str, Any]", native.data))
        said = _neutral_message(found)
    except (ValueError, TypeError, KeyError, AttributeError, CorruptionError) as exc:
        # Another version of LlamaIndex wrote it; the message's content is still readable.
        _log.warning("message %s is shown in its neutral form: %s", message.id, type(exc).__name__)
        return _neutral_to_chat_message(message)
    if said.parts != message.parts and said.without_reasoning().parts == message.parts:
        found, said = _drop_reasoning(found), message
    if said.role == "tool" and said.tool_call_id != message.tool_call_id:
        found = _with_call_id(found, message.tool_call_id)
        said = _neutral_message(found)
    if any(getattr(said, field) != getattr(message, field) for field in _CONTENT_FIELDS):
        return _neutral_to_chat_message(message)  # changed since: a truncated message must not come back whole
    return found.model_copy(update={"blocks": [replace_missing_file(block) for block in found.blocks]})


def _drop_reasoning(message: ChatMessage) -> ChatMessage:
    blocks = [block for block in message.blocks if not isinstance(block, ThinkingBlock)]
    extra = {key: value for key, value in message.additional_kwargs.items() if key not in _REASONING_KEYS}
    return message.model_copy(update={"blocks": blocks, "additional_kwargs": extra})


def _extra_reasoning(extra: Mapping[str, Any]) -> list[Part]:
    """Reasoning in the extra fields, which integrations send as they are beside calls of tools."""
    return [
        Part(kind="reasoning", text=text, data={"key": key})
        for key in _REASONING_KEYS
        if (text := _text_at(extra, key))
    ]


def _with_call_id(result: ChatMessage, id: str | None) -> ChatMessage:
    """The result under the id of the call it was paired with, in the keys in which it had one."""
    keys = [key for key in ("tool_call_id", "call_id") if key in result.additional_kwargs] or ["tool_call_id"]
    return result.model_copy(update={"additional_kwargs": {**result.additional_kwargs, **dict.fromkeys(keys, id)}})


def _neutral_to_chat_message(message: Message) -> ChatMessage:
    extra: dict[str, Any] = {}
    if message.role == "tool" and message.tool_call_id is not None:
        extra["tool_call_id"] = message.tool_call_id
    if message.name is not None:
        extra["name"] = message.name
    blocks = [*map(part_to_block, message.parts), *map(call_to_block, message.tool_calls)]
    return ChatMessage(role=MessageRole(message.role), blocks=blocks, additional_kwargs=extra)


def _message_json(message: ChatMessage) -> dict[str, JsonValue]:
    return _native_json(message.role, message.additional_kwargs, message.blocks)


def _native_json(
    role: MessageRole, extra: Mapping[str, Any], blocks: Sequence[BaseContentBlock]
) -> dict[str, JsonValue]:
    """`ChatMessage.model_dump(mode="json")` with bytes and the like tagged, so that it can be read back."""
    return {
        "role": role.value,
        "additional_kwargs": {
            key: to_tagged_json(value, f"additional_kwargs[{describe_field(key)!r}]") for key, value in extra.items()
        },
        "blocks": [block_to_json(block) for block in blocks],
    }


def _chat_message_from_json(own: Mapping[str, Any]) -> ChatMessage:
    return ChatMessage(
        role=MessageRole(own["role"]),
        additional_kwargs={key: from_tagged_json(value) for key, value in own["additional_kwargs"].items()},
        blocks=[block_from_json(block) for block in own["blocks"]],
    )
