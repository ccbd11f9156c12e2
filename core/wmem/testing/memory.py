"""Smoke suite of an agent's memory on a backend: each facet once, reopening, other processes, concurrent writers."""

from typing import Any

import pytest

import wmem
from wmem.testing.suite import Call, Clock, FacetSuite, MemoryOpener

__all__ = ["MemorySuite"]


def change_kinds(events: Any) -> list[str]:
    return [type(event.change).__name__ for event in events]


def user_message(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


class MemorySuite(FacetSuite):
    """What wmem makes of a backend; what its parts promise beyond that does not depend on the backend."""

    def test_each_facet_keeps_what_it_is_given(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        session = memory.scope("session")
        call(session.entries.set, "deadline", {"day": 4})
        item = call(session.items.add, "prefers short answers", priority="high", tags=["style"])
        call(session.messages.append, [user_message("My dog is called Biscuit."), user_message("And I am Ada.")])
        call(memory.scope("queue").queue.memorize, "feed the dog")
        assert call(session.entries.get, "deadline") == {"day": 4}
        assert call(session.items.get, item.id).tags == item.tags
        assert [message.text for message in call(session.messages.all)][-1] == "And I am Ada."
        assert [each.content for each in call(memory.scope("queue").queue.remember)] == ["feed the dog"]
        assert [each.id for each in call(session.items.search, "answers")] == [item.id]
        assert "Biscuit" in str(call(session.pack, "What is my dog called?", budget=2000).to_openai())

    def test_a_child_reads_its_parent_and_merges_into_it(self, session: wmem.Scope, call: Call) -> None:
        child = session.child("c")
        call(session.entries.set, "k", "parent's")
        assert call(child.entries.get, "k") == "parent's"
        call(child.entries.set, "k", "child's")
        assert call(session.entries.get, "k") == "parent's"
        call(child.merge_to_parent)
        assert call(session.entries.get, "k") == "child's"
        assert call(session.children) == ["c"]

    def test_what_expires_is_gone_at_its_instant_and_nothing_else_is(
        self, session: wmem.Scope, call: Call, clock: Clock
    ) -> None:
        call(session.entries.set, "short", 1, ttl_s=60)
        call(session.entries.set, "long", 1)
        clock.advance(59)
        assert call(session.entries.get, "short") == 1
        clock.advance(1)
        assert call(session.entries.keys) == ["long"]

    def test_a_limit_holds_under_concurrent_writers(self, open_memory: MemoryOpener, call: Call) -> None:
        opened = (open_memory(), open_memory.in_other_process())
        scopes = [memory.scope("s", policy=wmem.Policy.buffer(max_items=3)) for memory in opened]

        def adding(number: int) -> Any:
            return lambda: scopes[number % 2].items.add(f"item {number}")

        added = {item.id for item in call.run_concurrently([adding(number) for number in range(8)])}
        kept = {item.id for item in call(scopes[0].items.all)}
        assert len(kept) == 3
        assert kept < added

    def test_changes_at_once_reach_a_listener_once_each_in_order(self, memory: wmem.AgentMemory, call: Call) -> None:
        events: list[Any] = []
        memory.subscribe(events.append)
        session = memory.scope("s")

        def appending(number: int) -> Any:
            return lambda: session.messages.append(user_message(str(number)))

        call.run_concurrently([appending(number) for number in range(20)])
        stored = [message.id for message in call(session.messages.all)]
        assert [event.change.row.id for event in events if type(event.change).__name__ == "ItemPut"] == stored

    def test_events_of_another_process_arrive_when_this_one_catches_up(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        here, there = open_memory(), open_memory.in_other_process()
        call(here.scope("s").entries.set, "k", 1)
        events: list[Any] = []
        here.subscribe(events.append)
        call(there.scope("s").entries.set, "k", 2)
        call(there.scope("s").messages.append, user_message("a"))
        assert events == []
        call(here.scope("s").messages.count)
        assert change_kinds(events) == ["ItemPut", "ItemPut"]
        call(here.scope("s").messages.count)
        assert len(events) == 2

    def test_jumping_over_a_checkpoint_says_resynced(self, open_memory: MemoryOpener, call: Call) -> None:
        here, there = open_memory(), open_memory.in_other_process()
        call(here.scope("s").entries.set, "k", 1)
        cursors = call(here.changes).cursors
        events: list[Any] = []
        here.subscribe(events.append)
        for _ in range(3):
            call(there.scope("s").messages.append, user_message("x" * 40_000))
        assert call(here.scope("s").messages.count) == 3
        assert change_kinds(events)[0] == "Resynced"
        assert change_kinds(call(here.changes, cursors).events)[0] == "Resynced"
        call(there.scope("s").entries.set, "j", 1)
        call(here.scope("s").entries.get, "j")
        assert change_kinds(events)[-1] == "ItemPut"

    def test_changes_are_what_came_after_the_cursors(self, memory: wmem.AgentMemory, call: Call) -> None:
        session = memory.scope("s")
        call(session.entries.set, "k", 1)
        first = call(memory.changes)
        assert change_kinds(first.events) == ["ScopeOpened", "ItemPut"]
        assert call(memory.changes, first.cursors).events == ()
        call(session.entries.remove, "k")
        call(memory.working.entries.set, "root", 1)
        second = call(memory.changes, first.cursors)
        assert sorted(change_kinds(second.events)) == ["ItemPut", "ItemRemoved", "ScopeOpened"]
        assert call(memory.changes, second.cursors).events == ()
        call(session.dispose)
        third = call(memory.changes, second.cursors)
        assert change_kinds(third.events) == ["Resynced"]
        assert set(third.cursors) == {("agent",)}

    def test_what_was_written_is_there_when_the_store_is_opened_again(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory()
        call(memory.scope("s").entries.set, "k", 1)
        call(memory.scope("s").messages.append, user_message("a"))
        call(memory.close)
        again = open_memory()
        assert call(again.scope("s").entries.get, "k") == 1
        assert call(again.scope("s").messages.count) == 1

    @pytest.mark.parametrize("own", [True, False], ids=["root written", "root unwritten"])
    def test_closing_with_dispose_deletes_all_of_the_agent_and_nothing_of_another(
        self, open_memory: MemoryOpener, call: Call, own: bool
    ) -> None:
        memory, other = open_memory("agent"), open_memory("agent-2")
        for each in (memory, other):
            call(each.scope("s", "deep").entries.set, "k", 1)
            call(each.scope("t").messages.append, user_message("hello"))
            if own:
                call(each.working.items.add, "an item")
        call(memory.close, dispose=True)
        for opened in (open_memory, open_memory.in_other_process):
            again = opened("agent")
            assert call(again.working.children) == []
            assert call(again.changes).events == ()
            assert call(again.scope("s", "deep").entries.get, "k") is None
            kept = opened("agent-2")
            assert call(kept.working.children) == ["s", "t"]
            assert call(kept.scope("s", "deep").entries.get, "k") == 1
            assert call(kept.working.items.count) == own
        call(memory.close, dispose=True)
