"""Suite of the jobs that keep semantic memory small and true: merges, marks, retention, eviction, purge, and undo."""

from typing import Any

import pytest

import wmem
from wmem.testing.suite import Call, Clock, FacetSuite, MemoryOpener

__all__ = ["MergeDuplicatesSuite"]

MERGE = "merge-duplicates"
TEA = "The user likes green tea."


def contents(items: Any) -> list[str]:
    return [item.content for item in items]


class MergeDuplicatesSuite(FacetSuite):
    """Job ``merge-duplicates``."""

    @pytest.fixture
    def memory(self, open_memory: MemoryOpener) -> wmem.AgentMemory:
        return open_memory()

    def promote(self, memory: wmem.AgentMemory, call: Call, name: str, text: str, **fields: Any) -> tuple[Any, Any]:
        """An item of a session, and its copy in long-term memory."""
        scope = memory.scope(name)
        item = call(scope.items.add, text, **{"type": "fact", "ttl_s": None, **fields})
        return item, call(scope.items.promote, item.id)

    def test_what_says_the_same_becomes_one_that_has_what_all_had(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        _, old = self.promote(memory, call, "s1", TEA, tags=["tea"], importance=0.9)
        clock.advance(10)
        _, new = self.promote(memory, call, "s2", "the user likes green tea", tags=["drinks"], importance=0.2)
        call(memory.semantic.items.fetch, old.id)
        done = call(memory.maintain, [MERGE])
        assert done.jobs[MERGE] == (1, {"merged": 1}, "")
        (kept,) = call(memory.semantic.items.all)
        assert (kept.id, kept.content, kept.created_at) == (new.id, new.content, new.created_at)
        assert (set(kept.tags), kept.importance, kept.version) == ({"tea", "drinks"}, 0.9, 2)
        assert kept.access_count == old.access_count + new.access_count + 1
        assert {old.lineage_ids[0], new.lineage_ids[0], old.id} <= {*kept.lineage_ids}
        assert min(each.created_at for each in kept.origins if each.created_at is not None) == old.created_at
        (gone,) = call(memory.semantic.items.forgotten)
        assert (gone.id, gone.removal.job, gone.removal.into) == (old.id, MERGE, new.id)
        (decision,) = call(memory.semantic.queue.decisions)
        assert (decision.kind, decision.id, decision.rule, decision.into) == ("merged", old.id, MERGE, new.id)

    @pytest.mark.parametrize(
        "other",
        [
            "The user likes black tea.",
            "The user does not like green tea.",
            "The user likes green tea?",
            "Anna likes green tea.",
            "The user likes 2 green teas.",
            "The user likes green tea on Mondays.",
        ],
    )
    def test_what_differs_in_a_word_that_matters_stays_both(
        self, other: str, memory: wmem.AgentMemory, call: Call
    ) -> None:
        for name, text in (("s1", TEA), ("s2", other)):
            self.promote(memory, call, name, text)
        assert call(memory.maintain, [MERGE]).jobs[MERGE] == (0, {}, "")
        assert len(call(memory.semantic.items.all)) == 2

    @pytest.mark.parametrize(
        "fields",
        [
            {"task_id": "t"},
            {"agent_id": "other"},
            {"source": "tool"},
            {"kind": "preference"},
            {"type": "skill"},
            {"metadata": {"url": "a"}},
            {"participants": ["Anna"]},
            {"valid_to": 9e9},
        ],
    )
    def test_what_is_told_of_another_stays_both(
        self, fields: dict[str, Any], memory: wmem.AgentMemory, call: Call
    ) -> None:
        self.promote(memory, call, "s1", TEA)
        self.promote(memory, call, "s2", TEA, **fields)
        assert call(memory.maintain, [MERGE]).jobs[MERGE].changed == 0

    def test_memories_of_two_users_are_never_merged(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        for user in ("anna", "ben"):
            session = memory.scope(user, policy=wmem.Policy.session(long_term=((user,),)))
            item = call(session.items.add, TEA, type="fact")
            call(session.items.promote, item.id)
            call(memory.scope(user).items.promote, call(memory.scope(user).items.add, TEA, type="fact").id)
        done = call(memory.maintain, [MERGE]).jobs[MERGE]
        assert done.changed == 2  # one of each user's two
        for user in ("anna", "ben"):
            memories = call(memory.types.session(user)["semantic"].remember, "tea")
            assert [each.item.content for each in memories] == [TEA]

    def test_what_was_pinned_is_merged_into_no_other(self, memory: wmem.AgentMemory, call: Call, clock: Clock) -> None:
        _, pinned = self.promote(memory, call, "s1", TEA, pinned=True)
        for name in ("s2", "s3"):
            clock.advance(1)
            self.promote(memory, call, name, TEA)
        assert call(memory.maintain, [MERGE]).jobs[MERGE].changed == 1
        assert pinned.id in [item.id for item in call(memory.semantic.items.all)]

    def test_an_undone_merge_stays_undone(self, memory: wmem.AgentMemory, call: Call, clock: Clock) -> None:
        _, old = self.promote(memory, call, "s1", TEA, tags=["a"])
        clock.advance(1)
        _, new = self.promote(memory, call, "s2", TEA, tags=["b"])
        call(memory.maintain)
        call(memory.semantic.items.undelete, old.id)
        for _ in range(2):
            call(memory.maintain)
            assert {item.id: item.tags for item in call(memory.semantic.items.all)} == {old.id: ("a",), new.id: ("b",)}
        assert all(not each.merged_id for each in call(memory.semantic.items.get, new.id).origins)

    def test_promoting_the_source_of_what_was_merged_makes_no_second_copy(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        source, _ = self.promote(memory, call, "s1", TEA)
        clock.advance(1)
        _, new = self.promote(memory, call, "s2", TEA)
        call(memory.maintain)
        assert call(memory.scope("s1").items.promote, source.id).id == new.id
        assert len(call(memory.semantic.items.all)) == 1

    def test_erasing_the_source_of_what_was_merged_leaves_the_survivor_what_is_its_own(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        source, old = self.promote(memory, call, "s1", TEA, tags=["a", "both"])
        clock.advance(1)
        _, new = self.promote(memory, call, "s2", TEA, tags=["b", "both"])
        call(memory.maintain)
        assert set(call(memory.scope("s1").erase, source.id).ids) == {source.id, old.id}
        (kept,) = call(memory.semantic.items.all)
        assert (kept.id, kept.tags) == (new.id, ("b", "both"))
        assert all(not each.merged_id for each in kept.origins)
        assert source.id not in kept.lineage_ids
        assert call(memory.semantic.items.forgotten) == []

    def test_erasing_the_source_of_the_survivor_brings_back_what_others_said(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        _, old = self.promote(memory, call, "s1", TEA)
        clock.advance(1)
        source, new = self.promote(memory, call, "s2", TEA)
        call(memory.maintain)
        assert set(call(memory.scope("s2").erase, source.id).ids) == {source.id, new.id}
        assert [item.id for item in call(memory.semantic.items.all)] == [old.id]

    def test_erasing_the_survivor_itself_erases_all_that_says_it(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        sources = []
        for name in ("s1", "s2", "s3"):
            source, new = self.promote(memory, call, name, TEA)
            sources.append(source.id)
            clock.advance(1)
            call(memory.maintain)
        call(memory.semantic.erase, new.id)
        assert call(memory.semantic.items.all) == call(memory.semantic.items.forgotten) == []
        for name, id in zip(("s1", "s2", "s3"), sources, strict=True):
            assert call(memory.scope(name).items.get, id) is None

    def test_a_session_does_not_see_the_merged_copy_of_its_own_item(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        source, _ = self.promote(memory, call, "s1", TEA)
        clock.advance(1)
        self.promote(memory, call, "s2", TEA)
        call(memory.maintain)
        assert [hit.id for hit in call(memory.scope("s1").recall, "Which tea does the user like?")] == [source.id]

    def test_two_processes_merge_once(self, open_memory: MemoryOpener, call: Call, clock: Clock) -> None:
        here, there = open_memory(), open_memory.in_other_process()
        for name in ("s1", "s2", "s3", "s4"):
            clock.advance(1)
            self.promote(here, call, name, TEA)
        done = call.run_concurrently([here.maintain, there.maintain, here.maintain])
        assert sum(each.jobs[MERGE].changed for each in done) == 3
        assert len(call(there.semantic.items.all)) == 1
        assert len(call(there.semantic.queue.decisions)) == 3

    def test_a_pass_looks_only_at_what_changed(self, open_memory: MemoryOpener, call: Call, clock: Clock) -> None:
        memory = open_memory()
        self.promote(memory, call, "s1", TEA)
        call(memory.maintain)
        before = call(memory.semantic.view).cursor
        call(memory.maintain)
        assert call(memory.semantic.view).cursor == before
        clock.advance(1)
        self.promote(memory, call, "s2", TEA)
        assert call(memory.maintain).jobs[MERGE].changed == 1
