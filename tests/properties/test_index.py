"""The index finds what shares words with a query, and nothing that was taken out of it."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Container

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.counting import count_calls
from tests.matrix import examples
from wmem.analysis.analyzer import Analyzer, to_terms
from wmem.retrieval.bm25 import Feedback
from wmem.retrieval.index import Index

VOCABULARY = ["dog", "Biscuit", "train", "東京タワー", "café", "Straße", "ไปเที่ยว", "the", "iPhone", "42"]
said = st.lists(st.sampled_from(VOCABULARY), max_size=8).map(" ".join)


def index_of(texts: dict[str, str], aside: Container[str] = ()) -> Index:
    index = Index()
    for id, text in texts.items():
        index.add(id, text, aside=id in aside)
    return index


class Upkeep(RuleBasedStateMachine):
    """An index after any history equals a fresh one of what is left."""

    def __init__(self) -> None:
        super().__init__()
        self.index = Index()
        self.live: dict[str, str] = {}
        self.aside: set[str] = set()

    @rule(id=st.sampled_from("abcdefgh"), text=said, aside=st.booleans())
    def add(self, id: str, text: str, aside: bool) -> None:  # Hypothesis names it
        self.index.add(id, text, aside=aside)
        self.live[id] = text  # in its place, if it was there
        (self.aside.add if aside else self.aside.discard)(id)

    @rule(id=st.sampled_from("abcdefgh"))
    def remove(self, id: str) -> None:
        assert self.index.remove(id) == (self.live.pop(id, None) is not None)

    @rule(count=st.integers(60, 90))
    def churn(self, count: int) -> None:
        for n in range(count):
            self.index.add(f"gone{n}", "train dog")
        for n in range(count):
            self.index.remove(f"gone{n}")

    @invariant()
    def equals_a_fresh_one(self) -> None:
        fresh = index_of(self.live, aside=self.aside)
        assert self.index.count == len(self.live)
        for query in ("dog", "東京 train", "the café in Straße 42", ""):
            assert self.index.search(query, 10) == fresh.search(query, 10)


Upkeep.TestCase.settings = examples(0.3, stateful_step_count=20)
TestB117AnIndexAfterAnyHistoryEqualsAFreshOneOfWhatIsLeft = Upkeep.TestCase


@given(texts=st.lists(said, min_size=16, max_size=24), aside=st.lists(said, max_size=12), query=said)
def test_texts_set_aside_change_no_score_of_the_others(texts: list[str], aside: list[str], query: str) -> None:
    others = {f"o{at}": text for at, text in enumerate(texts)}
    more = {f"s{at}": text for at, text in enumerate(aside)}
    alone, both = index_of(others), index_of({**more, **others}, aside=more)
    feedback = Feedback(0.5, 4, 6)
    scores = dict(both.scorer(query, feedback=feedback, related=0.3).hits(len(texts) + len(aside)))
    expected = alone.scorer(query, feedback=feedback, related=0.3).hits(len(texts))
    for id, score in expected:
        assert scores[id] == pytest.approx(score)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("昨日、東京タワーへ行きました。", "東京タワー"),
        ("서울에서 기차를 탔다", "기차를"),
        ("我喜欢吃麻婆豆腐", "麻婆豆腐"),
        ("Собака по кличке Бисквит", "бисквит"),
        ("เราไปเที่ยวทะเลกัน", "ทะเล"),
        ("昨日iPhoneを買った", "iphone"),
        ("मुझे टिकट खरीदना है", "टिकट"),
    ],
)
def test_B114_texts_of_every_script_are_found(text: str, query: str) -> None:
    index = index_of({"it": text, "other": "nothing of the kind"})
    assert [id for id, _ in index.search(query, 5)] == ["it"]


@pytest.mark.parametrize(
    ("text", "query"),
    [("cafe\u0301", "café"), ("café", "cafe\u0301"), ("\uff21\uff22\uff23", "abc"), ("STRASSE", "straße")],
)
def test_B115_composed_decomposed_and_wide_letters_match_both_ways(text: str, query: str) -> None:
    assert index_of({"it": text}).search(query, 1)
    assert index_of({"it": query}).search(text, 1)


@given(texts=st.dictionaries(st.text(min_size=1, max_size=3), said, max_size=12), query=said, limit=st.integers(0, 5))
def test_search_is_ranked_capped_and_only_finds_what_shares_a_term(
    texts: dict[str, str], query: str, limit: int
) -> None:
    found = index_of(texts).search(query, limit)
    assert len(found) <= limit
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    assert all(score > 0 and set(to_terms(texts[id])) & set(to_terms(query)) for id, score in found)


def test_of_equal_scores_the_one_added_first_comes_first() -> None:
    assert [id for id, _ in index_of({"z": "dog", "a": "dog", "m": "dog"}).search("dog", 3)] == ["z", "a", "m"]


def test_rare_words_weigh_more_than_common_ones() -> None:
    texts = {f"m{n}": "the train was late again" for n in range(20)} | {"it": "Biscuit was late"}
    assert index_of(texts).search("was Biscuit on the train", 1)[0][0] == "it"


def test_a_query_of_common_words_finds_nothing() -> None:
    assert index_of({"it": "what is it"}).search("what is it?", 5) == []


MEASURE = """
import json, sys, tracemalloc
from wmem.retrieval.index import Index

texts = json.load(sys.stdin)
Index().add("x", " ".join(texts))  # what stemming keeps is no part of an index
tracemalloc.start()
index = Index()
for n, text in enumerate(texts):
    index.add(f"m{n}", text)
held, _ = tracemalloc.get_traced_memory()
assert index.count == len(texts)
print(held)
"""


@pytest.mark.slow
def test_an_index_of_ten_thousand_texts_takes_less_than_ten_megabytes() -> None:
    # In a process of its own, and unobserved: what tests before it left in caches and what coverage notes counts too.
    alone = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    told = json.dumps(speech(10_000))
    measured = subprocess.run(
        [sys.executable, "-c", MEASURE], input=told, capture_output=True, text=True, check=True, env=alone
    )
    assert int(measured.stdout) < 10_000_000


@pytest.mark.slow
def test_adding_takes_no_more_steps_in_a_large_index() -> None:
    texts = speech(2_000)
    analyzer = Analyzer()  # one, which knows the words already
    large, small = Index(analyzer), Index(analyzer)
    for n, text in enumerate(texts):
        large.add(f"m{n}", text)

    def cost(grown: Index) -> int:
        def add() -> None:
            for n, text in enumerate(texts[:200]):
                grown.add(f"new {n}", text)

        return count_calls(add)

    assert cost(large) < 1.2 * cost(small)


def speech(count: int) -> list[str]:
    """So many texts of 28 words that are as common as words are; the same at every run."""
    draw = random.Random(7)
    words = ["".join(draw.choices("abcdefghijklmnop", k=draw.randint(3, 9))) for _ in range(15_000)]
    weights = [1 / (n + 1) for n in range(len(words))]
    return [" ".join(draw.choices(words, weights, k=28)) for _ in range(count)]
