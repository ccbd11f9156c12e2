"""Tests of several connections, retention, and the optional methods of a journal."""

import time

from wmem.model.history import ORIGIN, Cursor
from wmem.testing.journal.book import PATH, Book, JournalFixtures

__all__ = ["Sharing"]

SHORT_S = 0.005
LAPSE_S = 0.1  # a store that drops expired journals has dropped a short-lived one within this time


class Sharing(JournalFixtures):
    """All connections see one store; journals are kept at least as long as requested."""

    def test_another_connection_sees_the_same_history(self, book: Book, other: Book) -> None:
        first, second = book.grow(PATH, b"1", b"2")
        assert other.read(PATH) == book.read(PATH)
        assert other.read(PATH, first).joined
        assert other.append(PATH, b"3", expected=second).previous == second
        assert book.append(PATH, b"late", expected=second).missed == other.read(PATH, second)
        assert book.paths() == other.paths() == [PATH]

    def test_another_connection_compacts_and_deletes_for_all(self, book: Book, other: Book) -> None:
        first, second = book.grow(PATH, b"1", b"2")
        assert book.read(PATH) == other.read(PATH)
        assert other.compact(PATH, first, b"one")
        assert book.read(PATH).snapshot == b"one"
        assert book.compact(PATH, first) is False
        other.delete(PATH)
        assert book.read(PATH, second).joined is False
        assert book.paths() == []
        assert book.append(PATH, b"1", expected=ORIGIN).cursor is not None
        assert other.read(PATH) == book.read(PATH)

    def test_what_is_kept_for_ever_outlives_a_shorter_wish(self, book: Book) -> None:
        witness = ("agent", "witness")
        (first,) = book.grow(PATH, b"for ever")
        book.append(PATH, b"for a while", keep_s=SHORT_S)
        book.append(witness, b"for a while", keep_s=SHORT_S)
        lapsed = self._lapsed(book, witness)
        assert [record.payload for record in book.read(PATH, first).records] == [b"for a while"]
        assert book.paths() == ([PATH] if lapsed else [PATH, witness])

    def test_what_is_kept_longer_outlives_a_shorter_wish(self, book: Book) -> None:
        witness = ("agent", "witness")
        book.append(PATH, b"long", keep_s=3_600.0)
        (head,) = (book.append(PATH, b"short", keep_s=SHORT_S).cursor,)
        assert head is not None
        assert book.append(PATH, b"late", expected=ORIGIN, keep_s=None).cursor is None
        book.append(witness, b"short", keep_s=SHORT_S)
        self._lapsed(book, witness)
        assert book.read(PATH).head == head

    def test_what_has_lapsed_is_gone_and_may_begin_again(self, book: Book) -> None:
        head = book.append(PATH, b"for a while", keep_s=SHORT_S).cursor
        assert head is not None
        if not self._lapsed(book, PATH):
            return  # a store may keep everything
        tail = book.read(PATH)
        assert (tail.joined, tail.snapshot, tail.records, tail.head) == (True, None, (), ORIGIN)
        assert book.paths() == []
        assert book.read(PATH, head).joined is False
        assert book.append(PATH, b"late", expected=head).cursor is None
        assert book.append(PATH, b"again", expected=ORIGIN).previous == ORIGIN
        assert [record.payload for record in book.read(PATH).records] == [b"again"]
        assert book.paths() == [PATH]

    @staticmethod
    def _lapsed(book: Book, path: tuple[str, ...]) -> bool:
        """Whether the store drops a journal whose retention has ended."""
        deadline = time.monotonic() + LAPSE_S
        while book.read(path).head != ORIGIN:
            if time.monotonic() > deadline:
                return False
            time.sleep(SHORT_S)
        return True

    def test_a_head_that_is_told_without_waiting_is_the_head(self, book: Book) -> None:
        assert book.ask("head", PATH) == ORIGIN
        cursors = book.grow(PATH, b"1", b"2")
        assert book.ask("head", PATH) == cursors[-1]
        book.compact(PATH, cursors[0])
        assert book.ask("head", PATH) == book.read(PATH).head
        book.delete(PATH)
        assert book.ask("head", PATH) == ORIGIN

    def test_a_purge_says_in_sentences_what_remains_and_changes_nothing_that_is_stored(self, book: Book) -> None:
        first: Cursor = book.grow(PATH, b"1", b"2", b"3")[0]
        book.grow(("agent", "gone"), b"x")
        book.compact(PATH, first)
        book.delete(("agent", "gone"))
        before = book.read(PATH)
        for path in (PATH, ("agent", "gone")):
            remaining = book.ask("purge", path)
            assert not isinstance(remaining, str)
            assert all(isinstance(sentence, str) and sentence.strip() for sentence in remaining)
        assert book.read(PATH) == before
        assert book.paths() == [PATH]
