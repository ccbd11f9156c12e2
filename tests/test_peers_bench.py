"""The talk of the bench beside peers holds what it asks for, and what is counted of it is counted right."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from tests.bench.talk import (
    BUDGET,
    FACTS,
    LIMIT,
    REQUEST,
    RESERVE,
    Prompt,
    Talker,
    Tally,
    Turn,
    hold_talks,
    write_script,
)
from tests.bench.talkers import AGENT, ENGINE, WINDOWED, count_bytes, open_agents, open_engines

Open = Callable[[], AbstractContextManager[dict[str, Talker]]]


def test_every_fact_is_said_once_and_early_and_asked_for_at_the_end() -> None:
    script = write_script(60)
    texts = [f"{turn.text} {turn.found} {turn.answer}" for turn in script]
    assert [number for number, text in enumerate(texts) if REQUEST in text] == [1]
    for word, (said, question) in FACTS.items():
        [told] = [number for number, text in enumerate(texts) if word in text]
        [asked] = [number for number, turn in enumerate(script) if turn.wanted == word]
        assert said in texts[told]
        assert script[asked].text == question
        assert told < 15
        assert asked >= 50
    assert script == write_script(60), "the same at every run"


def test_what_a_turn_wants_must_be_in_each_of_its_prompts() -> None:
    tally = Tally()
    tally.add(Turn("Hello.", "", ""), 0.1, [Prompt(["Hello."], 10)])
    tally.add(Turn(REQUEST, "", ""), 0.2, [Prompt([REQUEST], 20)])
    tally.add(Turn("Where?", "", "", "Here"), 0.3, [Prompt([REQUEST, "Here", "Where?"], LIMIT), Prompt(["Where?"], 5)])
    tally.add(Turn("Where?", "", "", "Here"), 0.4, [Prompt([REQUEST, "It is Here", "Where?"], 2 * LIMIT)])
    tally.add(Turn("And now?", "", ""), 0.5, [Prompt(["Something else."], 5)])
    assert tally.facts == [False, True]
    assert tally.requests == [True, False, True, False]
    assert tally.questions == [True, True, True, True, False]
    assert tally.tokens == [10, 20, LIMIT, 5, 2 * LIMIT, 5]
    assert tally.largest_share == 2
    assert tally.seconds == [0.1, 0.2, 0.3, 0.4, 0.5]


def test_everybody_holds_the_same_talk_and_is_asked_for_the_prompts_of_each_turn() -> None:
    said: dict[str, list[Turn]] = {"keeps": [], "forgets": []}

    def talker(name: str, most: int) -> Talker:
        def pop() -> list[Prompt]:
            newest = said[name][-most:]
            return [Prompt([turn.text for turn in newest], len(newest))]

        return Talker(said[name].append, pop)

    script = write_script(60)
    tallies = hold_talks({"keeps": talker("keeps", 99), "forgets": talker("forgets", 5)}, script)
    assert said == {"keeps": script, "forgets": script}
    assert tallies["keeps"].facts == [True] * len(FACTS)
    assert tallies["forgets"].facts == [False] * len(FACTS)
    assert (sum(tallies["keeps"].requests), sum(tallies["forgets"].requests)) == (59, 5)
    assert (max(tallies["keeps"].tokens), max(tallies["forgets"].tokens)) == (60, 5)


@pytest.mark.parametrize("opened", [open_agents, open_engines])
def test_the_prompts_that_are_counted_are_those_that_were_sent(opened: Open) -> None:
    turns = [
        Turn("I am Ada.", "", "Hello Ada."),
        Turn("Who is Ben?", "A baker.", "He bakes."),
        Turn("Who am I?", "", "Ada."),
    ]
    with opened() as talkers:
        assert set(talkers) > {AGENT, WINDOWED} or ENGINE in talkers
        talkers.pop("Memory", None)  # has no verb that closes its database: a run of tests takes that for a fault
        for talker in talkers.values():
            prompts = []
            for turn in turns:
                talker.say(turn)
                prompts.append(talker.pop_prompts())
            assert talker.pop_prompts() == []
            said = prompts[-1][-1].texts[1:]
            assert [said[0], said[1], said[-1]] == ["I am Ada.", "Hello Ada.", "Who am I?"]
            is_agent = opened is open_agents
            assert [len(each) for each in prompts] == [1, 2 if is_agent else 1, 1]
            assert any("A baker." in text for text in said) == is_agent
            assert prompts[0][0].tokens < prompts[1][0].tokens < prompts[2][0].tokens < LIMIT
            assert bool(talker.stored_bytes()) == is_agent
    assert BUDGET == LIMIT + RESERVE


def test_bytes_are_counted_wherever_they_lie() -> None:
    assert count_bytes({"a": (b"123", ["text", b"45"]), "b": {"c": {1: b"6"}, "d": None}}) == 6
