"""An agent's memory: opening and closing, events in order, and catching up with other processes."""

import gc
import logging
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import wmem
from tests.conformance.conftest import Call, Opening
from wmem import InvalidInputError, StoreError


def kinds(events: Any) -> list[str]:
    return [type(event.change).__name__ for event in events]


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def test_a_listener_gets_every_change_once_and_in_order(memory: wmem.AgentMemory, call: Call) -> None:
    events: list[Any] = []
    stop = memory.subscribe(events.append)
    session = memory.scope("s")
    call(session.entries.set, "k", 1)
    call(session.entries.set, "k", 2)
    item = call(session.items.add, "x")
    call(session.messages.append, [said("a"), said("b")])
    call(session.items.remove, item.id)
    call(session.messages.clear)
    call(session.dispose)
    assert kinds(events) == [
        "ScopeOpened",
        *["ItemPut"] * 5,
        "ItemRemoved",
        "Cleared",
        "ScopeDisposed",
    ]
    assert {event.path for event in events} == {("agent", "s")}
    assert [event.updated for event in events[1:4]] == [False, True, False]
    versions = [event.cursor.version for event in events]
    assert versions == sorted(versions)
    stop()
    stop()
    call(memory.scope("s").entries.set, "k", 1)
    assert len(events) == 9


def test_a_listener_hears_its_own_agent_alone(opening: Opening, call: Call) -> None:
    ada, bob = opening("ada"), opening("bob")
    events: list[Any] = []
    ada.subscribe(events.append)
    call(bob.scope("s").entries.set, "k", 1)
    assert events == []


def test_a_failing_listener_breaks_nothing_and_is_logged(
    memory: wmem.AgentMemory, call: Call, caplog: pytest.LogCaptureFixture
) -> None:
    events: list[Any] = []

    def fails(_: Any) -> None:
        msg = "a listener's own trouble"
        raise RuntimeError(msg)

    memory.subscribe(fails)
    memory.subscribe(events.append)
    with caplog.at_level(logging.ERROR, "wmem"):
        call(memory.scope("s").entries.set, "k", "a secret value")
    assert kinds(events) == ["ScopeOpened", "ItemPut"]
    assert "a listener failed" in caplog.text
    assert call(memory.scope("s").entries.get, "k") == "a secret value"


def test_a_listener_may_write(url: str) -> None:
    with wmem.open(url, agent_id="agent") as memory:
        events: list[Any] = []

        def echo(event: Any) -> None:
            events.append(event)
            if event.path[-1] == "s" and type(event.change).__name__ == "ItemPut":
                memory.scope("echo").entries.set("k", 1)

        memory.subscribe(echo)
        memory.scope("s").entries.set("k", 1)
        assert [(event.path[-1], type(event.change).__name__) for event in events] == [
            ("s", "ScopeOpened"),
            ("s", "ItemPut"),
            ("echo", "ScopeOpened"),
            ("echo", "ItemPut"),
        ]


def test_changes_at_once_reach_a_listener_once_each_in_order(memory: wmem.AgentMemory, call: Call) -> None:
    events: list[Any] = []
    memory.subscribe(events.append)
    session = memory.scope("s")

    def appending(number: int) -> Any:
        return lambda: session.messages.append(said(str(number)))

    call.together([appending(number) for number in range(20)])
    stored = [message.id for message in call(session.messages.all)]
    assert [event.change.row.id for event in events if type(event.change).__name__ == "ItemPut"] == stored


def test_events_of_another_process_arrive_when_this_one_catches_up(opening: Opening, call: Call) -> None:
    here, there = opening(), opening.elsewhere()
    call(here.scope("s").entries.set, "k", 1)
    events: list[Any] = []
    here.subscribe(events.append)
    call(there.scope("s").entries.set, "k", 2)
    call(there.scope("s").messages.append, said("a"))
    assert events == []
    call(here.scope("s").messages.count)
    assert kinds(events) == ["ItemPut", "ItemPut"]
    call(here.scope("s").messages.count)
    assert len(events) == 2


