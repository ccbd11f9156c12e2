"""Conversion between `Message` and dictionaries in OpenAI's chat form."""

from collections.abc import Mapping, Sequence
from typing import Any

from wmem.describe import describe, describe_field
from wmem.errors import InvalidInputError
from wmem.model._reasoning import (
    REASONING_KEYS,
    read_reasoning,
    read_reasoning_block,
    write_reasoning_block,
    write_reasoning_keys,
)
from wmem.model.checks import plain_text
from wmem.model.data_url import media_location
from wmem.model.instants import to_epoch
from wmem.model.part import Part, Role, ToolCall
from wmem.model.sendable import to_sendable
from wmem.model.values import dump_argument

_SIMPLE_SIZE = 2
_WMEM_KEYS = ("id", "turn_id", "thread_id", "metadata", "pinned", "complete")
_KNOWN_KEYS = frozenset(
    (
        *_WMEM_KEYS,
        "role",
        "content",
        "name",
        "tool_calls",
        "tool_call_id",
        "function_call",
        "refusal",
        "created_at",
        "annotations",
        "audio",
        *REASONING_KEYS,
    )
)

_SAYING_KEYS = ("content", "tool_calls", "function_call", "refusal", "audio", *REASONING_KEYS)
_CACHE_KEYS = ("cache_control", "prompt_cache_breakpoint")  # of a block, beside what it holds
_OWN_FORM = ("input_image", "input_file")  # blocks of the Responses API that the chat form has no equal for


