"""Layouts and traces read back as themselves, and excerpts are ranges of what they are excerpts of."""

from contextlib import suppress
from itertools import chain
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from wmem.analysis.sentences import GAP
from wmem.codec.layouts import decode_layout, encode_layout
from wmem.codec.traces import decode_events, encode_events
from wmem.model.layout import (
    UNKNOWN,
    Copy,
    Cut,
    Layout,
    Mark,
    QuotePiece,
    Ref,
    RequestPiece,
    ScopeRef,
    SentPiece,
    SummaryLine,
)
from wmem.model.message import Message
from wmem.model.recall_profile import RecallProfile
from wmem.model.receipt import Receipt, scope_digest
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
)
from wmem.pack.passage import LongText, PassageTerms, passage
from wmem.pack.ranges import copy_text, cut_mark, find_steps, times_mark
from wmem.pack.truncation import cut_message, truncate_message, truncate_text
from wmem.tokens.estimate import EstimateCounter

PATH = ("agent", "session")
COUNT = EstimateCounter()
SMALL = st.integers(0, 300)
TEXTS = st.text(max_size=200)
WORDS = st.lists(
    st.sampled_from(("ship ", "port 7. ", "goes\n", "to\t", "the ", "harbour! ", "日本。", "🦊 ")), max_size=60
).map("".join)
IDS = (
    st.text(max_size=12)
    | st.uuids().map(str)
    | st.just("01JDWXYZ0123456789ABCDEFGH")
    | st.uuids().map("run--{}-0".format)
)
REFS = (
    st.builds(lambda scope, place: Ref("row", scope, place), st.integers(0, 3), st.integers(-50, 2_000).filter(bool))
    | st.builds(lambda scope, entry: Ref("row", scope, id=entry), st.integers(0, 3), IDS)
    | st.builds(lambda place: Ref("live", place=place), SMALL)
    | st.just(UNKNOWN)
)
NUMBERS = st.lists(SMALL, max_size=3).map(tuple)
STEPS = st.lists(st.builds(Copy, SMALL, SMALL) | st.builds(Mark, st.integers(0, 20), SMALL), max_size=5).map(tuple)
PIECES = st.builds(
    SentPiece,
    REFS,
    st.booleans(),
    st.none() | NUMBERS,
    st.none() | st.builds(Cut, SMALL, SMALL, st.integers(-1, 900), NUMBERS),
    st.none() | st.integers(0, 5),
)
RUNS = st.builds(
    lambda start, size, bare: [SentPiece(Ref("row", 0, place), bare) for place in range(start, start + size)],
    st.integers(1, 900),
    st.integers(0, 40),
    st.booleans(),
)
LAYOUTS = st.builds(
    Layout,
    profile=st.sampled_from(("any", "openai", "anthropic", "gemini", "mistral", "bedrock")),
    roles=st.sampled_from(("free", "alternate")),
    note_role=st.sampled_from(("user", "system")),
    stable=st.booleans(),
    left_out=st.booleans(),
    zone=st.sampled_from(("UTC", "Europe/Berlin", "+7200.000000 CEST", "")),
    system=st.none() | st.integers(0, 2**32 - 1),
    scopes=st.lists(st.builds(ScopeRef, st.lists(IDS, max_size=3).map(tuple), st.integers(0, 2**52)), max_size=3).map(
        tuple
    ),
    messages=st.lists(RUNS | PIECES.map(lambda piece: [piece]), max_size=5).map(
        lambda runs: tuple(chain.from_iterable(runs))
    ),
    requests=st.lists(st.builds(RequestPiece, REFS, st.integers(0, 9), st.booleans()), max_size=3).map(tuple),
    quotes=st.lists(
        st.builds(
            QuotePiece,
            REFS,
            st.none() | STEPS,
            st.booleans(),
            st.integers(1, 9),
            st.sampled_from(("recalled", "pinned", "filled")),
            st.none() | NUMBERS,
        ),
        max_size=6,
    ).map(tuple),
    summary=st.lists(st.builds(SummaryLine, REFS, STEPS), max_size=3).map(tuple),
)
PARTS = st.dictionaries(
    st.sampled_from(("bm25", "near", "x user", "duplication", "another")),
    st.integers(0, 500).map(lambda n: n / 100),
    max_size=4,
).map(lambda parts: {name: -value if name == "duplication" else value for name, value in parts.items()})
RECEIPTS = st.binary(min_size=6, max_size=6).map(lambda digest: str(Receipt(scope_digest(PATH), digest)))
PACKS = st.builds(
    PackTraced,
    receipt=RECEIPTS
    | st.just("")
    | st.binary(min_size=12, max_size=12).map(lambda raw: str(Receipt(raw[:6], raw[6:]))),
    at=st.integers(0, 10**6).map(lambda tenths: tenths / 10),
    tokens=SMALL,
    budget=SMALL,
    recalled=st.lists(st.builds(RecallTraced, IDS, PARTS), max_size=4).map(tuple),
    layout=st.just(b""),
    scoring=st.sampled_from(
        (None, RecallProfile.evidence(), RecallProfile.balanced(), RecallProfile.evidence(recency=0.3))
    ),
)
NAMES = st.sampled_from(("semantic", "novelty", "knowledge-type", "purge", "my own"))
EVENTS = st.lists(
    PACKS
    | st.builds(ToolCallTraced, IDS, st.booleans(), SMALL)
    | st.builds(MemorizeTraced, IDS, st.sampled_from(("semantic", "my own")))
    | st.builds(ForgetTraced, st.lists(IDS, max_size=3).map(tuple), st.booleans())
    | st.builds(
        EvictionTraced, IDS, st.sampled_from(("stale", "another")), SMALL, st.just({"age_s": 86_400.5, "own": 2.0})
    )
    | st.builds(ExpiryTraced, st.lists(IDS, max_size=3).map(tuple))
    | st.builds(PromotionTraced, IDS, IDS)
    | st.builds(
        RejectionTraced, NAMES, NAMES, st.integers(0, 64).map(lambda n: n / 64), st.integers(0, 8).map(lambda n: n / 8)
    )
    | st.builds(RedactionTraced, IDS, st.dictionaries(NAMES, SMALL, max_size=3))
    | st.builds(RouteTraced, IDS, NAMES, NAMES)
    | st.builds(ConsolidationTraced, NAMES, st.lists(IDS, max_size=3).map(tuple), IDS),
    max_size=5,
).map(tuple)


