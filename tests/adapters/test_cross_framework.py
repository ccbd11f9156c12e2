"""One session, written and read by LangChain and LlamaIndex in turn."""

import base64
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import (
    ChatMessage,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms.mock import MockFunctionCallingLLM
from pydantic import Field

import wmem.errors
from langchain_wmem import WmemChatMessageHistory, WmemMiddleware, from_langchain, to_langchain
from llamaindex_wmem import WmemMemory, from_llamaindex, to_llamaindex
from wmem import Message

# LlamaIndex's own agents use what pydantic has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning")

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(64))).decode()


@pytest.fixture(params=["memory", "disk"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    url = f"memory://{uuid4().hex}" if request.param == "memory" else f"disk://{tmp_path / 'store'}"
    with wmem.open(url, agent_id="a"):  # held open, as a store in memory lasts no longer
        yield url


# --- what is said in one is meant in the other -----------------------------------------------------------------------

LANGCHAIN: list[BaseMessage] = [
    SystemMessage("Be brief.", id="m1"),
    HumanMessage("hello", id="m2", name="ann"),
    HumanMessage(
        [
            {"type": "text", "text": "what is this?"},
            {"type": "image", "base64": PNG, "mime_type": "image/png"},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        ],
        id="m3",
    ),
    AIMessage(
        [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "I shall add."}],
        tool_calls=[
            {"id": "c1", "name": "add", "args": {"a": 1, "b": 2}},
            {"id": "c2", "name": "add", "args": {"a": 3, "b": 4}},
        ],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        id="m4",
    ),
    ToolMessage("3", tool_call_id="c1", name="add", id="m5"),
    ToolMessage("7", tool_call_id="c2", name="add", id="m6"),
    AIMessage("3 and 7", id="m7"),
]
LLAMAINDEX = [
    ChatMessage(role="system", content="Be brief."),
    ChatMessage(role="user", content="hello", additional_kwargs={"name": "ann"}),
    ChatMessage(
        role="user",
        blocks=[
            TextBlock(text="what is this?"),
            ImageBlock(image=base64.b64decode(PNG), image_mimetype="image/png"),
            ImageBlock(url="https://example.com/a.png"),
        ],
    ),
    ChatMessage(
        role="assistant",
        blocks=[
            ThinkingBlock(content="hm", additional_information={"signature": "c2ln"}),
            TextBlock(text="I shall add."),
            ToolCallBlock(tool_call_id="c1", tool_name="add", tool_kwargs={"a": 1, "b": 2}),
            ToolCallBlock(tool_call_id="c2", tool_name="add", tool_kwargs={"a": 3, "b": 4}),
        ],
    ),
    ChatMessage(role="tool", content="3", additional_kwargs={"tool_call_id": "c1", "name": "add"}),
    ChatMessage(role="tool", content="7", additional_kwargs={"tool_call_id": "c2", "name": "add"}),
    ChatMessage(role="assistant", content="3 and 7"),
]


def test_llamaindex_reads_what_langchain_wrote() -> None:
    assert to_llamaindex(from_langchain(LANGCHAIN)) == LLAMAINDEX


def test_langchain_reads_what_llamaindex_wrote() -> None:
    read = to_langchain(from_llamaindex(LLAMAINDEX))
    assert [message.type for message in read] == [message.type for message in LANGCHAIN]
    assert [message.text for message in read] == [message.text for message in LANGCHAIN]
    asking, given = read[3], LANGCHAIN[3]
    assert isinstance(asking, AIMessage)
    assert isinstance(given, AIMessage)
    assert asking.tool_calls == given.tool_calls
    assert asking.content[0] == given.content[0], "a reasoning block with its signature"
    assert [m.tool_call_id for m in read if isinstance(m, ToolMessage)] == ["c1", "c2"]
    assert read[1].name == "ann"
    assert [block["type"] for block in read[2].content_blocks] == ["text", "image", "image"]


def test_neither_changes_what_the_other_wrote(url: str) -> None:
    with wmem.open(url, agent_id="a") as memory:
        memory.scope("s").messages.append([*from_langchain(LANGCHAIN), *from_llamaindex(LLAMAINDEX)])
        stored = memory.scope("s").messages.all()
    ours, theirs = stored[: len(LANGCHAIN)], stored[len(LANGCHAIN) :]
    assert to_langchain(ours) == LANGCHAIN
    assert to_llamaindex(theirs) == LLAMAINDEX


def test_a_note_is_known_as_one_whichever_framework_carried_it(url: str) -> None:
    with wmem.open(url, agent_id="a") as memory:
        session = memory.scope("s")
        session.messages.append([{"role": "user", "content": "My dog is called Biscuit."}])
        session.messages.append([{"role": "user", "content": f"It rained {day} days."} for day in range(60)])
        note = session.pack("What is my dog called?", budget=300).note_message()
    assert "Biscuit" in note.text
    for carried in (from_llamaindex(to_llamaindex([note])), from_langchain(to_langchain([note]))):
        assert carried[0].metadata == {"wmem": "note"}
    marked = to_langchain(from_llamaindex(to_llamaindex([note])))
    assert from_langchain(marked)[0].metadata == {"wmem": "note"}


# --- agents ----------------------------------------------------------------------------------------------------------


class LangChainModel(BaseChatModel):
    """Answers in turn, and keeps the prompts."""

    replies: list[AIMessage] = Field(default_factory=list)
    prompts: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=[])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        self.prompts.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=self.replies.pop(0))])


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def llamaindex_model(prompts: list[list[ChatMessage]], *answers: ChatMessage) -> MockFunctionCallingLLM:
    left = list(answers)

    def answer(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        prompts.append(list(messages))
        return left.pop(0)

    return MockFunctionCallingLLM(response_generator=answer, is_chat_model=True)


async def test_agents_of_both_frameworks_take_turns_in_one_session(url: str) -> None:
    calling = AIMessage("", tool_calls=[{"id": "lc1", "name": "add", "args": {"a": 1, "b": 2}}])
    model = LangChainModel(replies=[calling, AIMessage("It is 3."), AIMessage("First 3, then 7.")])
    agent: Any = create_agent(model, [add], middleware=[WmemMiddleware(url, agent_id="a", session="s", budget=2_000)])
    agent.invoke({"messages": [HumanMessage("What is 1 + 2?")]})

    prompts: list[list[ChatMessage]] = []
    block = ToolCallBlock(tool_call_id="li1", tool_name="add", tool_kwargs={"a": 3, "b": 4})
    said = ChatMessage(role="assistant", blocks=[block]), ChatMessage(role="assistant", content="It is 7.")
    memory = WmemMemory.from_defaults(session_id="s", url=url, agent_id="a")
    other = FunctionAgent(tools=[add], llm=llamaindex_model(prompts, *said), streaming=False)
    await other.run("And 3 + 4?", memory=memory)

    await agent.ainvoke({"messages": [HumanMessage("What did you find?")]})

    seen_by_llamaindex = [(message.role.value, message.content) for message in prompts[0]]
    turn = [("user", "What is 1 + 2?"), ("assistant", None), ("tool", "3"), ("assistant", "It is 3.")]
    assert seen_by_llamaindex == [*turn, ("user", "And 3 + 4?")]
    seen_by_langchain = [(message.type, message.text) for message in model.prompts[-1]]
    assert seen_by_langchain == [
        ("human", "What is 1 + 2?"),
        ("ai", ""),
        ("tool", "3"),
        ("ai", "It is 3."),
        ("human", "And 3 + 4?"),
        ("ai", ""),
        ("tool", "7"),
        ("ai", "It is 7."),
        ("human", "What did you find?"),
    ]
    shown = [message for message in model.prompts[-1] if isinstance(message, AIMessage) and message.tool_calls]
    assert [message.tool_calls[0]["id"] for message in shown] == ["lc1", "li1"]
    whole = memory.get_all()
    assert [message.content for message in whole][-2:] == ["What did you find?", "First 3, then 7."]
    assert len(whole) == 10
    memory.close()


def test_what_langchain_was_told_llamaindex_recalls_under_a_small_budget(url: str) -> None:
    history = WmemChatMessageHistory("s", url=url, agent_id="a")
    history.add_messages([HumanMessage("My dog is called Biscuit."), AIMessage("A fine name.")])
    for day in range(80):
        history.add_messages([HumanMessage(f"It rained {day} hours today."), AIMessage("Take an umbrella.")])
    prompts: list[list[ChatMessage]] = []
    memory = WmemMemory.from_defaults(session_id="s", url=url, agent_id="a", token_limit=400)
    answer = ChatMessage(role="assistant", content="Biscuit")
    engine = SimpleChatEngine.from_defaults(memory=memory, llm=llamaindex_model(prompts, answer))
    engine.chat("What is my dog called?")
    assert "Biscuit" in str(prompts[0])
    assert sum(len(memory.tokenizer_fn(message.content or "")) for message in prompts[0]) <= 400
    assert [message.text for message in history.messages][-2:] == ["What is my dog called?", "Biscuit"]
    assert len(history.messages) == 164
    memory.close()


async def test_b146_both_date_the_note_in_the_zone_they_were_given(url: str) -> None:
    with wmem.open(url, agent_id="a") as memory:
        said = {"role": "user", "content": "My exam is today.", "created_at": "2026-03-07T20:30:00-05:00"}
        memory.scope("s").messages.append(said)
        memory.scope("s").messages.append([{"role": "user", "content": f"It rained {day} days."} for day in range(60)])
    model = LangChainModel(replies=[AIMessage("On Saturday.")])
    options: dict[str, Any] = {"agent_id": "a", "zone": "America/Bogota"}
    middleware = WmemMiddleware(url, session="s", budget=400, reserve=0, **options)
    agent: Any = create_agent(model, middleware=[middleware])
    await agent.ainvoke({"messages": [HumanMessage("When was my exam?")]})
    llamaindex = WmemMemory.from_defaults(session_id="s", url=url, token_limit=300, **options)
    again = WmemMemory.model_validate_json(llamaindex.model_dump_json())
    shown = [*llamaindex.get("When was my exam?"), *again.get("When was my exam?")]
    llamaindex.close()
    again.close()
    notes = [str(each.text) for each in model.prompts[0] if "Sat 7 March 2026" in each.text]
    notes += [each.content or "" for each in shown if "Sat 7 March 2026" in (each.content or "")]
    assert ["days in America/Bogota" in note for note in notes] == [True, True, True]
    with pytest.raises(wmem.errors.InvalidInputError, match="zone"):
        WmemMemory.from_defaults(session_id="s", url=url, agent_id="a", zone="Mars/Olympus")


async def test_both_are_told_what_has_changed_since(url: str) -> None:
    history = WmemChatMessageHistory("s", url=url, agent_id="a")
    for text in ("I live in Berlin.", "I moved to Lisbon."):
        history.add_messages([HumanMessage(text), AIMessage("Good to know.")])
    for day in range(60):
        history.add_messages([HumanMessage(f"It rained {day} hours today."), AIMessage("Take an umbrella.")])
    model = LangChainModel(replies=[AIMessage("In Lisbon.")])
    middleware = WmemMiddleware(url, agent_id="a", session="s", budget=400, reserve=0)
    agent: Any = create_agent(model, middleware=[middleware])
    await agent.ainvoke({"messages": [HumanMessage("Where do I live?")]})
    memory = WmemMemory.from_defaults(session_id="s", url=url, agent_id="a", token_limit=400)
    for prompt in ([each.text for each in model.prompts[0]], [each.content for each in memory.get("Where do I live?")]):
        assert "> user: I live in Berlin. [changed later]" in str(prompt)
        assert "> user: I moved to Lisbon." in str(prompt)
    memory.close()


def test_a_session_set_by_llamaindex_keeps_the_ids_langchain_gave(url: str) -> None:
    history = WmemChatMessageHistory("s", url=url, agent_id="a")
    history.add_messages(LANGCHAIN)
    memory = WmemMemory.from_defaults(session_id="s", url=url, agent_id="a")
    memory.set([*memory.get_all(), ChatMessage(role="user", content="more")])
    assert [message.id for message in history.messages][:-1] == [message.id for message in LANGCHAIN]
    assert history.messages[:-1] == LANGCHAIN
    memory.close()


def test_plain_python_reads_both(url: str) -> None:
    with wmem.open(url, agent_id="a") as memory:
        memory.scope("s").messages.append([*from_langchain(LANGCHAIN[:2]), *from_llamaindex(LLAMAINDEX[-1:])])
        stored: list[Message] = memory.scope("s").messages.all()
    assert [message.to_openai() for message in stored] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hello", "name": "ann"},
        {"role": "assistant", "content": "3 and 7"},
    ]


def test_the_text_of_a_document_is_in_the_chat_form() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "A kiln needs 980 degrees."}
    [read] = from_langchain([HumanMessage([{"type": "document", "title": "Kilns", "source": source}])])
    assert read.to_openai()["content"] == [{"type": "text", "text": "[document: Kilns]\nA kiln needs 980 degrees."}]
