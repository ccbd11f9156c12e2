"""Whoever rearranges an encrypted history without the key is told of, in every way there is to do it.

Exhaustive over short histories: every sequence of up to four payloads out of a scope's
records, those of another life of it, of a branch that was rolled back, of another scope, and
of what is no payload.
"""

import zlib
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import combinations, pairwise, permutations, product
from typing import Any, NamedTuple

import pytest

from wmem.codec.encryption import AesCodec
from wmem.codec.frame import frame_payload, location_checksum
from wmem.codec.keyring import KeyRing
from wmem.codec.link import Link
from wmem.engine.replica import Replica
from wmem.journal.port import Record, Tail
from wmem.model.change import Change, ItemPut
from wmem.model.history import ORIGIN, Cursor, Incarnation, Path
from wmem.model.row import Row
from wmem.state import State

PATH: Path = ("agent", "session")
NOON = 1_764_288_000.0
KEY = b"\xa5" * 32
CODEC = AesCodec(KeyRing(KEY))


class CachedCodec:
    """The codec, decoding each payload once: a test reads each some ten thousand times."""

    chained = True
    follow = CODEC.follow
    checkpoint_link = CODEC.checkpoint_link
    size = CODEC.size

    def __init__(self) -> None:
        self.decode_record = cache(CODEC.decode_record)
        self.decode_checkpoint = cache(CODEC.decode_checkpoint)


READING: Any = CachedCodec()


class Written(NamedTuple):
    """A record, and where its writer put it: the name of its history, and its version there."""

    history: str
    version: int
    record: Record[bytes]


class Writer:
    """Writes a history as a process does: each record after all that it has read."""

    def __init__(self, name: str, path: Path = PATH) -> None:
        self.name, self.path = name, path
        self.link, self.version, self.state = Link(), 0, State()
        self.written: list[Written] = []

    def write(self, count: int) -> "Writer":
        for _ in range(count):
            self.version += 1
            record_id = zlib.crc32(self.name.encode()) * 100 + self.version
            changes: tuple[Change, ...] = (
                ItemPut(Row(f"{self.name}{self.version}", b"%d" % self.version, NOON, NOON)),
            )
            place = self.link.place(self.version)
            payload = CODEC.encode_record(changes, self.path, record_id, place)
            self.link = self.link.after(place, record_id)
            self.state.fold(record_id, changes)
            self.written.append(Written(self.name, self.version, Record(record_id, payload)))
        return self

    def branch(self, name: str, version: int) -> "Writer":
        """A history that is the same up to a version, and goes on otherwise: what a rolled-back store had."""
        other = Writer(name, self.path)
        for each in self.written[:version]:
            other.version = each.version
            other.link = other.link.after(other.link.place(each.version), each.record.id)
            other.state.fold(each.record.id, CODEC.decode_record(each.record.payload, self.path, each.record.id))
            other.written.append(each)
        return other

    def snapshot(self, cursor: Cursor) -> bytes:
        return CODEC.encode_checkpoint(self.state.checkpoint(), self.path, cursor, self.link.place(self.version))


def encode_format_1(changes: Sequence[Change], path: Path, record_id: int) -> bytes:
    """A record as the first format had it, which stated no place."""
    plain = CODEC.encode_record(changes, path, record_id)
    assert plain.startswith(b"wmem-aes 2 ")
    from wmem.codec.encryption import _JSON_CODEC, _scope_cipher, _to_associated_data  # its insides

    head = b"wmem-aes 1 %s " % KeyRing(KEY).active.encode()
    nonce = record_id.to_bytes(12, "big")
    associated = _to_associated_data(head, b"record %d" % record_id, path, b"")
    sealed = _scope_cipher(KEY, path).encrypt(nonce, _JSON_CODEC.encode_record(changes, path, record_id), associated)
    return frame_payload(head, nonce + sealed, location_checksum(path, record_id))


MAIN = Writer("main").write(4)
LIFE = Writer("life").write(4)
BRANCH = MAIN.branch("branch", 2).write(2)
SCOPE = Writer("scope", ("agent", "other")).write(2)
GARBAGE = Written("garbage", 0, Record(7, b"not what was written here"))
MISSING = Written("garbage", 0, Record(0, b""))
OLD = [
    Written("old", each, Record(each, encode_format_1((ItemPut(Row(f"old{each}", b"1", NOON, NOON)),), PATH, each)))
    for each in (1, 2)
]
HISTORIES = [[each.record for each in writer.written] for writer in (MAIN, LIFE, BRANCH)]
POOL = [*MAIN.written, *LIFE.written[:3], *BRANCH.written[2:], SCOPE.written[1], GARBAGE]


