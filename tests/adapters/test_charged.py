"""What an adapter hands to a provider's own converter fits the budget, and is what was charged."""

import base64
import random
from collections.abc import Sequence
from typing import Any, get_args

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai.chat_models.base import _convert_message_to_dict
from llama_index.core.base.llms.types import (
    AudioBlock,
    ChatMessage,
    DocumentBlock,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.llms.openai.utils import to_openai_message_dicts

import wmem
from langchain_wmem import from_langchain
from llamaindex_wmem import from_llamaindex
from tests.charging import rendered_tokens
from tests.matrix import examples
from wmem.errors import BudgetError
from wmem.tokens.counter import default_counter
from wmem.types import ProviderProfile, Reasoning

COUNT = default_counter()
PROSE = "The gauge reads low since the pump was changed, so we look at the valve first, then at the hose. "
CODE = 'def read(path: str) -> dict[str, int]:\n    with open(path) as file:\n        return {"n": len(file.read())}\n'
BYTES = random.Random(2).randbytes(6_000)
ENCODED = base64.b64encode(BYTES).decode()
texts = st.sampled_from(["ok", PROSE, PROSE * 12, CODE * 9, "这个阀门读数偏低。" * 6])
options = st.fixed_dictionaries(
    {
        "budget": st.integers(50, 8_000),
        "profile": st.sampled_from(get_args(ProviderProfile)),
        "reasoning": st.sampled_from(get_args(Reasoning)),
        "stable": st.booleans(),
    }
)


def packed(messages: list[wmem.Message], options: dict[str, Any]) -> wmem.Context | None:
    with wmem.open("memory://", agent_id="a", counter=COUNT) as memory:
        session = memory.scope("s")
        session.messages.append(messages)
        try:
            return session.pack("the valve", **options)
        except BudgetError:
            return None


def assert_charged(context: wmem.Context, sent: Sequence[Any], options: dict[str, Any]) -> None:
    tokens = rendered_tokens(sent, COUNT)
    assert tokens <= context.tokens <= options["budget"]
    # OpenAI's converters leave out reasoning of others, which the converters of these send.
    if options["reasoning"] == "none":
        assert context.tokens <= 1.25 * tokens + 3


# -- LangChain

user_blocks = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, texts),
    st.builds(lambda text: {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}, texts),
    st.sampled_from(
        [
            {"type": "image", "url": "https://example.org/a.png"},
            {"type": "image", "base64": ENCODED, "mime_type": "image/png"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{ENCODED}"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ENCODED}},
            {"type": "audio", "base64": ENCODED, "mime_type": "audio/wav"},
            {"type": "file", "base64": ENCODED, "mime_type": "application/pdf", "filename": "plan.pdf"},
            {"type": "file", "file": {"file_id": "file-1"}},
            {"type": "input_audio", "input_audio": {"data": ENCODED, "format": "wav"}},
        ]
    ),
    st.builds(lambda rows: {"type": "custom_table", "rows": rows}, texts),
)
said_blocks = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text, "index": 0}, texts),
    st.builds(lambda text, cited: {"type": "text", "text": text, "citations": [{"cited_text": cited}]}, texts, texts),
    st.builds(lambda text: {"type": "thinking", "thinking": text, "signature": ENCODED[:200]}, texts),
    st.builds(lambda text: {"type": "reasoning", "reasoning": text}, texts),
    st.just({"type": "redacted_thinking", "data": ENCODED[:200]}),
)
extra = st.one_of(
    st.just({}),
    st.builds(lambda text: {"reasoning_content": text}, texts),
    st.builds(lambda text: {"reasoning_details": [{"type": "reasoning.text", "text": text}]}, texts),
    st.builds(lambda text: {"parsed": {"told": text}, "lc_source": "x"}, texts),
)


@st.composite
def exchanges_of_langchain(draw: st.DrawFn) -> list[BaseMessage]:
    id = f"call_{draw(st.integers(0, 10**6))}"
    call: Any = {"name": "look_up", "args": {"q": draw(texts)}, "id": id, "type": "tool_call"}
    content = draw(texts | st.lists(said_blocks, max_size=3))
    calling = AIMessage(content, tool_calls=[call], additional_kwargs=draw(extra), response_metadata={"x": PROSE})
    result = draw(texts | st.lists(user_blocks, min_size=1, max_size=2))
    return [calling, ToolMessage(result, tool_call_id=id, artifact={"raw": PROSE * 90}, name="look_up")]


