"""A scope as one document of plain JSON, and back: what is exported, imported elsewhere, is equal.

Instants are UTC epoch seconds; a document that tells them as ISO 8601 texts is read too.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from wmem.errors import CorruptionError, InvalidInputError, SerializationError
from wmem.flow import Flow
from wmem.model.change import Change, ItemPut
from wmem.model.instants import epoch
from wmem.model.item import MemoryItem, message_of
from wmem.model.message import Message
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.rules.importance import importance as importance_of
from wmem.scope.handle import Handle
from wmem.scope.item_reads import as_item
from wmem.scope.message_flows import row_of
from wmem.scope.room import made_room
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
_COLUMNS = frozenset(Row._fields) - {"content", "rest", "importance", "role", "length", "tokens", "counter", "calls"}
_BESIDE = ("updated_at", "access_count")  # what a row knows of a message and the message does not


def exported(states: Sequence[State], now: float) -> dict[str, Any]:
    """Everything a scope holds, expired and softly deleted things too, as plain JSON."""
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
    """Store what a document holds, all or nothing; see `Scope.import_`."""
    now = handle.settings.clock()
    rows = _rows(handle, document, now)

    def decide(state: State) -> tuple[Sequence[Change], int]:
        for row in rows:
            there = state.rows.get(row.id)
            if there is not None and (there.key, there.role is None) != (row.key, row.role is None):
                msg = f"scope {handle.path!r} has something else under the id {row.id!r}; nothing was imported"
                raise InvalidInputError(msg)
        plain = [row for row in rows if row.key is None and row.role is None and row.visible(now)]
        return [*made_room(handle, state, plain, now), *map(ItemPut, rows)], len(rows)

    return (yield from handle.commit(decide, now))


def _rows(handle: Handle, document: object, now: float) -> list[Row]:
    if not isinstance(document, Mapping) or document.get("format") != _FORMAT:
        msg = f"not a document that `export` made: its format is not {_FORMAT!r}"
        raise InvalidInputError(msg)
    if not isinstance(version := document.get("version"), int) or version > _VERSION:
        msg = f"the document is of version {version!r}; this version of wmem reads up to {_VERSION}"
        raise InvalidInputError(msg)
    rows = []
    for facet in ("entries", "memories", "messages"):
        listed = document.get(facet, [])
        if not isinstance(listed, list | tuple):
            msg = f"{facet!r} must be a list, got {listed!r:.80}"
            raise InvalidInputError(msg)
        for place, told in enumerate(listed):
            try:
                rows.append(_read(handle, facet, told, now))
            except (ValidationError, SerializationError, CorruptionError, ValueError, TypeError, KeyError) as exc:
                first = exc.errors(include_url=False)[0] if isinstance(exc, ValidationError) else None
                what = f"{'.'.join(map(str, first['loc']))}: {first['msg']}" if first else str(exc)
                msg = f"{facet}[{place}] does not read: {what}; nothing was imported"
                raise InvalidInputError(msg) from exc
    return rows


def _read(handle: Handle, facet: str, told: Any, now: float) -> Row:
    if not isinstance(told, Mapping):
        msg = f"expected a dictionary, got {told!r:.80}"
        raise InvalidInputError(msg)
    fields = {
        name: epoch(value) if name in _INSTANTS and value is not None else value
        for name, value in told.items()
        if name not in ("importance_score", "counter")
    }
    if facet == "messages":
        return _message_row(handle, fields, now)
    item = MemoryItem.model_validate({"created_at": now, "updated_at": now, **fields})
    if (item.key is None) is (facet == "entries") or item.message is not None:
        msg = "an entry has a key, a memory has none"
        raise InvalidInputError(msg)
    rest = item.model_dump(
        mode="json", exclude={*_COLUMNS, "content", "importance", "tokens", "message"}, exclude_defaults=True
    )
    columns = {name: getattr(item, name) for name in _COLUMNS}
    if item.key is not None:
        content, tokens, name = item.content.encode("utf-8", "surrogatepass"), item.tokens, told.get("counter")
        load_json(content)  # what it holds must read
    else:
        counter = handle.settings.counter()
        content, name = dump_json(item.content), counter.name
        counted = item.tokens is not None and told.get("counter") == name
        tokens = item.tokens if counted else counter(item.content)
    return Row(
        content=content,
        importance=item.importance if "importance" in fields else None,
        length=0 if item.key is not None else len(item.content),
        tokens=tokens,
        counter=name,
        rest=dump_json(rest) if rest else None,
        **columns,
    )


def _message_row(handle: Handle, fields: Mapping[str, Any], now: float) -> Row:
    message = Message.model_validate({name: value for name, value in fields.items() if name not in _BESIDE})
    if message.id is None:
        msg = "a message needs its id"
        raise InvalidInputError(msg)
    row = row_of(message, handle, now)
    return row._replace(
        updated_at=float(fields.get("updated_at", row.created_at)), access_count=int(fields.get("access_count", 0))
    )
