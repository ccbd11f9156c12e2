"""What it costs to store and to read: entries, appends, bytes held, and the import itself."""

import gc
import os
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import diskcache
from langgraph.store.memory import InMemoryStore

import wmem
from tests.bench.measure import Cost, Figure, interleaved
from wmem.journal.disk import DiskJournal
from wmem.journal.port import new_record_id
from wmem.model.history import ORIGIN

__all__ = ["appends_by_length", "appends_on_disk", "entries_in_memory", "entries_traced", "imports"]

_US = 1e-6
_MB = 1_000_000
_KEYS = 1_000
_WORDS = "a value of about a hundred bytes, as an agent notes them while it works on a task for somebody: "
_SPOKEN = "Could you look at the offer again and tell me whether the second delivery still fits the week of the fair?"
_SHORT, _LONG = 50, 5_000
_SHORT_SESSIONS = 20  # of 50 messages each, used in turns, so that they stay short while they are appended to


def entries_in_memory(*, quick: bool) -> list[Figure]:
    """`entries.set` and `get` on `memory://`, beside LangGraph's own store in memory."""
    store = InMemoryStore()
    namespace = ("agent", "session")
    with wmem.open("memory://", agent_id="agent") as memory:
        entries = memory.scope("session").entries
        cost = interleaved(
            {
                "set": lambda number: entries.set(f"key-{number % _KEYS}", f"{_WORDS}{number}"),
                "put": lambda number: store.put(namespace, f"key-{number % _KEYS}", {"value": f"{_WORDS}{number}"}),
                "get": lambda number: entries.get(f"key-{number % _KEYS}"),
                "store.get": lambda number: store.get(namespace, f"key-{number % _KEYS}"),
            },
            rounds=3_000 if quick else 20_000,
            warm=_KEYS,
        )
    return [
        _beside("memory: entries.set", cost["set"], "InMemoryStore.put", cost["put"], at_most=15 * _US),
        _beside("memory: entries.get", cost["get"], "InMemoryStore.get", cost["store.get"], at_most=5 * _US),
    ]


def appends_on_disk(*, quick: bool) -> list[Figure]:
    """Three appends on `disk://`, each beside a plain `diskcache.Cache.set` of the bytes it stores."""
    rounds = 200 if quick else 2_000
    made: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder, wmem.open(f"disk://{folder}/wmem", agent_id="agent") as memory:
        entries = memory.scope("entries").entries
        messages = memory.scope("messages").messages
        journal = DiskJournal(f"{folder}/journal")
        path = ("agent", "journal")

        def set_entry(number: int) -> None:
            entries.set(f"key-{number % _KEYS}", f"{_WORDS}{number}")

        def append_message(number: int) -> None:
            messages.append({"role": "user", "content": f"{_SPOKEN} {number}"})

        set_entry(0)
        append_message(0)
        record = _stored(f"{folder}/wmem", ("agent", "messages"))
        calls: list[tuple[str, Callable[[int], object], int]] = [
            ("DiskJournal.append", lambda _: journal.append(path, new_record_id(), record, None, None), len(record)),
            ("messages.append", append_message, len(record)),
            ("entries.set", set_entry, len(_stored(f"{folder}/wmem", ("agent", "entries")))),
        ]
        for name, call, size in calls:
            with diskcache.Cache(f"{folder}/raw-{name}") as raw:
                value = os.urandom(size)
                cost = interleaved(
                    {"wmem": call, "raw": lambda number: raw.set(f"key-{number}", value)},  # noqa: B023  # used here
                    rounds=rounds,
                    warm=20,
                )
            peer = f"diskcache.Cache.set, {size} bytes"
            figure = _beside(f"disk: {name}", cost["wmem"], peer, cost["raw"], at_most_times=2)
            made.append(figure)
        journal.close()
    return made


