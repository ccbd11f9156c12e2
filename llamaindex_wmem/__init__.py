"""wmem as the memory of LlamaIndex: sessions that outlive the process, under a token budget."""

try:
    import llama_index.core as _installed  # noqa: F401  # a clear error now instead of an obscure one below
except ImportError as exc:
    from wmem import MissingExtraError

    msg = "LlamaIndex is not installed: pip install 'wmem[llamaindex]'"
    raise MissingExtraError(msg) from exc

from llamaindex_wmem._convert import from_llamaindex, to_llamaindex
from llamaindex_wmem.memory import WmemMemory

__all__ = ["WmemMemory", "from_llamaindex", "to_llamaindex"]
