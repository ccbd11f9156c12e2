"""What was written reads back as itself, and what was damaged by a single bit never reads as anything."""

import json
from collections.abc import Mapping
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmem.codec import codec as codec_module
from wmem.codec.codec import FORMAT_VERSION, Codec, IdentityCodec, JsonCodec, _frame_json
from wmem.codec.encryption import AesCodec
from wmem.codec.frame import frame_payload, location_checksum
from wmem.codec.keyring import KeyRing
from wmem.errors import CorruptionError, StoreError, WmemError
from wmem.model.change import (
    CHANGE_TYPES,
    Change,
    Checkpoint,
    Cleared,
    ClearedScope,
    ClearIntended,
    Decided,
    Decision,
    DecisionKind,
    EndedScope,
    Erased,
    IntentReached,
    ItemEvicted,
    ItemExpired,
    ItemPromoted,
    ItemPut,
    ItemRemoved,
    ItemTouched,
    MessagesRestored,
    MessagesWithdrawn,
    Places,
    PolicyChanged,
    RestoreIntended,
    RestorePrepared,
    RowPlace,
    ScopeContent,
    ScopeDisposed,
    ScopeMerged,
    ScopeOpened,
    ScopeReplaced,
    StepAdvanced,
    TurnEnded,
    TurnTraced,
)
from wmem.model.history import Cursor, Path
from wmem.model.row import Row
from wmem.model.standing import StandingRequest

NOON = 1_764_288_000.0
PATH: Path = ("agent", "session")
RECORD_ID = 2**63 - 1
UPTO = Cursor(7, 2**52 - 1)
CODEC = JsonCodec()
CODECS: Mapping[str, Codec[bytes]] = {"json": CODEC, "aes": AesCodec(KeyRing(b"\xa5" * 32))}

# Lone surrogates included: a text of Python may hold them, and tags and metadata take any text.
TEXT = st.text(st.characters(exclude_categories=()), max_size=12)
INSTANT = st.floats(allow_nan=False, allow_infinity=False)
WHOLE = st.integers(0, 2**53)
PATHS: st.SearchStrategy[Path] = st.lists(TEXT, min_size=1, max_size=4).map(tuple)
CURSORS = st.builds(Cursor, WHOLE, WHOLE)
PARTS = st.dictionaries(TEXT, st.floats(0, 1), max_size=3)


