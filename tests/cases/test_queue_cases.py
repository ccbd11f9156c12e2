"""What other bounded memories got wrong, as promises of the queue; each keeps the id of its case."""

import pytest

import wmem
from tests.conformance.conftest import Call
from wmem import CapacityError, Policy


def test_B64_a_write_at_capacity_evicts_the_lowest_value_and_tells_the_caller_what_went(
    memory: wmem.AgentMemory, call: Call
) -> None:
    scope = memory.scope("s", policy=Policy.queue(max_items=4))
    pinned = call(scope.queue.memorize, "pinned", importance=0.0, pinned=True).item
    lowest = [call(scope.queue.memorize, f"item {score}", importance=score).item for score in (0.9, 0.1, 0.5)][1]
    told = call(scope.queue.memorize, "new", importance=0.5)
    assert told.evicted == (lowest,)
    assert [item.content for item in call(scope.items.all)] == ["pinned", "item 0.9", "item 0.5", "new"]
    assert call(scope.items.get, pinned.id).content == "pinned"


def test_B64_where_all_is_pinned_a_write_is_refused_and_nothing_changes(memory: wmem.AgentMemory, call: Call) -> None:
    scope = memory.scope("s", policy=Policy.queue(max_items=2))
    kept = [call(scope.items.add, text, pinned=True) for text in ("one", "two")]
    there = call(scope.view).cursor
    for add in (scope.items.add, scope.queue.memorize):
        with pytest.raises(CapacityError, match="pinned"):
            call(add, "three", importance=1.0)
    assert call(scope.view).cursor == there
    assert call(scope.items.all) == kept
    call(scope.items.update, kept[0].id, pinned=False)
    assert [item.id for item in call(scope.queue.memorize, "three").evicted] == [kept[0].id]


def test_B129_a_new_item_of_middling_score_is_not_the_victim_where_all_others_hold_the_top_score(
    memory: wmem.AgentMemory, call: Call
) -> None:
    scope = memory.scope("s", policy=Policy.queue(max_items=4))
    old = [call(scope.items.add, f"old {number}", importance=1.0) for number in range(4)]
    new = call(scope.items.add, "new", importance=0.5)
    assert call(scope.items.get, new.id).content == "new"
    assert call(scope.items.fetch, new.id).id == new.id
    assert call(scope.items.get, old[0].id) is None
    assert call(scope.items.count) == 4


def test_B129_an_id_that_add_just_returned_resolves_however_low_its_score(memory: wmem.AgentMemory, call: Call) -> None:
    scope = memory.scope("s", policy=Policy.queue(max_items=3, max_tokens=40))
    for number in range(12):
        added = call(scope.items.add, f"item {number}", importance=(number % 4) / 4)
        assert call(scope.items.get, added.id) == added
