"""Faults that users reported in public, by id, through agents with a checkpointer and `WmemMiddleware`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, PIIDetectionError, PIIMiddleware, SummarizationMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from pydantic import Field

import wmem
from langchain_wmem import WmemMiddleware, from_langchain
from tests.adapters.langchain.conftest import Run, Script, Scripted
from tests.adapters.langchain.side_by_side import THREAD, Pair
from tests.adapters.langchain.test_guards import files_hold
from tests.matrix import Everywhere
from wmem.errors import InvalidInputError

pytestmark = pytest.mark.slow

RAW = "ann@example.org"


@tool
def rain(town: str) -> str:
    """Whether it rains in a town."""
    if town == "nowhere":
        raise OSError
    return f"It rains in {town}." + " And it pours." * 10


def calling(*towns: str, **fields: Any) -> AIMessage:
    calls = [{"name": "rain", "args": {"town": town}, "id": f"call-{town}"} for town in towns]
    return AIMessage(fields.pop("text", ""), tool_calls=calls, **fields)


def user(text: str) -> Any:
    return {"messages": [HumanMessage(text)]}


def kinds(messages: Sequence[BaseMessage]) -> list[str]:
    return [message.type for message in messages]


def texts(messages: Sequence[BaseMessage]) -> list[str]:
    return [message.text for message in messages]


def is_paired(prompt: Sequence[BaseMessage]) -> bool:
    """Whether each call is answered right behind it, and nothing else is an answer."""
    waiting: set[str | None] = set()
    for message in prompt:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in waiting:
                return False
            waiting.remove(message.tool_call_id)
        elif waiting:
            return False
        elif isinstance(message, AIMessage):
            waiting = {call["id"] for call in message.tool_calls}
    return not waiting


async def talk(run: Run, model: Scripted, memory: wmem.AgentMemory) -> InMemorySaver:
    """Three turns on a thread, the first with a tool, and a fourth question to come."""
    saver = InMemorySaver()
    agent = create_agent(model, [rain], middleware=[WmemMiddleware(memory, budget=4_000)], checkpointer=saver)
    for text in ("one", "two", "three"):
        await run(agent, user(text), config=THREAD)
    return saver


@pytest.mark.parametrize("recent", [0, 5])
async def test_b01_an_exchange_of_a_thread_is_sent_whole_or_not_at_all(
    run: Run, script: Script, memory: wmem.AgentMemory, recent: int
) -> None:
    saver = await talk(run, script(calling("Bern"), "x", "a", "b"), memory)
    seen = set()
    for budget in range(40, 240, 20):
        tight = WmemMiddleware(memory, budget=budget, reserve=0, recent=recent, recall=False)
        model = script()
        agent = create_agent(model, middleware=[tight], checkpointer=saver)
        await run(agent, user("four"), config=THREAD)
        assert kinds(model.prompts[0])[0] == "human"
        assert is_paired(model.prompts[0])
        seen.add("tool" in kinds(model.prompts[0]))
        # Back to where the thread was, so that each budget meets the same talk.
        newest = [RemoveMessage(id=each.id) for each in agent.get_state(THREAD).values["messages"][-2:]]
        agent.update_state(THREAD, {"messages": newest}, as_node="model")
    assert seen == {False, True}


class Picky(Scripted):
    """Counts tokens as a provider does that refuses what it would not answer."""

    counted: list[list[BaseMessage]] = Field(default_factory=list)

    def get_num_tokens_from_messages(self, messages: list[BaseMessage], tools: Any = None) -> int:
        assert [each["function"]["name"] for each in tools] == ["rain"]
        assert is_paired(messages)
        self.counted.append(list(messages))
        return 40 + sum(len(message.text) + 20 for message in messages) // 2


async def test_b02_a_model_that_counts_is_shown_valid_prompts_alone_and_the_tools(
    run: Run, memory: wmem.AgentMemory
) -> None:
    turns = [reply for turn in range(9) for reply in (calling("Bern"), AIMessage(f"Answer {turn}"))]
    model = Picky(replies=turns)
    middleware = WmemMiddleware(memory, budget=400, reserve=0, ask_model=True)
    agent = create_agent(model, [rain], middleware=[middleware], checkpointer=InMemorySaver())
    for turn in range(9):
        await run(agent, user(f"Question {turn}"), config=THREAD)
    assert len(model.counted) >= len(model.prompts)
    for prompt in model.prompts:
        numbers = [text.split()[1] for text in texts(prompt) if text.startswith("Question")]
        assert numbers == sorted(numbers)
        assert 40 + sum(len(message.text) + 20 for message in prompt) // 2 <= 400


async def test_b04_of_two_results_the_one_without_a_call_is_left_out(
    run: Run, script: Script, memory: wmem.AgentMemory
) -> None:
    model = script()
    agent = create_agent(model, middleware=[WmemMiddleware(memory, budget=4_000)], checkpointer=InMemorySaver())
    history = [
        HumanMessage("Rain?"),
        calling("Bern"),
        ToolMessage("gone", tool_call_id="call-gone"),
        ToolMessage("It rains.", tool_call_id="call-Bern"),
    ]
    await run(agent, {"messages": [*history, HumanMessage("And?")]}, config=THREAD)
    await run(agent, user("Well?"), config=THREAD)
    for prompt in model.prompts:
        assert texts(prompt)[:3] == ["Rain?", "", "It rains."]
        assert is_paired(prompt)


async def test_b05_a_raw_read_may_halve_an_exchange_and_a_prompt_never_does(
    run: Run, script: Script, memory: wmem.AgentMemory
) -> None:
    saver, model = InMemorySaver(), script(calling("Bern"), "It does.")
    agent = create_agent(model, [rain], middleware=[WmemMiddleware(memory, budget=4_000)], checkpointer=saver)
    await run(agent, user("Rain?"), config=THREAD)
    scope = memory.scope("t")
    assert [message.role for message in scope.messages.all(limit=2)] == ["tool", "assistant"]
    call = scope.messages.all()[1].id
    assert call is not None
    scope.messages.withdraw(call)
    agent = create_agent(model, [rain], middleware=[WmemMiddleware(memory, budget=4_000)])
    await run(agent, {"messages": [HumanMessage("And?")]}, config=THREAD)
    assert texts(model.prompts[-1]) == ["Rain?", "It does.", "And?"]


class KeepingNewest(AgentMiddleware[Any, Any, Any]):
    """Leaves only the newest messages in the state, even amid the calls of a turn."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any]:
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *state["messages"][-self._count :]]}


