"""LangChain adapter: middleware for agents, chat message histories, and conversion of messages.

`WmemMiddleware` needs the package ``langchain``; everything else ``langchain-core`` alone.
"""

from typing import TYPE_CHECKING

from wmem.errors import MissingExtraError

_EXTRA = "langchain_wmem needs LangChain: pip install 'wmem[langchain]'"

try:
    from langchain_wmem._convert import from_langchain, to_langchain
    from langchain_wmem._history import WmemChatMessageHistory
except ModuleNotFoundError as exc:
    if exc.name is None or not exc.name.startswith("langchain_core"):
        raise
    raise MissingExtraError(_EXTRA) from exc

if TYPE_CHECKING:
    from langchain_wmem._middleware import WmemMiddleware

__all__ = ["WmemChatMessageHistory", "WmemMiddleware", "from_langchain", "to_langchain"]


def __getattr__(name: str) -> object:
    """Import the middleware on first use: ``create_agent`` is slow to load."""
    if name != "WmemMiddleware":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from langchain_wmem._middleware import WmemMiddleware
    except ModuleNotFoundError as exc:
        if exc.name is None or exc.name.partition(".")[0] not in ("langchain", "langgraph"):
            raise
        raise MissingExtraError(_EXTRA) from exc
    return WmemMiddleware


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
