"""`MemoryItem`, the public form of everything that is remembered, and its conversion from rows."""

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Literal, TypeAlias, TypedDict

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from wmem.describe import describe, describe_field
from wmem.errors import CorruptionError, InvalidInputError
from wmem.model.checks import check_whole_number
from wmem.model.checksum import check_intact
from wmem.model.message import Message
from wmem.model.origin import Origin
from wmem.model.removal import Removal
from wmem.model.row import Row
from wmem.model.validation import describe_error, parse
from wmem.model.values import check_json, decode_type_name, dump_json, load_json, load_value

Priority: TypeAlias = Literal["low", "medium", "high", "critical"]
ItemKind: TypeAlias = Literal["fact", "event", "insight", "preference", "correction", "conversation"]
Source: TypeAlias = Literal["user", "tool", "system", "model"]

_CONFIDENCE_LEVELS = {"low": 0.25, "medium": 0.5, "high": 0.75}


class Relation(BaseModel):
    """A typed pointer from an item to another element."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)

    type: str
    target_id: str
    metadata: Mapping[str, JsonValue] = Field(default_factory=dict)


class MemoryItem(BaseModel):
    """An entry (it has a `key`), a message (it has a `message`) or a plain item.

    Instants are UTC epoch seconds. `importance` is what the user gave, or computed
    when it was read. `content` is text; for an entry the JSON of its value,
    which `value` revives. `origins` says how a copy came here, by promotion or merge,
    `removal` by which job of maintenance it was softly deleted, even if it was brought back since.
    An item of long-term memory has a `checksum` of its content, a `version`, which counts the changes of that, and a
    `redaction_status`; what was held against what was there has a `novelty`. These are the system's, no caller's.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)

    id: str
    content: str
    key: str | None = None
    message: Message | None = None
    type_name: str | None = None
    type: str = "observation"
    kind: ItemKind = "fact"
    dynamic_type: str | None = None
    priority: Priority = "medium"
    importance: float = Field(0.5, ge=0, le=1)
    pinned: bool = False
    confidence: float | None = Field(None, ge=0, le=1)
    novelty: float | None = Field(None, ge=0, le=1)
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, JsonValue] = Field(default_factory=dict)
    source: Source | None = None
    participants: tuple[str, ...] = ()
    causal_chain: tuple[str, ...] = ()
    sources: tuple[Mapping[str, JsonValue], ...] = ()
    agent_id: str | None = None
    agent_fingerprint: str | None = None
    task_id: str | None = None
    thread_id: str | None = None
    episode_id: str | None = None
    turn_id: str | None = None
    created_at: float
    updated_at: float
    last_accessed_at: float | None = None
    access_count: int = 0
    expires_at: float | None = None
    step_index: int | None = None
    tokens: int | None = None
    relations: tuple[Relation, ...] = ()
    parent_id: str | None = None
    chunk_index: int | None = None
    version: int | None = None
    lineage_ids: tuple[str, ...] = ()
    origins: tuple[Origin, ...] = ()
    valid_from: float | None = None
    valid_to: float | None = None
    retention: str | None = None
    redaction_status: Literal["none", "partial", "full"] = "none"
    checksum: str | None = None
    promoted_to: str | None = None
    promoted_at: float | None = None
    deleted_at: float | None = None
    removal: Removal | None = None
    complete: bool = True

    @property
    def value(self) -> Any:
        """An entry's value, revived; for a plain item its text, for a message the `Message`.

        Raises:
            SerializationError: It holds an object of a user's class: read it with `as_type`.
        """
        if self.message is not None:
            return self.message
        return (
            self.content
            if self.key is None
            else load_value(self.content.encode("utf-8", "surrogatepass"), key=self.key)
        )


class ItemFields(TypedDict, total=False):
    """What an item may carry beside its content; see `MemoryItem`."""

    type: str
    kind: ItemKind
    dynamic_type: str | None
    importance: float | None
    pinned: bool
    confidence: float | str | None
    tags: Iterable[str]
    metadata: Mapping[str, Any]
    source: Source | None
    participants: Sequence[str]
    causal_chain: Sequence[str]
    sources: Sequence[Mapping[str, Any]]
    agent_id: str | None
    agent_fingerprint: str | None
    task_id: str | None
    thread_id: str | None
    episode_id: str | None
    turn_id: str | None
    step_index: int | None
    relations: Sequence[Relation | Mapping[str, Any]]
    parent_id: str | None
    chunk_index: int | None
    lineage_ids: Sequence[str]
    valid_from: float | None
    valid_to: float | None
    retention: str | None


_ROW_FIELDS = frozenset(Row._fields) - {
    "content",
    "rest",
    "role",
    "length",
    "counter",
    "calls",
    "reasoning",
    "standing",
    "withdrawn_at",
}
_REST_FIELDS = frozenset(MemoryItem.model_fields) - _ROW_FIELDS - {"content", "message", "importance"}
_CALLER_FIELDS = frozenset(ItemFields.__annotations__)
_CALLER_COLUMNS = _CALLER_FIELDS & _ROW_FIELDS


