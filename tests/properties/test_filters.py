"""`Filters`: what they refuse, and which items pass."""

from typing import Any

import pytest

from wmem import Filters, InvalidInputError, MemoryItem


def make_item(**fields: Any) -> MemoryItem:
    return MemoryItem(id="i", content="x", created_at=0.0, updated_at=0.0, **fields)


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"include": "semantic"}, "include"),
        ({"include": []}, "include"),
        ({"include": [" "]}, "include"),
        ({"include": 3}, "include"),
        ({"top_k": -1}, "top_k"),
        ({"top_k": True}, "top_k"),
        ({"task_id": 3}, "task_id"),
        ({"agent_id": b"a"}, "agent_id"),
        ({"tags": "style"}, "tags"),
    ],
)
def test_what_is_no_filter_is_refused_by_its_name(fields: dict[str, Any], word: str) -> None:
    with pytest.raises(InvalidInputError, match=word):
        Filters(**fields)


def test_filters_are_values_whatever_list_they_are_made_from() -> None:
    tags = ["style", "style"]
    filters = Filters(include={"semantic"}, tags=tags)
    tags.append("plan")
    assert filters == Filters(include=("semantic",), tags=("style",))
    assert hash(filters) == hash(Filters(include=["semantic"], tags=["style"]))


def test_an_item_passes_by_its_task_its_agent_and_any_of_the_tags() -> None:
    item = make_item(task_id="t", agent_id="a", tags=("style", "plan"))
    assert Filters().accepts(item)
    assert Filters(task_id="t", agent_id="a", tags=["plan", "other"]).accepts(item)
    for other in (Filters(task_id="u"), Filters(agent_id="b"), Filters(tags=["Plan"]), Filters(task_id="a")):
        assert not other.accepts(item)
    assert not Filters(task_id="t").accepts(make_item())


def test_a_memory_type_is_asked_if_it_is_named_or_none_is() -> None:
    assert Filters().includes("anything")
    assert Filters(include=["semantic"]).includes("semantic")
    assert not Filters(include=["semantic"]).includes("episodic")
