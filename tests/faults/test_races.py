"""Many writers at one scope at once: what they add up is exact, everybody finishes, and nobody is refused for long."""

import asyncio
import json
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import wmem

Together: TypeAlias = Callable[[str, list[tuple[str, ...]]], list[str]]

THREADS, PROCESSES, MESSAGES = 16, 8, 40
ROUNDS = 20
PUTS = 121
PROMOTERS = [("promote", "0", "60"), ("promote", "60", str(PUTS)), ("read", "0", "30")]
PROCESS_ROUNDS = 60  # enough that all are at it at the same time

COUNTING = """
    import json, sys, time, wmem
    url, rounds = sys.argv[1], int(sys.argv[2])
    memory = wmem.open(url, agent_id="agent")
    entries = memory.scope("session").entries
    entries.count()
    took = []
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(rounds):
        began = time.monotonic()
        entries.update("count", lambda count: count + 1, 0)
        took.append(time.monotonic() - began)
    memory.close()
    print(json.dumps(took))
"""

POPPING = """
    import json, sys, time, wmem
    url, count = sys.argv[1], int(sys.argv[2])
    memory = wmem.open(url, agent_id="agent")
    messages = memory.scope("session").messages
    messages.count()
    took, popped = [], []
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(count):
        began = time.monotonic()
        popped.append(messages.pop().text)
        took.append(time.monotonic() - began)
    memory.close()
    print(json.dumps([took, popped]))
"""


def _report(url: str, who: str, each: Sequence[Sequence[float]]) -> None:
    """Say how long single writes took; one that is refused for five seconds would have raised."""
    told = sorted(seconds for took in each for seconds in took)
    spread = [sum(took) for took in each]
    print(
        f"{url.partition(':')[0]}, {len(each)} {who}, {len(told)} writes: "
        f"median {statistics.median(told) * 1e3:.1f} ms, "
        f"99 % {told[len(told) * 99 // 100] * 1e3:.1f} ms, longest {told[-1] * 1e3:.1f} ms; "
        f"a writer took {min(spread):.2f} to {max(spread):.2f} s"
    )


def test_increments_of_sixteen_threads_are_exact_and_nobody_gives_up(any_url: str) -> None:
    with wmem.open(any_url, agent_id="agent") as memory, ThreadPoolExecutor(THREADS) as pool:
        entries = memory.scope("session").entries

        def count(_: int) -> list[float]:
            took = []
            for _ in range(ROUNDS):
                began = time.monotonic()
                entries.update("count", lambda count: count + 1, 0)
                took.append(time.monotonic() - began)
            return took

        each = list(pool.map(count, range(THREADS)))
        assert entries.get("count") == THREADS * ROUNDS
    _report(any_url, "threads", each)


async def test_increments_of_sixteen_coroutines_are_exact_and_nobody_gives_up(any_url: str) -> None:
    async with await wmem.aopen(any_url, agent_id="agent") as memory:
        entries = memory.scope("session").entries

        async def count() -> list[float]:
            took = []
            for _ in range(ROUNDS):
                began = time.monotonic()
                await entries.update("count", lambda count: count + 1, 0)
                took.append(time.monotonic() - began)
            return took

        each = await asyncio.gather(*(count() for _ in range(THREADS)))
        assert await entries.get("count") == THREADS * ROUNDS
    _report(any_url, "coroutines", each)


def test_increments_of_eight_processes_are_exact_and_nobody_gives_up(shared_url: str, together: Together) -> None:
    told = together(COUNTING, [(shared_url, str(PROCESS_ROUNDS))] * PROCESSES)
    with wmem.open(shared_url, agent_id="agent") as memory:
        assert memory.scope("session").entries.get("count") == PROCESSES * PROCESS_ROUNDS
    _report(shared_url, "processes", [json.loads(each.splitlines()[-1]) for each in told])


def test_B48_forty_pops_of_eight_processes_take_forty_messages(shared_url: str, together: Together) -> None:
    with wmem.open(shared_url, agent_id="agent") as memory:
        memory.scope("session").messages.append([{"role": "user", "content": str(each)} for each in range(MESSAGES)])
    told = together(POPPING, [(shared_url, str(MESSAGES // PROCESSES))] * PROCESSES)
    each = [json.loads(said.splitlines()[-1]) for said in told]
    assert sorted(int(text) for _, popped in each for text in popped) == list(range(MESSAGES))
    with wmem.open(shared_url, agent_id="agent") as memory:
        assert memory.scope("session").messages.pop() is None
    _report(shared_url, "processes", [took for took, _ in each])


def test_B125_fifty_threads_on_one_store_write_everything_and_leave_nothing_behind(any_url: str) -> None:
    with wmem.open(any_url, agent_id="agent") as memory, ThreadPoolExecutor(50) as pool:

        def write(me: int) -> list[float]:
            took = []
            for number in range(4):
                began = time.monotonic()
                memory.scope(f"session {me % 5}").entries.set(f"{me}-{number}", number)
                took.append(time.monotonic() - began)
                assert memory.scope(f"session {me % 5}").entries.get(f"{me}-{number}") == number
            return took

        each = list(pool.map(write, range(50)))
    _report(any_url, "threads", each)
    if any_url.startswith("memory"):
        return
    with wmem.open(any_url, agent_id="agent") as memory:
        for group in range(5):
            keys = set(memory.scope(f"session {group}").entries.keys())
            assert keys == {f"{me}-{number}" for me in range(group, 50, 5) for number in range(4)}


PROMOTING = """
    import sys, wmem
    url, act, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    memory = wmem.open(url, agent_id="agent")
    session, other = memory.scope("session"), memory.scope("other")
    session.items.count()
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(first, last):
        needle = f"needle{number}"
        if act == "promote":
            item = session.items.add(f"{needle} lies in haystack{number}", priority="critical", type="fact")
            session.items.fetch(item.id)
            assert [hit.id for hit in session.recall(needle, limit=200) if needle in hit.text.split()] == [item.id]
        for each in session, other:
            texts = [hit.text for hit in each.recall("Where is the needle?", limit=200)]
            assert len(texts) == len(set(texts)), texts
            context = each.pack(f"Where is {needle}?", budget=800)
            said = "".join(message.text for message in context.prompt())
            assert said.count(f"{needle} lies") <= 1 and context.tokens <= 800, said
    memory.close()
"""


def test_what_two_processes_promote_is_there_once_for_all_that_read_meanwhile(
    shared_url: str, together: Together
) -> None:
    together(PROMOTING, [(shared_url, act, *numbers) for act, *numbers in PROMOTERS])
    with wmem.open(shared_url, agent_id="agent") as memory:
        promoted = sorted(str(item.content) for item in memory.semantic.items.all())
        assert promoted == sorted(f"needle{number} lies in haystack{number}" for number in range(PUTS))
        for number in range(0, PUTS, 11):
            (there, *_), (here, *_) = (memory.scope(name).recall(f"needle{number}") for name in ("other", "session"))
            assert there.text == here.text == f"needle{number} lies in haystack{number}"
            assert (there.path, here.path) == (("agent", "~semantic"), ("agent", "session"))
