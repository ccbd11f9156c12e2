"""Blocks of other APIs that hold no call and no result, as OpenAI's chat form has what they hold."""

import base64
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from wmem.model.values import dump_argument

Json: TypeAlias = Mapping[str, Any]

_PAGE_KEYS = frozenset(("state", "providerMetadata"))  # of a text on a page, for the page alone


def block_type(block: Json) -> str | None:
    """The type of a block; None if it has none, and "" for one that is no text."""
    kind = block.get("type")
    return kind if isinstance(kind, str | None) else ""


def to_plain_block(block: Json) -> Json:
    """A block as the chat form has it, where it has one for what it holds."""
    kind = block_type(block)
    if kind == "text" and not _PAGE_KEYS.isdisjoint(block):
        return {key: value for key, value in block.items() if key not in _PAGE_KEYS}
    if kind is not None:
        read = _READERS.get(kind)
        return (read(block) if read else None) or block
    if isinstance(text := block.get("text"), str):
        signed = {"thoughtSignature": block["thoughtSignature"]} if "thoughtSignature" in block else {}
        return (
            {"type": "reasoning", "reasoning": text, **signed}
            if block.get("thought")
            else {"type": "text", "text": text}
        )
    if "json" in block:
        return {"type": "text", "text": dump_argument(block["json"], "a tool's result must be JSON")}
    if isinstance(inline := block.get("inlineData", block.get("inline_data")), Mapping):
        return to_medium(inline.get("mimeType", inline.get("mime_type")), inline.get("data")) or block
    if isinstance(linked := block.get("fileData", block.get("file_data")), Mapping):
        return (
            to_medium(
                linked.get("mimeType", linked.get("mime_type")), url=linked.get("fileUri", linked.get("file_uri"))
            )
            or block
        )
    for name, major in (("image", "image"), ("document", "application"), ("video", "video")):
        held = block.get(name)
        if isinstance(held, Mapping) and isinstance(source := held.get("source"), Mapping) and "bytes" in source:
            return to_medium(f"{major}/{held.get('format')}", source["bytes"], name=held.get("name")) or block
    return block


def _from_source(block: Json) -> Json | None:
    """An image or a document of Anthropic's."""
    source = block.get("source")
    if not isinstance(source, Mapping) or source.get("type") not in ("base64", "url"):
        return None
    mime = source.get("media_type") or ("image/*" if block["type"] == "image" else "application/pdf")
    made = to_medium(mime, source.get("data"), url=source.get("url"), name=block.get("title"))
    mark = {"cache_control": block["cache_control"]} if "cache_control" in block else {}
    return made and {**made, **mark}


def _from_document(block: Json) -> Json | None:
    """A document that the chat form has all of; one at a URL, or one to be cited, goes back as it is."""
    source = block.get("source")
    plain = isinstance(source, Mapping) and source.get("type") == "base64"
    return _from_source(block) if plain and not (block.get("citations") or block.get("context")) else None


def _from_sdk(block: Json) -> Json | None:
    """An image or a file of the Vercel AI SDK."""
    held = block.get("image", block.get("data", block.get("url")))
    default = "image/*" if block["type"] == "image" else "application/octet-stream"
    mime = block.get("mediaType", block.get("mimeType")) or default
    linked = isinstance(held, str) and held.startswith(("http:", "https:", "data:"))
    return to_medium(mime, None if linked else held, url=held if linked else None, name=block.get("filename"))


def _from_image(block: Json) -> Json | None:
    return _from_source(block) if "source" in block else _from_sdk(block) if "image" in block else None


def _from_file(block: Json) -> Json | None:
    return None if "file" in block else _from_sdk(block)


_READERS: Mapping[str, Callable[[Json], Json | None]] = {
    "image": _from_image, "document": _from_document, "file": _from_file,
}  # fmt: skip


def to_medium(mime: object, data: object = None, *, url: object = None, name: object = None) -> Json | None:
    """A block of the chat form for an image or a file; None if its content is of no known shape."""
    if isinstance(data, bytes | bytearray):
        data = base64.b64encode(data).decode()
    if isinstance(data, str):
        url = (
            data if data.startswith("data:") else f"data:{mime if '*' not in str(mime) else 'image/png'};base64,{data}"
        )
    if not isinstance(url, str):
        return None
    if str(mime).startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "file", "file": {"file_data": url, **({"filename": name} if name else {})}}


def to_text_blocks(content: object) -> list[Json]:
    """A text as blocks; none if it is empty, or no text."""
    return [{"type": "text", "text": content}] if isinstance(content, str) and content else []


def is_plain_type(kind: str) -> bool:
    """Whether blocks of a type may have another form in the chat form."""
    return kind in _READERS
