"""Layouts: what a prompt was rendered from, told in references, and rendered again through the code of a pack."""

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import tzinfo
from math import nan
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from wmem.model.layout import UNKNOWN, Cut, Layout, QuotePiece, Ref, RequestPiece, ScopeRef, SentPiece, SummaryLine
from wmem.model.message import Message
from wmem.model.standing import StandingRequest
from wmem.pack.assembly import Assembly, assemble, join_note
from wmem.pack.loader import to_interrupted_result, with_calls
from wmem.pack.provider_rules import RULES
from wmem.pack.ranges import copy_text, find_steps
from wmem.pack.render import (
    NoteEntry,
    format_day,
    mark_superseded,
    note_order,
    quote_block,
    render_note,
    render_requests,
    speaker_in_front,
)
from wmem.pack.repeats import repeat_entry
from wmem.pack.request import Candidate, Quote
from wmem.pack.selection import SelectedUnit, Selection
from wmem.pack.standing import StandingEntry
from wmem.pack.summary import ExtractiveSummary, summary_entry
from wmem.pack.truncation import cut_message
from wmem.pack.wording import call_in_words, message_text

_MIDDLE = 12  # characters of a line by which its source is found
_SENT_FIELDS = attrgetter("role", "parts", "tool_calls", "tool_call_id", "name", "id", "native", "metadata")
"""What of a message is sent; its times and its turn are not."""


class Source(NamedTuple):
    """Where a memory or a message is, or was: what a layout refers to.

    Attributes:
        message: Before it is cut, without what this pack leaves out of it; a plain item as a user's message.
        candidate: Its role, its instant and its place.
        requests: The standing requests that it makes.
    """

    ref: Ref
    message: Message
    candidate: Candidate
    requests: Sequence[StandingRequest] = ()


FindSources: TypeAlias = Callable[[Candidate], Sequence[Source]]
"""Where a candidate may be from, the most likely first."""
Load: TypeAlias = Callable[[Ref], Source]
"""What a reference refers to now."""


class PackedPrompt(NamedTuple):
    """What a prompt was made of, as its pack has it."""

    selection: Selection
    ordered: Sequence[SelectedUnit]
    left_out: bool

    def list_entries(self) -> list[NoteEntry]:
        """The entries of the note in their order, without a summary."""
        return sorted(self.selection.note_entries.values(), key=note_order)


# -- from a pack


class _Indifferent(NamedTuple):
    """A message that has no reasoning to be sent with or without."""

    piece: SentPiece


def build_layout(
    packed: PackedPrompt, find: FindSources, list_scopes: Callable[[], Sequence[ScopeRef]], zone_text: str
) -> Layout:
    """What a prompt was rendered from.

    Args:
        list_scopes: The scopes that the references of `find` number, once all were found.
        zone_text: The zone of the days in its note.
    """
    selection = packed.selection
    options, zone = selection.options, selection.request.zone
    messages = tuple(_level([piece for each in packed.ordered for piece in _describe_unit(each, find)]))
    requests = tuple(_describe_requests(selection.standing, find))
    quotes = tuple(_describe_quote(each, find, zone) for each in packed.list_entries())
    summary = () if selection.summary is None else tuple(_describe_summary(selection.summary, find))
    return Layout(
        profile=options.profile,
        roles=options.roles,
        note_role=options.note_role,
        stable=options.stable,
        left_out=packed.left_out,
        zone=zone_text,
        system=checksum(options.system) if options.system else None,
        scopes=tuple(list_scopes()),
        messages=messages,
        requests=requests,
        quotes=quotes,
        summary=summary,
    )


