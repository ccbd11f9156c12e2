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


def to_scope_id(path: Path) -> str:
    """A path as one text: no two paths give the same, and most read as they are.

    In a segment a slash, a percent sign and what cannot be printed are percent-encoded, as in a URL.
    """
    return "/".join(map(_encode_segment, path))


def _encode_segment(segment: str) -> str:
    if segment.isprintable() and "/" not in segment and "%" not in segment:
        return segment
    return "".join(
        char if char.isprintable() and char not in "/%" else "".join(f"%{byte:02X}" for byte in char.encode())
        for char in segment
    )


ORIGIN = Cursor(0, 0)
"""The cursor of a journal that does not exist."""

VECTOR_SCOPE = "~vectors"
"""Name of the scope below an agent's own that holds the vectors of its texts."""

INDEX_SCOPE = "~index"
"""Name of the scope below each other that holds the index of its texts."""
_CACHES = frozenset((VECTOR_SCOPE, INDEX_SCOPE))

TRACE_SCOPE = "~trace"
"""Name of the scope below each other that holds the trace of its turns."""
PENDING_SCOPE = "~pending"
"""Name of the scope below an agent's own that says what is being done to all of its scopes, while it is."""
RESERVED_PREFIX = "~"
"""Segments that begin with it are wmem's own."""


def is_cache(path: Path) -> bool:
    """Whether a scope holds only derived data, which can be rebuilt; listeners get no events of it."""
    return path[-1] in _CACHES


def is_index(path: Path) -> bool:
    """Whether a scope holds the index of the one above it."""
    return path[-1] == INDEX_SCOPE


def is_trace(path: Path) -> bool:
    """Whether a scope holds the trace of the one above it."""
    return path[-1] == TRACE_SCOPE


def is_reserved(path: Path) -> bool:
    """Whether a scope is wmem's own: nobody hears of it, and nothing counts it, unless asked to."""
    return any(segment.startswith(RESERVED_PREFIX) for segment in path)


def index_path(path: Path) -> Path:
    """The scope that holds the index of a scope."""
    return (*path, INDEX_SCOPE)


def is_pending(path: Path) -> bool:
    """Whether a scope says what is being done to all scopes of its agent."""
    return path[-1] == PENDING_SCOPE


def pending_path(path: Path) -> Path:
    """The scope that says what is being done to all scopes of an agent, by the path of any of them."""
    return (path[0], PENDING_SCOPE)
