"""Layouts in few bytes: messages that follow one another are a range, places are told as differences."""

from collections.abc import Sequence
from typing import get_args

from wmem.codec.compact import Reader, Writer, to_integer, to_natural
from wmem.model.layout import (
    UNKNOWN,
    Copy,
    Cut,
    Layout,
    Mark,
    Profile,
    QuotePiece,
    Ref,
    RequestPiece,
    ScopeRef,
    SentPiece,
    Step,
    SummaryLine,
)

_VERSION = 1
_PROFILES: tuple[Profile, ...] = get_args(Profile)
_RULES = ("recalled", "pinned", "filled")
"""Why a quote is in a note; only ever added to at the end."""
_FLAGS = ("stable", "left_out")
_OWN, _OTHER, _ENTRY, _LIVE, _UNKNOWN = range(5)
_NO_CALL = 0


def encode_layout(layout: Layout) -> bytes:
    """The layout as bytes; equal layouts give equal bytes."""
    writer = Writer()
    writer.number(_VERSION)
    flags = [layout.roles == "alternate", layout.note_role == "system", *(getattr(layout, name) for name in _FLAGS)]
    flags += [layout.zone != "UTC", layout.system is not None, bool(layout.scopes)]
    flags += [bool(each) for each in (layout.requests, layout.quotes, layout.summary)]
    writer.number(
        sum(flag << place for place, flag in enumerate(flags)) * len(_PROFILES) + _PROFILES.index(layout.profile)
    )
    if layout.zone != "UTC":
        writer.text(layout.zone)
    if layout.system is not None:
        writer.data += layout.system.to_bytes(4, "big")
    if layout.scopes:
        _write_scopes(writer, layout.scopes)
    _write_messages(writer, layout.messages)
    refs = _RefWriter(writer)
    if layout.requests:
        writer.number(len(layout.requests))
        for request in layout.requests:
            refs.write(request.ref)
            writer.number(request.clause * 2 + request.dated)
    if layout.quotes:
        writer.number(len(layout.quotes))
        for quote in layout.quotes:
            _write_quote(writer, refs, quote)
    if layout.summary:
        writer.number(len(layout.summary))
        for line in layout.summary:
            refs.write(line.ref)
            _write_steps(writer, line.steps)
    return bytes(writer.data)


def decode_layout(data: bytes) -> Layout:
    """See `encode_layout`.

    Raises:
        ValueError: It is none, or of a later version.
    """
    reader = Reader(data)
    if reader.number() != _VERSION:
        raise ValueError("a layout of a later version")
    flags, profile = divmod(reader.number(), len(_PROFILES))
    alternate, system_role, stable, left_out, zone, system, scopes, requests, quotes, summary = (
        bool(flags >> place & 1) for place in range(10)
    )
    told_zone = reader.text() if zone else "UTC"
    told_system = int.from_bytes(reader.take(4), "big") if system else None
    told_scopes = _read_scopes(reader) if scopes else ()
    messages = _read_messages(reader)
    refs = _RefReader(reader)
    return Layout(
        profile=_PROFILES[profile],
        roles="alternate" if alternate else "free",
        note_role="system" if system_role else "user",
        stable=stable,
        left_out=left_out,
        zone=told_zone,
        system=told_system,
        scopes=told_scopes,
        messages=messages,
        requests=tuple(_read_request(reader, refs) for _ in range(reader.number())) if requests else (),
        quotes=tuple(_read_quote(reader, refs) for _ in range(reader.number())) if quotes else (),
        summary=tuple(SummaryLine(refs.read(), _read_steps(reader)) for _ in range(reader.number())) if summary else (),
    )


def _write_scopes(writer: Writer, scopes: Sequence[ScopeRef]) -> None:
    writer.number(len(scopes))
    for each in scopes:
        writer.number(len(each.path))
        for name in each.path:
            writer.id(name)
        writer.number(each.incarnation)


