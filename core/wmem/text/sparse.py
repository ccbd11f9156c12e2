"""Scores of the texts that a query meets, added up posting by posting."""

from collections.abc import Sequence
from heapq import nsmallest
from typing import TYPE_CHECKING, NamedTuple, Protocol

from wmem.text.postings import TF_BITS, TF_MOST, Columns

if TYPE_CHECKING:
    from array import array

__all__ = ["Saturation", "Scores", "SparseScores"]


class Saturation(NamedTuple):
    """How a term counts that is said again, and in a long text: ``top x f / (f + flat + slope x length)``."""

    flat: float
    slope: float


class Scores(Protocol):
    """The sum of what each term gives to each text that holds it."""

    def add(self, given: "Sequence[tuple[array[int], float]]", by: Saturation, /) -> None:
        """Add what each term gives: its postings, and the most it can give to a text."""
        ...

    def of(self, numbers: Sequence[int], /) -> list[float]:
        """What texts have; 0 for one that holds no term."""
        ...

    def best(self, limit: int, /) -> list[tuple[int, float]]:
        """The texts that have most, best first; of equal ones the earlier first."""
        ...

    def grouped(self, entries: "array[int]", groups: Sequence[int], /) -> tuple[list[int], int]:
        """How often a term stands in the texts of each of these groups, and how many groups there are that hold it."""
        ...


class SparseScores:
    """Scores by number; texts that hold no term take no room."""

    __slots__ = ("_columns", "_scores")

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._scores: dict[int, float] = {}

    def add(self, given: "Sequence[tuple[array[int], float]]", by: Saturation, /) -> None:
        scores, lengths, (flat, slope) = self._scores, self._columns.lengths, by
        known = scores.get
        for entries, top in given:
            for entry in entries:
                number, frequency = entry >> TF_BITS, entry & TF_MOST
                scores[number] = known(number, 0.0) + top * frequency / (frequency + flat + slope * lengths[number])

    def of(self, numbers: Sequence[int], /) -> list[float]:
        return [self._scores.get(number, 0.0) for number in numbers]

    def best(self, limit: int, /) -> list[tuple[int, float]]:
        live = self._columns.live
        found = nsmallest(limit, ((-score, number) for number, score in self._scores.items() if live[number]))
        return [(number, -negated) for negated, number in found]

    def grouped(self, entries: "array[int]", groups: Sequence[int], /) -> tuple[list[int], int]:
        held: dict[int, int] = {}
        belongs = self._columns.groups
        for entry in entries:
            if group := belongs[entry >> TF_BITS]:
                held[group] = held.get(group, 0) + (entry & TF_MOST)
        return [held.get(group, 0) for group in groups], len(held)
