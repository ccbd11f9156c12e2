"""The third process: an agent with a tool, and questions for what its tool and its model said, and for nothing."""

from collections.abc import Iterator, Sequence
from typing import Any

from demo_printing import console
from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import tool
from rich.box import ROUNDED
from rich.panel import Panel
from rich.text import Text

import wmem
from langchain_wmem import WmemMiddleware

__all__ = ["ask_for_facts"]

BUDGET = 400
SMALL_TALK = 30
"""Exchanges between what is asked for and the questions: far more than fit the budget."""
_REASONS = {"floor": "below the floor: too weak a match to be quoted", "older": "older than what fits"}
_WIDTH = 88  # of a quote as its explanation shows it
QUESTIONS = (
    ("What is the code of my parcel locker?", "only a tool's result says so"),
    ("Which tea did you recommend for the evening?", "only the assistant said so"),
    ("Which day is my violin lesson?", 'nobody has spoken of it; "day" is in half of all that was said'),
)


@tool
def order_status(order: str) -> dict[str, str]:
    """What is known of an order."""
    return {"order": order, "status": "shipped", "carrier": "Heron Post", "locker": "harbour", "locker_code": "7731"}


class Script(BaseChatModel):
    """Says what was written for it: this demo is about what is remembered, not about what a model makes of it."""

    lines: list[AIMessage]

    @property
    def _llm_type(self) -> str:
        return "script"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=[each.name for each in tools])

    def _generate(
        self,
        messages: list[BaseMessage],  # noqa: ARG002  # LangChain's signature
        stop: list[str] | None = None,  # noqa: ARG002  # the same
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002  # the same
        **_: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.lines.pop(0))])


def ask_for_facts(url: str, agent_id: str, session_id: str) -> None:
    """Run the agent, then print for each question what the note of its prompt quotes, and why."""
    with wmem.open(url, agent_id=agent_id) as memory:
        session = memory.scope(session_id)
        session.messages.clear()  # from an earlier run in the same directory
        exchanges = [*_exchanges()]
        model = Script(lines=[reply for _, replies in exchanges for reply in replies])
        middleware = WmemMiddleware(memory, session=session_id, budget=BUDGET, reserve=0)
        agent = create_agent(model, tools=[order_status], middleware=[middleware])
        for said, _ in exchanges:
            agent.invoke({"messages": [HumanMessage(said)]})
        for question, known in QUESTIONS:
            _show(question, known, session.pack(question, budget=BUDGET, tail=0))


def _exchanges() -> Iterator[tuple[str, list[AIMessage]]]:
    """What the user says, and what the model answers, calls included."""
    calls = [ToolCall(name="order_status", args={"order": "4417"}, id="call-1")]
    yield "Where is my order 4417?", [AIMessage("", tool_calls=calls), AIMessage("It is on its way to you.")]
    yield "I cannot sleep. Which tea is good for the evening?", [AIMessage("Rooibos with vanilla: no caffeine at all.")]
    for day in range(1, SMALL_TALK + 1):
        yield f"Day {day} of rain here. I stayed in and painted.", [AIMessage(f"Then picture {day} must be a wet one!")]


def _show(question: str, known: str, context: wmem.Context) -> None:
    """Print a question, the note of its prompt, and how its explanation accounts for what was recalled."""
    paper = console()
    paper.print()
    paper.print(Text.assemble((question, "bold"), (f"  ({known})", "dim")))
    note = context.note or "(no note: nothing stored bears on the question)"
    used = f"{context.tokens} of {context.budget} tokens"
    paper.print(Panel(Text(note), title="the note of the prompt", subtitle=used, box=ROUNDED, border_style="blue"))
    explanation = context.explain()
    recalled = [unit for unit in explanation.units if unit.placed == "note"]
    lines = [f"{unit.rule:10} {' '.join(unit.says.split())[:_WIDTH]}" for unit in recalled]
    lines += [
        f"left out   {count} × {_REASONS.get(reason, reason)}" for reason, count in sorted(explanation.dropped.items())
    ]
    paper.print(Text("\n".join(lines), style="dim"))