def test_jumping_over_a_checkpoint_says_resynced(opening: Opening, call: Call) -> None:
    here, there = opening(), opening.elsewhere()
    call(here.scope("s").entries.set, "k", 1)
    cursors = call(here.changes).cursors
    events: list[Any] = []
    here.subscribe(events.append)
    for _ in range(3):
        call(there.scope("s").messages.append, said("x" * 40_000))
    assert call(here.scope("s").messages.count) == 3
    assert kinds(events)[0] == "Resynced"
    assert kinds(call(here.changes, cursors).events)[0] == "Resynced"
    call(there.scope("s").entries.set, "j", 1)
    call(here.scope("s").entries.get, "j")
    assert kinds(events)[-1] == "ItemPut"


def test_changes_are_what_came_after_the_cursors(memory: wmem.AgentMemory, call: Call) -> None:
    session = memory.scope("s")
    call(session.entries.set, "k", 1)
    first = call(memory.changes)
    assert kinds(first.events) == ["ScopeOpened", "ItemPut"]
    assert call(memory.changes, first.cursors).events == ()
    call(session.entries.remove, "k")
    call(memory.working.entries.set, "root", 1)
    second = call(memory.changes, first.cursors)
    assert sorted(kinds(second.events)) == ["ItemPut", "ItemRemoved", "ScopeOpened"]
    assert call(memory.changes, second.cursors).events == ()
    call(session.dispose)
    third = call(memory.changes, second.cursors)
    assert kinds(third.events) == ["Resynced"]
    assert set(third.cursors) == {("agent",)}


def test_changes_of_another_agent_are_refused(opening: Opening, call: Call) -> None:
    ada, bob = opening("ada"), opening("bob")
    call(bob.scope("s").entries.set, "k", 1)
    with pytest.raises(InvalidInputError, match="ada"):
        call(ada.changes, call(bob.changes).cursors)


def test_what_was_written_is_there_when_the_store_is_opened_again(opening: Opening, call: Call) -> None:
    memory = opening()
    call(memory.scope("s").entries.set, "k", 1)
    call(memory.scope("s").messages.append, said("a"))
    call(memory.close)
    again = opening()
    assert call(again.scope("s").entries.get, "k") == 1
    assert call(again.scope("s").messages.count) == 1


def test_closing_is_counted_and_closing_twice_does_nothing(opening: Opening, call: Call) -> None:
    first, second = opening(), opening()
    call(first.scope("s").entries.set, "k", 1)
    call(first.close)
    call(first.close)
    assert call(second.scope("s").entries.get, "k") == 1
    call(second.scope("s").entries.set, "k", 2)
    with pytest.raises(InvalidInputError, match="closed"):
        first.scope("s")


def test_two_openings_of_one_url_share_replicas(opening: Opening, call: Call) -> None:
    first, second = opening(), opening()
    events: list[Any] = []
    second.subscribe(events.append)
    call(first.scope("s").entries.set, "k", 1)
    # Without a read of its own: the write of one is the replica of both.
    assert kinds(events) == ["ScopeOpened", "ItemPut"]


def test_both_faces_of_a_memory_share_it(opening: Opening, call: Call, colour: str) -> None:
    memory = opening()
    twin: Any = memory.aio() if colour == "sync" else memory.sync()  # type: ignore[attr-defined]  # the async face has it
    back = twin.sync() if colour == "sync" else twin.aio()
    call(back.scope("s").entries.set, "k", 1)
    assert call(memory.scope("s").entries.get, "k") == 1
    assert (twin.url, twin.agent_id) == (memory.url, "agent")
    call(memory.close)
    with pytest.raises(InvalidInputError, match="closed"):
        twin.scope("s")


