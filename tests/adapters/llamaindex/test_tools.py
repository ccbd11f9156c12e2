"""Agents of LlamaIndex that remember, recall and forget themselves."""

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.tools import FunctionTool, ToolOutput

import wmem
from llamaindex_wmem import WmemLLM, WmemMemory, wmem_tools
from tests.adapters.llamaindex.test_engines import Make, Script, calling, talk
from wmem.errors import InvalidInputError

# LlamaIndex's own agents use what pydantic has deprecated.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning"),
]
DOG = "Ada's dog Biscuit is allergic to chicken"
WHAT = "What is the dog allergic to?"
ANN: Any = [("users", "ann")]

Ask = Callable[..., ToolOutput]


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Calls a tool in one mode or the other."""

    def call(tool: FunctionTool, *args: Any, **kwargs: Any) -> ToolOutput:
        return asyncio.run(tool.acall(*args, **kwargs)) if request.param == "async" else tool.call(*args, **kwargs)

    return call


def by_name(tools: list[FunctionTool]) -> Mapping[str, FunctionTool]:
    return {tool.metadata.get_name(): tool for tool in tools}


def tool_texts(memory: WmemMemory) -> list[str]:
    return [message.content or "" for message in memory.get_all() if message.role == "tool"]


# --- agents ----------------------------------------------------------------------------------------------------------


async def test_a_function_agent_remembers_in_one_session_what_it_recalls_in_another(make: Make) -> None:
    monday, tuesday = (make(session_id=day, long_term=ANN) for day in ("monday", "tuesday"))
    script = Script(calling(("c1", "remember", {"text": DOG, "tags": ["dog"]})), "Noted.")
    await FunctionAgent(tools=[*wmem_tools(monday)], llm=script.llm, streaming=False).run("My dog!", memory=monday)
    script = Script(calling(("c1", "recall", {"query": WHAT})), "Chicken.")
    agent = FunctionAgent(tools=[*wmem_tools(tuesday)], llm=script.llm, streaming=False)
    assert str(await agent.run("Look it up.", memory=tuesday)) == "Chicken."
    [result] = tool_texts(tuesday)
    assert result.count(DOG) == 1
    assert DOG in str(script.prompts[-1])


async def test_b113_an_agent_that_reasons_in_text_recalls_nothing_twice(make: Make) -> None:
    memory = make(token_limit=1_200)
    memory.scope().items.add(DOG, ttl_s=None)
    call = f"Thought: I look.\nAction: recall\nAction Input: {json.dumps({'query': WHAT})}"
    for turn in range(4):
        script = Script(call, f"Thought: I know it.\nAnswer: chicken {turn}")
        agent = ReActAgent(tools=[*wmem_tools(memory)], llm=script.llm, streaming=False)
        await agent.run(f"Turn {turn}: what of its food?", memory=memory)
        assert str(script.prompts[-1][-1].content).count(DOG) == 1
    assert any("<recalled>" in (message.content or "") for message in memory.get_all()), "it is kept as it was said"
    assert [hit.kind for hit in memory.scope().recall(WHAT) if DOG in hit.text] == ["item"]
    memory.put_messages(talk(60))
    assert sum((message.content or "").count(DOG) for message in memory.get(WHAT)) == 1


async def test_agents_of_a_workflow_share_them_below_a_models_ceiling(make: Make) -> None:
    memory = make()
    memory.put_messages(talk(60))
    script = Script(calling(("c1", "remember", {"text": DOG})), calling(("c2", "recall", {"query": WHAT})), "Chicken.")
    llm = WmemLLM(script.llm, memory, budget=1_500, reserve=100)
    agent = FunctionAgent(name="one", description="d", tools=[*wmem_tools(memory)], llm=llm, streaming=False)
    workflow = AgentWorkflow(agents=[agent], root_agent="one")
    await workflow.run("Remember and look.", memory=memory)
    assert DOG in tool_texts(memory)[-1]
    assert llm.last_context() is not None


async def test_what_a_model_does_wrong_is_told_and_the_run_goes_on(make: Make) -> None:
    memory = make()
    wrong = calling(
        ("1", "remember", {}),
        ("2", "remember", {"text": 5}),
        ("3", "recall", {"query": "x", "limit": 10**9}),
        ("4", "forget", {"ids": ["../ann"], "session_id": "other"}),
    )
    script = Script(wrong, "Sorry.")
    agent = FunctionAgent(tools=[*wmem_tools(memory)], llm=script.llm, streaming=False)
    assert str(await agent.run("Hello.", memory=memory)) == "Sorry."
    for text, part in zip(tool_texts(memory), ("Field required", "valid string", "limit", "has the id"), strict=True):
        assert part in text


# --- tools by themselves ---------------------------------------------------------------------------------------------


def test_a_tool_is_called_by_name_and_by_position(make: Make, ask: Ask) -> None:
    tools = by_name(wmem_tools(make()))
    stored = ask(tools["remember"], DOG)
    assert (stored.is_error, stored.tool_name) == (False, "remember")
    found = ask(tools["recall"], query=WHAT)
    assert found.raw_output == found.content
    assert DOG in found.content
    [id] = re.findall(r"Remembered, as (\w{26})\.", stored.content)
    assert f"Forgotten: {id}." in ask(tools["forget"], ids=[id]).content
    assert DOG not in ask(tools["recall"], WHAT).content
    assert tools["recall"](WHAT).content == ask(tools["recall"], WHAT).content


def test_a_failure_is_an_error_and_never_raised(make: Make, ask: Ask) -> None:
    memory = make()
    tools = by_name(wmem_tools(memory))
    for name, arguments in (
        ("remember", {}),
        ("recall", {"query": ""}),
        ("forget", {"ids": ["a"]}),
        ("recall", {"q": 1}),
    ):
        output = ask(tools[name], **arguments)
        assert output.is_error
        assert output.content

    def fail() -> wmem.AgentMemory:
        raise wmem.errors.StoreError("down")

    name = uuid4().hex
    wmem.register(name, fail)
    lost = wmem_tools(session_id="s", store=name)
    assert ask(by_name(lost)["recall"], WHAT).content.startswith("The memory cannot be reached")


def test_each_has_a_schema_a_description_and_its_hints(make: Make) -> None:
    hints = {}
    for name, tool in by_name(wmem_tools(make())).items():
        metadata: Any = tool.metadata
        told = metadata.annotations
        hints[name] = (told["read_only_hint"], told["destructive_hint"], told["idempotent_hint"])
        function = metadata.to_openai_tool()["function"]
        assert (function["name"], function["description"]) == (name, metadata.description)
        assert all(field["description"] for field in function["parameters"]["properties"].values())
    assert hints == {
        "remember": (False, False, True),
        "recall": (True, False, True),
        "forget": (False, True, True),
    }


def test_they_are_made_of_a_memory_or_of_a_store(make: Make, url: str) -> None:
    with wmem.open(url, agent_id="a") as opened:
        opened.scope("s").items.add(DOG)
        for tools in (
            wmem_tools(make()),
            wmem_tools(opened, session_id="s"),
            wmem_tools(opened.aio(), session_id=("s",)),
            wmem_tools(session_id="s", url=url, agent_id="a"),
        ):
            assert DOG in by_name(tools)["recall"].call(WHAT).content
        assert DOG not in by_name(wmem_tools(opened, session_id="t"))["recall"].call(WHAT).content
    wrong: list[dict[str, Any]] = [{"session_id": "t"}, {"long_term": False}, {"include": ["x"]}, {"token_limit": 1}]
    for options in wrong:
        with pytest.raises(InvalidInputError):
            wmem_tools(make(), **options)
    with pytest.raises(InvalidInputError, match="session_id"):
        wmem_tools(url=url, agent_id="a")


def test_a_memory_without_long_term_memory_recalls_none(make: Make, ask: Ask) -> None:
    ann, off = make(long_term=ANN), make(session_id="t", long_term=False)
    ann.put(ChatMessage(role="user", content="Hello."))
    ask(by_name(wmem_tools(ann, keep="long_term"))["remember"], DOG)
    ask(by_name(wmem_tools(off, keep="long_term"))["remember"], "Every dog is allergic to chocolate")
    assert "chocolate" not in ask(by_name(wmem_tools(off))["recall"], WHAT).content
    assert "chocolate" in ask(by_name(wmem_tools(make(session_id="u")))["recall"], WHAT).content
