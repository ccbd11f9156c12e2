"""What each backend takes: round trips, tails, coroutines beside threads, bytes written, listing, search, upkeep.

Counts are asserted, for they do not depend on the machine; times are told.
"""

import asyncio
import itertools
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import wmem
from tests.bench.measure import Cost, Figure, interleaved
from tests.proxy import Proxy
from tests.servers import RedisServer
from wmem.journal.port import new_record_id
from wmem.model.change import ItemPut, ScopeOpened
from wmem.model.ids import new_ulid
from wmem.model.row import Row

__all__ = [
    "amplification",
    "listing",
    "many_at_once",
    "promotion_and_cleanup",
    "round_trips",
    "searching",
    "tails",
    "thousand_sessions",
]

_US, _MS = 1e-6, 1e-3
_SPOKEN = "Could you look at the offer again and tell me whether it fits the week of the fair?"
_SAID = {"role": "user", "content": _SPOKEN}
_WORDS = "amber basin cedar delta ember fjord grove heron inlet jetty knoll ledge marsh north ocean"
_SESSIONS = 10_000
_ITEMS = 10_000


@contextmanager
def _stores() -> Iterator[dict[str, str]]:
    """An empty store of each backend, by URL."""
    with tempfile.TemporaryDirectory() as folder:
        server = RedisServer("valkey", Path(folder) / "valkey")
        try:
            yield {
                "memory": f"memory://bench-{new_ulid(0.0)}",
                "disk": f"disk://{folder}/store",
                "sqlite": f"sqlite://{folder}/store.db",
                "redis": server.database(),
            }
        finally:
            server.kill()


@contextmanager
def _server() -> Iterator[RedisServer]:
    with tempfile.TemporaryDirectory() as folder:
        server = RedisServer("valkey", Path(folder) / "valkey")
        try:
            yield server
        finally:
            server.kill()


# -- counted


def round_trips(*, quick: bool) -> list[Figure]:
    """Commands that reach a Redis, counted on the way there."""
    del quick  # a count is a count
    with _server() as server, Proxy(server.port) as proxy:
        url = proxy.url(server.database())

        def said(act: Callable[[], object]) -> int:
            before = len(proxy.commands)
            act()
            return len(proxy.commands) - before

        with wmem.open(url, agent_id="agent") as memory:
            session = memory.scope("session")
            deep = session.child("task").child("step")
            for scope in (session, deep):
                scope.entries.set("key", "value")
            session.messages.append(_SAID)
            append = said(lambda: session.messages.append(_SAID))
            read = said(lambda: deep.entries.get("key"))
            for _ in range(10):
                session.messages.append([_SAID] * 100)
        # The first call of a process asks the server what it is, too; that is no part of the opening of a scope.
        with wmem.open(url, agent_id="agent") as memory:
            cold = said(memory.scope("session").messages.count)
    assert append == 1, f"an append took {append} round trips"
    assert read == 1, f"a read at depth 3 took {read} round trips"
    assert cold <= 2, f"a cold open took {cold} round trips"
    return [
        Figure(name=f"redis: {name}", ours=count, unit="trips", at_most=most, note="counted by a proxy")
        for name, count, most in (
            ("messages.append", append, 1),
            ("entries.get at depth 3, up to date", read, 1),
            ("cold open of 1,000 messages", cold, 2),
        )
    ]


def amplification(*, quick: bool) -> list[Figure]:
    """Bytes given to a journal, checkpoints included, beside those of the records alone."""
    appends = 2_000 if quick else 20_000
    made: list[Figure] = []
    with _stores() as stores:
        for backend, url in stores.items():
            with wmem.open(url, agent_id="agent") as memory:
                written = _counted(memory)
                messages = memory.scope("session").messages
                began = time.perf_counter()
                for number in range(appends):
                    messages.append({**_SAID, "content": f"{_SPOKEN} {number}"})
                took = time.perf_counter() - began
            times = (written["records"] + written["checkpoints"]) / written["records"]
            assert times <= 3, f"{backend}: {times:.2f} times the bytes of the records were written"
            made.append(
                Figure(
                    name=f"{backend}: bytes written, a byte of records",
                    ours=times,
                    unit="times",
                    at_most=3,
                    note=f"{appends:,} appends of {took / appends / _US:.0f} µs, {written['compactions']} checkpoints",
                    details=written,
                )
            )
    return made


def _counted(memory: wmem.AgentMemory) -> dict[str, int]:
    """Have the memory's journal count what it is given."""
    opened = memory._core
    size = opened.store.engine.codec.size
    ports = dict(opened.ports.sync)
    append, compact = ports["Journal.append"], ports["Journal.compact"]
    written = {"records": 0, "checkpoints": 0, "compactions": 0}

    def appended(*args: Any) -> Any:
        written["records"] += size(args[2])
        return append(*args)

    def compacted(*args: Any) -> Any:
        written["checkpoints"] += size(args[2])
        written["compactions"] += 1
        return compact(*args)

    opened.ports.sync = {**ports, "Journal.append": appended, "Journal.compact": compacted}
    return written


