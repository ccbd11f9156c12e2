"""Session memories when something fails or comes in between: at each step, and for every backend."""

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import wmem
from tests.conformance.conftest import Call, Clock, MemoryOpener
from wmem import AsyncAgentMemory, CorruptionError, NotFoundError, StoreError
from wmem.testing.store_bytes import read_store_bytes
from wmem.tokens.estimate import EstimateCounter

SECRET = "zqXvKw9PjLmTrB"
LONG_TERM = ("~semantic", "~episodic")

Break = Callable[..., None]


class CutError(BaseException):
    """As if the process had ended here."""


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Break:
    """Makes a port of a memory fail where `when` says so of its arguments."""

    def broken(memory: Any, name: str, when: Callable[..., bool], how: BaseException | None = None) -> None:
        aio = isinstance(memory, AsyncAgentMemory)
        ports: Any = memory._core.ports.aio if aio else memory._core.ports.sync
        real = ports[name]
        failure = how or StoreError("the store is away")

        def port(*args: Any) -> Any:
            if when(*args):
                raise failure
            return real(*args)

        async def aport(*args: Any) -> Any:
            return await port(*args)

        monkeypatch.setitem(ports, name, aport if aio else port)

    return broken


def long_term(path: Any, *_: Any) -> bool:
    return path[-1] in LONG_TERM


# -- long-term memory that fails


