"""Export of a scope as one plain JSON document, and its import; an imported scope equals the exported one.

Instants are UTC epoch seconds; ISO 8601 texts are read too.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeGuard

from pydantic import ValidationError

from wmem.errors import CapacityError, CorruptionError, InvalidInputError, SerializationError
from wmem.flow import Flow
from wmem.model.change import Change, ItemPut, StepAdvanced
from wmem.model.checks import as_tags, checked_id, checked_key, checked_whole
from wmem.model.instants import epoch
from wmem.model.item import MemoryItem, message_of
from wmem.model.message import Message
from wmem.model.row import Row
from wmem.model.values import check_json, dump_json, load_value, stored_type_name
from wmem.rules.importance import importance as importance_of
from wmem.scope.handle import Handle
from wmem.scope.item_flows import checked_content
from wmem.scope.item_reads import as_item
from wmem.scope.message_flows import row_of
from wmem.scope.room import log_evictions, made_room
from wmem.state import State

__all__ = ["exported", "imported"]

_FORMAT, _VERSION = "wmem-scope", 1
_INSTANTS = (
    "created_at",
    "updated_at",
    "last_accessed_at",
    "expires_at",
    "promoted_at",
    "deleted_at",
    "valid_from",
    "valid_to",
)
_DERIVED = ("importance_score", "counter", "tokens")  # exported, but recomputed on import
_NOT_REST = ("content", "importance", "tokens", "message")
_COLUMNS = frozenset(Row._fields) - {"content", "rest", "importance", "role", "length", "tokens", "counter", "calls"}
_UNREADABLE = (
    ValidationError,
    SerializationError,
    CorruptionError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    RecursionError,
)
_BESIDE = ("updated_at", "access_count")  # fields of a message's row that `Message` lacks


def exported(states: Sequence[State], now: float) -> dict[str, Any]:
    """Everything a scope holds as plain JSON, including the expired and soft-deleted."""
    state = states[0]
    told: dict[str, list[dict[str, Any]]] = {"entries": [], "memories": [], "messages": []}
    for row in state.rows.values():
        facet = "entries" if row.key is not None else "memories" if row.role is None else "messages"
        told[facet].append(_told(state, row, now))
    return {"format": _FORMAT, "version": _VERSION, "step": state.step, "count": len(told["memories"]), **told}


def _told(state: State, row: Row, now: float) -> dict[str, Any]:
    if row.role is not None:
        return {
            **{name: getattr(row, name) for name in _BESIDE},
            **message_of(row).model_dump(mode="json", exclude_defaults=True),
        }
    unwritten, _ = state.unwritten.get(row.id, (0, 0.0))
    fields = as_item(state, row, now).model_dump(mode="json", exclude={"importance", "message"}, exclude_defaults=True)
    if row.importance is not None:
        fields["importance"] = row.importance
    if row.counter is not None:
        fields["counter"] = row.counter
    return {**fields, "importance_score": importance_of(row, now, unwritten)}


def imported(handle: Handle, document: Mapping[str, Any]) -> Flow[int]:
    """Store the contents of a document, all or nothing; see `Scope.import_`."""
    now = handle.settings.clock()
    yield from handle.replica()  # loads the policy that the document is checked against
    step = _step(document)
    rows = _rows(handle, document, now)

    def decide(state: State) -> tuple[Sequence[Change], tuple[int, Sequence[Change]]]:
        for row in rows:
            there = state.rows.get(row.id)
            if there is not None and (there.key, there.role is None) != (row.key, row.role is None):
                msg = f"scope {handle.path!r} has something else under the id {row.id!r}; nothing was imported"
                raise InvalidInputError(msg)
        _check_entries(handle, state, rows, now)
        plain = [row for row in rows if row.key is None and row.role is None and row.visible(now)]
        room = made_room(handle, state, plain, now)
        steps = [StepAdvanced(step, now)] if step > state.step else []
        return [*room, *map(ItemPut, rows), *steps], (len(rows), room)

    count, room = yield from handle.commit(decide, now)
    log_evictions(handle, room)
    return count


def _check_entries(handle: Handle, state: State, rows: Sequence[Row], now: float) -> None:
    fresh = sum(row.key is not None and row.key not in state.entries for row in rows)
    room = handle.policy.max_entries - len(state.visible(state.entries.values(), now))
    if fresh > max(0, room):
        msg = f"scope {handle.path!r} has room for {max(0, room)} entries more, not for {fresh}; nothing was imported"
        raise CapacityError(msg)


def _step(document: object) -> int:
    if not isinstance(document, Mapping) or document.get("format") != _FORMAT:
        msg = f"not a document that `export` made: its format is not {_FORMAT!r}"
        raise InvalidInputError(msg)
    version, step = document.get("version"), document.get("step", 0)
    if not _whole(version) or not 1 <= version <= _VERSION:
        msg = f"the document is of version {version!r:.80}; this version of wmem reads up to {_VERSION}"
        raise InvalidInputError(msg)
    return checked_whole(step, "the document's step")


def _whole(given: object) -> TypeGuard[int]:
    return isinstance(given, int) and not isinstance(given, bool)


def _rows(handle: Handle, document: Mapping[str, Any], now: float) -> list[Row]:
    rows: dict[str, Row] = {}
    keys: set[str] = set()
    for facet in ("entries", "memories", "messages"):
        listed = document.get(facet, [])
        if not isinstance(listed, list | tuple):
            msg = f"{facet!r} must be a list, got {listed!r:.80}"
            raise InvalidInputError(msg)
        for place, told in enumerate(listed):
            try:
                row = _read(handle, facet, told, now)
            except _UNREADABLE as exc:
                first = exc.errors(include_url=False)[0] if isinstance(exc, ValidationError) else None
                what = f"{'.'.join(map(str, first['loc']))}: {first['msg']}" if first else str(exc)
                msg = f"{facet}[{place}] does not read: {what}; nothing was imported"
                raise InvalidInputError(msg) from exc
            if row.id in rows or row.key in keys:
                msg = f"{facet}[{place}] has an id or key that came before; nothing was imported"
                raise InvalidInputError(msg)
            rows[row.id] = row
            if row.key is not None:
                keys.add(row.key)
    return list(rows.values())


def _read(handle: Handle, facet: str, told: Any, now: float) -> Row:
    if not isinstance(told, Mapping):
        msg = f"expected a dictionary, got {told!r:.80}"
        raise InvalidInputError(msg)
    fields = {
        name: _instant(value) if name in _INSTANTS and value is not None else value
        for name, value in told.items()
        if name not in _DERIVED
    }
    if facet == "messages":
        return _message_row(handle, fields, now)
    item = MemoryItem.model_validate({"created_at": now, "updated_at": now, **fields})
    if (item.key is None) is (facet == "entries") or item.message is not None:
        msg = "an entry has a key, a memory has none"
        raise InvalidInputError(msg)
    columns = {name: getattr(item, name) for name in _COLUMNS}
    if item.step_index is not None:
        checked_whole(item.step_index, "step_index")
    columns |= {"id": checked_id(item.id), "tags": as_tags(item.tags), "access_count": _uses(item.access_count)}
    return Row(
        importance=item.importance if "importance" in fields else None,
        rest=_rest(item),
        **(_text(handle, item.content) if item.key is None else _value(handle, item.content, checked_key(item.key))),
        **columns,
    )


def _rest(item: MemoryItem) -> bytes | None:
    check_json(item)
    rest = item.model_dump(mode="json", exclude={*_COLUMNS, *_NOT_REST}, exclude_defaults=True)
    if item.key is not None and item.type_name is not None:
        stored = item.content.encode("utf-8", "surrogatepass")
        if item.type_name == stored_type_name(stored):
            del rest["type_name"]  # the stored JSON holds it
    return dump_json(rest) if rest else None


def _text(handle: Handle, content: str) -> dict[str, Any]:
    """The row columns of a memory's content; tokens are counted again, not taken from the document."""
    counter = handle.settings.counter()
    text = checked_content(handle, content)
    return {"content": dump_json(text), "length": len(text), "tokens": counter(text), "counter": counter.name}


