"""Suite of `Policy.buffer`: TTL of an hour, eviction of the oldest, and flushing to a callback."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

import wmem
from tests.suites.eviction import contents
from wmem import InvalidInputError, MemoryItem, Policy, Scope, agent_fingerprint
from wmem.testing.suite import Call, Clock, FacetSuite, MemoryOpener

__all__ = ["BufferSuite"]


class BatchRecorder:
    """A flush callback that records the batches it gets."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def __call__(self, items: list[MemoryItem]) -> None:
        self.batches.append(contents(items))


class BufferSuite(FacetSuite):
    """The buffer of document 2: a policy on plain items."""

    @pytest.fixture
    def buffer(self, memory: wmem.AgentMemory) -> Scope:
        """A scope with the limits of the document."""
        return memory.scope("buffer", policy=Policy.buffer())

    def test_a_fragment_keeps_everything_it_was_given(self, open_memory: MemoryOpener, call: Call) -> None:
        added = call(
            open_memory().scope("b", policy=Policy.buffer()).items.add,
            "Ada told Bob about the outage",
            dynamic_type="Incident",
            confidence="high",
            participants=["ada", "bob"],
            causal_chain=["deploy", "outage"],
            sources=[{"url": "https://example.org", "line": 3}],
            agent_id="agent-7",
            metadata={"severity": 2},
        )
        found = call(open_memory.in_other_process().scope("b").items.get, added.id)
        assert found == added
        assert (found.dynamic_type, found.confidence, found.participants) == ("Incident", 0.75, ("ada", "bob"))
        assert (found.causal_chain, found.metadata) == (("deploy", "outage"), {"severity": 2})
        assert found.sources == ({"url": "https://example.org", "line": 3},)

    def test_the_agents_fingerprint_is_noted_with_its_id(self, buffer: Scope, call: Call) -> None:
        item = call(buffer.items.add, "x", agent_id="agent-7")
        assert item.agent_fingerprint == agent_fingerprint("agent-7")
        assert call(buffer.items.update, item.id, agent_id="agent-8").agent_fingerprint == agent_fingerprint("agent-8")
        assert call(buffer.items.add, "x").agent_fingerprint is None
        assert call(buffer.items.add, "x", agent_id="a", agent_fingerprint="0" * 16).agent_fingerprint == "0" * 16

    def test_a_fragment_lives_for_an_hour_whatever_its_priority(self, buffer: Scope, call: Call, clock: Clock) -> None:
        kept = [call(buffer.items.add, "x", priority=each) for each in ("low", "critical")]
        clock.advance(3_599)
        assert call(buffer.items.count) == 2
        clock.advance(1)
        assert call(buffer.items.count) == 0
        assert [call(buffer.items.exists, item.id) for item in kept] == [False, False]

    def test_the_oldest_leave_a_full_buffer_whatever_they_are_worth(self, memory: wmem.AgentMemory, call: Call) -> None:
        buffer = memory.scope("b", policy=Policy.buffer(max_items=3))
        call(buffer.items.add, "pinned", pinned=True)
        for number, importance in enumerate((0.9, 0.1, 0.5, 0.5)):
            call(buffer.items.add, str(number), importance=importance)
        assert contents(call(buffer.items.all)) == ["pinned", "2", "3"]
        assert [decision.rule for decision in call(buffer.queue.decisions)] == ["oldest", "oldest"]

    def test_a_large_buffer_makes_room_for_the_next_writes_too(self, memory: wmem.AgentMemory, call: Call) -> None:
        buffer = memory.scope("b", policy=Policy.buffer(max_items=260))
        for number in range(260):
            call(buffer.items.add, str(number))
        told = call(buffer.queue.memorize, "260")
        assert (told.items, len(told.evicted)) == (247, 14)
        assert contents(told.evicted) == [str(number) for number in range(14)]

    # -- flushing

    def test_all_items_are_handed_on_once_when_they_are_enough(self, memory: wmem.AgentMemory, call: Call) -> None:
        handed = BatchRecorder()
        buffer = memory.scope("b", policy=Policy.buffer(flush_threshold=3, on_flush=handed))
        for number in range(5):
            call(buffer.items.add, str(number))
        assert handed.batches == [["0", "1", "2"]]
        call(buffer.items.clear)
        for number in range(3):
            call(buffer.queue.memorize, f"again {number}")
        assert handed.batches[1:] == [["again 0", "again 1", "again 2"]]

    def test_what_expired_meanwhile_is_neither_counted_nor_handed_on(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        handed = BatchRecorder()
        buffer = memory.scope("b", policy=Policy.buffer(flush_threshold=2, on_flush=handed))
        call(buffer.items.add, "short-lived", ttl_s=10)
        clock.advance(10)
        call(buffer.items.add, "0")
        assert handed.batches == []
        call(buffer.items.add, "1")
        assert handed.batches == [["0", "1"]]

    def test_who_fails_to_take_the_items_loses_none_and_stops_nobody(
        self, memory: wmem.AgentMemory, call: Call, caplog: pytest.LogCaptureFixture
    ) -> None:
        def failing(items: list[MemoryItem]) -> None:
            msg = f"{len(items)} are too many"
            raise RuntimeError(msg)

        buffer = memory.scope("b", policy=Policy.buffer(flush_threshold=2, on_flush=failing))
        call(buffer.items.add, "a secret")
        added = call(buffer.items.add, "another")
        assert call(buffer.items.get, added.id) == added
        assert call(buffer.items.count) == 2
        (record,) = [each for each in caplog.records if each.name == "wmem.scope.queue"]
        assert record.levelno == logging.ERROR
        assert "secret" not in caplog.text

    def test_who_takes_the_items_may_use_the_buffer(self, memory: wmem.AgentMemory, call: Call, to_sync: Any) -> None:
        scopes: list[Scope] = []
        seen: list[int] = []

        def taking(items: list[MemoryItem]) -> None:
            for item in items:
                scopes[0].items.remove(item.id)
            scopes[0].items.add("consolidated")
            seen.append(scopes[0].items.count())

        buffer = memory.scope("b", policy=Policy.buffer(flush_threshold=2, on_flush=taking))
        scopes.append(to_sync(buffer))
        for number in range(2):
            call(buffer.items.add, str(number))
        assert seen == [1]
        assert contents(call(buffer.items.all)) == ["consolidated"]

    def test_coroutines_take_the_items_where_coroutines_run_and_are_refused_elsewhere(
        self, memory: wmem.AgentMemory, call: Call, mode: str
    ) -> None:
        handed = BatchRecorder()

        async def taking(items: list[MemoryItem]) -> None:
            handed(items)

        policy = Policy.buffer(flush_threshold=1, on_flush=taking)
        if mode == "sync":
            with pytest.raises(InvalidInputError, match="aopen"):
                memory.scope("b", policy=policy)
            return
        call(memory.scope("b", policy=policy).items.add, "x")
        assert handed.batches == [["x"]]

    def test_of_writers_at_once_only_the_one_that_reaches_the_threshold_hands_on(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        handed = [BatchRecorder(), BatchRecorder()]
        memories = [open_memory(), open_memory.in_other_process()]
        scopes = [
            memory.scope("b", policy=Policy.buffer(flush_threshold=6, on_flush=each))
            for memory, each in zip(memories, handed, strict=True)
        ]

        def adding(number: int) -> Callable[[], MemoryItem]:
            return lambda: scopes[number % 2].items.add(str(number))

        call.run_concurrently([adding(number) for number in range(10)])
        (batch,) = [batch for each in handed for batch in each.batches]
        assert len(batch) == 6
        assert batch == contents(call(scopes[0].items.all))[:6]

    def test_a_new_handle_and_a_memory_of_that_policy_hand_on_too(self, open_memory: MemoryOpener, call: Call) -> None:
        call(open_memory().scope("b", policy=Policy.buffer(flush_threshold=2)).items.add, "0")
        handed = BatchRecorder()
        policy = Policy.buffer(flush_threshold=2, on_flush=handed)
        there = open_memory.in_other_process(policy=policy).scope("b")
        assert call(there.items.count) == 1
        call(there.items.add, "1")
        assert handed.batches == [["0", "1"]]
        call(there.items.clear)
        asked = open_memory.in_other_process().scope("b", policy=policy)
        for number in range(2):
            call(asked.items.add, f"again {number}")
        assert handed.batches[1:] == [["again 0", "again 1"]]

    def test_who_opened_the_buffer_without_a_taker_hands_nothing_on_and_loses_nothing(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        handed = BatchRecorder()
        here = open_memory().scope("b", policy=Policy.buffer(flush_threshold=2, on_flush=handed))
        call(here.items.add, "0")
        there = open_memory.in_other_process().scope("b")
        call(there.items.add, "1")
        call(here.items.add, "2")
        assert handed.batches == []
        assert contents(call(here.items.all)) == ["0", "1", "2"]
