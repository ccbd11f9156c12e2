"""Operations on lists and on numpy arrays give the same, to the last bit."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.matrix import examples
from wmem.retrieval.arrays import ListOps

arrays_numpy = pytest.importorskip("wmem.retrieval.arrays_numpy", exc_type=ImportError)

lists = ListOps()
amounts = st.floats(0.001, 1000)
numbers = st.integers(0, 30)


@examples(1)
@given(
    sets=st.lists(st.tuples(st.lists(numbers, unique=True), amounts), max_size=5),
    exclude=st.lists(st.integers(0, 40), max_size=4),
)
def test_shares_are_summed_in_the_order_of_the_sets(sets: list[tuple[list[int], float]], exclude: list[int]) -> None:
    members, shares = [array("I", each) for each, _ in sets], [share for _, share in sets]
    columns = arrays_numpy.NumpyOps(1).sum_shares(members, shares, exclude)
    expected = dict(zip(*lists.sum_shares(members, shares, exclude), strict=True))
    assert dict(zip(*(each.tolist() for each in columns), strict=True)) == expected


@examples(1)
@given(column=st.lists(numbers, max_size=40))
def test_a_function_of_integers_is_called_once_for_each_distinct_one(column: list[int]) -> None:
    arrays = arrays_numpy.NumpyOps(1)
    called: list[int] = []

    def halve(number: int) -> float:
        called.append(number)
        return number / 2

    assert arrays.map_distinct(halve, arrays.ints(column)).tolist() == [each / 2 for each in column]
    assert sorted(called) == sorted(set(column))
    called.clear()
    assert lists.map_distinct(halve, column) == [each / 2 for each in column]
    assert sorted(called) == sorted(set(column))


@examples(1)
@given(column=st.lists(st.integers(-9, 9).map(float), max_size=200), limit=st.integers(0, 12))
def test_the_largest_come_first_and_equal_ones_in_order(column: list[float], limit: int) -> None:
    arrays = arrays_numpy.NumpyOps(1)
    expected = sorted(range(len(column)), key=lambda at: (-column[at], at))[:limit]
    assert lists.top_indices(column, limit) == expected
    assert arrays.top_indices(arrays.floats(column), limit).tolist() == expected
