"""Whoever has not the key reads nothing and changes nothing unseen; whoever has another one is told so."""

import base64
import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path as Directory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wmem
from wmem.codec import encryption as crypto
from wmem.codec.codec import JsonCodec
from wmem.codec.encryption import AesCodec
from wmem.codec.frame import frame_payload, location_checksum
from wmem.codec.keyring import KeyRing
from wmem.codec.link import PLACE_SIZE
from wmem.errors import CorruptionError, InvalidInputError, MissingExtraError, StoreError, WrongKeyError
from wmem.model.change import Change, Checkpoint, ItemPut, ItemRemoved
from wmem.model.history import Cursor, Path
from wmem.model.row import Row

NOON = 1_764_288_000.0
PATH: Path = ("agent", "session")
RECORD_ID = 2**63 - 1
UPTO = Cursor(7, 2**52 - 1)
OLD, NEW = b"\xa5" * 32, bytes(range(200, 232))
RING = KeyRing(OLD)
CODEC = AesCodec(RING)
SAMPLE: tuple[Change, ...] = (ItemPut(Row("id", b'"the launch code"', NOON, NOON, key="what is secret")),)
RECORD = CODEC.encode_record(SAMPLE, PATH, RECORD_ID)
KEPT = Checkpoint((SAMPLE[0].row,), "{}", False, (1, 2), (), (), ())
REST = CODEC.encode_checkpoint(KEPT, PATH, UPTO)
KEYS = st.binary(min_size=32, max_size=32).filter(lambda key: not key.isascii())


# -- keys


@given(key=KEYS)
def test_a_key_is_the_same_as_bytes_and_as_text(key: bytes) -> None:
    texts = (key.hex(), base64.b64encode(key).decode(), base64.urlsafe_b64encode(key).decode(), f" {key.hex()}\n")
    assert {KeyRing(each) for each in (key, *texts)} == {KeyRing(key)}


def test_new_keys_are_keys_and_never_the_same() -> None:
    made = [KeyRing.new_key() for _ in range(100)]
    assert len({KeyRing(key).active for key in made}) == 100


REFUSED: dict[str, Any] = {
    "a passphrase": "correct horse battery staple",
    "a passphrase as long as a key": "a passphrase of thirty-two chars",
    "a passphrase as long as base64": "correct-horse-battery-staple-and-some-more-x",
    "a passphrase as long as hexadecimal": "correct horse battery staple " * 2 + "zzzzzz",
    "a passphrase as bytes": b"a passphrase of thirty-two chars",
    "a passphrase in base64": base64.b64encode(b"a passphrase of thirty-two chars").decode(),
    "no bytes": b"",
    "half a key": OLD[:16],
    "a key and a half": OLD + OLD[:16],
    "half a key as text": OLD[:16].hex(),
    "no text": "",
    "a number": 7,
    "nothing": None,
    "a ring": RING,
}


@pytest.mark.parametrize("given", REFUSED.values(), ids=REFUSED)
def test_what_is_no_key_is_refused_with_how_to_make_one_and_without_being_shown(given: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"KeyRing\.new_key\(\)") as refused:
        KeyRing(given)
    if given and isinstance(given, str | bytes):
        shown = given if isinstance(given, str) else given.decode("latin-1")
        assert shown not in str(refused.value)
    with pytest.raises(InvalidInputError):
        KeyRing(OLD, given)


def test_a_key_that_is_given_twice_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="twice"):
        KeyRing(OLD, NEW, OLD.hex())


def test_no_key_is_shown_pickled_or_guessed_from_its_id() -> None:
    ring = KeyRing(OLD, NEW, plaintext=True)
    shown = f"{ring!r} {ring} {ring.ids}"
    for key in (OLD, NEW):
        assert not any(
            each in shown for each in (key.hex(), repr(key)[2:-1], base64.b64encode(key).decode(), key[:4].hex())
        )
    assert all(len(each) == 8 and int(each, 16) >= 0 for each in ring.ids)
    assert "plaintext" in shown
    for leak in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not pickled"):
            leak(ring)


def test_a_ring_is_turned_by_making_a_key_active_and_dropping_another() -> None:
    ring = KeyRing(OLD, plaintext=True)
    turned = ring.with_active(NEW)
    assert turned.ids == (KeyRing(NEW).active, ring.active)
    assert turned == KeyRing(NEW, OLD, plaintext=True)
    assert turned.with_active(OLD).ids == turned.ids[::-1]
    assert turned.without(ring.active) == KeyRing(NEW, plaintext=True)
    assert ring == KeyRing(OLD, plaintext=True), "a ring does not change"
    for missing in (turned.active, "00000000"):
        with pytest.raises(InvalidInputError):
            turned.without(missing)


