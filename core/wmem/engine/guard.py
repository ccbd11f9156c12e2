"""The guard of a user's function: a time limit, and a circuit breaker that pauses one that fails or is too slow."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from wmem.describe import describe_failure
from wmem.engine.ports import Callback, TimedCallback
from wmem.errors import InvalidInputError
from wmem.flow import Flow, ask
from wmem.model.checks import check_seconds

BACKOFF_S, MAX_BACKOFF_S = 60.0, 3_600.0


class GuardedCallError(Exception):
    """A guarded function failed; the message says how, and holds no content."""


class Guard:
    """Calls a user's function within its time limit, unless it failed a moment ago.

    Attributes:
        is_sync: Whether it has a plain function, which both modes can call.
        disabled_until: When it may be called again after it failed or was too slow, on the memory's clock.
    """

    __slots__ = ("_async_call", "_call", "_failures", "_what", "disabled_until", "is_sync", "name", "timeout_s")

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        what: str,
        name: str,
        timeout_s: object,
        async_function: Callable[..., Any] | None = None,
    ) -> None:
        """Guard a function.

        Args:
            what: What it is, as "embedder".
            timeout_s: Seconds that one call may take.
            async_function: Does the same for coroutines.
        """
        coroutines = inspect.iscoroutinefunction(function)  # for a partial, __call__ does not show it
        self._call: Callable[..., Any] = function if coroutines or inspect.isroutine(function) else function.__call__  # type: ignore[operator]  # it was checked
        self._async_call = async_function
        self.is_sync = not inspect.iscoroutinefunction(self._call)
        self.name = name
        self.timeout_s = float(check_seconds(timeout_s, f"timeout_s of the {what} {name!r}"))
        self.disabled_until = 0.0
        self._what = what
        self._failures = 0

    def __str__(self) -> str:
        return f"the {self._what} {self.name!r}"

    def pause(self, now: float) -> float:
        """For how many seconds it is left alone, from an instant on; 0 or less if it may be called."""
        return self.disabled_until - now

    def record_failure(self, now: float) -> None:
        """Pause the function, each time for longer until a call succeeds."""
        self.disabled_until = now + min(BACKOFF_S * 2**self._failures, MAX_BACKOFF_S)
        self._failures = min(self._failures + 1, 8)

    def record_success(self) -> None:
        """Reset the pause: a call succeeded in time."""
        self._failures = 0

    def check_sync(self) -> None:
        """Raise `InvalidInputError` for a coroutine function: the sync face cannot call it."""
        if not self.is_sync:
            raise InvalidInputError(f"{self} is a coroutine function and needs the async face: use wmem.aopen")

    def ask(self, *args: object) -> Flow[Any]:
        """What the function returns, unchecked; the caller records whether that is a success.

        Raises:
            GuardedCallError: It raised, or took too long.
        """
        call = self._call
        if self._async_call is not None and not (yield from ask(Callback.blocks)):
            call = self._async_call
        try:
            return (yield from ask(TimedCallback.within, partial(call, *args), self.timeout_s))
        except TimeoutError as exc:
            raise GuardedCallError(f"took longer than {self.timeout_s:g} s") from exc
        except Exception as exc:  # a user's function: whatever it raises, its caller goes on
            raise GuardedCallError(f"raised {describe_failure(exc)}") from exc
