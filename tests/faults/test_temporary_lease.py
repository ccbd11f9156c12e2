"""A process that dies in the block of a temporary scope: another one's maintenance disposes it."""

import os
import signal
import time
from typing import TYPE_CHECKING

import wmem

if TYPE_CHECKING:
    from tests.faults.conftest import Spawn

WORKER = """
    import sys
    import wmem

    session = wmem.open(sys.argv[1], agent_id="agent").scope("session")
    with session.temporary("work") as scope:
        scope.entries.set("k", 1)
        scope.items.add("an insight")
        print(scope.name, flush=True)
        sys.stdin.read()
"""


def test_a_killed_process_leaves_its_temporary_scope_for_an_hour_at_most(shared_url: str, spawn: "Spawn") -> None:
    worker = spawn(WORKER, shared_url)
    assert worker.stdout is not None
    name = worker.stdout.readline().strip()
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    ahead = 0.0
    with wmem.open(shared_url, agent_id="agent", clock=lambda: time.time() + ahead) as memory:
        session = memory.scope("session")
        assert memory.maintain().deleted == 0
        assert session.children() == [name]
        ahead = 3_600.0
        assert memory.maintain().deleted == 1
        assert session.children() == []
