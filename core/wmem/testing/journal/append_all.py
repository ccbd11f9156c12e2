"""Tests of the optional `append_all`: several paths of one root at once, each as if it were appended to alone."""

from collections.abc import Sequence

import pytest

from wmem.journal.port import Append, Appended
from wmem.model.history import ORIGIN, Incarnation
from wmem.testing.journal.client import PATH, JournalClient, JournalFixtures

__all__ = ["AppendAllTests"]

BELOW = (*PATH, "~below")
BESIDE = (PATH[0], "beside")


def append_all(client: JournalClient, *appends: Append[bytes]) -> Sequence[Appended[bytes]]:
    """Append to several paths; skips the test if the journal takes one append at a time."""
    replies: Sequence[Appended[bytes]] = client.call_optional("append_all", list(appends))
    if not replies:
        pytest.skip("the journal takes one append at a time")
    assert len(replies) == len(appends)
    return replies


class AppendAllTests(JournalFixtures):
    """What is appended together lands where each was told, and each is refused for itself."""

    def test_what_was_appended_together_is_read_back_from_each_path(self, client: JournalClient) -> None:
        client.append(PATH, b"first")
        one, two = append_all(client, Append(PATH, 1, b"one", None, None), Append(BELOW, 2, b"two", None, None))
        assert one.cursor == client.read(PATH).head
        assert two.cursor == client.read(BELOW).head
        assert (one.cursor and one.cursor.version, two.cursor and two.cursor.version) == (2, 1)
        assert (one.tail_bytes, two.tail_bytes, two.previous) == (8, 3, ORIGIN)
        assert client.read(PATH).records[-1] == (1, b"one")
        assert client.read(BELOW).records == ((2, b"two"),)
        assert client.paths(PATH) == sorted([PATH, BELOW])

    def test_the_first_scopes_of_a_root_may_begin_together(self, client: JournalClient) -> None:
        client.append(("other",), b"so that the store is known")
        replies = append_all(client, Append(PATH, 1, b"one", ORIGIN, None), Append(BELOW, 2, b"two", ORIGIN, None))
        for path, reply in zip((PATH, BELOW), replies, strict=True):
            assert reply.cursor is not None
            assert reply.incarnation == Incarnation(reply.cursor.chain)
            assert client.read(path).head == reply.cursor

    def test_each_is_refused_for_itself(self, client: JournalClient) -> None:
        life, stale = client.append(PATH, b"first").incarnation, client.append(BELOW, b"first").cursor
        client.append(BELOW, b"second")
        one, two, three = append_all(
            client,
            Append(PATH, 1, b"one", life, None),
            Append(BELOW, 2, b"two", stale, None),
            Append(BESIDE, 3, b"three", life, None),
        )
        assert one.cursor == client.read(PATH).head
        assert (two.cursor, two.previous) == (None, client.read(BELOW).head)
        assert two.missed is not None
        assert [record.payload for record in two.missed.records] == [b"second"]
        assert (three.cursor, three.previous) == (None, ORIGIN)
        assert [record.payload for record in client.read(BELOW).records] == [b"first", b"second"]
        assert client.read(BESIDE).head == ORIGIN

    def test_the_chain_is_that_of_appends_one_by_one(self, client: JournalClient) -> None:
        for path in (PATH, BELOW):
            client.append(path, b"first", record_id=7)
        append_all(client, Append(PATH, 1, b"x", None, None), Append(BELOW, 2, b"y", None, None))
        cursors = [client.append(path, b"z", record_id=3).previous for path in (PATH, BELOW)]
        assert [client.read(path, after).joined for path, after in zip((PATH, BELOW), cursors, strict=True)] == [
            True
        ] * 2
        assert [len(client.read(path, after).records) for path, after in zip((PATH, BELOW), cursors, strict=True)] == [
            1,
            1,
        ]
