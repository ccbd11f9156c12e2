"""Runs sync and async methods alike, so that one test covers both."""

import asyncio
import inspect
from collections.abc import Callable, Iterator, Sequence
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
        colour: ``"sync"`` or ``"async"``.
    """

    def __init__(self, loop: asyncio.Runner | None) -> None:
        self.colour = "sync" if loop is None else "async"
        self._loop = loop

    def __call__(self, method: Callable[P, R], *args: P.args, **named: P.kwargs) -> R:
        return self._settled(method(*args, **named))

    def _settled(self, made: R) -> R:
        if self._loop is not None and inspect.isawaitable(made):
            return cast("R", self._loop.run(_awaited(made)))
        return made

    def together(self, calls: Sequence[Callable[[], R]]) -> list[R]:
        """Run all concurrently, in threads or as tasks of one loop."""
        if self._loop is not None:

            async def all_of_them() -> list[Any]:
                return await asyncio.gather(*(_awaited(call()) for call in calls))

            return self._loop.run(all_of_them())
        with ThreadPoolExecutor(len(calls)) as threads:
            return list(threads.map(lambda call: call(), calls))

    @contextmanager
    def within(self, manager: AbstractContextManager[R]) -> Iterator[R]:
        """Enter and leave a sync or async context manager."""
        if self._loop is None:
            with manager as entered:
                yield entered
            return
        twin: Any = manager
        entered = self._settled(twin.__aenter__())
        try:
            yield entered
        except BaseException as exc:
            if not self._settled(twin.__aexit__(type(exc), exc, exc.__traceback__)):
                raise
        else:
            self._settled(twin.__aexit__(None, None, None))


async def _awaited(made: Any) -> Any:
    return await made