def read(
    sequence: Sequence[Written], *, base: Cursor = ORIGIN, snapshot: bytes | None = None, parts: Iterable[int] = ()
) -> Replica[bytes]:
    """What a fresh process reads; in several replies if `parts` say so."""
    replica: Replica[bytes] = Replica(PATH, READING)
    records = [each.record for each in sequence]
    at, joined = base, snapshot is None
    for end in (*parts, len(records)):
        part = tuple(records[at.version - base.version : end])
        head = Cursor(base.version + end, end) if end else base
        assert replica.apply_tail(
            ORIGIN if not joined else at,
            Tail(joined, at, None if joined else snapshot, part, head, Incarnation(1)),
        )
        at, joined = head, True
    return replica


def names(replica: Replica[bytes]) -> list[str]:
    return list(replica.state.rows)


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL", "wmem")  # damage is reported by the ten thousand


def is_prefix(sequence: Sequence[Written]) -> bool:
    records = [each.record for each in sequence]
    return any(history[: len(records)] == records for history in HISTORIES)


def check(sequence: Sequence[Written]) -> None:
    replica = read(sequence)
    shown = [f"{each.history}{each.version}" for each in sequence]
    assert bool(replica.damage) is not is_prefix(sequence), shown
    # What is read stands where it was written.
    found = [each.version == place and shown[place - 1] in replica.state.rows for place, each in enumerate(sequence, 1)]
    assert len(replica.state.rows) == sum(found), shown
    # What stands before the first change is read.
    sound = next(count for count in range(len(sequence), -1, -1) if is_prefix(sequence[:count]))
    assert all(found[:sound]), shown
    # All of it is of one life, and what is read in a row was written in a row.
    read_of = [(place, each) for place, (each, here) in enumerate(zip(sequence, found, strict=True)) if here]
    assert len({each.history == "life" for _, each in read_of}) <= 1, shown
    for (place, one), (after, other) in pairwise(read_of):
        if after == place + 1:
            pair = [one.record, other.record]
            assert any(history[place : after + 1] == pair for history in HISTORIES), shown


@pytest.mark.parametrize("size", range(4))
def test_no_sequence_but_one_that_was_written_reads_as_sound(size: int) -> None:
    for sequence in product([*POOL, MISSING], repeat=size):
        check(sequence)


@pytest.mark.slow
def test_no_longer_sequence_but_one_that_was_written_reads_as_sound() -> None:
    for sequence in product(POOL, repeat=4):
        check(sequence)


def test_dropping_swapping_and_repeating_is_told_and_the_rest_is_read() -> None:
    written = Writer("long").write(7).written
    everything = [f"long{each.version}" for each in written]
    for place in range(6):
        dropped = read([*written[:place], *written[place + 1 :]])
        assert (names(dropped), len(dropped.damage)) == (everything[:place], 6 - place)
    for one, two in combinations(range(7), 2):
        swapped = list(written)
        swapped[one], swapped[two] = swapped[two], swapped[one]
        found = read(swapped)
        assert names(found) == [name for place, name in enumerate(everything) if place not in (one, two)]
        assert len(found.damage) == 2
    for place, at in product(range(7), range(8)):
        repeated = read([*written[:at], written[place], *written[at:]])
        sound = at + (place == at)
        assert names(repeated) == everything[:sound]
        assert len(repeated.damage) == 8 - sound
    for start, end in combinations(range(7), 2):
        cut = read([*written[:start], *written[end:]])
        assert (names(cut), len(cut.damage)) == (everything[:start], 7 - end)
    for order in permutations(written[:5]):
        assert bool(read(order).damage) is (order != tuple(written[:5]))


def test_damage_says_which_record_it_is_and_shows_no_content() -> None:
    written = Writer("content").write(3).written
    (first, _) = read([written[1], written[0]]).damage
    assert first.record_id == written[1].record.id
    assert "a record 1 that was written as record 2" in first.reason
    (other,) = read([MAIN.written[0], LIFE.written[1]]).damage
    assert "a record 2 that was written in another life of the scope" in other.reason
    (branch,) = read([*MAIN.written[:3], BRANCH.written[3]]).damage
    assert "a record 4 that was written after other records than those before it" in branch.reason


