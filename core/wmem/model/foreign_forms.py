"""Messages of other APIs, read as OpenAI's chat form: Anthropic, Bedrock, Gemini, OpenAI Responses, Vercel AI SDK.

A tool's call or result that is a block of the content becomes what the chat form has for it: a call of the assistant's,
a message of the tool's. So one message can become several; the first has its id, each further one that id and its
place (`m1`, `m1.1`), so that storing it again updates them. A block that is neither is read by what it holds, and
else stays as it is, within its message.
"""

import base64
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.model.part import ToolCall
from wmem.model.values import dump_argument

Json: TypeAlias = Mapping[str, Any]

_ITEM_TYPES = (
    "message",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "reasoning",
)
_FOREIGN_KEYS = frozenset(("type", "parts", "toolInvocations", "images"))
_SHARED_KEYS = ("id", "turn_id", "thread_id", "metadata", "created_at", "pinned", "complete", "name")
_CALL_BLOCKS = frozenset(("tool_use", "tool-call", "tool_call", "function_call"))
_RESULT_BLOCKS = frozenset(("tool_result", "tool-result"))
_KEYED_BLOCKS = frozenset(
    ("toolUse", "toolResult", "functionCall", "functionResponse", "function_call", "function_response")
)
_KEYED_CALLS = ("toolUse", "functionCall", "function_call")
_CALL_TAKERS: Mapping[str, Sequence[str]] = {"tool_use": ("anthropic", "bedrock"), "function_call": ("openai",)}
_ANSWERED = ("output-available", "output-error", "output-denied", "result")
_PAGE_KEYS = frozenset(("state", "providerMetadata"))  # of a text on a page, for the page alone
_NOT_SENT = ("step-start", "data-", "source-")  # parts of a page, which the SDK sends to no model


class _Call(NamedTuple):
    id: object
    name: object
    input: object


class _Result(NamedTuple):
    id: object
    name: object
    content: object
    failed: bool = False


def to_chat_form(data: Json) -> Sequence[Json]:
    """The message as dictionaries in OpenAI's chat form; one that is in it already comes back alone, as it is.

    Raises:
        InvalidInputError: A call or a result stands where its API has none, or an item is no message.
    """
    content, kind = data.get("content"), data.get("type")
    if type(content) is str and _FOREIGN_KEYS.isdisjoint(data):
        return [data]  # nearly every message
    if kind is not None and ("role" not in data or kind == "message"):
        return [_read_item(data)]
    if (parts := _as_list(data.get("parts"))) is not None:
        return _split(data, parts, "content", "parts", "toolInvocations")
    if steps := _as_list(data.get("toolInvocations")):
        said = [{"type": "tool-invocation", "toolInvocation": each} for each in steps]
        return _split(data, [*said, *_text_block(content)], "content", "toolInvocations")
    if (images := _as_list(data.get("images"))) and all(isinstance(each, str) for each in images):
        pictures = [_medium("image/*", each) or each for each in images]
        return [{**data, "images": None, "content": [*_text_block(content), *pictures]}]
    if isinstance(content, list | tuple) and any(map(_is_foreign, content)):
        return _split(data, content, "content")
    return [data]


def _as_list(value: object) -> Sequence[Any] | None:
    return value if isinstance(value, list | tuple) else None


def _is_foreign(block: object) -> bool:
    if not isinstance(block, Mapping):
        return False
    kind = _kind(block)
    return kind is None or kind in _CALL_BLOCKS or kind in _RESULT_BLOCKS or _PLAIN.get(kind) is not None


# --- OpenAI's Responses API ------------------------------------------------------------------------------------------