# -- timed


def tails(*, quick: bool) -> list[Figure]:
    """The slowest twentieth of `entries.get` and `set`, beside the bounds of the scoped key-value document."""
    made: list[Figure] = []
    wanted = {
        "memory": (50 * _US, 100 * _US),
        "redis": (0.5 * _MS, 1 * _MS),
        "sqlite": (None, None),
        "disk": (None, None),
    }
    with _stores() as stores:
        for backend, url in stores.items():
            with wmem.open(url, agent_id="agent") as memory:
                entries = memory.scope("session").entries
                cost = interleaved(
                    {
                        "set": lambda number: entries.set(f"key-{number % 500}", f"value {number}"),  # noqa: B023  # used in this round of the loop
                        "get": lambda number: entries.get(f"key-{number % 500}"),  # noqa: B023  # the same
                    },
                    rounds=500 if quick else 5_000,
                    warm=500,
                )
            for name, most in zip(("get", "set"), wanted[backend], strict=True):
                each = cost[name]
                made.append(
                    Figure(
                        name=f"{backend}: entries.{name}, p95",
                        ours=each.p95,
                        at_most=most,
                        note=f"of {each.calls:,} calls; median {each.median / _US:.3g} µs",
                        details=each._asdict(),
                    )
                )
    return made


def many_at_once(*, quick: bool) -> list[Figure]:
    """Writes to 64 sessions of one Redis at once: by a task of one loop each, and by a thread each."""
    each, sessions = 10 if quick else 60, 64
    writes = each * sessions
    acts: dict[str, Callable[[Any, int], Any]] = {
        "entries.set": lambda scope, number: scope.entries.set(f"key-{number % 20}", number),
        "messages.append": lambda scope, _: scope.messages.append(_SAID),
    }

    def by_threads(url: str, act: Callable[[Any, int], Any]) -> float:
        with wmem.open(url, agent_id="agent") as memory, ThreadPoolExecutor(sessions) as pool:
            scopes = [memory.scope(f"thread-{number}") for number in range(sessions)]
            list(pool.map(lambda scope: act(scope, 0), scopes))

            def write(scope: wmem.Scope) -> None:
                for number in range(each):
                    act(scope, number)

            return _took(lambda: list(pool.map(write, scopes))) / writes

    async def by_tasks(url: str, act: Callable[[Any, int], Any]) -> float:
        async with await wmem.aopen(url, agent_id="agent") as memory:
            scopes = [memory.scope(f"task-{number}") for number in range(sessions)]
            await asyncio.gather(*(act(scope, 0) for scope in scopes))

            async def write(scope: wmem.AsyncScope) -> None:
                for number in range(each):
                    await act(scope, number)

            began = time.perf_counter()
            await asyncio.gather(*map(write, scopes))
            return (time.perf_counter() - began) / writes

    made: list[Figure] = []
    with _server() as server:
        for name, act in acts.items():
            rounds = []
            for _ in range(2 if quick else 7):
                url = server.database()
                rounds.append((asyncio.run(by_tasks(url, act)), by_threads(url, act)))
            ours, theirs = (Cost.of([round_[place] for round_ in rounds]) for place in range(2))
            made.append(
                Figure(
                    name=f"redis: {name}, {sessions} tasks of one loop",
                    ours=ours.best,
                    peer=f"{sessions} threads",
                    theirs=theirs.best,
                    at_most_times=1 / 2,
                    note=f"time for one of {writes:,}, the best of {ours.calls} rounds in turns",
                    details={"tasks": ours._asdict(), "threads": theirs._asdict()},
                )
            )
    return made


def thousand_sessions(*, quick: bool) -> list[Figure]:
    """A thousand sessions at once on one Redis: each writes, reads and packs."""
    count = 100 if quick else 1_000

    async def one(memory: wmem.AsyncAgentMemory, number: int) -> None:
        session = memory.scope(f"session-{number}")
        await session.messages.append({**_SAID, "content": f"I am {number}"})
        await session.entries.set("me", number)
        assert await session.entries.get("me") == number
        assert [message.text for message in await session.messages.all()] == [f"I am {number}"]

    async def main(url: str) -> tuple[float, int]:
        async with await wmem.aopen(url, agent_id="agent") as memory:
            began = time.perf_counter()
            done = await asyncio.gather(*(one(memory, number) for number in range(count)), return_exceptions=True)
            return time.perf_counter() - began, sum(each is not None for each in done)

    with _server() as server:
        took, errors = asyncio.run(main(server.database()))
    assert errors == 0, f"{errors} of {count} sessions failed"
    note = f"{count:,} tasks, four calls each, {took:.2f} s together"
    return [
        Figure(name=f"redis: errors of {count:,} sessions at once", ours=errors, unit="errors", at_most=0, note=note)
    ]


