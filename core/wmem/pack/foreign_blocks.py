"""Blocks that one provider alone takes, in a prompt for another: converted, told as text, or left out.

Under ``any`` they go back to where they came from. What is not known to be of one provider alone is sent as it is.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from wmem.model.context import ProviderProfile
from wmem.model.data_url import media_location
from wmem.model.message import Message
from wmem.model.part import Part
from wmem.model.row_text import file_name

_Takers: TypeAlias = frozenset[ProviderProfile]

_ANTHROPIC: _Takers = frozenset(("anthropic",))
_BEDROCK: _Takers = frozenset(("bedrock",))
_GEMINI: _Takers = frozenset(("gemini",))
_MISTRAL: _Takers = frozenset(("mistral",))
_OPENAI: _Takers = frozenset(("openai",))
_CLAUDE = _ANTHROPIC | _BEDROCK  # its signatures are good at both
_THOUGHT = _CLAUDE | _GEMINI  # Gemini's package has blocks of thoughts that look like Anthropic's
_NOBODY: _Takers = frozenset()
_KINDS: Mapping[_Takers, Sequence[str]] = {
    _ANTHROPIC: (
        "document", "server_tool_use", "mcp_tool_use", "compaction", "container_upload", "tool_reference", "text-plain",
        "redacted_thinking",
    ),
    _CLAUDE: ("search_result",),
    _THOUGHT: ("thinking",),
    _BEDROCK: (
        "reasoningContent", "reasoning_content", "guardContent", "guard_content", "cachePoint", "citationsContent",
        "searchResult",
    ),
    _MISTRAL: ("document_url", "reference"),
    _GEMINI: ("executable_code", "code_execution_result", "executableCode", "codeExecutionResult"),
    _OPENAI: (
        "input_image", "input_file", "web_search_call", "file_search_call", "code_interpreter_call", "mcp_call",
        "computer_call", "image_generation_call", "mcp_list_tools", "mcp_approval_request",
    ),
}  # fmt: skip
_BLOCK_TAKERS: Mapping[str, _Takers] = {kind: takers for takers, kinds in _KINDS.items() for kind in kinds}
_KEY_TAKERS: Mapping[str, _Takers] = {
    "citations": _CLAUDE,
    "annotations": _OPENAI,
    "thoughtSignature": _GEMINI,
    "cache_control": _THOUGHT | _OPENAI,  # who has no use for it passes over it, but Mistral refuses it
}
"""Keys of the block of a text or a medium, beside what it holds."""
_KEYED_MEDIA = ("image", "document", "video", "audio")  # of Converse, by their key
_SERVER_TOOL_ID = "srvtoolu_"  # of Anthropic; Bedrock's own models have such blocks, too
_FILE_IDS: tuple[tuple[str, _Takers], ...] = (("file-", _OPENAI), ("file_", _ANTHROPIC))
_FILE_KEYS = {"input_file": ("file_data", "filename"), "document_url": ("document_url", "document_name")}
"""Where blocks of a file have its content and its name."""
_RESPONSES_TEXTS = ("input_text", "output_text")
_MEDIA_KINDS = ("image", "audio", "video", "file")
_TEXT_KEYS = (
    "title", "context", "text", "content", "code", "executable_code", "code_execution_result", "stdout", "stderr",
    "output", "outputs", "logs", "results", "source", "data", "url", "file_url", "document_url", "transcript",
)  # fmt: skip
THOUGHTS = ("thinking", "redacted_thinking", "reasoning", "reasoningContent", "reasoning_content")
"""Kinds of blocks that are reasoning."""
_REFERRING = (*_MEDIA_KINDS, "document", "input_image", "input_file")  # what of these is left out is elsewhere
_OWN_WORDS = ("guardContent", "guard_content", "citationsContent")  # of the speaker, with marks
_TRACELESS = ("cachePoint", *THOUGHTS)


class BlockFitter:
    """Fits the blocks of messages to the provider of a profile that is named, and knows which it left out.

    Attributes:
        changed: For the id of each message that it changed, the kinds of blocks that were left out.
    """

    def __init__(self, profile: ProviderProfile) -> None:
        self._profile = profile
        self.changed: dict[str, tuple[str, ...]] = {}

    def __call__(self, message: Message, id: str) -> Message:
        """The message of that id as the provider takes its blocks; the same object where it takes all of them."""
        parts = message.parts
        if all(map(self._passes, parts)):
            return message
        fitted: list[Part] = []
        lost: list[str] = []
        for part in parts:
            if part.kind in ("text", "refusal") or (takers := _takers(part)) is None or self._profile in takers:
                fitted.append(self._fit_keys(part, lost) if part.data else part)
            elif (made := self._convert(part, fitted) or _to_text(part)) is not None:
                fitted.append(made)
            else:
                lost.append(_describe(part))
                if message.role in ("user", "tool") and block_kind(part) not in _TRACELESS:
                    fitted.append(_to_trace(part))
        if len(fitted) == len(parts) and all(each is part for each, part in zip(fitted, parts, strict=True)):
            return message
        self.changed[id] = tuple(dict.fromkeys(lost))
        # What is in a framework's own JSON of it, the adapter sees to be out of date.
        return message.model_copy(update={"parts": tuple(fitted)})

    def _passes(self, part: Part) -> bool:
        """Whether the provider takes the part, or passes over it, at first sight: nearly all are such."""
        kind, data = part.kind, part.data
        if kind == "text":
            return data is None
        if kind == "reasoning":
            return "key" in data if data else part.signature is not None and self._profile in _THOUGHT
        return kind == "image" and data is None and part.file_id is None

    def _fit_keys(self, part: Part, lost: list[str]) -> Part:
        """A text or a medium without keys that are of another provider, a text of the chat form's type."""
        data = part.data or {}
        if part.kind not in ("text", *_MEDIA_KINDS):
            return part
        gone = [key for key in data if self._profile not in _KEY_TAKERS.get(key, (self._profile,))]
        lost += gone
        if part.kind == "text" and data.get("type") in _RESPONSES_TEXTS:
            gone.append("type")
        if not gone:
            return part
        return part.model_copy(update={"data": {key: value for key, value in data.items() if key not in gone}})

    def _convert(self, part: Part, before: list[Part]) -> Part | None:
        """The block in the form of the provider, if it has an equal one."""
        block = _block(part)
        kind = block.get("type")
        if kind == "input_image" and isinstance(url := block.get("image_url"), str):
            seen = block.get("detail")
            detail = {"detail": seen} if seen not in (None, "auto") else None
            return Part.model_validate({"kind": "image", **media_location(url), "data": detail})
        held, name = _FILE_KEYS.get(str(kind), ("", ""))
        if str(block.get(held)).startswith("data:"):
            return _file(media_location(block[held]), block.get(name))
        if kind == "document" and isinstance(source := block.get("source"), Mapping) and source.get("type") == "base64":
            return _file({"base64": source.get("data"), "mime_type": source.get("media_type")}, block.get("title"))
        if self._profile != "anthropic":
            return None
        if "cachePoint" in block and before and before[-1].kind in ("text", "image", "file"):
            marked = before.pop()
            return marked.model_copy(update={"data": {**(marked.data or {}), "cache_control": {"type": "ephemeral"}}})
        return _to_thinking(block)


