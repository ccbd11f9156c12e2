"""Codecs between changes or checkpoints and journal payloads: the objects themselves, or framed JSON.

A JSON payload is the header line, one line of JSON, and then the items' own encoded JSON, unchanged.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import UnionType
from typing import Any, Protocol, TypeVar, get_args, get_origin, get_type_hints

from wmem.codec.frame import (
    VERSION_DIGITS_LIMIT,
    corruption_error,
    frame_payload,
    location_checksum,
    newer_format_error,
    unframe_payload,
)
from wmem.codec.link import NO_PLACE, Link
from wmem.codec.traces import decode_turn, encode_turn
from wmem.describe import describe
from wmem.errors import WrongKeyError
from wmem.model.change import (
    CHANGE_TYPES,
    Change,
    Checkpoint,
    ClearedScope,
    ClearIntended,
    Decision,
    EndedScope,
    Erased,
    ItemPut,
    MessagesRestored,
    MessagesWithdrawn,
    Places,
    RestoreIntended,
    RestorePrepared,
    RowPlace,
    ScopeContent,
    ScopeMerged,
    ScopeReplaced,
    TurnTraced,
)
from wmem.model.history import Cursor, Path
from wmem.model.row import Row
from wmem.model.standing import StandingRequest
from wmem.model.values import dump_json, load_json
from wmem.policy import PRIORITIES

P = TypeVar("P")

FORMAT_VERSION = 6
"""Version 1 had no steps, 2 no origins and no leases, 3 no messages that were withdrawn, 4 no traces and no places.

