"""Suite of the scenario of the memory system document, and of the usage patterns of the session tools document."""

import re

import wmem
from wmem import Filters, TurnBudget
from wmem.testing.suite import Call, Clock, FacetSuite, MemoryOpener
from wmem.types import MemorizeTraced, PackTraced, ToolCallTraced

__all__ = ["ScenarioSuite"]

HOUR = 3_600
QUESTION = "Which train do I take to Basel on Friday?"


class ScenarioSuite(FacetSuite):
    """What the documents tell step by step."""

    def test_the_example_scenario_step_by_step(self, open_memory: MemoryOpener, call: Call, clock: Clock) -> None:
        memory = open_memory(default_filters=Filters())
        call(memory.semantic.items.add, "The user takes no train before nine", type="fact", kind="preference")
        # 1. The turn begins with its budget.
        with call.enter(
            memory.turn("s", budget=TurnBudget(tokens=4_000, events=10, seconds=60), goals=["Get to Basel"])
        ) as turn:
            assert turn.budget_status().tokens_left == 4_000
            # 2. The user asks.
            call(turn.memorize, {"role": "user", "content": QUESTION})
            call(turn.memorize, {"content": "Look up trains, then answer", "type": "plan"})
            # 3. Each memory type is asked, within the budget.
            context = call(turn.assemble_context, QUESTION, 2_000)
            assert context.tokens <= 2_000
            assert {each.source: each.item.content for each in context.items} == {
                "semantic": "The user takes no train before nine",
                "working": "Look up trains, then answer",
            }
            assert context.sources["conversation"] > 0
            assert QUESTION in context.text
            # 4. to 6. A tool is called, and episodic memory has it.
            trains = {"trains": ["IC 61 at 9:04", "IC 63 at 10:04"]}
            tool = call(turn.track_tool_invocation, "find_trains", {"to": "Basel", "day": "Friday"}, trains)
            assert tool is not None
            assert [each.id for each in call(memory.episodic.items.all)] == [tool.id]
            again = call(turn.assemble_context, QUESTION, 2_000)
            assert "IC 61" in again.text
            # 7. to 9. The answer goes where messages go, what was learned where facts go.
            answer = call(turn.memorize, {"role": "assistant", "content": "Take the IC 61 at 9:04."})
            fact = call(turn.memorize, {"content": "The IC 61 leaves for Basel at 9:04", "type": "fact"})
            assert (list(answer.stored), list(fact.stored)) == (["conversation"], ["semantic"])
            call(turn.report_progress, "Get to Basel", 0.5, "the train is chosen")
            # 10. The turn ends.
            done = call(turn.commit)
        # 11. and 12. What it hands on.
        assert done.exports.episodic == (tool,)
        assert done.exports.semantic == (fact.item,)
        assert [(each.goal, each.delta) for each in done.exports.goals] == [("Get to Basel", 0.5)]
        assert done.stores == {"conversation": 2, "working": 2, "episodic": 1, "semantic": 1}
        assert (done.step, done.budget.events) == (1, 8)
        # 13. All of it is in the trace, in ids.
        events = call(memory.trace, turn.id).events
        assert [each.id for each in events if isinstance(each, MemorizeTraced)] == [
            each.item.id for each in done.writes
        ]
        assert [each.id for each in events if isinstance(each, ToolCallTraced)] == [tool.id]
        packs = [each for each in events if isinstance(each, PackTraced)]
        assert [(each.tokens, each.budget) for each in packs] == [(context.tokens, 2_000), (again.tokens, 2_000)]
        replayed = call(memory.replay, packs[0].receipt).context
        assert replayed is not None
        assert replayed.to_openai() == context.to_openai()
        # Another session, in another process, a week later: what was learned is there, where it is from is said.
        clock.advance(7 * 24 * HOUR)
        later = open_memory.in_other_process()
        context = call(later.turn("other").assemble_context, "When does the train to Basel leave?", 500)
        assert {each.item.content: each.source for each in context.items}[
            "The IC 61 leaves for Basel at 9:04"
        ] == "semantic"
        assert "agent/~semantic" in context.context.sources

    def test_pattern_1_a_conversation_is_remembered_while_it_lasts(self, memory: wmem.AgentMemory, call: Call) -> None:
        session = memory.scope("chat-123")
        item = call(session.items.add, "User prefers Python examples", priority="high", tags=["preference", "language"])
        found = call(session.items.get, item.id)
        assert found is not None
        assert (found.content, found.priority, found.tags) == (item.content, "high", ("preference", "language"))
        assert call(session.items.clear) == 1
        assert call(session.items.get, item.id) is None

    def test_pattern_2_important_information_is_promoted_by_hand(self, open_memory: MemoryOpener, call: Call) -> None:
        session = open_memory().scope("user-456")
        item = call(session.items.add, "The key of service X is in the vault", priority="critical", tags=["important"])
        promoted = call(session.items.promote, item.id)
        assert re.fullmatch(f"memory_promoted_{item.id}_[0-9]{{8}}-[0-9]{{6}}", promoted.id)
        later = open_memory.in_other_process()
        context = call(later.turn("another").assemble_context, "Where is the key of service X?", 500)
        assert [each.item.id for each in context.items] == [promoted.id]

    def test_pattern_3_what_expired_is_listed_and_what_is_worth_keeping_lives_on(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        session = memory.scope("session-789")
        keep = call(session.items.add, "the order number is 17", tags=["keep"])
        drop = call(session.items.add, "the user said hm")
        clock.advance(5 * HOUR)
        expired = call(session.items.expired)
        assert {each.id for each in expired} == {keep.id, drop.id}
        for each in expired:
            if "keep" in each.tags:
                call(session.items.extend_ttl, each.id)
        assert [each.id for each in call(session.items.all)] == [keep.id]
        call(memory.maintain)
        assert [each.id for each in call(session.items.all, include_expired=True)] == [keep.id]

    def test_pattern_4_what_is_pending_is_promoted_at_the_end_of_a_session(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        session = memory.scope("session-999")
        for number in range(3):
            call(session.items.add, f"the user needs part {number}", importance=0.9, type="fact")
        call(session.items.add, "the user said hm", importance=0.1)
        pending = call(session.items.pending)
        done = call(session.items.promote_many, [each.id for each in pending])
        assert (len(pending), done.success, done.failed) == (3, 3, 0)
        assert [each.content for each in call(memory.semantic.items.all)] == [each.content for each in pending]
        assert call(session.items.pending) == []
        context = call(memory.turn("next").assemble_context, "Which part does the user need?", 500)
        assert {each.item.content for each in context.items} == {each.content for each in pending}
