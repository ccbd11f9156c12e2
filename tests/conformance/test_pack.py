"""What a pack makes of a scope and of a framework's own view of it."""

from typing import Any

import wmem
from tests.conformance.conftest import Call


def _said(context: wmem.Context) -> list[str]:
    return [message.text for message in context.messages]


def _talk(count: int) -> list[dict[str, Any]]:
    return [{"role": "user", "content": f"message {number}", "id": f"m{number}"} for number in range(count)]


def test_what_the_model_answers_now_is_newest_wherever_it_is_stored(memory: wmem.AgentMemory, call: Call) -> None:
    session = memory.scope("s")
    call(session.messages.append, _talk(200))
    asked = {"role": "user", "content": "message 3, asked again", "id": "m3"}
    context = call(session.pack, budget=200, messages=[asked])
    assert _said(context)[-1] == "message 3, asked again"
    assert "message 3" not in _said(context)
    assert context.tokens <= 200


def test_a_live_message_that_is_not_stored_stands_where_the_framework_has_it(
    memory: wmem.AgentMemory, call: Call
) -> None:
    session = memory.scope("s")
    call(session.messages.append, _talk(4))
    live = [
        {"role": "user", "content": "message 2", "id": "m2"},
        {"role": "assistant", "content": "said in passing"},
        {"role": "user", "content": "the question"},
    ]
    context = call(session.pack, budget=500, messages=live)
    assert _said(context) == ["message 0", "message 1", "message 2", "said in passing", "message 3", "the question"]
    assert call(session.messages.count) == 4


def test_a_pack_recalls_entries_and_items_of_the_parents_and_messages_of_none(
    memory: wmem.AgentMemory, call: Call
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


def test_an_expired_item_is_not_recalled_and_a_replaced_text_finds_nothing_more(
    memory: wmem.AgentMemory, call: Call, clock: Any
) -> None:
    session = memory.scope("s")
    item = call(session.items.add, "the zeppelin lands on Friday", ttl_s=60)
    assert "zeppelin" in call(session.pack, "zeppelin", budget=500).note
    call(session.items.update, item.id, content="the balloon lands on Friday")
    assert call(session.pack, "zeppelin", budget=500).note == ""
    assert "balloon" in call(session.pack, "balloon", budget=500).note
    clock.pass_(3_600 * 5)
    assert call(session.pack, "balloon", budget=500).note == ""


def test_a_blank_query_asks_nothing(memory: wmem.AgentMemory, call: Call) -> None:
    session = memory.scope("s")
    call(session.items.add, "something")
    assert call(session.pack, "  ", budget=500).note == ""
    assert call(session.pack, budget=500).note == ""
