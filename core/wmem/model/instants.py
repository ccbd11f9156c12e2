"""Instants: UTC epoch seconds inside, ISO 8601 outside."""

from datetime import UTC, datetime

from wmem.errors import InvalidInputError

__all__ = ["epoch", "iso"]


_FIRST, _LAST = -62_135_596_800, 253_402_300_799  # years 1 to 9999, which every form can represent


def epoch(given: object) -> float:
    """UTC epoch seconds of a number, an ISO 8601 text or a datetime; without an offset, UTC is assumed.

    Raises:
        InvalidInputError: Not an instant.
    """
    if isinstance(given, bool):
        given = None
    if isinstance(given, int | float) and _FIRST <= given <= _LAST:
        return float(given)
    try:
        read = datetime.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        read = None
    if not isinstance(read, datetime):
        msg = f"expected epoch seconds, an ISO 8601 text or a datetime, not {given!r:.80}"
        raise InvalidInputError(msg)
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()


def iso(at: float) -> str:
    """Epoch seconds as ISO 8601 in UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
