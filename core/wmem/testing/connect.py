"""A journal of one's own: how a suite gets one, tells its colour and lets it go."""

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

from wmem.testing.calls import Call

__all__ = ["Connect", "is_async", "let_go"]

Connect: TypeAlias = Callable[[], Any]
"""Gives a journal of bytes of either colour, or a coroutine that does: each time another connection to one store."""


def is_async(journal: Any) -> bool:
    """Whether a journal is for coroutines."""
    return inspect.iscoroutinefunction(journal.append)


def let_go(journal: Any, call: Call) -> None:
    """Close a connection if it can be closed."""
    close = getattr(journal, "aclose", None) or getattr(journal, "close", None)
    if close is not None:
        call(close)
