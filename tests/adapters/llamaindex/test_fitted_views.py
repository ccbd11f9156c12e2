"""A view whose names and ids were fitted to providers comes back as the history, and changes nothing of it."""

from typing import Any

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
