"""Messages of LangChain go into wmem's form and come back as they were, and mean the same to others."""

import copy
import json
from collections.abc import Iterator, Sequence
from enum import IntEnum, StrEnum
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    ToolMessageChunk,
    add_notification_metadata,
    message_chunk_to_message,
    message_to_dict,
)
from pydantic import BaseModel

import wmem
from langchain_wmem import from_langchain, to_langchain
from tests.matrix import examples
from wmem import Message, Native, Part, ToolCall
from wmem.errors import InvalidInputError, SerializationError

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"


def wire(messages: Sequence[BaseMessage]) -> list[str]:
    """The bytes LangChain itself writes for each message."""
    return [json.dumps(message_to_dict(message)) for message in messages]


def through(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """There and back, by way of JSON, as a store would do it."""
    stored = [message.model_dump_json() for message in from_langchain(messages)]
    return to_langchain([Message.model_validate_json(each) for each in stored])


def with_ids_of(message: BaseMessage, back: BaseMessage) -> BaseMessage:
    """The message; where a tool call has no id of its own, with the one it came back with."""
    expected = copy.deepcopy(message)
    if isinstance(expected, AIMessage) and isinstance(back, AIMessage):
        taken: set[str] = set()
        calls: list[Any] = [*expected.tool_calls, *expected.invalid_tool_calls]
        told: list[Any] = [*back.tool_calls, *back.invalid_tool_calls]
        made = {now["id"] for now in told} - {call["id"] for call in calls}
        for call, now in zip(calls, told, strict=True):
            call["id"] = call["id"] if call["id"] and call["id"] not in taken else now["id"]
            taken.add(call["id"])
        assert len(taken) == len(calls)
        for block, now in zip(expected.content, back.content, strict=True):
            if isinstance(block, dict) and isinstance(now, dict):
                block |= {key: now[key] for key in ("id", "call_id") if key in now and str(now[key]) in made}
    return expected


# --- There and back ---------------------------------------------------------------------------------------------------

CALL = {"name": "weather", "args": {"city": "Zürich", "days": 2, "units": None}, "id": "call-1", "type": "tool_call"}
WHOLE: dict[str, BaseMessage] = {
    "text": HumanMessage("Hello", id="m"),
    "nothing said": AIMessage("", id="m"),
    "no blocks": AIMessage([], id="m"),
    "one block": HumanMessage([{"type": "text", "text": "Hello"}], id="m"),
    "text among blocks": HumanMessage(
        ["Hello", {"type": "text", "text": "you", "cache_control": {"type": "ephemeral"}}]
    ),
    "a name": HumanMessage("Hello", id="m", name="Ada"),
    "a field of a later version": HumanMessage("Hello", id="m", example=True),
    "system": SystemMessage("Be brief.", id="m"),
    "developer": SystemMessage("Be brief.", id="m", additional_kwargs={"__openai_role__": "developer"}),
    "image by reference": HumanMessage([{"type": "image", "url": "https://example.org/cat.png"}], id="m"),
    "image by id": HumanMessage([{"type": "image", "file_id": "file-1", "extras": {"detail": "low"}}], id="m"),
    "image in base64": HumanMessage([{"type": "image", "base64": PIXEL, "mime_type": "image/png"}], id="m"),
    "image for OpenAI": HumanMessage(
        [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}", "detail": "low"}}],
        id="m",
    ),
    "image for Anthropic": HumanMessage(
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}],
        id="m",
    ),
    "image of version 0": HumanMessage(
        [{"type": "image", "source_type": "base64", "data": PIXEL, "mime_type": "image/png"}]
    ),
    "image for Anthropic by reference": HumanMessage(
        [{"type": "image", "source": {"type": "url", "url": "https://a.b/c"}}]
    ),
    "document for Anthropic": HumanMessage(
        [{"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}}]
    ),
    "file for OpenAI": HumanMessage(
        [{"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBE"}}]
    ),
    "sound": HumanMessage([{"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}}], id="m"),
    "parallel calls": AIMessage("", id="m", tool_calls=[CALL, {**CALL, "id": "call-2", "args": {}}]),
    "a call without an id": AIMessage("", id="m", tool_calls=[{**CALL, "id": None}]),
    "an unreadable call": AIMessage(
        "",
        id="m",
        tool_calls=[CALL],
        invalid_tool_calls=[
            {"name": "weather", "args": '{"city": ', "id": "call-2", "error": "cut off", "type": "invalid_tool_call"},
        ],
    ),
    "a call as Anthropic says it": AIMessage(
        [
            {"type": "text", "text": "Let me see."},
            {"type": "tool_use", "id": "call-1", "name": "weather", "input": CALL["args"]},
        ],
        id="m",
        tool_calls=[CALL],
    ),
    "a call as OpenAI used to say it": AIMessage(
        "",
        id="m",
        additional_kwargs={"function_call": {"name": "weather", "arguments": '{"city":"Zürich"}'}},
    ),
    "raw calls": AIMessage(
        "",
        id="m",
        additional_kwargs={
            "tool_calls": [
                {"id": "call-1", "type": "function", "function": {"name": "weather", "arguments": '{"days":2}'}}
            ],
        },
    ),
    "signed reasoning": AIMessage(
        [{"type": "thinking", "thinking": "Hm.", "signature": "EqQB/+=="}, {"type": "text", "text": "Rain."}],
        id="m",
    ),
    "sealed reasoning": AIMessage(
        [{"type": "redacted_thinking", "data": "EmwKAhgB"}, {"type": "text", "text": "Rain."}]
    ),
    "reasoning of version 1": AIMessage(
        [{"type": "reasoning", "reasoning": "Hm.", "extras": {"signature": "EqQB"}, "index": 0}, "Rain."],
        id="m",
        response_metadata={"output_version": "v1"},
    ),
    "a summary of reasoning": AIMessage(
        [
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "Hm."}],
                "encrypted_content": "gA",
            },
            {"type": "text", "text": "Rain.", "annotations": [], "id": "msg_1"},
        ],
        id="m",
    ),
    "reasoning beside the content": AIMessage("Rain.", id="m", additional_kwargs={"reasoning_content": "Hm."}),
    "a refusal": AIMessage("", id="m", additional_kwargs={"refusal": "I can't."}),
    "a block nobody knows": AIMessage(
        [{"type": "hologram", "depth": [1, 2.5, True, None]}, {"text": "untyped"}], id="m"
    ),
    "usage": AIMessage(
        "Rain.",
        id="m",
        usage_metadata={
            "input_tokens": 7,
            "output_tokens": 2,
            "total_tokens": 9,
            "input_token_details": {"cache_read": 3},
            "output_token_details": {"reasoning": 1},
        },
        response_metadata={"model_name": "some-model", "finish_reason": "stop", "logprobs": None},
    ),
    "a result": ToolMessage("Rain.", id="m", tool_call_id="call-1", name="weather"),
    "a failed result with an artifact": ToolMessage(
        [{"type": "text", "text": "no such city"}],
        id="m",
        tool_call_id="call-1",
        status="error",
        artifact={"rows": [{"type": "wmem", "lc": 1, "id": ["langchain"]}]},
    ),
    "a function's result": FunctionMessage(content="Rain.", id="m", name="weather"),
    "another speaker": ChatMessage(content="Rain.", id="m", role="critic"),
    "a speaker of a known role": ChatMessage(content="Rain.", id="m", role="assistant"),
    "tokens that steer": HumanMessage("<|endoftext|> </memory> 🧬 漢字 \x00\r\n", id="m"),
}


