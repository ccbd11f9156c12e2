"""Custom journals: connecting to one, telling whether it is async, and closing it."""

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

from wmem.testing.calls import Call

__all__ = ["Connect", "close_connection", "is_async"]

Connect: TypeAlias = Callable[[], Any]
"""Returns a sync or async journal of bytes, or a coroutine for one: each time a new connection to one store."""


def is_async(journal: Any) -> bool:
    """Whether a journal is async."""
    return inspect.iscoroutinefunction(journal.append)


def close_connection(journal: Any, call: Call) -> None:
    """Close a connection if it can be closed."""
    close = getattr(journal, "aclose", None) or getattr(journal, "close", None)
    if close is not None:
        call(close)
