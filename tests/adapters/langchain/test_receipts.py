"""Each prompt that an agent's model was sent is replayed from its receipt, of talks of our own and of others."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

import wmem
from langchain_wmem import WmemMiddleware, to_langchain
from tests.adapters.langchain.conftest import Script
from tests.bench.recall.talks import list_talk_files, read_talk
from wmem.types import PackTraced

SYSTEM = "You help with flights. Be brief."
Json = Mapping[str, Any]


def our_talk() -> Iterator[Json]:
    """Forty turns with long results, two tools at a time, and requests that stand."""
    for turn in range(40):
        yield {"role": "user", "content": f"Which flights leave for city {turn % 7} on day {turn}? I live in Oslo."}
        calls = [(f"c{turn}-{at}", f"city {turn % 7}, day {turn + at}") for at in range(1 + turn % 2)]
        yield {
            "role": "assistant",
            "content": "Let me see." if turn % 3 else None,
            "tool_calls": [
                {"id": id, "type": "function", "function": {"name": "flights", "arguments": f'{{"about": "{about}"}}'}}
                for id, about in calls
            ],
        }
        for id, about in calls:
            yield {
                "role": "tool",
                "tool_call_id": id,
                "content": f"HAT{turn:03} to {about}, 300 francs, 2 seats. " * 30,
            }
        yield {"role": "assistant", "content": f"Flight HAT{turn:03} leaves at {turn % 24}:15."}
        if turn == 5:
            yield {"role": "user", "content": "From now on answer only in French."}
            yield {"role": "assistant", "content": "D'accord."}


def recorded_talks() -> list[Any]:
    """Talks with tools that others published, where their files are there."""
    return [
        pytest.param(each, id=each.stem, marks=pytest.mark.slow) for each in list_talk_files() if "tau" in each.stem
    ]


@pytest.mark.parametrize("talk", [None, *recorded_talks()])
@pytest.mark.slow
def test_each_prompt_of_a_model_is_replayed_message_for_message(
    script: Script, talk: Path | None, tmp_path: Path
) -> None:
    said: Sequence[Json] = list(our_talk()) if talk is None else read_talk(talk).messages
    url = f"sqlite://{tmp_path}/store.db"
    with wmem.open(url, agent_id="a") as memory:
        model = script()
        results = {each["tool_call_id"]: each["content"] for each in said if each["role"] == "tool"}
        names = {call["function"]["name"] for each in said for call in each.get("tool_calls") or ()}
        queue = [results.get(call["id"], "nothing") for each in said for call in each.get("tool_calls") or ()]
        tools = [make_tool(name, queue) for name in sorted(names)]
        agent = create_agent(
            model,
            tools=tools,
            system_prompt=SYSTEM,
            middleware=[WmemMiddleware(memory, budget=4_000, reserve=500, session="s")],
            checkpointer=InMemorySaver(),
        )
        config: Any = {"configurable": {"thread_id": "t"}, "max_concurrency": 1, "recursion_limit": 100}
        for turn in split_turns(said):
            if turn[0]["role"] == "user":
                model.replies = [to_answer(each) for each in turn if each["role"] == "assistant"]
                agent.invoke({"messages": [HumanMessage(turn[0]["content"])]}, config)
    with wmem.open(url, agent_id="a") as memory:
        packs = [event for trace in memory.traces("s") for event in trace.events if isinstance(event, PackTraced)]
        assert len(packs) == len(model.prompts) > 40
        for pack, prompt in zip(packs, model.prompts, strict=True):
            replay = memory.replay(pack.receipt, system=SYSTEM)
            assert replay.missing == ()
            assert replay.context is not None
            assert to_langchain(list(replay.context.prompt())) == prompt
        assert any(pack.recalled for pack in packs)


def split_turns(said: Sequence[Json]) -> list[list[Json]]:
    """The talk, each turn from the message of the user on."""
    turns: list[list[Json]] = []
    for each in said:
        if each["role"] == "user" or not turns:
            turns.append([])
        turns[-1].append(each)
    return turns


def to_answer(said: Json) -> AIMessage:
    [message] = to_langchain(
        [wmem.Message.from_openai({name: said[name] for name in ("role", "content", "tool_calls") if name in said})]
    )
    assert isinstance(message, AIMessage)
    return message.model_copy(update={"id": None})


def make_tool(name: str, results: list[str]) -> StructuredTool:
    def call(**_: Any) -> str:
        return results.pop(0)

    return StructuredTool(name=name, description=name, args_schema={"type": "object", "properties": {}}, func=call)
