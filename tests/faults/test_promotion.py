"""Promotion under fire: whoever is killed, and wherever, each item is in long-term memory exactly once."""

import json
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import TYPE_CHECKING

import pytest

import wmem
from tests.broken_flows import break_off
from wmem.scope.items.promotion import promote

if TYPE_CHECKING:
    from tests.faults.conftest import Spawn

PUTS = 121
STEPS = 10  # more than a promotion asks of the store, its first one in a scope with all that it creates
A_ROUND = 9  # items of a round: the last round takes what is left of 121

# Forks two workers for each line it reads, which put and promote the same items; one of them kills itself in between.
NURSERY = """
    import json, os, signal, sys
    import wmem, wmem.journal.disk, wmem.journal.sqlite
    from wmem.scope.items.promotion import promote

    wmem.open("memory://", agent_id="agent").scope("session").items.add("warm", type="fact")

    def drive(flow, ports, step):
        reply, failure = None, None
        while True:
            try:
                name, args = flow.send(reply) if failure is None else flow.throw(failure)
            except StopIteration as done:
                return done.value
            reply, failure = None, None
            step("before")
            try:
                reply = ports[name](*args)
            except Exception as exc:
                failure = exc
            step("after")

    def work(url, me, told):
        memory = wmem.open(url, agent_id="agent", gate=wmem.Gate(min_novelty=told["novelty"]))
        session = memory.scope("session")
        steps = {"before": 0, "after": 0}

        def step(when):
            steps[when] += 1
            if me == "a" and (steps[when], when) == (told["step"], told["when"]):
                os.kill(os.getpid(), signal.SIGKILL)

        for number in range(told["first"], told["last"]):
            # Under one id for both, or, where what says the same is joined, each its own.
            id = f"{me if told['novelty'] else 'item'}-{number}"
            item = session.items.add(f"needle{number} lies in haystack{number}", id=id, type="fact")
            os.write(1, f"put {id}\\n".encode())
            kept = drive(promote(session._handle, id, if_promoted="return"), memory._core.ports.sync, step)
            os.write(1, f"promoted {id} {kept.id}\\n".encode())
        memory.close()

    for line in sys.stdin:
        children = []
        for me in "ab":
            pid = os.fork()
            if pid == 0:
                try:
                    work(sys.argv[1], me, json.loads(line))
                    os._exit(0)
                finally:
                    os._exit(1)
            children.append(pid)
        codes = [os.waitpid(pid, 0)[1] for pid in children]
        os.write(1, f"ended {codes}\\n".encode())
"""


def check(memory: wmem.AgentMemory, kept: Sequence[tuple[str, str]]) -> None:
    """Each text is in long-term memory at most once, and what was acknowledged is, under the id that was told."""
    there = memory.semantic.items.all()
    texts = Counter(item.content for item in there)
    assert [text for text, times in texts.items() if times > 1] == []
    assert {id for _, id in kept} <= {item.id for item in there}
    for item_id, id in kept:
        item = memory.scope("session").items.get(item_id)
        assert item is not None
        assert item.promoted_to == id


@pytest.mark.parametrize("novelty", [0.0, 0.2], ids=["copied", "joined"])
def test_what_two_processes_promote_is_there_once_wherever_one_of_them_is_killed(
    shared_url: str, spawn: "Spawn", novelty: float
) -> None:
    nursery = spawn(NURSERY, shared_url)
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    put: list[str] = []
    kept: list[tuple[str, str]] = []
    killed = 0
    rounds = [(1, "before"), *((step, "after") for step in range(1, STEPS + 1))]
    first = 0
    for step, when in [*rounds, (0, "before")]:
        last = min(PUTS, first + A_ROUND) if step else PUTS
        told = {"step": step, "when": when, "first": first, "last": last, "novelty": novelty}
        nursery.stdin.write(f"{json.dumps(told)}\n")
        nursery.stdin.flush()
        while not (line := nursery.stdout.readline()).startswith("ended"):
            assert line, nursery.communicate()[1]
            word, *ids = line.split()
            if word == "put":
                put += ids
            else:
                kept.append((ids[0], ids[1]))
        codes = json.loads(line.removeprefix("ended "))
        assert codes in ([9, 0], [0, 0]), nursery.communicate()[1]
        killed += codes == [9, 0]
        first = last
    with wmem.open(shared_url, agent_id="agent") as memory:
        check(memory, kept)
    assert killed == len(rounds)
    with wmem.open(shared_url, agent_id="agent", gate=wmem.Gate(min_novelty=novelty)) as memory:
        items = memory.scope("session").items
        assert {item.id for item in items.all(include_promoted=True)} >= set(put)
        results = items.promote_many(sorted(set(put))).results
        check(memory, [*kept, *((each.id, each.long_term_id or "") for each in results)])
        assert memory.semantic.items.count() == PUTS


@pytest.mark.parametrize("novelty", [0.0, 0.2], ids=["copied", "joined"])
def test_what_threads_promote_is_there_once_wherever_they_break_off(novelty: float) -> None:
    with wmem.open("memory://", agent_id="agent", gate=wmem.Gate(min_novelty=novelty)) as memory:
        items = memory.scope("session").items

        def work(number: int) -> str:
            each = number % PUTS
            id = f"{number if novelty else each}"
            items.add(f"needle{each} lies in haystack{each}", id=id, type="fact")
            for asks in count(number % 3):
                flow = promote(memory.scope("session")._handle, id, if_promoted="return")
                if break_off(flow, memory._core.ports.sync, asks):
                    return id
            raise AssertionError("it ends some time")

        with ThreadPoolExecutor(16) as pool:
            ids = [*pool.map(work, range(2 * PUTS))]
        check(memory, [(id, items.get(id).promoted_to or "") for id in ids])
        assert memory.semantic.items.count() == PUTS
