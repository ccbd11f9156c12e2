"""What a framework passes through an adapter is not repeated: not by an agent, a history or a chat engine."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from llama_index.core.base.llms.types import ChatMessage, TextBlock
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms.mock import MockLLM

import wmem
from langchain_wmem import WmemChatMessageHistory, WmemMiddleware, to_langchain
from llamaindex_wmem import WmemMemory, to_llamaindex
from tests.leaks import CONTENT, Quoting, find_marks, watch

BROKEN: dict[str, Callable[[], Any]] = {
    "an object in a field": lambda: HumanMessage(
        CONTENT, id="h", additional_kwargs={CONTENT: Quoting(), "a": Quoting()}
    ),
    "an object in a call": lambda: AIMessage("", tool_calls=[{"name": "f", "args": {CONTENT: Quoting()}, "id": "c"}]),
    "an artifact": lambda: ToolMessage(CONTENT, tool_call_id="c", artifact={CONTENT: Quoting()}),
    "an object as content": lambda: HumanMessage("x").model_copy(update={"content": Quoting()}),
    "an object in content": lambda: HumanMessage("x").model_copy(update={"content": [CONTENT, Quoting()]}),
    "calls that are none": lambda: AIMessage("x").model_copy(update={"tool_calls": CONTENT}),
    "an id that is none": lambda: HumanMessage(CONTENT).model_copy(update={"id": f"{CONTENT}\n"}),
    "a surrogate": lambda: HumanMessage(f"{CONTENT}\ud800", name=f"{CONTENT}\ud800"),
    "a metadata object": lambda: AIMessage(CONTENT, response_metadata={CONTENT: {CONTENT: Quoting()}}),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_message_that_cannot_be_stored_is_not_repeated_by_an_agent_or_a_history(broken: str) -> None:
    memory = wmem.open("memory://", agent_id="a")
    model = GenericFakeChatModel(messages=iter(["Fine."] * 9))
    agent: Any = create_agent(model, middleware=[WmemMiddleware(memory, budget=400, session="s")])
    history = WmemChatMessageHistory("s", memory=memory)
    with watch() as watching:
        message = BROKEN[broken]()
        watching.run(partial(agent.invoke, {"messages": [HumanMessage("hello"), message]}))
        watching.run(lambda: asyncio.run(agent.ainvoke({"messages": [message]})))
        watching.run(partial(history.add_messages, [message]))
        watching.run(lambda: asyncio.run(history.aadd_messages([message])))
        watching.run(partial(getattr, history, "messages"))
    ours = [exc for exc in watching.errors if isinstance(exc, wmem.WmemError)]
    del watching.texts[:]
    for exc in ours:
        watching.run(partial(_raise, exc))
    assert find_marks([*watching.texts, *watching.lines]) == []


def _raise(exc: BaseException) -> None:
    raise exc


LLAMA: dict[str, Callable[[], Any]] = {
    "an object in a field": lambda: ChatMessage(
        content=CONTENT, additional_kwargs={CONTENT: Quoting(), "a": Quoting()}
    ),
    "an object as a block": lambda: ChatMessage(content="x").model_copy(update={"blocks": [Quoting(), CONTENT]}),
    "a block without its text": lambda: ChatMessage(
        blocks=[TextBlock(text="x").model_copy(update={"text": Quoting()})]
    ),
    "a surrogate": lambda: ChatMessage(blocks=[TextBlock(text=f"{CONTENT}\ud800")]),
    "a role that is none": lambda: ChatMessage(content=CONTENT).model_copy(update={"role": CONTENT}),
}


@pytest.mark.parametrize("broken", LLAMA)
def test_a_message_that_cannot_be_stored_is_not_repeated_by_a_chat_engine(broken: str) -> None:
    with watch() as watching, wmem.open("memory://", agent_id="a") as handle:
        memory = WmemMemory.from_defaults(session_id="s", memory=handle)
        message = LLAMA[broken]()
        for act in (
            partial(memory.put, message), partial(memory.set, [message]), partial(memory.get, message),
            lambda: asyncio.run(memory.aput(message)), memory.get_all, memory.get,
            lambda: SimpleChatEngine.from_defaults(llm=MockLLM(), memory=memory).chat("hi", chat_history=[message]),
            partial(WmemMemory.from_defaults, session_id="t", memory=handle, chat_history=[message]),
        ):  # fmt: skip
            watching.run(act)
    ours = [exc for exc in watching.errors if isinstance(exc, wmem.WmemError)]
    del watching.texts[:]
    for exc in ours:
        watching.run(partial(_raise, exc))
    assert find_marks([*watching.texts, *watching.lines]) == []


@pytest.mark.parametrize("framework", ["langchain", "llamaindex"])
@pytest.mark.parametrize(
    "data",
    [
        {"type": "ai", "data": {"content": [CONTENT], "tool_calls": CONTENT}},
        {"type": "ai", "data": {"tool_calls": [{"args": CONTENT}]}},
        {"type": "tool", "data": {"artifact": [CONTENT]}, "documents": True},
        {"type": CONTENT, "data": {}},
        {"role": CONTENT, "additional_kwargs": {}, "blocks": []},
        {"role": "user", "additional_kwargs": {"a": {"~wmem": CONTENT}}, "blocks": [CONTENT]},
        {"role": "user", "additional_kwargs": {}, "blocks": [{"block_type": CONTENT}]},
    ],
)
def test_what_is_stored_beside_a_message_and_does_not_read_is_not_repeated(framework: str, data: Any) -> None:
    beside = wmem.Native(framework=framework, data=data)
    messages = [wmem.Message.of(role, "x", id="n", native=beside) for role in ("user", "assistant", "tool")]
    with watch() as watching:
        for message in messages:
            watching.run(partial(to_langchain, [message]))
            watching.run(partial(to_llamaindex, [message]))
    assert find_marks(watching.texts) == []