def encode_fields(
    fields: Mapping[str, Any], *, now: float, type_name: str | None = None
) -> tuple[bytes | None, dict[str, Any]]:
    """Check a caller's fields; return the JSON of those without a column, and the columns.

    Args:
        type_name: The class of an entry's value, which no caller gives.

    Raises:
        InvalidInputError: An unknown field, one that wmem alone sets, or a value the field does not accept.
    """
    if refused := sorted(fields.keys() - _CALLER_FIELDS):
        if refused[0] in MemoryItem.model_fields:
            raise InvalidInputError(f"the field {refused[0]!r} is set by wmem, not by a caller")
        raise InvalidInputError(
            f"unknown field {describe_field(refused[0])!r}; metadata is the place for what wmem does not know"
        )
    given = {name: value for name, value in (*fields.items(), ("type_name", type_name)) if value is not None}
    if not given:
        return None, {}
    _check_numbers(given)
    if isinstance(confidence := given.get("confidence"), str):
        given["confidence"] = parse_confidence(confidence)
    try:
        checked = MemoryItem(id="-", content="-", created_at=now, updated_at=now, **given)
        check_json(*map(vars(checked).get, given))
        told = checked.model_dump(mode="json", include=set(_REST_FIELDS & given.keys()), exclude_defaults=True)
        columns: dict[str, Any] = {name: getattr(checked, name) for name in sorted(_CALLER_COLUMNS) if name in given}
        return (dump_json(told) if told else None), columns
    except (ValidationError, ValueError, TypeError) as exc:
        fault = describe_error(exc)
        if not isinstance(exc, ValidationError):
            fault = f"a field: {fault}"
    raise InvalidInputError(fault)  # outside `except`: the chain would hold the input


def _check_numbers(fields: Mapping[str, Any]) -> None:
    """Refuse what pydantic would accept: booleans, non-finite times, steps that are not exact whole numbers."""
    for name in ("importance", "confidence"):
        if isinstance(fields.get(name), bool):
            raise InvalidInputError(f"{name}: expected a number from 0 to 1, got {describe(fields[name])}")
    for name in ("step_index", "chunk_index"):
        if name in fields:
            check_whole_number(fields[name], name)
    for name in ("valid_from", "valid_to"):
        at = fields.get(name)
        if isinstance(at, bool) or (isinstance(at, float) and not math.isfinite(at)):
            raise InvalidInputError(f"{name}: expected UTC epoch seconds, got {describe(at)}")
    check_validity(fields)


def check_validity(fields: Mapping[str, Any]) -> None:
    """Refuse a range of time that ends before it begins, or with it."""
    start, end = fields.get("valid_from"), fields.get("valid_to")
    if isinstance(start, int | float) and isinstance(end, int | float) and start >= end:
        raise InvalidInputError("valid_to must be later than valid_from")


def parse_confidence(value: object) -> float:
    """Parse a confidence in [0, 1] from a number, a numeric text, or low, medium or high.

    Raises:
        InvalidInputError: None of these.
    """
    if isinstance(value, str) and (known := _CONFIDENCE_LEVELS.get(value.strip().lower())) is not None:
        return known
    try:
        read = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        read = math.nan
    if not 0 <= read <= 1:
        raise InvalidInputError(f"confidence must be low, medium, high or a number from 0 to 1, got {describe(value)}")
    return read


def to_item(
    row: Row, importance: float, *, unwritten_fetches: int = 0, last_fetched_at: float | None = None
) -> MemoryItem:
    """Convert a row to an item.

    Args:
        importance: Given by the user or computed for this instant, in [0, 1].
        unwritten_fetches: Number of fetches not yet written to the row.

    Raises:
        CorruptionError: The row's bytes cannot be read as an item.
    """
    fields = {name: getattr(row, name) for name in _ROW_FIELDS}
    if row.rest is not None:
        fields |= load_json(check_intact(row).rest or b"{}")
    fields["importance"] = importance
    fields["access_count"] += unwritten_fetches
    if last_fetched_at is not None:
        # Take the later one, as a write does: a clock may have gone back.
        fields["last_accessed_at"] = max(last_fetched_at, row.last_accessed_at or last_fetched_at)
    if row.role is not None:
        fields["message"] = to_message(row)
        fields["content"] = fields["message"].text
    elif row.key is not None:
        fields["content"] = _decode_text(row)
        if fields.get("type_name") is None:
            fields["type_name"] = decode_type_name(row.content)
    else:
        fields["content"] = load_json(row.content)
    return parse(lambda: MemoryItem.model_validate(fields), partial(_damage_error, f"item {row.id!r}"))


def _decode_text(row: Row) -> str:
    with suppress(UnicodeDecodeError):  # not chained: it would hold the bytes
        return row.content.decode("utf-8", "surrogatepass")
    raise CorruptionError(f"item {row.id!r} is damaged: its value is no text")


def to_message(row: Row) -> Message:
    """Convert a row to a message."""
    fields = load_json(row.content)
    fields["id"], fields["turn_id"] = row.id, row.turn_id
    fields["created_at"], fields["pinned"] = row.created_at, row.pinned
    return parse(lambda: Message.model_validate(fields), partial(_damage_error, f"message {row.id!r}"))


def _damage_error(what: str, exc: ValidationError) -> CorruptionError:
    return CorruptionError(f"{what} is damaged: {exc.error_count()} fields do not read")
