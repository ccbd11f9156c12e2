"""LangChain adapter: middleware and tools for agents, packing for chains and graphs, histories, conversion.

`WmemMiddleware` needs the package ``langchain``, `wmem_pack` and `wmem_tools` ``langgraph``; the rest
``langchain-core`` alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from wmem.errors import MissingExtraError

_EXTRA = "langchain_wmem needs LangChain: pip install 'wmem[langchain]'"

try:
    from langchain_wmem._convert import from_langchain, to_langchain
    from langchain_wmem._history import WmemChatMessageHistory
    from langchain_wmem._summarizer import LangChainSummarizer
except ModuleNotFoundError as exc:
    if exc.name is None or not exc.name.startswith("langchain_core"):
        raise
    raise MissingExtraError(_EXTRA) from exc

if TYPE_CHECKING:
    from langchain_wmem._middleware import WmemMiddleware
    from langchain_wmem._pack import WmemPack, wmem_pack
    from langchain_wmem._tools import wmem_tools

__all__ = [
    "LangChainSummarizer",
    "WmemChatMessageHistory",
    "WmemMiddleware",
    "WmemPack",
    "from_langchain",
    "to_langchain",
    "wmem_pack",
    "wmem_tools",
]

_MODULES = {
    "WmemMiddleware": "langchain_wmem._middleware",
    "WmemPack": "langchain_wmem._pack",
    "wmem_pack": "langchain_wmem._pack",
    "wmem_tools": "langchain_wmem._tools",
}
"""Where the names are that are imported on first use."""


def __getattr__(name: str) -> object:
    """Import what LangGraph is needed for on first use: it is slow to load."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(_MODULES[name])
    except ModuleNotFoundError as exc:
        if exc.name is None or exc.name.partition(".")[0] not in ("langchain", "langgraph"):
            raise
        raise MissingExtraError(_EXTRA) from exc
    return vars(module)[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
