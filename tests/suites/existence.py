"""Suite of what exists and what ends: asking creates nothing, and long-term memory outlives working memory."""

from collections.abc import Callable
from typing import Any

import pytest

import wmem
from wmem import DisposedError, InvalidInputError, NotFoundError, Scope
from wmem.testing.suite import Call, FacetSuite, MemoryOpener

__all__ = ["ExistenceSuite"]

USES: dict[str, Callable[[Call, Scope], Any]] = {
    "get": lambda call, scope: call(scope.entries.get, "k"),
    "set": lambda call, scope: call(scope.entries.set, "k", 1),
    "add": lambda call, scope: call(scope.items.add, "x"),
    "fetch": lambda call, scope: call(scope.items.fetch, "x"),
    "append": lambda call, scope: call(scope.messages.append, {"role": "user", "content": "x"}),
    "messages": lambda call, scope: call(scope.messages.all),
    "memorize": lambda call, scope: call(scope.queue.memorize, "x"),
    "pack": lambda call, scope: call(scope.pack, "x", budget=100),
    "recall": lambda call, scope: call(scope.recall, "x"),
    "children": lambda call, scope: call(scope.children),
    "stats": lambda call, scope: call(scope.stats),
    "view": lambda call, scope: call(scope.view),
    "export": lambda call, scope: call(scope.export),
    "merge": lambda call, scope: call(scope.merge_to_parent),
    "dispose": lambda call, scope: call(scope.dispose),
    "clear": lambda call, scope: call(scope.clear),
    "erase": lambda call, scope: call(scope.erase, "x"),
    "child": lambda call, scope: call(scope.child("c").entries.set, "k", 1),
}
"""By name: a first use of a scope."""


