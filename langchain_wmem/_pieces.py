"""LangChain messages that hold tools' results among their blocks, as Anthropic's API and Bedrock have them.

wmem has a message for each result, so such a message becomes several: its pieces. Each has its
own blocks in its `Native`, so that removing it leaves nothing of it; the first has the other
fields of the whole. Unchanged and together they come back as the message that they were.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

from langchain_core.messages import BaseMessage

from langchain_wmem._fields import ROLE_OF_KIND, list_calls, read_fields, write_fields
from wmem import Message, Native
from wmem.adapter import find_takers, is_result_block, split_blocks
from wmem.errors import InvalidInputError

FRAMEWORK = "langchain"
_COMPARED = ("role", "parts", "tool_calls", "tool_call_id", "name")
_NOTHING_BESIDE: Mapping[str, Any] = {"additional_kwargs": {}, "tool_calls": [], "invalid_tool_calls": []}


class Whole(NamedTuple):
    """A LangChain message as its pieces say: its type, its fields, and how many pieces it has."""

    kind: str
    data: dict[str, Any]
    size: int


def holds_results_alone(message: BaseMessage) -> bool:
    """Whether a message consists of tools' results, so that nobody says anything in it."""
    return isinstance(message.content, list) and bool(message.content) and all(map(is_result_block, message.content))


def split_message(kind: str, data: Mapping[str, Any]) -> list[Message]:
    """The pieces of a LangChain message that holds results among its blocks; none of any other.

    Args:
        data: The message's fields as plain JSON. One without an id gets one here, which names its pieces.
    """
    content, role = data["content"], ROLE_OF_KIND.get(kind)
    if not isinstance(content, list) or not any(map(is_result_block, content)):
        return []
    if role not in ("user", "assistant") and not (kind == "tool" and all(map(is_result_block, content))):
        return []
    try:
        return _split(kind, data, {call["id"] for call in list_calls(data)})
    except (InvalidInputError, TypeError, ValueError, KeyError, AttributeError):
        return []  # they are no results; as blocks that wmem does not know, they are stored as well


def _split(kind: str, data: Mapping[str, Any], known_ids: Collection[object]) -> list[Message]:
    content, base = data["content"], data["id"] or uuid4().hex
    blank = _blank_fields(kind)
    whole = {key: value for key, value in data.items() if key not in ("id", "type") and blank.get(key) != value}
    beside: Mapping[str, Any] = {}
    made = []
    pieces = split_blocks(ROLE_OF_KIND[kind], content, known_ids)
    for at, (form, places) in enumerate(pieces):
        own = {"content": [content[place] for place in places]}
        id = f"{base}.{at}" if at else base
        if form["role"] == "tool":
            message = Message.from_openai({**form, "id": id})
        else:
            message = Message(id=id, **read_fields(kind, {**data, **beside, **own}))
            beside = _NOTHING_BESIDE
        native: dict[str, Any] = {"type": kind, "data": own if at else {**whole, **own}}
        native |= {"piece": [at, len(pieces)], "places": [*places]}
        made.append(
            message.model_copy(
                update={"native": Native(framework=FRAMEWORK, data=native, takers=find_takers(own["content"]))}
            )
        )
    return made


class _Piece(NamedTuple):
    """What a piece's `Native` says: the whole's type, the piece's place among how many, and those of its blocks."""

    kind: str
    at: int
    size: int
    places: Sequence[int]
    data: Mapping[str, Any]


def _read_piece(message: Message) -> _Piece | None:
    if message.native is None or message.native.framework != FRAMEWORK:
        return None
    native: Any = message.native.data
    match native:
        case {"piece": [int(at), int(size)], "places": [*places], "type": str(kind), "data": {"content": [*_]} as data}:
            return _Piece(kind, at, size, places, data)
        case _:
            return None


def is_piece(message: Message) -> bool:
    """Whether a message is a piece of a LangChain message."""
    return _read_piece(message) is not None


def whole_id(message: Message) -> str | None:
    """The id of the LangChain message that a message is, or is a piece of."""
    piece = _read_piece(message)
    return message.id if piece is None or not piece.at or message.id is None else message.id.rpartition(".")[0]


def count_pieces(message: Message) -> int:
    """How many pieces the LangChain message has that a message begins; 0 if it is a later piece."""
    piece = _read_piece(message)
    return 1 if piece is None else 0 if piece.at else piece.size


def join_pieces(messages: Sequence[Message], at: int) -> Whole | None:
    """The LangChain message whose pieces begin at a position; None unless all are there, in a row and unchanged."""
    first = _read_piece(messages[at])
    if first is None or first.at:
        return None
    group, base = messages[at : at + first.size], messages[at].id
    blocks: dict[int, Any] = {}
    for place, message in enumerate(group):
        piece = _read_piece(message)
        named = f"{base}.{place}" if place else base
        if piece is None or piece[:3] != (first.kind, place, first.size) or message.id != named:
            return None
        blocks |= zip(piece.places, piece.data["content"], strict=False)
    content = [blocks[place] for place in sorted(blocks)]
    data = {**_blank_fields(first.kind), **first.data, "content": content, "id": base}
    if len(group) < first.size or [*map(_say, split_message(first.kind, data))] != [*map(_say, group)]:
        return None
    return Whole(first.kind, data, first.size)


def _blank_fields(kind: str) -> dict[str, Any]:
    return write_fields(Message(role="user"), kind)


def _say(message: Message) -> tuple[object, ...]:
    return tuple(getattr(message, field) for field in _COMPARED)
