"""Two middlewares in one agent, or one inside another that packs: the lowest ceiling holds, nothing is stored twice."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

import wmem
from langchain_wmem import WmemMiddleware
from langchain_wmem._budget import Ceiling
from tests.adapters.langchain.conftest import Scripted
from tests.adapters.langchain.test_usage import Metered, long_talk, ours

LOW, HIGH, RESERVE = 1_500, 4_000, 200
THREAD: Any = {"configurable": {"thread_id": "t"}}


@tool
def rain(town: str) -> str:
    """Whether it rains in a town."""
    return f"No rain in {town}. " * 300


@pytest.fixture
def other() -> Iterator[wmem.AgentMemory]:
    with wmem.open("memory://", agent_id="agent-8") as memory:
        yield memory


def user(text: str) -> Any:
    return {"messages": [HumanMessage(text)]}


def pair(outer: wmem.AgentMemory, inner: wmem.AgentMemory, *budgets: int, **options: Any) -> list[Any]:
    shared = {"reserve": RESERVE, "session": "s", **options}
    return [
        WmemMiddleware(memory, name=name, budget=budget, **shared)
        for memory, name, budget in zip((outer, inner), ("outer", "inner"), budgets, strict=True)
    ]


def said(memory: wmem.AgentMemory) -> list[str]:
    return [message.text for message in memory.scope("s").messages.all()]


@pytest.mark.parametrize("budgets", [(LOW, HIGH), (HIGH, LOW)])
@pytest.mark.parametrize("shares", ["one memory", "two memories"])
async def test_the_lower_ceiling_holds_whichever_instance_has_it(
    run: Any, memory: wmem.AgentMemory, other: wmem.AgentMemory, shares: str, budgets: tuple[int, int]
) -> None:
    inner = memory if shares == "one memory" else other
    for each in {id(memory): memory, id(inner): inner}.values():
        long_talk(each, turns=70)
    model = Scripted(replies=[AIMessage("", tool_calls=[{"name": "rain", "args": {"town": "Bern"}, "id": "c"}])])
    agent = create_agent(model, [rain], middleware=pair(memory, inner, *budgets), system_prompt="Be brief.")
    await run(agent, user("What of the fair in town 7?"))
    assert len(model.prompts) == 2
    for prompt, schemas in zip(model.prompts, model.schemas, strict=True):
        assert 0.6 * (LOW - RESERVE) < ours(prompt, schemas) <= LOW - RESERVE


@pytest.mark.parametrize("shares", ["one memory", "two memories"])
async def test_two_instances_store_each_message_once_and_change_nothing_below_the_budget(
    run: Any, memory: wmem.AgentMemory, other: wmem.AgentMemory, shares: str
) -> None:
    inner = memory if shares == "one memory" else other
    calls = [AIMessage("", tool_calls=[{"name": "rain", "args": {"town": "Bern"}, "id": "c"}]) for _ in range(2)]
    plain, model = Scripted(replies=[calls[0]]), Scripted(replies=[calls[1]])
    for each, middleware in ((plain, []), (model, pair(memory, inner, 20_000, 30_000))):
        agent: Any = create_agent(each, [rain], middleware=middleware, checkpointer=InMemorySaver())
        await run(agent, user("Rain?"), config=THREAD)
        await run(agent, user("And in Basel?"), config=THREAD)
    assert texts(model.prompts) == texts(plain.prompts)
    for kept in (memory, inner):
        assert said(kept) == ["Rain?", "", "No rain in Bern. " * 300, "Fine.", "And in Basel?", "Fine."]


def texts(prompts: list[list[BaseMessage]]) -> list[list[tuple[str, str]]]:
    return [[(message.type, message.text) for message in prompt] for prompt in prompts]


async def test_a_prompt_that_the_outer_instance_makes_smaller_after_a_refusal_is_made_no_larger_inside(
    run: Any, memory: wmem.AgentMemory, other: wmem.AgentMemory
) -> None:
    for each in (memory, other):
        long_talk(each, turns=70)
    model = Metered(window=1_000)
    agent = create_agent(model, middleware=pair(memory, other, HIGH, HIGH))
    await run(agent, user("What of the fair in town 7?"))
    assert model.took == sorted(model.took, reverse=True)
    assert model.took[-1] <= 1_000


async def test_a_sub_agent_in_a_tool_has_its_own_ceiling(run: Any, memory: wmem.AgentMemory) -> None:
    long_talk(memory, "below")
    inner = Scripted()
    sub: Any = create_agent(
        inner, middleware=[WmemMiddleware(memory, budget=HIGH, reserve=RESERVE, session="below", name="sub")]
    )

    @tool
    async def ask(question: str) -> str:
        """Ask somebody."""
        return str((await sub.ainvoke(user(question)))["messages"][-1].text)

    outer = Scripted(replies=[AIMessage("", tool_calls=[{"name": "ask", "args": {"question": "Fair?"}, "id": "c"}])])
    middleware = WmemMiddleware(memory, budget=LOW, reserve=RESERVE, session="s")
    await create_agent(outer, [ask], middleware=[middleware]).ainvoke(user("Go."))
    assert LOW < ours(inner.prompts[0]) <= HIGH - RESERVE


@given(st.data())
def test_of_two_ceilings_the_order_does_not_matter(data: st.DataObject) -> None:
    def ceiling() -> Ceiling:
        limit = data.draw(st.integers(1, 10_000))
        return Ceiling(limit, data.draw(st.integers(0, limit - 1)))

    one, two = ceiling(), ceiling()
    both = one.within(two)
    assert both == two.within(one)
    assert both.limit <= min(one.limit, two.limit)
    assert 0 < both.limit - both.reserve <= min(one.limit - one.reserve, two.limit - two.reserve)
