"""An erasure that ends in its middle, as with its process, is finished by repeating it, wherever it began."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TypeAlias

import pytest

import wmem
from tests.broken_flows import break_off
from wmem.flow import Flow
from wmem.model.change import Erased as ErasedIds
from wmem.model.change import RowPlace
from wmem.scope.erasure import clear, dispose, erase
from wmem.scope.items.promotion import promote
from wmem.scope.merge import merge_to_parent
from wmem.state import State
from wmem.testing.store_bytes import read_store_bytes

PLACES = ["lowest", "middle", "top", "long-term"]


@pytest.mark.parametrize("again", PLACES)
@pytest.mark.parametrize("begin", PLACES)
def test_an_erasure_that_breaks_off_anywhere_is_finished_by_another_of_any_copy(begin: str, again: str) -> None:
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
            places = {
                "lowest": (lowest, item.id),
                "middle": (middle, item.id),
                "top": (top, above),
                "long-term": (memory.episodic, kept),
            }
            scope, id = places[begin]
            complete = break_off(erase(scope._handle, [id]), memory._core.ports.sync, asks)
            scope, id = places[again]
            assert scope.erase(id).complete
            left = [
                item for each in (lowest, middle, memory.episodic) for item in each.items.all(include_promoted=True)
            ]
            assert left == []
            assert [each.id for each in top.items.all(include_promoted=True)] == [item.id], "its own is another item"
            if complete:
                assert asks > len(("its tombstone", "copies", "compaction"))
                engine = memory._core.store.engine
                assert not any(engine.replica(each._handle.path).state.unfinished for each in (middle, top))
                return


CANARY = "zq0123456789abcdef"


@pytest.mark.parametrize("again", ["session", "long-term"])
@pytest.mark.parametrize("begin", ["session", "long-term"])
@pytest.mark.parametrize("removed", [False, True], ids=["kept", "removed"])
def test_an_erasure_that_is_repeated_leaves_no_byte(begin: str, again: str, removed: bool, tmp_path: Path) -> None:
    for asks in count(1):
        url = f"sqlite://{tmp_path}/{asks}.db"
        with wmem.open(url, agent_id="agent") as memory:
            session = memory.scope("s")
            item = session.items.add(CANARY, ttl_s=None)
            kept = session.items.promote(item.id).id
            if removed:
                session.items.remove(item.id)
            places = {"session": (session, item.id), "long-term": (memory.episodic, kept)}
            scope, id = places[begin]
            complete = break_off(erase(scope._handle, [id]), memory._core.ports.sync, asks)
            scope, id = places[again]
            assert scope.erase(id).complete
        assert CANARY.encode() not in read_store_bytes(url)
        if complete:
            return


@pytest.mark.parametrize("verb", ["erase", "clear"])
def test_what_breaks_off_once_it_is_hidden_leaves_no_byte_after_maintenance(verb: str, tmp_path: Path) -> None:
    hidden = 0
    for asks in count(1):
        url = f"sqlite://{tmp_path}/{asks}.db"
        with wmem.open(url, agent_id="agent") as memory:
            session = memory.scope("s")
            item = session.items.add(CANARY, ttl_s=None)
            session.entries.set("k", "stays")
            if verb == "erase":
                session.items.promote(item.id)
            flow: Flow[object] = (
                clear(session._handle, "items") if verb == "clear" else erase(session._handle, [item.id])
            )
            complete = break_off(flow, memory._core.ports.sync, asks)
            is_hidden = not session.items.all(include_promoted=True) and not memory.episodic.items.all()
            memory.maintain()
            assert not is_hidden or CANARY.encode() not in read_store_bytes(url), asks
            hidden += is_hidden
        if complete:
            break
    assert hidden > 3, "there were steps to break off at"


@pytest.mark.parametrize("merged", [False, True], ids=["alone", "merged"])
def test_an_erasure_leaves_no_byte_of_a_scope_whose_disposal_broke_off(merged: bool, tmp_path: Path) -> None:
    for asks in count(1):
        url = f"sqlite://{tmp_path}/{asks}.db"
        with wmem.open(url, agent_id="agent") as memory:
            session = memory.scope("s")
            session.entries.set("other", 1)
            child = session.child("c")
            child.entries.set("k", CANARY)
            scope, id = child, child.entries.entry("k").id
            if merged:
                child.merge_to_parent()
                scope, id = session, session.entries.entry("k").id
            complete = break_off(dispose(child._handle, purge=False), memory._core.ports.sync, asks)
            if not merged:
                scope = session.child("c")
            assert scope.erase(id).complete
            assert CANARY.encode() not in read_store_bytes(url)
        if complete:
            return


def test_a_checkpoint_tells_once_where_an_erasure_of_many_goes() -> None:
    state = State()
    ids = tuple(map(str, range(100)))
    others = tuple(RowPlace(("s",), 1, id) for id in ids)
    state.fold(1, [ErasedIds(ids, others)])
    assert state.checkpoint().unfinished == (ErasedIds(ids, others),)
    assert State.from_checkpoint(state.checkpoint()).unfinished == dict.fromkeys(ids, others)


Copying: TypeAlias = Callable[[wmem.Scope, str], Flow[object]]


def merging(child: wmem.Scope, _: str) -> Flow[object]:
    return merge_to_parent(child._handle, overwrite=True, items=True)


def promoting(child: wmem.Scope, id: str) -> Flow[object]:
    return promote(child._handle, id, if_promoted="return")


@pytest.mark.parametrize("first", [True, False], ids=["first copy there", "not the first"])
@pytest.mark.parametrize("copying", [merging, promoting])
def test_a_copy_under_way_when_its_source_is_erased_is_never_made(
    copying: Copying, first: bool, tmp_path: Path
) -> None:
    """Also if whoever makes it dies before he sees that: the erasure said that nothing is left."""
    for asks in count(0):
        url = f"sqlite://{tmp_path}/{asks}.db"
        with wmem.open(url, agent_id="agent") as memory:
            parent = memory.scope("s")
            child = parent.child("c")
            if not first:
                parent.entries.set("k", "v")
                memory.scope("other").items.promote(memory.scope("other").items.add("other").id)
            item = child.items.add(CANARY)
            ports = memory._core.ports.sync
            flow = copying(child, item.id)
            reply: object = None
            try:
                for _ in range(asks):
                    name, args = flow.send(reply)
                    reply = ports[name](*args)
                name, args = flow.send(reply)  # decided, and not yet done
            except StopIteration:
                break
            assert child.erase(item.id).complete
            ports[name](*args)
            for scope in (parent, child, memory.episodic, memory.semantic):
                assert CANARY not in [each.content for each in scope.items.all(include_promoted=True)]
            flow.close()
        assert CANARY.encode() not in read_store_bytes(url)
    assert asks > len(("a read", "a copy", "a mark"))


def test_an_erasure_ends_although_somebody_writes_the_same_id_again_and_again() -> None:
    with wmem.open("memory://", agent_id="agent") as memory:
        child = memory.scope("s").child("c")
        ports = memory._core.ports.sync

        def write_after(name: str) -> Callable[..., object]:
            def ask(*args: object) -> object:
                reply = ports[name](*args)
                child.messages.append({"role": "user", "content": "x", "id": "m"})
                return reply

            return ask

        child.messages.append({"role": "user", "content": "x", "id": "m"})
        assert break_off(erase(child._handle, ["m"]), {name: write_after(name) for name in ports}, 1_000)
        assert child.messages.count() == 1, "what was written last is another message"
