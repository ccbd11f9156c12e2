"""Conversion of LlamaIndex's content blocks to parts and to JSON, and back.

Local files are read only from paths in LlamaIndex's own JSON: a ``file:`` URL that another
framework stored is never opened, or a chat message could request any file.
"""

from collections.abc import Iterable, Iterator, Mapping
from io import IOBase
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

from llama_index.core.base.llms.types import (
    AudioBlock,
    BaseContentBlock,
    CachePoint,
    CitableBlock,
    CitationBlock,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    VideoBlock,
)
from pydantic import JsonValue, ValidationError

from wmem import Part, ToolCall
from wmem.adapter import from_tagged_json, media_location, to_tagged_json

Media: TypeAlias = ImageBlock | AudioBlock | VideoBlock | DocumentBlock
_Media = (ImageBlock, AudioBlock, VideoBlock, DocumentBlock)


class _MediaFields(NamedTuple):
    """Fields of a media block: its bytes, its MIME type, and those that a part has in `data`, with their key there."""

    content: str
    mime_type: str
    data: Mapping[str, str]


_MEDIA_FIELDS: Mapping[str, _MediaFields] = {
    "image": _MediaFields("image", "image_mimetype", {"detail": "detail"}),
    "audio": _MediaFields("audio", "format", {}),
    "video": _MediaFields("video", "video_mimetype", {"detail": "detail", "fps": "fps"}),
    "document": _MediaFields("data", "document_mimetype", {"title": "filename"}),
}
_BLOCK_CLASSES: Mapping[str, type[BaseContentBlock]] = {
    kind.model_fields["block_type"].default: kind
    for kind in (TextBlock, *_Media, CachePoint, CitableBlock, CitationBlock, ThinkingBlock, ToolCallBlock)
}
_FREE_FORM_FIELDS: Mapping[str, str] = {"thinking": "additional_information", "tool_call": "tool_kwargs"}
"""Fields that may hold anything, bytes included."""
_AUDIO_FORMATS: Mapping[str, str] = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav"}


# --- LlamaIndex's own JSON -------------------------------------------------------------------------------------------


def block_to_json(block: BaseContentBlock) -> dict[str, JsonValue]:
    """A block in LlamaIndex's own JSON, free-form values tagged, as `block_from_json` reads it.

    Raises:
        SerializationError: A free-form value cannot be stored without loss.
        UnicodeError: Bytes where LlamaIndex wants base64 text.
    """
    if isinstance(block, CitableBlock):
        bare = block.model_copy(update={"content": []}).model_dump(mode="json")
        return {**bare, "content": [block_to_json(each) for each in block.content]}
    kind = str(getattr(block, "block_type", ""))
    if free := _FREE_FORM_FIELDS.get(kind):
        value = getattr(block, free)
        bare = block.model_copy(update={free: {}}).model_dump(mode="json")
        return {**bare, free: to_tagged_json(value, f"{free} of a {kind} block")}
    return _load_open_file(block).model_dump(mode="json")


def _load_open_file(block: BaseContentBlock) -> BaseContentBlock:
    """The block itself, or if it holds an open file, a copy that holds the file's bytes."""
    if not isinstance(block, _Media):
        return block
    field = _MEDIA_FIELDS[block.block_type].content
    source = getattr(block, field)
    if not isinstance(source, IOBase):
        return block
    place = source.tell()
    source.seek(0)
    content = source.read()
    source.seek(place)
    # `model_dump` would write raw bytes, which reading would take for base64.
    return type(block).model_validate({**dict(block), field: content})


def block_from_json(data: Mapping[str, JsonValue]) -> BaseContentBlock:
    """The block that `block_to_json` wrote, even if its file is missing: see `replace_missing_file`.

    Raises:
        ValidationError: A block of another LlamaIndex version.
    """
    kind = str(data.get("block_type"))
    told: dict[str, Any] = dict(data)
    if free := _FREE_FORM_FIELDS.get(kind):
        told[free] = from_tagged_json(told[free])
    if kind == "citable":
        told["content"] = [block_from_json(each) for each in told["content"]]
    made = _BLOCK_CLASSES.get(kind, TextBlock)
    if kind in ("image", "audio", "video") and told.get("path") and not Path(told["path"]).is_file():
        return made.model_construct(**{**told, "path": Path(told["path"])})
    return made.model_validate(told)


