"""``status=`` of `get_all` and `reset`: what is active and what is archived, as LlamaIndex's `Memory` has it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus
from sqlalchemy.ext.asyncio import create_async_engine

import wmem
from llamaindex_wmem import WmemMemory
from wmem import InvalidInputError

Make = Callable[..., WmemMemory]
ACTIVE, ARCHIVED = MessageStatus.ACTIVE, MessageStatus.ARCHIVED
SYSTEM = ChatMessage(role="system", content="You know gardens.")


@pytest.fixture(params=["sync", "async"])
def call(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Calls a method of a memory, or its async twin."""

    async def _call(memory: WmemMemory, name: str, *args: Any, **given: Any) -> Any:
        if request.param == "sync":
            return getattr(memory, name)(*args, **given)
        return await getattr(memory, f"a{name}")(*args, **given)

    return _call


def garden(count: int) -> list[ChatMessage]:
    return [
        ChatMessage(role="assistant" if place % 2 else "user", content=f"message {place} about the garden and the dog")
        for place in range(count)
    ]


async def test_below_the_limit_all_is_active(make: Make, call: Any) -> None:
    memory = make(chat_history=garden(6))
    for status in (None, ACTIVE, "active"):
        assert await call(memory, "get_all", status=status) == garden(6)
    assert (
        await call(memory, "get_all", status=ARCHIVED) == await call(make(session_id="none"), "get_all", ACTIVE) == []
    )


async def test_what_get_shows_is_active_and_what_is_before_it_archived(make: Make, call: Any) -> None:
    memory = make(token_limit=300, chat_history=[SYSTEM, *garden(60)])
    active, archived = [await call(memory, "get_all", status) for status in (ACTIVE, ARCHIVED)]
    shown = [message for message in await call(memory, "get") if not wmem.is_note(message.content or "")]
    assert active == shown
    assert active[0] == SYSTEM
    assert sorted(map(str, [*active, *archived])) == sorted(map(str, memory.get_all()))
    assert archived == garden(60)[: len(archived)]
    assert [*archived, *active[1:]] == garden(60)


@pytest.mark.parametrize("stable", [False, True])
async def test_a_call_under_way_is_active_although_it_is_not_sent_yet(make: Make, call: Any, stable: bool) -> None:
    under_way = ChatMessage(
        role="assistant", blocks=[ToolCallBlock(tool_call_id="c", tool_name="look", tool_kwargs={})]
    )
    memory = make(token_limit=300, stable=stable, chat_history=[*garden(61), under_way])
    assert (await call(memory, "get_all", ACTIVE))[-1] == under_way
    await call(memory, "reset", ARCHIVED)
    memory.put(ChatMessage(role="tool", content="roses", additional_kwargs={"tool_call_id": "c"}))
    assert [message.content for message in await call(memory, "get")][-1] == "roses"


async def test_a_part_is_removed_and_the_other_stays(make: Make, call: Any) -> None:
    memory = make(token_limit=300, recall=False, chat_history=garden(60))
    before = await call(memory, "get")
    archived = await call(memory, "get_all", ARCHIVED)
    await call(memory, "reset", status=ARCHIVED)
    assert await call(memory, "get_all") == await call(memory, "get") == before
    await call(memory, "reset", status="archived")
    assert await call(memory, "get_all") == before, "nothing is archived any more"
    memory.reset()
    memory.put_messages(garden(60))
    await call(memory, "reset", status=ACTIVE)
    assert await call(memory, "get_all") == archived
    await call(memory, "reset", status=None)
    assert await call(memory, "get_all") == []


@pytest.mark.parametrize("wrong", ["", "old", 5, ["active"], True])
async def test_a_status_that_there_is_not_is_refused_and_nothing_removed(make: Make, call: Any, wrong: Any) -> None:
    memory = make(chat_history=garden(2))
    for name in ("get_all", "reset"):
        with pytest.raises(InvalidInputError, match="'active' or 'archived'"):
            await call(memory, name, status=wrong)
    assert memory.get_all() == garden(2)


async def test_looking_at_the_parts_shows_nothing_to_anybody(make: Make, call: Any) -> None:
    """It is no view that a framework may hand back, and no prompt whose usage could be told."""
    memory = make(token_limit=300, chat_history=garden(60))
    await call(memory, "get_all", ACTIVE)
    with pytest.raises(InvalidInputError, match="nothing was packed"):
        memory.learn(100)


async def test_memory_of_llamaindex_parts_a_conversation_likewise(make: Make, tmp_path: Path) -> None:
    """Theirs archives by flushes, ours by what fits: alike are which part is the newer one, and what is removed."""
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'theirs.db'}")
    theirs = Memory.from_defaults(session_id="s", token_limit=300, token_flush_size=50, async_engine=engine)
    ours = make(token_limit=300)
    for message in garden(60):
        await theirs.aput(message)
        await ours.aput(message)
    for status in (ARCHIVED, ACTIVE):
        parts = [await theirs.aget_all(status=status), await ours.aget_all(status=status)]
        for part in parts:
            assert part
            assert part == (garden(60)[: len(part)] if status is ARCHIVED else garden(60)[-len(part) :])
    await theirs.areset(status=ARCHIVED)
    await ours.areset(status=ARCHIVED)
    assert await theirs.aget_all() == await theirs.aget_all(status=ACTIVE) != []
    assert await ours.aget_all() == await ours.aget_all(status=ACTIVE) != []
    await engine.dispose()