@given(layout=LAYOUTS)
def test_a_layout_reads_back_as_itself(layout: Layout) -> None:
    assert decode_layout(encode_layout(layout)) == layout


@given(layout=LAYOUTS, cut=st.integers(0, 400))
def test_a_layout_that_was_cut_is_refused(layout: Layout, cut: int) -> None:
    data = encode_layout(layout)
    if cut < len(data):
        with suppress(ValueError, LookupError):
            assert decode_layout(data[:cut]) != layout


@given(events=EVENTS)
def test_events_read_back_as_themselves(events: tuple[Any, ...]) -> None:
    at = 200_000.0
    assert decode_events(encode_events(events, PATH, at), PATH, at) == events


@given(source=TEXTS | WORDS, cuts=st.lists(st.tuples(SMALL, SMALL), max_size=5), times=st.integers(2, 40))
def test_pieces_of_a_text_with_marks_between_them_are_found_in_it(
    source: str, cuts: list[tuple[int, int]], times: int
) -> None:
    pieces = [source[start : start + size] for start, size in cuts]
    text = f" {GAP} ".join(pieces) + f" {cut_mark(times)} {times_mark(times)}"
    steps = find_steps(text, source)
    assert steps is not None
    assert copy_text(steps, source) == text


@given(
    source=WORDS,
    terms=st.lists(st.sampled_from(("ship", "port", "harbour", "日本")), max_size=3),
    tokens=st.integers(1, 40),
)
def test_a_passage_and_a_cut_text_are_ranges_of_their_text(source: str, terms: list[str], tokens: int) -> None:
    found = passage(LongText(source, COUNT), PassageTerms.of(terms), tokens)
    head, tail, _ = truncate_text(source, tokens, COUNT)
    for text in (found.text if found else "", f"{head} {cut_mark(7)} {tail}".rstrip()):
        steps = find_steps(text, source)
        assert steps is not None
        assert copy_text(steps, source) == text


@given(text=TEXTS | WORDS, room=st.integers(0, 120))
def test_a_message_is_cut_again_as_it_was_cut(text: str, room: int) -> None:
    message = Message.of("tool", text * 3, id="m", tool_call_id="c")
    made = truncate_message(message, 500, room, COUNT)
    assert cut_message(message, made.cut) == made.message


@given(text=TEXTS.filter(lambda text: len(text) > 3), source=TEXTS)
def test_what_is_no_excerpt_is_told_to_be_none_or_is_made_of_the_source(text: str, source: str) -> None:
    steps = find_steps(text, source)
    assert steps is None or copy_text(steps, source) == text
