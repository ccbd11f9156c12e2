"""Below its limit, a model is sent the same messages with `WmemMemory` as with LlamaIndex's `ChatMemoryBuffer`.

Its `Memory` is no measure: it hides what an assistant says first, and stores nothing under the SQLAlchemy of today.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import (
    ChatMessage,
    DocumentBlock,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.llms.openai.utils import from_openai_message_dicts

from llamaindex_wmem import WmemMemory
from tests.adapters.llamaindex.test_engines import Script, asked, calling, condense, context, simple
from tests.matrix import examples
from tests.openai_talks import Dictionary, talks, texts, without_own_keys

pytestmark = [
    pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning"),
]
LIMIT = 100_000


def buffer(history: Sequence[ChatMessage]) -> ChatMemoryBuffer:
    made: ChatMemoryBuffer = ChatMemoryBuffer.from_defaults(chat_history=list(history), token_limit=LIMIT)
    return made


def ours(history: Sequence[ChatMessage], **options: Any) -> WmemMemory:
    url = f"memory://{uuid4().hex}"
    return WmemMemory.from_defaults(
        session_id="s", url=url, agent_id="a", token_limit=LIMIT, chat_history=history, **options
    )


OPTIONS: list[dict[str, Any]] = [{}, {"recall": False, "recent": 0}, {"stable": True}, {"summary": True}]
OPENAI = {"profile": "openai"}  # what not every provider takes
IMAGE = ImageBlock(image=b"\x89PNG\r\n\x1a\n", image_mimetype="image/png", detail="low")


def form(prompts: Sequence[Sequence[ChatMessage]]) -> list[list[str]]:
    return [[json.dumps(each.model_dump(mode="json"), sort_keys=True) for each in prompt] for prompt in prompts]


def user(content: Any, **extra: Any) -> ChatMessage:
    if isinstance(content, str):
        return ChatMessage(role="user", content=content, additional_kwargs=extra)
    return ChatMessage(role="user", blocks=content, additional_kwargs=extra)


def assistant(*blocks: Any, **extra: Any) -> ChatMessage:
    return ChatMessage(role="assistant", blocks=list(blocks), additional_kwargs=extra)


def result(text: str, call: str) -> ChatMessage:
    return ChatMessage(role="tool", content=text, additional_kwargs={"tool_call_id": call, "name": "add"})


HISTORIES: dict[str, list[ChatMessage]] = {
    "none": [],
    "words": [user("yes"), assistant(TextBlock(text="Yes?")), user("yes"), assistant(TextBlock(text="Yes?"))],
    "an assistant first": [assistant(TextBlock(text="Welcome!")), user("hello"), assistant(TextBlock(text="Hi."))],
    "system text": [
        ChatMessage(role="system", content="Be kind."),
        user("hello"),
        ChatMessage(role="system", content="Be brief."),
        assistant(TextBlock(text="Hi.")),
    ],
    "pictures and files": [
        user([TextBlock(text="This?"), IMAGE, DocumentBlock(data=b"%PDF-", title="a.pdf")], name="ann"),
        assistant(TextBlock(text="A pixel."), annotations=[{"url": "https://example.org"}]),
        user([TextBlock(text="a"), TextBlock(text="b")]),
        assistant(TextBlock(text="")),
    ],
    "calls": [
        user("1 + 2, 3 + 4?"),
        assistant(
            ThinkingBlock(content="Hm.", additional_information={"signature": "c2ln"}),
            TextBlock(text="I add."),
            ToolCallBlock(tool_call_id="h1", tool_name="add", tool_kwargs={"a": 1, "b": 2}),
            ToolCallBlock(tool_call_id="h2", tool_name="add", tool_kwargs={"a": 3, "b": 4}),
        ),
        result("7", "h2"),
        result("3", "h1"),
        assistant(TextBlock(text="3 and 7")),
    ],
    "calls of another integration": [
        user("1 + 2?"),
        ChatMessage(
            role="assistant",
            content=None,
            additional_kwargs={
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}]
            },
        ),
        result("3", "c1"),
        assistant(TextBlock(text="3")),
        ChatMessage(role=MessageRole.CHATBOT, content="and now?"),
    ],
}


PLAIN = ("none", "words", "calls")


def plain(memory: Any, script: Script) -> SimpleChatEngine:
    return SimpleChatEngine.from_defaults(memory=memory, llm=script.llm, system_prompt="Be kind.")


@pytest.mark.parametrize("how", ["chat", "achat"])
@pytest.mark.parametrize("engine_of", [plain, context, condense])
@pytest.mark.slow
async def test_a_chat_engine_sends_the_same_messages(engine_of: Callable[..., Any], how: str) -> None:
    for at, (name, history) in enumerate(HISTORIES.items()):
        options = OPTIONS[at % len(OPTIONS)] | ({} if name in PLAIN else OPENAI)
        sent = []
        for memory in (buffer(history), ours(history, **options)):
            script = Script("Hi.", "Yes?", "You said yes twice.")
            engine = engine_of(memory, script)
            for question in ("hello", "yes", "yes"):
                await asked(engine, how, question)
            sent.append(form(script.prompts))
        assert sent[0] == sent[1]


@pytest.mark.parametrize("how", ["stream_chat", "astream_chat"])
async def test_a_streamed_answer_is_sent_back_as_it_came(how: str) -> None:
    sent = []
    memories: list[Any] = [buffer(HISTORIES["calls"]), ours(HISTORIES["calls"])]
    for memory in memories:
        script = Script("one two three", "four", "five six")
        engine = simple(memory, script)
        for question in ("count", "yes", "yes"):
            await asked(engine, how, question)
        sent.append(form(script.prompts))
    assert sent[0] == sent[1]


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


ADDING = calling(("c1", "add", {"a": 1, "b": 2}), ("c2", "add", {"a": 3, "b": 4}))


@pytest.mark.parametrize("streaming", [True, False])
async def test_an_agent_sends_the_same_messages(streaming: bool) -> None:
    for at, (name, history) in enumerate(HISTORIES.items()):
        options = OPTIONS[at % len(OPTIONS)] | ({} if name in PLAIN else OPENAI)
        sent = []
        for memory in (buffer(history), ours(history, **options)):
            again = calling(("c3", "add", {"a": 1, "b": "x"}))
            script = Script(ADDING, "3 and 7", "yes?", again, calling(("c4", "no", {})), "no")
            agent = FunctionAgent(tools=[add], llm=script.llm, streaming=streaming, system_prompt="Be brief.")
            for question in ("add", "yes", "yes"):
                await agent.run(question, memory=memory)
            sent.append(form(script.prompts))
        assert sent[0] == sent[1]


async def test_an_agent_that_reasons_in_text_sends_the_same_messages() -> None:
    call = 'Thought: I add.\nAction: add\nAction Input: {"a": 1, "b": 2}'
    sent = []
    for memory in (buffer([]), ours([])):
        script = Script(call, "Thought: done.\nAnswer: 3", call, "Thought: done.\nAnswer: still 3")
        agent = ReActAgent(tools=[add], llm=script.llm, streaming=False)
        for question in ("add", "again"):
            await agent.run(question, memory=memory)
        sent.append(form(script.prompts))
    assert sent[0] == sent[1]


@examples(0.5)
@given(talk=talks(strict=True), batches=st.booleans(), options=st.sampled_from(OPTIONS), question=st.none() | texts)
def test_a_history_from_elsewhere_comes_back_as_it_was_put(
    talk: Any, batches: bool, options: Any, question: str | None
) -> None:
    history = from_openai_message_dicts([_readable(message) for message in talk])
    plain, memory = buffer([]), ours([], **OPENAI, **options)
    for each in (plain, memory):
        if batches:
            each.put_messages(history)
        else:
            for message in history:
                each.put(message)
    assert form([memory.get(question)]) == form([plain.get(question)])
    assert form([memory.get_all()]) == form([plain.get_all()])
    memory.close()


def _readable(message: Dictionary) -> Dictionary:
    """The message with blocks that LlamaIndex's reader knows."""
    content = message.get("content")
    if not isinstance(content, list):
        return without_own_keys(message)
    blocks = [
        {"type": "image_url", "image_url": {"detail": "auto", **block["image_url"]}} if "image_url" in block else block
        for block in content
        if block["type"] in ("text", "image_url")
    ]
    return {**without_own_keys(message), "content": blocks}
