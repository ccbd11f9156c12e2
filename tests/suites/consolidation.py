"""Suite of the jobs that keep semantic memory small and true: merges, marks, retention, eviction, purge, and undo."""

from typing import Any

import pytest

import wmem
from wmem.testing.suite import Call, Clock, FacetSuite, MemoryOpener

__all__ = [
    "EvictLongTermSuite",
    "MarkSupersededSuite",
    "MergeDuplicatesSuite",
    "PurgeSuite",
    "RetentionSuite",
    "UsersLongTermSuite",
]

DAY = 86_400.0
MARCH_1_2024 = 1_709_251_200.0
MERGE, SUPERSEDE = "merge-duplicates", "mark-superseded"
RETENTION, EVICT, PURGE = "apply-retention", "evict-long-term", "purge"
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

    @pytest.mark.parametrize("named", [0, 1])
    def test_an_agent_that_no_item_names_is_the_memorys_own(
        self, named: int, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        own = memory.scope("s1").path[0]  # what a turn memorizes names its agent, what is promoted by hand names none
        for number in range(2):
            fields = {"agent_id": own} if number == named else {}
            self.promote(memory, call, f"s{number}", TEA, **fields)
            clock.advance(10)
        assert call(memory.maintain, [MERGE]).jobs[MERGE].changed == 1
        (kept,) = call(memory.semantic.items.all)
        assert kept.agent_id == own
        assert len(kept.agent_fingerprint or "") == 16

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


class MarkSupersededSuite(FacetSuite):
    """Job ``mark-superseded``, and what recall makes of the time until which an item holds."""

    BERLIN, LISBON = "I live in Berlin, near the river.", "I moved to Lisbon."

    @pytest.fixture
    def memory(self, open_memory: MemoryOpener) -> wmem.AgentMemory:
        return open_memory()

    def promote(self, memory: wmem.AgentMemory, call: Call, clock: Clock, name: str, text: str, **fields: Any) -> Any:
        """The copy in long-term memory of an item of a session; a day passes."""
        scope = memory.scope(name)
        item = call(scope.items.add, text, **{"type": "fact", "ttl_s": None, **fields})
        clock.advance(DAY)
        return call(scope.items.promote, item.id)

    def talk(self, memory: wmem.AgentMemory, call: Call, clock: Clock) -> tuple[Any, Any]:
        """An item, and one that says otherwise, among others."""
        old = self.promote(memory, call, clock, "s1", self.BERLIN)
        new = self.promote(memory, call, clock, "s2", self.LISBON)
        for number in range(20):
            call(memory.semantic.items.add, f"The picture with the number {number} shows a tree.", type="fact")
        return old, new

    def recalled(self, memory: wmem.AgentMemory, call: Call, query: str) -> list[str]:
        hits = call(memory.scope("s9").recall, query, limit=50)
        return [hit.id for hit in hits if "picture" not in hit.text]

    def test_the_older_holds_until_the_newer_was_said_and_names_it(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        old, new = self.talk(memory, call, clock)
        assert call(memory.maintain, [SUPERSEDE]).jobs[SUPERSEDE] == (1, {"superseded": 1}, "")
        older, newer = (call(memory.semantic.items.get, each.id) for each in (old, new))
        assert (older.valid_to, newer.valid_from) == (new.created_at, new.created_at)
        assert [(each.type, each.target_id) for each in older.relations] == [("superseded_by", new.id)]
        (decision,) = call(memory.semantic.queue.decisions)
        assert (decision.kind, decision.id, decision.into, decision.rule) == ("superseded", old.id, new.id, SUPERSEDE)
        assert call(memory.maintain, [SUPERSEDE]).jobs[SUPERSEDE].changed == 0

    def test_the_older_is_found_with_the_newer_alone(self, memory: wmem.AgentMemory, call: Call, clock: Clock) -> None:
        old, new = self.talk(memory, call, clock)
        call(memory.maintain)
        assert self.recalled(memory, call, "Where do I live?") == [new.id, old.id]
        assert self.recalled(memory, call, "Where did I live before?") == [old.id, new.id]
        note = call(memory.scope("s9").pack, "Where do I live?", budget=400).note
        assert f"{self.BERLIN} [changed later]" in note
        assert self.LISBON in note
        found = call(memory.semantic.items.search, "Where do I live near the river?")
        assert [item.id for item in found if "picture" not in item.content] == [new.id, old.id]
        assert contents(call(memory.semantic.items.search, "Berlin")) == []
        assert contents(call(memory.semantic.items.search, "Berlin", include_invalid=True)) == [self.BERLIN]
        remembered = call(memory.types["semantic"].remember, "", limit=50)
        assert old.id not in [each.item.id for each in remembered]

    def test_an_older_one_that_was_forgotten_and_came_back_is_marked_still(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        old, new = self.talk(memory, call, clock)
        call(memory.maintain)
        call(memory.semantic.items.forget, old.id)
        assert call(memory.maintain).jobs[SUPERSEDE].changed == 0
        clock.advance(DAY)
        call(memory.semantic.items.undelete, old.id)
        assert call(memory.maintain).jobs[SUPERSEDE].changed == 0
        assert call(memory.semantic.items.get, old.id).valid_to == new.created_at

    @pytest.mark.parametrize("act", ["erase", "forget"])
    def test_the_older_holds_again_once_the_newer_is_gone(
        self, act: str, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        old, new = self.talk(memory, call, clock)
        call(memory.maintain)
        call(memory.semantic.erase if act == "erase" else memory.semantic.items.forget, new.id)
        for _ in range(2):
            assert self.recalled(memory, call, "Where do I live near the river?") == [old.id]
            assert contents(call(memory.semantic.items.search, "Berlin")) == [self.BERLIN]
            call(memory.maintain)
        item = call(memory.semantic.items.get, old.id)
        assert (item.valid_to, item.relations) == (None, ())

    def test_a_newer_one_that_says_something_else_now_takes_its_mark_along(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        old, new = self.talk(memory, call, clock)
        call(memory.maintain)
        call(memory.semantic.items.update, new.id, content="My sister moved to Lisbon.")
        assert call(memory.maintain).jobs[SUPERSEDE].detail == {"unmarked": 1}
        assert call(memory.semantic.items.get, old.id).valid_to is None

    def test_what_changed_back_holds_and_is_no_duplicate_of_what_held_before(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        old, new = self.talk(memory, call, clock)
        call(memory.maintain)
        back = self.promote(memory, call, clock, "s3", "I moved back to Berlin.")
        call(memory.maintain)
        by_id = {each: call(memory.semantic.items.get, each) for each in (old.id, new.id, back.id)}
        assert [item.valid_to for item in by_id.values()] == [new.created_at, back.created_at, None]

    @pytest.mark.parametrize("every", [1, 2, 4])
    def test_each_of_several_holds_until_the_next_was_said_however_often_maintenance_runs(
        self, every: int, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        items = []
        for number, city in enumerate(("Berlin", "Lisbon", "Oslo", "Rome"), 1):
            items.append(self.promote(memory, call, clock, f"s{number}", f"I moved to {city}."))
            if number % every == 0:
                call(memory.maintain, [SUPERSEDE])
        held = [call(memory.semantic.items.get, each.id) for each in items]
        begins = [item.created_at for item in items[1:]]
        assert [item.valid_to for item in held] == [*begins, None]
        assert [item.valid_from for item in held[1:]] == begins
        assert self.recalled(memory, call, "Where do I live?")[0] == items[-1].id
        assert call(memory.maintain, [SUPERSEDE]).jobs[SUPERSEDE].changed == 0

    @pytest.mark.parametrize(
        ("older", "newer"),
        [
            ("Odo's vet is kelmo.", "Odo's vet is now brando."),
            ("Mieszkam w Łodzi.", "Mieszkam teraz w Toruniu."),
            ("小丽最喜欢的花是玫瑰。", "小丽最喜欢的花是百合。"),
            ('{"name": "venue", "value": "Hall A"}', '{"name": "venue", "value": "Hall B"}'),
        ],
    )
    def test_one_value_takes_the_place_of_another_in_any_language(
        self, older: str, newer: str, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        old, new = (self.promote(memory, call, clock, name, text) for name, text in (("s1", older), ("s2", newer)))
        assert call(memory.maintain).jobs[SUPERSEDE].detail == {"superseded": 1}
        assert call(memory.semantic.items.get, old.id).valid_to == new.created_at
        context = call(memory.scope("s9").pack, older, budget=400)
        assert newer in context.note
        assert f"{older} [changed later]" in context.note
        assert "update=" in str(context.explain())
        call(memory.semantic.items.forget, new.id)
        call(memory.maintain)
        assert call(memory.semantic.items.get, old.id).valid_to is None

    @pytest.mark.parametrize(("target", "marked"), [("order-1", 1), ("order-2", 0)])
    def test_what_is_related_to_something_else_supersedes_nothing(
        self, target: str, marked: int, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        for name, text, of in (
            ("s1", "The price is 40 euros.", "order-1"),
            ("s2", "The price is now 50 euros.", target),
        ):
            self.promote(memory, call, clock, name, text, relations=[{"type": "of", "target_id": of}])
        assert call(memory.maintain).jobs[SUPERSEDE].changed == marked

    @pytest.mark.parametrize("fields", [{"task_id": "other"}, {"agent_id": "other"}])
    def test_what_is_of_another_task_or_agent_supersedes_nothing(
        self, fields: dict[str, Any], memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        self.promote(memory, call, clock, "s1", self.BERLIN)
        self.promote(memory, call, clock, "s2", self.LISBON, **fields)
        assert call(memory.maintain).jobs[SUPERSEDE].changed == 0

    @pytest.mark.parametrize("named", [0, 1])
    def test_an_agent_that_no_item_names_is_the_memorys_own(
        self, named: int, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        own = {"agent_id": memory.scope("s1").path[0]}
        old = self.promote(memory, call, clock, "s1", self.BERLIN, **(own if named == 0 else {}))
        new = self.promote(memory, call, clock, "s2", self.LISBON, **(own if named == 1 else {}))
        assert call(memory.maintain).jobs[SUPERSEDE].changed == 1
        assert call(memory.semantic.items.get, old.id).valid_to == new.created_at

    def test_what_a_caller_said_of_its_time_stays(self, memory: wmem.AgentMemory, call: Call, clock: Clock) -> None:
        until = clock() + 9 * DAY
        old = self.promote(memory, call, clock, "s1", self.BERLIN, valid_to=until)
        self.promote(memory, call, clock, "s2", self.LISBON)
        call(memory.maintain)
        assert call(memory.semantic.items.get, old.id).valid_to == until

    # -- ranges that callers give

    def test_what_does_not_hold_now_is_in_no_verb_unless_it_is_asked_for(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        now = clock()
        session = memory.scope("s")
        fields: dict[str, dict[str, Any]] = {
            "over": {"valid_to": now},
            "ahead": {"valid_from": now + 1},
            "current": {"valid_from": now},
        }
        ids = {
            name: call(session.items.add, f"The office code is {name}.", type="fact", ttl_s=None, **told).id
            for name, told in fields.items()
        }
        query = "What is the office code?"
        assert [hit.id for hit in call(session.recall, query)] == [ids["current"]]
        assert [item.id for item in call(session.items.search, query)] == [ids["current"]]
        assert [item.id for item in call(session.items.search)] == [ids["current"]]
        assert [item.id for item in call(session.items.search, "office")] == [ids["current"]]
        assert [item.id for item in call(session.queue.remember, query)] == [ids["current"]]
        working = memory.types.session("s")["working"]
        assert [each.item.id for each in call(working.remember, query)] == [ids["current"]]
        context = call(session.pack, query, budget=500)
        assert "current" in context.note
        assert "over" not in context.note.replace("</recalled>", "")
        left_out = {unit.ids: unit.rule for unit in context.explain().units if unit.rule == "validity"}
        assert left_out.keys() == {(ids["over"],), (ids["ahead"],)}
        with_turn = str(call(memory.turn("s").assemble_context, query, 500).text)
        assert "The office code is over." not in with_turn
        assert "The office code is current." in with_turn
        everything = call(session.items.search, query, include_invalid=True)
        assert {item.id for item in everything} == {*ids.values()}
        assert "not valid then" in call(session.items.search, query).explain()

    def test_a_question_about_the_past_or_a_day_finds_what_held_then(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        session = memory.scope("s")
        begin, end = MARCH_1_2024, MARCH_1_2024 + 31 * DAY
        item = call(
            session.items.add, "The office code is 4711.", type="fact", ttl_s=None, valid_from=begin, valid_to=end
        )
        for query in ("What was the office code?", "What is the office code for 5 March 2024?"):
            assert [hit.id for hit in call(session.recall, query)] == [item.id], query
            assert [each.id for each in call(session.items.search, query)] == [item.id], query
        for query in ("What is the office code?", "What is the office code for 5 April 2024?"):
            assert call(session.recall, query) == [], query

    def test_a_range_that_ends_before_it_begins_is_refused(self, session: wmem.Scope, call: Call) -> None:
        with pytest.raises(wmem.InvalidInputError, match="valid_to"):
            call(session.items.add, "x", valid_from=5.0, valid_to=5.0)
        item = call(session.items.add, "x", valid_from=5.0)
        with pytest.raises(wmem.InvalidInputError, match="valid_to"):
            call(session.items.update, item.id, valid_to=4.0)


class RetentionSuite(FacetSuite):
    """Retention ids: at write, at promotion, and in the job ``apply-retention``."""

    OWN = (wmem.Retention("Week", keep_s=7 * DAY), wmem.Retention("desk", promotes=False))

    @pytest.fixture
    def memory(self, open_memory: MemoryOpener) -> wmem.AgentMemory:
        return open_memory(retention=self.OWN)

    def test_an_unknown_retention_is_refused_at_write_and_the_known_ones_are_told(
        self, memory: wmem.AgentMemory, session: wmem.Scope, call: Call
    ) -> None:
        item = call(session.items.add, "x", retention="Permanent")
        assert item.retention == "permanent"
        for act in (
            lambda: call(session.items.add, "x", retention="for ever"),
            lambda: call(session.items.update, item.id, retention="for ever"),
            lambda: call(memory.memorize, wmem.ItemDraft("x", fields={"retention": "for ever"})),
        ):
            with pytest.raises(wmem.InvalidInputError, match="session, episodic, permanent, week, desk"):
                act()

    def test_what_is_kept_in_its_session_is_never_promoted(
        self, memory: wmem.AgentMemory, session: wmem.Scope, call: Call
    ) -> None:
        for retention in ("session", "desk"):
            item = call(session.items.add, "x", retention=retention, priority="critical", importance=1.0)
            assert call(session.items.fetch, item.id).promoted_to is None
            with pytest.raises(wmem.InvalidInputError, match=retention):
                call(session.items.promote, item.id)
            draft = wmem.ItemDraft("A fact.", fields={"type": "fact", "retention": retention})
            assert [*call(memory.memorize, draft).stored] == ["working"]
            with pytest.raises(wmem.InvalidInputError, match=retention):
                call(memory.memorize, draft, store="semantic")
        assert call(memory.semantic.items.all) == []

    def test_what_is_permanent_never_expires_and_is_not_evicted(self, open_memory: MemoryOpener, call: Call) -> None:
        session = open_memory().scope("b", policy=wmem.Policy.buffer(max_items=2))
        item = call(session.items.add, "keep", retention="permanent", ttl_s=5)
        for number in range(5):
            call(session.items.add, str(number))
        assert call(session.items.get, item.id).expires_at is None
        later = call(session.items.add, "z", ttl_s=5)
        assert call(session.items.update, later.id, retention="permanent").expires_at is None

    def test_a_registered_one_keeps_an_item_for_its_time_and_no_longer(
        self, memory: wmem.AgentMemory, session: wmem.Scope, call: Call, clock: Clock
    ) -> None:
        item = call(session.items.add, TEA, type="fact", retention="week")
        assert item.expires_at == clock() + 7 * DAY
        clock.advance(DAY)
        copy = call(session.items.promote, item.id)
        assert copy.expires_at == item.expires_at
        clock.advance(6 * DAY - 1)
        assert call(memory.maintain).jobs[RETENTION].changed == 0
        assert contents(call(memory.semantic.items.all)) == [TEA]
        clock.advance(1)
        assert call(memory.semantic.items.all) == []
        assert call(memory.maintain).jobs[RETENTION] == (1, {"expired": 1}, "")
        (decision,) = call(memory.semantic.queue.decisions)
        assert (decision.kind, decision.id, decision.rule) == ("expired", copy.id, RETENTION)
        back = call(memory.semantic.items.undelete, copy.id)
        assert back.expires_at is None
        for _ in range(2):
            call(memory.maintain)
            assert contents(call(memory.semantic.items.all)) == [TEA]

    def test_where_it_is_not_registered_an_item_is_kept_and_a_line_says_so(
        self, open_memory: MemoryOpener, call: Call, clock: Clock, caplog: pytest.LogCaptureFixture
    ) -> None:
        memory = open_memory(retention=self.OWN)
        session = memory.scope("s")
        call(session.items.promote, call(session.items.add, TEA, type="fact", retention="week").id)
        clock.advance(8 * DAY)
        other = open_memory.in_other_process()
        assert call(other.maintain).jobs[RETENTION].changed == 0
        assert call(other.maintain).jobs[RETENTION].changed == 0
        assert [record.levelname for record in caplog.records if "retention" in record.message] == ["WARNING"]
        assert call(memory.maintain).jobs[RETENTION].changed == 1

    @pytest.mark.parametrize("bad", ["week", 7, [3], [wmem.Retention("a"), wmem.Retention("A")]])
    def test_what_is_no_retention_is_refused(self, bad: Any, open_memory: MemoryOpener) -> None:
        with pytest.raises(wmem.InvalidInputError, match="retention"):
            open_memory(retention=bad)

    @pytest.mark.parametrize("fields", [{"id": " "}, {"id": "a", "keep_s": 0}, {"id": "a", "thins": 1}])
    def test_a_retention_checks_what_it_is_made_of(self, fields: Any) -> None:
        with pytest.raises(wmem.InvalidInputError):
            wmem.Retention(**fields)


class EvictLongTermSuite(FacetSuite):
    """Job ``evict-long-term``, and eviction when a put exceeds the bounds."""

    def open_small(self, open_memory: MemoryOpener, **bounds: Any) -> wmem.AgentMemory:
        settings = wmem.SemanticSettings(**{"max_items": 20, "keep_items": 4, **bounds})
        return open_memory(memory_types=[settings])

    def fill(self, memory: wmem.AgentMemory, call: Call, clock: Clock, count: int, **fields: Any) -> list[str]:
        ids = []
        for number in range(count):
            clock.advance(60)
            text = f"The machine {number} stands in the hall {clock() % 1e6:.0f}."
            ids.append(call(memory.semantic.items.add, text, type="fact", ttl_s=None, **fields).id)
        return ids

    def test_what_exceeds_the_bound_leaves_the_least_useful_first_and_comes_back(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = self.open_small(open_memory)
        dull = self.fill(memory, call, clock, 8, importance=0.1)
        self.fill(memory, call, clock, 17, importance=0.8)
        done = call(memory.maintain, [EVICT]).jobs[EVICT]
        assert done == (6, {"evicted": 6}, "")  # to 95 %: 19
        left = {item.id for item in call(memory.semantic.items.all)}
        assert [id for id in dull if id not in left] == dull[:6]
        (decision, *_) = call(memory.semantic.queue.decisions)
        assert (decision.kind, decision.rule, sorted(decision.parts)) == ("evicted", EVICT, ["age_s", "utility"])
        call(memory.semantic.items.undelete, dull[0])
        self.fill(memory, call, clock, 5, importance=0.8)
        call(memory.maintain, [EVICT])
        assert dull[0] in {item.id for item in call(memory.semantic.items.all)}

    @pytest.mark.parametrize("bounds", [{"max_items": 20}, {"max_tokens": 240}])
    def test_a_small_bound_bounds_by_itself(
        self, open_memory: MemoryOpener, call: Call, clock: Clock, bounds: dict[str, int]
    ) -> None:
        memory = open_memory(memory_types=[wmem.SemanticSettings(**bounds)])
        old = self.fill(memory, call, clock, 10, importance=0.9)
        new = self.fill(memory, call, clock, 50, importance=0.1)
        assert call(memory.maintain, [EVICT]).jobs[EVICT].detail.get("target_missed") is None
        left = [item.id for item in call(memory.semantic.items.all)]
        assert len(left) <= 20
        # The newest stay, and room is left for what is useful.
        assert set(new[-5:]) <= set(left)
        assert len(set(old) & set(left)) > 5

    def test_how_full_a_memory_is_tells_its_bounds(self, open_memory: MemoryOpener, call: Call) -> None:
        semantic = wmem.SemanticSettings(max_items=20, max_tokens=500)
        memory = open_memory(memory_types=[semantic, wmem.EpisodicSettings(max_items=30, max_log_tokens=None)])
        item = call(memory.semantic.items.add, "The machine stands in the hall.", type="fact")
        full = call(memory.types["semantic"].capacity)
        assert full[:6] == (1, item.tokens, 20, 500, 19, 500 - (item.tokens or 0))
        assert call(memory.types["episodic"].capacity)[:6] == (0, 0, 30, None, 30, None)

    def test_b36_an_unreachable_target_is_reported_and_nothing_is_wiped(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = self.open_small(open_memory, max_items=5, keep_items=4)
        pinned = self.fill(memory, call, clock, 5, pinned=True)
        permanent = self.fill(memory, call, clock, 5, retention="permanent")
        plain = self.fill(memory, call, clock, 6)
        done = call(memory.maintain, [EVICT]).jobs[EVICT]
        assert done == (2, {"evicted": 2, "target_missed": 1}, "")
        assert [item.id for item in call(memory.semantic.items.all)] == [*pinned, *permanent, *plain[2:]]
        before = call(memory.semantic.view).cursor
        assert call(memory.maintain, [EVICT]).jobs[EVICT] == (0, {"target_missed": 1}, "")
        assert call(memory.semantic.view).cursor == before

    def test_what_others_point_to_stays_and_a_newer_value_leaves_no_older_behind(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = self.open_small(open_memory, max_items=10)
        target, *_, holder = self.fill(memory, call, clock, 3, importance=0.0)
        call(memory.semantic.items.relate, holder, "references", target)
        call(memory.semantic.items.update, holder, pinned=True)
        old = call(memory.semantic.items.add, "My budget is 500 euros.", type="fact", importance=0.9).id
        clock.advance(1)
        new = call(memory.semantic.items.add, "My budget is 700 euros now.", type="fact", importance=0.0).id
        self.fill(memory, call, clock, 20, importance=0.8)
        call(memory.maintain)
        left = {item.id for item in call(memory.semantic.items.all)}
        assert {target, holder} <= left
        assert not (old in left and new not in left)

    def test_tokens_are_a_bound_too_and_what_is_long_and_dull_goes_first(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = self.open_small(open_memory, max_items=None, max_tokens=400, keep_items=0)
        long = call(memory.semantic.items.add, "word " * 300, type="fact", importance=0.5).id
        short = self.fill(memory, call, clock, 15, importance=0.5)
        call(memory.maintain, [EVICT])
        assert [item.id for item in call(memory.semantic.items.all)] == short
        assert [item.id for item in call(memory.semantic.items.forgotten)] == [long]

    def test_a_put_beyond_the_bound_evicts_and_says_what(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = self.open_small(open_memory)
        ids = self.fill(memory, call, clock, 20)
        draft = wmem.ItemDraft("The gate opens at nine.", fields={"type": "fact"})
        routed = call(memory.memorize, draft)
        assert [item.id for item in routed.evicted] == ids[:2]
        assert len(call(memory.semantic.items.all)) == 19
        assert call(memory.memorize, wmem.ItemDraft("The gate closes at ten.", fields={"type": "fact"})).evicted == ()

    def test_the_trace_of_a_turn_tells_what_was_evicted_for_it(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = self.open_small(open_memory)
        ids = self.fill(memory, call, clock, 20)
        turn = memory.turn("s", id="t1")
        call(turn.memorize, wmem.ItemDraft("The gate opens at nine.", fields={"type": "fact"}))
        call(turn.commit)
        told = [each for each in call(memory.trace, "t1").events if type(each).__name__ == "EvictionTraced"]
        assert [(each.id, each.rule) for each in told] == [(id, EVICT) for id in ids[:2]]

    def test_bounds_are_checked(self) -> None:
        for bad in ({"max_items": 0}, {"max_tokens": -1}, {"keep_items": -1}, {"undo_s": 0}):
            with pytest.raises(wmem.InvalidInputError):
                wmem.SemanticSettings(**bad)


class UsersLongTermSuite(FacetSuite):
    """What jobs did to the long-term memory of a user whom a policy names is undone where that memory lies."""

    def test_what_was_merged_in_a_users_memory_comes_back_by_its_own_name(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory()
        ada = memory.scope("users", "ada")
        for name in ("s1", "s2"):
            session = memory.scope(name, policy=wmem.Policy.session(long_term=[("users", "ada")]))
            call(session.items.promote, call(session.items.add, TEA, type="fact").id)
        assert ada.semantic.path == ("agent", "users", "ada", "~semantic")
        assert len(call(ada.semantic.items.all)) == 2
        call(memory.maintain, ["merge-duplicates"])
        [gone] = call(ada.semantic.items.forgotten)
        assert call(ada.semantic.items.undelete, gone.id).content == TEA
        assert len(call(ada.semantic.items.all)) == 2
        assert call(memory.semantic.items.all) == call(ada.episodic.items.all) == []
        assert ada.episodic.path == ("agent", "users", "ada", "~episodic")

    def test_a_long_term_memory_has_none_below_it_and_none_is_given_where_it_may_not_be_used(
        self, open_memory: MemoryOpener
    ) -> None:
        with pytest.raises(wmem.InvalidInputError, match="part of a long-term memory"):
            _ = open_memory().semantic.episodic
        with pytest.raises(wmem.FeatureNotEnabledError):
            _ = open_memory(features=wmem.Features.core(), agent_id="core").scope("users", "ada").semantic


class PurgeSuite(FacetSuite):
    """Job ``purge``."""

    SECRET = "The word of the day is xylophonist."

    @pytest.fixture
    def memory(self, open_memory: MemoryOpener) -> wmem.AgentMemory:
        return open_memory(memory_types=[wmem.SemanticSettings(max_items=1, keep_items=1, undo_s=30 * DAY)])

    def promote(self, memory: wmem.AgentMemory, call: Call, clock: Clock, name: str, text: str, **fields: Any) -> Any:
        scope = memory.scope(name)
        item = call(scope.items.add, text, **{"type": "fact", "ttl_s": None, **fields})
        clock.advance(1)
        return item, call(scope.items.promote, item.id)

    def test_what_was_taken_away_is_purged_after_its_time_and_not_before(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        source, copy = self.promote(memory, call, clock, "s1", self.SECRET)
        self.promote(memory, call, clock, "s2", TEA)
        call(memory.maintain)
        assert [item.id for item in call(memory.semantic.items.forgotten)] == [copy.id]
        clock.advance(30 * DAY - 1)
        assert call(memory.maintain).jobs[PURGE].changed == 0
        clock.advance(1)
        assert call(memory.maintain).jobs[PURGE] == (1, {"purged": 1}, "")
        assert call(memory.semantic.items.forgotten) == []
        assert call(memory.semantic.items.get, copy.id) is None
        with pytest.raises(wmem.NotFoundError):
            call(memory.semantic.items.undelete, copy.id)
        assert call(memory.maintain).jobs[PURGE].changed == 0
        # Promoting its source again finds that it was here, and makes no second copy.
        call(memory.scope("s1").items.promote, source.id)
        assert len(call(memory.semantic.items.all)) == 1
        assert "xylophonist" not in str(call(memory.semantic.export))
        # An erasure takes what is left of it.
        assert copy.id in call(memory.scope("s1").erase, source.id).ids

    def test_what_comes_soon_after_a_purge_waits_for_the_next_one_or_until_it_is_asked_for(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        for number, text in enumerate((self.SECRET, TEA, "The inn has nine rooms.")):
            self.promote(memory, call, clock, f"s{number}", text)
            call(memory.maintain)
            clock.advance(DAY)
        clock.advance(28 * DAY)
        changed = []
        for jobs in (None, None, [PURGE], [PURGE]):
            changed.append(call(memory.maintain, jobs).jobs[PURGE].changed)
            clock.advance(DAY)
        assert changed == [1, 0, 1, 0]

    def test_its_bytes_leave_the_store(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock, store_bytes: Any, backend: str
    ) -> None:
        source, _ = self.promote(memory, call, clock, "s1", self.SECRET)
        self.promote(memory, call, clock, "s2", TEA)
        call(memory.maintain)
        call(memory.scope("s1").items.remove, source.id)
        call(memory.scope("s1").clear)
        assert "key" in backend or b"xylophonist" in store_bytes()
        clock.advance(31 * DAY)
        call(memory.maintain)
        assert b"xylophonist" not in store_bytes()

    def test_what_a_caller_forgot_or_an_item_points_to_stays(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        _, gone = self.promote(memory, call, clock, "s1", self.SECRET)
        _, mine = self.promote(memory, call, clock, "s2", "The other day was long.")
        _, holder = self.promote(memory, call, clock, "s3", TEA)
        call(memory.semantic.items.forget, mine.id)
        call(memory.maintain)
        call(memory.semantic.items.relate, holder.id, "references", gone.id)
        clock.advance(90 * DAY)
        for _ in range(2):
            assert call(memory.maintain).jobs[PURGE].changed == 0
        assert {item.id for item in call(memory.semantic.items.forgotten)} == {gone.id, mine.id}

    def test_of_what_was_merged_the_survivor_alone_remembers_the_origin(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory()
        source, old = self.promote(memory, call, clock, "s1", TEA)
        _, new = self.promote(memory, call, clock, "s2", TEA)
        call(memory.maintain)
        clock.advance(31 * DAY)
        assert call(memory.maintain).jobs[PURGE].changed == 1
        assert call(memory.scope("s1").items.promote, source.id).id == new.id
        call(memory.scope("s1").erase, source.id)
        (kept,) = call(memory.semantic.items.all)
        assert (kept.id, [each for each in kept.origins if each.merged_id]) == (new.id, [])
        assert old.id not in kept.lineage_ids
