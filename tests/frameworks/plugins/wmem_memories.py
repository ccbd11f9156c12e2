"""A pytest plugin: puts `WmemMemory` in the place of LlamaIndex's `Memory` and `ChatMemoryBuffer`."""

import sys
from typing import Any

import llama_index.core.agent.workflow
import llama_index.core.chat_engine
import llama_index.core.chat_engine.multi_modal_condense_plus_context
import llama_index.core.chat_engine.multi_modal_context
import llama_index.core.memory
import pytest
from wmem_run import expect_use, new_store

from llamaindex_wmem import WmemMemory

_NAMES = ("Memory", "ChatMemoryBuffer")
_FOREIGN_OPTIONS = (
    "chat_store",
    "chat_store_key",
    "chat_history_token_ratio",
    "llm",
    "memory_blocks",
    "token_flush_size",
)


def pytest_configure(config: pytest.Config) -> None:
    expect_use(config, "memories")

    class PlacedType(type):
        """Is called, asked and checked as the class in whose place it stands."""

        def __call__(cls, **options: Any) -> WmemMemory:
            return cls.from_defaults(**options)

        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, WmemMemory)

        def __getattr__(cls, name: str) -> Any:
            return getattr(WmemMemory, name)

        def from_defaults(cls, *, session_id: str | None = None, **options: Any) -> WmemMemory:
            """A memory with a store of its own; options that only theirs has are left out."""
            known = {
                name: value for name, value in options.items() if name not in _FOREIGN_OPTIONS and value is not None
            }
            url = new_store(config, "memories")
            session = session_id or ("user", "session")
            return WmemMemory.from_defaults(session_id=session, url=url, agent_id="agent", **known)

    originals = {getattr(llama_index.core.memory, name): PlacedType(name, (), {}) for name in _NAMES}
    for name, module in list(sys.modules.items()):
        if name.startswith("llama_index.core"):
            for attribute in _NAMES:
                if (placed := originals.get(getattr(module, attribute, None))) is not None:
                    setattr(module, attribute, placed)
