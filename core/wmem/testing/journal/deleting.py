"""Tests of `delete`: a path and everything below it, of one incarnation, in one step."""

from wmem.model.history import ORIGIN, Birth, Cursor
from wmem.testing.journal.book import PATH, Book, JournalFixtures
from wmem.testing.journal.reading import NOTHING

__all__ = ["Deleting"]


class Deleting(JournalFixtures):
    """A deleted journal is gone for every reader, and a new one at its path has another chain."""

    def test_a_deletion_takes_the_descendants_along_and_nobody_else(self, book: Book) -> None:
        gone = [PATH, (*PATH, "child"), (*PATH, "child", "grandchild")]
        kept = [("agent",), ("agent", "session2"), ("agent", "sessio"), ("agent", "other", "session"), ("agent2",)]
        for path in gone + kept:
            book.grow(path, b"x", b"y")
        before = {path: book.read(path) for path in kept}
        book.delete(PATH)
        assert book.paths() == sorted(kept)
        assert {path: book.read(path) for path in kept} == before
        assert all(book.read(path) == NOTHING for path in gone)

    def test_a_deletion_of_a_root_takes_the_whole_agent(self, book: Book) -> None:
        for path in (("agent",), PATH, ("agent", "other"), ("agent 2", "session")):
            book.grow(path, b"x")
        book.delete(("agent",))
        assert book.paths() == [("agent 2", "session")]

    def test_descendants_go_although_their_parent_was_never_written(self, book: Book) -> None:
        book.grow((*PATH, "deep", "below"), b"x")
        book.delete(PATH)
        assert book.paths() == []

    def test_deleting_nothing_does_nothing(self, book: Book) -> None:
        book.delete(PATH)
        book.delete(PATH, Birth(5))
        assert book.paths() == []

    def test_a_deletion_that_means_another_life_deletes_nothing(self, book: Book) -> None:
        old = book.append(PATH, b"old").birth
        book.delete(PATH)
        book.grow(PATH, b"new")
        book.grow((*PATH, "child"), b"new")
        before = book.read(PATH), book.read((*PATH, "child"))
        book.delete(PATH, old)
        assert (book.read(PATH), book.read((*PATH, "child"))) == before
        book.delete(("agent", "absent"), old)
        assert len(book.paths()) == 2

    def test_a_deletion_that_means_a_life_that_is_over_spares_the_descendants(self, book: Book) -> None:
        old = book.append(PATH, b"old").birth
        book.delete(PATH)
        book.grow((*PATH, "child"), b"of the next life")
        book.delete(PATH, old)
        assert book.paths() == [(*PATH, "child")]

    def test_a_deletion_in_its_life_deletes_whatever_was_written_since(self, book: Book) -> None:
        birth = book.append(PATH, b"1").birth
        head = book.grow(PATH, b"2")[-1]
        book.grow((*PATH, "child"), b"x")
        book.compact(PATH, head)
        book.delete(PATH, birth)
        assert book.paths() == []

    def test_no_cursor_of_a_life_that_is_over_is_joined_again(self, book: Book) -> None:
        old = book.grow(PATH, b"1", b"2", b"3")
        book.delete(PATH)
        for cursor in old:
            assert book.read(PATH, cursor) == NOTHING._replace(joined=False)
        new = book.grow(PATH, b"1", b"2", b"3")
        whole = book.read(PATH)
        assert whole.joined
        assert not {*old} & {*new}
        for cursor in old:
            assert book.read(PATH, cursor) == whole._replace(joined=False)
            assert book.append(PATH, b"late", expected=cursor).cursor is None
            assert book.compact(PATH, cursor) is False
        assert book.read(PATH) == whole

    def test_what_begins_anew_begins_at_the_beginning(self, book: Book) -> None:
        book.grow(PATH, b"1", b"22")
        book.delete(PATH)
        assert book.append(PATH, b"late", expected=Cursor(2, 1)).previous == ORIGIN
        reply = book.append(PATH, b"333", expected=ORIGIN)
        assert reply.cursor is not None
        assert (reply.cursor.version, reply.tail_bytes) == (1, 3)
        assert [record.payload for record in book.read(PATH).records] == [b"333"]
