"""Suite of withdrawn messages: stored as they were, part of no conversation, back in their places when restored."""

from typing import Any

import pytest

import wmem
from wmem import InvalidInputError, Scope
from wmem.testing.suite import Call, Clock, FacetSuite, MemoryOpener

__all__ = ["WithdrawalSuite"]


def say(text: str, id: str, role: str = "user", **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": text, "id": id, **fields}


TALK = [
    say("Be kind.", "s", "system"),
    say("My dog is called Biscuit.", "q1"),
    say("A lovely name.", "a1", "assistant"),
    say("From now on, answer only in French.", "q2", pinned=True),
    say("D'accord.", "a2", "assistant"),
]


def ids(messages: list[wmem.Message]) -> list[str | None]:
    return [message.id for message in messages]


class WithdrawalSuite(FacetSuite):
    """A withdrawn message is kept for later and shown by nothing; its restoration is complete."""

    def test_what_is_withdrawn_is_in_no_list_and_comes_back_in_its_place(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        messages = open_memory().scope("s").messages
        stored = call(messages.append, TALK)
        assert call(messages.withdraw, "q1", "a1", "q1", "nobody") == 2
        assert call(messages.withdraw, "q1") == 0
        for each in (messages, open_memory.in_other_process().scope("s").messages):
            assert ids(call(each.all)) == ["s", "q2", "a2"]
            assert ids(call(each.all, 2)) == ["q2", "a2"]
            assert call(each.count) == 3
            assert [ids(turn) for turn in call(each.turns)] == [["s"], ["q2", "a2"]]
            assert call(each.withdrawn) == stored[1:3]
            assert call(each.get, "q1") == stored[1]
        assert call(messages.restore, "a1", "q1", "q2") == 2
        for each in (messages, open_memory.in_other_process().scope("s").messages):
            assert call(each.all) == stored
            assert call(each.withdrawn) == []

    def test_no_pack_recall_or_request_has_what_is_withdrawn(self, session: Scope, call: Call) -> None:
        call(session.messages.append, TALK)
        whole = call(session.pack, "What is my dog called?", budget=2000).to_openai()
        recalled = call(session.recall, "Biscuit French kind")
        assert {"s", "q1", "q2"} <= {hit.id for hit in recalled}
        call(session.messages.withdraw, "s", "q1", "q2")
        context = call(session.pack, "What is my dog called?", budget=2000, profile="openai")
        assert [message.text for message in context.messages] == ["A lovely name.", "D'accord."]
        assert not context.note
        assert call(session.recall, "Biscuit French kind") == []
        call(session.messages.restore, "q2", "q1", "s")
        assert call(session.pack, "What is my dog called?", budget=2000).to_openai() == whole
        assert call(session.recall, "Biscuit French kind") == recalled

    def test_a_request_stands_again_once_it_is_restored(self, session: Scope, call: Call) -> None:
        call(session.messages.append, [say("From now on, answer only in French.", "q"), say("Oui.", "a", "assistant")])
        call(session.messages.append, [say(f"Ship {at} went to port {at}. " * 8, f"m{at}") for at in range(40)])
        assert "French" in call(session.pack, budget=600).note
        call(session.messages.withdraw, "q")
        assert "French" not in str(call(session.pack, budget=600).to_openai())
        call(session.messages.restore, "q")
        assert "French" in call(session.pack, budget=600).note

    def test_what_is_appended_again_is_back_in_its_place(self, session: Scope, call: Call) -> None:
        call(session.messages.append, TALK)
        call(session.messages.withdraw, "q1", "a1")
        call(session.messages.append, TALK[1])
        call(session.messages.append, say("A lovely dog.", "a1", "assistant"))
        read = call(session.messages.all)
        assert ids(read) == ["s", "q1", "a1", "q2", "a2"]
        assert read[2].text == "A lovely dog."

    def test_a_list_of_the_framework_that_has_it_sends_it(self, session: Scope, call: Call) -> None:
        call(session.messages.append, TALK)
        call(session.messages.withdraw, "q1", "a1")
        context = call(session.pack, budget=2000, messages=TALK[:3])
        assert [message.text for message in context.messages if message.id in ("q1", "a1")] == [
            "My dog is called Biscuit.",
            "A lovely name.",
        ]

    def test_a_result_is_not_paired_with_a_call_that_is_withdrawn(self, session: Scope, call: Call) -> None:
        calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
        for name in ("old", "new"):
            asked = {"role": "assistant", "content": None, "tool_calls": calls, "id": name}
            call(session.messages.append, asked)
            if name == "old":
                call(session.messages.withdraw, "old")
        call(session.messages.append, {"role": "tool", "content": "done", "tool_call_id": "c", "id": "r"})
        sent = call(session.pack, budget=2000, profile="openai").to_openai()
        assert [each["role"] for each in sent] == ["assistant", "tool"]

    def test_what_was_withdrawn_by_one_process_is_restored_by_another(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        here, there = open_memory().scope("s").messages, open_memory.in_other_process().scope("s").messages
        call(here.append, TALK)
        call(here.withdraw, "q1")
        assert call(there.restore, "q1") == 1
        assert ids(call(here.all)) == [each["id"] for each in TALK]

    def test_maintenance_and_a_new_start_keep_it_withdrawn(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory()
        stored = call(memory.scope("s").messages.append, TALK)
        call(memory.scope("s").messages.withdraw, "q1")
        for at in range(300):  # beyond what a journal holds without a checkpoint
            call(memory.scope("s").entries.set, "k", at)
        clock.advance(30 * 86_400)
        call(memory.maintain)
        messages = open_memory.in_other_process().scope("s").messages
        assert call(messages.all) == [stored[0], *stored[2:]]
        assert call(messages.withdrawn) == [stored[1]]

    def test_an_export_has_it_and_an_import_keeps_it_withdrawn(self, memory: wmem.AgentMemory, call: Call) -> None:
        one, other = memory.scope("one"), memory.scope("other")
        stored = call(one.messages.append, TALK)
        call(one.messages.withdraw, "q1", "a2")
        call(other.import_, call(one.export))
        assert call(other.messages.all) == [stored[0], stored[2], stored[3]]
        assert call(other.messages.withdrawn) == [stored[1], stored[4]]
        assert call(other.messages.restore, "q1") == 1
        assert ids(call(other.messages.all)) == ["s", "q1", "a1", "q2"]

    def test_what_is_withdrawn_can_be_removed_erased_and_cleared(self, session: Scope, call: Call) -> None:
        call(session.messages.append, TALK)
        call(session.messages.withdraw, "q1", "a1", "q2")
        assert call(session.messages.remove, "q1") is True
        assert call(session.messages.remove, "q1") is False
        assert "a1" in call(session.erase, "a1").ids
        assert ids(call(session.messages.withdrawn)) == ["q2"]
        call(session.messages.clear)
        assert call(session.messages.withdrawn) == []
        assert call(session.messages.restore, "q1", "a1", "q2") == 0

    def test_statistics_count_the_conversation_alone(self, session: Scope, call: Call) -> None:
        call(session.messages.append, TALK)
        call(session.messages.withdraw, "q1", "a1")
        assert call(session.stats).messages == 3

    def test_what_is_no_id_is_refused_and_nothing_changes(self, session: Scope, call: Call) -> None:
        call(session.messages.append, TALK)
        bad: list[Any] = [5, None, " ", ["q1"]]
        for verb in (session.messages.withdraw, session.messages.restore):
            for each in bad:
                with pytest.raises(InvalidInputError):
                    call(verb, "q1", each)
            assert call(verb) == 0
        assert call(session.messages.count) == 5

    def test_a_withdrawal_is_told_as_one_change(self, memory: wmem.AgentMemory, call: Call) -> None:
        session = memory.scope("s")
        call(session.messages.append, TALK)
        cursors = call(memory.changes).cursors
        call(session.messages.withdraw, "q1", "a1")
        call(session.messages.restore, "a1")
        changes = [event.change for event in call(memory.changes, cursors).events]
        assert [type(each) for each in changes] == [wmem.events.MessagesWithdrawn, wmem.events.MessagesRestored]
        assert [each.ids for each in changes] == [("q1", "a1"), ("a1",)]

    def test_messages_that_are_moved_stand_at_the_end_in_the_order_named_and_are_what_they_were(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        messages = open_memory().scope("s").messages
        stored = {message.id: message for message in call(messages.append, TALK)}
        call(messages.withdraw, "a2")
        assert call(messages.move_to_end, "q2", "q1", "a2", "nobody", "q2") == 2
        for each in (messages, open_memory.in_other_process().scope("s").messages):
            assert call(each.all) == [stored[id] for id in ("s", "a1", "q2", "q1")]
            assert call(each.withdrawn) == [stored["a2"]]
        call(messages.append, [say("And now?", "q3")])
        assert call(messages.move_to_end, "q3") == 1
        assert ids(call(messages.all)) == ["s", "a1", "q2", "q1", "q3"]
        assert call(messages.move_to_end) == 0

    def test_recall_and_requests_go_on_where_moved_messages_stand(self, session: Scope, call: Call) -> None:
        call(session.messages.append, TALK)
        call(session.messages.move_to_end, "q1", "a1")
        context = call(session.pack, budget=2000)
        assert [message.id for message in context.messages] == ["s", "q2", "a2", "q1", "a1"]
        assert "q1" in {hit.id for hit in call(session.recall, "Biscuit")}
        with pytest.raises(InvalidInputError):
            call(session.messages.move_to_end, " ")
