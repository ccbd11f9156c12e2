"""LlamaIndex's chat messages through the neutral form and back."""

import base64
import json
import logging
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, StrEnum
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.llms.types import (
    AudioBlock,
    CacheControl,
    CachePoint,
    ChatMessage,
    CitableBlock,
    CitationBlock,
    DocumentBlock,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    VideoBlock,
)
from llama_index.core.schema import ImageDocument
from llama_index.llms.openai.utils import from_openai_message, to_openai_message_dict
from openai.types.chat import ChatCompletionMessage

from llamaindex_wmem import from_llamaindex, to_llamaindex
from llamaindex_wmem._convert import canonical_json
from wmem import InvalidInputError, Message, Native, Part, SerializationError, ToolCall

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(200))


def through_storage(message: ChatMessage) -> ChatMessage:
    """There and back, by way of the JSON that a journal keeps."""
    [read] = from_llamaindex([message])
    stored = Message.model_validate_json(read.model_dump_json())
    return to_llamaindex([stored])[0]


def own(message: ChatMessage) -> str:
    return json.dumps(message.model_dump(mode="json"))


def with_ids_of(message: ChatMessage, back: ChatMessage) -> ChatMessage:
    """The message; where a tool call has no id of its own, with the one it came back with."""
    taken: set[str] = set()
    named = []
    for block, now in zip(message.blocks, back.blocks, strict=True):
        if isinstance(block, ToolCallBlock) and isinstance(now, ToolCallBlock):
            id = block.tool_call_id or ""
            id = id if id.strip() and id not in taken else now.tool_call_id or ""
            assert id.strip()
            assert id not in taken
            taken.add(id)
            block = block.model_copy(update={"tool_call_id": id})  # noqa: PLW2901  # the same block, named
        named.append(block)
    return message.model_copy(update={"blocks": named})


CITED = TextBlock(text="q")
BLOCKS: dict[str, Any] = {
    "text": [TextBlock(text="hello")],
    "two texts": [TextBlock(text="a"), TextBlock(text="b")],
    "empty text": [TextBlock(text="")],
    "nothing": [],
    "image by url": [ImageBlock(url="https://example.com/cat.png", detail="low")],
    "image by bare host": [ImageBlock(url="https://example.com")],
    "image bytes": [TextBlock(text="see"), ImageBlock(image=PNG)],
    "image as data url": [ImageBlock(url="data:image/png;base64," + base64.b64encode(PNG).decode())],
    "empty image": [ImageBlock()],
    "audio bytes": [AudioBlock(audio=b"RIFFxxxxWAVEfmt ", format="wav")],
    "audio by url": [AudioBlock(url="https://example.com/a.mp3")],
    "video bytes": [VideoBlock(video=b"\x00\x00\x00\x18ftypmp42", fps=2, detail="high")],
    "video by url": [VideoBlock(url="https://example.com/a.mp4")],
    "document bytes": [DocumentBlock(data=b"%PDF-1.4 abc", title="a.pdf", document_mimetype="application/pdf")],
    "document by url": [DocumentBlock(url="https://example.com/a.pdf")],
    "cache point": [TextBlock(text="long"), CachePoint(cache_control=CacheControl(type="ephemeral"))],
    "citable": [CitableBlock(title="T", source="S", content=[TextBlock(text="x"), ImageBlock(image=PNG)])],
    "citation": [CitationBlock(title="T", source="S", cited_content=CITED, additional_location_info={"page": 3})],
    "thinking": [ThinkingBlock(content="hm", num_tokens=3, additional_information={"signature": "c2ln=="})],
    "thinking of another kit": [ThinkingBlock(content="hm", additional_information={"id": "rs_1", "n": [1, 2.0]})],
    "a call": [ToolCallBlock(tool_call_id="c1", tool_name="add", tool_kwargs={"a": 1, "b": [True, None, 1.0]})],
    "a call as text": [ToolCallBlock(tool_call_id="c1", tool_name="add", tool_kwargs='{ "a":1 }')],
    "a call as broken text": [ToolCallBlock(tool_call_id="c1", tool_name="add", tool_kwargs='{"a":')],
    "a call without an id": [ToolCallBlock(tool_name="add", tool_kwargs={})],
    "a call before its text": [ToolCallBlock(tool_call_id="c", tool_name="add", tool_kwargs={}), TextBlock(text="t")],
}


