"""Flows over a scope's sync or async face: written once, driven by `run` or `arun`."""

from collections.abc import Generator
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

Steps: TypeAlias = Generator[Any, Any, T]
"""Yields the result of each call it makes, an awaitable from an async face, and is sent the value."""


def run(steps: Steps[T]) -> T:
    """The result of steps over a sync face."""
    try:
        step = next(steps)
        while True:
            step = steps.send(step)
    except StopIteration as done:
        result: T = done.value
        return result


async def arun(steps: Steps[T]) -> T:
    """The result of steps over an async face; a failed or cancelled call is thrown into them."""
    try:
        step = next(steps)
        while True:
            try:
                reply = await step
            except BaseException as exc:  # noqa: BLE001  # the steps decide what a failure means
                step = steps.throw(exc)
            else:
                step = steps.send(reply)
    except StopIteration as done:
        result: T = done.value
        return result