@pytest.mark.parametrize("message", WHOLE.values(), ids=WHOLE.keys())
def test_a_message_comes_back_byte_equal(message: BaseMessage) -> None:
    [back] = through([message])
    assert wire([back]) == wire([with_ids_of(message, back)])
    assert type(back) is type(message)


@pytest.mark.parametrize("message", WHOLE.values(), ids=WHOLE.keys())
def test_a_message_still_comes_back_byte_equal_from_a_second_trip(message: BaseMessage) -> None:
    assert from_langchain(through([message])) == from_langchain([message])


def test_B76_a_list_typed_by_its_base_class_keeps_what_each_subclass_adds() -> None:
    history: list[BaseMessage] = [WHOLE[name] for name in ("text", "parallel calls", "a result", "usage", "a name")]
    back = through(history)
    assert wire(back) == wire(history)
    assert isinstance(calling := back[1], AIMessage)
    assert [call["id"] for call in calling.tool_calls] == ["call-1", "call-2"]
    assert isinstance(answered := back[3], AIMessage)
    assert answered.usage_metadata is not None


def test_B14_reasoning_without_text_keeps_its_signature_to_the_byte() -> None:
    signed = AIMessage(
        [{"type": "thinking", "thinking": "", "signature": "EqQB/+=="}, {"type": "text", "text": "Rain."}]
    )
    [neutral] = from_langchain([signed])
    assert neutral.parts[0] == Part(kind="reasoning", text="", signature="EqQB/+==")
    assert wire(to_langchain([neutral])) == wire([signed])


