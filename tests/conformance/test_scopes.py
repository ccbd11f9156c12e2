"""Scopes: children, their lives and ends, what a merge brings home, and what stays apart."""

import logging
from typing import Any

import pytest

import wmem
from tests.conformance.conftest import Call, Clock, Opening
from wmem import CapacityError, DisposedError, InvalidInputError, Policy, Scope


def test_a_scope_knows_its_name_and_path(memory: wmem.AgentMemory, call: Call) -> None:
    scope = memory.scope("s").child("c")
    assert (scope.name, scope.path, scope.id) == ("c", ("agent", "s", "c"), "agent/s/c")
    assert memory.working.path == ("agent",)
    assert scope.is_disposed is False
    assert "agent/s/c" in repr(scope)


def test_asking_twice_for_a_child_gives_the_same_scope(session: Scope, call: Call) -> None:
    call(session.child("c").entries.set, "k", 1)
    assert call(session.child("c").entries.get, "k") == 1
    assert call(session.children) == ["c"]


def test_siblings_know_nothing_of_each_other(session: Scope, call: Call) -> None:
    call(session.child("a").entries.set, "k", 1)
    call(session.child("a").messages.append, {"role": "user", "content": "hi"})
    assert call(session.child("b").entries.contains, "k") is False
    assert call(session.child("b").messages.count) == 0


def test_agents_of_one_store_know_nothing_of_each_other(opening: Opening, call: Call) -> None:
    ada, bob = opening("ada"), opening("bob")
    call(ada.working.entries.set, "k", 1)
    call(ada.scope("s").items.add, "x")
    assert call(bob.working.entries.contains, "k") is False
    assert call(bob.scope("s").items.count) == 0
    assert call(bob.working.children) == []
    assert call(bob.changes).events == ()


def test_children_are_those_directly_below_and_alive(session: Scope, call: Call) -> None:
    assert call(session.children) == []
    call(session.child("b").entries.set, "k", 1)
    call(session.child("a").child("deep").entries.set, "k", 1)
    session.child("never written")
    assert call(session.children) == ["a", "b"]
    call(session.child("b").dispose)
    assert call(session.children) == ["a"]


def test_a_prefix_means_whole_segments(memory: wmem.AgentMemory, call: Call) -> None:
    for name in ("s", "s1", "s/1", "S"):
        call(memory.scope(name).entries.set, "k", name)
        call(memory.scope(name, "c").entries.set, "k", name)
    call(memory.scope("s").dispose)
    assert call(memory.working.children) == ["S", "s/1", "s1"]
    for name in ("s1", "s/1", "S"):
        assert call(memory.scope(name).entries.get, "k") == name
        assert call(memory.scope(name).children) == ["c"]


def test_reads_create_nothing(memory: wmem.AgentMemory, session: Scope, call: Call) -> None:
    reads: list[Any] = [
        lambda scope: call(scope.entries.get, "k"),
        lambda scope: call(scope.entries.keys),
        lambda scope: call(scope.items.all),
        lambda scope: call(scope.messages.all),
        lambda scope: call(scope.messages.pop),
        lambda scope: call(scope.messages.clear),
        lambda scope: call(scope.entries.clear),
        lambda scope: call(scope.entries.remove, "k"),
        lambda scope: call(scope.items.remove, "k"),
        lambda scope: call(scope.children),
        lambda scope: call(scope.view),
        lambda scope: call(scope.pack, "q", budget=100),
        lambda scope: call(scope.merge_to_parent),
        lambda scope: call(scope.dispose),
    ]
    for read in reads:
        read(memory.scope("missing", "deep"))
    assert call(memory.working.children) == []
    assert call(memory.changes).events == ()


def test_dispose_ends_a_life_and_says_what_it_cleared(session: Scope, call: Call) -> None:
    call(session.entries.set, "a", 1)
    call(session.entries.set, "b", 1)
    assert call(session.dispose) == 2
    assert session.is_disposed is True
    for attempt in (
        lambda: call(session.entries.get, "a"),
        lambda: call(session.entries.set, "a", 1),
        lambda: call(session.items.add, "x"),
        lambda: call(session.messages.append, {"role": "user", "content": "x"}),
        lambda: call(session.messages.all),
        lambda: call(session.children),
        lambda: call(session.view),
        lambda: call(session.pack, budget=100),
        lambda: session.child("c"),
    ):
        with pytest.raises(DisposedError, match="session"):
            attempt()


def test_disposing_again_warns_and_clears_nothing(session: Scope, call: Call, caplog: pytest.LogCaptureFixture) -> None:
    call(session.entries.set, "a", 1)
    call(session.dispose)
    with caplog.at_level(logging.WARNING, "wmem"):
        assert call(session.dispose) == 0
    assert "already disposed" in caplog.text


