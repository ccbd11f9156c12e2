"""Facts and skills reach semantic memory, and little else does, over what agents memorize while they work."""

from collections.abc import Iterator
from typing import Any

import pytest

import wmem
from tests.shop_traces import Shop

KNOWLEDGE = "semantic"
EXPERIENCE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("The guest wants to cancel the booking, but has no number at hand.", {"type": "observation"}),
    ("Customer called twice today about the late parcel.", {"type": "Observation", "source": "user"}),
    ("Sent the receipt for the third night again.", {"type": "action"}),
    ("changed flight of booking to the noon one", {"type": "ACTION", "source": "model"}),
    ('{"status": "refunded", "amount": 120}', {"type": "tool_result", "source": "tool"}),
    ('get_order({"order_id": "W-7731"})', {"type": "tool_call", "source": "tool"}),
    ("returned 200 in 0.3 s", {"type": "metric"}),
    ("Refund went through after the second try.", {"type": "outcome"}),
    ("Escalated to the night shift.", {"type": "event", "kind": "event"}),
    ("The parcel scanner was down from 9 to 10.", {}),
)
TRANSIENT: tuple[tuple[str, dict[str, Any]], ...] = (
    ("First look the order up, then ask which item goes back.", {"type": "plan"}),
    ("The number looks like one of the old shop.", {"type": "thought"}),
    ("I should not promise a refund yet.", {"type": "Thought"}),
)
DISTILLED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Gift cards cannot be refunded to a bank account.", {"type": "fact"}),
    ("Basic fares allow no change of date.", {"type": "Fact", "source": "tool"}),
    ("Ada prefers an aisle seat.", {"type": "observation", "kind": "preference"}),
    ("Asked for short answers, in German.", {"type": "preference"}),
    ("No: the warehouse in Basel closed, not the one in Bern.", {"kind": "correction"}),
    ("Late parcels mostly come through the same depot.", {"type": "pattern"}),
    ("Guests who ask for the invoice twice want it on paper.", {"kind": "insight"}),
    ("To exchange goods: look up the order, compare kinds, then exchange.", {"type": "skill"}),
    ("To refund a stay: find the invoice, convert the currency, refund.", {"type": "SKILL"}),
    ("The talk was about two bookings; one was cancelled.", {"type": "summary"}),
    ("Opening hours of the depot are 7 to 19.", {"type": "facts"}),
)


def drafts() -> Iterator[tuple[str, dict[str, Any], str]]:
    """What is memorized, and the store that it belongs to."""
    for store, texts in (("episodic", EXPERIENCE), ("working", TRANSIENT), (KNOWLEDGE, DISTILLED)):
        for number, (text, fields) in enumerate(texts * 4):
            yield f"{text} ({number // len(texts)})", fields, store


def test_ninety_five_of_a_hundred_items_that_reach_semantic_memory_are_knowledge_and_all_knowledge_does() -> None:
    reached = right = knowledge = 0
    with wmem.open("memory://", agent_id="a") as memory:
        for text, fields, store in drafts():
            stored = memory.memorize({"content": text, **fields}).stored
            reached += KNOWLEDGE in stored
            right += KNOWLEDGE in stored and store == KNOWLEDGE
            knowledge += store == KNOWLEDGE
            assert store in stored, (text, dict(stored))
    assert right >= 0.95 * reached
    assert right >= 0.95 * knowledge


SPELLED: tuple[tuple[dict[str, Any], dict[str, Any] | None, str], ...] = (
    ({"type": "user_preference"}, None, KNOWLEDGE),
    ({"type": "UserPreference"}, None, KNOWLEDGE),
    ({"type": "semantic-fact"}, None, KNOWLEDGE),
    ({"type": "Learned Skills"}, None, KNOWLEDGE),
    ({"kind": "Preference"}, None, KNOWLEDGE),
    ({"kind": " CORRECTION "}, None, KNOWLEDGE),
    ({"metadata": {"type": "Fact"}}, None, KNOWLEDGE),
    ({}, {"type": "skill"}, KNOWLEDGE),
    ({}, {"kind": "insight"}, KNOWLEDGE),
    ({"type": "UserMessage"}, None, "conversation"),
    ({"type": "assistant message"}, None, "conversation"),
    ({"type": "fact_check"}, None, "episodic"),
    ({"type": "ToolResult"}, {"kind": "event"}, "episodic"),
    ({"type": "action"}, {"type": "fact"}, "episodic"),
    ({"metadata": {"type": "invoice"}}, {"note": "fact"}, "episodic"),
    ({}, {"topic": "preference"}, "episodic"),
)


@pytest.mark.parametrize(("fields", "metadata", "store"), SPELLED)
@pytest.mark.parametrize("text", ["Ada trinkt lieber Tee.", "Ada prefiere el pasillo.", "艾达喜欢靠过道的座位。"])
def test_however_a_type_is_spelled_and_wherever_it_is_named_an_item_goes_where_it_belongs(
    text: str, fields: dict[str, Any], metadata: dict[str, Any] | None, store: str
) -> None:
    with wmem.open("memory://", agent_id="a") as memory, memory.turn("s") as turn:
        assert set(turn.memorize({"content": text, **fields}, metadata).stored) == {store}


def test_what_metadata_name_as_knowledge_is_promoted_as_such() -> None:
    with wmem.open("memory://", agent_id="a") as memory:
        with memory.turn("s") as turn:
            turn.memorize({"content": "Ada prefers tea."}, {"type": "user preference"}, store="working")
        session = memory.scope("s")
        [item] = session.items.all()
        session.items.promote(item.id)
        assert [each.content for each in memory.semantic.items.all()] == ["Ada prefers tea."]


def test_skills_that_are_mined_from_traces_reach_semantic_memory_and_nothing_of_the_traces_does() -> None:
    now = 0.0
    shop = Shop(2)
    with wmem.open("memory://", agent_id="a", clock=lambda: now) as memory:
        for thread, calls in shop.make_traces(40).items():
            with memory.turn(thread) as turn:
                for call in calls:
                    now = call.at
                    result, error = (None, call.result) if call.failed else (call.result, None)
                    turn.track_tool_invocation(call.tool, call.parameters, result, error)
        memory.maintain(["extract-skills"])
        items = memory.semantic.items.all()
        assert len(items) >= 4
        assert {each.type for each in items} == {"skill"}
        assert [each for each in shop.values if each in f"{items}"] == []
