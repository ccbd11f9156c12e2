"""Waiting for one's turn to write, among those of this process who write to one scope."""

import random
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol, Self, TypeAlias

from wmem.flow import Flow, ask
from wmem.model.history import Path

__all__ = ["Bell", "Lines", "Pause", "Place", "backoff"]

_BACKOFF_MIN_S, _BACKOFF_MAX_S = 0.001, 0.020
_STUCK_S = 1.0  # who is first for longer goes to the end: a flow can be left where it is for ever
_STARVED = 3  # refusals of one who is first, after which others let it go first
_WAY_S = 0.025  # for how long: a little longer than the longest wait between two tries


Bell: TypeAlias = Callable[[], None]
"""What wakes one who waits, from any thread; it neither waits nor fails."""


class Pause(Protocol):
    """The port that waits."""

    def sleep(self, seconds: float, /) -> None:
        """Wait without holding anything."""
        ...

    def until(self, hang: Callable[[Bell], None], seconds: float, /) -> None:
        """Wait until a bell rings, which is hung up by calling `hang` with it, but no longer than so many seconds."""
        ...


def backoff(tries: int) -> float:
    """Seconds to wait before the next try: full jitter below a ceiling that doubles to 20 ms."""
    return random.uniform(0, min(_BACKOFF_MAX_S, _BACKOFF_MIN_S * 2 ** min(tries, 10)))  # noqa: S311  # spreads load, hides nothing


class Place:
    """One writer's place in the line at a scope or an entry; as a context, it is given up at the end."""

    __slots__ = ("_leave", "at", "bell", "path")

    def __init__(self, path: Path, key: str | None, leave: Callable[["Place"], None]) -> None:
        self.path = path
        self.at = (path, key)
        self.bell: Bell | None = None
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
        self._lines: dict[tuple[Path, str | None], dict[Place, None]] = {}
        self._starving: dict[Path, Place] = {}
        # A flow that is thrown away leaves its line when it is collected, in the midst of whatever this thread is at.
        self._lock = threading.RLock()

    def forked(self) -> None:
        """Start over in a child process, where one flow at most goes on: whoever holds the lock is not there."""
        self._lines = {}
        self._starving = {}
        self._lock = threading.RLock()

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
        came = since = time.monotonic()
        ahead: Place | None = None
        while (first := self._first(place)) is not place:
            now = time.monotonic()
            if first is not ahead:
                ahead, since = first, now
            elif now - since >= _STUCK_S:
                self.leave(first)
            yield from ask(Pause.until, partial(self._hang, place), _STUCK_S)
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

    def _first(self, place: Place) -> Place:
        """Who is first in the line of a place, which joins if it is not there yet."""
        with self._lock:
            line = self._lines.setdefault(place.at, {})
            line.setdefault(place)
            return next(iter(line))

    def _hang(self, place: Place, bell: Bell) -> None:
        """Have a bell rung when a place is first; at once if it is, or is not there any more."""
        with self._lock:
            line = self._lines.get(place.at, {})
            if place in line and next(iter(line)) is not place:
                place.bell = bell
                return
        bell()

    def leave(self, place: Place) -> None:
        """Give a place up, if there is one: the write is done, or never will be."""
        if place.at not in self._lines and place.path not in self._starving:
            return
        with self._lock:
            line = self._lines.get(place.at, {})
            line.pop(place, None)
            first = next(iter(line), None)
            if first is None:
                self._lines.pop(place.at, None)
            if self._starving.get(place.path) is place:
                del self._starving[place.path]
        if first is not None and first.bell is not None:
            first.bell()
