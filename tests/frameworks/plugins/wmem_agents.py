"""A pytest plugin: puts `WmemMiddleware` into every agent that is made, with a store of its own."""

import functools
from collections.abc import Sequence
from typing import Any

import langchain.agents
import langchain.agents.factory
import pytest
from langchain.agents.middleware import AgentMiddleware
from langgraph.runtime import Runtime
from wmem_run import expect_use, new_store

from langchain_wmem import WmemMiddleware

_BUDGET = 1_000_000  # of which no test's conversation comes near: the prompts must be LangChain's own


class Placement:
    """Makes a middleware for each agent, and closes those of a test after it."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._is_first = config.getoption("--wmem-place") == "first"
        self._opened: list[WmemMiddleware] = []

    def add_to(self, theirs: Sequence[AgentMiddleware[Any, Any, Any]], *, has_thread: bool) -> list[Any]:
        """The middleware of an agent, and ours before or behind it.

        Args:
            has_thread: Whether the agent keeps its state by thread: then a thread is a session, as by default.
        """
        session = None if has_thread else _name_session
        url = new_store(self._config, "agents")
        ours = WmemMiddleware(url, agent_id="agent", budget=_BUDGET, session=session)
        self._opened.append(ours)
        return [ours, *theirs] if self._is_first else [*theirs, ours]

    def pytest_runtest_teardown(self) -> None:
        """Close what the test opened."""
        while self._opened:
            self._opened.pop().close()


def _name_session(runtime: Runtime[Any]) -> tuple[str, str]:
    """The thread that an agent inherits; without one it has a single conversation."""
    info = runtime.execution_info
    return "user", str(info.thread_id) if info is not None and info.thread_id is not None else "session"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--wmem-place", choices=["first", "last"], default="last", help="where in an agent's middleware")


def pytest_configure(config: pytest.Config) -> None:
    expect_use(config, "agents")
    placement = Placement(config)
    config.pluginmanager.register(placement)
    create_agent = langchain.agents.factory.create_agent

    @functools.wraps(create_agent)
    def create_agent_with_wmem(*args: Any, middleware: Any = (), checkpointer: Any = None, **options: Any) -> Any:
        placed = placement.add_to(middleware, has_thread=bool(checkpointer))
        return create_agent(*args, middleware=placed, checkpointer=checkpointer, **options)

    # Before any test is imported, and with it the name.
    langchain.agents.create_agent = langchain.agents.factory.create_agent = create_agent_with_wmem
