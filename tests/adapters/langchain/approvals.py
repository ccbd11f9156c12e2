"""Runs that wait for a person, begun in one process and resumed in another: what the tests of approvals start.

``python -m tests.adapters.langchain.approvals pause|resume sync|async FOLDER KEY URL…`` begins or resumes every
case, on one of the stores and without wmem, and prints the prompts of the models as JSON.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import product
from typing import Any, NamedTuple

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.types import Command, interrupt

import wmem
from langchain_wmem import WmemMiddleware
from tests.adapters.langchain.conftest import Scripted
from tests.suites.embedders import Embedder

AGENT = "secretary"
DECISIONS: Mapping[str, Mapping[str, Any]] = {
    "approve": {"type": "approve"},
    "edit": {"type": "edit", "edited_action": {"name": "send", "args": {"to": "Eve"}}},
    "reject": {"type": "reject", "message": "Not today."},
    "respond": {"type": "respond", "message": "I have sent it myself."},
}


class Case(NamedTuple):
    """How a run waits, what the person decides, and whether wmem comes last in the list, as it should."""

    way: str
    decision: str
    last: bool = True

    @property
    def thread(self) -> str:
        return f"{self.way}-{self.decision}-{'last' if self.last else 'first'}"


_CASES = (
    *(Case(*each) for each in product(("batched", "per_call"), DECISIONS, (True, False))),
    *(Case("inside", "Yes.", last) for last in (True, False)),
)


def assign_cases(mode: str, urls: Sequence[str]) -> dict[str, list[Case]]:
    """The cases by store: each case on one of them, and in the other mode on another."""
    shift = int(mode == "async")
    return {url: list(_CASES[(number + shift) % len(urls) :: len(urls)]) for number, url in enumerate(urls)}


class Secretary(Scripted):
    """Wants to send a letter and look at the calendar, both at once, when it is asked to; else says what it sees."""

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.prompts.append(messages)
        said = AIMessage(f"I see {len(messages)} messages.", id=f"answer-{len(messages)}")
        if "Write to Bob" in messages[-1].text:
            calls = [("send", {"to": "Bob"}), ("calendar", {})]
            wanted = [{"name": name, "args": given, "id": f"{name}-1"} for name, given in calls]
            said = AIMessage("I write to him.", tool_calls=wanted, id="wanted")
        return ChatResult(generations=[ChatGeneration(message=said)])


@tool
def calendar() -> str:
    """What is on today."""
    return "The fair opens at noon."


@tool
def send(to: str) -> str:
    """Send the letter."""
    return f"Sent to {to}."


@tool("send")
def send_if_allowed(to: str) -> str:
    """Send the letter, if a person says so."""
    return f"Sent to {to}: {interrupt('Sure?')}"


def make_agent(case: Case, model: Secretary, memory: wmem.AgentMemory | None, saver: Any) -> Any:
    inside = case.way == "inside"
    modes: Any = case.way
    asking = [] if inside else [HumanInTheLoopMiddleware({"send": True}, interrupt_mode=modes)]
    ours = [] if memory is None else [WmemMiddleware(memory, budget=8_000)]
    middleware: Any = [*asking, *ours] if case.last else [*ours, *asking]
    return create_agent(
        model, [send_if_allowed if inside else send, calendar], middleware=middleware, checkpointer=saver
    )


def make_answer(case: Case, waiting: Any) -> Command[Any]:
    """What the person says, to the interrupts that the checkpoint holds."""
    if case.way == "inside":
        return Command(resume=case.decision)
    decision = DECISIONS[case.decision]
    [asked] = waiting
    return Command(resume={"decisions": [decision]} if case.way == "batched" else {asked.id: decision})


@asynccontextmanager
async def open_saver(mode: str, path: str) -> AsyncIterator[Any]:
    if mode == "sync":
        from langgraph.checkpoint.sqlite import SqliteSaver

        with SqliteSaver.from_conn_string(path) as saver:
            yield saver
    else:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        async with AsyncSqliteSaver.from_conn_string(path) as asaver:
            yield asaver


@contextmanager
def open_memory(url: str, key: str) -> Iterator[wmem.AgentMemory | None]:
    if not url:
        yield None
        return
    with wmem.open(url, agent_id=AGENT, key=bytes.fromhex(key), embedder=Embedder()) as memory:
        yield memory


async def run_case(case: Case, agent: Any, step: str, mode: str) -> None:
    """Two turns before the pause, or the resumption and one turn more."""
    config = {"configurable": {"thread_id": case.thread}}

    async def invoke(given: Any) -> None:
        await (agent.ainvoke(given, config) if mode == "async" else asyncio.to_thread(agent.invoke, given, config))

    if step == "pause":
        await invoke({"messages": [HumanMessage("Good morning.", id="greeting")]})
        await invoke({"messages": [HumanMessage("Write to Bob, and see what is on today.", id="task")]})
    else:
        state = await agent.aget_state(config) if mode == "async" else agent.get_state(config)
        await invoke(make_answer(case, state.interrupts))
        await invoke({"messages": [HumanMessage("What did you do?", id="question")]})


def show(message: BaseMessage) -> dict[str, Any]:
    """A message as JSON; ids that LangGraph draws anew are left out."""
    drawn = {"id"} if message.type == "tool" else set()
    return message.model_dump(mode="json", exclude=drawn)


async def main(step: str, mode: str, folder: str, key: str, *urls: str) -> None:
    prompts: dict[str, dict[str, list[list[dict[str, Any]]]]] = {}
    for number, (url, cases) in enumerate({"": _CASES, **assign_cases(mode, urls)}.items()):
        prompts[url] = {}
        async with open_saver(mode, f"{folder}/checkpoints-{number}.db") as saver:
            with open_memory(url, key) as memory:
                for case in cases:
                    model = Secretary()
                    await run_case(case, make_agent(case, model, memory, saver), step, mode)
                    prompts[url][case.thread] = [[show(message) for message in prompt] for prompt in model.prompts]
    print(json.dumps(prompts))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
