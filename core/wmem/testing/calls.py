"""Runs sync and async methods alike, so that one test covers both."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ParamSpec, TypeVar, cast

__all__ = ["Call"]

P = ParamSpec("P")
R = TypeVar("R")


class Call:
    """Runs a sync or async method to its result.

    Args:
        loop: Where coroutines run; None for sync.

    Attributes:
        mode: ``"sync"`` or ``"async"``.
    """

    def __init__(self, loop: asyncio.Runner | None) -> None:
        self.mode = "sync" if loop is None else "async"
        self._loop = loop

    def __call__(self, method: Callable[P, R], *args: P.args, **named: P.kwargs) -> R:
        return self._await_if_async(method(*args, **named))

    def _await_if_async(self, result: R) -> R:
        if self._loop is not None and inspect.isawaitable(result):
            return cast("R", self._run(_await_result(result)))
        return result

    def _run(self, work: Coroutine[Any, Any, R]) -> R:
        # Not `Runner.run`: it sets and resets the handler of a signal around each call, which takes longer than most.
        assert self._loop is not None
        return self._loop.get_loop().run_until_complete(work)

    def run_concurrently(self, calls: Sequence[Callable[[], R]]) -> list[R]:
        """Run all concurrently, in threads or as tasks of one loop."""
        if self._loop is not None:

            async def all_of_them() -> list[Any]:
                return await asyncio.gather(*(_await_result(call()) for call in calls))

            return self._run(all_of_them())
        with ThreadPoolExecutor(len(calls)) as threads:
            return list(threads.map(lambda call: call(), calls))

    @contextmanager
    def enter(self, manager: AbstractContextManager[R]) -> Iterator[R]:
        """Enter and leave a sync or async context manager."""
        if self._loop is None:
            with manager as entered:
                yield entered
            return
        twin: Any = manager
        entered = self._await_if_async(twin.__aenter__())
        try:
            yield entered
        except BaseException as exc:
            if not self._await_if_async(twin.__aexit__(type(exc), exc, exc.__traceback__)):
                raise
        else:
            self._await_if_async(twin.__aexit__(None, None, None))


async def _await_result(result: Any) -> Any:
    # A type that does not block has plain methods, also where coroutine functions are called.
    return await result if inspect.isawaitable(result) else result