def _read_item(item: Json) -> Json:
    """An item of the Responses API."""
    kind = item["type"]
    if not isinstance(kind, str) or kind not in _ITEM_TYPES:
        msg = f"an item of type {describe(kind)} is no message; keep it in the metadata of one, or leave it out"
        raise InvalidInputError(msg)
    rest = {key: value for key, value in item.items() if key not in ("type", "status", "phase", "call_id")}
    if kind == "message":
        return rest
    if kind == "reasoning":
        return {**_common_fields(item), "role": "assistant", "content": [dict(item)]}
    if kind.endswith("_output"):
        return {
            **_common_fields(item),
            "role": "tool",
            "tool_call_id": item.get("call_id"),
            "content": _result_content(item.get("output")),
        }
    if kind == "custom_tool_call":
        call = {"id": item.get("call_id"), "custom": {"name": item.get("name"), "input": item.get("input")}}
    else:
        call = _write_call(_Call(item.get("call_id"), item.get("name"), item.get("arguments")))
    return {**_common_fields(item), "role": "assistant", "content": None, "tool_calls": [call], "name": None}


# --- messages that hold calls and results ----------------------------------------------------------------------------


def _split(data: Json, blocks: Sequence[Any], *read: str) -> Sequence[Json]:
    """The message as one of its role for each run of blocks, and the tools' results between them."""
    role = {"model": "assistant", "ai": "assistant", "human": "user"}.get(str(data.get("role")), data.get("role"))
    listed = list(_as_list(data.get("tool_calls")) or ())
    known = [call.get("id") for call in listed if isinstance(call, Mapping)]
    rest = {key: value for key, value in data.items() if key not in read and key != "role"}
    made = [{**_common_fields(rest), **piece.form} for piece in split_blocks(role, blocks, known)]
    if made:
        calls = [*listed, *made[0].get("tool_calls", ())]
        made[0] = {**rest, **made[0], **({"tool_calls": calls} if calls else {})}
    if (named := data.get("id")) is not None:
        made[1:] = [{**each, "id": f"{named}.{place}"} for place, each in enumerate(made[1:], 1)]
    return made or [{**rest, "role": role, "content": []}]


class MessagePiece(NamedTuple):
    """One of the messages that the blocks of a message make.

    Attributes:
        form: The message in OpenAI's chat form.
        places: Of its blocks, among those of the whole.
    """

    form: dict[str, Any]
    places: tuple[int, ...]


def split_blocks(role: object, blocks: Sequence[Any], known_ids: Collection[object] = ()) -> list[MessagePiece]:
    """The messages that the blocks of one make: of its role for each run of blocks, and the results between them.

    Args:
        known_ids: Ids of calls that the message has beside its blocks, too.

    Raises:
        InvalidInputError: A call of a speaker who has none, or arguments or a result that are no JSON.
    """
    turns = _Splitter(role, says_more=bool(known_ids))
    for place, block in enumerate(blocks):
        for piece in _pieces(block):
            turns.add(piece, place, known_ids)
    return turns.close()


class _Splitter:
    """The messages that the pieces of one make, in their order.

    Args:
        says_more: Whether the message says something beside its blocks.
    """

    def __init__(self, role: object, *, says_more: bool) -> None:
        self._role = "user" if role in ("tool", "function") else role
        self._says_more = says_more
        self._made: list[MessagePiece] = []
        self._said: list[Any] = []
        self._calls: list[Json] = []
        self._places: list[int] = []
        self._results: list[MessagePiece] = []

    def add(self, piece: object, place: int, known_ids: Collection[object]) -> None:
        if isinstance(piece, _Result):
            self._results.append(MessagePiece(_write_result(piece), (place,)))
            return
        if self._results and self._role == "assistant":
            self.close()
        # A user's results answer the message before: they come first, wherever they stand.
        self._places.append(place)
        if not isinstance(piece, _Call):
            self._said.append(piece)
        elif self._role != "assistant":
            msg = f"a {self._role} message calls the tool {describe(piece.name)}; only an assistant's message can"
            raise InvalidInputError(msg)
        elif piece.id is None or piece.id not in known_ids:
            self._calls.append(_write_call(piece))

    def close(self) -> list[MessagePiece]:
        said: list[MessagePiece] = []
        if self._places or self._says_more:
            calls = {"tool_calls": self._calls} if self._calls else {}
            said = [MessagePiece({"role": self._role, "content": self._said, **calls}, tuple(self._places))]
        self._made += [*said, *self._results] if self._role == "assistant" else [*self._results, *said]
        self._said, self._calls, self._places, self._results = [], [], [], []
        self._says_more = False
        return self._made


