"""`scope.recall`: the ranked list that a pack draws on; `items.search(order="recall")` shares its index."""

from typing import Any

import pytest

from wmem import AgentMemory, InvalidInputError, Scope
from wmem.testing import Call


def fill(session: Scope, call: Call) -> None:
    call(
        session.messages.append,
        [
            {"role": "user", "content": "My dog Biscuit ate a whole cake.", "id": "cake"},
            {"role": "assistant", "content": "Oh no! Is the dog well?", "id": "oh"},
            {"role": "user", "content": "Let us talk about trains.", "id": "trains"},
        ],
    )
    call(session.entries.set, "pet", {"kind": "dog", "name": "Biscuit"})
    call(session.items.add, "the dog is afraid of thunder")


def test_recall_ranks_messages_items_and_entries_in_one_list(session: Scope, call: Call) -> None:
    fill(session, call)
    hits = call(session.recall, "Where is the dog Biscuit?")
    assert {hit.kind for hit in hits} == {"message", "item", "entry"}
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    by_id = {hit.id: hit for hit in hits}
    assert by_id["cake"].text == "My dog Biscuit ate a whole cake."
    assert by_id["cake"].path == session.path
    assert "bm25" in by_id["cake"].parts


def test_recall_is_the_list_that_a_pack_draws_on(session: Scope, call: Call) -> None:
    fill(session, call)
    query = "Where is the dog Biscuit?"
    context = call(session.pack, query, budget=4_000, recent=0)
    packed = {id: unit for unit in context.included for id in unit.ids if unit.score is not None}
    hits = {hit.id: hit for hit in call(session.recall, query, limit=200)}
    assert packed.keys() == hits.keys()
    for id, unit in packed.items():
        assert unit.score is not None
        assert (unit.score, unit.parts) == (hits[id].score, hits[id].parts)


def test_recall_returns_no_more_than_it_is_asked_for_and_only_the_kinds_asked_for(session: Scope, call: Call) -> None:
    fill(session, call)
    call(session.messages.append, [{"role": "user", "content": f"the dog, day {day}"} for day in range(300)])
    assert len(call(session.recall, "dog", limit=2)) == 2
    assert [hit.kind for hit in call(session.recall, "dog", limit=5, kinds=["item"])] == ["item"]
    assert {hit.kind for hit in call(session.recall, "dog", limit=5, kinds=("entry", "item"))} == {"entry", "item"}
    assert call(session.recall, "dog", kinds=()) == []


def test_recall_reads_the_parents_but_not_their_messages(session: Scope, call: Call) -> None:
    fill(session, call)
    child = session.child("task")
    call(child.entries.set, "pet", "none")
    hits = call(child.recall, "dog")
    assert [(hit.kind, hit.path) for hit in hits] == [("item", session.path)], "its own entry hides the parent's"


def test_recall_counts_no_access_and_a_blank_query_finds_nothing(session: Scope, call: Call) -> None:
    fill(session, call)
    before = [item.access_count for item in call(session.items.all)]
    assert call(session.recall, " ") == []
    assert call(session.recall, "thunder")
    assert [item.access_count for item in call(session.items.all)] == before


def test_recall_of_a_scope_that_does_not_exist_is_empty_and_creates_none(memory: AgentMemory, call: Call) -> None:
    assert call(memory.scope("nobody").recall, "dog") == []
    assert call(memory.working.children) == []


@pytest.mark.parametrize(
    ("query", "named"),
    [
        (None, {}),
        (7, {}),
        ("dog", {"limit": -1}),
        ("dog", {"limit": True}),
        ("dog", {"kinds": ["note"]}),
        ("dog", {"kinds": "item"}),
    ],
)
def test_bad_input_to_recall_is_refused(session: Scope, call: Call, query: Any, named: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        call(session.recall, query, **named)


def test_a_search_by_recall_asks_the_same_index_and_stays_with_the_items_words(session: Scope, call: Call) -> None:
    fill(session, call)
    call(session.items.add, "a quiet evening", type="user_message")
    found = call(session.items.search, "dog", order="recall")
    assert [item.content for item in found] == ["the dog is afraid of thunder"]
    assert found.total == 1
