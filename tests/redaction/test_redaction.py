"""What `Redaction` promises, whatever it finds."""

import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wmem
from wmem.rules.redaction import REDACTION_KINDS

if TYPE_CHECKING:
    from pydantic import JsonValue

CARD = "4929 1234 5678 9015"
MAIL = "fake.person@example.org"
TEXT = f"Write to {MAIL}, card {CARD}."


def test_a_value_is_hidden_behind_a_mark_with_its_kind() -> None:
    redacted = wmem.Redaction().redact(TEXT)
    assert redacted.text == "Write to [REDACTED_EMAIL], card [REDACTED_CARD]."
    assert (redacted.counts, redacted.status) == ({"email": 1, "card": 1}, "partial")


def test_the_status_says_whether_anything_else_is_left() -> None:
    redaction = wmem.Redaction()
    assert redaction.redact("nothing here").status == "none"
    assert redaction.redact(f" {MAIL}, {MAIL}!").status == "full"


def test_marks_are_left_as_they_are() -> None:
    redaction = wmem.Redaction()
    once = redaction.redact(TEXT)
    again = redaction.redact(once.text)
    assert (again.text, again.counts, again.status) == (once.text, {}, "partial")


def test_only_the_kinds_named_are_hidden() -> None:
    assert wmem.Redaction(kinds=frozenset({"email"})).redact(TEXT).counts == {"email": 1}
    assert wmem.Redaction.off().redact(TEXT).text == TEXT
    assert not wmem.Redaction.off().active


def test_an_unknown_kind_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(wmem.InvalidInputError, match=r"no such kinds: \['mail'\].*email"):
        wmem.Redaction(kinds=frozenset({"mail"}))
    with pytest.raises(wmem.InvalidInputError, match="takes several"):
        wmem.Redaction(kinds="email")  # type: ignore[arg-type]  # the mistake


@pytest.mark.parametrize(
    "options",
    [
        {"kinds": None},
        {"kinds": [3]},
        {"recognizers": str},
        {"recognizers": [3]},
        {"recognizers": "ab"},
        {"vault": {}},
        {"on_every_put": "yes"},
    ],
)
def test_what_is_no_option_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(wmem.InvalidInputError):
        wmem.Redaction(**options)
    with pytest.raises(wmem.InvalidInputError):
        wmem.Redaction.strict(**({"kinds": None} if "on_every_put" in options else options))


def test_the_key_of_a_vault_is_asked_for_only_when_something_is_hidden() -> None:
    class Remote(wmem.MemoryVault):
        @property
        def key(self) -> bytes:
            raise OSError("away")

    redaction = wmem.Redaction(vault=Remote())
    assert redaction.redact("nothing here").text == "nothing here"
    with pytest.raises(OSError, match="away"):
        redaction.redact(TEXT)


def test_what_is_no_text_and_no_json_is_refused() -> None:
    redaction: Any = wmem.Redaction(vault=wmem.MemoryVault())
    for text in (None, b"x", 3, ["x"]):
        for verb in (redaction.redact, redaction.find, redaction.restore):
            with pytest.raises(wmem.InvalidInputError):
                verb(text)
    for value in ({1, 2}, b"x", {"a": object()}):
        with pytest.raises(wmem.InvalidInputError):
            redaction.redact_json(value)


def test_strict_runs_on_every_put() -> None:
    assert wmem.Redaction.strict().on_every_put
    assert not wmem.Redaction().on_every_put


def test_arguments_of_a_tool_stay_valid_json_with_all_else_as_it_was() -> None:
    arguments = '{ "to":"_", "n": 1.10, "id":"call-1", "deep": [true, null, {"mail":"\\u00e9 _"}]}'.replace(
        "_", MAIL, 2
    )
    redacted = wmem.Redaction().redact(arguments)
    marked = arguments.replace(MAIL, "[REDACTED_EMAIL]")
    assert redacted.text == marked
    assert json.loads(redacted.text)["n"] == 1.1


def test_json_within_a_string_of_json_is_read() -> None:
    value: JsonValue = {"arguments": json.dumps({"body": json.dumps({"mail": f"\n{MAIL}"})}), "id": "x"}
    redacted, counts = wmem.Redaction().redact_json(value)
    assert isinstance(redacted, dict)
    assert json.loads(json.loads(str(redacted["arguments"]))["body"]) == {"mail": "\n[REDACTED_EMAIL]"}
    assert counts == {"email": 1}


def test_a_number_that_is_hidden_becomes_a_text() -> None:
    redacted, _ = wmem.Redaction().redact_json({"card_number": 4929123456789015, "n": 7, "x": 0.5, "y": True})
    assert redacted == {"card_number": "[REDACTED_CARD]", "n": 7, "x": 0.5, "y": True}


def test_names_of_fields_stay_unless_they_are_values_themselves() -> None:
    redacted, _ = wmem.Redaction().redact_json({"email": MAIL, MAIL: 1, f"b.{MAIL}": 2})
    assert redacted == {"email": "[REDACTED_EMAIL]", "[REDACTED_EMAIL]": 1, "[REDACTED_EMAIL] (2)": 2}


