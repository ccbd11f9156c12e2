"""What turns texts into vectors: the port a caller fulfils, and what is known of how it does."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from hashlib import blake2b
from typing import Any, Protocol, TypeAlias

from wmem.errors import InvalidInputError, MissingExtraError
from wmem.text.dense import has_arrays

__all__ = ["Embedder", "Embedding", "fingerprint"]

TIMEOUT_S = 5.0
OFF_S = 60.0

Matrix: TypeAlias = Any
"""A float matrix, one row a text: a numpy array, or a sequence of sequences."""


class Embedder(Protocol):
    """Turns texts into vectors of one width, so that texts that mean the same point the same way.

    For coroutines it may be a coroutine function; a plain one then runs in a thread.
    It may have an attribute ``timeout_s``: seconds that one call may take, by default 5.

    Attributes:
        name: What vectors are stored under; another model has another name.
    """

    @property
    def name(self) -> str: ...
    def __call__(self, texts: Sequence[str], /) -> Matrix | Awaitable[Matrix]:
        """One row of finite numbers for each text; its length does not matter."""
        ...


class Embedding:
    """An embedder that was looked at, and until when it is left alone.

    Attributes:
        off_until: On the memory's clock; it failed, or was too slow.
    """

    __slots__ = ("call", "name", "off_until", "timeout_s")

    def __init__(self, embedder: Embedder) -> None:
        name = getattr(embedder, "name", None)
        if not callable(embedder) or not isinstance(name, str) or not name.strip():
            msg = f"embedder must be callable and have a name, under which vectors are stored, not {embedder!r:.80}"
            raise InvalidInputError(msg)
        seconds = getattr(embedder, "timeout_s", TIMEOUT_S)
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
            msg = f"timeout_s of the embedder {name!r} must be above 0 seconds, got {seconds!r:.80}"
            raise InvalidInputError(msg)
        if not has_arrays():
            msg = "an embedder needs the extra 'recall': pip install 'wmem[recall]'"
            raise MissingExtraError(msg)
        self.call: Embedder | Callable[[Sequence[str]], Any] = (
            embedder if inspect.isroutine(embedder) else embedder.__call__  # tells whether it is for coroutines
        )
        self.name = name
        self.timeout_s = float(seconds)
        self.off_until = 0.0

    def check_plain(self) -> None:
        """Raise `InvalidInputError` for an embedder that only coroutines can call."""
        if inspect.iscoroutinefunction(self.call):
            msg = f"the embedder {self.name!r} is a coroutine function and needs the async face: use wmem.aopen"
            raise InvalidInputError(msg)


def fingerprint(text: str, name: str = "") -> str:
    """What the vectors of a text are stored under; with a name, that of the embedder's."""
    told = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{told}-{blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}" if name else told
