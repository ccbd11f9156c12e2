"""Suite of long-term memory in packs and recall: what was promoted is there, once, and nobody else's ever is."""

import pytest

import wmem
from wmem import Policy, Scope
from wmem.testing.suite import Call, Clock, FacetSuite, MemoryOpener

__all__ = ["LongTermSuite"]

WEEK = 7 * 24 * 3_600
DOG = "Biscuit, the dog of the family, is allergic to chicken"
WHAT = "What is the dog allergic to?"


def promote(call: Call, scope: Scope, text: str) -> wmem.MemoryItem:
    item = call(scope.items.add, text, type="fact")
    kept: wmem.MemoryItem = call(scope.items.promote, item.id)
    return kept


def count_in_prompt(context: wmem.Context, text: str) -> int:
    return sum(message.text.count(text) for message in context.prompt())


class LongTermSuite(FacetSuite):
    """Long-term memory in `pack` and `recall`."""

    def test_what_one_session_promoted_answers_another_a_week_later(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        kept = promote(call, open_memory("a").scope("monday"), DOG)
        clock.advance(WEEK)
        tuesday = open_memory.in_other_process("a").scope("tuesday")
        call(tuesday.messages.append, {"role": "user", "content": WHAT})
        context = call(tuesday.pack, WHAT, budget=600)
        assert count_in_prompt(context, DOG) == 1
        assert context.tokens <= 600
        (unit,) = [each for each in context.included if each.ids == (kept.id,)]
        assert (unit.scope, unit.rule, unit.placed) == ("a/~semantic", "recalled", "note")
        assert "(of a/~semantic)" in str(context.explain())
        assert context.sources["a/~semantic"] == unit.tokens
        assert sum(context.sources.values()) == context.tokens
        (hit,) = call(tuesday.recall, WHAT, kinds=["item"])
        assert (hit.id, hit.path) == (kept.id, ("a", "~semantic"))

    def test_without_long_term_neither_pack_nor_recall_sees_it(self, memory: wmem.AgentMemory, call: Call) -> None:
        promote(call, memory.scope("monday"), DOG)
        tuesday = memory.scope("tuesday")
        assert count_in_prompt(call(tuesday.pack, WHAT, budget=600, long_term=False), DOG) == 0
        assert call(tuesday.recall, WHAT, long_term=False) == []

    def test_a_promoted_item_and_its_copy_appear_once(self, memory: wmem.AgentMemory, call: Call) -> None:
        session = memory.scope("monday")
        item = call(session.items.add, DOG, type="fact")
        kept = call(session.items.promote, item.id)
        assert [hit.id for hit in call(session.recall, WHAT)] == [item.id]
        assert count_in_prompt(call(session.pack, WHAT, budget=600), DOG) == 1
        below = session.child("task")
        assert [hit.id for hit in call(below.recall, WHAT)] == [item.id]
        call(session.items.remove, item.id)
        assert [hit.id for hit in call(session.recall, WHAT)] == [kept.id]

    def test_parents_are_left_out_and_long_term_memory_is_not(self, memory: wmem.AgentMemory, call: Call) -> None:
        kept = promote(call, memory.scope("monday"), DOG)
        call(memory.working.items.add, "The dog is allergic to grass", type="fact")
        context = call(memory.scope("tuesday").pack, WHAT, budget=600, inherit=False)
        assert [each.ids for each in context.included] == [(kept.id,)]

    def test_what_was_erased_in_its_session_is_in_no_prompt(self, memory: wmem.AgentMemory, call: Call) -> None:
        monday = memory.scope("monday")
        item = call(monday.items.add, DOG, type="fact")
        call(monday.items.promote, item.id)
        assert call(memory.scope("tuesday").recall, WHAT)
        call(monday.erase, item.id)
        assert call(memory.scope("tuesday").recall, WHAT) == []

    def test_what_is_pinned_there_is_in_every_prompt_and_what_was_promoted_where_it_matters(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        monday, tuesday = memory.scope("monday"), memory.scope("tuesday")
        promoted = call(monday.items.add, "The boat is moored at pier nine", type="fact", pinned=True)
        call(monday.items.promote, promoted.id)
        mandate = call(memory.semantic.items.add, "Answer in metric units", type="fact", pinned=True)
        context = call(tuesday.pack, WHAT, budget=600)
        assert [each.ids for each in context.included] == [(mandate.id,)]
        assert count_in_prompt(call(tuesday.pack, "Where is the boat moored?", budget=600), "pier nine") == 1

    def test_few_long_term_items_do_not_open_the_gate_for_a_question_that_bears_on_nothing(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        call(memory.semantic.items.add, "The printer shop closes at noon", type="fact")
        session = memory.scope("s")
        talk = [{"role": "user", "content": f"Invoice {at} of the printer shop was paid"} for at in range(40)]
        call(session.messages.append, talk)
        context = call(session.pack, "Which opera did the printer of Verona stage?", budget=400, tail=0)
        assert not context.note


class SharedScopesSuite(FacetSuite):
    """Long-term memory of scopes that a policy names."""

    ANN = Policy.session(long_term=[("users", "ann")])
    BOB = Policy.session(long_term=[("users", "bob")])

    def test_a_users_facts_reach_all_of_his_sessions_and_no_other_users(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        kept = promote(call, memory.scope("ann-1", policy=self.ANN), DOG)
        call(memory.scope("users", "ann").items.add, "Ann's dog walks at nine", type="fact", ttl_s=None)
        clock.advance(WEEK)
        ann, bob = memory.scope("ann-2", policy=self.ANN), memory.scope("bob-1", policy=self.BOB)
        assert {hit.path for hit in call(ann.recall, "dog")} == {
            ("agent", "users", "ann"),
            ("agent", "users", "ann", "~semantic"),
        }
        assert count_in_prompt(call(ann.pack, WHAT, budget=600), DOG) == 1
        for other in (bob, memory.scope("nobody's")):
            assert call(other.recall, "dog") == []
            assert not call(other.pack, WHAT, budget=600).note
        assert call(memory.semantic.items.all) == []
        assert kept.id in [hit.id for hit in call(ann.recall, WHAT)]

    def test_scopes_below_a_session_share_its_long_term_memory(self, memory: wmem.AgentMemory, call: Call) -> None:
        session = memory.scope("ann-1", policy=self.ANN)
        call(session.items.add, "something", type="fact")
        task = memory.scope("ann-1", "task")
        kept = promote(call, task, DOG)
        assert [hit.id for hit in call(memory.scope("ann-2", policy=self.ANN).recall, WHAT)] == [kept.id]
        assert call(memory.scope("bob-1", policy=self.BOB).recall, WHAT) == []

    def test_what_a_sub_agent_of_a_user_promotes_is_not_what_all_share_by_the_policy_of_the_memory(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory(policy=Policy.session(long_term=["team"]))
        session = memory.scope("ann-1", policy=self.ANN)
        call(session.items.add, "something", type="fact")
        promote(call, session.child("task"), "Ann's dog is called Biscuit")
        promote(call, memory.scope("ann-1", "task", "inner"), "Ann's cat is called Minka")
        call(memory.turn("ann-1", "turn").memorize, {"content": "Ann's mouse is called Pip.", "type": "fact"})
        with call.enter(session.temporary("helper")) as helper:
            promote(call, helper, "Ann's rat is called Zip.")
        other = open_memory(policy=Policy.session(long_term=["team"]))
        assert call(other.scope("team-1").recall, "Ann") == []
        assert len(call(other.scope("ann-2", policy=self.ANN).recall, "Ann")) == 4
        shared = promote(call, other.scope("team-1"), "The team meets at nine.")
        assert [hit.id for hit in call(other.scope("team-2").recall, "When does the team meet?")] == [shared.id]

    def test_the_agents_long_term_memory_is_there_beside_a_users(self, memory: wmem.AgentMemory, call: Call) -> None:
        shared = call(memory.semantic.items.add, "Every dog is allergic to chocolate", type="fact")
        kept = promote(call, memory.scope("ann-1", policy=self.ANN), DOG)
        found = {hit.id for hit in call(memory.scope("ann-2", policy=self.ANN).recall, WHAT)}
        assert found == {shared.id, kept.id}

    def test_an_erasure_reaches_the_copy_in_long_term_memory(self, memory: wmem.AgentMemory, call: Call) -> None:
        session = memory.scope("ann-1", policy=self.ANN)
        call(session.items.add, "something", type="fact")
        task = memory.scope("ann-1", "task")
        item = call(task.items.add, DOG, type="fact")
        call(task.items.promote, item.id)
        erased = call(task.erase, item.id)
        assert len(erased.ids) == 2
        assert call(memory.scope("ann-2", policy=self.ANN).recall, WHAT) == []

    def test_a_disposed_user_takes_his_long_term_memory_along(self, memory: wmem.AgentMemory, call: Call) -> None:
        promote(call, memory.scope("ann-1", policy=self.ANN), DOG)
        user = memory.scope("users", "ann")
        call(user.items.add, "Ann", type="fact")
        call(user.dispose)
        assert call(memory.scope("ann-2", policy=self.ANN).recall, WHAT) == []

    def test_a_stored_policy_is_followed_by_whoever_opens_the_scope(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory("m")
        kept = promote(call, memory.scope("ann-1", policy=self.ANN), DOG)
        call(memory.scope("ann-2", policy=self.ANN).items.add, "something", type="fact")
        session = open_memory.in_other_process("m").scope("ann-2")
        assert [hit.id for hit in call(session.recall, WHAT)] == [kept.id]

    @pytest.mark.parametrize("named", ["ann", ["~semantic"], [()], [("users", " ")], 7, [7]])
    def test_names_that_are_none_are_refused(self, named: object) -> None:
        with pytest.raises(wmem.InvalidInputError, match="long_term"):
            Policy.session(long_term=named)
