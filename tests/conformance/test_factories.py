"""`get_or_set` runs one factory at a time in a process, whoever calls it, and nobody waits for what cannot come."""

import asyncio
import gc
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import wmem
from wmem.engine import single_flight

LIMIT_S = 60.0
"""Within which whatever does not hang is done."""


@pytest.fixture
def url(tmp_path: Any) -> str:
    return f"sqlite://{tmp_path}/store.db"


@pytest.fixture
def memory(url: str) -> Iterator[wmem.AgentMemory]:
    with wmem.open(url, agent_id="a") as memory:
        yield memory


@pytest.fixture
def entries(memory: wmem.AgentMemory) -> Any:
    return memory.scope("s").entries


class Gate:
    """A factory that runs until it is let through."""

    def __init__(self, value: object = "made") -> None:
        self.runs = 0
        self.entered = threading.Event()
        self.open = threading.Event()
        self._value = value

    def __call__(self) -> object:
        self.runs += 1
        self.entered.set()
        assert self.open.wait(LIMIT_S)
        return self._value


def _entries(memory: Any) -> Any:
    """Entries without the types of their factories, which differ by face."""
    return memory.scope("s").entries


def lines(memory: wmem.AgentMemory | wmem.AsyncAgentMemory) -> int:
    """How many callers wait for a factory, or run one."""
    flights = memory._core.store.engine.single_flight
    return sum(len(flights._list_line(key)) for key in list(flights._lines))


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait for what another thread does."""
    done = threading.Event()
    for _ in range(int(LIMIT_S / 0.002)):
        if condition():
            return
        done.wait(0.002)
    raise AssertionError("did not come about")


def test_two_handles_both_faces_threads_and_tasks_share_one_factory(url: str, memory: wmem.AgentMemory) -> None:
    gate = Gate()

    async def ask_async() -> list[Any]:
        async with await wmem.aopen(url, agent_id="a") as twin:
            entries: Any = twin.scope("s").entries
            return list(await asyncio.gather(*(entries.get_or_set("k", lambda: "another") for _ in range(3))))

    with wmem.open(url, agent_id="a") as other, ThreadPoolExecutor(8) as pool:
        first = pool.submit(memory.scope("s").entries.get_or_set, "k", gate)
        assert gate.entered.wait(LIMIT_S)
        rest = [pool.submit(other.scope("s").entries.get_or_set, "k", gate) for _ in range(3)]
        tasks = pool.submit(asyncio.run, ask_async())
        wait_for(lambda: lines(memory) == 7)
        gate.open.set()
        assert [each.result(LIMIT_S) for each in (first, *rest)] == ["made"] * 4
        assert tasks.result(LIMIT_S) == ["made"] * 3
    assert gate.runs == 1
    assert lines(memory) == 0


def test_a_coroutine_factory_runs_once_for_tasks_and_threads(url: str, memory: wmem.AgentMemory) -> None:
    runs: list[int] = []

    async def main() -> list[Any]:
        begun, finish = asyncio.Event(), asyncio.Event()

        async def factory() -> str:
            runs.append(1)
            begun.set()
            await finish.wait()
            return "made"

        async with await wmem.aopen(url, agent_id="a") as twin:
            asked = [asyncio.create_task(_entries(twin).get_or_set("k", factory)) for _ in range(4)]
            await begun.wait()
            thread = asyncio.create_task(asyncio.to_thread(memory.scope("s").entries.get_or_set, "k", lambda: "sync"))
            await asyncio.to_thread(wait_for, lambda: lines(memory) == 5)
            finish.set()
            return list(await asyncio.gather(*asked, thread))

    assert asyncio.run(main()) == ["made"] * 5
    assert runs == [1]


def test_a_failing_factory_fails_its_caller_alone_and_the_next_runs_its_own(
    memory: wmem.AgentMemory, entries: Any
) -> None:
    gate = Gate()

    def fail() -> object:
        gate()
        raise LookupError("no such value")

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(entries.get_or_set, "k", fail)
        assert gate.entered.wait(LIMIT_S)
        rest = [pool.submit(entries.get_or_set, "k", lambda: "second") for _ in range(3)]
        wait_for(lambda: lines(memory) == 4)
        gate.open.set()
        with pytest.raises(LookupError):
            first.result(LIMIT_S)
        assert [each.result(LIMIT_S) for each in rest] == ["second"] * 3


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, RecursionError])
def test_an_interrupted_factory_holds_up_nobody(memory: wmem.AgentMemory, entries: Any, error: Any) -> None:
    def interrupted() -> object:
        raise error

    with pytest.raises(error):
        entries.get_or_set("k", interrupted)
    assert lines(memory) == 0
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(entries.get_or_set, "k", lambda: 1).result(LIMIT_S) == 1


def test_a_cancelled_factory_and_a_cancelled_waiter_hold_up_nobody(url: str) -> None:
    async def main() -> None:
        begun = asyncio.Event()

        async def forever() -> None:
            begun.set()
            await asyncio.Event().wait()

        async with await wmem.aopen(url, agent_id="a") as twin, asyncio.timeout(LIMIT_S):
            entries: Any = twin.scope("s").entries
            owner = asyncio.create_task(entries.get_or_set("k", forever))
            await begun.wait()
            waiters = [asyncio.create_task(entries.get_or_set("k", lambda: "mine")) for _ in range(3)]
            await asyncio.to_thread(wait_for, lambda: lines(twin) == 4)
            waiters[0].cancel()
            owner.cancel()
            assert await asyncio.gather(*waiters[1:]) == ["mine", "mine"]
            for cancelled in (owner, waiters[0]):
                with pytest.raises(asyncio.CancelledError):
                    await cancelled

    asyncio.run(main())


def test_the_factory_of_a_loop_that_was_closed_holds_up_nobody(url: str, memory: wmem.AgentMemory) -> None:
    async def open_and_ask() -> None:
        twin: Any = await wmem.aopen(url, agent_id="a")
        left.append(twin)
        await _entries(twin).get_or_set("k", lambda: asyncio.sleep(3_600))

    left: list[Any] = []
    loop = asyncio.new_event_loop()
    task = loop.create_task(open_and_ask())

    def abandon() -> None:
        asyncio.set_event_loop(loop)
        while not lines(memory):
            loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    thread = threading.Thread(target=abandon)
    thread.start()
    thread.join()
    assert lines(memory) == 1  # its task is still referred to, and will never go on
    assert memory.scope("s").entries.get_or_set("k", lambda: "mine") == "mine"
    task.get_coro().close()
    left[0].sync().close()


def test_a_factory_may_miss_its_own_key_and_others(memory: wmem.AgentMemory, entries: Any) -> None:
    def outer() -> str:
        return f"{entries.get_or_set('other', lambda: 'o')} {entries.get_or_set('k', lambda: 'inner')}"

    assert entries.get_or_set("k", outer) == "inner"  # stored first
    assert lines(memory) == 0


def test_a_coroutine_factory_may_miss_its_own_key_in_tasks_and_threads(url: str, memory: wmem.AgentMemory) -> None:
    async def main() -> Any:
        async with await wmem.aopen(url, agent_id="a") as twin, asyncio.timeout(LIMIT_S):
            entries: Any = twin.scope("s").entries

            async def outer() -> str:
                inner = await asyncio.gather(
                    entries.get_or_set("k", lambda: "task"),
                    asyncio.to_thread(memory.scope("s").entries.get_or_set, "k", lambda: "thread"),
                )
                return f"outer of {inner}"

            return await entries.get_or_set("k", outer)

    assert asyncio.run(main()) in ("task", "thread")


def test_a_sync_call_in_the_loop_of_a_running_factory_does_not_wait_for_it(url: str, memory: wmem.AgentMemory) -> None:
    async def main() -> tuple[Any, Any]:
        begun, finish = asyncio.Event(), asyncio.Event()

        async def factory() -> str:
            begun.set()
            await finish.wait()
            return "late"

        async with await wmem.aopen(url, agent_id="a") as twin:
            task = asyncio.create_task(_entries(twin).get_or_set("k", factory))
            await begun.wait()
            early = memory.scope("s").entries.get_or_set("k", lambda: "early")
            finish.set()
            return early, await task

    assert asyncio.run(main()) == ("early", "early")


def test_two_factories_that_need_each_others_key_both_end(entries: Any) -> None:
    both = threading.Barrier(2, timeout=LIMIT_S)

    def ask(key: str, other: str) -> Any:
        def factory() -> str:
            both.wait()
            return f"{key} of {entries.get_or_set(other, lambda: f'plain {other}')}"

        return entries.get_or_set(key, factory)

    with ThreadPoolExecutor(2) as pool:
        results = [pool.submit(ask, *pair) for pair in (("x", "y"), ("y", "x"))]
        found = [each.result(LIMIT_S) for each in results]
    assert found == [entries.get("x"), entries.get("y")]


def test_a_factory_that_takes_too_long_is_waited_for_no_longer(entries: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single_flight, "_PATIENCE_S", 0.0)
    gate = Gate("slow")
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(entries.get_or_set, "k", gate)
        assert gate.entered.wait(LIMIT_S)
        assert entries.get_or_set("k", lambda: "quick") == "quick"
        gate.open.set()
        assert slow.result(LIMIT_S) == "quick"


def test_a_waiter_that_a_signal_interrupts_leaves_and_holds_up_nobody(memory: wmem.AgentMemory, entries: Any) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    gate, before = Gate(), signal.signal(signal.SIGUSR1, interrupt)
    try:
        with ThreadPoolExecutor(3) as pool:
            first = pool.submit(entries.get_or_set, "k", gate)
            assert gate.entered.wait(LIMIT_S)

            def send() -> None:
                wait_for(lambda: lines(memory) == 2)
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

            sender = pool.submit(send)
            with pytest.raises(KeyboardInterrupt):
                entries.get_or_set("k", lambda: "interrupted")
            sender.result(LIMIT_S)
            assert lines(memory) == 1
            gate.open.set()
            assert first.result(LIMIT_S) == entries.get_or_set("k", lambda: "late") == "made"
    finally:
        signal.signal(signal.SIGUSR1, before)


FORKED = """
import os, sys, threading, warnings
import wmem
warnings.simplefilter("ignore")  # of threads and forks: that is what this is about
entered, finish = threading.Event(), threading.Event()

def factory():
    entered.set()
    finish.wait(20)
    return "parent"

entries = wmem.open(sys.argv[1], agent_id="a").scope("s").entries
owner = threading.Thread(target=entries.get_or_set, args=("k", factory))
owner.start()
entered.wait(20)
child = os.fork()
if child == 0:
    got = wmem.open(sys.argv[1], agent_id="a").scope("s").entries.get_or_set("k", lambda: "child")
    os._exit(0 if got == "child" else 1)
_, status = os.waitpid(child, 0)
finish.set()
owner.join()
print(os.waitstatus_to_exitcode(status), entries.get("k"))
"""


def test_a_forked_child_does_not_wait_for_its_parents_factory(url: str) -> None:
    done = subprocess.run([sys.executable, "-c", FORKED, url], check=False, capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == ["0", "child"], done.stderr


def test_a_flight_that_is_gone_without_leaving_holds_up_nobody(memory: wmem.AgentMemory, entries: Any) -> None:
    flights = memory._core.store.engine.single_flight
    lost = flights.flight(("a", "s"), "k")
    flights._join(lost)
    assert lines(memory) == 1
    del lost
    gc.collect()
    assert entries.get_or_set("k", lambda: 1) == 1
