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
