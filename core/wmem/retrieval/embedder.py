"""The embedder port, and the guard that pauses an embedder that fails or is too slow."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from hashlib import blake2b
from typing import Any, Protocol, TypeAlias

from wmem.describe import describe
from wmem.errors import InvalidInputError, MissingExtraError
from wmem.model.checks import check_seconds
from wmem.retrieval.arrays import has_numpy

TIMEOUT_S = 5.0
BACKOFF_S, MAX_BACKOFF_S = 60.0, 3_600.0

Matrix: TypeAlias = Any
"""A float matrix, one row a text: a numpy array, or a sequence of sequences."""


class Embedder(Protocol):
    """Turns texts into vectors of one width; texts of similar meaning get similar vectors.

    It may be a coroutine function, for the async face. A plain function runs in a thread of its
    own, so that a call that never ends blocks nothing; one that needs the caller's own thread,
    in the sync face, sets ``timeout_s`` to infinity.

    It may have an attribute ``timeout_s``: seconds that one call may take, by default 5. An
    embedder that takes longer or fails is not called for a minute, then for twice as long each
    time, up to an hour.

    Attributes:
        name: Key under which vectors are stored; another model needs another name.
    """

    @property
    def name(self) -> str: ...
    def __call__(self, texts: Sequence[str], /) -> Matrix | Awaitable[Matrix]:
        """One row of finite numbers for each text; rows need not have length 1.

        Long texts are cut to their first 8,000 characters, queries to their first and last 3,000 bytes.
        """
        ...


class GuardedEmbedder:
    """A validated embedder with a circuit breaker.

    Attributes:
        disabled_until: When it may be called again after it failed or was too slow, on the memory's clock.
    """

    __slots__ = ("_failures", "call", "disabled_until", "is_sync", "name", "timeout_s")

    def __init__(self, embedder: Embedder) -> None:
        name = getattr(embedder, "name", None)
        if not callable(embedder) or not isinstance(name, str) or not name.strip():
            msg = f"embedder must be callable and have a name, under which vectors are stored, not {describe(embedder)}"
            raise InvalidInputError(msg)
        seconds = check_seconds(getattr(embedder, "timeout_s", TIMEOUT_S), f"timeout_s of the embedder {name!r}")
        if not has_numpy():
            raise MissingExtraError("an embedder needs the extra 'recall': pip install 'wmem[recall]'")
        coroutines = inspect.iscoroutinefunction(embedder)  # for a partial, __call__ does not show it
        self.call: Embedder | Callable[[Sequence[str]], Any] = (
            embedder if coroutines or inspect.isroutine(embedder) else embedder.__call__
        )
        self.is_sync = not inspect.iscoroutinefunction(self.call)
        self.name = name
        self.timeout_s = float(seconds)
        self.disabled_until = 0.0
        self._failures = 0

    def record_failure(self, now: float) -> None:
        """Pause the embedder, each time for longer until a call succeeds (`served`)."""
        self.disabled_until = now + min(BACKOFF_S * 2**self._failures, MAX_BACKOFF_S)
        self._failures = min(self._failures + 1, 8)

    def record_success(self) -> None:
        """Reset the pause: a call succeeded in time."""
        self._failures = 0

    def check_sync(self) -> None:
        """Raise `InvalidInputError` for a coroutine function: the sync face cannot call it."""
        if not self.is_sync:
            msg = f"the embedder {self.name!r} is a coroutine function and needs the async face: use wmem.aopen"
            raise InvalidInputError(msg)


def fingerprint(text: str, embedder_name: str = "") -> str:
    """The key of a text's vectors in the store; with an embedder's name, of the vector that it made."""
    told = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    if not embedder_name:
        return told
    return f"{told}-{blake2b(embedder_name.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}"