def read_call_block(block: object) -> ToolCall | None:
    """The call that a block of an assistant's content makes, its id blank if it has none; None for any other block."""
    if not isinstance(block, Mapping) or not (_kind(block) in _CALL_BLOCKS or _find_key(block) in _KEYED_CALLS):
        return None
    match next(iter(_pieces(block)), None):
        case _Call(id=str() | None as id, name=str() as name, input=str() | Mapping() | None) as call:
            return ToolCall(id=id or "", name=name, arguments=_arguments(call))
        case _:
            return None


def is_result_block(block: object) -> bool:
    """Whether a block of content is a tool's result."""
    if not isinstance(block, Mapping):
        return False
    return _kind(block) in _RESULT_BLOCKS or _find_key(block) in _KEYED_BLOCKS.difference(_KEYED_CALLS)


def find_takers(blocks: Iterable[object]) -> tuple[str, ...] | None:
    """The provider profiles that take a message with these blocks; None if all do.

    Only calls, results and texts without a type tell; any other block is fitted by itself.
    """
    takers = [own for block in blocks if isinstance(block, Mapping) and (own := _block_takers(block)) is not None]
    return tuple(sorted(frozenset.intersection(*takers))) if takers else None


def _block_takers(block: Json) -> frozenset[str] | None:
    kind = _kind(block)
    if kind is None:
        return frozenset(("bedrock",)) if _find_key(block) or isinstance(block.get("text"), str) else None
    if kind == "tool_result":
        return frozenset(("bedrock",) if "toolUseId" in block else ("anthropic",))
    if kind in _CALL_BLOCKS or kind in _RESULT_BLOCKS:
        return frozenset(_CALL_TAKERS.get(kind, ()))
    return None


def _kind(block: Json) -> str | None:
    """The type of a block; None if it has none, and "" for one that is no text."""
    kind = block.get("type")
    return kind if isinstance(kind, str | None) else ""


def _find_key(block: Json) -> str | None:
    """The key under which a block without a type has its call or its result."""
    return min(_KEYED_BLOCKS.intersection(block), default=None) if block.get("type") is None else None


def _pieces(block: object) -> Iterable[object]:
    """The calls and results of a block, and what else it is, as a block of the chat form."""
    if not isinstance(block, Mapping):
        return [block]
    kind = _kind(block)
    if kind is not None and kind.startswith(_NOT_SENT):
        return []
    if kind in _CALL_BLOCKS:
        return [
            _Call(
                block.get("call_id") or block.get("id", block.get("toolCallId")),
                block.get("name", block.get("toolName")),
                block.get("input", block.get("args", block.get("arguments"))),
            )
        ]
    if kind in _RESULT_BLOCKS:
        return [_read_result(block)]
    if kind == "tool-invocation" and isinstance(inner := block.get("toolInvocation"), Mapping):
        return _read_step(inner)
    if kind is not None and "toolCallId" in block:
        return _read_step({"toolName": kind.removeprefix("tool-"), **block})
    if key := _find_key(block):
        inner = block[key] if isinstance(block[key], Mapping) else {}
        named = inner.get("toolUseId", inner.get("id"))
        if key in _KEYED_CALLS:
            return [_Call(named, inner.get("name"), inner.get("input", inner.get("args")))]
        content = inner.get("content", inner.get("response"))
        return [_Result(named, inner.get("name"), content, inner.get("status") == "error")]
    return [_plain_block(block)]


def _read_result(block: Json) -> _Result:
    named = block.get("tool_use_id", block.get("toolCallId", block.get("toolUseId")))
    content = block.get("content", block.get("output", block.get("result")))
    failed = bool(block.get("is_error") or block.get("isError") or block.get("status") == "error")
    if isinstance(content, Mapping) and "value" in content:  # the Vercel AI SDK's output
        failed = failed or str(content.get("type")).startswith("error")
        content = content["value"]
    if (mark := block.get("cache_control")) is not None:
        content = [*_text_block(content)] if isinstance(content, str) else list(content or ())
        content[-1:] = [{**each, "cache_control": mark} for each in content[-1:]]
    return _Result(named, block.get("toolName"), content, failed)


