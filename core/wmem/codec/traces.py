"""The trace of a turn in few bytes: its header, and what happened, event by event."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from wmem.codec.compact import Reader, Writer, ulid_time
from wmem.model.change import TurnTraced
from wmem.model.recall_profile import RecallProfile
from wmem.model.trace import (
    EvictionTraced,
    ExpiryTraced,
    ForgetTraced,
    MemorizeTraced,
    PackTraced,
    PromotionTraced,
    RecallTraced,
    ToolCallTraced,
    TraceEvent,
)

_MILLISECONDS = 1_000
_PARTS = (
    *("bm25", "near", "session", "vector", "recency", "importance", "duplication", "update", "exchange", "answer"),
    *("result", "x date", "x speaker", "x user", "x when", "x preference", "x density", "age", "priority", "tokens"),
)
"""Names of parts of scores that take a byte; only ever added to at the end."""
_RULES = ("expired", "deleted", "oldest", "stale", "low", "middle", "guarded")
"""Rules of eviction that take a byte; only ever added to at the end."""
_TYPES = ("working", "conversation", "episodic", "semantic")
"""Memory types that take a byte; only ever added to at the end."""
_PROFILES = ("evidence", "balanced")
_NO_PROFILE, _OWN_PROFILE = 0, len(_PROFILES) + 1

# -- a turn


def encode_turn(change: TurnTraced) -> bytes:
    """The change as bytes."""
    writer = Writer()
    writer.id(change.turn_id)
    writer.integer(round((change.at - (ulid_time(change.turn_id) or 0.0)) * _MILLISECONDS))
    writer.number(round(change.keep_s))
    writer.number(change.keep_turns)
    writer.number(change.keep_bytes)
    return bytes(writer.data) + change.events


def decode_turn(data: bytes) -> TurnTraced:
    """See `encode_turn`.

    Raises:
        ValueError: It is none.
    """
    reader = Reader(data)
    turn_id = reader.id()
    milliseconds = reader.integer() + round((ulid_time(turn_id) or 0.0) * _MILLISECONDS)
    keep_s, keep_turns, keep_bytes = (reader.number() for _ in range(3))
    return TurnTraced(turn_id, milliseconds / _MILLISECONDS, reader.rest(), float(keep_s), keep_turns, keep_bytes)


# -- events


def encode_events(events: Sequence[TraceEvent]) -> bytes:
    """What happened, as bytes."""
    writer = Writer()
    for event in events:
        kind = type(event)
        writer.number(_KINDS.index(kind))
        _WRITERS[kind](writer, event)
    return bytes(writer.data)


def decode_events(data: bytes) -> tuple[TraceEvent, ...]:
    """See `encode_events`.

    Raises:
        ValueError: It is none.
    """
    reader = Reader(data)
    events = []
    while not reader.exhausted:
        kind = reader.number()
        if kind >= len(_KINDS):
            raise ValueError("an event that this version does not know")
        events.append(_READERS[_KINDS[kind]](reader))
    return tuple(events)


def _write_pack(writer: Writer, event: PackTraced) -> None:
    writer.text(event.receipt)
    writer.number(event.tokens)
    writer.number(event.budget)
    _write_profile(writer, event.scoring)
    writer.number(len(event.recalled))
    for each in event.recalled:
        writer.id(each.id)
        _write_parts(writer, each.parts)
    writer.raw(event.layout)


def _read_pack(reader: Reader) -> PackTraced:
    receipt, tokens, budget, scoring = reader.text(), reader.number(), reader.number(), _read_profile(reader)
    recalled = tuple(RecallTraced(reader.id(), _read_parts(reader)) for _ in range(reader.number()))
    return PackTraced(receipt, tokens, budget, recalled, scoring, reader.raw())


def _write_profile(writer: Writer, profile: RecallProfile | None) -> None:
    if profile is None:
        writer.number(_NO_PROFILE)
    elif profile.name in _PROFILES and profile == RecallProfile.resolve(profile.name):  # type: ignore[arg-type]  # it is one
        writer.number(_PROFILES.index(profile.name) + 1)
    else:
        writer.number(_OWN_PROFILE)
        writer.raw(profile.model_dump_json(exclude_defaults=True).encode())


def _read_profile(reader: Reader) -> RecallProfile | None:
    kind = reader.number()
    if kind == _NO_PROFILE:
        return None
    if kind < _OWN_PROFILE:
        return RecallProfile.resolve(_PROFILES[kind - 1])  # type: ignore[arg-type]  # it is one
    return RecallProfile.model_validate_json(reader.raw())


def _write_parts(writer: Writer, parts: Mapping[str, float]) -> None:
    writer.number(len(parts))
    for name, value in parts.items():
        writer.word(name, _PARTS)
        writer.real(value)


def _read_parts(reader: Reader) -> dict[str, float]:
    return {reader.word(_PARTS): reader.real() for _ in range(reader.number())}


def _write_ids(writer: Writer, ids: Sequence[str]) -> None:
    writer.number(len(ids))
    for each in ids:
        writer.id(each)


def _read_ids(reader: Reader) -> tuple[str, ...]:
    return tuple(reader.id() for _ in range(reader.number()))


def _write_tool_call(writer: Writer, event: ToolCallTraced) -> None:
    writer.id(event.id)
    writer.number(event.tokens * 2 + event.failed)


def _read_tool_call(reader: Reader) -> ToolCallTraced:
    id = reader.id()
    tokens, failed = divmod(reader.number(), 2)
    return ToolCallTraced(id, bool(failed), tokens)


def _write_memorize(writer: Writer, event: MemorizeTraced) -> None:
    writer.id(event.id)
    writer.word(event.type, _TYPES)


def _write_forget(writer: Writer, event: ForgetTraced) -> None:
    writer.number(event.hard)
    _write_ids(writer, event.ids)


def _read_forget(reader: Reader) -> ForgetTraced:
    hard = bool(reader.number())
    return ForgetTraced(_read_ids(reader), hard)


def _write_eviction(writer: Writer, event: EvictionTraced) -> None:
    writer.id(event.id)
    writer.word(event.rule, _RULES)
    writer.number(event.tokens)
    _write_parts(writer, event.parts)


def _write_expiry(writer: Writer, event: ExpiryTraced) -> None:
    _write_ids(writer, event.ids)


def _write_promotion(writer: Writer, event: PromotionTraced) -> None:
    writer.id(event.id)
    # The id in long-term memory begins with the item's: it is not told twice.
    before, found, after = event.to.partition(event.id)
    writer.number(bool(found))
    for each in (before, after) if found else (event.to,):
        writer.text(each)


def _read_promotion(reader: Reader) -> PromotionTraced:
    id = reader.id()
    to = f"{reader.text()}{id}{reader.text()}" if reader.number() else reader.text()
    return PromotionTraced(id, to)


_Write: TypeAlias = Callable[[Writer, Any], None]
_Read: TypeAlias = Callable[[Reader], TraceEvent]
_CODECS: Mapping[type[TraceEvent], tuple[_Write, _Read]] = {
    PackTraced: (_write_pack, _read_pack),
    ToolCallTraced: (_write_tool_call, _read_tool_call),
    MemorizeTraced: (_write_memorize, lambda reader: MemorizeTraced(reader.id(), reader.word(_TYPES))),
    ForgetTraced: (_write_forget, _read_forget),
    EvictionTraced: (
        _write_eviction,
        lambda reader: EvictionTraced(reader.id(), reader.word(_RULES), reader.number(), _read_parts(reader)),
    ),
    ExpiryTraced: (_write_expiry, lambda reader: ExpiryTraced(_read_ids(reader))),
    PromotionTraced: (_write_promotion, _read_promotion),
}
_KINDS = tuple(_CODECS)
_WRITERS = {kind: write for kind, (write, _) in _CODECS.items()}
_READERS = {kind: read for kind, (_, read) in _CODECS.items()}