def read_message(data: Mapping[str, Any], roles: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a `Message` from a dictionary in OpenAI's chat form."""
    # Empty values are ignored: SDKs dump all the fields they know.
    unknown = {key: data[key] for key in data if key not in _KNOWN_KEYS and data[key] not in (None, "", [], {})}
    if unknown and not any(data.get(key) for key in _SAYING_KEYS):
        # A misspelt "content" must not become an empty message.
        named = describe_field(next(iter(unknown)))
        msg = f"unknown key {named!r} in a message that says nothing; metadata is the place for what wmem does not know"
        raise InvalidInputError(msg)
    given = data.get("role")
    role = roles.get(plain_text(given)) if isinstance(given, str) else None
    if role is None:
        raise InvalidInputError(f"unknown role {describe(given)}; known: {', '.join(sorted(set(roles.values())))}")
    fields: dict[str, Any] = {key: data[key] for key in _WMEM_KEYS if data.get(key) is not None}
    if data.get("annotations"):
        unknown["annotations"] = data["annotations"]
    if unknown and isinstance(known := fields.get("metadata", {}), Mapping):
        fields["metadata"] = {**unknown, **known}
    calls = list(_check_list(data.get("tool_calls") or (), "tool_calls"))
    if legacy := data.get("function_call"):
        # It has no id: its result names the function.
        calls.append({"id": f"call_{legacy.get('name')}" if isinstance(legacy, Mapping) else "", "function": legacy})
    fields.update(
        role=role, parts=_read_parts(data), tool_calls=[_read_call(call) for call in calls], name=data.get("name")
    )
    if role == "tool":
        fields["tool_call_id"] = data.get("tool_call_id") or (
            f"call_{data['name']}" if data.get("role") == "function" and data.get("name") else None
        )
    if data.get("created_at") is not None:
        fields["created_at"] = to_epoch(data["created_at"])
    return fields


def _read_parts(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    blocks = _to_blocks(data.get("content"))
    parts = [*read_reasoning(data), *map(_read_part, blocks)]
    if not isinstance(data.get("content"), str):
        _keep_boundaries(blocks, parts[len(parts) - len(blocks) :])
    if isinstance(sound := data.get("audio"), Mapping):
        parts.append(
            {"kind": "audio", "file_id": sound.get("id"), "base64": sound.get("data"), "data": _extra_fields(sound)}
        )
    if data.get("refusal"):
        parts.append({"kind": "refusal", "text": data["refusal"]})
    return parts


def _keep_boundaries(blocks: Sequence[Any], parts: Sequence[dict[str, Any]]) -> None:
    """Mark texts that came as blocks, to be written as blocks again, of their own type beside others of its API."""
    own = any(isinstance(block, Mapping) and block.get("type") in _OWN_FORM for block in blocks)
    only_text = all(part["kind"] == "text" for part in parts)
    for block, part in zip(blocks, parts, strict=True):
        if part["kind"] == "text" and isinstance(block, Mapping):
            kept = part.get("data") or {}
            named = {"type": block["type"]} if block["type"] != "text" and (own or kept) else {}
            part["data"] = {**named, **kept} or ({} if only_text else None)


def _check_list(value: object, name: str) -> Sequence[Any]:
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return value
    raise InvalidInputError(f"{name} must be a list, not {type(value).__name__!r}")


def _to_blocks(content: object) -> Sequence[Any]:
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return ({"type": "text", "text": content},)
    if isinstance(content, Sequence) and not isinstance(content, bytes):
        return content
    raise InvalidInputError(f"content must be text, a list of blocks or None, not {type(content).__name__!r}")


def _read_part(block: object) -> dict[str, Any]:
    if isinstance(block, str):
        return {"kind": "text", "text": block}
    if not isinstance(block, Mapping):
        raise InvalidInputError(f"a content block must be a dictionary, not {type(block).__name__!r}")
    kind = block.get("type")
    if kind in ("text", "input_text", "output_text") and isinstance(block.get("text"), str):
        extra = {key: value for key, value in block.items() if key not in ("type", "text") and value}
        return {"kind": "text", "text": block["text"], "data": extra or None}
    if kind == "refusal" and isinstance(block.get("refusal"), str):
        return {"kind": "refusal", "text": block["refusal"]}
    return _read_media(block, kind) or read_reasoning_block(block) or {"kind": "other", "data": dict(block)}


def _read_media(block: Mapping[str, Any], kind: object) -> dict[str, Any] | None:
    """The part of an image, a sound or a file; None for another block, or one with keys that it would lose."""
    if not isinstance(kind, str) or not block.keys() <= {"type", kind, *_CACHE_KEYS}:
        return None
    held = block.get(kind)
    beside = {key: block[key] for key in _CACHE_KEYS if block.get(key)}
    if kind == "image_url":
        image = held if isinstance(held, Mapping) else {"url": held}
        if isinstance(url := image.get("url"), str):
            return {"kind": "image", **media_location(url), "data": _data_of(image, "url", **beside)}
    if kind == "input_audio" and isinstance(held, Mapping):
        form = f"audio/{held.get('format', 'wav')}"
        return {"kind": "audio", "base64": held.get("data"), "mime_type": form, "data": beside or None}
    if kind == "file" and isinstance(held, Mapping):
        content = held.get("file_data")
        # What is no text is kept as it is: the message's own check refuses it.
        where = media_location(content) or ({"url": content} if content else {"file_id": held.get("file_id")})
        return {"kind": "file", **where, "data": _data_of(held, "file_data", "file_id", **beside)}
    return None


def _data_of(inner: Mapping[str, Any], *read: str, **beside: Any) -> dict[str, Any] | None:
    return {**{key: value for key, value in inner.items() if key not in read and value}, **beside} or None


def _extra_fields(audio: Mapping[str, Any]) -> dict[str, Any] | None:
    return {key: value for key, value in audio.items() if key not in ("id", "data") and value is not None} or None


def _read_call(call: object) -> dict[str, Any]:
    if isinstance(call, Mapping) and isinstance(custom := call.get("custom"), Mapping):
        return {
            "id": call.get("id") or "",
            "name": custom.get("name"),
            "arguments": custom.get("input"),
            "type": "custom",
        }
    if not isinstance(call, Mapping) or not isinstance(function := call.get("function"), Mapping):
        raise InvalidInputError(f"a tool call must be a dictionary with a 'function', not {describe(call)}")
    arguments = function.get("arguments", "{}")
    if not isinstance(arguments, str):
        arguments = dump_argument(arguments, "a tool call's arguments must be JSON")
    return {
        "id": call.get("id") or "",
        "name": function.get("name"),
        "arguments": arguments,
    }


def write_message(
    role: Role, parts: Sequence[Part], tool_calls: Sequence[ToolCall], *, tool_call_id: str | None, name: str | None
) -> dict[str, Any]:
    """A message as a dictionary in OpenAI's chat form, ready to be sent."""
    # An assistant's audio is sent back by its id alone.
    spoken = [part for part in parts if part.kind == "audio" and part.file_id] if role == "assistant" else []
    written: dict[str, Any] = {"role": role}
    if spoken:
        written["audio"] = {"id": spoken[-1].file_id}
    shown = [part for part in parts if _is_content(part) and part not in spoken]
    refused = "\n".join(part.text or "" for part in parts if part.kind == "refusal")
    written["content"] = _write_content(shown) if shown or not (tool_calls or spoken or refused) else None
    written |= write_reasoning_keys(parts)
    if refused:
        written["refusal"] = refused
    if name is not None and role != "tool":
        written["name"] = name
    if tool_calls:
        written["tool_calls"] = [write_call(call) for call in tool_calls]
    if role == "tool":
        written["tool_call_id"] = tool_call_id
    if len(written) == _SIMPLE_SIZE and isinstance(text := written["content"], str):  # fast path: a role and a text
        if not text.isascii():
            written["content"] = to_sendable(text)
        return written
    return to_sendable(written)


def _is_content(part: Part) -> bool:
    """Whether the part goes into the content; the others have keys of their own."""
    if part.kind == "reasoning":
        return write_reasoning_block(part) is not None
    return part.kind != "refusal"


def _write_content(parts: Sequence[Part]) -> str | list[dict[str, Any]]:
    if all(part.kind == "text" and part.data is None for part in parts):
        return "\n".join(part.text or "" for part in parts)
    return [_write_part(part) for part in parts]


def write_call(call: ToolCall) -> dict[str, Any]:
    """A tool call as a dictionary in OpenAI's chat form."""
    if call.type == "custom":
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.arguments}}
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _write_part(part: Part) -> dict[str, Any]:
    if part.kind == "text":
        return {"type": "text", "text": part.text or "", **(part.data or {})}
    if part.kind == "other" and part.data:
        return dict(part.data)
    written = write_reasoning_block(part) if part.kind == "reasoning" else _write_media(part)
    return written or {
        "type": "text",
        "text": f"[{part.kind}: {part.url or part.file_id or part.mime_type or 'attached'}]",
    }


def _write_media(part: Part) -> dict[str, Any] | None:
    """A block of OpenAI's form; None for media it has no form for."""
    data = part.data or {}
    beside = {key: data[key] for key in _CACHE_KEYS if key in data}
    extra = {key: value for key, value in data.items() if key not in beside}
    if part.kind == "image" and (part.url or part.base64):
        url = part.url or f"data:{part.mime_type or 'image/png'};base64,{part.base64}"
        return {"type": "image_url", "image_url": {"url": url, **extra}, **beside}
    if part.kind == "audio" and part.base64:
        form = (part.mime_type or "audio/wav").rpartition("/")[2]
        return {"type": "input_audio", "input_audio": {"data": part.base64, "format": form}, **beside}
    if part.kind == "file" and part.base64:
        url = f"data:{part.mime_type or 'application/octet-stream'};base64,{part.base64}"
        return {"type": "file", "file": {**extra, "file_data": url}, **beside}
    if part.kind == "file" and part.text:  # of a framework that has such documents
        return {"type": "text", "text": f"[document: {extra.get('filename', part.mime_type)}]\n{part.text}"}
    if part.kind == "file" and part.file_id:
        return {"type": "file", "file": {**extra, "file_id": part.file_id}, **beside}
    return None
