"""LangChain's standard tests of tools, over each of wmem's: what its package `langchain-tests` asks of any."""

from typing import Any, ClassVar

from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import ToolsIntegrationTests  # type: ignore[import-not-found]  # installed apart
from langchain_tests.unit_tests import ToolsUnitTests  # type: ignore[import-not-found]  # the same
from wmem_tool_sets import TOOLS


class _Remember:
    tool_constructor: ClassVar[BaseTool] = TOOLS["remember"]
    tool_invoke_params_example: ClassVar[dict[str, Any]] = {"text": "Biscuit is allergic to chicken", "tags": ["dog"]}


class _Recall:
    tool_constructor: ClassVar[BaseTool] = TOOLS["recall"]
    tool_invoke_params_example: ClassVar[dict[str, Any]] = {"query": "What is Biscuit allergic to?"}


class _Forget:
    tool_constructor: ClassVar[BaseTool] = TOOLS["forget"]
    tool_invoke_params_example: ClassVar[dict[str, Any]] = {"instruction": "oldest"}


class TestRemember(_Remember, ToolsUnitTests): ...  # type: ignore[misc]  # it is not installed where types are checked


class TestRecall(_Recall, ToolsUnitTests): ...  # type: ignore[misc]  # the same


class TestForget(_Forget, ToolsUnitTests): ...  # type: ignore[misc]  # the same


class TestRememberForReal(_Remember, ToolsIntegrationTests): ...  # type: ignore[misc]  # the same


class TestRecallForReal(_Recall, ToolsIntegrationTests): ...  # type: ignore[misc]  # the same


class TestForgetForReal(_Forget, ToolsIntegrationTests): ...  # type: ignore[misc]  # the same
