"""Suite of merges of a child scope into its parent: once, atomically, and only on request."""

import pytest

import wmem
from wmem import CapacityError, InvalidInputError, Policy, Scope
from wmem.testing.suite import Call, Clock, FacetSuite

__all__ = ["MergesSuite"]


class MergesSuite(FacetSuite):
    """Explicit merges, merges at the end of a temporary scope, and repeated merges."""

    def test_a_temporary_scope_is_gone_after_its_block(self, session: Scope, call: Call) -> None:
        call(session.entries.set, "k", 1)
        with call.enter(session.temporary("work")) as scope:
            assert scope.name.startswith("work-")
            assert call(scope.entries.get, "k") == 1
            call(scope.entries.set, "found", 2)
            with call.enter(session.temporary("work")) as other:
                assert other.name != scope.name
            assert call(session.children) == [scope.name] or call(session.children) == []
        assert scope.is_disposed is True
        assert call(session.entries.contains, "found") is False
        assert call(session.children) == []

    def test_a_temporary_scope_merges_on_a_clean_exit_if_asked(self, session: Scope, call: Call) -> None:
        with call.enter(session.temporary("work", merge=True)) as scope:
            call(scope.entries.set, "found", 2)
            item = call(scope.items.add, "an insight")
        assert call(session.entries.get, "found") == 2
        assert call(session.items.get, item.id).content == "an insight"
        assert call(session.children) == []

    def test_a_temporary_scope_that_fails_merges_nothing_and_is_gone(self, session: Scope, call: Call) -> None:
        def fails() -> None:
            with call.enter(session.temporary("work", merge=True)) as scope:
                call(scope.entries.set, "found", 2)
                msg = "on the way"
                raise RuntimeError(msg)

        with pytest.raises(RuntimeError, match="on the way"):
            fails()
        assert call(session.entries.contains, "found") is False
        assert call(session.children) == []

    def test_a_temporary_scope_may_be_disposed_inside_its_block(self, session: Scope, call: Call) -> None:
        with call.enter(session.temporary("work")) as scope:
            call(scope.entries.set, "k", 1)
            call(scope.dispose)
        assert call(session.children) == []

    def test_a_merge_brings_entries_home_and_leaves_the_child(self, session: Scope, call: Call) -> None:
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

    def test_merging_the_same_point_twice_adds_nothing(self, session: Scope, call: Call) -> None:
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

    def test_a_merge_without_overwriting_leaves_what_the_parent_has(self, session: Scope, call: Call) -> None:
        child = session.child("c")
        call(session.entries.set, "k", "parent")
        call(child.entries.set, "k", "child")
        call(child.entries.set, "new", 1)
        assert call(child.merge_to_parent, overwrite=False) == 1
        assert call(session.entries.get, "k") == "parent"
        assert call(session.entries.get, "new") == 1

    def test_merged_items_keep_their_ids_and_come_once(self, session: Scope, call: Call) -> None:
        child = session.child("c")
        item = call(child.items.add, "x", tags=["t"])
        assert call(child.merge_to_parent, items=True) == 1
        call(child.entries.set, "k", 1)
        call(child.merge_to_parent, items=True)
        assert [each.id for each in call(session.items.all)] == [item.id]

    def test_a_merge_leaves_out_what_has_expired(self, session: Scope, call: Call, clock: Clock) -> None:
        child = session.child("c")
        call(child.entries.set, "k", 1, ttl_s=1)
        call(child.items.add, "x", ttl_s=1)
        clock.advance(1)
        assert call(child.merge_to_parent, items=True) == 0
        assert call(session.entries.contains, "k") is False

    def test_a_merge_respects_what_the_parent_may_hold(self, memory: wmem.AgentMemory, call: Call) -> None:
        parent = memory.scope("s", policy=Policy.session(max_entries=2))
        call(parent.entries.set, "0", "parent")
        child = parent.child("c")
        for number in range(3):
            call(child.entries.set, str(number), "child")
        with pytest.raises(CapacityError, match="2"):
            call(child.merge_to_parent)
        assert call(parent.entries.keys) == ["0"]
        assert call(parent.entries.get, "0") == "parent"

    def test_a_root_has_no_parent_to_merge_into(self, memory: wmem.AgentMemory, call: Call) -> None:
        with pytest.raises(InvalidInputError, match="root"):
            call(memory.working.merge_to_parent)

    def test_a_merge_by_hand_leaves_the_items_to_the_merge_at_exit(self, session: Scope, call: Call) -> None:
        with call.enter(session.temporary("work", merge=True)) as scope:
            call(scope.entries.set, "found", 1)
            item = call(scope.items.add, "an insight")
            assert call(scope.merge_to_parent) == 1
        assert call(session.items.get, item.id).content == "an insight"

    def test_merging_without_and_then_with_overwriting_does_both(self, session: Scope, call: Call) -> None:
        child = session.child("c")
        call(session.entries.set, "k", "parent")
        call(child.entries.set, "k", "child")
        call(child.entries.set, "new", 1)
        assert call(child.merge_to_parent, overwrite=False) == 1
        assert call(session.entries.get, "k") == "parent"
        assert call(child.merge_to_parent, overwrite=True) == 2
        assert call(session.entries.get, "k") == "child"

    @pytest.mark.parametrize("way", [{}, {"items": True}, {"overwrite": False, "items": True}], ids=str)
    def test_the_same_point_merged_the_same_way_is_merged_once(
        self, session: Scope, call: Call, way: dict[str, bool]
    ) -> None:
        child = session.child("c")
        call(child.entries.set, "k", 1)
        call(child.items.add, "x")
        assert call(child.merge_to_parent, **way) == 1 + way.get("items", False)
        there = call(session.view).cursor
        assert call(child.merge_to_parent, **way) == 0
        assert call(session.view).cursor == there

    def test_a_merge_without_overwriting_keeps_the_parents_newer_item(self, session: Scope, call: Call) -> None:
        child = session.child("c")
        item = call(child.items.add, "old")
        call(child.merge_to_parent, items=True)
        call(session.items.update, item.id, content="newer")
        call(child.entries.set, "k", 1)
        assert call(child.merge_to_parent, overwrite=False, items=True) == 1
        assert call(session.items.get, item.id).content == "newer"
        assert call(session.entries.get, "k") == 1

    def test_a_temporary_scope_that_its_full_parent_refuses_stays_and_can_be_merged_later(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        session = memory.scope("s", policy=Policy.session(max_entries=1))
        call(session.entries.set, "k", 1)

        def work(scope: Scope) -> None:
            call(scope.entries.set, "found", 2)
            call(scope.items.add, "an insight")

        with pytest.raises(CapacityError), call.enter(session.temporary("work", merge=True)) as scope:
            work(scope)
        assert scope.is_disposed is False
        assert call(session.children) == [scope.name]
        assert call(scope.entries.local.keys) == ["found"]
        assert (call(session.entries.keys), call(session.items.count)) == (["k"], 0)
        call(session.entries.remove, "k")
        assert call(scope.merge_to_parent, items=True) == 2
        assert call(session.entries.get, "found") == 2
        assert call(session.items.count) == 1

    def test_merging_again_keeps_what_the_parent_knows_of_an_items_use(self, session: Scope, call: Call) -> None:
        child = session.child("task")
        item = call(child.items.add, "found")
        call(child.merge_to_parent, items=True)
        for _ in range(9):
            call(session.items.fetch, item.id)
        call(child.items.add, "another")
        call(child.merge_to_parent, items=True)
        assert call(session.items.get, item.id).access_count == 10