@pytest.mark.parametrize("blocks", BLOCKS.values(), ids=BLOCKS.keys())
@pytest.mark.parametrize("role", list(MessageRole))
def test_every_block_in_every_role_comes_back_byte_equal(role: MessageRole, blocks: list[Any]) -> None:
    message = ChatMessage(role=role, blocks=blocks)
    back = through_storage(message)
    assert own(back) == own(with_ids_of(message, back))
    assert back == with_ids_of(message, back)


EXTRAS: dict[str, dict[str, Any]] = {
    "tool result": {"tool_call_id": "c1"},
    "tool result with name": {"tool_call_id": "c1", "name": "add"},
    "keys in another order": {"name": "add", "tool_call_id": "c1"},
    "name": {"name": "ann"},
    "empty name": {"name": ""},
    "name that is no text": {"name": 7},
    "calls as dictionaries": {
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    },
    "legacy call": {"function_call": {"name": "f", "arguments": '{"x": 1}'}},
    "anything else": {"session_id": "s", "nested": {"a": [1, {"b": None}]}},
    "a key like our tag": {"~wmem": "bytes", "value": "x"},
    "nested key like our tag": {"x": {"~wmem": "bytes", "value": "!"}},
    "a tuple": {"t": (1, (2,))},
}


@pytest.mark.parametrize("extra", EXTRAS.values(), ids=EXTRAS.keys())
@pytest.mark.parametrize("role", list(MessageRole))
def test_extra_fields_come_back_byte_equal(role: MessageRole, extra: dict[str, Any]) -> None:
    message = ChatMessage(role=role, content="x", additional_kwargs=extra)
    assert own(through_storage(message)) == own(message)
    assert through_storage(message) == message


def test_the_ordinary_needs_no_copy_of_the_frameworks_json() -> None:
    ordinary = [
        ChatMessage(role="user", content="hello"),
        ChatMessage(role="user", blocks=[TextBlock(text="see"), ImageBlock(image=PNG)]),
        ChatMessage(role="assistant", blocks=BLOCKS["thinking"] + BLOCKS["a call"]),
        ChatMessage(role="tool", content="2", additional_kwargs={"tool_call_id": "c1"}),
    ]
    assert [message.native for message in from_llamaindex(ordinary)] == [None] * 4


def test_reading_changes_nothing_the_caller_handed_over() -> None:
    source = BytesIO(PNG)
    source.seek(5)
    message = ChatMessage(role="user", blocks=[ImageBlock(image=source)], additional_kwargs={"a": [1]})
    before = message.additional_kwargs
    from_llamaindex([message])
    assert message.additional_kwargs is before == {"a": [1]}
    assert source.tell() == 5


def test_an_open_file_is_stored_as_its_bytes() -> None:
    [read] = from_llamaindex([ChatMessage(role="user", blocks=[ImageBlock(image=BytesIO(PNG))])])
    assert read.parts[0].base64 == base64.b64encode(PNG).decode()
    [block] = to_llamaindex([read])[0].blocks
    assert isinstance(block, ImageBlock)
    assert block.resolve_image().read() == PNG


def test_the_deprecated_images_field_goes_since_its_images_are_blocks() -> None:
    document = ImageDocument(image=base64.b64encode(PNG).decode())
    message = ChatMessage(role="user", content="see", additional_kwargs={"images": [document]})
    replayed = through_storage(message)
    assert replayed.blocks == message.blocks
    assert [type(block) for block in replayed.blocks] == [TextBlock, ImageBlock]
    assert replayed.additional_kwargs == {}


