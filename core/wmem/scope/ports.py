"""How the faces of a scope reach the store: the sync and async ports of a memory, and what drives a flow with them."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from wmem.flow import Flow, Ports
from wmem.fork import cached_property
from wmem.scope.handle import Read

R = TypeVar("R")


class Drive(Protocol):
    """Drives a flow to its result."""

    def __call__(self, flow: Flow[R], /) -> R: ...


class AsyncDrive(Protocol):
    """See `Drive`."""

    def __call__(self, flow: Flow[R], /) -> Awaitable[R]: ...


class RunRead(Protocol):
    """Runs a pure read over the states of a scope and returns its result."""

    def __call__(self, read: Read[R], /) -> R: ...


class AsyncRunRead(Protocol):
    """See `RunRead`."""

    def __call__(self, read: Read[R], /) -> Awaitable[R]: ...


class PortPair:
    """The sync and async ports of one memory, each made when first needed."""

    def __init__(self, make_sync: Callable[[], Ports], make_async: Callable[[], Ports]) -> None:
        self._make_sync = make_sync
        self._make_async = make_async

    @cached_property
    def sync(self) -> Ports:
        """The sync ports."""
        return self._make_sync()

    @cached_property
    def aio(self) -> Ports:
        """The async ports."""
        return self._make_async()
