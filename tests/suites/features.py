"""Suite of tiers: what a memory that was opened with fewer features may use."""

from typing import Any

import pytest

import wmem
from wmem import FeatureNotEnabledError, Features, InvalidInputError
from wmem.testing.suite import Call, FacetSuite, MemoryOpener

__all__ = ["FeaturesSuite"]

FACT = "The launch code is heliotrope."
QUESTION = "What is the launch code?"


class FeaturesSuite(FacetSuite):
    """``wmem.open(features=)``."""

    @pytest.fixture
    def core(self, open_memory: MemoryOpener) -> wmem.AgentMemory:
        return open_memory(features=Features.core())

    def _keep_fact(self, open_memory: MemoryOpener, call: Call) -> None:
        """Promote a fact by a memory that may."""
        other = open_memory().scope("other")
        call(other.items.promote, call(other.items.add, FACT, type="fact").id)

    def test_core_has_all_of_working_memory(self, core: wmem.AgentMemory, call: Call) -> None:
        session = core.scope("s")
        call(session.entries.set, "k", 1)
        call(session.items.add, "an item")
        call(session.messages.append, {"role": "user", "content": "My dog is called Biscuit."})
        context = call(session.pack, "Which dog?", budget=500)
        assert "Biscuit" in str(context.to_openai())
        assert call(session.child("c").entries.get, "k") == 1
        assert call(core.stats).total_entries_working == 1

    def test_long_term_memory_is_refused_by_name_and_nothing_changes(self, core: wmem.AgentMemory, call: Call) -> None:
        session = core.scope("s")
        item = call(session.items.add, "x", type="fact")
        refused: list[Any] = [
            lambda: core.semantic,
            lambda: core.episodic,
            lambda: call(session.items.promote, item.id),
            lambda: call(session.items.promote_many, [item.id]),
            lambda: call(core.types["semantic"].remember, "x"),
            lambda: call(core.types["episodic"].memorize, "x"),
        ]
        for use in refused:
            with pytest.raises(FeatureNotEnabledError, match=r"Features\.long_term"):
                use()
        assert call(session.items.get, item.id).promoted_to is None
        assert call(core.stats).total_entries_long_term == 0

    def test_a_fetch_that_would_promote_returns_its_item_which_stays_pending(
        self, core: wmem.AgentMemory, call: Call
    ) -> None:
        session = core.scope("s")
        item = call(session.items.add, "x", priority="critical")
        for times in (2, 3):
            fetched = call(session.items.fetch, item.id)
            assert (fetched.id, fetched.access_count, fetched.promoted_to) == (item.id, times, None)
        assert [each.id for each in call(session.items.pending)] == [item.id]

    def test_packs_and_recall_go_without_long_term_memory(
        self, core: wmem.AgentMemory, open_memory: MemoryOpener, call: Call
    ) -> None:
        self._keep_fact(open_memory, call)
        for memory in (core, open_memory(features=Features.long_term()), open_memory()):
            session, is_there = memory.scope("s"), memory is not core
            assert ("heliotrope" in str(call(session.pack, QUESTION, budget=500).to_openai())) is is_there
            assert bool(call(session.recall, QUESTION)) is is_there
        call(core.scope("t").items.add, "a launch")
        assert len(call(core.scope("t").recall, QUESTION)) == 1

    def test_a_turn_keeps_in_working_memory_what_it_would_route_further(
        self, core: wmem.AgentMemory, open_memory: MemoryOpener, call: Call
    ) -> None:
        self._keep_fact(open_memory, call)
        turn = core.turn("s")
        with call.enter(turn):
            call(turn.memorize, "a fact", {"type": "fact"})
            call(turn.track_tool_invocation, "search", {"q": "x"}, "found", None)
            assembled = call(turn.assemble_context, QUESTION, 800)
        assert "heliotrope" not in assembled.text
        contents = [item.content for item in call(core.scope("s").items.all)]
        assert contents[0] == "a fact"
        assert len(contents) > 1
        assert call(open_memory().stats).total_entries_long_term == 1

    def test_a_summary_in_a_pack_needs_all_features(self, open_memory: MemoryOpener, call: Call) -> None:
        for features in (Features.core(), Features.long_term()):
            session = open_memory(features=features).scope("s")
            call(session.messages.append, {"role": "user", "content": "words. " * 50})
            with pytest.raises(FeatureNotEnabledError, match="summary"):
                call(session.pack, "x", budget=200, summary=True)
            call(session.pack, "x", budget=200, summary=False)
        call(open_memory(features=Features.all()).scope("s").pack, "x", budget=200, summary=True)

    def test_an_erasure_reaches_copies_in_long_term_memory_that_it_may_not_read(
        self, core: wmem.AgentMemory, open_memory: MemoryOpener, call: Call
    ) -> None:
        full = open_memory()
        item = call(full.scope("s").items.add, "x", type="fact")
        copied = call(full.scope("s").items.promote, item.id)
        assert set(call(core.scope("s").erase, item.id).ids) == {item.id, copied.id}
        assert call(full.semantic.items.count) == 0

    @pytest.mark.parametrize("wrong", ["core", 1, Features, {"has_long_term": True}])
    def test_what_is_no_tier_is_refused(self, open_memory: MemoryOpener, wrong: Any) -> None:
        with pytest.raises(InvalidInputError, match="features"):
            open_memory(features=wrong)