def test_what_was_said_is_read_into_the_neutral_form() -> None:
    message = ChatMessage(
        role="assistant",
        blocks=[
            ThinkingBlock(content="hm", additional_information={"signature": "sig"}),
            TextBlock(text="let me see"),
            ToolCallBlock(tool_call_id="c1", tool_name="add", tool_kwargs={"a": 1}),
            ToolCallBlock(tool_call_id="c2", tool_name="add", tool_kwargs='{"a":2}'),
        ],
    )
    [read] = from_llamaindex([message])
    assert read.role == "assistant"
    assert read.text == "let me see"
    assert read.parts[0] == Part(kind="reasoning", text="hm", signature="sig")
    assert read.tool_calls == (
        ToolCall(id="c1", name="add", arguments='{"a": 1}'),
        ToolCall(id="c2", name="add", arguments='{"a":2}'),
    )
    answer = ChatMessage(role="tool", content="3", additional_kwargs={"tool_call_id": "c1"})
    assert from_llamaindex([answer])[0].answers == ("c1",)


def test_roles_of_other_providers_are_read_as_the_role_they_play() -> None:
    roles = [message.role for message in from_llamaindex([ChatMessage(role=role, content="x") for role in MessageRole])]
    assert roles == ["system", "developer", "user", "assistant", "tool", "tool", "assistant", "assistant"]


def test_parallel_calls_without_ids_stay_apart() -> None:
    call = ToolCallBlock(tool_name="add", tool_kwargs={"a": 1})
    [read] = from_llamaindex([ChatMessage(role="assistant", blocks=[call, call])])
    first, second = (each.id for each in read.tool_calls)
    assert first.strip()
    assert second not in ("", first)


# --- what other frameworks stored ------------------------------------------------------------------------------------


def test_the_json_of_another_framework_is_not_used() -> None:
    message = Message.of("user", "hello", native=Native(framework="langchain", data={"role": "system", "blocks": []}))
    assert to_llamaindex([message]) == [ChatMessage(role="user", content="hello")]


@pytest.mark.parametrize(
    "changed",
    [
        {"parts": (Part(text="cut"),)},
        {"tool_calls": ()},
        {"role": "user"},
        {"name": "ann"},
    ],
)
def test_a_message_that_was_changed_since_does_not_come_back_as_it_was(changed: dict[str, Any]) -> None:
    call = ToolCallBlock(tool_call_id="c", tool_name="f", tool_kwargs="{}")
    message = ChatMessage(role="assistant", blocks=[TextBlock(text="long"), call], additional_kwargs={"x": 1})
    [read] = from_llamaindex([message])
    assert read.native is not None
    changed_read = read.model_copy(update=changed)
    assert to_llamaindex([changed_read]) == to_llamaindex([changed_read.model_copy(update={"native": None})])


def test_json_of_another_version_falls_back_to_what_was_said(caplog: pytest.LogCaptureFixture) -> None:
    data: list[Any] = [None, {}, {"role": "sage", "additional_kwargs": {}, "blocks": []}]
    data += [{"role": "user", "additional_kwargs": {}, "blocks": [{"block_type": "hologram"}]}]
    data += [{"role": "user", "additional_kwargs": {"x": {"~wmem": "pickle", "value": "gASV"}}, "blocks": []}]
    messages = [Message.of("user", "hello", native=Native(framework="llamaindex", data=each)) for each in data]
    with caplog.at_level(logging.WARNING):
        assert to_llamaindex(messages) == [ChatMessage(role="user", content="hello")] * len(data)
    assert "hello" not in caplog.text


