"""LlamaIndex adapter: persistent sessions as agent memory, under a token budget."""

from wmem import MissingExtraError

try:
    from llamaindex_wmem._calls import PromptTooLargeError
    from llamaindex_wmem._convert import from_llamaindex, to_llamaindex
    from llamaindex_wmem._llm import WmemLLM
    from llamaindex_wmem._summarizer import LlamaIndexSummarizer
    from llamaindex_wmem._tools import wmem_tools
    from llamaindex_wmem.memory import WmemMemory
except ModuleNotFoundError as exc:
    if exc.name is None or not exc.name.startswith("llama_index"):
        raise
    raise MissingExtraError("llamaindex_wmem needs LlamaIndex: pip install 'wmem[llamaindex]'") from exc

__all__ = [
    "LlamaIndexSummarizer",
    "PromptTooLargeError",
    "WmemLLM",
    "WmemMemory",
    "from_llamaindex",
    "to_llamaindex",
    "wmem_tools",
]
