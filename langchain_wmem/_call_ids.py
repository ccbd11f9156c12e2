"""Usable ids for tool calls of LangChain messages that their model left out or gave twice."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langchain_wmem._blocks import is_call_block
from langchain_wmem._fields import read_block_calls, write_calls
from wmem import Message, ToolCall
from wmem.adapter import pair_results, read_call_block, with_usable_ids


def name_calls(message: BaseMessage) -> BaseMessage:
    """The message; a copy in which each tool call has an id of its own, if one has none or another's."""
    if not isinstance(message, AIMessage) or not (message.tool_calls or message.invalid_tool_calls):
        return message
    given = [*message.tool_calls, *message.invalid_tool_calls]
    if not all(isinstance(call, Mapping) for call in given):
        return message  # assigned after it was made: whoever reads its calls refuses it
    ids = [call.id for call in with_usable_ids(tuple(map(_to_call, given)))]
    if ids == [call.get("id") for call in given]:
        return message
    named = [{**call, "id": id} for call, id in zip(given, ids, strict=True)]
    valid = len(message.tool_calls)
    update: dict[str, Any] = {"tool_calls": named[:valid], "invalid_tool_calls": named[valid:]}
    if isinstance(message.content, list):
        update["content"] = _name_blocks(message.content, ids)
    return message.model_copy(update=update)


def name_block_calls(message: BaseMessage) -> BaseMessage:
    """The message; a copy whose calls in blocks are calls beside them, if one of these has no id of its own."""
    if not isinstance(message, AIMessage) or message.tool_calls or message.invalid_tool_calls:
        return message
    given = tuple(read_block_calls(message.content, ()))
    calls = with_usable_ids(given)
    if calls == given:
        return message
    good, unreadable = write_calls(calls)
    said = [block for block in message.content if read_call_block(block) is None]
    return message.model_copy(update={"content": said, "tool_calls": good, "invalid_tool_calls": unreadable})


def name_calls_and_results(messages: list[BaseMessage]) -> list[BaseMessage]:
    """The messages of a model's response, each tool call with an id of its own, which its result has as well."""
    named = [name_calls(message) for message in messages]
    if all(each is message for each, message in zip(named, messages, strict=True)):
        return messages
    paired = pair_results([_to_paired(message) for message in named])
    return [
        message.model_copy(update={"tool_call_id": each.tool_call_id})
        if isinstance(message, ToolMessage) and each.tool_call_id
        else message
        for message, each in zip(named, paired, strict=True)
    ]


def _to_call(call: Mapping[str, Any]) -> ToolCall:
    # As `read_fields` has it: an invalid call's arguments are text.
    args = call.get("args")
    arguments = args or "" if isinstance(args, str | None) else json.dumps(args, ensure_ascii=False, default=repr)
    return ToolCall(id=str(call.get("id") or ""), name=str(call.get("name") or ""), arguments=arguments)


def _to_paired(message: BaseMessage) -> Message:
    if isinstance(message, AIMessage):
        return Message(role="assistant", tool_calls=tuple(map(_to_call, message.tool_calls)))
    if isinstance(message, ToolMessage):
        return Message(role="tool", tool_call_id=message.tool_call_id, name=message.name)
    return Message(role="user")


def _name_blocks(content: Sequence[Any], ids: Sequence[str]) -> list[Any]:
    """The content; its blocks that repeat the calls, if they repeat all of them, with the ids of these."""
    places = [place for place, block in enumerate(content) if is_call_block(block)]
    blocks = list(content)
    if len(places) == len(ids):
        for place, id in zip(places, ids, strict=True):
            key = "call_id" if "call_id" in blocks[place] else "id"
            blocks[place] = {**blocks[place], key: id}
    return blocks
