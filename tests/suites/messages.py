"""Suite of messages: in the journal's order, each id once, kept until removed."""

from contextlib import suppress
from typing import Any

import pytest

import wmem
from wmem import InvalidInputError, Message, Part, Scope, ToolCall
from wmem.testing.suite import NOON, Call, Clock, FacetSuite, MemoryOpener

__all__ = ["MessagesSuite"]

FULL: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief.", "id": "m0", "pinned": True},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}},
        ],
        "name": "ada",
        "id": "m1",
        "turn_id": "t1",
        "thread_id": "th",
        "metadata": {"client": {"version": 2}},
        "created_at": "2026-01-02T03:04:05Z",
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{ "at": "a.png"}'}},
            {"id": "c2", "type": "function", "function": {"name": "look", "arguments": "not json"}},
        ],
        "id": "m2",
        "turn_id": "t1",
    },
    {"role": "tool", "tool_call_id": "c1", "content": "a dog", "name": "look", "id": "m3", "turn_id": "t1"},
    {"role": "tool", "tool_call_id": "c2", "content": "", "id": "m4", "turn_id": "t1"},
    {"role": "assistant", "content": "A d", "id": "m5", "complete": False, "turn_id": "t1"},
]


def user_message(text: str, **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **fields}


def texts(messages: list[Message]) -> list[str]:
    return [message.text for message in messages]


