"""What a user asked to be followed from now on is in what `WmemMemory` hands out later."""

from collections.abc import Callable

import pytest
from llama_index.core.base.llms.types import ChatMessage

from llamaindex_wmem import WmemMemory

FRENCH = "From now on, answer only in French."


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_memory_hands_out_what_was_asked_five_exchanges_ago(make: Callable[..., WmemMemory], mode: str) -> None:
    memory = make(token_limit=700)
    said = [ChatMessage(role="user", content=FRENCH), ChatMessage(role="assistant", content="D'accord.")]
    for at in range(6):
        said.append(ChatMessage(role="user", content=f"Tell me more about the old harbour and its ships ({at}). " * 12))
        said.append(ChatMessage(role="assistant", content="Les bateaux du vieux port. " * 20))
    await memory.aput_messages(said)
    handed = memory.get() if mode == "sync" else await memory.aget()
    assert not any(message.content == FRENCH for message in handed), "it is beyond the budget"
    (note,) = [message for message in handed if FRENCH in (message.content or "")]
    assert (note.content or "").startswith("<recalled>\nThe user's own words")
