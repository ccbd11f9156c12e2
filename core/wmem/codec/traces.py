"""The trace of a turn in few bytes: its header, and what happened, event by event."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from wmem.codec.compact import Reader, Writer, ulid_time
from wmem.model.change import TurnTraced
from wmem.model.history import Path
from wmem.model.recall_profile import RecallProfile
from wmem.model.receipt import DIGEST_BYTES, SCOPE_BYTES, Receipt, scope_digest
from wmem.model.trace import (
    ConsolidationTraced,
    EvictionTraced,
    ExpiryTraced,
    ForgetTraced,
    MemorizeTraced,
    PackTraced,
    PromotionTraced,
    RecallTraced,
    RedactionTraced,
    RejectionTraced,
    RouteTraced,
    ToolCallTraced,
    TraceEvent,
)

_MILLISECONDS, _HUNDREDTHS, _TENTHS = 1_000, 100, 10
_BOUNDS = (90 * 86_400.0, 10_000, 65_536)
"""What of a trace stays, unless a change says otherwise: how many seconds, turns and bytes."""
_TAKEN_OFF = "duplication"
_PARTS = (
    *("bm25", "near", "session", "prior", "exchange", "x user", "vector", "recency", "importance"),
    *("duplication", "answer", "result", "update", "x date", "x speaker", "x when", "x preference"),
    *("recent", "remembered", "x beside", "age_s", "stale", "steps", "expires_at"),
)
"""Names of parts of scores that take a bit, frequent ones first; only ever added to at the end."""
_RULES = ("expired", "deleted", "oldest", "stale", "low", "middle", "guarded")
"""Rules of eviction that take a byte; only ever added to at the end."""
_TYPES = ("working", "conversation", "episodic", "semantic")
"""Memory types that take a byte; only ever added to at the end."""
_REASONS = ("importance", "novelty", "size")
"""Reasons of rejections that take a byte; only ever added to at the end."""
_ROUTES = ("named", "message", "reasoning", "knowledge-type", "knowledge-kind", "experience", "own-type", "fallback")
"""Names of routing rules that take a byte; only ever added to at the end."""
_JOBS = (
    *("summarize-tails", "close-episodes", "thin-episodic", "merge-duplicates", "mark-superseded"),
    *("apply-retention", "evict-long-term", "purge", "extract-skills"),
)
"""Names of jobs that take a byte; only ever added to at the end."""
_PROFILES = ("evidence", "balanced")
_NO_PROFILE, _OWN_PROFILE = 0, len(_PROFILES) + 1

# -- a turn


def encode_turn(change: TurnTraced) -> bytes:
    """The change as bytes."""
    writer = Writer()
    bounds = change.keep_s, change.keep_turns, change.keep_bytes
    milliseconds = round((change.at - (ulid_time(change.turn_id) or 0.0)) * _MILLISECONDS)
    writer.integer(milliseconds * 2 + (bounds != _BOUNDS))
    if bounds != _BOUNDS:
        for each in bounds:
            writer.number(round(each))
    writer.id(change.turn_id)
    return bytes(writer.data) + change.events


def decode_turn(data: bytes) -> TurnTraced:
    """See `encode_turn`.

    Raises:
        ValueError: It is none.
    """
    reader = Reader(data)
    milliseconds, has_bounds = divmod(reader.integer(), 2)
    bounds: Sequence[float] = [reader.number() for _ in _BOUNDS] if has_bounds else _BOUNDS
    turn_id = reader.id()
    at = (milliseconds + round((ulid_time(turn_id) or 0.0) * _MILLISECONDS)) / _MILLISECONDS
    return TurnTraced(turn_id, at, reader.rest(), float(bounds[0]), int(bounds[1]), int(bounds[2]))


# -- events


def encode_events(events: Sequence[TraceEvent], path: Path, at: float) -> bytes:
    """What happened, as bytes: first the digests of the prompts' receipts, as they are, so that they can be found.

    Args:
        path: The scope of the turn.
        at: When the turn is told.
    """
    body = Writer()
    packs = [event for event in events if isinstance(event, PackTraced)]
    budget = 0
    for event in events:
        kind = type(event)
        body.number(_KINDS.index(kind))
        if isinstance(event, PackTraced):
            body.integer(round((at - event.at) * _TENTHS))
            body.integer(event.budget - budget)
            budget = event.budget
        _WRITERS[kind](body, event)
    plain = bytes(body.data)
    small = _deflate(plain)
    writer, is_small = Writer(), len(small) < len(plain)
    _write_receipts(writer, [each.receipt for each in packs], path, more=is_small)
    return bytes(writer.data) + (small if is_small else plain)


def decode_events(data: bytes, path: Path, at: float) -> tuple[TraceEvent, ...]:
    """See `encode_events`; what a prompt recalled has no id where its layout tells the place.

    Raises:
        ValueError: It is none.
    """
    head = Reader(data)
    receipts, is_small = _read_receipts(head, path)
    left = iter(receipts)
    reader = Reader(_inflate(head.rest()) if is_small else head.rest())
    events: list[TraceEvent] = []
    budget = 0
    while not reader.exhausted:
        kind = reader.number()
        if kind >= len(_KINDS):
            raise ValueError("an event that this version does not know")
        if _KINDS[kind] is PackTraced:
            packed_at = round(at - reader.integer() / _TENTHS, 1)
            budget += reader.integer()
            events.append(_read_pack(reader)._replace(receipt=next(left, ""), at=packed_at, budget=budget))
        else:
            events.append(_READERS[_KINDS[kind]](reader))
    return tuple(events)


def _write_receipts(writer: Writer, texts: Sequence[str], path: Path, *, more: bool) -> None:
    """The digests of receipts: of one scope mostly; and a flag beside their number."""
    own = scope_digest(path)
    receipts = [Receipt.parse(each) if each else None for each in texts]
    is_alike = all(each is not None and each.scope == own for each in receipts)
    writer.number(len(receipts) * 4 + (not is_alike) * 2 + more)
    for each in receipts:
        if not is_alike:
            writer.number(each is not None)
        if each is not None:
            writer.data += each.digest if is_alike else each.scope + each.digest


def _read_receipts(reader: Reader, path: Path) -> tuple[list[str], bool]:
    count, flags = divmod(reader.number(), 4)
    own = scope_digest(path)
    receipts = []
    for _ in range(count):
        if flags & 2 and not reader.number():
            receipts.append("")
        else:
            scope = reader.take(SCOPE_BYTES) if flags & 2 else own
            receipts.append(str(Receipt(scope, reader.take(DIGEST_BYTES))))
    return receipts, bool(flags & 1)


def _deflate(data: bytes) -> bytes:
    small = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return small.compress(data) + small.flush()


def _inflate(data: bytes) -> bytes:
    try:
        return zlib.decompress(data, -zlib.MAX_WBITS)
    except zlib.error as exc:
        raise ValueError("it is not deflated") from exc


def _write_pack(writer: Writer, event: PackTraced) -> None:
    writer.number(event.tokens)
    _write_profile(writer, event.scoring)
    writer.raw(event.layout)
    # Where there is a layout, it tells of those without parts, and of all ids.
    recalled = [(place, each) for place, each in enumerate(event.recalled) if each.parts or not event.layout]
    names = list(dict.fromkeys(_order_parts(each.parts) for _, each in recalled))
    writer.number(len(names))
    for each in names:
        _write_names(writer, each)
    if names:
        writer.number(len(recalled))
    behind = 0
    for place, one in recalled:
        own = _order_parts(one.parts)
        writer.number((place - behind) * len(names) + names.index(own))
        behind = place + 1
        if not event.layout:
            writer.id(one.id)
        for name in own:
            writer.number(round(abs(one.parts[name]) * _HUNDREDTHS))


def _read_pack(reader: Reader) -> PackTraced:
    tokens, scoring, layout = reader.number(), _read_profile(reader), reader.raw()
    names = [_read_names(reader) for _ in range(reader.number())]
    recalled: list[RecallTraced] = []
    for _ in range(reader.number() if names else 0):
        away, kind = divmod(reader.number(), len(names))
        recalled += [RecallTraced("")] * away
        id = "" if layout else reader.id()
        parts = {name: sign * reader.number() / _HUNDREDTHS for name, sign in names[kind]}
        recalled.append(RecallTraced(id, parts))
    return PackTraced("", 0.0, tokens, 0, tuple(recalled), scoring, layout)


def _order_parts(parts: Mapping[str, float]) -> tuple[str, ...]:
    """The names of parts as they are told: those that take a bit in their order, then the others."""
    known = tuple(name for name in _PARTS if name in parts)
    return (*known, *(name for name in parts if name not in known))


def _write_names(writer: Writer, names: Sequence[str]) -> None:
    others = [name for name in names if name not in _PARTS]
    mask = sum(1 << place for place, name in enumerate(_PARTS) if name in names)
    writer.number(mask * 2 + bool(others))
    if others:
        writer.number(len(others))
        for name in others:
            writer.text(name)


def _read_names(reader: Reader) -> list[tuple[str, float]]:
    """Names of parts, and the signs of their values."""
    mask, has_others = divmod(reader.number(), 2)
    if mask >> len(_PARTS):
        raise ValueError("a part of a score that this version does not know")
    names = [name for place, name in enumerate(_PARTS) if mask >> place & 1]
    names += [reader.text() for _ in range(reader.number())] if has_others else []
    return [(name, -1.0 if name == _TAKEN_OFF else 1.0) for name in names]


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
    names = _order_parts(parts)
    _write_names(writer, names)
    for name in names:
        writer.real(parts[name])


def _read_parts(reader: Reader) -> dict[str, float]:
    return {name: reader.real() for name, _ in _read_names(reader)}


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
    before, found, after = event.to.partition(event.id) if event.id else ("", "", "")
    writer.number(bool(found))
    for each in (before, after) if found else (event.to,):
        writer.text(each)


def _read_promotion(reader: Reader) -> PromotionTraced:
    id = reader.id()
    to = f"{reader.text()}{id}{reader.text()}" if reader.number() else reader.text()
    return PromotionTraced(id, to)


def _write_rejection(writer: Writer, event: RejectionTraced) -> None:
    writer.word(event.store, _TYPES)
    writer.word(event.reason, _REASONS)
    writer.real(event.value)
    writer.real(event.minimum)


def _write_redaction(writer: Writer, event: RedactionTraced) -> None:
    writer.id(event.id)
    writer.number(len(event.counts))
    for kind, count in event.counts.items():
        writer.text(kind)
        writer.number(count)


def _read_redaction(reader: Reader) -> RedactionTraced:
    id = reader.id()
    return RedactionTraced(id, {reader.text(): reader.number() for _ in range(reader.number())})


def _write_route(writer: Writer, event: RouteTraced) -> None:
    writer.id(event.id)
    writer.word(event.store, _TYPES)
    writer.word(event.rule, _ROUTES)


def _write_consolidation(writer: Writer, event: ConsolidationTraced) -> None:
    writer.word(event.job, _JOBS)
    _write_ids(writer, event.ids)
    writer.id(event.into)


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
    RejectionTraced: (
        _write_rejection,
        lambda reader: RejectionTraced(reader.word(_TYPES), reader.word(_REASONS), reader.real(), reader.real()),
    ),
    RedactionTraced: (_write_redaction, _read_redaction),
    RouteTraced: (_write_route, lambda reader: RouteTraced(reader.id(), reader.word(_TYPES), reader.word(_ROUTES))),
    ConsolidationTraced: (
        _write_consolidation,
        lambda reader: ConsolidationTraced(reader.word(_JOBS), _read_ids(reader), reader.id()),
    ),
}
_KINDS = tuple(_CODECS)
_WRITERS = {kind: write for kind, (write, _) in _CODECS.items()}
_READERS = {kind: read for kind, (_, read) in _CODECS.items()}