def optional(known: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | known


ROWS = st.builds(
    Row,
    id=TEXT,
    content=st.binary(max_size=40),
    created_at=INSTANT,
    updated_at=INSTANT,
    key=optional(TEXT),
    role=optional(TEXT),
    type=TEXT,
    priority=st.sampled_from(("low", "medium", "high", "critical")),
    tags=st.lists(TEXT, max_size=3).map(tuple),
    importance=optional(st.floats(0, 1)),
    step_index=optional(WHOLE),
    length=WHOLE,
    tokens=optional(WHOLE),
    counter=optional(TEXT),
    pinned=st.booleans(),
    expires_at=optional(INSTANT),
    deleted_at=optional(INSTANT),
    turn_id=optional(TEXT),
    calls=st.lists(TEXT, max_size=3).map(tuple),
    access_count=WHOLE,
    last_accessed_at=optional(INSTANT),
    promoted_to=optional(TEXT),
    promoted_at=optional(INSTANT),
    rest=optional(st.binary(max_size=20)),
    reasoning=WHOLE,
    standing=st.lists(st.builds(StandingRequest, TEXT, TEXT), max_size=2).map(tuple),
    withdrawn_at=optional(INSTANT),
)
# What is traced is told to the millisecond, and kept for whole seconds.
TRACED = st.builds(
    TurnTraced,
    TEXT | st.just("01JDWXYZ0123456789ABCDEFGH") | st.uuids().map("run--{}-0".format),
    st.integers(-(2**42), 2**42).map(lambda ms: ms / 1_000),
    st.binary(max_size=9),
    st.integers(0, 2**31).map(float),
    WHOLE,
    WHOLE,
)
NUMBERS = st.lists(st.tuples(WHOLE, WHOLE), max_size=2).map(tuple)
ROW_PLACES = st.builds(
    Places,
    NUMBERS,
    NUMBERS,
    st.tuples(WHOLE, WHOLE),
    st.lists(st.tuples(st.integers(-9, 9), TEXT), max_size=2).map(tuple),
    st.just(()),
)
PLACES = st.lists(st.builds(RowPlace, PATHS, WHOLE, TEXT), max_size=2).map(tuple)
OF_EACH: dict[type, st.SearchStrategy[Change]] = {
    ItemPut: st.builds(ItemPut, ROWS),
    ItemRemoved: st.builds(ItemRemoved, TEXT, optional(INSTANT)),
    ItemTouched: st.builds(ItemTouched, TEXT, WHOLE, INSTANT),
    ItemExpired: st.builds(ItemExpired, TEXT, optional(INSTANT)),
    ItemPromoted: st.builds(ItemPromoted, TEXT, TEXT, INSTANT, TEXT, optional(PARTS)),
    Decided: st.builds(Decided, st.sampled_from(get_args(DecisionKind)), TEXT, TEXT, WHOLE, INSTANT, PARTS, TEXT),
    ItemEvicted: st.builds(ItemEvicted, TEXT, TEXT, WHOLE, INSTANT, PARTS),
    Erased: st.builds(Erased, st.lists(TEXT, max_size=3).map(tuple), optional(PLACES)),
    MessagesWithdrawn: st.builds(MessagesWithdrawn, st.lists(TEXT, max_size=3).map(tuple), INSTANT),
    MessagesRestored: st.builds(MessagesRestored, st.lists(TEXT, max_size=3).map(tuple), INSTANT),
    ScopeOpened: st.builds(ScopeOpened, TEXT, INSTANT),
    ScopeDisposed: st.builds(ScopeDisposed, WHOLE, INSTANT),
    Cleared: st.builds(Cleared, TEXT, WHOLE, INSTANT),
    PolicyChanged: st.builds(PolicyChanged, TEXT, INSTANT),
    ScopeMerged: st.builds(ScopeMerged, PATHS, CURSORS, WHOLE, INSTANT, st.booleans(), st.booleans()),
    StepAdvanced: st.builds(StepAdvanced, WHOLE, INSTANT),
    TurnEnded: st.builds(TurnEnded, TEXT, INSTANT),
    TurnTraced: TRACED,
}
CHECKPOINTS = st.builds(
    Checkpoint,
    rows=st.lists(ROWS, max_size=4).map(tuple),
    policy=optional(TEXT),
    disposed=st.booleans(),
    applied=st.lists(st.integers(0, 2**63 - 1), max_size=4).map(tuple),
    merged=st.lists(st.tuples(st.tuples(PATHS, st.booleans(), st.booleans()), CURSORS), max_size=2).map(tuple),
    decisions=st.lists(st.builds(Decision, TEXT, TEXT, WHOLE, INSTANT, PARTS), max_size=2).map(tuple),
    erased=st.lists(TEXT, max_size=3).map(tuple),
    step=WHOLE,
    renewed_at=INSTANT,
    unfinished=st.lists(st.builds(Erased, st.lists(TEXT, max_size=2).map(tuple), PLACES), max_size=2).map(tuple),
    turns=st.lists(TEXT, max_size=2).map(tuple),
    places=optional(ROW_PLACES),
    traces=st.lists(TRACED, max_size=2).map(tuple),
    identity=WHOLE,
    replaces=st.lists(WHOLE, max_size=2).map(tuple),
    intent=WHOLE,
)
OF_EACH |= {
    ScopeReplaced: st.builds(ScopeReplaced, CHECKPOINTS, INSTANT),
    IntentReached: st.builds(IntentReached, WHOLE, INSTANT),
    RestoreIntended: st.builds(
        RestoreIntended,
        WHOLE,
        INSTANT,
        st.lists(st.builds(ScopeContent, PATHS, CHECKPOINTS), max_size=2).map(tuple),
    ),
    ClearIntended: st.builds(
        ClearIntended,
        WHOLE,
        INSTANT,
        st.lists(st.builds(ClearedScope, PATHS, st.lists(TEXT, max_size=2).map(tuple)), max_size=2).map(tuple),
    ),
    RestorePrepared: st.builds(
        RestorePrepared,
        WHOLE,
        st.lists(
            st.builds(
                EndedScope,
                PATHS,
                WHOLE,
                st.lists(WHOLE, max_size=2).map(tuple),
                st.lists(TEXT, max_size=2).map(tuple),
            ),
            max_size=2,
        ).map(tuple),
    ),
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)

SAMPLE: tuple[Change, ...] = (
    ScopeOpened("{}", NOON),
    ItemPut(Row("message", b'{"role":"user"}', NOON, NOON, role="user", tags=("a", "b"), rest=b"{}")),
    ItemTouched("item", 3, NOON),
    ScopeMerged((*PATH, "child"), Cursor(3, 4), 5, NOON, overwrite=True, with_items=False),
)
KEPT = Checkpoint(
    rows=(SAMPLE[1].row,),
    policy="{}",
    disposed=False,
    applied=(1, 2),
    merged=((((*PATH, "child"), True, False), Cursor(3, 4)),),
    decisions=(Decision("item", "stale", 5, NOON, {"importance": 0.1}),),
    erased=("gone",),
    step=4,
    unfinished=(Erased(("gone",), (RowPlace(("s",), 5, "there"),)),),
)
RECORD = CODEC.encode_record(SAMPLE, PATH, RECORD_ID)
REST = CODEC.encode_checkpoint(KEPT, PATH, UPTO)

EACH = pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)


