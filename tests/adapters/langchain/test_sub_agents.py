"""A sub-agent that inherits its parent's thread does not share its parent's session."""

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, Send, interrupt

import wmem
from langchain_wmem import WmemMiddleware
from tests.adapters.langchain.conftest import Scripted
from wmem.errors import InvalidInputError

THREAD: Any = {"configurable": {"thread_id": "t"}}


def asking(*questions: str) -> AIMessage:
    calls = [{"name": "research", "args": {"question": each}, "id": f"call-{each}"} for each in questions]
    return AIMessage("", tool_calls=calls)


def user(text: str) -> Any:
    return {"messages": [HumanMessage(text)]}


def texts(messages: Sequence[BaseMessage]) -> list[str]:
    return [message.text for message in messages]


def said(memory: wmem.AgentMemory, *path: str) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in memory.scope(*path).messages.all()]


def remembering(memory: wmem.AgentMemory, **options: Any) -> WmemMiddleware:
    return WmemMiddleware(memory, **{"budget": 4_000, **options})


def calls_of(sub: Any) -> BaseTool:
    """The agent as a tool, sync and async."""

    def research(question: str) -> str:
        return str(sub.invoke(user(question))["messages"][-1].text)

    async def aresearch(question: str) -> str:
        return str((await sub.ainvoke(user(question)))["messages"][-1].text)

    return StructuredTool.from_function(research, aresearch, name="research", description="Look something up.")


class Peeking(AgentMiddleware[Any, Any, Any]):
    """Looks at the scopes of the thread, or of another session, while the sub-agent runs."""

    def __init__(self, memory: wmem.AgentMemory, *session: str) -> None:
        super().__init__()
        self.memory = memory
        self.session = session or ("t",)
        self.seen: list[dict[str, list[tuple[str, str]]]] = []

    def after_model(self, state: Any, runtime: Any) -> None:
        thread = self.memory.scope(*self.session)
        self.seen.append({name: said(self.memory, *self.session, name) for name in thread.children()})


async def test_a_sub_agent_in_a_tool_neither_reads_nor_writes_its_parent_s_conversation(
    run: Any,
    script: Any,
    opened: wmem.AgentMemory,
) -> None:
    inner, outer = script("It rains."), script(asking("Rain?"), "Yes, it rains.")
    peeking = Peeking(opened)
    sub = create_agent(inner, middleware=[peeking, remembering(opened)])
    agent = create_agent(outer, [calls_of(sub)], middleware=[remembering(opened)], checkpointer=InMemorySaver())
    await run(agent, user("Go."), config=THREAD)
    assert texts(inner.prompts[0]) == ["Rain?"]
    assert said(opened, "t") == [
        ("user", "Go."),
        ("assistant", ""),
        ("tool", "It rains."),
        ("assistant", "Yes, it rains."),
    ]
    [[(name, inside)]] = [list(seen.items()) for seen in peeking.seen]
    assert name.startswith("tools:")
    assert inside == [("user", "Rain?")]


