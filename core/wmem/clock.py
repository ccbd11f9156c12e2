"""The clock of a store: system time when it was opened, plus monotonic time since.

A system clock can be set back an hour or forward ten years while a process runs, by hand
or by mistake; items would then expire at once or never. A monotonic source avoids that.
"""

import time

_AHEAD_MAX_S = 86_400.0


def _boottime() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class SteadyClock:
    """UTC epoch seconds: one reading of the system clock plus the monotonic time since."""

    __slots__ = ("_elapsed", "_offset")

    def __init__(self) -> None:
        # Prefer the clock that also counts while the machine sleeps, where there is one.
        self._elapsed = _boottime if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
        self._offset = time.time() - self._elapsed()

    def __call__(self) -> float:
        return self._offset + self._elapsed()

    def is_ahead(self) -> bool:
        """Whether it is more than a day ahead of the system clock: one of the two readings was wrong.

        Deleting by such a time might delete items that do not expire for years.
        """
        return self() - time.time() > _AHEAD_MAX_S
