"""Rounds of processes that write, are interrupted, killed, forked and cancelled, each compared with a plain model.

``make chaos CHAOS="--seed 7 --minutes 120 --state FILE"`` plays them; ``--resume`` goes on after the last round in
FILE. A round is drawn from the run's seed and its number, and can be played again; threads and signals fall
differently each time, so a failure may need several tries.
"""

import argparse
import importlib
import json
import logging
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import wmem
from tests.chaos.acts import FAMILIES
from tests.chaos.plants import PLANTS
from tests.chaos.round import TROUBLES, Report, draw_plan, play_round
from tests.servers import RedisServer
from tests.soak.driver import BACKENDS, patched

__all__ = ["main"]

HANG_S = 10.0
_COLUMNS = (
    "rounds",
    "acknowledged",
    "kills",
    "interrupts",
    "forks",
    "cancellations",
    "unknown",
    "refused",
    "conflicts",
)


class Run:
    """All rounds of one seed."""

    def __init__(self, given: argparse.Namespace, place: Path, stack: ExitStack) -> None:
        self.given = given
        self._place = place
        self._stack = stack
        self._servers: dict[bool, RedisServer] = {}

    def play(self, number: int) -> Report:
        """Play one round; the files of one that failed stay."""
        given = self.given
        backend = given.backends[number % len(given.backends)]
        place = self._place / f"round-{number}"
        place.mkdir()
        options: dict[str, Any] = {"without": given.without, "hang_s": given.hang_seconds}
        options |= {"legs": given.legs, "leg_s": given.leg_seconds}
        options["plant"] = given.plants[number % len(given.plants)] if given.plants else ""
        plan = draw_plan(number, given.seed, backend, "", place, **options)
        server = self._server(persistent=plan.persistent) if backend == "redis" else None
        url = server.database() if server else _url(backend, place, number)
        plan = draw_plan(number, given.seed, backend, url, place, **options)
        try:
            report = play_round(plan, place, server)
        except BaseException:
            self._keep(place, number)
            raise
        if report.faults:
            self._keep(place, number)
            if server is not None:
                with server.client() as client:
                    client.save()
                shutil.copy(server.directory / "dump.rdb", given.keep / f"round-{number}")
        shutil.rmtree(place, ignore_errors=True)
        return report

    def _server(self, *, persistent: bool) -> RedisServer:
        if persistent not in self._servers:
            options = ("--appendonly", "yes", "--appendfsync", "always") if persistent else ()
            self._servers[persistent] = RedisServer("valkey", self._place / f"server-{persistent}", options)
            self._stack.callback(self._servers[persistent].kill)
        return self._servers[persistent]

    def _keep(self, place: Path, number: int) -> None:
        kept = self.given.keep / f"round-{number}"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(place, kept)


def _url(backend: str, place: Path, number: int) -> str:
    return {
        "memory": f"memory://chaos-{number}",
        "disk": f"disk://{place}/store",
        "sqlite": f"sqlite://{place}/store.db",
    }[backend]


# -- what was played before


def _read_state(file: Path | None, *, resume: bool, header: dict[str, Any]) -> list[dict[str, Any]]:
    if file is None or not file.exists():
        return []
    if not resume:
        raise SystemExit(f"{file} is there already: go on with --resume, or name another file")
    first, *rounds = [json.loads(line) for line in file.read_text().splitlines()]
    if first != header:
        raise SystemExit(f"{file} belongs to another run: {first}")
    return rounds


def _append(file: Path | None, line: dict[str, Any]) -> None:
    if file is not None:
        with file.open("a") as state:
            state.write(json.dumps(line) + "\n")


def _again(given: argparse.Namespace, number: int) -> str:
    words = [f"--seed {given.seed} --rounds {number} --backends {','.join(given.backends)}"]
    words += [f"--plants {','.join(given.plants)}"] if given.plants else []
    words += [f"--without {','.join(given.without)}"] if given.without else []
    return f'make chaos CHAOS="{" ".join(words)}"'


def _print_table(rounds: Sequence[dict[str, Any]], given: argparse.Namespace) -> None:
    sums: dict[str, Counter[str]] = {}
    for each in rounds:
        sums.setdefault(each["backend"], Counter()).update({"rounds": 1, **each["counts"]})
    print(f"\n{'':8}" + "".join(f"{column:>15}" for column in _COLUMNS))
    for backend, counts in sums.items():
        print(f"{backend:8}" + "".join(f"{counts[column]:15,}" for column in _COLUMNS))
    others = Counter({name: count for counts in sums.values() for name, count in counts.items() if "server" in name})
    if others:
        print("redis: " + ", ".join(f"{name} {count}" for name, count in sorted(others.items())))
    failed = [each for each in rounds if each["faults"]]
    minutes = sum(each["seconds"] for each in rounds) / 60
    print(f"seed {given.seed}: {len(rounds)} rounds in {minutes:.1f} minutes, {len(failed)} failed")
    for each in failed:
        print(f"\nround {each['round']} on {each['backend']}; again: {_again(given, each['round'])}")
        for fault in each["faults"][: given.show]:
            print(f"  - {fault}")
        if len(each["faults"]) > given.show:
            print(f"  … and {len(each['faults']) - given.show} more")


