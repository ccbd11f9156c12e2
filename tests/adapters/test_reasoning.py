"""Reasoning through the adapters: it comes back as it was, or not at all and for nothing."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_openai.chat_models.base import _construct_responses_api_input
from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ThinkingBlock, ToolCallBlock

import wmem
from langchain_wmem import WmemMiddleware, from_langchain
from llamaindex_wmem import WmemMemory, from_llamaindex
from wmem.errors import InvalidInputError
from wmem.tokens.counter import default_counter, message_tokens
from wmem.types import Reasoning

CALL: Any = {"name": "look", "args": {"q": "x"}, "id": "c1", "type": "tool_call"}
TEXT = {"type": "text", "text": "I look.", "citations": [{"cited_text": "low", "type": "char_location"}]}
DETAILS = [{"type": "reasoning.text", "text": "It may.", "signature": "s", "index": 0}]
FORMS: dict[str, dict[str, Any]] = {
    "thinking blocks": {"content": [{"type": "thinking", "thinking": "It may.", "signature": "EqQB/+=="}, TEXT]},
    "sealed blocks": {"content": [{"type": "redacted_thinking", "data": "EmwKAhgB"}, TEXT]},
    "standard blocks": {"content": [{"type": "reasoning", "reasoning": "It may.", "index": 0}, TEXT]},
    "OpenAI's items": {
        "content": [
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gA"},
            {"type": "text", "text": "I look.", "annotations": [], "id": "msg_1"},
            {"type": "function_call", "name": "look", "arguments": '{"q": "x"}', "call_id": "c1", "id": "fc_1"},
        ],
    },
    "DeepSeek's text": {"content": "I look.", "additional_kwargs": {"reasoning_content": "It may."}},
    "OpenRouter's details": {
        "content": "I look.",
        "additional_kwargs": {"reasoning_content": "It may.", "reasoning_details": DETAILS},
    },
    "both a block and a text": {
        "content": [{"type": "thinking", "thinking": "Hm.", "signature": "Eq"}, TEXT],
        "additional_kwargs": {"reasoning_content": "It may."},
    },
    "Gemini's signatures": {
        "content": "I look.",
        "additional_kwargs": {"__gemini_function_call_thought_signatures__": {"c1": "EqQB/+=="}},
    },
}


def talk_of_langchain(form: str, *, called: bool) -> list[BaseMessage]:
    said = AIMessage(**FORMS[form], id="a", tool_calls=[CALL] if called else [], usage_metadata=None)
    talk: list[BaseMessage] = [HumanMessage("Which part?", id="u"), said]
    return [*talk, ToolMessage("low", tool_call_id="c1", id="t")] if called else [*talk, HumanMessage("So?", id="v")]


def packed(messages: list[wmem.Message], reasoning: Reasoning) -> wmem.Context:
    with wmem.open("memory://", agent_id="a") as memory:
        session = memory.scope("s")
        session.messages.append(messages)
        context = session.pack(budget=4_000, reasoning=reasoning)
    count = default_counter()
    assert context.tokens == 3 + sum(message_tokens(each, count) for each in context.messages)
    return context


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("reasoning", ["tools", "in-flight", "all"])
def test_b130_langchain_gets_back_the_reasoning_of_a_call_as_it_was(form: str, reasoning: Reasoning) -> None:
    talk = talk_of_langchain(form, called=True)
    assert packed(from_langchain(talk), reasoning).to_langchain() == talk


@pytest.mark.parametrize("form", [form for form in FORMS if form != "OpenAI's items"])
@pytest.mark.parametrize(("reasoning", "called"), [("none", True), ("tools", False), ("in-flight", False)])
def test_b130_what_langchain_gets_back_without_reasoning_is_else_as_it_was(
    form: str, reasoning: Reasoning, *, called: bool
) -> None:
    talk = talk_of_langchain(form, called=called)
    back = packed(from_langchain(talk), reasoning).to_langchain()[1]
    assert back.additional_kwargs == {}
    assert back.content in ("I look.", [TEXT])
    assert back.tool_calls == talk[1].tool_calls  # type: ignore[attr-defined]  # an AIMessage


def test_b130_without_its_reasoning_an_item_of_openai_has_no_id() -> None:
    back = packed(from_langchain(talk_of_langchain("OpenAI's items", called=True)), "none").to_langchain()
    sent = _construct_responses_api_input(back)
    assert [item.get("id") for item in sent if item.get("id")] == []
    assert {item["type"] for item in sent} == {"message", "function_call", "function_call_output"}
    whole = _construct_responses_api_input(
        packed(from_langchain(talk_of_langchain("OpenAI's items", called=True)), "tools").to_langchain()
    )
    assert [item["id"] for item in whole if item.get("id")] == ["rs_1", "msg_1", "fc_1"]


def test_b130_what_langchain_said_beside_its_reasoning_counts() -> None:
    cited = [{"cited_text": "the gauge reads low " * 300, "type": "char_location"}]
    said = AIMessage([{"type": "text", "text": "Low.", "citations": cited}], id="a")
    context = packed(from_langchain([HumanMessage("So?", id="u"), said]), "tools")
    assert context.to_langchain()[1] == said
    assert context.tokens > 1_200


SIGNED = ThinkingBlock(content="It may.", num_tokens=3, additional_information={"signature": "EqQB/+=="})


def talk_of_llamaindex(*, called: bool) -> list[ChatMessage]:
    call = [ToolCallBlock(tool_call_id="c1", tool_name="look", tool_kwargs={"q": "x"})] if called else []
    said = ChatMessage(role=MessageRole.ASSISTANT, blocks=[SIGNED, TextBlock(text="I look."), *call])
    answer = ChatMessage(role=MessageRole.TOOL, content="low", additional_kwargs={"tool_call_id": "c1"})
    user = ChatMessage(role=MessageRole.USER, content="So?")
    return [user, said, answer] if called else [user, said, user]


@pytest.mark.parametrize("reasoning", ["tools", "in-flight", "all"])
def test_b130_llamaindex_gets_back_the_reasoning_of_a_call_as_it_was(reasoning: Reasoning) -> None:
    talk = talk_of_llamaindex(called=True)
    assert packed(from_llamaindex(talk), reasoning).to_llamaindex() == talk


@pytest.mark.parametrize(("reasoning", "called"), [("none", True), ("tools", False), ("in-flight", False)])
def test_b130_what_llamaindex_gets_back_without_reasoning_is_else_as_it_was(
    reasoning: Reasoning, *, called: bool
) -> None:
    talk = talk_of_llamaindex(called=called)
    back = packed(from_llamaindex(talk), reasoning).to_llamaindex()[1]
    assert back.blocks == talk[1].blocks[1:]


def test_b130_llamaindex_keeps_reasoning_beside_calls_where_it_was() -> None:
    raw = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    said = ChatMessage(
        role=MessageRole.ASSISTANT,
        content=None,
        additional_kwargs={"tool_calls": [raw], "reasoning_content": "It may."},
    )
    talk = [talk_of_llamaindex(called=True)[0], said, talk_of_llamaindex(called=True)[2]]
    assert packed(from_llamaindex(talk), "tools").to_llamaindex()[1] == said
    assert packed(from_llamaindex(talk), "none").to_llamaindex()[1].additional_kwargs == {"tool_calls": [raw]}
    assert packed(from_llamaindex(talk), "tools").to_openai()[1]["reasoning_content"] == "It may."


@pytest.mark.parametrize(("reasoning", "sent"), [("none", False), ("tools", True)])
def test_b130_a_memory_of_llamaindex_gives_back_reasoning_as_it_is_set(reasoning: Reasoning, *, sent: bool) -> None:
    memory = WmemMemory.from_defaults(url="memory://", agent_id="a", session_id="s", reasoning=reasoning)
    memory.put_messages(talk_of_llamaindex(called=True))
    assert (SIGNED in memory.get()[1].blocks) is sent
    memory.close()


def test_b130_an_unknown_setting_of_reasoning_is_refused_by_the_adapters() -> None:
    with pytest.raises(InvalidInputError, match="in-flight"):
        WmemMiddleware("memory://", agent_id="a", budget=1_000, reasoning="always")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="reasoning"):
        WmemMemory.from_defaults(url="memory://", agent_id="a", session_id="s", reasoning="always")  # type: ignore[arg-type]


def test_reasoning_that_openai_sealed_keeps_its_form_when_a_call_beside_it_is_left_out() -> None:
    sealed = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gA"}
    said = AIMessage([sealed, {"type": "text", "text": "I look."}], tool_calls=[CALL, {**CALL, "id": "c2"}])
    talk = [HumanMessage("hi"), said, ToolMessage("found", tool_call_id="c1")]
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("s")
        session.messages.append(from_langchain(talk))
        prompt = session.pack(budget=500, profile="openai").to_langchain()
    assert sealed in prompt[1].content
    assert sealed in _construct_responses_api_input(prompt)
