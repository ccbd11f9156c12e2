"""What it costs to take in a message and to pack with recall, by the length of the session, and the index's size."""

import gc
import json
import math
import random
import tracemalloc
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any
from unittest.mock import patch

import wmem
from tests.bench.measure import Cost, Figure, interleaved
from wmem.analysis.analyzer import Analyzer
from wmem.model.row import Row
from wmem.model.row_text import row_text
from wmem.retrieval.arrays import has_numpy
from wmem.retrieval.recall_index import RecallIndex
from wmem.retrieval.vectors import VectorIndex, to_unit_rows

__all__ = ["Talk", "index_adds", "index_size", "packs_with_recall", "packs_with_vectors"]

_FEW, _SOME, _MANY = 1_000, 25_000, 100_000
_QUICK = {_FEW: 1_000, _SOME: 2_500, _MANY: 5_000}
_BUDGET = 1_024
_VOCABULARY = 8_000
_LITTLE = ("the", "a", "to", "and", "of", "in", "that", "is", "I", "you", "we", "it", "was", "for", "on", "with")
_SYLLABLES = (
    "ba",
    "be",
    "di",
    "do",
    "ka",
    "ke",
    "la",
    "lo",
    "mi",
    "mo",
    "na",
    "no",
    "ra",
    "ri",
    "sa",
    "so",
    "ta",
    "tu",
)
_CHUNK = 1_000
_BYTES = 10_000_000
_WIDTH = 384


