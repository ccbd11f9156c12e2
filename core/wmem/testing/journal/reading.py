"""Tests of `read`: the records a reader lacks, from any cursor."""

from wmem.journal.port import Tail
from wmem.model.history import ORIGIN, Cursor
from wmem.testing.journal.appending import changed
from wmem.testing.journal.book import PATH, Book, JournalFixtures

__all__ = ["Reading"]

MANY = 1_200  # more than any store returns in one page or statement
NOTHING: Tail[bytes] = Tail(joined=True, base=ORIGIN, snapshot=None, records=(), head=ORIGIN, birth=None)


class Reading(JournalFixtures):
    """A reader continues from its cursor, or if that is of another chain, starts again and learns so."""

    def test_where_nothing_is_nothing_is_read(self, book: Book) -> None:
        assert book.read(PATH) == NOTHING

    def test_a_cursor_into_nothing_is_not_joined(self, book: Book) -> None:
        assert book.read(PATH, Cursor(1, 7)) == NOTHING._replace(joined=False)

    def test_a_reader_gets_what_came_after_its_cursor(self, book: Book) -> None:
        cursors = [ORIGIN, *book.grow(PATH, b"1", b"2", b"3")]
        whole = book.read(PATH)
        assert (whole.joined, whole.base, whole.snapshot, whole.head) == (True, ORIGIN, None, cursors[-1])
        for place, cursor in enumerate(cursors):
            assert book.read(PATH, cursor) == whole._replace(base=cursor, records=whole.records[place:])

    def test_a_cursor_of_another_history_starts_again(self, book: Book) -> None:
        first, second = book.grow(PATH, b"1", b"2")
        whole = book.read(PATH)
        for stranger in (changed(first), changed(second), Cursor(3, 1), Cursor(0, 1), Cursor(1, 0)):
            assert book.read(PATH, stranger) == whole._replace(joined=False)

    def test_several_paths_are_read_in_one_call(self, book: Book) -> None:
        other, missing = (*PATH, "child"), ("agent", "missing")
        first, second = book.grow(PATH, b"1", b"2")
        (head,) = book.grow(other, b"x")
        asked = {PATH: first, other: head, missing: ORIGIN, ("agent",): Cursor(1, 1)}
        tails = book.reads(asked)
        assert dict(tails) == {path: book.read(path, cursor) for path, cursor in asked.items()}
        assert (tails[PATH].head, tails[other].records, tails[missing]) == (second, (), NOTHING)

    def test_a_journal_is_read_whole_however_long_it_is(self, book: Book) -> None:
        payloads = [b"%d" % number for number in range(MANY)]
        cursors = book.grow(PATH, *payloads)
        assert [record.payload for record in book.read(PATH).records] == payloads
        assert book.compact(PATH, cursors[0])
        assert [record.payload for record in book.read(PATH).records] == payloads[1:]

    def test_scopes_are_listed_and_read_whole_however_many_they_are(self, book: Book) -> None:
        paths = [(*PATH, f"child {number:04}") for number in range(MANY)]
        for path in paths:
            book.append(path, path[-1].encode())
        assert book.paths() == paths
        told = book.reads(dict.fromkeys(paths, ORIGIN))
        assert [record.payload for path in paths for record in told[path].records] == [p[-1].encode() for p in paths]

    def test_reading_creates_nothing(self, book: Book) -> None:
        book.reads({PATH: ORIGIN, ("agent",): Cursor(1, 1)})
        assert book.paths() == []
        assert book.append(PATH, b"x", expected=ORIGIN).cursor is not None
