"""What of a prompt a session holds, from random conversations, views of them and what agents add."""

import copy
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM

import wmem
from llamaindex_wmem import WmemLLM, WmemMemory, from_llamaindex
from llamaindex_wmem._placement import place_in_session
from tests.adapters.llamaindex.test_engines import calling
from tests.matrix import examples
from wmem import Message
from wmem.adapter import count_message, count_tools

WORDS = ("yes", "no", "ok", "rain", "why?", "the same again", "x" * 200)


def say(role: str, text: str) -> ChatMessage:
    return ChatMessage(role=role, content=text)


@st.composite
def turns(draw: st.DrawFn, most: int = 6) -> list[ChatMessage]:
    """Questions, calls with results, and answers; the same few words again and again."""
    made: list[ChatMessage] = []
    for _ in range(draw(st.integers(0, most))):
        made.append(say("user", draw(st.sampled_from(WORDS))))
        if draw(st.booleans()):
            made += draw(rounds())
        made.append(say("assistant", draw(st.sampled_from(WORDS))))
    return made


@st.composite
def rounds(draw: st.DrawFn) -> list[ChatMessage]:
    """Calls and results as a function-calling agent has them, or as one that reasons in text."""
    made: list[ChatMessage] = []
    in_text = draw(st.booleans())
    for _ in range(draw(st.integers(0, 3))):
        found = draw(st.sampled_from([*WORDS, "dust " * 300]))
        if in_text:
            made += [say("assistant", "Thought: I look."), say("user", f"Observation: {found}")]
        else:
            id_ = draw(st.sampled_from(["c1", "c2", uuid4().hex]))
            made.append(calling((id_, "look", {"place": 1})))
            made.append(ChatMessage(role="tool", content=found, additional_kwargs={"tool_call_id": id_}))
    return made


def with_ids(history: Sequence[ChatMessage]) -> list[Message]:
    return [message.model_copy(update={"id": f"m{at}"}) for at, message in enumerate(from_llamaindex(history))]


def texts(messages: Sequence[Any]) -> list[str]:
    return [message.text for message in messages]


@examples(1.0)
@given(history=turns(), system=st.lists(st.sampled_from(["Be brief.", "Be kind."]), max_size=2), scratch=rounds())
def test_only_what_is_not_stored_and_the_turn_in_flight_are_live(
    history: list[ChatMessage], system: list[str], scratch: list[ChatMessage]
) -> None:
    question = say("user", "And what now?")
    stored = with_ids([*history, question])
    before = [say("system", text) for text in system]
    handed = from_llamaindex([*before, *history, question, *scratch])
    placement = place_in_session((uuid4().hex,), stored, handed)
    assert placement.is_session
    assert placement.is_sure
    assert placement.question == stored[-1]
    assert texts(placement.live) == [*system, "And what now?", *texts(from_llamaindex(scratch))]
    assert placement.live[len(system)].id == stored[-1].id
    restored = [placement.restore(message) for message in placement.live]
    assert [message.role for message in restored] == [m.role for m in from_llamaindex([*before, question, *scratch])]
    assert [message.tool_calls for message in restored[-len(scratch) or len(restored) :]] == [
        message.tool_calls for message in from_llamaindex([*history, question, *scratch])[len(history) + 1 :]
    ]


@examples(1.0)
@given(history=turns(), strangers=turns())
def test_no_message_that_is_handed_is_lost_and_none_is_there_twice(
    history: list[ChatMessage], strangers: list[ChatMessage]
) -> None:
    stored = with_ids(history)
    handed = from_llamaindex([*history[: len(history) // 2], *strangers, *history[len(history) // 2 :]])
    placement = place_in_session((uuid4().hex,), stored, handed)
    ids = [message.id for message in placement.live if message.id is not None]
    assert len(ids) == len(set(ids))
    restored = [placement.restore(message) for message in placement.live]
    if not placement.is_session:
        assert [(each.role, each.text, each.tool_calls) for each in restored] == [
            (each.role, each.text, each.tool_calls) for each in handed
        ]
        return
    known = {message.id for message in stored}
    missing = texts(handed)
    for text in texts([*(each for each in placement.live if each.id not in known), *stored]):
        if text in missing:
            missing.remove(text)
    assert missing == []


@examples(0.5)
@given(
    history=turns(),
    scratch=rounds(),
    budget=st.integers(300, 3_000),
    limit=st.sampled_from([200, 100_000]),
    is_stored=st.booleans(),
)
def test_no_prompt_exceeds_the_budget_and_the_question_is_in_each(
    history: list[ChatMessage], scratch: list[ChatMessage], budget: int, limit: int, is_stored: bool
) -> None:
    prompts: list[list[ChatMessage]] = []

    def answer(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        prompts.append(copy.deepcopy(list(messages)))
        return say("assistant", "ok")

    url = f"memory://{uuid4().hex}"
    memory = WmemMemory.from_defaults(session_id="s", url=url, agent_id="a", token_limit=limit, chat_history=history)
    question = say("user", "And what now?")
    if is_stored:
        memory.put(question)
    llm = WmemLLM(MockFunctionCallingLLM(response_generator=answer), memory, budget=budget, reserve=0)
    handed = [say("system", "Be brief."), *memory.get(), *([] if is_stored else [question]), *scratch]
    before = copy.deepcopy(handed)
    llm.chat(handed)
    [prompt] = prompts
    counted = sum(count_message(message, wmem.TiktokenCounter()) for message in from_llamaindex(prompt))
    assert counted + 3 + count_tools([], wmem.TiktokenCounter()) <= budget
    assert [message.content for message in prompt].count("And what now?") == 1
    assert prompt[0].content == "Be brief."
    assert handed == before
    roles = [message.role.value for message in prompt]
    if scratch and "tool" not in [each.role.value for each in scratch]:
        assert "tool" not in roles[roles.index("user") :] or "tool" in [each.role.value for each in history]
    memory.close()


@examples(0.5)
@given(
    histories=st.tuples(turns(), turns()),
    scratch=rounds(),
    budget=st.integers(200, 800),
    limit=st.sampled_from([150, 100_000]),
)
def test_a_prompt_of_another_session_gets_nothing_of_this_one(
    histories: tuple[list[ChatMessage], list[ChatMessage]], scratch: list[ChatMessage], budget: int, limit: int
) -> None:
    prompts: list[str] = []

    def answer(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        prompts.append(str(messages))
        return say("assistant", "ok")

    url = f"memory://{uuid4().hex}"
    mine, other = (
        WmemMemory.from_defaults(session_id=name, url=url, agent_id="a", token_limit=limit)
        for name in ("mine", "other")
    )
    opening = [say("user", "hello"), say("assistant", "How can I help?")]
    mine.put_messages([*opening, *histories[0], say("user", "The rain code is SECRET."), say("assistant", "ok")])
    mine.scope().items.add("The rain code is SECRET, too.")
    other.put_messages([*opening, *histories[1], say("user", "What is the rain code?")])
    llm = WmemLLM(MockFunctionCallingLLM(response_generator=answer), mine, budget=budget, reserve=0)
    llm.chat(
        [*other.get(), *scratch, say("assistant", "Thought: I look."), say("user", f"Observation: {'dust ' * 900}")]
    )
    assert "SECRET" not in prompts[0]
    assert "What is the rain code?" in prompts[0]
    for each in (mine, other):
        each.close()
