"""Maintenance that is killed at any of its steps loses nothing, and the next pass ends as if nothing had happened."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import wmem
from tests.broken_flows import break_off
from tests.suites.skills import FLOW, make_calls
from wmem.scope.erasure import clear
from wmem.testing.store_bytes import read_store_bytes

if TYPE_CHECKING:
    from tests.faults.conftest import Rows, Spawn

NOON, DAY = 1_764_288_000.0, 86_400.0
LATER = 2.5  # days; what was taken away on the second is purged then
TEA, GONE = "The user likes green tea.", "The word of the day is xylophonist."

# Forks one process for each line, which runs a pass and kills itself before the call of the store with that number.
NURSERY = """
    import os, signal, sys
    from tests.faults.test_killed_maintenance import open_at
    from wmem.flow import run

    class Deadly(dict):
        def __init__(self, ports, last):
            super().__init__(ports)
            self.left = last

        def __getitem__(self, name):
            self.left -= 1
            if not self.left:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().__getitem__(name)

    open_at("memory://", 0).maintain()  # imports, once for all
    for line in sys.stdin:
        url, days, last = line.split()
        pid = os.fork()
        if pid == 0:
            memory = open_at(url, float(days))
            run(memory._core.maintain(None), Deadly(memory._core.ports.sync, int(last)))
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        os.write(1, b"killed\\n" if os.WIFSIGNALED(status) else b"failed\\n" if status else b"done\\n")
"""


def open_at(url: str, days: float) -> wmem.AgentMemory:
    """The memory of the test, so many days later."""
    settings, kept = wmem.SemanticSettings(max_items=12, keep_items=2, undo_s=DAY), wmem.Retention("week", keep_s=DAY)
    return wmem.open(url, agent_id="agent", clock=lambda: NOON + days * DAY, memory_types=[settings], retention=[kept])


def _fill(url: str) -> None:
    """Give every job something to do: duplicates, a change, what is not kept, too many, and what is to be purged."""
    for day, texts in enumerate([[GONE, TEA, "My budget is 500 euros."], [TEA, "My budget is 700 euros now."]]):
        with open_at(url, float(day)) as memory:
            session = memory.scope(f"s{day}")
            for text in texts:
                session.items.promote(session.items.add(text, type="fact", ttl_s=None).id)
            if not day:
                memory.semantic.items.update(memory.semantic.items.all()[0].id, retention="week")
                for number in range(9):
                    memory.semantic.items.add(f"Machine {number} is old.", type="fact", importance=0.1)
            else:
                memory.scope("s0").clear()
                memory.maintain(["apply-retention"])
                for number in range(9, 12):
                    memory.semantic.items.add(f"Machine {number} is new.", type="fact", importance=0.9)


def _describe(memory: wmem.AgentMemory) -> tuple[Any, ...]:
    """What a memory holds, without the times at which jobs did something."""
    items = [(item.id, item.content, item.valid_to, item.tags) for item in memory.semantic.items.all()]
    gone = [
        (item.id, item.removal.job, item.removal.into) for item in memory.semantic.items.forgotten() if item.removal
    ]
    return sorted(items), sorted(gone)


def test_kill_9_before_any_call_of_the_store_changes_nothing_in_the_end(tmp_path: Path, spawn: "Spawn") -> None:
    template = tmp_path / "template"
    template.mkdir()
    _fill(f"sqlite://{template}/store.db")
    nursery = spawn(NURSERY)
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    ends: dict[str, tuple[Any, ...]] = {}
    last, answer = 0, ""
    while answer != "done":
        last += 1
        copy = tmp_path / str(last)
        shutil.copytree(template, copy)
        url = f"sqlite://{copy}/store.db"
        nursery.stdin.write(f"{url} {LATER} {last}\n")
        nursery.stdin.flush()
        answer = nursery.stdout.readline().strip()
        assert answer in ("killed", "done"), nursery.communicate()[1]
        with open_at(url, LATER) as memory:
            contents = [item.content for item in memory.semantic.items.all()]
            assert {TEA, "My budget is 700 euros now."} <= {*contents}, last
            memory.maintain()
            memory.maintain()
            ends[answer if last > 1 else "first"] = found = _describe(memory)
            assert found == next(iter(ends.values())), last
        assert GONE.encode() not in b"".join(file.read_bytes() for file in copy.iterdir()), last
    assert last > 20, "there were steps to be killed at"


@pytest.mark.parametrize("is_same", [True, False], ids=["same process", "next process"])
@pytest.mark.parametrize("job", ["purge", "redact"])
def test_of_a_job_that_breaks_off_anywhere_the_next_run_leaves_no_bytes(
    tmp_path: Path, job: str, *, is_same: bool
) -> None:
    template, days = tmp_path / "template", LATER if job == "purge" else 1.0
    template.mkdir()
    _fill(f"sqlite://{template}/store.db")
    if job == "redact":
        with wmem.open(f"sqlite://{template}/store.db", agent_id="agent", redaction=wmem.Redaction.off()) as memory:
            memory.semantic.items.add("Write to xylophonist@example.org.", type="fact")
            memory.scope("s0").clear()
    secret = (GONE if job == "purge" else "xylophonist@example.org").encode()
    steps, done = 0, False
    while not done:
        steps += 1
        copy = tmp_path / str(steps)
        shutil.copytree(template, copy)
        memory = open_at(f"sqlite://{copy}/store.db", days)
        done = break_off(memory._core.maintain([job]), memory._core.ports.sync, steps)
        if not is_same:
            memory.close()
            memory = open_at(f"sqlite://{copy}/store.db", days)
        memory.maintain([job])
        assert secret not in b"".join(file.read_bytes() for file in copy.iterdir()), steps
        memory.close()
    assert steps > 8, "there were steps to break off at"


def test_a_long_term_memory_that_cannot_be_read_keeps_no_other_from_its_skills(url: str, rows: "Rows") -> None:
    policies = {name: wmem.Policy.session(long_term=[("users", name)]) for name in ("ada", "ben")}
    with wmem.open(url, agent_id="agent") as memory:
        for name, policy in policies.items():
            for number in range(3):
                with memory.turn(f"{name}-{number}", policy=policy) as turn:
                    for tool, parameters, result in make_calls(FLOW, number):
                        turn.track_tool_invocation(tool, parameters, result)
    rows.put(rows.head('["agent","users","ada","~episodic"]'), b"damaged")
    with wmem.open(url, agent_id="agent") as memory:
        for _ in range(2):
            assert memory.maintain(["extract-skills"]).jobs["extract-skills"].error == ""
        assert [item.type for item in memory.scope("users", "ben").semantic.items.all()] == ["skill"]


def test_a_scope_that_cannot_be_read_keeps_no_bytes_of_another_in_the_store(url: str, rows: "Rows") -> None:
    with wmem.open(url, agent_id="agent") as memory:
        for name in ("a", "b"):
            scope = memory.scope(name)
            scope.items.add(f"{GONE} {name * 9}", ttl_s=None)
            asks = 0
            while scope.items.all():
                asks += 1
                assert not break_off(clear(scope._handle, "items"), memory._core.ports.sync, asks)
        assert b"bbbbbbbbb" in read_store_bytes(url)
        rows.put(rows.head('["agent","a"]'), b"damaged")
        memory.maintain()
        assert b"bbbbbbbbb" not in read_store_bytes(url)
