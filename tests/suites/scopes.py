"""Suite of scopes: children, disposal, incarnations and isolation."""

import logging
from typing import Any

import pytest

import wmem
from wmem import DisposedError, NotFoundError, Scope
from wmem.testing.suite import Call, Clock, FacetSuite, MemoryOpener

__all__ = ["ScopesSuite"]


class ScopesSuite(FacetSuite):
    """A scope is isolated, is disposed with its parent, and starts again only for new handles."""

    def test_a_scope_knows_its_name_and_path(self, memory: wmem.AgentMemory, call: Call) -> None:
        scope = memory.scope("s").child("c")
        assert (scope.name, scope.path, scope.id) == ("c", ("agent", "s", "c"), "agent/s/c")
        assert memory.working.path == ("agent",)
        assert scope.is_disposed is False
        assert "agent/s/c" in repr(scope)

    def test_asking_twice_for_a_child_gives_the_same_scope(self, session: Scope, call: Call) -> None:
        call(session.child("c").entries.set, "k", 1)
        assert call(session.child("c").entries.get, "k") == 1
        assert call(session.children) == ["c"]

    def test_siblings_know_nothing_of_each_other(self, session: Scope, call: Call) -> None:
        call(session.child("a").entries.set, "k", 1)
        call(session.child("a").messages.append, {"role": "user", "content": "hi"})
        assert call(session.child("b").entries.contains, "k") is False
        assert call(session.child("b").messages.count) == 0

    def test_agents_of_one_store_know_nothing_of_each_other(self, open_memory: MemoryOpener, call: Call) -> None:
        ada, bob = open_memory("ada"), open_memory("bob")
        call(ada.working.entries.set, "k", 1)
        call(ada.scope("s").items.add, "x")
        assert call(bob.working.entries.contains, "k") is False
        assert call(bob.scope("s").items.count) == 0
        assert call(bob.working.children) == []
        assert call(bob.changes).events == ()

    def test_children_are_those_directly_below_and_alive(self, session: Scope, call: Call) -> None:
        assert call(session.children) == []
        call(session.child("b").entries.set, "k", 1)
        call(session.child("a").child("deep").entries.set, "k", 1)
        session.child("never written")
        assert call(session.children) == ["a", "b"]
        call(session.child("b").dispose)
        assert call(session.children) == ["a"]

    def test_a_prefix_means_whole_segments(self, memory: wmem.AgentMemory, call: Call) -> None:
        for name in ("s", "s1", "s/1", "S"):
            call(memory.scope(name).entries.set, "k", name)
            call(memory.scope(name, "c").entries.set, "k", name)
        call(memory.scope("s").dispose)
        assert call(memory.working.children) == ["S", "s/1", "s1"]
        for name in ("s1", "s/1", "S"):
            assert call(memory.scope(name).entries.get, "k") == name
            assert call(memory.scope(name).children) == ["c"]

    def test_reads_create_nothing(self, memory: wmem.AgentMemory, session: Scope, call: Call) -> None:
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

    def test_dispose_ends_a_life_and_says_what_it_cleared(self, session: Scope, call: Call) -> None:
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

    def test_disposing_again_warns_and_clears_nothing(
        self, session: Scope, call: Call, caplog: pytest.LogCaptureFixture
    ) -> None:
        call(session.entries.set, "a", 1)
        call(session.dispose)
        with caplog.at_level(logging.WARNING, "wmem"):
            assert call(session.dispose) == 0
        assert "already disposed" in caplog.text

    def test_a_new_life_begins_under_the_name_and_the_old_handle_stays_out(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
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

    def test_a_handle_notices_that_another_disposed_its_scope(self, open_memory: MemoryOpener, call: Call) -> None:
        here, same, there = open_memory(), open_memory(), open_memory.in_other_process()
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

    def test_descendants_end_with_their_parent(self, memory: wmem.AgentMemory, call: Call) -> None:
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
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        session = memory.scope("s")
        call(session.entries.set, "k", 1)
        child = session.child("c")
        call(memory.scope("s").dispose)
        with pytest.raises(DisposedError):
            call(child.entries.set, "k", 1)
        assert call(memory.working.children) == []

    def test_a_view_never_changes(self, session: Scope, call: Call, clock: Clock) -> None:
        call(session.entries.set, "k", 1, ttl_s=10)
        item = call(session.items.add, "x")
        call(session.messages.append, {"role": "user", "content": "a"})
        view = call(session.view)
        call(session.entries.set, "k", 2)
        call(session.entries.set, "new", 1)
        call(session.items.remove, item.id)
        call(session.messages.append, {"role": "user", "content": "b"})
        call(session.messages.clear)
        clock.advance(100)
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

    def test_a_view_reads_through_to_the_parents_as_they_were(self, session: Scope, call: Call) -> None:
        call(session.entries.set, "k", 1)
        view = call(session.child("c").view)
        call(session.entries.set, "k", 2)
        assert view.entries.get("k") == 1

    def test_both_modes_of_one_scope_are_one_scope(self, session: Scope, call: Call, mode: str) -> None:
        twin = session.aio().sync() if mode == "sync" else session.sync().aio()  # type: ignore[attr-defined]  # the async face has it
        call(twin.entries.set, "k", 1)
        assert call(session.entries.get, "k") == 1
        call(twin.dispose)
        assert session.is_disposed is True

    def test_a_view_answers_in_brackets_and_leaves_the_parents_out_if_asked(self, session: Scope, call: Call) -> None:
        child = session.child("c")
        call(session.entries.set, "above", 1)
        call(child.entries.set, "own", 2)
        view = call(child.view)
        call(child.entries.remove, "own")
        assert "own" in view.entries
        assert "above" in view.entries
        assert "absent" not in view.entries
        assert (view.entries["own"], view.entries["above"]) == (2, 1)
        with pytest.raises(NotFoundError):
            view.entries["absent"]
        assert view.entries.local.keys() == ["own"]
        assert "above" not in view.entries.local
        assert view.entries.local["own"] == 2
