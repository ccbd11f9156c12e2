"""One round: processes that work on one store and are disturbed, and the comparison with the model at its end."""

import json
import os
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.chaos.acts import SHARED
from tests.chaos.inspection import inspect_store
from tests.chaos.log import Log, Op, find_tokens, read_lines, read_ops
from tests.chaos.model import LONG, Model
from tests.chaos.worker import BEAT_S, Job, run_worker
from tests.servers import RedisServer

__all__ = ["TROUBLES", "Plan", "Report", "draw_plan", "play_round"]

TROUBLES = ("kills", "interrupts", "forks", "cancellations", "closes", "reopens", "server")
"""What can be left out. ``server``: connections cut, scripts forgotten, a server killed and started again."""

_TICK_S = 0.02
_LOOKS = 12
"""Most looks of a leg that are compared: the last ones."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a round does.

    Attributes:
        legs: In each, new processes go on with the store of the leg before.
        hang_s: Seconds for which a process may have time, and an act not come to its end.
    """

    number: int
    seed: str
    backend: str
    legs: Sequence[Sequence[Job]]
    kills: Sequence[Mapping[str, float]]
    server: bool
    persistent: bool
    hang_s: float


@dataclass
class Report:
    """How a round went."""

    faults: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def draw_plan(
    number: int,
    seed: int,
    backend: str,
    url: str,
    place: Path,
    *,
    without: Sequence[str],
    hang_s: float,
    legs: int,
    leg_s: float,
    plant: str,
) -> Plan:
    """Draw a round from the run's seed and its number."""
    own = f"{seed}/{number}"
    chance = Random(own)
    alone = backend == "memory"
    keys = tuple(chance.randbytes(32) for _ in range(2)) if not alone and chance.random() < 0.25 else ()
    trouble = {name: chance.random() < 0.6 and name not in without for name in TROUBLES}
    drawn: list[list[Job]] = []
    kills = []
    for leg in range(1 if alone else chance.randint(1, legs)):
        jobs: list[Job] = []
        for process in range(1 if alone else chance.randint(2, 4)):
            name = f"l{leg}p{process}"
            mode = chance.choice(["sync", "async"])
            jobs.append(
                Job(
                    name=name,
                    seed=own,
                    url=url,
                    place=place,
                    mode=mode,
                    writers=chance.randint(1, 3),
                    seconds=chance.uniform(leg_s / 3, leg_s),
                    acts=1_500 if alone else 400,
                    without=tuple(without),
                    keys=tuple(chance.sample(keys, k=len(keys))),
                    interrupts=trouble["interrupts"],
                    forks=trouble["forks"],
                    cancellations=trouble["cancellations"],
                    closes=trouble["closes"],
                    reopens=not alone and "reopens" not in without,
                    can_fail=backend == "redis" and trouble["server"],
                    plant=plant,
                )
            )
        drawn.append(jobs)
        victims = [job for job in jobs if trouble["kills"] and not alone and chance.random() < 0.5]
        kills.append({job.name: chance.uniform(0.2, job.seconds) for job in victims})
    return Plan(
        number=number,
        seed=own,
        backend=backend,
        legs=drawn,
        kills=kills,
        server=backend == "redis" and trouble["server"],
        persistent=backend == "redis" and chance.random() < 0.5,
        hang_s=hang_s,
    )


def play_round(plan: Plan, place: Path, server: RedisServer | None) -> Report:
    """Play a round in a fresh directory, and compare what is there with the model."""
    report = Report()
    log = Log(place / "log")
    for leg in range(len(plan.legs)):
        (place / "probe").unlink(missing_ok=True)
        _Leg(plan, leg, place, log=log, server=server, report=report).run()
        if any("hang" in fault for fault in report.faults):
            break  # what would follow waits as long
    log.close()
    lines = read_lines(place / "log")
    _count(lines, report)
    _compare(plan, lines, place, report)
    report.faults = list(dict.fromkeys(report.faults))
    return report


# -- processes


