"""Single flight: of several callers in a process who miss one key, one runs its factory, the others wait for it."""

import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import Self, TypeAlias

from wmem.engine.ports import Callback
from wmem.engine.write_queue import Pause, Waker
from wmem.flow import Flow, ask
from wmem.model.history import Path

_CHECK_S = 1.0  # between two looks at whether the one ahead is still there
_PATIENCE_S = 300.0  # after which a caller runs its own factory: the one ahead may never be resumed

_Key: TypeAlias = tuple[Path, str]

_enclosing: ContextVar[tuple["Flight", ...]] = ContextVar("wmem_flights", default=())
"""The flights whose factories the current code runs in, outermost first; tasks and `to_thread` inherit it."""


class Flight:
    """One caller that missed a key; a context manager that gives up its place at the end.

    Attributes:
        has_turn: Whether its factory may run.
        stored: Whether its value is stored, so that those who wait need no factory.
    """

    __slots__ = ("__weakref__", "_leave", "enclosing", "has_turn", "key", "stored", "thread", "waker")

    def __init__(self, key: _Key, leave: "partial[None]") -> None:
        self.key = key
        self.enclosing = _enclosing.get()
        self.thread = threading.current_thread()
        self.has_turn = False
        self.stored = False
        self.waker: Waker | None = None
        self._leave = leave

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._leave(self)

    @contextmanager
    def factory(self) -> Iterator[None]:
        """While its factory runs: what the factory misses never waits for this flight."""
        token = _enclosing.set((*self.enclosing, self))
        try:
            yield
        finally:
            with suppress(ValueError):  # closed in another context than it ran in
                _enclosing.reset(token)


class SingleFlight:
    """The flights of one store, in a line for each key; the first of a line runs its factory."""

    def __init__(self) -> None:
        self.reset_after_fork()

    def reset_after_fork(self) -> None:
        """Reset after a fork, in the child process: the threads of the flights do not exist there."""
        # Weak: a flight that is gone without having left, whatever interrupted it, holds up nobody.
        self._lines: dict[_Key, list[weakref.ref[Flight]]] = {}
        self._lock = threading.RLock()  # reentrant: a flow that is garbage-collected leaves its line
        self.landings = 0
        """How many values were stored. Unchanged since a read that missed: no flight of the key landed since."""

    def flight(self, path: Path, key: str) -> Flight:
        """A flight, which joins its line when it waits for its turn."""
        return Flight((path, key), partial(self._leave))

    def wait_turn(self, flight: Flight) -> Flow[None]:
        """Wait until a factory may run, or until a value was stored meanwhile."""
        ahead: Flight | None = None
        landings = self.landings
        since = 0.0
        while (first := self._join(flight)) is not flight:
            if ahead is None and first.thread is flight.thread and (yield from ask(Callback.blocks)):
                break  # while this caller blocks their thread, the one ahead cannot go on
            now = time.monotonic()
            if first is not ahead:
                ahead, since = first, now
            if now - since >= _PATIENCE_S or not first.thread.is_alive() or self._waits_for_enclosing(flight):
                break
            yield from ask(Pause.until, partial(self._set_waker, flight, first), _CHECK_S)
            if first.stored or self.landings != landings:
                return
        flight.has_turn = True

    def _join(self, flight: Flight) -> Flight:
        """The first flight of the line of this one, which joins it if it has not yet."""
        with self._lock:
            waiting = self._list_line(flight.key)
            if flight not in waiting:
                self._lines.setdefault(flight.key, []).append(weakref.ref(flight))
            return waiting[0] if waiting else flight

    def _list_line(self, key: _Key) -> list[Flight]:
        """The flights of a line, in order."""
        return [flight for each in self._lines.get(key, ()) if (flight := each()) is not None]

    def _waits_for_enclosing(self, flight: Flight) -> bool:
        """Whether the one ahead waits, perhaps through others, for a factory in which this flight was begun."""
        with self._lock:
            lines = [self._list_line(key) for key in self._lines]
            ahead = {each: line[0] for line in lines for each in line[1:]}
            reached, left = set[Flight](), [ahead[flight]] if flight in ahead else []
            while left:
                each = left.pop()
                if each in flight.enclosing:
                    return True
                if each not in reached:
                    reached.add(each)
                    left += [first for waiting, first in ahead.items() if each in waiting.enclosing]
        return False

    def _set_waker(self, flight: Flight, first: Flight, waker: Waker) -> None:
        """Have a waker called when the one ahead leaves; at once if it already has."""
        with self._lock:
            if first in self._list_line(flight.key):
                flight.waker = waker
                return
        waker()

    def _leave(self, flight: Flight) -> None:
        """Leave the line; wake all others if there is a value now, else the next."""
        with self._lock:
            waiting = [each for each in self._list_line(flight.key) if each is not flight]
            self.landings += flight.stored
            if waiting:
                self._lines[flight.key] = [weakref.ref(each) for each in waiting]
            else:
                self._lines.pop(flight.key, None)
        for each in waiting if flight.stored else waiting[:1]:
            if each.waker is not None:
                each.waker()