def _read_scopes(reader: Reader) -> tuple[ScopeRef, ...]:
    return tuple(
        ScopeRef(tuple(reader.id() for _ in range(reader.number())), reader.number()) for _ in range(reader.number())
    )


# -- references


class _RefWriter:
    """Writes references, places as differences from the one before."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._place = 0

    def write(self, ref: Ref, more: int = 0, size: int = 1) -> None:
        """A reference, and a number below `size` with it."""
        kind = _kind(ref)
        self._writer.number(kind * size + more)
        if kind == _OTHER:
            self._writer.number(ref.scope)
        if kind == _ENTRY:
            self._writer.number(ref.scope)
            self._writer.id(ref.id)
        elif kind == _LIVE:
            self._writer.number(ref.place)
        elif kind != _UNKNOWN:
            self._writer.integer(self.step(ref))

    def step(self, ref: Ref) -> int:
        """How far a row is from the one before."""
        step, self._place = ref.place - self._place, ref.place
        return step


class _RefReader:
    """Reads what a `_RefWriter` wrote."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._place = 0

    def read(self) -> Ref:
        """A reference."""
        return self.read_with(1)[0]

    def read_with(self, size: int, head: int | None = None) -> tuple[Ref, int]:
        """A reference, and the number below `size` with it; `head` is what it begins with, if that was read."""
        kind, more = divmod(self._reader.number() if head is None else head, size)
        return self._read(kind), more

    def move(self, step: int) -> Ref:
        """The row of the scope's own that is so far from the one before."""
        self._place += step
        return Ref("row", 0, self._place)

    def _read(self, kind: int) -> Ref:
        reader = self._reader
        if kind == _UNKNOWN:
            return UNKNOWN
        if kind == _LIVE:
            return Ref("live", place=reader.number())
        if kind > _UNKNOWN:
            raise ValueError("a reference that this version does not know")
        scope = 0 if kind == _OWN else reader.number()
        if kind == _ENTRY:
            return Ref("row", scope, id=reader.id())
        self._place += reader.integer()
        return Ref("row", scope, self._place)


def _kind(ref: Ref) -> int:
    if ref.kind != "row":
        return _LIVE if ref.kind == "live" else _UNKNOWN
    if not ref.place:
        return _ENTRY
    return _OTHER if ref.scope else _OWN


# -- messages


def _write_messages(writer: Writer, pieces: Sequence[SentPiece]) -> None:
    """The messages: an even number for so many whole ones in a row, an odd one for a single one that is not."""
    runs: list[list[SentPiece]] = []
    for piece in pieces:
        last = runs[-1][-1] if runs else None
        if _is_whole(piece) and last == piece._replace(ref=piece.ref._replace(place=piece.ref.place - 1)):
            runs[-1].append(piece)
        else:
            runs.append([piece])
    writer.number(len(runs))
    refs = _RefWriter(writer)
    due = 0
    for run in runs:
        piece = run[0]
        if _is_whole(piece):
            writer.number((len(run) * 2 + piece.bare) * 2)
            writer.integer(piece.ref.place - due)
            due = run[-1].ref.place + 1
        else:
            flags = (piece.bare, piece.calls is not None, piece.cut is not None, piece.interrupted is not None)
            writer.number(sum(flag << place for place, flag in enumerate(flags)) * 2 + 1)
            refs.write(piece.ref)
            _write_changes(writer, piece)


def _is_whole(piece: SentPiece) -> bool:
    return _kind(piece.ref) == _OWN and piece == SentPiece(piece.ref, piece.bare)


def _write_changes(writer: Writer, piece: SentPiece) -> None:
    if piece.calls is not None:
        _write_numbers(writer, piece.calls)
    if (cut := piece.cut) is not None:
        writer.number(cut.head)
        writer.number(cut.tail)
        writer.integer(cut.tokens)
        _write_numbers(writer, cut.media)
    if piece.interrupted is not None:
        writer.number(piece.interrupted)