@given(active=KEYS, others=st.lists(KEYS, max_size=3, unique=True), plaintext=st.booleans())
def test_rings_and_codecs_are_equal_by_their_keys_and_which_is_active(
    active: bytes, others: list[bytes], plaintext: bool
) -> None:
    others = [each for each in others if each != active]
    ring = KeyRing(active, *others, plaintext=plaintext)
    same = KeyRing(active.hex(), *reversed(others), plaintext=plaintext)
    assert ring == same
    assert hash(ring) == hash(same)
    assert AesCodec(ring) == AesCodec(same)
    assert hash(AesCodec(ring)) == hash(AesCodec(same))
    different = [KeyRing(active, *others, plaintext=not plaintext), *(ring.with_active(each) for each in others)]
    different += [ring.without(id) for id in ring.ids[1:]]
    assert all(ring != each and AesCodec(ring) != AesCodec(each) for each in different)
    assert ring != active
    assert AesCodec(ring) != JsonCodec()


# -- reading with another key, or none


def test_a_missing_key_is_named_and_is_no_damage() -> None:
    mine = AesCodec(KeyRing(NEW))
    for reads in (
        lambda: mine.decode_record(RECORD, PATH, RECORD_ID),
        lambda: mine.decode_checkpoint(REST, PATH, UPTO),
        lambda: JsonCodec().decode_record(RECORD, PATH, RECORD_ID),
        lambda: JsonCodec().decode_checkpoint(REST, PATH, UPTO),
    ):
        with pytest.raises(WrongKeyError, match=RING.active) as refused:
            reads()
        assert not isinstance(refused.value, CorruptionError)


def test_any_key_of_the_ring_decrypts_and_the_active_one_encrypts() -> None:
    ring = RING.with_active(NEW)
    both = AesCodec(ring)
    assert both.decode_record(RECORD, PATH, RECORD_ID) == SAMPLE
    assert both.decode_checkpoint(REST, PATH, UPTO) == KEPT
    record = both.encode_record(SAMPLE, PATH, RECORD_ID)
    assert AesCodec(KeyRing(NEW)).decode_record(record, PATH, RECORD_ID) == SAMPLE
    assert both.is_current(record)
    assert not both.is_current(RECORD)
    assert not both.is_current(b"")


def test_what_is_not_encrypted_is_refused_unless_the_ring_was_made_to_read_it() -> None:
    plain = JsonCodec().encode_record(SAMPLE, PATH, RECORD_ID)
    rest = JsonCodec().encode_checkpoint(KEPT, PATH, UPTO)
    for reads in (
        lambda: CODEC.decode_record(plain, PATH, RECORD_ID),
        lambda: CODEC.decode_checkpoint(rest, PATH, UPTO),
    ):
        with pytest.raises(WrongKeyError, match="plaintext=True"):
            reads()
    moving = AesCodec(KeyRing(OLD, plaintext=True))
    assert moving.decode_record(plain, PATH, RECORD_ID) == SAMPLE
    assert moving.decode_checkpoint(rest, PATH, UPTO) == KEPT
    assert moving.decode_record(RECORD, PATH, RECORD_ID) == SAMPLE
    assert not moving.is_current(plain)


def test_what_a_later_version_encrypted_says_to_upgrade(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crypto, "_VERSION", 3)
    record = AesCodec(RING).encode_record(SAMPLE, PATH, RECORD_ID)
    monkeypatch.undo()
    with pytest.raises(StoreError, match=r"format 3.*upgrade") as refused:
        CODEC.decode_record(record, PATH, RECORD_ID)
    assert not isinstance(refused.value, CorruptionError)


# -- hands that know the checksum, and not the key

REFUSED_BY_TAG = "an encrypted payload (that was changed, or belongs elsewhere|of [0-9]+ bytes)"

BOTH = pytest.mark.parametrize(
    ("payload", "reads", "place", "sealed"),
    [
        pytest.param(RECORD, CODEC.decode_record, RECORD_ID, location_checksum(PATH, RECORD_ID), id="record"),
        pytest.param(REST, CODEC.decode_checkpoint, UPTO, location_checksum(PATH, UPTO.chain), id="checkpoint"),
    ],
)


