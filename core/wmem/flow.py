"""Flows: I/O logic written once as generators, and the sync and async drivers that run them.

A flow yields the call it wants made, is sent the reply (or has the failure
thrown into it), and returns its result. It never waits itself, so one flow
serves sync and async.
"""

from collections.abc import Callable, Generator, Mapping
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

__all__ = ["Flow", "Ports", "arun", "ask", "bind", "run"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

Flow: TypeAlias = Generator[tuple[str, tuple[Any, ...]], Any, T]
Ports: TypeAlias = Mapping[str, Callable[..., Any]]


def bind(**ports: object) -> dict[str, Callable[..., Any]]:
    """Map the public methods of each port by name: ``bind(Journal=made)["Journal.read"]``."""
    return {
        f"{port}.{name}": getattr(made, name)
        for port, made in ports.items()
        for name in dir(made)
        if not name.startswith("_")
    }


def ask(method: Callable[Concatenate[Any, P], R], *args: P.args, **_: P.kwargs) -> Flow[R]:
    """Ask a port for ``method(*args)`` and return its reply, typed; positional only.

    Use it as ``tails = yield from ask(Journal.read, cursors)``.
    """
    reply: R = yield method.__qualname__, args
    return reply


def run(flow: Flow[T], ports: Ports) -> T:
    """Drive `flow` to its result through sync ports; a port's failure is thrown into it."""
    try:
        name, args = flow.send(None)
        while True:
            try:
                reply = ports[name](*args)
            except BaseException as exc:  # noqa: BLE001  # the flow decides what a failure means
                name, args = flow.throw(exc)
            else:
                name, args = flow.send(reply)
    except StopIteration as done:
        result: T = done.value
        return result
    finally:
        flow.close()


async def arun(flow: Flow[T], ports: Ports) -> T:
    """Drive `flow` to its result through async ports; a port's failure is thrown into it."""
    try:
        name, args = flow.send(None)
        while True:
            try:
                reply = await ports[name](*args)
            except BaseException as exc:  # noqa: BLE001  # cancellation included: the flow must see it and end
                name, args = flow.throw(exc)
            else:
                name, args = flow.send(reply)
    except StopIteration as done:
        result: T = done.value
        return result
    finally:
        flow.close()
