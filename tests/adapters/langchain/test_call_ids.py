"""Agents whose model sends tool calls without usable ids, and the histories of such agents."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, BaseMessage, FunctionMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

import wmem
from langchain_wmem import WmemChatMessageHistory, WmemMiddleware, from_langchain, to_langchain
from tests.adapters.langchain.conftest import Scripted

THREAD: Any = {"configurable": {"thread_id": "t"}}
ABSENT = [None, "", " "]


@tool
def search(query: str) -> str:
    """Search."""
    return f"found {query}"


@tool
def fetch(query: str) -> str:
    """Fetch."""
    return f"fetched {query}"


class Working(Scripted):
    """Calls its tools as long as it sees no result of each, as a real model does; at most ten times."""

    calls: list[Any]

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        turn = messages[max(at for at, each in enumerate(messages) if isinstance(each, HumanMessage)) :]
        results = [each for each in turn if isinstance(each, ToolMessage)]
        if len(results) < len(self.calls) and len(self.prompts) < 10:
            self.replies = [AIMessage("", tool_calls=self.calls)]
        super()._generate(messages, *args, **kwargs)
        last = self.prompts[-1]
        given = [call for each in last if isinstance(each, AIMessage) for call in each.tool_calls]
        unanswered = len(results) < len(self.calls) and len(self.prompts) < 10
        reply = AIMessage("", tool_calls=self.calls) if unanswered else AIMessage("Done.")
        assert len({call["id"] for call in given}) == len(given)
        return ChatResult(generations=[ChatGeneration(message=reply)])


def called(id: str | None, *names: str) -> list[dict[str, Any]]:
    return [{"name": name, "args": {"query": str(at)}, "id": id} for at, name in enumerate(names)]


def answers(prompt: Sequence[BaseMessage]) -> list[tuple[str, str]]:
    """Each call of a prompt with its result."""
    results = {each.tool_call_id: each.text for each in prompt if isinstance(each, ToolMessage)}
    calls = [call for each in prompt if isinstance(each, AIMessage) for call in each.tool_calls]
    assert [call["id"] for call in calls] == list(results)
    assert all((call["id"] or "").strip() for call in calls)
    return [(call["name"], results[call["id"] or ""]) for call in calls]


@pytest.mark.parametrize("id", [*ABSENT, "x"])
@pytest.mark.parametrize("budget", [4_000, 400])
async def test_b131_an_agent_whose_model_gives_calls_no_id_of_their_own_ends_after_one_round(
    run: Any, memory: wmem.AgentMemory, id: str | None, budget: int
) -> None:
    model = Working(calls=called(id, "search", "fetch", "search"))
    middleware = WmemMiddleware(memory, budget=budget, reserve=0)
    agent = create_agent(model, tools=[search, fetch], middleware=[middleware], checkpointer=InMemorySaver())
    for question in ("What is new?", "And now?"):
        state = await run(agent, {"messages": [HumanMessage(question)]}, config=THREAD)
        assert state["messages"][-1].text == "Done."
        assert answers(model.prompts[-1])[-3:] == [
            ("search", "found 0"),
            ("fetch", "fetched 1"),
            ("search", "found 2"),
        ]
    assert len(model.prompts) == 4


class OwnIds(AgentMiddleware):
    """Answers under ids of its own, as some proxies of tools do."""

    def __init__(self, tools: Sequence[str]) -> None:
        super().__init__()
        self._names = tools

    def _rename(self, message: Any) -> Any:
        return (
            message.model_copy(update={"tool_call_id": f"own-{message.text}"})
            if message.name in self._names
            else message
        )

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return self._rename(handler(request))

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return self._rename(await handler(request))


@pytest.mark.parametrize("renamed", [("search", "fetch"), ("search",), ("fetch",)])
@pytest.mark.parametrize("budget", [4_000, 400])
async def test_b131_an_agent_whose_tools_answer_under_ids_of_their_own_ends_after_one_round(
    run: Any, memory: wmem.AgentMemory, renamed: Sequence[str], budget: int
) -> None:
    calls = [{**call, "id": f"c{at}"} for at, call in enumerate(called("", "search", "fetch", "search"))]
    model = Working(calls=calls)
    middleware = [OwnIds(renamed), WmemMiddleware(memory, budget=budget, reserve=0)]
    saver = InMemorySaver()
    for question in ("What is new?", "And now?"):
        model.calls = [{**call, "id": f"{call['id']}-{len(question)}"} for call in calls]
        agent = create_agent(model, tools=[search, fetch], middleware=middleware, checkpointer=saver)
        state = await run(agent, {"messages": [HumanMessage(question)]}, config=THREAD)
        assert state["messages"][-1].text == "Done."
        assert answers(model.prompts[-1])[-3:] == [
            ("search", "found 0"),
            ("fetch", "fetched 1"),
            ("search", "found 2"),
        ]
    assert len(model.prompts) == 4
    stored = memory.scope("t").messages.all()
    assert len(stored) == 12
    afresh = [OwnIds(renamed), WmemMiddleware(memory, budget=budget, reserve=0)]
    agent = create_agent(Scripted(), middleware=afresh, checkpointer=saver)
    await run(agent, {"messages": [HumanMessage("thanks")]}, config=THREAD)
    assert memory.scope("t").messages.all()[:-2] == stored


async def test_b131_structured_output_without_an_id_of_its_call_ends_the_run(
    run: Any, memory: wmem.AgentMemory
) -> None:
    class Answer(BaseModel):
        text: str

    reply = AIMessage("", tool_calls=[{"name": "Answer", "args": {"text": "It rains."}, "id": ""}])
    model = Scripted(replies=[reply])
    agent = create_agent(
        model, response_format=ToolStrategy(Answer), middleware=[WmemMiddleware(memory, budget=4_000, session="t")]
    )
    state = await run(agent, {"messages": [HumanMessage("Weather?")]})
    assert state["structured_response"].text == "It rains."
    [calling, result] = memory.scope("t").messages.all()[1:]
    assert calling.answers == result.answers
    assert state["messages"][1].tool_calls[0]["id"] == state["messages"][2].tool_call_id == result.tool_call_id


@pytest.mark.parametrize("id", ABSENT)
def test_b131_a_history_pairs_messages_that_come_one_after_another(memory: wmem.AgentMemory, id: str | None) -> None:
    history = WmemChatMessageHistory("s", memory=memory)
    history.add_messages([HumanMessage("Hi"), AIMessage("", id="calls", tool_calls=called(id, "search", "fetch"))])
    results = [
        ToolMessage("b", name="fetch", tool_call_id=id or "", id="r2"),
        ToolMessage("a", tool_call_id="", id="r1"),
    ]
    for result in results:
        history.add_messages([result])
    before = history.messages
    assert dict(answers([before[1], before[3], before[2]])) == {"search": "a", "fetch": "b"}
    history.add_messages([AIMessage("", id="calls", tool_calls=called(id, "search", "fetch")), *results])
    assert history.messages == before


def test_b131_a_converted_list_is_paired_and_stays_so() -> None:
    given = [
        AIMessage("", tool_calls=called("x", "search", "search")),
        ToolMessage("a", tool_call_id="x"),
        ToolMessage("b", tool_call_id="x"),
    ]
    read = from_langchain(given)
    assert answers(to_langchain(read)) == [("search", "a"), ("search", "b")]
    assert from_langchain(to_langchain(read)) == read


def test_b131_the_result_of_a_function_answers_a_call_of_the_new_form() -> None:
    given = [AIMessage("", tool_calls=called("", "search")), FunctionMessage(content="a", name="search")]
    assert answers(to_langchain(from_langchain(given))) == [("search", "a")]


def test_b131_blocks_that_repeat_a_call_without_id_are_no_second_call() -> None:
    block = {"type": "tool_call", "name": "search", "args": {"query": "0"}, "id": None}
    [read] = from_langchain([AIMessage([{"type": "text", "text": "Hm."}, block], tool_calls=called(None, "search"))])
    assert [part.kind for part in read.parts] == ["text"]
    assert len(read.tool_calls) == 1
