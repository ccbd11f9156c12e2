"""Where a scope lives and what names a point of its history."""

from typing import NamedTuple, TypeAlias

__all__ = ["ORIGIN", "VECTORS", "Birth", "Cursor", "Path", "is_cache"]

Path: TypeAlias = tuple[str, ...]
"""The segments of a scope; the first is the agent."""


class Cursor(NamedTuple):
    """A point in one history: how many records came before it, and what they were."""

    version: int
    chain: int


class Birth(NamedTuple):
    """The chain of a journal's first record: it tells one life of a path from the next."""

    chain: int


ORIGIN = Cursor(0, 0)
"""The cursor of a journal that does not exist."""

VECTORS = "~vectors"
"""The scope below an agent's own that holds the vectors of its texts."""


def is_cache(path: Path) -> bool:
    """Whether what a scope holds was made from others and can be made again: no listener hears of it."""
    return path[-1] == VECTORS