def test_a_new_life_begins_under_the_name_and_the_old_handle_stays_out(memory: wmem.AgentMemory, call: Call) -> None:
    old = memory.scope("s")
    call(old.entries.set, "k", "old")
    call(old.dispose)
    new = memory.scope("s")
    assert call(new.entries.get, "k") is None
    call(new.entries.set, "k", "new")
    with pytest.raises(DisposedError):
        call(old.entries.get, "k")
    with pytest.raises(DisposedError):
        call(old.entries.set, "k", "old again")
    assert call(new.entries.get, "k") == "new"


def test_a_handle_notices_that_another_disposed_its_scope(opening: Opening, call: Call) -> None:
    here, same, there = opening(), opening(), opening.elsewhere()
    handles = [here.scope("s"), same.scope("s"), there.scope("s")]
    for number, handle in enumerate(handles):
        call(handle.entries.set, str(number), 1)
    assert call(here.scope("s").dispose) == 3
    for handle in handles:
        with pytest.raises(DisposedError):
            call(handle.entries.set, "k", 1)
        assert handle.is_disposed is True
        with pytest.raises(DisposedError):
            call(handle.entries.get, "0")
    assert call(there.working.children) == []


def test_descendants_end_with_their_parent(memory: wmem.AgentMemory, call: Call) -> None:
    session = memory.scope("s")
    child = session.child("c")
    grandchild = child.child("g")
    call(grandchild.entries.set, "k", 1)
    call(session.dispose)
    assert child.is_disposed is True
    for scope in (child, grandchild):
        with pytest.raises(DisposedError):
            call(scope.entries.get, "k")
    assert call(memory.scope("s", "c", "g").entries.get, "k") is None
    assert call(memory.working.children) == []


def test_a_child_without_writes_ends_with_the_parent_that_another_handle_disposed(
    memory: wmem.AgentMemory, call: Call
) -> None:
    session = memory.scope("s")
    call(session.entries.set, "k", 1)
    child = session.child("c")
    call(memory.scope("s").dispose)
    with pytest.raises(DisposedError):
        call(child.entries.set, "k", 1)
    assert call(memory.working.children) == []


def test_a_temporary_scope_is_gone_after_its_block(session: Scope, call: Call) -> None:
    call(session.entries.set, "k", 1)
    with call.within(session.temporary("work")) as scope:
        assert scope.name.startswith("work-")
        assert call(scope.entries.get, "k") == 1
        call(scope.entries.set, "found", 2)
        with call.within(session.temporary("work")) as other:
            assert other.name != scope.name
        assert call(session.children) == [scope.name] or call(session.children) == []
    assert scope.is_disposed is True
    assert call(session.entries.contains, "found") is False
    assert call(session.children) == []


def test_a_temporary_scope_merges_on_a_clean_exit_if_asked(session: Scope, call: Call) -> None:
    with call.within(session.temporary("work", merge=True)) as scope:
        call(scope.entries.set, "found", 2)
        item = call(scope.items.add, "an insight")
    assert call(session.entries.get, "found") == 2
    assert call(session.items.get, item.id).content == "an insight"
    assert call(session.children) == []


def test_a_temporary_scope_that_fails_merges_nothing_and_is_gone(session: Scope, call: Call) -> None:
    def fails() -> None:
        with call.within(session.temporary("work", merge=True)) as scope:
            call(scope.entries.set, "found", 2)
            msg = "on the way"
            raise RuntimeError(msg)

    with pytest.raises(RuntimeError, match="on the way"):
        fails()
    assert call(session.entries.contains, "found") is False
    assert call(session.children) == []


def test_a_temporary_scope_may_be_disposed_inside_its_block(session: Scope, call: Call) -> None:
    with call.within(session.temporary("work")) as scope:
        call(scope.entries.set, "k", 1)
        call(scope.dispose)
    assert call(session.children) == []


def test_a_merge_brings_entries_home_and_leaves_the_child(session: Scope, call: Call) -> None:
    child = session.child("c")
    call(session.entries.set, "k", "parent")
    call(session.entries.set, "other", 1)
    call(child.entries.set, "k", "child", tags=["t"], importance=0.9)
    call(child.entries.set, "new", 2)
    call(child.items.add, "an item stays")
    call(child.messages.append, {"role": "user", "content": "stays"})
    before = call(session.entries.entry, "k")
    assert call(child.merge_to_parent) == 2
    merged = call(session.entries.entry, "k")
    assert (merged.value, merged.tags, merged.importance, merged.id) == ("child", ("t",), 0.9, before.id)
    assert call(session.entries.keys) == ["k", "other", "new"]
    assert (call(session.items.count), call(session.messages.count)) == (0, 0)
    assert call(child.entries.local.keys) == ["k", "new"]


