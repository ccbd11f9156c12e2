"""The clock of a store: system time when it was opened, plus monotonic time since.

A system clock can be set back an hour or forward ten years while a process runs, by hand
or by mistake; items would then expire at once or never. A monotonic source avoids that.
"""

import time
from collections.abc import Callable
from contextlib import suppress

_AHEAD_MAX_S = 86_400.0


def _boottime() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _find_elapsed() -> Callable[[], float]:
    """The clock that also counts while the machine sleeps, where the system has one and allows to read it."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        with suppress(OSError):  # a sandbox may refuse it
            _boottime()
            return _boottime
    return time.monotonic


class SteadyClock:
    """UTC epoch seconds: one reading of the system clock plus the monotonic time since."""

    __slots__ = ("_elapsed", "_offset")

    def __init__(self) -> None:
        self._elapsed = _find_elapsed()
        self._offset = time.time() - self._elapsed()

    def __call__(self) -> float:
        return self._offset + self._elapsed()

    def is_ahead(self) -> bool:
        """Whether it is more than a day ahead of the system clock: one of the two readings was wrong.

        Deleting by such a time might delete items that do not expire for years.
        """
        return self() - time.time() > _AHEAD_MAX_S
