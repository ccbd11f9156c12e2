"""Suite of receipts: each prompt can be rendered again from what is stored, to the byte, or says what is gone."""

import pickle
import random
from typing import Any

import pytest

import wmem
from tests.receipts.shapes import Packs, say_turn
from wmem import Context, InvalidInputError, NotFoundError, Policy, Scope
from wmem.model.values import dump_model
from wmem.testing.suite import Call, Clock, FacetSuite, MemoryOpener

__all__ = ["ReceiptsSuite"]

DAY = 86_400.0
TEA = "Ada likes green tea."
SECRET = "the vault is behind the clock"
TALK = [
    {"role": "system", "content": "Be kind.", "id": "s"},
    {"role": "user", "content": "My dog is called Biscuit.", "id": "q1"},
    {"role": "assistant", "content": "A lovely name.", "id": "a1"},
    {"role": "user", "content": "From now on, answer only in French.", "id": "q2"},
    {"role": "assistant", "content": "D'accord.", "id": "a2"},
]


def sent(context: Context | None) -> list[bytes]:
    """What of a prompt is sent: all but the times, turns and marks of its messages."""
    assert context is not None
    unsent = {"created_at", "turn_id", "thread_id", "pinned", "complete"}
    return [dump_model(message, exclude=unsent) for message in context.prompt()]


def reasons(replay: Any) -> list[tuple[str, str, str]]:
    assert replay.context is None
    return [(each.id, each.what, each.reason) for each in replay.missing]


