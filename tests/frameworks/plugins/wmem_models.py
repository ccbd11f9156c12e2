"""A pytest plugin: puts `WmemLLM` around each model that LlamaIndex's agents and chat engines are made with."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import llama_index.core.chat_engine.multi_modal_condense_plus_context
import llama_index.core.chat_engine.multi_modal_context  # noqa: F401  # so that their classes are there
import pytest
from llama_index.core.agent.workflow import BaseWorkflowAgent
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.llms.llm import LLM
from wmem_run import expect_use, new_store

from llamaindex_wmem import WmemLLM, WmemMemory


def pytest_configure(config: pytest.Config) -> None:
    expect_use(config, "models")

    def wrap(value: Any, memory: object) -> Any:
        """The model, below a budget of its whole window; for the memory that it is given beside, or an empty one."""
        if not isinstance(value, LLM) or isinstance(value, WmemLLM):
            return value
        if not isinstance(memory, WmemMemory):
            url = new_store(config, "models")
            memory = WmemMemory.from_defaults(session_id="session", url=url, agent_id="agent")
        return WmemLLM(value, memory)

    def wrap_arguments(begin: Callable[..., None]) -> Callable[..., None]:
        @wraps(begin)
        def begin_with_wrapped(self: Any, *args: Any, **options: Any) -> None:
            memory = options.get("memory")
            wrapped = {name: wrap(value, memory) for name, value in options.items()}
            begin(self, *(wrap(value, memory) for value in args), **wrapped)

        return begin_with_wrapped

    for cls in (BaseWorkflowAgent, *_list_subclasses(BaseChatEngine)):
        if (begin := vars(cls).get("__init__")) is not None:
            setattr(cls, "__init__", wrap_arguments(begin))  # noqa: B010  # for any class, which no checker knows


def _list_subclasses(cls: type[Any]) -> Iterator[type[Any]]:
    for each in cls.__subclasses__():
        yield each
        yield from _list_subclasses(each)
