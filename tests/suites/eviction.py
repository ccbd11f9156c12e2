"""Suite of eviction: limits hold, the least important leave, and each eviction is returned, logged and explained."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

import wmem
from tests.logs import own_records
from wmem import CapacityError, InvalidInputError, Memorized, MemoryItem, Policy, Scope
from wmem.model.change import ItemEvicted, ItemExpired, ItemPut, ItemRemoved
from wmem.testing.suite import Call, Clock, FacetSuite, MemoryOpener
from wmem.tokens.estimate import EstimateCounter

__all__ = ["EvictionSuite", "contents", "make_text"]

HOUR = 3_600


def contents(items: Any) -> list[str]:
    """The contents of items, in order."""
    return [item.content for item in items]


def make_text(tokens: int, name: object) -> str:
    """A text of exactly that many tokens, unique to the name."""
    count = EstimateCounter()
    text = f"item {name}"
    while count(text) < tokens:
        text = next(longer for more in (" word", " a", ".") if count(longer := text + more) <= tokens)
    return text


class EvictionSuite(FacetSuite):
    """Which items leave a queue at its limits."""

    @pytest.fixture
    def queue(self, memory: wmem.AgentMemory) -> Scope:
        """A scope whose queue has the limits of the document."""
        return memory.scope("queue", policy=Policy.queue())

    @pytest.fixture
    def small_queue(self, memory: wmem.AgentMemory) -> Scope:
        """A scope whose queue holds three items."""
        return memory.scope("small", policy=Policy.queue(max_items=3))

    def test_the_worked_example_of_the_document_ends_within_64_items_and_4_000_tokens(
        self, queue: Scope, call: Call
    ) -> None:
        evicted: list[MemoryItem] = []
        told: Memorized | None = None
        for step, items, tokens in ((0, 10, 50), (5, 20, 50), (10, 30, 33), (15, 25, 40), (20, 20, 50)):
            while step and call(queue.queue.advance_step) < step:
                pass
            for number in range(items):
                importance = 0.2 if step <= 5 else 0.5
                told = call(queue.queue.memorize, make_text(tokens, f"{step}.{number}"), importance=importance)
                evicted += told.evicted
                assert told.items <= 64
                assert told.tokens <= 4_000
        assert told is not None
        assert (told.items, told.position, len(evicted)) == (64, 63, 41)
        # First items of low importance from the first steps, oldest first; then the oldest others.
        assert [item.step_index for item in evicted] == [0] * 10 + [5] * 20 + [10] * 11
        assert contents(call(queue.items.recent, 20)) == [
            make_text(50, f"20.{number}") for number in reversed(range(20))
        ]
        capacity = call(queue.queue.capacity)
        assert (capacity.items, capacity.tokens) == (told.items, told.tokens)

    def test_what_leaves_is_told_logged_and_explained_and_never_quoted(
        self, small_queue: Scope, call: Call, caplog: pytest.LogCaptureFixture
    ) -> None:
        first = call(small_queue.queue.memorize, "a secret of Biscuit", importance=0.1)
        for number in range(2):
            call(small_queue.queue.memorize, f"item {number}", importance=0.5)
        with caplog.at_level(logging.INFO, "wmem.scope.queue"):
            told = call(small_queue.queue.memorize, "one too many", importance=0.5)
        assert told.evicted == (first.item,)
        (record,) = own_records(caplog)
        assert (record.name, record.levelno) == ("wmem.scope.queue", logging.INFO)
        assert first.item.id in record.getMessage()
        assert "secret" not in record.getMessage()
        (decision,) = call(small_queue.queue.decisions)
        assert (decision.id, decision.rule, decision.tokens) == (first.item.id, "low", first.item.tokens)
        assert decision.parts["importance"] == 0.1
        assert "secret" not in repr(decision)

    def test_decisions_are_told_newest_first_and_only_as_many_as_asked_for(
        self, small_queue: Scope, call: Call
    ) -> None:
        added = [call(small_queue.queue.memorize, f"item {number}", importance=0.5).item.id for number in range(6)]
        assert [decision.id for decision in call(small_queue.queue.decisions)] == added[2::-1]
        assert [decision.id for decision in call(small_queue.queue.decisions, 1)] == [added[2]]
        assert call(small_queue.queue.decisions, 0) == []

    def test_tokens_are_a_ceiling_of_their_own(self, memory: wmem.AgentMemory, call: Call) -> None:
        scope = memory.scope("s", policy=Policy.queue(max_tokens=30))
        for number in range(3):
            call(scope.queue.memorize, make_text(10, number), importance=0.5)
        told = call(scope.queue.memorize, make_text(15, "long"), importance=0.5)
        assert contents(told.evicted) == [make_text(10, 0), make_text(10, 1)]
        assert (told.items, told.tokens) == (2, 25)

    def test_an_item_larger_than_the_whole_queue_is_refused_and_nothing_changes(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        scope = memory.scope("s", policy=Policy.queue(max_tokens=20))
        call(scope.queue.memorize, "here")
        there = call(scope.view).cursor
        with pytest.raises(CapacityError, match="of 20 tokens"):
            call(scope.queue.memorize, make_text(21, "long"))
        assert call(scope.view).cursor == there
        assert contents(call(scope.items.all)) == ["here"]
        assert call(scope.queue.memorize, make_text(20, "fits")).items == 1

    def test_low_importance_leaves_first_and_the_older_of_equals(self, small_queue: Scope, call: Call) -> None:
        for name, importance in (("middle", 0.5), ("low old", 0.2), ("low new", 0.1)):
            call(small_queue.queue.memorize, name, importance=importance)
        left = [
            contents(call(small_queue.queue.memorize, f"new {number}", importance=0.6).evicted) for number in range(3)
        ]
        assert left == [["low old"], ["low new"], ["middle"]]

    def test_what_is_important_leaves_only_when_nothing_else_is_left_and_with_a_warning(
        self, small_queue: Scope, call: Call, caplog: pytest.LogCaptureFixture
    ) -> None:
        for number in range(3):
            call(small_queue.queue.memorize, f"important {number}", importance=0.7)
        with caplog.at_level(logging.INFO, "wmem.scope.queue"):
            told = call(small_queue.queue.memorize, "new", importance=0.9)
        assert contents(told.evicted) == ["important 0"]
        assert [record.levelno for record in own_records(caplog)] == [logging.WARNING]
        assert call(small_queue.queue.decisions)[0].rule == "guarded"
        call(small_queue.queue.evict_to, items=2)
        assert contents(call(small_queue.queue.memorize, "low", importance=0.1).evicted) == []
        assert contents(call(small_queue.queue.memorize, "newer", importance=0.9).evicted) == ["low"]

    def test_items_of_the_last_steps_leave_after_those_before(self, small_queue: Scope, call: Call) -> None:
        call(small_queue.queue.memorize, "before", importance=0.6)
        call(small_queue.queue.advance_step, 5)
        for number in range(2):
            call(small_queue.queue.memorize, f"late {number}", importance=0.1)
        assert contents(call(small_queue.queue.memorize, "new", importance=0.1).evicted) == ["before"]

    def test_a_stale_item_stays_visible_until_room_is_needed_and_then_goes_first(
        self, small_queue: Scope, call: Call, clock: Clock
    ) -> None:
        call(small_queue.queue.memorize, "low", importance=0.1)
        call(small_queue.queue.advance_step, 8)
        clock.advance(HOUR + 1)
        call(small_queue.queue.memorize, "fresh but low", importance=0.1)
        call(small_queue.queue.memorize, "fresh", importance=0.5)
        clock.advance(-HOUR)
        assert contents(call(small_queue.items.all)) == ["low", "fresh but low", "fresh"]
        clock.advance(HOUR)
        assert contents(call(small_queue.queue.memorize, "new", importance=0.5).evicted) == ["low"]
        assert call(small_queue.queue.decisions)[0].rule == "stale"

    def test_an_item_is_stale_by_steps_too(self, small_queue: Scope, call: Call) -> None:
        call(small_queue.queue.memorize, "old", importance=0.6)
        call(small_queue.queue.advance_step, 15)
        call(small_queue.queue.memorize, "low", importance=0.1)
        call(small_queue.queue.advance_step, 6)
        call(small_queue.queue.memorize, "new", importance=0.5)
        assert contents(call(small_queue.queue.memorize, "newer", importance=0.5).evicted) == ["old"]
        assert call(small_queue.queue.decisions)[0].parts["steps"] == 21

    def test_an_expired_item_gives_way_first_and_is_not_counted_as_evicted(
        self, memory: wmem.AgentMemory, small_queue: Scope, call: Call, clock: Clock
    ) -> None:
        gone = call(small_queue.queue.memorize, "short-lived", ttl_s=10, importance=1).item.id
        for number in range(2):
            call(small_queue.queue.memorize, f"item {number}", importance=0.1)
        clock.advance(10)
        told = call(small_queue.queue.memorize, "new", importance=0.1)
        assert (told.evicted, told.items) == ((), 3)
        assert [(each.kind, each.rule) for each in call(small_queue.queue.decisions)] == [("expired", "expired")]
        assert [each.change for each in call(memory.changes).events if isinstance(each.change, ItemExpired)] == [
            ItemExpired(gone, clock.now)
        ]

    def test_what_nobody_scored_is_judged_by_what_it_says(self, memory: wmem.AgentMemory, call: Call) -> None:
        scope = memory.scope("s", policy=Policy.queue(max_items=5))
        said = ["ok", "thanks, ok", "a dog called Biscuit", "deadline: Friday, 5 pm", "ok, thanks"]
        for text in said:
            call(scope.queue.memorize, text)
        left = [
            contents(call(scope.queue.memorize, text).evicted)
            for text in ("invoice 4711, 30 days", "budget: 900 euros")
        ]
        assert left == [["ok"], ["thanks, ok"]]
        assert all(item.importance < 0.7 for item in call(scope.queue.remember))

    def test_plain_items_keep_the_ceiling_too(self, small_queue: Scope, call: Call) -> None:
        for number in range(5):
            call(small_queue.items.add, f"item {number}", importance=0.5)
        assert contents(call(small_queue.items.all)) == ["item 2", "item 3", "item 4"]
        assert [item.step_index for item in call(small_queue.items.all)] == [0, 0, 0]

    def test_an_item_that_grows_makes_room_among_the_others(self, memory: wmem.AgentMemory, call: Call) -> None:
        scope = memory.scope("s", policy=Policy.queue(max_tokens=30))
        items = [call(scope.queue.memorize, make_text(10, number), importance=0.1).item for number in range(3)]
        call(scope.items.update, items[0].id, content=make_text(20, "grown"))
        assert contents(call(scope.items.all)) == [make_text(20, "grown"), make_text(10, 2)]

    def test_merged_items_make_room_in_the_parent_in_one_step(self, small_queue: Scope, call: Call) -> None:
        for number in range(3):
            call(small_queue.queue.memorize, f"item {number}", importance=0.5)
        child = small_queue.child("c", policy=Policy.session())
        call(child.items.add, "found", importance=0.1)
        call(child.items.add, "found too", importance=0.1)
        assert call(child.merge_to_parent, items=True) == 2
        assert contents(call(small_queue.items.all)) == ["item 2", "found", "found too"]
        assert len(call(small_queue.queue.decisions)) == 2

    # -- limits hold for every writer

    def test_of_items_memorized_at_once_no_more_are_ever_there_than_may_be(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        policy = Policy.queue(max_items=5, max_tokens=60)
        memories = [open_memory(), open_memory.in_other_process()]
        scopes = [memory.scope("s", policy=policy) for memory in memories]

        def memorizing(number: int) -> Callable[[], Memorized]:
            return lambda: scopes[number % 2].queue.memorize(make_text(10 + number % 4, number), importance=number / 24)

        told = call.run_concurrently([memorizing(number) for number in range(24)])
        assert len({each.item.id for each in told}) == 24
        assert all(each.items <= 5 and each.tokens <= 60 for each in told)
        held: dict[str, int] = {}
        for event in call(open_memory.in_other_process().changes).events:
            change = event.change
            if isinstance(change, ItemPut):
                held[change.row.id] = change.row.tokens or 0
                assert len(held) <= 5
                assert sum(held.values()) <= 60
            elif isinstance(change, ItemEvicted | ItemRemoved):
                del held[change.id]
        assert (
            list(held)
            == [item.id for item in call(scopes[0].items.all)]
            == [item.id for item in call(scopes[1].items.all)]
        )
        gone = [item.id for each in told for item in each.evicted]
        assert len(gone) == len(set(gone)) == 24 - len(held)

    def test_another_process_sees_the_same_items_steps_and_decisions(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        here = open_memory().scope("s", policy=Policy.queue(max_items=2))
        for number in range(4):
            call(here.queue.memorize, f"item {number}")
            call(here.queue.advance_step)
        there = open_memory.in_other_process().scope("s")
        assert call(there.queue.remember) == call(here.queue.remember)
        assert call(there.queue.decisions) == call(here.queue.decisions)
        assert call(there.queue.capacity) == call(here.queue.capacity)
        assert call(there.queue.memorize, "new").item.step_index == 4

    def test_evicting_on_demand_follows_the_same_order(self, queue: Scope, call: Call) -> None:
        for name, importance in (("important", 0.9), ("low", 0.1), ("middle", 0.5), ("low too", 0.1)):
            call(queue.queue.memorize, make_text(10, name), importance=importance)
        assert contents(call(queue.queue.evict_to, items=2)) == [make_text(10, "low"), make_text(10, "low too")]
        assert call(queue.queue.evict_to, items=2) == []
        assert contents(call(queue.queue.evict_to, tokens=10)) == [make_text(10, "middle")]
        assert contents(call(queue.queue.evict_to, items=0)) == [make_text(10, "important")]
        assert len(call(queue.queue.decisions)) == 4

    def test_pinned_items_are_never_evicted_on_demand(self, queue: Scope, call: Call) -> None:
        call(queue.queue.memorize, "pinned", pinned=True)
        call(queue.queue.memorize, "x")
        with pytest.raises(CapacityError, match="pinned"):
            call(queue.queue.evict_to, items=0)
        assert call(queue.items.count) == 2
        assert contents(call(queue.queue.evict_to, items=1)) == ["x"]

    @pytest.mark.parametrize("bad", [{}, {"items": -1}, {"tokens": "0"}], ids=repr)
    def test_evicting_to_nowhere_is_refused(self, queue: Scope, call: Call, bad: dict[str, Any]) -> None:
        with pytest.raises(InvalidInputError):
            call(queue.queue.evict_to, **bad)
