"""A pytest plugin: puts `WmemMiddleware` into every agent that is made, with a store of its own."""

import functools
from typing import Any

import langchain.agents
import langchain.agents.factory
import pytest
from langchain.agents.middleware import AgentMiddleware
from langgraph.runtime import Runtime
from wmem_run import new_store

from langchain_wmem import WmemMiddleware

_BUDGET = 1_000_000  # of which no test's conversation comes near: the prompts must be LangChain's own


class Placement:
    """Makes a middleware for each agent, and closes those of a test after it."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._is_first = config.getoption("--wmem-place") == "first"
        self._opened: list[WmemMiddleware] = []

    def add_to(self, middleware: list[AgentMiddleware[Any, Any, Any]]) -> list[AgentMiddleware[Any, Any, Any]]:
        """The middleware of an agent, and ours before or behind it."""
        ours = self._open()
        return [ours, *middleware] if self._is_first else [*middleware, ours]

    def _open(self) -> WmemMiddleware:
        url = new_store(self._config, "agents")

        def session(runtime: Runtime[Any]) -> str:
            # Without a thread, an agent has one conversation here.
            info = runtime.execution_info
            return str(info.thread_id) if info is not None and info.thread_id is not None else "session"

        opened = WmemMiddleware(url, agent_id="agent", budget=_BUDGET, session=session)
        self._opened.append(opened)
        return opened

    def pytest_runtest_teardown(self) -> None:
        """Close what the test opened."""
        while self._opened:
            self._opened.pop().close()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--wmem-place", choices=["first", "last"], default="last", help="where in an agent's middleware")


def pytest_configure(config: pytest.Config) -> None:
    placement = Placement(config)
    config.pluginmanager.register(placement)
    create_agent = langchain.agents.factory.create_agent

    @functools.wraps(create_agent)
    def create_agent_with_wmem(*args: Any, middleware: Any = (), **options: Any) -> Any:
        return create_agent(*args, middleware=placement.add_to(list(middleware)), **options)

    # Before any test is imported, and with it the name.
    langchain.agents.create_agent = langchain.agents.factory.create_agent = create_agent_with_wmem