@pytest.mark.parametrize("order", ["before", "behind"])
@pytest.mark.parametrize("count", [1, 2])
async def test_b07_the_turn_in_flight_is_valid_although_a_hook_keeps_its_newest_messages_alone(
    run: Run, script: Script, memory: wmem.AgentMemory, order: str, count: int
) -> None:
    model = script("Hello.", calling("Bern"), calling("Basel"), "Both.")
    ours, other = WmemMiddleware(memory, budget=4_000), KeepingNewest(count)
    middleware = [other, ours] if order == "before" else [ours, other]
    agent = create_agent(model, [rain], middleware=middleware, checkpointer=InMemorySaver())
    for text in ("Hi.", "Rain?"):
        await run(agent, user(text), config=THREAD)
    for prompt in model.prompts[1:]:
        assert "Rain?" in texts(prompt)
        assert is_paired(prompt)
    if count == 2:  # a call and its result
        assert kinds(model.prompts[3]) == ["human", "ai", "human", "ai", "tool", "ai", "tool"]


async def test_b08_a_thread_whose_process_died_in_a_call_stays_usable(
    run: Run, script: Script, opened: wmem.AgentMemory
) -> None:
    saver, model = InMemorySaver(), script(calling("nowhere", text="I look."), "Hello.", "Yes?")
    middleware = WmemMiddleware(opened, budget=4_000)
    agent = create_agent(model, [rain], middleware=[middleware], checkpointer=saver)
    with pytest.raises(OSError):  # noqa: PT011  # what the tool raised
        await run(agent, user("Rain?"), config=THREAD)
    again = WmemMiddleware(opened, budget=4_000)
    agent = create_agent(model, [rain], middleware=[again], checkpointer=saver)
    for text in ("Never mind.", "Hello?"):
        await run(agent, user(text), config=THREAD)
        assert texts(model.prompts[-1])[:3] == ["Rain?", "I look.", "Never mind."]
        assert is_paired(model.prompts[-1])
        context = again.last_context("t")
        assert context is not None
        assert any("without a result" in warning for warning in context.warnings)
    assert [call.id for message in opened.scope("t").messages.all() for call in message.tool_calls] == ["call-nowhere"]


