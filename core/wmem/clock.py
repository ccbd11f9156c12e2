"""The clock of a store: the system's at the moment it was opened, and from there steady.

A system clock can be set back an hour or forward ten years while a process runs, by hand
or by mistake. Times to live would end at once or never; so they follow a source that
only ever runs forward, at its own pace.
"""

import time

__all__ = ["SteadyClock"]

_ASTRAY_S = 86_400.0


def _boottime() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class SteadyClock:
    """UTC epoch seconds, from one reading of the system's clock and the time that passed since."""

    __slots__ = ("_offset", "_passed")

    def __init__(self) -> None:
        # Where there is one, the clock that also counts while the machine sleeps.
        self._passed = _boottime if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
        self._offset = time.time() - self._passed()

    def __call__(self) -> float:
        return self._offset + self._passed()

    def ahead(self) -> bool:
        """Whether it is more than a day ahead of the system's clock: one of the two readings was a bad one.

        What is done for good at such a time might be done to what is not due for years.
        """
        return self() - time.time() > _ASTRAY_S
