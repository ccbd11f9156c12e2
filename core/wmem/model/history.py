"""Paths of scopes, and cursors and incarnations of their journals."""

from typing import NamedTuple, TypeAlias

Path: TypeAlias = tuple[str, ...]
"""The segments of a scope; the first is the agent."""


class Cursor(NamedTuple):
    """A position in a journal: the number of records before it, and the hash chain over their ids."""

    version: int
    chain: int


class Incarnation(NamedTuple):
    """The incarnation of a journal: the chain of its first record, new whenever its path is created again."""

    chain: int


ORIGIN = Cursor(0, 0)
"""The cursor of a journal that does not exist."""

VECTOR_SCOPE = "~vectors"
"""Name of the scope below an agent's own that holds the vectors of its texts."""


def is_cache(path: Path) -> bool:
    """Whether a scope holds only derived data, which can be rebuilt; listeners get no events of it."""
    return path[-1] == VECTOR_SCOPE
