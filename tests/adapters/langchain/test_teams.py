"""Agents that hand over to one another, as supervisors and swarms do it, in one session: that of their thread."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatResult
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

import wmem
from langchain_wmem import WmemMiddleware, WmemPack, to_langchain
from tests.adapters.langchain.conftest import Scripted

# The supervisor's own agent is one of LangGraph's older kind.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::langgraph.warnings.LangGraphDeprecatedSinceV10"),
]

THREAD: Any = {"configurable": {"thread_id": "t"}}
BUDGET = 2_400
Memory: TypeAlias = wmem.AgentMemory | None


class Characters:
    """One token a character: every sum can be checked by hand."""

    name = "characters"

    def __call__(self, text: str, /) -> int:
        return len(text)


@tool
def look(what: str) -> str:
    """Look something up."""
    return f"The {what} is on Friday."


@tool
def add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second


class Talk(NamedTuple):
    """What became of a conversation: the prompts of each model, and the thread's messages."""

    models: dict[str, Scripted]
    messages: list[BaseMessage]

    def prompts(self, name: str) -> list[list[BaseMessage]]:
        return self.models[name].prompts


def calling(name: str, call_id: str, **arguments: object) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": call_id}])


def make_agents(models: dict[str, Scripted], memory: Memory, tools: dict[str, list[Any]], **options: Any) -> list[Any]:
    """The agents that have a memory."""

    def remembering() -> list[WmemMiddleware]:
        return [] if memory is None else [WmemMiddleware(memory, session="thread", profile="openai", **options)]

    return [
        create_agent(models[name], own, name=name, system_prompt=f"You are {name}.", middleware=remembering())
        for name, own in tools.items()
    ]


@tool("add")
def add_if_allowed(first: int, second: int) -> str:
    """Add two numbers, if a person says so."""
    return f"{first + second}, as you said: {interrupt('Sure?')}"


def make_swarm(models: dict[str, Scripted], memory: Memory, *, adding: BaseTool = add, **options: Any) -> Any:
    swarm = pytest.importorskip("langgraph_swarm")
    tools = {
        "alice": [look, swarm.create_handoff_tool(agent_name="bob")],
        "bob": [adding, swarm.create_handoff_tool(agent_name="alice")],
    }
    return swarm.create_swarm(make_agents(models, memory, tools, **options), default_active_agent="alice")


def make_supervisor(
    models: dict[str, Scripted], memory: Memory, output_mode: str, *, adding: BaseTool = add, **options: Any
) -> Any:
    """A supervisor, which has hooks in place of middleware, over two agents that remember."""
    library = pytest.importorskip("langgraph_supervisor")
    agents = make_agents(models, memory, {"alice": [look], "bob": [adding]}, **options)
    hooks: dict[str, Any] = {}
    if memory is not None:
        packing = WmemPack(memory, session="thread", profile="openai", system="You lead.", **options)
        hooks = {"pre_model_hook": packing, "post_model_hook": packing.store_reply}
    return library.create_supervisor(agents, model=models["boss"], prompt="You lead.", output_mode=output_mode, **hooks)


def make_full(models: dict[str, Scripted], memory: Memory, **options: Any) -> Any:
    return make_supervisor(models, memory, "full_history", **options)


def make_last(models: dict[str, Scripted], memory: Memory, **options: Any) -> Any:
    return make_supervisor(models, memory, "last_message", **options)


Team: TypeAlias = Callable[..., Any]
QUESTIONS = ("When is the fair, and what do two tickets at 2 cost?", "And 4 plus 5?", "Thanks.")


def write_script(make: Team) -> dict[str, list[AIMessage]]:
    """What each says in a talk of three questions: both work for the first, one for the second."""
    first, second = calling("add", "a1", first=2, second=2), calling("add", "a2", first=4, second=5)
    looking = calling("look", "l1", what="fair")
    if make is make_swarm:
        alice = [looking, calling("transfer_to_bob", "h1")]
        bob = [first, AIMessage("On Friday; four."), second, AIMessage("Nine."), AIMessage("Bye.")]
        return {"alice": alice, "bob": bob}
    handing = [calling("transfer_to_alice", "h1"), calling("transfer_to_bob", "h2"), AIMessage("On Friday; four.")]
    return {
        "boss": [*handing, calling("transfer_to_bob", "h3"), AIMessage("So it is nine."), AIMessage("Bye.")],
        "alice": [looking, AIMessage("The fair is on Friday.")],
        "bob": [first, AIMessage("Four."), second, AIMessage("Nine.")],
    }


async def talk(
    make: Team, run: Any, script: dict[str, list[AIMessage]], memory: Memory, *said: str, **options: Any
) -> Talk:
    models = {name: Scripted(replies=list(replies)) for name, replies in script.items()}
    saver = InMemorySaver()
    team = make(models, memory, **options).compile(checkpointer=saver)
    result: Any = None
    for text in said:
        result = await run(team, {"messages": [HumanMessage(text)]}, config=THREAD)
        while result.get("__interrupt__"):
            team = make(models, memory, **options).compile(checkpointer=saver)  # as another process would
            result = await run(team, Command(resume="Yes."), config=THREAD)
    return Talk(models, result["messages"])


