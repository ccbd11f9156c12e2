"""What became of acts on several items, as named values."""

from collections.abc import Sequence
from typing import NamedTuple, Self

from wmem.model.item import MemoryItem

__all__ = ["Bulk", "Erased", "Hits", "Promoted"]


class Promoted(NamedTuple):
    """What became of promoting one item of several.

    Attributes:
        id: As it was asked for.
        success: Whether long-term memory has it now.
        long_term_id: Its id there.
        error: Why not, for a person.
    """

    id: str
    success: bool
    long_term_id: str | None = None
    error: str | None = None


class Bulk(NamedTuple):
    """What became of promoting several items: counts, and each in the order asked for."""

    success: int
    failed: int
    results: tuple[Promoted, ...]


class Erased(NamedTuple):
    """What became of content that was to leave nothing behind.

    Attributes:
        complete: Whether nothing that this store controls keeps any of it.
        remaining: One sentence for each thing that may keep some, and what its operator must do.
        ids: What was erased, copies included, by id.
    """

    complete: bool
    remaining: tuple[str, ...]
    ids: tuple[str, ...] = ()


class Hits(tuple[MemoryItem, ...]):  # noqa: SLOT001  # a tuple of variable size takes no slots
    """What a search found, best first: the items themselves, as a tuple.

    Attributes:
        total: How many matched, also beyond the limit.
        scores: What each was ranked by, in the same order: relevance in [0, 1], importance,
            BM25, or for recency the instant it was added.
    """

    total: int
    scores: tuple[float, ...]

    def __new__(cls, found: Sequence[tuple[MemoryItem, float]] = (), total: int = 0) -> Self:
        """The best of the matches with their scores, and how many there are."""
        made = super().__new__(cls, (item for item, _ in found))
        made.total = total
        made.scores = tuple(score for _, score in found)
        return made
