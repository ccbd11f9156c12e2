"""Blocks of content that are calls of tools or their results, and the messages that they make.

A message that holds some becomes several: of its own speaker for each run of blocks, and of the tools between.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.model.part import ToolCall
from wmem.model.plain_blocks import Json, block_type, to_plain_block, to_text_blocks
from wmem.model.values import dump_argument

_CALL_BLOCKS = frozenset(("tool_use", "tool-call", "tool_call", "function_call"))
_RESULT_BLOCKS = frozenset(("tool_result", "tool-result"))
_KEYED_BLOCKS = frozenset(
    ("toolUse", "toolResult", "functionCall", "functionResponse", "function_call", "function_response")
)
_KEYED_CALLS = ("toolUse", "functionCall", "function_call")
_CALL_TAKERS: Mapping[str, Sequence[str]] = {"tool_use": ("anthropic", "bedrock"), "function_call": ("openai",)}
_ANSWERED = ("output-available", "output-error", "output-denied", "result")
_NOT_SENT = ("step-start", "data-", "source-")  # parts of a page, which the SDK sends to no model


class CallContent(NamedTuple):
    """A tool call as an API has it; its input is JSON, or text that should be."""

    id: object
    name: object
    input: object


class _Result(NamedTuple):
    id: object
    name: object
    content: object
    failed: bool = False


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
        if not isinstance(piece, CallContent):
            self._said.append(piece)
        elif self._role != "assistant":
            msg = f"a {self._role} message calls the tool {describe(piece.name)}; only an assistant's message can"
            raise InvalidInputError(msg)
        elif piece.id is None or piece.id not in known_ids:
            self._calls.append(write_call(piece))

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
    if not isinstance(block, Mapping) or not (block_type(block) in _CALL_BLOCKS or _find_key(block) in _KEYED_CALLS):
        return None
    match next(iter(_pieces(block)), None):
        case CallContent(id=str() | None as id, name=str() as name, input=str() | Mapping() | None) as call:
            return ToolCall(id=id or "", name=name, arguments=_arguments(call))
        case _:
            return None


def is_result_block(block: object) -> bool:
    """Whether a block of content is a tool's result."""
    if not isinstance(block, Mapping):
        return False
    return block_type(block) in _RESULT_BLOCKS or _find_key(block) in _KEYED_BLOCKS.difference(_KEYED_CALLS)


def is_exchange_type(kind: str) -> bool:
    """Whether blocks of a type are calls or results."""
    return kind in _CALL_BLOCKS or kind in _RESULT_BLOCKS


def find_takers(blocks: Iterable[object]) -> tuple[str, ...] | None:
    """The provider profiles that take a message with these blocks; None if all do.

    Only calls, results and texts without a type tell; any other block is fitted by itself.
    """
    takers = [own for block in blocks if isinstance(block, Mapping) and (own := _block_takers(block)) is not None]
    return tuple(sorted(frozenset.intersection(*takers))) if takers else None


def _block_takers(block: Json) -> frozenset[str] | None:
    kind = block_type(block)
    if kind is None:
        return frozenset(("bedrock",)) if _find_key(block) or isinstance(block.get("text"), str) else None
    if kind == "tool_result":
        return frozenset(("bedrock",) if "toolUseId" in block else ("anthropic",))
    if kind in _CALL_BLOCKS or kind in _RESULT_BLOCKS:
        return frozenset(_CALL_TAKERS.get(kind, ()))
    return None


def _find_key(block: Json) -> str | None:
    """The key under which a block without a type has its call or its result."""
    return min(_KEYED_BLOCKS.intersection(block), default=None) if block.get("type") is None else None


def _pieces(block: object) -> Iterable[object]:
    """The calls and results of a block, and what else it is, as a block of the chat form."""
    if not isinstance(block, Mapping):
        return [block]
    kind = block_type(block)
    if kind is not None and kind.startswith(_NOT_SENT):
        return []
    if kind in _CALL_BLOCKS:
        return [
            CallContent(
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
            return [CallContent(named, inner.get("name"), inner.get("input", inner.get("args")))]
        content = inner.get("content", inner.get("response"))
        return [_Result(named, inner.get("name"), content, inner.get("status") == "error")]
    return [to_plain_block(block)]


def _read_result(block: Json) -> _Result:
    named = block.get("tool_use_id", block.get("toolCallId", block.get("toolUseId")))
    content = block.get("content", block.get("output", block.get("result")))
    failed = bool(block.get("is_error") or block.get("isError") or block.get("status") == "error")
    if isinstance(content, Mapping) and "value" in content:  # the Vercel AI SDK's output
        failed = failed or str(content.get("type")).startswith("error")
        content = content["value"]
    if (mark := block.get("cache_control")) is not None:
        content = [*to_text_blocks(content)] if isinstance(content, str) else list(content or ())
        content[-1:] = [{**each, "cache_control": mark} for each in content[-1:]]
    return _Result(named, block.get("toolName"), content, failed)


def _read_step(step: Json) -> Iterable[object]:
    """A call of a page's message, and its result if it has come."""
    yield CallContent(step.get("toolCallId"), step.get("toolName"), step.get("input", step.get("args")))
    if step.get("state") in _ANSWERED:
        content = step.get("output", step.get("result", step.get("errorText")))
        yield _Result(step.get("toolCallId"), step.get("toolName"), content, step.get("state") == "output-error")


def write_call(call: CallContent) -> dict[str, Any]:
    """The call in OpenAI's chat form."""
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _arguments(call)}}


def _arguments(call: CallContent) -> str:
    if isinstance(call.input, str):
        return call.input
    return dump_argument(call.input or {}, "a tool call's arguments must be JSON")


def _write_result(result: _Result) -> dict[str, Any]:
    written = {
        "role": "tool",
        "tool_call_id": result.id,
        "name": result.name,
        "content": write_result_content(result.content),
    }
    if result.failed:
        written["metadata"] = {"is_error": True}
    return written


def write_result_content(content: object) -> str | list[Any]:
    """What a tool returned, as content in OpenAI's chat form."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list | tuple) and all(isinstance(each, str | Mapping) for each in content):
        blocks = [to_plain_block(each) if isinstance(each, Mapping) else each for each in content]
        if all(isinstance(each, str) or _is_block(each) for each in blocks):
            return blocks
    return dump_argument(content, "a tool's result must be JSON")


def _is_block(block: Json) -> bool:
    return isinstance(block.get("type"), str) or "cachePoint" in block
