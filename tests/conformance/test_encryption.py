"""With a key nothing is readable without it, on any backend; keys are changed under writers, and nothing is lost."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path as Directory
from typing import Any

import pytest
import redis

import wmem
from tests.conformance.conftest import Call, Clock, MemoryOpener
from tests.logs import own_records
from tests.matrix import SHARED
from wmem.agent.key_rotation import rotate
from wmem.codec.keyring import KeyRing
from wmem.engine import writing
from wmem.engine.writing import COMPACT_MIN_BYTES
from wmem.errors import CorruptionError, StoreError, WrongKeyError
from wmem.flow import run
from wmem.model.change import ItemPut
from wmem.model.history import ORIGIN, Path
from wmem.model.row import Row

NOON = 1_764_288_000.0
OLD, NEW = KeyRing(b"\xa5" * 32), KeyRing(b"\x5a" * 31 + b"\xff")
OLD_THEN_NEW = KeyRing(b"\xa5" * 32, b"\x5a" * 31 + b"\xff")
NEW_THEN_OLD = OLD_THEN_NEW.with_active(b"\x5a" * 31 + b"\xff")
MIGRATING = KeyRing(b"\x5a" * 31 + b"\xff", plaintext=True)
SECRET = "the launch code is 0000"


pytestmark = pytest.mark.backends(*SHARED)  # those that keep bytes, opened with the keys of each test


def stored(memory: wmem.AgentMemory) -> dict[Path, list[bytes]]:
    """Every payload of the agent as it is at rest: the checkpoint first, if there is one."""
    ports = memory._core.store.sync_ports
    paths = list(ports["Journal.paths"]((memory.agent_id,)))
    tails = ports["Journal.read"](dict.fromkeys(paths, ORIGIN))
    return {
        path: [*([] if tail.snapshot is None else [tail.snapshot]), *(record.payload for record in tail.records)]
        for path, tail in tails.items()
    }


def under(ring: KeyRing, memory: wmem.AgentMemory) -> bool:
    """Whether all of the agent's payloads are under the active key of a ring."""
    head = b"wmem-aes 2 %s " % ring.active.encode()
    return all(payload.startswith(head) for payloads in stored(memory).values() for payload in payloads)