def replace_missing_file(block: BaseContentBlock) -> BaseContentBlock:
    """The block, or a text in its place if its file is missing: that must not break a session for good."""
    if not isinstance(block, ImageBlock | AudioBlock | VideoBlock) or not block.path or block.path.is_file():
        return block
    return TextBlock(text=f"[{block.block_type}: {block.path}, no longer there]")


# --- the neutral form ------------------------------------------------------------------------------------------------


def to_parts(blocks: Iterable[BaseContentBlock]) -> Iterator[Part]:
    """The blocks' content as parts; tool calls and cache points are skipped."""
    for block in blocks:
        if isinstance(block, TextBlock):
            yield Part(text=block.text)
        elif isinstance(block, ThinkingBlock):
            yield _reasoning_part(block)
        elif isinstance(block, _Media):
            yield _media_part(block)
        elif isinstance(block, CitableBlock):
            yield from to_parts(block.content)
        elif isinstance(block, CitationBlock):
            quoted = " ".join(part.text for part in to_parts([block.cited_content]) if part.text)
            yield Part(text=f"[{block.title} ({block.source}): {quoted}]")


def _reasoning_part(block: ThinkingBlock) -> Part:
    told = to_tagged_json(dict(block.additional_information), "additional_information of a thinking block")
    rest = dict(cast("dict[str, JsonValue]", told))
    signature = rest.pop("signature", None) if isinstance(rest.get("signature"), str) else None
    if block.num_tokens is not None:
        rest["num_tokens"] = block.num_tokens
    return Part(
        kind="reasoning",
        text=block.content,
        signature=signature if isinstance(signature, str) else None,
        data=rest or None,
    )


def _media_part(block: Media) -> Part:
    read = cast("Media", _load_open_file(block))
    kind = read.block_type
    names = _MEDIA_FIELDS[kind]
    fields: dict[str, Any] = {"kind": "file" if kind == "document" else kind}
    if content := getattr(read, names.content):
        fields["base64"] = content.decode("ascii") if isinstance(content, bytes) else str(content)
    elif read.url:
        fields |= media_location(str(read.url))
    elif read.path:
        fields["url"] = Path(read.path).absolute().as_uri()
    mime_type = getattr(read, names.mime_type)
    fields["mime_type"] = mime_type if kind != "audio" else f"audio/{mime_type}" if mime_type else None
    data = {key: value for name, key in names.data.items() if (value := getattr(read, name)) is not None}
    return Part(**fields, data=data or None)


def part_to_block(part: Part) -> BaseContentBlock:
    """The part as a block; a text block where LlamaIndex has no matching one."""
    if part.kind in ("text", "refusal"):
        return TextBlock(text=part.text or "")
    data = dict(part.data or {})
    if part.kind == "reasoning":
        tokens = data.pop("num_tokens", None)
        if part.signature is not None:
            data["signature"] = part.signature
        return ThinkingBlock(
            content=part.text, num_tokens=tokens if isinstance(tokens, int) else None, additional_information=data
        )
    try:
        if written := _media_block(part, data):
            return written
    except ValidationError:  # an invalid URL
        pass
    if part.text:
        return TextBlock(text=part.text)
    shown = part.url or part.file_id or part.mime_type or data.get("type") or "attached"
    return TextBlock(text=f"[{part.kind}: {shown}]")


def _media_block(part: Part, data: Mapping[str, JsonValue]) -> BaseContentBlock | None:
    content = part.base64.encode("ascii", "replace") if part.base64 else None
    url = None if content or not part.url or part.url.startswith("file:") else part.url
    kind = "document" if part.kind == "file" else part.kind
    names = _MEDIA_FIELDS.get(kind)
    if names is None or (not content and not url):
        return None
    mime_type = part.mime_type
    if kind == "audio":
        form = (mime_type or "").removeprefix("audio/")
        mime_type = _AUDIO_FORMATS.get(form, form) or None
    fields = {names.content: content, "url": url, names.mime_type: mime_type}
    return _BLOCK_CLASSES[kind].model_validate(fields | {name: data.get(key) for name, key in names.data.items()})


def call_to_block(call: ToolCall) -> ToolCallBlock:
    """The call as a block, arguments as a mapping, which every integration takes; as text if they are not one."""
    arguments = call.arguments if call.args is None else call.args
    return ToolCallBlock(tool_call_id=call.id, tool_name=call.name, tool_kwargs=arguments)