async def test_b10_calls_and_results_have_their_ids_in_another_worker(run: Run, script: Script, url: str) -> None:
    saver, model = InMemorySaver(), script(calling("Bern", "Basel"), "Both.", "Bern and Basel.")
    with wmem.open(url, agent_id="agent-7") as opened:
        agent = create_agent(model, [rain], middleware=[WmemMiddleware(opened, budget=4_000)], checkpointer=saver)
        await run(agent, user("Rain?"), config=THREAD)
        with wmem.open(url, agent_id="agent-7") as again:
            agent = create_agent(model, [rain], middleware=[WmemMiddleware(again, budget=4_000)], checkpointer=saver)
            await run(agent, user("Where?"), config=THREAD)
    calls = [
        call["id"] for message in model.prompts[2] if isinstance(message, AIMessage) for call in message.tool_calls
    ]
    results = [message.tool_call_id for message in model.prompts[2] if isinstance(message, ToolMessage)]
    assert calls == results == ["call-Bern", "call-Basel"]


async def summarised(run: Run, memory: wmem.AgentMemory, **options: Any) -> Scripted:
    """A thread of seven turns with tools whose earlier part was summed up; its model's prompts."""
    turns = [reply for turn in range(7) for reply in (calling("Bern"), AIMessage(f"Answer {turn}"))]
    model, summing = Scripted(replies=turns), Scripted(replies=[AIMessage("Summed up.") for _ in range(20)])
    agent = create_agent(
        model,
        [rain],
        system_prompt="Be brief.",
        middleware=[
            SummarizationMiddleware(summing, trigger=("messages", 8), keep=("messages", 3)),
            WmemMiddleware(memory, **options),
        ],
        checkpointer=InMemorySaver(),
    )
    for turn in range(7):
        await run(agent, user(f"Question {turn}"), config=THREAD)
    return model


PROFILES: list[Any] = ["openai", "anthropic", "gemini", "any"]


@pytest.mark.parametrize("profile", PROFILES)
async def test_b11_a_summary_is_no_system_message_in_mid_list(run: Run, memory: wmem.AgentMemory, profile: Any) -> None:
    model = await summarised(run, memory, budget=500, reserve=0, profile=profile, summary=True)
    for prompt in model.prompts:
        assert "system" not in kinds(prompt)[1:]


@pytest.mark.parametrize("profile", ["anthropic", "gemini", "any"])
async def test_b13_a_thread_that_was_compacted_begins_with_a_person(
    run: Run, memory: wmem.AgentMemory, profile: Any
) -> None:
    model = await summarised(run, memory, budget=280, reserve=0, profile=profile)
    for prompt in model.prompts:
        assert kinds(prompt)[:2] == ["system", "human"]
        assert is_paired(prompt)


async def test_b14_signed_reasoning_without_text_is_sent_as_it_came(
    run: Run, script: Script, opened: wmem.AgentMemory
) -> None:
    thought = {"type": "thinking", "thinking": "", "signature": "c2lnbmVk"}
    saver = InMemorySaver()
    model = script(calling("Bern", text=[thought, {"type": "text", "text": "I look."}]), "It does.", "Yes.")
    for text in ("Rain?", "Really?"):
        middleware = WmemMiddleware(opened, budget=4_000, profile="anthropic")
        await run(create_agent(model, [rain], middleware=[middleware], checkpointer=saver), user(text), config=THREAD)
    for prompt in model.prompts[1:]:
        content = prompt[1].content
        assert isinstance(content, list)
        assert json.dumps(content[0]) == json.dumps(thought)


# --- threads ---------------------------------------------------------------------------------------------------------


class TestThreads(Everywhere):
    """What a thread took back, on every backend that another process opens, and in memory."""

    @pytest.fixture
    def pair(self, url: str, mode: str) -> Any:
        pair = Pair(url, in_async=lambda: mode == "async")
        pair.say("Hello Ann.", text="I am Ann.")
        pair.say(pair.call("Oslo", "Rome"), "In both.", text="Does it rain?")
        yield pair
        pair.close()

    @pytest.mark.backends("memory", "disk", "sqlite", "redis")
    def test_b160_what_was_taken_back_is_not_sent(self, pair: Pair) -> None:
        pair.regenerate("In both, I said.")
        pair.say(text="Sure?")
        pair.fork_by_update(2)  # a question is edited where the thread was before
        pair.say(text="And?")
        pair.restart()
        pair.remove(-1)
        pair.remove(1)
        pair.say(text="And now?")
        pair.remove_all()
        pair.say(text="From the start.")
        pair.say(text="Well?")
        assert pair.ours.stored() == ["From the start.", "Fine.", "Well?", "Fine."]
        pair.delete()
        pair.say(text="Hello?")
        assert pair.ours.stored() == ["Hello?", "Fine."]

    @pytest.mark.backends("memory", "disk", "sqlite", "redis")
    def test_b160_an_abandoned_branch_comes_back_when_the_thread_goes_on_from_it(self, pair: Pair) -> None:
        pair.fork(1, "Rather not.")
        assert "In both." not in pair.ours.stored()
        pair.restart()
        pair.fork(1, "In both, still.")  # the end of the first branch is now the one before the newest
        assert pair.ours.stored()[-4:-2] == ["It rains in Rome.", "In both."]
        assert "Rather not." not in pair.ours.stored()


