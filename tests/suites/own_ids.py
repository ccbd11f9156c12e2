"""Suite of items under ids of the caller's own: adding them is idempotent."""

import threading
from typing import Any

import pytest

import wmem
from wmem import InvalidInputError, NotFoundError, Scope
from wmem.testing.suite import NOON, Call, Clock, FacetSuite, MemoryOpener

__all__ = ["OwnIdsSuite"]


class OwnIdsSuite(FacetSuite):
    """``items.add(id=)``."""

    def test_the_same_content_under_an_id_is_the_same_item(
        self, session: Scope, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        added = call(session.items.add, "x", id="order-7", tags=["a"], priority="high")
        assert (added.id, added.created_at) == ("order-7", NOON)
        cursors = call(memory.changes).cursors
        clock.advance(60)
        assert call(session.items.add, "x", id="order-7", priority="low") == call(session.items.get, "order-7")
        assert call(session.items.get, "order-7").tags == ("a",)
        assert call(session.items.count) == 1
        assert call(memory.changes, cursors).events == ()

    def test_other_content_under_an_id_is_refused_and_changes_nothing(self, session: Scope, call: Call) -> None:
        added = call(session.items.add, "x", id="order-7")
        with pytest.raises(InvalidInputError, match=r"'order-7'.*items\.update"):
            call(session.items.add, "secret words", id="order-7")
        assert call(session.items.all) == [added]

    def test_an_id_of_something_else_is_refused(self, session: Scope, call: Call) -> None:
        message = call(session.messages.append, {"role": "user", "content": "x", "id": "m"})
        call(session.entries.set, "k", "x")
        for taken in (message.id, call(session.entries.entry, "k").id):
            with pytest.raises(InvalidInputError, match="entry or message"):
                call(session.items.add, "x", id=taken)
        assert call(session.messages.all) == [message]
        assert call(session.items.count) == 0

    @pytest.mark.parametrize("wrong", ["", " ", "a\x00", "a\u2028b", "x" * 1_025, 5, b"a", "memory_promoted_a_1"])
    def test_what_is_no_id_is_refused(self, session: Scope, call: Call, wrong: Any) -> None:
        with pytest.raises(InvalidInputError):
            call(session.items.add, "x", id=wrong)
        assert call(session.items.count) == 0

    def test_what_has_expired_or_was_forgotten_under_an_id_is_replaced(
        self, session: Scope, call: Call, clock: Clock
    ) -> None:
        call(session.items.add, "old", id="a", ttl_s=1)
        call(session.items.add, "old", id="b", ttl_s=None)
        call(session.items.add, "between", ttl_s=None)
        call(session.queue.forget, "position:1")
        clock.advance(2)
        for id in ("b", "a"):
            added = call(session.items.add, "new", id=id)
            assert (added.created_at, added.access_count) == (NOON + 2, 1)
        assert [each.content for each in call(session.items.all)] == ["between", "new", "new"]
        assert [each.id for each in call(session.items.all)][1:] == ["b", "a"]

    def test_an_id_that_was_erased_stays_erased(self, session: Scope, call: Call) -> None:
        call(session.items.add, "x", id="a")
        call(session.erase, "a")
        with pytest.raises(InvalidInputError, match="erased"):
            call(session.items.add, "x", id="a")
        assert call(session.items.get, "a") is None

    def test_an_id_means_another_item_in_each_scope(self, session: Scope, call: Call) -> None:
        child = session.child("c")
        call(session.items.add, "here", id="a")
        call(child.items.add, "there", id="a")
        assert [call(each.items.get, "a").content for each in (session, child)] == ["here", "there"]

    def test_an_item_under_an_id_is_updated_fetched_promoted_and_erased_as_any(
        self, session: Scope, memory: wmem.AgentMemory, call: Call
    ) -> None:
        call(session.items.add, "x", id="a", type="fact")
        call(session.items.update, "a", content="y")
        assert call(session.items.add, "y", id="a").content == "y"
        kept = call(session.items.promote, "a")
        assert call(session.items.add, "y", id="a").promoted_to == kept.id
        assert call(session.items.fetch, "a").access_count == 2
        assert set(call(session.erase, "a").ids) == {"a", kept.id}
        with pytest.raises(NotFoundError):
            call(memory.semantic.items.fetch, kept.id)

    def test_of_many_at_once_one_is_stored(self, open_memory: MemoryOpener, call: Call) -> None:
        scopes = [each.scope("s") for each in (open_memory(), open_memory.in_other_process())]

        def adding(number: int) -> Any:
            return lambda: scopes[number % 2].items.add("x", id=f"id-{number // 4}")

        added = call.run_concurrently([adding(number) for number in range(16)])
        stored = call(scopes[0].items.all)
        assert sorted(each.id for each in stored) == ["id-0", "id-1", "id-2", "id-3"]
        assert {each.id: each.created_at for each in added} == {each.id: each.created_at for each in stored}

    def test_of_several_contents_at_once_one_is_stored_and_the_others_are_told(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        scopes = [each.scope("s") for each in (open_memory(), open_memory.in_other_process())]
        refused: list[str] = []
        lock = threading.Lock()

        async def aadd(number: int) -> None:
            try:
                await scopes[number % 2].items.add(str(number), id="a")  # type: ignore[misc]  # the async face
            except InvalidInputError as exc:
                refused.append(str(exc))

        def add(number: int) -> Any:
            if call.mode == "async":
                return aadd(number)
            try:
                return scopes[number % 2].items.add(str(number), id="a")
            except InvalidInputError as exc:
                with lock:
                    refused.append(str(exc))

        call.run_concurrently([lambda number=number: add(number) for number in range(8)])  # type: ignore[misc]  # mypy's lambda
        assert (len(call(scopes[0].items.all)), len(refused)) == (1, 7)

    def test_a_full_scope_evicts_for_it_and_a_repetition_evicts_nothing(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        buffer = memory.scope("b", policy=wmem.Policy.buffer(max_items=2))
        for id in ("a", "b", "c", "c"):
            call(buffer.items.add, id, id=id)
        assert [each.id for each in call(buffer.items.all)] == ["b", "c"]
        assert len(call(buffer.queue.decisions)) == 1
