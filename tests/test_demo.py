"""What `make demo` promises, on the conversation that wmem ships."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain")
pytest.importorskip("llama_index.core")
pytest.importorskip("rich")

import wmem
from wmem.tokens.counter import default_counter

COOKBOOK = Path(__file__).resolve().parents[1] / "cookbook"
WIDTH = 100

pytestmark = pytest.mark.slow


class Run:
    """One run of the demo: what it printed, what it stored, and its own account in numbers."""

    def __init__(self, directory: Path) -> None:
        hidden = ("OPENAI_API_KEY", "WMEM_LOCOMO", "COLUMNS")
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        self.directory = directory
        self.ended = subprocess.run(
            [sys.executable, str(COOKBOOK / "demo.py"), "--sample"],
            env={**environment, "WMEM_DEMO_DIR": str(directory), "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        self.printed = self.ended.stdout

    @property
    def report(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads((self.directory / "report.json").read_text(encoding="utf-8"))
        return report

    @property
    def answers(self) -> list[dict[str, Any]]:
        answers: list[dict[str, Any]] = self.report["answers"]
        return answers


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def sample() -> dict[str, Any]:
    sample: dict[str, Any] = json.loads((COOKBOOK / "sample_conversation.json").read_text(encoding="utf-8"))[0]
    return sample


@pytest.fixture(scope="module")
def turns(sample: dict[str, Any]) -> list[dict[str, str]]:
    return [turn for said in sample["conversation"].values() if isinstance(said, list) for turn in said]


def test_the_sample_is_a_long_conversation_in_the_format_it_stands_in_for(
    sample: dict[str, Any], turns: list[dict[str, str]]
) -> None:
    ids = [turn["dia_id"] for turn in turns]
    assert len(turns) >= 150
    assert len(ids) == len(set(ids))
    assert {turn["speaker"] for turn in turns} == {sample["conversation"][f"speaker_{side}"] for side in "ab"}
    assert all(set(question["evidence"]) <= set(ids) for question in sample["qa"])


def test_the_demo_ends_well_and_says_nothing_on_the_error_stream(run: Run) -> None:
    assert (run.ended.returncode, run.ended.stderr) == (0, "")


def test_every_turn_is_stored_once_under_its_speaker_and_date(run: Run, turns: list[dict[str, str]]) -> None:
    with wmem.open(f"disk://{run.directory / 'memory'}", agent_id="friend") as memory:
        stored = memory.scope("years-of-chat").messages.all()
    said = stored[: len(turns)]
    assert [(each.id, each.name, each.text) for each in said] == [
        (turn["dia_id"], turn["speaker"], turn["text"]) for turn in turns
    ]
    assert max(Counter(each.id for each in stored).values()) == 1
    assert len(stored) == len(turns) + 2 * len(run.answers), "the questions and their answers came on top"


def test_no_prompt_exceeds_its_budget(run: Run) -> None:
    assert len(run.answers) >= 3
    for answer in run.answers:
        assert answer["tokens"] <= answer["budget"]
        assert sum(default_counter()(text) for _, text in answer["prompt"]) <= answer["tokens"], (
            "the count is no undercount"
        )


def test_the_budget_is_far_smaller_than_the_history(run: Run, turns: list[dict[str, str]]) -> None:
    history = sum(default_counter()(turn["text"]) for turn in turns)
    assert all(4 * answer["budget"] < history for answer in run.answers)


def test_wmem_keeps_more_of_the_evidence_than_the_default_memories(run: Run) -> None:
    asked = {name: sum(len(each[name]) for each in run.answers) for name in ("kept", "default_kept", "buffer_kept")}
    assert asked["kept"] > max(asked["default_kept"], asked["buffer_kept"])
    early = run.report["early"]["kept"]
    assert early["wmem"] > max(early["default"], early["buffer"])


def test_what_counts_as_kept_stands_in_the_prompt(run: Run) -> None:
    for answer in run.answers:
        whole = " ".join(text for _, text in answer["prompt"])
        assert all(turn["text"] in whole for turn in answer["kept"])


def test_answers_quote_the_prompt_they_were_given(run: Run) -> None:
    for answer in run.answers:
        for prompt, said in (("prompt", "answer"), ("default_prompt", "default_answer")):
            quote = answer[said].removeprefix("[quoted] ").rpartition(": ")[2]
            assert quote == "nothing in my prompt speaks of that" or any(quote in text for _, text in answer[prompt])


def test_the_output_says_what_is_not_real(run: Run) -> None:
    assert "a sample that wmem ships, invented for this demo" in run.printed
    assert "the numbers show how wmem works, not how well" in run.printed
    assert "the replies are the recorded ones" in run.printed
    assert "extractive stand-in (no OPENAI_API_KEY" in run.printed


def test_the_output_fits_a_hundred_columns_without_a_terminal(run: Run) -> None:
    assert max(map(len, run.printed.splitlines())) <= WIDTH
    assert "\x1b" not in run.printed


def test_a_tools_fact_and_the_assistants_are_quoted_and_where_nothing_is_known_nothing(run: Run) -> None:
    _, tool, assistant, nothing = re.split(r"What is the code|Which tea did|Which day is", run.printed)
    assert '"locker_code": "7731"' in tool
    assert "> assistant: Rooibos with vanilla: no caffeine at all." in assistant
    assert "(no note: nothing stored bears on the question)" in nothing
    assert "below the floor" in nothing


def test_what_monday_kept_answers_tuesday_and_nobody_else_and_its_prompt_is_replayed(run: Run) -> None:
    monday, ada, bob = re.split(r"Ada +What is|Bob +What is", run.printed)
    assert "Remembered, as " in monday
    assert "by hand, to users/ada" in monday
    assert "> Ada's dog Biscuit is allergic to chicken." in ada
    assert "tokens of friend/users/ada/~semantic" in ada
    assert "(no note: nothing that this user has bears on the question)" in bob
    [receipt] = re.findall(r"receipt +(\S+) of Ada's prompt", bob)
    assert "from what is stored: the same prompt, byte for byte" in bob
    with wmem.open(f"disk://{run.directory / 'memory'}", agent_id="friend") as memory:
        again = memory.replay(receipt).context
        assert again is not None
        assert "allergic to chicken" in again.note
        assert not any("Biscuit is" in hit.text for hit in memory.scope("tuesday-of-bob").recall("Biscuit is allergic"))
