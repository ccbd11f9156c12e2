"""Waiting for one's turn to write, among those of this process who write to one scope."""

import random
import threading
import time
from collections.abc import Callable
from typing import Protocol, Self

from wmem.flow import Flow, ask
from wmem.model.history import Path

__all__ = ["Lines", "Pause", "Place", "backoff"]

_BACKOFF_MIN_S, _BACKOFF_MAX_S = 0.001, 0.020
_TURN_S, _TURN_MAX_S = 0.000_5, 0.1  # between looks at a line: for each who is ahead, and at most
_STUCK_S = 1.0  # who is first for longer goes to the end: a flow can be left where it is for ever
_STARVED = 3  # refusals of one who is first, after which others let it go first
_WAY_S = 0.025  # for how long: a little longer than the longest wait between two tries


class Pause(Protocol):
    """The port that waits."""

    def sleep(self, seconds: float, /) -> None:
        """Wait without holding anything."""
        ...


def backoff(tries: int) -> float:
    """Seconds to wait before the next try: full jitter below a ceiling that doubles to 20 ms."""
    return random.uniform(0, min(_BACKOFF_MAX_S, _BACKOFF_MIN_S * 2 ** min(tries, 10)))  # noqa: S311  # spreads load, hides nothing


class Place:
    """One writer's place in the line at a scope or an entry; as a context, it is given up at the end."""

    __slots__ = ("_leave", "at", "path")

    def __init__(self, path: Path, key: str | None, leave: Callable[["Place"], None]) -> None:
        self.path = path
        self.at = (path, key)
        self._leave = leave

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._leave(self)


class Lines:
    """A line by scope, and by entry, of those whose write was refused, in the order in which they came.

    Whoever is first tries; the others need not, for each try but one of many at once is refused.
    """

    def __init__(self) -> None:
        self._lines: dict[tuple[Path, str | None], list[Place]] = {}
        self._starving: dict[Path, Place] = {}
        self._lock = threading.Lock()

    def place(self, path: Path, key: str | None = None) -> Place:
        """Where a writer stands from its first refusal to its end.

        Args:
            key: The entry that it reads and writes in two steps, between which it may write to its scope.
        """
        return Place(path, key, self.leave)

    def turn(self, place: Place, tries: int) -> Flow[float]:
        """Wait until nobody is ahead.

        Args:
            tries: How often this writer was refused; at the first try it joins a line only if there is one.

        Returns:
            The seconds that it took.
        """
        if not tries and place.at not in self._lines:
            return 0.0
        came = moved = time.monotonic()
        first: Place | None = None
        while ahead := self._ahead(place):
            now = time.monotonic()
            if ahead[0] is not first:
                first, moved = ahead[0], now
            elif now - moved > _STUCK_S:
                self.leave(first)
            yield from ask(Pause.sleep, min(_TURN_S * len(ahead), _TURN_MAX_S))
        if tries >= _STARVED:
            self._starving[place.path] = place
        return time.monotonic() - came

    def give_way(self, path: Path) -> Flow[None]:
        """Of those who write without a condition: wait a little for one who is first and is refused all the same."""
        if path not in self._starving:
            return
        until = time.monotonic() + _WAY_S
        while path in self._starving and time.monotonic() < until:
            yield from ask(Pause.sleep, _BACKOFF_MIN_S)
        self._starving.pop(path, None)  # fed, or gone; one who is refused again tells so again

    def _ahead(self, place: Place) -> list[Place]:
        """Those before a place, which joins if it is not there yet."""
        with self._lock:
            line = self._lines.setdefault(place.at, [])
            if place not in line:
                line.append(place)
            return line[: line.index(place)]

    def leave(self, place: Place) -> None:
        """Give a place up, if there is one: the write is done, or never will be."""
        if place.at not in self._lines and place.path not in self._starving:
            return
        with self._lock:
            line = self._lines.get(place.at, [])
            if place in line:
                line.remove(place)
            if not line:
                self._lines.pop(place.at, None)
            if self._starving.get(place.path) is place:
                del self._starving[place.path]
