"""The engine's ports, sync and async: journal, purge, backup, pauses, and calls of a user's function.

Nothing here imports asyncio before a coroutine runs.
"""

import contextvars
import inspect
import math
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from wmem.engine.pool import Pool
from wmem.engine.write_queue import Waker
from wmem.errors import InvalidInputError
from wmem.flow import Ports, bind
from wmem.journal.port import Append, Appended, AsyncJournal, Journal, Tail
from wmem.model.history import Cursor, Incarnation, Path

P = TypeVar("P")
R = TypeVar("R")


class Callback(Protocol):
    """The port that calls a user's function; async, it may be a coroutine function."""

    def call(self, function: Callable[[], Any], /) -> Any:
        """The function's result."""
        ...

    def blocks(self, /) -> bool:
        """Whether a flow that waits blocks its thread."""
        ...


class TimedCallback(Protocol):
    """The port that calls a user's function with a time limit."""

    def within(self, function: Callable[[], Any], seconds: float, /) -> Any:
        """The function's result, waiting at most so many seconds.

        A plain function runs in a thread of its own, which is abandoned when it takes longer;
        sync with infinite seconds, it runs in the caller's thread.

        Raises:
            TimeoutError: It took longer.
            CallCancelledError: It was cancelled by itself, and its caller was not.
        """
        ...


class _Pause:
    def sleep(self, seconds: float, /) -> None:
        time.sleep(seconds)

    def until(self, register: Callable[[Waker], None], seconds: float, /) -> None:
        woken = threading.Event()
        register(woken.set)
        woken.wait(seconds)


class _AsyncPause:
    async def sleep(self, seconds: float, /) -> None:
        import asyncio

        await asyncio.sleep(seconds)

    async def until(self, register: Callable[[Waker], None], seconds: float, /) -> None:
        import asyncio

        loop, woken = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the waiter's loop was closed meanwhile
                loop.call_soon_threadsafe(woken.set)

        register(wake)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await woken.wait()


class _Callback:
    def call(self, function: Callable[[], Any], /) -> Any:
        result = function()
        if inspect.iscoroutine(result):
            result.close()
            raise InvalidInputError("a coroutine function needs the async face: use wmem.aopen")
        return result

    def blocks(self) -> bool:
        return True


class _AsyncCallback:
    async def call(self, function: Callable[[], Any], /) -> Any:
        result = function()
        return await result if inspect.isawaitable(result) else result

    async def blocks(self) -> bool:
        return False


class CallCancelledError(Exception):
    """A user's function was cancelled by itself, and its caller was not."""


class _TimedCallback:
    def within(self, function: Callable[[], Any], seconds: float, /) -> Any:
        call = partial(_Callback().call, function)
        try:
            return call() if seconds == math.inf else _run_in_thread(call).result(seconds)
        except BaseException as exc:
            asyncio = sys.modules.get("asyncio")  # it cannot raise this without
            if asyncio is not None and isinstance(exc, asyncio.CancelledError):
                raise CallCancelledError from None
            raise


class _AsyncTimedCallback:
    async def within(self, function: Callable[[], Any], seconds: float, /) -> Any:
        import asyncio

        try:
            return await self._within(function, seconds)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise CallCancelledError from None

    async def _within(self, function: Callable[[], Any], seconds: float) -> Any:
        import asyncio

        async with asyncio.timeout(None if seconds == math.inf else seconds):
            # A plain function may compute for long: not in the loop's own thread.
            result = (
                function()
                if inspect.iscoroutinefunction(function)
                else await asyncio.wrap_future(_run_in_thread(function))
            )
            return await result if inspect.isawaitable(result) else result


def _run_in_thread(function: Callable[[], R]) -> "Future[R]":
    """Start a function in a daemon thread: it may never end, and must not hold up the end of the process."""
    future: Future[R] = Future()
    future.set_running_or_notify_cancel()  # a waiter that gives up cannot cancel it
    context = contextvars.copy_context()

    def work() -> None:
        try:
            future.set_result(context.run(function))
        except BaseException as exc:  # noqa: BLE001  # the waiter gets it from the future
            future.set_exception(exc)

    threading.Thread(target=work, name="wmem-timed", daemon=True).start()
    return future


class _NoPurge:
    """The purge of a store in which deleted bytes are gone at once."""

    def purge(self, _path: Path, /) -> Sequence[str]:
        return ()


class _AsyncNoPurge:
    async def purge(self, _path: Path, /) -> Sequence[str]:
        return ()


class _NoSweep:
    """The sweep of a store that leaves nothing to maintenance."""

    def sweep(self, _path: Path, /) -> int:
        return 0


class _AsyncNoSweep:
    async def sweep(self, _path: Path, /) -> int:
        return 0


class _OneAppend:
    """A store that takes one append at a time."""

    def append_all(self, _appends: Sequence[Append[Any]], /) -> Sequence[Appended[Any]]:
        return ()


class _AsyncOneAppend:
    async def append_all(self, _appends: Sequence[Append[Any]], /) -> Sequence[Appended[Any]]:
        return ()


class _RootsOfPaths:
    """The roots of a store that only lists paths."""

    def __init__(self, journal: Journal[Any]) -> None:
        self._journal = journal

    def roots(self) -> Iterable[str]:
        return dict.fromkeys(path[0] for path in self._journal.paths(()))


class _AsyncRootsOfPaths:
    def __init__(self, journal: AsyncJournal[Any]) -> None:
        self._journal = journal

    async def roots(self) -> Iterable[str]:
        return dict.fromkeys(path[0] for path in await self._journal.paths(()))


