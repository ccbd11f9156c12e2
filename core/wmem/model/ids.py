"""Ids: ULIDs, 26 characters that sort by the millisecond they were made in."""

import os

__all__ = ["new_ulid"]

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [first + second for first in _CROCKFORD for second in _CROCKFORD]


def new_ulid(now: float) -> str:
    """A ULID for `now`, UTC epoch seconds; its 80 random bits come from the system."""
    number = (max(0, int(now * 1_000)) & (1 << 48) - 1) << 80 | int.from_bytes(os.urandom(10), "big")
    pairs = _PAIRS
    return "".join([pairs[number >> shift & 1_023] for shift in range(120, -1, -10)])
