"""`wmem.agents`: who has something in a store, from its register."""

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import wmem
from tests.conformance.own_journal import AsyncDictJournal, DictJournal
from tests.counting import count_calls
from wmem import CorruptionError, InvalidInputError, NotFoundError, StoreError
from wmem.journal import Incarnation
from wmem.journal import Path as ScopePath
from wmem.journal.memory import MemoryJournal
from wmem.journal.sqlite import SqliteJournal
from wmem.testing import Call, MemoryOpener


class InterruptedJournal(DictJournal):
    """Deletes nothing while its store is gone."""

    is_gone = True

    def delete(self, path: ScopePath, incarnation: Incarnation | None, /) -> None:
        if self.is_gone:
            raise StoreError("the store is gone")
        super().delete(path, incarnation)


@pytest.fixture
def agents(call: Call, url: str) -> Callable[[], list[str]]:
    listing: Any = wmem.agents if call.mode == "sync" else wmem.aagents
    return lambda: call(listing, url)


@pytest.mark.backends(always=True)
def test_the_agents_of_a_store_are_those_that_hold_something(
    open_memory: MemoryOpener, call: Call, agents: Callable[[], list[str]]
) -> None:
    names = ["b", "a/b", "a", "Zoë 日本", "a{b}", "ab"]
    memories = {name: open_memory(name) for name in names}
    assert agents() == []
    for name in names:
        call(memories[name].scope("s", "deep").entries.set, "k", 1)
    call(memories["b"].working.entries.set, "k", 1)
    assert agents() == sorted(names)
    call(memories["b"].erase_all)
    call(memories["a"].close, dispose=True)
    assert agents() == sorted({*names} - {"a", "b"})
    session = memories["ab"].scope("s")
    call(session.items.promote, call(session.items.add, "x").id)
    call(memories["ab"].close, dispose=True)
    assert "ab" in agents()  # its long-term memory stays


@pytest.mark.backends(always=True)
def test_asking_a_store_that_is_not_there_makes_none(url: str, call: Call, agents: Callable[[], list[str]]) -> None:
    if url.startswith(("redis:", "unix:")):
        assert agents() == []
        return
    with pytest.raises(NotFoundError):
        agents()
    with pytest.raises(NotFoundError):
        agents()


def test_a_store_is_asked_without_its_key(tmp_path: Path) -> None:
    options: Mapping[str, Any] = {"key": b"\xa5" * 32, "agent_id": "secretive"}
    with wmem.open(f"disk://{tmp_path}/d", **options) as memory:
        memory.working.entries.set("k", 1)
        assert wmem.agents(memory.url) == ["secretive"]
    assert wmem.agents(f"disk://{tmp_path}/d") == ["secretive"]


def test_bad_urls_are_refused(tmp_path: Path) -> None:
    for url in ("", "postgres://x", 5):
        with pytest.raises(InvalidInputError):
            wmem.agents(url)  # type: ignore[arg-type]  # one is no text
    (tmp_path / "no.db").write_bytes(b"this is no database, whatever its name says" * 50)
    with pytest.raises(StoreError):
        wmem.agents(f"sqlite://{tmp_path}/no.db")


def test_a_journal_of_ones_own_need_not_list_its_roots() -> None:
    journal = DictJournal()
    for agent_id in ("a", "b"):
        with wmem.open("journal://", agent_id=agent_id, client=journal) as memory:
            memory.scope("s").entries.set("k", 1)
            memory.scope("t").entries.set("k", 1)
    assert wmem.agents("journal://", client=journal) == ["a", "b"]


async def test_a_journal_of_ones_own_need_not_list_its_roots_to_coroutines_either() -> None:
    for journal in (AsyncDictJournal(), DictJournal()):
        async with await wmem.aopen("journal://", agent_id="a", client=journal) as memory:
            await memory.scope("s").entries.set("k", 1)
        assert await wmem.aagents("journal://", client=journal) == ["a"]


def test_a_damaged_register_is_damage_and_no_shorter_list(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/s.db"
    for agent_id in ("a", "b"):
        with wmem.open(url, agent_id=agent_id) as memory:
            memory.working.entries.set("k", 1)
    with sqlite3.connect(tmp_path / "s.db") as connection:
        connection.execute("UPDATE scope SET path = CAST('b without an end' AS BLOB) WHERE number = 2")
    with pytest.raises(CorruptionError, match="register"):
        wmem.agents(url)


def test_a_scope_whose_disposal_was_interrupted_does_not_exist() -> None:
    journal = InterruptedJournal()
    with wmem.open("journal://", agent_id="a", client=journal) as memory:
        memory.scope("s").entries.set("k", 1)
        memory.scope("s", "deep").entries.set("k", 1)
        with pytest.raises(StoreError):
            memory.scope("s").dispose()
        journal.is_gone = False
        assert memory.scope("s").exists() is False
        with pytest.raises(NotFoundError):
            memory.scope("s", create=False).entries.get("k")
        memory.scope("s").entries.set("k", 2)
        assert memory.scope("s").exists() is True


def test_an_agent_costs_the_same_however_many_scopes_it_has(tmp_path: Path) -> None:
    journals: list[Any] = [MemoryJournal(len), SqliteJournal(str(tmp_path / "s.db"))]
    costs: dict[int, list[int]] = {0: [], 1: []}
    for count in (3, 200):
        for number, journal in enumerate(journals):
            for each in range(count):
                journal.append(("agent", str(each)), each + 1, b"x", None, None)
            assert list(journal.roots()) == ["agent"]
            costs[number].append(count_calls(journal.roots))
    assert all(few == many for few, many in costs.values())
    journals[1].close()
