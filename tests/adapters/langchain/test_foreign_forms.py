"""B132: calls and results that are blocks of the content alone, as Anthropic's API and Bedrock have them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, messages_to_dict
from langgraph.checkpoint.memory import InMemorySaver

import wmem
from langchain_wmem import WmemChatMessageHistory, WmemMiddleware, from_langchain, to_langchain
from tests.adapters.langchain.conftest import Run, Scripted
from tests.adapters.langchain.test_equal_below_the_budget import in_blocks
from tests.adapters.langchain.test_provider_packages import PACKAGES
from tests.matrix import examples
from tests.validators import PROVIDERS, Provider, violations
from wmem.errors import BudgetError
from wmem.types import ProviderProfile

FORMS = ("anthropic", "bedrock", "vercel")
THREAD: Any = {"configurable": {"thread_id": "t"}}


def named(messages: Sequence[BaseMessage], prefix: str = "m") -> list[BaseMessage]:
    return [each.model_copy(update={"id": f"{prefix}{at}"}) for at, each in enumerate(messages)]


def use(id: str, name: str = "weather", **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def result(id: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **fields}


def say(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def halves(prompt: Sequence[BaseMessage]) -> list[str]:
    """What is not whole of the exchanges of a prompt, for a provider that takes blocks."""
    said = [message.to_openai() for message in from_langchain(prompt)]
    return [each for each in violations("anthropic", said) if "result" in each or "twice" in each]


@pytest.mark.parametrize("form", FORMS)
def test_b132_an_exchange_in_blocks_is_read_as_calls_and_results_and_comes_back(form: str) -> None:
    given = named(in_blocks(form))
    read = from_langchain(given)
    assert [each.role for each in read] == ["user", "assistant", "tool", "tool", "user"]
    assert [call.id for call in read[1].tool_calls] == ["t1", "t2"]
    assert [each.tool_call_id for each in read[2:4]] == ["t1", "t2"]
    assert [each.text for each in read[1:]] == ["I look it up.", "sunny", "rain", "In one sentence, please."]
    assert to_langchain(read) == given


def test_b132_results_alone_are_of_the_turn_that_asked_for_them(memory: wmem.AgentMemory) -> None:
    talk = [HumanMessage("weather?"), AIMessage([use("t1")]), HumanMessage([result("t1", "sunny")])]
    given: Any = {"messages": named(talk)}
    agent = create_agent(Scripted(), [], middleware=[WmemMiddleware(memory, budget=5_000, session="s")])
    agent.invoke(given)
    stored = memory.scope("s").messages.all()
    assert [each.role for each in stored] == ["user", "assistant", "tool", "assistant"]
    assert {each.turn_id for each in stored} == {"m0"}


@pytest.mark.parametrize("form", FORMS)
async def test_b132_a_state_that_is_seen_again_stores_nothing_twice(run: Run, url: str, form: str) -> None:
    saver = InMemorySaver()
    for question, count in (("a", 7), ("b", 9)):
        with wmem.open(url, agent_id="a") as memory:
            agent = create_agent(
                Scripted(), [], middleware=[WmemMiddleware(memory, budget=5_000, session="s")], checkpointer=saver
            )
            new = in_blocks(form) if question == "a" else []
            state = await run(agent, {"messages": [*new, HumanMessage(question)]}, config=THREAD)
            stored = memory.scope("s").messages.all()
            assert len({each.id for each in stored}) == len(stored) == count
    assert messages_to_dict(to_langchain(stored)) == messages_to_dict(state["messages"])


@examples(0.25)
@given(data=st.data(), form=st.sampled_from(FORMS), profile=st.sampled_from(get_args(ProviderProfile)))
def test_b132_no_prompt_holds_one_half_of_an_exchange(data: st.DataObject, form: str, profile: ProviderProfile) -> None:
    talk = named([*in_blocks(form), AIMessage("Sun and rain."), *in_blocks(form)[:1]])
    live = talk[: data.draw(st.integers(0, len(talk)))]
    budget = data.draw(st.integers(40, 250))
    with wmem.open("memory://", agent_id="a") as memory:
        session = memory.scope("s")
        session.messages.append(from_langchain(talk[: data.draw(st.integers(0, len(talk)))]))
        try:
            packed = session.pack(budget=budget, profile=profile, messages=from_langchain(live))
        except BudgetError:
            return
        assert halves(packed.to_langchain()) == []


@pytest.mark.parametrize("provider", ["anthropic", "bedrock"])
def test_b132_a_provider_that_takes_blocks_takes_every_prompt(provider: Any) -> None:
    talk = named([*in_blocks("anthropic"), AIMessage("Sun and rain. " * 20), HumanMessage("thanks")])
    if provider == "bedrock":  # its package has a key of its own
        talk[2].content = [
            {("toolUseId" if key == "tool_use_id" else key): value for key, value in block.items() if key != "is_error"}
            for block in talk[2].content
            if isinstance(block, dict)
        ]
        for block in talk[2].content:
            if isinstance(block, dict) and isinstance(block.get("content"), str):
                block["content"] = [say(block["content"])]
    with wmem.open("memory://", agent_id="a") as memory:
        session = memory.scope("s")
        session.messages.append(from_langchain(talk))
        for budget in range(40, 320, 10):
            for options in ({}, {"stable": True}, {"recent": 0, "tail": 0.0}):
                packed = session.pack("sunny or rain?", budget=budget, profile=provider, **options)
                assert PACKAGES[provider](packed.to_langchain()) == []


async def test_b132_a_history_gives_back_what_was_added_and_takes_it_once(run: Run, url: str) -> None:
    given = [each for form in FORMS for each in in_blocks(form)]
    with wmem.open(url, agent_id="a") as memory:
        history = WmemChatMessageHistory("s", memory=memory)
        history.add_messages(given)
        read = history.messages
        assert [each.content for each in read] == [each.content for each in given]
        again = WmemChatMessageHistory("s", memory=memory)
        await again.aadd_messages(read)
        again.add_messages(read)
        assert await again.aget_messages() == read
        assert memory.scope("s").messages.count() == 15


def test_b132_what_is_removed_is_in_no_other_piece(tmp_path: Path) -> None:
    talk = named([AIMessage([use("t1"), use("t2")]), HumanMessage([result("t1", "a secret"), result("t2", "rain")])])
    with wmem.open(f"disk://{tmp_path / 'store'}", agent_id="a") as memory:
        session = memory.scope("s")
        session.messages.append(from_langchain(talk))
        session.messages.remove("m1")
        assert "secret" not in str([each.model_dump() for each in session.messages.all()])
        [_, left] = to_langchain(session.messages.all())
        assert isinstance(left, ToolMessage)
        assert (left.tool_call_id, left.text) == ("t2", "rain")


@pytest.mark.parametrize("edited", [[result("t1", "sun"), say("ok")], [say("never mind")], "never mind"])
def test_b132_an_edited_message_leaves_nothing_of_what_it_was(memory: wmem.AgentMemory, edited: Any) -> None:
    talk = named(in_blocks("anthropic"))
    history = WmemChatMessageHistory("s", memory=memory)
    history.add_messages(talk)
    changed = HumanMessage(edited, id="m2")
    history.add_messages([changed])
    assert history.messages == [*talk[:2], changed]


@pytest.mark.parametrize("id", ["", " ", "x"])
def test_b132_calls_in_blocks_without_ids_of_their_own_find_their_results(id: str) -> None:
    calls = AIMessage([say("I look."), use(id, at=1), use(id, at=2)], id="a")
    read = from_langchain([HumanMessage("?"), calls, HumanMessage([result(id, "one"), result(id, "two")], id="r")])
    assert [call.id for call in read[1].tool_calls] == [each.tool_call_id for each in read[2:]]
    assert len({call.id for call in read[1].tool_calls}) == 2
    assert halves(to_langchain(read)) == []
    assert [call["args"] for each in to_langchain(read) if isinstance(each, AIMessage) for call in each.tool_calls] == [
        {"at": 1},
        {"at": 2},
    ]


def test_b132_an_assistants_message_with_calls_and_results_in_turns_comes_back() -> None:
    blocks: list[Any] = [
        say("First."),
        use("t1"),
        result("t1", "sunny"),
        say("Then."),
        use("t2"),
        result("t2", "rain"),
        say("So."),
    ]
    given = AIMessage(
        blocks,
        id="a",
        additional_kwargs={"k": 1},
        response_metadata={"model": "m"},
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    )
    read = from_langchain([given])
    assert [each.role for each in read] == ["assistant", "tool"] * 2 + ["assistant"]
    assert to_langchain(read) == [given]
    neutral = to_langchain(read[:-1])
    assert [each.type for each in neutral] == ["ai", "tool", "ai", "tool"]


def test_b132_the_error_of_a_result_goes_to_the_provider() -> None:
    read = from_langchain([HumanMessage([result("t1", "no such town", is_error=True), say("hm")], id="r")])
    [failed] = to_langchain(read[:1])
    assert isinstance(failed, ToolMessage)
    assert failed.status == "error"


@pytest.mark.parametrize(
    "message",
    [
        HumanMessage([use("t1")], id="m"),
        HumanMessage([result("t1", "a"), use("t2")], id="m"),
        HumanMessage([{"type": "tool_result"}, {"type": "tool_result", "content": {"a": [1]}}, "text"], id="m"),
        AIMessage([{"type": "tool_use", "id": "t1"}, {"type": "tool_use", "name": ["a"]}, {"toolUse": 5}], id="m"),
        AIMessage([{"type": "tool_use", "id": 5, "name": "w", "input": 7}, {"type": ["tool_use"]}], id="m"),
        ToolMessage([say("text"), result("t2", "a")], tool_call_id="t1", id="m"),
        HumanMessage([{"toolResult": None}, {"functionResponse": {"response": [None]}}], id="m"),
    ],
)  # fmt: skip
def test_b132_blocks_that_are_no_exchange_are_stored_and_come_back(
    memory: wmem.AgentMemory, message: BaseMessage
) -> None:
    history = WmemChatMessageHistory("s", memory=memory)
    history.add_messages([HumanMessage("?", id="q"), message])
    assert messages_to_dict(history.messages[1:]) == messages_to_dict([message])
    for profile in get_args(ProviderProfile):
        memory.scope("s").pack(budget=500, profile=profile).to_langchain()


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("form", FORMS)
def test_b132_a_provider_that_does_not_take_the_blocks_gets_calls_and_results_beside_the_content(
    provider: Provider, form: str
) -> None:
    talk = named([*in_blocks(form), AIMessage("Sun and rain. " * 20), HumanMessage("thanks")])
    with wmem.open("memory://", agent_id="a") as memory:
        session = memory.scope("s")
        session.messages.append(from_langchain(talk))
        for budget in (*range(60, 200, 20), 2_000):
            prompt = session.pack(budget=budget, profile=provider).to_langchain()
            assert PACKAGES[provider](prompt) == []
            assert halves(prompt) == []
        [*_, whole] = [session.pack(budget=2_000, profile=provider).to_langchain()]
        assert (whole == talk) == ((form, provider) in {("anthropic", "anthropic"), ("bedrock", "bedrock")})
        assert session.pack(budget=2_000).to_langchain() == talk