def block_kind(part: Part) -> str:
    """What a block is called: its type, or its key in an API that has no types."""
    if part.kind in _MEDIA_KINDS:
        return "document" if part.kind == "file" and part.text else part.kind
    block = _block(part)
    kind = block.get("type")
    if isinstance(kind, str):
        return kind
    if block:
        return next(iter(block))
    data = part.data or {}
    return "redacted_thinking" if data.get("redacted") else "thinking" if part.signature and not data else "reasoning"


def _describe(part: Part) -> str:
    kind = block_kind(part)
    return f"{kind} by reference" if kind in _REFERRING else kind


def _block(part: Part) -> Mapping[str, Any]:
    """The block as it came; empty for a medium, and for reasoning that has none."""
    data = part.data or {}
    inner = data.get("block") if part.kind == "reasoning" else data if part.kind == "other" else None
    if not isinstance(inner, Mapping):
        return {}
    held = inner.get("value") if inner.get("type") == "non_standard" else None  # as LangChain has it
    return held if isinstance(held, Mapping) else inner


def _takers(part: Part) -> _Takers | None:
    """The providers that take the block; None if it is not known to be of some alone."""
    if part.kind in _MEDIA_KINDS:
        return _medium_takers(part)
    block = _block(part)
    if part.kind == "reasoning" and not block:
        return _reasoning_takers(part)
    kind = block_kind(part)
    shape = _shape_takers(kind, block)
    return _BLOCK_TAKERS.get(kind) if shape is None else shape