def _value(handle: Handle, content: str, key: str) -> dict[str, Any]:
    stored = content.encode("utf-8", "surrogatepass")
    if len(stored) > handle.policy.max_entry_bytes:
        msg = f"the value of {key!r} takes {len(stored)} bytes, more than the {handle.policy.max_entry_bytes} allowed"
        raise CapacityError(msg)
    with suppress(SerializationError):  # an object of a user's class: reading it needs `as_type`
        load_value(stored, key=key)
    return {"content": stored}


def _instant(given: object) -> float:
    if not isinstance(given, int | float) or isinstance(given, bool):
        return epoch(given)
    if not math.isfinite(given):
        msg = f"an instant must be finite, got {given!r}"
        raise InvalidInputError(msg)
    return float(given)


def _uses(count: object) -> int:
    return checked_whole(count, "access_count")


def _message_row(handle: Handle, fields: Mapping[str, Any], now: float) -> Row:
    message = Message.model_validate({name: value for name, value in fields.items() if name not in _BESIDE})
    if message.id is None:
        msg = "a message needs its id"
        raise InvalidInputError(msg)
    row = row_of(message, handle, now)
    return row._replace(
        updated_at=fields.get("updated_at") or row.created_at, access_count=_uses(fields.get("access_count", 0))
    )
