"""Array operations and BM25 scores on numpy arrays, with the same results as on lists.

Import it only where numpy is installed, see `wmem.retrieval.arrays.has_numpy`.
"""

from array import array
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wmem.retrieval.postings import TF_BITS, TF_MAX, Columns, Saturation

_Array: TypeAlias = NDArray[Any]
_MAX_JOINED_POSTINGS = 20_000
"""Up to so many postings, those of all terms are added in one call: calls cost more than the sums."""
_MANY_PER_RESULT = 8
"""Numbers for each result from which on not all are sorted."""
_BLOCKS_PER_RESULT = 8
"""Blocks of texts for each result wanted: the best scores of the blocks give a lower bound for the results."""


class NumpyOps:
    """Operations on numpy arrays, see `wmem.retrieval.arrays.ArrayOps`; integers in them are below `size`."""

    __slots__ = ("_size",)

    def __init__(self, size: int) -> None:
        self._size = size

    def ints(self, values: Sequence[int], /) -> _Array:
        return np.array(values, dtype=np.intp)

    def floats(self, values: Sequence[float], /) -> _Array:
        return np.array(values, dtype=np.float64)

    def to_list(self, column: _Array, /) -> list[Any]:
        found: list[Any] = column.tolist()
        return found

    def take(self, source: "_Array | array[int] | array[float]", indices: _Array, /) -> _Array:
        return (_view(source) if isinstance(source, array) else source)[indices]

    def select(self, column: _Array, flags: _Array, /) -> _Array:
        found: _Array = column[flags != 0]
        return found

    def apply(self, formula: Callable[..., Any], /, *columns: _Array) -> _Array:
        # As with plain floats, overflow gives infinity without a warning.
        with np.errstate(over="ignore", invalid="ignore"):
            made: _Array = formula(*columns)
        return made

    def clip(self, column: _Array, upper: float, /) -> _Array:
        return np.minimum(column, upper)

    def factor_where(self, flags: _Array, value: float, /) -> _Array:
        return np.where(flags, value, 1.0)

    def take_rows(self, table: "array[int]", width: int, indices: _Array, columns: Sequence[int], /) -> _Array:
        found = _view(table).reshape(-1, width)[indices]
        return (found if len(columns) == width else found[:, columns]).ravel()

    def outer_product(self, column: _Array, factors: Sequence[float], /) -> _Array:
        return np.outer(column, factors).ravel()

    def distinct(self, columns: Sequence[_Array], /) -> _Array:
        joined = np.concatenate(columns)
        places = np.arange(len(joined))
        # Written backwards, so that for a repeated number the index of its first occurrence remains.
        first = np.empty(self._size, dtype=np.intp)
        first[joined[::-1]] = places[::-1]
        found: _Array = joined[first[joined] == places]
        return found

    def sum_by_key(self, keys: _Array, amounts: _Array, /) -> Callable[[_Array], _Array]:
        return np.bincount(keys, weights=amounts, minlength=self._size).__getitem__

    def sum_shares(
        self, sets: "Sequence[array[int]]", shares: Sequence[float], exclude: Sequence[int], /
    ) -> tuple[_Array, _Array]:
        members = np.concatenate([_view(each) for each in sets]) if sets else np.empty(0, dtype=np.intp)
        sums = np.bincount(members, weights=np.repeat(shares, [len(each) for each in sets]))
        sums[[each for each in exclude if each < len(sums)]] = 0.0
        held = np.flatnonzero(sums)
        return held, sums[held]

    def map_distinct(self, function: Callable[[int], float], column: _Array, /) -> _Array:
        distinct = np.flatnonzero(np.bincount(column))
        values = np.zeros(distinct[-1] + 1 if len(distinct) else 0)
        values[distinct] = [function(each) for each in distinct.tolist()]
        return values[column]

    def top_indices(self, column: _Array, limit: int, /) -> _Array:
        indices = None
        if 0 < limit < len(column) // _MANY_PER_RESULT:
            least = np.partition(column, len(column) - limit)[len(column) - limit]
            indices = np.flatnonzero(column >= least)
            column = column[indices]
        order: _Array = (-column).argsort(kind="stable")[:limit]
        return order if indices is None else indices[order]

    def maximum(self, column: _Array, /) -> float:
        return float(column.max(initial=0.0))


class NumpyScores:
    """BM25 scores of all texts in an array, see `wmem.retrieval.bm25.Scores`."""

    __slots__ = ("_columns", "_scores")

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._scores: NDArray[np.float64] = np.zeros(len(columns.lengths), dtype=np.float64)

    def add(self, weighted_postings: "Sequence[tuple[array[int], float]]", saturation: Saturation, /) -> None:
        if len(weighted_postings) > 1 and sum(len(entries) for entries, _ in weighted_postings) <= _MAX_JOINED_POSTINGS:
            joined = array("I")
            for entries, _ in weighted_postings:
                joined += entries
            numbers, frequencies = _split_postings(joined)
            tops = np.array([top for _, top in weighted_postings]).repeat(
                [len(entries) for entries, _ in weighted_postings]
            )
            # Term by term in order, as below: sums of floats depend on their order.
            np.add.at(self._scores, numbers, self._gains(numbers, frequencies, tops, saturation))
            return
        for entries, top in weighted_postings:
            numbers, frequencies = _split_postings(entries)
            self._scores[numbers] += self._gains(numbers, frequencies, top, saturation)

    def _gains(
        self,
        numbers: NDArray[np.int64],
        frequencies: NDArray[np.float64],
        max_gain: float | NDArray[np.float64],
        saturation: Saturation,
    ) -> NDArray[np.float64]:
        lengths = _view(self._columns.lengths)[numbers]
        gains: NDArray[np.float64] = (
            max_gain * frequencies / (frequencies + saturation.flat + saturation.slope * lengths)
        )
        return gains

    def scores_of(self, numbers: _Array, /) -> _Array:
        return self._scores[numbers]

    def frequencies(self, postings: "array[int]", numbers: _Array, /) -> _Array:
        entries = _view(postings)
        places = entries.searchsorted((numbers << TF_BITS).astype(entries.dtype))
        places[places == len(entries)] = 0
        met = entries[places]
        return np.where(met >> TF_BITS == numbers, met & TF_MAX, 0)

    def top(self, limit: int, /) -> tuple[_Array, _Array]:
        live = _view(self._columns.live)
        if not live.all():
            self._scores[live == 0] = 0.0
        scores, least = self._scores, 0.0
        # The limit-th largest block maximum: at least `limit` texts score no less, one in each of those blocks.
        deep = max(1, len(scores) // (_BLOCKS_PER_RESULT * max(1, limit)))
        largest = np.fmax.reduce(scores[: len(scores) // deep * deep].reshape(deep, -1), axis=0)
        if 0 < limit <= len(largest):
            largest.partition(len(largest) - limit)
            least = largest[len(largest) - limit]
        found = np.flatnonzero(scores >= least if least > 0 else scores > 0)
        held = scores[found]
        order = (-held).argsort(kind="stable")[:limit]
        return found[order], held[order]


def _view(column: "array[int] | array[float]") -> _Array:
    """A numpy view of the column, not copied. Drop it at once: an array cannot grow while a view exists."""
    return np.frombuffer(column, dtype=column.typecode)


def _split_postings(postings: "array[int]") -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    read = np.array(postings, dtype=np.int64)
    return read >> TF_BITS, (read & TF_MAX).astype(np.float64)
