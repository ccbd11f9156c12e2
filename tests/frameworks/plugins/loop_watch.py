"""A pytest plugin: spares what a coroutine runs in its loop on purpose, where LangChain's tests watch what blocks it.

Their own fixture has each call raise that blocks a running loop: a stat, a statement of SQLite, a lock that is taken.
A test that is a coroutine for the sake of its other half, and runs an agent with `invoke`, waits for its store.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import blockbuster
import pytest
from blockbuster import BlockBuster, blockbuster_ctx


@contextmanager
def watch_loop(*args: Any, **options: Any) -> Iterator[BlockBuster]:
    """As blockbuster's, but for what runs below `invoke` and `stream` of a graph."""
    with blockbuster_ctx(*args, **options) as watch:
        for function in watch.functions.values():
            function.can_block_in("langgraph/pregel/main.py", "stream")
        yield watch


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    blockbuster.blockbuster_ctx = watch_loop  # before their conftest imports the name