@pytest.mark.parametrize("order", ["guard first", "wmem first"])
@pytest.mark.parametrize("kind", ["sqlite", "disk"])
async def test_b161_what_a_guard_masks_or_blocks_is_in_no_file_and_no_later_prompt(
    run: Run, script: Script, tmp_path: Path, kind: str, order: str
) -> None:
    @tool
    def look_up(name: str) -> str:
        """An address."""
        return f"{name} is {RAW}."

    call = AIMessage("", tool_calls=[{"name": "look_up", "args": {"name": "Ann"}, "id": "c"}])
    for strategy in ("redact", "block"):
        model = script(call, f"It is {RAW}.", "Fine.", "Fine.")
        with wmem.open(f"{kind}://{tmp_path}/{strategy}", agent_id="a") as memory:
            guard = PIIMiddleware(
                "email",
                strategy=strategy,
                apply_to_input=True,
                apply_to_output=True,
                apply_to_tool_results=True,
            )
            ours = WmemMiddleware(memory, budget=4_000)
            middleware = [guard, ours] if order == "guard first" else [ours, guard]
            agent = create_agent(model, [look_up], middleware=middleware, checkpointer=InMemorySaver())
            for text in ("Where is Ann?", f"Is it {RAW}?", "And now?"):
                try:
                    await run(agent, user(text), config=THREAD)
                except PIIDetectionError:
                    # As their guide has it: what was refused is taken out before the thread goes on.
                    bad = [each for each in agent.get_state(THREAD).values["messages"] if RAW in each.text]
                    removals = [RemoveMessage(id=each.id) for each in bad]
                    agent.update_state(THREAD, {"messages": removals}, as_node="tools")
            assert not any(RAW in text for prompt in model.prompts for text in texts(prompt))
            assert RAW not in json.dumps(memory.scope("t").export(), default=str)
    assert not files_hold(tmp_path, RAW)


@pytest.mark.parametrize("budgets", [(3_000, 20_000), (20_000, 3_000)], ids=["outer lower", "inner lower"])
async def test_b162_of_two_instances_the_lower_ceiling_holds(
    run: Run, script: Script, memory: wmem.AgentMemory, budgets: tuple[int, int]
) -> None:
    model = script()
    middleware = [WmemMiddleware(memory, budget=budget, name=f"to {budget}") for budget in budgets]
    agent = create_agent(model, [rain], middleware=middleware, checkpointer=InMemorySaver())
    for turn in range(12):
        await run(agent, user(f"Question {turn}: " + "and so on, " * 200), config=THREAD)
        counted = memory.scope("counting", str(turn))  # what was sent, counted by its own
        counted.messages.append(from_langchain([HumanMessage(message.text) for message in model.prompts[-1]]))
        assert counted.pack(budget=100_000, reserve=1_024, tools=model.schemas[-1]).tokens <= 3_000
    assert len(memory.scope("t").messages.all()) == 24


async def test_b163_an_agent_inside_a_graph_is_told_the_one_word_it_needs(
    run: Run, script: Script, memory: wmem.AgentMemory
) -> None:
    def graph(**options: Any) -> Any:
        model = script("Hello Ann.", "You are Ann.")
        agent = create_agent(model, middleware=[WmemMiddleware(memory, budget=4_000, **options)], name="inner")
        made = StateGraph(MessagesState)
        made.add_node("inner", agent)
        made.add_edge(START, "inner")
        return model, made.compile(checkpointer=InMemorySaver())

    _, refused = graph()
    with pytest.raises(InvalidInputError, match="session='thread'"):
        await run(refused, user("I am Ann."), config=THREAD)
    model, compiled = graph(session="thread")
    for text in ("I am Ann.", "Who am I?"):
        await run(compiled, user(text), config=THREAD)
    assert texts(model.prompts[1]) == ["I am Ann.", "Hello Ann.", "Who am I?"]