def test_a_fetch_whose_promotion_fails_returns_the_item_and_leaves_it_pending_and_says_so_once(
    memory: wmem.AgentMemory,
    call: Call,
    broken: Break,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scope = memory.scope("s")
    item = call(scope.items.add, SECRET, priority="critical")
    caplog.set_level(logging.WARNING, "wmem.scope")
    broken(memory, "Journal.append", long_term)
    for count in (2, 3, 4):
        fetched = call(scope.items.fetch, item.id)
        assert (fetched.content, fetched.access_count, fetched.promoted_to) == (SECRET, count, None)
    assert [each.id for each in call(scope.items.pending)] == [item.id]
    told = [record.getMessage() for record in caplog.records if item.id in record.getMessage()]
    assert told == [f"item {item.id} of scope agent/s stays pending: the store is away"]
    monkeypatch.undo()
    assert call(scope.items.fetch, item.id).promoted_to is not None
    assert SECRET not in caplog.text


def test_a_bulk_promotion_without_long_term_memory_fails_for_each_and_marks_none(
    memory: wmem.AgentMemory, call: Call, broken: Break
) -> None:
    scope = memory.scope("s")
    ids = [call(scope.items.add, name).id for name in "abc"]
    broken(memory, "Journal.append", long_term)
    bulk = call(scope.items.promote_many, ids)
    assert (bulk.success, bulk.failed) == (0, 3)
    assert {result.error for result in bulk.results} == {"the store is away"}
    assert (call(scope.items.promoted), call(scope.items.count)) == ([], 3)


def test_a_promotion_that_ends_before_the_mark_is_finished_by_the_next_and_makes_one(
    open_memory: MemoryOpener, call: Call, clock: Clock, broken: Break, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory()
    scope = memory.scope("s")
    item = call(scope.items.add, "a needle", priority="critical")
    broken(memory, "Journal.append", lambda path, *_: not long_term(path), CutError())
    with pytest.raises(CutError):
        call(scope.items.promote, item.id)
    monkeypatch.undo()
    (kept,) = call(memory.episodic.items.all)
    there = open_memory.in_other_process()
    assert [each.id for each in call(there.scope("s").items.pending)] == [item.id]
    # Nobody sees it twice meanwhile.
    for reader in (scope, there.scope("s"), scope.child("task")):
        assert [hit.id for hit in call(reader.recall, "needle")] == [item.id]
    clock.advance(100)
    assert call(there.scope("s").items.fetch, item.id).promoted_to == kept.id
    assert call(scope.items.promote, item.id) == kept
    assert call(memory.episodic.items.all) == call(there.episodic.items.all) == [kept]


def test_a_promotion_that_fails_before_long_term_memory_has_it_changes_nothing(
    memory: wmem.AgentMemory, call: Call, broken: Break
) -> None:
    scope = memory.scope("s")
    item = call(scope.items.add, "x")
    broken(memory, "Journal.append", long_term)
    with pytest.raises(StoreError, match="away"):
        call(scope.items.promote, item.id)
    assert call(scope.items.get, item.id) == item


def test_a_promotion_is_told_to_the_log_once_and_without_content(
    memory: wmem.AgentMemory, call: Call, caplog: pytest.LogCaptureFixture
) -> None:
    scope = memory.scope("s")
    item = call(scope.items.add, SECRET)
    caplog.set_level(logging.INFO, "wmem")
    for _ in range(2):
        kept = call(scope.items.promote, item.id)
    told = [record.getMessage() for record in caplog.records if record.name == "wmem.scope"]
    assert told == [f"promoted item {item.id} of scope agent/s as {kept.id} (manual)"]
    assert SECRET not in caplog.text


# -- a store that fails while something is taken away


@pytest.mark.parametrize("facet", [None, "items", "entries", "messages"])
def test_a_clear_that_fails_changes_nothing(
    memory: wmem.AgentMemory, call: Call, broken: Break, facet: str | None
) -> None:
    scope = memory.scope("s")
    call(scope.items.add, "x")
    call(scope.entries.set, "k", 1)
    call(scope.messages.append, {"role": "user", "content": "hi"})
    before = call(scope.export)
    broken(memory, "Journal.append", lambda *_: True)
    with pytest.raises(StoreError, match="away"):
        call((scope if facet is None else getattr(scope, facet)).clear)
    assert call(scope.export) == before


@pytest.mark.parametrize("step", ["Journal.compact", "Purge.purge"])
def test_a_clear_whose_sweeping_fails_has_cleared_and_says_what_is_left(
    memory: wmem.AgentMemory, call: Call, broken: Break, caplog: pytest.LogCaptureFixture, step: str
) -> None:
    scope = memory.scope("s")
    call(scope.items.add, SECRET)
    broken(memory, step, lambda *_: True)
    assert call(scope.items.clear) == 1
    assert call(scope.items.all, include_expired=True) == []
    assert "what was cleared may leave bytes behind" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize("step", ["Journal.compact", "Purge.purge"])
def test_an_erasure_whose_sweeping_fails_says_so_and_ends_when_it_is_repeated(
    memory: wmem.AgentMemory,
    call: Call,
    broken: Break,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    scope = memory.scope("s")
    item = call(scope.items.add, SECRET)
    broken(memory, step, lambda *_: True)
    done = call(scope.erase, item.id)
    assert (done.complete, done.ids) == (False, (item.id,))
    assert done.remaining
    assert all("erase again" in sentence for sentence in done.remaining)
    assert call(scope.items.exists, item.id) is False
    monkeypatch.undo()
    assert call(scope.erase).complete is True
    assert SECRET.encode() not in read_store_bytes(memory.url)


def test_an_erasure_that_ends_half_way_is_finished_by_repeating_it(
    memory: wmem.AgentMemory, call: Call, url: str, broken: Break, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = memory.scope("s")
    item = call(scope.items.add, SECRET)
    kept = call(scope.items.promote, item.id)
    broken(memory, "Journal.append", long_term, CutError())
    with pytest.raises(CutError):
        call(scope.erase, item.id)
    monkeypatch.undo()
    assert call(memory.episodic.items.exists, kept.id) is True
    assert call(scope.erase, item.id).complete is True
    assert call(memory.episodic.items.all) == []
    assert SECRET.encode() not in read_store_bytes(url)


def test_what_is_damaged_is_not_compacted_away_and_an_erasure_says_so(
    open_memory: MemoryOpener, call: Call, backend: str
) -> None:
    if backend == "memory":
        pytest.skip("objects of this process cannot be damaged")
    memory = open_memory()
    scope = memory.scope("s")
    item = call(scope.items.add, "x")
    opened: Any = memory._core
    ports = opened.ports.aio if isinstance(memory, AsyncAgentMemory) else opened.ports.sync
    call(ports["Journal.append"], scope.path, 77, b"no record", None, None)
    done = call(scope.erase, item.id)
    assert done.complete is False
    assert "damaged records" in " ".join(done.remaining)
    with pytest.raises(CorruptionError):
        call(scope.items.get, item.id)


# -- upkeep that is disturbed


def test_a_disposal_that_was_interrupted_is_finished_by_maintenance(
    memory: wmem.AgentMemory, call: Call, broken: Break, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = memory.scope("s")
    call(scope.items.add, SECRET)
    call(memory.scope("t").items.add, "stays")
    broken(memory, "Journal.delete", lambda *_: True, CutError())
    with pytest.raises(CutError):
        call(scope.dispose)
    monkeypatch.undo()
    done = call(memory.maintain)
    assert (done.scopes, done.deleted) == (2, 1)
    assert call(memory.maintain)[:5] == (1, 0, 0, 0, 0)
    assert call(memory.scope("t").items.count) == 1


def test_maintenance_compacts_what_its_writers_could_not(
    memory: wmem.AgentMemory, call: Call, broken: Break, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = memory.scope("s")
    broken(memory, "Journal.compact", lambda *_: True)
    for _ in range(3):
        call(scope.items.add, "x" * 50_000)
    monkeypatch.undo()
    before = call(scope.export)
    assert call(memory.maintain).compacted == 1
    assert call(memory.maintain).compacted == 0
    assert call(scope.export) == before


def test_a_pass_that_fails_is_told_and_the_next_one_runs(
    memory: wmem.AgentMemory, call: Call, broken: Break, caplog: pytest.LogCaptureFixture
) -> None:
    fails = iter([True])
    broken(memory, "Journal.paths", lambda *_: next(fails, False))
    repeated = memory.maintenance(every_s=0.001)
    with call.enter(repeated):
        _wait(lambda: repeated.runs >= 1, call)
    assert "maintenance failed and will be tried again: the store is away" in caplog.text


LOOKS = 30_000


def _wait(true: Callable[[], bool], call: Call) -> None:
    async def turn() -> None:
        await asyncio.sleep(0.001)

    for _ in range(LOOKS):
        if true():
            return
        if call.mode == "async":
            _ = call(turn)
        else:
            time.sleep(0.001)
    pytest.fail("waited in vain")


# -- somebody who copies at the same time


@pytest.fixture
def ours(url: str, options: Any) -> Iterator[wmem.AgentMemory]:
    """A memory for threads, into whose steps another's fall."""
    with wmem.open(url, agent_id="agent", clock=Clock(), counter=EstimateCounter(), **options) as memory:
        yield memory


def meanwhile(memory: wmem.AgentMemory, monkeypatch: pytest.MonkeyPatch, when: Callable[..., bool], act: Any) -> None:
    """Do something once, between the other's decision to append and its append."""
    ports: Any = memory._core.ports.sync
    real = ports["Journal.append"]
    due = [act]

    def append(*args: Any) -> Any:
        if due and when(*args):
            due.pop()()
        return real(*args)

    monkeypatch.setitem(ports, "Journal.append", append)


def test_what_is_erased_while_it_is_promoted_is_not_in_long_term_memory(
    ours: wmem.AgentMemory, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = ours.scope("s")
    item = scope.items.add(SECRET)
    meanwhile(ours, monkeypatch, long_term, lambda: scope.erase(item.id))
    with pytest.raises(NotFoundError, match="erased meanwhile"):
        scope.items.promote(item.id)
    assert ours.episodic.items.all() == []
    assert SECRET.encode() not in read_store_bytes(url)


@pytest.mark.parametrize("kind", ["item", "entry"])
def test_what_is_erased_while_it_is_merged_is_not_in_the_parent(
    ours: wmem.AgentMemory, url: str, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    parent, child = ours.scope("s"), ours.scope("s").child("c")
    child.items.add("stays")
    if kind == "item":
        wanted = child.items.add(SECRET).id
    else:
        child.entries.set("k", SECRET)
        entry = child.entries.entry("k")
        assert entry is not None
        wanted = entry.id
    meanwhile(ours, monkeypatch, lambda path, *_: path == parent.path, lambda: child.erase(wanted))
    child.merge_to_parent(items=True)
    assert [item.content for item in parent.items.all()] == ["stays"]
    assert parent.entries.keys() == []
    assert SECRET.encode() not in read_store_bytes(url)


# -- what the operator must do


@pytest.mark.slow
def test_a_reader_that_holds_the_file_is_named_until_it_lets_go(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/store.db"
    with wmem.open(url, agent_id="agent", counter=EstimateCounter()) as memory:
        scope = memory.scope("s")
        item = scope.items.add(SECRET)
        reader = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sqlite_master").fetchall()
        done = scope.erase(item.id)
        assert (done.complete, scope.items.exists(item.id)) == (False, False)
        assert any("store.db" in sentence for sentence in done.remaining)
        reader.execute("ROLLBACK")
        reader.close()
        assert scope.erase().complete is True
        assert SECRET.encode() not in read_store_bytes(url)


def test_a_server_that_writes_files_is_named_with_what_to_do(new_server: Any) -> None:
    server = new_server("--appendonly", "yes", "--save", "3600 1")
    with wmem.open(server.database(), agent_id="agent", counter=EstimateCounter()) as memory:
        scope = memory.scope("s")
        done = scope.erase(scope.items.add(SECRET).id)
    assert done.complete is False
    told = " ".join(done.remaining)
    assert "append-only file" in told
    assert "BGSAVE" in told
    assert SECRET not in told
