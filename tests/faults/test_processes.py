"""Processes, threads and forks on one store lose nothing, double nothing, and wait only so long."""

import asyncio
import json
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest

import wmem
from wmem.model.history import ORIGIN

if TYPE_CHECKING:
    from tests.faults.conftest import Kind, Rows, Script

Together: TypeAlias = Callable[[str, list[tuple[str, ...]]], list[str]]

WRITER = """
    import sys, wmem
    url, me, count, key = sys.argv[1], sys.argv[2], int(sys.argv[3]), bytes.fromhex(sys.argv[4])
    memory = wmem.open(url, agent_id="agent", key=key or None)
    session = memory.scope("session")
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(count):
        session.messages.append({"role": "user", "content": "x" * 400, "id": f"{me}-{number}"})
        session.entries.set(f"{me}-{number}", number)
        session.entries.update("count", lambda count: count + 1, 0)
        session.items.add(f"{me}-{number}", ttl_s=None)
    memory.close()
"""


@pytest.mark.parametrize("key", [b"", b"\xa5" * 32], ids=["in clear", "encrypted"])
def test_B43_four_processes_appending_to_one_session_lose_and_double_nothing(
    key: bytes, shared_url: str, together: Together
) -> None:
    count = 60
    together(WRITER, [(shared_url, str(me), str(count), key.hex()) for me in range(4)])
    with wmem.open(shared_url, agent_id="agent", key=key or None) as memory:
        assert not memory.changes().damage
        session = memory.scope("session")
        expected = {f"{me}-{number}" for me in range(4) for number in range(count)}
        ids = [message.id or "" for message in session.messages.all()]
        assert sorted(ids) == sorted(expected)
        for me in range(4):
            own = [int(id.split("-")[1]) for id in ids if id.startswith(f"{me}-")]
            assert own == sorted(own), "each writer's messages stay in its order"
        assert set(session.entries.keys()) == expected | {"count"}
        assert session.entries.get("count") == 4 * count
        assert sorted(item.content for item in session.items.all()) == sorted(expected)


def test_B49_eight_processes_opening_a_fresh_store_at_once_all_start(shared_url: str, together: Together) -> None:
    opener = """
        import sys, wmem, wmem.journal.disk, wmem.journal.redis, wmem.journal.sqlite
        print("ready", flush=True)
        sys.stdin.readline()
        with wmem.open(sys.argv[1], agent_id="agent") as memory:
            memory.scope("session").entries.set(sys.argv[2], True)
    """
    together(opener, [(shared_url, str(me)) for me in range(8)])
    with wmem.open(shared_url, agent_id="agent") as memory:
        assert set(memory.scope("session").entries.keys()) == {str(me) for me in range(8)}


def test_B42_twenty_parallel_writes_in_one_process_all_survive(url: str) -> None:
    with wmem.open(url, agent_id="agent") as memory, ThreadPoolExecutor(20) as pool:
        list(
            pool.map(lambda each: memory.scope("s").messages.append({"role": "user", "content": str(each)}), range(20))
        )
    with wmem.open(url, agent_id="agent") as memory:
        assert sorted(int(message.text) for message in memory.scope("s").messages.all()) == list(range(20))


async def test_B42_twenty_parallel_writes_of_coroutines_all_survive(url: str) -> None:
    async with await wmem.aopen(url, agent_id="agent") as memory:
        session = memory.scope("s")
        await asyncio.gather(*(session.messages.append({"role": "user", "content": str(each)}) for each in range(20)))
    async with await wmem.aopen(url, agent_id="agent") as memory:
        assert sorted(int(message.text) for message in await memory.scope("s").messages.all()) == list(range(20))


def _forty(url: str) -> None:
    with wmem.open(url, agent_id="agent") as memory:
        memory.scope("s").messages.append([{"role": "user", "content": str(each)} for each in range(40)])


def test_B48_forty_concurrent_pops_take_forty_messages(any_url: str) -> None:
    _forty(any_url)
    with wmem.open(any_url, agent_id="agent") as memory, ThreadPoolExecutor(8) as pool:
        popped = list(pool.map(lambda _: memory.scope("s").messages.pop(), range(40)))
        assert sorted(int(message.text) for message in popped if message) == list(range(40))
        assert memory.scope("s").messages.pop() is None


async def test_B48_forty_concurrent_pops_of_coroutines_take_forty_messages(any_url: str) -> None:
    _forty(any_url)
    async with await wmem.aopen(any_url, agent_id="agent") as memory:
        popped = await asyncio.gather(*(memory.scope("s").messages.pop() for _ in range(40)))
        assert sorted(int(message.text) for message in popped if message) == list(range(40))
        assert await memory.scope("s").messages.pop() is None