def listing(*, quick: bool) -> list[Figure]:
    """`children()` of an agent of 10,000 sessions, by a process that has met none of them."""
    sessions = _SESSIONS // 10 if quick else _SESSIONS
    made: list[Figure] = []
    with _stores() as stores:
        for backend, url in stores.items():
            with wmem.open(url, agent_id="agent") as memory:
                _filled(memory, sessions)
                # A few have scopes of their own, and another agent has many: neither should cost anything.
                memory.scope("session-1", "task").entries.set("key", 1)
                working, one = memory.working, memory.scope("session-1")
                assert len(working.children()) == sessions
                cost = interleaved(
                    {"all": lambda _: working.children(), "one": lambda _: one.children()},  # noqa: B023  # used in this round of the loop
                    rounds=5 if quick else 25,
                    warm=2,
                )
            for name, each, most in (
                (f"children() of {sessions:,} sessions", cost["all"], 20 * _MS),
                ("children() of one of them", cost["one"], None),
            ):
                note = f"median of {each.calls}; best {each.best / _MS:.3g} ms"
                figure = Figure(name=f"{backend}: {name}", ours=each.median, at_most=most, note=note)
                made.append(figure)
    return made


def _filled(memory: wmem.AgentMemory, sessions: int) -> None:
    """Sessions with one entry each, as another process wrote them."""
    store = memory._core.store
    append, codec = store.sync_ports["Journal.append"], store.engine.codec
    for number in range(sessions):
        path, record_id = ("agent", f"session-{number}"), new_record_id()
        row = Row(id=new_ulid(0.0), content=b"1", created_at=0.0, updated_at=0.0, key="key", type="fact")
        append(
            path, record_id, codec.encode_record((ScopeOpened("{}", 0.0), ItemPut(row)), path, record_id), None, None
        )


def _texts(count: int) -> Iterator[str]:
    words = itertools.cycle(_WORDS.split())
    for number in range(count):
        yield f"{' '.join(itertools.islice(words, 11))} number {number} of a hundred {number % 100:02d}x"


def searching(*, quick: bool) -> list[Figure]:
    """`items.search` over 10,000 items in memory: for words that one item, and a hundred, hold."""
    items = _ITEMS // 10 if quick else _ITEMS
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("session")
        for text in _texts(items):
            session.items.add(text, ttl_s=None)
        found = session.items
        calls: dict[str, Callable[[int], object]] = {
            "one of them holds": lambda number: found.search(f"number {number % items} "),
            "1 % hold": lambda number: found.search(f"{number % 100:02d}x"),
            "1 % hold, by recall": lambda number: found.search(f"{number % 100:02d}x", order="recall"),
            "each holds": lambda _: found.search("number"),
        }
        assert found.search("07x").total == items // 100
        cost = interleaved(calls, rounds=20 if quick else 100, warm=3)
    return [
        Figure(
            name=f"memory: items.search over {items:,}, what {name}",
            ours=each.median,
            at_most=None if name == "each holds" else 2 * _MS,
            note=f"median of {each.calls}; best {each.best / _MS:.3g} ms",
            details=each._asdict(),
        )
        for name, each in cost.items()
    ]


def promotion_and_cleanup(*, quick: bool) -> list[Figure]:
    """`items.promote`, and one pass of upkeep in which a thousand of 10,000 items have expired."""
    items, gone = (1_000, 100) if quick else (_ITEMS, 1_000)
    made: list[Figure] = []
    with _stores() as stores:
        for backend, url in stores.items():
            now = 1_764_288_000.0
            with wmem.open(url, agent_id="agent", clock=lambda: now) as memory:  # noqa: B023  # moved below, on purpose
                session = memory.scope("session")
                ids = [session.items.add(f"item {number}").id for number in range(100 if quick else 300)]
                promoted = Cost.of([_took(partial(session.items.promote, each)) for each in ids])
                note = f"median of {promoted.calls}: two records in two scopes"
                made.append(Figure(name=f"{backend}: items.promote", ours=promoted.median, note=note))
                large = memory.scope("large")
                _imported(large, items, gone)
                idle = min(_took(memory.maintain) for _ in range(3))
                now += 100.0
                taking = _took(memory.maintain)
                assert large.items.count() == items - gone
            for what, took in (("nothing to do", idle), (f"takes out {gone:,}", taking)):
                made.append(
                    Figure(name=f"{backend}: maintain() over {items:,} items, {what}", ours=took, note="one pass")
                )
    return made


def _imported(scope: wmem.Scope, items: int, gone: int) -> None:
    """Many items at once, of which some expire in a minute."""
    now = 1_764_288_000.0
    memories: Sequence[Mapping[str, Any]] = [
        {
            "id": new_ulid(now),
            "content": text,
            "created_at": now,
            "updated_at": now,
            "access_count": 1,
            "expires_at": now + 60 if number < gone else None,
        }
        for number, text in enumerate(_texts(items))
    ]
    scope.import_({"format": "wmem-scope", "version": 1, "memories": memories})


def _took(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began
