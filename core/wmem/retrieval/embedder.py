"""The embedder port, and the keys of vectors."""

from collections.abc import Awaitable, Sequence
from hashlib import blake2b
from typing import Any, Protocol, TypeAlias

from wmem.describe import describe
from wmem.engine.guard import Guard
from wmem.errors import InvalidInputError, MissingExtraError
from wmem.retrieval.arrays import has_numpy

TIMEOUT_S = 5.0

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


def guard_embedder(embedder: Embedder) -> Guard:
    """Check an embedder and guard it.

    Raises:
        InvalidInputError: It cannot be called or has no name.
        MissingExtraError: numpy is not installed.
    """
    name = getattr(embedder, "name", None)
    if not callable(embedder) or not isinstance(name, str) or not name.strip():
        msg = f"embedder must be callable and have a name, under which vectors are stored, not {describe(embedder)}"
        raise InvalidInputError(msg)
    guard = Guard(embedder, what="embedder", name=name, timeout_s=getattr(embedder, "timeout_s", TIMEOUT_S))
    if not has_numpy():
        raise MissingExtraError("an embedder needs the extra 'recall': pip install 'wmem[recall]'")
    return guard


def fingerprint(text: str, embedder_name: str = "") -> str:
    """The key of a text's vectors in the store; with an embedder's name, of the vector that it made."""
    told = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    if not embedder_name:
        return told
    return f"{told}-{blake2b(embedder_name.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}"
