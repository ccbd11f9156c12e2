"""What was packed last for each scope, for whoever asks why a prompt was what it was."""

import threading
from collections import OrderedDict

from langchain_wmem._whose import Path
from wmem import Context

__all__ = ["Contexts"]

_MOST = 128


class Contexts:
    """The contexts packed last, one a scope; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_path: OrderedDict[Path, Context] = OrderedDict()

    def get(self, path: Path) -> Context | None:
        """The scope's newest, if it is not long ago."""
        with self._lock:
            return self._by_path.get(path)

    def put(self, path: Path, context: Context) -> Context:
        """Keep a context as its scope's newest, and give it back."""
        with self._lock:
            self._by_path[path] = context
            self._by_path.move_to_end(path)
            while len(self._by_path) > _MOST:
                self._by_path.popitem(last=False)
        return context
