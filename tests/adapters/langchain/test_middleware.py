"""An agent made by create_agent remembers every message, and its model gets what fits."""

import gc
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ClearToolUsesEdit, ContextEditingMiddleware
from langchain.agents.middleware.summarization import SummarizationMiddleware
from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

import wmem
from langchain_wmem import WmemMiddleware, to_langchain
from tests.servers import RedisServer
from wmem.errors import BudgetError, InvalidInputError


class Characters:
    """One token a character: every sum can be checked by hand."""

    name = "characters"

    def __call__(self, text: str, /) -> int:
        return len(text)


@tool
def rain(town: str) -> str:
    """Whether it rains in a town."""
    if town == "nowhere":
        raise ValueError(town)
    return f"It rains in {town}. " + "drop " * 20


def calling(*towns: str, text: str = "") -> AIMessage:
    calls = [{"name": "rain", "args": {"town": town}, "id": f"call-{town}"} for town in towns]
    return AIMessage(text, tool_calls=calls)


def texts(messages: Sequence[BaseMessage]) -> list[str]:
    return [message.text for message in messages]


def said(memory: wmem.AgentMemory, session: str = "s") -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in memory.scope(session).messages.all()]


def user(text: str, message_id: str | None = None) -> Any:
    return {"messages": [HumanMessage(text, id=message_id)]}


