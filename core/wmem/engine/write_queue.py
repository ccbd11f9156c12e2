"""Write queues: the writers of this process to one scope take turns, in order of arrival."""

import random
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Protocol, Self, TypeAlias

from wmem.flow import Flow, ask
from wmem.model.history import Path

RETRY_S = 5.0  # a write that meets others for longer raises ConflictError
_BACKOFF_MIN_S, _BACKOFF_MAX_S = 0.001, 0.020
_STUCK_S = 1.0  # a writer that is first for longer loses its place: its flow may never be resumed
_STARVED_TRIES = 3  # refusals of the first writer after which unconditional writers yield to it
_YIELD_S = 0.025  # seconds they yield: a little more than the longest pause between two tries


Waker: TypeAlias = Callable[[], None]
"""Wakes a waiter, from any thread; it neither waits nor fails."""


class Pause(Protocol):
    """The port that waits."""

    def sleep(self, seconds: float, /) -> None:
        """Wait without holding anything."""
        ...

    def until(self, register: Callable[[Waker], None], seconds: float, /) -> None:
        """Pass a waker to `hang`, then wait until it is called, but at most so many seconds."""
        ...


def backoff(tries: int) -> float:
    """Seconds to wait before the next try: full jitter below a ceiling that doubles to 20 ms."""
    return random.uniform(0, min(_BACKOFF_MAX_S, _BACKOFF_MIN_S * 2 ** min(tries, 10)))  # noqa: S311  # spreads load, hides nothing


class Ticket:
    """One writer's place in the queue of a scope or an entry; a context manager that leaves it at the end."""

    __slots__ = ("_leave", "path", "queue_key", "waker")

    def __init__(self, path: Path, key: str | None, leave: Callable[["Ticket"], None]) -> None:
        self.path = path
        self.queue_key = (path, key)
        self.waker: Waker | None = None
        self._leave = leave

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._leave(self)


class WriteQueue:
    """Queues by scope, and by entry, of writers whose append was refused, in order of arrival.

    Only the first one tries: of many tries at once all but one are refused.
    """

    def __init__(self) -> None:
        self._queues: dict[tuple[Path, str | None], dict[Ticket, None]] = {}
        self._starving: dict[Path, Ticket] = {}
        # Reentrant: a flow that is garbage-collected leaves its queue, perhaps while this thread holds the lock.
        self._lock = threading.RLock()

    def reset_after_fork(self) -> None:
        """Reset after a fork, in the child process: the thread that holds the lock may not exist there."""
        self._queues = {}
        self._starving = {}
        self._lock = threading.RLock()

    def ticket(self, path: Path, key: str | None = None) -> Ticket:
        """A writer's place, taken in the queue at its first refusal.

        Args:
            key: The entry that it reads and then writes; in between it may write to the entry's scope.
        """
        return Ticket(path, key, self.leave)

    def wait_turn(self, ticket: Ticket, tries: int) -> Flow[float]:
        """Wait until this writer is first.

        Args:
            tries: How often it was refused; at 0 it joins a queue only if there is one.

        Returns:
            The seconds it waited.
        """
        if not tries and ticket.queue_key not in self._queues:
            return 0.0
        start = since = time.monotonic()
        ahead: Ticket | None = None
        while (first := self._join(ticket)) is not ticket:
            now = time.monotonic()
            if first is not ahead:
                ahead, since = first, now
            elif now - since >= _STUCK_S:
                self.leave(first)
            yield from ask(Pause.until, partial(self._set_waker, ticket), _STUCK_S)
        if tries >= _STARVED_TRIES:
            self._starving[ticket.path] = ticket
        return time.monotonic() - start

    def try_first(self, path: Path, attempt: Callable[[], Flow[bool]]) -> Flow[bool]:
        """Repeat an append that others may forestall, before all other writers of this process to the scope.

        Those in the queue wait until it is done, unconditional ones as for a writer that is starving. It waits for none
        of them itself: one of them may be what does it.

        Args:
            attempt: Tells whether it is done.

        Returns:
            False when writers of other processes came first for `RETRY_S` seconds.
        """
        deadline = time.monotonic() + RETRY_S
        with self.ticket(path) as ticket:
            for tries in count():
                with self._lock:
                    self._queues[ticket.queue_key] = {ticket: None, **self._queues.get(ticket.queue_key, {})}
                self._starving[path] = ticket
                if (yield from attempt()):
                    return True
                if time.monotonic() > deadline:
                    break
                yield from ask(Pause.sleep, backoff(tries))
        return False

    def yield_to_starving(self, path: Path) -> Flow[None]:
        """Before an unconditional append: let a starving writer, if there is one, go first for at most 25 ms."""
        if path not in self._starving:
            return
        until = time.monotonic() + _YIELD_S
        while path in self._starving and time.monotonic() < until:
            yield from ask(Pause.sleep, _BACKOFF_MIN_S)
        self._starving.pop(path, None)  # done or gone; if refused again, it is marked again

    def _join(self, ticket: Ticket) -> Ticket:
        """The first place in the queue of this one, which joins if it is not there yet."""
        with self._lock:
            line = self._queues.setdefault(ticket.queue_key, {})
            line.setdefault(ticket)
            return next(iter(line))

    def _set_waker(self, ticket: Ticket, waker: Waker) -> None:
        """Have a waker called when a place is first; at once if it is, or is no longer queued."""
        with self._lock:
            line = self._queues.get(ticket.queue_key, {})
            if ticket in line and next(iter(line)) is not ticket:
                ticket.waker = waker
                return
        waker()

    def leave(self, ticket: Ticket) -> None:
        """Leave the queue, if in one, and wake the next writer."""
        if ticket.queue_key not in self._queues and ticket.path not in self._starving:
            return
        with self._lock:
            line = self._queues.get(ticket.queue_key, {})
            line.pop(ticket, None)
            first = next(iter(line), None)
            if first is None:
                self._queues.pop(ticket.queue_key, None)
            if self._starving.get(ticket.path) is ticket:
                del self._starving[ticket.path]
        if first is not None and first.waker is not None:
            first.waker()