talks_of_langchain = st.lists(
    st.one_of(
        st.builds(lambda content: [HumanMessage(content)], texts | st.lists(user_blocks, min_size=1, max_size=3)),
        st.builds(lambda text: [HumanMessage(text, name="Ann")], texts),
        st.builds(lambda text: [SystemMessage(text)], texts),
        st.builds(
            lambda content, more: [AIMessage(content, additional_kwargs=more)],
            texts | st.lists(said_blocks, min_size=1, max_size=3),
            extra,
        ),
        exchanges_of_langchain(),
    ),
    min_size=1,
    max_size=7,
).map(lambda each: [message for turn in each for message in turn])


@examples(1.5)
@given(talk=talks_of_langchain, options=options)
def test_what_langchain_sends_fits_the_budget(talk: list[BaseMessage], options: dict[str, Any]) -> None:
    context = packed(from_langchain(talk), options)
    if context is not None:
        assert_charged(context, [_convert_message_to_dict(each) for each in context.to_langchain()], options)


# -- LlamaIndex

blocks = st.one_of(
    st.builds(lambda text: TextBlock(text=text), texts),
    st.sampled_from(
        [
            ImageBlock(url="https://example.org/a.png"),
            ImageBlock(image=ENCODED.encode(), image_mimetype="image/png", detail="high"),
            AudioBlock(audio=ENCODED.encode(), format="wav"),
            DocumentBlock(data=ENCODED.encode(), document_mimetype="application/pdf", title="plan.pdf"),
        ]
    ),
)
thoughts = st.builds(
    lambda text, known: ThinkingBlock(content=text, additional_information=known),
    texts,
    st.sampled_from([{}, {"signature": ENCODED[:200]}]),
)


@st.composite
def exchanges_of_llamaindex(draw: st.DrawFn) -> list[ChatMessage]:
    id = f"call_{draw(st.integers(0, 10**6))}"
    call = ToolCallBlock(tool_call_id=id, tool_name="look_up", tool_kwargs={"q": draw(texts)})
    spoken = texts.map(lambda text: TextBlock(text=text))
    said = [*draw(st.lists(thoughts, max_size=1)), *draw(st.lists(spoken, max_size=1))]
    beside = {"tool_call_id": id, "name": "look_up"}
    return [
        ChatMessage(role=MessageRole.ASSISTANT, blocks=[*said, call]),
        ChatMessage(role=MessageRole.TOOL, content=draw(texts), additional_kwargs=beside),
    ]


talks_of_llamaindex = st.lists(
    st.one_of(
        st.lists(blocks, min_size=1, max_size=3).map(lambda each: [ChatMessage(role=MessageRole.USER, blocks=each)]),
        st.builds(lambda text: [ChatMessage(role=MessageRole.SYSTEM, content=text)], texts),
        st.builds(
            lambda why, text: [ChatMessage(role=MessageRole.ASSISTANT, blocks=[*why, TextBlock(text=text)])],
            st.lists(thoughts, max_size=1),
            texts,
        ),
        exchanges_of_llamaindex(),
    ),
    min_size=1,
    max_size=7,
).map(lambda each: [message for turn in each for message in turn])


@examples(1.5)
@given(talk=talks_of_llamaindex, options=options)
def test_what_llamaindex_sends_fits_the_budget(talk: list[ChatMessage], options: dict[str, Any]) -> None:
    context = packed(from_llamaindex(talk), options)
    if context is not None:
        assert_charged(context, list(to_openai_message_dicts(context.to_llamaindex())), options)


def test_letters_that_llamaindex_escapes_in_a_call_count_as_escapes_and_are_found() -> None:
    call = ToolCallBlock(tool_call_id="c1", tool_name="look_up", tool_kwargs={"q": "阀门" * 50})
    told = ChatMessage(role=MessageRole.TOOL, content="low", additional_kwargs={"tool_call_id": "c1"})
    talk = [ChatMessage(role=MessageRole.ASSISTANT, blocks=[call]), told]
    with wmem.open("memory://", agent_id="a", counter=COUNT) as memory:
        session = memory.scope("s")
        session.messages.append(from_llamaindex(talk))
        context = session.pack(budget=2_000, profile="openai")
        found = session.recall("阀门")
    sent: Sequence[Any] = to_openai_message_dicts(context.to_llamaindex())
    assert rendered_tokens(sent, COUNT) <= context.tokens
    assert context.to_llamaindex() == talk
    assert found
