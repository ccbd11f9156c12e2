"""What may be memorized in a turn, as drafts and messages."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, cast, get_args

from pydantic import ValidationError

from wmem.agent.types.draft import ItemDraft
from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.graphemes import cut_before
from wmem.model.item import ItemFields, ItemKind, MemoryItem
from wmem.model.message import Message
from wmem.model.validation import describe_error, parse
from wmem.rules.redaction import Redaction
from wmem.rules.routing import find_role, is_knowledge, normalize_type
from wmem.scope.redaction import Counts, redact_value

Memorizable: TypeAlias = str | Mapping[str, Any] | ItemDraft | MemoryItem | Message
"""A text; an item by its fields, with its text under ``content``; a draft or an item; or a message, also in
OpenAI's form."""

_FIELDS = frozenset(ItemFields.__annotations__)
_KINDS = frozenset(get_args(ItemKind))
_DRAFT_KEYS = ("priority", "ttl_s")
_MAX_STRUCTURED_CHARS = 4_096  # of parameters that are stored as such, beside the text that tells of them


class Storable(NamedTuple):
    """What is to be memorized: a message, an item, or an item by whose type it is a message, too."""

    message: Message | None
    draft: ItemDraft | None


def to_storable(item: Memorizable, metadata: Mapping[str, Any] | None) -> Storable:
    """An item to memorize, as a draft or a message.

    Raises:
        InvalidInputError: It is neither.
    """
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidInputError(f"metadata must be pairs of names and values, got {describe(metadata)}")
    made = _read(item)
    if isinstance(made, Message):
        if not metadata:
            return Storable(made, None)
        said = {**dict(made), "metadata": {**made.metadata, **metadata}}
        return Storable(parse(lambda: Message.model_validate(said), _to_input_error), None)
    if metadata:
        fields: ItemFields = {**made.fields, "metadata": {**(made.fields.get("metadata") or {}), **metadata}}
        made = replace(made, fields=fields)
    made = _classify(made)
    role = find_role(made.type)
    if role is None:
        return Storable(None, made)
    about = made.fields.get("metadata") or {}
    return Storable(Message.of(role, made.content, metadata=about), made)  # type: ignore[arg-type]  # of a message


def _classify(draft: ItemDraft) -> ItemDraft:
    """A draft with the type and the kind of knowledge that its metadata name, where it has none of its own."""
    about = draft.fields.get("metadata") or {}
    fields = draft.fields
    named, kind = about.get("type"), about.get("kind")
    if (
        isinstance(named, str)
        and not (fields.get("type") or fields.get("dynamic_type"))
        and is_knowledge(named, "fact")
    ):
        fields = cast("ItemFields", {**fields, "dynamic_type": named})
    if isinstance(kind, str) and not fields.get("kind") and (word := normalize_type(kind)) in _KINDS:
        fields = cast("ItemFields", {**fields, "kind": word})
    return draft if fields is draft.fields else replace(draft, fields=fields)


def _to_input_error(exc: ValidationError) -> InvalidInputError:
    return InvalidInputError(f"message: {describe_error(exc)}")


def _read(item: object) -> ItemDraft | Message:
    if isinstance(item, ItemDraft | Message):
        return item
    if isinstance(item, str):
        return ItemDraft(item)
    if isinstance(item, MemoryItem):
        if item.message is not None:
            return item.message
        given = {name: getattr(item, name) for name in item.model_fields_set & _FIELDS}
        return ItemDraft(item.content, priority=item.priority, fields=given)  # type: ignore[arg-type]  # of an item
    if not isinstance(item, Mapping):
        raise InvalidInputError(f"an item is text, a mapping, a message or a draft, got {describe(item)}")
    if "role" in item:
        return Message.from_openai(item)
    fields = dict(item)
    if isinstance(kind := fields.get("kind"), str) and (word := normalize_type(kind)) in _KINDS:
        fields["kind"] = word  # as models spell it
    text = fields.pop("content", fields.pop("text", None))
    options = {name: fields.pop(name) for name in _DRAFT_KEYS if name in fields}
    return ItemDraft(text, **options, fields=fields)  # type: ignore[arg-type]  # checked there


def draft_tool_call(
    tool_name: str,
    parameters: Mapping[str, Any] | None,
    result: object,
    error: object,
    *,
    most_bytes: int,
    redaction: Redaction | None = None,
) -> tuple[Sequence[ItemDraft], Counts]:
    """A tool call as items of episodic memory: one, or where it is longer than an item may be, several parts of it.

    What is redacted is so before it is text, and parted: as text it would tell less of what its values are.

    Args:
        most_bytes: Of one item's text, in UTF-8.

    Returns:
        The items, and how many texts of each kind were redacted.

    Raises:
        InvalidInputError: The tool has no name, or the parameters are no mapping.
    """
    if not isinstance(tool_name, str) or not tool_name.strip():
        raise InvalidInputError(f"tool_name must be text that is not blank, got {describe(tool_name)}")
    if parameters is not None and not isinstance(parameters, Mapping):
        raise InvalidInputError(f"parameters must be a mapping of names to values, got {describe(parameters)}")
    counts: Counter[str] = Counter()
    arguments: object = parameters or ""
    if redaction is not None:
        arguments, result, error = (_redact(redaction, each, counts) for each in (arguments, result, error))
    asked = _to_text(arguments)
    outcome = f"failed: {_to_text(error)}" if error is not None else f"returned: {_to_text(result)}"
    about: dict[str, Any] = {"tool_name": tool_name, "failed": error is not None}
    if asked and len(asked) <= _MAX_STRUCTURED_CHARS and isinstance(plain := _to_plain(arguments), dict):
        about["parameters"] = plain
    fields: ItemFields = {"type": "tool_result", "source": "tool", "metadata": about}
    drafts = [
        ItemDraft(part, fields=fields if not place else {**fields, "chunk_index": place})
        for place, part in enumerate(_split(f"{tool_name}({asked})\n{outcome}", most_bytes))
    ]
    return drafts, counts


def _redact(redaction: Redaction, value: object, counts: Counter[str]) -> object:
    """A value of a tool call, as JSON or as text; None stays None."""
    if value is None:
        return None
    plain = None if isinstance(value, str | BaseException) else _to_plain(value)
    if plain is None:
        redacted = redaction.redact(_to_text(value))
        counts.update(redacted.counts)
        return redacted.text
    made, told = redact_value(redaction, plain)
    counts.update(told)
    return made


def _to_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):  # keys that are no texts, or a loop
        return str(value)


def _to_plain(value: object) -> object:
    """A value as plain JSON; None if it is none, or has numbers that JSON has not."""
    try:
        return json.loads(json.dumps(value, allow_nan=False, default=str))
    except (TypeError, ValueError, RecursionError):
        return None


def _split(text: str, most_bytes: int) -> Sequence[str]:
    """A text in parts of at most so many bytes, cut between characters as people see them."""
    parts: list[str] = []
    most = max(1, most_bytes // 4)  # characters: none takes more than four bytes
    while len(text) > most and len(text.encode("utf-8", "surrogatepass")) > most_bytes:
        at = cut_before(text, most) or most
        parts.append(text[:at])
        text = text[at:]
    return [*parts, text]
