"""Results of promotion, erasure and search."""

from collections.abc import Sequence
from typing import NamedTuple, Self

from wmem.model.item import MemoryItem

__all__ = ["BulkPromotion", "Erased", "Promoted", "SearchResults"]


class Promoted(NamedTuple):
    """Result of promoting one item of several.

    Attributes:
        id: The requested id.
        success: Whether it is in long-term memory now.
        long_term_id: Its id there.
        error: Why it failed, for a person.
    """

    id: str
    success: bool
    long_term_id: str | None = None
    error: str | None = None


class BulkPromotion(NamedTuple):
    """Result of promoting several items: counts, and one result each in the requested order."""

    success: int
    failed: int
    results: tuple[Promoted, ...]


class Erased(NamedTuple):
    """Result of an erasure.

    Attributes:
        complete: Whether nothing that this store controls keeps any of the content.
        remaining: One sentence for each place that may keep some, and what its operator must do.
        ids: What was erased, copies included, by id.
    """

    complete: bool
    remaining: tuple[str, ...]
    ids: tuple[str, ...] = ()


class SearchResults(tuple[MemoryItem, ...]):  # noqa: SLOT001  # a tuple of variable size takes no slots
    """Items that a search found, best first, as a tuple.

    Attributes:
        total: How many matched, those beyond the limit included.
        scores: The ranking score of each, in the same order: relevance in [0, 1], importance,
            BM25, or for recency the time it was added.
    """

    total: int
    scores: tuple[float, ...]

    def __new__(cls, matches: Sequence[tuple[MemoryItem, float]] = (), total: int = 0) -> Self:
        """Make the result of the best matches with their scores, and the number of all matches."""
        made = super().__new__(cls, (item for item, _ in matches))
        made.total = total
        made.scores = tuple(score for _, score in matches)
        return made
