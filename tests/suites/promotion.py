"""Suite of promotion: which items qualify for long-term memory, and that each is copied there once."""

from typing import Any

import pytest

import wmem
from wmem import AlreadyPromotedError, ExpiredError, InvalidInputError, NotFoundError, Policy, Scope
from wmem.testing.suite import NOON, Call, Clock, FacetSuite, MemoryOpener

__all__ = ["PromotionSuite"]

HOUR = 3_600
ACCESSES: dict[Any, int] = {"low": 10, "medium": 15, "high": 20}
STAMP = "20251128-000000"
"""`NOON` in UTC, as written in a promoted id."""


class PromotionSuite(FacetSuite):
    """The four rules at their thresholds; promotion by a fetch, explicitly and in bulk; and its results."""

    # -- the rules

    @pytest.mark.parametrize("priority", ACCESSES)
    def test_an_item_is_promoted_by_the_fetch_that_reaches_the_accesses_of_its_priority(
        self, memory: wmem.AgentMemory, session: Scope, call: Call, priority: Any
    ) -> None:
        item = call(session.items.add, "x", priority=priority, importance=0.5)
        for _ in range(ACCESSES[priority] - 2):
            assert call(session.items.fetch, item.id).promoted_to is None
        assert call(session.items.pending) == []
        fetched = call(session.items.fetch, item.id)
        assert fetched.access_count == ACCESSES[priority]
        assert fetched.promoted_to == f"memory_promoted_{item.id}_{STAMP}"
        (kept,) = call(memory.episodic.items.all)
        assert kept.metadata["promotion_rule"] == "accesses"

    def test_a_critical_item_is_pending_from_birth_and_promoted_at_its_first_fetch(
        self, session: Scope, call: Call
    ) -> None:
        item = call(session.items.add, "x", priority="critical")
        assert (item.access_count, item.promoted_to) == (1, None)
        assert [each.id for each in call(session.items.pending)] == [item.id]
        assert call(session.items.fetch, item.id).promoted_to is not None
        assert call(session.items.pending) == []

    def test_an_importance_of_eight_tenths_promotes_and_less_does_not(self, session: Scope, call: Call) -> None:
        below = call(session.items.add, "x", importance=0.7999)
        at = call(session.items.add, "y", importance=0.8)
        assert [each.id for each in call(session.items.pending)] == [at.id]
        assert call(session.items.fetch, below.id).promoted_to is None
        assert call(session.items.fetch, at.id).promoted_to is not None

    def test_six_hours_and_five_accesses_promote_and_neither_alone_does(
        self, session: Scope, call: Call, clock: Clock
    ) -> None:
        used = call(session.items.add, "x", priority="high", importance=0.1)
        idle = call(session.items.add, "y", priority="high", importance=0.1)
        for _ in range(4):
            call(session.items.fetch, used.id)
        clock.advance(6 * HOUR)
        assert call(session.items.pending) == []
        clock.advance(0.001)
        assert [each.id for each in call(session.items.pending)] == [used.id]
        assert call(session.items.fetch, idle.id).promoted_to is None
        for _ in range(2):
            call(session.items.fetch, idle.id)
        assert call(session.items.fetch, idle.id).promoted_to is not None

    def test_a_policy_may_switch_promotion_by_fetching_off_or_name_other_numbers(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory()
        quiet = memory.scope("quiet", policy=Policy.session(auto_promote=False))
        item = call(quiet.items.add, "x", priority="critical")
        assert call(quiet.items.fetch, item.id).promoted_to is None
        assert len(call(quiet.items.pending)) == 1
        numbers = {"low": 2, "medium": 3, "high": 3, "critical": 3}
        eager = memory.scope("eager", policy=Policy.session(promote_accesses=numbers))
        item = call(eager.items.add, "x", priority="low", importance=0.1)
        assert call(eager.items.fetch, item.id).promoted_to is not None

    # -- the item in long-term memory

    def test_what_is_promoted_keeps_its_tags_metadata_relations_and_use_and_says_where_it_came_from(
        self, memory: wmem.AgentMemory, session: Scope, call: Call, clock: Clock
    ) -> None:
        item = call(
            session.items.add,
            "prefers tea",
            priority="high",
            tags=["taste", "Tea"],
            metadata={"page": 3, "promoted_from_working": "a lie"},
            confidence=0.75,
            participants=["ada"],
        )
        call(session.items.relate, item.id, "references", "skill_1", {"context": "code"})
        clock.advance(60)
        call(session.items.fetch, item.id)
        kept = call(session.items.promote, item.id)
        assert kept.id == f"memory_promoted_{item.id}_20251128-000100"
        assert (kept.content, kept.tags, kept.confidence) == ("prefers tea", ("taste", "Tea"), 0.75)
        assert (kept.participants, kept.priority, kept.created_at) == (("ada",), "high", NOON)
        assert [(each.type, each.target_id, each.metadata) for each in kept.relations] == [
            ("references", "skill_1", {"context": "code"})
        ]
        assert kept.metadata == {
            "page": 3,
            "promoted_from_working": "true",
            "working_memory_id": item.id,
            "working_memory_session": "session",
            "promotion_reason": "manual",
            "access_count_at_promotion": "2",
            "importance_at_promotion": f"{call(session.items.get, item.id).importance:.2f}",
        }
        assert (kept.expires_at, kept.access_count, kept.promoted_to) == (None, 2, None)
        assert call(memory.episodic.items.get, kept.id) == kept

    def test_what_a_rule_promotes_says_that_it_was_one(
        self, memory: wmem.AgentMemory, session: Scope, call: Call
    ) -> None:
        item = call(session.items.add, "x", priority="critical")
        call(session.items.fetch, item.id)
        (kept,) = call(memory.episodic.items.all)
        assert (kept.metadata["promotion_reason"], kept.metadata["access_count_at_promotion"]) == ("auto", "2")

    def test_knowledge_becomes_semantic_and_experience_episodic(
        self, memory: wmem.AgentMemory, session: Scope, call: Call
    ) -> None:
        fields: list[dict[str, Any]] = [
            {"type": "fact"},
            {"type": "skill"},
            {"type": "pattern"},
            {"type": "summary"},
            {"kind": "preference"},
            {"kind": "insight"},
            {"kind": "correction"},
        ]
        for each in fields:
            call(session.items.promote, call(session.items.add, "known", **each).id)
        for kind in ("observation", "action", "metric"):
            call(session.items.promote, call(session.items.add, "lived", type=kind).id)
        assert [item.content for item in call(memory.semantic.items.all)] == ["known"] * 7
        assert [item.content for item in call(memory.episodic.items.all)] == ["lived"] * 3

    def test_what_long_term_memory_has_stays_when_the_session_is_cleared_expires_or_is_disposed(
        self, memory: wmem.AgentMemory, session: Scope, call: Call, clock: Clock
    ) -> None:
        kept = call(session.items.promote, call(session.items.add, "x", ttl_s=10).id)
        clock.advance(10)
        assert call(memory.maintain).expired == 1
        assert call(memory.episodic.items.get, kept.id) is not None
        other = call(session.items.promote, call(session.items.add, "y").id)
        assert call(session.clear) == 1
        third = call(session.items.promote, call(session.items.add, "z").id)
        call(session.dispose)
        clock.advance(1e9)
        call(memory.maintain)
        assert [item.id for item in call(memory.episodic.items.all)] == [kept.id, other.id, third.id]

    def test_another_agents_long_term_memory_has_nothing_of_it(self, open_memory: MemoryOpener, call: Call) -> None:
        scope = open_memory("one").scope("s")
        call(scope.items.promote, call(scope.items.add, "x").id)
        other = open_memory("two")
        assert call(other.episodic.items.all) == call(other.semantic.items.all) == []

    # -- the item left in the session

    def test_a_promoted_item_is_hidden_from_lists_and_searches_unless_asked_for(
        self, session: Scope, call: Call
    ) -> None:
        item = call(session.items.add, "a green dog")
        other = call(session.items.add, "a blue dog")
        kept = call(session.items.promote, item.id)
        assert [each.id for each in call(session.items.all)] == [other.id]
        assert [each.id for each in call(session.items.recent)] == [other.id]
        assert [each.id for each in call(session.items.search, "dog")] == [other.id]
        assert call(session.items.count) == 1
        assert [each.id for each in call(session.items.all, include_promoted=True)] == [item.id, other.id]
        assert {each.id for each in call(session.items.search, "dog", include_promoted=True)} == {item.id, other.id}
        (told,) = call(session.items.promoted)
        assert (told.id, told.promoted_to, told.promoted_at) == (item.id, kept.id, NOON)

    def test_a_promoted_item_is_seen_by_get_and_fetch_and_by_a_pack_once(self, session: Scope, call: Call) -> None:
        item = call(session.items.add, "the dog is called Biscuit")
        call(session.items.promote, item.id)
        assert call(session.items.get, item.id).content == "the dog is called Biscuit"
        assert call(session.items.fetch, item.id).access_count == 2
        context = call(session.pack, "dog", budget=500)
        assert (context.note or "").count("Biscuit") == 1

    def test_a_promoted_item_is_listed_until_it_expires(self, session: Scope, call: Call, clock: Clock) -> None:
        item = call(session.items.add, "x", ttl_s=10)
        call(session.items.promote, item.id)
        clock.advance(9.999)
        assert len(call(session.items.promoted)) == 1
        clock.advance(0.001)
        assert call(session.items.promoted) == []
        with pytest.raises(ExpiredError):
            call(session.items.promote, item.id)

    def test_more_time_or_another_text_does_not_undo_a_promotion(self, session: Scope, call: Call) -> None:
        item = call(session.items.add, "x")
        kept = call(session.items.promote, item.id)
        assert call(session.items.extend_ttl, item.id).promoted_to == kept.id
        assert call(session.items.update, item.id, content="y").promoted_to == kept.id
        assert call(session.items.relate, item.id, "references", "z").promoted_to == kept.id
        assert call(session.items.all) == []

    def test_the_numbers_of_a_session_tell_what_is_promoted_and_what_is_pending(
        self, session: Scope, call: Call, clock: Clock
    ) -> None:
        call(session.items.add, "expires", priority="low", ttl_s=5)
        call(session.items.add, "pending", priority="critical")
        promoted = call(session.items.add, "promoted", priority="high")
        call(session.items.fetch, promoted.id)
        call(session.items.promote, promoted.id)
        clock.advance(5)
        stats = call(session.stats)
        assert (stats.total_count, stats.active_count, stats.expired_count) == (3, 2, 1)
        assert (stats.promoted_count, stats.pending_promotion) == (1, 1)
        assert stats.avg_access_count == pytest.approx(4 / 3)
        assert stats.by_priority == {"low": 1, "medium": 0, "high": 1, "critical": 1}
        listed = call(session.items.all, include_expired=True, include_promoted=True)
        assert stats.avg_importance == pytest.approx(sum(item.importance for item in listed) / 3)

    # -- once

    def test_promoting_twice_returns_the_one_that_is_there(
        self, memory: wmem.AgentMemory, session: Scope, call: Call, clock: Clock
    ) -> None:
        item = call(session.items.add, "x")
        first = call(session.items.promote, item.id)
        clock.advance(3)
        assert call(session.items.promote, item.id) == first
        assert len(call(memory.episodic.items.all)) == 1
        with pytest.raises(AlreadyPromotedError, match=first.id):
            call(session.items.promote, item.id, if_promoted="error")

    @pytest.mark.parametrize("end", ["remove", "clear", "forget"])
    @pytest.mark.parametrize("is_merged", [False, True])
    def test_b41_what_is_added_under_the_id_of_what_is_gone_is_another_item(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock, end: str, is_merged: bool
    ) -> None:
        session = memory.scope("s")
        call(session.items.add, "Biscuit is allergic to chicken.", id="x", type="fact")
        call(session.items.promote, "x")
        if is_merged:
            other = call(memory.scope("other").items.add, "Biscuit is allergic to chicken.", type="fact")
            call(memory.scope("other").items.promote, other.id)
            assert call(memory.maintain).jobs["merge-duplicates"].changed == 1
        if end == "clear":
            call(memory.clear)
        else:
            call(getattr(session.items, end), "x")
        clock.advance(3)
        call(session.items.add, "The tram leaves at nine.", id="x", type="fact")
        kept = call(session.items.promote, "x")
        assert kept.content == "The tram leaves at nine."
        assert call(session.items.promote, "x") == kept
        found = [item.content for item in call(memory.semantic.items.all)]
        assert found == ["Biscuit is allergic to chicken.", "The tram leaves at nine."]

    def test_promoting_at_once_from_several_sides_makes_one(self, open_memory: MemoryOpener, call: Call) -> None:
        here, there = open_memory(), open_memory.in_other_process()
        item = call(here.scope("s").items.add, "x")
        scopes = [here.scope("s"), there.scope("s")] * 3

        def promoting(scope: Scope) -> Any:
            return lambda: scope.items.promote(item.id)

        kept = call.run_concurrently([promoting(scope) for scope in scopes])
        assert len({each.id for each in kept}) == 1
        assert len(call(here.episodic.items.all)) == len(call(there.episodic.items.all)) == 1

    def test_fetches_at_once_from_several_sides_promote_once(self, open_memory: MemoryOpener, call: Call) -> None:
        here, there = open_memory(), open_memory.in_other_process()
        item = call(here.scope("s").items.add, "x", priority="critical")

        def fetching(scope: Scope) -> Any:
            return lambda: scope.items.fetch(item.id)

        fetched = call.run_concurrently([fetching(each.scope("s")) for each in (here, there) * 3])
        assert len({each.promoted_to for each in fetched}) == 1
        assert len(call(here.episodic.items.all)) == 1

    def test_an_item_that_was_merged_and_promoted_in_both_scopes_is_there_once(
        self, memory: wmem.AgentMemory, session: Scope, call: Call
    ) -> None:
        child = session.child("c")
        item = call(child.items.add, "x")
        call(child.merge_to_parent, items=True)
        first = call(child.items.promote, item.id)
        assert call(session.items.promote, item.id) == first
        assert len(call(memory.episodic.items.all)) == 1

    def test_what_is_in_long_term_memory_is_not_promoted_from_there(
        self, memory: wmem.AgentMemory, session: Scope, call: Call
    ) -> None:
        kept = call(session.items.promote, call(session.items.add, "x").id)
        assert call(memory.episodic.items.promote, kept.id).id == kept.id
        assert len(call(memory.episodic.items.all)) == 1
        with pytest.raises(AlreadyPromotedError):
            call(memory.episodic.items.promote, kept.id, if_promoted="error")

    # -- in bulk, and invalid calls

    def test_a_bulk_promotion_goes_on_after_failures_and_tells_each(
        self, memory: wmem.AgentMemory, session: Scope, call: Call, clock: Clock
    ) -> None:
        late = call(session.items.add, "late", ttl_s=1)
        clock.advance(1)
        one, two = (call(session.items.add, name) for name in ("one", "two"))
        strange: list[Any] = [one.id, "nothing", 5, None, late.id, "", {}, two.id, one.id]
        bulk = call(session.items.promote_many, strange)
        assert (bulk.success, bulk.failed) == (3, 6)
        assert [result.id for result in bulk.results] == strange
        assert [result.success for result in bulk.results] == [True, *[False] * 6, True, True]
        assert bulk.results[0].long_term_id == bulk.results[8].long_term_id == f"memory_promoted_{one.id}_{STAMP[:-1]}1"
        assert all(result.error for result in bulk.results if not result.success)
        assert "'nothing'" in (bulk.results[1].error or "")
        assert len(call(memory.episodic.items.all)) == 2
        assert call(session.items.promote_many, []) == (0, 0, ())

    def test_a_bulk_of_what_is_no_list_of_ids_is_refused(self, session: Scope, call: Call) -> None:
        bad: list[Any] = ["an id", None, 5, {"a": 1}, iter(["x"])]
        for ids in bad:
            with pytest.raises(InvalidInputError, match="ids must be a list"):
                call(session.items.promote_many, ids)

    def test_what_is_not_there_cannot_be_promoted(self, session: Scope, call: Call) -> None:
        call(session.messages.append, {"role": "user", "content": "hi", "id": "m"})
        call(session.entries.set, "k", 1)
        for wanted in ("nothing", "m", call(session.entries.entry, "k").id):
            with pytest.raises(NotFoundError):
                call(session.items.promote, wanted)
        bad: list[Any] = ["raise", None, True]
        item = call(session.items.add, "x")
        for answer in bad:
            with pytest.raises(InvalidInputError, match="if_promoted"):
                call(session.items.promote, item.id, if_promoted=answer)
