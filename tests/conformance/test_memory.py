"""What of an agent's memory is no matter of its backend: openings, damage, and what it takes."""

import gc
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import wmem
from wmem import InvalidInputError, StoreError
from wmem.flow import run
from wmem.model.change import PolicyChanged


def kinds(events: Any) -> list[str]:
    return [type(event.change).__name__ for event in events]


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


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


@pytest.mark.slow
def test_reading_scopes_that_are_not_there_takes_no_memory(tmp_path: Path) -> None:
    # Over a file: in memory a journal's head is known without asking, which spares the replica.
    with wmem.open(f"sqlite://{tmp_path}/store.db", agent_id="a") as memory:

        def read(numbers: range) -> None:
            for number in numbers:
                scope = memory.scope(f"missing-{number}")
                scope.entries.get("k")
                scope.messages.count()

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


@pytest.mark.slow
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


def test_maintenance_passes_over_a_lease_that_a_newer_version_wrote_otherwise() -> None:
    memory = wmem.open("memory://", agent_id="agent")
    memory.scope("new").items.add("x")
    memory.scope("old").items.add("x", ttl_s=1e-6)
    handle = memory._core.handle(("new",), None)
    policy = PolicyChanged('{"lease_s": 1e-9, "lease_of_tomorrow": true}', 0.0)
    run(handle.commit(lambda _: ([policy], None), 0.0), memory._core.ports.sync)
    assert memory.maintain().expired == 1
