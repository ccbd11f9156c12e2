"""Ids: ULIDs, 26 characters that sort by the millisecond they were made in."""

import os
from datetime import UTC, datetime
from functools import lru_cache

_PROMOTED_PREFIX = "memory_promoted_"
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_CROCKFORD_OF_BYTE = _CROCKFORD.encode() * 8
_CROCKFORD_PAIRS = [first + second for first in _CROCKFORD for second in _CROCKFORD]


def new_ulid(now: float) -> str:
    """A ULID for `now`, UTC epoch seconds; its 80 random bits come from the system."""
    # Of each byte the five lowest bits make a character: 256 is a multiple of 32, so all are as likely.
    chance = os.urandom(16).translate(_CROCKFORD_OF_BYTE).decode()
    return _encode_time(max(0, int(now * 1_000)) & (1 << 48) - 1) + chance


@lru_cache(64)
def _encode_time(milliseconds: int) -> str:
    pairs = _CROCKFORD_PAIRS
    return "".join([pairs[milliseconds >> shift & 1_023] for shift in (40, 30, 20, 10, 0)])


def to_promoted_id(source_id: str, now: float) -> str:
    """The id of the item `source` in long-term memory: its own id and the time of promotion (UTC)."""
    return f"{_PROMOTED_PREFIX}{source_id}_{datetime.fromtimestamp(now, UTC):%Y%m%d-%H%M%S}"


def parse_promoted_id(long_term_id: str) -> str | None:
    """The source item's id in a promoted id; None for any other id."""
    if not long_term_id.startswith(_PROMOTED_PREFIX):
        return None
    source, _, _ = long_term_id.removeprefix(_PROMOTED_PREFIX).rpartition("_")
    return source or None