class MessagesSuite(FacetSuite):
    """Messages are stored unchanged, once per id, and a list of them atomically."""

    def test_one_message_gives_one_and_several_give_several(self, session: Scope, call: Call) -> None:
        one = call(session.messages.append, user_message("a"))
        several = call(session.messages.append, [user_message("b"), {"role": "assistant", "content": "c"}])
        assert isinstance(one, Message)
        assert texts([one, *several]) == ["a", "b", "c"]
        assert all(message.id and message.created_at == NOON for message in [one, *several])
        assert call(session.messages.all) == [one, *several]
        nothing: list[dict[str, Any]] = []
        assert call(session.messages.append, nothing) == []

    def test_every_key_of_a_dictionary_is_kept(self, open_memory: MemoryOpener, call: Call) -> None:
        stored = call(open_memory().scope("s").messages.append, FULL)
        read = call(open_memory.in_other_process().scope("s").messages.all)
        assert read == stored
        assert [message.id for message in read] == ["m0", "m1", "m2", "m3", "m4", "m5"]
        asked, called, answered = read[1], read[2], read[3]
        assert (asked.name, asked.turn_id, asked.thread_id) == ("ada", "t1", "th")
        assert (asked.metadata, asked.created_at) == ({"client": {"version": 2}}, 1_767_323_045.0)
        assert [part.kind for part in asked.parts] == ["text", "image"]
        assert [each.arguments for each in called.tool_calls] == ['{ "at": "a.png"}', "not json"]
        assert (answered.tool_call_id, answered.name, answered.text) == ("c1", "look", "a dog")
        assert read[0].pinned is True
        assert read[5].complete is False
        assert [message.to_openai()["role"] for message in read] == [each["role"] for each in FULL]
        assert read[1].to_openai()["content"] == FULL[1]["content"]

    def test_a_message_in_neutral_form_is_stored_as_it_is(self, session: Scope, call: Call) -> None:
        message = Message(
            role="assistant",
            parts=(
                Part(kind="reasoning", text="hm", signature="c2ln"),
                Part(text="I look."),
                Part(kind="file", base64="QUJD", mime_type="application/pdf"),
                Part(kind="other", data={"type": "weird", "n": [1, None]}),
            ),
            tool_calls=(ToolCall(id="c1", name="look"),),
            native=wmem.Native(framework="x", data={"a": [1.5]}),
            metadata={"usage": {"input_tokens": 3}},
            id="m",
            created_at=5.0,
        )
        assert call(session.messages.append, message) == message
        assert call(session.messages.all) == [message]
        assert call(session.messages.get, "m") == message
        assert call(session.messages.get, "other") is None

    def test_a_number_in_metadata_that_json_has_no_word_for_is_kept(self, session: Scope, call: Call) -> None:
        call(session.messages.append, {**user_message("a"), "metadata": {"score": float("inf")}})
        (read,) = call(session.messages.all)
        assert read.metadata == {"score": float("inf")}

    def test_an_id_that_is_there_is_updated_in_its_place(self, session: Scope, call: Call) -> None:
        call(session.messages.append, [user_message("a", id="1"), user_message("b", id="2"), user_message("c", id="3")])
        call(session.messages.append, user_message("B", id="2", created_at=5))
        assert texts(call(session.messages.all)) == ["a", "B", "c"]
        assert call(session.messages.get, "2").created_at == NOON
        assert call(session.messages.count) == 3

    def test_the_same_messages_again_write_nothing(self, session: Scope, call: Call) -> None:
        stored = call(session.messages.append, FULL)
        before = call(session.view).cursor
        call(session.messages.append, FULL)
        call(session.messages.append, stored)
        assert call(session.view).cursor == before

    def test_a_message_that_another_process_took_out_is_there_when_it_is_appended_again(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        here, there = open_memory().scope("s").messages, open_memory.in_other_process().scope("s").messages
        call(here.append, user_message("a", id="1"))
        assert call(there.remove, "1") is True
        call(here.append, user_message("a", id="1"))
        assert texts(call(there.all)) == ["a"]

    def test_a_message_that_another_process_changed_reads_as_it_was_appended_last(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        here, there = open_memory().scope("s").messages, open_memory.in_other_process().scope("s").messages
        call(here.append, user_message("a", id="1"))
        call(there.append, user_message("changed", id="1"))
        call(here.append, user_message("a", id="1"))
        assert texts(call(there.all)) == ["a"]

    def test_a_limit_gives_the_newest_oldest_first(self, session: Scope, call: Call) -> None:
        call(session.messages.append, [user_message(str(number)) for number in range(5)])
        assert texts(call(session.messages.all, 2)) == ["3", "4"]
        assert texts(call(session.messages.all, limit=9)) == ["0", "1", "2", "3", "4"]
        assert call(session.messages.all, 0) == []
        bad: list[Any] = [-1, "2", 1.5, True]
        for limit in bad:
            with pytest.raises(InvalidInputError, match="limit"):
                call(session.messages.all, limit)

    def test_a_turn_begins_with_each_user_message(self, session: Scope, call: Call) -> None:
        call(session.messages.append, Message.of("assistant", "hello"))
        for number in range(2):
            call(session.messages.append, [user_message(f"q{number}"), {"role": "assistant", "content": f"a{number}"}])
        assert [texts(turn) for turn in call(session.messages.turns)] == [["hello"], ["q0", "a0"], ["q1", "a1"]]

    def test_messages_of_one_turn_id_stand_together_although_two_workers_interleave(
        self, session: Scope, call: Call
    ) -> None:
        for text, turn in (("a1", "a"), ("b1", "b"), ("a2", "a"), ("b2", "b")):
            call(session.messages.append, user_message(text, turn_id=turn))
        assert [texts(turn) for turn in call(session.messages.turns)] == [["a1", "a2"], ["b1", "b2"]]
        assert texts(call(session.messages.all)) == ["a1", "b1", "a2", "b2"]

    def test_a_replacement_takes_the_place_of_the_whole_conversation(self, session: Scope, call: Call) -> None:
        call(session.messages.append, [user_message("a", id="1"), user_message("b", id="2")])
        call(session.items.add, "an item stays")
        call(session.messages.replace, [user_message("B", id="2"), user_message("c")])
        assert texts(call(session.messages.all)) == ["B", "c"]
        call(session.messages.replace, [])
        assert call(session.messages.all) == []
        assert call(session.items.count) == 1

    def test_a_replacement_that_continues_the_conversation_writes_only_what_is_new(
        self, memory: wmem.AgentMemory, session: Scope, call: Call
    ) -> None:
        stored = call(session.messages.append, [user_message(str(number)) for number in range(50)])
        cursors = call(memory.changes).cursors
        call(session.messages.replace, [*stored, user_message("new")])
        written = [type(event.change).__name__ for event in call(memory.changes, cursors).events]
        assert written == ["ItemPut"]
        cursors = call(memory.changes).cursors
        call(session.messages.replace, call(session.messages.all))
        assert call(memory.changes, cursors).events == ()
        assert call(session.messages.count) == 51

    def test_pop_takes_the_newest_until_there_is_none(self, session: Scope, call: Call) -> None:
        call(session.messages.append, [user_message("a"), user_message("b")])
        assert call(session.messages.pop).text == "b"
        assert call(session.messages.pop).text == "a"
        assert call(session.messages.pop) is None

    def test_remove_takes_one_out_once(self, session: Scope, call: Call) -> None:
        call(session.messages.append, [user_message(text, id=text) for text in "abc"])
        item = call(session.items.add, "x")
        assert call(session.messages.remove, "b") is True
        assert call(session.messages.remove, "b") is False
        assert call(session.messages.remove, item.id) is False
        assert texts(call(session.messages.all)) == ["a", "c"]

    def test_clear_says_how_many_there_were(self, session: Scope, call: Call) -> None:
        call(session.messages.append, [user_message("a"), user_message("b")])
        assert call(session.messages.clear) == 2
        assert call(session.messages.clear) == 0
        assert call(session.messages.count) == 0

    def test_messages_never_come_from_a_parent(self, session: Scope, call: Call) -> None:
        call(session.messages.append, user_message("a"))
        child = session.child("c")
        assert call(child.messages.all) == []
        assert call(child.messages.count) == 0

    def test_all_or_none_of_several_is_stored(self, session: Scope, call: Call) -> None:
        bad: list[Any] = [
            [user_message("fine"), {"role": "nobody", "content": "x"}],
            [user_message("fine"), {"role": "user", "nonsense": 1}],
            [user_message("fine"), {"role": "tool", "content": b"x", "tool_call_id": "c"}],
            [user_message("fine"), user_message("x", id=" ")],
            [user_message("fine"), user_message("x", created_at="yesterday")],
            [user_message("fine"), "x"],
            "x",
            None,
            5,
        ]
        for given in bad:
            with pytest.raises(InvalidInputError):
                call(session.messages.append, given)
            with pytest.raises(InvalidInputError):
                call(session.messages.replace, given)
        assert call(session.messages.count) == 0

    def test_a_key_of_the_wrong_type_gets_the_typed_error(self, session: Scope, call: Call) -> None:
        bad: list[dict[str, Any]] = [{"id": 5}, {"pinned": "perhaps"}, {"turn_id": 5}, {"metadata": 5}, {"name": 5}]
        for fields in bad:
            with pytest.raises(InvalidInputError):
                call(session.messages.append, user_message("x", **fields))
        assert call(session.messages.count) == 0

    def test_a_message_under_the_id_of_an_item_or_entry_is_refused(self, session: Scope, call: Call) -> None:
        item = call(session.items.add, "an item")
        call(session.entries.set, "k", "a value")
        kept = call(session.messages.append, user_message("stays"))
        there = call(session.view).cursor
        for taken in (item.id, call(session.entries.entry, "k").id):
            for attempt in (
                lambda taken=taken: session.messages.append([user_message("new"), user_message("x", id=taken)]),
                lambda taken=taken: session.messages.replace([user_message("x", id=taken)]),
                lambda taken=taken: session.messages.replace([kept, user_message("x", id=taken)]),
            ):
                with pytest.raises(InvalidInputError, match=taken):
                    call(attempt)
        assert call(session.view).cursor == there
        assert call(session.items.get, item.id).content == "an item"
        assert call(session.entries.get, "k") == "a value"
        assert call(session.messages.all) == [kept]

    def test_a_message_under_the_id_of_an_item_that_another_process_added_leaves_the_item(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        here, there = open_memory().scope("s"), open_memory.in_other_process().scope("s")
        call(here.messages.append, user_message("a"))
        call(there.messages.count)
        item = call(here.items.add, "an item")
        with suppress(InvalidInputError):
            call(there.messages.append, user_message("x", id=item.id))
        assert call(here.items.get, item.id).content == "an item"

    def test_an_append_tells_what_is_stored(self, session: Scope, call: Call, clock: Clock) -> None:
        call(session.messages.append, user_message("first", id="m"))
        clock.advance(60)
        told = call(session.messages.append, user_message("second", id="m"))
        assert told.created_at == NOON
        assert told == call(session.messages.get, "m")
        several: Any = [told, user_message("new", created_at=5)]
        assert call(lambda: session.messages.append(several)) == call(session.messages.all)

    def test_an_append_tells_what_is_stored_although_another_process_was_first(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        here, there = open_memory().scope("s"), open_memory.in_other_process().scope("s")
        call(here.messages.append, user_message("a"))
        call(there.messages.count)
        call(here.messages.append, user_message("first", id="m"))
        clock.advance(60)
        told = call(there.messages.append, user_message("second", id="m"))
        assert told == call(there.messages.get, "m")

    @pytest.mark.parametrize("role", ["user", "system"])
    def test_a_note_that_was_sent_is_not_stored_and_what_was_said_is(
        self, session: Scope, call: Call, role: Any
    ) -> None:
        call(session.entries.set, "dog", "The dog is called Biscuit.")
        context = call(session.pack, "dog", budget=500, note_role=role)
        (note,) = context.to_openai()
        assert "Biscuit" in note["content"]
        told = call(
            session.messages.append, [note, user_message("Is <recalled> a tag?"), note, user_message("And this?")]
        )
        assert [message.text for message in told] == [context.note, "Is <recalled> a tag?", context.note, "And this?"]
        assert call(session.messages.all) == [told[1], told[3]]
        call(session.messages.replace, [note, told[3]])
        assert call(session.messages.all) == [told[3]]
        marked = context.note_message()
        assert call(session.messages.append, marked) == marked
        assert call(session.messages.all) == [told[3]]

    def test_whoever_pastes_a_note_has_said_it(self, session: Scope, call: Call) -> None:
        call(session.entries.set, "dog", "The dog is called Biscuit.")
        (note,) = call(session.pack, "dog", budget=500).to_openai()
        kept = call(session.messages.append, note)
        assert kept.id is not None
        assert call(session.messages.all) == [kept]
        assert [message.text for message in call(session.pack, budget=500).messages] == [note["content"]]

    def test_the_last_of_an_append_stands_whatever_was_stored_under_its_id(self, session: Scope, call: Call) -> None:
        call(session.messages.append, {"role": "user", "content": "a", "id": "1"})
        twice = [{"role": "user", "content": text, "id": "1"} for text in ("b", "a")]
        call(session.messages.append, twice)
        assert [message.text for message in call(session.messages.all)] == ["a"]

    def test_a_message_never_takes_the_place_of_an_item_or_an_entry(self, session: wmem.Scope, call: Call) -> None:
        item = call(session.items.add, "an item")
        call(session.entries.set, "k", "a value")
        entry = call(session.entries.entry, "k")
        for taken in (item.id, entry.id):
            try:
                call(session.messages.append, {"id": taken, "role": "user", "content": "a message"})
            except InvalidInputError:
                continue
        assert call(session.items.get, item.id).content == "an item"
        assert call(session.entries.get, "k") == "a value"