class ReceiptsSuite(FacetSuite):
    """A receipt holds no content; its replay is the prompt, or names what is missing and shows nothing."""

    @pytest.mark.slow
    def test_prompts_of_many_shapes_are_replayed_to_the_byte_after_many_writes_in_another_process(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory, chance, packs = open_memory(), random.Random(1), Packs(2, call)
        parent = memory.scope("parent")
        session = parent.child("session")
        fill_above(memory, parent, session, call)
        kept = []
        for number in range(24):
            call(session.messages.append, list(say_turn(chance, number)))
            if number % 2:
                context, system = packs.pack(session)
                assert call(memory.record, context) == context.receipt
                assert len(context.receipt) < 40
                kept.append((context.receipt, system, sent(context)))
        ids = [str(message.id) for message in call(session.messages.all)]
        for number in range(24, 40):
            call(session.messages.append, list(say_turn(chance, number)))
        call(session.messages.withdraw, *ids[5:9])
        call(session.messages.move_to_end, *ids[9:12])
        call(session.items.add, "more to know")
        for each in (memory, open_memory.in_other_process()):
            for receipt, system, before in kept:
                replay = call(each.replay, receipt, system=system)
                assert replay.missing == ()
                assert sent(replay.context) == before

    def test_what_was_erased_is_named_and_nothing_of_the_prompt_is_shown(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory()
        session = memory.scope("s")
        call(session.messages.append, [*TALK, {"role": "user", "content": SECRET, "id": "x"}])
        item = call(session.items.add, f"note: {SECRET}", pinned=True)
        context = call(session.pack, budget=2_000)
        call(memory.record, context)
        call(session.erase, "x", item.id)
        for each in (memory, open_memory.in_other_process()):
            replay = call(each.replay, context.receipt)
            assert sorted(reasons(replay)) == sorted([("x", "message", "erased"), (item.id, "item", "erased")])
            assert SECRET not in repr(replay)

    def test_each_reason_why_a_prompt_cannot_be_shown_is_told(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory()
        session = memory.scope("s")
        call(session.messages.append, TALK)
        expiring = call(session.items.add, "Biscuit barks for a minute", ttl_s=60)
        changing = call(session.items.add, "like this", pinned=True, ttl_s=None)
        removed = call(session.items.add, "not for long", pinned=True, ttl_s=None)
        call(session.entries.set, "k", "an entry about Biscuit")
        context = call(session.pack, "Biscuit", budget=2_000, system="You are careful.")
        assert "an entry about Biscuit" in context.note
        assert "Biscuit barks" in context.note
        call(memory.record, context)
        assert reasons(call(memory.replay, context.receipt)) == [("", "system text", "not stored")]
        wrong = call(memory.replay, context.receipt, system="You are careless.")
        assert reasons(wrong) == [("", "system text", "changed")]
        assert call(memory.replay, context.receipt, system="You are careful.").context is not None
        clock.advance(1)
        call(session.items.update, changing.id, content="like that")
        told = reasons(call(memory.replay, context.receipt, system="You are careful."))
        assert told == [(changing.id, "item", "changed")]
        call(session.items.remove, removed.id)
        call(session.messages.remove, "a1")
        entry = call(session.entries.entry, "k")
        call(session.entries.remove, "k")
        clock.advance(61)
        told = reasons(call(memory.replay, context.receipt, system="You are careful."))
        assert sorted(told) == sorted(
            [
                ("a1", "message", "removed"),
                (removed.id, "item", "removed"),
                (entry.id, "entry", "removed"),
                (expiring.id, "item", "expired"),
            ]
        )

    def pack_tea(self, memory: Any, call: Call, text: str = TEA) -> tuple[Context, str]:
        """A prompt that quotes what memory holds about Ada's tea."""
        context = call(memory.scope("s").pack, "What tea does Ada like?", budget=2_000)
        assert text in context.note
        return context, call(memory.record, context)

    def test_a_quote_that_was_merged_is_shown_as_it_was_while_its_text_is_somewhere(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        for again, text in enumerate((TEA, "Ada likes Green Tea!")):
            memory = open_memory(agent_id=f"agent-{again}")
            item = call(memory.semantic.items.add, TEA, ttl_s=None)
            clock.advance(3 * DAY)  # the day of the quote is that of the item, not of what it was merged into
            context, receipt = self.pack_tea(memory, call)
            newer = call(memory.semantic.items.add, text, ttl_s=None)
            assert call(memory.maintain, ["merge-duplicates"]).jobs["merge-duplicates"].changed == 1
            assert sent(call(memory.replay, receipt).context) == sent(context)
            last = call(memory.semantic.items.add, text, ttl_s=None)
            clock.advance(1)
            call(memory.maintain, ["merge-duplicates"])
            call(memory.semantic.items.get, last.id)
            for each in (memory, open_memory.in_other_process(agent_id=memory.agent_id)):
                assert sent(call(each.replay, receipt).context) == sent(context)
            clock.advance(31 * DAY)
            assert call(memory.maintain, ["purge"]).jobs["purge"].changed == 2
            replay = call(memory.replay, receipt)
            if text == TEA:
                assert sent(replay.context) == sent(context)
            else:  # nobody says it in these words any more
                assert reasons(replay) == [(item.id, "item", "removed")]
            left = [each.id for each in call(memory.semantic.items.all)]
            assert left in ([newer.id], [last.id])
            call(memory.semantic.items.forget, *left)
            assert call(memory.replay, receipt).context is None
            call(memory.semantic.items.undelete, left[0])
            call(memory.semantic.erase, item.id)
            assert reasons(call(memory.replay, receipt)) == [(item.id, "item", "erased")]

    def test_a_quote_whose_item_is_gone_is_shown_while_its_promoted_copy_says_the_same(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory()
        session = memory.scope("s")
        items = [
            call(session.items.add, TEA, ttl_s=DAY, type="fact"),
            call(session.items.add, "Ada likes black tea too.", ttl_s=DAY, type="fact"),
        ]
        context, receipt = self.pack_tea(memory, call)
        copies = [call(session.items.promote, item.id) for item in items]
        clock.advance(2 * DAY)  # they have expired
        assert sent(call(memory.replay, receipt).context) == sent(context)
        call(memory.maintain)  # and are gone
        assert call(session.items.all, include_expired=True, include_promoted=True) == []
        call(memory.semantic.items.add, TEA, ttl_s=None, type="fact")
        call(memory.maintain)  # the copy is merged
        assert len(call(memory.semantic.items.all)) == 2
        for each in (memory, open_memory.in_other_process()):
            assert sent(call(each.replay, receipt).context) == sent(context)
        clock.advance(31 * DAY)
        assert call(memory.maintain, ["purge"]).jobs["purge"].changed == 1
        assert sent(call(memory.replay, receipt).context) == sent(context)
        call(memory.semantic.items.forget, copies[1].id)
        assert reasons(call(memory.replay, receipt)) == [(items[1].id, "item", "expired")]

    def test_a_copy_that_says_less_does_not_bring_back_what_is_gone(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory()
        session = memory.scope("s")
        item = call(session.items.add, f"{TEA} Ask ada@example.com.", ttl_s=DAY)
        _, receipt = self.pack_tea(memory, call)
        assert "example" not in call(session.items.promote, item.id).content
        clock.advance(2 * DAY)
        for _ in range(2):
            assert reasons(call(memory.replay, receipt)) == [(item.id, "item", "expired")]
            call(memory.maintain)

    def test_why_a_job_took_a_quote_away_is_told(self, open_memory: MemoryOpener, call: Call, clock: Clock) -> None:
        memory = open_memory(
            memory_types=[wmem.SemanticSettings(max_items=2, keep_items=1)], retention=[wmem.Retention("week", 7 * DAY)]
        )
        weekly = call(memory.semantic.items.add, "Ada likes white tea.", ttl_s=None, retention="week")
        item = call(memory.semantic.items.add, TEA, ttl_s=None)
        _, receipt = self.pack_tea(memory, call)
        clock.advance(1)
        for number in range(4):
            call(memory.semantic.items.add, f"boat {number} is in port {number}", ttl_s=None, importance=0.9)
        call(memory.maintain, ["evict-long-term"])
        told = reasons(call(memory.replay, receipt))
        assert (item.id, "item", "evicted") in told
        call(memory.semantic.items.undelete, weekly.id)
        clock.advance(8 * DAY)
        call(memory.maintain, ["apply-retention"])
        assert (weekly.id, "item", "expired") in reasons(call(memory.replay, receipt))
        queue = memory.scope("q", policy=Policy.queue(max_items=2))
        quoted = call(queue.items.add, TEA, importance=0.1)
        context = call(queue.pack, "What tea does Ada like?", budget=2_000, long_term=False)
        assert TEA in context.note
        call(memory.record, context)
        for number in range(2):
            call(queue.items.add, f"boat {number} is in port {number}")
        assert reasons(call(memory.replay, context.receipt)) == [(quoted.id, "item", "evicted")]

    def test_a_quote_that_was_marked_summed_up_or_restored_is_shown_as_it_was(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory()
        turn = call(memory.turn, "t")
        call(turn.memorize, {"content": "Ada drank black tea in the garden.", "type": "observation"})
        call(turn.commit)
        call(memory.semantic.items.add, TEA, ttl_s=None)
        call(memory.semantic.items.add, "My tea budget is 400.", ttl_s=None)
        context, receipt = self.pack_tea(memory, call)
        assert all(text in context.note for text in ("budget is 400", "in the garden"))
        clock.advance(1)
        call(memory.semantic.items.add, "My tea budget is 500.", ttl_s=None)
        clock.advance(2 * DAY)
        assert call(memory.maintain).jobs["mark-superseded"].changed == 1
        assert sent(call(memory.replay, receipt).context) == sent(context)
        saved = call(memory.snapshot)
        call(memory.semantic.items.add, "later", ttl_s=None)
        call(memory.restore, saved)
        for each in (memory, open_memory.in_other_process()):
            assert sent(call(each.replay, receipt).context) == sent(context)

    def test_a_quote_that_was_redacted_since_is_named(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        plain = open_memory(redaction=wmem.Redaction.off())
        item = call(plain.semantic.items.add, f"{TEA} Ask ada@example.com.", ttl_s=None)
        call(plain.semantic.items.add, "Ada likes black tea too.", ttl_s=None)
        _, receipt = self.pack_tea(plain, call)
        memory = open_memory()
        clock.advance(1)
        assert call(memory.maintain, ["redact"]).jobs["redact"].changed == 1
        assert reasons(call(memory.replay, receipt)) == [(item.id, "item", "changed")]

    def test_a_message_that_is_edited_is_named(self, open_memory: MemoryOpener, call: Call, clock: Clock) -> None:
        memory = open_memory()
        session = memory.scope("s")
        call(session.messages.append, TALK)
        context = call(session.pack, budget=2_000)
        call(memory.record, context)
        clock.advance(1)
        call(session.messages.append, {"role": "assistant", "content": "An odd name.", "id": "a1"})
        assert reasons(call(memory.replay, context.receipt)) == [("a1", "message", "changed")]
        call(session.messages.append, {**TALK[2]})
        assert sent(call(memory.replay, context.receipt).context) == sent(context)

    def test_what_a_caller_passed_in_is_passed_in_again(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        session = memory.scope("s")
        call(session.messages.append, TALK)
        live = [
            *TALK[:2],
            {"role": "assistant", "content": "Not stored.", "id": "n"},
            {"role": "user", "content": "Hm?"},
        ]
        context = call(session.pack, budget=2_000, messages=live, profile="anthropic")
        call(memory.record, context)
        assert reasons(call(memory.replay, context.receipt)) == [("", "message", "not stored")]
        assert call(memory.replay, context.receipt, messages=live).context.to_openai() == context.to_openai()
        other = [*live[:2], {**live[2], "content": "Something else."}, live[3]]
        assert call(memory.replay, context.receipt, messages=other).context is None

    def test_only_what_is_recorded_is_found(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        session = memory.scope("s")
        call(session.messages.append, TALK)
        context = call(session.pack, budget=2_000)
        with pytest.raises(NotFoundError, match="recorded"):
            call(memory.replay, context.receipt)
        for wrong in ("", "wmem1.abc.def", "wmem1.aaaaaaaa.bbbbbbbb ", context.receipt + "x"):
            with pytest.raises(InvalidInputError, match="receipt"):
                call(memory.replay, wrong)
        call(memory.record, context)
        call(session.dispose)
        with pytest.raises(NotFoundError):
            call(memory.replay, context.receipt)
        call(memory.scope("s").messages.append, TALK)
        with pytest.raises(NotFoundError):
            call(memory.replay, context.receipt)

    def test_a_prompt_of_a_disposed_scope_is_not_recorded_and_the_scope_stays_gone(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory, elsewhere = open_memory(), open_memory.in_other_process()
        for again in (False, True):
            session = memory.scope("s")
            call(session.messages.append, TALK)
            early, late = (call(session.pack, "dog", budget=200) for _ in range(2))
            assert call(memory.record, early) == early.receipt
            call(elsewhere.scope("s").dispose)
            if again:
                call(elsewhere.scope("s").messages.append, TALK)
            for context in (early, late):
                with pytest.raises(wmem.DisposedError, match="since it was packed"):
                    call(memory.record, context)
            assert call(memory.scope("s").exists) is again
            assert call(memory.traces, "s") == []
        now = memory.scope("s")
        new = call(now.pack, "dog", budget=200)
        call(now.end_turn, "q2", early, new, late)
        assert [pack.receipt for pack in call(memory.traces, "s")[0].packs] == [new.receipt]

    def test_a_context_of_another_agent_or_of_nobody_is_not_recorded(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        other = call(open_memory(agent_id="other").scope("s").pack, budget=100)
        memory = open_memory()
        with pytest.raises(InvalidInputError, match="'other'"):
            call(memory.record, other)
        others: list[Any] = ["a text", None]
        for wrong in others:
            with pytest.raises(InvalidInputError):
                call(memory.record, wrong)

    def test_equal_packs_have_equal_receipts_and_a_pickled_context_its_own(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory()
        session = memory.scope("s")
        call(session.messages.append, TALK)
        first, second = (call(session.pack, "Biscuit", budget=2_000) for _ in range(2))
        assert first.receipt == second.receipt
        assert (
            first.receipt != call(session.pack, "Biscuit", budget=2_000, note_role="system").receipt or not first.note
        )
        copied = pickle.loads(pickle.dumps(first))
        assert copied.receipt == first.receipt
        call(memory.record, copied)
        assert sent(call(memory.replay, first.receipt).context) == sent(first)

    def test_a_pack_tells_its_turn_what_recall_found_and_by_what(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        session = memory.scope("s", policy=Policy.session(recall="balanced"))
        call(
            session.messages.append,
            [{"role": "user", "content": f"Ship {n} goes to port {n}. " * 9} for n in range(40)],
        )
        context = call(session.pack, "Where does ship 7 go?", budget=900)
        used = [unit.ids[0] for unit in context.included if unit.rule == "recalled"][:1]
        assert used
        call(memory.record, context, turn="t1")
        for each in (memory, open_memory.in_other_process()):
            trace = call(each.trace, "t1")
            [pack] = trace.packs
            assert (pack.receipt, pack.tokens, pack.budget) == (context.receipt, context.tokens, 900)
            assert pack.scoring == wmem.RecallProfile.balanced()
            expected = {
                unit.ids[0]: {name: round(part, 2) for name, part in unit.parts.items()}
                for unit in (*context.included, *context.truncated)
                if unit.rule == "recalled"
            }
            assert {each.id: dict(each.parts) for each in pack.recalled if each.parts}.items() <= expected.items()
            assert {each.id for each in pack.recalled} == expected.keys()
            assert {use.used for use in trace.uses(used)} == {True, False}
            uses = trace.uses(used) * 5
            assert wmem.propose_profile(uses, pack.scoring).name == "balanced, tuned"

    def test_a_trace_holds_no_content(self, open_memory: MemoryOpener, call: Call) -> None:
        """Secrets stand in everything that has a text, and in no record of a trace."""
        secret = "Xyzzy"  # in one word, so that no part of it is in another
        memory = open_memory()
        session = memory.scope("s")
        call(memory.semantic.items.add, f"{secret} fact", ttl_s=None)
        call(session.entries.set, "key", f"{secret} value", tags=[f"{secret} tag"], metadata={"m": secret})
        call(session.items.add, f"{secret} pinned", pinned=True, metadata={"m": secret})
        talk: list[Any] = [{"role": "user", "content": f"From now on say {secret}.", "name": secret, "id": "q1"}]
        talk += [
            {
                "role": "assistant",
                "content": None,
                "id": "c1",
                "tool_calls": [
                    {"id": "k1", "type": "function", "function": {"name": secret, "arguments": f'{{"a": "{secret}"}}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "k1", "content": f"{secret} result. " * 300, "id": "r1"},
        ]
        talk += [{"role": "user", "content": f"{secret} number {n}. " * 20, "id": f"m{n}"} for n in range(30)]
        call(session.messages.append, talk)
        for options in ({}, {"summary": True}, {"note_role": "system", "profile": "openai"}, {"tail": 0.0}):
            context = call(session.pack, f"What is {secret}?", budget=1_500, system=f"{secret} system", **options)
            call(memory.record, context)
            assert secret not in context.receipt
            assert any(secret in message.text for message in context.prompt())
        core = memory._core
        state = core.store.engine.replica((*session.path, "~trace")).state
        assert len(state.traces) == 4
        for turn in state.traces:
            assert secret.encode() not in turn.events
        for trace in call(memory.traces, "s"):
            assert secret not in repr(trace)
            assert all(secret.encode() not in pack.layout for pack in trace.packs)


def fill_above(memory: Any, parent: Scope, session: Scope, call: Call) -> None:
    """What a prompt may have beside a conversation."""
    for number in range(6):
        call(memory.semantic.items.add, f"chess set {number} was bought for {number} francs", type="fact", ttl_s=None)
        call(parent.entries.set, f"k{number}", {"topic": "the boiler", "n": number})
        call(parent.items.add, f"chess lesson {number} in Lisbon", ttl_s=None)
        call(session.items.add, f"train tickets {number}: {'very long. ' * 60}", ttl_s=None, pinned=number == 3)
    call(session.messages.append, {"role": "system", "content": "Be kind."})