def forged(payload: bytes, sealed: int, change: Callable[[bytes], bytes] = lambda body: body) -> bytes:
    """A payload with another body under a checksum that holds."""
    line, _, body = payload.partition(b"\n")
    return frame_payload(line[:-8], change(body), sealed)


@BOTH
def test_the_forger_of_these_tests_knows_the_checksum(payload: bytes, reads: Any, place: Any, sealed: int) -> None:
    assert forged(payload, sealed) == payload
    assert reads(forged(payload, sealed), PATH, place)


@BOTH
def test_no_forged_bit_of_nonce_content_or_tag_is_read(payload: bytes, reads: Any, place: Any, sealed: int) -> None:
    for at in range(len(payload.partition(b"\n")[2])):

        def flip(body: bytes, at: int = at) -> bytes:
            return body[:at] + bytes([body[at] ^ (1 << at % 8)]) + body[at + 1 :]

        with pytest.raises(CorruptionError, match=REFUSED_BY_TAG):
            reads(forged(payload, sealed, flip), PATH, place)


@BOTH
def test_nothing_that_was_cut_or_grew_is_read(payload: bytes, reads: Any, place: Any, sealed: int) -> None:
    for size in range(len(payload.partition(b"\n")[2])):
        with pytest.raises(CorruptionError, match=REFUSED_BY_TAG):
            reads(forged(payload, sealed, lambda body, size=size: body[:size]), PATH, place)  # type: ignore[misc]  # a default, not an argument
    with pytest.raises(CorruptionError, match=REFUSED_BY_TAG):
        reads(forged(payload, sealed, lambda body: body + b"\0"), PATH, place)


@given(path=st.lists(st.text(max_size=5), min_size=1, max_size=4).map(tuple), record_id=st.integers(0, RECORD_ID))
def test_a_record_is_refused_in_every_other_place(path: Path, record_id: int) -> None:
    for where, number in ((path, RECORD_ID), (PATH, record_id)):
        if (where, number) != (PATH, RECORD_ID):
            with pytest.raises(CorruptionError, match=REFUSED_BY_TAG):
                CODEC.decode_record(forged(RECORD, location_checksum(where, number)), where, number)


@given(version=st.integers(0, 2**52), chain=st.integers(0, 2**52))
def test_a_checkpoint_is_refused_at_every_other_cursor(version: int, chain: int) -> None:
    for cursor in (Cursor(version, UPTO.chain), Cursor(UPTO.version, chain)):
        if cursor != UPTO:
            with pytest.raises(CorruptionError, match=REFUSED_BY_TAG):
                CODEC.decode_checkpoint(forged(REST, location_checksum(PATH, cursor.chain)), PATH, cursor)


def test_a_record_and_a_checkpoint_are_refused_as_each_other() -> None:
    with pytest.raises(CorruptionError, match=REFUSED_BY_TAG):
        CODEC.decode_checkpoint(RECORD, PATH, Cursor(1, RECORD_ID))  # the same checksum covers both
    with pytest.raises(CorruptionError, match=REFUSED_BY_TAG):
        CODEC.decode_record(REST, PATH, UPTO.chain)


def test_a_payload_under_the_id_of_another_key_of_the_ring_is_refused() -> None:
    ring = RING.with_active(NEW)
    head = b"wmem-aes 2 %s " % ring.active.encode()
    renamed = frame_payload(head, RECORD.partition(b"\n")[2], location_checksum(PATH, RECORD_ID))
    with pytest.raises(CorruptionError, match=REFUSED_BY_TAG):
        AesCodec(ring).decode_record(renamed, PATH, RECORD_ID)


@pytest.mark.parametrize("version", [b"0", b"01"])
def test_a_payload_under_another_version_is_refused(version: bytes) -> None:
    head = b"wmem-aes %s %s " % (version, RING.active.encode())
    with pytest.raises(CorruptionError, match=REFUSED_BY_TAG):
        CODEC.decode_record(
            frame_payload(head, RECORD.partition(b"\n")[2], location_checksum(PATH, RECORD_ID)), PATH, RECORD_ID
        )


@pytest.mark.parametrize(
    "head", [b"wmem-aes ", b"wmem-aes 1 ", b"wmem-aes x a5 ", b"wmem-aes 1 a5 b ", b"wmem-aes 999999999 a5 ", b"\xff "]
)
def test_an_intact_payload_with_a_foreign_head_is_damaged(head: bytes) -> None:
    for codec in (CODEC, JsonCodec()):
        with pytest.raises(StoreError):
            codec.decode_record(frame_payload(head, b"", location_checksum(PATH, RECORD_ID)), PATH, RECORD_ID)