def test_B52_readers_see_a_whole_state_while_others_write(url: str) -> None:
    """Pairs are written in one record: no reader ever sees one half."""
    for store in (url, f"memory://{url}"):
        with wmem.open(store, agent_id="agent") as memory:
            session = memory.scope("s")
            session.messages.append({"role": "user", "content": "first"})
            done = threading.Event()

            def write(session: wmem.Scope = session, done: threading.Event = done) -> None:
                for number in range(150):
                    session.messages.append(
                        [{"role": "user", "content": f"{number}"}, {"role": "assistant", "content": "y"}]
                    )
                    session.entries.set(f"key {number}", number)
                done.set()

            with ThreadPoolExecutor(3) as pool:
                writing = pool.submit(write)
                while not done.is_set() and not writing.done():
                    assert session.messages.count() % 2 == 1
                    assert len(session.messages.all()) % 2 == 1
                    view = session.view()
                    assert len(view.messages.all()) == view.messages.count()
                    assert len(view.entries.all()) == view.entries.count()
                    session.items.all()
                    session.entries.all()
                    session.pack("y", budget=500)
                writing.result()


def test_B49_reads_go_on_while_another_process_holds_the_lock(url: str, rows: "Rows") -> None:
    with wmem.open(url, agent_id="agent") as memory:
        memory.scope("s").entries.set("k", 1)
    with wmem.open(url, agent_id="agent") as memory, closing(_locked(rows.file)):
        assert memory.scope("s").entries.get("k") == 1
        assert memory.scope("s").messages.all() == []
        assert memory.changes().events


def test_B49_a_write_that_meets_a_lock_waits_so_long_and_no_longer(kind: "Kind", directory: Path, rows: "Rows") -> None:
    journal = kind.journal(directory, 0.2)
    other = _locked(rows.file)
    writes: tuple[Callable[[], object], ...] = (
        lambda: journal.append(("agent",), 1, b"record", None, None),
        lambda: journal.append(("agent",), 1, b"record", ORIGIN, None),
        lambda: journal.delete(("agent",), None),
    )
    for write in writes:
        with pytest.raises(wmem.ConflictError, match=r"0\.2 s"):
            write()
    other.execute("ROLLBACK")
    other.close()
    assert journal.append(("agent",), 1, b"record", None, None).cursor is not None
    journal.close()


def test_B49_a_write_that_meets_a_short_lock_waits_for_its_end(url: str, rows: "Rows") -> None:
    with wmem.open(url, agent_id="agent") as memory:
        memory.scope("s").entries.set("k", 1)
        other = _locked(rows.file, threads=True)
        release = threading.Timer(0.2, lambda: other.execute("ROLLBACK"))
        release.start()
        memory.scope("s").entries.set("k", 2)
        assert memory.scope("s").entries.get("k") == 2
        release.join()
        other.close()


