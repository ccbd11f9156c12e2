"""Hundreds of sessions that agents talk in at once: each keeps all that was said in it, and sees nothing of another."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM

import wmem
from llamaindex_wmem import WmemMemory
from tests.matrix import PLAIN, Everywhere

# LlamaIndex's own agents use what pydantic has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning")

SESSIONS = {"fast": 10, "ci": 60, "full": 200}  # by tier
TURNS = 3
LIMIT = 450  # two turns fit, the third is packed
_GUEST = re.compile(r"guest-\d+")


class Host:
    """Asks two tools at once about the guest who asks, then answers."""

    def __init__(self) -> None:
        self.prompts: list[list[ChatMessage]] = []

    def __call__(self, messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        self.prompts.append([message.model_copy() for message in messages])
        [guest] = _GUEST.findall(messages[-1].content or "")
        return answer(guest) if messages[-1].role == "tool" else look(guest)


def look(guest: str) -> ChatMessage:
    calls = [
        ToolCallBlock(tool_call_id=f"{each}-of-{guest}", tool_name=each, tool_kwargs={"guest": guest})
        for each in ("room", "bill")
    ]
    return ChatMessage(role="assistant", blocks=calls)


def answer(guest: str) -> ChatMessage:
    return ChatMessage(role="assistant", content=f"Yes, {guest}, all of it is paid.")


def question(guest: str, turn: int) -> str:
    return f"Question {turn} of {guest}: " + "is my room ready, and what do I owe? " * 8


async def room(guest: str) -> str:
    """The room of a guest."""
    await asyncio.sleep(0)
    return f"The room of {guest} looks upon the garden and has a desk, a lamp, two chairs and a view."


async def bill(guest: str) -> str:
    """What a guest owes."""
    for _ in range(len(guest)):
        await asyncio.sleep(0)
    return f"Nothing is owed by {guest}."


def said(messages: Sequence[ChatMessage]) -> list[tuple[str, str | None]]:
    return [(message.role.value, message.content) for message in messages]


def stay(guest: str) -> list[tuple[str, str | None]]:
    """All that is said in the session of a guest."""
    answers: list[tuple[str, str | None]] = [
        ("assistant", look(guest).content),
        ("tool", f"The room of {guest} looks upon the garden and has a desk, a lamp, two chairs and a view."),
        ("tool", f"Nothing is owed by {guest}."),
        ("assistant", answer(guest).content),
    ]
    return [each for turn in range(TURNS) for each in (("user", question(guest, turn)), *answers)]


class TestSessionsAtOnce(Everywhere):
    @pytest.fixture
    def guests(self, request: pytest.FixtureRequest) -> list[str]:
        return [f"guest-{number}" for number in range(SESSIONS[request.config.getoption("tier")])]

    @pytest.mark.backends(*PLAIN)
    @pytest.mark.no_cover  # each step of a run has tests of its own
    @pytest.mark.slow
    async def test_sessions_that_run_at_once_lose_nothing_and_meet_nothing_of_another(
        self, url: str, guests: list[str]
    ) -> None:
        host = Host()
        llm = MockFunctionCallingLLM(response_generator=host, is_chat_model=True)
        agent = FunctionAgent(tools=[room, bill], llm=llm, streaming=False)
        async with await wmem.aopen(url, agent_id="hotel") as opened:

            async def talk(guest: str) -> None:
                memory = WmemMemory.from_defaults(memory=opened, session_id=guest, token_limit=LIMIT)
                for turn in range(TURNS):
                    await agent.run(question(guest, turn), memory=memory)
                assert said(await memory.aget_all()) == stay(guest)

            await asyncio.gather(*map(talk, guests))
            assert sorted(await opened.scope().children()) == sorted(guests)
        assert len(host.prompts) == 2 * TURNS * len(guests)
        assert any(len(prompt) < 1 + 5 * (TURNS - 1) for prompt in host.prompts if "Question 2" in str(prompt[-1]))
        for prompt in host.prompts:
            assert len({name for message in prompt for name in _GUEST.findall(message.content or "")}) == 1