# Whatever a provider may leave in a message, as far as JSON can say it.
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(WORDS, VALUES, max_size=3)
KINDS = st.sampled_from(
    [
        "text",
        "thinking",
        "redacted_thinking",
        "reasoning",
        "reasoning_content",
        "refusal",
        "image",
        "image_url",
        "audio",
        "input_audio",
        "video",
        "file",
        "document",
        "media",
        "text-plain",
        "tool_use",
        "tool_call",
        "function_call",
        "server_tool_call",
        "non_standard",
    ],
)
FIELDS = st.sampled_from(
    [
        "text",
        "thinking",
        "reasoning",
        "signature",
        "data",
        "summary",
        "extras",
        "refusal",
        "url",
        "base64",
        "file_id",
        "id",
        "mime_type",
        "source",
        "source_type",
        "image_url",
        "input_audio",
        "file",
        "title",
        "name",
        "input",
        "args",
        "call_id",
        "annotations",
        "index",
    ],
)
BLOCKS = WORDS | st.builds(
    lambda kind, fields: {"type": kind, **fields},
    KINDS | WORDS,
    st.dictionaries(FIELDS, VALUES | st.dictionaries(FIELDS, VALUES, max_size=3), max_size=4),
)
CONTENT = WORDS | st.lists(BLOCKS, max_size=4)
IDS = st.none() | st.text("abc123-", min_size=1, max_size=6)
CALLS = st.lists(
    st.builds(lambda name, args, call_id: {"name": name, "args": args, "id": call_id}, WORDS, OBJECTS, IDS),
    max_size=3,
)
UNREADABLE = st.lists(
    st.builds(
        lambda name, args, call_id, error: {"name": name, "args": args, "id": call_id, "error": error},
        st.none() | WORDS,
        st.none() | WORDS,
        IDS,
        st.none() | WORDS,
    ),
    max_size=2,
)
EXTRAS = st.dictionaries(
    st.sampled_from(
        ["refusal", "reasoning_content", "function_call", "tool_calls", "lc_source", "__openai_role__", "x"]
    ),
    VALUES,
    max_size=3,
)
COUNTS = st.none() | st.builds(
    lambda read, wrote: {"input_tokens": read, "output_tokens": wrote, "total_tokens": read + wrote},
    st.integers(0, 9),
    st.integers(0, 9),
)
SAID = {"content": CONTENT, "name": IDS, "additional_kwargs": EXTRAS, "response_metadata": OBJECTS}
MESSAGES: st.SearchStrategy[BaseMessage] = st.one_of(
    st.builds(HumanMessage, **SAID, id=IDS),
    st.builds(SystemMessage, **SAID, id=IDS),
    st.builds(AIMessage, **SAID, id=IDS, tool_calls=CALLS, invalid_tool_calls=UNREADABLE, usage_metadata=COUNTS),
    st.builds(
        ToolMessage,
        **SAID,
        id=IDS,
        tool_call_id=WORDS,
        artifact=VALUES,
        status=st.sampled_from(["success", "error"]),
    ),
    st.builds(FunctionMessage, **{**SAID, "name": WORDS}, id=IDS),
    st.builds(ChatMessage, **SAID, id=IDS, role=WORDS | st.sampled_from(["user", "assistant", "tool", "developer"])),
)


