"""Suite of the context window of a memory, and of statistics with every field of their document."""

import dataclasses
from typing import Any

import pytest

import wmem
from wmem import Policy
from wmem.testing.suite import NOON, Call, Clock, FacetSuite, MemoryOpener

__all__ = ["ContextWindowSuite"]


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


class ContextWindowSuite(FacetSuite):
    """`memory.context_window` and `memory.stats`."""

    def test_it_is_the_last_pack_of_any_session(self, memory: wmem.AgentMemory, call: Call) -> None:
        window = memory.context_window
        assert (window.max_tokens, window.used_tokens, window.free_tokens, window.last) == (0, 0, 0, None)
        for name, budget in (("a", 300), ("b", 400)):
            session = memory.scope(name)
            call(session.messages.append, said(f"hello from {name}"))
            context = call(session.pack, "hello", budget=budget, reserve=50)
            window = memory.context_window
            assert window.last is context
            assert (window.max_tokens, window.used_tokens) == (budget, context.tokens)
            assert window.free_tokens == budget - context.tokens
        stats = call(memory.stats)
        assert (stats.context_tokens_used, stats.context_tokens_max) == (context.tokens, 400)

    def test_a_turn_fills_it_too(self, memory: wmem.AgentMemory, call: Call) -> None:
        with call.enter(memory.turn("s")) as turn:
            call(turn.memorize, "the deadline is Friday")
            assembled = call(turn.assemble_context, "When is the deadline?", 600)
        assert memory.context_window.max_tokens == 600
        assert memory.context_window.used_tokens == assembled.tokens

    def test_another_agent_and_another_opening_have_their_own(self, open_memory: MemoryOpener, call: Call) -> None:
        memory, others = open_memory(), [open_memory(), open_memory("other"), open_memory.in_other_process()]
        call(memory.scope("s").messages.append, said("hello"))
        call(memory.scope("s").pack, budget=100)
        assert [each.context_window.max_tokens for each in (memory, *others)] == [100, 0, 0, 0]

    def test_a_pack_that_fails_changes_nothing(self, memory: wmem.AgentMemory, call: Call) -> None:
        call(memory.scope("s").messages.append, said("hello"))
        context = call(memory.scope("s").pack, budget=100)
        try:
            call(memory.scope("s").pack, budget=1)
        except wmem.BudgetError:
            assert memory.context_window.last is context
        else:
            raise AssertionError("it fits")

    def test_what_was_erased_is_not_kept_in_it(self, open_memory: MemoryOpener, call: Call) -> None:
        here, there = open_memory(), open_memory.in_other_process()
        message: Any = call(here.scope("s").messages.append, said("my PIN is 90417"))
        for memory in (here, there):
            context = call(memory.scope("s").pack, budget=100)
            assert memory.context_window.last is context
        call(here.scope("s").erase, message.id)
        assert here.context_window.last is None
        assert (here.context_window.max_tokens, here.context_window.used_tokens) == (100, context.tokens)
        call(there.scope("s").messages.count)  # learns of it
        assert there.context_window.last is None

    def test_what_was_erased_from_long_term_memory_is_not_kept_in_it(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        here, there = open_memory(), open_memory.in_other_process()
        copied = call(
            here.scope("s").items.promote, call(here.scope("s").items.add, "my locker is 90417", type="fact").id
        )
        call(there.scope("t").messages.append, said("hello"))
        context = call(there.scope("t").pack, "Which is my locker?", budget=300)
        assert "90417" in context.note
        call(here.semantic.erase, copied.id)
        call(there.semantic.items.count)
        assert there.context_window.last is None

    @pytest.mark.parametrize("way", ["disposed", "begun anew", "all erased"])
    def test_what_ended_with_its_scope_is_not_kept_in_it(self, open_memory: MemoryOpener, call: Call, way: str) -> None:
        here, there = open_memory(), open_memory.in_other_process()
        session = here.scope("s")
        call(session.messages.append, said("my PIN is 90417"))
        assert call(session.pack, budget=100) is here.context_window.last
        call(there.erase_all if way == "all erased" else there.scope("s").dispose)
        if way == "begun anew":
            call(there.scope("s").messages.append, said("hello"))
        call(here.scope("s").messages.count)  # learns of it
        assert here.context_window.last is None
        assert here.context_window.max_tokens == 100

    def test_a_memory_that_is_closed_keeps_none(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        call(memory.scope("s").messages.append, said("hello"))
        call(memory.scope("s").pack, budget=100)
        call(memory.close)
        assert memory.context_window.last is None

    def test_statistics_have_every_field(self, memory: wmem.AgentMemory, call: Call, clock: Clock) -> None:
        session = memory.scope("s", policy=Policy.queue())
        call(memory.working.entries.set, "k", 1)
        clock.advance(10)
        kept, soft = (call(session.items.add, text, type="fact") for text in ("kept", "soft"))
        call(session.items.promote, kept.id)
        call(session.items.relate, soft.id, "follows", kept.id)
        call(session.queue.forget, "position:1")
        call(session.child("c").messages.append, said("hello"))
        clock.advance(5)
        call(session.messages.append, said("again"))
        context = call(session.pack, "again", budget=200)
        with call.enter(memory.turn("s")) as turn:  # leaves a trace, which is counted nowhere
            call(turn.memorize, said("more"), store="conversation")
        stats = dataclasses.asdict(call(memory.stats))
        assert stats.pop("storage_bytes_used") > 0
        assert stats == {
            "total_entries_working": 1,
            "active_working_scopes": 2,
            "total_entries_long_term": 1,
            "total_entries_forgotten": 1,
            "storage_bytes_limit": None,
            "oldest_entry": NOON,
            "newest_entry": NOON + 15,
            "items": 1,
            "messages": 3,
            "context_tokens_used": context.tokens,
            "context_tokens_max": 200,
        }
        own = call(session.stats)
        assert (own.forgotten, own.promoted_count, own.children, own.messages, own.step) == (1, 1, 1, 2, 1)
        assert own.newest == NOON + 15
