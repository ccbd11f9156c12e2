"""An erasure that ends in its middle, as with its process, is finished by repeating it, wherever it began."""

from itertools import count
from pathlib import Path

import pytest

import wmem
from wmem.flow import Flow, Ports
from wmem.scope.erasure import erase
from wmem.testing.store_bytes import read_store_bytes


def break_off(flow: Flow[object], ports: Ports, asks: int) -> bool:
    """Drive a flow for so many calls of its ports; returns whether it came to its end."""
    reply: object = None
    for _ in range(asks):
        try:
            name, args = flow.send(reply)
        except StopIteration:
            return True
        reply = ports[name](*args)
    flow.close()
    return False


@pytest.mark.parametrize("begin", ["lowest", "middle", "top", "long-term"])
def test_an_erasure_that_breaks_off_anywhere_is_finished_by_another(begin: str) -> None:
    for asks in count(1):
        with wmem.open("memory://", agent_id="agent") as memory:
            top = memory.scope("s")
            middle = top.child("c")
            lowest = middle.child("d")
            item = lowest.items.add("x")
            top.import_(lowest.export())  # so that its copy gets another id there
            lowest.merge_to_parent(items=True)
            above = middle.merge_to_parent(items=True).renamed[item.id]
            kept = middle.items.promote(item.id).id
            scope, id = {
                "lowest": (lowest, item.id),
                "middle": (middle, item.id),
                "top": (top, above),
                "long-term": (memory.episodic, kept),
            }[begin]
            complete = break_off(erase(scope._handle, [id]), memory._core.ports.sync, asks)
            assert scope.erase(id).complete
            left = [
                item for each in (lowest, middle, memory.episodic) for item in each.items.all(include_promoted=True)
            ]
            assert left == []
            assert [each.id for each in top.items.all(include_promoted=True)] == [item.id], "its own is another item"
            if complete:
                assert asks > len(("its tombstone", "copies", "compaction"))
                return


CANARY = "zq0123456789abcdef"


@pytest.mark.parametrize("begin", ["session", "long-term"])
@pytest.mark.parametrize("removed", [False, True], ids=["kept", "removed"])
def test_an_erasure_that_is_repeated_leaves_no_byte(begin: str, removed: bool, tmp_path: Path) -> None:
    for asks in count(1):
        url = f"sqlite://{tmp_path}/{asks}.db"
        with wmem.open(url, agent_id="agent") as memory:
            session = memory.scope("s")
            item = session.items.add(CANARY, ttl_s=None)
            kept = session.items.promote(item.id).id
            if removed:
                session.items.remove(item.id)
            scope, id = (session, item.id) if begin == "session" else (memory.episodic, kept)
            complete = break_off(erase(scope._handle, [id]), memory._core.ports.sync, asks)
            assert scope.erase(id).complete
        assert CANARY.encode() not in read_store_bytes(url)
        if complete:
            return
