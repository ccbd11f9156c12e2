"""Skills of what frameworks' agents did: their calls are read from the messages that the adapters store."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from llama_index.core.base.llms.types import ChatMessage

import wmem
from langchain_wmem import WmemMiddleware
from llamaindex_wmem import WmemMemory
from tests.adapters.langchain.conftest import Scripted
from wmem import InvalidInputError, MemoryItem
from wmem.adapter import LazyMemory


@tool
def find_guest(name: str) -> str:
    """Find a guest."""
    return f'{{"guest_id": "g-{name}"}}'


@tool
def book_room(guest_id: str) -> str:
    """Book a room."""
    if guest_id == "g-nobody":
        raise ValueError(guest_id)
    return "booked"


def run_langchain(url: str, number: int) -> None:
    name = f"n{number}"
    steps = [("find_guest", {"name": name}), ("book_room", {"guest_id": f"g-{name}"})]
    replies = [
        AIMessage("", tool_calls=[{"name": each, "args": arguments, "id": f"call-{number}-{at}"}])
        for at, (each, arguments) in enumerate(steps)
    ]
    middleware = WmemMiddleware(url, budget=2_000, agent_id="a", session=f"s{number}")
    agent = create_agent(Scripted(replies=replies), tools=[find_guest, book_room], middleware=[middleware])
    agent.invoke({"messages": [HumanMessage(f"Book a room for {name}")]})


def run_llamaindex(url: str, number: int) -> None:
    memory = WmemMemory.from_defaults(session_id=f"s{number}", url=url, agent_id="a")
    memory.put(ChatMessage(role="user", content="Book a room"))
    for at, (name, arguments, result) in enumerate(
        [
            ("find_guest", f'{{"name": "n{number}"}}', f'{{"guest_id": "g-n{number}"}}'),
            ("book_room", f'{{"guest_id": "g-n{number}"}}', "booked"),
        ]
    ):
        call: dict[str, Any] = {"id": f"call-{number}-{at}", "type": "function"}
        call["function"] = {"name": name, "arguments": arguments}
        memory.put(ChatMessage(role="assistant", content=None, additional_kwargs={"tool_calls": [call]}))
        memory.put(ChatMessage(role="tool", content=result, additional_kwargs={"tool_call_id": call["id"]}))
    memory.close()


@pytest.mark.parametrize("run", [run_langchain, run_llamaindex])
def test_what_an_agent_of_a_framework_did_in_three_sessions_is_a_skill(
    run: Callable[[str, int], None], tmp_path: Path
) -> None:
    url = f"sqlite://{tmp_path}/m.db"
    for number in range(3):
        run(url, number)
    with wmem.open(url, agent_id="a") as memory:
        for number in range(3):
            memory.types.session(f"s{number}")["conversation"].close()
        memory.maintain()
        [skill] = list_skills(memory)
    assert skill.content == "To book room: 1. find_guest(name) 2. book_room(guest_id from 1)"


def list_skills(memory: wmem.AgentMemory) -> list[MemoryItem]:
    return [each for each in memory.semantic.items.all() if each.type == "skill"]


def test_a_memory_that_an_adapter_opens_extracts_none_where_that_is_off(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/m.db"
    for number in range(3):
        run_llamaindex(url, number)
    lazy = LazyMemory(url, "a", enable_skill_extraction=False)
    memory = lazy.memory()
    for number in range(3):
        memory.types.session(f"s{number}")["conversation"].close()
    assert memory.maintain().jobs["extract-skills"].changed == 0
    with wmem.open(url, agent_id="a") as other:
        assert other.maintain().jobs["extract-skills"].changed == 1
    with pytest.raises(InvalidInputError, match="enable_skill_extraction"):
        LazyMemory(memory, None, enable_skill_extraction=False)
    lazy.close()