class ExistenceSuite(FacetSuite):
    """`exists`, ``create=False``, ``close(dispose=True)`` and `erase_all`."""

    def test_a_scope_exists_from_its_first_write_until_it_is_disposed(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        session = memory.scope("s")
        assert call(session.exists) is False
        assert call(session.entries.get, "k") is None
        assert call(session.exists) is False
        assert call(memory.changes).cursors == {}
        call(session.entries.set, "k", 1)
        assert call(session.exists) is True
        call(session.clear)
        assert call(session.exists) is True
        call(session.dispose)
        assert (call(session.exists), call(memory.scope("s").exists)) == (False, False)

    def test_a_scope_with_another_below_it_exists_as_children_says(self, memory: wmem.AgentMemory, call: Call) -> None:
        call(memory.scope("user", "chat").entries.set, "k", 1)
        assert call(memory.working.children) == ["user"]
        assert call(memory.scope("user", create=False).exists) is True
        assert call(memory.working.exists) is True
        assert call(memory.scope("user", "other").exists) is False
        call(memory.scope("user").dispose)
        assert call(memory.scope("user").exists) is False

    def test_another_process_sees_what_exists(self, open_memory: MemoryOpener, call: Call) -> None:
        here, there = open_memory().scope("s"), open_memory.in_other_process().scope("s")
        assert call(there.exists) is False
        call(here.entries.set, "k", 1)
        assert call(there.exists) is True
        call(here.dispose)
        assert call(there.exists) is False

    @pytest.mark.parametrize("use", USES)
    def test_a_scope_that_must_exist_and_does_not_is_not_found_and_not_created(
        self, memory: wmem.AgentMemory, call: Call, use: str
    ) -> None:
        with pytest.raises(NotFoundError, match="'s'"):
            USES[use](call, memory.scope("s", create=False))
        assert call(memory.scope("s", create=False).exists) is False
        assert call(memory.changes).cursors == {}

    def test_a_scope_that_must_exist_and_does_is_used_as_any(self, memory: wmem.AgentMemory, call: Call) -> None:
        handle = memory.scope("s", create=False)
        with pytest.raises(NotFoundError):
            call(handle.items.add, "x")
        call(memory.scope("s").entries.set, "k", 1)
        assert call(handle.entries.get, "k") == 1
        call(handle.items.add, "x")
        call(handle.child("c").entries.set, "k", 2)
        with pytest.raises(NotFoundError, match="'other'"):
            call(handle.child("other", create=False).entries.get, "k")
        call(handle.dispose)
        with pytest.raises(DisposedError):
            call(handle.entries.get, "k")

    def test_only_the_last_of_several_names_must_exist(self, memory: wmem.AgentMemory, call: Call) -> None:
        call(memory.scope("user", "chat").entries.set, "k", 1)
        assert call(memory.scope("user", "chat", create=False).entries.get, "k") == 1

    def test_an_agent_that_must_exist_is_found_or_not(self, open_memory: MemoryOpener, call: Call) -> None:
        call(open_memory("ada").scope("s").entries.set, "k", 1)
        with pytest.raises(NotFoundError, match="'bob'"):
            open_memory("bob", create=False)
        with pytest.raises(NotFoundError, match="'bob'"):
            open_memory.in_other_process("bob", create=False)
        assert call(open_memory.in_other_process("ada", create=False).scope("s").entries.get, "k") == 1
        call(open_memory("bob").working.messages.append, {"role": "user", "content": "x"})
        assert call(open_memory("bob", create=False).working.messages.count) == 1

    def test_asking_for_a_store_that_is_not_there_makes_none(
        self, open_memory: MemoryOpener, call: Call, url: str, store_bytes: Callable[[], bytes]
    ) -> None:
        with pytest.raises(NotFoundError):
            open_memory(create=False)
        assert url.startswith(("memory:", "journal:")) or not store_bytes()
        call(open_memory().working.entries.set, "k", 1)
        assert call(open_memory(create=False).working.entries.get, "k") == 1

    @pytest.mark.parametrize("wrong", [None, 0, "no"])
    def test_create_is_yes_or_no(self, open_memory: MemoryOpener, wrong: Any) -> None:
        memory = open_memory()
        for refused in (
            lambda: open_memory(create=wrong),
            lambda: memory.scope("s", create=wrong),
            lambda: memory.scope(create=wrong),
            lambda: memory.working.child("c", create=wrong),
        ):
            with pytest.raises(InvalidInputError, match="create"):
                refused()

    # -- what ends with a memory

    def _fill(self, memory: wmem.AgentMemory, call: Call) -> None:
        """Everything an agent may have: its own scope, sessions, one below another, and long-term memory."""
        call(memory.working.entries.set, "name", "Ada")
        for path in (("s",), ("t", "deep")):
            session = memory.scope(*path)
            call(session.messages.append, {"role": "user", "content": "hello"})
            call(session.items.promote, call(session.items.add, f"fact of {'/'.join(path)}", type="fact").id)
        call(memory.scope("s").items.promote, call(memory.scope("s").items.add, "seen").id)

    def test_closing_with_dispose_ends_working_memory_and_leaves_long_term_memory(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory()
        self._fill(memory, call)
        call(memory.close, dispose=True)
        for again in (open_memory(), open_memory.in_other_process()):
            assert call(again.working.children) == []
            assert call(again.working.entries.all) == {}
            assert [call(again.scope(*path).exists) for path in (("s",), ("t",), ("t", "deep"))] == [False] * 3
            assert [each.content for each in call(again.semantic.items.all)] == [
                "fact of s",
                "fact of t/deep",
            ]
            assert [each.content for each in call(again.episodic.items.all)] == ["seen"]
            stats = call(again.stats)
            assert (stats.total_entries_working, stats.messages, stats.items, stats.active_working_scopes) == (0,) * 4
            assert stats.total_entries_long_term == 3

    def test_what_a_user_is_known_by_is_long_term_memory_too(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        ann, bob = ("users", "ann"), ("users", "bob")
        for user in (ann, bob):
            call(memory.scope(*user).entries.set, "name", user[-1])
            call(memory.scope(*user, "chat").messages.append, {"role": "user", "content": "hello"})
        chat = memory.scope("chat", policy=wmem.Policy.session(long_term=(ann,)))
        call(chat.items.promote, call(chat.items.add, "likes tea", type="fact").id)
        call(memory.scope("users").entries.set, "k", 1)
        call(memory.close, dispose=True)
        for again in (open_memory(), open_memory.in_other_process()):
            assert call(again.scope(*ann).entries.local.all).keys() == {"name"}
            again_chat = again.scope("new", policy=wmem.Policy.session(long_term=(ann,)))
            assert [hit.text for hit in call(again_chat.recall, "who likes tea")] == ["likes tea"]
            for path in (bob, (*ann, "chat"), (*bob, "chat"), ("chat",)):
                assert call(again.scope(*path).exists) is False
            assert call(again.scope("users").entries.local.all) == {}

    def test_an_agent_goes_on_after_its_working_memory_ended(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        self._fill(memory, call)
        call(memory.close, dispose=True)
        again = open_memory()
        call(again.scope("s").items.promote, call(again.scope("s").items.add, "later", type="fact").id)
        assert call(again.semantic.items.count) == 3
        call(again.close, dispose=True)
        assert call(open_memory().semantic.items.count) == 3

    def test_erasing_all_leaves_nothing_of_the_agent_and_all_of_others(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory, other = open_memory(), open_memory("other")
        self._fill(memory, call)
        self._fill(other, call)
        held = memory.scope("s")
        assert call(held.entries.get, "name") == "Ada"
        erased = call(memory.erase_all)
        assert (erased.complete, erased.remaining) == (True, ()) or erased.remaining
        for again in (memory, open_memory.in_other_process()):
            assert call(again.semantic.items.count) == call(again.episodic.items.count) == 0
            assert call(again.changes).cursors == {}
        assert call(open_memory.in_other_process("other").semantic.items.count) == 2
        with pytest.raises(DisposedError):
            call(held.entries.get, "name")
        call(memory.scope("s").entries.set, "k", 1)
        assert call(memory.scope("s").entries.get, "name") is None
        call(memory.erase_all)