5 had no restored scopes, and no decisions of consolidation.
"""
_CHANGE_BY_NAME = {kind.__name__: kind for kind in CHANGE_TYPES}
_ROW_FIELDS = frozenset(Row._fields)


def _hint_classes(hint: Any) -> tuple[type, ...]:
    """The classes that a type hint allows, for `isinstance`."""
    if get_origin(hint) is UnionType:
        return tuple(kind for each in get_args(hint) for kind in _hint_classes(each))
    kind = get_origin(hint) or hint
    return (float, int) if kind is float else (kind,)


def _field_classes(kind: type) -> dict[str, tuple[type, ...]]:
    return {name: _hint_classes(hint) for name, hint in get_type_hints(kind).items()}


def _check_fields(fields: Mapping[str, Any], types: Mapping[str, tuple[type, ...]]) -> None:
    """Raise `TypeError` for a value that is not of its declared type: the fold relies on the types."""
    for name, value in fields.items():
        if not isinstance(value, types[name]) or (isinstance(value, bool) and bool not in types[name]):
            raise TypeError(f"{name!r} holds {describe(value)}")


def _describe_fault(exc: Exception) -> str:
    """What does not read, without the stored text that errors of other types may quote."""
    return str(exc) if isinstance(exc, TypeError) else type(exc).__name__


def _check_texts(values: Iterable[Any]) -> tuple[str, ...]:
    texts = tuple(values)
    if isinstance(values, str) or not all(isinstance(each, str) for each in texts):
        raise TypeError(f"expected texts, found {describe(values)}")
    return texts


def _decode_places(stored: Iterable[Any]) -> tuple[RowPlace, ...]:
    places = tuple(RowPlace(_check_texts(path), incarnation, id) for path, incarnation, id in stored)
    for each in places:
        _check_fields(each._asdict(), _PLACE_CLASSES)
    return places


def _decode_row_places(stored: Any, erased_count: int) -> Places | None:
    if stored is None:
        return None
    messages, items, latest, gone, erased = stored
    places = Places(
        _check_pairs(messages, int),
        _check_pairs(items, int),
        _check_pairs([latest], int)[0],
        _check_pairs(gone, str),
        tuple(erased),
    )
    if not all(type(each) is int for each in places.erased) or len(places.erased) not in (0, erased_count):
        raise TypeError(f"expected places, found {describe(erased)}")
    return places


def _check_pairs(values: Iterable[Any], second: type[P]) -> tuple[tuple[int, P], ...]:
    """Pairs of a whole number and a value of a type."""
    pairs = tuple((number, value) for number, value in values)
    if not all(type(number) is int and type(value) is second for number, value in pairs):
        raise TypeError(f"expected pairs, found {describe(values)}")
    return pairs


def _decode_cursor(fields: Any) -> Cursor:
    cursor = Cursor(*fields)
    _check_fields(cursor._asdict(), _CURSOR_CLASSES)
    return cursor


_CURSOR_CLASSES = _field_classes(Cursor)
_PLACE_CLASSES = _field_classes(RowPlace)
_CHECKPOINT_CLASSES = _field_classes(Checkpoint)
_DECISION_CLASSES = {**_field_classes(Decision), "kind": (str,)}  # later versions may decide more
_ROW_CLASSES = _field_classes(Row)
_CHANGE_CLASSES = {kind: _field_classes(kind) for kind in CHANGE_TYPES}
_ROW_DEFAULTS = tuple(Row._field_defaults.get(name, ...) for name in Row._fields)


class Codec(Protocol[P]):
    """Encodes changes and checkpoints as journal payloads and decodes them; pure and thread-safe."""

    @property
    def chained(self) -> bool:
        """Whether a payload states its place in the history, so that it can be appended there and nowhere else."""
        ...

    def encode_record(self, changes: Sequence[Change], path: Path, record_id: int, place: bytes = NO_PLACE, /) -> P:
        """Encode one record; the payload is bound to its path and id, and to its place if the codec is chained."""
        ...

    def decode_record(self, payload: P, path: Path, record_id: int, /) -> tuple[Change, ...]:
        """Decode the changes of a record.

        Raises:
            CorruptionError: The payload is damaged or belongs to another path or record.
            WrongKeyError: It is encrypted and this codec lacks the key; or it is plain and must be encrypted.
            StoreError: It was written by a newer version.
        """
        ...

    def encode_checkpoint(self, checkpoint: Checkpoint, path: Path, upto: Cursor, place: bytes = NO_PLACE, /) -> P:
        """Encode a snapshot of the state; the payload is bound to its path and cursor, and states its place."""
        ...

    def decode_checkpoint(self, payload: P, path: Path, base: Cursor, /) -> Checkpoint:
        """See `decode_record`."""
        ...

    def follow(self, link: Link, payload: P, version: int, record_id: int, /) -> tuple[Link, str | None]:
        """See `Link.follow`; of a payload that was decoded. Asked only of a chained codec."""
        ...

    def checkpoint_link(self, payload: P, /) -> Link:
        """The link at a checkpoint that was decoded."""
        ...

    def size(self, payload: P, /) -> int:
        """Size of a payload in bytes."""
        ...

    def is_current(self, payload: P, /) -> bool:
        """Whether a payload, if undamaged, is in the format (and under the key) that this codec writes."""
        ...


class IdentityCodec:
    """Codec for process memory: changes are immutable, so they are stored as the objects they are."""

    chained = False

    def encode_record(
        self, changes: Sequence[Change], _path: Path, _record_id: int, _place: bytes = NO_PLACE, /
    ) -> object:
        return tuple(changes)

    def decode_record(self, payload: object, _path: Path, _record_id: int, /) -> tuple[Change, ...]:
        assert isinstance(payload, tuple)  # the journal hands back what `encode_record` made
        return payload

    def encode_checkpoint(
        self, checkpoint: Checkpoint, _path: Path, _upto: Cursor, _place: bytes = NO_PLACE, /
    ) -> object:
        return checkpoint

    def decode_checkpoint(self, payload: object, _path: Path, _base: Cursor, /) -> Checkpoint:
        assert isinstance(payload, Checkpoint)  # see `decode_record`
        return payload

    def follow(self, link: Link, _payload: object, _version: int, _record_id: int, /) -> tuple[Link, str | None]:
        return link, None

    def checkpoint_link(self, _payload: object, /) -> Link:
        return Link()

    def size(self, payload: object, /) -> int:
        if isinstance(payload, Checkpoint):
            traces = sum(len(turn.events) + 40 for turn in payload.traces)
            return sum(row.size_bytes for row in payload.rows) + traces + 64
        assert isinstance(payload, tuple)  # see `decode_record`
        total = 64
        for change in payload:
            # `Row.size_bytes` inlined, to save the call.
            total += 420 + len(change.row.content) if type(change) is ItemPut else 64
            if type(change) is ScopeReplaced:
                total += self.size(change.content)
        return total

    def is_current(self, _payload: object, /) -> bool:
        return True


class JsonCodec:
    """Framed JSON, readable with a pager."""

    chained = False

    def encode_record(
        self, changes: Sequence[Change], path: Path, record_id: int, _place: bytes = NO_PLACE, /
    ) -> bytes:
        blobs: list[bytes] = []
        documents = [_encode_change(change, blobs) for change in changes]
        return _frame_json(documents, blobs, location_checksum(path, record_id))

    def decode_record(self, payload: bytes, path: Path, record_id: int, /) -> tuple[Change, ...]:
        documents, body = _unframe_json(payload, location_checksum(path, record_id), path)
        try:
            return tuple(_decode_changes(documents, body))
        except (LookupError, TypeError, ValueError, AttributeError) as exc:
            fault = _describe_fault(exc)
        raise corruption_error(path, f"a record reads as no change: {fault}")

    def encode_checkpoint(self, checkpoint: Checkpoint, path: Path, upto: Cursor, _place: bytes = NO_PLACE, /) -> bytes:
        blobs: list[bytes] = []
        return _frame_json(_encode_state(checkpoint, blobs), blobs, location_checksum(path, upto.chain))

    def decode_checkpoint(self, payload: bytes, path: Path, base: Cursor, /) -> Checkpoint:
        document, body = _unframe_json(payload, location_checksum(path, base.chain), path)
        try:
            return _decode_state(document, body, 0)[0]
        except (LookupError, TypeError, ValueError, AttributeError) as exc:
            fault = _describe_fault(exc)
        raise corruption_error(path, f"a checkpoint reads as no state: {fault}")

    def follow(self, link: Link, _payload: bytes, _version: int, _record_id: int, /) -> tuple[Link, str | None]:
        return link, None

    def checkpoint_link(self, _payload: bytes, /) -> Link:
        return Link()

    def size(self, payload: bytes, /) -> int:
        return len(payload)

    def is_current(self, payload: bytes, /) -> bool:
        return payload.startswith(b"wmem %d " % FORMAT_VERSION)


def _frame_json(document: object, blobs: Iterable[bytes], location: int) -> bytes:
    return frame_payload(b"wmem %d " % FORMAT_VERSION, b"".join((dump_json(document), b"\n", *blobs)), location)


def _unframe_json(payload: bytes, location: int, path: Path) -> tuple[Any, bytes]:
    head, body = unframe_payload(payload, location, path)
    match head.split(b" "):
        case [b"wmem", version, b""] if version.isdigit() and len(version) < VERSION_DIGITS_LIMIT:
            if int(version) > FORMAT_VERSION:
                raise newer_format_error(path, int(version), FORMAT_VERSION)
            document, _, rest = body.partition(b"\n")
            return load_json(document), rest
        case [b"wmem-aes", _, key_id, b""]:
            # Not reported as damage, which readers skip: without the key nothing of this scope is readable.
            msg = f"scope {path!r} is encrypted under the key {key_id.decode('ascii', 'replace')!r}: open it with key="
            raise WrongKeyError(msg)
        case _:
            raise corruption_error(path, "a payload that is foreign")


def _encode_state(checkpoint: Checkpoint, blobs: list[bytes]) -> dict[str, Any]:
    document = checkpoint._asdict()
    document["rows"] = [encode_row(row, blobs) for row in checkpoint.rows]
    document["traces"] = [_encode_turn(turn, blobs) for turn in checkpoint.traces]
    for name in ("identity", "replaces", "intent"):
        if not document[name]:
            del document[name]  # as in nearly all scopes
    return document


def _decode_state(document: Mapping[str, Any], body: bytes, offset: int) -> tuple[Checkpoint, int]:
    """The checkpoint of a document whose rows and traces begin at a place of the body, and where they end."""
    rows = []
    for each in document["rows"]:
        row, offset = _decode_row(each, body, offset)
        rows.append(row)
    traces = []
    for size in document.get("traces", ()):
        traces.append(decode_turn(body[offset : offset + size]))
        offset += size
    return build_checkpoint(document, rows, traces), offset


def build_checkpoint(document: Mapping[str, Any], rows: Iterable[Row], traces: Iterable[TurnTraced]) -> Checkpoint:
    """The checkpoint of a document whose rows and traces were decoded.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It reads as no state.
    """
    checkpoint = Checkpoint(
        rows=tuple(rows),
        policy=document["policy"],
        disposed=document["disposed"],
        applied=tuple(map(int, document["applied"])),
        merged=tuple(
            ((_check_texts(source), bool(overwrite), bool(items)), _decode_cursor(cursor))
            for (source, overwrite, items), cursor in document["merged"]
        ),
        decisions=tuple(map(_decode_decision, document["decisions"])),
        erased=_check_texts(document["erased"]),
        step=int(document.get("step", 0)),
        renewed_at=float(document.get("renewed_at", 0.0)),
        unfinished=tuple(
            Erased(_check_texts(ids), _decode_places(others)) for ids, others in document.get("unfinished", ())
        ),
        turns=_check_texts(document.get("turns", ())),
        places=_decode_row_places(document.get("places"), len(document["erased"])),
        traces=tuple(traces),
        identity=int(document.get("identity", 0)),
        replaces=tuple(map(int, document.get("replaces", ()))),
        intent=int(document.get("intent", 0)),
    )
    _check_fields(checkpoint._asdict(), _CHECKPOINT_CLASSES)
    return checkpoint


def _decode_decision(stored: Iterable[Any]) -> Decision:
    decision = Decision(*stored)
    _check_fields(decision._asdict(), _DECISION_CLASSES)
    return decision


def _encode_change(change: Change, blobs: list[bytes]) -> dict[str, Any] | int:
    """The change as JSON; of a turn's trace only its size, for there is one for every few messages."""
    if isinstance(change, ItemPut):
        return {"change": "ItemPut", **encode_row(change.row, blobs)}
    if isinstance(change, TurnTraced):
        return _encode_turn(change, blobs)
    document = {"change": type(change).__name__, **change._asdict()}
    if isinstance(change, ScopeReplaced):
        document["content"] = _encode_state(change.content, blobs)
    elif isinstance(change, RestoreIntended):
        document["scopes"] = [[path, _encode_state(content, blobs)] for path, content in change.scopes]
    return document


