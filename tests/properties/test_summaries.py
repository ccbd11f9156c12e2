"""Extractive summaries keep what is asked for later: golden tasks, beside what a plain choice of sentences keeps."""

import random
from collections.abc import Callable, Sequence

import pytest

import wmem
from tests.summaries.golden import FILES, Task, read_tasks
from wmem.analysis.sentences import split_sentences
from wmem.analysis.summarize import DEFAULT_RATIO, WeightedText, extract
from wmem.tokens.counter import default_counter

COUNT = default_counter()
TASKS = {name: read_tasks(name) for name in FILES}


def summarize(texts: Sequence[str], limit: int) -> str:
    return extract([WeightedText(text, 1.0) for text in texts], limit, COUNT).text


def take_first(texts: Sequence[str], limit: int) -> str:
    return _take(list(enumerate(sentence for text in texts for sentence in split_sentences(text))), limit)


def take_last(texts: Sequence[str], limit: int) -> str:
    return _take(list(enumerate(sentence for text in texts for sentence in split_sentences(text)))[::-1], limit)


def take_any(texts: Sequence[str], limit: int) -> str:
    sentences = list(enumerate(sentence for text in texts for sentence in split_sentences(text)))
    random.Random(7).shuffle(sentences)
    return _take(sentences, limit)


def _take(sentences: Sequence[tuple[int, str]], limit: int) -> str:
    chosen = []
    for place, sentence in sentences:
        if (tokens := COUNT(sentence) + 1) <= limit:
            chosen.append((place, sentence))
            limit -= tokens
    return "\n".join(sentence for _, sentence in sorted(chosen))


def measure(tasks: Sequence[Task], ratio: float, make: Callable[[Sequence[str], int], str] = summarize) -> float:
    """The share of the questions that summaries of this ratio answer."""
    answered = 0
    for task in tasks:
        limit = int(ratio * sum(map(COUNT, task.texts)))
        summary = make(task.texts, limit)
        assert COUNT(summary) <= limit
        answered += task.count_answers(summary)
    return answered / sum(len(task.questions) for task in tasks)


def test_there_are_golden_tasks_enough_and_each_is_answered_by_its_text() -> None:
    tasks = [task for each in TASKS.values() for task in each]
    assert len(tasks) >= 60
    assert all(task.count_answers("\n".join(task.texts)) == len(task.questions) for task in tasks)


@pytest.mark.parametrize("name", FILES)
def test_a_summary_of_the_default_ratio_keeps_the_answer_in_98_of_100_golden_tasks(name: str) -> None:
    assert measure(TASKS[name], DEFAULT_RATIO) >= 0.98


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(("ratio", "share"), [(0.3, 0.55), (0.5, 0.82), (0.7, 0.95)])
def test_a_shorter_summary_keeps_more_than_a_plain_choice_of_sentences(name: str, ratio: float, share: float) -> None:
    kept = measure(TASKS[name], ratio)
    assert kept >= share
    assert all(kept > measure(TASKS[name], ratio, plain) + 0.15 for plain in (take_first, take_last, take_any))


@pytest.mark.parametrize("name", FILES)
def test_the_summary_of_a_session_keeps_as_much_and_takes_no_more(name: str) -> None:
    answered = asked = 0
    with wmem.open("memory://", agent_id="agent", redaction=wmem.Redaction.off()) as memory:
        for task in TASKS[name]:
            session = memory.scope(task.name)
            for text in task.texts:
                role, _, said = text.partition(": ")
                speaker = role if role in ("user", "assistant") else "user"
                session.messages.append({"role": speaker, "content": said if role in ("user", "assistant") else text})
            item = session.summarize().item
            assert item is not None
            answered += task.count_answers(item.content)
            asked += len(task.questions)
            whole = sum(memory.counter(f"{each.role}: {each.text}") for each in session.messages.all())
            assert (item.tokens or 0) <= DEFAULT_RATIO * whole
    assert answered >= 0.98 * asked


def test_lines_of_a_log_that_differ_in_numbers_alone_leave_room_for_the_one_that_matters() -> None:
    lines = [f"08:{minute:02}:01 INFO heartbeat {minute} ok" for minute in range(59)]
    lines.insert(31, "08:31:09 ERROR payment 88213 was refused by bank.example")
    assert "88213" in summarize(["\n".join(lines)], 60)


def test_what_was_said_already_gives_room_to_what_was_not() -> None:
    texts = ["The pilot is Ruth Okafor.", "So Ruth Okafor is the pilot.", "Ruth Okafor it is.", "Pier 14 is closed."]
    summary = summarize(texts, COUNT("\n".join(texts[:1] + texts[3:])))
    assert summary == "The pilot is Ruth Okafor.\nPier 14 is closed."
