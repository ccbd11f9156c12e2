"""What recall reads of a message without the model is what the model would read."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.matrix import examples
from wmem.analysis.query_intent import detect_speaker, mentions_time
from wmem.errors import CorruptionError
from wmem.model.item import to_message
from wmem.model.message import Message
from wmem.model.part import Part, ToolCall
from wmem.model.row import Row
from wmem.model.row_text import Wording, message_text, read_wording
from wmem.model.values import dump_json

TEXTS = st.text(max_size=40) | st.sampled_from(["", '"kind":"image"', '"tool_calls":', "Ann: hi", "\ud800 alone"])
PARTS = st.builds(Part, text=TEXTS) | st.builds(
    Part, kind=st.sampled_from(["reasoning", "file"]), text=TEXTS, data=st.just({"filename": "plan.pdf"})
)
MESSAGES = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "system"]),
    parts=st.lists(PARTS, max_size=3).map(tuple),
    tool_calls=st.lists(
        st.builds(ToolCall, id=st.just("c1"), name=st.just("find"), arguments=st.just('{"text":"x"}')), max_size=1
    ).map(tuple),
    name=st.none() | st.sampled_from(["Ann", "Bob Lee"]),
    thread_id=st.none() | st.just("t1"),
    metadata=st.sampled_from([{}, {"kind": "x"}, {"text": "y"}]),
)


def to_row(content: bytes) -> Row:
    return Row("m1", content, 0.0, 0.0, role="user")


@given(message=MESSAGES)
@examples(0.5)
def test_a_message_reads_the_same_with_and_without_the_model(message: Message) -> None:
    content = dump_json(message.model_dump(exclude_defaults=True, exclude={"id"}))
    read = to_message(to_row(content))
    assert read_wording(to_row(content)) == Wording(
        message_text(read), read.text, read.name, read.thread_id, has_calls=bool(read.tool_calls)
    )


@pytest.mark.parametrize("content", [b'{"role":"user","parts":[{"text":3}]}', b'{"parts":[7]}', b"["])
def test_what_is_no_message_is_damage_to_both(content: bytes) -> None:
    with pytest.raises(CorruptionError):
        read_wording(to_row(content))


TIME = re.compile(r"\b(?:days?|may|(?:19|20)\d\d|mañana|год)\b|昨天")
WORDS = ["day", "days", "daylight", "May", "mayor", "1999", "20245", "mañana", "год", "昨天", "_", "-", " ", "x", ":"]


@given(text=st.lists(st.sampled_from(WORDS)).map("".join))
@examples(0.5)
def test_a_time_is_a_whole_word(text: str) -> None:
    assert mentions_time(text) == (TIME.search(text.casefold()) is not None)


@given(text=st.lists(st.sampled_from(["Ann", "Bob", ":", " ", "[8 am]", "said", "\n"])).map("".join))
@examples(0.5)
def test_a_speaker_stands_before_a_colon(text: str) -> None:
    assert (detect_speaker(None, text) is None) or ": " in text
