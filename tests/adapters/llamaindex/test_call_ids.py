"""Agents whose model sends tool calls without usable ids: the next turn still knows what the tools said."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock

from llamaindex_wmem import WmemMemory
from tests.adapters.llamaindex.test_engines import Script, add
from wmem import Message
from wmem.adapter import pair_results

# LlamaIndex's own agents use what pydantic has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning")

Make = Callable[..., WmemMemory]
ABSENT = [None, ""]


def calling(id: str | None, *numbers: int) -> ChatMessage:
    blocks = [ToolCallBlock(tool_call_id=id, tool_name="add", tool_kwargs={"a": n, "b": n}) for n in numbers]
    return ChatMessage(role="assistant", blocks=blocks)


def returned(text: str, **extra: Any) -> ChatMessage:
    return ChatMessage(role="tool", content=text, additional_kwargs=extra)


def answers(prompt: Sequence[ChatMessage]) -> list[tuple[Any, str | None]]:
    """Each call of a prompt with its result."""
    results = {each.additional_kwargs["tool_call_id"]: each.content for each in prompt if each.role == "tool"}
    calls = [block for each in prompt for block in each.blocks if isinstance(block, ToolCallBlock)]
    assert [call.tool_call_id for call in calls] == list(results)
    assert all((call.tool_call_id or "").strip() for call in calls)
    return [(call.tool_kwargs["a"], results[call.tool_call_id]) for call in calls if isinstance(call.tool_kwargs, dict)]


@pytest.mark.parametrize("id", [*ABSENT, "x"])
@pytest.mark.parametrize("team", [False, True])
async def test_b131_an_agent_whose_model_gives_calls_no_id_of_their_own_is_remembered(
    make: Make, id: str | None, team: bool
) -> None:
    memory, script = make(), Script(calling(id, 1, 2), "2 and 4", "still 2 and 4")
    for question in ("add", "again?"):
        agent: Any = FunctionAgent(name="a", description="adds", tools=[add], llm=script.llm, streaming=False)
        agent = AgentWorkflow(agents=[agent], root_agent="a") if team else agent
        answer = await agent.run(question, memory=memory)
    assert str(answer) == "still 2 and 4"
    assert len(script.prompts) == 3, "one round of tools"
    assert answers(script.prompts[2]) == [(1, "2"), (2, "4")]


class OwnIds(FunctionAgent):
    """Has tools that answer under ids of their own."""

    async def handle_tool_call_results(self, ctx: Any, results: Any, memory: Any) -> None:
        for at, result in enumerate(results):
            result.tool_id = f"own-{at}"
        await super().handle_tool_call_results(ctx, results, memory)


async def test_b131_an_agent_whose_tools_answer_under_ids_of_their_own_is_remembered(make: Make) -> None:
    both = calling("", 1, 2)
    blocks = [block.model_copy(update={"tool_call_id": f"c{at}"}) for at, block in enumerate(both.blocks)]
    memory, script = make(), Script(both.model_copy(update={"blocks": blocks}), "2 and 4", "still 2 and 4")
    for question in ("add", "again?"):
        agent = OwnIds(name="a", description="adds", tools=[add], llm=script.llm, streaming=False)
        answer = await agent.run(question, memory=memory)
    assert str(answer) == "still 2 and 4"
    assert len(script.prompts) == 3
    assert answers(script.prompts[2]) == [(1, "2"), (2, "4")]


@pytest.mark.parametrize("id", ABSENT)
def test_b131_results_that_are_put_one_after_another_find_their_calls(make: Make, id: str | None) -> None:
    memory = make()
    memory.put(ChatMessage(role="user", content="add"))
    memory.put(calling(id, 1, 2))
    memory.put(returned("2", **({} if id is None else {"tool_call_id": id}), retries=1))
    memory.put(returned("4", name="add"))
    assert answers(memory.get()) == answers(memory.get_all()) == [(1, "2"), (2, "4")]
    assert memory.get_all()[2].additional_kwargs["retries"] == 1


def test_b131_a_history_that_is_handed_back_is_the_same_history(make: Make) -> None:
    given = [ChatMessage(role="user", content="add"), calling("", 1, 2), returned("2"), returned("4")]
    memory = make(chat_history=given)
    before = [message.id for message in memory.scope().messages.all()]
    for again in (given, memory.get_all(), memory.get()):
        memory.set(again)
        assert [message.id for message in memory.scope().messages.all()] == before
    assert make(chat_history=given).get_all() == memory.get_all()


@pytest.mark.parametrize("id", ABSENT)
def test_b131_calls_of_a_vendors_sdk_without_ids_are_paired(make: Make, id: str | None) -> None:
    memory = make()
    calls = [{"id": id, "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}] * 2
    memory.put(ChatMessage(role="user", content="add"))
    memory.put(ChatMessage(role="assistant", content=None, additional_kwargs={"tool_calls": calls}))
    memory.put_messages([returned("2"), returned("4")])
    prompt = memory.get()
    assert "tool_calls" not in prompt[1].additional_kwargs
    assert [block.tool_call_id for block in prompt[1].blocks if isinstance(block, ToolCallBlock)] == [
        each.additional_kwargs["tool_call_id"] for each in prompt[2:]
    ]


def test_b131_pairing_twice_changes_nothing() -> None:
    calls = Message.from_openai(
        {"role": "assistant", "tool_calls": [{"id": "", "function": {"name": name}} for name in ("add", "sub")]}
    )
    once = pair_results([calls, Message.of("tool", "b", name="sub"), Message.of("tool", "a")])
    assert pair_results(once) == once
    assert [each.tool_call_id for each in once[1:]] == [calls.answers[1], calls.answers[0]]