def test_the_value_that_is_handed_in_does_not_change() -> None:
    value: JsonValue = {"a": [MAIL]}
    wmem.Redaction().redact_json(value)
    assert value == {"a": [MAIL]}


def test_a_vault_gives_values_back() -> None:
    vault = wmem.MemoryVault(b"key")
    redaction = wmem.Redaction(vault=vault)
    redacted = redaction.redact(TEXT)
    assert MAIL not in redacted.text
    assert redacted.text != wmem.Redaction(vault=wmem.MemoryVault(b"other")).redact(TEXT).text
    assert redaction.restore(redacted.text) == TEXT
    assert redaction.redact(redacted.text).text == redacted.text
    unknown = "[REDACTED_EMAIL_0123456789abcdef]"
    assert redaction.restore(unknown) == unknown
    assert MAIL not in repr((vault, redaction))


def test_without_a_vault_nothing_can_be_restored() -> None:
    with pytest.raises(wmem.InvalidInputError, match="without a vault"):
        wmem.Redaction().restore("[REDACTED_EMAIL]")


def test_a_recognizer_finds_more_and_gets_a_text_without_what_was_found() -> None:
    seen: list[str] = []

    def names(text: str) -> Iterable[wmem.Span]:
        seen.append(text)
        return [wmem.Span(at, at + 3, "person") for at in range(len(text)) if text.startswith("Ada", at)]

    redacted = wmem.Redaction(recognizers=(names,)).redact(f"Ada, {MAIL}")
    assert redacted.text == "[REDACTED_PERSON], [REDACTED_EMAIL]"
    assert seen == ["Ada, [REDACTED_EMAIL]"]
    assert redacted.counts == {"person": 1, "email": 1}


@pytest.mark.parametrize(
    "broken",
    [
        lambda text: [wmem.Span(0, len(text) + 1, "person")],
        lambda text: [wmem.Span(0, 1, f"]{text}")],
        lambda text: [text],
        int,
    ],
)
def test_a_text_whose_recognizer_fails_is_held_back_whole(broken: object, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        redacted = wmem.Redaction(recognizers=(broken,)).redact("Ada lives here")  # type: ignore[arg-type]
    assert (redacted.text, redacted.counts, redacted.status) == ("[REDACTED_WITHHELD]", {"withheld": 1}, "full")
    assert "recognizer failed" in caplog.text
    assert "Ada" not in caplog.text


def test_every_kind_is_described() -> None:
    assert all(kind.finds and kind.validated and name == name.lower() for name, kind in REDACTION_KINDS.items())


@given(st.text())
def test_any_text_is_read_and_a_second_time_changes_nothing(text: str) -> None:
    redaction = wmem.Redaction()
    once = redaction.redact(text)
    assert redaction.redact(once.text).text == once.text
    assert (once.text == text) == (not once.counts)


def test_the_page_about_redaction_has_every_kind() -> None:
    page = (Path(__file__).parents[2] / "docs" / "redaction.md").read_text()
    rows = [f"| `{name}` | {kind.finds} | {kind.validated} |" for name, kind in sorted(REDACTION_KINDS.items())]
    assert "\n".join(rows) in page


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ('body={"ssn":123456789,"n":1} done', 'body={"ssn":"[REDACTED_NATIONAL_ID]","n":1} done'),
        (r'x="{\"pin\": 4821}"', r'x="{\"pin\": \"[REDACTED_PIN]\"}"'),
        (r'"line\nann@example.org"', r'"line\n[REDACTED_EMAIL]"'),
    ],
)
def test_json_within_a_sentence_stays_json(text: str, hidden: str) -> None:
    assert wmem.Redaction().redact(text).text == hidden


def test_a_number_that_is_an_id_stays() -> None:
    value: JsonValue = {"id": 4929123456789015, "order_id": "4929123456789015", "callId": "4929123456789015"}
    assert wmem.Redaction().redact_json(value) == (value, {})


def test_what_is_listed_after_a_label_is_hidden_to_the_end_of_the_list() -> None:
    redacted = wmem.Redaction().redact("phones: 58285215, 83172706 and 83172710; passwords are tiger77x and Tiger78x")
    assert redacted.counts == {"phone": 3, "password": 2}


def test_a_key_that_goes_on_in_the_next_line_is_hidden_whole() -> None:
    first, second = "gh" + "p_ab12CD34ef", "GH56ij78KL90mn12OP34qr56"
    assert (
        wmem.Redaction().redact(f"key:\n  {first}\n  {second}\nand more").text
        == "key:\n  [REDACTED_GITHUB_TOKEN]\nand more"
    )


@pytest.mark.parametrize("word", ["wrong", "expired", "required", "missing", "case sensitive", "too short", "not set"])
def test_what_is_said_of_a_password_is_no_password(word: str) -> None:
    text = f"The password is {word}."
    assert wmem.Redaction().redact(text).text == text
    assert wmem.Redaction().redact("My password is swordfish.").text == "My password is [REDACTED_PASSWORD]."
