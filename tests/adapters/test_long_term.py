"""Long-term memory through the adapters: what one session promoted answers another one, and says where it is from."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.runnables import Runnable
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import SimpleChatEngine

import wmem
from langchain_wmem import WmemChatMessageHistory, WmemMiddleware, wmem_pack
from llamaindex_wmem import WmemLLM, WmemMemory
from tests.adapters.langchain.conftest import Scripted
from tests.adapters.llamaindex.test_engines import Script
from wmem.errors import InvalidInputError
from wmem.testing.suite import Clock

# LlamaIndex's own agents use what pydantic has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning")

DOG = "Biscuit, the dog of the family, is allergic to chicken"
WHAT = "What is the dog allergic to?"
BUDGET = 1_500
WEEK = 7 * 24 * 3_600
ANN: Any = [("users", "ann")]

Way = Callable[..., Coroutine[Any, Any, tuple[list[str], wmem.Context | None]]]
"""Asks `WHAT` in a session; the texts of the prompt that a model was sent, and the context it was made of."""


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(clock: Clock) -> Iterator[wmem.AgentMemory]:
    with wmem.open(f"memory://{uuid4().hex}", agent_id="a", clock=clock) as opened:
        yield opened
        opened.erase_all()


async def plain(memory: wmem.AgentMemory, *, is_async: bool, **options: Any) -> tuple[list[str], wmem.Context | None]:
    named = options.get("long_term", True)
    policy = None if isinstance(named, bool) else wmem.Policy.session(long_term=named)
    session = memory.scope("tuesday", policy=policy)
    session.messages.append({"role": "user", "content": WHAT})
    asked: dict[str, Any] = {"budget": BUDGET, "long_term": named is not False}
    context = await session.aio().pack(WHAT, **asked) if is_async else session.pack(WHAT, **asked)
    return [message.text for message in context.prompt()], context


async def invoke(runnable: Runnable[Any, Any], given: Any, *, is_async: bool, **options: Any) -> Any:
    return await runnable.ainvoke(given, **options) if is_async else runnable.invoke(given, **options)


async def middleware(
    memory: wmem.AgentMemory, *, is_async: bool, **options: Any
) -> tuple[list[str], wmem.Context | None]:
    model, wmem_middleware = Scripted(), WmemMiddleware(memory, session="tuesday", budget=BUDGET, **options)
    agent: Any = create_agent(model, middleware=[wmem_middleware])
    await invoke(agent, {"messages": [HumanMessage(WHAT)]}, is_async=is_async)
    return [message.text for message in model.prompts[0]], wmem_middleware.last_context("tuesday")


async def chain(memory: wmem.AgentMemory, *, is_async: bool, **options: Any) -> tuple[list[str], wmem.Context | None]:
    model, packing = Scripted(), wmem_pack(memory, session="tuesday", budget=BUDGET, **options)
    await invoke(packing | model | packing.store_reply, WHAT, is_async=is_async)
    return [message.text for message in model.prompts[0]], packing.last_context("tuesday")


async def history(memory: wmem.AgentMemory, *, is_async: bool, **options: Any) -> tuple[list[str], wmem.Context | None]:
    kept = WmemChatMessageHistory("tuesday", memory=memory, budget=BUDGET, **options)
    kept.add_messages([HumanMessage(WHAT)])
    return [message.text for message in (await kept.aget_messages() if is_async else kept.messages)], None


async def engine(memory: wmem.AgentMemory, *, is_async: bool, **options: Any) -> tuple[list[str], wmem.Context | None]:
    script, held = (
        Script(),
        WmemMemory.from_defaults(memory=memory, session_id="tuesday", token_limit=BUDGET, **options),
    )
    made = SimpleChatEngine.from_defaults(llm=script.llm, memory=held)
    await made.achat(WHAT) if is_async else made.chat(WHAT)
    return [message.content or "" for message in script.prompts[0]], held.context()


async def agent(memory: wmem.AgentMemory, *, is_async: bool, **options: Any) -> tuple[list[str], wmem.Context | None]:
    assert is_async
    script, held = (
        Script(),
        WmemMemory.from_defaults(memory=memory, session_id="tuesday", token_limit=BUDGET, **options),
    )
    await FunctionAgent(tools=[], llm=script.llm, streaming=False).run(WHAT, memory=held)
    return [message.content or "" for message in script.prompts[0]], held.context()


WAYS: list[tuple[Way, bool]] = [
    (way, is_async)
    for way in (plain, middleware, chain, history, engine, agent)
    for is_async in (False, True)
    if is_async or way is not agent
]


def name_way(value: Any) -> str:
    return str(value.__name__) if callable(value) else "async" if value else "sync"


@pytest.mark.parametrize(("way", "is_async"), WAYS, ids=name_way)
@pytest.mark.parametrize("named", [True, ANN], ids=["the agent's", "a user's"])
async def test_what_one_session_promoted_answers_another_a_week_later(
    memory: wmem.AgentMemory, clock: Clock, *, way: Way, is_async: bool, named: Any
) -> None:
    where = "a/~semantic" if named is True else "a/users/ann/~semantic"
    policy = None if named is True else wmem.Policy.session(long_term=named)
    monday = memory.scope("monday", policy=policy)
    monday.messages.append({"role": "user", "content": "The dog talk of Monday"})
    monday.items.promote(monday.items.add(DOG, type="fact").id)
    clock.advance(WEEK)
    prompt, context = await way(memory, is_async=is_async, long_term=named)
    assert sum(text.count(DOG) for text in prompt) == 1
    assert not any("talk of Monday" in text for text in prompt)
    assert sum(map(memory.counter, prompt)) <= BUDGET
    if context is not None:
        assert context.tokens <= BUDGET
        assert f"(of {where})" in str(context.explain())
        assert context.sources[where] > 0


@pytest.fixture
def known(memory: wmem.AgentMemory) -> wmem.AgentMemory:
    """A memory that knows something of its agent's, and something of Ann's."""
    memory.semantic.items.add(DOG, type="fact")
    memory.semantic.items.add("Answer in metric units", type="fact", pinned=True)
    ann = memory.scope("monday", policy=wmem.Policy.session(long_term=ANN))
    ann.items.promote(ann.items.add("Ann's dog is allergic to fish", type="fact").id)
    return memory


@pytest.mark.parametrize(("way", "is_async"), WAYS, ids=name_way)
@pytest.mark.parametrize(
    ("named", "there"),
    [(False, []), (True, [DOG, "metric"]), ([("users", "bob")], [DOG, "metric"]), (ANN, [DOG, "metric", "fish"])],
    ids=["off", "the agent's", "Bob's", "Ann's"],
)
async def test_a_prompt_draws_on_what_is_chosen(
    known: wmem.AgentMemory, *, way: Way, is_async: bool, named: Any, there: list[str]
) -> None:
    prompt, _ = await way(known, is_async=is_async, long_term=named)
    assert [part for part in (DOG, "metric", "fish") for text in prompt if part in text] == there


def test_a_session_is_refused_to_another_user(memory: wmem.AgentMemory) -> None:
    WmemMemory.from_defaults(memory=memory, session_id="s", long_term=ANN).put(ChatMessage(role="user", content="Hi."))
    for same in (ANN, True, False):
        assert WmemMemory.from_defaults(memory=memory, session_id="s", long_term=same).get()
    bob: Any = [("users", "bob")]
    with pytest.raises(InvalidInputError, match="another scope than the first"):
        WmemMemory.from_defaults(memory=memory, session_id="s", long_term=bob).get()
    with pytest.raises(InvalidInputError, match="another scope than the first"):
        WmemChatMessageHistory("s", memory=memory, long_term=bob).add_messages([HumanMessage("Hi.")])


def test_a_memory_is_copied_with_the_scopes_that_it_shares(memory: wmem.AgentMemory) -> None:
    kept = WmemMemory.from_defaults(memory=memory, session_id="s", long_term=["ann", ("users", "ann")])
    assert kept.long_term == (("ann",), ("users", "ann"))
    assert WmemMemory.from_json(kept.to_json()) == kept
    assert kept != WmemMemory.from_defaults(memory=memory, session_id="s")
    for wrong in ("ann", 5, [()], ["~semantic"]):
        with pytest.raises(InvalidInputError, match="long_term"):
            WmemMemory.from_defaults(memory=memory, session_id="s", long_term=wrong)  # type: ignore[arg-type]  # the mistake


@pytest.mark.parametrize("is_async", [False, True])
def test_a_call_that_is_not_of_the_session_draws_on_no_memory(memory: wmem.AgentMemory, is_async: bool) -> None:
    memory.semantic.items.add(DOG, type="fact")
    memory.semantic.items.add("Answer in metric units", type="fact", pinned=True)
    held = WmemMemory.from_defaults(memory=memory, session_id="s", token_limit=BUDGET)
    held.put(ChatMessage(role="user", content="Hello."))
    script = Script()
    llm = WmemLLM(script.llm, held, budget=600, reserve=100)
    foreign = [ChatMessage(role="user", content=f"{WHAT} {at} " + "Nothing is known. " * 20) for at in range(20)]
    if is_async:
        asyncio.run(llm.achat(foreign))
    else:
        llm.chat(foreign)
    assert not any(part in str(script.prompts[0]) for part in ("Biscuit", "metric"))
    assert len(script.prompts[0]) < len(foreign)
