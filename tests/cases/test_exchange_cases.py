"""Recall finds exchanges: a question with its answer, a call with its result; and nothing where nothing is known."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

import wmem
from wmem.retrieval.arrays import ListOps
from wmem.retrieval.neighbors import NeighborGraph

NOW = 1_700_000_000.0
THANKS = ("Thank you!", "You are welcome.", "Thanks a lot.", "Any time.", "Great, thanks.")


@pytest.fixture
def memory() -> Iterator[wmem.AgentMemory]:
    with wmem.open("memory://", agent_id="agent", clock=lambda: NOW) as opened:
        yield opened


@pytest.fixture
def session(memory: wmem.AgentMemory) -> wmem.Scope:
    return memory.scope("session")


def say(session: wmem.Scope, *texts: str) -> None:
    """Messages of the user and the assistant in turn."""
    session.messages.append([{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)])


def chat(session: wmem.Scope, exchanges: int) -> None:
    for number in range(exchanges):
        say(session, f"Tell me a story about part {number} of the town", f"Part {number} has a tower and a market.")


def look_up(  # noqa: PLR0917  # as a table
    session: wmem.Scope, request: str, tool: str, arguments: dict[str, Any], result: str, answer: str
) -> None:
    call = {"id": f"call-{request}", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
    session.messages.append(
        [
            {"role": "user", "content": request},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": result},
            {"role": "assistant", "content": answer},
        ]
    )


@pytest.mark.parametrize("question", ["How much was my refund for R7?", "How much was the refund for R7?"])
def test_b140_an_answer_of_the_assistant_is_found_by_a_question_in_the_first_person(
    session: wmem.Scope, question: str
) -> None:
    for number in range(30):
        say(
            session,
            f"I want to change reservation R{number}",
            f"Reservation R{number}: flight X{number}, refund {number} dollars",
            *THANKS * 2,
        )
    assert "refund 7 dollars" in session.pack(question, budget=1_024).note


def test_b141_what_is_asked_again_word_for_word_brings_the_answer_of_then(session: wmem.Scope) -> None:
    question = "Which paint did you say dries fastest on damp walls?"
    say(session, question, "Limewash: it lets the wall breathe and is dry after two hours.")
    chat(session, 100)
    for budget in (512, 1_024):
        packed = session.pack(question, budget=budget)
        assert "Limewash" in packed.note
        assert question in packed.note, "and the question before it"
        assert packed.note.index(question) < packed.note.index("Limewash")


@pytest.mark.parametrize("long", [False, True])
def test_a_call_that_matches_comes_with_its_result_whole(session: wmem.Scope, *, long: bool) -> None:
    for number in range(20):
        parts = {f"segment {leg}": f"HAT{number}{leg}" for leg in range(20 if long else 2)}
        result = json.dumps({"passenger": "A. Reader", **parts})
        look_up(
            session,
            f"Now look at the next one, {number}",
            "get_reservation",
            {"id": f"RES{number:02}"},
            result,
            "Done.",
        )
        say(session, *THANKS[:2])
    note = session.pack("Which flights am I booked on with RES07?", budget=1_024, recent=0).note
    assert "HAT70" in note
    assert "HAT71" in note
    assert not long or "HAT719" in note, "a record is quoted whole up to half of the room"


def test_what_a_tool_told_the_user_counts_as_the_users(session: wmem.Scope) -> None:
    look_up(session, "What do I have?", "list_accounts", {}, '{"account": "savings", "balance": 1204}', "See above.")
    for number in range(40):
        say(session, f"I thought about my account again, day {number}", "I see.")
    assert "1204" in session.pack("What is the balance of my account?", budget=700, recent=0).note


def test_an_answer_that_stands_for_its_question_takes_a_tenth_of_the_budget(session: wmem.Scope) -> None:
    question = "How do I prune an old apple tree without harming it?"
    say(session, question, " ".join(f"Step {step}: cut branch {step} close to its collar." for step in range(200)))
    chat(session, 10)
    packed = session.pack(question, budget=1_024, recent=0, tail=0)
    (answer,) = [unit for unit in packed.truncated if "answer" in unit.parts]
    assert 30 < answer.tokens <= 1_024 // 8


def test_parts_of_a_score_say_what_an_exchange_added(session: wmem.Scope) -> None:
    look_up(session, "Find RES07 for me", "get_reservation", {"id": "RES07"}, '{"seat": "12A"}', "You sit at 12A.")
    chat(session, 20)
    hits = session.recall("Where do I sit with RES07?")
    added = {hit.text: hit.parts for hit in hits}
    assert "exchange" in added["Find RES07 for me"]
    assert {*added['{"seat": "12A"}']} & {"result", "answer", "exchange"}
    for hit in hits:
        factors = [value for name, value in hit.parts.items() if name.startswith("x ")]
        total = sum(value for name, value in hit.parts.items() if not name.startswith("x ") and name != "exchange")
        for factor in factors:
            total *= factor
        assert hit.score == pytest.approx(total + hit.parts.get("exchange", 0.0))


# -- silence


def test_b145_of_thirty_memories_a_question_with_one_weak_word_in_common_brings_none(session: wmem.Scope) -> None:
    for number in range(30):
        session.items.add(f"The user thinks a lot about project number {number} these days", ttl_s=None)
    packed = session.pack("What does the user like to eat for breakfast on weekend mornings in winter?", budget=2_000)
    assert packed.note == ""
    assert packed.dropped.totals["floor"] == 30


def test_a_question_of_another_conversation_is_answered_with_silence(session: wmem.Scope) -> None:
    chat(session, 60)
    packed = session.pack(
        "Which vaccine schedule did the veterinarian recommend before our market trip with the puppies?",
        budget=400,
        tail=0,
    )
    assert packed.note == ""
    below = [unit for unit in packed.explain(all=True).units if unit.score is not None]
    assert "floor" in {unit.rule for unit in below}
    assert "recalled" not in {unit.rule for unit in below}, "only the newest messages fill the room"


def test_the_floor_can_be_switched_off_and_lets_questions_with_a_date_through(memory: wmem.AgentMemory) -> None:
    session = memory.scope("off", policy=wmem.Policy(recall=wmem.RecallProfile(question_floor=0, score_floor=0)))
    chat(session, 60)
    asked = "Which vaccine schedule did the veterinarian recommend before our market trip with the puppies?"
    assert session.pack(asked, budget=400, tail=0).note
    told = memory.scope("told")
    chat(told, 60)
    told.messages.append({"role": "user", "content": "Went to the market", "created_at": NOW - 86_400.0})
    chat(told, 60)
    dated = "Which vaccine schedule did the veterinarian recommend yesterday before our market trip with the puppies?"
    assert "Went to the market" in told.pack(dated, budget=400, tail=0).note


# -- one ranking over scopes


def test_a_word_is_as_rare_as_in_all_scopes_together(memory: wmem.AgentMemory) -> None:
    session = memory.scope("session")
    child = session.child("task")
    for number in range(20):
        session.items.add(f"lantern report {number} of the harbour office", ttl_s=None)
    session.items.add("the harbour office closes at noon", ttl_s=None)
    child.items.add("lantern oil is in the shed", ttl_s=None)
    for number in range(5):
        child.items.add(f"note {number} on other things", ttl_s=None)
    first = child.recall("lantern noon")[0]
    assert first.text == "the harbour office closes at noon", "in the child alone, lantern would be the rarer word"


def test_a_word_is_no_less_rare_for_the_messages_of_a_parent_which_are_not_seen_from_below(
    memory: wmem.AgentMemory,
) -> None:
    session = memory.scope("session")
    child = session.child("task")
    session.entries["shed"] = "the lantern is in the shed"
    say(session, *[f"lantern talk, part {number}" for number in range(100)])
    say(child, "My favourite lantern is blue", *[f"a fine day, the {number}th" for number in range(40)])
    assert "lantern is blue" in child.pack("Describe the lantern", budget=400, recent=0, tail=0).note


def test_what_a_parent_knows_is_found_however_many_of_its_messages_match_better(memory: wmem.AgentMemory) -> None:
    session = memory.scope("session")
    child = session.child("task")
    session.entries["shed"] = "the lantern is kept in the shed behind the old house of the gardener"
    say(session, *[f"lantern talk {number}" for number in range(600)])
    assert [hit.text for hit in child.recall("where is the lantern")] == [
        "shed: the lantern is kept in the shed behind the old house of the gardener"
    ]


def test_a_short_exchange_that_is_asked_again_comes_before_long_ones_with_records(session: wmem.Scope) -> None:
    for number in range(8):
        look_up(
            session,
            f"Sure, my customer number is {number}417, and I do not have the order number with me at the moment",
            "orders",
            {"customer": f"{number}417"},
            json.dumps([{"order": f"W{number}{each}"} for each in range(12)]),
            "I have your orders.",
        )
    say(session, "Sure, customer number 9031", "Thank you. Which bicycle shall it be?")
    chat(session, 6)
    assert "Which bicycle shall it be?" in session.pack("sure, customer number", budget=600, tail=0).note


# -- priority


def test_priority_decides_between_near_equal_items(session: wmem.Scope) -> None:
    for number in range(12):
        session.items.add(f"something else altogether, {number}", ttl_s=None)
    session.items.add("the backup runs at night in the cellar", priority="low", ttl_s=None)
    session.items.add("the backup runs at night in the attic", priority="critical", ttl_s=None)
    session.items.add("the backup runs at night in the garage", priority="medium", ttl_s=None)
    hits = session.recall("When does the backup run?", limit=3)
    assert [hit.text.split()[-1] for hit in hits] == ["attic", "garage", "cellar"]
    assert [hit.score for hit in hits] == sorted([hit.score for hit in hits], reverse=True)
    note = session.pack("When does the backup run?", budget=2_000).note
    assert "attic" in note


def test_parts_of_a_score_add_up_where_an_exchange_and_the_order_of_items_add_to_it(session: wmem.Scope) -> None:
    for number in range(4):
        session.items.add(f"which gearbox is in the car {number}", type="user_message")
        session.items.add("I look", type="tool_call")
        session.items.add(
            f"gearbox number {number} car", type="tool_result", priority="high" if number == 2 else "medium"
        )
    for number in range(20):
        session.items.add(f"something else entirely, number {number}", type="fact")
    hits = session.recall("which gearbox is in the car", limit=30)
    assert any({"exchange", "near-equal"} <= hit.parts.keys() for hit in hits)
    for hit in hits:
        assert hit.score == pytest.approx(sum(hit.parts.values())), hit.parts


def test_a_loop_of_thousands_of_calls_is_no_single_exchange(session: wmem.Scope) -> None:
    session.messages.append({"role": "user", "content": "Find the broken gearbox"})
    for number in range(2_000):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        told = f"gearbox {number} is {'broken' if number % 100 == 7 else 'fine'}"
        session.messages.append(
            [
                {"role": "assistant", "content": "", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": f"c{number}", "content": told},
            ]
        )
    hits = session.recall("broken gearbox", limit=4_000)
    assert "broken" in hits[0].text
    assert 50 < sum(not {"exchange", "result"}.isdisjoint(hit.parts) for hit in hits) < 600


def test_without_a_floor_a_match_with_a_negative_score_is_quoted(session: wmem.Scope) -> None:
    say(session, "the red fox of the alpha forest")
    chat(session, 10)
    say(session, "a red fox was in the alpha forest, the fox of the forest")
    profile = wmem.RecallProfile.balanced(recency=0, importance=0, duplication=3)
    packed = session.pack("alpha forest fox", budget=300, recent=0, tail=0.2, scoring=profile)
    (quoted,) = [unit for unit in packed.included if unit.rule == "recalled" and "the red fox of" in unit.says]
    assert quoted.score is not None
    assert quoted.score < 0


def test_nothing_is_left_of_the_name_of_a_thread_whose_messages_are_gone() -> None:
    graph = NeighborGraph()
    for id, role in (("m1", "user"), ("m2", "tool")):
        graph.put(id, "a text", role=role, name=None, thread="alice@example.com", at=0.0, tokens=3)
    graph.remove("m1")
    assert graph.exchanges.has_records
    graph.remove("m2")
    assert "alice" not in repr((vars(graph), vars(graph.exchanges)))
    assert not graph.exchanges.has_records


@pytest.mark.parametrize("values", [[], [-2.0, -1.0], [-1.0, 3.0]])
def test_the_largest_of_lists_and_arrays_is_the_same(values: list[float]) -> None:
    numpy = pytest.importorskip("wmem.retrieval.arrays_numpy", exc_type=ImportError)
    arrays = numpy.NumpyOps(1)
    assert ListOps().maximum(values) == arrays.maximum(arrays.floats(values)) == max(0.0, *values, 0.0)
