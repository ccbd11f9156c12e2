"""What saving and restoring an agent costs, beside reading and writing the same store.

``python -m tests.bench.snapshots [ITEMS]``; with the URL of an empty server in ``WMEM_BENCH_REDIS``, there, too.
Ratios are of the least of several runs. Writing is one append or add at a time, as an agent writes; reading is by a
memory that was just opened.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import wmem

__all__ = ["Snapshots", "measure"]

_RUNS = 3
_SESSIONS = 20
_WORDS = "What was decided of the {}th delivery to the harbour, by whom, and until when it is to be there. "


class Snapshots(NamedTuple):
    """Seconds, each the least of several runs, and sizes in bytes."""

    write: float
    read: float
    snapshot: float
    sealed: float
    redacted: float
    restore: float
    plain_bytes: int
    sealed_bytes: int


def fill(memory: wmem.AgentMemory, items: int) -> None:
    """Items, messages and entries in equal parts, over twenty sessions."""
    for number in range(items):
        scope = memory.scope(f"session {number % _SESSIONS}")
        text = _WORDS.format(number)
        if number // _SESSIONS % 3 == 0:
            scope.messages.append({"role": "user", "content": text})
        elif number // _SESSIONS % 3 == 1:
            scope.items.add(text, tags=["delivery"])
        else:
            scope.entries.set(f"delivery {number}", {"text": text, "number": number})


def read(memory: wmem.AgentMemory) -> None:
    """Everything that `fill` wrote."""
    for name in memory.working.children():
        scope = memory.scope(name)
        scope.messages.all()
        scope.items.all()
        scope.entries.all()


def measure(make_url: Callable[[], str], items: int, *, runs: int = _RUNS) -> Snapshots:
    """Save and restore an agent of so many items.

    Args:
        make_url: The URL of an empty store, another one each time.
    """
    key = wmem.KeyRing.new_key()
    url = make_url()
    opened = {"agent_id": "agent", "redaction": wmem.Redaction.off()}

    def open_at(url: str, **options: object) -> wmem.AgentMemory:
        return wmem.open(url, **{**opened, **options})  # type: ignore[arg-type]  # they are its options

    def fresh(act: Callable[[wmem.AgentMemory], object], **options: object) -> float:
        with closing(open_at(url, **options)) as memory:
            return _time(lambda: act(memory))

    with closing(open_at(url)) as memory:
        write = _time(lambda: fill(memory, items))
    with closing(open_at(url)) as memory:
        plain, sealed = memory.snapshot(), memory.snapshot(key=key)

    def restore() -> float:
        with closing(open_at(make_url())) as memory:
            return _time(lambda: memory.restore(plain))

    return Snapshots(
        write=write,
        read=min(fresh(read) for _ in range(runs)),
        snapshot=min(fresh(lambda memory: memory.snapshot()) for _ in range(runs)),
        sealed=min(fresh(lambda memory: memory.snapshot(key=key)) for _ in range(runs)),
        redacted=fresh(lambda memory: memory.snapshot(), redaction=wmem.Redaction()),
        restore=min(restore() for _ in range(runs)),
        plain_bytes=len(plain),
        sealed_bytes=len(sealed),
    )


def _time(act: Callable[[], object]) -> float:
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def main(items: int) -> None:
    """Print the figures of each backend that is at hand."""
    with tempfile.TemporaryDirectory() as folder:
        numbers = iter(range(1_000))
        stores: dict[str, Callable[[], str]] = {
            "memory": lambda: f"memory://bench-{next(numbers)}",
            "sqlite": lambda: f"sqlite://{Path(folder, f'{next(numbers)}.db')}",
            "disk": lambda: f"disk://{Path(folder, str(next(numbers)))}",
        }
        if server := os.environ.get("WMEM_BENCH_REDIS"):
            stores["redis"] = lambda: f"{server}/{next(numbers) % 16}"
        for name, make_url in stores.items():
            made = measure(make_url, items)
            told = [
                f"{name}, {items:,} items: snapshot {made.snapshot:.3f} s, {made.snapshot / made.read:.2f} x reading",
                f"with a key {made.sealed:.3f} s, {made.sealed_bytes:,} for {made.plain_bytes:,} bytes",
                f"redacted {made.redacted:.3f} s",
                f"restore {made.restore:.3f} s, {made.restore / made.write:.2f} x writing",
            ]
            print("; ".join(told))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
