"""Plays random operations on every backend sync and async and on the model, and compares all of them as it goes.

``make soak`` runs 100,000; a run is repeated by its seed.
"""

import argparse
import asyncio
import logging
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

import wmem.agent.maintenance
import wmem.engine.retention
import wmem.engine.writing
from tests.servers import RedisServer
from tests.soak.operations import Operation, drawn
from tests.soak.world import Truth, World
from wmem.testing import Call, Clock

__all__ = ["BACKENDS", "Difference", "Lockstep", "patched", "shrunk"]

BACKENDS = ("memory", "disk", "sqlite", "redis")
COMPACT_BYTES = 3_000
"""Compaction comes after a few records, so that there is much of it."""
AHEAD_S = 1e8
"""The clock of the model runs by itself, faster than a server's: nothing lapses there meanwhile."""

_COLOURS = (("sync", "async"), ("async", "sync"))


class Difference(AssertionError):  # noqa: N818  # what a run looks for
    """Stores and model disagree."""


@contextmanager
def patched() -> Iterator[None]:
    """Small thresholds, and no log of what is provoked by the thousand."""
    logger = logging.getLogger("wmem")  # noqa: TID251  # not to write to it
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        stack.callback(logger.setLevel, level)
        for module in (wmem.engine.writing, wmem.agent.maintenance):
            stack.enter_context(mock.patch.object(module, "COMPACT_MIN_BYTES", COMPACT_BYTES))
        stack.enter_context(mock.patch.object(wmem.engine.retention, "KEEP_GRACE_S", AHEAD_S))
        yield


class Lockstep:
    """All stores and the model, each operation played on all of them.

    Each store has an engine for threads and one for coroutines. Which of them plays an
    operation differs between neighbours, so that every operation is played sync and async.

    Args:
        backends: By name.
        place: A fresh directory.
        server: For the backend ``redis``.
        twice: Two stores of each backend, which play every operation sync and async.
    """

    def __init__(self, backends: Sequence[str], place: Path, server: RedisServer | None, *, twice: bool) -> None:
        self.clock = Clock()
        self.truth = Truth(self.clock)
        self.seconds: dict[str, float] = {}
        self._loop = asyncio.Runner()
        calls = {"sync": Call(None), "async": Call(self._loop)}
        self.worlds = []
        for number, backend in enumerate(backends):
            for modes in _COLOURS if twice else (_COLOURS[number % 2],):
                url = _url(backend, place / modes[0], server)
                self.worlds.append(World(f"{backend}, {modes[0]} first", url, calls, modes, self.clock))

    def close(self) -> None:
        """Close every store."""
        for world in self.worlds:
            world.close()
        self._loop.close()

    def play(self, operation: Operation) -> None:
        """Play one operation everywhere.

        Raises:
            Difference: It did not end alike.
        """
        if operation.name == "pass_time":
            self.clock.advance(operation.given["seconds"])
        expected = self.truth.play(operation)
        for world in self.worlds:
            began = time.perf_counter()
            result = world.play(operation)
            self.seconds[world.name] = self.seconds.get(world.name, 0.0) + time.perf_counter() - began
            if operation.name == "pack":
                # Not modelled: all stores pack what the first one does.
                expected = result if world is self.worlds[0] else expected
            _compared(f"{world.name}: the result of {operation}", expected, result)

    def compare(self) -> None:
        """Compare what everybody shows, in order, through both engines of each store."""
        expected = self.truth.shown()
        for world in self.worlds:
            for mode, shown in zip(world.modes, world.shown(), strict=True):
                _compared(f"{world.name}: what its {mode} engine shows", expected, shown)


def _url(backend: str, place: Path, server: RedisServer | None) -> str:
    place.mkdir(exist_ok=True)
    if backend == "redis":
        assert server is not None, "redis needs a server"
        return server.database()
    return {
        "memory": f"memory://{place.as_posix().replace('/', '-')}",
        "disk": f"disk://{place}/store",
        "sqlite": f"sqlite://{place}/store.db",
    }[backend]


