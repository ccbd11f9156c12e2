"""What a pack saves itself changes nothing of what it says."""

import pickle
import random
import statistics
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import wmem
from tests.counting import count_calls
from tests.matrix import examples
from wmem.model.message import Message
from wmem.model.recall_marks import CLOSING, OPENING
from wmem.pack.render import render_note
from wmem.tokens.bpe import TiktokenCounter
from wmem.tokens.counter import message_tokens

BOUNDED = examples(0.4)
_WORDS = [
    "tea",
    "coffee",
    "Biscuit",
    "dog",
    "kettle",
    "rain",
    "Leipzig",
    "naïve",
    "東京タワー",
    "สวัสดี",
    "🎉",
    "don't",
    "[x].",
    "</recalled>",
    "\t",
    "a,b",
]
said = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=12).map(" ".join)
talks = st.lists(said, min_size=3, max_size=40)


@BOUNDED
@given(encoding=st.sampled_from(["o200k_base", "cl100k_base"]), lines=st.lists(st.text(max_size=60), max_size=12))
def test_a_note_costs_what_its_lines_cost(encoding: str, lines: list[str]) -> None:
    count = TiktokenCounter(encoding)
    quoted = [f"> {part}" for line in lines for part in line.splitlines() or [""]]
    text = render_note(())
    opening, closing = text.rsplit("\n", 1)
    whole = "\n".join([opening, *quoted, closing])
    assert count.by_line(whole)
    assert count(whole) == count(text) + sum(count(f"{line}\n") for line in quoted)


@BOUNDED
@given(talk=talks, asked=st.lists(said, min_size=1, max_size=4), budget=st.integers(60, 600))
def test_a_pack_says_the_same_whatever_was_packed_before(talk: list[str], asked: list[str], budget: int) -> None:
    messages = [
        Message.of("assistant" if at % 2 else "user", text, id=f"m{at}", created_at=1_764_288_000.0 + at)
        for at, text in enumerate(talk)
    ]

    def now() -> float:
        return 1_764_300_000.0

    with (
        wmem.open("memory://", agent_id="warm", clock=now) as warm,
        wmem.open("memory://", agent_id="warm", clock=now) as cold,
    ):
        used, fresh = warm.scope("s"), cold.scope("s")
        used.messages.append(messages)
        fresh.messages.append(messages)
        for each in asked:
            used.pack(each, budget=300)
        assert used.pack(asked[0], budget=budget) == fresh.pack(asked[0], budget=budget)


@BOUNDED
@given(talk=talks, asked=said)
def test_a_note_costs_what_is_told_of_it(talk: list[str], asked: str) -> None:
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("s")
        session.messages.append([{"role": "user", "content": text} for text in talk])
        context = session.pack(asked, budget=160)
        if context.note:
            assert context.sizes["note"] == message_tokens(context.note_message(), TiktokenCounter())


def test_reports_are_the_same_at_every_look_and_after_a_journey() -> None:
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("s")
        session.messages.append([{"role": "user", "content": f"tea number {at}"} for at in range(80)])
        context = session.pack("which tea?", budget=200)
    best = context.dropped.best
    assert best
    assert sum(report.rule != "older" for report in best) <= context.dropped.count
    assert tuple(best) == tuple(best) == pickle.loads(pickle.dumps(best))  # its own bytes
    assert all(report.fate == "dropped" for report in best)


def test_a_memory_that_changed_is_quoted_as_it_is_now() -> None:
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("s")
        kept = session.items.add("The kettle is red.")
        session.messages.append({"role": "user", "content": "hello"})
        assert "red" in session.pack("kettle?", budget=300).note
        session.items.update(kept.id, content="The kettle is blue.")
        note = session.pack("kettle?", budget=300).note
        assert "blue" in note
        assert "red" not in note


class _Characters:
    """Counts characters, and remembers what it counted."""

    name = "characters"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, text: str, /) -> int:
        self.texts.append(text)
        return len(text)


def test_of_memories_that_match_only_those_that_are_quoted_are_counted() -> None:
    counter = _Characters()
    memory = wmem.open("memory://", agent_id="a", counter=counter)
    for at in range(200):
        memory.semantic.items.add(f"the kettle on shelf {at} leaks", type="fact")
    counter.texts.clear()
    context = memory.scope("s").pack("Which kettle leaks?", budget=1_000)
    quoted = [unit.ids for unit in context.included]
    assert 5 < len(quoted) < 25
    assert sum("kettle" in text for text in counter.texts) <= 2 * len(quoted) + 2


def test_messages_with_metadata_cost_a_pack_hardly_more_than_plain_ones_and_stay_as_they_are_stored() -> None:
    cost: dict[str, int] = {}
    with wmem.open("memory://", agent_id="agent") as memory:
        for name, metadata in (("plain", {}), ("with metadata", {"usage": {"tokens": 7}})):
            session = memory.scope(name)
            session.messages.append(
                [
                    Message.of("assistant" if at % 2 else "user", f"Word {at} of tea.", metadata=metadata)
                    for at in range(400)
                ]
            )
            for _ in range(2):
                session.pack("coffee", budget=2_000)
            cost[name] = count_calls(lambda: session.pack("coffee", budget=2_000))  # noqa: B023  # called at once
            sent = session.pack("coffee", budget=2_000).messages
        assert len(sent) > 100
        usage: Any = sent[0].metadata["usage"]
        usage["tokens"] = 8
        assert session.pack("coffee", budget=2_000).messages[0].metadata == {"usage": {"tokens": 7}}
    assert cost["with metadata"] < 1.5 * cost["plain"]


def test_a_pack_enters_few_functions_for_each_message_it_sends() -> None:
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("s")
        session.messages.append([{"role": "user", "content": f"Word {at} of tea."} for at in range(1_000)])
        calls: list[int] = []
        sent: list[int] = []
        for budget in (1_000, 6_000):
            for _ in range(2):
                session.pack(None, budget=budget)
            calls.append(count_calls(lambda: session.pack(None, budget=budget)))  # noqa: B023  # called at once
            sent.append(len(session.pack(None, budget=budget).messages))
    assert (calls[1] - calls[0]) / (sent[1] - sent[0]) < 22


def test_a_pack_enters_few_functions_for_each_memory_that_it_finds() -> None:
    chance = random.Random(7)
    told = [f"word{number}" for number in range(600)]
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("s")
        texts = [" ".join(chance.choices(told, k=20)) for _ in range(1_000)]
        session.messages.append([{"role": "user", "content": text} for text in texts])
        asked = [f"What about {' '.join(chance.choices(told, k=4))}?" for _ in range(9)]
        for each in asked[:4]:
            session.pack(each, budget=1_024)
        calls = [count_calls(lambda: session.pack(each, budget=1_024)) for each in asked[4:]]  # noqa: B023  # called at once
    assert statistics.median(calls) < 5_900


def test_an_answer_that_repeats_a_memory_does_so_in_every_pack() -> None:
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("s")
        session.items.add("The kettle of Ada is red.")
        session.messages.append({"role": "user", "content": "What of the kettle?"})
        told = f"{OPENING}\n> [i1] The kettle of Ada is red.\n{CLOSING}"
        session.messages.append({"role": "assistant", "content": told})
        session.messages.append([{"role": "user", "content": f"Word {at} of tea."} for at in range(4)])
        notes = [session.pack("Which kettle is red?", budget=400).note for _ in range(3)]
    assert notes[0] == notes[1] == notes[2]
    assert "kettle" not in notes[0]
