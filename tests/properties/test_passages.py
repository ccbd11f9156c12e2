"""A long memory enters the note by its sentences that bear on the question."""

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import wmem
from tests.steps import Steps
from wmem.analysis.analyzer import to_terms
from wmem.analysis.normalization import fold
from wmem.analysis.sentences import split_sentences
from wmem.pack.passage import LongText, PassageTerms, Sentences, passage
from wmem.tokens.counter import default_counter

COUNT = default_counter()
FACT = "The spare key of the boathouse lies under the third flowerpot."
words = st.sampled_from(["key", "boat", "rain", "a", "東京", "ok", "\u00dcber", "{x}"])
told = st.lists(st.lists(words, min_size=1, max_size=12).map(" ".join), max_size=20).map(". ".join)


def padding(seed: int, count: int) -> list[str]:
    chance = random.Random(seed)
    said = ["the report", "our plan", "a supplier", "the weather", "some music", "that film", "the garden"]
    did = ["changed", "was late", "looked fine", "cost more", "went on", "ended well", "grew slowly"]
    return [f"{chance.choice(said).capitalize()} {chance.choice(did)} in week {n}." for n in range(count)]


@settings(deadline=None)
@given(text=told | st.text(max_size=400), terms=st.lists(words, max_size=4), tokens=st.integers(0, 60))
def test_a_passage_keeps_to_its_room_and_says_nothing_that_was_not_said(
    text: str, terms: list[str], tokens: int
) -> None:
    found = passage(LongText(text, COUNT), PassageTerms.of(term.casefold() for term in terms), tokens)
    assert found == passage(LongText(text, COUNT), PassageTerms.of(term.casefold() for term in terms), tokens)
    if found is None:
        return
    assert found.tokens <= tokens
    assert COUNT(found.text.replace(" … ", " ")) <= tokens
    said, at = "".join(text.split()).replace("…", ""), 0
    for piece in found.text.split("…"):
        at = said.find("".join(piece.split()), at)
        assert at >= 0, "whole sentences or marked pieces of one, in their order"


@settings(deadline=None)
@example(text="Ran e\n\u0301. \u1161\u1100!\n\u0130 ran\u0301", terms=["run", "e"])
@given(text=told | st.text(max_size=200), terms=st.lists(words | st.sampled_from(["run", "say", "e"]), max_size=4))
def test_sentences_that_are_searched_at_once_are_found_as_if_each_were_alone(text: str, terms: list[str]) -> None:
    sentences = split_sentences(text)
    for word in PassageTerms.of(map(fold, terms)).words:
        alone = [at for at, sentence in enumerate(sentences) if Sentences([sentence]).find(word)]
        assert Sentences(sentences).find(word) == alone


def test_a_fact_deep_in_a_long_answer_is_quoted_and_what_leads_to_it() -> None:
    said = padding(1, 400)
    said[300:301] = ["You asked about the boathouse.", FACT]
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("session")
        session.messages.append({"role": "assistant", "content": " ".join(said), "id": "long"})
        session.messages.append([{"role": "user", "content": f"Remark {n}."} for n in range(6)])
        context = session.pack("Where is the key of the boathouse?", budget=512, tail=0)
    [report] = [each for each in context.truncated if each.ids == ("long",)]
    assert f"You asked about the boathouse. {FACT}" in context.note
    assert "tokens left out …]" in context.note
    assert report.tokens <= 512 // 6 + 20
    assert report.tokens_cut > 2_000


def test_a_fact_deep_in_a_long_text_is_quoted_in_whatever_form_it_is_told() -> None:
    for asked, fact in (("What did I buy?", "I bought a grand lamp."), ("Where is my mother?", "Mom sits by the sea.")):
        told = padding(3, 200)
        told[120:121] = [fact]
        found = passage(LongText(" ".join(told), COUNT), PassageTerms.of(to_terms(asked)), 60)
        assert found is not None
        assert fact in found.text
    assert passage(LongText("A grand thing. A brand.", COUNT), PassageTerms.of(to_terms("Who runs?")), 60) is None


def test_the_item_of_a_long_list_is_quoted_whose_place_is_asked_for() -> None:
    listed = "\n".join(f"{place}. **{line}** It goes on." for place, line in enumerate(padding(2, 90), 1))
    assert split_sentences(listed)[0].startswith("1. **"), "a number is no sentence"
    for asked in ("7th", "seventh", "number 7"):
        terms = PassageTerms.of(to_terms(f"What was the {asked} one in the list?"))
        found = passage(LongText(f"Here is the list.\n{listed}", COUNT), terms, 120)
        assert found is not None
        assert "7. **" in found.text
    assert passage(LongText(listed, COUNT), PassageTerms.of(["95th"]), 120) is None


def test_a_short_memory_is_quoted_whole() -> None:
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("session")
        short = " ".join([*padding(2, 10), FACT])
        session.messages.append({"role": "assistant", "content": short})
        session.messages.append([{"role": "user", "content": f"Remark {n}. " + "Well, " * 40} for n in range(12)])
        assert short in session.pack("key of the boathouse", budget=600).note


def test_what_takes_no_more_than_a_quarter_of_a_small_budget_is_quoted_whole() -> None:
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("session")
        told = " ".join([*padding(3, 11), FACT, *padding(4, 11)])
        assert 170 < COUNT(told) < 250
        session.messages.append({"role": "user", "content": told, "id": "told"})
        session.messages.append([{"role": "user", "content": f"Remark {n}. " + "Well, " * 40} for n in range(20)])
        assert told in session.pack("key of the boathouse", budget=1_024, tail=0).note


