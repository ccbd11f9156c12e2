"""Tests of what a store still holds of deleted and compacted payloads: no byte of them."""

from collections.abc import Callable

from wmem.testing.journal.client import PATH, JournalClient, JournalFixtures

__all__ = ["SECRET", "EraseTests"]

SECRET = b"zqXvKw9PjLmTrB"
PAYLOADS = (SECRET, b"%b, and longer than any page of a file" % SECRET * 400, b"before it and behind it: " + SECRET)
OTHER = ("agent", "other")


class EraseTests(JournalFixtures):
    """After a deletion or a compaction, and a purge where the journal offers one, no byte of the payload is left."""

    def test_no_byte_of_a_deleted_journal_is_left(
        self, client: JournalClient, store_bytes: Callable[[], bytes]
    ) -> None:
        for path in (PATH, (*PATH, "child")):
            first = client.append_many(path, *PAYLOADS)[0]
            assert client.compact(path, first, SECRET)
            client.append_many(path, *PAYLOADS)
        client.append_many(OTHER, b"what stays")
        assert SECRET in store_bytes(), "the fixture `store_bytes` reads nothing of what is stored"
        client.delete(PATH)
        self.check_purged(client, store_bytes)

    def test_no_byte_of_compacted_records_is_left(
        self, client: JournalClient, store_bytes: Callable[[], bytes]
    ) -> None:
        cursors = client.append_many(PATH, *PAYLOADS, b"what stays")
        assert client.compact(PATH, cursors[-2], b"without it")
        assert [record.payload for record in client.read(PATH).records] == [b"what stays"]
        self.check_purged(client, store_bytes)

    def test_no_byte_of_an_earlier_snapshot_is_left(
        self, client: JournalClient, store_bytes: Callable[[], bytes]
    ) -> None:
        cursors = client.append_many(PATH, b"1", b"2", b"3")
        assert client.compact(PATH, cursors[0], PAYLOADS[1])
        assert client.compact(PATH, cursors[1], b"without it")
        self.check_purged(client, store_bytes)

    def check_purged(self, client: JournalClient, store_bytes: Callable[[], bytes]) -> None:
        """Purge if the journal can; afterwards nothing is left, or the purge says where it is."""
        says_where = client.purge(PATH)
        assert says_where or SECRET not in store_bytes()