def _encode_turn(turn: TurnTraced, blobs: list[bytes]) -> int:
    blobs.append(encode_turn(turn))
    return len(blobs[-1])


def encode_row(row: Row, blobs: list[bytes]) -> dict[str, Any]:
    """A row as JSON, with the sizes of its content and its rest, which are added to the blobs."""
    fields = {
        name: value
        for name, value, default in zip(Row._fields, row, _ROW_DEFAULTS, strict=True)
        # Most columns hold the default object itself: `is` saves the comparison.
        if value is not default and value != default
    }
    blobs.append(row.content)
    fields["content"] = len(row.content)
    if row.rest is not None:
        blobs.append(row.rest)
        fields["rest"] = len(row.rest)
    return fields


def _decode_row(stored: dict[str, Any], body: bytes, offset: int) -> tuple[Row, int]:
    fields = {name: value for name, value in stored.items() if name in _ROW_FIELDS}
    for name in ("content", "rest"):
        if name in fields:
            end = offset + fields[name]
            fields[name] = body[offset:end]
            offset = end
    return build_row(fields), offset


def build_row(fields: dict[str, Any]) -> Row:
    """The row of fields as they are stored, with its content and its rest as bytes.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: They are no row's.
    """
    for name in ("tags", "calls"):
        if name in fields:
            fields[name] = _check_texts(fields[name])
    if "standing" in fields:
        fields["standing"] = tuple(StandingRequest(*_check_texts(each)) for each in fields["standing"])
    _check_fields(fields, _ROW_CLASSES)
    if fields.get("priority", "medium") not in PRIORITIES:
        raise TypeError(f"no priority is called {describe(fields['priority'])}")
    return Row(**fields)


