"""Which variants a tier runs: every backend is met, and every value of a parameter."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.matrix import BACKENDS, MODES, TIERS, choose_variants, cover


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_of_crossed_parameters_each_value_is_met_by_as_few_tests_as_the_longest_has_values(sizes: list[int]) -> None:
    crossed = {each: frozenset(enumerate(each)) for each in product(*(range(size) for size in sizes))}
    chosen = cover(crossed)
    assert frozenset().union(*(crossed[each] for each in chosen)) == frozenset().union(*crossed.values())
    assert len(chosen) == len(set(chosen)) == max(sizes)


def test_a_test_without_parameters_is_run() -> None:
    assert cover({"alone": frozenset()}) == ["alone"]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("name", ["TestJournal", "TestErasure"])
def test_what_each_tier_runs_everywhere_meets_every_backend(tier: str, name: str) -> None:
    variants = choose_variants(tier, BACKENDS, name, always=True)
    assert {variant.backend for variant in variants} == set(BACKENDS)
    assert {variant.mode for variant in variants} == set(MODES)
    assert tier == "fast" or len(variants) == len(BACKENDS) * len(MODES)
