"""What media cost: documents of text by their text, images by their size, all else by an estimate for each kind."""

import base64
import binascii
import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

MEDIA_TOKENS: Mapping[str, int] = MappingProxyType({"image": 1_600, "audio": 2_000, "video": 8_000, "file": 4_000})
"""Estimates by kind: the most that any major provider charges for one of ordinary size."""

_LOW_DETAIL_IMAGE = 85
_MARKER = 0xFF  # begins each segment of a JPEG
_FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # of the segment that holds the size
_WEBP_HEADER_BYTES = 30
_HEADER_CHARS = 2**18  # of base64: a JPEG may hold 64 KiB of Exif before its size, several times
_TEXT_TYPES = frozenset(
    f"application/{name}" for name in ("json", "xml", "yaml", "x-yaml", "javascript", "sql", "toml", "x-ndjson")
)
_TEXT_SUFFIXES = ("+json", "+xml", "+yaml")
_FORMATS: Mapping[str, str] = {
    **dict.fromkeys(("png", "jpeg", "jpg", "gif", "webp"), "image/{}"),
    **dict.fromkeys(("wav", "mp3", "flac", "opus", "pcm16", "aac", "ogg", "m4a"), "audio/{}"),
    **dict.fromkeys(("mp4", "mov", "mkv", "webm", "mpeg", "flv", "wmv", "three_gp"), "video/{}"),
    **dict.fromkeys(("txt", "md", "csv", "html"), "text/{}"),
    **dict.fromkeys(("pdf", "doc", "docx", "xls", "xlsx"), "application/{}"),
}
"""MIME types by the names of formats that OpenAI and Bedrock use."""


class Medium(NamedTuple):
    """One medium: its kind, and what is known of it."""

    kind: str
    base64: str | None = None
    mime_type: str | None = None
    detail: str | None = None
    size: tuple[float, float] | None = None


def kind_of_type(mime_type: str) -> str:
    """The kind of media of a MIME type."""
    major = mime_type.partition("/")[0]
    return major if major in MEDIA_TOKENS else "file"


def type_of_format(name: object) -> str | None:
    """The MIME type of a format as OpenAI and Bedrock name it; None for any other text."""
    return _FORMATS[name].format(name) if isinstance(name, str) and name in _FORMATS else None


def document_text(medium: Medium) -> str | None:
    """The text of a document of text that is here as base64; None for any other medium."""
    kind = (medium.mime_type or "").partition(";")[0].strip().lower()
    if medium.base64 is None or not (kind.startswith("text/") or kind in _TEXT_TYPES or kind.endswith(_TEXT_SUFFIXES)):
        return None
    try:
        return base64.b64decode(medium.base64, validate=True).decode()
    except (binascii.Error, ValueError):
        return None


def estimate_tokens(medium: Medium, estimates: Mapping[str, int]) -> int:
    """Tokens of a medium that is not text: its kind's estimate, or less for an image that is small or of low detail."""
    most = estimates[medium.kind]
    if medium.kind != "image":
        return most
    if medium.detail == "low":
        return min(most, _LOW_DETAIL_IMAGE)
    size = medium.size or (_image_size(medium.base64) if medium.base64 else None)
    return most if size is None else min(most, _image_tokens(*size))


