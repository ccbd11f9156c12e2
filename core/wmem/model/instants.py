"""Instants: UTC epoch seconds inside, ISO 8601 outside."""

from datetime import UTC, datetime

from wmem.describe import describe
from wmem.errors import InvalidInputError

_MIN_EPOCH, _MAX_EPOCH = -62_135_596_800, 253_402_300_799  # years 1 to 9999, which every form can represent


def to_epoch(instant: object) -> float:
    """UTC epoch seconds of a number, an ISO 8601 text or a datetime; without an offset, UTC is assumed.

    Raises:
        InvalidInputError: Not an instant.
    """
    if isinstance(instant, bool):
        instant = None
    if isinstance(instant, int | float) and _MIN_EPOCH <= instant <= _MAX_EPOCH:
        return float(instant)
    try:
        read = datetime.fromisoformat(instant) if isinstance(instant, str) else instant
    except ValueError:
        read = None
    if not isinstance(read, datetime):
        raise InvalidInputError(f"expected epoch seconds, an ISO 8601 text or a datetime, not {describe(instant)}")
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()


def to_iso(at: float) -> str:
    """Epoch seconds as ISO 8601 in UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
