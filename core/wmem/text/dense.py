"""Arithmetic on whole columns at once, by numpy where it is installed; equal to what is done one by one."""

import importlib.util
from array import array
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from wmem.text.postings import TF_BITS, TF_MOST, Columns
from wmem.text.sparse import Saturation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["DenseScores", "has_arrays"]

_AT_ONCE = 20_000
"""Postings up to which those of several terms are added in one go: the calls cost more than the sums."""


@cache
def has_arrays() -> bool:
    """Whether numpy is installed, of the extra ``recall``."""
    return importlib.util.find_spec("numpy") is not None


class DenseScores:
    """Scores of all texts, see `wmem.text.sparse.Scores`.

    The columns are copied: one that somebody looks into could not grow.
    """

    __slots__ = ("_groups", "_lengths", "_live", "_scores")

    def __init__(self, columns: Columns) -> None:
        import numpy as np

        self._lengths = np.array(columns.lengths, dtype=np.uint32)
        self._groups = np.array(columns.groups, dtype=np.uint32)
        self._live = np.array(columns.live, dtype=np.bool_)
        self._scores: NDArray[np.float64] = np.zeros(len(columns.lengths), dtype=np.float64)

    def add(self, given: "Sequence[tuple[array[int], float]]", by: Saturation, /) -> None:
        import numpy as np

        if len(given) > 1 and sum(len(entries) for entries, _ in given) <= _AT_ONCE:
            joined = array("I")
            for entries, _ in given:
                joined += entries
            numbers, frequencies = _split(joined)
            tops = np.repeat([top for _, top in given], [len(entries) for entries, _ in given])
            # One after the other, term by term, as below: sums of floats depend on their order.
            np.add.at(self._scores, numbers, self._gains(numbers, frequencies, tops, by))
            return
        for entries, top in given:
            numbers, frequencies = _split(entries)
            self._scores[numbers] += self._gains(numbers, frequencies, top, by)

    def _gains(
        self,
        numbers: "NDArray[np.int64]",
        frequencies: "NDArray[np.float64]",
        top: "float | NDArray[np.float64]",
        by: Saturation,
    ) -> "NDArray[np.float64]":
        gains: NDArray[np.float64] = top * frequencies / (frequencies + by.flat + by.slope * self._lengths[numbers])
        return gains

    def of(self, numbers: Sequence[int], /) -> list[float]:
        # An empty list would be taken for floats, which index nothing.
        found: list[float] = self._scores[numbers].tolist() if numbers else []
        return found

    def best(self, limit: int, /) -> list[tuple[int, float]]:
        import numpy as np

        scores = self._scores
        found = np.flatnonzero((scores > 0) & self._live)
        if len(found) > limit:
            least = np.partition(scores[found], len(found) - limit)[len(found) - limit]
            found = found[scores[found] >= least]
        found = found[np.lexsort((found, -scores[found]))][:limit]
        return list(zip(found.tolist(), scores[found].tolist(), strict=True))

    def grouped(self, entries: "array[int]", groups: Sequence[int], /) -> tuple[list[int], int]:
        import numpy as np

        numbers, frequencies = _split(entries)
        held = np.bincount(self._groups[numbers], weights=frequencies, minlength=max(groups, default=0) + 1)
        return [int(held[group]) for group in groups], int(np.count_nonzero(held[1:]))


def _split(entries: "array[int]") -> "tuple[NDArray[np.int64], NDArray[np.float64]]":
    import numpy as np

    read = np.array(entries, dtype=np.int64)
    return read >> TF_BITS, (read & TF_MOST).astype(np.float64)