def fork_process(act: Callable[[], None], errors: Path) -> int:
    """Run an act in a child process, in a group of its own; what it says goes to a file."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        out = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(out, 1)
        os.dup2(out, 2)
        act()
        status = 0
    except BaseException:  # noqa: BLE001  # whatever it is goes into the file
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(status)


class _Leg:
    """Some processes from their start to their end."""

    def __init__(
        self, plan: Plan, leg: int, place: Path, *, log: Log, server: RedisServer | None, report: Report
    ) -> None:
        jobs, kills = plan.legs[leg], plan.kills[leg]
        self._plan, self._place, self._log, self._server, self._report = plan, place, log, server, report
        self._alive: dict[int, Job] = {}
        self._idle: set[int] = set()
        self._open: dict[str, tuple[dict[str, Any], int, float]] = {}
        """By id: the line, the beats of its process then, and this process's own time."""
        self._groups: dict[int, int] = {}
        self._read = len((place / "log").read_bytes())
        self._rest = b""
        self._chance = Random(f"{plan.seed}/{jobs[0].name}/driver")
        self._own_s = 0.0
        self._is_quiet = False
        self._last = time.monotonic()
        self._quiet: dict[int, float] = {}
        for job in jobs:
            pid = fork_process(lambda job=job: run_worker(job), place / f"stderr-{job.name}")  # type: ignore[misc]
            self._alive[pid] = job
            self._quiet[pid] = 0.0
        began = time.monotonic()
        self._kills = {pid: began + kills[job.name] for pid, job in self._alive.items() if job.name in kills}
        self._next_trouble = began + self._chance.uniform(0.2, 1.0)

    def run(self) -> None:
        """Until every process has ended."""
        try:
            while self._alive:
                time.sleep(_TICK_S)
                now = time.monotonic()
                # A tick that comes late says that the machine has no time: it counts as one.
                self._own_s += min(now - self._last, 2 * _TICK_S)
                self._last = now
                self._follow_log()
                self._reap()
                self._kill_due(now)
                self._disturb_server(now)
                self._find_hangs()
                if not self._is_quiet and all(pid in self._idle for pid in self._alive):
                    self._is_quiet = True
                    (self._place / "probe").touch()
        finally:
            for pid in list(self._alive):
                self._end(pid)

    def _follow_log(self) -> None:
        with (self._place / "log").open("rb") as file:
            file.seek(self._read)
            fresh = file.read()
        self._read += len(fresh)
        *lines, self._rest = (self._rest + fresh).split(b"\n")
        for each in map(json.loads, lines):
            group = each.get("group")
            if group is not None:
                self._groups[each["pid"]] = group
            self._quiet[self._groups.get(each["pid"], each["pid"])] = self._own_s
            match each["event"]:
                case "begin":
                    self._open[each["id"]] = each, self._beats(each["pid"]), self._own_s
                case "end":
                    self._open.pop(each["id"], None)
                case "idle":
                    self._idle.add(each["pid"])
                case _:
                    pass

    def _beats(self, pid: int) -> int:
        with suppress(OSError, ValueError):
            return int((self._place / f"beats-{pid}").read_text())
        return 0

    def _reap(self) -> None:
        for pid, job in list(self._alive.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                self._gone(pid)
                said = (self._place / f"stderr-{job.name}").read_text()
                if status and pid not in self._kills:
                    self._report.faults.append(f"process {job.name} ended with status {status}: {said[-3000:]}")

    def _gone(self, pid: int) -> None:
        del self._alive[pid]
        self._log.write("dead", of=pid)
        for id, (line, *_) in list(self._open.items()):
            if pid in (line["pid"], line["group"]):
                del self._open[id]

    def _end(self, pid: int) -> None:
        """Kill a process with all that it forked."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        for _ in range(100):  # those that it forked die at their own pace
            try:
                os.killpg(pid, 0)
            except (ProcessLookupError, PermissionError):
                break
            time.sleep(0.005)
        self._gone(pid)

    def _kill_due(self, now: float) -> None:
        for pid, at in self._kills.items():
            if now >= at and pid in self._alive:
                self._report.counts["kills"] += 1
                self._end(pid)

    def _disturb_server(self, now: float) -> None:
        if not self._plan.server or self._server is None or now < self._next_trouble or self._is_quiet:
            return
        self._next_trouble = now + self._chance.uniform(0.2, 1.5)
        kinds = ["cut", "cut", "scripts", *(["restart"] if self._plan.persistent else [])]
        kind = self._chance.choice(kinds)
        self._report.counts[f"server {kind}"] += 1
        if kind == "restart":
            self._server.kill()
            self._server.start()
            return
        with self._server.client() as client:
            if kind == "cut":
                client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            else:
                client.script_flush()

    def _find_hangs(self) -> None:
        limit = self._plan.hang_s
        for line, beats, own_s in list(self._open.values()):
            if self._own_s - own_s < limit:
                continue
            had_s = (self._beats(line["pid"]) - beats) * BEAT_S
            # Without a heart beat, its threads do not run at all: that takes three times as long to be sure of.
            if had_s >= limit or self._own_s - own_s >= 3 * limit:
                told = f"hang: {line['id']} in {line['scope'] or 'the memory'} did not end in {limit} s"
                self._hang(line["pid"], told)
                return
        for pid in list(self._alive):
            if pid not in self._idle and self._own_s - self._quiet.get(pid, 0.0) > 4 * limit:
                self._hang(pid, f"hang: process {self._alive[pid].name} came to no end")
                return

    def _hang(self, pid: int, told: str) -> None:
        open_ids = sorted(self._open)
        for each in {pid, *(line["pid"] for line, *_ in self._open.values()), *self._alive}:
            (self._place / f"dump-{each}").touch()
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGUSR1)
        time.sleep(6 * BEAT_S)
        files = sorted(self._place.glob("stacks-*"), key=lambda file: (file.name != f"stacks-{pid}", file.name))
        stacks = [f"-- {file.name}\n{text}" for file in files if (text := _telling(file.read_text()))]
        self._report.faults.append(f"{told}; begun and not ended: {open_ids}\n" + "\n".join(stacks))
        for each in list(self._alive):
            self._end(each)


def _telling(stacks: str) -> str:
    """Stacks without the threads that only wait for work, and without the frames below a worker's own."""
    told = []
    for thread in stacks.split("\n\n"):
        title, *frames = thread.strip().splitlines() or [""]
        if frames and not any(name in frames[0] for name in (" in _beat", " in _work", " in finish")):
            own = next((at for at, frame in enumerate(frames) if "tests/chaos/worker.py" in frame), len(frames))
            told += [title, *frames[: own + 1]]
    return "\n".join(told)


# -- the end of a round


def _count(lines: Sequence[Mapping[str, Any]], report: Report) -> None:
    for line in lines:
        if line["event"] == "end":
            kind = {"done": "acknowledged", "interrupted": "interrupts", "cancelled": "cancellations"}
            report.counts[kind.get(line["outcome"], line["outcome"])] += 1
            if line["outcome"] == "done" and ".fork" in line["id"]:
                report.counts["forks"] += 1
            if line.get("why", "").startswith("ConflictError"):
                report.counts["conflicts"] += 1
            if line["outcome"] == "broken":
                report.faults.append(f"{line['id']} raised what it may not: {line['why']}")
        elif line["event"] == "crash":
            report.faults.append(f"a forked child crashed: {line['why']}")


def _compare(plan: Plan, lines: list[dict[str, Any]], place: Path, report: Report) -> None:
    alone = plan.backend == "memory"
    # What a fork wrote into its copy of a store in memory, nobody else has.
    copies = {line["pid"] for line in lines if alone and line["event"] == "forked"}
    ours = [line for line in lines if line["pid"] not in copies]
    ops = read_ops(ours, lingering=plan.backend == "redis")
    looks, seen = _looks(ops), set[str]()
    for window, shown in looks[-_LOOKS * len(plan.legs) :]:
        for fault in Model(ops, window).faults(shown):
            if fault.partition(";")[0] not in seen:  # the same one is seen again and again
                seen.add(fault.partition(";")[0])
                report.faults.append(f"seen by a process at work: {fault}")
    for op in ops:
        if op.given.get("probe") and op.outcome != "done" and not _was_killed(op, lines):
            report.faults.append(f"{op.id} failed while nobody else was at work: {_why(op, lines)}")
    model = Model(ops)
    if alone:
        for line in ours:
            if line["event"] == "bytes":
                _compare_bytes(model, line["tokens"], "the store in memory", report)
        return
    scopes = sorted({op.scope for op in ops if op.scope and op.scope[0] != "~"} | set(SHARED))
    backups = [op for op in ops if op.name == "backup" and op.outcome == "done"]
    found = _inspect(plan, scopes, [op.given["path"] for op in backups], place, report)
    if found is None:
        return
    report.faults += model.faults(found["shown"])
    if plan.legs[0][0].keys:
        if found["bytes"]:
            report.faults.append(f"in clear in an encrypted store: {found['bytes'][:5]}")
        report.faults += [f"after rotation: {fault}" for fault in model.faults(found["rotated"])]
    _compare_bytes(model, found["bytes"], "the store's bytes", report)
    # A dump of a server is compressed, in which what is left of one token may look like another.
    written = set(find_tokens(json.dumps([(op.given, op.reply) for op in ops], default=str).encode()))
    if found["purged"] is not None and (left := written.intersection(found["purged"]) - model.live_tokens()):
        report.faults.append(f"after a purge {len(left)} tokens are left that no scope has: {sorted(left)[:5]}")
    for op in backups:
        faults = Model(ops, (op.begin, int(op.end))).faults(found["backups"][op.given["path"]])
        report.faults += [f"in the backup {op.id}: {fault}" for fault in faults]


def _was_killed(op: Op, lines: Sequence[Mapping[str, Any]]) -> bool:
    return not any(line["event"] == "end" and line["id"] == op.id for line in lines)


def _why(op: Op, lines: Sequence[Mapping[str, Any]]) -> str:
    return next(str(line.get("why")) for line in lines if line["event"] == "end" and line["id"] == op.id)


def _compare_bytes(model: Model, tokens: Sequence[str], where: str, report: Report) -> None:
    if left := model.erased.intersection(tokens) - model.live_tokens():
        report.faults.append(f"erased, and left in {where}: {sorted(left)[:5]} of {len(left)}")


def _looks(ops: Sequence[Op]) -> list[tuple[tuple[int, int], dict[str, Any]]]:
    """What processes saw while others worked: the lines between which they looked, and all that they saw."""
    looks: dict[str, list[Op]] = {}
    for op in ops:
        if op.name == "look":
            looks.setdefault(op.given["look"], []).append(op)
    seen: list[tuple[tuple[int, int], dict[str, Any]]] = []
    for parts in looks.values():
        if all(part.outcome == "done" for part in parts) and any(part.scope == "~episodic" for part in parts):
            shown: dict[str, Any] = {LONG: {"messages": [], "entries": {}, "items": []}}
            for part in parts:
                long_term = part.reply.pop(LONG, None)
                shown.update(part.reply)
                shown[LONG]["items"] += long_term["items"] if long_term else []
            seen.append(((min(part.begin for part in parts), int(max(part.end for part in parts))), shown))
    return seen


def _inspect(
    plan: Plan, scopes: Sequence[str], backups: Sequence[str], place: Path, report: Report
) -> dict[str, Any] | None:
    job = plan.legs[0][0]
    told, errors = place / "found", place / "stderr-inspection"
    pid = fork_process(lambda: inspect_store(job.url, sorted(job.keys), scopes, backups, told), errors)
    waited_s = 0.0
    while waited_s < 6 * plan.hang_s:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            break
        time.sleep(_TICK_S)
        waited_s += _TICK_S
    else:
        os.kill(pid, signal.SIGABRT)
        os.waitpid(pid, 0)
        report.faults.append(f"hang: a fresh process could not read the store in {waited_s:.0f} s")
        return None
    if status:
        report.faults.append(f"a fresh process could not read the store: {errors.read_text()[-3000:]}")
        return None
    found: dict[str, Any] = json.loads(told.read_text())
    return found
