"""A pytest plugin: lets LlamaIndex's tests of 0.14.14 run on later versions, with any memory.

Without their conftest, which imports what is not there. Their scripted replies refuse the options that
later versions pass to them.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from llama_index.core.llms.mock import MockFunctionCallingLLM


def pytest_configure() -> None:
    begin: Callable[..., None] = MockFunctionCallingLLM.__init__

    @wraps(begin)
    def begin_leniently(self: Any, *args: Any, response_generator: Callable[..., Any] | None = None, **kw: Any) -> None:
        reply = None if response_generator is None else lambda messages, **_: response_generator(messages)
        begin(self, *args, response_generator=reply, **kw)

    MockFunctionCallingLLM.__init__ = begin_leniently  # type: ignore[method-assign]  # that is what this is for
