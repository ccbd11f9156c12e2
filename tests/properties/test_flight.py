"""Properties of the exchange in flight at any budget."""

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.cases.test_packing_cases import COUNT, packed
from tests.matrix import examples
from wmem.errors import BudgetError
from wmem.model.context import Context
from wmem.model.message import Message
from wmem.model.part import Part, ToolCall
from wmem.pack.truncation import allocate_tokens
from wmem.tokens.counter import PROMPT_OVERHEAD, message_tokens

# Texts of many words, so that a cut comes close to what it may take.
_DIGITS = 2  # tokens by which the markers of two texts differ that are cut to their minimum
sizes = st.sampled_from([1, 5, 40, 200, 900, 3_000])


def to_text(size: int, at: int) -> str:
    return " ".join(f"word{(at * 7 + n) % 13}" for n in range(size))


@st.composite
def flights(draw: st.DrawFn) -> list[Message]:
    """A question, and rounds of one to three calls and their results."""
    said = [Message.of("user", to_text(draw(st.integers(1, 30)), 0), id="q")]
    for step in range(draw(st.integers(1, 6))):
        ids = [f"c{step}{n}" for n in range(draw(st.integers(1, 3)))]
        calls = tuple(ToolCall(id=id, name="look", arguments=json.dumps({"q": id})) for id in ids)
        text = draw(st.sampled_from(["", "I look."]))
        said.append(Message.of("assistant", text, tool_calls=calls, id=f"a{step}"))
        said += [Message.of("tool", to_text(draw(sizes), step), tool_call_id=id, id=f"r{id}") for id in ids]
    return said


def try_pack(flight: list[Message], budget: int) -> Context | None:
    try:
        return packed(*flight, budget=budget)
    except BudgetError:
        return None


@examples(2)
@given(flight=flights(), budget=st.integers(20, 4_000))
def test_b143_of_any_flight_sizes_never_rise_towards_older_results(flight: list[Message], budget: int) -> None:
    context = try_pack(flight, budget)
    if context is None:
        return
    again = try_pack(flight, budget)
    assert again is not None
    assert again.messages == context.messages
    assert context.tokens <= budget
    assert sum(message_tokens(message, COUNT) for message in context.messages) <= budget
    sent = {message.id: message for message in context.messages}
    whole = {message.id: message for message in flight}
    calls = [call.id for message in context.messages for call in message.tool_calls]
    results = [message for message in context.messages if message.role == "tool"]
    assert calls == [message.tool_call_id for message in results]
    # A suffix of the rounds, the newest always among them.
    assert [id for id in whole if id in sent] == ["q", *[*whole][len(whole) - len(sent) + 1 :]]
    assert f"a{max(int(id[1:]) for id in whole if id and id[0] == 'a')}" in sent
    most = None
    for message in reversed(results):
        kept = message_tokens(message, COUNT)
        assert most is None or kept <= most + _DIGITS
        if message.text != whole[message.id].text:
            most = kept


@given(flight=flights(), spare=st.integers(-3, 400))
def test_b143_the_question_and_the_newest_round_are_sent_whenever_a_mark_of_each_result_fits(
    flight: list[Message], spare: int
) -> None:
    newest = max(at for at, message in enumerate(flight) if message.role == "assistant")
    question, round = flight[0], flight[newest:]
    # Hardly any question here is long enough to be cut.
    tokens = message_tokens(question, COUNT) + sum(
        min(message_tokens(each, COUNT), message_tokens(to_mark(each), COUNT)) for each in round
    )
    budget = PROMPT_OVERHEAD + tokens + spare
    context = try_pack(flight, budget)
    if spare >= 0:
        assert context is not None
    if context is not None:
        assert {message.id for message in context.messages} >= {question.id, *(each.id for each in round)}
        assert all(message.text.strip() for message in context.messages if message.role == "tool")


def to_mark(message: Message) -> Message:
    """What is left of a message at least."""
    return message.model_copy(update={"parts": (Part(text="[…]"),)}) if message.text else message


@given(
    given_sizes=st.lists(st.integers(1, 500), max_size=8),
    least=st.integers(1, 40),
    spare=st.integers(0, 3_000),
)
def test_b143_a_share_of_the_room_is_never_larger_than_that_of_something_newer(
    given_sizes: list[int], least: int, spare: int
) -> None:
    known = {str(at): size for at, size in enumerate(given_sizes)}
    minimums = {key: min(size, least) for key, size in known.items()}
    room = sum(minimums.values()) + spare
    shares = allocate_tokens(known, minimums, room)
    assert [*shares] == [*known]
    assert sum(shares.values()) <= max(room, 0)
    assert all(minimums[key] <= share <= known[key] for key, share in shares.items())
    cut = [share for key, share in shares.items() if share < known[key]]
    assert cut == sorted(cut)
    if known and known[newest := max(known, key=int)] <= room - sum(minimums.values()) + minimums[newest]:
        assert shares[newest] == known[newest]


@given(
    pairs=st.lists(st.tuples(st.integers(1, 500), st.integers(1, 40)), min_size=2, max_size=8),
    spare=st.integers(0, 20),
)
def test_b143_the_newest_is_whole_whenever_the_minimums_of_the_others_leave_room_for_it(
    pairs: list[tuple[int, int]], spare: int
) -> None:
    sizes_by_key = {str(at): size for at, (size, _) in enumerate(pairs)}
    minimums = {str(at): min(pair) for at, pair in enumerate(pairs)}
    newest = str(len(pairs) - 1)
    room = sum(minimums.values()) - minimums[newest] + sizes_by_key[newest] + spare
    shares = allocate_tokens(sizes_by_key, minimums, room)
    assert shares[newest] == sizes_by_key[newest]
    assert sum(shares.values()) <= room
    assert all(minimums[key] <= share <= sizes_by_key[key] for key, share in shares.items())