def appends_by_length(*, quick: bool) -> list[Figure]:
    """`messages.append` to a long session beside a short one, in memory and on disk."""
    made: list[Figure] = []
    for kind in ("memory", "disk"):
        with tempfile.TemporaryDirectory() as folder:
            url = "memory://" if kind == "memory" else f"disk://{folder}/wmem"
            with wmem.open(url, agent_id="agent") as memory:
                long = memory.scope("long").messages
                short = [memory.scope(f"short-{number}").messages for number in range(_SHORT_SESSIONS)]
                for session, count in ((long, _LONG), *((each, _SHORT) for each in short)):
                    session.append([{"role": "user", "content": f"{_SPOKEN} {number}"} for number in range(count)])
                said = {"role": "user", "content": _SPOKEN}
                cost = interleaved(
                    {
                        "long": lambda _: long.append(said),  # noqa: B023  # used in this round of the loop
                        "short": lambda number: short[number % _SHORT_SESSIONS].append(said),  # noqa: B023  # the same
                    },
                    rounds=200 if quick else 1_000,
                    warm=20,
                )
        name = f"{kind}: append to a session of {_LONG:,}"
        made.append(_beside(name, cost["long"], f"to one of {_SHORT}", cost["short"], at_most_times=1.25))
    return made


def entries_traced(*, quick: bool) -> list[Figure]:
    """What 10,000 entries of 100 bytes hold, as `tracemalloc` sees it."""
    del quick  # a smaller number would say something else
    memory = wmem.open("memory://", agent_id="agent")
    memory.scope("warm").entries.set("key", "what is imported at the first write is no entry's weight")
    memory.scope("warm").entries.remove("key")  # an agent has room for 10,000
    store = InMemoryStore()
    ours, peak = _traced(lambda number: memory.scope("session").entries.set(f"key-{number}", f"{number:0>98}"))
    theirs, _ = _traced(lambda number: store.put(("agent", "session"), f"key-{number}", {"value": f"{number:0>98}"}))
    memory.close()
    return [
        Figure(
            name="10,000 entries of 100 bytes",
            ours=ours,
            unit="B",
            peer="InMemoryStore",
            theirs=theirs,
            at_most=15 * _MB,
            note="memory://, traced; 98 characters and their quotes in JSON",
            details={"peak": peak},
        )
    ]


def imports(*, quick: bool) -> list[Figure]:
    """`import wmem` and its first use beside `import pydantic`, each in a fresh process, the best of all rounds."""
    lines = ("import wmem", "import wmem; wmem.open('memory://', agent_id='agent')", "import pydantic")
    seconds: dict[str, list[float]] = {line: [] for line in lines}
    for _ in range(5 if quick else 15):
        for line in lines:
            seconds[line].append(_fresh_s(line))
    light, used, peer = (Cost.of(seconds[line]) for line in lines)
    note = f"best of {peer.calls}, fresh processes, in turns"
    return [
        Figure(
            name=name,
            ours=cost.best,
            peer="import pydantic",
            theirs=peer.best,
            at_most_more=wanted,
            note=note,
            details={"wmem": cost._asdict(), "peer": peer._asdict()},
        )
        for name, cost, wanted in (("import wmem", light, 0.025), ("import wmem and open a memory", used, None))
    ]


def _beside(
    name: str, ours: Cost, peer: str, theirs: Cost, *, at_most: float | None = None, at_most_times: float | None = None
) -> Figure:
    return Figure(
        name=name,
        ours=ours.median,
        peer=peer,
        theirs=theirs.median,
        at_most=at_most,
        at_most_times=at_most_times,
        note=f"medians of {ours.calls:,} calls in turns",
        details={"wmem": ours._asdict(), "peer": theirs._asdict()},
    )


def _stored(directory: str, path: Sequence[str]) -> bytes:
    """The newest record of a scope as it lies on disk, without the journal's own 16 bytes."""
    journal = DiskJournal(directory)
    tail = journal.read({tuple(path): ORIGIN})[tuple(path)]
    journal.close()
    return tail.records[-1].payload


def _traced(call: Callable[[int], object]) -> tuple[int, int]:
    """Bytes that are held after 10,000 calls, and at the worst moment."""
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(10_000):
            call(number)
        _, peak = tracemalloc.get_traced_memory()
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return held, peak


def _fresh_s(line: str) -> float:
    """Seconds a line of Python takes in a process that has imported nothing yet."""
    code = f"import time; began = time.perf_counter(); {line}; print(time.perf_counter() - began)"
    root = Path(__file__).resolve().parents[2]
    searched = os.pathsep.join([str(root / "core"), str(root), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(  # the interpreter that runs this, on a line written here
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": searched},
    )
    return float(done.stdout)