def test_a_url_that_a_memory_tells_opens_the_same_store(opening: Opening, call: Call) -> None:
    memory = opening()
    call(memory.scope("s").entries.set, "k", 1)
    with wmem.open(memory.url, agent_id="agent") as again:
        assert again.scope("s").entries.get("k") == 1


def test_leaving_a_with_block_closes_and_deletes_nothing(url: str) -> None:
    with wmem.open(url, agent_id="a") as memory:
        memory.scope("s").entries.set("k", 1)
    with pytest.raises(InvalidInputError, match="closed"):
        memory.scope("s")
    with wmem.open(url, agent_id="a") as again:
        assert again.scope("s").entries.get("k") == 1


async def test_leaving_an_async_with_block_closes(url: str) -> None:
    async with await wmem.aopen(url, agent_id="a") as memory:
        await memory.scope("s").entries.set("k", 1)
    with pytest.raises(InvalidInputError, match="closed"):
        memory.scope("s")


def test_private_memories_share_nothing() -> None:
    with wmem.open("memory://", agent_id="a") as first, wmem.open("memory://", agent_id="a") as second:
        first.working.entries.set("k", 1)
        assert second.working.entries.contains("k") is False


def test_bad_openings_get_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    for url in ("postgres://x", "disk", "", "disk://", "disk:///a\0b", 5):
        with pytest.raises(InvalidInputError):
            wmem.open(url, agent_id="a")  # type: ignore[arg-type]  # one of them is no text
    with pytest.raises(StoreError, match="directory"):
        wmem.open(f"disk://{tmp_path}/file/below", agent_id="a")
    for agent in ("", " ", "~a", "a\x00", 5):
        with pytest.raises(InvalidInputError):
            wmem.open("memory://", agent_id=agent)  # type: ignore[arg-type]  # see above
    bad: list[dict[str, Any]] = [{"policy": "session"}, {"counter": 5}, {"clock": 5}]
    for options in bad:
        with pytest.raises(InvalidInputError):
            wmem.open("memory://", agent_id="a", **options)
    with wmem.open("memory://", agent_id="a") as memory, pytest.raises(InvalidInputError, match="listener"):
        memory.subscribe(5)  # type: ignore[arg-type]  # see above


def test_a_damaged_record_does_not_hide_the_other_changes(tmp_path: Path) -> None:
    import sqlite3

    url = f"disk://{tmp_path}/store"
    with wmem.open(url, agent_id="a") as memory:
        for text in "abc":
            memory.scope("s").messages.append(said(text))
    with sqlite3.connect(tmp_path / "store" / "cache.db") as rows:
        (_, middle, _) = rows.execute("SELECT rowid FROM Cache WHERE key GLOB 'r*' ORDER BY rowid").fetchall()
        rows.execute("UPDATE Cache SET value = ? WHERE rowid = ?", (b"x" * 40, *middle))
    rows.close()
    with wmem.open(url, agent_id="a") as memory:
        assert [message.text for message in memory.scope("s").messages.all()] == ["a", "c"]
        assert kinds(memory.changes().events).count("ItemPut") == 2


def test_reading_scopes_that_are_not_there_takes_no_memory(memory: wmem.AgentMemory, call: Call) -> None:
    def read(numbers: range) -> None:
        for number in numbers:
            scope = memory.scope(f"missing-{number}")
            call(scope.entries.get, "k")
            call(scope.messages.count)

    read(range(50))
    gc.collect()
    tracemalloc.start()
    try:
        read(range(50, 350))
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 400_000  # 300 empty replicas would be about 900 kB


def test_ten_thousand_entries_of_a_hundred_bytes_take_less_than_15_megabytes() -> None:
    with wmem.open("memory://", agent_id="a") as memory:
        entries = memory.scope("s").entries
        entries.set("warm", 1)
        gc.collect()
        tracemalloc.start()
        try:
            for number in range(9_999):
                entries.set(f"key-{number}", "x" * 100)
            gc.collect()
            kept, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert kept < 15_000_000
