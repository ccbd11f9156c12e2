"""Cases from public bug reports about prompts whose front is to stay as it is."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

import wmem

BUDGET = 4_000
MOST = BUDGET * 7 // 8
"""What the conversation may take, with a query."""


@pytest.fixture
def session() -> Iterator[wmem.Scope]:
    with wmem.open("memory://", agent_id="agent") as memory:
        yield memory.scope("session")


def turn(session: wmem.Scope, number: int, words: int) -> wmem.Context:
    """One tool-using turn, packed where the model answers it."""
    asked = {"id": f"c{number}", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    session.messages.append({"role": "user", "content": f"question {number}", "id": f"q{number}"})
    session.messages.append({"role": "assistant", "tool_calls": [asked], "id": f"a{number}"})
    found = " ".join(f"{number}.{word}" for word in range(words))
    session.messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": found, "id": f"t{number}"})
    context = session.pack(f"question {number}", budget=BUDGET, stable=True)
    session.messages.append({"role": "assistant", "content": f"answer {number}", "id": f"s{number}"})
    return context


def test_B61_old_outputs_leave_at_once_and_not_again_until_the_budget_is_reached_again(session: wmem.Scope) -> None:
    begins: list[str | None] = []
    sizes: list[int] = []
    for number in range(60):
        context = turn(session, number, words=40)
        begins.append(next(message.id for message in context.messages if message.id))
        sizes.append(context.sizes["messages"])
    moved = [at for at in range(1, 60) if begins[at] != begins[at - 1]]
    assert len(moved) > 2
    # What fits whole is sent whole: the first move comes when it no longer does, and the next one soon after.
    assert min(later - at for at, later in pairwise(moved[1:])) >= 3
    for at in moved[1:]:
        added = max(sizes[each] - sizes[each - 1] for each in range(1, 60))
        assert sizes[at - 1] + added > BUDGET * 3 // 4, "it moves when the room is used up"
        assert sizes[at] < BUDGET * 3 // 4, "and far enough to stay for long"
        assert sizes[at] > MOST * 3 // 4 - added, "but leaves three quarters"


def test_B61_an_output_that_was_cut_is_cut_to_the_same_text_in_every_later_prompt(session: wmem.Scope) -> None:
    seen: dict[str, str] = {}
    cut: set[str] = set()
    for number in range(40):
        context = turn(session, number, words=1_500 if number % 5 == 2 else 20)
        newest = max(at for at, message in enumerate(context.messages) if message.role == "user")
        cut |= {id for report in context.truncated for id in report.ids if id != f"t{number}"}
        for message in context.messages[:newest]:
            assert seen.setdefault(str(message.id), message.text) == message.text
    assert len(cut & seen.keys()) >= 6


def test_B61_two_packs_of_one_turn_are_equal(session: wmem.Scope) -> None:
    for number in range(30):
        first = turn(session, number, words=100)
    session.messages.remove("s29")
    assert session.pack("question 29", budget=BUDGET, stable=True) == first


@pytest.mark.parametrize("stable", [False, True])
def test_B59_a_second_pack_of_an_oversized_result_is_the_first_one(session: wmem.Scope, *, stable: bool) -> None:
    turn(session, 0, words=60_000)
    session.messages.append({"role": "user", "content": "and now?"})
    first = session.pack("now", budget=24_000, stable=stable)
    assert first.truncated[0].ids == ("a0", "t0")
    assert 1_000 < first.tokens <= 24_000
    assert session.pack("now", budget=24_000, stable=stable).messages == first.messages
