"""Suite of identity: a scope and an id name a row, an id alone does not; only copies that were made belong together."""

from typing import Any

import pytest

import wmem
from wmem import Scope
from wmem.testing.suite import Call, Clock, FacetSuite, MemoryOpener

__all__ = ["IdentitySuite"]


class IdentitySuite(FacetSuite):
    """Promotion, merge and erasure of rows that share their ids with rows of other scopes."""

    @pytest.fixture
    def twins(self, memory: wmem.AgentMemory, call: Call) -> tuple[Scope, Scope, str]:
        """Two sessions that hold other content under one id, and the id."""
        first, second = memory.scope("a"), memory.scope("b")
        item = call(first.items.add, "the first one's")
        call(second.import_, call(first.export))
        call(second.items.update, item.id, content="the second one's")
        return first, second, item.id

    # -- promotion

    def test_each_session_promotes_its_own_item_of_an_id(
        self, memory: wmem.AgentMemory, call: Call, twins: tuple[Scope, Scope, str]
    ) -> None:
        first, second, id = twins
        kept = [call(scope.items.promote, id) for scope in (first, second, first, second)]
        assert [each.content for each in kept] == ["the first one's", "the second one's"] * 2
        stamp = f"memory_promoted_{id}_20251128-000000"
        assert [each.id for each in kept] == [stamp, f"{stamp}-2"] * 2
        assert len(call(memory.episodic.items.all)) == 2
        assert [call(scope.items.get, id).promoted_to for scope in (first, second)] == [stamp, f"{stamp}-2"]

    def test_promoting_one_id_of_two_sessions_at_once_makes_two(
        self, open_memory: MemoryOpener, call: Call, twins: tuple[Scope, Scope, str]
    ) -> None:
        _, _, id = twins
        memories = [open_memory(), open_memory.in_other_process()]
        scopes = [memory.scope(name) for memory in memories for name in ("a", "b")]

        def promoting(scope: Scope) -> Any:
            return lambda: scope.items.promote(id)

        kept = call.run_concurrently([promoting(scope) for scope in scopes])
        assert [each.content for each in kept] == ["the first one's", "the second one's"] * 2
        assert len(call(memories[0].episodic.items.all)) == 2

    def test_an_item_that_was_imported_as_promoted_elsewhere_gets_a_copy_of_its_own(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        first, second = memory.scope("a"), memory.scope("b")
        item = call(first.items.add, "x")
        kept = call(first.items.promote, item.id)
        call(second.import_, call(first.export))
        call(second.erase, item.id)
        assert [each.id for each in call(memory.episodic.items.all)] == [kept.id]
        call(second.import_, call(first.export))
        assert call(second.items.promote, item.id).id != kept.id
        assert call(first.items.promote, item.id).id == kept.id

    def test_a_session_that_began_anew_does_not_take_its_predecessors_copy_for_its_own(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        item = call(memory.scope("a").items.add, "of the first")
        document = call(memory.scope("a").export)
        kept = call(memory.scope("a").items.promote, item.id)
        call(memory.scope("a").dispose)
        again = memory.scope("a")
        call(again.import_, document)
        call(again.items.update, item.id, content="of the second")
        assert call(again.items.promote, item.id).content == "of the second"
        call(again.erase, item.id)
        assert [each.id for each in call(memory.episodic.items.all)] == [kept.id]

    def test_a_session_that_was_restored_as_promoted_still_owns_its_copy(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        item = call(memory.scope("a").items.add, "x")
        kept = call(memory.scope("a").items.promote, item.id)
        document = call(memory.scope("a").export)
        call(memory.scope("a").dispose)
        call(memory.scope("a").import_, document)
        assert call(memory.scope("a").items.promote, item.id).id == kept.id
        assert set(call(memory.scope("a").erase, item.id).ids) == {item.id, kept.id}
        assert call(memory.episodic.items.all) == []

    def test_what_another_session_erased_can_be_promoted_under_its_id(
        self, memory: wmem.AgentMemory, call: Call, twins: tuple[Scope, Scope, str]
    ) -> None:
        first, second, id = twins
        call(first.items.promote, id)
        call(first.erase, id)
        kept = call(second.items.promote, id)
        assert kept.id.endswith("-2"), "the erased copy's id stays a tombstone"
        assert [each.content for each in call(memory.episodic.items.all)] == ["the second one's"]

    def test_a_session_whose_name_holds_a_slash_is_not_the_one_below_another(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        slash, below = memory.scope("a/b"), memory.scope("a", "b")
        item = call(slash.items.add, "of the slash")
        call(below.import_, call(slash.export))
        kept = [call(scope.items.promote, item.id) for scope in (slash, below)]
        assert [each.metadata["working_memory_session"] for each in kept] == ["a%2Fb", "a/b"]
        call(memory.episodic.erase, kept[0].id)
        assert (call(slash.items.exists, item.id), call(below.items.exists, item.id)) == (False, True)

    # -- erasure

    @pytest.mark.parametrize("where", ["session", "long-term"])
    def test_an_erasure_follows_an_items_own_copies_and_no_others(
        self, memory: wmem.AgentMemory, call: Call, twins: tuple[Scope, Scope, str], where: str
    ) -> None:
        first, second, id = twins
        kept = [call(scope.items.promote, id) for scope in (first, second)]
        done = call(second.erase, id) if where == "session" else call(memory.episodic.erase, kept[1].id)
        assert set(done.ids) == {id, kept[1].id}
        assert call(second.items.exists, id) is False
        assert call(first.items.get, id).content == "the first one's"
        assert [each.id for each in call(memory.episodic.items.all)] == [kept[0].id]

    def test_a_copy_can_be_erased_by_its_own_id_from_where_it_was_made(
        self, memory: wmem.AgentMemory, call: Call, twins: tuple[Scope, Scope, str]
    ) -> None:
        first, second, id = twins
        kept = [call(scope.items.promote, id) for scope in (first, second)]
        assert call(first.erase, kept[1].id).ids == (kept[1].id,), "it is not there, and no copy of what was"
        assert len(call(memory.episodic.items.all)) == 2
        assert set(call(second.erase, kept[1].id).ids) == {id, kept[1].id}
        assert [each.id for each in call(memory.episodic.items.all)] == [kept[0].id]
        assert call(first.items.exists, id) is True

    def test_an_erasure_finds_the_copy_of_what_the_session_has_removed(
        self, memory: wmem.AgentMemory, call: Call, twins: tuple[Scope, Scope, str]
    ) -> None:
        first, second, id = twins
        kept = [call(scope.items.promote, id) for scope in (first, second)]
        call(second.items.remove, id)
        assert set(call(second.erase, id).ids) == {id, kept[1].id}
        assert [each.id for each in call(memory.episodic.items.all)] == [kept[0].id]

    def test_an_id_in_a_lineage_means_a_row_of_the_scope_it_was_written_in(
        self, memory: wmem.AgentMemory, call: Call, twins: tuple[Scope, Scope, str]
    ) -> None:
        first, second, id = twins
        made = call(first.items.add, "made from the first one's", lineage_ids=[id], type="summary")
        kept = call(first.items.promote, made.id)
        call(first.items.remove, made.id)
        call(memory.semantic.import_, {"format": "wmem-scope", "version": 1, "memories": [{"id": id, "content": "?"}]})
        call(second.erase, id)
        call(memory.semantic.erase, id)
        assert [each.id for each in call(memory.semantic.items.all)] == [kept.id]
        call(first.erase, id)
        assert call(memory.semantic.items.all) == []

    def test_an_imported_long_term_memory_leads_nowhere(self, memory: wmem.AgentMemory, call: Call) -> None:
        first, second = memory.scope("a"), memory.scope("b")
        item = call(first.items.add, "x")
        kept = call(first.items.promote, item.id)
        call(second.import_, call(memory.episodic.export))
        call(second.erase, kept.id)
        assert call(first.items.exists, item.id) is True
        assert [each.id for each in call(memory.episodic.items.all)] == [kept.id]

    def test_copies_of_another_agent_are_none_of_ours(self, open_memory: MemoryOpener, call: Call) -> None:
        one, two = open_memory("one"), open_memory("two")
        item = call(one.scope("s").items.add, "x")
        document = call(one.scope("s").export)
        kept = call(one.scope("s").items.promote, item.id)
        call(two.scope("s").import_, document)
        call(two.episodic.import_, call(one.episodic.export))
        assert call(two.scope("s").items.promote, item.id).id != kept.id
        call(two.scope("s").erase, item.id)
        assert call(two.episodic.items.exists, kept.id) is True
        assert call(one.episodic.items.exists, kept.id) is True

    def test_an_import_into_a_parent_makes_no_copy_of_its_child(self, session: Scope, call: Call) -> None:
        child = session.child("c")
        item = call(child.items.add, "x")
        call(session.import_, call(child.export))
        call(child.erase, item.id)
        assert call(session.items.exists, item.id) is True

    def test_a_hard_forget_of_a_copy_takes_its_source_too(self, session: Scope, call: Call) -> None:
        child = session.child("c")
        call(child.items.add, "x")
        call(child.merge_to_parent, items=True)
        call(session.queue.forget, "oldest", "hard")
        assert (call(session.items.count), call(child.items.count)) == (0, 0)

    # -- merges

    def test_items_of_one_id_from_two_children_both_stay(self, session: Scope, call: Call) -> None:
        left, right = session.child("left"), session.child("right")
        item = call(left.items.add, "left")
        call(right.import_, call(left.export))
        call(right.items.update, item.id, content="right")
        first = call(left.merge_to_parent, items=True)
        second = call(right.merge_to_parent, items=True)
        assert (first, first.renamed, first.overwritten) == (1, {}, ())
        assert (second, [*second.renamed]) == (1, [item.id])
        other = second.renamed[item.id]
        assert {each.id: each.content for each in call(session.items.all)} == {item.id: "left", other: "right"}
        call(right.items.update, item.id, content="right again")
        again = call(right.merge_to_parent, items=True)
        assert (again.renamed, again.overwritten) == ({item.id: other}, (other,))
        assert call(session.items.count) == 2
        assert call(session.items.get, other).content == "right again"
        call(right.erase, item.id)
        assert [each.content for each in call(session.items.all)] == ["left"]
        assert call(left.items.exists, item.id) is True

    @pytest.mark.parametrize("kind", ["item", "message", "entry"])
    def test_what_a_parent_has_under_a_childs_id_stays_beside_the_copy(
        self, session: Scope, call: Call, kind: str
    ) -> None:
        child = session.child("c")
        item = call(child.items.add, "the child's")
        others: dict[str, dict[str, Any]] = {
            "item": {"memories": [{"id": item.id, "content": "the parent's"}]},
            "message": {"messages": [{"id": item.id, "role": "user", "parts": [{"text": "the parent's"}]}]},
            "entry": {"entries": [{"id": item.id, "key": "k", "content": '"the parent\'s"'}]},
        }
        other = others[kind]
        call(session.import_, {"format": "wmem-scope", "version": 1, **other})
        before = call(session.export)
        merged = call(child.merge_to_parent, items=True)
        assert call(session.items.get, merged.renamed[item.id]).content == "the child's"
        done = call(session.erase, merged.renamed[item.id])
        assert set(done.ids) == {item.id, merged.renamed[item.id]}, "of the child's item, and of its copy"
        assert call(child.items.count) == 0
        after = call(session.export)
        assert [after[name] for name in other] == [before[name] for name in other]

    def test_a_merge_says_which_entries_it_overwrote(self, session: Scope, call: Call) -> None:
        child = session.child("c")
        for key, above, below in (("same", 1, 1), ("other", 1, 2)):
            call(session.entries.set, key, above)
            call(child.entries.set, key, below)
        call(child.entries.set, "new", 3)
        merged = call(child.merge_to_parent)
        assert (merged, merged.overwritten, merged.renamed) == (3, ("other",), {})

    def test_what_was_merged_under_another_id_is_promoted_once_from_wherever(
        self, memory: wmem.AgentMemory, session: Scope, call: Call
    ) -> None:
        child = session.child("c")
        item = call(session.items.add, "the parent's")
        call(child.import_, call(session.export))
        other = call(child.merge_to_parent, items=True).renamed[item.id]
        above = call(session.items.promote, other)
        assert call(child.items.promote, item.id).id == above.id
        assert call(session.items.promote, item.id).content == "the parent's"
        assert len(call(memory.episodic.items.all)) == 2
        call(child.erase, item.id)
        assert [each.id for each in call(session.items.all, include_promoted=True)] == [item.id]
        assert len(call(memory.episodic.items.all)) == 1

    def test_a_copy_outlives_the_scope_between_and_is_still_found(self, session: Scope, call: Call) -> None:
        lowest = session.child("c").child("d")
        item = call(lowest.items.add, "x")
        call(lowest.merge_to_parent, items=True)
        call(session.child("c").merge_to_parent, items=True)
        call(session.child("c").items.remove, item.id)
        call(lowest.erase, item.id)
        assert call(session.items.count) == 0

    def test_an_item_erased_while_it_was_merged_leaves_no_copy_and_takes_no_other(
        self, open_memory: MemoryOpener, session: Scope, call: Call
    ) -> None:
        there = open_memory.in_other_process().scope("session")
        items = []
        for number in range(4):
            child = session.child(f"c{number}")
            items.append(call(child.items.add, f"x{number}"))
            call(session.import_, call(child.export))

        def merging(number: int) -> Any:
            return lambda: session.child(f"c{number}").merge_to_parent(items=True)

        def erasing(number: int) -> Any:
            return lambda: there.child(f"c{number}").erase(items[number].id)

        call.run_concurrently([act(number) for number in range(4) for act in (merging, erasing)])
        assert [each.id for each in call(session.items.all)] == [item.id for item in items], "only the parent's own"

    # -- what a model sees

    def test_rows_of_one_id_in_a_scope_and_its_parent_are_recalled_and_packed_as_two(
        self, session: Scope, call: Call, clock: Clock
    ) -> None:
        child = session.child("c")
        item = call(session.items.add, "the parent's dog is called Biscuit")
        call(child.import_, call(session.export))
        call(child.items.update, item.id, content="the child's dog is called Waffle")
        clock.advance(1)
        hits = call(child.recall, "what is the dog called")
        assert sorted((hit.path[-1], hit.text.split()[-1]) for hit in hits) == [("c", "Waffle"), ("session", "Biscuit")]
        for pinned in (False, True):
            for scope in (session, child):
                call(scope.items.update, item.id, pinned=pinned)
            prompt = str(call(child.pack, "what is the dog called", budget=2_000).to_openai())
            assert (prompt.count("Waffle"), prompt.count("Biscuit")) == (1, 1)

    def test_a_copy_and_its_source_are_packed_once(self, session: Scope, call: Call) -> None:
        child = session.child("c")
        item = call(child.items.add, "the dog is called Waffle", pinned=True)
        call(session.import_, {"format": "wmem-scope", "version": 1, "memories": [{"id": item.id, "content": "?"}]})
        assert call(child.merge_to_parent, items=True).renamed
        prompt = str(call(child.pack, "what is the dog called", budget=2_000).to_openai())
        assert prompt.count("Waffle") == 1
