"""What is sent is what is charged: reasoning, blocks that nobody knows, media."""

import base64
import json
import random
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.charging import rendered_tokens
from tests.conformance.conftest import Call, MemoryOpener
from wmem import Message, Scope
from wmem.errors import InvalidInputError
from wmem.tokens.counter import default_counter, message_tokens
from wmem.types import Reasoning

COUNT = default_counter()
WORDS = ("gauge", "valve", "pump", "spring", "reads low", "because", "again", "then", "look at")
TOOLS: Reasoning = "tools"
FLIGHT: Reasoning = "in-flight"
ALL: Reasoning = "all"
NONE: Reasoning = "none"


@pytest.fixture
def session(open_memory: MemoryOpener) -> Scope:
    """A session that counts exactly."""
    return open_memory(counter=COUNT).scope("session")


def thought(tokens: int, seed: int = 1) -> str:
    dealt = random.Random(seed)
    return " ".join(dealt.choice(WORDS) for _ in range(tokens))


def called(id: str, **fields: Any) -> dict[str, Any]:
    call = {"id": id, "type": "function", "function": {"name": "look", "arguments": '{"q":"x"}'}}
    return {"role": "assistant", "content": None, "tool_calls": [call], **fields}


def result(id: str, text: str = "low") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": text}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