def test_a_local_file_named_by_another_framework_is_never_opened(tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(PNG)
    message = Message.from_openai(
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": secret.as_uri()}}]}
    )
    [block] = to_llamaindex([message])[0].blocks
    assert isinstance(block, TextBlock)


def test_everything_another_framework_may_store_becomes_blocks() -> None:
    parts = [
        Part(text="t"),
        Part(kind="refusal", text="no"),
        Part(kind="image", url="https://example.com/a.png"),
        Part(kind="image", url="not an address"),
        Part(kind="image", file_id="file-1"),
        Part(kind="audio", base64=base64.b64encode(b"RIFF").decode(), mime_type="audio/mpeg"),
        Part(kind="video", base64=base64.b64encode(b"vid").decode(), mime_type="video/mp4"),
        Part(
            kind="file", base64=base64.b64encode(b"%PDF").decode(), mime_type="application/pdf", data={"filename": "f"}
        ),
        Part(kind="reasoning", text="hm", signature="s", data={"id": "rs"}),
        Part(kind="other", data={"type": "server_tool_use", "x": 1}),
        Part(kind="other", base64="QUJD", mime_type="x/y"),
        Part(kind="file", text="a plain file", mime_type="text/plain"),
    ]
    [message] = to_llamaindex([Message(role="assistant", parts=tuple(parts))])
    assert [type(block) for block in message.blocks] == [
        TextBlock,
        TextBlock,
        ImageBlock,
        TextBlock,
        TextBlock,
        AudioBlock,
        VideoBlock,
        DocumentBlock,
        ThinkingBlock,
        TextBlock,
        TextBlock,
        TextBlock,
    ]
    assert message.blocks[-1] == TextBlock(text="a plain file")
    assert isinstance(message.blocks[5], AudioBlock)
    assert message.blocks[5].format == "mp3"
    assert isinstance(message.blocks[8], ThinkingBlock)
    assert message.blocks[8].additional_information == {"id": "rs", "signature": "s"}


def test_wmems_ids_and_metadata_stay_out_of_what_providers_are_sent() -> None:
    message = Message.of("user", "x", id="01J", turn_id="t", metadata={"wmem": "note"}, created_at=1.0)
    assert to_llamaindex([message])[0].additional_kwargs == {}


# --- files -----------------------------------------------------------------------------------------------------------


def test_an_image_by_path_is_kept_by_reference(tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(PNG)
    message = ChatMessage(role="user", blocks=[ImageBlock(path=picture)])
    [read] = from_llamaindex([message])
    assert read.parts[0].url == picture.as_uri()
    assert own(through_storage(message)) == own(message)


def test_a_file_that_is_gone_leaves_a_line_that_says_so(tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(PNG)
    read = from_llamaindex([ChatMessage(role="user", blocks=[TextBlock(text="see"), ImageBlock(path=picture)])])
    picture.unlink()
    assert to_llamaindex(read)[0].content == f"see\n[image: {picture}, no longer there]"


# --- cases -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [None, ""])
def test_B14_a_reasoning_block_with_only_a_signature_comes_back_byte_equal(content: str | None) -> None:
    thought = ThinkingBlock(content=content, additional_information={"signature": "EqQBCkYIBRgCKkA="})
    message = ChatMessage(role="assistant", blocks=[thought, TextBlock(text="done")])
    assert own(through_storage(message)) == own(message)
    assert from_llamaindex([message])[0].parts[0].signature == "EqQBCkYIBRgCKkA="


def said_by_openai() -> ChatMessage:
    answer = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}},
            {"id": "c2", "type": "function", "function": {"name": "add", "arguments": '{"a":2}'}},
        ],
    }
    return from_openai_message(ChatCompletionMessage.model_validate(answer), ["text"])


def test_B75_calls_in_blocks_and_as_vendor_objects_are_one_call_each() -> None:
    message = said_by_openai()
    assert message.additional_kwargs["tool_calls"]
    [read] = from_llamaindex([message])
    assert [call.id for call in read.tool_calls] == ["c1", "c2"]
    assert [call.arguments for call in read.tool_calls] == ['{"a":1}', '{"a":2}']


def test_B75_a_session_of_one_vendor_is_replayed_without_its_objects() -> None:
    message = said_by_openai()
    replayed = through_storage(message)
    assert "tool_calls" not in replayed.additional_kwargs
    assert replayed.blocks == message.blocks
    assert to_openai_message_dict(replayed) == to_openai_message_dict(message)


def test_B75_calls_that_stand_only_in_vendor_objects_become_blocks() -> None:
    message = said_by_openai()
    message.blocks.clear()
    message.additional_kwargs["more"] = 1
    replayed = through_storage(message)
    assert replayed.additional_kwargs == {"more": 1}
    assert [block.tool_call_id for block in replayed.blocks if isinstance(block, ToolCallBlock)] == ["c1", "c2"]