class Talk:
    """Messages of 20 to 40 words, frequent and rare ones as in language, and questions of their words."""

    def __init__(self) -> None:
        self._chance = random.Random(21)
        self._words = [
            "".join(self._chance.choices(_SYLLABLES, k=self._chance.randint(2, 4))) for _ in range(_VOCABULARY)
        ]
        self._shares = list(accumulate(1 / (place + 3) for place in range(_VOCABULARY)))

    def messages(self, count: int) -> list[dict[str, str]]:
        return [
            {"role": "assistant" if number % 2 else "user", "content": self._said(self._chance.randint(20, 40))}
            for number in range(count)
        ]

    def questions(self, count: int) -> list[str]:
        return [f"When did we talk about {' '.join(self._drawn(4))}?" for _ in range(count)]

    def _said(self, words: int) -> str:
        little = self._chance.choices(_LITTLE, k=words * 45 // 100)
        told = [*little, *self._drawn(words - len(little))]
        self._chance.shuffle(told)
        return " ".join(told)

    def _drawn(self, count: int) -> list[str]:
        return self._chance.choices(self._words, cum_weights=self._shares, k=count)


def packs_with_recall(*, quick: bool) -> list[Figure]:
    """One message more, and a prompt for a question, in a session of 1,000, of 25,000 and of 100,000 messages.

    Every question is another one; the index takes in the message before it is asked.
    Where numpy is installed, the one of 25,000 is measured without it, too.
    """
    figures = []
    for count, wanted in ((_FEW, 1.5e-3), (_SOME, None), (_MANY, 5e-3)):
        figures += _of(_QUICK[count] if quick else count, wanted, arrays=has_numpy(), quick=quick)
    if has_numpy():
        figures += _of(_QUICK[_SOME] if quick else _SOME, 10e-3, arrays=False, quick=quick)[1:]
    return figures


def _of(count: int, wanted: float | None, *, arrays: bool, quick: bool) -> list[Figure]:
    talk = Talk()
    rounds = 20 if quick else 100
    said, asked = talk.messages(rounds), talk.questions(2 * rounds)
    with (
        patch("wmem.retrieval.bm25.has_numpy", return_value=arrays),
        wmem.open("memory://", agent_id="agent") as memory,
    ):
        session = memory.scope("session")
        for _ in range(0, count, _CHUNK):
            session.messages.append(talk.messages(min(_CHUNK, count)))
        session.pack(asked[0], budget=_BUDGET)
        cost = interleaved(
            {
                "append": lambda number: session.messages.append(said[number]),
                "pack": lambda number: session.pack(asked[number], budget=_BUDGET),
                "pack alone": lambda number: session.pack(asked[number + rounds], budget=_BUDGET),
            },
            rounds=rounds,
            warm=3,
        )
    how = "numpy" if arrays else "without numpy"
    note = f"budget {_BUDGET:,}, memory://, {how}; medians of {rounds}"
    return [
        _figure(f"append to {count:,} messages", cost["append"], None, note),
        _figure(f"pack with recall, {count:,} messages", cost["pack alone"], wanted, note),
        _figure(f"the same after an append, {count:,}", cost["pack"], None, note),
    ]


class _Embedder:
    """As wide as MiniLM; texts point anywhere, for time does not depend on where."""

    name = "anywhere"
    timeout_s = math.inf

    def __init__(self) -> None:
        import numpy as np

        self._chance = np.random.default_rng(21)

    def __call__(self, texts: Sequence[str], /) -> Any:
        return self._chance.standard_normal((len(texts), _WIDTH), dtype="float32")


def packs_with_vectors(*, quick: bool) -> list[Figure]:
    """A prompt for a question with an embedder that takes no time, and of that what the cosines take."""
    if not has_numpy():
        return []
    figures = []
    for count in (_FEW, _SOME, _MANY):
        figures += _with_vectors(_QUICK[count] if quick else count, quick=quick)
    return figures


def _with_vectors(count: int, *, quick: bool) -> list[Figure]:
    talk, embedder = Talk(), _Embedder()
    rounds = 20 if quick else 100
    said, asked = talk.messages(rounds), talk.questions(2 * rounds)
    with (
        patch("wmem.scope.embedding_backfill.MAX_NEW_TEXTS", count),
        wmem.open("memory://", agent_id="agent", embedder=embedder) as memory,
    ):
        session = memory.scope("session")
        for _ in range(0, count, _CHUNK):
            session.messages.append(talk.messages(min(_CHUNK, count)))
            session.pack(asked[0], budget=_BUDGET)
        vectors = VectorIndex()
        rows = to_unit_rows(embedder([""] * count), count)
        for place, row in enumerate(rows):
            vectors.put(str(place), row)
        for _ in range(rounds):
            session.messages.pop()  # so that what is added below goes not beyond the limit
        cost = interleaved(
            {
                "append": lambda number: session.messages.append(said[number]),
                "pack": lambda number: session.pack(asked[number], budget=_BUDGET),
                "pack alone": lambda number: session.pack(asked[number + rounds], budget=_BUDGET),
                "cosines": lambda number: vectors.similarities(rows[number]),
            },
            rounds=rounds - 3,
            warm=3,
        )
    note = f"{_WIDTH} numbers each, memory://; medians of {rounds}"
    return [
        _figure(f"cosines of {count:,} vectors", cost["cosines"], None, note),
        _figure(f"pack with recall and vectors, {count:,} messages", cost["pack alone"], None, note),
        _figure(f"the same after an append, {count:,}, one to embed and store", cost["pack"], None, note),
    ]


def _figure(name: str, cost: Cost, wanted: float | None, note: str) -> Figure:
    return Figure(name=name, ours=cost.median, at_most=wanted, note=note, details={"wmem": cost._asdict()})


def index_adds(*, quick: bool) -> list[Figure]:
    """What recall adds to a message: it is read, and taken into the index, among its neighbours, by what it states."""
    rounds = 200 if quick else 1_000
    talk, analyzer = Talk(), Analyzer()
    rows = [_to_row(number, each) for number, each in enumerate(talk.messages(_FEW + rounds))]
    for row in rows:
        analyzer.analyze(row_text(row))  # the words of a process that has run for a while
    index = RecallIndex(analyzer)

    def add(number: int) -> None:
        row = rows[number + _FEW]
        index.apply({row.id: row})

    cost = interleaved({"add": add}, rounds=rounds, warm=_FEW)
    mean = cost["add"]._replace(median=cost["add"].mean)
    note = f"mean of {rounds:,}, of which one in ten states something; words known"
    return [_figure("index add, 20 to 40 words", mean, 100e-6, note)]


def _to_row(place: int, message: Mapping[str, str]) -> Row:
    """A message as it is stored; one in ten states something, as people's do."""
    said = message["content"] if place % 10 else f"My favourite boat is {place} now. {message['content']}"
    content = json.dumps({"role": message["role"], "parts": [{"text": said}]}).encode()
    at = 60.0 * place
    return Row(f"m{place}", content, at, at, role=message["role"], tokens=40)


def index_size(*, quick: bool) -> list[Figure]:
    """What recall keeps in memory of a session beside its state, and what the first question takes to make it."""
    count = 2_000 if quick else 10_000
    talk = Talk()
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("session")
        for _ in range(0, count, _CHUNK):
            session.messages.append(talk.messages(_CHUNK))
        gc.collect()
        tracemalloc.start()
        try:
            session.pack(talk.questions(1)[0], budget=_BUDGET)
            gc.collect()
            kept, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    return [
        Figure(
            name=f"index of {count:,} messages",
            ours=kept,
            unit="B",
            at_most=_BYTES * count / 10_000,
            note="all that the first pack with recall leaves in memory",
        )
    ]