SIGNED = {"type": "thinking", "thinking": "It may be the gauge.\nOr not.", "signature": "EqQB/+==" * 20}
FORMS: Mapping[str, dict[str, Any]] = {
    "DeepSeek's key": {"reasoning_content": "It may be the gauge."},
    "OpenRouter's keys": {
        "reasoning": "It may be the gauge.",
        "reasoning_details": [
            {"type": "reasoning.text", "text": "It may be the gauge.", "signature": None, "format": "x", "index": 0},
            {"type": "reasoning.encrypted", "data": "gAAAA" * 30, "index": 1},
        ],
    },
    "LiteLLM's keys": {"reasoning_content": "It may.", "thinking_blocks": [SIGNED]},
    "signed blocks": {"content": [SIGNED, {"type": "text", "text": "I look."}]},
    "sealed blocks": {"content": [{"type": "redacted_thinking", "data": "EmwKAhgB" * 20}]},
    "blocks with more": {"content": [{"type": "thinking", "thinking": "Hm.", "signature": "Eq", "index": 0}]},
    "unsigned blocks": {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]},
    "OpenAI's items": {"content": [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gA"}]},
    "Bedrock's blocks": {"content": [{"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "E"}}}]},
}


def append(session: Scope, call: Call, *messages: Mapping[str, Any]) -> None:
    for message in messages:
        call(session.messages.append, message)


@pytest.mark.parametrize("form", FORMS)
def test_b130_reasoning_of_a_call_goes_back_to_where_it_came_from(session: Scope, call: Call, form: str) -> None:
    asked = called("c1", **FORMS[form])
    append(session, call, user("Which part?"), asked, result("c1"))
    settings: Sequence[Reasoning] = (TOOLS, FLIGHT, ALL)
    for setting in settings:
        context = call(session.pack, budget=4_000, reasoning=setting)
        assert json.dumps(context.to_openai()[1], sort_keys=True) == json.dumps(asked, sort_keys=True)
        assert context.tokens == 3 + sum(message_tokens(each, COUNT) for each in context.messages)


@pytest.mark.parametrize("form", FORMS)
def test_b130_reasoning_that_is_not_sent_costs_nothing(session: Scope, call: Call, form: str) -> None:
    append(session, call, user("Which part?"), called("c1", **FORMS[form]), result("c1"))
    context = call(session.pack, budget=4_000, reasoning=NONE)
    sent = context.to_openai()[1]
    assert not any(part.kind == "reasoning" for each in context.messages for part in each.parts)
    assert not {"reasoning", "reasoning_content", "reasoning_details", "thinking_blocks"} & sent.keys()
    assert context.tokens == 3 + sum(message_tokens(each, COUNT) for each in context.messages)


def test_b130_reasoning_of_answers_in_the_past_leaves_its_room_to_messages(session: Scope, call: Call) -> None:
    for turn in range(20):
        answer = {"role": "assistant", "content": f"answer {turn}", "reasoning_content": thought(1_000, turn)}
        append(session, call, user(f"question {turn}"), answer)
    append(session, call, user("And now?"))
    context = call(session.pack, budget=8_000)
    assert len(context.messages) == 41
    assert context.tokens < 41 * 12
    settings: Sequence[Reasoning] = (NONE, FLIGHT, TOOLS, ALL)
    held = {setting: call(session.pack, budget=8_000, reasoning=setting) for setting in settings}
    assert [len(held[each].messages) for each in settings[:3]] == [41] * 3
    assert held[ALL].tokens > 7_000
    for context in held.values():
        assert 0.98 <= context.tokens / rendered_tokens(context.to_openai(), COUNT) <= 1.25


def test_b130_old_calls_keep_their_reasoning_where_asked(session: Scope, call: Call) -> None:
    append(session, call, user("One?"), called("c1", reasoning_content="first"), result("c1"))
    append(session, call, user("Two?"), called("c2", reasoning_content="second"), result("c2"))

    def reasoning(setting: Reasoning) -> list[str]:
        sent = call(session.pack, budget=4_000, reasoning=setting).to_openai()
        return [message["reasoning_content"] for message in sent if "reasoning_content" in message]

    assert reasoning(TOOLS) == ["first", "second"]
    assert reasoning(FLIGHT) == ["second"]
    assert reasoning(ALL) == ["first", "second"]
    assert reasoning(NONE) == []


def test_b130_a_call_that_another_user_overtook_is_in_flight(session: Scope, call: Call) -> None:
    append(session, call, user("One?"), called("c1", reasoning_content="first"), user("Two?"), result("c1"))
    context = call(session.pack, budget=4_000, reasoning=FLIGHT)
    assert [message.get("reasoning_content") for message in context.to_openai()].count("first") == 1


def test_a_recalled_message_does_not_bring_back_reasoning_that_is_not_sent(session: Scope, call: Call) -> None:
    append(session, call, user("Which valve?"))
    append(session, call, {"role": "assistant", "content": "The copper valve.", "reasoning_content": thought(300)})
    append(session, call, user("Thanks."))
    context = call(session.pack, "copper valve", budget=2_000)
    assert context.tokens == 3 + sum(message_tokens(each, COUNT) for each in context.prompt())
    assert "gauge" not in json.dumps(context.to_openai())


def test_an_unknown_setting_of_reasoning_is_refused(session: Scope, call: Call) -> None:
    with pytest.raises(InvalidInputError, match="in-flight"):
        call(session.pack, budget=100, reasoning="always")  # type: ignore[arg-type]  # what is tested


def test_b136_json_without_blanks_in_an_unknown_block_counts_as_it_is_sent(session: Scope, call: Call) -> None:
    table = json.dumps([{"id": n, "at": f"a{n}"} for n in range(900)], separators=(",", ":"))
    assert " " not in table
    assert COUNT(table) > 8_000
    block = {"type": "custom_table", "rows": table}
    append(session, call, user("hello"), {"role": "assistant", "content": [block]}, user("and now?"))
    whole = call(session.pack, budget=40_000)
    assert 0.98 <= whole.tokens / COUNT(json.dumps(whole.to_openai(), ensure_ascii=False)) <= 1.25
    small = call(session.pack, budget=500)
    assert COUNT(json.dumps(small.to_openai(), ensure_ascii=False)) <= 520


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + bytes(20)


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(20)


def jpeg(width: int, height: int) -> bytes:
    exif = b"\xff\xe1" + struct.pack(">H", 60_002) + bytes(60_000)
    return b"\xff\xd8" + exif + b"\xff\xc0" + struct.pack(">HBHHB", 17, 8, height, width, 3) + bytes(20)


def webp(width: int, height: int) -> bytes:
    return b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")


def webp_lossless(width: int, height: int) -> bytes:
    bits = (width - 1) | (height - 1) << 14
    return b"RIFF\0\0\0\0WEBPVP8L" + bytes(4) + b"\x2f" + bits.to_bytes(4, "little") + bytes(9)


def webp_lossy(width: int, height: int) -> bytes:
    return b"RIFF\0\0\0\0WEBPVP8 " + bytes(7) + b"\x9d\x01\x2a" + struct.pack("<HH", width, height) + bytes(9)


def cost(block: Mapping[str, Any]) -> int:
    return message_tokens(Message.from_openai({"role": "user", "content": [block]}), COUNT)


def picture(content: bytes, kind: str = "png") -> dict[str, Any]:
    url = f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


@pytest.mark.parametrize("make", [png, gif, jpeg, webp, webp_lossless, webp_lossy])
def test_b147_a_picture_costs_what_its_size_does(make: Any) -> None:
    costs = [cost(picture(make(side, side))) for side in (32, 512, 700, 4_000)]
    assert costs == sorted(costs)
    assert costs[0] < 270
    assert costs[-1] == cost({"type": "image_url", "image_url": {"url": "https://example.org/a"}})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff",
        b"\xff\xd8" + b"\xff\xe1\0\0" * 5,
        b"GIF89a",
        b"RIFF\0\0\0\0WEBPVP8X",
        png(0, 9),
    ],
)
def test_b147_a_picture_without_a_readable_size_costs_the_estimate(content: bytes) -> None:
    whole = cost({"type": "image_url", "image_url": {"url": "https://example.org/a"}})
    assert cost(picture(content + b"?")) == whole


@pytest.mark.parametrize("kind", ["text/plain", "text/csv; charset=utf-8", "application/json", "application/ld+json"])
def test_b147_a_document_of_text_costs_its_text(kind: str) -> None:
    text = "the valve reads low, " * 3_000
    url = f"data:{kind};base64,{base64.b64encode(text.encode()).decode()}"
    file = cost({"type": "file", "file": {"filename": "a.txt", "file_data": url}})
    assert COUNT(text) <= file <= COUNT(text) + 30
    assert (
        cost({"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}}) > 4_000
    )


BYTES = base64.b64encode(random.Random(4).randbytes(90_000)).decode()
UNKNOWN_MEDIA: Sequence[tuple[dict[str, Any], int]] = [
    (
        {
            "type": "tool_result",
            "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/x", "data": BYTES}}],
        },
        1_600,
    ),
    ({"inline_data": {"mime_type": "application/pdf", "data": BYTES}}, 4_000),
    ({"image": {"format": "png", "source": {"bytes": BYTES}}}, 1_600),
    ({"type": "resource", "resource": {"uri": "a://b", "mimeType": "video/mp4", "blob": BYTES}}, 8_000),
    ({"type": "custom", "preview": f"data:image/x;base64,{BYTES}"}, 1_600),
    ({"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}}, 4_000),
    ({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "low " * 5_000}}, 5_000),
]


@pytest.mark.parametrize(("block", "tokens"), UNKNOWN_MEDIA)
def test_b136_media_in_an_unknown_block_costs_its_estimate(block: dict[str, Any], tokens: int) -> None:
    assert tokens <= cost(block) <= tokens + 60


def test_b136_bytes_of_no_known_kind_count_as_they_are_sent() -> None:
    block = {"type": "custom", "payload": [{"blob": BYTES, "size": 90_000}]}
    assert cost(block) >= COUNT(BYTES)


def test_b147_what_a_kind_of_media_costs_can_be_set(open_memory: MemoryOpener, call: Call) -> None:
    session = open_memory(counter=COUNT, media_tokens={"image": 300, "file": 20_000}).scope("session")
    append(session, call, {"role": "user", "content": [picture(b"?")]})
    append(session, call, {"role": "user", "content": [picture(png(40, 40))]})
    assert sorted(unit.tokens for unit in call(session.pack, budget=9_000).included) == [264, 306]
    pdf = {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA"}}
    append(session, call, {"role": "user", "content": [pdf]})
    assert call(session.pack, budget=40_000).tokens > 20_000
    others = open_memory(counter=COUNT).scope("session")
    assert call(others.pack, budget=40_000).tokens < 7_000, "counts of other estimates are not taken over"


@pytest.mark.parametrize("wrong", [{"picture": 1}, {"image": -1}, {"image": 1.5}, ["image"]])
def test_b147_an_estimate_of_no_kind_or_size_is_refused(open_memory: MemoryOpener, wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="media_tokens"):
        open_memory(media_tokens=wrong)


def test_b147_an_attachment_that_is_cut_out_of_the_newest_message_is_told(session: Scope, call: Call) -> None:
    pdf = {"type": "file", "file": {"filename": "plan.pdf", "file_data": "data:application/pdf;base64,AAAA"}}
    block = {"type": "custom", "rows": "1,2;" * 3_000}
    small = picture(png(40, 40))
    text = {"type": "text", "text": "What is on these? " * 20}
    append(session, call, {"role": "user", "content": [text, small, pdf, block]})
    whole = call(session.pack, budget=20_000)
    assert whole.warnings == ()
    context = call(session.pack, budget=1_000)
    assert [part.kind for part in context.messages[0].parts] == ["text", "image"]
    assert "file, other among them" in context.messages[0].text
    assert len(context.warnings) == 2
    assert "the file 'plan.pdf' of the user message" in context.warnings[0]
    assert "the block 'custom'" in context.warnings[1]
    assert rendered_tokens(context.to_openai(), COUNT) - 1_600 + 258 <= context.tokens <= 1_000


def test_b147_a_result_with_a_picture_in_flight_is_told_when_it_is_cut(session: Scope, call: Call) -> None:
    shot = {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "low"}, picture(b"?")]}
    append(session, call, user("Which part?"), called("c1"), shot)
    context = call(session.pack, budget=600)
    assert len(context.messages) == 3
    assert any("the image of the tool message" in warning for warning in context.warnings)