# -- what a payload shows


def test_a_payload_shows_the_id_of_its_key_and_its_size_and_nothing_else() -> None:
    plain = JsonCodec().encode_record(SAMPLE, PATH, RECORD_ID)
    line, _, body = RECORD.partition(b"\n")
    assert line.startswith(b"wmem-aes 2 %s " % RING.active.encode())
    assert len(body) == PLACE_SIZE + 12 + len(plain) + 16
    for shown in (b"launch", b"secret", b"ItemPut", b"change", b"session", b"agent", b"1764288000", OLD):
        assert shown not in RECORD
        assert shown not in REST
    assert CODEC.size(RECORD) == len(RECORD)


def test_no_nonce_comes_twice_and_no_two_payloads_are_alike() -> None:
    written = [CODEC.encode_record(SAMPLE, PATH, RECORD_ID) for _ in range(10_000)]
    nonces = {payload.partition(b"\n")[2][PLACE_SIZE : PLACE_SIZE + 12] for payload in written}
    assert len(nonces) == 10_000
    # Every bit of a nonce is drawn: none stands still.
    either = [int.from_bytes(nonce, "big") for nonce in nonces]
    ones, zeros = 0, 0
    for nonce in either:
        ones, zeros = ones | nonce, zeros | ~nonce
    assert ones & zeros & (2**96 - 1) == 2**96 - 1


@given(paths=st.lists(st.lists(st.text(max_size=3), min_size=1, max_size=3).map(tuple), min_size=2, unique=True))
def test_scopes_have_keys_of_their_own(paths: list[Path]) -> None:
    nonce, plain = bytes(12), bytes(32)
    ciphers = [crypto._scope_cipher(OLD, path).encrypt(nonce, plain, None) for path in paths]
    assert len(set(ciphers)) == len(paths)


# -- opening a memory with a key


def test_equal_keys_share_an_engine_and_others_do_not(tmp_path: Directory) -> None:
    url = f"disk://{tmp_path}/store"
    with (
        wmem.open(url, agent_id="a", key=OLD) as one,
        wmem.open(url, agent_id="b", key=KeyRing(OLD.hex())) as same,
        wmem.open(url, agent_id="c", key=KeyRing(OLD, NEW)) as other,
        wmem.open(url, agent_id="d") as without,
    ):
        assert one._core.store.engine is same._core.store.engine
        assert len({id(each._core.store.engine) for each in (one, other, without)}) == 3


@pytest.mark.parametrize("url", ["memory://", "memory://named"])
def test_in_process_memory_a_key_is_taken_and_nothing_is_encrypted(url: str) -> None:
    with (
        wmem.open(url, agent_id="keyed", key=KeyRing.new_key()) as memory,
        wmem.open(url, agent_id="keyed") as plain,
    ):
        memory.scope("s").entries.set("k", 1)
        assert memory.scope("s").entries.get("k") == 1
        assert memory.rotate() == 0
        if url != "memory://":
            assert plain.scope("s").entries.get("k") == 1, "the store is one, with a key or without"
            plain.close(dispose=True)


@pytest.mark.parametrize("url", ["memory://", "disk:///nowhere/at/all"])
@pytest.mark.parametrize("key", ["a passphrase", b"short", 7, ["list"]])
def test_a_key_that_is_none_opens_nothing(url: str, key: Any) -> None:
    with pytest.raises(InvalidInputError, match="key"):
        wmem.open(url, agent_id="a", key=key)


def test_without_cryptography_a_key_names_the_extra(tmp_path: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "wmem.codec.encryption")
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    with pytest.raises(MissingExtraError, match=r"wmem\[crypto\]"):
        wmem.open(f"disk://{tmp_path}/store", agent_id="a", key=OLD)
    assert not (tmp_path / "store").exists()


def test_a_ring_needs_no_cryptography() -> None:
    code = "import sys, wmem; wmem.KeyRing(wmem.KeyRing.new_key()); sys.exit('cryptography' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_no_change_is_too_small_or_too_large_to_be_encrypted() -> None:
    for changes in ((), (ItemRemoved(""),), (ItemPut(Row("i", b'"' + b"x" * 5_000_000 + b'"', NOON, NOON)),)):
        assert CODEC.decode_record(CODEC.encode_record(changes, PATH, 1), PATH, 1) == changes
