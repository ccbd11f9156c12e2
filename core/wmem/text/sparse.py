"""Scores of the texts that a query meets, added up posting by posting."""

from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from wmem.text.postings import TF_BITS, TF_MOST, Columns

if TYPE_CHECKING:
    from array import array
    from collections.abc import Sequence

__all__ = ["Saturation", "Scores", "SparseScores"]

C = TypeVar("C")
_TABLED_AT = 64
"""So many times as many postings as there are lengths are worth a table of what each gives."""
_BLOCK = 64
"""Texts among which the best is found first."""


class Saturation(NamedTuple):
    """How a term counts that is said again, and in a long text: ``top x f / (f + flat + slope x length)``."""

    flat: float
    slope: float


class Scores(Protocol[C]):
    """The sum of what each term gives to each text that holds it."""

    def add(self, given: "Sequence[tuple[array[int], float]]", by: Saturation, /) -> None:
        """Add what each term gives: its postings, and the most it can give to a text."""
        ...

    def of(self, numbers: C, /) -> C:
        """What texts have; 0 for one that holds no term."""
        ...

    def best(self, limit: int, /) -> tuple[C, C]:
        """The texts that have most, best first, and what they have; of equal ones the earlier first."""
        ...


class SparseScores:
    """Scores by number, in a list."""

    __slots__ = ("_columns", "_longest", "_scores")

    def __init__(self, columns: Columns, longest: int) -> None:
        self._columns = columns
        self._longest = longest
        self._scores = [0.0] * len(columns.lengths)

    def add(self, given: "Sequence[tuple[array[int], float]]", by: Saturation, /) -> None:
        scores, lengths, (flat, slope) = self._scores, self._columns.lengths, by
        for entries, top in given:
            if len(entries) > _TABLED_AT * self._longest:
                tops = [(top * frequency, frequency + flat) for frequency in range(1, TF_MOST + 1)]
                ways = range(self._longest + 1)
                gains = [[], *[[most / (least + slope * length) for length in ways] for most, least in tops]]
                for entry in entries:
                    number = entry >> TF_BITS
                    scores[number] += gains[entry & TF_MOST][lengths[number]]
                continue
            for entry in entries:
                number, frequency = entry >> TF_BITS, entry & TF_MOST
                scores[number] += top * frequency / (frequency + flat + slope * lengths[number])

    def of(self, numbers: list[Any], /) -> list[Any]:
        return list(map(self._scores.__getitem__, numbers))

    def best(self, limit: int, /) -> tuple[list[Any], list[Any]]:
        live = self._columns.live
        if 0 in live.tobytes():
            self._scores = list(map(mul, self._scores, live))
        scores = self._scores
        # So many blocks as are wanted have one each that is no less than the least of the largest of them.
        blocks = range(0, len(scores), _BLOCK)
        largest = [max(scores[at : at + _BLOCK]) for at in blocks]
        least = sorted(largest)[-limit] if 0 < limit <= len(largest) else 0.0
        found = [
            number
            for at, most in zip(blocks, largest, strict=True)
            if most and most >= least
            for number, score in enumerate(scores[at : at + _BLOCK], at)
            if score and score >= least
        ]
        found.sort(key=scores.__getitem__, reverse=True)
        del found[limit:]
        return found, self.of(found)
