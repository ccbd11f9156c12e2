"""Where what is written is redacted, and which rows were a moment ago."""

from collections.abc import Mapping
from hashlib import blake2b
from types import MappingProxyType

from wmem.errors import InvalidInputError
from wmem.model.history import Path, is_cache, is_trace
from wmem.model.row import Row
from wmem.rules.redaction import Redaction
from wmem.rules.routing import CONVERSATION, EPISODIC, SEMANTIC
from wmem.scope.redaction.values import NO_COUNTS, Counts

WITHHELD = "withheld"
"""What texts are counted as that are held back since a recognizer failed."""
NO_ROWS: Mapping[str, Row] = MappingProxyType({})
_LONG_TERM = frozenset((SEMANTIC, EPISODIC, CONVERSATION))
_MAX_CLEAN = 4_096


class HeldBackError(InvalidInputError):
    """A text would be held back, because a recognizer failed on it: what holds it is not stored."""


def says_the_same(row: Row, other: Row) -> bool:
    """Whether two rows have the same texts, so that what is known of one holds for the other."""
    return (row.content, row.rest, row.tags, row.standing) == (other.content, other.rest, other.tags, other.standing)


def redacts_at(redaction: Redaction | None, path: Path) -> bool:
    """Whether what is written to a scope is redacted."""
    if redaction is None or not redaction.active or is_cache(path) or is_trace(path):
        return False
    return redaction.on_every_put or not _LONG_TERM.isdisjoint(path[1:])


class CleanRows:
    """Which rows were redacted a moment ago, by digests of what they hold, so that none is read twice."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[bytes, Counts] = {}

    def add(self, row: Row, counts: Counts) -> None:
        if len(self._counts) >= _MAX_CLEAN:
            self._counts.clear()
        self._counts[_fingerprint(row)] = counts

    def counts(self, row: Row) -> Counts:
        """How many texts of each kind were redacted in a row."""
        return self._counts.get(_fingerprint(row), NO_COUNTS) if self._counts else NO_COUNTS

    def __contains__(self, row: Row) -> bool:
        return _fingerprint(row) in self._counts


def _fingerprint(row: Row) -> bytes:
    parts = (row.content, row.rest or b"", repr((row.tags, row.standing)).encode("utf-8", "surrogatepass"))
    told = blake2b(digest_size=16)
    for part in parts:
        told.update(len(part).to_bytes(8, "big"))
        told.update(part)
    return told.digest()
