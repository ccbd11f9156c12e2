"""`wmem_pack` in chains and in graphs of one's own: it stores what is said, and gives what fits."""

import asyncio
import itertools
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, TypedDict, get_args

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import FakeListLLM, GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent, tools_condition
from pydantic import BaseModel

import wmem
from langchain_wmem import WmemPack, wmem_pack
from tests.adapters.langchain.conftest import Scripted
from tests.adapters.langchain.test_usage import long_talk, ours
from wmem.errors import InvalidInputError
from wmem.types import ProviderProfile, Roles

LIMIT, RESERVE = 1_200, 200
CONFIG: Any = {"configurable": {"session_id": "s"}}
THREAD: Any = {"configurable": {"thread_id": "s"}}


@tool
def rain(town: str) -> str:
    """Whether it rains in a town."""
    return f"No rain in {town}. " * 60


def packing(memory: wmem.AgentMemory, **options: Any) -> WmemPack:
    return wmem_pack(memory, **{"budget": LIMIT, "reserve": RESERVE, **options})


def asking() -> ChatPromptTemplate:
    return ChatPromptTemplate.from_messages([("system", "Be brief, {name}."), ("human", "{question}")])


def asked(question: str) -> Any:
    return {"name": "Ada", "question": question}


def texts(messages: Sequence[Any]) -> list[str]:
    return [message.text for message in messages]


def said(memory: wmem.AgentMemory, session: str = "s") -> list[str]:
    return texts(memory.scope(session).messages.all())


# --- Chains -----------------------------------------------------------------------------------------------------------


async def test_a_chain_sends_what_fits_with_the_tools_that_are_bound_and_stores_each_message_once(
    run: Any, script: Any, opened: wmem.AgentMemory
) -> None:
    long_talk(opened, turns=40)
    before = said(opened)
    model = script("It rains.")
    bound = model.bind_tools([rain] * 3)
    pack = packing(opened, model=bound)
    chain = asking() | pack | bound | pack.store_reply | StrOutputParser()
    assert await run(chain, asked("What of the fair in town 7?"), config=CONFIG) == "It rains."
    assert await run(chain, asked("And in town 8?"), config=CONFIG) == "Fine."
    assert said(opened) == [*before, "What of the fair in town 7?", "It rains.", "And in town 8?", "Fine."]
    for prompt, schemas in zip(model.prompts, model.schemas, strict=True):
        assert prompt[0] == SystemMessage("Be brief, Ada.")
        assert len(schemas) == 3
        assert 0.8 * (LIMIT - RESERVE) < ours(prompt, schemas) <= LIMIT - RESERVE
    assert texts(model.prompts[1])[-3:] == ["What of the fair in town 7?", "It rains.", "And in town 8?"]
    turns = opened.scope("s").messages.turns()
    assert [texts(turn) for turn in turns[-2:]] == [
        ["What of the fair in town 7?", "It rains."],
        ["And in town 8?", "Fine."],
    ]


@pytest.mark.parametrize("profile", get_args(ProviderProfile))
def test_the_ceiling_holds_for_any_provider_with_system_text_in_front_and_to_come(
    memory: wmem.AgentMemory, profile: ProviderProfile
) -> None:
    long_talk(memory, turns=40)
    schemas = [convert_to_openai_tool(rain)] * 3
    leading = [SystemMessage(f"Rule {at}: be brief. " * 8) for at in range(3)]
    for system, roles in itertools.product(["", "You are a clerk. " * 12], get_args(Roles)):
        pack = packing(memory, session="s", tools=[rain] * 3, system=system, profile=profile, roles=roles)
        sent = pack.invoke([*leading, HumanMessage("What of the fair in town 7? " * 4, id="q")])
        whole = [*([SystemMessage(system)] if system else []), *sent]
        assert 0.8 * (LIMIT - RESERVE) < ours(whole, schemas) <= LIMIT - RESERVE
        assert all(any(each.text.strip() in message.text for message in sent) for each in leading)


