"""Conversion between the fields of a LangChain message and those of a `Message`.

LangChain's side is the form of `message_to_dict`, in which every value is plain JSON.
"""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from langchain_wmem._blocks import Dialect, read_blocks, write_parts
from langchain_wmem._reasoning import TEXT_KEY, read_extra_reasoning, write_extra_reasoning
from wmem import Message, Part, ToolCall
from wmem.adapter import describe_field, read_call_block
from wmem.errors import SerializationError

NOTE_SOURCE = "wmem"
"""The `lc_source` of a message that carries recalled text."""
CUT_SOURCE = "wmem_cut"
"""The `lc_source` of a message that stands in a fitted list otherwise than it is stored: nobody edited it."""

ROLE_OF_KIND = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
_CHAT_ROLES = {**ROLE_OF_KIND, "user": "user", "assistant": "assistant", "developer": "developer"}
KIND_OF_ROLE = {"user": "human", "assistant": "ai", "system": "system", "developer": "system", "tool": "tool"}
_KIND_DEFAULTS: dict[str, dict[str, Any]] = {
    "ai": {"tool_calls": [], "invalid_tool_calls": [], "usage_metadata": None},
    "tool": {"artifact": None, "status": "success"},
}


def to_json(value: Any, path: tuple[Any, ...]) -> Any:
    """A copy of `value` in plain JSON types; `path`, for errors, is (message type, message id, field, …)."""
    if value is None or type(value) in (str, bool, int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {str.__str__(key): to_json(each, (*path, key)) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each, (*path, place)) for place, each in enumerate(value)]
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    kind, message_id, *field = path
    where = ".".join(map(describe_field, field))
    found = repr(value) if isinstance(value, float) else f"a {type(value).__name__!r}"
    if isinstance(value, dict):
        found = "a key that is no text"
    msg = f"{where!r} of {kind} message {message_id!r} holds {found}, which JSON cannot carry; give it plain data"
    raise SerializationError(msg)


def read_fields(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a `Message`, from those of a LangChain message."""
    extra = data.get("additional_kwargs", {})
    role, name = ROLE_OF_KIND.get(kind, ""), data.get("name")
    if kind == "chat":
        role = _CHAT_ROLES.get(str(data["role"]), "")
        # Only a ToolMessage names the call it answers, so any other role is a speaker.
        role, name = ("user", name or data["role"]) if role in ("", "tool") else (role, name)
    elif kind == "system" and extra.get("__openai_role__") == "developer":
        role = "developer"
    calls = _read_calls(data, extra) if kind == "ai" else []
    fields: dict[str, Any] = {
        "role": role,
        "name": name,
        "tool_calls": tuple(calls),
        "parts": tuple(_read_parts(data["content"], extra, {call.id for call in calls})),
    }
    if kind == "tool":
        fields["tool_call_id"] = data["tool_call_id"] or None
    if kind == "function":
        fields["tool_call_id"] = f"call_{name}"
    if extra.get("lc_source") == NOTE_SOURCE:
        fields["metadata"] = {"wmem": "note"}
    return fields


def _read_parts(content: str | list[Any], extra: Mapping[str, Any], call_ids: set[str]) -> list[Part]:
    parts = read_blocks(content, call_ids)
    thought, refused = extra.get(TEXT_KEY), extra.get("refusal")
    if isinstance(thought, str) and thought and all((part.kind, part.text) != ("reasoning", thought) for part in parts):
        parts.insert(0, Part(kind="reasoning", text=thought, data={"key": TEXT_KEY}))
    parts[:0] = read_extra_reasoning(extra)
    if isinstance(refused, str) and refused and all(part.kind != "refusal" for part in parts):
        parts.append(Part(kind="refusal", text=refused))
    return parts


def _read_calls(data: Mapping[str, Any], extra: Mapping[str, Any]) -> list[ToolCall]:
    # LangChain does not record the order between valid and invalid calls; it sends them in this order.
    given = [(call, json.dumps(call["args"], ensure_ascii=False)) for call in data.get("tool_calls", ())]
    given += [(call, call["args"] or "") for call in data.get("invalid_tool_calls", ())]
    calls = [ToolCall(id=call["id"] or "", name=call["name"] or "", arguments=arguments) for call, arguments in given]
    legacy = extra.get("function_call")
    if not calls and isinstance(legacy, Mapping) and isinstance(name := legacy.get("name"), str):
        arguments = legacy.get("arguments")
        calls.append(
            ToolCall(id=f"call_{name}", name=name, arguments=arguments if isinstance(arguments, str) else "{}")
        )
    return [*calls, *read_block_calls(data["content"], {call.id for call in calls})]


def list_calls(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The calls that a message has beside its content."""
    return [*data.get("tool_calls", ()), *data.get("invalid_tool_calls", ())]


def read_block_calls(content: object, known_ids: Collection[str]) -> list[ToolCall]:
    """The calls that an assistant makes in blocks of its content alone, as Anthropic's API and Bedrock have them."""
    if not isinstance(content, list):
        return []
    calls = (call for block in content if (call := read_call_block(block)) is not None)
    # One without an id repeats a call that is known.
    return [call for call in calls if call.id not in known_ids and (call.id.strip() or not known_ids)]


def write_fields(message: Message, kind: str, dialect: Dialect = "v1") -> dict[str, Any]:
    """The fields of a LangChain message of that kind, from a `Message`."""
    data: dict[str, Any] = {
        "content": write_parts(message.parts, dialect),
        "additional_kwargs": {
            **({"__openai_role__": "developer"} if message.role == "developer" else {}),
            **({"lc_source": NOTE_SOURCE} if message.recalled else {}),
            **write_extra_reasoning(message.parts),
        },
        "response_metadata": {},
        "name": message.name,
        **_KIND_DEFAULTS.get(kind, {}),
        "id": message.id,
        "type": kind,
    }
    if kind == "ai":
        data["tool_calls"], data["invalid_tool_calls"] = write_calls(message.tool_calls)
    if kind == "tool":
        data["tool_call_id"] = message.tool_call_id or ""
        if message.metadata.get("is_error") is True:
            data["status"] = "error"
    return data


def write_calls(calls: Sequence[ToolCall]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The `tool_calls` and the `invalid_tool_calls` of a LangChain message."""
    good, unreadable = [], []
    for call in calls:
        if (args := call.args) is not None:
            good.append({"name": call.name, "args": args, "id": call.id, "type": "tool_call"})
        else:
            unreadable.append(
                {"type": "invalid_tool_call", "id": call.id, "name": call.name, "args": call.arguments, "error": None},
            )
    return good, unreadable
