"""Embedders for suites, sync and async: a bag of word meanings, and faulty ones."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import pytest

import wmem
from wmem import Context
from wmem.testing.suite import Call, FacetSuite, MemoryOpener

__all__ = [
    "FAULTS",
    "PUPPY",
    "RAIN",
    "WIDTH",
    "AsyncEmbedder",
    "Embedder",
    "EmbedderSuite",
    "list_recalled_texts",
    "raise_error",
    "vector",
]

_MEANINGS = {"dog": "pet", "puppy": "pet", "car": "vehicle", "automobile": "vehicle"}
WIDTH = 64
PUPPY, RAIN = "the puppy sleeps on the sofa", "rain is expected"


class Embedder:
    """Embeds a text as its bag of word meanings; records the texts it is given.

    Attributes:
        texts: The texts it was given since the last call of `pop_texts`.
        fault: Applied to its vectors to make them faulty; None for correct ones.
    """

    name = "words"

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.fault: Callable[[list[list[float]]], Any] | None = None

    def __call__(self, texts: Sequence[str], /) -> Any:
        self.texts += texts
        made = [vector(text) for text in texts]
        return made if self.fault is None else self.fault(made)

    def pop_texts(self) -> list[str]:
        """Return and clear the texts recorded since the last call."""
        asked, self.texts = self.texts, []
        return asked


class AsyncEmbedder(Embedder):
    """Async twin of `Embedder`."""

    async def __call__(self, texts: Sequence[str], /) -> Any:
        await asyncio.sleep(0)
        made = super().__call__(texts)
        return await made if asyncio.iscoroutine(made) else made


def vector(text: str) -> list[float]:
    """Counts of the meanings in a text."""
    made = [0.0] * WIDTH
    for word in re.findall(r"\w+", text.lower()):
        told = _MEANINGS.get(word, word).encode()
        made[blake2b(told, digest_size=2).digest()[0] % WIDTH] += 1.0
    return made


def raise_error(_: object) -> Any:
    """Raise, as an embedder without a model does."""
    raise RuntimeError("no such model")


class _BrokenArray:
    """An array on a missing device: it cannot be converted."""

    def __array__(self, *_: object, **__: object) -> Any:
        raise RuntimeError("no such device")


FAULTS: Mapping[str, Callable[[list[list[float]]], Any]] = {
    "raises": raise_error,
    "returns nothing": lambda _: None,
    "returns text": lambda _: "vectors",
    "returns a row too few": lambda rows: rows[1:],
    "returns rows of unlike length": lambda rows: [row[: 3 + place] for place, row in enumerate([*rows, rows[0]])],
    "returns one row for all": lambda rows: rows[0],
    "returns rows of no length": lambda rows: [[] for _ in rows],
    "returns NaN": lambda rows: [[float("nan"), *row[1:]] for row in rows],
    "returns infinity": lambda rows: [[float("inf"), *row[1:]] for row in rows],
    "returns numbers too large": lambda rows: [[1e300, *row[1:]] for row in rows],
    "returns zeros": lambda rows: [[0.0] * WIDTH for _ in rows],
    "returns what becomes no array": lambda _: _BrokenArray(),
}


def list_recalled_texts(context: Context) -> list[str]:
    """The recalled texts, best first."""
    found = [unit for unit in context.included if unit.rule == "recalled"]
    return [unit.says for unit in sorted(found, key=lambda unit: -(unit.score or 0.0))]


class EmbedderSuite(FacetSuite):
    """A memory with a sync or async embedder, as the test is, which records the texts it is given."""

    @pytest.fixture
    def embedder(self, call: Call) -> Embedder:
        """An embedder; async in async tests."""
        return Embedder() if call.mode == "sync" else AsyncEmbedder()

    @pytest.fixture
    def memory(self, open_memory: MemoryOpener, embedder: Embedder) -> wmem.AgentMemory:
        """See `FacetSuite.memory`."""
        return open_memory(embedder=embedder)

    def add_facts(self, session: wmem.Scope, call: Call) -> None:
        """Add three facts, one about a puppy."""
        for text in (PUPPY, "an automobile needs petrol", RAIN):
            call(session.items.add, text, type="fact")
