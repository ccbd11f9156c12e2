"""What of a message or item is redacted, and what stays as it is: what is signed, encoded, or refers to something."""

import base64
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from langchain_wmem._convert import from_langchain
from tests.matrix import examples
from tests.redaction.plants import PLANTS
from wmem import Message, Part, Redaction
from wmem.model.row import Row
from wmem.model.values import dump_json, dump_value, load_json, load_value
from wmem.scope.redaction import redact_message, redact_row, restore_quote

MAIL = "ada.lovelace@mail.example.org"
REDACTION = Redaction()
IMAGE = "data:image/png;base64," + base64.b64encode(f"{MAIL} 4929 1234 5678 9015".encode()).decode()


def redact(message: Message) -> Message:
    made, counts = redact_message(REDACTION, message)
    assert bool(counts) is (made != message)
    again, _ = redact_message(REDACTION, made)
    assert again == made, "marks are left as they are"
    return made


def test_signed_reasoning_stays_as_it_is_or_goes_with_its_signature() -> None:
    def think(text: str) -> Message:
        block = {"type": "thinking", "thinking": text, "signature": "c2lnbmF0dXJl" * 9}
        [message] = from_langchain([AIMessage(content=[block, {"type": "text", "text": "Done."}])])
        return message

    clean, telling = think("They ask for a mail."), think(f"They ask for a mail to {MAIL}.")
    assert clean.parts[0].signature
    assert redact(clean) == clean
    made = redact(telling)
    assert [part.kind for part in made.parts] == ["text"]
    assert MAIL not in made.model_dump_json()


def test_reasoning_without_a_signature_is_redacted() -> None:
    said = Message(role="assistant", parts=(Part(kind="reasoning", text=f"To {MAIL}?"), Part(text="Done.")))
    assert redact(said).parts[0].text == "To [REDACTED_EMAIL]?"


def test_media_stay_and_addresses_lose_their_secrets() -> None:
    parts = (
        Part(kind="image", url=IMAGE),
        Part(kind="image", base64=IMAGE, mime_type="image/png"),
        Part(kind="file", url="https://me:hunter22hunter@files.example.org/a.pdf"),
        Part(kind="other", data={"type": "card", "of": MAIL, "image": {"url": IMAGE}}),
    )
    made = redact(Message(role="user", parts=parts))
    assert made.parts[:2] == parts[:2]
    assert "hunter22hunter" not in str(made.parts[2].url)
    assert made.parts[3].data == {"type": "card", "of": "[REDACTED_EMAIL]", "image": {"url": IMAGE}}


def test_the_form_of_a_framework_is_redacted_with_the_message() -> None:
    said = AIMessage(
        content=f"I wrote to {MAIL}",
        tool_calls=[{"name": "send", "args": {"to": MAIL, "n": 2}, "id": "call_1"}],
        additional_kwargs={"note": {"to": [MAIL]}},
        response_metadata={"model": "m", "id": "chatcmpl-1"},
        id="a",
    )
    [message] = from_langchain([said])
    made = redact(message)
    assert MAIL not in made.model_dump_json()
    assert (made.tool_calls[0].id, made.tool_calls[0].args) == ("call_1", {"to": "[REDACTED_EMAIL]", "n": 2})


def test_what_a_row_refers_to_stays() -> None:
    rest = {
        "metadata": {"working_memory_id": MAIL, "working_memory_session": MAIL, "to": MAIL},
        "lineage_ids": [MAIL],
        "episode_id": MAIL,
        "origins": [{"path": [MAIL], "incarnation": 1, "id": MAIL, "to": ["x"]}],
        "sources": [{"scope": [MAIL], "messages": [MAIL], "quote": MAIL}],
        "relations": [{"type": "about", "target_id": MAIL, "metadata": {"to": MAIL}}],
    }
    row = Row(MAIL, dump_json("nothing"), 1.0, 2.0, type=MAIL, turn_id=MAIL, rest=dump_json(rest))
    made, counts = redact_row(REDACTION, row)
    mark = "[REDACTED_EMAIL]"
    assert load_json(made.rest or b"") == {
        **rest,
        "metadata": {"working_memory_id": MAIL, "working_memory_session": MAIL, "to": mark},
        "sources": [{"scope": [MAIL], "messages": [MAIL], "quote": mark}],
        "relations": [{"type": "about", "target_id": MAIL, "metadata": {"to": mark}}],
        "redaction_status": "partial",
    }
    assert made._replace(rest=None) == row._replace(rest=None)
    assert counts == {"email": 3}


def test_what_a_skill_refers_to_stays_though_it_reads_as_a_number() -> None:
    metadata = {"tools": ["pay"], "support": 3, "counted_until": 1795972660.5, "example": "x", "digest": "016585201005"}
    row = Row("i", dump_json("nothing"), 1.0, 2.0, type="skill", rest=dump_json({"metadata": metadata}))
    assert redact_row(REDACTION, row) == (row, {})


def test_a_key_says_what_its_value_is() -> None:
    row = Row("i", dump_value("correct-horse-7", key="k"), 1.0, 1.0, key="db_password")
    made, counts = redact_row(REDACTION, row)
    assert (load_value(made.content), counts) == ("[REDACTED_PASSWORD]", {"password": 1})


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
    | st.binary(max_size=20)
    | st.datetimes()
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.sampled_from(PLANTS).map(lambda plant: plant.text),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3) | st.tuples(inner, inner)
    ),
    max_leaves=6,
)


@given(value=VALUES)
@examples(2)
def test_any_value_reads_back_with_its_structure_and_again_changes_nothing(value: Any) -> None:
    row = Row("i", dump_value(value, key="k"), 1.0, 1.0, key="k")
    made, _ = redact_row(REDACTION, row)
    read = load_value(made.content)
    assert type(read) is type(value) or isinstance(value, int | float), "a number that is hidden becomes a text"
    assert redact_row(REDACTION, made)[0] == made


@given(plants=st.lists(st.sampled_from(PLANTS), min_size=1, max_size=3), data=st.data())
def test_a_quote_of_a_redacted_text_is_told_in_its_own_words_or_stays_redacted(
    plants: Any, data: st.DataObject
) -> None:
    text = " And then. ".join(plant.text for plant in plants)
    clean = REDACTION.redact(text).text
    begin = data.draw(st.integers(0, len(clean)))
    quote = clean[begin : data.draw(st.integers(begin, len(clean)))]
    told = restore_quote(REDACTION, text, clean, quote)
    assert told == quote or (told in text and REDACTION.redact(told).text == quote)


def test_arguments_that_are_json_stay_json() -> None:
    for plant in PLANTS:
        called = {"id": "c", "name": "save", "arguments": json.dumps({"text": plant.text, "n": 1})}
        made = redact_message(REDACTION, Message.model_validate({"role": "assistant", "tool_calls": [called]}))[0]
        assert made.tool_calls[0].args is not None
        assert made.tool_calls[0].args["n"] == 1
