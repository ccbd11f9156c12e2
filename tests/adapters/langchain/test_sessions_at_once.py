"""Hundreds of threads of one agent in one loop: each keeps all that was said in it, and sees nothing of another."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

import wmem
from langchain_wmem import WmemMiddleware, to_langchain
from tests.adapters.langchain.conftest import Scripted
from tests.matrix import PLAIN, Everywhere

SESSIONS = {"fast": 20, "ci": 60, "full": 200}  # by tier
TURNS = 3
BUDGET = 700  # two turns fit, the third is packed
_GUEST = re.compile(r"guest-\d+")


class Host(Scripted):
    """Asks two tools at once about the guest who asks, then answers."""

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        [guest] = _GUEST.findall(messages[-1].text)
        self.replies.append(answer(guest) if messages[-1].type == "tool" else look(guest))
        return await super()._agenerate(messages, *args, **kwargs)


def look(guest: str) -> AIMessage:
    calls = [{"name": each, "args": {"guest": guest}, "id": f"{each}-of-{guest}"} for each in ("room", "bill")]
    return AIMessage(f"I look for {guest}.", tool_calls=calls)


def answer(guest: str) -> AIMessage:
    return AIMessage(f"Yes, {guest}, all of it is paid.")


def question(guest: str, turn: int) -> str:
    return f"Question {turn} of {guest}: " + "is my room ready, and what do I owe? " * 8


@tool
async def room(guest: str) -> str:
    """The room of a guest."""
    await asyncio.sleep(0)
    return f"The room of {guest} looks upon the garden and has a desk, a lamp, two chairs and a view."


@tool
async def bill(guest: str) -> str:
    """What a guest owes."""
    for _ in range(len(guest)):
        await asyncio.sleep(0)
    return f"Nothing is owed by {guest}."


def thread(guest: str) -> Any:
    return {"configurable": {"thread_id": guest}}


def said(messages: Sequence[BaseMessage]) -> list[tuple[str, str]]:
    return [(message.type, message.text) for message in messages]


def stay(guest: str) -> list[tuple[str, str]]:
    """All that is said in the thread of a guest."""
    answers: list[tuple[str, str]] = [
        ("ai", look(guest).text),
        ("tool", f"The room of {guest} looks upon the garden and has a desk, a lamp, two chairs and a view."),
        ("tool", f"Nothing is owed by {guest}."),
        ("ai", answer(guest).text),
    ]
    return [each for turn in range(TURNS) for each in (("human", question(guest, turn)), *answers)]


class TestSessionsAtOnce(Everywhere):
    @pytest.fixture
    def guests(self, request: pytest.FixtureRequest, backend: str) -> list[str]:
        tier = request.config.getoption("tier")
        count = SESSIONS["full" if (tier, backend) == ("ci", "sqlite") else tier]
        return [f"guest-{number}" for number in range(count)]

    @pytest.mark.backends(*PLAIN)
    @pytest.mark.no_cover  # what takes longest in all tests; each step of a run has tests of its own
    @pytest.mark.slow
    async def test_threads_that_run_at_once_lose_nothing_and_meet_nothing_of_another(
        self, url: str, guests: list[str]
    ) -> None:
        host = Host()
        async with await wmem.aopen(url, agent_id="hotel") as memory:
            remembers = WmemMiddleware(memory, budget=BUDGET)
            agent = create_agent(host, [room, bill], middleware=[remembers], checkpointer=InMemorySaver())

            async def talk(guest: str) -> None:
                for turn in range(TURNS):
                    await agent.ainvoke({"messages": [HumanMessage(question(guest, turn))]}, thread(guest))

            await asyncio.gather(*map(talk, guests))
            for guest in guests:
                stored = to_langchain(await memory.scope(guest).messages.all())
                assert said(stored) == stay(guest)
                assert stored == (await agent.aget_state(thread(guest))).values["messages"]
            assert sorted(await memory.scope().children()) == sorted(guests)
        assert len(host.prompts) == 2 * TURNS * len(guests)
        assert any(len(prompt) < 2 + 5 * (TURNS - 1) for prompt in host.prompts if "Question 2" in prompt[-1].text)
        for prompt in host.prompts:
            assert len({name for message in prompt for name in _GUEST.findall(message.text)}) == 1
