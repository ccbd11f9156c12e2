"""Time zones: in which zone the days of notes and questions are."""

import re
from datetime import UTC, date, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from wmem.describe import describe
from wmem.errors import InvalidInputError

_SAYABLE = re.compile(r"[\w+-]+(?:[/: ][\w+:-]+)*")
_MAX_NAME_CHARS = 64


def to_zone(zone: tzinfo | str) -> tzinfo:
    """A zone by its IANA name, or the zone itself.

    Raises:
        InvalidInputError: Neither, or a name that this machine does not know.
    """
    if isinstance(zone, tzinfo):
        return zone
    if zone == "UTC":
        return UTC  # without zone data, too
    if not isinstance(zone, str):
        raise InvalidInputError(f"zone must be a tzinfo or an IANA name, not {describe(zone)}")
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        msg = (
            f"this machine knows no zone of that name, got {describe(zone)}; give an IANA name such as 'Europe/Paris', "
            "and install the package tzdata where the system has no zone data"
        )
    raise InvalidInputError(msg)  # not from the error, which repeats the name


def zone_name(zone: tzinfo) -> str:
    """The name of a zone for readers: its IANA name, or its offset."""
    name = getattr(zone, "key", None) or zone.tzname(None) or str(zone)
    return name if len(name) <= _MAX_NAME_CHARS and _SAYABLE.fullmatch(name) else "local time"


def to_day(at: float, zone: tzinfo = UTC) -> date | None:
    """The day of an instant, UTC epoch seconds, in a zone; None outside the calendar."""
    try:
        return datetime.fromtimestamp(at, zone).date()
    except (ValueError, OverflowError, OSError):
        return None