class _NoBackup:
    """The backup of a store that cannot copy itself."""

    def __init__(self, advice: str) -> None:
        self._advice = advice

    def backup(self, _target: str, /) -> None:
        raise InvalidInputError(f"this store cannot copy itself: {self._advice}")


class _AsyncNoBackup(_NoBackup):
    async def backup(self, target: str, /) -> None:  # type: ignore[override]  # the async port
        super().backup(target)


def sync_ports(journal: Journal[Any], backup_advice: str = "use its own means") -> Ports:
    """The sync ports by name.

    Args:
        backup_advice: What to do instead where the journal cannot copy its store.
    """
    return bind(
        Journal=journal,
        Purge=journal if hasattr(journal, "purge") else _NoPurge(),
        Sweep=journal if hasattr(journal, "sweep") else _NoSweep(),
        AppendAll=journal if hasattr(journal, "append_all") else _OneAppend(),
        Roots=journal if hasattr(journal, "roots") else _RootsOfPaths(journal),
        Backup=journal if hasattr(journal, "backup") else _NoBackup(backup_advice),
        Pause=_Pause(),
        Callback=_Callback(),
        TimedCallback=_TimedCallback(),
    )


def async_ports(journal: AsyncJournal[Any], backup_advice: str = "use its own means") -> Ports:
    """The async ports by name; see `sync_ports`."""
    return bind(
        Journal=journal,
        Purge=journal if hasattr(journal, "purge") else _AsyncNoPurge(),
        Sweep=journal if hasattr(journal, "sweep") else _AsyncNoSweep(),
        AppendAll=journal if hasattr(journal, "append_all") else _AsyncOneAppend(),
        Roots=journal if hasattr(journal, "roots") else _AsyncRootsOfPaths(journal),
        Backup=journal if hasattr(journal, "backup") else _AsyncNoBackup(backup_advice),
        Pause=_AsyncPause(),
        Callback=_AsyncCallback(),
        TimedCallback=_AsyncTimedCallback(),
    )


def _list_roots(journal: Any) -> list[str]:
    return list((journal if hasattr(journal, "roots") else _RootsOfPaths(journal)).roots())


class InPlaceJournal(Generic[P]):
    """An async journal over a sync one that never waits: direct calls, no thread."""

    def __init__(self, journal: Journal[P]) -> None:
        self._journal = journal

    async def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[P]]:
        return self._journal.read(after)

    async def append(
        self, path: Path, record_id: int, record: P, expected: Cursor | Incarnation | None, keep_s: float | None, /
    ) -> Appended[P]:
        return self._journal.append(path, record_id, record, expected, keep_s)

    async def compact(self, path: Path, upto: Cursor, snapshot: P, keep_s: float | None, /) -> bool:
        return self._journal.compact(path, upto, snapshot, keep_s)

    async def delete(self, path: Path, incarnation: Incarnation | None, /) -> None:
        self._journal.delete(path, incarnation)

    async def paths(self, prefix: Path, /) -> Iterable[Path]:
        return self._journal.paths(prefix)

    async def roots(self) -> Iterable[str]:
        return _list_roots(self._journal)


class PooledJournal(Generic[P]):
    """An async journal over one of files: each call runs in the engine's own small pool.

    A cancelled call goes on in its thread: its outcome is unknown, as the port says. Later
    calls wait for its end, so that the next read sees what it wrote.
    """

    def __init__(self, journal: Journal[P], pool: Pool) -> None:
        self._journal = journal
        self._pool = pool

    async def _run_in_pool(self, function: Callable[..., R], *args: Any) -> R:
        pool = self._pool
        for earlier in tuple(pool.abandoned):
            await earlier.wait()
            pool.abandoned.discard(earlier)
        call = pool.submit(function, *args)
        try:
            return await call.result()
        finally:
            if not call.ended:
                pool.abandoned.add(call)

    async def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[P]]:
        return await self._run_in_pool(self._journal.read, after)

    async def append(
        self, path: Path, record_id: int, record: P, expected: Cursor | Incarnation | None, keep_s: float | None, /
    ) -> Appended[P]:
        return await self._run_in_pool(self._journal.append, path, record_id, record, expected, keep_s)

    async def compact(self, path: Path, upto: Cursor, snapshot: P, keep_s: float | None, /) -> bool:
        return await self._run_in_pool(self._journal.compact, path, upto, snapshot, keep_s)

    async def delete(self, path: Path, incarnation: Incarnation | None, /) -> None:
        await self._run_in_pool(self._journal.delete, path, incarnation)

    async def paths(self, prefix: Path, /) -> Iterable[Path]:
        return list(await self._run_in_pool(self._journal.paths, prefix))

    async def roots(self) -> Iterable[str]:
        return await self._run_in_pool(_list_roots, self._journal)

    async def purge(self, path: Path, /) -> Sequence[str]:
        purge = getattr(self._journal, "purge", None)
        return () if purge is None else await self._run_in_pool(purge, path)

    async def sweep(self, path: Path, /) -> int:
        sweep = getattr(self._journal, "sweep", None)
        return 0 if sweep is None else await self._run_in_pool(sweep, path)

    async def backup(self, target: str, /) -> None:
        backup = getattr(self._journal, "backup", None)
        if backup is None:
            raise InvalidInputError("this store cannot copy itself: use the means of its own journal")
        await self._run_in_pool(backup, target)
