"""The newest packed context of each scope, kept to explain a prompt."""

import threading
from collections import OrderedDict

from langchain_wmem._session import Path
from wmem import Context

__all__ = ["RecentContexts"]

_MAX_CONTEXTS = 128


class RecentContexts:
    """The newest context of each of the 128 scopes packed last; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_path: OrderedDict[Path, Context] = OrderedDict()

    def get(self, path: Path) -> Context | None:
        """The scope's newest context; None if there is none or it was evicted."""
        with self._lock:
            return self._by_path.get(path)

    def put(self, path: Path, context: Context) -> Context:
        """Store a context as its scope's newest, and return it."""
        with self._lock:
            self._by_path[path] = context
            self._by_path.move_to_end(path)
            while len(self._by_path) > _MAX_CONTEXTS:
                self._by_path.popitem(last=False)
        return context