def checksum(text: str) -> int:
    """32 bits that tell whether a text is the same."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def _level(pieces: Iterable[SentPiece | _Indifferent]) -> Iterator[SentPiece]:
    """The pieces; those that have no reasoning are without it where the one before is, so that alike ones follow."""
    bare = False
    for piece in pieces:
        if isinstance(piece, _Indifferent):
            yield piece.piece._replace(bare=bare)
        else:
            bare = piece.bare
            yield piece


def _describe_unit(selected: SelectedUnit, find: FindSources) -> Iterator[SentPiece | _Indifferent]:
    members, (messages, *_) = selected.unit.members, selected.rendered
    cuts = selected.rendered.cuts or (None,) * len(members)
    head = UNKNOWN
    calls: Sequence[str] = ()
    for member, sent, cut in zip(members, messages, cuts, strict=False):
        piece, source = _describe_message(sent, cut, find(member))
        if member is members[0] and source is not None:
            head, calls = piece.ref, [call.id for call in source.message.tool_calls]
        is_plain = source is not None and not _has_reasoning(source.message)
        yield _Indifferent(piece) if is_plain else piece
    for sent in messages[len(members) :]:
        known = sent.tool_call_id in calls
        yield SentPiece(head, interrupted=calls.index(sent.tool_call_id or "")) if known else SentPiece(UNKNOWN)


def _describe_message(sent: Message, cut: Cut | None, sources: Sequence[Source]) -> tuple[SentPiece, Source | None]:
    """How a message that was sent is made of its source; of an unknown one if none of them gives it."""
    for source in sources:
        whole = source.message
        calls = _number_calls(sent, whole)
        for bare in (False, True) if _has_reasoning(whole) else (False,):
            piece = SentPiece(source.ref, bare, calls, cut)
            if _is_same(_apply(piece, whole), sent):
                return piece, source
    return SentPiece(UNKNOWN), None


def _number_calls(sent: Message, whole: Message) -> tuple[int, ...] | None:
    """The numbers of the calls that a message was sent with; None for all."""
    if len(sent.tool_calls) == len(whole.tool_calls):
        return None
    ids = {call.id for call in sent.tool_calls}
    return tuple(number for number, call in enumerate(whole.tool_calls) if call.id in ids)


def _number_calls_in_words(block: str, message: Message) -> tuple[int, ...]:
    """The numbers of the calls that a quote tells of: those without results may be left out, each time others."""
    numbers, behind = [], 0
    for number, call in enumerate(message.tool_calls):
        words = quote_block(call_in_words(call)).removeprefix("> ")
        place = block.find(words, behind)
        if place >= 0:
            numbers.append(number)
            behind = place + len(words)
    return tuple(numbers)


def _has_reasoning(message: Message) -> bool:
    return any(part.kind == "reasoning" for part in message.parts)


def _is_same(message: Message, sent: Message) -> bool:
    return message is sent or bool(_SENT_FIELDS(message) == _SENT_FIELDS(sent))


def _describe_requests(standing: Iterable[StandingEntry], find: FindSources) -> Iterator[RequestPiece]:
    for entry in standing:
        dated = entry.at == entry.at  # NaN is not equal to itself
        for request in entry.requests:
            found = [
                RequestPiece(source.ref, clause, dated)
                for source in find(entry.candidate)
                for clause, each in enumerate(source.requests)
                if each.text == request.text
            ]
            yield found[0] if found else RequestPiece(UNKNOWN, 0, dated)


def _describe_quote(entry: NoteEntry, find: FindSources, zone: tzinfo) -> QuotePiece:
    for source in find(entry.candidate):
        steps = None
        ways: tuple[tuple[int, ...] | None, ...] = (None,)
        if entry.excerpt is not None:
            steps = find_steps(entry.excerpt, message_text(source.message))
            if steps is None:
                continue
        elif source.message.tool_calls:
            ways = (None, _number_calls_in_words(entry.quote.block, source.message))
        for calls in dict.fromkeys(ways):
            piece = QuotePiece(source.ref, steps, entry.superseded, entry.times, entry.rule, calls)
            if _quote(piece, source, 0, zone).quote.block == entry.quote.block:
                return piece
    return QuotePiece(UNKNOWN, rule=entry.rule)


def _describe_summary(summary: ExtractiveSummary, find: FindSources) -> Iterator[SummaryLine]:
    spoken = [(source.ref, _speaker_text(source)) for each in summary.candidates for source in find(each)]
    for line in summary.text.split("\n"):
        # Those that have its middle first: the others are read only if none of these says it.
        middle = line[len(line) // 3 :][:_MIDDLE]
        ordered = sorted(spoken, key=lambda each: middle not in each[1])
        ways = ((ref, find_steps(line, text)) for ref, text in ordered)
        yield next((SummaryLine(ref, steps) for ref, steps in ways if steps is not None), SummaryLine(UNKNOWN, ()))


def _speaker_text(source: Source) -> str:
    """What a message says, behind its speaker."""
    return f"{source.message.name or source.message.role}: {message_text(source.message)}"


# -- to a prompt


def list_refs(layout: Layout) -> list[Ref]:
    """What the layout refers to, each once, in the order of the prompt."""
    pieces = (layout.messages, layout.requests, layout.quotes, layout.summary)
    return list(dict.fromkeys(piece.ref for each in pieces for piece in each))


class RenderedPrompt(NamedTuple):
    """A prompt that was rendered from a layout."""

    note: str
    assembly: Assembly


def render_layout(layout: Layout, load: Load, zone: tzinfo) -> RenderedPrompt:
    """The prompt that a layout tells of, without its system text.

    Args:
        load: Loads all that `list_refs` names.
    """
    clauses = []
    for piece in layout.requests:
        source = load(piece.ref)
        if piece.clause < len(source.requests):
            clauses.append((source.candidate.at if piece.dated else nan, source.requests[piece.clause].text))
    entries = [_quote(piece, load(piece.ref), place, zone) for place, piece in enumerate(layout.quotes)]
    if layout.summary:
        entries.insert(0, _summarize(layout.summary, load))
    note = join_note(
        render_requests(clauses, zone) if clauses else "",
        render_note(entries, zone) if entries else "",
    )
    rules = RULES[layout.profile]
    assembly = assemble(
        rules.alternating() if layout.roles == "alternate" else rules,
        [_render_message(piece, load(piece.ref).message) for piece in layout.messages],
        has_note=bool(note),
        note_role=layout.note_role,
        stable=layout.stable,
        left_out=layout.left_out,
    )
    return RenderedPrompt(note, assembly)


def _render_message(piece: SentPiece, message: Message) -> Message:
    if piece.interrupted is None:
        return _apply(piece, message)
    calls = message.tool_calls
    return to_interrupted_result(calls[piece.interrupted].id if piece.interrupted < len(calls) else "")


def _apply(piece: SentPiece, message: Message) -> Message:
    if piece.bare:
        message = message.without_reasoning()
    if piece.calls is not None:
        message = _with_numbered(message, piece.calls)
    return message if piece.cut is None else cut_message(message, piece.cut)


def _with_numbered(message: Message, numbers: Iterable[int]) -> Message:
    calls = message.tool_calls
    return with_calls(message, [calls[number] for number in numbers if number < len(calls)])


def _quote(piece: QuotePiece, source: Source, place: int, zone: tzinfo) -> NoteEntry:
    """A memory as an entry of a note; nothing is counted."""
    candidate, message = source.candidate._replace(place=place), source.message
    if piece.calls is not None:
        message = _with_numbered(message, piece.calls)
    text = message_text(message)
    if piece.excerpt is not None:
        text = copy_text(piece.excerpt, text)
    block = quote_block(f"{speaker_in_front(candidate, message)}{text}")
    entry = NoteEntry(candidate, Quote(format_day(candidate.at, zone), block, "", 0), 0, piece.rule)
    if piece.superseded:
        entry = mark_superseded(entry, _count_nothing)
    return repeat_entry(entry, piece.times, _count_nothing)


def _summarize(lines: Iterable[SummaryLine], load: Load) -> NoteEntry:
    text = "\n".join(copy_text(line.steps, _speaker_text(load(line.ref))) for line in lines)
    return summary_entry(text, _count_nothing)


class _NoCounter:
    """Counts nothing: what a layout tells of was counted when it was packed."""

    name = "nothing"

    def __call__(self, _text: str, /) -> int:
        return 0


_count_nothing = _NoCounter()
