"""BM25 score accumulation over postings, in plain lists."""

from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from wmem.text.postings import TF_BITS, TF_MAX, Columns

if TYPE_CHECKING:
    from array import array
    from collections.abc import Sequence

__all__ = ["ListScores", "Saturation", "Scores"]

C = TypeVar("C")
_MIN_POSTINGS_RATIO = 64
"""Postings per possible text length from which a table of gains pays off."""
_BLOCK_SIZE = 64
"""Texts in a block, whose best score is found first."""


class Saturation(NamedTuple):
    """Term frequency saturation with length normalization: ``top x f / (f + flat + slope x length)``."""

    flat: float
    slope: float


class Scores(Protocol[C]):
    """The scores of all texts: sums of what each term contributes."""

    def add(self, weighted_postings: "Sequence[tuple[array[int], float]]", saturation: Saturation, /) -> None:
        """Add the contributions of terms, each with its postings and the most it can contribute to a text."""
        ...

    def scores_of(self, numbers: C, /) -> C:
        """The scores of these texts; 0 for a text that contains no term."""
        ...

    def top(self, limit: int, /) -> tuple[C, C]:
        """The texts with the highest scores, best first, and their scores; equal ones in order of their numbers."""
        ...


class ListScores:
    """Scores by text number, in a list."""

    __slots__ = ("_columns", "_max_length", "_scores")

    def __init__(self, columns: Columns, max_length: int) -> None:
        self._columns = columns
        self._max_length = max_length
        self._scores = [0.0] * len(columns.lengths)

    def add(self, weighted_postings: "Sequence[tuple[array[int], float]]", saturation: Saturation, /) -> None:
        scores, lengths, (flat, slope) = self._scores, self._columns.lengths, saturation
        for entries, top in weighted_postings:
            if len(entries) > _MIN_POSTINGS_RATIO * self._max_length:
                tops = [(top * frequency, frequency + flat) for frequency in range(1, TF_MAX + 1)]
                ways = range(self._max_length + 1)
                gains = [[], *[[most / (least + slope * length) for length in ways] for most, least in tops]]
                for entry in entries:
                    number = entry >> TF_BITS
                    scores[number] += gains[entry & TF_MAX][lengths[number]]
                continue
            for entry in entries:
                number, frequency = entry >> TF_BITS, entry & TF_MAX
                scores[number] += top * frequency / (frequency + flat + slope * lengths[number])

    def scores_of(self, numbers: list[Any], /) -> list[Any]:
        return list(map(self._scores.__getitem__, numbers))

    def top(self, limit: int, /) -> tuple[list[Any], list[Any]]:
        live = self._columns.live
        if 0 in live.tobytes():
            self._scores = list(map(mul, self._scores, live))
        scores = self._scores
        # The limit-th largest block maximum: at least `limit` texts score no less, one in each of those blocks.
        blocks = range(0, len(scores), _BLOCK_SIZE)
        largest = [max(scores[at : at + _BLOCK_SIZE]) for at in blocks]
        least = sorted(largest)[-limit] if 0 < limit <= len(largest) else 0.0
        found = [
            number
            for at, most in zip(blocks, largest, strict=True)
            if most and most >= least
            for number, score in enumerate(scores[at : at + _BLOCK_SIZE], at)
            if score and score >= least
        ]
        found.sort(key=scores.__getitem__, reverse=True)
        del found[limit:]
        return found, self.scores_of(found)
