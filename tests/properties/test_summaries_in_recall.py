"""What maintenance sums up makes no memory say more than it knows, and no session worse at finding what it holds."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

import wmem
from wmem.retrieval.bm25 import TermWeights
from wmem.retrieval.summaries import judge_summaries

EPISODES = 120
ORDERS: tuple[Any, ...] = ("recall", "recency", "importance")
PLAIN = [
    f"{one}{two}" for one in ("tea", "sun", "oak", "hay", "fog") for two in ("pot", "light", "leaf", "barn", "horn")
]
PLAIN += [
    f"{each}{end}" for each in PLAIN for end in ("ville", "stead", "wick", "mere", "ford", "combe", "hurst", "thorpe")
]
SUBJECTS = ["kiln", "anvil", "ferry", "orchard", "lantern", "marsh", "violin", "quarry", "beacon", "harbor"]
THINGS = [
    "enamel",
    "rivet",
    "rudder",
    "graft",
    "candle",
    "heron",
    "rosin",
    "granite",
    "foghorn",
    "pilot",
    "nettle",
    "tusk",
]
STRANGE = [
    "parliament",
    "vaccine",
    "saxophone",
    "compiler",
    "goalkeeper",
    "telescope",
    "mortgage",
    "torpedo",
    "dialect",
]


def ask_about_something_else(chance: random.Random) -> str:
    """A question that shares some words with most summaries, and with none what it is about."""
    plain, strange = chance.sample(PLAIN, 5), chance.sample(STRANGE, 3)
    return f"Which {strange[0]} of the {' '.join(plain[:3])} did the {strange[1]} {' '.join(plain[3:])} {strange[2]}?"


def sum_up(chance: random.Random, at: int) -> str:
    """A summary of some length, which shares words with most questions, and tells one thing that no other tells."""
    lines = [" ".join(chance.choices(PLAIN, k=9)).capitalize() + "." for _ in range(14)]
    subject, thing = SUBJECTS[at % len(SUBJECTS)], THINGS[at // len(SUBJECTS)]
    lines[chance.randrange(14)] = f"The {subject} has a broken {thing}, said Ruth."
    return "\n".join(lines)


@pytest.fixture(scope="module")
def memory() -> Iterator[wmem.AgentMemory]:
    chance = random.Random(5)
    with wmem.open("memory://", agent_id="agent") as opened:
        for at in range(EPISODES):
            covers = {"scope": [f"closed-{at}"], "incarnation": 1, "messages": [f"m{at}"]}
            opened.episodic.items.add(sum_up(chance, at), type="summary", sources=[covers])
        yield opened


def test_a_question_about_something_else_finds_nothing_in_a_hundred_summaries(memory: wmem.AgentMemory) -> None:
    fresh, chance = memory.scope("fresh"), random.Random(3)
    questions = [ask_about_something_else(chance) for _ in range(20)]
    assert [each for each in questions if fresh.pack(each, budget=4_000).note] == []


def test_no_verb_lists_a_summary_for_a_question_about_something_else(memory: wmem.AgentMemory) -> None:
    chance, episodic = random.Random(3), memory.types["episodic"]
    for _ in range(20):
        asked = ask_about_something_else(chance)
        assert episodic.remember(asked) == []
        assert memory.episodic.recall(asked) == memory.scope("fresh").recall(asked) == []
        assert [len(memory.episodic.items.search(asked, order=order)) for order in (None, *ORDERS)] == [0] * 4
        below = memory.episodic.items.search(asked).below_floor
        assert {each.reason for each in below} <= {"no passage", "weak words"}


def test_every_verb_finds_what_a_summary_tells(memory: wmem.AgentMemory) -> None:
    for at in range(0, EPISODES, 7):
        subject, thing = SUBJECTS[at % len(SUBJECTS)], THINGS[at // len(SUBJECTS)]
        asked, told = f"Who said that the {thing} of the {subject} is broken?", f"The {subject} has a broken {thing}"
        assert told in memory.types["episodic"].remember(asked)[0].item.content
        assert told in memory.episodic.recall(asked)[0].text
        for order in ORDERS:
            assert any(told in item.content for item in memory.episodic.items.search(asked, order=order))


def test_what_a_closed_session_told_is_found_by_a_passage_of_its_summary(memory: wmem.AgentMemory) -> None:
    fresh = memory.scope("fresh")
    for at in range(0, EPISODES, 7):
        subject, thing = SUBJECTS[at % len(SUBJECTS)], THINGS[at // len(SUBJECTS)]
        hits = fresh.recall(f"Who said that the {thing} of the {subject} is broken?", limit=1)
        assert f"The {subject} has a broken {thing}" in hits[0].text
        note = fresh.pack(f"Who said that the {thing} of the {subject} is broken?", budget=600).note
        assert f"The {subject} has a broken {thing}, said Ruth." in note


def test_a_session_says_the_same_once_its_episodes_are_summed_up() -> None:
    chance, now = random.Random(9), [1_700_000_000.0]
    with wmem.open("memory://", agent_id="agent", clock=lambda: now[0]) as memory:
        session = memory.scope("session")
        texts = [" ".join(chance.choices([*PLAIN, *SUBJECTS], k=14)) for _ in range(120)]
        for at, text in enumerate(texts):
            now[0] += 60 if at % 12 else 5 * 3_600
            session.messages.append({"role": ("user", "assistant")[at % 2], "content": text})
        questions = [f"What about {' '.join(chance.choices([*SUBJECTS, *PLAIN], k=3))}?" for _ in range(12)]
        now[0] += 86_400
        before = [session.pack(each, budget=700, tail=0).note for each in questions]
        memory.types.session("session")["conversation"].close()
        assert memory.maintain(["close-episodes"]).jobs["close-episodes"].changed == 10
        after = [session.pack(each, budget=700, tail=0).note for each in questions]
    assert after == before
    assert all(before)


def test_words_of_a_question_that_stand_apart_in_a_summary_are_no_match() -> None:
    weights = TermWeights(dict.fromkeys(("kiln", "rivet", "heron", "rosin", "stirrup"), 4.0), 20.0, 4.0)
    nothing = frozenset({"week"})
    together = [nothing, frozenset({"kiln", "rivet"}), frozenset({"heron"}), nothing]
    apart = [
        nothing if at % 3 else frozenset({word}) for at, word in enumerate(["kiln", "", "", "rivet", "", "", "heron"])
    ]
    judged = judge_summaries({0: together, 1: apart}, [weights])
    assert judged.fits == {0: True, 1: False}
    assert judged.coverage == pytest.approx(0.6)
    assert judged.shares == {0: 1.0, 1: pytest.approx(1 / 3)}
