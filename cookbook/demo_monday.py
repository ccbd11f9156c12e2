"""The fourth process: on a Monday an agent is told facts, of which one is remembered and another is promoted."""

from demo_facts import Script
from demo_printing import WEEKDAYS, console, to_lines
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolCall, ToolMessage

import wmem
from langchain_wmem import WmemMiddleware

__all__ = ["ADA", "listen_on_monday"]

ADA = ("users", "ada")
"""The scope of the agent's user, whose long-term memory all of her sessions share, and no other user's."""
BUDGET = 1_000


def listen_on_monday(url: str, agent_id: str) -> None:
    """Run the agent once, promote an item by hand, and print what went where."""
    with wmem.open(url, agent_id=agent_id, clock=lambda: WEEKDAYS["Monday"]) as memory:
        memory.scope("users").dispose()  # from an earlier run in the same directory
        memory.scope("monday").dispose()
        call = ToolCall(name="remember", args={"text": "Ada's dog Biscuit is allergic to chicken."}, id="call-1")
        model = Script(lines=[AIMessage("", tool_calls=[call]), AIMessage("I will keep it in mind.")])
        middleware = WmemMiddleware(memory, session="monday", budget=BUDGET, reserve=0, long_term=[ADA], tools=True)
        agent = create_agent(model, middleware=[middleware])
        said = "Please remember that my dog Biscuit is allergic to chicken."
        state = agent.invoke({"messages": [HumanMessage(said)]})
        [answer] = [message.text for message in state["messages"] if isinstance(message, ToolMessage)]
        session = memory.scope("monday")
        lesson = session.items.add("Ada's violin lesson is on Thursdays at five.", type="fact")
        kept = session.items.promote(lesson.id)
        console().print(
            to_lines(
                ("Ada", said),
                ("the model", f"remember({call['args']['text']!r})"),
                ("the tool", answer.splitlines()[1]),
                ("promoted", f"{kept.content!r}, by hand, to {'/'.join(ADA)}"),
            )
        )