def test_B75_other_vendor_objects_become_what_they_say() -> None:
    usage = said_by_openai().additional_kwargs["tool_calls"][0]
    message = ChatMessage(role="assistant", content="x", additional_kwargs={"built_in": [usage]})
    assert through_storage(message).additional_kwargs == {"built_in": [usage.model_dump()]}
    assert own(through_storage(message)) == own(message)


def test_B75_calls_without_ids_are_one_call_wherever_they_stand() -> None:
    block = ToolCallBlock(tool_name="add", tool_kwargs={"a": 1})
    extra = {"tool_calls": [{"name": "add", "args": {"a": 1}}, {"name": "add", "args": {"a": 2}}]}
    [read] = from_llamaindex([ChatMessage(role="assistant", blocks=[block], additional_kwargs=extra)])
    assert [call.args for call in read.tool_calls] == [{"a": 1}, {"a": 2}]
    assert len({call.id for call in read.tool_calls}) == 2


class Shade(StrEnum):
    DARK = "dark"


@dataclass
class Lamp:
    shade: Shade
    signature: bytes


def test_B75_objects_that_are_no_calls_become_what_they_say() -> None:
    message = ChatMessage(role="assistant", content="x", additional_kwargs={"tool_calls": [Lamp(Shade.DARK, b"\xff")]})
    [read] = from_llamaindex([message])
    assert read.tool_calls == ()
    assert to_llamaindex([read])[0].additional_kwargs == {"tool_calls": [{"shade": "dark", "signature": b"\xff"}]}


def test_B76_a_message_class_with_fields_of_its_own_is_refused_by_name() -> None:
    class Rated(ChatMessage):
        stars: int = 5

    with pytest.raises(SerializationError, match="stars"):
        from_llamaindex([Rated(role=MessageRole.USER)])


def test_B78_bytes_at_any_depth_come_back_as_bytes() -> None:
    signatures = {"thought_signatures": [b"\xff\x00", None], "deep": {"x": ({"y": b""},)}}
    thought = ThinkingBlock(content="hm", additional_information={"signature": b"\xfe"})
    call = ToolCallBlock(tool_call_id="c", tool_name="f", tool_kwargs={"blob": b"\xfd"})
    message = ChatMessage(role="assistant", blocks=[thought, call], additional_kwargs=signatures)
    replayed = through_storage(message)
    assert replayed == message


def test_B79_standard_types_come_back_as_themselves() -> None:
    extra = {
        "at": datetime(2026, 1, 2, tzinfo=UTC),
        "sum": Decimal("1.10"),
        "tags": {1},
        "n": float("inf"),
        "k": {1: 2},
        "where": Path("x"),
    }
    message = ChatMessage(role="user", content="x", additional_kwargs=extra)
    assert through_storage(message).additional_kwargs == extra


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize("value", [Colour.RED, defaultdict(int), object(), int])
def test_B79_what_has_no_faithful_form_is_refused_by_its_place(value: object) -> None:
    message = ChatMessage(role="user", content="x", additional_kwargs={"a": [0, {"b": value}]})
    with pytest.raises(SerializationError, match=r"additional_kwargs\['a'\]\[1\]\['b'\]"):
        from_llamaindex([message])


def test_B79_bytes_that_llamaindex_itself_cannot_write_are_refused() -> None:
    message = ChatMessage(role="user", blocks=[ImageBlock(url="https://example.com/a.png")])
    message.blocks[0].image = b"\xff\xfe"  # past validation, which makes base64 of it
    with pytest.raises(SerializationError, match="content block"):
        from_llamaindex([message])


def test_B79_a_value_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(SerializationError, match="contains itself"):
        from_llamaindex([ChatMessage(role="user", content="x", additional_kwargs={"a": loop})])


def test_what_is_no_chat_message_is_refused() -> None:
    with pytest.raises(InvalidInputError):
        from_llamaindex(["hello"])  # type: ignore[list-item]  # the point
    with pytest.raises(InvalidInputError):
        from_llamaindex(ChatMessage(role="user", content="x"))  # type: ignore[arg-type]  # the point


