"""Suite of the gate: what may enter which memory, why, and what the reply and the trace say of it."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import wmem
from tests.nearness.stream import make_stream
from wmem import Gate, InvalidInputError, ItemDraft, Route, SemanticSettings, WorkingSettings
from wmem.rules.nearness import Saying
from wmem.testing.suite import Call, FacetSuite, MemoryOpener
from wmem.types import MemorizeTraced, RedactionTraced, RejectionTraced, RouteTraced

__all__ = ["GateSuite"]

WORDS = [
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heron",
    "inlet",
    "jetty",
    "knoll",
    "larch",
    "maple",
    "north",
    "otter",
    "prism",
]


def text_of(number: int) -> str:
    """A text that shares few words with the others."""
    return " ".join(f"{WORDS[number >> shift & 15]}{number >> shift + 4 & 15}" for shift in (0, 3, 6, 9))


def item(text: str, type_name: str = "fact", **fields: Any) -> dict[str, Any]:
    return {"content": text, "type": type_name, **fields}


class GateSuite(FacetSuite):
    """The gate: redact, weigh, accept, route, evict, and tell."""

    # -- the minima

    def test_a_gate_of_zero_takes_all(self, memory: wmem.AgentMemory, call: Call) -> None:
        for importance in (0.0, 0, 1e-12, None):
            routed = call(memory.memorize, item("the same fact again", importance=importance))
            assert routed.item is not None
            assert list(routed.stored) == ["semantic"]
            assert not routed.rejected
        assert call(memory.semantic.items.count) == 4

    def test_what_is_as_important_as_the_minimum_is_taken_and_less_is_not(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory(gate=Gate(min_importance=0.3))
        taken = call(memory.memorize, item("the boundary", importance=0.3))
        refused = call(memory.memorize, item("just below", importance=0.29))
        assert (taken.item is not None, refused.item) == (True, None)
        assert refused.rejected == {"semantic": ("importance", 0.29, 0.3)}
        assert (refused.stored, refused.routes) == ({}, {"semantic": "knowledge-type"})
        assert [each.content for each in call(memory.semantic.items.all)] == ["the boundary"]
        assert "importance 0.29, at least 0.3" in refused.explain()

    def test_an_item_without_an_importance_is_weighed_by_its_text_and_priority(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory(gate=Gate(min_importance=0.5))
        told = "The deploy of api 2.3 to the Lisbon cluster failed at 14:05, since db-7 refused the connection"
        assert call(memory.memorize, item(told)).item is not None
        assert call(memory.memorize, item("ok")).rejected["semantic"].reason == "importance"
        assert call(memory.memorize, item("ok", priority="high")).item is not None
        assert call(memory.memorize, item("ok", priority="critical")).item is not None

    def test_what_a_memory_holds_already_is_not_new(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory(gate=Gate(min_novelty=0.2))
        first = call(memory.memorize, item("The user lives in Berlin."))
        assert first.item is not None
        assert first.item.novelty == 1
        again = call(memory.memorize, item("the user lives in Berlin"))
        assert again.rejected == {"semantic": ("novelty", 0.0, 0.2)}
        for other in (
            "The user lives in Bern.",
            "The user does not live in Berlin.",
            "The user lived in Berlin 3 years",
        ):
            assert call(memory.memorize, item(other)).item is not None, other
        # Another memory type does not hold it.
        assert call(memory.memorize, item("The user lives in Berlin.", "observation")).item is not None

    def test_the_minima_of_a_memory_type_count_for_it_alone(self, open_memory: MemoryOpener, call: Call) -> None:
        strict = SemanticSettings(min_importance=0.6, min_novelty=0.5)
        memory = open_memory(gate=Gate(min_importance=0.2), memory_types=[strict])
        assert call(memory.memorize, item("a weak fact", importance=0.5)).rejected["semantic"].minimum == 0.6
        assert call(memory.memorize, item("a weak sight", "observation", importance=0.5)).item is not None
        assert call(memory.memorize, item("weaker", "observation", importance=0.1)).rejected["episodic"].minimum == 0.2

    def test_working_memory_has_minima_too(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory(memory_types=[WorkingSettings(min_novelty=0.2, min_importance=0.1)])
        thought = item("look at the log of db-7 first", "thought", importance=0.1)
        assert call(memory.memorize, thought).item is not None
        assert call(memory.memorize, thought).rejected == {"working": ("novelty", 0.0, 0.2)}
        assert call(memory.memorize, {**thought, "importance": 0.05}).rejected["working"].reason == "importance"

    def test_what_is_put_into_a_type_by_name_passes_the_gate(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory(gate=Gate(min_novelty=0.2))
        semantic = memory.types["semantic"]
        assert call(semantic.memorize, ItemDraft("the user likes tea")).rejected is None
        refused = call(semantic.memorize, ItemDraft("The user likes tea!"))
        assert refused.rejected == ("novelty", 0.0, 0.2)
        assert refused.items == 1
        by_name = call(memory.memorize, "The user likes tea", None, "semantic")
        assert (by_name.item, by_name.routes) == (None, {"semantic": "named"})

    def test_tool_calls_and_progress_are_stored_whatever_the_gate_asks(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory(gate=Gate(min_importance=1.0, min_novelty=1.0))
        turn = memory.turn("s", goals=["ship"])
        for _ in range(3):
            call(turn.track_tool_invocation, "search", {"q": "trains"}, "none")
            call(turn.report_progress, "ship", 0.1)
        call(memory.memorize, {"role": "user", "content": "Hello"})
        assert call(memory.episodic.items.count) == 3
        assert call(memory.scope("s").items.count) == 3
        assert call(memory.working.messages.count) == 1

    # -- routes

    def test_the_first_route_that_applies_decides(self, open_memory: MemoryOpener, call: Call) -> None:
        gate = Gate(
            routes=[
                Route("outcomes", ["Semantic", " EPISODIC"], types=["SKILL"], tags=["Outcome"]),
                Route("loud", ["working"], min_importance=0.9),
                Route("the system's", ["episodic"], sources=["System"], kinds=["Preference"]),
            ]
        )
        memory = open_memory(gate=gate)
        expected: Sequence[tuple[Mapping[str, Any], Mapping[str, str]]] = [
            (item("x", "Skill", tags=["outcome"]), {"semantic": "outcomes", "episodic": "outcomes"}),
            (item("x", " skills ", tags=["OUTCOME"]), {"semantic": "outcomes", "episodic": "outcomes"}),
            (item("x", "skill"), {"semantic": "knowledge-type"}),
            (item("x", "fact", importance=0.9), {"working": "loud"}),
            (item("x", "fact", source="system", kind="preference"), {"episodic": "the system's"}),
            (item("x", "fact", source="user", kind="preference"), {"semantic": "knowledge-type"}),
        ]
        for told, routes in expected:
            routed = call(memory.memorize, told)
            assert routed.routes == routes
            assert set(routed.stored) == set(routes)

    def test_a_store_is_named_in_whichever_case(self, memory: wmem.AgentMemory, call: Call) -> None:
        routed = call(memory.memorize, item("x", "fact"), store=" Episodic")
        assert routed.routes == {"episodic": "named"}
        assert call(memory.memorize, item("y", "fact"), store="AUTO").routes == {"semantic": "knowledge-type"}
        with pytest.raises(wmem.InvalidInputError, match="there is no store 'episodes'"):
            call(memory.memorize, item("z", "fact"), store="episodes")

    def test_another_redacted_value_of_a_kind_is_new_and_is_neither_joined_nor_merged(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory(gate=Gate(min_novelty=0.5))
        for address in ("ada@example.com", "bob@example.org"):
            taken = call(memory.memorize, item(f"The invoice goes to {address}."))
            assert list(taken.stored) == ["semantic"]
        kept = call(memory.scope("s").items.add, "The invoice goes to eve@example.net.", type="fact")
        call(memory.scope("s").items.promote, kept.id)
        call(memory.maintain, ["merge-duplicates"])
        told = [each.content for each in call(memory.semantic.items.all)]
        assert told == ["The invoice goes to [REDACTED_EMAIL]."] * 3
        assert not call(memory.memorize, item("The invoice goes to the office.")).rejected
        assert call(memory.memorize, item("The invoice goes to the office!")).rejected["semantic"].reason == "novelty"

    def test_a_route_to_a_type_that_is_none_stores_nothing(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory(gate=Gate(routes=[Route("away", ["archive"])]))
        with pytest.raises(InvalidInputError, match="'away' names the memory type 'archive'"):
            call(memory.memorize, "x")
        assert call(memory.memorize, "x", None, "semantic").item is not None

    def test_a_preference_in_a_message_is_a_message_and_is_known(self, memory: wmem.AgentMemory, call: Call) -> None:
        told = item("I prefer aisle seats", "user_message", kind="preference")
        routed = call(memory.memorize, told)
        assert routed.routes == {"conversation": "message", "semantic": "knowledge-kind"}
        assert [message.text for message in call(memory.working.messages.all)] == ["I prefer aisle seats"]
        assert call(memory.semantic.items.count) == 1

    @pytest.mark.parametrize(
        ("told", "store", "rule"),
        [
            ({"type": "Fact"}, "semantic", "knowledge-type"),
            ({"type": "fact "}, "semantic", "knowledge-type"),
            ({"type": "FACTS"}, "semantic", "knowledge-type"),
            ({"type": "preference"}, "semantic", "knowledge-type"),
            ({"type": "observation", "kind": "preference"}, "semantic", "knowledge-kind"),
            ({"kind": "insight"}, "semantic", "knowledge-kind"),
            ({"kind": "fact"}, "semantic", "knowledge-type"),
            ({"dynamic_type": "Skill"}, "semantic", "knowledge-type"),
            ({"type": "observation", "kind": "fact"}, "episodic", "experience"),
            ({"kind": "event"}, "episodic", "experience"),
            ({"dynamic_type": "Receipt"}, "episodic", "experience"),
            ({"type": "Summary"}, "semantic", "knowledge-type"),
            ({"type": "metric"}, "episodic", "experience"),
            ({"type": "Plan"}, "working", "reasoning"),
            ({}, "episodic", "experience"),
        ],
    )
    def test_types_and_kinds_say_where_an_item_goes(
        self, memory: wmem.AgentMemory, call: Call, told: Mapping[str, Any], store: str, rule: str
    ) -> None:
        assert call(memory.memorize, {"content": "x", **told}).routes == {store: rule}

    # -- what is told

    def test_the_trace_tells_routes_redactions_and_rejections_in_ids_and_numbers(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory(gate=Gate(min_importance=0.3))
        turn = memory.turn("s")
        taken = call(turn.memorize, item("Write to ann@example.com about it", importance=0.3))
        call(turn.memorize, item("not worth it", importance=0.1))
        committed = call(turn.commit)
        assert taken.item is not None
        assert taken.redactions == {"email": 1}
        assert "ann@example.com" not in taken.item.content
        assert call(memory.trace, turn.id).events == (
            MemorizeTraced(taken.item.id, "semantic"),
            RouteTraced(taken.item.id, "semantic", "knowledge-type"),
            RedactionTraced(taken.item.id, {"email": 1}),
            RejectionTraced("semantic", "importance", 0.1, 0.3),
        )
        assert (committed.rejected, committed.redactions, committed.evicted) == ({"semantic": 1}, {"email": 1}, 0)
        assert len(committed.writes) == 1

    @pytest.mark.parametrize(
        "make",
        [
            lambda: Gate(min_importance=1.1),
            lambda: Gate(min_novelty=-0.1),
            lambda: Gate(min_novelty="high"),  # type: ignore[arg-type]  # it is refused
            lambda: Gate(routes=["x"]),  # type: ignore[list-item]  # it is refused
            lambda: Gate(routes=Route("a", ["working"])),  # type: ignore[arg-type]  # it is refused
            lambda: Gate(routes=None),  # type: ignore[arg-type]  # it is refused
            lambda: Gate(routes=iter([Route("a", ["working"])])),  # type: ignore[arg-type]  # it is refused
            lambda: Gate(routes=[Route("a", ["working"]), Route("a", ["semantic"])]),
            lambda: Route("a", []),
            lambda: Route("a", "working"),
            lambda: Route(" ", ["working"]),
            lambda: Route("a", ["working"], types="fact"),
            lambda: Route("a", ["working"], tags=[3]),  # type: ignore[list-item]  # it is refused
            lambda: Route("a", ["working"], min_importance=2),
            lambda: SemanticSettings(min_novelty=2),
        ],
    )
    def test_a_gate_out_of_range_is_refused(self, make: Any) -> None:
        with pytest.raises(InvalidInputError):
            make()

    # -- the system's fields

    def test_what_long_term_memory_holds_has_the_systems_fields(self, memory: wmem.AgentMemory, call: Call) -> None:
        session = memory.scope("s")
        kept = call(session.items.add, "Ann's address is ann@example.com", type="fact")
        assert (kept.checksum, kept.version, kept.novelty, kept.redaction_status) == (None, None, None, "none")
        promoted = call(session.items.promote, kept.id)
        added = call(memory.semantic.items.add, "the sky is blue", type="fact")
        tracked = call(memory.track_tool_invocation, "look", {"at": "sky"}, "blue")
        memorized = call(memory.memorize, item("the sea is grey")).item
        assert tracked is not None
        assert memorized is not None
        for each, scope in (
            (promoted, "semantic"),
            (added, "semantic"),
            (tracked, "episodic"),
            (memorized, "semantic"),
        ):
            assert each.version == 1
            assert len(each.checksum or "") == 16
            assert call(getattr(memory, scope).items.get, each.id) == each
        assert promoted.redaction_status == "partial"
        assert (memorized.novelty, memorized.redaction_status) == (1.0, "none")

    def test_the_version_counts_changes_of_the_content(self, memory: wmem.AgentMemory, call: Call) -> None:
        items = memory.semantic.items
        first = call(items.add, "the sky is blue")
        tagged = call(items.update, first.id, tags=["weather"])
        assert (tagged.version, tagged.checksum) == (1, first.checksum)
        changed = call(items.update, first.id, content="the sky is grey")
        assert (changed.version, changed.checksum != first.checksum) == (2, True)
        assert call(items.get, first.id) == changed

    @pytest.mark.parametrize("name", ["checksum", "novelty", "version", "redaction_status"])
    def test_no_caller_sets_the_systems_fields(self, memory: wmem.AgentMemory, call: Call, name: str) -> None:
        bad: Any = {name: "partial" if name == "redaction_status" else 1}
        held = call(memory.semantic.items.add, "held")
        turn = memory.turn("s")
        for attempt in (
            lambda: call(memory.semantic.items.add, "x", **bad),
            lambda: call(memory.semantic.items.update, held.id, **bad),
            lambda: call(memory.memorize, {"content": "x", **bad}),
            lambda: call(turn.memorize, {"content": "x", **bad}),
            lambda: call(memory.scope("s").queue.memorize, "x", **bad),
            lambda: ItemDraft("x", fields=bad),
        ):
            with pytest.raises(InvalidInputError, match=name):
                attempt()
        assert call(memory.semantic.items.get, held.id) == held

    def test_an_import_brings_the_systems_fields_and_refuses_what_they_deny(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory, other = open_memory(), open_memory("agent-2")
        first = call(memory.semantic.items.add, "the sky is blue")
        changed = call(memory.semantic.items.update, first.id, content="the sky is grey")
        document = call(memory.semantic.export)
        call(other.semantic.import_, document)
        [brought] = call(other.semantic.items.all)
        assert (brought.checksum, brought.version) == (changed.checksum, 2)
        document["memories"][0]["content"] = "the sky is green"
        with pytest.raises(InvalidInputError, match="not what was stored"):
            call(open_memory("agent-3").semantic.import_, document)
        redacted = call(memory.semantic.export, redacted=True)
        call(open_memory("agent-4").semantic.import_, redacted)

    def test_what_was_changed_from_outside_is_told_and_nothing_else_is_lost(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        items = memory.semantic.items
        sound = call(items.add, "The harbour opens at seven", type="fact")
        damaged = call(items.add, "The harbour closes at nine", type="fact")
        call(items.all)
        handle: Any = memory.semantic._handle
        state = handle.engine.replica(handle.path).state
        row = state.rows[damaged.id]
        state.rows[damaged.id] = row._replace(content=b'"The harbour closes at ten"')
        with pytest.raises(wmem.CorruptionError, match=damaged.id):
            call(items.get, damaged.id)
        with pytest.raises(wmem.CorruptionError, match=damaged.id):
            call(items.fetch, damaged.id)
        assert [each.id for each in call(items.all)] == [sound.id]
        assert [each.id for each in call(items.search, "harbour")] == [sound.id]
        assert [each.item.id for each in call(memory.types["semantic"].remember, "harbour")] == [sound.id]
        context = call(memory.scope("s").pack, "When does the harbour open, when does it close?", budget=500)
        assert "opens at seven" in context.note
        assert "closes" not in context.note
        assert any(damaged.id in warning for warning in context.warnings)
        assert call(items.remove, damaged.id)

    def test_what_is_too_large_for_one_type_goes_to_the_other_and_is_told(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory(policy=wmem.Policy.queue(max_tokens=20))
        turn = memory.turn("s")
        long = item("a long insight " * 20, "thought", kind="insight")
        routed = call(turn.memorize, long)
        assert (list(routed.stored), routed.rejected["working"].reason) == (["semantic"], "size")
        assert routed.rejected["working"].value > routed.rejected["working"].minimum == 20
        assert "size" in routed.explain()
        with pytest.raises(wmem.CapacityError):
            call(turn.memorize, item("a long thought " * 20, "thought"))
        assert call(turn.commit).rejected == {"working": 1}

    # -- promotion

    def test_what_is_promoted_passes_the_gate_and_stays_pending_where_it_does_not(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory(gate=Gate(min_importance=0.7, min_novelty=0.2))
        items = memory.scope("s").items
        weak = call(items.add, "a weak fact", type="fact", importance=0.5)
        strong = call(items.add, "a strong fact", type="fact", importance=0.7)
        with pytest.raises(wmem.RejectedError, match=r"importance 0\.5 is below 0\.7"):
            call(items.promote, weak.id)
        call(items.promote, strong.id)
        assert [each.content for each in call(memory.semantic.items.all)] == ["a strong fact"]
        assert [each.id for each in call(items.all)] == [weak.id]
        bulk = call(items.promote_many, [weak.id, strong.id])
        assert (bulk.success, bulk.failed) == (1, 1)
        # Of its own accord it is only left where it is.
        critical = call(items.add, "a critical word", type="fact", importance=0.1, priority="critical")
        assert call(items.fetch, critical.id).promoted_to is None
        assert [each.id for each in call(items.pending)] == [critical.id]

    def test_what_says_the_same_is_joined_and_not_copied_again(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory(gate=Gate(min_novelty=0.2))
        first, second = memory.scope("a").items, memory.scope("b").items
        one = call(first.add, "The user lives in Berlin.", type="fact", tags=["home"])
        two = call(second.add, "the user lives in Berlin", type="fact", tags=["town"])
        other = call(second.add, "The user lives in Bern.", type="fact")
        kept = call(first.promote, one.id)
        joined = call(second.promote, two.id)
        assert (joined.id, set(joined.tags)) == (kept.id, {"home", "town"})
        assert call(second.promote, two.id).id == kept.id
        assert call(second.get, two.id).promoted_to == kept.id
        call(second.promote, other.id)
        assert [each.content for each in call(memory.semantic.items.all)] == [one.content, other.content]
        # A copy is found by its origin, also by a process that knows nothing of the first one.
        again = open_memory.in_other_process(gate=Gate(min_novelty=0.2))
        assert call(again.scope("b").items.promote, two.id).id == kept.id
        # Without a minimum each is copied, once.
        plain = open_memory.in_other_process()
        third = call(plain.scope("c").items.add, "The user lives in Berlin", type="fact")
        assert call(plain.scope("c").items.promote, third.id).id != kept.id

    def test_a_rule_of_the_users_own_says_where_an_item_is_promoted_to(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory(gate=Gate(routes=[Route("receipts", ["Working", " SEMANTIC"], tags=["receipt"])]))
        items = memory.scope("s").items
        receipt = call(items.add, "paid 7 euros", type="observation", tags=["Receipt"])
        plain = call(items.add, "saw a heron", type="observation")
        call(items.promote_many, [receipt.id, plain.id])
        assert [each.content for each in call(memory.semantic.items.all)] == ["paid 7 euros"]
        assert [each.content for each in call(memory.episodic.items.all)] == ["saw a heron"]

    # -- what is taken is predictable

    def test_a_stream_is_taken_as_the_minima_predict(self, open_memory: MemoryOpener, call: Call) -> None:
        rng = random.Random(14)
        memory = open_memory(gate=Gate(min_importance=0.4, min_novelty=0.3))
        expected = []
        for text, is_repeated in make_stream(60, share=0.3, seed=17):
            importance = rng.random()
            routed = call(memory.memorize, item(text, importance=importance))
            if importance < 0.4:
                assert routed.rejected["semantic"].reason == "importance"
            elif is_repeated and routed.item is None:
                assert routed.rejected["semantic"].reason == "novelty"
            else:
                assert routed.item is not None
                expected.append(text)
        assert [each.content for each in call(memory.semantic.items.all)] == expected
        said = [Saying.of(text).key for text in expected]
        assert len(said) == len(set(said))

    def test_of_two_processes_that_memorize_the_same_one_is_taken(self, open_memory: MemoryOpener, call: Call) -> None:
        gate = Gate(min_novelty=0.2)
        here, there = open_memory(gate=gate), open_memory.in_other_process(gate=gate)
        call(here.memorize, item("the first fact"))
        call(there.memorize, item("another fact 7"))
        assert call(here.memorize, item("Another fact 7.")).item is None
        assert call(there.memorize, item("The first fact")).item is None
        for each in call(there.semantic.items.all):
            call(there.semantic.items.remove, each.id)
        assert call(here.memorize, item("Another fact 7")).item is not None
        assert call(there.memorize, item("seen at noon", "observation")).item is not None
        assert call(here.memorize, item("Seen at noon", "observation")).item is None