def _write_numbers(writer: Writer, numbers: Sequence[int]) -> None:
    writer.number(len(numbers))
    for each in numbers:
        writer.number(each)


def _read_messages(reader: Reader) -> tuple[SentPiece, ...]:
    pieces: list[SentPiece] = []
    refs = _RefReader(reader)
    due = 0
    for _ in range(reader.number()):
        head, is_single = divmod(reader.number(), 2)
        if is_single:
            pieces.append(_read_piece(reader, refs.read(), head))
            continue
        size, bare = divmod(head, 2)
        start = due + reader.integer()
        due = start + size
        pieces += [SentPiece(Ref("row", 0, place), bool(bare)) for place in range(start, due)]
    return tuple(pieces)


def _read_piece(reader: Reader, ref: Ref, flags: int) -> SentPiece:
    bare, has_calls, has_cut, interrupted = (bool(flags >> place & 1) for place in range(4))
    calls = _read_numbers(reader) if has_calls else None
    cut = Cut(reader.number(), reader.number(), reader.integer(), _read_numbers(reader)) if has_cut else None
    return SentPiece(ref, bare, calls, cut, reader.number() if interrupted else None)


def _read_numbers(reader: Reader) -> tuple[int, ...]:
    return tuple(reader.number() for _ in range(reader.number()))


# -- the note


def _read_request(reader: Reader, refs: _RefReader) -> RequestPiece:
    ref = refs.read()
    clause, dated = divmod(reader.number(), 2)
    return RequestPiece(ref, clause, bool(dated))


def _write_quote(writer: Writer, refs: _RefWriter, quote: QuotePiece) -> None:
    """A quote: an even number for a whole one of the scope's own, how far it is from the one before."""
    if quote == QuotePiece(quote.ref) and _kind(quote.ref) == _OWN:
        writer.number(to_natural(refs.step(quote.ref)) * 2)
        return
    flags = (quote.excerpt is not None) + 2 * quote.superseded + 4 * (quote.times > 1) + 8 * (quote.calls is not None)
    refs.write(quote.ref, (flags + 16 * _RULES.index(quote.rule)) * 2 + 1, 32 * len(_RULES))
    if quote.times > 1:
        writer.number(quote.times)
    if quote.excerpt is not None:
        _write_steps(writer, quote.excerpt)
    if quote.calls is not None:
        _write_numbers(writer, quote.calls)


def _read_quote(reader: Reader, refs: _RefReader) -> QuotePiece:
    head = reader.number()
    if not head & 1:
        return QuotePiece(refs.move(to_integer(head >> 1)))
    ref, more = refs.read_with(32 * len(_RULES), head)
    rule, flags = divmod(more >> 1, 16)
    times = reader.number() if flags & 4 else 1
    excerpt = _read_steps(reader) if flags & 1 else None
    calls = _read_numbers(reader) if flags & 8 else None
    return QuotePiece(ref, excerpt, bool(flags & 2), times, _RULES[rule], calls)


def _write_steps(writer: Writer, steps: Sequence[Step]) -> None:
    """The steps; a copy as its length and how far it begins behind the one before."""
    writer.number(len(steps))
    behind = 0
    for step in steps:
        if isinstance(step, Copy):
            writer.number(step.length * 2)
            writer.integer(step.start - behind)
            behind = step.start + step.length
        else:
            writer.number((step.number * 32 + step.kind) * 2 + 1)


def _read_steps(reader: Reader) -> tuple[Step, ...]:
    steps: list[Step] = []
    behind = 0
    for _ in range(reader.number()):
        head, is_mark = divmod(reader.number(), 2)
        if is_mark:
            number, kind = divmod(head, 32)
            steps.append(Mark(kind, number))
        else:
            start = behind + reader.integer()
            behind = start + head
            steps.append(Copy(start, head))
    return tuple(steps)