@given(message=MESSAGES)
def test_whatever_json_can_say_comes_back_byte_equal(message: BaseMessage) -> None:
    before = wire([message])
    [back] = through([message])
    assert wire([back]) == wire([with_ids_of(message, back)])
    assert wire([message]) == before, "a conversion changed what it was handed"


@pytest.mark.parametrize("name", ["image in base64", "image for OpenAI", "image for Anthropic"])
def test_an_image_is_kept_once_whichever_dialect_it_came_in(name: str) -> None:
    assert read(WHOLE[name]).model_dump_json().count(PIXEL) == 1


def test_values_that_json_writes_as_plain_ones_are_taken_for_those() -> None:
    class Reason(StrEnum):
        STOP = "stop"

    class Level(IntEnum):
        HIGH = 2

    answered = AIMessage("Rain.", response_metadata={"reason": Reason.STOP, "level": Level.HIGH, "at": (1, 2.5)})
    assert wire(through([answered])) == wire([answered])
    kept = read(answered).native
    assert kept is not None
    assert type(kept.model_dump()["data"]["data"]["response_metadata"]["reason"]) is str


def test_nothing_that_is_handed_out_aliases_what_is_kept() -> None:
    kept = from_langchain([WHOLE["a block nobody knows"], WHOLE["a failed result with an artifact"]])
    before = [message.model_dump_json() for message in kept]
    for handed in to_langchain(kept):
        assert isinstance(handed.content, list)
        handed.content[0]["type"] = "spoiled"  # type: ignore[index]
        if isinstance(handed, ToolMessage):
            handed.artifact["rows"].clear()
    assert [message.model_dump_json() for message in kept] == before


@pytest.fixture(scope="module", params=["memory", "disk"])
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[wmem.AgentMemory]:
    url = "memory://" if request.param == "memory" else f"disk://{tmp_path_factory.mktemp('store')}"
    with wmem.open(url, agent_id="agent-7") as memory:
        yield memory


def made_ids(messages: Sequence[BaseMessage]) -> set[str | None]:
    said = [each for each in messages if isinstance(each, AIMessage)]
    return {call["id"] for each in said for call in (*each.tool_calls, *each.invalid_tool_calls)}


@examples(0.5)
@given(conversation=st.lists(MESSAGES, min_size=1, max_size=4, unique_by=lambda message: message.id or id(message)))
def test_whatever_json_can_say_comes_back_byte_equal_from_the_store(
    kept: wmem.AgentMemory,
    conversation: list[BaseMessage],
) -> None:
    scope = kept.scope(uuid4().hex)
    made = scope.messages.append(from_langchain(conversation))
    assert all(message.id for message in made)
    back = to_langchain(scope.messages.all())
    for given_one, stored in zip(conversation, back, strict=True):
        # A message or a call without an id has one from now on, as has the call's result; that is all that may differ.
        stored.id = given_one.id
        if isinstance(stored, ToolMessage) and isinstance(given_one, FunctionMessage):
            # It answers a call with an id, which a function's result cannot name.
            assert stored.tool_call_id in made_ids(back)
            assert stored.content == given_one.content
            continue
        if isinstance(stored, ToolMessage) and isinstance(given_one, ToolMessage):
            assert stored.tool_call_id in {given_one.tool_call_id, *made_ids(back)}
            stored.tool_call_id = given_one.tool_call_id
        assert wire([stored]) == wire([with_ids_of(given_one, stored)])


# --- What others understand -------------------------------------------------------------------------------------------


