"""Tool calls of a chat message, wherever integrations put them.

Some write blocks, some objects of a vendor's SDK in ``additional_kwargs``, some
both: a call that is in both places counts once.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from llama_index.core.base.llms.types import BaseContentBlock, ToolCallBlock

from wmem import ToolCall
from wmem.adapter import to_tagged_json

_CALL_KEYS = ("tool_calls", "function_call")


def read_calls(blocks: Iterable[BaseContentBlock], extra: Mapping[str, Any]) -> list[ToolCall]:
    """The calls of a message, those in blocks first, with the ids they came with."""
    calls = [
        ToolCall(id=block.tool_call_id or "", name=block.tool_name, arguments=_arguments_text(block.tool_kwargs))
        for block in blocks
        if isinstance(block, ToolCallBlock)
    ]
    for key in _CALL_KEYS:
        known = list(calls)  # each is told again once: two calls of a message may be equal
        for given in _raw_calls({key: extra.get(key)}):
            if (call := _parse_call(given)) is None:
                continue
            same = next((other for other in known if _is_same_call(call, other)), None)
            if same is None and not call.id and key == "function_call":
                # A legacy call has no id: its result names the function.
                call = call.model_copy(update={"id": f"call_{call.name}"})
            if same is None:
                calls.append(call)
            else:
                known.remove(same)
    return calls


def vendor_keys(extra: Mapping[str, Any], *, named: bool) -> list[str]:
    """The extra fields whose calls become blocks: objects of a vendor's SDK, all readable as calls.

    Args:
        named: Calls of the message got other ids than they came with; then any that are readable.
    """
    return [
        key
        for key in _CALL_KEYS
        if (given := list(_raw_calls({key: extra.get(key)})))
        and (named or not all(isinstance(each, dict) for each in given))
        and all(_parse_call(each) for each in given)
    ]


def _raw_calls(extra: Mapping[str, Any]) -> Iterator[object]:
    for key in _CALL_KEYS:
        told = extra.get(key)
        if isinstance(told, list | tuple):
            yield from told
        elif told:
            yield told


def _parse_call(raw: object) -> ToolCall | None:
    function = _field(raw, "function") or raw
    name = _field(function, "name") or _field(function, "tool_name")
    if not isinstance(name, str):
        return None
    id_ = _field(raw, "id") or _field(raw, "call_id") or _field(raw, "tool_id") or _field(raw, "tool_call_id")
    told = (_field(function, key) for key in ("arguments", "input", "args", "tool_kwargs"))
    arguments: object = next((each for each in told if each is not None), {})
    return ToolCall(id=str(id_ or ""), name=name, arguments=_arguments_text(arguments))


def _field(record: object, name: str) -> Any:
    return record.get(name) if isinstance(record, Mapping) else getattr(record, name, None)


def _arguments_text(arguments: object) -> str:
    if isinstance(arguments, str):
        return arguments
    told = dict(arguments) if isinstance(arguments, Mapping) else arguments
    # With its escapes, as LlamaIndex's integrations write and send it: what is sent is what counts.
    return json.dumps(to_tagged_json(told, "the arguments of a tool call"))


def _is_same_call(call: ToolCall, other: ToolCall) -> bool:
    """Whether both are the same call: by id if `call` has one, else by name and arguments."""
    if call.id:
        return call.id == other.id
    return (call.name, call.args) == (other.name, other.args)
