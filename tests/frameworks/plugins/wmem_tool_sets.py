"""A pytest plugin: makes the tools over which LangChain's standard tests of tools are run."""

import pytest
from langchain_core.tools import BaseTool
from wmem_run import expect_use, new_store

from langchain_wmem import wmem_tools

TOOLS: dict[str, BaseTool] = {}
"""By name; made before the tests are collected."""


def pytest_configure(config: pytest.Config) -> None:
    expect_use(config, "tools")
    made = wmem_tools(new_store(config, "tools"), agent_id="agent", session=("user", "session"))
    TOOLS.update({each.name: each for each in made})
