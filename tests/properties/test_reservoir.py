"""The sample of a long-lived log: it grows with importance, keeps its bound, and is the same at each look."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from wmem.rules.eviction import Size
from wmem.rules.reservoir import LogItem, choose_to_thin

DAY = 86_400.0
HALF_LIFE = 90 * DAY
LOGS = st.lists(
    st.builds(
        LogItem,
        id=st.text(max_size=6),
        at=st.floats(0, 2e9),
        importance=st.floats(0, 1),
        tokens=st.integers(0, 50),
        is_summarized=st.booleans(),
    ),
    max_size=40,
    unique_by=lambda item: item.id,
)


def keep(items: list[LogItem], most: int, half_life_s: float = HALF_LIFE) -> list[LogItem]:
    gone = {item.id for item in choose_to_thin(items, Size(max(0, len(items) - most)), half_life_s)}
    return [item for item in items if item.id not in gone]


def count_by_importance(items: list[LogItem]) -> list[int]:
    """How many of the items have an importance of 0.1, of 0.2 and so on to 1.0."""
    return [sum(round(item.importance * 10) == tenth for item in items) for tenth in range(1, 11)]


def test_the_share_that_stays_grows_with_importance_as_the_weights_say() -> None:
    items = [LogItem(f"item-{at}", 1e9, (at % 10 + 1) / 10, 1) for at in range(20_000)]
    kept = count_by_importance(keep(items, 2_000))
    # Of a small sample the shares are about those of the weights: chi-square with 9 degrees of freedom, 99.9 %.
    expected = [2_000 * tenth / 55 for tenth in range(1, 11)]
    assert sum((count - due) ** 2 / due for count, due in zip(kept, expected, strict=True)) < 27.9
    assert kept[0] > 0
    half = count_by_importance(keep(items, 10_000))
    assert half == sorted(half)


def test_a_half_life_halves_the_share_that_stays() -> None:
    items = [LogItem(f"item-{at}", 1e9 + (at % 2) * HALF_LIFE, 0.5, 1) for at in range(40_000)]
    kept = keep(items, 3_000)
    old = sum(item.at == 1e9 for item in kept)
    assert 900 < old < 1_100


@given(LOGS, st.integers(0, 40), st.integers(0, 40))
def test_a_sample_of_a_sample_is_the_sample_of_all(items: list[LogItem], first: int, second: int) -> None:
    once = keep(items, min(first, second))
    assert keep(keep(items, max(first, second)), min(first, second)) == once
    assert keep(once, len(once)) == once


@given(LOGS, st.integers(0, 40), st.randoms(use_true_random=False))
def test_the_sample_does_not_depend_on_the_order_of_the_log(items: list[LogItem], most: int, shuffler: Random) -> None:
    other = items.copy()
    shuffler.shuffle(other)
    assert {item.id for item in keep(items, most)} == {item.id for item in keep(other, most)}


@given(LOGS, st.integers(0, 40), st.integers(0, 500))
def test_so_much_leaves_as_must_and_no_item_more(items: list[LogItem], count: int, tokens: int) -> None:
    gone = choose_to_thin(items, Size(count, tokens), HALF_LIFE)

    def suffices(part: list[LogItem]) -> bool:
        return len(part) >= count and sum(item.tokens for item in part) >= tokens

    assert suffices(gone) or len(gone) == len(items)
    assert not gone or not suffices(gone[:-1])


@given(LOGS, st.integers(0, 40))
def test_what_a_summary_tells_goes_before_all_else(items: list[LogItem], count: int) -> None:
    gone = choose_to_thin(items, Size(count), HALF_LIFE)
    assert [item.is_summarized for item in gone] == sorted((item.is_summarized for item in gone), reverse=True)
    left = {item.id for item in items} - {item.id for item in gone}
    if any(not item.is_summarized for item in gone):
        assert not any(item.is_summarized for item in items if item.id in left)
