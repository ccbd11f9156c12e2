"""The recall bench reads its files, or says what it wants; what it counts is in the context, and counted right."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.recall.conversations import conversations, where
from tests.bench.recall.derived import VARIANTS, cut_to_rarest, drop_words
from tests.bench.recall.evidence import Result, ask_all
from tests.bench.recall.precision import Case, Outcome
from tests.bench.recall.ranking import Ranking, ndcg, recall, to_figures
from tests.bench.recall.run import judge
from tests.bench.recall.systems import Answer, ExchangeBm25, Fts5, Wmem
from tests.bench.recall.talks import Question, Score, Talk, ask

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
    assert [question.text for question in talk.adversarial] == ["Never said?"]
    assert talk.turns[1].text == "Lovely. [image: a green parrot]"
    memory, result = system(talk), Result("")
    ask_all(result, talk, memory, [512])
    memory.close()
    assert result.recall(512) == 100
    assert (result.over, result.astray) == (0, 0)


SESSION = Talk(
    "a-1",
    "a",
    [
        {"id": "1", "role": "user", "content": "Which flight is 4WQ150 on?", "thread_id": "t", "created_at": 0},
        {
            "id": "2",
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "look_up", "arguments": '{"id": 4}'}}],
            "thread_id": "t",
            "created_at": 1,
        },
        {"id": "3", "role": "tool", "tool_call_id": "c", "content": "HAT001", "thread_id": "t", "created_at": 2},
        {"id": "4", "role": "assistant", "content": "It is on HAT001.", "thread_id": "t", "created_at": 3},
        {"id": "5", "role": "user", "content": "Thanks a lot", "thread_id": "t", "created_at": 4},
        {"id": "6", "role": "assistant", "content": "It is  on HAT001.", "thread_id": "t", "created_at": 5},
    ],
    [Question("Which flight?", "asked again", ("HAT001", "look_up"), ("4", "5"))],
)


class Fixed:
    """A memory that holds what it was made with, whatever is asked."""

    name, add_s, asks = "fixed", 0.0, True

    def __init__(self, *ids: str) -> None:
        self._answer = Answer(frozenset(ids), 2_000)

    def context(self, question: str, budget: int) -> Answer:
        del question, budget
        return self._answer

    def close(self) -> None: ...


@pytest.mark.parametrize(
    ("ids", "share"),
    [
        ((), 0),
        (("4",), 1 / 3),  # a needle is missing
        (("6",), 1 / 3),  # a copy is as good as the message
        (("2", "3"), 1 / 3),  # needles may lie apart, and one in a call
        (("2", "5", "6"), 1),
    ],
)
def test_a_question_scores_the_share_of_its_conditions_and_a_copy_is_as_good(
    ids: tuple[str, ...], share: float
) -> None:
    score = Score("")
    ask(SESSION, Fixed(*ids), score, [1_024])
    assert score.mean(1_024, "a") == pytest.approx(100 * share)
    assert score.over == 1


def test_a_family_scores_the_mean_of_its_talks_and_a_kind_that_of_its_questions() -> None:
    shares = {(512, "a", "x", "a-1"): [1.0], (512, "a", "x", "a-2"): [0.0, 0.0, 0.0], (512, "b", "x", "b"): [0.0]}
    score = Score("")
    score.shares.update(shares)
    assert score.mean(512, "a") == 50
    assert score.mean(512, "a", "x") == 25


@pytest.mark.parametrize("system", [ExchangeBm25, Wmem])
def test_a_talk_with_tools_is_remembered_by_every_system(system: Any) -> None:
    memory = system(SESSION)
    assert {"1", "2", "3", "4"} <= memory.context("Which flight is 4WQ150 on?", 1_024).ids
    memory.close()


def test_what_is_derived_of_a_talk_is_the_same_at_every_run() -> None:
    flat, half, again = (VARIANTS[name](SESSION) for name in ("flat", "half", "again"))
    assert [each["content"] for each in flat.messages[1:3]] == ['look_up {"id": 4}', "HAT001"]
    assert {each["role"] for each in flat.messages} == {"user", "assistant"}
    assert [each.family for each in (flat, half, again)] == ["a-flat", "a-half", "a-again"]
    assert len(half.questions[0].text.split()) == 1
    assert {each.evidence for each in again.questions} == {("2",), ("6",)}
    assert VARIANTS["again"](SESSION) == again


def test_words_are_dropped_in_order_and_the_rarest_are_those_that_were_said() -> None:
    assert set(drop_words("one two three four", 0.5).split()) < {"one", "two", "three", "four"}
    assert drop_words("一二三四", 0.5) in {"一二", "三四"}
    assert cut_to_rarest("When did Mary buy the green parrot?", {"mari": 3, "parrot": 1, "green": 2}) == "green parrot?"


def test_ndcg_and_recall_are_those_of_the_textbook() -> None:
    ranked = ["a", "x", "b", *"0123456789", "c"]
    assert ndcg(ranked, {"a", "b", "c"}) == pytest.approx((1 + 1 / 2) / (1 + 0.6309297536 + 1 / 2))
    assert recall(ranked, {"a", "b", "c"}) == pytest.approx(2 / 3)
    assert (ndcg([], {"a"}), recall([], {"a"})) == (0, 0)
    assert ndcg(["a"], {"a", *"0123456789b"}, at=1) == 1


def test_a_ranking_is_the_mean_of_its_categories() -> None:
    ranking = Ranking("", {4: [1.0, 1.0, 0.0], 5: [0.0]}, {4: [1.0], 5: [0.5]})
    assert ranking.mean() == pytest.approx((100 / 3, 75))
    both = Ranking.join("", [ranking, ranking])
    assert (both.mean(), len(both.ndcg[4])) == (ranking.mean(), 6)
    assert to_figures(ranking, "a")["a, adversarial recall@10"] == 50


def test_precision_is_of_cases_that_find_and_recall_of_cases_that_want() -> None:
    cases = [Case("q", "d", frozenset(each)) for each in ("ab", "", "", "c")]
    outcome = Outcome.of(cases, ["abx", "", "p", ""], {"p"})
    assert outcome.precision == pytest.approx(1 / 3)
    assert (outcome.recall, outcome.passed, outcome.cases) == (0.5, 2, 4)


def test_the_verdict_names_what_is_missed() -> None:
    lines, held = judge({"tau at 1,024": 89.9, "tau at 4,096": 99, "unknown": 0, "tau, contexts above their budget": 0})
    assert [line.split()[0] for line in lines] == ["MISSED", "held", "held"]
    assert not held
