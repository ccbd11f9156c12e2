"""`wmem.register`: memories by name."""

import asyncio
import gc
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from llama_index.core.base.llms.types import ChatMessage

import wmem
from langchain_wmem import WmemChatMessageHistory, WmemMiddleware, wmem_pack
from llamaindex_wmem import WmemMemory
from wmem import InvalidInputError
from wmem.adapter import LazyMemory

if TYPE_CHECKING:
    from wmem.types import Opener


@pytest.fixture
def name() -> str:
    """A name that is nobody's yet."""
    return uuid4().hex


def open_private() -> wmem.AgentMemory:
    return wmem.open("memory://", agent_id="a")


def test_an_unknown_name_is_an_error_that_says_what_to_do(name: str) -> None:
    for make in (
        lambda: WmemMemory.from_defaults(session_id="s", store=name),
        lambda: WmemChatMessageHistory("s", store=name),
        lambda: LazyMemory(None, None, store=name).memory(),
        lambda: asyncio.run(LazyMemory(None, None, store=name).amemory()),
    ):
        with pytest.raises(InvalidInputError, match=rf"no memory is registered as '{name}'.*wmem.register\('{name}'"):
            make()


def test_a_name_is_taken_once_unless_it_is_replaced(name: str) -> None:
    wmem.register(name, open_private)
    wmem.register(name, open_private)  # the same opener again changes nothing
    held = WmemChatMessageHistory("s", store=name)
    held.add_user_message("a")
    with pytest.raises(InvalidInputError, match="registered already"):
        wmem.register(name, lambda: wmem.open("memory://", agent_id="b"))
    assert WmemChatMessageHistory("s", store=name).messages == held.messages
    wmem.register(name, lambda: wmem.open("memory://", agent_id="b"), replace=True)
    assert WmemChatMessageHistory("s", store=name).messages == []
    assert len(held.messages) == 1, "what is open stays as it is"


@pytest.mark.parametrize("wrong", ["", "  ", None, 5])
def test_a_name_is_a_text(wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="not blank"):
        wmem.register(wrong, open_private)


def test_an_opener_can_be_called(name: str) -> None:
    with pytest.raises(InvalidInputError, match="a function that opens a memory"):
        wmem.register(name, "memory://")  # type: ignore[arg-type]


@pytest.mark.parametrize("is_async", [False, True])
def test_an_opener_returns_an_open_memory(name: str, is_async: bool) -> None:
    def opened() -> Any:
        memory = open_private()
        memory.close()
        return memory

    for number, (opener, fault) in enumerate(
        ((opened, "is closed"), (lambda: "memory://", "must return an open memory"))
    ):
        wmem.register(f"{name}{number}", opener)
        lazy = LazyMemory(None, None, store=f"{name}{number}")
        with pytest.raises(InvalidInputError, match=fault):
            asyncio.run(lazy.amemory()) if is_async else lazy.memory()


def test_what_an_opener_raises_is_raised(name: str) -> None:
    wmem.register(name, lambda: wmem.open("ftp://x", agent_id="a"))
    with pytest.raises(InvalidInputError, match="unknown store"):
        WmemMemory(session_id="s", store=name).get_all()


def test_all_who_ask_share_what_was_opened_once_and_close_it_apart(name: str, tmp_path: Path) -> None:
    calls: list[int] = []

    def opener() -> wmem.AgentMemory:
        calls.append(1)
        return wmem.open(f"sqlite://{tmp_path / 'm.db'}", agent_id="a")

    wmem.register(name, opener)
    first, second = (WmemMemory.from_defaults(session_id="s", store=name) for _ in range(2))
    assert not calls, "it is opened on first use"
    first.put(ChatMessage("a"))
    first.close()
    gc.collect()
    second.put(ChatMessage("b"))
    assert [each.content for each in first.get_all()] == ["a", "b"]
    assert calls == [1]


def test_a_memory_that_its_opener_shares_is_never_closed(name: str) -> None:
    with open_private() as shared:
        wmem.register(name, lambda: shared)
        history = WmemChatMessageHistory("s", store=name)
        history.add_user_message("a")
        history.close()
        assert shared.scope("s").messages.count() == 1


def test_a_memory_that_was_closed_since_is_opened_again(name: str, tmp_path: Path) -> None:
    made: list[wmem.AgentMemory] = []

    def opener() -> wmem.AgentMemory:
        made.append(wmem.open(f"sqlite://{tmp_path / 'm.db'}", agent_id="a"))
        return made[-1]

    wmem.register(name, opener)
    WmemChatMessageHistory("s", store=name).add_user_message("a")
    made[0].close()
    assert len(WmemChatMessageHistory("s", store=name).messages) == 1
    assert len(made) == 2