async def test_below_the_budget_what_was_handed_over_comes_back_as_it_is(run: Any, opened: wmem.AgentMemory) -> None:
    calls = [{"name": "rain", "args": {"town": "Bern"}, "id": "c1"}]
    given: list[BaseMessage] = [
        SystemMessage([{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]),
        HumanMessage("Rain?"),
        AIMessage("", tool_calls=calls, id="a1", response_metadata={"model": "m"}),
        ToolMessage("No.", tool_call_id="c1", artifact={"code": 1}),
        HumanMessage("And in Basel?", id="h2"),
    ]
    made = await run(packing(opened, session="s"), given)
    assert made == given
    assert all(one is other for one, other in zip(made[1:], given[1:], strict=True))
    assert await run(packing(opened, session="s"), given) == given
    assert len(said(opened)) == 4


async def test_a_conversation_without_ids_that_is_handed_over_again_and_again_is_stored_once(
    run: Any, opened: wmem.AgentMemory
) -> None:
    prompt = ChatPromptTemplate.from_messages(
        [("human", "2+2"), ("ai", "4"), MessagesPlaceholder("past"), ("human", "{question}")]
    )
    past: list[BaseMessage] = []
    model = Scripted(replies=[AIMessage("yes"), AIMessage("no"), AIMessage("yes"), AIMessage("yes")])
    for question in ("One?", "Two?", "Two?", "yes"):
        chain = prompt | packing(opened, session="s") | model
        reply = await run(chain, {"past": past, "question": question})
        past += [HumanMessage(question), AIMessage(reply.text)]
    assert texts(model.prompts[-1]) == ["2+2", "4", "One?", "yes", "Two?", "no", "Two?", "yes", "yes"]
    assert said(opened) == texts(model.prompts[-1])


async def test_a_window_of_the_past_is_known_and_a_question_that_comes_again_is_asked_again(
    run: Any, script: Any, opened: wmem.AgentMemory
) -> None:
    pack = packing(opened, session="s")
    chain = pack | script("One.", "Two.", "Three.") | pack.store_reply
    for given in (
        ["A?"],
        ["A?"],
        [HumanMessage("A?"), AIMessage("Two."), HumanMessage("B?")],
    ):
        await run(chain, given)
    assert said(opened) == ["A?", "One.", "A?", "Two.", "B?", "Three."]


async def test_a_chain_that_is_tried_again_stores_its_question_once(run: Any, opened: wmem.AgentMemory) -> None:
    model = Scripted(replies=[RuntimeError("down"), AIMessage("Up.")])
    pack = packing(opened, session="s")
    chain = (asking() | pack | model | pack.store_reply).with_retry(wait_exponential_jitter=False)
    await run(chain, asked("Rain?"))
    assert said(opened) == ["Rain?", "Up."]


async def test_sessions_come_from_the_run_as_in_a_history_or_a_graph_or_are_set(
    run: Any, opened: wmem.AgentMemory
) -> None:
    await run(packing(opened), "By session.", config=CONFIG)
    await run(packing(opened), "By thread.", config={"configurable": {"thread_id": 7}})
    await run(
        packing(opened, session="thread"),
        "By thread.",
        config={"configurable": {"thread_id": "t", **CONFIG["configurable"]}},
    )
    await run(packing(opened, session="fixed"), "Set.", config=CONFIG)
    await run(
        packing(opened, session=lambda config: config["metadata"]["user"]), "Made.", config={"metadata": {"user": "u"}}
    )
    sessions = {"s": "By session.", "7": "By thread.", "t": "By thread.", "fixed": "Set.", "u": "Made."}
    assert {session: said(opened, session) for session in sessions} == {key: [text] for key, text in sessions.items()}
    for config in ({}, {"configurable": {"session_id": " "}}, {"configurable": {"session_id": 5}}):
        with pytest.raises(InvalidInputError, match="session"):
            await run(packing(opened), "Nobody's.", config=config)


async def test_a_session_that_is_forgotten_begins_anew(run: Any, opened: wmem.AgentMemory) -> None:
    pack = packing(opened, session=("u", "s"))
    for forget in (pack.forget, pack.aforget):
        await run(pack, [HumanMessage("Hi", id="h")])
        assert texts(opened.scope("u", "s").messages.all()) == ["Hi"]
        done: Any = forget(("u", "s"))
        if done is not None:
            await done
        assert opened.scope("u", "s").messages.all() == []
        assert pack.last_context(("u", "s")) is None


async def test_a_batch_gives_each_input_its_own_session(opened: wmem.AgentMemory) -> None:
    pack = packing(opened)
    configs: Any = [{"configurable": {"session_id": f"s{at}"}} for at in range(4)]
    chain = pack | Scripted() | pack.store_reply
    chain.batch([f"Question {at}" for at in range(4)], configs)
    await chain.abatch([f"Other {at}" for at in range(4)], configs)
    for at in range(4):
        assert said(opened, f"s{at}") == [f"Question {at}", "Fine.", f"Other {at}", "Fine."]


async def test_a_stream_goes_through_piece_by_piece_and_is_stored_whole(memory: wmem.AgentMemory) -> None:
    pack = packing(memory, session="s")
    chain = pack | GenericFakeChatModel(messages=iter(["It rains a lot.", "It snows now."])) | pack.store_reply
    assert "".join(piece.text for piece in chain.stream("Rain?")) == "It rains a lot."
    assert len([piece async for piece in chain.astream("Snow?")]) > 3
    assert said(memory) == ["Rain?", "It rains a lot.", "Snow?", "It snows now."]
    texts_only = packing(memory, session="t")
    (texts_only | FakeListLLM(responses=["Fine."]) | texts_only.store_reply).invoke("Hi")
    assert [(each.role, each.text) for each in memory.scope("t").messages.all()] == [
        ("user", "Hi"),
        ("assistant", "Fine."),
    ]


async def test_of_a_stream_that_is_not_read_to_its_end_what_came_is_stored_as_not_complete(
    memory: wmem.AgentMemory,
) -> None:
    pack = packing(memory, session="s")
    chain = pack | GenericFakeChatModel(messages=iter(["It rains a lot.", "It snows now."])) | pack.store_reply
    stream: Any = chain.stream("Rain?")
    next(stream)
    stream.close()
    astream: Any = chain.astream("Snow?")
    await anext(astream)
    await astream.aclose()
    for _ in range(20):  # Python closes the generators inside one after the other
        await asyncio.sleep(0)
    stored = memory.scope("s").messages.all()
    assert [(each.text, each.complete) for each in stored] == [
        ("Rain?", True),
        ("It", False),
        ("Snow?", True),
        ("It", False),
    ]


async def test_a_budget_is_a_share_of_the_window_of_the_model_that_is_named(run: Any, memory: wmem.AgentMemory) -> None:
    long_talk(memory, turns=40)
    model = Scripted(profile={"max_input_tokens": 2 * LIMIT})
    pack = packing(memory, session="s", model=model.with_retry(), budget=0.5)
    assert ours(await run(pack, "And the fair?")) <= LIMIT - RESERVE
    assert (context := pack.last_context("s")) is not None
    assert context.budget == LIMIT
    for budget in (None, 0.5):
        with pytest.raises(InvalidInputError, match="model="):
            packing(memory, budget=budget)


@pytest.mark.parametrize("wrong", [5, {"text": "Hi"}, [5], object(), [("nobody", "Hi")]])
async def test_what_has_no_messages_is_refused_and_nothing_is_stored(
    run: Any, memory: wmem.AgentMemory, wrong: Any
) -> None:
    with pytest.raises(InvalidInputError, match="message"):
        await run(packing(memory, session="s"), wrong)
    assert said(memory) == []


class Listener(BaseCallbackHandler):
    """Keeps the events of packing."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []

    def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
        self.told.append((name, data))


async def test_callbacks_are_told_what_a_prompt_was_made_of(run: Any, memory: wmem.AgentMemory) -> None:
    listener, pack = Listener(), packing(memory)
    await run(pack | Scripted(), "Hi", config={**CONFIG, "callbacks": [listener]})
    [(name, told)] = listener.told
    assert (name, told["session"], told["kept"]) == ("wmem_pack", "s", 1)


# --- Graphs -----------------------------------------------------------------------------------------------------------


class State(MessagesState):
    llm_input_messages: list[AnyMessage]


async def test_a_node_puts_what_fits_under_a_key_of_its_own_and_leaves_the_messages(
    run: Any, script: Any, opened: wmem.AgentMemory
) -> None:
    model, pack = script(), packing(opened)

    def talk(state: Any) -> Any:
        return {"messages": [model.invoke(state["llm_input_messages"])]}

    builder = StateGraph(State)
    steps: list[Any] = [("pack", pack), ("talk", talk), ("store", pack.store_reply)]
    builder.add_sequence(steps)
    builder.add_edge(START, "pack")
    graph = builder.compile(checkpointer=InMemorySaver())
    questions = [f"And in town {turn}, {'what of the fair there ' * 8}?" for turn in range(12)]
    for question in questions:
        state = await run(graph, {"messages": [("user", question)]}, config=THREAD)
    whole = [text for question in questions for text in (question, "Fine.")]
    assert texts(state["messages"]) == whole
    assert said(opened) == whole
    assert all(ours(prompt) <= LIMIT - RESERVE for prompt in model.prompts)
    assert texts(model.prompts[3]) == whole[:7]
    assert model.prompts[-1][-1].text == questions[-1]


async def test_given_a_thread_s_state_the_session_follows_its_path(
    run: Any, script: Any, opened: wmem.AgentMemory
) -> None:
    model, pack = script("One.", "Two.", "Other two."), packing(opened)

    def talk(state: Any) -> Any:
        return {"messages": [model.invoke(state["llm_input_messages"])]}

    builder = StateGraph(State)
    steps: list[Any] = [("pack", pack), ("talk", talk), ("store", pack.store_reply)]
    builder.add_sequence(steps)
    builder.add_edge(START, "pack")
    graph = builder.compile(checkpointer=InMemorySaver())
    await run(graph, {"messages": [HumanMessage("1?", id="h1")]}, config=THREAD)
    await run(graph, {"messages": [HumanMessage("2?", id="h2")]}, config=THREAD)
    answer = graph.get_state(THREAD).values["messages"][-1]
    graph.update_state(THREAD, {"messages": [RemoveMessage(id=answer.id)]})
    state = await run(graph, {"messages": [HumanMessage("2, I say?", id="h2")]}, config=THREAD)
    assert texts(model.prompts[-1]) == ["1?", "One.", "2, I say?"]
    assert said(opened) == texts(state["messages"]) == ["1?", "One.", "2, I say?", "Other two."]


async def test_a_list_that_is_a_part_of_the_state_takes_nothing_back(
    run: Any, script: Any, opened: wmem.AgentMemory
) -> None:
    model, pack = script("One.", "Plan.", "Two."), packing(opened)

    def talk(state: Any) -> Any:
        return {"messages": [model.invoke(pack.invoke(state["messages"]))]}

    def plan(state: Any) -> Any:
        model.invoke(pack.invoke([SystemMessage("Plan."), HumanMessage("Aside.", id="x")]))

    builder = StateGraph(MessagesState)
    steps: list[Any] = [("talk", talk), ("plan", plan)]
    builder.add_sequence(steps)
    builder.add_edge(START, "talk")
    graph = builder.compile(checkpointer=InMemorySaver())
    for question in ("1?", "2?"):
        await run(graph, {"messages": [("user", question)]}, config=THREAD)
    assert {"1?", "One.", "Aside.", "2?"} <= set(said(opened))


async def test_in_a_node_of_one_s_own_messages_go_in_and_come_out(
    run: Any, script: Any, opened: wmem.AgentMemory
) -> None:
    model = script(AIMessage("", tool_calls=[{"name": "rain", "args": {"town": "Bern"}, "id": "c"}]))
    bound = model.bind_tools([rain])
    pack = packing(opened, model=bound)

    def talk(state: Any) -> Any:
        return {"messages": [bound.invoke(pack.invoke(state["messages"]))]}

    async def atalk(state: Any) -> Any:
        return {"messages": [await bound.ainvoke(await pack.ainvoke(state["messages"]))]}

    builder = StateGraph(MessagesState)
    builder.add_node("talk", RunnableLambda(talk, atalk))
    builder.add_node("tools", ToolNode([rain]))
    builder.add_edge(START, "talk")
    builder.add_conditional_edges("talk", tools_condition)
    builder.add_edge("tools", "talk")
    graph = builder.compile(checkpointer=InMemorySaver())
    await run(graph, {"messages": [("user", "Rain?")]}, config=THREAD)
    await run(graph, {"messages": [("user", "And in Basel?")]}, config=THREAD)
    assert said(opened) == ["Rain?", "", "No rain in Bern. " * 60, "Fine.", "And in Basel?"]
    assert [message.type for message in model.prompts[1]] == ["human", "ai", "tool"]
    assert all(ours(*each) <= LIMIT - RESERVE for each in zip(model.prompts, model.schemas, strict=True))


async def test_langgraph_s_prebuilt_agent_takes_it_as_its_hooks(
    run: Any, script: Any, opened: wmem.AgentMemory
) -> None:
    long_talk(opened, turns=40)
    before = said(opened)
    system = "Be brief, and tell the truth. " * 12
    model = script(AIMessage("", tool_calls=[{"name": "rain", "args": {"town": "Bern"}, "id": "c"}]), "No.")
    pack = packing(opened, tools=[rain], system=system)
    hooks: Any = {"pre_model_hook": pack, "post_model_hook": pack.store_reply}
    with pytest.warns(DeprecationWarning, match="create_react_agent"):
        agent = create_react_agent(model, [rain], prompt=system, checkpointer=InMemorySaver(), **hooks)
    state = await run(agent, {"messages": [("user", "What of the fair in town 7, and does it rain?")]}, config=THREAD)
    assert len(state["messages"]) == 4
    assert said(opened) == [*before, *texts(state["messages"])]
    assert len(model.prompts) == 2
    for prompt, schemas in zip(model.prompts, model.schemas, strict=True):
        assert prompt[0].text == system
        assert all(message.type != "system" for message in prompt[1:])
        assert 0.7 * (LIMIT - RESERVE) < ours(prompt, schemas) <= LIMIT - RESERVE


async def test_a_state_may_be_any_object_and_have_its_messages_anywhere(run: Any, memory: wmem.AgentMemory) -> None:
    class Talk(BaseModel):
        talk: list[Any]

    class Dialogue(TypedDict):
        talk: list[Any]

    pack = packing(memory, session="s", input_key="talk", output_key="prompt")
    chain = pack | itemgetter("prompt") | Scripted()
    await run(chain, Talk(talk=[HumanMessage("One", id="1")]))
    assert (await run(pack, Dialogue(talk=[HumanMessage("Two", id="2")]))).keys() == {"prompt"}
    assert said(memory) == ["One", "Two"]


async def test_what_was_cut_may_be_handed_back_and_edits_nothing(run: Any, memory: wmem.AgentMemory) -> None:
    long = "So it went on, and on. " * 600
    pack = packing(memory, session="s")
    [cut] = await run(pack, [HumanMessage(long, id="h")])
    assert len(cut.text) < len(long)
    again = await run(pack, [cut, AIMessage("Fine.", id="a"), HumanMessage("And then?", id="h2")])
    assert said(memory) == [long, "Fine.", "And then?"]
    assert ours(again) <= LIMIT - RESERVE