def read(message: BaseMessage) -> Message:
    return from_langchain([message])[0]


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("image by reference", Part(kind="image", url="https://example.org/cat.png")),
        ("image by id", Part(kind="image", file_id="file-1", data={"detail": "low"})),
        ("image in base64", Part(kind="image", base64=PIXEL, mime_type="image/png")),
        ("image for OpenAI", Part(kind="image", base64=PIXEL, mime_type="image/png", data={"detail": "low"})),
        ("image for Anthropic", Part(kind="image", base64=PIXEL, mime_type="image/png")),
        ("image of version 0", Part(kind="image", base64=PIXEL, mime_type="image/png")),
        ("sound", Part(kind="audio", base64="UklG", mime_type="audio/wav")),
        ("signed reasoning", Part(kind="reasoning", text="Hm.", signature="EqQB/+==")),
        ("sealed reasoning", Part(kind="reasoning", signature="EmwKAhgB", data={"redacted": True})),
        ("reasoning of version 1", Part(kind="reasoning", text="Hm.", signature="EqQB")),
        ("a summary of reasoning", Part(kind="reasoning", text="Hm.", signature="gA", data={"id": "rs_1"})),
        ("reasoning beside the content", Part(kind="reasoning", text="Hm.", data={"key": "reasoning_content"})),
        ("a refusal", Part(kind="refusal", text="I can't.")),
        ("a block nobody knows", Part(kind="other", data={"type": "hologram", "depth": [1, 2.5, True, None]})),
    ],
)
def test_a_block_means_the_same_in_every_dialect(name: str, part: Part) -> None:
    assert read(WHOLE[name]).parts[0] == part


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"type": "reasoning_content", "reasoning_content": {"text": "Hm.", "signature": "s"}}, ("reasoning", "Hm.")),
        ({"type": "reasoning_content", "reasoning_content": "Hm."}, ("other", None)),
        ({"type": "redacted_thinking"}, ("other", None)),
        ({"type": "refusal", "refusal": "No."}, ("refusal", "No.")),
        (
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBE", "filename": "a.pdf"}},
            ("file", None),
        ),
        (
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "A"}, "title": "T"},
            ("file", "A"),
        ),
        ({"type": "image", "source": {"type": "url", "url": "https://example.org/a"}}, ("image", None)),
        ({"type": "text-plain", "text": "A", "mime_type": "text/plain"}, ("file", "A")),
        ({"type": "file", "source_type": "id", "id": "file-1"}, ("file", None)),
        ({"type": "media", "mime_type": "video/mp4", "file_uri": "gs://a/b"}, ("video", None)),
        ({"type": "image_url", "image_url": "https://example.org/a"}, ("image", None)),
        ({"type": "image_url"}, ("other", None)),
        ({"type": "image", "url": "https://example.org/a", "base64": PIXEL}, ("other", None)),
        ({"type": "input_audio", "input_audio": None}, ("other", None)),
        ({"type": "server_tool_call", "id": "s", "name": "search", "args": {}}, ("other", None)),
        ({"type": ["text"]}, ("other", None)),
    ],
)
def test_a_block_that_is_not_whole_is_carried_not_dropped(block: dict[str, Any], part: tuple[str, str | None]) -> None:
    message = AIMessage([block])
    neutral = read(message)
    assert [(each.kind, each.text) for each in neutral.parts] == [part]
    assert wire(to_langchain([neutral])) == wire([message])


def test_calls_and_their_results_pair_up_by_id() -> None:
    calling, result = read(WHOLE["parallel calls"]), read(WHOLE["a result"])
    assert [call.id for call in calling.tool_calls] == ["call-1", "call-2"]
    assert calling.tool_calls[0].args == CALL["args"]
    assert (result.role, result.tool_call_id, result.name, result.text) == ("tool", "call-1", "weather", "Rain.")


def test_an_unreadable_call_keeps_the_text_the_model_wrote() -> None:
    assert [call.arguments for call in read(WHOLE["an unreadable call"]).tool_calls][1] == '{"city": '


def test_a_call_that_the_content_repeats_is_one_call_and_no_block() -> None:
    neutral = read(WHOLE["a call as Anthropic says it"])
    assert [part.kind for part in neutral.parts] == ["text"]
    assert [call.id for call in neutral.tool_calls] == ["call-1"]


def test_a_legacy_function_call_pairs_with_its_result() -> None:
    calling, result = read(WHOLE["a call as OpenAI used to say it"]), read(WHOLE["a function's result"])
    assert calling.tool_calls == (ToolCall(id="call_weather", name="weather", arguments='{"city":"Zürich"}'),)
    assert result.tool_call_id == "call_weather"