def _shape_takers(kind: str, block: Mapping[str, Any]) -> _Takers | None:
    """The providers that take a block of that kind, by what it holds; None if the kind alone says it."""
    if kind in _KEYED_MEDIA:
        if "type" not in block or (kind == "document" and "source" not in block):
            return _BEDROCK
        return _ANTHROPIC if kind in ("image", "document") and isinstance(block.get("source"), Mapping) else None
    if "thoughtSignature" in block:
        return _GEMINI
    if kind == "thinking" and not isinstance(block.get("signature"), str):
        return _MISTRAL if isinstance(block.get("thinking"), list) else _GEMINI
    if kind == "reasoning":
        return _GEMINI if {"encrypted_content", "summary"}.isdisjoint(block) else _OPENAI
    if kind in ("input_image", "input_file") and not {"image_url", "file_data"}.isdisjoint(block):
        return _NOBODY  # every provider takes it in the chat form
    if kind == "server_tool_use" and not str(block.get("id")).startswith(_SERVER_TOOL_ID):
        return _CLAUDE
    return _ANTHROPIC if kind.endswith("_tool_result") and kind != "server_tool_result" else None


def _medium_takers(part: Part) -> _Takers | None:
    if part.file_id is not None:
        if part.kind == "audio":
            return _OPENAI
        return next((takers for start, takers in _FILE_IDS if part.file_id.startswith(start)), None)
    return _ANTHROPIC if part.kind == "file" and part.text else None


def _reasoning_takers(part: Part) -> _Takers | None:
    """Of reasoning that is no block: under a key of the message, or as a framework has it."""
    data = part.data or {}
    if "key" in data:
        return None
    if isinstance(data.get("id"), str):
        return _OPENAI
    if part.signature is not None:
        return _ANTHROPIC if data.get("redacted") else _THOUGHT
    return None if data else _GEMINI


def _file(where: Mapping[str, Any], name: object) -> Part:
    return Part.model_validate({"kind": "file", **where, "data": {"filename": name} if name else None})


def _to_thinking(block: Mapping[str, Any]) -> Part | None:
    """Claude's reasoning of Converse in the form of Anthropic's own API; None if it is not signed, or no reasoning."""
    thought = block.get("reasoningContent")
    if isinstance(thought, Mapping) and isinstance(sealed := thought.get("redactedContent"), str):
        return Part(kind="reasoning", signature=sealed, data={"redacted": True})
    # The latter as LangChain has it.
    told = thought.get("reasoningText") if isinstance(thought, Mapping) else block.get("reasoning_content")
    if not isinstance(told, Mapping) or not isinstance(signature := told.get("signature"), str):
        return None
    return Part(kind="reasoning", text=str(told.get("text") or ""), signature=signature)


def _to_text(part: Part) -> Part | None:
    """What the block says, below its kind and its name, as a block of its own; None if it says nothing, or thinks."""
    if part.kind == "reasoning":
        return None
    if part.kind in _MEDIA_KINDS:
        said = part.text or (part.data or {}).get("transcript")
        texts = [said] if isinstance(said, str) else []
        if part.kind == "audio" and texts:
            return Part(text=texts[0], data={})  # an assistant's own words
    else:
        block = _block(part)
        texts = list(_texts(block if "type" in block else next(iter(block.values()), {}), skip="title"))
    told = "\n".join(texts).strip()
    if told and block_kind(part) in _OWN_WORDS:
        return Part(text=told, data={})
    return Part(text=f"{_to_trace(part).text}\n{told}", data={}) if told else None


def _to_trace(part: Part) -> Part:
    """A word of the block, where it would have stood."""
    name = file_name(part)
    if not name and not _block(part) and part.file_id:
        name = part.file_id
    return Part(text=f"[{block_kind(part)}: {name}]" if name else f"[{block_kind(part)}]", data={})


def _texts(value: object, *, skip: str | None = None) -> Iterator[str]:
    """What a block says, without its ids, its sealed content and its bytes."""
    if isinstance(value, str):
        if not value.startswith("data:"):
            yield value
    elif isinstance(value, Sequence):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, Mapping) and value.get("type") != "base64":
        for key in _TEXT_KEYS:
            if key != skip and key in value:
                yield from _texts(value[key])
