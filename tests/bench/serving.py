"""What it costs to store on a server: entries beside raw commands, coroutines beside threads."""

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import wmem
from tests.bench.measure import Cost, Figure, interleaved, quiet
from tests.servers import RedisServer
from wmem.journal.port import new_record_id
from wmem.journal.redis import RedisJournal
from wmem.journal.redis_async_face import AsyncRedisJournal
from wmem.model.history import Path as Scope

__all__ = ["children_on_redis", "coroutines_beside_threads", "entries_on_redis"]

_KEYS = 1_000
_WORDS = "a value of about a hundred bytes, as an agent notes them while it works on a task for somebody: "
_RECORD = b"x" * 300
_AT_ONCE = 32
_MS = 1e-3
_SCOPES = 10_000


@contextmanager
def _server() -> Iterator[RedisServer]:
    with tempfile.TemporaryDirectory() as folder:
        server = RedisServer("valkey", Path(folder))
        try:
            yield server
        finally:
            server.kill()


def entries_on_redis(*, quick: bool) -> list[Figure]:
    """`entries.set` and `get` on a local Valkey, beside the raw commands by the same driver."""
    with _server() as server, server.client() as raw, wmem.open(server.url, agent_id="agent") as memory:
        entries = memory.scope("session").entries
        cost = interleaved(
            {
                "set": lambda number: entries.set(f"key-{number % _KEYS}", f"{_WORDS}{number}"),
                "SET": lambda number: raw.set(f"key-{number % _KEYS}", f"{_WORDS}{number}"),
                "get": lambda number: entries.get(f"key-{number % _KEYS}"),
                "GET": lambda number: raw.get(f"key-{number % _KEYS}"),
            },
            rounds=500 if quick else 3_000,
            warm=_KEYS,
        )
    return [
        _beside("redis: entries.set", cost["set"], "SET", cost["SET"], at_most=1 * _MS),
        _beside("redis: entries.get", cost["get"], "GET", cost["GET"], at_most=0.5 * _MS),
    ]


def _beside(name: str, ours: Cost, peer: str, theirs: Cost, *, at_most: float) -> Figure:
    note = f"medians of {ours.calls:,} calls in turns"
    return Figure(name=name, ours=ours.median, peer=peer, theirs=theirs.median, at_most=at_most, note=note)


def coroutines_beside_threads(*, quick: bool) -> list[Figure]:
    """One append, 32 at a time: by tasks of one loop and by threads, over the same server."""
    each = 1_500 if quick else 6_000
    took: dict[str, list[float]] = {"tasks": [], "threads": []}
    with _server() as server:
        for _ in range(2 if quick else 5):
            with quiet():
                took["threads"].append(_threads(server.url, each))
                took["tasks"].append(asyncio.run(_tasks(server.url, each)))
    ours, theirs = (min(took[name]) / each for name in ("tasks", "threads"))
    return [
        Figure(
            name=f"redis: append, {_AT_ONCE} at a time",
            ours=ours,
            peer=f"{_AT_ONCE} threads",
            theirs=theirs,
            at_most_times=0.5,
            note=f"time for one of {each:,}, the best of {len(took['tasks'])} rounds in turns",
            details={"tasks": took["tasks"], "threads": took["threads"]},
        )
    ]


def _scope(number: int) -> Scope:
    return "agent", f"session-{number % _AT_ONCE}"


def _threads(url: str, count: int) -> float:
    journal = RedisJournal(url)
    try:
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            return _timed(
                lambda: list(
                    threads.map(lambda n: journal.append(_scope(n), new_record_id(), _RECORD, None, None), range(count))
                )
            )
    finally:
        journal.close()


def _timed(act: Callable[[], Any]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


async def _tasks(url: str, count: int) -> float:
    journal = AsyncRedisJournal(url)

    async def some(first: int) -> None:
        for number in range(first, count, _AT_ONCE):
            await journal.append(_scope(number), new_record_id(), _RECORD, None, None)

    await some(count - 1)
    began = time.perf_counter()
    await asyncio.gather(*(some(first) for first in range(_AT_ONCE)))
    took = time.perf_counter() - began
    await journal.aclose()
    return took


def children_on_redis(*, quick: bool) -> list[Figure]:
    """`children()` of an agent with 10,000 sessions."""
    with _server() as server, wmem.open(server.url, agent_id="agent") as memory:

        async def fill() -> None:
            journal = AsyncRedisJournal(server.url)
            paths = [("agent", f"session-{number}") for number in range(_SCOPES)]
            await asyncio.gather(*(journal.append(path, 1, _RECORD, None, None) for path in paths))
            await journal.aclose()

        asyncio.run(fill())
        root = memory.scope()
        assert len(root.children()) == _SCOPES
        cost = interleaved({"children": lambda _: root.children()}, rounds=10 if quick else 50)["children"]
    note = f"median of {cost.calls} calls"
    return [Figure(name=f"redis: children() of {_SCOPES:,}", ours=cost.median, at_most=20 * _MS, note=note)]
