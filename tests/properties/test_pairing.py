"""Results under an id that no call has, on random exchanges, however they come in."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wmem
from tests.matrix import examples
from wmem import Message, Scope, ToolCall
from wmem.adapter import pair_results

_TOOLS = ("search", "fetch", "add")


class Flight(NamedTuple):
    """Calls and their results in the order in which these come; `text` of a result is the id of its call."""

    calls: tuple[ToolCall, ...]
    results: list[Message]
    cuts: list[int]

    @property
    def batches(self) -> list[list[Message]]:
        asked = [Message.of("user", "q", id="q"), Message(role="assistant", tool_calls=self.calls, id="calls")]
        said = [*asked, *self.results]
        ends = [*sorted(self.cuts), len(said)]
        return [said[begin:end] for begin, end in zip([0, *ends], ends, strict=False) if begin < end]


@st.composite
def flights(draw: st.DrawFn, *, names: bool, alike: bool) -> Flight:
    """Exchanges of which some results have an id of their own.

    Args:
        names: Whether results say of which tool they are.
        alike: Whether results whose call cannot be told come in the order of their calls.
    """
    tools = draw(st.lists(st.sampled_from(_TOOLS), min_size=1, max_size=4))
    calls = tuple(ToolCall(id=f"c{at}", name=name) for at, name in enumerate(tools))
    strays = draw(st.lists(st.booleans(), min_size=len(calls), max_size=len(calls)))
    order = draw(st.permutations(range(len(calls))))
    if alike:
        group = {at: (tools[at] if names else None) for at in range(len(calls)) if strays[at]}
        for key in set(group.values()):
            places = [place for place, at in enumerate(order) if group.get(at, 0) == key]
            for place, at in zip(places, sorted(order[place] for place in places), strict=True):
                order[place] = at
    results = [
        Message.of(
            "tool",
            calls[at].id,
            id=f"r{at}",
            tool_call_id=f"other-{at}" if strays[at] else calls[at].id,
            name=tools[at] if names else None,
        )
        for at in order
    ]
    return Flight(calls, results, draw(st.lists(st.integers(1, len(calls) + 1), max_size=3)))


def answered(messages: Sequence[Message]) -> dict[str | None, str]:
    return {message.tool_call_id: message.text for message in messages if message.role == "tool"}


def append(session: Scope, batches: Sequence[Sequence[Message]]) -> None:
    for batch in batches:
        session.messages.append(batch)


@examples(0.5)
@given(flight=flights(names=True, alike=True) | flights(names=False, alike=True))
def test_b131_every_result_of_the_exchange_in_flight_is_sent_to_the_call_it_answers(flight: Flight) -> None:
    wanted = {call.id: call.id for call in flight.calls}
    with wmem.open("memory://", agent_id="a") as memory:
        session, live = memory.scope("stored"), memory.scope("live")
        append(session, flight.batches)
        assert answered(session.messages.all()) == wanted
        said = [message for batch in flight.batches for message in batch]
        for packed in (
            session.pack(budget=2_000),
            live.pack(budget=2_000, messages=said),
            session.pack(budget=2_000, messages=said),
        ):
            assert answered(packed.messages) == wanted
            assert packed.warnings == ()
    assert answered(pair_results(said)) == wanted


@examples(0.5)
@given(flight=flights(names=True, alike=False) | flights(names=False, alike=False))
def test_b131_a_result_that_names_its_call_keeps_it_and_none_is_left_out(flight: Flight) -> None:
    with wmem.open("memory://", agent_id="a") as memory:
        session = memory.scope("s")
        append(session, flight.batches)
        append(session, flight.batches)  # a framework tells all of it again
        told = answered(session.pack(budget=2_000).messages)
        assert told.keys() == {call.id for call in flight.calls}
        assert set(told.values()) == {call.id for call in flight.calls}
        for result in flight.results:
            if result.tool_call_id == result.text:
                assert told[result.text] == result.text
        tools = {call.id: call.name for call in flight.calls}
        assert flight.results[0].name is None or all(tools[str(id)] == tools[text] for id, text in told.items())


@examples(0.5)
@given(
    flight=flights(names=True, alike=False) | flights(names=False, alike=False),
    late=st.sampled_from(["another turn", "an older call", "behind other words", "another tool"]),
    is_answered=st.booleans(),
    data=st.data(),
)
def test_b131_the_late_result_of_another_call_answers_none_of_these(
    flight: Flight,
    late: str,
    is_answered: bool,
    data: st.DataObject,
) -> None:
    """It comes while calls are open; whoever asked for it is another worker."""
    fields: dict[str, Any] = {"another turn": {"turn_id": "t2"}, "another tool": {"name": "strange"}}.get(late, {})
    stray = Message.of("tool", "late", id="late", tool_call_id="old" if late == "an older call" else "gone", **fields)
    first = [
        Message.of("user", "before", id="u0"),
        Message(role="assistant", tool_calls=(ToolCall(id="old", name="search"),), id="a0"),
        Message.of("tool", "early", id="early", tool_call_id="old"),
    ]
    said = [message for batch in flight.batches for message in batch]
    if late == "another turn":
        said = [message.model_copy(update={"turn_id": "t1"}) for message in said]
    at = data.draw(st.integers(2, len(said) - 1))
    between: list[Message] = [Message.of("user", "and?", id="u1")] if late == "behind other words" else []
    with wmem.open("memory://", agent_id="a") as memory:
        session = memory.scope("s")
        append(session, [first if is_answered else first[:2], said[:at], [*between, stray]])
        assert [each.tool_call_id for each in session.messages.all()][-1] == stray.tool_call_id
        live = session.pack(budget=2_000, messages=[*said[:at], *between, stray])
        calls = {call.id for call in flight.calls}
        assert not any(each.text == "late" and each.tool_call_id in calls for each in live.messages)


@pytest.mark.parametrize("named", [None, "search"])
def test_b131_a_result_under_the_calls_own_id_takes_the_place_of_one_that_was_taken_for_it(named: str | None) -> None:
    call = ToolCall(id="c", name="search")
    said = [
        Message.of("user", "q"),
        Message(role="assistant", tool_calls=(call,)),
        Message.of("tool", "late", tool_call_id="gone", name=named),
    ]
    with wmem.open("memory://", agent_id="a") as memory:
        session = memory.scope("s")
        append(session, [said, [Message.of("tool", "right", tool_call_id="c", name=named)]])
        assert answered(session.pack(budget=2_000).messages) == {"c": "right"}
