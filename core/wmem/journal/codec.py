"""Codecs between changes or checkpoints and journal payloads: the objects themselves, or framed JSON.

A JSON payload is the header line, one line of JSON, and then the items' own encoded JSON, unchanged.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import UnionType
from typing import Any, Protocol, TypeVar, get_args, get_origin, get_type_hints

from wmem.errors import WrongKeyError
from wmem.journal.frame import DIGITS, damaged, framed, newer, seal, unframed
from wmem.model.change import CHANGES, Change, Erased, ItemPut, ScopeMerged
from wmem.model.history import Cursor, Path
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.policy import PRIORITIES
from wmem.state import Checkpoint, Decision

__all__ = ["FORMAT_VERSION", "Codec", "IdentityCodec", "JsonCodec"]

P = TypeVar("P")

FORMAT_VERSION = 2  # version 1 had no steps
_BY_NAME = {kind.__name__: kind for kind in CHANGES}
_ROW_FIELDS = frozenset(Row._fields)


def _kinds(hint: Any) -> tuple[type, ...]:
    """The classes that a type hint allows, for `isinstance`."""
    if get_origin(hint) is UnionType:
        return tuple(kind for each in get_args(hint) for kind in _kinds(each))
    kind = get_origin(hint) or hint
    return (float, int) if kind is float else (kind,)


def _declared(kind: type) -> dict[str, tuple[type, ...]]:
    return {name: _kinds(hint) for name, hint in get_type_hints(kind).items()}


def _check(fields: Mapping[str, Any], declared: Mapping[str, tuple[type, ...]]) -> None:
    """Raise `TypeError` for a value that is not of its declared type: the fold relies on the types."""
    for name, value in fields.items():
        if not isinstance(value, declared[name]) or (isinstance(value, bool) and bool not in declared[name]):
            msg = f"{name!r} holds {value!r:.40}"
            raise TypeError(msg)


def _texts(given: Iterable[Any]) -> tuple[str, ...]:
    texts = tuple(given)
    if isinstance(given, str) or not all(isinstance(each, str) for each in texts):
        msg = f"expected texts, found {given!r:.40}"
        raise TypeError(msg)
    return texts


def _cursor(given: Any) -> Cursor:
    cursor = Cursor(*given)
    _check(cursor._asdict(), _CURSOR)
    return cursor


_CURSOR = _declared(Cursor)
_COLUMNS = _declared(Row)
_FIELDS = {kind: _declared(kind) for kind in CHANGES}
_DEFAULTS = tuple(Row._field_defaults.get(name, ...) for name in Row._fields)


class Codec(Protocol[P]):
    """Encodes changes and checkpoints as journal payloads and decodes them; pure and thread-safe."""

    def write_record(self, changes: Sequence[Change], path: Path, record_id: int, /) -> P:
        """Encode one record; the payload is bound to its path and id."""
        ...

    def read_record(self, payload: P, path: Path, record_id: int, /) -> tuple[Change, ...]:
        """Decode the changes of a record.

        Raises:
            CorruptionError: The payload is damaged or belongs to another path or record.
            WrongKeyError: It is encrypted and this codec lacks the key; or it is plain and must be encrypted.
            StoreError: It was written by a newer version.
        """
        ...

    def write_checkpoint(self, kept: Checkpoint, path: Path, upto: Cursor, /) -> P:
        """Encode a snapshot of the state; the payload is bound to its path and cursor."""
        ...

    def read_checkpoint(self, payload: P, path: Path, base: Cursor, /) -> Checkpoint:
        """See `read_record`."""
        ...

    def size(self, payload: P, /) -> int:
        """Size of a payload in bytes."""
        ...

    def current(self, payload: P, /) -> bool:
        """Whether a payload, if undamaged, is in the format (and under the key) that this codec writes."""
        ...


class IdentityCodec:
    """Codec for process memory: changes are immutable, so they are stored as the objects they are."""

    def write_record(self, changes: Sequence[Change], _path: Path, _record_id: int, /) -> object:
        return tuple(changes)

    def read_record(self, payload: object, _path: Path, _record_id: int, /) -> tuple[Change, ...]:
        assert isinstance(payload, tuple)  # the journal hands back what `write_record` made
        return payload

    def write_checkpoint(self, kept: Checkpoint, _path: Path, _upto: Cursor, /) -> object:
        return kept

    def read_checkpoint(self, payload: object, _path: Path, _base: Cursor, /) -> Checkpoint:
        assert isinstance(payload, Checkpoint)  # see `read_record`
        return payload

    def size(self, payload: object, /) -> int:
        if isinstance(payload, Checkpoint):
            return sum(row.size for row in payload.rows) + 64
        assert isinstance(payload, tuple)  # see `read_record`
        total = 64
        for change in payload:
            # `Row.size` inlined, to save the call.
            total += 420 + len(change.row.content) if type(change) is ItemPut else 64
        return total

    def current(self, _payload: object, /) -> bool:
        return True


class JsonCodec:
    """Framed JSON, readable with a pager."""

    def write_record(self, changes: Sequence[Change], path: Path, record_id: int, /) -> bytes:
        blobs: list[bytes] = []
        told = [_told(change, blobs) for change in changes]
        return _framed(told, blobs, seal(path, record_id))

    def read_record(self, payload: bytes, path: Path, record_id: int, /) -> tuple[Change, ...]:
        told, body = _unframed(payload, seal(path, record_id), path)
        try:
            return tuple(_changes(told, body))
        except (LookupError, TypeError, ValueError, AttributeError) as exc:
            raise damaged(path, f"a record reads as no change: {exc}") from exc

    def write_checkpoint(self, kept: Checkpoint, path: Path, upto: Cursor, /) -> bytes:
        blobs: list[bytes] = []
        told = kept._asdict()
        told["rows"] = [_told_row(row, blobs) for row in kept.rows]
        return _framed(told, blobs, seal(path, upto.chain))

    def read_checkpoint(self, payload: bytes, path: Path, base: Cursor, /) -> Checkpoint:
        told, body = _unframed(payload, seal(path, base.chain), path)
        try:
            place = 0
            rows = []
            for each in told["rows"]:
                row, place = _read_row(each, body, place)
                rows.append(row)
            return Checkpoint(
                rows=tuple(rows),
                policy=told["policy"],
                disposed=told["disposed"],
                applied=tuple(told["applied"]),
                merged=tuple(
                    ((_texts(source), bool(overwrite), bool(items)), _cursor(cursor))
                    for (source, overwrite, items), cursor in told["merged"]
                ),
                decisions=tuple(Decision(*each) for each in told["decisions"]),
                erased=tuple(told["erased"]),
                step=int(told.get("step", 0)),
            )
        except (LookupError, TypeError, ValueError, AttributeError) as exc:
            raise damaged(path, f"a checkpoint reads as no state: {exc}") from exc

    def size(self, payload: bytes, /) -> int:
        return len(payload)

    def current(self, payload: bytes, /) -> bool:
        return payload.startswith(b"wmem %d " % FORMAT_VERSION)


def _framed(told: object, blobs: Iterable[bytes], sealed: int) -> bytes:
    return framed(b"wmem %d " % FORMAT_VERSION, b"".join((dump_json(told), b"\n", *blobs)), sealed)


def _unframed(payload: bytes, sealed: int, path: Path) -> tuple[Any, bytes]:
    head, body = unframed(payload, sealed, path)
    match head.split(b" "):
        case [b"wmem", version, b""] if version.isdigit() and len(version) < DIGITS:
            if int(version) > FORMAT_VERSION:
                raise newer(path, int(version), FORMAT_VERSION)
            told, _, rest = body.partition(b"\n")
            return load_json(told), rest
        case [b"wmem-aes", _, key_id, b""]:
            # Not reported as damage, which readers skip: without the key nothing of this scope is readable.
            msg = f"scope {path!r} is encrypted under the key {key_id.decode('ascii', 'replace')!r}: open it with key="
            raise WrongKeyError(msg)
        case _:
            raise damaged(path, "a payload that is foreign")


def _told(change: Change, blobs: list[bytes]) -> dict[str, Any]:
    if isinstance(change, ItemPut):
        return {"change": "ItemPut", **_told_row(change.row, blobs)}
    return {"change": type(change).__name__, **change._asdict()}


def _told_row(row: Row, blobs: list[bytes]) -> dict[str, Any]:
    told = {
        name: value
        for name, value, default in zip(Row._fields, row, _DEFAULTS, strict=True)
        # Most columns hold the default object itself: `is` saves the comparison.
        if value is not default and value != default
    }
    blobs.append(row.content)
    told["content"] = len(row.content)
    if row.rest is not None:
        blobs.append(row.rest)
        told["rest"] = len(row.rest)
    return told


def _read_row(told: dict[str, Any], body: bytes, place: int) -> tuple[Row, int]:
    fields = {name: value for name, value in told.items() if name in _ROW_FIELDS}
    for name in ("content", "rest"):
        if name in fields:
            end = place + fields[name]
            fields[name] = body[place:end]
            place = end
    for name in ("tags", "calls"):
        if name in fields:
            fields[name] = _texts(fields[name])
    _check(fields, _COLUMNS)
    if fields.get("priority", "medium") not in PRIORITIES:
        msg = f"no priority is called {fields['priority']!r:.40}"
        raise ValueError(msg)
    return Row(**fields), place


def _changes(told: list[dict[str, Any]], body: bytes) -> Iterable[Change]:
    place = 0
    for each in told:
        name = each.pop("change")
        kind = _BY_NAME[name]
        if kind is ItemPut:
            row, place = _read_row(each, body, place)
            yield ItemPut(row)
        elif kind is ScopeMerged:
            merged = {**each, "source": _texts(each["source"]), "cursor": _cursor(each["cursor"])}
            _check(merged, _FIELDS[kind])
            yield ScopeMerged(**merged)
        elif kind is Erased:
            yield Erased(_texts(each["ids"]))
        else:
            _check(each, _FIELDS[kind])
            yield kind(**each)
