"""Write queues: the writers of this process to one scope take turns, in order of arrival."""

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
_STUCK_S = 1.0  # a writer that is first for longer loses its place: its flow may never be resumed
_STARVED = 3  # refusals of the first writer after which unconditional writers yield to it
_WAY_S = 0.025  # seconds they yield: a little more than the longest pause between two tries


Bell: TypeAlias = Callable[[], None]
"""Wakes a waiter, from any thread; it neither waits nor fails."""


class Pause(Protocol):
    """The port that waits."""

    def sleep(self, seconds: float, /) -> None:
        """Wait without holding anything."""
        ...

    def until(self, hang: Callable[[Bell], None], seconds: float, /) -> None:
        """Pass a waker to `hang`, then wait until it is called, but at most so many seconds."""
        ...


def backoff(tries: int) -> float:
    """Seconds to wait before the next try: full jitter below a ceiling that doubles to 20 ms."""
    return random.uniform(0, min(_BACKOFF_MAX_S, _BACKOFF_MIN_S * 2 ** min(tries, 10)))  # noqa: S311  # spreads load, hides nothing


class Place:
    """One writer's place in the queue of a scope or an entry; a context manager that leaves it at the end."""

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
    """Queues by scope, and by entry, of writers whose append was refused, in order of arrival.

    Only the first one tries: of many tries at once all but one are refused.
    """

    def __init__(self) -> None:
        self._lines: dict[tuple[Path, str | None], dict[Place, None]] = {}
        self._starving: dict[Path, Place] = {}
        # Reentrant: a flow that is garbage-collected leaves its queue, perhaps while this thread holds the lock.
        self._lock = threading.RLock()

    def forked(self) -> None:
        """Reset after a fork, in the child process: the thread that holds the lock may not exist there."""
        self._lines = {}
        self._starving = {}
        self._lock = threading.RLock()

    def place(self, path: Path, key: str | None = None) -> Place:
        """A writer's place, taken in the queue at its first refusal.

        Args:
            key: The entry that it reads and then writes; in between it may write to the entry's scope.
        """
        return Place(path, key, self.leave)

    def turn(self, place: Place, tries: int) -> Flow[float]:
        """Wait until this writer is first.

        Args:
            tries: How often it was refused; at 0 it joins a queue only if there is one.

        Returns:
            The seconds it waited.
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
        """Before an unconditional append: let a starving writer, if there is one, go first for at most 25 ms."""
        if path not in self._starving:
            return
        until = time.monotonic() + _WAY_S
        while path in self._starving and time.monotonic() < until:
            yield from ask(Pause.sleep, _BACKOFF_MIN_S)
        self._starving.pop(path, None)  # done or gone; if refused again, it is marked again

    def _first(self, place: Place) -> Place:
        """The first place in the queue of this one, which joins if it is not there yet."""
        with self._lock:
            line = self._lines.setdefault(place.at, {})
            line.setdefault(place)
            return next(iter(line))

    def _hang(self, place: Place, bell: Bell) -> None:
        """Have a waker called when a place is first; at once if it is, or is no longer queued."""
        with self._lock:
            line = self._lines.get(place.at, {})
            if place in line and next(iter(line)) is not place:
                place.bell = bell
                return
        bell()

    def leave(self, place: Place) -> None:
        """Leave the queue, if in one, and wake the next writer."""
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
