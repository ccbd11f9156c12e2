"""Export of a scope as one plain JSON document, and its import; an imported scope equals the exported one.

Instants are UTC epoch seconds; ISO 8601 texts are read too.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from wmem.describe import describe
from wmem.errors import CapacityError, CorruptionError, InvalidInputError, SerializationError
from wmem.flow import Flow
from wmem.model.change import Change, ItemPut, StepAdvanced
from wmem.model.checks import check_flag, check_id, check_key, check_tags, check_whole_number
from wmem.model.checksum import check_intact
from wmem.model.history import Path
from wmem.model.instants import to_epoch
from wmem.model.item import MemoryItem, to_message
from wmem.model.message import Message
from wmem.model.removal import is_tombstone
from wmem.model.row import Row
from wmem.model.standing import StandingRequest
from wmem.model.validation import describe_error
from wmem.model.values import check_json, decode_type_name, dump_json, load_value
from wmem.rules.importance import importance as importance_of
from wmem.scope.document_history import History, export_history, parse_history
from wmem.scope.entries.quota import check_entry_limit
from wmem.scope.handle import Handle, Read
from wmem.scope.items.capacity import log_evictions, make_room
from wmem.scope.items.flows import content_columns
from wmem.scope.items.reads import to_current_item
from wmem.scope.messages.flows import to_row
from wmem.scope.redaction import redact_row
from wmem.state import State

_FORMAT, _VERSION = "wmem-scope", 1
_INSTANT_FIELDS = (
    "created_at",
    "updated_at",
    "last_accessed_at",
    "expires_at",
    "promoted_at",
    "deleted_at",
    "withdrawn_at",
    "valid_from",
    "valid_to",
)
_DERIVED = ("importance_score", "counter", "tokens")  # exported, but recomputed on import
_EXCLUDED_FROM_REST = ("content", "importance", "tokens", "message")
_COLUMNS = frozenset(Row._fields) - {
    "content",
    "rest",
    "importance",
    "role",
    "length",
    "tokens",
    "counter",
    "calls",
    "reasoning",
    "standing",
    "withdrawn_at",
}
# Also pydantic's ValidationError, a ValueError, and SerializationError, a TypeError.
_PARSE_ERRORS = (CorruptionError, ValueError, TypeError, LookupError, ArithmeticError, RecursionError)
_ROW_ONLY_FIELDS = ("updated_at", "access_count")  # fields of a message's row that `Message` lacks
_NOT_OF_MESSAGE = (*_ROW_ONLY_FIELDS, "standing", "withdrawn_at")


def export_document(handle: Handle, *, redacted: bool) -> Read[dict[str, Any]]:
    """Everything a scope holds as plain JSON, including the expired and soft-deleted.

    Raises:
        InvalidInputError: It is to be redacted, and the memory was opened with a redaction that is off.
    """
    redact = _find_redaction(handle) if check_flag(redacted, "redacted") else None
    return lambda states, now: _export_state(states[0], handle.path, now, redact)


_RedactRow: TypeAlias = Callable[[Row], Row]


def _find_redaction(handle: Handle) -> _RedactRow:
    redaction, counter = handle.active_redaction(), handle.settings.counter()
    return lambda row: redact_row(redaction, row, counter)[0]


def _export_state(state: State, path: Path, now: float, redact: _RedactRow | None) -> dict[str, Any]:
    told: dict[str, list[dict[str, Any]]] = {"entries": [], "memories": [], "messages": []}
    for row in state.rows.values():
        if is_tombstone(row):
            continue  # it says nothing but where it was copied from
        facet = "entries" if row.key is not None else "memories" if row.role is None else "messages"
        told[facet].append(_row_to_json(state, row if redact is None else redact(row), now))
    head = {"format": _FORMAT, "version": _VERSION, "step": state.step, "count": len(told["memories"])}
    return {**head, **({} if redact is None else {"redacted": True}), **told, **export_history(state, path)}


def _row_to_json(state: State, row: Row, now: float) -> dict[str, Any]:
    if row.role is not None:
        return {
            **{name: getattr(row, name) for name in _ROW_ONLY_FIELDS},
            **({"standing": [[*each] for each in row.standing]} if row.standing else {}),
            **({} if row.withdrawn_at is None else {"withdrawn_at": row.withdrawn_at}),
            **to_message(row).model_dump(mode="json", exclude_defaults=True),
        }
    unwritten, _ = state.unwritten_touches.get(row.id, (0, 0.0))
    fields = to_current_item(state, row, now).model_dump(
        mode="json", exclude={"importance", "message"}, exclude_defaults=True
    )
    if row.importance is not None:
        fields["importance"] = row.importance
    if row.counter is not None:
        fields["counter"] = row.counter
    return {**fields, "importance_score": importance_of(row, now, unwritten)}


def import_document(handle: Handle, document: Mapping[str, Any]) -> Flow[int]:
    """Store the contents of a document, all or nothing; see `Scope.import_`."""
    now = handle.settings.clock()
    yield from handle.replica()  # loads the policy that the document is checked against
    step = _parse_step(document)
    history = parse_history(document)
    with handle.assume_policy(history.policy):
        return (yield from _store_document(handle, document, history, step, now))


def _store_document(handle: Handle, document: Mapping[str, Any], history: History, step: int, now: float) -> Flow[int]:
    rows = [*map(handle.redact, _parse_rows(handle, document, now))]

    def decide(state: State) -> tuple[Sequence[Change], tuple[int, Sequence[Change]]]:
        for row in rows:
            there = state.rows.get(row.id)
            if there is not None and (there.key, there.role is None) != (row.key, row.role is None):
                msg = f"scope {handle.path!r} has something else under the id {row.id!r}; nothing was imported"
                raise InvalidInputError(msg)
        check_entry_limit(handle, state, rows, now, "imported")
        plain = [row for row in rows if row.key is None and row.role is None and row.visible(now)]
        room = make_room(handle, state, plain, now)
        steps = [StepAdvanced(step, now)] if step > state.step else []
        # Only a new scope gets the history: to one that has its own, what is said of the same ids may be wrong.
        past = history.to_changes(handle.path, now) if state.policy is None else []
        changes = [*room, *past, *map(ItemPut, rows), *steps]
        if not changes and state.policy is None and history.policy is not None:
            changes = [StepAdvanced(0, now)]  # the exported scope was there, and held nothing any more
        return changes, (len(rows), room)

    count, room = yield from handle.commit(decide, now)
    log_evictions(handle, room)
    return count


def _parse_step(document: object) -> int:
    if not isinstance(document, Mapping) or document.get("format") != _FORMAT:
        raise InvalidInputError(f"not a document that `export` made: its format is not {_FORMAT!r}")
    version, step = document.get("version"), document.get("step", 0)
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= _VERSION:
        msg = f"the document is of version {describe(version)}; this version of wmem reads up to {_VERSION}"
        raise InvalidInputError(msg)
    return check_whole_number(step, "the document's step")


def _parse_rows(handle: Handle, document: Mapping[str, Any], now: float) -> list[Row]:
    rows: dict[str, Row] = {}
    keys: set[str] = set()
    for facet in ("entries", "memories", "messages"):
        listed = document.get(facet, [])
        if not isinstance(listed, list | tuple):
            raise InvalidInputError(f"{facet!r} must be a list, got {describe(listed)}")
        for place, told in enumerate(listed):
            row, fault = None, ""
            try:
                row = _parse_row(handle, facet, told, now)
            except _PARSE_ERRORS as exc:
                fault = describe_error(exc)
            if row is None:  # raised here: the chain would hold the document
                raise InvalidInputError(f"{facet}[{place}] does not read: {fault}; nothing was imported")
            if row.id in rows or row.key in keys:
                raise InvalidInputError(f"{facet}[{place}] has an id or key that came before; nothing was imported")
            rows[row.id] = row
            if row.key is not None:
                keys.add(row.key)
    return list(rows.values())


def _parse_row(handle: Handle, facet: str, record: Any, now: float) -> Row:
    if not isinstance(record, Mapping):
        raise InvalidInputError(f"expected a dictionary, got {describe(record)}")
    fields = {
        name: _parse_instant(value) if name in _INSTANT_FIELDS and value is not None else value
        for name, value in record.items()
        if name not in _DERIVED
    }
    if facet == "messages":
        return _parse_message_row(handle, fields, now)
    item = MemoryItem.model_validate({"created_at": now, "updated_at": now, **fields})
    if (item.key is None) is (facet == "entries") or item.message is not None:
        raise InvalidInputError("an entry has a key, a memory has none")
    columns = {name: getattr(item, name) for name in _COLUMNS}
    if item.step_index is not None:
        check_whole_number(item.step_index, "step_index")
    check_whole_number(item.access_count, "access_count")
    columns |= {"id": check_id(item.id), "tags": check_tags(item.tags)}
    row = Row(
        importance=item.importance if "importance" in fields else None,
        rest=_dump_rest(item),
        **(
            content_columns(handle, item.content)  # tokens are counted again, not taken from the document
            if item.key is None
            else _value_columns(handle, item.content, check_key(item.key))
        ),
        **columns,
    )
    return check_intact(row) if item.key is None else row


def _dump_rest(item: MemoryItem) -> bytes | None:
    check_json(item)
    rest = item.model_dump(mode="json", exclude={*_COLUMNS, *_EXCLUDED_FROM_REST}, exclude_defaults=True)
    if item.key is not None and item.type_name is not None:
        stored = item.content.encode("utf-8", "surrogatepass")
        if item.type_name == decode_type_name(stored):
            del rest["type_name"]  # the stored JSON holds it
    return dump_json(rest) if rest else None


def _value_columns(handle: Handle, content: str, key: str) -> dict[str, Any]:
    stored = content.encode("utf-8", "surrogatepass")
    if len(stored) > handle.policy.max_entry_bytes:
        msg = f"the value of {key!r} takes {len(stored)} bytes, more than the {handle.policy.max_entry_bytes} allowed"
        raise CapacityError(msg)
    with suppress(SerializationError):  # an object of a user's class: reading it needs `as_type`
        load_value(stored, key=key)
    return {"content": stored}


def _parse_instant(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return to_epoch(value)
    if not math.isfinite(value):
        raise InvalidInputError(f"an instant must be finite, got {describe(value)}")
    return float(value)


def _parse_message_row(handle: Handle, fields: Mapping[str, Any], now: float) -> Row:
    message = Message.model_validate({name: value for name, value in fields.items() if name not in _NOT_OF_MESSAGE})
    if message.id is None:
        raise InvalidInputError("a message needs its id")
    # What stands is what the document says: text that is imported asks for nothing.
    row = to_row(message, handle, now, _parse_standing(fields.get("standing", ())))
    return row._replace(
        updated_at=fields.get("updated_at") or row.created_at,
        withdrawn_at=fields.get("withdrawn_at"),
        access_count=check_whole_number(fields.get("access_count", 0), "access_count"),
    )


def _parse_standing(value: object) -> tuple[StandingRequest, ...]:
    pairs = value if isinstance(value, list | tuple) else [None]
    requests = []
    for pair in pairs:
        if not isinstance(pair, list | tuple) or [*map(type, pair)] != [str, str]:
            raise InvalidInputError("'standing' must be a list of pairs of texts: rule and clause")
        requests.append(StandingRequest(*pair))
    return tuple(requests)
