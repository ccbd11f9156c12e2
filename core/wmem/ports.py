"""The engine's ports in both colours: a journal and its purge, one way to wait, two to call a user's function.

Nothing here imports asyncio before a coroutine runs.
"""

import contextvars
import inspect
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Generic, TypeVar

from wmem.errors import InvalidInputError, StoreError
from wmem.flow import Ports, bind
from wmem.journal.port import Appended, AsyncJournal, Journal, Tail
from wmem.model.history import Birth, Cursor, Path
from wmem.waiting import Bell

__all__ = ["InPlaceJournal", "Pool", "PooledJournal", "async_ports", "sync_ports"]

P = TypeVar("P")
R = TypeVar("R")


class _Pause:
    def sleep(self, seconds: float, /) -> None:
        time.sleep(seconds)

    def until(self, hang: Callable[[Bell], None], seconds: float, /) -> None:
        rung = threading.Event()
        hang(rung.set)
        rung.wait(seconds)


class _AsyncPause:
    async def sleep(self, seconds: float, /) -> None:
        import asyncio

        await asyncio.sleep(seconds)

    async def until(self, hang: Callable[[Bell], None], seconds: float, /) -> None:
        import asyncio

        loop, rung = asyncio.get_running_loop(), asyncio.Event()

        def bell() -> None:
            with suppress(RuntimeError):  # that loop was closed while somebody waited in it
                loop.call_soon_threadsafe(rung.set)

        hang(bell)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await rung.wait()


class _Callback:
    def call(self, function: Callable[[], Any], /) -> Any:
        made = function()
        if inspect.iscoroutine(made):
            made.close()
            msg = "a coroutine function needs the async face: use wmem.aopen"
            raise InvalidInputError(msg)
        return made


class _AsyncCallback:
    async def call(self, function: Callable[[], Any], /) -> Any:
        made = function()
        return await made if inspect.isawaitable(made) else made


class _Timed:
    def within(self, function: Callable[[], Any], seconds: float, /) -> Any:
        call = partial(_Callback().call, function)
        return call() if seconds == math.inf else _apart(call).result(seconds)


class _AsyncTimed:
    async def within(self, function: Callable[[], Any], seconds: float, /) -> Any:
        import asyncio

        async with asyncio.timeout(None if seconds == math.inf else seconds):
            # A plain function may compute for long: not in the loop's own thread.
            made = function() if inspect.iscoroutinefunction(function) else await asyncio.wrap_future(_apart(function))
            return await made if inspect.isawaitable(made) else made


def _apart(function: Callable[[], R]) -> "Future[R]":
    """Begin a function in a thread that nothing waits for, not even the end of the process: it may never end."""
    future: Future[R] = Future()
    future.set_running_or_notify_cancel()  # from here on whoever gives up waiting leaves it to itself
    context = contextvars.copy_context()

    def work() -> None:
        try:
            future.set_result(context.run(function))
        except BaseException as exc:  # noqa: BLE001  # it is whoever waits to whom it was to be raised
            future.set_exception(exc)

    threading.Thread(target=work, name="wmem-timed", daemon=True).start()
    return future


class _NothingToPurge:
    """For a store in which nothing outlives its deletion."""

    def purge(self, _path: Path, /) -> Sequence[str]:
        return ()


class _AsyncNothingToPurge:
    async def purge(self, _path: Path, /) -> Sequence[str]:
        return ()


def sync_ports(journal: Journal[Any]) -> Ports:
    """The ports by name, for threads."""
    purge = journal if hasattr(journal, "purge") else _NothingToPurge()
    return bind(Journal=journal, Purge=purge, Pause=_Pause(), Callback=_Callback(), Timed=_Timed())


def async_ports(journal: AsyncJournal[Any]) -> Ports:
    """The ports by name, for coroutines."""
    purge = journal if hasattr(journal, "purge") else _AsyncNothingToPurge()
    return bind(Journal=journal, Purge=purge, Pause=_AsyncPause(), Callback=_AsyncCallback(), Timed=_AsyncTimed())


class InPlaceJournal(Generic[P]):
    """A journal that never waits, as coroutines: the same calls, no thread."""

    def __init__(self, journal: Journal[P]) -> None:
        self._journal = journal

    async def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[P]]:
        return self._journal.read(after)

    async def append(
        self, path: Path, record_id: int, record: P, expected: Cursor | Birth | None, keep_s: float | None, /
    ) -> Appended[P]:
        return self._journal.append(path, record_id, record, expected, keep_s)

    async def compact(self, path: Path, upto: Cursor, snapshot: P, keep_s: float | None, /) -> bool:
        return self._journal.compact(path, upto, snapshot, keep_s)

    async def delete(self, path: Path, life: Birth | None, /) -> None:
        self._journal.delete(path, life)

    async def paths(self, prefix: Path, /) -> Iterable[Path]:
        return self._journal.paths(prefix)


class Pool:
    """A few threads of one engine, started when first needed."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._executor: ThreadPoolExecutor | None = None
        self.left: set[Future[Any]] = set()
        """Cancelled calls that threads are still at."""
        self.closed = False

    def executor(self) -> ThreadPoolExecutor:
        """The threads."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self._threads, thread_name_prefix="wmem")
        return self._executor

    def close(self) -> None:
        """Let what runs finish, and end the threads."""
        self.closed = True
        if self._executor is not None:
            self._executor.shutdown(wait=True)

    def forked(self) -> None:
        """Forget threads that only the parent process has, and what they are at."""
        self._executor = None
        self.left = set()


class PooledJournal(Generic[P]):
    """A journal of files as coroutines: one hop to the engine's own small pool per call.

    A cancelled call goes on in its thread: its write is unknown, as the port says. Later
    calls wait for its end, so that whoever reads next is told.
    """

    def __init__(self, journal: Journal[P], pool: Pool) -> None:
        self._journal = journal
        self._pool = pool

    async def _hop(self, function: Callable[..., R], *args: Any) -> R:
        import asyncio

        if self._pool.left:
            ends = [asyncio.wrap_future(work) for work in tuple(self._pool.left)]
            await asyncio.gather(*ends, return_exceptions=True)
        try:
            work = self._pool.executor().submit(function, *args)
        except RuntimeError as exc:
            if not self._pool.closed:
                raise
            msg = "the store was closed while this was under way; nothing was changed"
            raise StoreError(msg) from exc
        try:
            return await asyncio.wrap_future(work)
        except asyncio.CancelledError:
            left = self._pool.left
            left.add(work)
            work.add_done_callback(left.discard)
            raise

    async def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[P]]:
        return await self._hop(self._journal.read, after)

    async def append(
        self, path: Path, record_id: int, record: P, expected: Cursor | Birth | None, keep_s: float | None, /
    ) -> Appended[P]:
        return await self._hop(self._journal.append, path, record_id, record, expected, keep_s)

    async def compact(self, path: Path, upto: Cursor, snapshot: P, keep_s: float | None, /) -> bool:
        return await self._hop(self._journal.compact, path, upto, snapshot, keep_s)

    async def delete(self, path: Path, life: Birth | None, /) -> None:
        await self._hop(self._journal.delete, path, life)

    async def paths(self, prefix: Path, /) -> Iterable[Path]:
        return list(await self._hop(self._journal.paths, prefix))

    async def purge(self, path: Path, /) -> Sequence[str]:
        purge = getattr(self._journal, "purge", None)
        return () if purge is None else await self._hop(purge, path)