@pytest.mark.parametrize(
    ("message", "role", "name"),
    [
        (WHOLE["developer"], "developer", None),
        (WHOLE["another speaker"], "user", "critic"),
        (WHOLE["a speaker of a known role"], "assistant", None),
        (ChatMessage(content="Rain.", role="tool"), "user", "tool"),
        (HumanMessage("Hello", name="Ada"), "user", "Ada"),
    ],
)
def test_a_role_means_the_same_to_others(message: BaseMessage, role: str, name: str | None) -> None:
    assert (read(message).role, read(message).name) == (role, name)


ELSEWHERE = [
    Message.of("developer", "Be brief."),
    Message(
        role="user",
        id="u",
        name="Ada",
        parts=(
            Part(text="What is this?"),
            Part(kind="image", base64=PIXEL, mime_type="image/png", data={"detail": "low"}),
        ),
    ),
    Message(
        role="assistant",
        id="a",
        parts=(
            Part(kind="reasoning", text="Hm.", signature="s"),
            Part(kind="reasoning", signature="x", data={"redacted": True}),
            Part(kind="reasoning", text="unsigned"),
            Part(text="Let me see."),
            Part(kind="refusal", text="Not that."),
            Part(kind="file", text="A", data={"filename": "a.txt"}),
            Part(kind="other", data={"type": "hologram"}),
            Part(kind="other", data={"depth": 3}),
        ),
        tool_calls=(
            ToolCall(id="c", name="look", arguments='{"at": "it"}'),
            ToolCall(id="d", name="look", arguments="{"),
        ),
        native=Native(framework="another", data={"blocks": []}),
    ),
    Message.of("tool", "A cat.", tool_call_id="c", name="look"),
    Message.of("tool", "Nobody asked."),
]


def test_what_another_framework_wrote_is_said_in_langchains_words() -> None:
    developer, user, assistant, result, orphan = to_langchain(ELSEWHERE)
    assert developer == SystemMessage("Be brief.", additional_kwargs={"__openai_role__": "developer"})
    assert user.content == [
        {"type": "text", "text": "What is this?"},
        {"type": "image", "base64": PIXEL, "mime_type": "image/png", "extras": {"detail": "low"}},
    ]
    assert (user.name, user.id) == ("Ada", "u")
    assert assistant.content == [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "reasoning", "reasoning": "unsigned"},
        {"type": "text", "text": "Let me see."},
        {"type": "refusal", "refusal": "Not that."},
        {"type": "text-plain", "text": "A", "mime_type": "text/plain", "extras": {"filename": "a.txt"}},
        {"type": "hologram"},
        {"type": "non_standard", "value": {"depth": 3}},
    ]
    assert isinstance(assistant, AIMessage)
    assert [call["args"] for call in assistant.tool_calls] == [{"at": "it"}]
    assert [call["args"] for call in assistant.invalid_tool_calls] == ["{"]
    assert result == ToolMessage("A cat.", tool_call_id="c", name="look")
    assert isinstance(orphan, ToolMessage)


def test_what_another_framework_wrote_keeps_its_meaning_there_and_back() -> None:
    kept = [message.model_copy(update={"native": None}) for message in ELSEWHERE[:4]]
    back = [message.model_copy(update={"native": None}) for message in from_langchain(to_langchain(kept))]
    assert [message.role for message in back] == [message.role for message in kept]
    assert [message.tool_calls for message in back] == [message.tool_calls for message in kept]
    assert [message.text for message in back] == [message.text for message in kept]
    assert back[1].parts == kept[1].parts


def test_a_truncated_message_does_not_come_back_whole() -> None:
    for name in (
        "signed reasoning",
        "one block",
        "usage",
        "reasoning beside the content",
        "a failed result with an artifact",
    ):
        whole = read(WHOLE[name])
        cut = whole.model_copy(update={"parts": (Part(text="R…"),)})
        [back] = to_langchain([cut])
        assert back.text == "R…", name
        assert "reasoning_content" not in back.additional_kwargs


@pytest.mark.parametrize(
    "name",
    ["raw calls", "an unreadable call", "a call without an id", "a call as OpenAI used to say it"],
)
def test_calls_that_were_taken_out_do_not_come_back(name: str) -> None:
    calling = read(WHOLE[name])
    assert calling.tool_calls
    [silenced] = to_langchain([calling.model_copy(update={"tool_calls": ()})])
    assert isinstance(silenced, AIMessage)
    assert (silenced.tool_calls, silenced.invalid_tool_calls) == ([], [])
    assert "function_call" not in silenced.additional_kwargs


