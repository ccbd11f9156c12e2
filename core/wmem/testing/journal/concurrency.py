"""Tests of concurrent calls: each is atomic."""

from collections import Counter
from typing import TYPE_CHECKING

from wmem.engine.write_queue import Pause
from wmem.flow import Flow, ask
from wmem.journal.port import Appended, Journal, Tail, new_record_id
from wmem.model.history import ORIGIN, Cursor, Path
from wmem.testing.journal.client import PATH, JournalClient, JournalFixtures

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ConcurrencyTests"]

WRITERS = 8
ROUNDS = 12


def append_record(path: Path, payload: bytes, expected: Cursor | None) -> Flow[tuple[int, Appended[bytes]]]:
    """Append one record; return its id and the reply."""
    record_id = new_record_id()
    reply: Appended[bytes] = yield from ask(Journal.append, path, record_id, payload, expected, None)
    return record_id, reply


class ConcurrencyTests(JournalFixtures):
    """Concurrent calls: threads for a sync journal, tasks for an async one."""

    def test_appends_at_once_all_land_once_and_where_they_were_told(self, client: JournalClient) -> None:
        def writing() -> Flow[list[tuple[int, Appended[bytes]]]]:
            told = [(yield from append_record(PATH, b"x", None))]
            while len(told) < ROUNDS:
                yield from ask(Pause.sleep, 0)
                told += [(yield from append_record(PATH, b"x", None))]
            return told

        told = [each for replies in client.run_concurrently([writing() for _ in range(WRITERS)]) for each in replies]
        cursors = {reply.cursor: record_id for record_id, reply in told if reply.cursor}
        assert sorted(cursor.version for cursor in cursors) == list(range(1, WRITERS * ROUNDS + 1))
        tail = client.read(PATH)
        assert [record.id for record in tail.records] == [cursors[cursor] for cursor in sorted(cursors)]
        assert tail.head == max(cursors)
        assert {reply.incarnation for _, reply in told} == {tail.incarnation}

    def test_appends_over_two_connections_at_once_all_land_once(
        self, client: JournalClient, other_client: JournalClient
    ) -> None:
        def writing() -> Flow[list[Cursor | None]]:
            cursors: list[Cursor | None] = []
            while len(cursors) < 3 * ROUNDS:
                yield from ask(Pause.sleep, 0)
                _, reply = yield from append_record(PATH, b"x", None)
                cursors.append(reply.cursor)
            return cursors

        appended = client.run_concurrently([writing() for _ in range(WRITERS)], other=other_client)
        cursors = [cursor for each in appended for cursor in each if cursor]
        assert sorted(cursor.version for cursor in cursors) == list(range(1, 3 * ROUNDS * WRITERS + 1))
        tail = client.read(PATH)
        assert (len(tail.records), tail.head) == (len(cursors), max(cursors))

    def test_of_many_that_begin_at_one_head_one_is_taken(self, client: JournalClient) -> None:
        for head in (ORIGIN, *client.append_many(("agent", "other"), b"1")):
            path = PATH if head == ORIGIN else ("agent", "other")
            told = client.run_concurrently([append_record(path, b"x", head) for _ in range(WRITERS)])
            ((winner, taken),) = [(record_id, reply) for record_id, reply in told if reply.cursor is not None]
            assert taken.previous == head
            for _, reply in told:
                if reply.cursor is None:
                    assert reply.previous == taken.cursor
                    assert reply.missed is not None
                    assert [record.id for record in reply.missed.records] == [winner]

    def test_several_paths_are_read_as_of_one_instant(self, client: JournalClient) -> None:
        first, second = ("agent", "first"), ("agent", "second")
        between = [("agent", f"between {number}") for number in range(20)]  # leaves time for a write in between

        ended: list[bool] = []

        def writing() -> Flow[list[int]]:
            try:
                for _ in range(3 * ROUNDS):
                    yield from ask(Pause.sleep, 0)
                    yield from append_record(first, b"x", None)
                    yield from append_record(second, b"x", None)
            finally:
                ended.append(True)
            return []

        def reading(*paths: Path) -> Flow[list[int]]:
            ahead: list[int] = []
            while not ended or len(ahead) < ROUNDS:  # all the while, whoever is scheduled first
                yield from ask(Pause.sleep, 0)
                asked: Mapping[Path, Cursor] = dict.fromkeys(paths, ORIGIN)
                tails = yield from ask(Journal.read, asked)
                ahead.append(tails[first].head.version - tails[second].head.version)
            return ahead

        told = client.run_concurrently([writing(), reading(first, *between, second), reading(second, *between, first)])
        assert {ahead for each in told for ahead in each} <= {0, 1}

    def test_a_reader_finds_no_gap_while_others_write_and_compact(self, client: JournalClient) -> None:
        def writing() -> Flow[list[Tail[bytes]]]:
            for number in range(1, 3 * ROUNDS):
                yield from ask(Pause.sleep, 0)
                _, reply = yield from append_record(PATH, b"%d" % number, None)
                assert reply.cursor is not None
                if number % 5 == 0:
                    assert (yield from ask(Journal.compact, PATH, reply.cursor, b"%d" % number, None))
            return []

        def reading() -> Flow[list[Tail[bytes]]]:
            seen: list[Tail[bytes]] = []
            after = ORIGIN
            for _ in range(3 * ROUNDS):
                yield from ask(Pause.sleep, 0)
                tail: Tail[bytes] = (yield from ask(Journal.read, {PATH: after}))[PATH]
                seen.append(tail)
                after = tail.head
            return seen

        for tail in [tail for told in client.run_concurrently([writing(), reading(), reading()]) for tail in told]:
            found = [int(record.payload) for record in tail.records]
            assert found == list(range(tail.base.version + 1, tail.head.version + 1))
            assert tail.snapshot in (None, b"%d" % tail.base.version)
            assert tail.snapshot is not None or tail.joined or tail.base == ORIGIN

    def test_a_deletion_takes_all_or_nothing_of_a_family(self, client: JournalClient) -> None:
        family = [PATH, (*PATH, "a"), (*PATH, "a", "b")]
        for path in family:
            client.append_many(path, b"x")

        def deleting() -> Flow[list[int]]:
            yield from ask(Journal.delete, PATH, None)
            return []

        def reading() -> Flow[list[int]]:
            seen = []
            for _ in range(ROUNDS):
                yield from ask(Pause.sleep, 0)
                asked: Mapping[Path, Cursor] = dict.fromkeys(family, ORIGIN)
                tails = yield from ask(Journal.read, asked)
                seen.append(sum(tail.head != ORIGIN for tail in tails.values()))
            return seen

        counts = Counter(
            count for told in client.run_concurrently([reading(), deleting(), reading()]) for count in told
        )
        assert set(counts) <= {0, len(family)}
        assert client.paths() == []
