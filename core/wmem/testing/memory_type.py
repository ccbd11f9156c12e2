"""Suite of memory types: what one promises, whoever wrote it, in both modes."""

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import pytest

import wmem
from wmem import Filters, ItemDraft
from wmem.model.item import ItemFields
from wmem.testing.calls import Call
from wmem.testing.suite import FacetSuite
from wmem.types import MemoryTypes

__all__ = ["MakeDraft", "MemoryTypeSuite"]

MakeDraft: TypeAlias = Callable[..., ItemDraft]
"""Makes a draft of a text and of further fields."""

TEXTS = (
    "The kiln reaches 980 degrees before noon.",
    "Biscuit the dog sleeps under the oak table.",
    "Invoices are paid on the third of each month.",
)
QUERIES = ("kiln degrees", "dog Biscuit", "invoices paid")
"""For each of the texts, words of it that no other has."""
_MOST_TO_FILL = 256  # a type with a larger limit is not filled
_ITEM_TYPES = ("fact", "skill", "summary", "observation", "action", "thought", "plan", "user_message", "metric", "new")


class MemoryTypeSuite(FacetSuite):
    """What an agent relies on; a subclass overrides `memory_type`, and `fields` if not every item is accepted.

    Every test runs sync and async; `memory_type` gives a `MemoryType` or an `AsyncMemoryType` by `mode`.
    """

    @pytest.fixture
    def url(self) -> str:
        """URL of the memory that the type is registered in; a type of wmem's own lies in it."""
        return "memory://"

    @pytest.fixture
    def memory_type(self) -> wmem.MemoryType:
        """A new type, that holds nothing."""
        return pytest.fail("a suite needs a memory type: override the fixture `memory_type`", pytrace=False)

    @pytest.fixture
    def types(self, memory: wmem.AgentMemory) -> MemoryTypes:
        """The registry that the type is in, or is registered in."""
        return memory.types

    @pytest.fixture
    def fields(self) -> ItemFields:
        """What items must have for the type to hold them; by default nothing."""
        return {}

    @pytest.fixture
    def draft(self, fields: ItemFields) -> MakeDraft:
        """Makes drafts of items that the type holds."""

        def make(text: str, **more: Any) -> ItemDraft:
            return ItemDraft(text, fields=cast("ItemFields", {**fields, **more}))

        return make

    @pytest.fixture
    def ids(self, memory_type: wmem.MemoryType, draft: MakeDraft, call: Call) -> list[str]:
        """The ids of three items that are memorized one after another, `TEXTS`."""
        return [call(memory_type.memorize, draft(text)).item.id for text in TEXTS]

    # -- what it is

    def test_a_type_has_a_name_and_fulfils_the_protocol(self, memory_type: wmem.MemoryType, mode: str) -> None:
        assert memory_type.name.strip()
        assert isinstance(memory_type, wmem.MemoryType if mode == "sync" else wmem.AsyncMemoryType)

    def test_what_it_accepts_is_told_without_waiting_for_items_of_any_type(self, memory_type: wmem.MemoryType) -> None:
        for item_type in _ITEM_TYPES:
            assert memory_type.accepts(ItemDraft("x", fields={"type": item_type})) in (True, False)

    # -- memorize

    def test_an_empty_type_remembers_nothing(self, memory_type: wmem.MemoryType, call: Call) -> None:
        assert list(call(memory_type.remember, QUERIES[0])) == []
        assert list(call(memory_type.remember, "")) == []
        assert call(memory_type.capacity)[:2] == (0, 0)
        assert call(memory_type.summarize)[:2] == ("", 0)

    def test_a_reply_has_the_item_as_it_was_drafted(
        self, memory_type: wmem.MemoryType, draft: MakeDraft, call: Call
    ) -> None:
        reply = call(memory_type.memorize, draft(TEXTS[0], tags=["pottery"], task_id="t", metadata={"oven": 2}))
        assert reply.item.content == TEXTS[0]
        assert (reply.item.tags, reply.item.task_id) == (("pottery",), "t")
        assert reply.item.metadata["oven"] == 2
        assert reply.item.id.strip()

    def test_replies_count_what_is_held(self, memory_type: wmem.MemoryType, draft: MakeDraft, call: Call) -> None:
        for count, text in enumerate(TEXTS, 1):
            reply = call(memory_type.memorize, draft(text))
            assert reply.items == count
            assert reply.position == count - 1
            assert reply.evicted == ()
            assert call(memory_type.capacity)[:2] == (reply.items, reply.tokens)

    def test_items_memorized_at_once_are_all_held_each_under_an_id_of_its_own(
        self, memory_type: wmem.MemoryType, draft: MakeDraft, call: Call
    ) -> None:
        def memorizing(number: int) -> Callable[[], Any]:
            return lambda: memory_type.memorize(draft(f"parcel number {number}"))

        ids = {reply.item.id for reply in call.run_concurrently([memorizing(number) for number in range(6)])}
        assert {each.item.id for each in call(memory_type.remember, "parcel")} == ids
        assert len(ids) == 6

    @pytest.mark.parametrize(
        "text",
        ["one\ntwo\r\n\ttabs", "naïve café 你好 🙂‍↕️", "\u202eright to left", "'; DROP TABLE memory; --", "x" * 3_000],
    )
    def test_a_text_comes_back_as_it_was(
        self, memory_type: wmem.MemoryType, draft: MakeDraft, call: Call, text: str
    ) -> None:
        call(memory_type.memorize, draft(text))
        assert [each.item.content for each in call(memory_type.remember, "")] == [text]

    # -- remember

    def test_what_has_the_words_of_a_query_comes_first(
        self, memory_type: wmem.MemoryType, ids: Sequence[str], call: Call
    ) -> None:
        for query, id, text in zip(QUERIES, ids, TEXTS, strict=True):
            best = call(memory_type.remember, query)[0]
            assert (best.item.id, best.item.content) == (id, text)

    def test_the_best_come_first_and_scores_are_numbers(
        self, memory_type: wmem.MemoryType, ids: Sequence[str], call: Call
    ) -> None:
        replies = call(memory_type.remember, " ".join(QUERIES))
        scores = [each.score for each in replies]
        assert {each.item.id for each in replies} == set(ids)
        assert scores == sorted(scores, reverse=True)
        assert all(map(math.isfinite, scores))

    @pytest.mark.parametrize("blank", ["", " \n"])
    def test_a_blank_query_asks_for_the_newest_first(
        self, memory_type: wmem.MemoryType, ids: Sequence[str], call: Call, blank: str
    ) -> None:
        assert [each.item.id for each in call(memory_type.remember, blank)] == list(reversed(ids))

    def test_no_more_come_than_are_asked_for(
        self, memory_type: wmem.MemoryType, ids: Sequence[str], call: Call
    ) -> None:
        for limit in range(len(ids) + 2):
            assert len(call(memory_type.remember, "", limit=limit)) == min(limit, len(ids))
            assert len(call(memory_type.remember, " ".join(QUERIES), limit=limit)) == min(limit, len(ids))

    @pytest.mark.parametrize("query", ["", "parcel"])
    def test_what_does_not_pass_the_filters_is_not_remembered(
        self, memory_type: wmem.MemoryType, draft: MakeDraft, call: Call, query: str
    ) -> None:
        wanted: list[dict[str, Any]] = [{"tags": ["a", "b"]}, {"task_id": "t"}, {"agent_id": "me"}]
        ids = [call(memory_type.memorize, draft(f"parcel {at}", **fields)).item.id for at, fields in enumerate(wanted)]
        for filters, id in zip((Filters(tags=["b"]), Filters(task_id="t"), Filters(agent_id="me")), ids, strict=True):
            assert [each.item.id for each in call(memory_type.remember, query, filters=filters)] == [id]
            assert [each.item.id for each in call(memory_type.remember, query, filters=filters, limit=1)] == [id]
        assert list(call(memory_type.remember, query, filters=Filters(task_id="t", tags=["a"]))) == []

    def test_remembering_changes_nothing(self, memory_type: wmem.MemoryType, ids: Sequence[str], call: Call) -> None:
        before = call(memory_type.capacity)
        assert len(ids) == len(TEXTS)
        first = [(each.item.id, each.score) for each in call(memory_type.remember, QUERIES[0])]
        assert [(each.item.id, each.score) for each in call(memory_type.remember, QUERIES[0])] == first
        assert call(memory_type.capacity) == before

    # -- forget

    def test_what_is_forgotten_is_not_remembered_and_no_longer_counted(
        self, memory_type: wmem.MemoryType, ids: Sequence[str], call: Call
    ) -> None:
        reply = call(memory_type.forget, [ids[0], "no such id", ids[2]])
        assert reply.ids == (ids[0], ids[2])
        assert call(memory_type.capacity)[:2] == (reply.items, reply.tokens)
        assert reply.items == 1
        assert [each.item.id for each in call(memory_type.remember, "")] == [ids[1]]
        for query, id in zip(QUERIES, ids, strict=True):
            assert id == ids[1] or id not in {each.item.id for each in call(memory_type.remember, query)}

    def test_forgetting_again_or_nothing_forgets_nothing(
        self, memory_type: wmem.MemoryType, ids: Sequence[str], call: Call
    ) -> None:
        call(memory_type.forget, [ids[0]])
        for again in ([ids[0]], [], ["no such id"]):
            assert call(memory_type.forget, again)[:2] == ((), len(ids) - 1)

    # -- summarize and capacity

    @pytest.mark.parametrize("limit", [1, 8, 16, 200])
    def test_a_summary_keeps_its_limit_and_names_items_that_are_there(
        self, memory_type: wmem.MemoryType, ids: Sequence[str], memory: wmem.AgentMemory, call: Call, limit: int
    ) -> None:
        summary = call(memory_type.summarize, limit)
        assert summary.tokens <= limit
        assert memory.counter(summary.text) <= limit
        assert set(summary.sources) <= set(ids)
        assert bool(summary.text) >= (limit == 200)

    def test_a_summary_has_nothing_of_what_was_forgotten(
        self, memory_type: wmem.MemoryType, ids: Sequence[str], call: Call
    ) -> None:
        call(memory_type.forget, [ids[1]])
        summary = call(memory_type.summarize, 200)
        assert "Biscuit" not in summary.text
        assert ids[1] not in summary.sources

    def test_a_limit_is_kept_and_says_what_is_free(
        self, memory_type: wmem.MemoryType, draft: MakeDraft, call: Call
    ) -> None:
        first = call(memory_type.capacity)
        if first.max_items is None or first.max_items > _MOST_TO_FILL:
            assert (first.free_items is None) is (first.max_items is None)
            return
        evicted: list[str] = []
        ids = []
        for number in range(first.max_items + 2):
            reply = call(memory_type.memorize, draft(f"parcel number {number}"))
            ids.append(reply.item.id)
            evicted += [item.id for item in reply.evicted]
            full = call(memory_type.capacity)
            assert reply.items == full.items <= first.max_items
            assert full.free_items == first.max_items - full.items
        remembered = {each.item.id for each in call(memory_type.remember, "", limit=len(ids))}
        assert remembered == set(ids) - set(evicted)
        assert ids[-1] in remembered

    # -- registered

    def test_it_is_found_by_its_name_once_it_is_registered(
        self, memory_type: wmem.MemoryType, types: MemoryTypes, call: Call, draft: MakeDraft
    ) -> None:
        if memory_type.name not in types:
            types.register(memory_type)
        id = call(types[memory_type.name].memorize, draft(TEXTS[1])).item.id
        assert call(memory_type.remember, QUERIES[1])[0].item.id == id
        with pytest.raises(wmem.InvalidInputError, match="already"):
            types.register(memory_type)
