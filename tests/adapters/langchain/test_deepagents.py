"""A deep agent and its sub-agents, with their files, to-dos and summaries, remember and see what they should.

Run by `make test-providers`: deepagents brings two of the providers' packages.
"""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

import wmem
from langchain_wmem import WmemMiddleware, to_langchain
from tests.adapters.langchain.conftest import Scripted
from wmem.tokens.counter import default_counter

deepagents = pytest.importorskip("deepagents")

BUDGET = 5_000  # of which the tools' schemas take half
THREAD: Any = {"configurable": {"thread_id": "t"}}
QUESTIONS = ("When is the fair, and when is the ball?", "What did you note?")


@tool
def look(what: str) -> str:
    """Look something up."""
    return f"The {what} is on Friday."


class Researcher(Scripted):
    """Looks up the last word of what it is asked, and says what it found; several may ask at once."""

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        newest = str(messages[-1].text)
        *_, last_word = newest.split()
        found = messages[-1].type == "tool"
        self.replies.append(AIMessage(f"I see: {newest}") if found else calling("look", "l", what=last_word))
        return super()._generate(messages, *args, **kwargs)


def calling(name: str, call_id: str, **arguments: object) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": call_id}])


def make_agent(model: Scripted, researcher: Scripted, memory: wmem.AgentMemory | None, budget: int = 20_000) -> Any:
    def remembering() -> list[WmemMiddleware]:
        return [] if memory is None else [WmemMiddleware(memory, budget=budget, profile="openai")]

    sub_agent = {
        "name": "research",
        "description": "Looks things up.",
        "system_prompt": "You look things up.",
        "tools": [look],
        "model": researcher,
        "middleware": remembering(),
    }
    return deepagents.create_deep_agent(
        model,
        [look],
        system_prompt="Be brief.",
        middleware=remembering(),
        subagents=[sub_agent],
        checkpointer=InMemorySaver(),
    )


def write_script() -> list[AIMessage]:
    """Notes something in a file, sends two sub-agents out at once, and reads the file in the next turn."""
    sent = [
        {"name": "task", "args": {"description": f"When is the {each}", "subagent_type": "research"}, "id": each}
        for each in ("fair", "ball")
    ]
    return [
        calling("write_file", "w", file_path="/note.txt", content="Ask about both."),
        AIMessage("", tool_calls=sent),
        AIMessage("Both are on Friday."),
        calling("read_file", "r", file_path="/note.txt"),
        AIMessage("To ask about both."),
    ]


def show(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Messages without the ids that the framework draws anew in each run."""
    return [message.model_dump(exclude={"id"}) for message in messages]


async def test_a_deep_agent_and_its_sub_agents_see_what_they_would_without_wmem(
    run: Any, memory: wmem.AgentMemory
) -> None:
    prompts = []
    for remembered in (None, memory):
        model, researcher = Scripted(replies=write_script()), Researcher()
        agent = make_agent(model, researcher, remembered)
        for question in QUESTIONS:
            result = await run(agent, {"messages": [HumanMessage(question)]}, config=THREAD)
        researched = sorted(map(show, researcher.prompts), key=str)
        prompts.append([*map(show, model.prompts), *researched, show(result["messages"])])
    assert prompts[0] == prompts[1]
    stored = to_langchain(memory.scope("t").messages.all())
    assert stored == result["messages"]
    assert memory.scope("t").children() == []


async def test_a_deep_agent_keeps_its_budget_and_loses_nothing(run: Any, memory: wmem.AgentMemory) -> None:
    count = default_counter()
    model = Scripted()
    agent = make_agent(model, Researcher(), memory, BUDGET)
    told = [f"The guest in room {number} came from far away and {'stays for a while. ' * 40}" for number in range(12)]
    for text in told:
        await run(agent, {"messages": [HumanMessage(text)]}, config=THREAD)
    for prompt, schemas in zip(model.prompts, model.schemas, strict=True):
        assert sum(count(str(message.text)) for message in prompt) + count(json.dumps(schemas)) <= BUDGET
    assert told[0] not in [message.text for message in model.prompts[-1]]
    assert told[-1] == model.prompts[-1][-1].text
    assert [message.text for message in memory.scope("t").messages.all() if message.role == "user"] == told


async def test_what_a_deep_agent_summarises_by_itself_is_remembered_whole_within_the_model_s_window(
    run: Any, memory: wmem.AgentMemory
) -> None:
    count, window = default_counter(), 9_000
    model = Scripted(profile={"max_input_tokens": window})
    middleware = [WmemMiddleware(memory, profile="openai")]
    agent = deepagents.create_deep_agent(model, [look], middleware=middleware, checkpointer=InMemorySaver())
    told = [f"The guest in room {number} came from far away. {'We talked for long. ' * 60}" for number in range(30)]
    for text in told:
        await run(agent, {"messages": [HumanMessage(text)]}, config=THREAD)
    assert len(model.prompts) > len(told), "it has summarised"
    for prompt, schemas in zip(model.prompts, model.schemas, strict=True):
        assert sum(count(str(message.text)) for message in prompt) + count(json.dumps(schemas)) <= window
    assert [message.text for message in memory.scope("t").messages.all() if message.role == "user"] == told
    await run(agent, {"messages": [HumanMessage("Who came to room 3?")]}, config=THREAD)
    assert "The guest in room 3 came from far away." in str(model.prompts[-1])