def thread(name: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": name}}


def remembering(memory: wmem.AgentMemory | wmem.AsyncAgentMemory | str, **options: Any) -> WmemMiddleware:
    return WmemMiddleware(memory, **{"budget": 4_000, "session": "s", **options})


class Someone(TypedDict):
    """A runtime context that says whose run it is."""

    user: str


# --- Remembering ------------------------------------------------------------------------------------------------------


async def test_an_agent_without_a_checkpointer_remembers_its_session(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    model = script("Hi Ada.", "Ada.")
    agent = create_agent(model, middleware=[remembering(memory)], system_prompt="Be brief.")
    await run(agent, user("I am Ada."))
    await run(agent, user("Who am I?"))
    assert texts(model.prompts[1]) == ["Be brief.", "I am Ada.", "Hi Ada.", "Who am I?"]
    assert said(memory) == [
        ("user", "I am Ada."),
        ("assistant", "Hi Ada."),
        ("user", "Who am I?"),
        ("assistant", "Ada."),
    ]


async def test_a_turn_is_one_step_of_its_session_however_often_it_is_run(
    run: Any, script: Any, memory: wmem.AgentMemory
) -> None:
    model = script(calling("Ulm"), "It rains.", "It pours.", "Ulm lies on the Danube.")
    agent = create_agent(model, tools=[rain], middleware=[remembering(memory)])
    asked = user("Does it rain in Ulm?", "question-1")
    await run(agent, asked)
    await run(agent, asked)  # the answer is generated again
    session = memory.scope("s")
    assert session.queue.memorize("a thought").item.step_index == 1
    await run(agent, user("Where is Ulm?", "question-2"))
    assert session.queue.advance_step(turn_id="question-2") == 2


async def test_the_scope_of_a_session_is_its_threads(run: Any, script: Any, memory: wmem.AgentMemory) -> None:
    model, remembers = script("Hi Ada."), WmemMiddleware(memory, budget=4_000)
    agent = create_agent(model, middleware=[remembers], checkpointer=InMemorySaver())
    await run(agent, user("I am Ada."), config=thread("t"))
    assert texts(to_langchain(remembers.scope("t").messages.all())) == ["I am Ada.", "Hi Ada."]
    assert await (await remembers.ascope("t")).messages.count() == 2
    remembers.scope("t").items.add("Ada lives in Bern.", pinned=True)
    await run(agent, user("Where do I live?"), config=thread("t"))
    assert "Ada lives in Bern." in str(model.prompts[1])


@pytest.mark.parametrize("way", ["forget", "aforget"])
async def test_a_thread_that_was_deleted_is_forgotten_and_no_other(
    run: Any, script: Any, memory: wmem.AgentMemory, way: str
) -> None:
    model, remembers, saver = script("Hi Ada.", "Hi Bob."), WmemMiddleware(memory, budget=4_000), InMemorySaver()
    agent = create_agent(model, middleware=[remembers], checkpointer=saver)
    await run(agent, user("I am Ada."), config=thread("ada"))
    await run(agent, user("I am Bob."), config=thread("bob"))

    async def forget(session: str) -> None:
        await remembers.aforget(session) if way == "aforget" else remembers.forget(session)

    saver.delete_thread("ada")
    await forget("ada")
    await forget("ada")
    await forget("nobody")
    assert remembers.last_context("ada") is None
    assert said(memory, "ada") == []
    await run(agent, user("Who am I?"), config=thread("ada"))
    assert texts(model.prompts[2]) == ["Who am I?"]
    assert said(memory, "bob") == [("user", "I am Bob."), ("assistant", "Hi Bob.")]
    assert said(memory, "ada") == [("user", "Who am I?"), ("assistant", "Fine.")]


@pytest.mark.parametrize("way", ["forget", "aforget"])
async def test_of_a_thread_that_was_forgotten_in_the_middle_of_a_turn_no_prompt_is_held(
    run: Any, memory: wmem.AgentMemory, way: str
) -> None:
    remembers = WmemMiddleware(memory, budget=4_000)
    agent = create_agent(GenericFakeChatModel(messages=iter(())), middleware=[remembers])
    for session in ("ada", "bob"):
        with pytest.raises(RuntimeError):  # of the model, which has nothing to say
            await run(agent, user(f"I am {session}."), config=thread(session))
    await remembers.aforget("ada") if way == "aforget" else remembers.forget("ada")
    gc.collect()
    held = [
        each.scope
        for each in gc.get_objects()
        if isinstance(each, wmem.Context) and each.scope.startswith(memory.agent_id)
    ]
    assert f"{memory.agent_id}/bob" in held
    assert f"{memory.agent_id}/ada" not in held


async def test_B10_an_agent_remembers_across_a_restart(run: Any, script: Any, tmp_path: Path) -> None:
    url = f"disk://{tmp_path}"
    first = remembering(url, agent_id="agent-7")
    await run(create_agent(script(calling("Bern"), "Yes."), [rain], middleware=[first]), user("Rain in Bern?"))
    await first.aclose()
    model = script("It did.")
    second = remembering(url, agent_id="agent-7")
    await run(create_agent(model, [rain], middleware=[second]), user("Did it rain?"))
    second.close()
    question, call, result, answer, new = model.prompts[0]
    assert isinstance(call, AIMessage)
    assert isinstance(result, ToolMessage)
    assert call.tool_calls[0]["id"] == result.tool_call_id == "call-Bern"
    assert texts([question, answer, new]) == ["Rain in Bern?", "Yes.", "Did it rain?"]


async def test_B110_with_a_checkpointer_each_message_is_stored_once_and_the_state_is_left_alone(
    run: Any,
    script: Any,
    opened: wmem.AgentMemory,
) -> None:
    agent = create_agent(
        script("One.", calling("Bern"), "Two.", "Three."),
        [rain],
        middleware=[remembering(opened, budget=1_500, session=None)],
        checkpointer=InMemorySaver(),
    )
    for text in ("First", "Second", "Third"):
        result = await run(agent, user(text), config=thread("s"))
    state = result["messages"]
    assert texts(state)[:2] == ["First", "One."]
    assert len(state) == 8
    assert [message.id for message in opened.scope("s").messages.all()] == [message.id for message in state]


async def test_a_session_that_ran_without_wmem_is_taken_over_whole(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    saver = InMemorySaver()
    await run(create_agent(script("One."), checkpointer=saver), user("First"), config=thread("s"))
    await run(
        create_agent(script("Two."), checkpointer=saver, middleware=[remembering(memory)]),
        user("Second"),
        config=thread("s"),
    )
    assert [text for _, text in said(memory)] == ["First", "One.", "Second", "Two."]


async def test_B111_parallel_calls_and_their_results_are_stored_in_order(
    run: Any,
    script: Any,
    opened: wmem.AgentMemory,
) -> None:
    model = script(calling("Bern", "Basel", text="Let me see."), "In both.")
    await run(create_agent(model, [rain], middleware=[remembering(opened)]), user("Rain in Bern or Basel?"))
    stored = opened.scope("s").messages.all()
    assert [message.role for message in stored] == ["user", "assistant", "tool", "tool", "assistant"]
    assert [call.id for call in stored[1].tool_calls] == ["call-Bern", "call-Basel"]
    assert [message.tool_call_id for message in stored[2:4]] == ["call-Bern", "call-Basel"]
    assert [message.type for message in model.prompts[1]] == ["human", "ai", "tool", "tool"]
    assert [len(turn) for turn in opened.scope("s").messages.turns()] == [5]


async def test_what_the_store_holds_comes_back_as_the_agent_had_it(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    agent = create_agent(script(calling("Bern", "Basel"), "In both."), [rain], middleware=[remembering(memory)])
    result = await run(agent, user("Rain in Bern or Basel?"))
    assert to_langchain(memory.scope("s").messages.all()) == result["messages"]


@tool(response_format="content_and_artifact")
def plot(town: str) -> tuple[str, dict[str, list[int]]]:
    """Draw the weather of a town."""
    return f"Drawn for {town}.", {"drops": [1, 2]}


async def test_without_artifacts_none_is_stored_and_the_state_keeps_its_own(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    call = AIMessage("", tool_calls=[{"name": "plot", "args": {"town": "Bern"}, "id": "c"}])
    model = script(call, "Done.")
    agent = create_agent(model, [plot], middleware=[remembering(memory, artifacts=False)])
    result = await run(agent, user("Draw."))
    assert result["messages"][2].artifact == {"drops": [1, 2]}
    assert [message.text for message in model.prompts[1] if message.type == "tool"] == ["Drawn for Bern."]
    [stored] = [message for message in memory.scope("s").messages.all() if message.role == "tool"]
    assert "drops" not in stored.model_dump_json()


async def test_two_runs_of_one_session_at_once_keep_their_turns_apart(script: Any, memory: wmem.AgentMemory) -> None:
    import asyncio

    agent = create_agent(
        script(calling("Bern"), calling("Basel"), "One.", "Two."),
        [rain],
        middleware=[remembering(memory)],
    )
    await asyncio.gather(agent.ainvoke(user("Bern?", "m1")), agent.ainvoke(user("Basel?", "m2")))
    turns = memory.scope("s").messages.turns()
    assert [[message.role for message in turn] for turn in turns] == [["user", "assistant", "tool", "assistant"]] * 2


async def test_B23_sessions_of_one_middleware_do_not_see_each_other(
    run: Any,
    script: Any,
    opened: wmem.AgentMemory,
) -> None:
    model = script()
    agent = create_agent(
        model,
        middleware=[remembering(opened, session=lambda runtime: runtime.context["user"])],
        context_schema=Someone,
    )
    for turn in range(2):
        for name in ("ada", "bob"):
            await run(agent, user(f"{name} {turn}"), context={"user": name})
    assert texts(model.prompts[2]) == ["ada 0", "Fine.", "ada 1"]
    assert texts(model.prompts[3]) == ["bob 0", "Fine.", "bob 1"]


async def test_a_streamed_answer_is_stored_whole(memory: wmem.AgentMemory) -> None:
    model = GenericFakeChatModel(messages=iter([AIMessage("It rains in Bern."), AIMessage("And in Basel.")]))
    agent = create_agent(model, middleware=[remembering(memory)])
    pieces = [piece.text for piece, _ in agent.stream(user("Bern?"), stream_mode="messages") if piece.type != "human"]
    assert len(pieces) > 1
    async for _ in agent.astream(user("Basel?"), stream_mode="messages"):
        pass
    assert [text for role, text in said(memory) if role == "assistant"] == ["It rains in Bern.", "And in Basel."]


# --- Failure and interruption -----------------------------------------------------------------------------------------


async def test_a_failing_model_loses_nothing_and_the_next_run_works(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    model = script(RuntimeError("overloaded"), "Hi Ada.")
    agent = create_agent(model, middleware=[remembering(memory)])
    with pytest.raises(RuntimeError):
        await run(agent, user("I am Ada."))
    assert said(memory) == [("user", "I am Ada.")]
    await run(agent, user("Still there?"))
    assert texts(model.prompts[1]) == ["I am Ada.", "Still there?"]


async def test_results_are_kept_when_the_call_after_them_fails(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    agent = create_agent(
        script(calling("Bern"), RuntimeError("overloaded")),
        [rain],
        middleware=[remembering(memory)],
    )
    with pytest.raises(RuntimeError):
        await run(agent, user("Rain in Bern?"))
    assert [role for role, _ in said(memory)] == ["user", "assistant", "tool"]


async def test_B04_a_session_that_ended_in_a_pending_call_is_packed_without_it(
    run: Any,
    script: Any,
    opened: wmem.AgentMemory,
) -> None:
    model = script(calling("Bern"), calling("nowhere"), "Hello.")
    agent = create_agent(model, [rain], middleware=[remembering(opened)])
    with pytest.raises(ValueError, match="nowhere"):
        await run(agent, user("Rain?"))
    assert [role for role, _ in said(opened)] == ["user", "assistant", "tool"]
    call = {"id": "call-nowhere", "type": "function", "function": {"name": "rain", "arguments": "{}"}}
    opened.scope("s").messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
    lost = {"role": "tool", "content": "lost", "tool_call_id": "call-gone", "name": "snow"}
    opened.scope("s").messages.append(lost)
    await run(agent, user("Never mind."))
    call = model.prompts[2][1]
    assert [message.type for message in model.prompts[2]] == ["human", "ai", "tool", "human"]
    assert isinstance(call, AIMessage)
    assert call.tool_calls[0]["id"] == "call-Bern"


async def test_an_interrupted_run_goes_on_where_it_was(run: Any, script: Any, memory: wmem.AgentMemory) -> None:
    model = script(calling("Bern"), "Yes.")
    agent = create_agent(
        model,
        [rain],
        middleware=[remembering(memory)],
        checkpointer=InMemorySaver(),
        interrupt_before=["tools"],
    )
    await run(agent, user("Rain in Bern?"), config=thread("t"))
    assert [role for role, _ in said(memory)] == ["user"]  # what the model said may still be edited
    await run(agent, None, config=thread("t"))
    assert [role for role, _ in said(memory)] == ["user", "assistant", "tool", "assistant"]
    assert [message.type for message in model.prompts[1]] == ["human", "ai", "tool"]


# --- The budget -------------------------------------------------------------------------------------------------------


def characters(prompt: Sequence[BaseMessage], schemas: Sequence[dict[str, Any]]) -> int:
    """At least what was sent costs when each character is a token."""
    total = sum(len(json.dumps(schema)) for schema in schemas)
    for message in prompt:
        total += len(message.text)
        if isinstance(message, AIMessage):
            total += sum(len(call["name"]) + len(json.dumps(call["args"])) for call in message.tool_calls)
    return total


@pytest.mark.parametrize("budget", [1_200, 1_500, 2_500, 6_000])
async def test_what_the_model_receives_never_exceeds_the_budget(
    run: Any,
    script: Any,
    url: str,
    budget: int,
) -> None:
    with wmem.open(url, agent_id="agent-7", counter=Characters()) as memory:
        scope = memory.scope("s")
        for turn in range(30):
            scope.messages.append({"role": "user", "content": f"Question {turn}: " + "rain " * (turn * 7 % 40)})
            scope.messages.append({"role": "assistant", "content": f"Answer {turn}."})
        model = script(calling("Bern", "Basel"), calling("Thun"), "Yes.")
        middleware = remembering(memory, budget=budget, reserve=100)
        agent = create_agent(model, [rain], middleware=[middleware], system_prompt="Be brief. " * 10)
        await run(agent, user("Does it rain in question 3?"))
    assert len(model.prompts) == 3
    for prompt, schemas in zip(model.prompts, model.schemas, strict=True):
        assert schemas
        assert prompt[0] == SystemMessage("Be brief. " * 10)
        assert characters(prompt, schemas) + 100 <= budget
        assert prompt[1].type != "tool"
    assert texts(model.prompts[0])[-1] == "Does it rain in question 3?"
    context = middleware.last_context("s")
    assert context is not None
    assert context.tokens <= budget


@tool
def dump(rows: int) -> str:
    """Everything there is."""
    return "".join(f"row {number}: a value\n" for number in range(rows))


async def test_a_result_far_above_the_budget_is_cut_for_the_model_and_stored_whole(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    call = AIMessage("", tool_calls=[{"name": "dump", "args": {"rows": 9_000}, "id": "c"}])
    model = script(call, "Many.", "Yes.")
    agent = create_agent(model, [dump], middleware=[remembering(memory, budget=2_000, reserve=200)])
    result = await run(agent, user("Everything, please."))
    sent = model.prompts[1][2]
    assert isinstance(sent, ToolMessage)
    assert sent.tool_call_id == "c"
    assert sent.text.startswith("row 0: a value\n")
    assert "left out" in sent.text
    assert len(sent.text) < 2_000 * 8
    whole = memory.scope("s").messages.all()[2]
    assert whole.text == result["messages"][2].text
    assert len(whole.text) > 150_000
    await run(agent, user("Really?"))
    assert [message.type for message in model.prompts[2]][-1] == "human"


async def test_B07_the_exchange_in_flight_is_sent_whatever_is_recent(
    run: Any,
    script: Any,
    opened: wmem.AgentMemory,
) -> None:
    model = script(calling("Bern"), calling("Basel"), calling("Thun"), "Yes.")
    agent = create_agent(model, [rain], middleware=[remembering(opened, recent=0)])
    await run(agent, user("Rain?"))
    assert [message.type for message in model.prompts[3]] == ["human", *["ai", "tool"] * 3]


async def test_B01_an_old_exchange_is_sent_whole_or_not_at_all(run: Any, script: Any, url: str) -> None:
    seen = set()
    with wmem.open(url, agent_id="agent-7", counter=Characters()) as memory:
        for budget in (400, 490, 600):
            session = f"s-{budget}"
            agent = create_agent(
                script(calling("Bern"), "Yes.", "Two.", "Three."),
                [rain],
                middleware=[remembering(memory, session=session, budget=1_500, reserve=0)],
            )
            for text in ("Rain in Bern?", "Second"):
                await run(agent, user(text))
            model = script("Three.")
            tight = remembering(memory, session=session, budget=budget, reserve=0, recent=5, recall=False)
            await run(create_agent(model, [rain], middleware=[tight]), user("Third"))
            kinds = [message.type for message in model.prompts[0]]
            assert kinds[0] != "tool"
            assert kinds.count("tool") == sum(isinstance(m, AIMessage) and bool(m.tool_calls) for m in model.prompts[0])
            seen.add(kinds.count("tool"))
    assert seen == {0, 1}


def tools(count: int) -> list[Any]:
    def made(number: int) -> Any:
        def look(where: str, depth: int = 3, *, all: bool = False) -> str:
            """Look somewhere, as deep as you are asked to, and say what is there."""
            return where

        return tool(f"look_{number}")(look)

    return [made(number) for number in range(count)]


async def test_the_schemas_of_forty_tools_are_counted(run: Any, script: Any, memory: wmem.AgentMemory) -> None:
    model = script()
    middleware = remembering(memory, budget=8_000)
    await run(create_agent(model, tools(40), middleware=[middleware]), user("Hello"))
    context = middleware.last_context("s")
    assert context is not None
    [schemas] = model.schemas
    assert len(schemas) == 40
    # At four characters a token or fewer: JSON takes more tokens than prose.
    assert context.sizes["tools"] >= len(json.dumps(schemas)) / 5
    with pytest.raises(BudgetError, match="tools"):
        await run(create_agent(model, tools(40), middleware=[remembering(memory, budget=2_000)]), user("Hello"))


class Weather(BaseModel):
    """How the weather is in a town."""

    town: str
    degrees: float


@pytest.mark.parametrize("strategy", [ToolStrategy, ProviderStrategy, AutoStrategy])
async def test_the_schema_of_structured_output_is_counted(
    strategy: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    answer = AIMessage(
        '{"town": "Bern", "degrees": 3.5}',
        tool_calls=[{"name": "Weather", "args": {"town": "Bern", "degrees": 3.5}, "id": "c"}],
    )
    middleware = remembering(memory)
    with_schema = create_agent(script(answer), middleware=[middleware], response_format=strategy(Weather))
    try:
        with_schema.invoke(user("Weather?"))
    finally:
        context = middleware.last_context("s")
        assert context is not None
        assert context.sizes["tools"] > 20


async def test_room_for_the_reply_is_kept_as_the_model_says(script: Any, memory: wmem.AgentMemory) -> None:
    def reserved(model: Any, **options: Any) -> int:
        middleware = remembering(memory, **options)
        create_agent(model, middleware=[middleware]).invoke(user("Hello"))
        context = middleware.last_context("s")
        assert context is not None
        return context.sizes["reserve"]

    assert reserved(script()) == 1_024
    assert reserved(script(), reserve=0) == 0
    assert reserved(script(max_tokens=300)) == 300
    assert reserved(script(profile={"max_output_tokens": 500})) == 500
    assert reserved(script(profile={"max_output_tokens": 100_000}), budget=8_000) == 2_000
    assert reserved(script(profile={"max_input_tokens": 100_000})) == 1_024
    assert reserved(script(), budget=500) == 250, "a small budget is not all for the reply"
    assert reserved(script(max_tokens=1_024), budget=300) == 150, "nor where a model may say more than it"


async def test_a_provider_s_own_tool_is_counted_as_it_is(run: Any, script: Any, memory: wmem.AgentMemory) -> None:
    middleware = remembering(memory)
    agent = create_agent(
        script(),
        [{"type": "web_search", "web_search": {"country": "CH"}}],
        middleware=[middleware],
    )
    await run(agent, user("Hello"))
    context = middleware.last_context("s")
    assert context is not None
    assert context.sizes["tools"] > 0


class Counting:
    """A model's own count: a thousand for each message, and each tool."""

    def get_num_tokens_from_messages(self, messages: list[BaseMessage], tools: Sequence[Any] | None = None) -> int:
        return 1_000 * (len(messages) + len(tools or ()))


async def test_the_model_s_own_count_has_the_last_word_when_it_is_asked(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    class Dear(Counting, type(script())):  # type: ignore[misc]
        """Counts for itself."""

    for number in range(20):
        memory.scope("s").messages.append({"role": "user", "content": f"Fact {number}."})
    model = Dear()
    agent = create_agent(model, [rain], middleware=[remembering(memory, budget=6_000, reserve=0, ask_model=True)])
    await run(agent, user("Hello"))
    assert 1 <= len(model.prompts[0]) <= 5


async def test_a_model_that_leaves_tools_out_of_its_count_has_them_counted_beside(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    class Plain(type(script())):  # type: ignore[misc]
        """Counts text, as LangChain's default asks it to."""

        def get_num_tokens(self, text: str) -> int:
            return len(text)

    model = Plain()
    agent = create_agent(model, tools(4), middleware=[remembering(memory, budget=700, reserve=0, ask_model=True)])
    with pytest.raises(BudgetError):
        await run(agent, user("Hello"))
    agent = create_agent(model, [], middleware=[remembering(memory, budget=700, reserve=0, ask_model=True)])
    await run(agent, user("Hello"))


# --- Recall -----------------------------------------------------------------------------------------------------------


def facts(memory: wmem.AgentMemory) -> None:
    scope = memory.scope("s")
    scope.messages.append({"role": "user", "content": "My dog is called Biscuit."})
    for number in range(60):
        scope.messages.append({"role": "assistant", "content": f"Remark number {number} about nothing in particular."})


async def test_B113_recalled_text_is_marked_and_never_stored(
    run: Any,
    script: Any,
    opened: wmem.AgentMemory,
) -> None:
    facts(opened)
    model = script()
    middleware = remembering(opened, budget=700, reserve=100)
    result = await run(create_agent(model, middleware=[middleware]), user("What is my dog called?"))
    notes = [message for message in model.prompts[0] if message.additional_kwargs.get("lc_source") == "wmem"]
    context = middleware.last_context("s")
    assert context is not None
    if "Biscuit" in context.note:
        [note] = notes
        assert isinstance(note, HumanMessage)
        assert "Biscuit" in note.text
    assert any("Biscuit" in message.text for message in model.prompts[0])
    # Somebody feeds what was sent back into the agent: the note is not taken for something said.
    before = len(said(opened))
    returned = [*to_langchain(list(context.prompt())), *result["messages"], HumanMessage("Thanks")]
    await run(create_agent(model, middleware=[middleware]), {"messages": returned})
    assert len(said(opened)) == before + 2
    assert sum("<" in text and "Biscuit" in text for _, text in said(opened)) == 0
    assert sum(message.additional_kwargs.get("lc_source") == "wmem" for message in model.prompts[1]) <= 1


async def test_without_recall_nothing_is_quoted(run: Any, script: Any, memory: wmem.AgentMemory) -> None:
    facts(memory)
    model = script()
    middleware = remembering(memory, budget=700, reserve=100, recall=False)
    await run(create_agent(model, middleware=[middleware]), user("What is my dog called?"))
    context = middleware.last_context("s")
    assert context is not None
    assert context.note == ""
    assert not any("Biscuit" in message.text for message in model.prompts[0])


# --- Other middleware -------------------------------------------------------------------------------------------------


class Redacting(AgentMiddleware[Any, Any, Any]):
    """Takes a secret out of the agent's state, as PII middleware does."""

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        edited = [
            HumanMessage("My code is [redacted].", id=message.id)
            for message in state["messages"]
            if "1234" in message.text
        ]
        return {"messages": edited} if edited else None


async def test_what_is_redacted_in_the_state_reaches_neither_model_nor_store(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    model = script()
    agent = create_agent(model, middleware=[Redacting(), remembering(memory)])
    await run(agent, user("My code is 1234."))
    assert texts(model.prompts[0]) == ["My code is [redacted]."]
    assert said(memory) == [("user", "My code is [redacted]."), ("assistant", "Fine.")]


async def test_an_edited_message_keeps_what_only_the_store_knows(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    memory.scope("s").messages.append(
        wmem.Message.of("user", "My code is 1234.", id="m", pinned=True, metadata={"from": "phone"}),
    )
    await run(create_agent(script(), middleware=[Redacting(), remembering(memory)]), user("My code is 1234.", "m"))
    stored = memory.scope("s").messages.all()[0]
    assert (stored.text, stored.pinned, stored.metadata) == ("My code is [redacted].", True, {"from": "phone"})


async def test_what_other_middleware_clears_from_the_request_is_not_sent_and_stays_stored(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    model = script(calling("Bern"), calling("Basel"), "Both.", "Fine.")
    clearing = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1, keep=1)])
    agent = create_agent(
        model,
        [rain],
        middleware=[clearing, remembering(memory, session=None)],
        checkpointer=InMemorySaver(),
    )
    await run(agent, user("Rain?"), config=thread("s"))
    results = [message.text for message in model.prompts[2] if message.type == "tool"]
    assert results[0] == "[cleared]"
    assert results[1].startswith("It rains in Basel.")
    stored = [text for role, text in said(memory) if role == "tool"]
    assert stored[0].startswith("It rains in Bern.")
    await run(agent, user("Again?"), config=thread("s"))
    assert next(message.text for message in model.prompts[3] if message.type == "tool") == "[cleared]"


async def test_a_message_put_into_the_request_alone_is_sent_and_not_stored(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    class Reminding(AgentMiddleware[Any, Any, Any]):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(messages=[*request.messages, HumanMessage("Answer in verse.")]))

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            return await handler(request.override(messages=[*request.messages, HumanMessage("Answer in verse.")]))

    model = script()
    await run(create_agent(model, middleware=[Reminding(), remembering(memory)]), user("Hello"))
    assert texts(model.prompts[0]) == ["Hello", "Answer in verse."]
    assert said(memory) == [("user", "Hello"), ("assistant", "Fine.")]


async def test_what_is_sent_as_it_was_handed_in_is_the_very_objects(
    run: Any, script: Any, memory: wmem.AgentMemory
) -> None:
    handed: list[Any] = []

    class Watching(AgentMiddleware[Any, Any, Any]):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            handed.append((request.messages, list(request.messages)))
            return handler(request)

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            return self.wrap_model_call(request, lambda _: None) or await handler(request)

    class Before(Watching):
        pass

    class Behind(Watching):
        pass

    middleware = [Before(), remembering(memory, session=None, budget=300), Behind()]
    agent = create_agent(script(), middleware=middleware, checkpointer=InMemorySaver())
    for text in ("Hello", "One two three. " * 60, "And now?"):
        await run(agent, user(text), config=thread("s"))
    (whole, _), (same, _) = handed[:2]
    assert same is whole
    (before, _), (_, behind) = handed[4:]
    assert behind != before
    assert behind[-1] is before[-1]


async def test_what_summarisation_throws_away_stays_stored_and_its_summary_is_not_taken_for_speech(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    model = script()
    summing = SummarizationMiddleware(script(*["Small talk."] * 9), trigger=("messages", 4), keep=("messages", 2))
    agent = create_agent(
        model,
        middleware=[summing, remembering(memory, session=None)],
        checkpointer=InMemorySaver(),
    )
    for number in range(5):
        result = await run(agent, user(f"Fact {number}."), config=thread("s"))
    assert any("summary" in message.text for message in result["messages"])
    assert [text for role, text in said(memory) if role == "user"] == [f"Fact {number}." for number in range(5)]
    assert texts(model.prompts[4]) == [*(t for n in range(4) for t in (f"Fact {n}.", "Fine.")), "Fact 4."]


def test_two_memories_in_one_agent_need_two_names(script: Any, memory: wmem.AgentMemory) -> None:
    assert remembering(memory).name == "wmem"
    create_agent(script(), middleware=[remembering(memory), remembering(memory, name="second", session="other")])
    with pytest.raises(AssertionError):
        create_agent(script(), middleware=[remembering(memory), remembering(memory)])


# --- Identity ---------------------------------------------------------------------------------------------------------


@dataclass
class Who:
    session_id: str | None


@pytest.mark.parametrize("context", [{"session_id": "from-context"}, Who("from-context")], ids=["mapping", "object"])
async def test_the_session_is_named_by_the_runtime_context(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
    context: Any,
) -> None:
    agent = create_agent(script(), middleware=[remembering(memory, session=None)], context_schema=type(context))
    await run(agent, user("Hello"), context=context)
    assert len(said(memory, "from-context")) == 2


async def test_the_thread_names_the_session_when_nothing_else_does(
    run: Any,
    script: Any,
    memory: wmem.AgentMemory,
) -> None:
    agent = create_agent(
        script(),
        middleware=[remembering(memory, session=None)],
        context_schema=Who,
        checkpointer=InMemorySaver(),
    )
    await run(agent, user("Hello"), config=thread("t"), context=Who(None))
    assert len(said(memory, "t")) == 2
    await run(agent, user("Hello"), config={"configurable": {"thread_id": 7}}, context=Who(None))
    assert len(said(memory, "7")) == 2


@pytest.mark.parametrize("session", [None, "", " ", lambda _: None, lambda _: 7])
async def test_B22_no_session_is_an_error_and_not_a_default_session(
    run: Any,
    script: Any,
    opened: wmem.AgentMemory,
    session: Any,
) -> None:
    model = script()
    agent = create_agent(model, middleware=[remembering(opened, session=session)])
    with pytest.raises(InvalidInputError, match="session"):
        await run(agent, user("Hello"))
    assert model.prompts == []


def test_no_agent_or_an_impossible_budget_is_an_error(memory: wmem.AgentMemory) -> None:
    with pytest.raises(InvalidInputError, match="agent_id"):
        WmemMiddleware("memory://", budget=100)
    with pytest.raises(InvalidInputError, match="'agent-8'"):
        WmemMiddleware(memory, budget=100, agent_id="agent-8")
    with pytest.raises(InvalidInputError, match="counter"):
        WmemMiddleware(memory, budget=100, counter=Characters())
    for budget in (0, -1, True, 0.0, -0.5, 1.5, float("nan")):
        with pytest.raises(InvalidInputError, match="budget"):
            WmemMiddleware(memory, budget=budget)


@pytest.mark.parametrize(
    ("option", "wrong"),
    [
        *(("recent", value) for value in (-1, True, 1.5, None)),
        *(("reserve", value) for value in (-1, False, "8")),
        *(("profile", value) for value in ("zz", "", None)),
        *(("name", value) for value in ("", " ", 5, None)),
    ],
)
def test_B65_a_setting_that_cannot_be_is_refused_before_anything_is_stored(
    memory: wmem.AgentMemory,
    option: str,
    wrong: object,
) -> None:
    with pytest.raises(InvalidInputError, match=option):
        remembering(memory, **{option: wrong})


# --- Modes and handles ----------------------------------------------------------------------------------------------


async def test_B101_an_async_run_uses_no_sync_face(script: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def blocked(*_: object, **__: object) -> None:
        raise AssertionError

    async with await wmem.aopen("memory://", agent_id="agent-7") as memory:
        monkeypatch.setattr(wmem.AgentMemory, "scope", blocked)
        monkeypatch.setattr(wmem.AsyncAgentMemory, "sync", blocked)
        monkeypatch.setattr(wmem.Scope, "pack", blocked)
        middleware = remembering(memory)
        agent = create_agent(script(calling("Bern"), "Yes."), [rain], middleware=[middleware])
        await agent.ainvoke(user("Rain in Bern?"))
        assert await memory.scope("s").messages.count() == 4
    assert middleware.last_context("s") is not None


async def test_one_url_is_one_memory_in_both_modes(script: Any) -> None:
    middleware = WmemMiddleware("memory://", agent_id="agent-7", budget=4_000, session="s", counter=Characters())
    model = script("One.", "Two.")
    agent = create_agent(model, middleware=[middleware])
    await agent.ainvoke(user("First"))
    agent.invoke(user("Second"))
    assert texts(model.prompts[1]) == ["First", "One.", "Second"]
    middleware.close()
    await middleware.aclose()


def test_a_middleware_serves_many_threads_at_once(script: Any, memory: wmem.AgentMemory) -> None:
    middleware = remembering(memory, session=lambda runtime: runtime.context["user"])
    agent = create_agent(script(), middleware=[middleware], context_schema=Someone)

    def talk(name: str) -> None:
        for turn in range(5):
            agent.invoke(user(f"{name} {turn}"), context={"user": name})

    threads = [threading.Thread(target=talk, args=(f"user-{number}",)) for number in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for number in range(6):
        questions = [text for role, text in said(memory, f"user-{number}") if role == "user"]
        assert questions == [f"user-{number} {turn}" for turn in range(5)]


def test_a_turn_asks_the_store_no_more_often_the_more_tools_are_called_at_once(
    script: Any, valkey_server: RedisServer, valkey_url: str
) -> None:
    with wmem.open(valkey_url, agent_id="agent-7") as memory, valkey_server.client() as client:
        model = script()
        agent = create_agent(model, tools=[rain], middleware=[remembering(memory)], checkpointer=InMemorySaver())
        config: Any = thread("t")
        trips: list[int] = []
        for at, towns in enumerate([["Ulm"], ["Rome"], [f"town {number}" for number in range(9)]]):
            model.replies = [calling(*towns)]
            before = client.info("commandstats")["cmdstat_evalsha"]["calls"] if at else 0
            agent.invoke(user("Does it rain?"), config)
            trips.append(client.info("commandstats")["cmdstat_evalsha"]["calls"] - before)
    assert trips[1] == trips[2] <= 10  # the last one is the step of the session, with its trace


def test_only_the_contexts_of_the_last_sessions_are_kept(
    script: Any,
    memory: wmem.AgentMemory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("langchain_wmem._middleware._MAX_CONTEXTS", 3)
    middleware = remembering(memory, session=lambda runtime: runtime.context["user"])
    agent = create_agent(script(), middleware=[middleware], context_schema=Someone)
    for number in range(4):
        agent.invoke(user("Hello"), context={"user": f"user-{number}"})
    assert middleware.last_context("user-0") is None
    newest = middleware.last_context("user-3")
    assert newest is not None
    assert "included" in str(newest.explain())


def test_a_session_whose_ledger_was_forgotten_is_recognised_again(
    script: Any,
    memory: wmem.AgentMemory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("langchain_wmem._capture._MAX_SESSIONS", 2)
    middleware = remembering(memory, session=lambda runtime: runtime.context["user"])
    agent = create_agent(script(), middleware=[middleware], context_schema=Someone)
    messages: dict[str, Any] = {}
    for name in ("ada", "bob", "eve", "ada"):
        asked: Any = {"messages": [*messages.get(name, []), HumanMessage("Hello")]}
        messages[name] = agent.invoke(asked, context={"user": name})["messages"]
    assert len(said(memory, "ada")) == 4


def test_a_session_is_readable_by_plain_python_and_through_langchain(script: Any, memory: wmem.AgentMemory) -> None:
    create_agent(script("Hi Ada."), middleware=[remembering(memory)]).invoke(user("I am Ada."))
    context = memory.scope("s").pack(budget=500)
    assert [(each["role"], each["content"]) for each in context.to_openai()] == said(memory)
    assert [(each.type, each.text) for each in context.to_langchain()] == [("human", "I am Ada."), ("ai", "Hi Ada.")]


async def test_turns_alternate_where_the_template_wants_it(run: Any, script: Any, memory: wmem.AgentMemory) -> None:
    memory.scope("s").messages.append([{"role": "system", "content": "Metric units."}])
    model = script("Yes.", "No.")
    agent = create_agent(model, middleware=[remembering(memory, roles="alternate")], system_prompt="Be brief.")
    await run(agent, {"messages": [HumanMessage("I am Ada."), HumanMessage("Is it raining?")]})
    await run(agent, user("And now?"))
    assert texts(model.prompts[0]) == ["Be brief.\n\nMetric units.", "I am Ada.\n\nIs it raining?"]
    assert [each.type for each in model.prompts[1]] == ["system", "human", "ai", "human"]
    with pytest.raises(InvalidInputError, match="unknown roles 'strict'; known: free, alternate"):
        remembering(memory, roles="strict")