def test_a_renamed_or_readdressed_message_comes_back_as_it_is_now() -> None:
    [renamed] = to_langchain([read(WHOLE["another speaker"]).model_copy(update={"name": "editor"})])
    assert renamed.name == "editor"
    failed = read(WHOLE["a failed result with an artifact"])
    [moved] = to_langchain([failed.model_copy(update={"tool_call_id": "call-9"})])
    assert isinstance(moved, ToolMessage)
    assert (moved.tool_call_id, moved.status) == ("call-9", "error")


def test_an_id_made_by_the_store_reaches_langchain() -> None:
    stored = read(AIMessage([], response_metadata={"model_name": "some-model"})).model_copy(update={"id": "made"})
    assert to_langchain([stored])[0].id == "made"


# --- Marks, chunks and refusals ---------------------------------------------------------------------------------------


def test_B113_recalled_text_carries_its_mark_in_both_forms() -> None:
    [note] = to_langchain([Message.of("user", "Biscuit is a dog.", metadata={"wmem": "note"})])
    assert note == add_notification_metadata(HumanMessage("Biscuit is a dog."), source="wmem")
    assert read(note).metadata == {"wmem": "note"}


def test_B78_bytes_in_a_tool_result_are_refused_where_they_would_not_come_back() -> None:
    with pytest.raises(SerializationError, match="'artifact' of tool message 'm' holds a 'bytes'"):
        from_langchain([ToolMessage("Rain.", id="m", tool_call_id="c", artifact=b"\x00")])


class Vendor(BaseModel):
    """An object of some provider's SDK."""

    id: str = "call-1"
    usage: dict[str, int] = {"cached": 3}


def test_B75_objects_of_a_provider_s_sdk_become_plain_data() -> None:
    answered = AIMessage("Rain.", id="m", response_metadata={"raw": [Vendor()]}, additional_kwargs={"raw": Vendor()})
    neutral = read(answered)
    assert neutral.text == "Rain."
    [back] = through([answered])
    assert wire([back]) == wire([answered])
    assert back.additional_kwargs == {"raw": {"id": "call-1", "usage": {"cached": 3}}}


def test_B75_calls_in_one_provider_s_words_are_calls_for_every_other() -> None:
    for name in ("raw calls", "a call as Anthropic says it", "a call as OpenAI used to say it"):
        [call] = read(WHOLE[name]).to_openai()["tool_calls"]
        assert call["function"]["name"] == "weather"


@pytest.mark.parametrize(
    "chunk",
    [
        AIMessageChunk(
            content="Rain", id="m", usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        ),
        AIMessageChunk(
            content="",
            id="m",
            tool_call_chunks=[
                {"name": "weather", "args": '{"days": 2}', "id": "c", "index": 0, "type": "tool_call_chunk"}
            ],
        ),
        HumanMessageChunk(content="Hello", id="m"),
        ToolMessageChunk(content="Rain.", id="m", tool_call_id="c", status="error"),
    ],
    ids=lambda chunk: type(chunk).__name__,
)
def test_a_chunk_is_stored_as_the_message_it_amounts_to(chunk: BaseMessage) -> None:
    assert wire(through([chunk])) == wire([message_chunk_to_message(chunk)])


def test_B79_the_documents_of_a_retriever_come_back_as_documents() -> None:
    documents = [Document("A", id="1", metadata={"page": 1}), Document("B")]
    found = ToolMessage("Two hits.", id="m", tool_call_id="c", artifact=documents)
    [back] = through([found])
    assert isinstance(back, ToolMessage)
    assert back.artifact == documents
    assert all(type(each) is Document for each in back.artifact)
    assert wire([back]) == wire([found])


class Special(Document):
    """Somebody's own document."""