def test_every_kind_of_change_is_drawn() -> None:
    assert set(OF_EACH) == set(CHANGE_TYPES)


@EACH
@given(changes=st.lists(st.one_of(*OF_EACH.values()), max_size=5).map(tuple), path=PATHS, record_id=WHOLE)
def test_a_record_reads_back_as_itself(
    codec: Codec[bytes], changes: tuple[Change, ...], path: Path, record_id: int
) -> None:
    read = codec.decode_record(codec.encode_record(changes, path, record_id), path, record_id)
    assert read == changes
    # A value that equals another of another type (0 and False, () and []) must come back as it was.
    assert repr(read) == repr(changes)


@EACH
@given(kept=CHECKPOINTS, path=PATHS, upto=CURSORS)
def test_a_checkpoint_reads_back_as_itself(codec: Codec[bytes], kept: Checkpoint, path: Path, upto: Cursor) -> None:
    read = codec.decode_checkpoint(codec.encode_checkpoint(kept, path, upto), path, upto)
    assert read == kept
    assert repr(read) == repr(kept)


@given(changes=st.lists(st.one_of(*OF_EACH.values()), max_size=5).map(tuple), kept=CHECKPOINTS)
def test_in_process_memory_changes_are_kept_as_they_are(changes: tuple[Change, ...], kept: Checkpoint) -> None:
    plain = IdentityCodec()
    assert plain.decode_record(plain.encode_record(changes, PATH, 1), PATH, 1) == changes
    assert plain.decode_checkpoint(plain.encode_checkpoint(kept, PATH, UPTO), PATH, UPTO) is kept
    assert plain.size(changes) > 0
    assert plain.size(kept) > sum(len(row.content) for row in kept.rows)


def refuses(payload: bytes, reads: Any, place: Any) -> None:
    """It is told to be damaged: neither read, nor taken for the work of a newer version."""
    with pytest.raises(CorruptionError, match="left where it is"):
        reads(payload, PATH, place)


BOTH = pytest.mark.parametrize(
    ("payload", "reads", "place"),
    [
        pytest.param(*case, id=f"{name}-{kind}")
        for name, codec in CODECS.items()
        for kind, case in {
            "record": (codec.encode_record(SAMPLE, PATH, RECORD_ID), codec.decode_record, RECORD_ID),
            "checkpoint": (codec.encode_checkpoint(KEPT, PATH, UPTO), codec.decode_checkpoint, UPTO),
        }.items()
    ],
)


@BOTH
def test_no_flipped_bit_is_ever_read(payload: bytes, reads: Any, place: Any) -> None:
    for at in range(len(payload)):
        for bit in range(8):
            flipped = bytearray(payload)
            flipped[at] ^= 1 << bit
            refuses(bytes(flipped), reads, place)


@BOTH
def test_no_changed_byte_is_ever_read(payload: bytes, reads: Any, place: Any) -> None:
    for at in range(len(payload)):
        for byte in b"\n 0129afwZ\x00\xff{}[],":
            if payload[at] != byte:
                refuses(payload[:at] + bytes([byte]) + payload[at + 1 :], reads, place)


@BOTH
def test_nothing_that_was_cut_or_grew_is_ever_read(payload: bytes, reads: Any, place: Any) -> None:
    for at in range(len(payload)):
        refuses(payload[:at], reads, place)
        refuses(payload[at:] if at else b"", reads, place)
        refuses(payload[:at] + payload[at + 1 :], reads, place)
        refuses(payload[:at] + b" " + payload[at:], reads, place)
    refuses(payload + b"\n", reads, place)


@EACH
@given(foreign=st.tuples(st.sampled_from((b"", b"wmem 2 ", b"wmem-aes 1 ")), st.binary(max_size=60)).map(b"".join))
def test_foreign_bytes_are_never_read(codec: Codec[bytes], foreign: bytes) -> None:
    refuses(foreign, codec.decode_record, RECORD_ID)


@EACH
@given(path=PATHS, record_id=WHOLE)
def test_a_record_is_refused_anywhere_but_in_its_place(codec: Codec[bytes], path: Path, record_id: int) -> None:
    refuses(codec.encode_record(SAMPLE, path, RECORD_ID), codec.decode_record, record_id)
    refuses(codec.encode_record(SAMPLE, PATH, RECORD_ID), codec.decode_record, record_id)


@EACH
def test_a_record_and_a_checkpoint_are_refused_as_each_other(codec: Codec[bytes]) -> None:
    refuses(codec.encode_record(SAMPLE, PATH, RECORD_ID), codec.decode_checkpoint, Cursor(1, RECORD_ID))
    refuses(codec.encode_checkpoint(KEPT, PATH, UPTO), codec.decode_record, UPTO.chain)