# --- everything else -------------------------------------------------------------------------------------------------

texts = st.text(max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
free = st.dictionaries(texts, json_values | st.binary(max_size=9), max_size=3)
addresses = st.sampled_from(["https://example.com", "https://example.com/a.png", "data:image/png;base64,QUJD"])
blocks = st.one_of(
    st.builds(TextBlock, text=texts),
    st.builds(ImageBlock, image=st.binary(min_size=1, max_size=30), detail=st.none() | texts),
    st.builds(ImageBlock, url=addresses),
    st.builds(AudioBlock, audio=st.binary(min_size=1, max_size=30), format=st.sampled_from([None, "wav", "mpeg"])),
    st.builds(VideoBlock, url=addresses, fps=st.none() | st.integers(0, 9)),
    st.builds(DocumentBlock, data=st.binary(min_size=1, max_size=30), title=st.none() | texts),
    st.builds(
        ThinkingBlock, content=st.none() | texts, num_tokens=st.none() | st.integers(), additional_information=free
    ),
    st.builds(ToolCallBlock, tool_call_id=st.none() | texts, tool_name=texts, tool_kwargs=free | texts),
    st.builds(CitableBlock, title=texts, source=texts, content=st.lists(st.builds(TextBlock, text=texts), max_size=2)),
    st.just(CachePoint(cache_control=CacheControl(type="ephemeral"))),
)
extras = st.fixed_dictionaries(
    {}, optional={"tool_call_id": texts, "name": texts, "x": json_values | st.binary(max_size=9)}
)
chat_messages = st.builds(
    ChatMessage, role=st.sampled_from(MessageRole), blocks=st.lists(blocks, max_size=4), additional_kwargs=extras
)


@given(message=chat_messages)
def test_any_message_comes_back_as_it_was(message: ChatMessage) -> None:
    replayed = through_storage(message)
    assert replayed == with_ids_of(message, replayed)
    assert json.dumps(through_storage(replayed).additional_kwargs, default=repr) == json.dumps(
        message.additional_kwargs, default=repr
    )


roles = st.sampled_from(["system", "developer", "user", "assistant", "tool"])
kinds = st.sampled_from(["text", "image", "audio", "video", "file", "reasoning", "refusal", "other"])
parts = st.builds(
    Part,
    kind=kinds,
    text=st.none() | texts,
    url=st.none() | texts | addresses,
    base64=st.none() | texts,
    file_id=st.none() | texts,
    mime_type=st.none() | texts,
    signature=st.none() | texts,
    data=st.none() | st.dictionaries(texts, json_values, max_size=2),
)
neutral_messages = st.builds(
    Message,
    role=roles,
    parts=st.lists(parts, max_size=3).map(tuple),
    tool_calls=st.lists(st.builds(ToolCall, id=texts, name=texts, arguments=texts), max_size=2).map(tuple),
    tool_call_id=st.none() | texts,
    name=st.none() | texts,
)


@given(message=neutral_messages)
def test_any_stored_message_can_be_written(message: Message) -> None:
    [written] = to_llamaindex([message])
    assert written.role.value == message.role
    assert through_storage(written) == written


# --- what a message is known again by --------------------------------------------------------------------------------


@given(
    role=st.sampled_from(["system", "developer", "user", "assistant", "tool"]),
    parts=st.lists(st.builds(Part, text=st.none() | st.text(max_size=9), kind=st.sampled_from(["text", "refusal"]))),
    name=st.none() | st.text(min_size=1, max_size=9),
    native=st.none() | st.builds(Native, framework=st.just("langchain"), data=st.just({"type": "human"})),
)
def test_a_message_is_known_by_the_json_it_is_handed_out_as(
    role: Any, parts: list[Part], name: str | None, native: Native | None
) -> None:
    answered = "c" if role == "tool" else None
    message = Message(role=role, parts=tuple(parts), name=name, native=native, tool_call_id=answered)
    [written] = to_llamaindex([message])
    assert canonical_json(message) == json.dumps(written.model_dump(mode="json"))
    [read] = from_llamaindex([written])
    assert canonical_json(read) == canonical_json(message)