async def test_a_sub_agent_recalls_the_items_of_its_parent_s_session(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    memory.scope("t").items.add("The umbrella is in the hall.")
    inner = script()
    sub = create_agent(inner, middleware=[remembering(memory)])
    agent = create_agent(
        script(asking("Where is the umbrella?")),
        [calls_of(sub)],
        middleware=[remembering(memory)],
        checkpointer=InMemorySaver(),
    )
    await run(agent, user("Go."), config=THREAD)
    assert any("in the hall" in text for text in texts(inner.prompts[0]))


async def test_parallel_sub_agents_never_see_each_other(run: Any, script: Any, opened: wmem.AgentMemory) -> None:
    inner = script()
    sub = create_agent(inner, middleware=[remembering(opened)])
    outer = script(asking("Bern?", "Basel?"), "Both.", asking("Biel?"), "Too.")
    agent = create_agent(outer, [calls_of(sub)], middleware=[remembering(opened)], checkpointer=InMemorySaver())
    await run(agent, user("Go."), config=THREAD)
    await run(agent, user("Again."), config=THREAD)
    assert sorted(texts(prompt) for prompt in inner.prompts) == [["Basel?"], ["Bern?"], ["Biel?"]]


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_sub_agents_that_one_tool_call_runs_at_once_never_see_each_other(
    mode: str,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    inner = script()
    sub: Any = create_agent(inner, middleware=[remembering(memory)])

    @tool
    def research(question: str) -> str:
        """Look three things up."""
        ask: Any = sub.invoke
        RunnableLambda(ask).batch([user(f"{question} {number}") for number in range(3)])
        return "Done."

    @tool("research")
    async def aresearch(question: str) -> str:
        """Look three things up."""
        await asyncio.gather(*(sub.ainvoke(user(f"{question} {number}")) for number in range(3)))
        return "Done."

    agent = create_agent(
        script(asking("Rain?")),
        [research if mode == "sync" else aresearch],
        middleware=[remembering(memory)],
        checkpointer=InMemorySaver(),
    )
    if mode == "sync":
        agent.invoke(user("Go."), THREAD)
    else:
        await agent.ainvoke(user("Go."), THREAD)
    assert sorted(texts(prompt) for prompt in inner.prompts) == [["Rain? 0"], ["Rain? 1"], ["Rain? 2"]]


@dataclass
class Who:
    session_id: str


async def test_an_inherited_context_is_no_session_of_the_sub_agent_s_own(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    inner = script("It rains.")
    sub = create_agent(inner, middleware=[remembering(memory)], context_schema=Who)
    outer = script(asking("Rain?"), "Yes.")
    agent = create_agent(outer, [calls_of(sub)], middleware=[remembering(memory)], context_schema=Who)
    await run(agent, user("Go."), context=Who("alice"))
    assert texts(inner.prompts[0]) == ["Rain?"]
    assert [role for role, _ in said(memory, "alice")] == ["user", "assistant", "tool", "assistant"]


async def test_a_sub_agent_s_own_session_is_taken_as_it_is(run: Any, script: Any, memory: wmem.AgentMemory) -> None:
    inner = script("It rains.", "It snows.")
    sub = create_agent(inner, middleware=[remembering(memory, session="weather")])
    outer = script(asking("Rain?"), "Yes.", asking("Snow?"), "Yes.")
    agent = create_agent(outer, [calls_of(sub)], middleware=[remembering(memory)], checkpointer=InMemorySaver())
    await run(agent, user("Go."), config=THREAD)
    await run(agent, user("Go on."), config=THREAD)
    assert texts(inner.prompts[1]) == ["Rain?", "It rains.", "Snow?"]
    assert len(said(memory, "weather")) == 4
    assert len(said(memory, "t")) == 8


async def test_a_thread_that_is_given_to_the_sub_agent_is_its_own(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    sub = create_agent(script("It rains."), middleware=[remembering(memory)], checkpointer=InMemorySaver())

    @tool
    def research(question: str) -> str:
        """Look something up."""
        return str(sub.invoke(user(question), {"configurable": {"thread_id": "other"}})["messages"][-1].text)

    agent = create_agent(
        script(asking("Rain?")),
        [research],
        middleware=[remembering(memory)],
        checkpointer=InMemorySaver(),
    )
    await run(agent, user("Go."), config=THREAD)
    assert [role for role, _ in said(memory, "t")] == ["user", "assistant", "tool", "assistant"]
    assert said(memory, "other") == [("user", "Rain?"), ("assistant", "It rains.")]


async def test_a_sub_agent_of_a_sub_agent_reads_through_to_both(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    peeking = Peeking(memory)
    deep = script("Deep.")
    deepest = create_agent(deep, middleware=[remembering(memory)])
    middle = create_agent(
        script(asking("Deeper?"), "Middle."),
        [calls_of(deepest)],
        middleware=[peeking, remembering(memory)],
    )
    agent = create_agent(
        script(asking("Rain?"), "Top."),
        [calls_of(middle)],
        middleware=[remembering(memory)],
        checkpointer=InMemorySaver(),
    )
    await run(agent, user("Go."), config=THREAD)
    assert texts(deep.prompts[0]) == ["Deeper?"]
    assert [text for [text] in (list(seen.values()) for seen in peeking.seen)][-1] == [
        ("user", "Rain?"),
        ("assistant", ""),
        ("tool", "Deep."),
    ]
    assert [text for _, text in said(memory, "t")] == ["Go.", "", "Middle.", "Top."]


async def test_the_scope_of_a_sub_agent_is_gone_after_its_run_so_a_thread_may_have_any_number(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    sub = create_agent(script(), middleware=[remembering(memory)])
    memory.scope("t", policy=wmem.Policy(max_child_scopes=2)).entries.set("begun", value=True)
    outer = script(*(asking(f"{number}?") for number in range(3)), "Done.")
    agent = create_agent(outer, [calls_of(sub)], middleware=[remembering(memory)], checkpointer=InMemorySaver())
    result = await run(agent, user("Go."), config=THREAD)
    assert result["messages"][-1].text == "Done."
    assert memory.scope("t").children() == []


async def test_a_sub_agent_that_was_interrupted_goes_on_in_its_scope(
    run: Any,
    script: Any,
    opened: wmem.AgentMemory,
) -> None:
    @tool
    def confirm() -> str:
        """Ask a person."""
        return str(interrupt("Sure?"))

    peeking = Peeking(opened)
    inner = script(AIMessage("", tool_calls=[{"name": "confirm", "args": {}, "id": "c"}]), "Confirmed.")
    sub = create_agent(inner, [confirm], middleware=[peeking, remembering(opened)])
    agent = create_agent(
        script(asking("Rain?"), "Done."),
        [calls_of(sub)],
        middleware=[remembering(opened)],
        checkpointer=InMemorySaver(),
    )
    await run(agent, user("Go."), config=THREAD)
    [name] = opened.scope("t").children()
    assert [role for role, _ in said(opened, "t", name)] == ["user"]
    result = await run(agent, Command(resume="Yes."), config=THREAD)
    assert result["messages"][-1].text == "Done."
    assert [message.type for message in inner.prompts[1]] == ["human", "ai", "tool"]
    assert [list(seen) for seen in peeking.seen] == [[name], [name]]
    assert opened.scope("t").children() == []


async def test_a_sub_agent_whose_state_is_kept_for_the_thread_keeps_its_scope_too(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    inner = script("It rains.", "It snows.")
    sub = create_agent(inner, middleware=[remembering(memory)], checkpointer=True)
    outer = script(asking("Rain?"), "Yes.", asking("Snow?"), "Yes.")
    agent = create_agent(outer, [calls_of(sub)], middleware=[remembering(memory)], checkpointer=InMemorySaver())
    await run(agent, user("Go."), config=THREAD)
    await run(agent, user("Go on."), config=THREAD)
    [name] = memory.scope("t").children()
    assert [text for _, text in said(memory, "t", name)] == ["Rain?", "It rains.", "Snow?", "It snows."]
    assert texts(inner.prompts[1]) == ["Rain?", "It rains.", "Snow?"]


async def test_an_agent_that_is_a_node_of_a_graph_says_whose_session_it_has(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    def graph(**options: Any) -> Any:
        builder = StateGraph(MessagesState)
        builder.add_node("talk", create_agent(script("Hi Ada."), middleware=[remembering(memory, **options)]))
        builder.add_edge(START, "talk")
        return builder.compile(checkpointer=InMemorySaver())

    with pytest.raises(InvalidInputError, match=r"'talk:.*session="):
        await run(graph(), user("I am Ada."), config=THREAD)
    assert said(memory, "t") == []
    shared = graph(session=lambda runtime: runtime.execution_info.thread_id)
    await run(shared, user("I am Ada."), config=THREAD)
    assert said(memory, "t") == [("user", "I am Ada."), ("assistant", "Hi Ada.")]


def node_graph(*agents: Any, **options: Any) -> Any:
    """A graph that runs agents one after the other on one list of messages, as supervisors and swarms do."""
    builder = StateGraph(MessagesState)
    builder.add_sequence([(f"agent-{at}", agent) for at, agent in enumerate(agents)])
    builder.add_edge(START, "agent-0")
    return builder.compile(**options)


async def test_agents_that_are_nodes_of_a_graph_share_the_thread_s_session(
    run: Any, script: Any, opened: wmem.AgentMemory
) -> None:
    models = script("Hi Ada."), script("Hello Ada.")
    agents = [create_agent(each, middleware=[remembering(opened, session="thread")]) for each in models]
    graph = node_graph(node_graph(agents[0]), agents[1], checkpointer=InMemorySaver())
    await run(graph, user("I am Ada."), config=THREAD)
    await run(graph, user("Who am I?"), config=THREAD)
    assert [text for _, text in said(opened, "t")] == [
        *("I am Ada.", "Hi Ada.", "Hello Ada.", "Who am I?", "Fine.", "Fine."),
    ]
    assert texts(models[1].prompts[1]) == ["I am Ada.", "Hi Ada.", "Hello Ada.", "Who am I?", "Fine."]
    assert opened.scope("t").children() == []


class Late(Scripted):
    """Answers when it may."""

    gate: Any = None

    async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
        await self.gate.wait()
        return super()._generate(*args, **kwargs)


async def test_answers_that_come_at_once_are_sent_in_the_order_of_the_state(
    script: Any, opened: wmem.AgentMemory
) -> None:
    models = Late(gate=asyncio.Event(), replies=[AIMessage("One")]), script("Two")
    first, second = (create_agent(each, middleware=[remembering(opened, session="thread")]) for each in models)

    async def run_second(state: MessagesState) -> Any:
        given: Any = state
        result = await second.ainvoke(given)
        models[0].gate.set()
        return result

    builder = StateGraph(MessagesState)
    builder.add_node("first", first)
    builder.add_node("second", run_second)
    builder.add_edge(START, "first")
    builder.add_edge(START, "second")
    graph = builder.compile(checkpointer=InMemorySaver())
    for said in ("Go.", "And now?"):
        result = await graph.ainvoke(user(said), THREAD)
    for model in models:
        assert texts(model.prompts[1]) == texts(result["messages"])[:4] == ["Go.", "One", "Two", "And now?"]


class Meeting(Scripted):
    """Answers once three have been asked at the same time."""

    gate: Any = None

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        self.gate.wait()
        return super()._generate(*args, **kwargs)

    async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
        await self.gate.wait()
        return super()._generate(*args, **kwargs)


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_agents_that_a_graph_sends_to_at_once_withdraw_nothing_of_each_other(
    opened: wmem.AgentMemory, mode: str
) -> None:
    model = Meeting(gate=threading.Barrier(3, timeout=60) if mode == "sync" else asyncio.Barrier(3))
    builder = StateGraph(MessagesState)
    builder.add_node("agent", create_agent(model, middleware=[remembering(opened, session="thread")]))
    questions = [f"Question {number}" for number in range(3)]
    builder.add_conditional_edges(START, lambda _: [Send("agent", user(each)) for each in questions], ["agent"])
    graph = builder.compile(checkpointer=InMemorySaver())
    for _ in range(2):
        await graph.ainvoke(user("Go."), THREAD) if mode == "async" else graph.invoke(user("Go."), THREAD)
    assert opened.scope("t").messages.withdrawn() == []
    assert sorted(text for _, text in said(opened, "t")) == sorted([*questions, "Fine.", "Fine.", "Fine."] * 2)


async def test_a_sub_agent_in_a_tool_of_a_graph_s_agent_gets_a_scope_below_the_thread_s(
    run: Any, script: Any, opened: wmem.AgentMemory
) -> None:
    peeking = Peeking(opened)
    sub = create_agent(script("It rains."), middleware=[peeking, remembering(opened, session="thread")])
    outer = script(asking("Rain?"), "Yes, it rains.")
    agent = create_agent(outer, [calls_of(sub)], middleware=[remembering(opened, session="thread")])
    await run(node_graph(agent, checkpointer=InMemorySaver()), user("Go."), config=THREAD)
    [[(name, inside)]] = [list(seen.items()) for seen in peeking.seen]
    assert name.startswith("tools:")
    assert inside == [("user", "Rain?")]
    assert [text for _, text in said(opened, "t")] == ["Go.", "", "It rains.", "Yes, it rains."]
    assert opened.scope("t").children() == []


async def test_the_thread_s_session_is_the_thread_s_whatever_the_context_says(
    run: Any, script: Any, memory: wmem.AgentMemory
) -> None:
    agent = create_agent(
        script(), middleware=[remembering(memory, session="thread")], checkpointer=InMemorySaver(), context_schema=Who
    )
    await run(agent, user("Hi."), config=THREAD, context=Who("other"))
    assert (said(memory, "t"), said(memory, "other")) == ([("user", "Hi."), ("assistant", "Fine.")], [])
    named = create_agent(script(), middleware=[remembering(memory, session=lambda _: "thread")])
    await run(named, user("Hi."))
    assert said(memory, "thread") == [("user", "Hi."), ("assistant", "Fine.")]
    with pytest.raises(InvalidInputError, match="thread_id"):
        await run(create_agent(script(), middleware=[remembering(memory, session="thread")]), user("Hi."))


def test_the_context_of_a_sub_agent_is_not_taken_for_its_parent_s(script: Any, memory: wmem.AgentMemory) -> None:
    shared = remembering(memory)
    peeking = Peeking(memory)
    sub = create_agent(script("It rains."), middleware=[peeking, shared])
    contexts: list[Any] = []

    @tool
    def research(question: str) -> str:
        """Look something up."""
        sub.invoke(user(question))
        contexts.append(shared.last_context("t"))
        return "Done."

    outer = script(asking("Rain?"), "Done.")
    agent = create_agent(outer, [research], middleware=[shared], checkpointer=InMemorySaver())
    agent.invoke(user("Go."), THREAD)
    assert [message.text for message in contexts[0].messages] == ["Go."]
    [[name]] = [list(seen) for seen in peeking.seen]
    inner = shared.last_context("t", name)
    assert inner is not None
    assert [message.text for message in inner.messages] == ["Rain?"]


def test_threads_of_one_tool_call_that_lose_their_context_are_no_sub_agents(
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    sub = create_agent(script(), middleware=[remembering(memory)])

    @tool
    def research(question: str) -> str:
        """Look something up in a bare thread, to which nothing is handed down."""
        with ThreadPoolExecutor(1) as pool:
            pool.submit(sub.invoke, user(question)).result()
        return "Done."

    outer = script(asking("Rain?"))
    agent = create_agent(outer, [research], middleware=[remembering(memory)], checkpointer=InMemorySaver())
    with pytest.raises(InvalidInputError, match="no default session"):
        agent.invoke(user("Go."), THREAD)


NESTED = ("user:7", "tools:3")
"""A session of two names, with colons in them, as the scope of a run that ends has them."""


@pytest.mark.parametrize("session", [NESTED, lambda _: NESTED, None])
async def test_a_session_may_have_several_names(run: Any, script: Any, memory: wmem.AgentMemory, session: Any) -> None:
    middleware = remembering(memory, session=session)
    agent = create_agent(script("Hi.", "Ada."), middleware=[middleware], context_schema=dict)
    context = {} if session else {"session_id": list(NESTED)}
    await run(agent, user("I am Ada."), context=context)
    await run(agent, user("Who am I?"), context=context)
    talk = [("user", "I am Ada."), ("assistant", "Hi."), ("user", "Who am I?"), ("assistant", "Ada.")]
    assert said(memory, *NESTED) == talk, "it is not taken for the scope of a sub-agent's run, which ends"
    assert middleware.scope(NESTED).path == (memory.agent_id, *NESTED)
    assert middleware.last_context(NESTED) is middleware.last_context(*NESTED) is not None
    middleware.forget(NESTED)
    assert (said(memory, *NESTED), middleware.last_context(NESTED)) == ([], None)


async def test_the_scopes_of_sub_agents_stay_below_a_session_of_several_names(
    run: Any, script: Any, memory: wmem.AgentMemory
) -> None:
    peeking = Peeking(memory, *NESTED)
    sub = create_agent(script("It rains."), middleware=[peeking, remembering(memory)])
    agent = create_agent(script(asking("Rain?"), "Yes."), [calls_of(sub)], middleware=[remembering(memory)])
    await run(agent, user("Go."), context={"session_id": NESTED})
    [[(name, inside)]] = [list(seen.items()) for seen in peeking.seen]
    assert (name.startswith("tools:"), inside) == (True, [("user", "Rain?")])
    assert [text for _, text in said(memory, *NESTED)] == ["Go.", "", "It rains.", "Yes."]
    assert memory.scope(*NESTED).children() == []


@pytest.mark.parametrize("wrong", [(), ("a", " "), ("a", 5), 5, "", " "])
async def test_a_session_that_has_no_name_is_refused(
    run: Any, script: Any, memory: wmem.AgentMemory, wrong: Any
) -> None:
    with pytest.raises(InvalidInputError, match="session"):
        await run(create_agent(script(), middleware=[remembering(memory, session=wrong)]), user("Hi."))
