"""The recall bench reads its file, or says what it wants; what it counts is in the context."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.recall.conversations import conversations, where
from tests.bench.recall.run import Result, asked
from tests.bench.recall.systems import Fts5, Wmem

TALK: dict[str, Any] = {
    "sample_id": "one",
    "conversation": {
        "speaker_a": "Ada",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"dia_id": "D1:1", "speaker": "Ada", "text": "I adopted a parrot called Pirate."},
            {"dia_id": "D1:2", "speaker": "Ben", "text": "Lovely.", "blip_caption": "a green parrot"},
            *({"dia_id": f"D1:{n}", "speaker": "Ada", "text": f"Filler {n}. " * 20} for n in range(3, 40)),
        ],
    },
    "qa": [
        {"question": "What is the parrot called?", "answer": "Pirate", "category": 4, "evidence": ["D1:1"]},
        {"question": "Never said?", "category": 5, "evidence": ["D1:2"]},
    ],
}


def test_without_a_file_of_conversations_the_bench_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WMEM_LOCOMO", str(tmp_path / "absent.json"))
    with pytest.raises(SystemExit, match=r"no conversations at .*absent.json: set WMEM_LOCOMO"):
        where()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"a": 1}', "[1]", '[{"qa": []}]'])
def test_a_file_that_holds_no_conversation_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "odd.json").write_text(text)
    with pytest.raises(SystemExit, match=r"odd.json .*: set WMEM_LOCOMO"):
        conversations(tmp_path / "odd.json")


@pytest.mark.parametrize("system", [Wmem, Fts5])
def test_the_bench_finds_what_was_said_and_asks_what_has_an_answer(tmp_path: Path, system: Any) -> None:
    (tmp_path / "one.json").write_text(json.dumps([TALK]))
    [talk] = conversations(tmp_path / "one.json")
    assert [question.text for question in talk.questions] == ["What is the parrot called?"]
    assert talk.turns[1].text == "Lovely. [image: a green parrot]"
    memory, result = system(talk), Result("")
    asked(result, talk, memory)
    memory.close()
    assert result.recall(512) == 100
    assert (result.over, result.astray) == (0, 0)
