"""Tests of `compact`: a snapshot replaces the records before it, and nothing else changes."""

from wmem.model.history import ORIGIN, Cursor
from wmem.testing.journal.append import forge_cursor
from wmem.testing.journal.client import PATH, JournalClient, JournalFixtures

__all__ = ["CompactTests"]


class CompactTests(JournalFixtures):
    """Compaction succeeds only up to a cursor of this journal that is newer than its base."""

    def test_a_snapshot_takes_the_place_of_the_records_up_to_it(self, client: JournalClient) -> None:
        first, second, third = client.append_many(PATH, b"1", b"2", b"3")
        before = client.read(PATH)
        assert client.compact(PATH, second, b"1 and 2")
        tail = client.read(PATH)
        assert (tail.joined, tail.base, tail.snapshot) == (False, second, b"1 and 2")
        assert (tail.records, tail.head, tail.incarnation) == (before.records[2:], third, before.incarnation)
        assert client.read(PATH, first) == tail
        assert client.read(PATH, forge_cursor(second)) == tail

    def test_a_reader_beyond_the_snapshot_notices_nothing(self, client: JournalClient) -> None:
        _, second, third = client.append_many(PATH, b"1", b"2", b"3")
        before = [client.read(PATH, cursor) for cursor in (second, third)]
        client.compact(PATH, second)
        assert [client.read(PATH, cursor) for cursor in (second, third)] == before
        assert all(tail.joined and tail.snapshot is None for tail in before)

    def test_a_whole_journal_may_become_its_snapshot(self, client: JournalClient) -> None:
        head = client.append_many(PATH, b"1", b"2")[-1]
        assert client.compact(PATH, head)
        tail = client.read(PATH)
        assert (tail.base, tail.records, tail.head) == (head, (), head)
        assert client.read(PATH, head).joined

    def test_what_is_appended_afterwards_goes_on_from_there(self, client: JournalClient) -> None:
        head = client.append_many(PATH, b"1", b"2")[-1]
        birth = client.read(PATH).incarnation
        client.compact(PATH, head)
        reply = client.append(PATH, b"3", expected=head)
        assert reply.cursor is not None
        assert (reply.cursor.version, reply.previous, reply.incarnation) == (3, head, birth)
        assert client.append(PATH, b"4", expected=birth).previous == reply.cursor

    def test_the_bytes_of_the_tail_are_those_after_the_snapshot(self, client: JournalClient) -> None:
        _, second, _ = client.append_many(PATH, b"one", b"three", b"eleven")
        client.compact(PATH, second, b"a snapshot of many bytes")
        assert client.append(PATH, b"x").tail_bytes == len(b"eleven" + b"x")
        head = client.read(PATH).head
        client.compact(PATH, head, b"")
        assert client.append(PATH, b"four").tail_bytes == len(b"four")

    def test_nothing_is_compacted_up_to_what_is_not_in_the_journal_or_not_newer(self, client: JournalClient) -> None:
        first, second, third = client.append_many(PATH, b"1", b"2", b"3")
        assert client.compact(PATH, second, b"kept")
        before = client.read(PATH)
        for upto in (
            ORIGIN,
            first,
            second,
            forge_cursor(second),
            forge_cursor(third),
            Cursor(4, 1),
            Cursor(1 << 40, 1),
        ):
            assert client.compact(PATH, upto, b"late") is False
        assert client.read(PATH) == before
        assert client.append(PATH, b"4").tail_bytes == 2

    def test_where_nothing_is_nothing_is_compacted(self, client: JournalClient) -> None:
        for upto in (ORIGIN, Cursor(1, 1)):
            assert client.compact(PATH, upto) is False
        assert client.paths() == []

    def test_a_later_snapshot_takes_the_place_of_the_one_before(self, client: JournalClient) -> None:
        first, second = client.append_many(PATH, b"1", b"2")
        assert client.compact(PATH, first, b"1")
        assert client.compact(PATH, second, b"1 and 2")
        assert (client.read(PATH).snapshot, client.read(PATH).records) == (b"1 and 2", ())

    def test_a_writer_from_before_the_snapshot_is_refused_and_not_told_half(self, client: JournalClient) -> None:
        first, second, third = client.append_many(PATH, b"1", b"2", b"3")
        client.compact(PATH, second)
        for stale in (ORIGIN, first):
            reply = client.append(PATH, b"late", expected=stale)
            assert (reply.cursor, reply.previous) == (None, third)
            assert reply.missed in (None, client.read(PATH, stale))
        assert client.append(PATH, b"late", expected=second).missed == client.read(PATH, second)

    def test_a_life_that_begins_after_a_snapshot_has_none(self, client: JournalClient) -> None:
        (head,) = client.append_many(PATH, b"1")
        client.compact(PATH, head)
        client.delete(PATH)
        assert client.read(PATH).snapshot is None
        client.append(PATH, b"new")
        tail = client.read(PATH)
        assert (tail.joined, tail.base, tail.snapshot, len(tail.records)) == (True, ORIGIN, None, 1)

    def test_a_compaction_leaves_other_scopes_alone(self, client: JournalClient) -> None:
        below = (*PATH, "child")
        (head,) = client.append_many(PATH, b"1")
        client.append_many(below, b"2")
        before = client.read(below)
        client.compact(PATH, head)
        assert client.read(below) == before
