"""Half of a character in a conversation: each framework reads back what it stored, and sends what encodes."""

import json
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core._api import LangChainDeprecationWarning
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, message_to_dict
from langchain_core.runnables.history import RunnableWithMessageHistory
from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock

import wmem
from langchain_wmem import WmemChatMessageHistory, WmemMiddleware
from llamaindex_wmem import WmemMemory
from tests.adapters.langchain.conftest import Scripted

pytestmark = pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning")

LONE, SENT = "a\ud800b", "a\ufffdb"
LANGCHAIN: list[BaseMessage] = [
    HumanMessage(f"hello {LONE}", id="h1", name=LONE),
    AIMessage(
        [{"type": "text", "text": LONE}],
        id="a1",
        tool_calls=[{"name": "look", "args": {"q": LONE}, "id": LONE}],
        response_metadata={"model": LONE},
    ),
    ToolMessage(LONE, id="t1", tool_call_id=LONE, name="look", artifact={"seen": LONE}),
]
LLAMAINDEX = [
    ChatMessage(role=MessageRole.USER, content=f"hello {LONE}", additional_kwargs={"note": LONE}),
    ChatMessage(
        role=MessageRole.ASSISTANT,
        blocks=[
            TextBlock(text=LONE),
            ToolCallBlock(tool_call_id=LONE, tool_name="look", tool_kwargs={"q": LONE}),
        ],
    ),
    ChatMessage(role=MessageRole.TOOL, content=LONE, additional_kwargs={"tool_call_id": LONE}),
]


@pytest.fixture
def memory() -> Iterator[wmem.AgentMemory]:
    with wmem.open("memory://", agent_id="agent") as memory:
        yield memory


def encode(messages: list[Any]) -> str:
    """The messages as JSON; raises where a client would."""
    plain = [
        message_to_dict(each) if isinstance(each, BaseMessage) else each.model_dump(exclude_none=True)
        for each in messages
    ]
    text = json.dumps(plain, ensure_ascii=False, default=str)
    text.encode()
    return text


def test_a_model_call_of_the_langchain_middleware_encodes(memory: wmem.AgentMemory) -> None:
    model = Scripted()
    agent = create_agent(
        model,
        tools=[],
        system_prompt=f"Be brief {LONE}",
        middleware=[WmemMiddleware(memory, session=lambda _: "s", budget=2_000)],
    )
    given: Any = [*LANGCHAIN, HumanMessage(f"and? {LONE}", id="h2")]
    agent.invoke({"messages": given})
    [prompt] = model.prompts
    assert isinstance(prompt[0], SystemMessage)
    assert encode(prompt).count("\ufffd") >= 7
    stored = [message.text for message in memory.scope("s").messages.all()]
    assert stored == [f"hello {LONE}", LONE, LONE, f"and? {LONE}", "Fine."]


def test_langchain_reads_back_what_it_stored(memory: wmem.AgentMemory) -> None:
    history = WmemChatMessageHistory("s", memory=memory)
    history.add_messages(LANGCHAIN)
    assert history.messages == LANGCHAIN
    history.add_messages(history.messages)
    assert history.messages == LANGCHAIN
    encode(memory.scope("s").pack(None, budget=1_000).to_langchain())


def test_what_a_langchain_runnable_sends_of_its_history_encodes(memory: wmem.AgentMemory) -> None:
    WmemChatMessageHistory("s", memory=memory).add_messages(LANGCHAIN)
    model = Scripted()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LangChainDeprecationWarning)
        chain = RunnableWithMessageHistory(model, lambda session_id: WmemChatMessageHistory(session_id, memory=memory))
    chain.invoke([HumanMessage("and?")], config={"configurable": {"session_id": "s"}})
    assert "\ufffd" in encode(model.prompts[0])
    assert WmemChatMessageHistory("s", memory=memory).messages[:3] == LANGCHAIN


def test_llamaindex_reads_back_what_it_stored_and_sends_what_encodes(memory: wmem.AgentMemory) -> None:
    session = WmemMemory.from_defaults(session_id="s", memory=memory)
    session.put_messages(LLAMAINDEX)
    assert session.get_all() == LLAMAINDEX
    sent = session.get(f"hello {LONE}")
    assert len(sent) == 3
    assert "\ufffd" in encode(sent)


def test_llamaindex_may_set_what_it_was_sent_and_changes_nothing(memory: wmem.AgentMemory) -> None:
    session = WmemMemory.from_defaults(session_id="s", memory=memory, token_limit=400)
    session.put_messages([ChatMessage(role=MessageRole.USER, content=f"message {at} {LONE}") for at in range(80)])
    before = memory.scope("s").messages.all()
    sent = session.get(f"hello {LONE}")
    assert len(sent) < len(before)
    session.set([*sent, ChatMessage(role=MessageRole.USER, content="next")])
    after = memory.scope("s").messages.all()
    assert after[:-1] == before
    assert after[-1].text == "next"
    session.set(session.get_all())
    assert memory.scope("s").messages.all() == after


def test_a_prompt_for_llamaindex_encodes(memory: wmem.AgentMemory) -> None:
    memory.scope("s").messages.append([{"role": "user", "content": LONE}])
    assert "\ufffd" in encode(memory.scope("s").pack(None, budget=500, system=LONE).to_llamaindex())