def test_merging_the_same_point_twice_adds_nothing(session: Scope, call: Call) -> None:
    child = session.child("c")
    call(child.entries.set, "k", 1)
    assert call(child.merge_to_parent) == 1
    call(session.entries.set, "k", 2)
    cursor = call(session.view).cursor
    assert call(child.merge_to_parent) == 0
    assert call(session.view).cursor == cursor
    assert call(session.entries.get, "k") == 2
    call(child.entries.set, "j", 3)
    assert call(child.merge_to_parent) == 2


def test_a_merge_without_overwriting_leaves_what_the_parent_has(session: Scope, call: Call) -> None:
    child = session.child("c")
    call(session.entries.set, "k", "parent")
    call(child.entries.set, "k", "child")
    call(child.entries.set, "new", 1)
    assert call(child.merge_to_parent, overwrite=False) == 1
    assert call(session.entries.get, "k") == "parent"
    assert call(session.entries.get, "new") == 1


def test_merged_items_keep_their_ids_and_come_once(session: Scope, call: Call) -> None:
    child = session.child("c")
    item = call(child.items.add, "x", tags=["t"])
    assert call(child.merge_to_parent, items=True) == 1
    call(child.entries.set, "k", 1)
    call(child.merge_to_parent, items=True)
    assert [each.id for each in call(session.items.all)] == [item.id]


def test_a_merge_leaves_out_what_has_expired(session: Scope, call: Call, clock: Clock) -> None:
    child = session.child("c")
    call(child.entries.set, "k", 1, ttl_s=1)
    call(child.items.add, "x", ttl_s=1)
    clock.pass_(1)
    assert call(child.merge_to_parent, items=True) == 0
    assert call(session.entries.contains, "k") is False


def test_a_merge_respects_what_the_parent_may_hold(memory: wmem.AgentMemory, call: Call) -> None:
    parent = memory.scope("s", policy=Policy.session(max_entries=2))
    call(parent.entries.set, "0", "parent")
    child = parent.child("c")
    for number in range(3):
        call(child.entries.set, str(number), "child")
    with pytest.raises(CapacityError, match="2"):
        call(child.merge_to_parent)
    assert call(parent.entries.keys) == ["0"]
    assert call(parent.entries.get, "0") == "parent"


def test_a_root_has_no_parent_to_merge_into(memory: wmem.AgentMemory, call: Call) -> None:
    with pytest.raises(InvalidInputError, match="root"):
        call(memory.working.merge_to_parent)


def test_a_view_never_changes(session: Scope, call: Call, clock: Clock) -> None:
    call(session.entries.set, "k", 1, ttl_s=10)
    item = call(session.items.add, "x")
    call(session.messages.append, {"role": "user", "content": "a"})
    view = call(session.view)
    call(session.entries.set, "k", 2)
    call(session.entries.set, "new", 1)
    call(session.items.remove, item.id)
    call(session.messages.append, {"role": "user", "content": "b"})
    call(session.messages.clear)
    clock.pass_(100)
    assert view.entries.get("k") == 1
    assert view.entries.keys() == ["k"]
    assert view.items.get(item.id) == item
    assert view.items.all() == view.items.recent() == [item]
    assert [message.text for message in view.messages.all()] == ["a"]
    assert view.messages.turns() == [view.messages.all()]
    call(session.dispose)
    assert view.messages.count() == 1
    assert view.path == session.path
    for writer in ("set", "add", "append", "clear", "remove", "fetch"):
        assert not any(hasattr(facet, writer) for facet in (view.entries, view.items, view.messages))


def test_a_view_reads_through_to_the_parents_as_they_were(session: Scope, call: Call) -> None:
    call(session.entries.set, "k", 1)
    view = call(session.child("c").view)
    call(session.entries.set, "k", 2)
    assert view.entries.get("k") == 1


@pytest.mark.parametrize("name", ["", " ", "a\x00", "a\nb", "\ud83d", "~trace", 5, None])
def test_a_name_that_is_blank_reserved_or_holds_control_characters_is_refused(name: str) -> None:
    with wmem.open("memory://", agent_id="a") as memory:
        with pytest.raises(InvalidInputError):
            memory.scope(name)
        with pytest.raises(InvalidInputError):
            memory.working.child(name)
        with pytest.raises(InvalidInputError):
            memory.scope("s", name)


def test_both_colours_of_one_scope_are_one_scope(session: Scope, call: Call, colour: str) -> None:
    twin = session.aio().sync() if colour == "sync" else session.sync().aio()  # type: ignore[attr-defined]  # the async face has it
    call(twin.entries.set, "k", 1)
    assert call(session.entries.get, "k") == 1
    call(twin.dispose)
    assert session.is_disposed is True
