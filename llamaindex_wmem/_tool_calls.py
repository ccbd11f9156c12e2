"""Tool calls of a chat message, wherever integrations put them.

Some write blocks, some objects of a vendor's SDK in ``additional_kwargs``, some
both: a call that is in both places counts once.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from llama_index.core.base.llms.types import BaseContentBlock, ToolCallBlock

from wmem import ToolCall
from wmem.adapter import to_tagged_json

_CALL_KEYS = ("tool_calls", "function_call")


def block_calls(blocks: Iterable[BaseContentBlock]) -> list[ToolCall]:
    """The calls in blocks; one without an id gets one from its tool's name, numbered from the second on."""
    calls: list[ToolCall] = []
    for block in blocks:
        if isinstance(block, ToolCallBlock):
            arguments = _arguments_text(block.tool_kwargs)
            id_ = block.tool_call_id or _make_id(block.tool_name, calls)
            calls.append(ToolCall(id=id_, name=block.tool_name, arguments=arguments))
    return calls


def extra_calls(extra: Mapping[str, Any], known: Sequence[ToolCall]) -> list[ToolCall]:
    """The calls that are only in the extra fields of a message."""
    found: list[ToolCall] = []
    for given in _raw_calls(extra):
        call = _parse_call(given)
        if call is None or any(_is_same_call(call, other) for other in (*known, *found)):
            continue
        found.append(call if call.id else call.model_copy(update={"id": _make_id(call.name, [*known, *found])}))
    return found


def vendor_keys(extra: Mapping[str, Any]) -> list[str]:
    """The extra fields whose calls are objects of a vendor's SDK and all readable as calls."""
    return [
        key
        for key in _CALL_KEYS
        if (given := list(_raw_calls({key: extra.get(key)})))
        and not all(isinstance(each, dict) for each in given)
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
    return json.dumps(to_tagged_json(told, "the arguments of a tool call"), ensure_ascii=False)


def _make_id(name: str, calls: Sequence[ToolCall]) -> str:
    number = 1 + sum(call.name == name for call in calls)
    return f"call_{name}" if number == 1 else f"call_{name}_{number}"


def _is_same_call(call: ToolCall, other: ToolCall) -> bool:
    """Whether both are the same call: by id if `call` has one, else by name and arguments."""
    if call.id:
        return call.id == other.id
    return (call.name, call.args) == (other.name, other.args)