def _decode_changes(stored: list[dict[str, Any] | int], body: bytes) -> Iterable[Change]:
    offset = 0
    for each in stored:
        if isinstance(each, int):
            end = offset + each
            yield decode_turn(body[offset:end])
            offset = end
            continue
        name = each.pop("change")
        kind = _CHANGE_BY_NAME[name]
        if kind is ItemPut:
            row, offset = _decode_row(each, body, offset)
            yield ItemPut(row)
        elif kind is ScopeMerged:
            merged = {**each, "source": _check_texts(each["source"]), "cursor": _decode_cursor(each["cursor"])}
            _check_fields(merged, _CHANGE_CLASSES[kind])
            yield ScopeMerged(**merged)
        elif kind in (MessagesWithdrawn, MessagesRestored):
            moved = {**each, "ids": _check_texts(each["ids"])}
            _check_fields(moved, _CHANGE_CLASSES[kind])
            yield kind(**moved)
        elif kind is Erased:
            others = each.get("others")
            yield Erased(_check_texts(each["ids"]), None if others is None else _decode_places(others))
        elif kind in _OF_AN_INTENT:
            change, offset = _decode_intent(kind, each, body, offset)
            yield change
        else:
            _check_fields(each, _CHANGE_CLASSES[kind])
            yield kind(**each)


_OF_AN_INTENT = (ScopeReplaced, RestoreIntended, RestorePrepared, ClearIntended)


def _decode_intent(kind: type[Change], stored: dict[str, Any], body: bytes, offset: int) -> tuple[Change, int]:
    """A change of which an intent is made, and where what it holds ends in the body."""
    if kind is ScopeReplaced:
        content, offset = _decode_state(stored["content"], body, offset)
        return ScopeReplaced(content, float(stored["at"])), offset
    if kind is RestoreIntended:
        scopes = []
        for path, document in stored["scopes"]:
            content, offset = _decode_state(document, body, offset)
            scopes.append(ScopeContent(_check_texts(path), content))
        return RestoreIntended(int(stored["intent"]), float(stored["at"]), tuple(scopes)), offset
    if kind is RestorePrepared:
        ended = tuple(
            EndedScope(_check_texts(path), int(incarnation), tuple(map(int, replaces)), _check_texts(erased))
            for path, incarnation, replaces, erased in stored["ended"]
        )
        return RestorePrepared(int(stored["intent"]), ended), offset
    cleared = tuple(ClearedScope(_check_texts(path), _check_texts(facets)) for path, facets in stored["scopes"])
    return ClearIntended(int(stored["intent"]), float(stored["at"]), cleared), offset
