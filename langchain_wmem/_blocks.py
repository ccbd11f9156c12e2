"""Conversion of LangChain's content blocks to parts and back.

Blocks come in many dialects: LangChain's own (v0 and v1), OpenAI's, Anthropic's
and Google's. All are read. Blocks are written as v1, which every integration
translates, unless a message is known to have come in OpenAI's or Anthropic's
dialect. An unknown block becomes a part of kind ``other`` that holds all of it,
so reading never fails and never loses anything.
"""

import copy
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, TypeAlias, assert_never, get_args

from langchain_wmem._reasoning import BLOCK_TYPES, is_beside_content
from wmem import Part
from wmem.adapter import media_location, read_call_block

Dialect: TypeAlias = Literal["v1", "openai", "anthropic"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)

_CALL_TYPES = frozenset(
    ("tool_use", "tool_call", "function_call", "tool_call_chunk", "invalid_tool_call", "input_json_delta"),
)
_MEDIA_KINDS = {kind: kind for kind in ("image", "audio", "video", "file")} | {"document": "file", "text-plain": "file"}


def read_blocks(content: str | Sequence[Any], call_ids: Collection[str | None] = ()) -> list[Part]:
    """The parts of a message's content.

    Args:
        call_ids: Ids of the message's tool calls; blocks that repeat one of them
            are skipped.
    """
    if isinstance(content, str):
        return [Part(text=content)] if content else []
    return [_read_block(block) for block in content if not _is_known_call(block, call_ids)]


def is_call_block(block: object) -> bool:
    """Whether a block of content is a tool call, which LangChain repeats outside the content."""
    return isinstance(block, Mapping) and _is_one_of(block.get("type"), _CALL_TYPES)


def _is_known_call(block: object, call_ids: Collection[str | None]) -> bool:
    if is_call_block(block) and isinstance(block, Mapping):
        called = block.get("call_id") or block.get("id")
        return isinstance(called, str) and called in call_ids
    call = read_call_block(block)
    return call is not None and call.id in call_ids


def _is_one_of(kind: object, known: Collection[str]) -> bool:
    return isinstance(kind, str) and kind in known


def _read_block(block: object) -> Part:
    if isinstance(block, str):
        return Part(text=block)
    if not isinstance(block, Mapping):
        return Part(kind="other", data={"value": block})  # type: ignore[dict-item]  # plain JSON by then
    kind = block.get("type")
    read: Part | None = None
    if kind in ("text", "refusal") and isinstance(block.get(kind), str):
        # Citations, annotations and cache marks go back with the text.
        beside = {key: value for key, value in block.items() if key not in ("type", kind)}
        read = Part(kind=kind, text=block[kind], data=beside or None)
    elif kind is None and list(block) == ["text"] and isinstance(block["text"], str):
        read = Part(text=block["text"])  # Bedrock's
    elif _is_one_of(kind, BLOCK_TYPES):
        read = _read_reasoning(block)
    elif _is_one_of(kind, ("image_url", "input_audio", "media")) or _is_one_of(kind, _MEDIA_KINDS):
        read = _read_media(block)
    return read or Part(kind="other", data=dict(block))


def _read_reasoning(block: Mapping[str, Any]) -> Part | None:
    kind = block["type"]
    if kind == "redacted_thinking":
        sealed = block.get("data")
        return Part(kind="reasoning", signature=sealed, data={"redacted": True}) if isinstance(sealed, str) else None
    inner = block.get("reasoning_content") if kind == "reasoning_content" else block
    if not isinstance(inner, Mapping):
        return None
    text = inner.get("thinking", inner.get("reasoning", inner.get("text")))
    if text is None and isinstance(summary := inner.get("summary"), Sequence):
        text = "\n".join(
            each["text"] for each in summary if isinstance(each, Mapping) and _text_or_none(each.get("text"))
        )
    extras = inner.get("extras")
    signature = (
        inner.get("signature")
        or (extras.get("signature") if isinstance(extras, Mapping) else None)
        or inner.get("encrypted_content")
    )
    named: dict[str, Any] | None = {"id": block["id"]} if _text_or_none(block.get("id")) else None
    if kind == "reasoning_content" or not isinstance(text, str | None):  # Converse's, or Mistral's: of them alone
        named = {"block": dict(block)}
    return Part(kind="reasoning", text=_text_or_none(text), signature=_text_or_none(signature), data=named)


def _read_media(block: Mapping[str, Any]) -> Part | None:
    kind = block["type"]
    nested = block.get(kind)
    if kind == "image_url":
        url, detail = (nested.get("url"), nested.get("detail")) if isinstance(nested, Mapping) else (nested, None)
        return _media_part("image", media_location(url), {"detail": detail})
    if kind == "input_audio":
        form = nested if isinstance(nested, Mapping) else {}
        return _media_part("audio", {"base64": form.get("data"), "mime_type": f"audio/{form.get('format', 'wav')}"}, {})
    if kind == "media":
        major = str(block.get("mime_type")).partition("/")[0]
        where = {"base64": block.get("data"), "url": block.get("file_uri"), "mime_type": block.get("mime_type")}
        return _media_part(_MEDIA_KINDS.get(major, "file"), where, {})
    if kind == "file" and isinstance(nested, Mapping):
        where = {"file_id": nested.get("file_id"), **media_location(nested.get("file_data"))}
        return _media_part("file", where, {"filename": nested.get("filename")})
    extras = block.get("extras")
    named = {**(extras if isinstance(extras, Mapping) else {}), **block}
    kept = (
        {"filename": named.get("filename") or block.get("title")}
        if _MEDIA_KINDS[kind] == "file"
        else {"detail": named.get("detail")}
    )
    return _media_part(_MEDIA_KINDS[kind], _read_source(block), kept)


