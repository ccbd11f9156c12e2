"""Property tests of the relevance floor, the words that are weak, and the order of near-equal matches."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmem.analysis.analyzer import to_terms
from wmem.analysis.common_words import is_common, list_common_words
from wmem.analysis.stopwords import STOP_WORDS
from wmem.retrieval.floor import WEAK, Match, make_floor, word_strength
from wmem.retrieval.index import Index
from wmem.retrieval.near_equal import NEAR, order_near_equals

STRENGTHS = st.lists(st.floats(0.001, 1), min_size=1, max_size=20)
MATCHES = st.builds(Match, st.floats(0, 20), st.floats(0, 20))


@given(texts=st.integers(1, 10_000), data=st.data())
def test_a_word_says_the_less_the_more_texts_have_it(texts: int, data: st.DataObject) -> None:
    few, many = sorted(data.draw(st.lists(st.integers(0, texts), min_size=2, max_size=2)))
    said = [word_strength(each, texts, common=False) for each in (few, many)]
    assert 1 >= said[0] >= said[1] > 0
    assert word_strength(few, texts, common=True) == WEAK * said[0]


def test_a_word_in_nearly_every_text_says_next_to_nothing_and_a_rare_one_all() -> None:
    assert word_strength(1, 1_000, common=False) == word_strength(240, 1_000, common=False) == 1
    assert word_strength(500, 1_000, common=False) == pytest.approx(0.5, abs=0.01)
    assert word_strength(1_000, 1_000, common=False) < 0.001
    assert word_strength(950, 1_000, common=False) < 0.05
    assert word_strength(2, 2, common=False) == 1  # of two texts


@given(strengths=STRENGTHS, share=st.floats(0, 1), score=st.floats(0, 1))
def test_a_text_with_all_of_the_question_is_above_every_floor(
    strengths: Sequence[float], share: float, score: float
) -> None:
    whole = sum(strengths)
    floor = make_floor(strengths, 1_000, share)
    assert floor.shortfall(Match(sum(reversed(strengths)), score), Match(whole, 1)) is None


@given(strengths=STRENGTHS, match=MATCHES, best=MATCHES)
def test_no_floor_leaves_everything(strengths: Sequence[float], match: Match, best: Match) -> None:
    assert make_floor(strengths, 1_000, 0).shortfall(match, best) is None


@given(strengths=STRENGTHS, share=st.floats(0.1, 1), best=MATCHES, more=st.floats(0, 1), match=MATCHES)
def test_who_has_more_is_never_below_who_has_less(
    strengths: Sequence[float], share: float, best: Match, more: float, match: Match
) -> None:
    floor = make_floor(strengths, 1_000, share)
    if floor.shortfall(match, best) is None:
        assert floor.shortfall(Match(match.evidence + more, match.score + more), best) is None


@given(others=STRENGTHS, share=st.floats(0.1, 1))
def test_one_weak_word_is_never_enough_beside_another_word(others: Sequence[float], share: float) -> None:
    match = Match(min(WEAK, *others), 1.0)
    assert make_floor([match.evidence, *others], 1_000, share).shortfall(match, match) == "weak words"


def test_of_the_best_a_text_must_have_half_the_evidence_and_a_share_of_the_score() -> None:
    floor, best = make_floor([1, 1, 0.5], 1_000, 0.5), Match(2.0, 10.0)
    asked = [(1.0, 3.0), (0.9, 9.0), (1.0, 2.9), (2.0, 0.1), (0.5, 10.0)]
    assert [floor.shortfall(Match(*each), best) for each in asked] == [
        None, "less than the best", "less than the best", None, "weak words",
    ]  # fmt: skip
    few = make_floor([1, 1, 0.5], 3, 0.5)  # of few texts, scores tell little
    assert few.shortfall(Match(1.0, 0.1), best) is None


@pytest.mark.parametrize("text", ["want", "using", "opened", "Questions", "tried", "went", "different"])
def test_what_fits_any_text_is_common_in_each_of_its_forms(text: str) -> None:
    (term,) = to_terms(text)
    assert is_common(term, "english")


@pytest.mark.parametrize("text", ["Lisbon", "kubernetes", "sister", "dentist", "4711", "dog", "żółw"])
def test_what_is_a_subject_is_not_common(text: str) -> None:
    (term,) = to_terms(text)
    assert not is_common(term, "english")
    assert not is_common("want", "german")


@pytest.mark.parametrize(
    ("text", "pairs"), [("你喜欢什么", {"什么"}), ("他是誰", {"是誰", "是谁"}), ("どこですか", {"です"})]
)
def test_what_asks_is_common_in_chinese_and_japanese(text: str, pairs: set[str]) -> None:
    (pair,) = pairs.intersection(to_terms(text))  # the simplified one where OpenCC is installed
    assert is_common(pair, "english")
    assert not is_common("饼干", "english")


@pytest.mark.parametrize("language", sorted(STOP_WORDS))
def test_every_common_word_is_known_as_one_in_its_language(language: str) -> None:
    words = list_common_words(language)
    assert len(words) > 100
    assert [word for word in words if not all(is_common(term, language) for term in to_terms(word, language))] == []


@given(
    texts=st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6), min_size=1, max_size=12),
    query=st.lists(st.sampled_from("abcdefghxyz"), min_size=1, max_size=6),
)
def test_evidence_is_what_the_shared_words_say_in_total(texts: list[list[str]], query: list[str]) -> None:
    index = Index()
    for number, words in enumerate(texts):
        index.add(str(number), " ".join(each * 3 for each in words))
    wanted = {each * 3 for each in query}
    says = {word: word_strength(sum(word[0] in words for words in texts), len(texts), common=False) for word in wanted}
    asked = " ".join(each * 3 for each in query)
    found = index.match_words(asked, 0.5)
    for id, match in found.by_id.items():
        shared = [word for word in wanted if word[0] in texts[int(id)]]
        assert match.evidence == pytest.approx(sum(map(says.__getitem__, shared)))
        assert set(index.intersect_terms(found.terms, [id])[0]) == set(shared)
    assert found.floor == pytest.approx(make_floor(says.values(), len(texts), 0.5))
    assert [(id, match.score) for id, match in found.by_id.items()] == index.search(asked, 100)


@given(scores=st.lists(st.floats(0, 100), max_size=30), near=st.floats(0, 0.2), data=st.data())
def test_only_near_equals_change_places(scores: list[float], near: float, data: st.DataObject) -> None:
    ranked = [(score, place) for place, score in enumerate(sorted(scores, reverse=True))]
    merits = data.draw(st.lists(st.integers(0, 3), min_size=len(scores), max_size=len(scores)))
    ordered = list(order_near_equals(ranked, merits.__getitem__, near))
    assert sorted(ordered, key=lambda each: each[1]) == ranked
    for (first, a), (second, b) in pairwise(ordered):
        assert second <= first or second * (1 - near) <= first * (1 + 1e-9)
        if first == second and merits[a] == merits[b]:
            assert a < b


def test_what_goes_before_decides_within_a_share_and_no_further() -> None:
    ranked = [(10.0, "low"), (9.6, "high"), (9.4, "critical")]
    merit = ["low", "high", "critical"].index
    assert [name for _, name in order_near_equals(ranked, merit)] == ["high", "low", "critical"]
    assert NEAR == 0.05
