"""Agents of LangChain that remember, recall and forget themselves."""

import re
from collections.abc import Mapping
from typing import Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

import wmem
from langchain_wmem import WmemMiddleware, wmem_tools
from wmem.errors import InvalidInputError

DOG = "Ada's dog Biscuit is allergic to chicken"
WHAT = "What is the dog allergic to?"
NAMES = ["remember", "recall", "forget"]


class User(TypedDict):
    """A runtime context that says whose run it is."""

    user: str


def calling(name: str, number: int = 0, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"{name}-{number}"}])


def user(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


def thread(name: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": name}}


def results(state: Mapping[str, Any]) -> list[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


def by_name(tools: list[BaseTool]) -> dict[str, BaseTool]:
    return {each.name: each for each in tools}


# --- agents -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offered", ["by the middleware", "beside it", "without it"])
async def test_an_agent_remembers_in_one_thread_what_it_recalls_in_another(
    run: Any, script: Any, memory: wmem.AgentMemory, offered: str
) -> None:
    ann: Any = [("users", "ann")]
    middleware = {
        "by the middleware": [WmemMiddleware(memory, budget=4_000, long_term=ann, tools=True)],
        "beside it": [WmemMiddleware(memory, budget=4_000, long_term=ann, recall=False)],
        "without it": [],
    }[offered]
    own = [] if offered == "by the middleware" else wmem_tools(memory, long_term=ann)
    model = script(calling("remember", text=DOG, tags=["dog"]), "Noted.", calling("recall", query=WHAT), "Chicken.")
    agent = create_agent(model, tools=own, middleware=middleware, checkpointer=InMemorySaver())
    await run(agent, user("Remember my dog."), config=thread("monday"))
    state = await run(agent, user("Please look up my dog"), config=thread("tuesday"))
    assert [each["function"]["name"] for each in model.schemas[0]] == NAMES
    [result] = results(state)
    assert result.status == "success"
    assert result.text.count(DOG) == 1
    session = memory.scope("wednesday", policy=wmem.Policy.session(long_term=ann))
    [item] = session.recall(WHAT, kinds=["item"])
    assert item.path == ("agent-7", "users", "ann", "~semantic")


async def test_the_schemas_of_offered_tools_count_towards_the_budget(
    run: Any, script: Any, memory: wmem.AgentMemory
) -> None:
    sizes = {}
    choices: list[Any] = [False, True, ["recall"]]
    for offered in choices:
        middleware = WmemMiddleware(memory, session=f"s {offered}", budget=4_000, tools=offered)
        model = script()
        await run(create_agent(model, middleware=[middleware]), user("Hello."))
        context = middleware.last_context(f"s {offered}")
        assert context is not None
        sizes[str(offered)] = context.sizes["tools"]
        sent = [each["function"]["name"] for each in model.schemas[0]]
        assert sent == ([] if offered is False else NAMES if offered is True else offered)
    assert sizes["False"] == 0 < sizes["['recall']"] < sizes["True"]
    schemas = [str(convert_to_openai_tool(each)) for each in WmemMiddleware(memory, session="s", tools=True).tools]
    assert sizes["True"] > sum(map(memory.counter, schemas)) // 2


async def test_b113_what_recall_answered_is_in_no_later_answer_and_no_note(
    run: Any, script: Any, memory: wmem.AgentMemory
) -> None:
    memory.scope("s").items.add(DOG, ttl_s=None)
    middleware = WmemMiddleware(memory, session="s", budget=2_000, reserve=100, tools=True)
    turns = [
        reply for at in range(4) for reply in (calling("recall", at, query=WHAT), "It is chicken." if at else "Hm.")
    ]
    model = script(*turns)
    agent = create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())
    for turn in range(4):
        state = await run(agent, user(f"Turn {turn}: what of the dog's food?"), config=thread("t"))
        assert results(state)[-1].text.count(DOG) == 1
    assert [each for each in memory.scope("s").messages.all() if each.role == "tool"] != []
    found = memory.scope("s").recall(WHAT)
    assert [hit.kind for hit in found if DOG in hit.text] == ["item"]
    for _ in range(25):
        await run(agent, user("Something else. " * 30), config=thread("t"))
    await run(agent, user(WHAT), config=thread("t"))
    assert sum(message.text.count(DOG) for message in model.prompts[-1]) == 1


async def test_a_model_that_calls_it_wrongly_is_told_and_the_run_goes_on(
    run: Any, script: Any, memory: wmem.AgentMemory
) -> None:
    wrong = AIMessage(
        "",
        tool_calls=[
            {"name": "remember", "args": {}, "id": "1"},
            {"name": "remember", "args": {"text": {"a": 1}}, "id": "2"},
            {"name": "recall", "args": {"query": "x", "limit": 10**9}, "id": "3"},
            {"name": "forget", "args": {"ids": ["../ann", "%"]}, "id": "4"},
            {"name": "forget", "args": {"instruction": "all", "session": "other"}, "id": "5"},
        ],
    )
    agent = create_agent(script(wrong, "Sorry."), tools=wmem_tools(memory, session="s"))
    state = await run(agent, user("Hello."))
    assert state["messages"][-1].text == "Sorry."
    told = [(each.status, each.text) for each in results(state)]
    assert [status for status, _ in told] == ["error"] * 5
    for (_, text), part in zip(
        told, ("text: Field required", "valid string", "limit", "has the id", "one of"), strict=True
    ):
        assert part in text


async def test_a_store_that_fails_is_told_to_the_model(run: Any, script: Any, memory: wmem.AgentMemory) -> None:
    tools = wmem_tools("journal://nowhere", agent_id="a", session="s")
    model = script(calling("recall", query=WHAT), "I do not know.")
    state = await run(create_agent(model, tools=tools), user("Hello."))
    [result] = results(state)
    assert (result.status, state["messages"][-1].text) == ("error", "I do not know.")


async def test_each_run_has_its_users_memory_and_a_thread_of_another_user_is_refused(
    run: Any, script: Any, memory: wmem.AgentMemory
) -> None:
    def of_user(runtime: Any) -> Any:
        return [("users", runtime.context["user"])]

    middleware = WmemMiddleware(memory, budget=4_000, long_term=of_user, tools=True)

    async def say(who: str, where: str, *replies: Any) -> Any:
        model = script(*replies)
        made = create_agent(model, middleware=[middleware], checkpointer=saver, context_schema=User)
        state = await run(made, user(WHAT), config=thread(where), context=User(user=who))
        return state, [message.text for message in model.prompts[0]]

    saver = InMemorySaver()
    await say("ann", "a1", calling("remember", text=DOG), "Noted.")
    state, prompt = await say("ann", "a2", calling("recall", query=WHAT), "Chicken.")
    assert DOG in results(state)[0].text
    assert any(DOG in text for text in prompt)
    state, prompt = await say("bob", "b1", calling("recall", query=WHAT), "Nothing.")
    assert DOG not in results(state)[0].text
    assert not any(DOG in text for text in prompt)
    with pytest.raises(InvalidInputError, match="another scope than the first"):
        await say("bob", "a1")
    # Who does not say whose it is: as the session was begun.
    plain = create_agent(script(), middleware=[WmemMiddleware(memory, budget=4_000)], checkpointer=saver)
    await run(plain, user("Hello."), config=thread("a1"))


async def test_what_a_sub_agent_remembers_outlives_it_and_it_reads_no_talk_of_its_parent(
    run: Any, script: Any, memory: wmem.AgentMemory
) -> None:
    below: Any = create_agent(
        script(calling("remember", text=DOG), calling("recall", query="dog"), "Done."),
        middleware=[WmemMiddleware(memory, budget=4_000, tools=True, name="below")],
    )
    told: list[str] = []

    @tool
    def delegate(task: str) -> str:
        """Hand a task over."""
        state = below.invoke(user(task))
        told.append(results(state)[-1].text)
        return "done"

    above = create_agent(
        script(calling("delegate", task="the dog"), "Fine."),
        tools=[delegate],
        middleware=[WmemMiddleware(memory, budget=4_000, tools=True)],
        checkpointer=InMemorySaver(),
    )
    await run(above, user("The secret dog talk"), config=thread("t"))
    assert [each.content for each in memory.scope("t").items.all()] == [DOG]
    assert memory.scope("t").children() == []
    assert [(DOG in text, "secret" in text) for text in told] == [(True, False)]


# --- tools by themselves ----------------------------------------------------------------------------------------------


async def test_a_tool_node_calls_them_as_any_tools(run: Any, memory: wmem.AgentMemory) -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode(wmem_tools(memory)))
    graph.add_edge(START, "tools")
    made = graph.compile(checkpointer=InMemorySaver())
    await run(made, {"messages": [calling("remember", text=DOG)]}, config=thread("t"))
    state = await run(made, {"messages": [calling("recall", query=WHAT)]}, config=thread("t"))
    assert DOG in results(state)[-1].text
    assert [each.content for each in memory.scope("t").items.all()] == [DOG]


async def test_a_tool_is_called_by_hand_in_the_session_of_its_configuration(run: Any, memory: wmem.AgentMemory) -> None:
    tools = by_name(wmem_tools(memory))
    config = {"configurable": {"session_id": "s"}}
    told = await run(tools["remember"], {"text": DOG}, config=config)
    assert re.search(r"\nRemembered, as \w{26}\.\n", told)
    message = await run(
        tools["recall"], {"name": "recall", "args": {"query": WHAT}, "id": "c", "type": "tool_call"}, config=config
    )
    assert (message.tool_call_id, message.status, DOG in message.text) == ("c", "success", True)
    with pytest.raises(InvalidInputError, match="whose session"):
        await run(tools["recall"], {"query": WHAT})
    with pytest.raises(InvalidInputError, match="outside of one"):
        await run(by_name(wmem_tools(memory, session=lambda _: "s"))["recall"], {"query": WHAT})


def test_each_says_what_it_does_to_the_world(memory: wmem.AgentMemory) -> None:
    hints = {}
    for each in wmem_tools(memory, session="s"):
        assert each.metadata is not None
        told = each.metadata["annotations"]
        hints[each.name] = (told["read_only_hint"], told["destructive_hint"], told["idempotent_hint"])
        assert told["title"]
        assert each.description
        properties = convert_to_openai_tool(each)["function"]["parameters"]["properties"]
        assert all(field["description"] for field in properties.values())
    assert hints == {
        "remember": (False, False, True),
        "recall": (True, False, True),
        "forget": (False, True, True),
    }


def test_those_that_are_wanted_are_made_and_others_refused(memory: wmem.AgentMemory) -> None:
    assert [each.name for each in wmem_tools(memory, session="s", include=["recall"])] == ["recall"]
    wrong: list[dict[str, Any]] = [{"include": ["write"]}, {"keep": "there"}, {"token_limit": 5}, {"long_term": "ann"}]
    for options in wrong:
        with pytest.raises(InvalidInputError):
            wmem_tools(memory, session="s", **options)
    with pytest.raises(InvalidInputError, match="tools"):
        WmemMiddleware(memory, tools=["write"])  # type: ignore[list-item]  # the mistake
    with pytest.raises(InvalidInputError, match="agent_id"):
        wmem_tools("memory://")
