"""What is asked again, or of one of many like things, is in what `WmemMemory` hands out, with the answer."""

from collections.abc import Callable

import pytest
from llama_index.core.base.llms.types import ChatMessage

from llamaindex_wmem import WmemMemory

THANKS = ("Thank you!", "You are welcome.", "Thanks a lot.", "Any time.")
QUESTION = "Which paint did you say dries fastest on damp walls?"
ANSWER = "Limewash: it lets the wall breathe and is dry after two hours."
REFUND = "How much was my refund for R7?"


def say(*texts: str) -> list[ChatMessage]:
    return [ChatMessage(role=("user", "assistant")[at % 2], content=text) for at, text in enumerate(texts)]


async def ask(memory: WmemMemory, question: str, mode: str) -> str:
    """All that is handed out for a question."""
    handed = memory.get(question) if mode == "sync" else await memory.aget(question)
    return "\n".join(message.content or "" for message in handed)


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("is_said", [False, True])
async def test_b140_a_memory_hands_out_the_answer_of_an_exchange(
    make: Callable[..., WmemMemory], mode: str, *, is_said: bool
) -> None:
    memory = make(token_limit=1_024)
    for number in range(30):
        asked, told = f"I want to change reservation R{number}", f"Reservation R{number}: flight X{number}"
        await memory.aput_messages(say(asked, f"{told}, refund {number} dollars", *THANKS * 2))
    if is_said:
        await memory.aput_messages(say(REFUND))
    assert "refund 7 dollars" in await ask(memory, REFUND, mode)


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_b141_a_memory_hands_out_the_answer_to_what_is_asked_again(
    make: Callable[..., WmemMemory], mode: str
) -> None:
    memory = make(token_limit=1_024)
    await memory.aput_messages(say(QUESTION, ANSWER))
    for number in range(100):
        await memory.aput_messages(say(f"Tell me a story about part {number} of the town", f"Part {number} is old."))
    await memory.aput_messages(say(QUESTION))
    assert ANSWER in await ask(memory, QUESTION, mode)
