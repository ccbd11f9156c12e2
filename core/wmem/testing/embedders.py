"""Embedders for suites: words by what they mean, in both colours, and what an embedder can do wrong."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import pytest

import wmem
from wmem import Context
from wmem.testing.suite import Call, FacetSuite, Opening

__all__ = [
    "FAULTS",
    "PUPPY",
    "RAIN",
    "WIDTH",
    "AsyncEmbedder",
    "Embedder",
    "EmbedderSuite",
    "raises",
    "recalled",
    "vector",
]

_MEANINGS = {"dog": "pet", "puppy": "pet", "car": "vehicle", "automobile": "vehicle"}
WIDTH = 64
PUPPY, RAIN = "the puppy sleeps on the sofa", "rain is expected"


class Embedder:
    """Words by what they mean; it counts what it is asked.

    Attributes:
        asked: The texts it was given since `taken` was called last.
        failing: What becomes of its vectors, if anything does.
    """

    name = "words"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.failing: Callable[[list[list[float]]], Any] | None = None

    def __call__(self, texts: Sequence[str], /) -> Any:
        self.asked += texts
        made = [vector(text) for text in texts]
        return made if self.failing is None else self.failing(made)

    def taken(self) -> list[str]:
        """What it was asked since the last time."""
        asked, self.asked = self.asked, []
        return asked


class AsyncEmbedder(Embedder):
    """The same as a coroutine function."""

    async def __call__(self, texts: Sequence[str], /) -> Any:
        await asyncio.sleep(0)
        made = super().__call__(texts)
        return await made if asyncio.iscoroutine(made) else made


def vector(text: str) -> list[float]:
    """How often each meaning is in a text."""
    made = [0.0] * WIDTH
    for word in re.findall(r"\w+", text.lower()):
        told = _MEANINGS.get(word, word).encode()
        made[blake2b(told, digest_size=2).digest()[0] % WIDTH] += 1.0
    return made


def raises(_: object) -> Any:
    """As an embedder does that has no model."""
    raise RuntimeError("no such model")


class _Elsewhere:
    """Numbers on a device that is not there."""

    def __array__(self, *_: object, **__: object) -> Any:
        raise RuntimeError("no such device")


FAULTS: Mapping[str, Callable[[list[list[float]]], Any]] = {
    "raises": raises,
    "returns nothing": lambda _: None,
    "returns text": lambda _: "vectors",
    "returns a row too few": lambda made: made[1:],
    "returns rows of unlike length": lambda made: [row[: 3 + place] for place, row in enumerate([*made, made[0]])],
    "returns one row for all": lambda made: made[0],
    "returns rows of no length": lambda made: [[] for _ in made],
    "returns NaN": lambda made: [[float("nan"), *row[1:]] for row in made],
    "returns infinity": lambda made: [[float("inf"), *row[1:]] for row in made],
    "returns numbers too large": lambda made: [[1e300, *row[1:]] for row in made],
    "returns zeros": lambda made: [[0.0] * WIDTH for _ in made],
    "returns what becomes no array": lambda _: _Elsewhere(),
}


def recalled(context: Context) -> list[str]:
    """What was recalled, best first."""
    found = [unit for unit in context.included if unit.rule == "recalled"]
    return [unit.says for unit in sorted(found, key=lambda unit: -(unit.score or 0.0))]


class EmbedderSuite(FacetSuite):
    """A memory with an embedder of the test's colour, which counts what it is asked."""

    @pytest.fixture
    def embedder(self, call: Call) -> Embedder:
        """A coroutine function in the async colour."""
        return Embedder() if call.colour == "sync" else AsyncEmbedder()

    @pytest.fixture
    def memory(self, opening: Opening, embedder: Embedder) -> wmem.AgentMemory:
        """See `FacetSuite.memory`."""
        return opening(embedder=embedder)

    def filled(self, session: wmem.Scope, call: Call) -> None:
        """Three facts, one of a puppy."""
        for text in (PUPPY, "an automobile needs petrol", RAIN):
            call(session.items.add, text, type="fact")
