"""Compaction takes the place of records by size, loses nothing under traffic, and writes little twice."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

import wmem
from wmem.engine.writing import COMPACT_MIN_BYTES
from wmem.journal.disk import DiskJournal
from wmem.journal.sqlite import SqliteJournal

if TYPE_CHECKING:
    from tests.faults.conftest import Rows

NAME = '["agent","session"]'


class Weighed:
    """What a journal was asked to write, in bytes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.appended: list[int] = []
        self.snapshots: list[int] = []
        for kind in (DiskJournal, SqliteJournal):
            self._weigh(kind, monkeypatch)

    def _weigh(self, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        append, compact = kind.append, kind.compact

        def weighed_append(journal: object, *told: Any) -> object:
            self.appended.append(len(told[2]))
            return append(journal, *told)

        def weighed_compact(journal: object, *told: Any) -> object:
            done = compact(journal, *told)
            if done:
                self.snapshots.append(len(told[2]))
            return done

        monkeypatch.setattr(kind, "append", weighed_append)
        monkeypatch.setattr(kind, "compact", weighed_compact)


def test_a_journal_is_compacted_when_its_tail_holds_as_many_bytes_as_its_snapshot(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    weighed = Weighed(monkeypatch)
    with wmem.open(url, agent_id="agent") as memory:
        session = memory.scope("session")
        tail, snapshot = 0, 0
        for number in range(600):
            taken = len(weighed.snapshots)
            session.messages.append({"role": "user", "content": f"{number} " + "x" * 1_000})
            tail += weighed.appended[-1]
            due = tail >= max(COMPACT_MIN_BYTES, snapshot)
            assert (len(weighed.snapshots) > taken) == due, f"message {number}: {tail} bytes beyond {snapshot}"
            if due:
                tail, snapshot = 0, weighed.snapshots[-1]
    assert len(weighed.snapshots) >= 3


@pytest.mark.parametrize("size", [100, 2_000, 20_000])
def test_compaction_writes_at_most_three_bytes_for_each_byte_given(
    size: int, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    weighed = Weighed(monkeypatch)
    with wmem.open(url, agent_id="agent") as memory:
        session = memory.scope("session")
        for number in range(max(100, 1_500_000 // (size + 300))):
            session.entries.set(f"key {number}", "x" * size)
    given = sum(weighed.appended)
    assert weighed.snapshots
    assert (given + sum(weighed.snapshots)) / given < 3


def test_entries_overwritten_for_ever_do_not_make_the_store_grow(url: str, rows: "Rows") -> None:
    with wmem.open(url, agent_id="agent") as memory:
        for number in range(1_000):
            memory.scope("session").entries.set("same", f"{number} " + "x" * 1_000)
    kept = sum(len(rows.value(key)) for key in (*rows.records(NAME), *rows.checkpoint(NAME)))
    assert kept < 2 * COMPACT_MIN_BYTES


def test_compaction_under_writers_and_readers_of_several_processes_loses_nothing(
    url: str, rows: "Rows", together: Callable[[str, list[tuple[str, ...]]], list[str]]
) -> None:
    code = """
        import sys, wmem
        url, me, role = sys.argv[1:]
        memory = wmem.open(url, agent_id="agent")
        session = memory.scope("session")
        seen = 0
        session.messages.count()
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(80):
            if role == "write":
                session.messages.append({"role": "user", "content": "x" * 3_000, "id": f"{me}-{number}"})
                session.entries.update("count", lambda count: count + 1, 0)
                assert session.messages.get(f"{me}-{number}") is not None
            else:
                ids = [message.id for message in session.messages.all()]
                assert len(ids) == len(set(ids)) >= seen, "a reader never goes back"
                seen = len(ids)
        memory.close()
    """
    together(code, [(url, str(me), "write" if me < 3 else "read") for me in range(4)])
    assert rows.checkpoint(NAME), "it was compacted meanwhile"
    assert len(rows.records(NAME)) < 480
    with wmem.open(url, agent_id="agent") as memory:
        session = memory.scope("session")
        ids = [message.id or "" for message in session.messages.all()]
        assert sorted(ids) == sorted(f"{me}-{number}" for me in range(3) for number in range(80))
        assert session.entries.get("count") == 240


def test_B54_an_append_costs_what_is_new_however_much_is_there(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    weighed = Weighed(monkeypatch)
    with wmem.open(url, agent_id="agent") as memory:
        sizes = []
        for count in (50, 5_000):
            session = memory.scope(f"session of {count}")
            session.messages.append([{"role": "user", "content": f"message {number}"} for number in range(count)])
            compactions = len(weighed.snapshots)
            session.messages.append({"role": "user", "content": "one more"})
            assert len(weighed.snapshots) == compactions
            sizes.append(weighed.appended[-1])
        assert abs(sizes[0] - sizes[1]) < 16
        before = len(weighed.appended)
        for number in range(25):
            memory.scope(f"of many {number}").messages.append({"role": "user", "content": "one more"})
        assert max(weighed.appended[before:]) < 1_000
