"""Tests of several connections, retention, and the optional methods of a journal."""

import time

import pytest

from wmem.model.history import ORIGIN, Cursor
from wmem.testing.journal.client import PATH, JournalClient, JournalFixtures

__all__ = ["ConnectionsTests"]

SHORT_S = 0.005
DROP_LOOKS = 20  # a store that drops expired journals has dropped a short-lived one after so many of them


class ConnectionsTests(JournalFixtures):
    """All connections see one store; journals are kept at least as long as requested."""

    def test_another_connection_sees_the_same_history(self, client: JournalClient, other_client: JournalClient) -> None:
        first, second = client.append_many(PATH, b"1", b"2")
        assert other_client.read(PATH) == client.read(PATH)
        assert other_client.read(PATH, first).joined
        assert other_client.append(PATH, b"3", expected=second).previous == second
        assert client.append(PATH, b"late", expected=second).missed == other_client.read(PATH, second)
        assert client.paths() == other_client.paths() == [PATH]

    def test_another_connection_compacts_and_deletes_for_all(
        self, client: JournalClient, other_client: JournalClient
    ) -> None:
        first, second = client.append_many(PATH, b"1", b"2")
        assert client.read(PATH) == other_client.read(PATH)
        assert other_client.compact(PATH, first, b"one")
        assert client.read(PATH).snapshot == b"one"
        assert client.compact(PATH, first) is False
        other_client.delete(PATH)
        assert client.read(PATH, second).joined is False
        assert client.paths() == []
        assert client.append(PATH, b"1", expected=ORIGIN).cursor is not None
        assert other_client.read(PATH) == client.read(PATH)

    def test_what_is_kept_for_ever_outlives_a_shorter_wish(self, client: JournalClient) -> None:
        witness = ("agent", "witness")
        (first,) = client.append_many(PATH, b"for ever")
        client.append(PATH, b"for a while", keep_s=SHORT_S)
        client.append(witness, b"for a while", keep_s=SHORT_S)
        lapsed = self._is_dropped(client, witness)
        assert [record.payload for record in client.read(PATH, first).records] == [b"for a while"]
        assert client.paths() == ([PATH] if lapsed else [PATH, witness])

    def test_what_is_kept_longer_outlives_a_shorter_wish(self, client: JournalClient) -> None:
        witness = ("agent", "witness")
        client.append(PATH, b"long", keep_s=3_600.0)
        (head,) = (client.append(PATH, b"short", keep_s=SHORT_S).cursor,)
        assert head is not None
        assert client.append(PATH, b"late", expected=ORIGIN, keep_s=None).cursor is None
        client.append(witness, b"short", keep_s=SHORT_S)
        self._is_dropped(client, witness)
        assert client.read(PATH).head == head

    @pytest.mark.parametrize("longer", [None, 3_600.0])
    def test_a_longer_wish_outlives_a_shorter_one_before_it(self, client: JournalClient, longer: float | None) -> None:
        witness = ("agent", "witness")
        client.append(("agent",), b"so that nothing but the second append has to be done before the first one lapses")
        client.append(PATH, b"short", keep_s=SHORT_S)
        client.append(PATH, b"long", keep_s=longer)  # the first of a new life if the other has lapsed already
        client.append(witness, b"short", keep_s=SHORT_S)
        self._is_dropped(client, witness)
        assert client.read(PATH).records[-1].payload == b"long"
        assert PATH in client.paths()

    def test_what_has_lapsed_is_gone_and_may_begin_again(self, client: JournalClient) -> None:
        head = client.append(PATH, b"for a while", keep_s=SHORT_S).cursor
        assert head is not None
        if not self._is_dropped(client, PATH):
            return  # a store may keep everything
        tail = client.read(PATH)
        assert (tail.joined, tail.snapshot, tail.records, tail.head) == (True, None, (), ORIGIN)
        assert client.paths() == []
        assert client.read(PATH, head).joined is False
        assert client.append(PATH, b"late", expected=head).cursor is None
        assert client.append(PATH, b"again", expected=ORIGIN).previous == ORIGIN
        assert [record.payload for record in client.read(PATH).records] == [b"again"]
        assert client.paths() == [PATH]

    @staticmethod
    def _is_dropped(client: JournalClient, path: tuple[str, ...]) -> bool:
        """Whether the store drops a journal whose retention has ended."""
        for _ in range(DROP_LOOKS):
            if client.read(path).head == ORIGIN:
                return True
            time.sleep(SHORT_S)
        return False

    def test_a_head_that_is_told_without_waiting_is_the_head(self, client: JournalClient) -> None:
        assert client.call_optional("head", PATH) == ORIGIN
        cursors = client.append_many(PATH, b"1", b"2")
        assert client.call_optional("head", PATH) == cursors[-1]
        client.compact(PATH, cursors[0])
        assert client.call_optional("head", PATH) == client.read(PATH).head
        client.delete(PATH)
        assert client.call_optional("head", PATH) == ORIGIN

    def test_a_purge_says_in_sentences_what_remains_and_changes_nothing_that_is_stored(
        self, client: JournalClient
    ) -> None:
        first: Cursor = client.append_many(PATH, b"1", b"2", b"3")[0]
        client.append_many(("agent", "gone"), b"x")
        client.compact(PATH, first)
        client.delete(("agent", "gone"))
        before = client.read(PATH)
        for path in (PATH, ("agent", "gone")):
            remaining = client.call_optional("purge", path)
            assert not isinstance(remaining, str)
            assert all(isinstance(sentence, str) and sentence.strip() for sentence in remaining)
        assert client.read(PATH) == before
        assert client.paths() == [PATH]
