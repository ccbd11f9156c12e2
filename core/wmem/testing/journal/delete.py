"""Tests of `delete`: a path and everything below it, of one incarnation, in one step."""

from wmem.model.history import ORIGIN, Cursor, Incarnation
from wmem.testing.journal.client import PATH, JournalClient, JournalFixtures
from wmem.testing.journal.read import EMPTY_TAIL

__all__ = ["DeleteTests"]


class DeleteTests(JournalFixtures):
    """A deleted journal is gone for every reader, and a new one at its path has another chain."""

    def test_a_deletion_takes_the_descendants_along_and_nobody_else(self, client: JournalClient) -> None:
        gone = [PATH, (*PATH, "child"), (*PATH, "child", "grandchild")]
        kept = [("agent",), ("agent", "session2"), ("agent", "sessio"), ("agent", "other", "session"), ("agent2",)]
        for path in gone + kept:
            client.append_many(path, b"x", b"y")
        before = {path: client.read(path) for path in kept}
        client.delete(PATH)
        assert client.paths() == sorted(kept)
        assert {path: client.read(path) for path in kept} == before
        assert all(client.read(path) == EMPTY_TAIL for path in gone)

    def test_a_deletion_of_a_root_takes_the_whole_agent(self, client: JournalClient) -> None:
        for path in (("agent",), PATH, ("agent", "other"), ("agent 2", "session")):
            client.append_many(path, b"x")
        client.delete(("agent",))
        assert client.paths() == [("agent 2", "session")]

    def test_descendants_go_although_their_parent_was_never_written(self, client: JournalClient) -> None:
        client.append_many((*PATH, "deep", "below"), b"x")
        client.delete(PATH)
        assert client.paths() == []

    def test_deleting_nothing_does_nothing(self, client: JournalClient) -> None:
        client.delete(PATH)
        client.delete(PATH, Incarnation(5))
        assert client.paths() == []

    def test_a_deletion_that_means_another_life_deletes_nothing(self, client: JournalClient) -> None:
        old = client.append(PATH, b"old").incarnation
        client.delete(PATH)
        client.append_many(PATH, b"new")
        client.append_many((*PATH, "child"), b"new")
        before = client.read(PATH), client.read((*PATH, "child"))
        client.delete(PATH, old)
        assert (client.read(PATH), client.read((*PATH, "child"))) == before
        client.delete(("agent", "absent"), old)
        assert len(client.paths()) == 2

    def test_a_deletion_that_means_a_life_that_is_over_spares_the_descendants(self, client: JournalClient) -> None:
        old = client.append(PATH, b"old").incarnation
        client.delete(PATH)
        client.append_many((*PATH, "child"), b"of the next life")
        client.delete(PATH, old)
        assert client.paths() == [(*PATH, "child")]

    def test_a_deletion_in_its_life_deletes_whatever_was_written_since(self, client: JournalClient) -> None:
        birth = client.append(PATH, b"1").incarnation
        head = client.append_many(PATH, b"2")[-1]
        client.append_many((*PATH, "child"), b"x")
        client.compact(PATH, head)
        client.delete(PATH, birth)
        assert client.paths() == []

    def test_no_cursor_of_a_life_that_is_over_is_joined_again(self, client: JournalClient) -> None:
        old = client.append_many(PATH, b"1", b"2", b"3")
        client.delete(PATH)
        for cursor in old:
            assert client.read(PATH, cursor) == EMPTY_TAIL._replace(joined=False)
        new = client.append_many(PATH, b"1", b"2", b"3")
        whole = client.read(PATH)
        assert whole.joined
        assert not {*old} & {*new}
        for cursor in old:
            assert client.read(PATH, cursor) == whole._replace(joined=False)
            assert client.append(PATH, b"late", expected=cursor).cursor is None
            assert client.compact(PATH, cursor) is False
        assert client.read(PATH) == whole

    def test_what_begins_anew_begins_at_the_beginning(self, client: JournalClient) -> None:
        client.append_many(PATH, b"1", b"22")
        client.delete(PATH)
        assert client.append(PATH, b"late", expected=Cursor(2, 1)).previous == ORIGIN
        reply = client.append(PATH, b"333", expected=ORIGIN)
        assert reply.cursor is not None
        assert (reply.cursor.version, reply.tail_bytes) == (1, 3)
        assert [record.payload for record in client.read(PATH).records] == [b"333"]
