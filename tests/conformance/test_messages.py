"""The conversation of a scope: in the journal's order, each id once, kept until somebody takes it out."""

from typing import Any

import pytest

import wmem
from tests.conformance.conftest import NOON, Call, Opening
from wmem import InvalidInputError, Message, Part, Scope, ToolCall

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


def said(text: str, **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **fields}


def texts(messages: list[Message]) -> list[str]:
    return [message.text for message in messages]


def test_one_message_gives_one_and_several_give_several(session: Scope, call: Call) -> None:
    one = call(session.messages.append, said("a"))
    several = call(session.messages.append, [said("b"), {"role": "assistant", "content": "c"}])
    assert isinstance(one, Message)
    assert texts([one, *several]) == ["a", "b", "c"]
    assert all(message.id and message.created_at == NOON for message in [one, *several])
    assert call(session.messages.all) == [one, *several]
    nothing: list[dict[str, Any]] = []
    assert call(session.messages.append, nothing) == []


def test_every_key_of_a_dictionary_is_kept(opening: Opening, call: Call) -> None:
    stored = call(opening().scope("s").messages.append, FULL)
    read = call(opening.elsewhere().scope("s").messages.all)
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


def test_a_message_in_neutral_form_is_stored_as_it_is(session: Scope, call: Call) -> None:
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


def test_an_id_that_is_there_is_updated_in_its_place(session: Scope, call: Call) -> None:
    call(session.messages.append, [said("a", id="1"), said("b", id="2"), said("c", id="3")])
    call(session.messages.append, said("B", id="2", created_at=5))
    assert texts(call(session.messages.all)) == ["a", "B", "c"]
    assert call(session.messages.get, "2").created_at == NOON
    assert call(session.messages.count) == 3


def test_the_same_messages_again_write_nothing(session: Scope, call: Call) -> None:
    stored = call(session.messages.append, FULL)
    before = call(session.view).cursor
    call(session.messages.append, FULL)
    call(session.messages.append, stored)
    assert call(session.view).cursor == before


def test_a_message_that_another_process_took_out_is_there_when_it_is_appended_again(
    opening: Opening, call: Call
) -> None:
    here, there = opening().scope("s").messages, opening.elsewhere().scope("s").messages
    call(here.append, said("a", id="1"))
    assert call(there.remove, "1") is True
    call(here.append, said("a", id="1"))
    assert texts(call(there.all)) == ["a"]


def test_a_message_that_another_process_changed_reads_as_it_was_appended_last(opening: Opening, call: Call) -> None:
    here, there = opening().scope("s").messages, opening.elsewhere().scope("s").messages
    call(here.append, said("a", id="1"))
    call(there.append, said("changed", id="1"))
    call(here.append, said("a", id="1"))
    assert texts(call(there.all)) == ["a"]


def test_a_limit_gives_the_newest_oldest_first(session: Scope, call: Call) -> None:
    call(session.messages.append, [said(str(number)) for number in range(5)])
    assert texts(call(session.messages.all, 2)) == ["3", "4"]
    assert texts(call(session.messages.all, limit=9)) == ["0", "1", "2", "3", "4"]
    assert call(session.messages.all, 0) == []
    bad: list[Any] = [-1, "2", 1.5, True]
    for limit in bad:
        with pytest.raises(InvalidInputError, match="limit"):
            call(session.messages.all, limit)


def test_a_turn_begins_with_each_user_message(session: Scope, call: Call) -> None:
    call(session.messages.append, Message.of("assistant", "hello"))
    for number in range(2):
        call(session.messages.append, [said(f"q{number}"), {"role": "assistant", "content": f"a{number}"}])
    assert [texts(turn) for turn in call(session.messages.turns)] == [["hello"], ["q0", "a0"], ["q1", "a1"]]


def test_messages_of_one_turn_id_stand_together_although_two_workers_interleave(session: Scope, call: Call) -> None:
    for text, turn in (("a1", "a"), ("b1", "b"), ("a2", "a"), ("b2", "b")):
        call(session.messages.append, said(text, turn_id=turn))
    assert [texts(turn) for turn in call(session.messages.turns)] == [["a1", "a2"], ["b1", "b2"]]
    assert texts(call(session.messages.all)) == ["a1", "b1", "a2", "b2"]


def test_a_replacement_takes_the_place_of_the_whole_conversation(session: Scope, call: Call) -> None:
    call(session.messages.append, [said("a", id="1"), said("b", id="2")])
    call(session.items.add, "an item stays")
    call(session.messages.replace, [said("B", id="2"), said("c")])
    assert texts(call(session.messages.all)) == ["B", "c"]
    call(session.messages.replace, [])
    assert call(session.messages.all) == []
    assert call(session.items.count) == 1


def test_a_replacement_that_continues_the_conversation_writes_only_what_is_new(
    memory: wmem.AgentMemory, session: Scope, call: Call
) -> None:
    stored = call(session.messages.append, [said(str(number)) for number in range(50)])
    cursors = call(memory.changes).cursors
    call(session.messages.replace, [*stored, said("new")])
    written = [type(event.change).__name__ for event in call(memory.changes, cursors).events]
    assert written == ["ItemPut"]
    cursors = call(memory.changes).cursors
    call(session.messages.replace, call(session.messages.all))
    assert call(memory.changes, cursors).events == ()
    assert call(session.messages.count) == 51


def test_pop_takes_the_newest_until_there_is_none(session: Scope, call: Call) -> None:
    call(session.messages.append, [said("a"), said("b")])
    assert call(session.messages.pop).text == "b"
    assert call(session.messages.pop).text == "a"
    assert call(session.messages.pop) is None


def test_remove_takes_one_out_once(session: Scope, call: Call) -> None:
    call(session.messages.append, [said(text, id=text) for text in "abc"])
    item = call(session.items.add, "x")
    assert call(session.messages.remove, "b") is True
    assert call(session.messages.remove, "b") is False
    assert call(session.messages.remove, item.id) is False
    assert texts(call(session.messages.all)) == ["a", "c"]


def test_clear_says_how_many_there_were(session: Scope, call: Call) -> None:
    call(session.messages.append, [said("a"), said("b")])
    assert call(session.messages.clear) == 2
    assert call(session.messages.clear) == 0
    assert call(session.messages.count) == 0


def test_messages_never_come_from_a_parent(session: Scope, call: Call) -> None:
    call(session.messages.append, said("a"))
    child = session.child("c")
    assert call(child.messages.all) == []
    assert call(child.messages.count) == 0


def test_all_or_none_of_several_is_stored(session: Scope, call: Call) -> None:
    bad: list[Any] = [
        [said("fine"), {"role": "nobody", "content": "x"}],
        [said("fine"), {"role": "user", "content": "x", "nonsense": 1}],
        [said("fine"), {"role": "tool", "content": b"x", "tool_call_id": "c"}],
        [said("fine"), said("x", id=" ")],
        [said("fine"), said("x", created_at="yesterday")],
        [said("fine"), "x"],
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


def test_a_key_of_the_wrong_type_gets_the_typed_error(session: Scope, call: Call) -> None:
    bad: list[dict[str, Any]] = [{"id": 5}, {"pinned": "perhaps"}, {"turn_id": 5}, {"metadata": 5}, {"name": 5}]
    for fields in bad:
        with pytest.raises(InvalidInputError):
            call(session.messages.append, said("x", **fields))
    assert call(session.messages.count) == 0
