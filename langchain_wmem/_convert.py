"""Conversion of messages between LangChain and wmem, without loss.

A wmem `Message` holds what was said. What only LangChain has (usage, response
metadata, a tool's artifact) is stored in its `Native`: only the fields of
`message_to_dict` that the `Message` does not reproduce, and the dialect of the
blocks, so that an image is stored once.
"""

import copy
import json
import marshal
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    BaseMessageChunk,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    message_chunk_to_message,
    message_to_dict,
    messages_from_dict,
)

from langchain_wmem._blocks import DIALECTS, Dialect, write_parts
from langchain_wmem._call_ids import name_block_calls, name_calls
from langchain_wmem._fields import (
    KIND_OF_ROLE,
    NOTE_SOURCE,
    ROLE_OF_KIND,
    list_calls,
    read_fields,
    to_json,
    write_fields,
)
from langchain_wmem._pieces import FRAMEWORK, is_piece, join_pieces, split_message
from langchain_wmem._reasoning import drop_reasoning, without_reasoning
from wmem import Message, Native
from wmem.adapter import check_instances, describe_error, find_takers, pair_results
from wmem.errors import InvalidInputError, SerializationError

MESSAGE_CLASSES: dict[type[BaseMessage], str] = {
    kind: kind.model_fields["type"].default
    for kind in (HumanMessage, AIMessage, SystemMessage, ToolMessage, FunctionMessage, ChatMessage)
}


def from_langchain(messages: Sequence[BaseMessage]) -> list[Message]:
    """Convert LangChain messages to wmem's; `to_langchain` gives them back as they were.

    A chunk is converted to a whole message first. A message without an id gets
    one when it is stored, and comes back with it. A tool call without an id of its own gets
    one here, and its result the same, paired by name and order. A message with tools' results
    among its blocks, as Anthropic's API has them, becomes a message for each, and needs an id
    for that; together and unchanged they are given back as the one message.

    Raises:
        InvalidInputError: Not a message, or a `RemoveMessage`, which is a command.
        SerializationError: A class that is not LangChain's own, or a value that JSON
            cannot carry, such as an object as a tool's artifact; the error names the field.
    """
    given = check_instances(messages, BaseMessage)
    return pair_results([piece for message in given for piece in read_message(message)])


def to_langchain(messages: Sequence[Message]) -> list[BaseMessage]:
    """Convert wmem messages to LangChain's; those that came from LangChain come back as they were.

    Raises:
        InvalidInputError: Something that is no wmem message.
        SerializationError: The native data of a message is not in LangChain's form.
    """
    given = check_instances(messages, Message)
    written: list[BaseMessage] = []
    at = 0
    while at < len(given):
        message, size = _write(given, at)
        written.append(message)
        at += size
    return written


class Converter:
    """Converts prompts to LangChain's messages, and only what the prompt before did not have: two share nearly all."""

    def __init__(self) -> None:
        self._made: dict[str | None, tuple[Message, BaseMessage]] = {}
        """What the last prompt's messages became, by their ids."""

    def convert(self, messages: Sequence[Message], handed: Mapping[str | None, BaseMessage]) -> list[BaseMessage]:
        """See `to_langchain`.

        Args:
            handed: Messages by id, as a framework has them: where one is equal, it is the very object. Others are new
                ones, for others to change.
        """
        written: list[BaseMessage] = []
        made: dict[str | None, tuple[Message, BaseMessage]] = {}
        at = 0
        while at < len(messages):
            message, size = messages[at], 1
            known = self._made.get(message.id)
            if known is None or (known[0] is not message and known[0] != message):
                plain, size = _write(messages, at)
                known = message, plain
            if message.id is not None and size == 1:
                made[message.id] = known
            theirs = handed.get(known[1].id)
            written.append(theirs if theirs is not None and _is_equal(theirs, known[1]) else _copy(known[1]))
            at += size
        self._made = made
        return written


def _is_equal(message: BaseMessage, other: BaseMessage) -> bool:
    """Whether two messages are equal: first by what pydantic's comparison comes to in the end."""
    alike = type(message) is type(other) and message.__dict__ == other.__dict__
    return (alike and message.__pydantic_extra__ == other.__pydantic_extra__) or message == other