# -- the command


def _list(known: Sequence[str]) -> Any:
    def parse(text: str) -> list[str]:
        names = [name for name in text.split(",") if name]
        if unknown := [name for name in names if name not in known]:
            raise argparse.ArgumentTypeError(f"unknown {unknown}; known: {', '.join(known)}")
        return names

    return parse


def _range(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="by default any")
    reader.add_argument("--minutes", type=float, default=5.0, help="in all, with what FILE has already")
    reader.add_argument("--rounds", type=_range, help="these alone: 12, or 12-14")
    reader.add_argument("--backends", type=_list(BACKENDS), default=list(BACKENDS))
    reader.add_argument(
        "--without", type=_list((*TROUBLES, *FAMILIES)), default=[], help=f"{', '.join((*TROUBLES, *FAMILIES))}"
    )
    reader.add_argument("--state", type=Path, metavar="FILE", help="a line for each round")
    reader.add_argument("--resume", action="store_true", help="go on after the last round in FILE")
    reader.add_argument("--keep", type=Path, default=Path("chaos-failures"), help="where the files of failures go")
    reader.add_argument("--hang-seconds", type=float, default=HANG_S)
    reader.add_argument(
        "--cold", action="store_true", help="processes import and load all for themselves, while they fork"
    )
    reader.add_argument("--legs", type=int, default=3, help="most legs of a round, each with new processes")
    reader.add_argument("--leg-seconds", type=float, default=3.0, help="most seconds of a leg")
    reader.add_argument("--show", type=int, default=6, help="how many faults of a round are printed")
    reader.add_argument("--plants", type=_list([*PLANTS]), default=[], help="faults, one a round, to see them found")
    return reader.parse_args(arguments)


def _numbers(given: argparse.Namespace, rounds: Sequence[dict[str, Any]]) -> Iterator[int]:
    if given.rounds is not None:
        yield from given.rounds
        return
    number = 1 + max((each["round"] for each in rounds), default=-1)
    left_s = given.minutes * 60 - sum(each["seconds"] for each in rounds)
    end = time.monotonic() + left_s
    while time.monotonic() < end:
        yield number
        number += 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; 1 when a round failed."""
    given = _parse(arguments)
    header = {name: getattr(given, name) for name in ("seed", "backends", "without", "plants")}
    rounds = _read_state(given.state, resume=given.resume, header=header)
    if not rounds and not (given.state and given.state.exists()):
        _append(given.state, header)
    given.keep = given.keep.absolute()
    with ExitStack() as stack:
        stack.enter_context(patched())
        if not given.cold:
            _warm()
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chaos-", dir=_room())))
        run = Run(given, place, stack)
        try:
            for number in _numbers(given, rounds):
                began = time.monotonic()
                report = run.play(number)
                backend = given.backends[number % len(given.backends)]
                line = {"round": number, "backend": backend, "seconds": round(time.monotonic() - began, 1)}
                line |= {"counts": dict(report.counts), "faults": report.faults}
                rounds.append(line)
                _append(given.state, line)
                said = f"{len(report.faults)} FAULTS: {report.faults[0][:200]}" if report.faults else "well"
                print(f"round {number} on {backend}, {line['seconds']} s: {said}", flush=True)
        except KeyboardInterrupt:
            print("stopped")
    _print_table(rounds, given)
    return int(any(each["faults"] for each in rounds))


def _warm() -> None:
    """Import and load once what each process of a round would load for itself."""
    for module in ("disk", "redis", "redis_async_face", "sqlite"):
        importlib.import_module(f"wmem.journal.{module}")
    memory = wmem.open("memory://", agent_id="warm")
    session = memory.scope("session")
    session.messages.append({"role": "user", "content": "amber basin"})
    session.items.add("cedar", ttl_s=None, type="action")
    session.pack("amber", budget=300)
    memory.close()
    # logging takes its lock before its `try` when it is first asked for a level: an interrupt there would leave it
    # taken, which is Python's fault and not what a round is about.
    for logger in list(logging.root.manager.loggerDict.values()):
        for level in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
            if isinstance(logger, logging.Logger):
                logger.isEnabledFor(level)


def _room() -> str | None:
    """Memory where there is room for stores, as the tests have it."""
    memory = Path("/dev/shm")
    return str(memory) if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 4 * 2**30 else None


if __name__ == "__main__":
    sys.exit(main())
