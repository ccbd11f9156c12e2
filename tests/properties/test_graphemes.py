"""Text is cut between grapheme clusters, in linear time."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.matrix import examples
from wmem.graphemes import cut_after, cut_before, is_within_cluster
from wmem.pack.truncation import truncate_text
from wmem.tokens.counter import default_counter

# Each is one cluster, and joins with none of the others.
CLUSTERS = (
    "a", " ", "\r\n", "\n", "7", "e\u0301", "o\u0308\u0304", "\u00e9", "東",
    "👩\u200d👩\u200d👧\u200d👦", "👍\U0001f3fd", "❤\ufe0f", "1\ufe0f\u20e3", "🏳\ufe0f\u200d🌈",
    "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "각", "\u1100\u1161\u11a8", "가\u11a8", "क्षि", "त्त्व", "நி", "กำ", "\u0600\u0661", "ｶ\uff9e",
)  # fmt: skip
FLAG = "🇫🇷"


@given(st.lists(st.sampled_from((*CLUSTERS, FLAG)), min_size=1, max_size=20), st.data())
@examples(2)
def test_a_cut_is_the_nearest_place_between_clusters(clusters: list[str], data: st.DataObject) -> None:
    # Two flags in a row are four letters: they pair from the first one on.
    places = [0, *accumulate(map(len, clusters))]
    text = "".join(clusters)
    at = data.draw(st.integers(-1, len(text) + 1))
    assert cut_before(text, at) == max((place for place in places if place <= at), default=0)
    assert cut_after(text, at) == min((place for place in places if place >= at), default=len(text))


@pytest.mark.parametrize(
    ("text", "within"),
    [
        ("\n\u0301", False),  # a mark joins no control character
        ("a\u200d👩", False),  # a joiner joins pictographs only
        ("👩\u200da", False),
        ("क\u094da", False),
        ("क\u094dত", False),  # two scripts
        ("ab", False),
        ("\u1161\u1100", False),
        ("\U0001f1eb\U0001f1f7", True),
        ("क\u094d\u200dष", True),
    ],
)
def test_what_joins_and_what_does_not(text: str, *, within: bool) -> None:
    assert is_within_cluster(text, len(text) - 1) is within


@given(st.lists(st.sampled_from((*CLUSTERS, FLAG)), min_size=1, max_size=60), st.integers(1, 40))
@examples(1)
def test_b148_both_ends_of_a_truncated_text_are_whole_clusters(clusters: list[str], tokens: int) -> None:
    text, places = "".join(clusters), {0, *accumulate(map(len, clusters))}
    head, tail, _ = truncate_text(text, tokens, default_counter())
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) in places
    assert len(text) - len(tail) in places


@pytest.mark.parametrize(
    "text",
    ["a" + "\u0301" * 50_000, "🇫" * 50_001, "👩\u200d" * 25_000, "क" + "\u094d" * 50_000 + "त", "क\u094d" * 25_000],
)
def test_a_cluster_without_end_is_cut_after_a_bounded_look(text: str) -> None:
    at = len(text) // 2 + 1
    assert at - 1_024 <= cut_before(text, at) <= at <= cut_after(text, at) <= at + 1_024