def test_a_history_reads_the_same_at_once_and_in_parts() -> None:
    for sequence in product(POOL, repeat=3):
        whole = read(sequence)
        for parts in ((1,), (2,), (1, 2)):
            replica = read(sequence, parts=parts)
            assert (names(replica), replica.damage, replica.link) == (names(whole), whole.damage, whole.link)


def test_a_lost_record_costs_no_other() -> None:
    written = Writer("long").write(6).written
    for size in range(1, 4):
        for lost in combinations(range(6), size):
            replica = read([GARBAGE if place in lost else each for place, each in enumerate(written)])
            assert names(replica) == [f"long{place + 1}" for place in range(6) if place not in lost]
            assert len(replica.damage) == size


def test_what_either_of_two_readers_writes_after_damage_is_read_by_both() -> None:
    """One of them read the record before it was damaged."""
    written = Writer("long").write(4).written
    for lost in range(4):
        damaged = [MISSING if place == lost else each for place, each in enumerate(written)]
        whole, partly = read(written), read(damaged)
        assert not whole.damage
        for turns in product((whole, partly), repeat=3):
            history, links = list(damaged), {id(each): each.link for each in (whole, partly)}
            for number, writer in enumerate(turns):
                version = 5 + number
                place = links[id(writer)].place(version)
                payload = CODEC.encode_record((), PATH, version, place)
                history.append(Written("long", version, Record(version, payload)))
                for each, link in links.items():
                    links[each], why = CODEC.follow(link, payload, version, version)
                    assert why is None
            # Whoever never read the first record learns of the life from another writer alone.
            assert len(set(links.values())) == 1 or lost == 0
            assert len(read(history).damage) == 1


# -- checkpoints

AT = Cursor(3, 12_345)
TAIL = MAIN.branch("tail", 3).write(3).written[3:]
SNAPSHOT = MAIN.branch("main", 3).snapshot(AT)


def test_a_checkpoint_is_followed_by_nothing_but_what_followed_it() -> None:
    """An old snapshot with a new tail, a new one with an old tail, and whatever else there is."""
    whole = read(TAIL, base=AT, snapshot=SNAPSHOT)
    assert (whole.damage, len(whole.state.rows)) == ([], 6)
    pool = [*MAIN.written, *BRANCH.written[2:], *LIFE.written, *TAIL, *OLD]
    for size in (1, 2):
        for sequence in product(pool, repeat=size):
            replica = read(sequence, base=AT, snapshot=SNAPSHOT)
            sound = list(sequence) == TAIL[:size] or sequence == (MAIN.written[3],)
            assert bool(replica.damage) is not sound
            assert not any(name.startswith(("life", "branch", "old")) for name in names(replica))


def test_a_snapshot_of_another_history_is_told_by_the_tail() -> None:
    for snapshot in (LIFE.branch("life", 3).snapshot(AT), BRANCH.branch("branch", 3).snapshot(AT)):
        replica = read(TAIL, base=AT, snapshot=snapshot)
        assert len(replica.damage) == 3
        assert len(replica.state.rows) == 3


def test_what_follows_a_damaged_checkpoint_is_read() -> None:
    replica = read(TAIL, base=AT, snapshot=b"not what was written here")
    assert len(replica.damage) == 1
    assert len(replica.state.rows) == 3


# -- the format of before


def test_records_of_the_first_format_are_read_until_one_of_the_second_came() -> None:
    assert names(read(OLD)) == ["old1", "old2"]
    replica = read(OLD)
    place = replica.link.place(3)
    after = Written("new", 3, Record(3, CODEC.encode_record((ItemPut(Row("new", b"1", NOON, NOON)),), PATH, 3, place)))
    assert not read([*OLD, after]).damage
    assert not read([OLD[0], OLD[1], after], parts=(1, 2)).damage
    # Others may stand on a checkpoint of the first format, and know nothing of what it replaced.
    blind = CODEC.encode_record((), PATH, 4, Link().place(4))
    assert not read([*OLD, after, Written("new", 4, Record(4, blind))]).damage
    for at in range(4):
        history = [*OLD, after]
        history.insert(at, Written("old", 3, Record(9, encode_format_1((), PATH, 9))))
        assert read(history).damage


def test_no_record_of_the_first_format_is_slipped_into_a_history_of_the_second() -> None:
    written = Writer("long").write(4).written
    for place, old in product(range(4), OLD):
        assert read([*written[:place], old, *written[place + 1 :]]).damage
        assert read([*written[:place], old, *written[place:]]).damage
    assert read([*written, OLD[0]]).damage
