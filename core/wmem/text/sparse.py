"""BM25 score accumulation over postings, in plain lists."""

from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from wmem.text.postings import TF_BITS, TF_MOST, Columns

if TYPE_CHECKING:
    from array import array
    from collections.abc import Sequence

__all__ = ["Saturation", "Scores", "SparseScores"]

C = TypeVar("C")
_TABLED_AT = 64
"""Postings per possible text length from which a table of gains pays off."""
_BLOCK = 64
"""Texts in a block, whose best score is found first."""


class Saturation(NamedTuple):
    """Term frequency saturation with length normalization: ``top x f / (f + flat + slope x length)``."""

    flat: float
    slope: float


class Scores(Protocol[C]):
    """The scores of all texts: sums of what each term contributes."""

    def add(self, given: "Sequence[tuple[array[int], float]]", by: Saturation, /) -> None:
        """Add the contributions of terms, each with its postings and the most it can contribute to a text."""
        ...

    def of(self, numbers: C, /) -> C:
        """The scores of these texts; 0 for a text that contains no term."""
        ...

    def best(self, limit: int, /) -> tuple[C, C]:
        """The texts with the highest scores, best first, and their scores; equal ones in order of their numbers."""
        ...


class SparseScores:
    """Scores by text number, in a list."""

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
        # The limit-th largest block maximum: at least `limit` texts score no less, one in each of those blocks.
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
