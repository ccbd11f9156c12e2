"""What a provider's cache of prompts lives from: the front of a growing conversation stays as it is."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wmem
from tests.matrix import examples
from wmem.model.context import Context
from wmem.model.message import Message
from wmem.model.part import ToolCall
from wmem.pack import pack
from wmem.pack.request import Candidate, PackOptions, PackRequest, RecalledCandidate
from wmem.tokens.counter import default_counter, message_tokens

COUNT = default_counter()
NOON = 1_764_288_000.0
BUDGET = 2_000

sizes = st.lists(st.integers(1, 120) | st.sampled_from([300, 900, 3_000]), min_size=8, max_size=60)


def turn(number: int, words: int) -> Iterator[Message]:
    """One question, a look into a tool, and the answer."""
    yield Message.of("user", f"question {number}", id=f"q{number}")
    call = ToolCall(id=f"c{number}", name="look_up", arguments=f'{{"n":{number}}}')
    yield Message(role="assistant", tool_calls=(call,), id=f"a{number}")
    yield Message.of("tool", "word " * words, tool_call_id=f"c{number}", id=f"t{number}")
    yield Message.of("assistant", f"answer {number}", id=f"s{number}")


def as_candidates(messages: Sequence[Message]) -> list[Candidate]:
    return [
        Candidate(
            id=message.id or "",
            role=message.role,
            calls=message.answers,
            tokens=message_tokens(message, COUNT),
            at=NOON + at,
            load=partial(_same, message),
        )
        for at, message in enumerate(messages)
    ]


def _same(message: Message) -> Message:
    return message


OPTIONS = PackOptions(
    budget=5_000, system="", tools=(), reserve=0, tail=0.5, recent=4, profile="openai", orphans="drop",
    note_role="user",
    stable=True, summary=False, prompt_counter=None, reasoning="tools", roles="free",
)  # fmt: skip


def packed(messages: Sequence[Message], *, memories: int = 0, system: str = "", budget: int = BUDGET) -> Context:
    known = as_candidates(messages)
    items = [
        Candidate(id=f"i{n}", role=None, tokens=30, at=NOON - n, load=partial(Message.of, "user", f"memory {n} " * 9))
        for n in range(memories)
    ]
    request = PackRequest(
        options=replace(OPTIONS, budget=budget, system=system),
        count=COUNT,
        newest_first=known[::-1],
        total=len(known),
        recalled=[RecalledCandidate(candidate=each, score=1.0) for each in items],
        query="memory",
    )
    return pack(request)


def front(context: Context) -> list[Message]:
    """What is sent before the note and the newest user message."""
    newest = max(at for at, message in enumerate(context.messages) if message.role == "user")
    return list(context.messages[:newest])


@examples(0.25)
@given(sizes=sizes, memories=st.sampled_from([0, 40]))
def test_a_growing_conversation_moves_its_begin_forward_only_and_seldom(sizes: list[int], memories: int) -> None:
    talk = [list(turn(number, words)) for number, words in enumerate(sizes)]
    order = {message.id: at for at, message in enumerate(message for said in talk for message in said)}
    begins, said = [], 0
    for number in range(len(talk)):
        heard = [message for each in talk[:number] for message in each] + talk[number][:1]
        context = packed(heard, memories=(number % 3) * memories // 2)
        said = sum(min(message_tokens(message, COUNT), BUDGET // 2) for message in heard)
        if first := front(context)[:1]:
            begins.append(order[first[0].id])
    assert begins == sorted(begins)
    assert len(set(begins)) <= 2 + said // (BUDGET // 5)


@examples(0.25)
@given(sizes=sizes)
def test_what_repeats_repeats_to_the_byte(sizes: list[int]) -> None:
    talk = [list(turn(number, words)) for number, words in enumerate(sizes)]
    heard: list[Message] = []
    before: list[Message] = []
    for number, said in enumerate(talk):
        context = packed([*heard, said[0]], memories=number % 4)
        now = front(context)
        # What fits whole is sent whole, for the last time before the budget is reached.
        if len(context.messages) == len(heard) + 1 and not context.truncated:
            now = []
        if before and now and before[0].id == now[0].id:
            assert [message.to_openai() for message in now[: len(before)]] == [each.to_openai() for each in before]
        before = now
        heard += said


def test_the_note_stands_just_before_the_newest_user_message_whatever_came_after_it() -> None:
    heard = [message for number in range(40) for message in turn(number, 20)]
    for after in (1, 3):
        prompt = list(packed([*heard, *list(turn(40, 20))[:after]], memories=5, system="Be brief.").prompt())
        note = next(at for at, message in enumerate(prompt) if message.recalled)
        assert prompt[note + 1].text == "question 40"
        assert len(prompt) == note + 1 + after


@pytest.mark.slow
def test_the_front_is_never_cut_below_three_quarters_of_what_it_may_take() -> None:
    heard = [message for number in range(300) for message in turn(number, number % 50)]
    sizes = [message_tokens(message, COUNT) for message in heard]
    largest = max(map(sum, zip(sizes[1::4], sizes[2::4], strict=True)))
    for newest in range(900, 1_200, 4):
        used = packed(heard[: newest + 1]).sizes["messages"]
        assert (BUDGET * 7 // 8) * 3 // 4 - largest <= used <= BUDGET * 7 // 8


def test_a_system_note_stays_in_front_where_a_provider_takes_system_text_only_there() -> None:
    known = as_candidates([message for number in range(9) for message in turn(number, 9)][:-3])
    item = Candidate(id="i", role=None, tokens=9, at=NOON, load=partial(Message.of, "user", "a memory"))
    for profile, place in (("openai", 32), ("anthropic", 0), ("gemini", 0)):
        request = PackRequest(
            options=replace(OPTIONS, note_role="system", profile=profile),  # type: ignore[arg-type]  # one of three
            count=COUNT, newest_first=known[::-1], total=len(known), query="memory",
            recalled=[RecalledCandidate(candidate=item, score=1.0)],
        )  # fmt: skip
        assert pack(request).note_before == place


@pytest.mark.slow
def test_a_hundred_tool_using_turns_repeat_nineteen_of_twenty_tokens_of_their_fronts() -> None:
    shares = []
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("session")
        before: list[Message] = []
        for number in range(100):
            question, *rest = turn(number, 30 + number * 7 % 60)
            session.messages.append(question)
            session.items.add(f"item {number} about question {number % 7}")
            context = session.pack(question.text, budget=8_000, system="You are an agent. " * 30, stable=True)
            now = [Message.of("system", context.system), *front(context)]
            assert context.tokens <= 8_000
            assert context.note or not number
            if before:
                same = [one for one, other in zip(before, now, strict=False) if one.to_openai() == other.to_openai()]
                shares.append(sum(_cost(each) for each in same) / sum(_cost(each) for each in before))
            before = now
            session.messages.append(rest)
    assert sum(shares) / len(shares) >= 0.95


def _cost(message: Message) -> int:
    return message_tokens(message, COUNT)


def test_two_openings_of_one_session_cut_alike() -> None:
    told = []
    with wmem.open("memory://cut-alike", agent_id="agent") as memory:
        for number in range(60):
            memory.scope("session").messages.append(list(turn(number, 40)))
        for _ in range(2):
            with wmem.open("memory://cut-alike", agent_id="agent") as other:
                told.append(other.scope("session").pack(budget=BUDGET, stable=True).to_openai())
    assert told[0] == told[1]


def test_no_more_is_read_of_a_long_session_than_the_places_to_begin_need() -> None:
    read: list[int] = []

    def newest_first() -> Iterator[Candidate]:
        for at in range(99_999, -1, -1):
            read.append(at)
            role = "user" if at % 2 == 0 else "assistant"
            load = partial(Message.of, "user", "some words of a message", id=f"m{at}")
            yield Candidate(id=f"m{at}", role=role, tokens=9, at=float(at), load=load)  # type: ignore[arg-type]  # one of two roles

    context = pack(
        PackRequest(options=replace(OPTIONS, budget=900), count=COUNT, newest_first=newest_first(), total=100_000)
    )
    assert len(context.messages) > 60
    assert len(read) < 100 + 2 * 512
