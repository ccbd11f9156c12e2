"""A session below another scope: ``("user-7", "chat-3")``, in both adapters."""

import json
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from llama_index.core.base.llms.types import ChatMessage

import wmem
from langchain_wmem import WmemChatMessageHistory
from llamaindex_wmem import WmemMemory
from wmem import InvalidInputError

PATH = ("user-7", "chat-3")


@pytest.fixture
def opened() -> Iterator[wmem.AgentMemory]:
    with wmem.open("memory://nested", agent_id="a") as memory:
        yield memory
        memory.working.dispose()


async def test_both_adapters_meet_in_a_nested_session(opened: wmem.AgentMemory) -> None:
    memory = WmemMemory.from_defaults(session_id=PATH, memory=opened)
    history = WmemChatMessageHistory(PATH, memory=opened)
    memory.put(ChatMessage("a"))
    await memory.aput(ChatMessage("b"))
    history.add_messages([HumanMessage("c")])
    await history.aadd_messages([AIMessage("d")])
    assert [each.content for each in memory.get_all()] == [each.content for each in history.messages] == list("abcd")
    assert opened.scope(*PATH).messages.count() == 4
    assert memory.scope().path == history.scope().path == (await memory.ascope()).path == ("a", *PATH)
    assert opened.scope(PATH[0]).messages.count() == opened.scope("/".join(PATH)).messages.count() == 0


def test_a_nested_session_is_copied_and_written_as_it_is(opened: wmem.AgentMemory) -> None:
    memory = WmemMemory.from_defaults(session_id=PATH, memory=opened)
    memory.put(ChatMessage("a"))
    for copied in (WmemMemory.from_dict(json.loads(memory.to_json())), pickle.loads(pickle.dumps(memory))):
        assert copied == memory
        assert copied.session_id == PATH
        assert copied.get_all() == memory.get_all()
    history = pickle.loads(pickle.dumps(WmemChatMessageHistory(PATH, memory=opened)))
    assert (history.session_id, len(history.messages)) == (PATH, 1)
    assert repr(PATH) in repr(history)


def test_a_session_reads_what_its_user_is_known_by(opened: wmem.AgentMemory) -> None:
    """Values and items fall back to the scope above, as in every nested scope."""
    opened.scope("user-7").entries.set("name", "Ada")
    assert WmemMemory.from_defaults(session_id=PATH, memory=opened).scope().entries.get("name") == "Ada"


@pytest.mark.parametrize("wrong", [(), ("a", ""), ("a", 5), (" ",), 5, b"ab", {"a": 1}, ("~long-term",), "a\nb"])
def test_what_is_no_path_is_refused_by_name(opened: wmem.AgentMemory, wrong: Any) -> None:
    with pytest.raises(InvalidInputError):
        WmemMemory.from_defaults(session_id=wrong, memory=opened)
    with pytest.raises(InvalidInputError):
        WmemChatMessageHistory(wrong, memory=opened)
