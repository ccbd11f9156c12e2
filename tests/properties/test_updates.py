"""Which statements supersede others, over pairs that were written for it, and over random and hostile texts."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wmem
from tests.matrix import examples
from tests.pattern_steps import StepCounter, attacks
from wmem.retrieval.statements import StatementIndex
from wmem.rules.updates import Dated, asks_for_past, find_superseded, latest, read_statements
from wmem.rules.updates.reader import TABLES

LISTS = Path(__file__).parents[1] / "updates"
SIGNS = ("=>", "=|")


def pairs(name: str) -> Iterator[tuple[str, str, bool]]:
    """Two statements, and whether the later one says otherwise of the same."""
    for line in (LISTS / f"{name}.txt").read_text("utf-8").splitlines():
        for sign in SIGNS:
            if not line.startswith("#") and sign in line:
                older, _, newer = line.partition(sign)
                yield older.strip(), newer.strip(), sign == "=>"


def dated(*texts: str, speakers: Sequence[str] = (), fact: bool = False) -> list[Dated]:
    """The statements of texts, said one after another, or of items."""
    return [
        Dated(str(at), speakers[at] if speakers else "user", float(at), (at, place), statement, str(at - 1))
        for at, text in enumerate(texts)
        for place, statement in enumerate(read_statements(text, fact=fact))
    ]


ITEM_NAMES = [f"items/{path.stem}" for path in sorted(LISTS.glob("items/*.txt"))]
NAMES = [path.stem for path in sorted(LISTS.glob("*.txt"))]
ALL_TEXTS = [text for name in NAMES + ITEM_NAMES for older, newer, _ in pairs(name) for text in (older, newer)]
ALL_PAIRS = [[older, newer] for name in NAMES for older, newer, _ in pairs(name)]
texts = st.lists(st.sampled_from(ALL_TEXTS), max_size=8) | st.lists(st.sampled_from(ALL_PAIRS), max_size=4).map(
    lambda several: [text for each in several for text in each]
)


@pytest.mark.parametrize("name", NAMES)
def test_of_the_pairs_that_differ_nearly_all_are_told_and_of_others_none(name: str) -> None:
    wrong = [
        (older, newer, differs)
        for older, newer, differs in pairs(name)
        if bool(find_superseded(dated(older, newer))) != differs
    ]
    assert not [each for each in wrong if not each[2]]
    assert len(wrong) <= 0.2 * len([*pairs(name)]) / 2, wrong


@pytest.mark.parametrize("name", ITEM_NAMES)
def test_of_items_that_differ_nearly_all_are_told_and_of_others_none(name: str) -> None:
    found = {pair: bool(find_superseded(dated(*pair[:2], fact=True))) for pair in pairs(name)}
    missed = [pair for pair, told in found.items() if pair[2] and not told]
    assert not [pair for pair, told in found.items() if told and not pair[2]]
    assert len(missed) <= 0.1 * sum(pair[2] for pair in found), missed


def test_an_item_that_is_undone_or_said_again_holds() -> None:
    said = dated("Odo's vet is kelmo.", "Odo's vet is now brando.", "Odo's vet is now kelmo.", fact=True)
    assert find_superseded(said) == {"1": "2"}
    again = dated("I like tea.", "I no longer like tea.", "I like tea again.", "I like tea.", fact=True)
    assert find_superseded(again) == {"1": "3"}


def test_many_statements_of_one_subject_are_each_compared_with_few(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    overlap = latest._overlap

    def count(one: str, other: str) -> bool:
        compared.append(one)
        return overlap(one, other)

    monkeypatch.setattr(latest, "_overlap", count)
    said = dated(*["Status: open", "Status: closed"] * 200, fact=True)
    assert len(find_superseded(said)) == 200
    assert len(compared) <= 2 * len(said)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_supersedes_what_was_said_later_or_by_somebody_else(name: str) -> None:
    for older, newer, _ in pairs(name):
        assert "1" not in find_superseded(dated(older, newer))
        assert not find_superseded(dated(older, newer, speakers=("ann", "bob")))


@given(texts)
@examples()
def test_the_rule_names_texts_that_were_there_and_later_ones_in_any_order(said: list[str]) -> None:
    statements = dated(*said)
    superseded = find_superseded(statements)
    assert superseded == find_superseded(reversed(statements))
    assert all(int(older) < int(newer) < len(said) for older, newer in superseded.items())


@given(st.text(max_size=300) | st.lists(st.sampled_from(ALL_TEXTS), max_size=6).map(", and ".join))
@examples()
def test_any_text_is_read_and_read_alike_each_time(text: str) -> None:
    assert read_statements(text) == read_statements(text)
    assert read_statements(text, fact=True) == read_statements(text, fact=True)
    assert asks_for_past(text) in (True, False)


@given(texts, st.integers(60, 400), st.sampled_from([{}, {"stable": True}, {"summary": True}, {"tail": 0}]))
@examples(0.4)
def test_marks_are_charged_and_no_hit_is_lost(said: list[str], budget: int, options: dict[str, Any]) -> None:
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("session")
        ids = []
        for at, text in enumerate(said):
            message = {"role": "user", "content": text, "created_at": 1e9 + 1e6 * at}
            ids.append(session.messages.append(message).id)
        question = f"What of this? {' '.join(said)}"
        hits = session.recall(question, limit=200)
        assert len({hit.id for hit in hits}) == len(hits)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert all(hit.superseded_by in (None, *ids) for hit in hits)
        session.messages.append({"role": "user", "content": "x " * 20})
        context = session.pack(question, budget=budget, **options)
        assert context.tokens <= budget


@given(texts)
@examples()
def test_an_index_of_statements_is_the_same_when_it_was_stored_and_loaded(texts: list[str]) -> None:
    index, loaded = StatementIndex(), StatementIndex()
    for at, text in enumerate(texts):
        index.put(str(at), text, "user", fact=False, number=int)
    list(loaded.restore(json.loads(json.dumps(index.list_attributes()))))
    assert loaded.list_attributes() == index.list_attributes()
    for at in range(len(texts)):
        index.remove(str(at))
    assert not any(getattr(index, name) for name in StatementIndex.__slots__)


@pytest.mark.slow
@pytest.mark.no_cover  # it counts the steps of patterns
def test_no_pattern_takes_more_than_its_share_of_steps_on_any_text() -> None:
    for table in TABLES:
        for pattern in table.patterns:
            compiled = re.compile(pattern)
            counter = StepCounter(re.compile(rf"\A(?:{pattern})"))
            for before, pump, after in set(attacks(compiled)):
                text = (before + pump * (80 // len(pump) + 1))[:80] + after
                assert counter.count(text)[0] < 20_000, (pattern[:60], text[:60])


@pytest.mark.parametrize(
    ("question", "past"),
    [
        ("Where did I live before?", True),
        ("What was my old address?", True),
        ("What did my dog use to be called?", True),
        ("Where did I work back then?", True),
        ("What was the deadline originally?", True),
        ("Where do I live?", False),
        ("What is my budget now?", False),
        ("What did I say my budget is?", False),
        ("How old am I?", False),
        ("What's the current deadline?", False),
        ("Wo habe ich früher gewohnt?", True),
        ("Wo wohne ich?", False),
        ("Où habitais-je avant ?", True),
        ("Où est-ce que j'habite maintenant ?", False),
        ("¿Dónde vivía antes?", True),
        ("¿Dónde vivo?", False),
    ],
)
def test_a_question_says_whether_it_asks_for_the_past(question: str, past: bool) -> None:
    assert asks_for_past(question) is past
