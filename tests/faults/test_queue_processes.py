"""A queue and a buffer that several processes fill at once: the ceiling holds, and one process hands on."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

import wmem
from tests.matrix import SHARED, make_url
from wmem.model.change import ItemEvicted, ItemPut

Together: TypeAlias = Callable[[str, list[tuple[str, ...]]], list[str]]

MEMORIZING = """
    import sys, wmem
    url, me, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    memory = wmem.open(url, agent_id="agent")
    queue = memory.scope("queue", policy=wmem.Policy.queue(max_items=10, max_tokens=60)).queue
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(count):
        told = queue.memorize(f"{me}-{number}", importance=number % 10 / 10)
        assert told.items <= 10 and told.tokens <= 60, told
        queue.advance_step()
    memory.close()
"""

BUFFERING = """
    import json, sys, wmem
    url, me, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    batches = []
    policy = wmem.Policy.buffer(flush_threshold=30, on_flush=lambda items: batches.append([i.content for i in items]))
    memory = wmem.open(url, agent_id="agent")
    items = memory.scope("buffer", policy=policy).items
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(count):
        items.add(f"{me}-{number}")
    memory.close()
    print(json.dumps(batches))
"""


@pytest.fixture(params=SHARED)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store that processes can share."""
    return make_url(request.param, request, tmp_path)


def test_four_processes_filling_one_queue_never_overfill_it(url: str, together: Together) -> None:
    together(MEMORIZING, [(url, str(me), "25") for me in range(4)])
    with wmem.open(url, agent_id="agent") as memory:
        held: dict[str, int] = {}
        put = 0
        for event in memory.changes().events:
            if isinstance(event.change, ItemPut):
                held[event.change.row.id] = event.change.row.tokens or 0
                put += 1
                assert len(held) <= 10
                assert sum(held.values()) <= 60
            elif isinstance(event.change, ItemEvicted):
                del held[event.change.id]
        scope = memory.scope("queue")
        assert list(held) == [item.id for item in scope.items.all()]
        assert put == 100, "one put for each item, whoever came first"
        assert len(scope.queue.decisions()) == 100 - len(held)
        assert scope.queue.advance_step() == 101


def test_of_four_processes_filling_one_buffer_one_hands_it_on_once(url: str, together: Together) -> None:
    told = together(BUFFERING, [(url, str(me), "10") for me in range(4)])
    batches = [batch for each in told for batch in json.loads(each.splitlines()[-1])]
    assert [len(batch) for batch in batches] == [30]
    with wmem.open(url, agent_id="agent") as memory:
        assert batches[0] == [item.content for item in memory.scope("buffer").items.all()][:30]