@pytest.mark.parametrize(
    "artifact",
    [
        Document("A"),
        {"hits": [Document("A")]},
        [Document("A"), "B"],
        [Special(page_content="A")],
        Vendor(),
        [Document("A", metadata={"raw": Vendor()})],
        [Document("A", metadata={"tags": {"x"}})],
    ],
    ids=["one", "nested", "mixed", "subclass", "model", "model in metadata", "set in metadata"],
)
def test_B79_an_artifact_that_would_come_back_as_something_else_is_refused(artifact: Any) -> None:
    with pytest.raises(SerializationError, match="'artifact"):
        from_langchain([ToolMessage("Hit.", id="m", tool_call_id="c", artifact=artifact)])


@pytest.mark.parametrize("artifact", [7, "A", {"page_content": "A"}, ["A"], [{"page_content": 7}]])
def test_B84_documents_that_an_attacker_left_beside_a_message_build_nothing(artifact: Any) -> None:
    native = Native(framework="langchain", data={"type": "tool", "data": {"artifact": artifact}, "documents": True})
    with pytest.raises(SerializationError, match="'m'"):
        to_langchain([Message(role="tool", tool_call_id="c", id="m", native=native)])


def test_a_command_is_no_message() -> None:
    with pytest.raises(InvalidInputError, match=r"RemoveMessage\('m'\) is a command"):
        from_langchain([RemoveMessage(id="m")])


def test_something_else_is_no_message() -> None:
    with pytest.raises(InvalidInputError, match="'str'"):
        from_langchain(["Hello"])  # type: ignore[list-item]


def test_a_class_of_the_users_own_is_refused_since_it_would_come_back_as_another() -> None:
    class Whisper(HumanMessage):
        """Somebody's own message."""

    with pytest.raises(SerializationError, match="'Whisper'"):
        from_langchain([Whisper(content="psst")])


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (object(), "a 'object'"),
        (b"\x00", "a 'bytes'"),
        ({1: "a"}, "a key that is no text"),
        (float("nan"), "nan"),
        ({1}, "'set'"),
    ],
)
def test_B79_what_json_cannot_carry_is_refused_by_name(value: Any, found: str) -> None:
    with pytest.raises(SerializationError, match=rf"'artifact.rows.0' of tool message 'm' holds .*{found}"):
        from_langchain([ToolMessage("Rain.", id="m", tool_call_id="c", artifact={"rows": [value]})])


def test_a_message_that_was_spoiled_after_it_was_made_is_refused_at_write() -> None:
    spoiled = AIMessage("", id="m")
    spoiled.tool_calls.append({"name": "weather"})  # type: ignore[typeddict-item]
    with pytest.raises(SerializationError, match="'m'"):
        from_langchain([spoiled])
    misread = HumanMessage("Hello", id="m")
    misread.type = "ai"  # type: ignore[assignment]
    with pytest.raises(SerializationError, match="'m'"):
        from_langchain([misread])
    stuffed = AIMessage("", id="m", tool_calls=[CALL])
    stuffed.tool_calls[0]["extras"] = {"signature": "s"}  # type: ignore[typeddict-unknown-key]
    with pytest.raises(SerializationError, match="'m'"):
        from_langchain([stuffed])


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {"type": "remove", "data": {}},
        {"type": "human"},
        {"type": "constructor", "lc": 1, "id": ["os", "system"], "kwargs": {}},
        {"type": "ai", "data": {"tool_calls": 7}},
        {"type": "ai", "data": {}, "dialect": "os.system"},
        {"type": "ai", "data": {"usage_metadata": "many"}},
        {"type": "chat", "data": {}},
    ],
)
def test_B84_what_an_attacker_left_beside_a_message_builds_nothing(data: Any) -> None:
    spoiled = Message.of("user", "Hello", id="m", native=Native(framework="langchain", data=data))
    with pytest.raises(SerializationError, match="'m'"):
        to_langchain([spoiled])


@pytest.mark.parametrize("content", [[7], [{"type": "text", "text": "Goodbye"}], "Goodbye"])
def test_content_beside_a_message_that_says_something_else_is_not_believed(content: Any) -> None:
    native = Native(framework="langchain", data={"type": "human", "data": {"content": content}})
    assert to_langchain([Message.of("user", "Hello", native=native)]) == [HumanMessage("Hello")]