def test_no_two_places_with_like_segments_share_aseal() -> None:
    places = [("a", "b"), ("a/b",), ("ab",), ("a", "", "b"), ('a","b',), ("a", "b", "1"), ("b", "a"), ("A", "b")]
    assert len({location_checksum(place, 1) for place in places}) == len(places)
    assert location_checksum(("a", "1"), 2) != location_checksum(("a",), 12)


@EACH
@pytest.mark.parametrize("version", [FORMAT_VERSION + 1, 10, 999])
def test_an_intact_payload_of_a_newer_version_says_to_upgrade(
    codec: Codec[bytes], version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codec_module, "FORMAT_VERSION", version)
    record = codec.encode_record(SAMPLE, PATH, RECORD_ID)
    rest = codec.encode_checkpoint(Checkpoint((), None, False, (), (), (), ()), PATH, UPTO)
    monkeypatch.undo()
    for reads in (
        lambda: codec.decode_record(record, PATH, RECORD_ID),
        lambda: codec.decode_checkpoint(rest, PATH, UPTO),
    ):
        with pytest.raises(StoreError, match=f"format {version}.*upgrade") as refused:
            reads()
        assert not isinstance(refused.value, CorruptionError)
    # What was damaged is damaged, whichever version wrote it.
    refuses(record[:-1], codec.decode_record, RECORD_ID)


@given(told=JSON, body=st.binary(max_size=10))
def test_an_intact_payload_that_says_nothing_sensible_gets_the_typed_error(told: Any, body: bytes) -> None:
    payload = _frame_json(told, [body], location_checksum(PATH, RECORD_ID))
    try:
        CODEC.decode_record(payload, PATH, RECORD_ID)
    except WmemError as refused:
        assert isinstance(refused, CorruptionError)  # noqa: PT017  # what it is, if it is refused
    kept = _frame_json(told, [body], location_checksum(PATH, UPTO.chain))
    with pytest.raises(CorruptionError):
        CODEC.decode_checkpoint(kept, PATH, UPTO)


@pytest.mark.parametrize("told", [["text"], [5], [None], {"rows": [5]}])
def test_an_intact_record_of_another_shape_is_damaged(told: Any) -> None:
    refuses(_frame_json(told, [], location_checksum(PATH, RECORD_ID)), CODEC.decode_record, RECORD_ID)


@pytest.mark.parametrize(
    "told",
    [
        5,
        None,
        [["ItemPut"]],
        [{}],
        [{"change": "Nonsense"}],
        [{"change": "ItemPut"}],
        [{"change": "ItemRemoved", "name": "x"}],
    ],
)
def test_an_intact_record_of_no_known_change_is_damaged(told: Any) -> None:
    refuses(_frame_json(told, [], location_checksum(PATH, RECORD_ID)), CODEC.decode_record, RECORD_ID)


@pytest.mark.parametrize(
    "head", [b"", b"wmem ", b"wmem x ", b"wmem 2 3 ", b"wmem -1 ", b"wmem 2", b"wmem %s " % (b"9" * 5000)]
)
def test_an_intact_payload_with_a_foreign_head_is_damaged(head: bytes) -> None:
    refuses(frame_payload(head, b"[]\n", location_checksum(PATH, RECORD_ID)), CODEC.decode_record, RECORD_ID)


def test_a_checkpoint_of_the_format_that_knew_no_steps_stands_at_none() -> None:
    told = json.loads(REST.split(b"\n")[1])
    del told["step"]
    body = json.dumps(told).encode() + b"\n" + REST.split(b"\n", 2)[2]
    older = frame_payload(b"wmem 1 ", body, location_checksum(PATH, UPTO.chain))
    assert CODEC.decode_checkpoint(older, PATH, UPTO) == CODEC.decode_checkpoint(REST, PATH, UPTO)._replace(step=0)


def test_only_a_payload_of_the_present_format_is_current() -> None:
    assert CODEC.is_current(RECORD)
    assert CODEC.is_current(REST)
    assert not any(CODEC.is_current(each) for each in (b"wmem 1 00000000\n[]", b"", b"wmem 20 ", b"wmem-aes 1 "))
    assert IdentityCodec().is_current(SAMPLE)


def test_a_payload_can_be_read_with_a_pager() -> None:
    head, told, *_ = RECORD.split(b"\n")
    assert head.startswith(b"wmem %d " % FORMAT_VERSION)
    assert [each["change"] for each in json.loads(told)] == ["ScopeOpened", "ItemPut", "ItemTouched", "ScopeMerged"]
    assert b'{"role":"user"}' in RECORD
    assert CODEC.size(RECORD) == len(RECORD)
