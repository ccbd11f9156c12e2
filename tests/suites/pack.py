"""Suite of `pack`: of a scope's messages, and of those that a framework passes in."""

from typing import Any

import pytest

import wmem
from wmem import BudgetError, Scope
from wmem.testing.suite import Call, FacetSuite

__all__ = ["PackSuite"]

SCHEMA = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


def prompt_texts(context: wmem.Context) -> list[str]:
    return [message.text for message in context.messages]


def user_message(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def make_messages(count: int) -> list[dict[str, Any]]:
    return [{"role": "user", "content": f"message {number}", "id": f"m{number}"} for number in range(count)]


class PackSuite(FacetSuite):
    """Packs hold the newest messages, keep to the budget, and recall only what is visible."""

    def test_what_the_model_answers_now_is_newest_wherever_it_is_stored(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        session = memory.scope("s")
        call(session.messages.append, make_messages(200))
        asked = {"role": "user", "content": "message 3, asked again", "id": "m3"}
        context = call(session.pack, budget=200, messages=[asked])
        assert prompt_texts(context)[-1] == "message 3, asked again"
        assert "message 3" not in prompt_texts(context)
        assert context.tokens <= 200

    def test_a_live_message_that_is_not_stored_stands_where_the_framework_has_it(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        session = memory.scope("s")
        call(session.messages.append, make_messages(4))
        live = [
            {"role": "user", "content": "message 2", "id": "m2"},
            {"role": "assistant", "content": "said in passing"},
            {"role": "user", "content": "the question"},
        ]
        context = call(session.pack, budget=500, messages=live)
        assert prompt_texts(context) == [
            "message 0",
            "message 1",
            "message 2",
            "said in passing",
            "message 3",
            "the question",
        ]
        assert call(session.messages.count) == 4

    def test_a_pack_recalls_entries_and_items_of_the_parents_and_messages_of_none(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        parent = memory.scope("s")
        child = parent.child("task")
        call(parent.entries.set, "harbour pilot", "Ruth Okafor")
        call(parent.items.add, "the harbour closes at dusk")
        call(parent.messages.append, {"role": "user", "content": "the harbour is full of herring"})
        call(child.messages.append, {"role": "user", "content": "hello"})
        note = call(child.pack, "harbour", budget=500).note
        assert "Ruth Okafor" in note
        assert "closes at dusk" in note
        assert "herring" not in note
        assert call(child.pack, "harbour", budget=500, inherit=False).note == ""

    @pytest.mark.parametrize("budget", [300, 1_000])
    def test_items_and_entries_are_recalled_beside_nothing_but_a_tail(
        self, memory: wmem.AgentMemory, call: Call, budget: int
    ) -> None:
        parent = memory.scope("s")
        child = parent.child("task")
        talk = [{"role": "user", "content": f"harbour news, number {number}"} for number in range(200)]
        call(child.messages.append, talk)
        before = call(child.pack, "the harbour", budget=budget, tail=1.0)
        assert before.note == ""
        call(parent.entries.set, "harbour pilot", "Ruth Okafor")
        call(child.items.add, "the harbour closes at dusk")
        packed = call(child.pack, "the harbour", budget=budget, tail=1.0)
        assert "Ruth Okafor" in packed.note
        assert "closes at dusk" in packed.note
        assert packed.sizes["note"] <= max(80, budget // 10)
        assert len(packed.messages) >= len(before.messages) * (budget - max(80, budget // 10)) // budget - 1

    def test_where_a_query_finds_nothing_the_note_quotes_what_lies_before_the_tail(
        self, session: Scope, call: Call
    ) -> None:
        talk = [
            {"role": "user", "content": f"news of the harbour, number {number}", "id": str(number)}
            for number in range(99)
        ]
        call(session.messages.append, talk)
        found, nothing = (call(session.pack, query, budget=600) for query in ("harbour 7", "xylophone"))
        assert [message.id for message in found.messages] == [message.id for message in nothing.messages]
        first = next(int(message.id) for message in nothing.messages if message.id)
        quoted = [line.rsplit(" ", 1)[1] for line in nothing.note.splitlines() if line.startswith("> ")]
        assert quoted == [str(number) for number in range(first - len(quoted), first)]
        assert {report.rule for report in nothing.included if report.placed == "note"} == {"filled"}
        assert nothing.tokens > 550

    def test_an_expired_item_is_not_recalled_and_a_replaced_text_finds_nothing_more(
        self, memory: wmem.AgentMemory, call: Call, clock: Any
    ) -> None:
        session = memory.scope("s")
        item = call(session.items.add, "the zeppelin lands on Friday", ttl_s=60)
        assert "zeppelin" in call(session.pack, "zeppelin", budget=500).note
        call(session.items.update, item.id, content="the balloon lands on Friday")
        assert call(session.pack, "zeppelin", budget=500).note == ""
        assert "balloon" in call(session.pack, "balloon", budget=500).note
        clock.advance(3_600 * 5)
        assert call(session.pack, "balloon", budget=500).note == ""

    def test_a_stable_front_repeats_while_the_note_before_the_newest_message_changes(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        session = memory.scope("s")
        call(session.messages.append, make_messages(400))
        call(session.items.add, "the harbour closes at dusk")
        first = call(session.pack, "harbour", budget=600, stable=True)
        call(session.messages.append, user_message("and the harbour?"))
        second = call(session.pack, "message 7", budget=600, stable=True)
        assert prompt_texts(second)[: len(first.messages)] == prompt_texts(first)
        assert "dusk" in first.note
        assert "dusk" not in second.note
        assert [message.recalled for message in second.prompt()][-2:] == [True, False]

    def test_a_summary_of_what_is_left_out_stands_in_the_note(self, session: Scope, call: Call) -> None:
        call(session.messages.append, [user_message("The harbour pilot is Ruth Okafor."), *make_messages(200)])
        context = call(session.pack, "pilot", budget=400, summary=120, inherit=False)
        [report] = [each for each in context.included if each.rule == "summary"]
        assert report.sources
        assert 0 < report.tokens <= 120
        assert context.tokens <= 400

    def test_a_blank_query_asks_nothing(self, memory: wmem.AgentMemory, call: Call) -> None:
        session = memory.scope("s")
        call(session.items.add, "something")
        assert call(session.pack, "  ", budget=500).note == ""
        assert call(session.pack, budget=500).note == ""

    def test_a_schema_larger_than_the_budget_is_counted_and_refused(self, session: Scope, call: Call) -> None:
        long = {**SCHEMA, "description": "word " * 5_000}
        call(session.messages.append, user_message("hello"))
        with pytest.raises(BudgetError, match="tools"):
            call(session.pack, budget=300, tools=[long])
        context = call(session.pack, budget=20_000, tools=[long])
        assert 5_000 <= context.sizes["tools"] < context.tokens <= 20_000

    def test_what_a_parent_says_under_a_key_of_its_child_is_not_recalled(self, session: Scope, call: Call) -> None:
        child = session.child("task")
        call(session.entries.set, "deadline", "Friday")
        call(child.entries.set, "deadline", "Monday")
        note = call(child.pack, "deadline", budget=500).note
        assert "Monday" in note
        assert "Friday" not in note

    def test_live_system_text_and_live_pins_are_in_every_pack(self, session: Scope, call: Call) -> None:
        talk = [{"role": "user", "content": f"{number} " + "word " * 20, "id": f"m{number}"} for number in range(40)]
        call(session.messages.append, talk)
        live: list[dict[str, Any]] = [
            {"role": "system", "content": "Answer in Latin.", "id": "sys"},
            {**talk[1], "pinned": True},
            {"role": "user", "content": "and now?", "id": "now"},
        ]
        told = [message.text for message in call(session.pack, budget=300, messages=live).messages]
        assert "Answer in Latin." in told
        assert talk[1]["content"].strip() in [text.strip() for text in told]
        assert told[-1] == "and now?"

    def test_messages_that_were_pinned_later_stand_where_they_weresaid(self, session: wmem.Scope, call: Call) -> None:
        stored = call(session.messages.append, [user_message(f"message number {number}") for number in range(40)])
        for number in (2, 0):
            call(session.messages.append, stored[number].model_copy(update={"pinned": True}))
        texts = [message.text for message in call(session.pack, budget=60, recent=1).messages]
        assert texts == sorted(texts, key=lambda text: int(text.rsplit(" ", 1)[1]))

    def test_system_text_in_front_is_in_every_pack_and_later_system_text_is_conversation(
        self, session: Scope, call: Call
    ) -> None:
        begin = [{"role": "system", "content": "Be kind."}, {"role": "developer", "content": "Be brief."}]
        turns = [
            message
            for number in range(60)
            for message in (
                {"role": "user", "content": f"remark {number}"},
                {"role": "system", "content": f"That was turn {number}."},
            )
        ]
        call(session.messages.append, [*begin, *turns])
        texts = prompt_texts(call(session.pack, budget=150, profile="openai"))
        assert texts[:2] == ["Be kind.", "Be brief."]
        assert texts[-2:] == ["remark 59", "That was turn 59."]
        assert "That was turn 0." not in texts
        whole = call(session.pack, budget=5_000, profile="openai")
        assert prompt_texts(whole) == [each["content"] for each in [*begin, *turns]]

    @pytest.mark.parametrize("live", [False, True])
    def test_the_first_of_a_series_of_reminders_is_conversation(
        self, session: Scope, call: Call, *, live: bool
    ) -> None:
        talk = [
            {"role": "system", "content": "Be kind in 3 ways."},
            {"role": "system", "content": "Be brief in 3 ways."},
        ]
        for turn in range(60):
            talk.append({"role": "system", "content": f"It is turn {turn}."})
            talk.append(user_message(f"remark {turn}"))
        talk = [{**each, "id": str(at)} for at, each in enumerate(talk)]
        call(session.messages.append, talk)
        seen = talk if live else None
        texts = prompt_texts(call(session.pack, budget=150, profile="openai", messages=seen))
        assert texts[:2] == ["Be kind in 3 ways.", "Be brief in 3 ways."]
        assert "It is turn 0." not in texts
        assert texts[-2:] == ["It is turn 59.", "remark 59"]
        whole = call(session.pack, budget=5_000, profile="openai", messages=seen)
        assert prompt_texts(whole) == [each["content"] for each in talk]

    def test_system_text_that_each_session_begins_with_is_sent_once(self, session: Scope, call: Call) -> None:
        for number in range(3):
            call(session.messages.append, [{"role": "system", "content": "Be kind."}, user_message(f"day {number}")])
        live = [{"role": "system", "content": "Be kind."}, user_message("now?")]
        expected = ["Be kind.", "day 0", "day 1", "day 2", "now?"]
        assert prompt_texts(call(session.pack, budget=500, messages=live)) == expected

    def test_a_message_that_is_removed_leaves_the_next_system_text_in_front(self, session: Scope, call: Call) -> None:
        first = call(session.messages.append, user_message("hello"))
        call(session.messages.append, [{"role": "system", "content": "Be kind."}, *make_messages(60)])
        assert "Be kind." not in prompt_texts(call(session.pack, budget=150))
        call(session.messages.remove, first.id or "")
        assert prompt_texts(call(session.pack, budget=150))[0] == "Be kind."
