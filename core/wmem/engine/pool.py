"""The few threads in which a journal of files is called for coroutines.

Not those of `concurrent.futures`: its locks are context managers of Python, and a signal's
handler that raises in the loop's thread would leave them locked for ever. Here the loop's
thread only calls functions of C; handlers never run in the threads of the pool.
"""

import _thread
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from wmem.errors import StoreError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

R = TypeVar("R")


class Call(Generic[R]):
    """One call in a thread of a pool.

    Attributes:
        ended: Whether it has returned or raised.
    """

    def __init__(self, function: Callable[..., R], args: tuple[Any, ...]) -> None:
        self._function = function
        self._args = args
        self._outcome: tuple[R] | BaseException | None = None
        self._waiters: list[tuple[AbstractEventLoop, Future[None]]] = []
        self.ended = False

    def run(self) -> None:
        """Make the call, and wake who waits for it."""
        try:
            self._outcome = (self._function(*self._args),)
        except BaseException as exc:  # noqa: BLE001  # the waiter gets it
            self._outcome = exc
        self.ended = True
        for loop, waiter in list(self._waiters):
            with suppress(RuntimeError):  # the waiter's loop was closed meanwhile
                loop.call_soon_threadsafe(_wake, waiter)

    async def wait(self) -> None:
        """Wait for its end, whatever came of it."""
        import asyncio

        loop = asyncio.get_running_loop()
        waiter: Future[None] = loop.create_future()
        self._waiters.append((loop, waiter))
        if not self.ended:  # looked at after the waiter is there: whoever ends it looks at waiters afterwards
            await waiter

    async def result(self) -> R:
        """What it returned or raised."""
        await self.wait()
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        assert self._outcome is not None  # it has ended
        return self._outcome[0]


class Pool:
    """The few threads of one engine, started when first needed."""

    def __init__(self, threads: int) -> None:
        self._most = threads
        self.abandoned: set[Call[Any]] = set()
        """Calls whose waiter was cancelled or interrupted before they ended."""
        self.closed = False
        self._begin()

    def _begin(self) -> None:
        self._queue: SimpleQueue[Call[Any] | None] = SimpleQueue()
        self._workers = _Workers(self._queue, self._most)

    def submit(self, function: Callable[..., R], *args: Any) -> Call[R]:
        """Begin a call in a thread.

        Raises:
            StoreError: The pool was closed.
        """
        if self.closed:
            raise StoreError("the store was closed while this was under way; nothing was changed")
        if self._workers.are_needed():
            # A thread of `threading` is started from another one: a signal could leave its start half done.
            _thread.start_new_thread(self._workers.start_one, ())
        call = Call(function, args)
        self._queue.put(call)
        return call

    def close(self) -> None:
        """Wait for calls under way, then end the threads."""
        self.closed = True
        if not self._queue.empty():
            self._workers.start_one()  # the one that was to make the call may not have begun
        running = list(self._workers.running)
        self._queue.put(None)
        for each in running:
            each.acquire()

    def reset_after_fork(self) -> None:
        """Forget the threads and their calls: after a fork only the parent process has them."""
        self._begin()
        self.abandoned = set()

    def __del__(self) -> None:
        if "_queue" in vars(self):  # its making may have been interrupted
            self._queue.put(None)


class _Workers:
    """The threads of a pool; they know nothing of it, so that it ends when nobody uses it."""

    def __init__(self, queue: "SimpleQueue[Call[Any] | None]", most: int) -> None:
        self._queue = queue
        self._most = most
        self._lock = threading.Lock()
        self._idle: set[threading.Lock] = set()
        self.running: set[threading.Lock] = set()
        """For each thread a lock, which it holds until it ends."""

    def are_needed(self) -> bool:
        """Whether one more call needs one more thread."""
        return len(self._idle) <= self._queue.qsize() and len(self.running) < self._most

    def start_one(self) -> None:
        """Start one more thread, unless there are enough by now."""
        with self._lock:
            if len(self.running) < self._most:
                mine = threading.Lock()
                mine.acquire()
                self.running.add(mine)
                threading.Thread(target=self._work, args=(mine,), name="wmem", daemon=True).start()

    def _work(self, mine: threading.Lock) -> None:
        self._idle.add(mine)
        while (call := self._queue.get()) is not None:
            self._idle.discard(mine)
            call.run()
            del call  # its arguments and its result are somebody else's
            self._idle.add(mine)
        self._queue.put(None)  # for the next one
        self._idle.discard(mine)
        self.running.discard(mine)
        mine.release()


def _wake(waiter: "Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)