def _copy(message: BaseMessage) -> BaseMessage:
    """A copy that shares nothing that could be changed in place, at a fraction of what a deep copy takes."""
    held = {name: value for name, value in message.__dict__.items() if value and isinstance(value, dict | list)}
    try:
        return message.model_copy(update={name: marshal.loads(marshal.dumps(value)) for name, value in held.items()})  # noqa: S302  # our own bytes
    except ValueError:  # no plain JSON
        return message.model_copy(deep=True)


def _write(messages: Sequence[Message], at: int) -> tuple[BaseMessage, int]:
    """The LangChain message that begins at a place, and of how many messages it is made."""
    whole = join_pieces(messages, at)
    if whole is None:
        return _to_langchain(messages[at]), 1
    return _revive(whole.kind, whole.data, documents=False), whole.size


def is_note(message: BaseMessage) -> bool:
    """Whether a message is a note of text that wmem recalled, which is never stored again.

    Only its mark counts: such text pasted by a user is part of the conversation.
    """
    return message.additional_kwargs.get("lc_source") == NOTE_SOURCE


def read_message(original: BaseMessage) -> list[Message]:
    """The message in wmem's form, several if it holds tools' results among its blocks: see `from_langchain`."""
    if type(original) is RemoveMessage:
        msg = f"RemoveMessage({original.id!r}) is a command, not a message; remove it from the session instead"
        raise InvalidInputError(msg)
    if isinstance(original, BaseMessageChunk) and type(original).__mro__[1] in MESSAGE_CLASSES:
        original = message_chunk_to_message(original)
    original = name_block_calls(name_calls(original))
    _check_class(original)
    documents = _holds_documents(original)
    if isinstance(original, ToolMessage):
        # Checked before it is dumped: an object that LangChain can dump would come back as a dictionary.
        held = [each.metadata for each in original.artifact] if documents else original.artifact
        to_json(held, (original.type, original.id, "artifact"))
    whole = original.model_dump(warnings=False)  # a warning would quote the message
    kind, data = MESSAGE_CLASSES[type(original)], to_json(whole, (original.type, original.id))
    if (pieces := split_message(kind, data)) and _is_revived(original, to_langchain(pieces), data):
        return pieces
    return [_read_whole(original, kind, data, documents=documents)]


def _is_revived(original: BaseMessage, revived: Sequence[BaseMessage], data: Mapping[str, Any]) -> bool:
    """Whether one message with this type and these fields was revived; one without an id may have got one."""
    said = [message_to_dict(each) for each in revived]
    return said == [{"type": original.type, "data": {**data, "id": original.id or revived[0].id}}]


def _read_whole(original: BaseMessage, kind: str, data: dict[str, Any], *, documents: bool) -> Message:
    fault = ""
    try:
        neutral: Message | None = Message(id=original.id or None, **read_fields(kind, data))
    except (TypeError, ValueError, KeyError, AttributeError) as exc:
        neutral, fault = None, describe_error(exc)
    if neutral is None:  # raised here: the chain would hold the message
        raise SerializationError(f"{kind} message {original.id!r} does not have the fields of its class: {fault}")
    dialect: Dialect = next(
        (each for each in DIALECTS if _is_identical(data["content"], write_parts(neutral.parts, each))), "v1"
    )
    written = write_fields(neutral, kind, dialect)
    native = {
        key: value for key, value in data.items() if key != "id" and not _is_identical(value, written.get(key, _Absent))
    }
    if not native and kind == KIND_OF_ROLE[neutral.role] and dialect == "v1":
        return neutral
    marks = {"documents": True} if documents else {}
    listed = list_calls(data)
    beside_content = bool(listed) and len(listed) == len(neutral.tool_calls)
    content = () if beside_content or isinstance(data["content"], str) else data["content"]
    beside = Native(
        framework=FRAMEWORK,
        data={"type": kind, "data": native, "dialect": dialect, **marks},
        takers=find_takers(content),
    )
    kept = neutral.model_copy(update={"native": beside})
    if message_to_dict(_to_langchain(kept)) != {"type": original.type, "data": {**data, "id": original.id or None}}:
        msg = f"LangChain does not revive message {original.id!r} as it is; was a field assigned after it was made?"
        raise SerializationError(msg)
    return kept


def _check_class(original: BaseMessage) -> None:
    if type(original) in MESSAGE_CLASSES:
        return
    if not isinstance(original, BaseMessage):
        raise InvalidInputError(f"expected a LangChain message, not {type(original).__name__!r}")
    msg = f"{type(original).__name__!r} is not one of LangChain's own message classes, so it could not be revived"
    raise SerializationError(msg)


