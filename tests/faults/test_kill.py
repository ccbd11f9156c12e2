"""A process that is killed loses nothing it acknowledged and leaves nothing torn."""

import os
import random
import signal
import time
from typing import TYPE_CHECKING

import wmem

if TYPE_CHECKING:
    from tests.faults.conftest import Spawn

ROUNDS = 50
BATCH = 3

# Forks one writer for each line it reads: what is killed is a whole process, and none has to start Python again.
NURSERY = """
    import os, sys
    import wmem, wmem.journal.disk, wmem.journal.sqlite

    # Imports and the tokenizer's table, once for all writers.
    wmem.open("memory://", agent_id="agent").scope("session").messages.append({"role": "user", "content": "warm"})

    def write(url, round):
        memory = wmem.open(url, agent_id="agent")
        session = memory.scope("session")
        fresh = memory.scope(f"round {round}")
        step = 0
        while True:
            for kind, act in (
                ("message", lambda id: session.messages.append({"role": "user", "content": "x" * 1_500, "id": id})),
                ("batch", lambda id: session.messages.append(
                    [{"role": "assistant", "content": "y" * 500, "id": f"{id}.{part}"} for part in range(3)]
                )),
                ("entry", lambda id: session.entries.set(id, "z" * 300)),
                ("count", lambda id: session.entries.update("count", lambda count: count + 1, 0)),
                ("item", lambda id: session.items.add(id, ttl_s=None)),
                ("fresh", lambda id: fresh.entries.set(id, step)),
            ):
                id = f"{kind}-{round}-{step}"
                act(id)
                os.write(1, f"{id}\\n".encode())  # acknowledged from here on
            step += 1

    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            write(sys.argv[1], int(line))
        os.write(1, f"pid {pid}\\n".encode())  # in one piece, whatever the writer says meanwhile
        os.waitpid(pid, 0)
        os.write(1, b"dead\\n")
"""


def test_kill_9_at_any_moment_loses_no_acknowledged_write_and_tears_none(url: str, spawn: "Spawn") -> None:  # one story
    rng = random.Random(9)
    nursery = spawn(NURSERY, url)
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    acknowledged: dict[str, set[str]] = {
        kind: set() for kind in ("message", "batch", "entry", "count", "item", "fresh")
    }
    order: list[str] = []
    for number in range(ROUNDS):
        nursery.stdin.write(f"{number}\n")
        nursery.stdin.flush()
        pid, heard = 0, 0
        patience = rng.choice([0, 0, 1, 2, 5, 11, 17, 30, 45])  # writes that it may finish first
        killed = False
        while (line := nursery.stdout.readline().strip()) != "dead":
            assert line, nursery.communicate()[1]
            if line.startswith("pid"):
                pid = int(line.split()[1])
            else:
                heard += 1
                acknowledged[line.split("-")[0]].add(line)
                order.append(line)
            if pid and heard >= patience and not killed:
                time.sleep(rng.uniform(0, 0.004))
                os.kill(pid, signal.SIGKILL)
                killed = True
        assert killed

        with wmem.open(url, agent_id="agent") as memory:
            session = memory.scope("session")
            ids = [message.id or "" for message in session.messages.all()]
            assert len(ids) == len(set(ids))
            assert acknowledged["message"] <= set(ids)
            parts: dict[str, int] = {}
            for id in ids:
                if id.startswith("batch"):
                    parts[id.rpartition(".")[0]] = parts.get(id.rpartition(".")[0], 0) + 1
            assert acknowledged["batch"] <= parts.keys()
            assert set(parts.values()) <= {BATCH}, "a batch is there whole or not at all"
            said = [id for id in order if id.startswith("message")]
            assert [id for id in ids if id in acknowledged["message"]] == said, "in the order they were acknowledged"
            assert acknowledged["entry"] <= set(session.entries.keys())
            count = session.entries.get("count", 0)
            assert len(acknowledged["count"]) <= count <= len(acknowledged["count"]) + number + 1
            contents = [item.content for item in session.items.all()]
            assert len(contents) == len(set(contents))
            assert acknowledged["item"] <= set(contents)
            fresh = set(memory.scope(f"round {number}").entries.keys())
            assert {id for id in acknowledged["fresh"] if id.split("-")[1] == str(number)} <= fresh
            assert not session.pack(budget=500).warnings
            session.entries.set("the next write", number)
            assert session.entries.get("the next write") == number
    assert len(order) > 4 * ROUNDS, "the writers came to write"