def test_a_passage_of_a_huge_text_encodes_little() -> None:
    looked_at: list[int] = []

    def spy(text: str) -> int:
        looked_at.append(len(text))
        return COUNT(text)

    class Spy:
        name = COUNT.name

        def __call__(self, text: str, /) -> int:
            return spy(text)

    text = " ".join(padding(3, 20_000))
    assert passage(LongText(text, Spy()), PassageTerms.of(["week"]), 200) is not None
    assert sum(looked_at) <= 8 * 200


def test_a_long_memory_is_quoted_whole_where_there_is_room_after_all() -> None:
    said = padding(1, 40)
    said[20] = FACT
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("session")
        item = session.items.add(" ".join(said), ttl_s=None)
        asked = "Where is the key of the boathouse?"
        whole = session.pack(asked, budget=1_000)
        assert [report.ids for report in whole.included] == [(item.id,)]
        assert item.content in whole.note
        least = whole.tokens
        for budget in (least - 1, least, least + 1):
            context = session.pack(asked, budget=budget)
            assert (item.content in context.note) == (budget >= least)
            assert FACT in context.note
            assert context.tokens <= budget
            assert context == session.pack(asked, budget=budget)


def test_a_memory_enters_in_part_where_what_is_fixed_leaves_no_room_for_the_whole() -> None:
    said = padding(2, 12)
    said[6] = FACT
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("session")
        item = session.items.add(" ".join(said), ttl_s=None)
        context = session.pack("Where is the key of the boathouse?", budget=1_000, reserve=890)
    assert [report.ids for report in context.truncated] == [(item.id,)]
    assert FACT in context.note


def test_of_a_long_text_that_a_message_says_no_part_is_quoted_again() -> None:
    said = padding(3, 42)
    said[30] = FACT
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("session")
        session.messages.append({"role": "user", "content": " ".join(said)})
        session.messages.append([{"role": "assistant", "content": f"Remark {n}."} for n in range(90)])
        session.messages.append({"role": "user", "content": " ".join(said)})
        context = session.pack("Where is the key of the boathouse?", budget=900, recent=1)
    assert FACT in context.messages[-1].text
    assert FACT not in context.note
    assert context.dropped.totals["duplicate"] == 1


def test_a_long_answer_that_was_quoted_before_costs_another_question_hardly_more_than_a_short_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps = Steps(monkeypatch)
    with wmem.open("memory://", agent_id="agent") as memory:
        cost: dict[str, int] = {}
        # The tables of words are read once in a process.
        memory.scope("first").messages.append({"role": "user", "content": "The boat is green."})
        memory.scope("first").pack("What about the green boat?", budget=1_024, tail=0)
        for name, length in (("long", 400), ("short", 10)):
            session = memory.scope(name)
            for number in range(20):
                answer = " ".join([f"The quay of boat {number} is green.", *padding(number, length)])
                session.messages.append([{"role": "user", "content": f"Boat {number}?"}])
                session.messages.append([{"role": "assistant", "content": answer}])
            session.messages.append(
                [{"role": "user", "content": "Thanks."}, {"role": "assistant", "content": "Welcome."}]
            )
            session.pack("Which quay has a boat?", budget=1_024, tail=0)
            session.pack("Where did boats lie?", budget=1_024, tail=0)
            for again in ("", ", asked again"):
                cost[f"{name}{again}"] = steps.count_calls(
                    lambda: session.pack("What about the green boat?", budget=1_024, tail=0)  # noqa: B023
                )
            assert "is green" in session.pack("What about the green boat?", budget=1_024, tail=0).note
    assert cost["long"] < 2 * cost["short"]
    assert cost["long, asked again"] < 1.2 * cost["short, asked again"]


def test_a_long_memory_that_changed_is_quoted_as_it_is_now() -> None:
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("session")
        said = padding(1, 400)
        session.messages.append({"role": "assistant", "content": " ".join([*said, FACT]), "id": "long"})
        session.messages.append([{"role": "user", "content": f"Remark {n}."} for n in range(6)])
        assert "third flowerpot" in session.pack("Where is the key of the boathouse?", budget=512, tail=0).note
        now = FACT.replace("third", "last")
        session.messages.append({"role": "assistant", "content": " ".join([*said, now]), "id": "long"})
        note = session.pack("Where is the key of the boathouse?", budget=512, tail=0).note
        assert "last flowerpot" in note
        assert "third flowerpot" not in note
        session.messages.remove("long")
        assert "flowerpot" not in session.pack("Where is the key of the boathouse?", budget=512, tail=0).note


def test_weak_matches_are_quoted_shorter_so_that_more_of_them_have_room() -> None:
    with wmem.open("memory://", agent_id="a") as memory:
        session = memory.scope("s")
        for number in range(12):
            filling = " ".join(f"Sentence {each} of part {number} is about something else." for each in range(20))
            session.messages.append({"role": "user", "content": f"The lighthouse number {number} is red. {filling}"})
            session.messages.append({"role": "assistant", "content": f"I see, part {number}."})
        note = session.pack("Which lighthouse?", budget=1_000, tail=0, recent=0).note
    assert sum(f"lighthouse number {number} is red" in note for number in range(12)) >= 8


def test_a_match_that_stands_alone_is_quoted_as_far_as_there_is_room() -> None:
    with wmem.open("memory://", agent_id="a") as memory:
        session = memory.scope("s")
        long = " ".join(f"Sentence {each} is about the harbour and its cranes." for each in range(20))
        session.messages.append({"role": "user", "content": f"The lighthouse is red. {long}"})
        for number in range(40):
            session.messages.append(
                {"role": "user", "content": f"Nothing new in week {number}, all is well " * 3, "thread_id": f"{number}"}
            )
        note = session.pack("What colour is the lighthouse?", budget=1_000, tail=0, recent=0).note
    assert f"The lighthouse is red. {long}" in note
