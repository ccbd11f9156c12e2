"""Tests of `compact`: a snapshot replaces the records before it, and nothing else changes."""

from wmem.model.history import ORIGIN, Cursor
from wmem.testing.journal.appending import changed
from wmem.testing.journal.book import PATH, Book, JournalFixtures

__all__ = ["Compacting"]


class Compacting(JournalFixtures):
    """Compaction succeeds only up to a cursor of this journal that is newer than its base."""

    def test_a_snapshot_takes_the_place_of_the_records_up_to_it(self, book: Book) -> None:
        first, second, third = book.grow(PATH, b"1", b"2", b"3")
        before = book.read(PATH)
        assert book.compact(PATH, second, b"1 and 2")
        tail = book.read(PATH)
        assert (tail.joined, tail.base, tail.snapshot) == (False, second, b"1 and 2")
        assert (tail.records, tail.head, tail.birth) == (before.records[2:], third, before.birth)
        assert book.read(PATH, first) == tail
        assert book.read(PATH, changed(second)) == tail

    def test_a_reader_beyond_the_snapshot_notices_nothing(self, book: Book) -> None:
        _, second, third = book.grow(PATH, b"1", b"2", b"3")
        before = [book.read(PATH, cursor) for cursor in (second, third)]
        book.compact(PATH, second)
        assert [book.read(PATH, cursor) for cursor in (second, third)] == before
        assert all(tail.joined and tail.snapshot is None for tail in before)

    def test_a_whole_journal_may_become_its_snapshot(self, book: Book) -> None:
        head = book.grow(PATH, b"1", b"2")[-1]
        assert book.compact(PATH, head)
        tail = book.read(PATH)
        assert (tail.base, tail.records, tail.head) == (head, (), head)
        assert book.read(PATH, head).joined

    def test_what_is_appended_afterwards_goes_on_from_there(self, book: Book) -> None:
        head = book.grow(PATH, b"1", b"2")[-1]
        birth = book.read(PATH).birth
        book.compact(PATH, head)
        reply = book.append(PATH, b"3", expected=head)
        assert reply.cursor is not None
        assert (reply.cursor.version, reply.previous, reply.birth) == (3, head, birth)
        assert book.append(PATH, b"4", expected=birth).previous == reply.cursor

    def test_the_bytes_of_the_tail_are_those_after_the_snapshot(self, book: Book) -> None:
        _, second, _ = book.grow(PATH, b"one", b"three", b"eleven")
        book.compact(PATH, second, b"a snapshot of many bytes")
        assert book.append(PATH, b"x").tail_bytes == len(b"eleven" + b"x")
        head = book.read(PATH).head
        book.compact(PATH, head, b"")
        assert book.append(PATH, b"four").tail_bytes == len(b"four")

    def test_nothing_is_compacted_up_to_what_is_not_in_the_journal_or_not_newer(self, book: Book) -> None:
        first, second, third = book.grow(PATH, b"1", b"2", b"3")
        assert book.compact(PATH, second, b"kept")
        before = book.read(PATH)
        for upto in (ORIGIN, first, second, changed(second), changed(third), Cursor(4, 1), Cursor(1 << 40, 1)):
            assert book.compact(PATH, upto, b"late") is False
        assert book.read(PATH) == before
        assert book.append(PATH, b"4").tail_bytes == 2

    def test_where_nothing_is_nothing_is_compacted(self, book: Book) -> None:
        for upto in (ORIGIN, Cursor(1, 1)):
            assert book.compact(PATH, upto) is False
        assert book.paths() == []

    def test_a_later_snapshot_takes_the_place_of_the_one_before(self, book: Book) -> None:
        first, second = book.grow(PATH, b"1", b"2")
        assert book.compact(PATH, first, b"1")
        assert book.compact(PATH, second, b"1 and 2")
        assert (book.read(PATH).snapshot, book.read(PATH).records) == (b"1 and 2", ())

    def test_a_writer_from_before_the_snapshot_is_refused_and_not_told_half(self, book: Book) -> None:
        first, second, third = book.grow(PATH, b"1", b"2", b"3")
        book.compact(PATH, second)
        for stale in (ORIGIN, first):
            reply = book.append(PATH, b"late", expected=stale)
            assert (reply.cursor, reply.previous) == (None, third)
            assert reply.missed in (None, book.read(PATH, stale))
        assert book.append(PATH, b"late", expected=second).missed == book.read(PATH, second)

    def test_a_life_that_begins_after_a_snapshot_has_none(self, book: Book) -> None:
        (head,) = book.grow(PATH, b"1")
        book.compact(PATH, head)
        book.delete(PATH)
        assert book.read(PATH).snapshot is None
        book.append(PATH, b"new")
        tail = book.read(PATH)
        assert (tail.joined, tail.base, tail.snapshot, len(tail.records)) == (True, ORIGIN, None, 1)

    def test_a_compaction_leaves_other_scopes_alone(self, book: Book) -> None:
        below = (*PATH, "child")
        (head,) = book.grow(PATH, b"1")
        book.grow(below, b"2")
        before = book.read(below)
        book.compact(PATH, head)
        assert book.read(below) == before
