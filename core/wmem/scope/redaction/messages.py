"""Redaction of messages: their parts, calls of tools, names, metadata, and a framework's own form of them."""

from collections.abc import Mapping
from typing import Any

from wmem.model._reasoning import is_signed
from wmem.model.item import to_message
from wmem.model.message import Message
from wmem.model.part import Part, ToolCall
from wmem.model.row import Row
from wmem.model.standing import StandingRequest
from wmem.model.values import dump_model
from wmem.rules.redaction import Redaction
from wmem.scope.redaction.values import Counts, hide_sealed, redact_texts, redact_value, sum_counts
from wmem.tokens.counter import Counter, count_message

_FIELDS = frozenset(Message.model_fields)
_PART_FIELDS = frozenset(Part.model_fields)


def redact_message(redaction: Redaction, message: Message) -> tuple[Message, Counts]:
    """A message as it is stored where redaction applies.

    Reasoning that its provider has signed goes with its signature if anything in it is redacted: it would be refused.
    """
    counts: list[Counts] = []
    update: dict[str, Any] = {}
    parts = [_redact_part(redaction, part, counts) for part in message.parts]
    if kept := tuple(part for part in parts if part is not None):
        if kept != message.parts:
            update["parts"] = kept
    elif message.parts:
        update["parts"] = ()
    calls = tuple(_redact_call(redaction, call, counts) for call in message.tool_calls)
    if calls != message.tool_calls:
        update["tool_calls"] = calls
    if message.name is not None and message.role != "tool":
        [name] = redact_texts(redaction, [message.name], counts)
        if name != message.name:
            update["name"] = name
    if message.metadata:
        metadata, told = redact_value(redaction, dict(message.metadata))
        counts.append(told)
        if told:
            update["metadata"] = metadata
    if message.native is not None:
        data, told = redact_value(redaction, message.native.data)
        if len(kept) < len(message.parts):
            update["native"] = None  # it would hold the signature of what was changed
        elif told:
            update["native"] = message.native.model_copy(update={"data": data})
        counts += [told] if not any(counts) else []
    return (message.model_copy(update=update) if update else message), sum_counts(*counts)


def _redact_part(redaction: Redaction, part: Part, counts: list[Counts]) -> Part | None:
    """A part, redacted; None if it is signed and would not be what was signed."""
    update: dict[str, Any] = {}
    for name in ("text", "url"):
        text = getattr(part, name)
        if text and not (name == "url" and text.startswith("data:")):
            [made] = redact_texts(redaction, [text], counts)
            if made != text:
                update[name] = made
    if part.data:
        data, told = redact_value(redaction, dict(part.data))
        counts.append(told)
        if told:
            update["data"] = data
    if not update:
        return part
    return None if part.kind == "reasoning" and is_signed(part) else part.model_copy(update=update)


def _redact_call(redaction: Redaction, call: ToolCall, counts: list[Counts]) -> ToolCall:
    [arguments] = redact_texts(redaction, [call.arguments], counts)
    return call if arguments == call.arguments else call.model_copy(update={"arguments": arguments})


def list_read(fields: Mapping[str, Any]) -> list[Any] | None:
    """What `redact_message` reads of a message, given its stored fields; None if they are not those of a message."""
    if type(fields) is not dict or not fields.keys() <= _FIELDS:
        return None
    read: list[Any] = [fields.get("name")]
    for part in fields.get("parts", ()):
        if type(part) is not dict or not part.keys() <= _PART_FIELDS:
            return None
        read.append(part.get("text"))
        read.append(hide_sealed(part.get("url")))
        if data := part.get("data"):
            read.append(hide_sealed(data))
    for call in fields.get("tool_calls", ()):
        if type(call) is not dict:
            return None
        read.append(call.get("arguments"))
    if metadata := fields.get("metadata"):
        read.append(hide_sealed(metadata))
    if native := fields.get("native"):
        if type(native) is not dict:
            return None
        read.append(hide_sealed(native.get("data")))
    return read


def redact_message_row(redaction: Redaction, row: Row, counter: Counter | None) -> tuple[Row, Counts]:
    """The row of a message; see `redact_message`."""
    message, counts = redact_message(redaction, to_message(row))
    told: list[Counts] = [counts]
    standing = tuple(StandingRequest(each.rule, *redact_texts(redaction, [each.text], told)) for each in row.standing)
    if not counts:
        return (row if standing == row.standing else row._replace(standing=standing)), sum_counts(*told)
    tokens, reasoning, name = (None, 0, None) if counter is None else count_message(message, counter)
    made = row._replace(
        content=dump_model(message, exclude={"id", "turn_id", "created_at", "pinned"}),
        length=len(message.text),
        tokens=tokens,
        reasoning=reasoning,
        counter=name,
        standing=standing,
    )
    return made, counts