def _read_source(block: Mapping[str, Any]) -> dict[str, Any]:
    """The media source of a v1, v0 or Anthropic block, as fields of a part."""
    source = block.get("source")
    if isinstance(source, Mapping):
        data = {"text": "text", "base64": "base64"}.get(str(source.get("type")), "")
        where = {key: source.get(key) for key in ("url", "file_id")}
        return {**where, **({data: source.get("data")} if data else {}), "mime_type": source.get("media_type")}
    if (told := block.get("source_type")) is not None:
        where = {"base64": {"base64": block.get("data")}, "id": {"file_id": block.get("id")}}.get(str(told), {})
        return {"url": block.get("url"), "text": block.get("text"), "mime_type": block.get("mime_type"), **where}
    return {key: block.get(key) for key in ("url", "base64", "file_id", "text", "mime_type")}


def _media_part(kind: str, source: Mapping[str, Any], details: Mapping[str, Any]) -> Part | None:
    """A part of that kind, or None unless exactly one source is given."""
    held = {key: value for key in ("url", "base64", "file_id", "text") if (value := _text_or_none(source.get(key)))}
    if len(held) != 1:
        return None
    data = {key: value for key, value in details.items() if _text_or_none(value)}
    return Part.model_validate(
        {"kind": kind, **held, "mime_type": _text_or_none(source.get("mime_type")), "data": data or None},
    )


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def write_parts(parts: Sequence[Part], dialect: Dialect = "v1") -> str | list[str | dict[Any, Any]]:
    """The parts as LangChain content; in v1, a single text part becomes a plain string."""
    parts = [part for part in parts if not is_beside_content(part)]
    if dialect == "openai":
        return [_write_for_openai(part) or _write_part(part) for part in parts]
    if dialect == "anthropic":
        return [_write_for_anthropic(part) or _write_part(part) for part in parts]
    if len(parts) <= 1 and all(part.kind == "text" and not part.data for part in parts):
        return "".join(part.text or "" for part in parts)
    return [_write_part(part) for part in parts]


def _write_for_openai(part: Part) -> dict[Any, Any] | None:
    kept = dict(part.data or {})
    if part.kind == "image" and part.file_id is None:
        url = part.url if part.base64 is None else _data_url(part)
        return {"type": "image_url", "image_url": {"url": url, **kept}}
    if part.kind == "audio" and part.base64 is not None and part.mime_type is not None:
        form = part.mime_type.removeprefix("audio/")
        return {"type": "input_audio", "input_audio": {"data": part.base64, "format": form}}
    if part.kind == "file" and part.base64 is not None:
        return {"type": "file", "file": {**kept, "file_data": _data_url(part)}}
    return None


def _data_url(part: Part) -> str:
    return f"data:{part.mime_type or ''};base64,{part.base64}"


def _write_for_anthropic(part: Part) -> dict[Any, Any] | None:
    if part.kind not in ("image", "file") or part.base64 is None:
        return None
    source = {"type": "base64", "media_type": part.mime_type, "data": part.base64}
    return {"type": "image" if part.kind == "image" else "document", "source": source}


def _write_part(part: Part) -> str | dict[Any, Any]:
    match part.kind:
        case "text" | "refusal":
            return {"type": part.kind, part.kind: part.text or "", **copy.deepcopy(dict(part.data or {}))}
        case "reasoning":
            return _write_reasoning(part)
        case "image" | "audio" | "video" | "file":
            return _write_media(part)
        case "other":
            data = copy.deepcopy(dict(part.data or {}))
            return data if isinstance(data.get("type"), str) else {"type": "non_standard", "value": data}
        case _:
            assert_never(part.kind)


def _write_reasoning(part: Part) -> dict[Any, Any]:
    if isinstance(block := (part.data or {}).get("block"), Mapping):  # read by wmem from another form
        return copy.deepcopy(dict(block))
    if part.signature is None:
        return {"type": "reasoning", "reasoning": part.text or ""}
    if (part.data or {}).get("redacted"):
        return {"type": "redacted_thinking", "data": part.signature}
    if (named := _text_or_none((part.data or {}).get("id"))) is not None:  # OpenAI's own, of the Responses API
        summary = [{"type": "summary_text", "text": part.text}] if part.text else []
        return {"type": "reasoning", "id": named, "summary": summary, "encrypted_content": part.signature}
    # A signature means something to Anthropic only; the others drop this block.
    return {"type": "thinking", "thinking": part.text or "", "signature": part.signature}


def _write_media(part: Part) -> dict[Any, Any]:
    held = {"url": part.url, "base64": part.base64, "file_id": part.file_id, "mime_type": part.mime_type}
    written: dict[Any, Any] = {"type": part.kind, **{key: value for key, value in held.items() if value is not None}}
    if part.text is not None and part.kind == "file":
        written = {"type": "text-plain", "text": part.text, "mime_type": "text/plain"}
    if part.data:
        written["extras"] = dict(part.data)
    return written
