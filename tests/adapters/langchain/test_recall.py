"""What an agent is asked again, or of one of many like things, is in its prompt with the answer."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage

import wmem
from langchain_wmem import WmemMiddleware

THANKS = ("Thank you!", "You are welcome.", "Thanks a lot.", "Any time.")
QUESTION = "Which paint did you say dries fastest on damp walls?"
ANSWER = "Limewash: it lets the wall breathe and is dry after two hours."


def say(session: wmem.Scope, *texts: str) -> None:
    session.messages.append([{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)])


async def ask(run: Any, script: Any, memory: wmem.AgentMemory, question: str, *, budget: int) -> str:
    """All that a model is sent for a question."""
    model = script("I see.")
    agent = create_agent(model, middleware=[WmemMiddleware(memory, budget=budget, session="s")])
    await run(agent, {"messages": [HumanMessage(question)]})
    return "\n".join(message.text for message in model.prompts[-1])


@pytest.mark.parametrize("question", ["How much was my refund for R7?", "How much was the refund for R7?"])
async def test_b140_a_middleware_sends_the_answer_of_an_exchange(
    run: Any, script: Any, memory: wmem.AgentMemory, question: str
) -> None:
    for number in range(30):
        asked, told = f"I want to change reservation R{number}", f"Reservation R{number}: flight X{number}"
        say(memory.scope("s"), asked, f"{told}, refund {number} dollars", *THANKS * 2)
    assert "refund 7 dollars" in await ask(run, script, memory, question, budget=2_048)


async def test_b141_a_middleware_sends_the_answer_to_what_is_asked_again(
    run: Any, script: Any, memory: wmem.AgentMemory
) -> None:
    say(memory.scope("s"), QUESTION, ANSWER)
    for number in range(100):
        say(memory.scope("s"), f"Tell me a story about part {number} of the town", f"Part {number} has a tower.")
    assert ANSWER in await ask(run, script, memory, QUESTION, budget=2_048)
