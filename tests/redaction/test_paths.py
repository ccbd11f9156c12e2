"""What says beforehand that nothing is to be found is right: the short way gives what the long way does."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.matrix import examples
from tests.pattern_steps import attacks
from tests.properties.test_patterns import PATTERNS
from tests.redaction.fresh import make_plants
from tests.redaction.held_out import HELD_OUT
from tests.redaction.look_alikes import LOOK_ALIKES
from tests.redaction.plants import PLANTS
from tests.redaction.test_cost import HOSTILE
from wmem import Message, Redaction
from wmem.model.row import Row
from wmem.model.standing import StandingRequest
from wmem.model.values import dump_json, dump_model, load_json
from wmem.rules.redaction import finders
from wmem.rules.redaction.finders import find_spans, may_have_spans
from wmem.rules.redaction.json_values import collect_texts
from wmem.rules.redaction.labels.names import load_labels
from wmem.rules.redaction.reading import list_readings
from wmem.rules.redaction.redaction import leaves_alone
from wmem.rules.redaction.spans import Span
from wmem.scope.redaction import redact_row, rows

TEXTS = [*(plant.text for plant in (*PLANTS, *HELD_OUT, *make_plants(11), *make_plants(12))), *LOOK_ALIKES]
PIECES = [
    *TEXTS,
    *HOSTILE.values(),
    *load_labels().kinds,
    *("a1b2c3d4e5f6a7b8", "correct-horse-7", "4821", "Tr0ub4dor&3", "AbCdEfGhIjKl", "Basic YTpi", "12.3456, 7.8901"),
    *(" ", "\n", "\0", ": ", "=", '"', ", ", "(", ")", " is ", "-", "|", "\u200b", "１", "é", "?"),
]


def find_in_all(text: str) -> set[Span]:
    """What each finder finds, whatever is known beforehand."""
    return {
        Span(*reading.place(span.start, span.end), span.kind)
        for reading in list_readings(text)
        for _, find in finders.FINDERS
        for span in find(reading)
    }


def check_spans(text: str) -> None:
    spans = find_in_all(text)
    assert set(find_spans(text)) == spans
    assert may_have_spans(text) or not spans


def test_each_planted_value_is_found_the_short_way() -> None:
    for text in TEXTS:
        check_spans(text)


@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join))
@examples(2)
def test_the_short_way_finds_what_the_long_way_does(text: str) -> None:
    check_spans(text)


def _pumped() -> Iterator[str]:
    """Texts that are made of what the patterns of redaction match."""
    for name, pattern in PATTERNS.items():
        if name.startswith("wmem.rules.redaction"):
            for before, pump, after in attacks(pattern):
                yield before + pump * (16 // len(pump) + 1) + after


@pytest.mark.slow
def test_the_short_way_finds_what_the_long_way_does_in_what_the_patterns_match() -> None:
    for text in dict.fromkeys(_pumped()):
        check_spans(f"Then it said 1 {text}")


@given(st.lists(st.sampled_from(PIECES), max_size=5), st.sampled_from(TEXTS))
def test_what_a_text_has_is_seen_from_any_text_that_it_is_a_part_of(others: Sequence[str], text: str) -> None:
    assert may_have_spans("\0".join([*others, text, *others])) or not may_have_spans(text)


NAMES = st.sampled_from(
    [
        *load_labels().kinds,
        "dbPassword",
        "userPin",
        "card",
        "number",
        "id",
        "name",
        "value",
        "code",
        "text",
        "signature",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(PIECES) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(NAMES, inner, max_size=3)
        | inner.map(json.dumps)
        | inner.map(lambda value: f" {json.dumps(value, ensure_ascii=False)} ")
    ),
    max_leaves=5,
)


def redact_the_long_way(value: Any) -> Any:
    """A value without its secrets, by one that has a recognizer, which must see all texts."""
    return Redaction(recognizers=(lambda _: (),)).redact_json(value)


@given(VALUES)
@examples(2)
def test_a_value_that_is_left_alone_has_nothing_to_hide(value: Any) -> None:
    made, counts = redact_the_long_way(value)
    assert repr(Redaction().redact_json(value)) == repr((made, counts))
    assert not counts or not leaves_alone(Redaction(), value)


def test_what_is_no_json_is_not_left_alone() -> None:
    loop: list[Any] = []
    loop.append(loop)
    for value in (loop, {1: "a"}, {"a": object()}, {1, 2}, b"a"):
        assert not leaves_alone(Redaction(), value)
        assert not collect_texts(value, [])


FIELDS = st.dictionaries(NAMES, st.sampled_from(PIECES), max_size=2)
RESTS = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "metadata": FIELDS,
        "participants": st.lists(st.sampled_from(PIECES), max_size=2),
        "sources": st.lists(FIELDS, max_size=2),
        "relations": st.lists(st.fixed_dictionaries({"type": st.just("about"), "metadata": FIELDS}), max_size=2),
        "checksum": st.just("0123456789abcdef"),
    },
)
ITEMS = st.builds(
    lambda text, key, type_, tags, rest: Row("i", text, 1.0, 1.0, key, None, type_, tags=tags, rest=rest),
    st.sampled_from(PIECES).map(dump_json),
    st.none() | NAMES,
    st.sampled_from(["observation", "skill", "turn"]),
    st.lists(st.sampled_from(PIECES), max_size=2, unique=True).map(tuple),
    RESTS.map(lambda rest: None if rest is None else dump_json(rest)),
)


def _to_row(fields: dict[str, Any]) -> Row:
    message = Message.model_validate(fields)
    content = dump_model(message, exclude={"id", "turn_id", "created_at", "pinned"})
    return Row("m", content, 1.0, 1.0, role=message.role)


PARTS = st.fixed_dictionaries(
    {"text": st.sampled_from(PIECES)},
    optional={"url": st.sampled_from([*PIECES, "data:image/png;base64,AAAA"]), "data": FIELDS},
)
CALLS = st.fixed_dictionaries(
    {"id": st.just("call_0123456789abcdefghij"), "name": st.just("save")},
    optional={"arguments": FIELDS.map(json.dumps) | st.sampled_from(PIECES)},
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]), "parts": st.lists(PARTS, max_size=2)},
    optional={
        "name": st.sampled_from(PIECES),
        "metadata": FIELDS,
        "tool_calls": st.lists(CALLS, max_size=1),
        "native": st.fixed_dictionaries({"framework": st.just("f"), "data": VALUES}),
    },
)


@given(ITEMS | MESSAGES.map(_to_row), st.sampled_from(["", *PIECES]))
@examples(2)
def test_a_row_that_is_passed_on_is_what_reading_it_makes(row: Row, request: str) -> None:
    if request:
        row = row._replace(standing=(StandingRequest("always", request),) if row.role is not None else ())
    made, counts = redact_row(Redaction(), row)
    slow, told = redact_row(Redaction(recognizers=(lambda _: (),)), row)
    assert (made, dict(counts)) == (slow, dict(told))
    assert load_json(made.content) == load_json(slow.content)


def test_a_row_with_nothing_to_hide_is_passed_on_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("it is read")

    for name in ("redact_message_row", "redact_value", "dump_json", "_redact_fields"):
        monkeypatch.setattr(rows, name, refuse)
    said = _to_row({"role": "user", "parts": [{"text": "The 40th delivery comes on Tuesday."}], "name": "Ada"})
    plain = Row("i", dump_json("The 40th delivery."), 1.0, 1.0, tags=("delivery",), rest=b'{"metadata":{"to":"Ada"}}')
    entry = Row("e", dump_json({"text": "The 40th delivery", "number": 40}), 1.0, 1.0, key="delivery 40")
    for row in (said, plain, entry):
        assert redact_row(Redaction(), row)[0] is row
