"""Tests of `read`: the records a reader lacks, from any cursor."""

from wmem.journal.port import Tail
from wmem.model.history import ORIGIN, Cursor
from wmem.testing.journal.append import forge_cursor
from wmem.testing.journal.client import PATH, JournalClient, JournalFixtures

__all__ = ["ReadTests"]

MANY_RECORDS = 1_200  # more than any store returns in one page or statement
EMPTY_TAIL: Tail[bytes] = Tail(joined=True, base=ORIGIN, snapshot=None, records=(), head=ORIGIN, incarnation=None)


class ReadTests(JournalFixtures):
    """A reader continues from its cursor, or if that is of another chain, starts again and learns so."""

    def test_where_nothing_is_nothing_is_read(self, client: JournalClient) -> None:
        assert client.read(PATH) == EMPTY_TAIL

    def test_a_cursor_into_nothing_is_not_joined(self, client: JournalClient) -> None:
        assert client.read(PATH, Cursor(1, 7)) == EMPTY_TAIL._replace(joined=False)

    def test_a_reader_gets_what_came_after_its_cursor(self, client: JournalClient) -> None:
        cursors = [ORIGIN, *client.append_many(PATH, b"1", b"2", b"3")]
        whole = client.read(PATH)
        assert (whole.joined, whole.base, whole.snapshot, whole.head) == (True, ORIGIN, None, cursors[-1])
        for place, cursor in enumerate(cursors):
            assert client.read(PATH, cursor) == whole._replace(base=cursor, records=whole.records[place:])

    def test_a_cursor_of_another_history_starts_again(self, client: JournalClient) -> None:
        first, second = client.append_many(PATH, b"1", b"2")
        whole = client.read(PATH)
        for stranger in (forge_cursor(first), forge_cursor(second), Cursor(3, 1), Cursor(0, 1), Cursor(1, 0)):
            assert client.read(PATH, stranger) == whole._replace(joined=False)

    def test_several_paths_are_read_in_one_call(self, client: JournalClient) -> None:
        other, missing = (*PATH, "child"), ("agent", "missing")
        first, second = client.append_many(PATH, b"1", b"2")
        (head,) = client.append_many(other, b"x")
        asked = {PATH: first, other: head, missing: ORIGIN, ("agent",): Cursor(1, 1)}
        tails = client.read_many(asked)
        assert dict(tails) == {path: client.read(path, cursor) for path, cursor in asked.items()}
        assert (tails[PATH].head, tails[other].records, tails[missing]) == (second, (), EMPTY_TAIL)

    def test_a_journal_is_read_whole_however_long_it_is(self, client: JournalClient) -> None:
        payloads = [b"%d" % number for number in range(MANY_RECORDS)]
        cursors = client.append_many(PATH, *payloads)
        assert [record.payload for record in client.read(PATH).records] == payloads
        assert client.compact(PATH, cursors[0])
        assert [record.payload for record in client.read(PATH).records] == payloads[1:]

    def test_scopes_are_listed_and_read_whole_however_many_they_are(self, client: JournalClient) -> None:
        paths = [(*PATH, f"child {number:04}") for number in range(MANY_RECORDS)]
        for path in paths:
            client.append(path, path[-1].encode())
        assert client.paths() == paths
        told = client.read_many(dict.fromkeys(paths, ORIGIN))
        assert [record.payload for path in paths for record in told[path].records] == [p[-1].encode() for p in paths]

    def test_reading_creates_nothing(self, client: JournalClient) -> None:
        client.read_many({PATH: ORIGIN, ("agent",): Cursor(1, 1)})
        assert client.paths() == []
        assert client.append(PATH, b"x", expected=ORIGIN).cursor is not None
