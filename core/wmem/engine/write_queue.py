"""Write queues: the writers of this process to one scope take turns, in order of arrival."""

import math
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
    """One writer's place in the queue of a scope or an entry; a context manager that leaves it at the end.

    Attributes:
        held_until: Until when (`time.monotonic`) it keeps its place and others wait for it, however long a try takes.
    """

    __slots__ = ("_leave", "held_until", "path", "queue_key", "waker")

    def __init__(self, path: Path, key: str | None, leave: Callable[["Ticket"], None]) -> None:
        self.path = path
        self.queue_key = (path, key)
        self.held_until = -math.inf
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
            elif now - since >= _STUCK_S and now >= first.held_until:
                self.leave(first)
            yield from ask(Pause.until, partial(self._set_waker, ticket), _STUCK_S)
        if tries >= _STARVED_TRIES:
            self._starving[ticket.path] = ticket
        return time.monotonic() - start

    def try_first(self, path: Path, attempt: Callable[[], Flow[bool]]) -> Flow[bool]:
        """Repeat an append that others may forestall, before all other writers of this process to the scope.

        They wait until it is done, for `RETRY_S` seconds at most: unconditional ones, too, for to read and write a
        large scope takes longer than they do. It waits for none of them itself: one of them may be what does it.

        Args:
            attempt: Tells whether it is done.

        Returns:
            False when writers of other processes came first for `RETRY_S` seconds after the first try.
        """
        deadline = math.inf
        with self.ticket(path) as ticket:
            for tries in count():
                with self._lock:
                    self._queues[ticket.queue_key] = {ticket: None, **self._queues.get(ticket.queue_key, {})}
                    ticket.held_until = time.monotonic() + RETRY_S
                    self._starving[path] = ticket
                if (yield from attempt()):
                    return True
                now = time.monotonic()
                deadline = min(deadline, now + RETRY_S)  # a conflict only from here on: the first try took its time
                if now >= deadline:
                    break
                yield from ask(Pause.sleep, backoff(tries))
        return False

    def yield_to_starving(self, path: Path) -> Flow[None]:
        """Before an unconditional append: let a starving writer, if there is one, go first.

        It waits for at most 25 ms, or as long as one of `try_first` holds its place, and `RETRY_S` in all.
        """
        if path not in self._starving:
            return
        start = time.monotonic()
        while (ticket := self._starving.get(path)) is not None:
            if time.monotonic() >= min(max(start + _YIELD_S, ticket.held_until), start + RETRY_S):
                self._end_starving(ticket)  # gone, or slow; if refused again, it is marked again
                return
            yield from ask(Pause.sleep, _BACKOFF_MIN_S)

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
            self._end_starving(ticket)
        if first is not None and first.waker is not None:
            first.waker()

    def _end_starving(self, ticket: Ticket) -> None:
        """Let others go before a writer again; one that was marked since keeps its mark."""
        with self._lock:
            if self._starving.get(ticket.path) is ticket:
                del self._starving[ticket.path]