def filled(memory: wmem.AgentMemory, call: Call) -> None:
    """Scopes with records alone, with a checkpoint and records, with a checkpoint alone, and one of wmem's own."""
    call(memory.working.entries.set, SECRET, SECRET)
    short = memory.scope("short")
    item = call(short.items.add, SECRET, tags=[SECRET], metadata={SECRET: SECRET})
    for _ in range(2):
        call(short.items.fetch, item.id)
    call(short.messages.append, {"role": "user", "content": SECRET, "id": "m"})
    call(short.child("sub").entries.set, "found", 7)
    long = memory.scope("long")
    for number in range(6):
        call(long.messages.append, {"role": "user", "content": f"{number} " + "x" * (COMPACT_MIN_BYTES // 4)})
    call(long.entries.set, "tail", SECRET)
    call(memory.scope("still").entries.set, "k", SECRET)
    store = memory._core.store
    for path in (("agent", "still"), ("agent", "~semantic")):
        _put(memory, path)
    (replica,) = run(store.engine.sync([("agent", "still")]), store.sync_ports)
    assert run(store.engine.compact(replica, NOON), store.sync_ports)


def _put(memory: wmem.AgentMemory, path: Path) -> None:
    """Write into a scope that may be one of wmem's own."""
    put = ItemPut(Row(f"of {path[-1]}", b'"kept"', NOON, NOON))
    store = memory._core.store
    run(
        writing.commit(store.engine, path, lambda _: ([put], None), opening=(), incarnation=None, now=NOON),
        store.sync_ports,
    )


def told(memory: wmem.AgentMemory, call: Call) -> dict[str, Any]:
    """Everything that `filled` stored, as it is read."""
    found: dict[str, Any] = {}
    for names in ((), ("short",), ("short", "sub"), ("long",), ("still",)):
        scope = memory.scope(*names)
        found["/".join(names)] = (
            call(scope.entries.local.all),
            call(scope.items.all),
            call(scope.messages.all),
        )
    engine = memory._core.store.engine
    (replica,) = run(engine.sync([("agent", "~semantic")]), memory._core.store.sync_ports)
    return found | {"~semantic": dict(replica.state.rows)}


def reads(memory: wmem.AgentMemory, call: Call) -> Mapping[str, Callable[[], Any]]:
    """Ways to read and write the scope `short`."""
    scope = memory.scope("short")
    return {
        "get": lambda: call(scope.entries.get, "absent"),
        "all": lambda: call(scope.messages.all),
        "view": lambda: call(scope.view),
        "pack": lambda: call(scope.pack, budget=500),
        "changes": lambda: call(memory.changes),
        "append": lambda: call(scope.messages.append, {"role": "user", "content": "x"}),
        "set": lambda: call(scope.entries.set, "k", 1),
        "add": lambda: call(scope.items.add, "x"),
        "dispose": lambda: call(scope.dispose),
        "rotate": lambda: call(memory.rotate),
    }


@pytest.mark.parametrize("key", [None, NEW], ids=["no key", "another key"])
def test_whoever_has_not_the_key_is_told_so_and_reads_and_changes_nothing(
    key: KeyRing | None, open_memory: MemoryOpener, call: Call
) -> None:
    memory = open_memory(key=OLD)
    filled(memory, call)
    before = stored(memory)
    for name, attempt in reads(open_memory(key=key), call).items():
        with pytest.raises(WrongKeyError, match=OLD.active) as refused:
            attempt()
        assert not isinstance(refused.value, CorruptionError), name
    assert stored(memory) == before
    assert told(open_memory.in_other_process(key=OLD), call) == told(memory, call)


def test_nothing_of_the_content_is_in_the_files_of_a_store(
    open_memory: MemoryOpener, call: Call, tmp_path: Directory
) -> None:
    memory = open_memory(key=OLD)
    filled(memory, call)
    call(memory.scope("short").entries.set, "k", "overwritten " + SECRET)
    shown = (b"launch", b"kept", b"found", b"xxxx", b"ItemPut", b"session", b"user")
    assert not any(clear in payload for clear in shown for each in stored(memory).values() for payload in each)
    call(memory.scope("short").dispose)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    call(memory.close)
    for file in [*files, *(file for file in tmp_path.rglob("*") if file.is_file())]:
        if file.exists():
            content = file.read_bytes()
            for clear in shown:
                assert clear not in content, (file.name, clear)


def test_everything_reads_the_same_under_the_new_key_alone(open_memory: MemoryOpener, call: Call) -> None:
    memory = open_memory(key=OLD)
    filled(memory, call)
    before = told(memory, call)
    call(memory.close)

    turned = open_memory(key=NEW_THEN_OLD)
    assert not under(NEW, turned)
    assert call(turned.rotate) == 6
    assert under(NEW, turned)
    assert call(turned.rotate) == 0, "there is nothing left to do"
    assert told(turned, call) == before
    call(turned.close)

    new = open_memory(key=NEW)
    assert told(new, call) == before
    call(new.scope("short").messages.append, {"role": "user", "content": "goes on"})
    assert call(open_memory.in_other_process(key=NEW).scope("short").messages.count) == 2
    with pytest.raises(WrongKeyError, match=NEW.active):
        call(open_memory(key=OLD).scope("short").messages.all)


def test_a_rotation_is_no_news_to_those_who_read_and_listen(open_memory: MemoryOpener, call: Call) -> None:
    memory = open_memory(key=OLD_THEN_NEW)
    filled(memory, call)
    bound = memory.scope("short")
    before = told(memory, call)
    heard: list[Any] = []
    memory.subscribe(heard.append)
    assert call(open_memory.in_other_process(key=NEW_THEN_OLD).rotate) == 6
    assert told(memory, call) == before
    call(bound.messages.append, {"role": "user", "content": "the same life"})
    changes = [(event.path[1:], type(event.change).__name__) for event in heard]
    # Where a checkpoint stood alone, a record that says nothing came before the one that took its place.
    assert changes == [(("still",), "Resynced"), (("short",), "ItemPut")]
    assert call(memory.changes, call(memory.changes).cursors).events == ()


def test_another_agent_keeps_its_key(open_memory: MemoryOpener, call: Call) -> None:
    mine, other = open_memory(key=NEW_THEN_OLD), open_memory("other", key=OLD)
    call(other.scope("s").entries.set, "k", 1)
    filled(mine, call)
    assert call(mine.rotate) == 0
    assert under(OLD, other)


def test_a_scope_under_a_key_that_is_lost_ends_a_rotation_and_is_named(open_memory: MemoryOpener, call: Call) -> None:
    call(open_memory(key=OLD).scope("short").entries.set, "k", 1)
    memory = open_memory(key=NEW)
    with pytest.raises(WrongKeyError, match=rf"short.*{OLD.active}.*{NEW.active}"):
        call(memory.rotate)
    assert under(OLD, memory)


def test_a_scope_under_another_key_keeps_nobody_from_tidying_and_writing_the_others(
    open_memory: MemoryOpener, call: Call, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    call(open_memory(key=None).scope("foreign").entries.set, "k", 1)
    memory = open_memory(key=OLD, policy=wmem.Policy.session(max_entries=100))
    for name in ("before", "session"):
        call(memory.scope(name).items.add, "short-lived", ttl_s=60)
    clock.now += 61
    with caplog.at_level(logging.WARNING, logger="wmem"):
        assert call(memory.maintain).expired == 2
        assert call(memory.maintain).scopes == 3
    told = [record.message.partition(" is left out")[0] for record in own_records(caplog)]
    assert told == ["scope ('agent', 'foreign')"]
    # The agent's entries are counted in between, over all of its scopes.
    for number in range(99):
        call(memory.scope("session").entries.set, f"key {number}", number)
    with pytest.raises(WrongKeyError):
        call(memory.scope("foreign").entries.get, "k")


def test_what_was_stored_without_a_key_is_encrypted_by_a_rotation(open_memory: MemoryOpener, call: Call) -> None:
    plain = open_memory()
    filled(plain, call)
    before = told(plain, call)
    with pytest.raises(WrongKeyError, match="plaintext=True"):
        call(open_memory(key=NEW).scope("short").messages.all)
    moving = open_memory(key=MIGRATING)
    assert told(moving, call) == before
    call(moving.scope("short").entries.set, "new", 1)
    assert not under(NEW, moving)
    assert call(moving.rotate) == 6
    assert under(NEW, moving)
    call(moving.scope("short").entries.remove, "new")
    assert told(open_memory(key=NEW), call) == before
    with pytest.raises(WrongKeyError, match=NEW.active):
        call(plain.scope("short").messages.all)


def test_without_a_key_there_is_nothing_to_write_anew(open_memory: MemoryOpener, call: Call) -> None:
    memory = open_memory()
    filled(memory, call)
    before = stored(memory)
    assert call(memory.rotate) == 0
    assert stored(memory) == before


def test_a_disposed_scope_is_not_brought_back(open_memory: MemoryOpener, call: Call) -> None:
    memory = open_memory(key=OLD)
    filled(memory, call)
    call(memory.scope("short").dispose)
    turned = open_memory(key=NEW_THEN_OLD)
    assert call(turned.rotate) == 4
    assert call(turned.working.children) == ["long", "still"]


def test_a_closed_memory_rotates_nothing(open_memory: MemoryOpener, call: Call) -> None:
    memory = open_memory(key=OLD)
    call(memory.close)
    with pytest.raises(wmem.InvalidInputError, match="closed"):
        call(memory.rotate)


def test_keys_change_under_writers_who_lose_nothing(open_memory: MemoryOpener, call: Call, url: str) -> None:
    """The steps of the manual, with writers of both steps at work all along."""
    call(open_memory(key=OLD).scope("s").messages.append, {"role": "user", "content": "first", "id": "first"})
    written: list[str] = []
    failed: list[BaseException] = []

    def write(name: str, ring: KeyRing) -> None:
        try:
            with wmem.open(url, agent_id="agent", key=ring) as memory:
                for number in range(60):
                    message = {"role": "user", "content": "x" * 200, "id": f"{name}-{number}"}
                    memory.scope("s").messages.append(message)
                    written.append(f"{name}-{number}")
        except BaseException as exc:
            failed.append(exc)
            raise

    writers = [
        threading.Thread(target=write, args=("slow to turn", OLD_THEN_NEW)),
        threading.Thread(target=write, args=("turned", NEW_THEN_OLD)),
    ]
    rotating = open_memory(key=NEW_THEN_OLD)
    for writer in writers:
        writer.start()
    rotations = 0
    while any(writer.is_alive() for writer in writers):
        try:
            call(rotating.rotate)
            rotations += 1
        except wmem.ConflictError as refused:
            assert "active everywhere" in str(refused)  # noqa: PT017  # either answer will do
    for writer in writers:
        writer.join()
    assert not failed
    call(rotating.rotate)
    assert under(NEW, rotating)
    found = [str(message.id) for message in call(open_memory.in_other_process(key=NEW).scope("s").messages.all)]
    assert sorted(found) == sorted(["first", *written])
    assert len(written) == 120


# -- many writers, who all have to know what is before them


async def test_a_thousand_coroutines_append_to_one_session(url: str) -> None:
    async with await wmem.aopen(url, agent_id="agent", key=OLD) as memory:
        scope = memory.scope("s")
        await scope.entries.set("k", 0)
        messages = [{"role": "user", "content": "x", "id": f"{number}"} for number in range(1_000)]
        await asyncio.gather(*map(scope.messages.append, messages))
    async with await wmem.aopen(url, agent_id="agent", key=OLD) as memory:
        stored = [message.id for message in await memory.scope("s").messages.all()]
        assert sorted(map(str, stored)) == sorted(message["id"] for message in messages)
        assert not (await memory.changes()).damage


def test_threads_of_two_engines_that_write_in_every_way_lose_nothing(url: str) -> None:
    """A ring of two keys makes an engine of its own, as another process has."""
    with (
        wmem.open(url, agent_id="agent", key=OLD) as one,
        wmem.open(url, agent_id="agent", key=OLD_THEN_NEW) as other,
        ThreadPoolExecutor(8) as pool,
    ):
        assert one._core.store.engine is not other._core.store.engine

        def write(number: int) -> None:
            scope = (one, other)[number % 2].scope("s")
            scope.messages.append({"role": "user", "content": "x", "id": f"{number}"})
            scope.entries.set(f"{number}", number)
            scope.entries.update("count", lambda count: count + 1, 0)
            item = scope.items.add(f"{number}", ttl_s=None)
            scope.items.fetch(item.id)

        list(pool.map(write, range(80)))
    with wmem.open(url, agent_id="agent", key=OLD) as memory:
        scope = memory.scope("s")
        assert sorted(int(message.id or "") for message in scope.messages.all()) == list(range(80))
        assert {key: scope.entries.get(key) for key in map(str, range(80))} == {str(each): each for each in range(80)}
        assert scope.entries.get("count") == 80
        assert sorted(item.access_count for item in scope.items.all()) == [2] * 80  # added, and fetched once
        assert not memory.changes().damage


@pytest.mark.backends("redis")
def test_a_scope_that_lapsed_begins_anew_under_its_policy_and_reads_as_sound(
    open_memory: MemoryOpener, call: Call, url: str
) -> None:
    memory = open_memory(key=OLD)
    scope = memory.scope("s", policy=wmem.Policy.queue(max_items=7))
    call(scope.messages.append, {"role": "user", "content": "x", "id": "before"})
    client: Any = redis.Redis
    with client.from_url(url) as server:  # as an expiry does
        server.zadd('wmem:{"agent"}:register', {'["agent","s"]': 1.0})
        assert server.delete('wmem:{"agent"}:h["agent","s"]', 'wmem:{"agent"}:s["agent","s"]') == 2
    call(scope.messages.append, {"role": "user", "content": "x", "id": "after"})
    call(scope.entries.set, "k", 1)
    fresh = open_memory.in_other_process(key=OLD).scope("s")
    assert [message.id for message in call(fresh.messages.all)] == ["after"]
    assert call(fresh.entries.get, "absent") is None, "nothing is damaged"
    assert fresh.policy.name == "queue"


def test_a_scope_that_is_disposed_begins_anew(open_memory: MemoryOpener, call: Call) -> None:
    one, other = open_memory(key=OLD), open_memory.in_other_process(key=OLD)
    for life in range(3):
        mine, theirs = one.scope("s"), other.scope("s")
        for number in range(3):
            call((mine, theirs)[number % 2].messages.append, {"role": "user", "content": f"{life} {number}"})
        assert call(theirs.messages.count) == 3
        assert not call(one.changes).damage
        call((mine, theirs)[life % 2].dispose)
        with pytest.raises(wmem.DisposedError):
            call((mine, theirs)[1 - life % 2].messages.append, {"role": "user", "content": "late"})


# -- others in between, step by step


def rotate_agent(memory: wmem.AgentMemory, **ports: Callable[..., Any]) -> int:
    """Rotate with other ports in place of some of the store's own."""
    store = memory._core.store
    given = {name.replace("_", "."): port for name, port in ports.items()}
    return run(rotate(store.engine, (memory.agent_id,), NOON), {**store.sync_ports, **given})


@pytest.fixture
def turned(url: str) -> Iterator[wmem.AgentMemory]:
    """A memory with one scope under the old key, opened with the new one active."""
    with wmem.open(url, agent_id="agent", key=OLD) as memory:
        memory.scope("s").entries.set("k", 0)
    with wmem.open(url, agent_id="agent", key=NEW_THEN_OLD) as memory:
        yield memory


@pytest.mark.parametrize("others", [1, 5])
def test_what_others_write_under_the_old_key_meanwhile_is_written_anew_too(
    others: int, turned: wmem.AgentMemory, url: str
) -> None:
    compact = turned._core.store.sync_ports["Journal.compact"]
    left = list(range(others))

    def overtaken(*arguments: Any) -> bool:
        done: bool = compact(*arguments)
        if left:
            late.scope("s").messages.append({"role": "user", "content": f"late {left.pop()}"})
        return done

    with wmem.open(url, agent_id="agent", key=OLD_THEN_NEW) as late:
        assert rotate_agent(turned, Journal_compact=overtaken) == 1
    assert under(NEW, turned)
    assert turned.scope("s").messages.count() == others


def test_a_rotation_that_others_undo_all_the_time_says_so_and_ends(turned: wmem.AgentMemory, url: str) -> None:
    compact = turned._core.store.sync_ports["Journal.compact"]

    def overtaken(*arguments: Any) -> bool:
        done: bool = compact(*arguments)
        late.scope("s").messages.append({"role": "user", "content": "late"})
        return done

    with wmem.open(url, agent_id="agent", key=OLD_THEN_NEW) as late:
        with pytest.raises(wmem.ConflictError, match=r"'s'.*active everywhere"):
            rotate_agent(turned, Journal_compact=overtaken)
        said = late.scope("s").messages.count()
    assert turned.rotate() == 1
    assert turned.scope("s").messages.count() == said


def test_another_compaction_in_between_is_no_obstacle(turned: wmem.AgentMemory) -> None:
    compact = turned._core.store.sync_ports["Journal.compact"]

    def twice(*arguments: Any) -> bool:
        assert compact(*arguments)
        done: bool = compact(*arguments)
        assert not done, "what others have compacted so far is not compacted again"
        return done

    assert rotate_agent(turned, Journal_compact=twice) == 0, "it was somebody else who wrote it"
    assert under(NEW, turned)
    assert turned.scope("s").entries.get("k") == 0


def test_a_rotation_that_fails_half_way_loses_nothing_and_goes_on_when_it_is_repeated(
    turned: wmem.AgentMemory, url: str
) -> None:
    with wmem.open(url, agent_id="agent", key=OLD) as memory:
        for number in range(4):
            memory.scope(f"s{number}").entries.set("k", number)
    compact = turned._core.store.sync_ports["Journal.compact"]
    calls: list[Path] = []

    def failing(path: Path, *arguments: Any) -> bool:
        calls.append(path)
        if len(calls) == 3:
            msg = "the disk is full"
            raise StoreError(msg)
        done: bool = compact(path, *arguments)
        return done

    with pytest.raises(StoreError, match="full"):
        rotate_agent(turned, Journal_compact=failing)
    assert [turned.scope(f"s{number}").entries.get("k") for number in range(4)] == [0, 1, 2, 3]
    assert turned.rotate() == 3
    assert under(NEW, turned)
    assert turned.rotate() == 0


def test_a_scope_that_ends_meanwhile_is_left_out(turned: wmem.AgentMemory) -> None:
    read = turned._core.store.sync_ports["Journal.read"]

    def ended(asked: Any) -> Any:
        turned._core.store.sync_ports["Journal.delete"](("agent", "s"), None)
        return read(asked)

    assert rotate_agent(turned, Journal_read=ended) == 0
    assert turned.scope("s").entries.get("k") is None


def test_what_the_store_still_keeps_of_the_old_key_is_said(
    turned: wmem.AgentMemory, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "wmem"):
        assert rotate_agent(turned, Purge_purge=lambda _: ("the tape in the cellar",)) == 1
        assert rotate_agent(turned, Purge_purge=lambda _: ("asked for nothing",)) == 0
    assert "not yet gone from the store: the tape in the cellar" in caplog.text
    assert "asked for nothing" not in caplog.text


def test_nothing_that_is_logged_or_raised_shows_content_or_keys(
    open_memory: MemoryOpener, call: Call, caplog: pytest.LogCaptureFixture
) -> None:
    filled(open_memory(key=OLD), call)
    with caplog.at_level(logging.DEBUG, "wmem"):
        refusals = []
        for attempt in reads(open_memory(key=NEW), call).values():
            with pytest.raises(WrongKeyError) as refused:
                attempt()
            refusals.append(str(refused.value))
        assert call(open_memory(key=NEW_THEN_OLD).rotate) == 6
    for secret in (SECRET, "a5a5", "5a5a", "paWl", "Wlpa"):
        assert secret not in f"{caplog.text} {refusals}"


def test_a_lone_surrogate_is_read_back_as_it_came_through_encryption(open_memory: MemoryOpener, call: Call) -> None:
    lone = "a\ud800b"
    session = open_memory(key=OLD).scope("s")
    call(session.messages.append, {"role": "user", "content": lone})
    call(session.entries.set, "k", {lone: lone})
    reader = open_memory.in_other_process(key=OLD).scope("s")
    assert call(reader.messages.all)[0].text == lone
    assert call(reader.entries.get, "k") == {lone: lone}