def show(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Messages without the ids that the framework draws anew in each run."""
    return [message.model_dump(exclude={"id", "tool_call_id"} | drawn_calls(message)) for message in messages]


def drawn_calls(message: BaseMessage) -> set[str]:
    """A supervisor's way back is a call under an id drawn anew."""
    drawn = any(call["name"].startswith("transfer_back") for call in getattr(message, "tool_calls", ()))
    return {"tool_calls"} if drawn else set()


def list_unanswered(prompt: Sequence[BaseMessage]) -> list[str]:
    """What is wrong with the calls and results of a prompt: each call has its result directly behind it."""
    faults, waiting = [], list[str]()
    for message in prompt:
        if message.type == "tool":
            answered = str(message.model_dump()["tool_call_id"])
            if answered in waiting:
                waiting.remove(answered)
            else:
                faults.append(f"result of no call: {message.text}")
            continue
        faults += [f"call without a result: {call}" for call in waiting]
        waiting = [str(call["id"]) for call in message.tool_calls] if isinstance(message, AIMessage) else []
    return faults + waiting


TEAMS = [make_swarm, make_full, make_last]


@pytest.mark.parametrize("adding", [add, add_if_allowed], ids=["at once", "when a person agrees"])
@pytest.mark.parametrize("make", TEAMS)
async def test_agents_of_a_team_see_what_they_would_without_wmem(
    make: Team, adding: BaseTool, run: Any, memory: wmem.AgentMemory
) -> None:
    script = write_script(make)
    plain = await talk(make, run, script, None, *QUESTIONS, adding=adding)
    ours = await talk(make, run, script, memory, *QUESTIONS, adding=adding, budget=8_000)
    assert show(ours.messages) == show(plain.messages)
    for name in script:
        assert list(map(show, ours.prompts(name))) == list(map(show, plain.prompts(name)))


@pytest.mark.parametrize("make", TEAMS)
async def test_what_agents_of_a_team_were_told_and_said_is_stored_once(
    make: Team, run: Any, memory: wmem.AgentMemory
) -> None:
    ours = await talk(make, run, write_script(make), memory, *QUESTIONS, budget=8_000)
    messages = memory.scope("t").messages
    stored = to_langchain([*messages.all(), *messages.withdrawn()])
    assert len({message.id for message in stored}) == len(stored)
    sent = chain.from_iterable(chain.from_iterable(model.prompts for model in ours.models.values()))
    heard = {message.id for message in (*sent, *ours.messages) if message.type != "system"}
    assert heard == {message.id for message in stored}
    answers = [str(message.text) for message in stored]
    assert answers.count("Nine.") == 1
    assert answers.count("9") == 1
    assert [text for text in answers if text in QUESTIONS] == [*QUESTIONS]


@pytest.mark.parametrize("make", TEAMS)
async def test_no_prompt_of_a_team_is_beyond_the_budget_or_parts_a_call_from_its_result(make: Team, run: Any) -> None:
    script: dict[str, list[AIMessage]] = {"boss": [], "alice": [], "bob": []}
    said = []
    for turn in range(8):
        said.append(f"Question {turn}: " + "what do these two come to? " * 6)
        handing, adding = calling("transfer_to_bob", f"h{turn}"), calling("add", f"a{turn}", first=turn, second=turn)
        script["boss"] += [handing, AIMessage(f"It comes to {2 * turn}.")]
        script["bob"] += [adding, AIMessage(f"The two come to {2 * turn}.")]
    script["alice"].append(calling("transfer_to_bob", "h"))
    with wmem.open("memory://", agent_id="agent-7", counter=Characters()) as memory:
        ours = await talk(make, run, script, memory, *said, budget=BUDGET, reserve=0)
        assert len(ours.prompts("bob")) == 16
        for name, model in ours.models.items():
            for number, prompt in enumerate(model.prompts):
                calls = [str(getattr(message, "tool_calls", "")) for message in prompt]
                assert sum(map(len, [*calls, *(str(message.text) for message in prompt)])) <= BUDGET
                assert list_unanswered(prompt) == []
                assert said[0 if name == "alice" else number // 2] in [message.text for message in prompt]
        assert said[0] not in [message.text for message in ours.prompts("bob")[-1]]
        assert said[0] in [message.text for message in memory.scope("t").messages.all()]


class Worker(Scripted):
    """Looks for what nobody else looks for, then says what it found."""

    name: str = ""

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        found, number = messages[-1].type == "tool", len(self.prompts)
        wanted = calling("look", f"{self.name}-{number}", what=f"{self.name} {number}")
        self.replies.append(AIMessage(f"I see: {messages[-1].text}") if found else wanted)
        return super()._generate(messages, *args, **kwargs)


async def test_agents_that_answer_at_the_same_time_see_nothing_of_one_another(
    run: Any, memory: wmem.AgentMemory
) -> None:
    names = ["ann", "ben", "cem"]
    talks = []
    for remembered in (None, memory):
        models: dict[str, Scripted] = {name: Worker(name=name) for name in names}
        models["dan"] = Scripted()
        agents = make_agents(models, remembered, {name: [look] for name in models}, budget=8_000)
        builder = StateGraph(MessagesState)
        for agent in agents:
            builder.add_node(agent.name, agent)
        for name in names:
            builder.add_edge(START, name)
        builder.add_edge(names, "dan")
        graph = builder.compile(checkpointer=InMemorySaver())
        for turn in range(3):
            result = await run(graph, {"messages": [HumanMessage(f"Question {turn}")]}, config=THREAD)
        talks.append(Talk(models, result["messages"]))
    plain, ours = talks
    assert show(ours.messages) == show(plain.messages)
    for name in ours.models:
        assert list(map(show, ours.prompts(name))) == list(map(show, plain.prompts(name)))
    stored = to_langchain(memory.scope("t").messages.all())
    assert sorted(str(message.id) for message in stored) == sorted(str(message.id) for message in ours.messages)