def _read_step(step: Json) -> Iterable[object]:
    """A call of a page's message, and its result if it has come."""
    yield _Call(step.get("toolCallId"), step.get("toolName"), step.get("input", step.get("args")))
    if step.get("state") in _ANSWERED:
        content = step.get("output", step.get("result", step.get("errorText")))
        yield _Result(step.get("toolCallId"), step.get("toolName"), content, step.get("state") == "output-error")


def _write_call(call: _Call) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _arguments(call)}}


def _arguments(call: _Call) -> str:
    if isinstance(call.input, str):
        return call.input
    return dump_argument(call.input or {}, "a tool call's arguments must be JSON")


def _write_result(result: _Result) -> dict[str, Any]:
    written = {
        "role": "tool",
        "tool_call_id": result.id,
        "name": result.name,
        "content": _result_content(result.content),
    }
    if result.failed:
        written["metadata"] = {"is_error": True}
    return written


def _result_content(content: object) -> str | list[Any]:
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list | tuple) and all(isinstance(each, str | Mapping) for each in content):
        blocks = [_plain_block(each) if isinstance(each, Mapping) else each for each in content]
        if all(isinstance(each, str) or _is_block(each) for each in blocks):
            return blocks
    return dump_argument(content, "a tool's result must be JSON")


def _is_block(block: Json) -> bool:
    return isinstance(block.get("type"), str) or "cachePoint" in block


def _text_block(content: object) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) and content else []


def _common_fields(data: Json) -> dict[str, Any]:
    return {key: data[key] for key in _SHARED_KEYS if data.get(key) is not None}


# --- blocks that hold no call ----------------------------------------------------------------------------------------


def _plain_block(block: Json) -> Json:
    """A block as the chat form has it, where it has one for what it holds."""
    kind = _kind(block)
    if kind == "text" and not _PAGE_KEYS.isdisjoint(block):
        return {key: value for key, value in block.items() if key not in _PAGE_KEYS}
    if kind is not None:
        read = _PLAIN.get(kind)
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
        return _medium(inline.get("mimeType", inline.get("mime_type")), inline.get("data")) or block
    if isinstance(linked := block.get("fileData", block.get("file_data")), Mapping):
        return (
            _medium(linked.get("mimeType", linked.get("mime_type")), url=linked.get("fileUri", linked.get("file_uri")))
            or block
        )
    for name, major in (("image", "image"), ("document", "application"), ("video", "video")):
        held = block.get(name)
        if isinstance(held, Mapping) and isinstance(source := held.get("source"), Mapping) and "bytes" in source:
            return _medium(f"{major}/{held.get('format')}", source["bytes"], name=held.get("name")) or block
    return block


def _from_source(block: Json) -> Json | None:
    """An image or a document of Anthropic's."""
    source = block.get("source")
    if not isinstance(source, Mapping) or source.get("type") not in ("base64", "url"):
        return None
    mime = source.get("media_type") or ("image/*" if block["type"] == "image" else "application/pdf")
    made = _medium(mime, source.get("data"), url=source.get("url"), name=block.get("title"))
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
    return _medium(mime, None if linked else held, url=held if linked else None, name=block.get("filename"))


def _from_image(block: Json) -> Json | None:
    return _from_source(block) if "source" in block else _from_sdk(block) if "image" in block else None


def _from_file(block: Json) -> Json | None:
    return None if "file" in block else _from_sdk(block)


_PLAIN: Mapping[str, Callable[[Json], Json | None]] = {
    "image": _from_image, "document": _from_document, "file": _from_file,
}  # fmt: skip


def _medium(mime: object, data: object = None, *, url: object = None, name: object = None) -> Json | None:
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