def _locked(file: Path, *, threads: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(file, isolation_level=None, check_same_thread=not threads)
    connection.execute("BEGIN IMMEDIATE")
    return connection


FORKS = """
    import json, os, signal, sys, threading, warnings
    import wmem
    warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads is what this is about
    url = sys.argv[1]
    memory = wmem.open(url, agent_id="agent")
    session = memory.scope("session")
    session.messages.append({"role": "user", "content": "before", "id": "before"})
    seen = []
    memory.subscribe(lambda event: seen.append(event))
    stop = threading.Event()
    acknowledged = [[] for _ in range(3)]

    def write(me):
        number = 0
        while not stop.is_set() or number < 5:
            id = f"parent-{me}-{number}"
            session.messages.append({"role": "user", "content": "x" * 1_000, "id": id})
            session.entries.update("count", lambda count: count + 1, 0)
            acknowledged[me].append(id)
            number += 1
            stop.wait(0.002)  # SQLite's lock is not fair: who never rests starves the others

    threads = [threading.Thread(target=write, args=(me,), daemon=True) for me in range(3)]
    for thread in threads:
        thread.start()
    children = []
    for child in range(8):
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            signal.alarm(60)  # a deadlock ends it, and fails the test
            try:
                ids = []
                mine = memory if child % 2 else wmem.open(url, agent_id="agent")
                for number in range(5):
                    id = f"child-{child}-{number}"
                    mine.scope("session").messages.append({"role": "user", "content": id, "id": id})
                    mine.scope("session").entries.update("count", lambda count: count + 1, 0)
                    ids.append(id)
                there = {message.id for message in mine.scope("session").messages.all()}
                assert {"before", *ids} <= there
                os.write(writer, json.dumps(ids).encode())
                mine.close()
                os._exit(0)
            except BaseException as exc:
                os.write(writer, repr(exc).encode())
                os._exit(1)
        os.close(writer)
        children.append((pid, reader))
    lost = []
    for pid, reader in children:
        _, status = os.waitpid(pid, 0)
        said = os.read(reader, 1 << 16)
        if status:
            raise SystemExit(f"a child failed: {said!r}")
        acknowledged.append(json.loads(said))
    stop.set()
    for thread in threads:
        thread.join()
    session.entries.set("after", True)
    memory.close()
    print(json.dumps(sum(acknowledged, [])))
"""


def test_forking_while_threads_hold_locks_loses_nothing_in_parent_or_child(url: str, script: "Script") -> None:
    acknowledged = json.loads(script(FORKS, url))
    with wmem.open(url, agent_id="agent") as memory:
        session = memory.scope("session")
        ids = [message.id for message in session.messages.all()]
        assert sorted(id for id in ids if id) == sorted([*acknowledged, "before"])
        assert session.entries.get("count") == len(acknowledged)
        assert session.entries.get("after") is True
        assert not session.pack(budget=500).warnings


def test_a_forked_child_of_a_coroutine_program_uses_threads_of_its_own(url: str, script: "Script") -> None:
    code = """
        import asyncio, os, signal, sys, warnings, wmem
        warnings.simplefilter("ignore", DeprecationWarning)

        async def main():
            memory = await wmem.aopen(sys.argv[1], agent_id="agent")
            await memory.scope("s").entries.set("parent", 1)
            return memory

        memory = asyncio.run(main())
        pid = os.fork()
        if pid == 0:
            signal.alarm(60)
            async def child():
                await asyncio.wait_for(memory.scope("s").entries.set("child", 2), 30)
                assert await memory.scope("s").entries.get("parent") == 1
            try:
                asyncio.run(child())
            except BaseException as exc:
                print(repr(exc), file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0

        async def after():
            assert await memory.scope("s").entries.get("child") == 2
            await memory.close()

        asyncio.run(after())
    """
    script(code, url)


def test_what_ends_while_a_fork_closes_connections_may_still_call_the_store(url: str, script: "Script") -> None:
    code = """
        import gc, os, signal, sys, wmem
        signal.alarm(60)
        memory = wmem.open(sys.argv[1], agent_id="agent")
        scope = memory.scope("s")
        scope.entries.set("n", 1)
        heard = []

        class Late:
            def __init__(self):
                self.itself = self

            def __del__(self):
                heard.append(scope.entries.get("n"))

        gc.disable()
        Late()
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        gc.collect()
        assert heard == [1], heard
        memory.close()
    """
    script(code, url)


def test_a_fork_closes_every_store_without_visiting_every_object(tmp_path: Path, script: "Script") -> None:
    code = """
        import gc, os, sys, wmem
        memories = [wmem.open(f"disk://{sys.argv[1]}/{number}", agent_id="agent") for number in range(5)]
        for memory in memories:
            memory.scope("s").entries.set("n", 1)
        gc.disable()
        begun = []
        gc.callbacks.append(lambda phase, info: begun.append(phase) if phase == "start" else None)
        pid = os.fork()
        if pid == 0:
            held = [os.readlink(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd")[:-1]]
            os._exit(any(sys.argv[1] in each for each in held))
        assert os.waitpid(pid, 0)[1] == 0
        print(len(begun))
    """
    assert int(script(code, str(tmp_path))) == 0


def test_threads_that_fork_at_once_take_turns(url: str, script: "Script") -> None:
    code = """
        import os, signal, sys, threading, wmem
        signal.alarm(120)
        memory = wmem.open(sys.argv[1], agent_id="agent")
        scope = memory.scope("s")
        scope.entries.set("n", 0)
        codes = []

        def fork():
            for _ in range(5):
                pid = os.fork()
                if pid == 0:
                    signal.alarm(60)
                    code = 1
                    try:
                        scope.entries.update("n", lambda n: n + 1)
                        code = 0
                    finally:
                        os._exit(code)
                codes.append(os.waitpid(pid, 0)[1])

        threads = [threading.Thread(target=fork) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert codes == [0] * 20, codes
        assert scope.entries.get("n") == 20
        memory.close()
    """
    script(code, url)