def _compared(what: str, expected: str, found: str) -> None:
    if expected == found:
        return
    at = next((at for at, pair in enumerate(zip(expected, found, strict=False)) if pair[0] != pair[1]), 0)
    begin = max(0, at - 300)
    told = [f"\n  {name}: …{text[begin : at + 200]}" for name, text in (("model", expected), ("found", found))]
    raise Difference(f"{what} differs from the model's at {at}{''.join(told)}")


def shrunk(
    operations: Sequence[Operation], fails: Callable[[Sequence[Operation]], bool], tries: int
) -> list[Operation]:
    """Fewer operations that still fail: ever smaller parts are left out, as long as tries are left."""
    kept = list(operations)
    size = len(kept) // 2
    while size and tries:
        at = 0
        while at < len(kept) and tries:
            tries -= 1
            without = kept[:at] + kept[at + size :]
            if fails(without):
                kept = without
            else:
                at += size
        size //= 2
    return kept


# -- `make soak`


def _soaked(given: argparse.Namespace, server: RedisServer | None, place: Path) -> int:
    chance = random.Random(given.seed)
    played: list[Operation] = []
    lockstep = Lockstep(given.backends, place, server, twice=given.twice)
    began = time.monotonic()
    try:
        for number in range(given.operations):
            operation = drawn(chance, lockstep.truth.model, number)
            played.append(operation)
            lockstep.play(operation)
            if (number + 1) % given.every == 0:
                lockstep.compare()
            if (number + 1) % 10_000 == 0:
                print(f"{number + 1:,} operations, {time.monotonic() - began:.0f} s, equal so far", flush=True)
        lockstep.compare()
    except Difference as exc:
        print(f"seed {given.seed}, step {len(played) - 1}: {exc}\n")
        _told_shrunk(given, server, place, played)
        return 1
    finally:
        lockstep.close()
    print(f"seed {given.seed}: {given.operations:,} operations, compared every {given.every} and equal everywhere")
    for name, seconds in lockstep.seconds.items():
        print(f"  {name:22} {given.operations / seconds:8,.0f} operations/s")
    return 0


def _told_shrunk(
    given: argparse.Namespace, server: RedisServer | None, place: Path, played: Sequence[Operation]
) -> None:
    """The fewest operations found that still differ, played anew on fresh stores."""
    number = 0

    def fails(operations: Sequence[Operation]) -> bool:
        nonlocal number
        number += 1
        fresh = place / f"again-{number}"
        fresh.mkdir()
        lockstep = Lockstep(given.backends, fresh, server, twice=given.twice)
        try:
            for operation in operations:
                lockstep.play(operation)
            lockstep.compare()
        except Difference:
            return True
        finally:
            lockstep.close()
        return False

    # What matters is mostly near the end: begin with as little of it as still differs.
    for many in (100, 1_000, 10_000):
        if fails(played[-many:]):
            least = shrunk(played[-many:], fails, given.shrinks)
            print(f"{len(least)} operations that differ:")
            break
    else:
        least = list(played[-30:])
        print(f"the last {len(least)} operations; repeat them with --seed {given.seed} --operations {len(played)}:")
    for operation in least:
        print(f"  {operation}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; 1 when something differed."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--operations", type=int, default=100_000)
    reader.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="by default any")
    reader.add_argument("--every", type=int, default=100, help="compare all states after so many operations")
    reader.add_argument("--backends", nargs="+", choices=BACKENDS, default=BACKENDS)
    reader.add_argument("--twice", action="store_true", help="two stores of each backend, with swapped modes")
    reader.add_argument("--shrinks", type=int, default=200, help="how often a failure is tried with fewer operations")
    given = reader.parse_args(arguments)
    with ExitStack() as stack:
        stack.enter_context(patched())
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = None
        if "redis" in given.backends:
            server = RedisServer("valkey", place / "valkey")
            stack.callback(server.kill)
        return _soaked(given, server, place)


if __name__ == "__main__":
    sys.exit(main())
