"""Tests of `append`: what each condition accepts and refuses, and what the reply says."""

import pytest

from wmem.journal.port import CHAIN_BITS, MISSED_MAX, Tail
from wmem.model.history import ORIGIN, Cursor, Incarnation
from wmem.testing.journal.client import PATH, JournalClient, JournalFixtures

__all__ = ["AppendTests"]

PAYLOADS = {
    "empty": b"",
    "NUL": b"\0",
    "NULs inside": b"a\0\0b",
    "line ends": b"\r\n\n\r",
    "every byte": bytes(range(256)),
    "no text": b"\xff\xfe\xc3\x28",
    "like a number": b"007",
    "a mebibyte": b"wmem" * 262_144,
}


def forge_cursor(cursor: Cursor) -> Cursor:
    """A cursor of the same version in a chain that never existed."""
    return cursor._replace(chain=cursor.chain ^ 1)


class AppendTests(JournalFixtures):
    """An append without a condition succeeds; a refused one changes nothing."""

    def test_the_first_record_begins_a_life(self, client: JournalClient) -> None:
        reply = client.append(PATH, b"one")
        assert reply.cursor is not None
        assert (reply.cursor.version, reply.previous, reply.missed, reply.tail_bytes) == (1, ORIGIN, None, 3)
        assert reply.incarnation == Incarnation(reply.cursor.chain)

    def test_each_record_follows_the_one_before(self, client: JournalClient) -> None:
        replies = [client.append(PATH, b"x" * size) for size in range(6)]
        cursors = [reply.cursor or ORIGIN for reply in replies]
        assert [cursor.version for cursor in cursors] == [1, 2, 3, 4, 5, 6]
        assert [reply.previous for reply in replies] == [ORIGIN, *cursors[:-1]]
        assert [reply.tail_bytes for reply in replies] == [0, 1, 3, 6, 10, 15]
        assert {reply.incarnation for reply in replies} == {Incarnation(cursors[0].chain)}

    def test_a_chain_is_a_number_that_a_double_holds_and_no_other_record_has(self, client: JournalClient) -> None:
        chains = [cursor.chain for cursor in client.append_many(PATH, *[b"the same"] * 20)]
        assert len(set(chains)) == 20
        assert all(0 <= chain < 1 << CHAIN_BITS for chain in chains)

    def test_what_was_appended_is_read_back_in_order(self, client: JournalClient) -> None:
        for number in (7, 3, 5, 3):
            client.append(PATH, b"%d" % number, record_id=number)
        assert client.read(PATH).records == ((7, b"7"), (3, b"3"), (5, b"5"), (3, b"3"))

    def test_no_two_lives_share_a_chain(self, client: JournalClient) -> None:
        lives = []
        for _ in range(3):
            cursors = [client.append(PATH, b"same", record_id=number).cursor for number in (1, 2)]
            lives.append({cursor.chain for cursor in cursors if cursor})
            client.delete(PATH)
        assert len(set.union(*lives)) == 6

    def test_scopes_of_one_root_grow_apart(self, client: JournalClient) -> None:
        below = (*PATH, "child")
        client.append(PATH, b"a")
        client.append(below, b"b", expected=ORIGIN)
        assert [record.payload for record in client.read(PATH).records] == [b"a"]
        assert [record.payload for record in client.read(below).records] == [b"b"]
        assert client.read(PATH).incarnation != client.read(below).incarnation

    @pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
    def test_payloads_come_back_byte_for_byte(self, client: JournalClient, payload: bytes) -> None:
        (first,) = client.append_many(PATH, payload)
        assert client.append(PATH, payload).tail_bytes == 2 * len(payload)
        stored = client.read(PATH).records
        assert [record.payload for record in stored] == [payload, payload]
        assert type(stored[0].payload) is bytes
        assert client.compact(PATH, first, payload)
        tail = client.read(PATH)
        assert (tail.snapshot, [record.payload for record in tail.records]) == (payload, [payload])

    @pytest.mark.parametrize("record_id", [0, 1, (1 << 53) + 1, (1 << 63) - 1])
    def test_a_record_id_may_take_63_bits(self, client: JournalClient, record_id: int) -> None:
        client.append(PATH, b"x", record_id=record_id)
        assert client.read(PATH).records[0].id == record_id

    def test_an_append_at_the_very_head_is_taken(self, client: JournalClient) -> None:
        reply = client.append(PATH, b"1", expected=ORIGIN)
        for payload in (b"2", b"3"):
            assert reply.cursor is not None
            reply = client.append(PATH, payload, expected=reply.cursor)
        assert reply.cursor == client.read(PATH).head
        assert [record.payload for record in client.read(PATH).records] == [b"1", b"2", b"3"]

    def test_a_stale_append_changes_nothing_and_brings_what_was_missed(self, client: JournalClient) -> None:
        first, _, third = client.append_many(PATH, b"1", b"2", b"3")
        before = client.read(PATH)
        reply = client.append(PATH, b"late", expected=first)
        assert (reply.cursor, reply.previous, reply.incarnation) == (None, third, before.incarnation)
        assert reply.missed == client.read(PATH, first)
        assert reply.missed.joined
        assert [record.payload for record in reply.missed.records] == [b"2", b"3"]
        assert client.read(PATH) == before
        assert reply.tail_bytes == 3
        assert client.append(PATH, b"4").tail_bytes == 4

    def test_an_append_that_expects_no_journal_is_refused_where_one_is(self, client: JournalClient) -> None:
        (head,) = client.append_many(PATH, b"1")
        reply = client.append(PATH, b"late", expected=ORIGIN)
        assert (reply.cursor, reply.previous) == (None, head)
        assert reply.missed == client.read(PATH)

    def test_an_append_that_expects_a_journal_is_refused_where_none_is(self, client: JournalClient) -> None:
        reply = client.append(PATH, b"late", expected=Cursor(1, 5))
        assert (reply.cursor, reply.previous, reply.incarnation, reply.tail_bytes) == (None, ORIGIN, None, 0)
        assert reply.missed in (None, Tail(False, ORIGIN, None, (), ORIGIN, None))  # noqa: FBT003  # a tail, by place
        assert client.paths() == []

    def test_an_append_from_another_history_is_refused_and_never_joined(self, client: JournalClient) -> None:
        first, second = client.append_many(PATH, b"1", b"2")
        before = client.read(PATH)
        for stranger in (forge_cursor(second), forge_cursor(first), Cursor(3, 1), Cursor(0, 1), Cursor(2, 0)):
            reply = client.append(PATH, b"late", expected=stranger)
            assert (reply.cursor, reply.previous) == (None, second)
            assert reply.missed is None or not reply.missed.joined
        assert client.read(PATH) == before

    def test_a_refusal_brings_so_many_records_and_no_more(self, client: JournalClient) -> None:
        first, second, *_ = client.append_many(PATH, *[b"x"] * (MISSED_MAX + 2))
        assert client.append(PATH, b"late", expected=first).missed is None
        missed = client.append(PATH, b"late", expected=second).missed
        assert missed is not None
        assert len(missed.records) == MISSED_MAX

    def test_an_append_in_its_life_is_taken_whatever_was_written_since(self, client: JournalClient) -> None:
        birth = client.append(PATH, b"1").incarnation
        (head,) = client.append_many(PATH, b"2")
        reply = client.append(PATH, b"3", expected=birth)
        assert (reply.previous, reply.incarnation) == (head, birth)
        assert reply.cursor == client.read(PATH).head

    def test_an_append_in_another_life_is_refused_and_changes_nothing(self, client: JournalClient) -> None:
        old = client.append(PATH, b"old").incarnation
        client.delete(PATH)
        (head,) = client.append_many(PATH, b"new")
        before = client.read(PATH)
        reply = client.append(PATH, b"late", expected=old)
        assert (reply.cursor, reply.previous, reply.incarnation) == (None, head, before.incarnation)
        assert client.read(PATH) == before

    def test_an_append_in_a_life_that_is_over_begins_no_other(self, client: JournalClient) -> None:
        old = client.append(PATH, b"old").incarnation
        client.delete(PATH)
        reply = client.append(PATH, b"late", expected=old)
        assert (reply.cursor, reply.previous, reply.incarnation) == (None, ORIGIN, None)
        assert client.paths() == []
