"""Planted values are gone, whatever carries them; marks stay marks, and JSON stays JSON."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wmem
from tests.redaction.held_out import HELD_OUT
from tests.redaction.look_alikes import LOOK_ALIKES
from tests.redaction.plants import PLANTS as TUNED
from tests.redaction.plants import Plant
from wmem.rules.redaction import REDACTION_KINDS

PLANTS = (*TUNED, *HELD_OUT)
ROOT = Path(__file__).parents[2]
_LEAST_PLANTS = 500
_LEAST_KINDS = 20
_LEAST_LOOK_ALIKES = 500


def is_left(plant: Plant, text: str) -> bool:
    """Whether a value is still in a text, however its parts are joined."""
    left = re.sub(r"\W", "", re.sub(r"\[REDACTED_\w+\]", "", text))
    return plant.value in text or re.sub(r"\W", "", plant.value) in left


def test_there_are_five_hundred_planted_values_of_twenty_kinds() -> None:
    assert len(TUNED) >= _LEAST_PLANTS
    assert len(HELD_OUT) >= _LEAST_PLANTS
    assert len({plant.kind for plant in PLANTS}) >= _LEAST_KINDS
    assert {plant.kind for plant in PLANTS} <= REDACTION_KINDS.keys()
    assert [
        plant for plant in PLANTS if plant.value not in plant.text and json.dumps(plant.value)[1:-1] not in plant.text
    ] == []


def test_no_planted_value_is_left() -> None:
    redaction = wmem.Redaction()
    assert [plant for plant in PLANTS if is_left(plant, redaction.redact(plant.text).text)] == []


def test_a_planted_value_has_the_mark_of_its_kind() -> None:
    redaction = wmem.Redaction()
    other = Counter(plant.kind for plant in PLANTS if plant.kind not in redaction.redact(plant.text).counts)
    assert other.total() <= len(PLANTS) // 100, other


def test_a_second_time_changes_nothing() -> None:
    for redaction in (wmem.Redaction(), wmem.Redaction(vault=wmem.MemoryVault(b"key"))):
        for plant in PLANTS:
            once = redaction.redact(plant.text).text
            assert redaction.redact(once).text == once


def test_a_vault_restores_every_text_as_it_was() -> None:
    redaction = wmem.Redaction(vault=wmem.MemoryVault())
    for plant in PLANTS:
        if not plant.text.startswith("{"):
            assert redaction.restore(redaction.redact(plant.text).text) == plant.text


@pytest.mark.parametrize("plant", [plant for plant in PLANTS if plant.text.startswith(("{", "["))][::5])
def test_a_json_text_stays_one(plant: Plant) -> None:
    before, after = json.loads(plant.text), json.loads(wmem.Redaction().redact(plant.text).text)
    assert type(before) is type(after)
    assert len(before) == len(after)


def test_of_five_hundred_look_alikes_no_more_than_one_in_a_hundred_is_touched() -> None:
    redaction = wmem.Redaction()
    touched = [text for text in LOOK_ALIKES if redaction.redact(text).text != text]
    assert len(LOOK_ALIKES) >= _LEAST_LOOK_ALIKES
    assert len(touched) <= len(LOOK_ALIKES) // 100, touched


_WITHOUT_STDNUM = """
import sys
sys.modules["stdnum"] = None
from tests.redaction.held_out import HELD_OUT
from tests.redaction.plants import PLANTS
from tests.redaction.test_plants import is_left
import wmem
redaction = wmem.Redaction()
print(sum(is_left(plant, redaction.redact(plant.text).text) for plant in (*PLANTS, *HELD_OUT)))
"""


@pytest.mark.slow
def test_without_the_library_of_numbers_nothing_is_found_less() -> None:
    run = subprocess.run(
        [sys.executable, "-c", _WITHOUT_STDNUM],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}/core:{ROOT}"},
        check=True,
    )
    assert run.stdout.strip() == "0"


@given(
    st.lists(
        st.sampled_from(
            [
                *(plant.text for plant in PLANTS[::9]),
                *LOOK_ALIKES[::9],
                " ",
                "\n",
                ": ",
                '"',
                ", ",
                "\u200b",
                "1",
                "is ",
            ]
        ),
        max_size=8,
    )
)
def test_whatever_stands_beside_what_a_second_time_changes_nothing(pieces: list[str]) -> None:
    redaction = wmem.Redaction()
    once = redaction.redact("".join(pieces))
    assert redaction.redact(once.text).text == once.text
    assert sum(once.counts.values()) >= len(re.findall(r"\[REDACTED_\w+\]", once.text))


@given(
    st.sampled_from([plant for plant in PLANTS if plant.kind in ("card", "iban", "email", "jwt", "github_token")]),
    st.data(),
)
def test_a_value_is_found_where_it_stands(plant: Plant, data: st.DataObject) -> None:
    if plant.value not in plant.text:
        return
    if plant.kind == "email" and not plant.value[0].isascii():
        return  # where words are not set apart, what stands before the ASCII letters may be a sentence
    unseen = data.draw(st.sampled_from(["", "\u200b", "\u00ad", "\u2060"]))
    at = data.draw(st.integers(1, len(plant.value) - 1))
    value = plant.value[:at] + unseen + plant.value[at:]
    text = "\u200e" + plant.text.replace(plant.value, value)
    spans = [span for span in wmem.Redaction().find(text) if span.kind == plant.kind]
    assert value.strip("\u200e\u200f") in text[spans[0].start : spans[-1].end]
    assert all(text[span.start].strip() and text[span.end - 1].strip() for span in spans)
