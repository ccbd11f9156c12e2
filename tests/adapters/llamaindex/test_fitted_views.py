"""A view whose names and ids were fitted to providers comes back as the history, and changes nothing of it."""

from typing import Any
from uuid import uuid4

import pytest
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock

from llamaindex_wmem import WmemMemory

SAID = [
    ChatMessage(role="user", content="hi", additional_kwargs={"name": "José García"}),
    ChatMessage(
        role="assistant", blocks=[ToolCallBlock(tool_call_id="functions.look:0", tool_name="look", tool_kwargs={})]
    ),
    ChatMessage(role="tool", content="found", additional_kwargs={"tool_call_id": "functions.look:0"}),
    ChatMessage(role="assistant", content="done"),
]


def test_b134_what_is_stored_keeps_its_ids_when_a_view_is_set_again(tmp_path: Any) -> None:
    memory = WmemMemory.from_defaults(session_id="s", url=f"sqlite:///{tmp_path}/a.db", agent_id="a", token_limit=4_000)
    memory.put_messages(SAID)
    view = memory.get()
    assert "functions.look:0" not in str(view)
    assert view[1].blocks[0].tool_call_id == view[2].additional_kwargs["tool_call_id"]
    following = ChatMessage(role="user", content="next")
    memory.set([*view, following])
    assert [each.model_dump() for each in memory.get_all()] == [each.model_dump() for each in [*SAID, following]]


def test_turns_alternate_where_the_template_wants_it_and_the_view_can_be_set_again(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    memory = WmemMemory.from_defaults(session_id="s", url=url, agent_id="a", token_limit=600, roles="alternate")
    said = [
        ChatMessage(role=role, content=f"The kiln on shelf {at} is ready. " * 9)
        for at in range(20)
        for role in ("user", "user", "assistant")
    ]
    memory.put_messages(said)
    view = WmemMemory.from_dict(memory.to_dict()).get("What of the kiln on shelf 2?")
    assert [str(each.role.value) for each in view] == ["user", "assistant"] * (len(view) // 2)
    following = ChatMessage(role="user", content="next")
    memory.set([*view, following])
    assert [each.content for each in memory.get_all()] == [each.content for each in [*said, following]]


# --- a view without its beginning, and the end of what is stored -----------------------------------------------------

PENDING = ChatMessage(role="assistant", blocks=[ToolCallBlock(tool_call_id="c2", tool_name="look", tool_kwargs={})])
LONG = [
    *SAID,
    ChatMessage(role="user", content="again, and at length: " + "lamp " * 300),
    ChatMessage(role="user", content="please"),
    PENDING,
    *(
        ChatMessage(role=role, content=f"The kiln on shelf {at} is ready.")
        for at in range(9)
        for role in ("user", "assistant")
    ),
]
NEW = ChatMessage(role="user", content="new")


@pytest.fixture(params=["sync", "async"])
def set_to(request: pytest.FixtureRequest) -> Any:
    async def _set(memory: WmemMemory, messages: list[ChatMessage]) -> list[ChatMessage]:
        await memory.aset(messages) if request.param == "async" else memory.set(messages)
        return memory.get_all()

    return _set


@pytest.mark.parametrize("news", [[], [NEW]])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"token_limit": 300},
        {"token_limit": 300, "recall": False},
        {"roles": "alternate"},
        {"orphans": "synthesize"},
        {"profile": "mistral"},
        {"token_limit": 300, "roles": "alternate", "orphans": "synthesize", "profile": "gemini"},
    ],
    ids=str,
)
async def test_a_view_without_its_beginning_goes_on(
    set_to: Any, options: dict[str, Any], news: list[ChatMessage]
) -> None:
    url = f"memory://{uuid4().hex}"
    memory = WmemMemory.from_defaults(session_id="s", url=url, agent_id="a", **options)
    memory.put_messages(LONG)
    view = memory.get("kiln")
    for begin in range(1, len(view) - 1):
        assert await set_to(memory, [*view[begin:], *news]) == [*LONG, *news], begin
        memory.set(LONG)
    memory.close()


@pytest.mark.parametrize("news", [[], [NEW]])
async def test_the_end_of_what_is_stored_deletes_nothing_in_any_process(set_to: Any, news: list[ChatMessage]) -> None:
    memory = WmemMemory.from_defaults(session_id="s", url=f"memory://{uuid4().hex}", agent_id="a")
    memory.put_messages(LONG)
    for begin in range(len(LONG) - 1):
        assert await set_to(memory, [*LONG[begin:], *news]) == [*LONG, *news], begin
        memory.set(LONG)
    assert await set_to(memory, LONG[-1:]) == LONG
    memory.close()


async def test_an_end_that_was_edited_replaces_the_conversation(set_to: Any) -> None:
    memory = WmemMemory.from_defaults(session_id="s", url=f"memory://{uuid4().hex}", agent_id="a")
    memory.put_messages(LONG)
    edited = [*LONG[-4:-1], ChatMessage(role="assistant", content="edited")]
    assert await set_to(memory, edited) == edited
    # One message that the conversation ends with, and others, may be a new one that begins alike.
    alike = [edited[-1], ChatMessage(role="user", content="else")]
    assert await set_to(memory, alike) == alike
    memory.close()


def test_a_history_that_is_the_end_of_what_is_stored_begins_nothing_anew() -> None:
    url = f"memory://{uuid4().hex}"
    WmemMemory.from_defaults(session_id="s", url=url, agent_id="a", chat_history=LONG)
    again = WmemMemory.from_defaults(session_id="s", url=url, agent_id="a", chat_history=LONG[-5:])
    assert again.get_all() == LONG