async def test_an_async_opener_serves_async_methods(name: str, tmp_path: Path) -> None:
    async def opener() -> wmem.AsyncAgentMemory:
        return await wmem.aopen(f"sqlite://{tmp_path / 'm.db'}", agent_id="a")

    for number, each in enumerate((opener, lambda: wmem.aopen(f"sqlite://{tmp_path / 'm.db'}", agent_id="a"))):
        wmem.register(f"{name}{number}", each)
        memory = WmemMemory.from_defaults(session_id=f"s{number}", store=f"{name}{number}")
        with pytest.raises(InvalidInputError, match="async opener"):
            memory.get_all()
        await memory.aput(ChatMessage("a"))
        history = WmemChatMessageHistory(f"s{number}", store=f"{name}{number}")
        assert len(await history.aget_messages()) == len(memory.get_all()) == 1, "once it is open, both modes see it"
        await history.aclose()
        memory.close()


async def test_many_who_ask_at_once_get_one_memory(name: str) -> None:
    async def opener() -> wmem.AsyncAgentMemory:
        await asyncio.sleep(0)
        return await wmem.aopen("memory://", agent_id="a")

    openers: tuple[Opener, ...] = (opener, open_private)
    for number, each in enumerate(openers):
        wmem.register(f"{name}{number}", each)
        held = [WmemMemory.from_defaults(session_id="s", store=f"{name}{number}") for _ in range(20)]
        await asyncio.gather(*(memory.aput(ChatMessage("a")) for memory in held))
        assert len(await held[0].aget_all()) == 20


def test_an_async_opener_is_called_again_in_another_loop(name: str) -> None:
    loops: list[object] = []

    async def opener() -> wmem.AsyncAgentMemory:
        loops.append(asyncio.get_running_loop())
        return await wmem.aopen(f"memory://{name}", agent_id="a")

    wmem.register(name, opener)
    for number in range(2):
        history = WmemChatMessageHistory("s", store=name)
        asyncio.run(history.aadd_messages([("user", str(number))]))
    assert len(loops) == 2
    assert len(history.messages) == 2


def test_another_agent_than_the_openers_is_refused(name: str) -> None:
    wmem.register(name, open_private)
    assert WmemMemory.from_defaults(session_id="s", store=name, agent_id="a").get_all() == []
    for agent in ("b",):
        with pytest.raises(InvalidInputError, match="that of agent 'a', not of 'b'"):
            WmemMemory.from_defaults(session_id="s", store=name, agent_id=agent).get_all()


def test_a_store_goes_with_no_other_place(name: str) -> None:
    wmem.register(name, open_private)
    with open_private() as memory:
        for where in ({"url": "memory://x"}, {"memory": memory}):
            with pytest.raises(InvalidInputError):
                WmemMemory.from_defaults(session_id="s", store=name, **where)
            with pytest.raises(InvalidInputError, match="one of url, memory and store"):
                WmemChatMessageHistory("s", store=name, **where)
    with pytest.raises(InvalidInputError, match="tokenizer_fn"):
        WmemMemory.from_defaults(session_id="s", store=name, tokenizer_fn=list)


@pytest.mark.parametrize("is_async", [False, True])
async def test_middleware_and_chains_are_made_before_their_store_is_registered(name: str, is_async: bool) -> None:
    """As modules make their agents, where nothing can be awaited and no server is asked yet."""
    middleware = WmemMiddleware(store=name, session="s", budget=2_000)
    agent = create_agent(FakeListChatModel(responses=["Hi Ada."]), middleware=[middleware])
    pack = wmem_pack(store=name, session="s", budget=2_000)
    said: Any = {"messages": [("user", "I am Ada.")]}
    with pytest.raises(InvalidInputError, match="no memory is registered"):
        await agent.ainvoke(said)

    async def opener() -> wmem.AsyncAgentMemory:
        return await wmem.aopen("memory://", agent_id="a")

    wmem.register(name, opener if is_async else open_private)
    await agent.ainvoke(said)
    packed: Any = await pack.ainvoke([HumanMessage("Who am I?")])
    assert [each.text for each in packed] == ["I am Ada.", "Hi Ada.", "Who am I?"]
    with pytest.raises(InvalidInputError, match="pass no URL and no open memory"):
        WmemMiddleware("memory://x", store=name, budget=2_000)
    with pytest.raises(InvalidInputError, match="expected a URL or an open memory"):
        WmemMiddleware(budget=2_000)