def _image_tokens(width: float, height: float) -> int:
    """The most that a provider charges: OpenAI's and Gemini's tiles, Anthropic's pixels."""
    shrink = min(1.0, 2_048 / max(width, height), 768 / min(width, height))
    tiles = -(-width * shrink // 512) * -(-height * shrink // 512)
    squares = -(-width // 768) * -(-height // 768)
    return int(max(_LOW_DETAIL_IMAGE + 170 * tiles, 258 * squares, -(-width * height // 750)))


def _image_size(encoded: str) -> tuple[int, int] | None:
    """Width and height from the header of a PNG, GIF, WebP or JPEG; None if it has none that can be read."""
    try:
        head = base64.b64decode(encoded[:_HEADER_CHARS])
        size = _read_size(head)
    except (binascii.Error, ValueError, struct.error, IndexError):
        return None
    return size if size is not None and min(size) > 0 else None


def _read_size(head: bytes) -> tuple[int, int] | None:
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return struct.unpack(">II", head[16:24])
    if head.startswith((b"GIF87a", b"GIF89a")):
        return struct.unpack("<HH", head[6:10])
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return _read_webp_size(head)
    return _read_jpeg_size(head) if head.startswith(b"\xff\xd8") else None


def _read_webp_size(head: bytes) -> tuple[int, int] | None:
    form = head[12:16] if len(head) >= _WEBP_HEADER_BYTES else b""
    if form == b"VP8X":
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if form == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if form == b"VP8 ":
        width, height = struct.unpack("<HH", head[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return None


def _read_jpeg_size(head: bytes) -> tuple[int, int] | None:
    at = 2
    while head[at] == _MARKER:
        marker, length = head[at + 1], int.from_bytes(head[at + 2 : at + 4], "big")
        if marker in _FRAME_MARKERS:
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return width, height
        at += 2 + length
    return None


# -- media inside blocks of a form that wmem does not know

_TYPE_KEYS = ("mime_type", "mimeType", "media_type", "mediaType")
_CONTENT_KEYS = ("data", "bytes", "base64", "blob", "file_data", "fileData")
_KIND_OF_BLOCK: Mapping[str, str] = {
    **{f"{prefix}{kind}": kind for kind in MEDIA_TOKENS for prefix in ("", "input_")},
    **{f"{kind}_url": kind for kind in MEDIA_TOKENS},
    "document": "file",
    "document_url": "file",
}
_REFERENCE_KEYS = frozenset(("type", "source", "detail", "url", "file_id", "file_url", *_KIND_OF_BLOCK))
"""Keys that say where a medium is, or how it is to be looked at; they cost nothing beside it."""


def split_media(block: Any) -> tuple[Any, list[Medium]]:
    """JSON without the media in it, and these: told by a MIME type or format beside them, or by a ``data:`` URL."""
    media: list[Medium] = []
    return _split(block, media), media


def _split(value: Any, media: list[Medium]) -> Any:
    if isinstance(value, str):
        if (found := _read_data_url(value)) is None:
            return value
        media.append(found)
        return ""
    if isinstance(value, list | tuple):
        return [_split(each, media) for each in value]
    if not isinstance(value, Mapping):
        return value
    before = len(media)
    if (found := _read_medium(value)) is not None:
        media.append(found)
        rest = {key: each for key, each in value.items() if key not in (*_CONTENT_KEYS, "source")}
    else:
        rest = {key: _split(each, media) for key, each in value.items()}
    kind = _KIND_OF_BLOCK.get(str(value.get("type")))
    if kind is None or _holds_text(value):
        return rest
    if len(media) == before:
        media.append(Medium(kind, detail=_find_detail(value)))
    return {key: each for key, each in rest.items() if key not in _REFERENCE_KEYS}


def _read_data_url(text: str) -> Medium | None:
    head, comma, body = text[:200].partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None
    mime_type = head.removeprefix("data:").removesuffix(";base64")
    return Medium(kind_of_type(mime_type), text[len(head) + 1 :] if body else "", mime_type)


def _read_medium(value: Mapping[str, Any]) -> Medium | None:
    """The medium of a dictionary that holds its content and its type or format."""
    mime_type = next((value[key] for key in _TYPE_KEYS if isinstance(value.get(key), str)), None)
    mime_type = mime_type or type_of_format(value.get("format"))
    source = value.get("source")
    holders = [value, source] if isinstance(source, Mapping) else [value]
    content = next(
        (each[key] for each in holders for key in _CONTENT_KEYS if isinstance(each.get(key), str) and each[key]), None
    )
    if mime_type is None or content is None or _holds_text(value):
        return None
    found = _read_data_url(content)
    return found or Medium(kind_of_type(mime_type), content, mime_type, _find_detail(value))


def _holds_text(value: Mapping[str, Any]) -> bool:
    """Whether the content of a document is plain text or blocks, not bytes."""
    source = value.get("source")
    kind = source.get("type") if isinstance(source, Mapping) else value.get("type")
    return kind in ("text", "content")


def _find_detail(value: Mapping[str, Any]) -> str | None:
    inner = value.get("image_url")
    detail = value.get("detail") or (inner.get("detail") if isinstance(inner, Mapping) else None)
    return detail if isinstance(detail, str) else None