def _holds_documents(original: BaseMessage) -> bool:
    """Whether a tool's artifact is a list of documents, as retrievers return; they are revived as such."""
    found = getattr(original, "artifact", None)
    return isinstance(found, list) and bool(found) and all(type(each) is Document for each in found)


class _Absent:
    """A default that equals no JSON value."""


def _is_identical(left: object, right: object) -> bool:
    """Whether both have the same JSON text: 1 differs from True, and the order of keys counts."""
    if type(left) is not type(right):
        return False
    return left == right and (isinstance(left, str | None) or json.dumps(left) == json.dumps(right))


def _to_langchain(message: Message) -> BaseMessage:
    beside = _NativeData(KIND_OF_ROLE[message.role], {}, "v1", documents=False)
    if message.native is not None and message.native.framework == FRAMEWORK and not is_piece(message):
        beside = _parse_native(message.native.data, message.id)
    kind, native, dialect, documents = beside
    if kind == "function" and message.tool_call_id != f"call_{message.name}":
        kind = "tool"  # a function's result has no id to name the call it was paired with
    data = write_fields(message, kind, dialect)
    if native:
        data |= _drop_stale_fields(native, data, kind, message)
    try:
        revived = _revive(kind, data, documents=documents)
    except (TypeError, ValueError, KeyError, AttributeError) as exc:
        revived, fault = None, describe_error(exc)
    if revived is None:  # raised here: the chain would hold the message
        raise SerializationError(f"message {message.id!r} is not one that LangChain can hold: {fault}")
    if isinstance(revived, AIMessage) and not message.tool_calls and (revived.tool_calls or revived.invalid_tool_calls):
        # LangChain parsed the provider's raw calls again, although they have since been removed.
        revived.tool_calls, revived.invalid_tool_calls = [], []
        del revived.additional_kwargs["tool_calls"]
    return revived


def _revive(kind: str, data: dict[str, Any], *, documents: bool) -> BaseMessage:
    [revived] = messages_from_dict([{"type": kind, "data": data}])
    if documents and isinstance(revived, ToolMessage):
        revived.artifact = [Document(**each) for each in revived.artifact]
    return revived


class _NativeData(NamedTuple):
    """Content of `Native`: the class, the fields that a `Message` does not reproduce, the blocks' dialect.

    Attributes:
        documents: Whether the artifact among the fields is a list of documents.
    """

    kind: str
    data: dict[str, Any]
    dialect: Dialect
    documents: bool


def _parse_native(native: object, message_id: str | None) -> _NativeData:
    if isinstance(native, Mapping) and isinstance(data := native.get("data"), Mapping):
        kind, dialect = native.get("type"), native.get("dialect", "v1")
        if isinstance(kind, str) and (kind in ROLE_OF_KIND or kind == "chat") and dialect in DIALECTS:
            return _NativeData(kind, copy.deepcopy(dict(data)), dialect, documents=native.get("documents") is True)
    raise SerializationError(f"what is stored beside message {message_id!r} is not in LangChain's form")


def _drop_stale_fields(native: dict[str, Any], data: Mapping[str, Any], kind: str, message: Message) -> dict[str, Any]:
    """LangChain's own fields, without those made stale by a later change of the `Message`.

    A truncated message must not come back whole.
    """
    try:
        said = read_fields(kind, {**data, **native})
    except (TypeError, KeyError, AttributeError):
        said = None
    if said is None:
        raise SerializationError(f"what is stored beside message {message.id!r} is not in LangChain's form")
    overtaken: set[str] = set()
    retold: set[str] = set()
    if said["parts"] != message.parts:
        if without_reasoning(said["parts"]) == message.parts:
            native = drop_reasoning(native)  # the rest of the content is as it was
        else:
            # The calls may be in blocks of the content alone.
            overtaken |= {"content", "tool_calls", "invalid_tool_calls"}
            retold |= {"reasoning_content", "refusal"}
    if said["tool_calls"] != message.tool_calls:
        # The blocks may hold the calls as well.
        overtaken |= {"content", "tool_calls", "invalid_tool_calls"}
        retold |= {"function_call", "tool_calls"}
    if said["name"] != message.name:
        overtaken |= {"name"}
    if not overtaken:
        return native
    kept = {key: value for key, value in native.items() if key not in overtaken}
    if isinstance(extra := kept.get("additional_kwargs"), Mapping):
        kept["additional_kwargs"] = {key: value for key, value in extra.items() if key not in retold}
    return kept
