"""One process of a round: threads or tasks that write through one memory, interrupted, forked and cancelled.

Nothing here decides whether what happened was right: it goes into the log.
"""

import asyncio
import faulthandler
import os
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import wmem
from tests.chaos.acts import SHARED, Act, Writer, show
from tests.chaos.log import Log, find_tokens
from tests.chaos.plants import PLANTS, Plant
from wmem.testing.store_bytes import read_store_bytes

__all__ = ["Job", "Outcome", "run_worker"]

BEAT_S = 0.05
FORKED_ACTS = 8
OPENINGS = 100
"""Tries to open a store that is away."""
_PLAIN = (
    wmem.errors.ConflictError,
    wmem.errors.InvalidInputError,
    wmem.errors.NotFoundError,
    wmem.errors.CapacityError,
    wmem.errors.DisposedError,
    wmem.errors.AlreadyPromotedError,
)
"""What says that nothing was changed, if it comes from an act of one record."""
_DAMAGE = (wmem.errors.CorruptionError, wmem.errors.WrongKeyError, wmem.errors.SerializationError)


class Interrupted(KeyboardInterrupt):
    """What a timer's signal raises, wherever the main thread is."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What one process does.

    Attributes:
        name: Of the process; its writers are named after it.
        mode: ``sync``: threads; ``async``: tasks.
        writers: How many.
        seconds: After which no act is begun.
        keys: For an encrypted store, the active one first.
        can_fail: Whether the store itself is made to fail, as a server that is restarted is.
        plant: A fault to plant, so that it can be seen to be found.
    """

    name: str
    seed: str
    url: str
    place: Path
    mode: str
    writers: int
    seconds: float
    acts: int
    without: tuple[str, ...] = ()
    keys: tuple[bytes, ...] = ()
    interrupts: bool = False
    forks: bool = False
    cancellations: bool = False
    closes: bool = False
    reopens: bool = False
    can_fail: bool = False
    plant: str = ""

    def open(self) -> wmem.AgentMemory:
        """Another memory on the store."""
        return wmem.open(self.url, agent_id="agent", key=wmem.KeyRing(*self.keys) if self.keys else None)

    @property
    def is_private(self) -> bool:
        """Whether nobody else can look into the store."""
        return self.url.startswith("memory:")


@dataclass
class Outcome:
    """How one act ended, as the log has it."""

    outcome: str
    reply: Any = None
    why: str = ""


class _Process:
    """What the writers of one process share."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.log = Log(job.place / "log")
        self.group = os.getpgrp()
        self.stop_at = time.monotonic() + job.seconds
        self.armed = self.has_rung = self.is_cut = False
        self.children: list[int] = []
        self.names: list[str] = []
        self.loop: asyncio.AbstractEventLoop | None = None
        self._forked = 0
        self.plant: Plant | None = PLANTS[job.plant](job) if job.plant else None
        self._start_beating()
        signal.signal(signal.SIGALRM, self._interrupt)

    def _interrupt(self, *_: object) -> None:
        if self.armed:
            self.armed, self.has_rung = False, True
            raise Interrupted

    # -- a heart that beats, so that a hang can be told from a machine without time

    def _start_beating(self) -> None:
        place = self.job.place
        self._stacks = (place / f"stacks-{os.getpid()}").open("a")
        faulthandler.register(signal.SIGUSR1, self._stacks, all_threads=True)
        self._beats = os.open(place / f"beats-{os.getpid()}", os.O_WRONLY | os.O_CREAT, 0o600)
        threading.Thread(target=self._beat, name="heart", daemon=True).start()

    def _beat(self) -> None:
        count = 0
        wanted = self.job.place / f"dump-{os.getpid()}"
        while True:
            time.sleep(BEAT_S)
            count += 1
            os.pwrite(self._beats, b"%12d" % count, 0)
            if wanted.exists() and self.loop is not None:
                wanted.unlink()
                for task in asyncio.all_tasks(self.loop):
                    task.print_stack(file=self._stacks)
                self._stacks.flush()

    # -- acts

    def begin(self, writer: Writer, act: Act) -> str:
        id = f"{writer.name}.{writer.number}.{act.name}"
        fields = {"id": id, "writer": writer.name, "name": act.name, "scope": act.scope, "given": act.given}
        self.log.write("begin", **fields, group=self.group)
        return id

    def end(self, id: str, outcome: Outcome) -> None:
        fields = {name: value for name, value in asdict(outcome).items() if value not in ("", None)}
        self.log.write("end", id=id, **fields)

    def failure(self, act: Act, exc: BaseException, *, closing: bool = False) -> Outcome:
        """How an act that raised ended."""
        why = f"{type(exc).__name__}: {exc}"
        # pydantic makes an error of its own of whatever is raised while it serializes.
        if isinstance(exc, Interrupted) or (self.has_rung and Interrupted.__name__ in str(exc)):
            return Outcome("interrupted")
        if isinstance(exc, asyncio.CancelledError | TimeoutError):
            return Outcome("cancelled")
        if isinstance(exc, _DAMAGE) or not isinstance(exc, wmem.WmemError):
            return Outcome("broken", why="".join(traceback.format_exception(exc)))
        if isinstance(exc, _PLAIN):
            return Outcome("refused" if act.single and not closing else "unknown", why=why)
        if isinstance(exc, wmem.errors.UnknownOutcomeError) or self.job.can_fail or self.is_cut or closing:
            return Outcome("unknown", why=why)
        return Outcome("broken", why="".join(traceback.format_exception(exc)))

    def play(self, writer: Writer, act: Act, delay_s: float | None = None) -> Any:
        """Play an act in this thread, interrupted after a delay if one is given."""
        id, result = self.begin(writer, act), None
        call = act.call if self.plant is None else self.plant.around(act)
        try:
            if delay_s is not None:
                self.has_rung = False
                self.armed = True
                signal.setitimer(signal.ITIMER_REAL, delay_s)
            result = call()
            self.armed = False
            outcome = Outcome("done")
        except BaseException as exc:  # noqa: BLE001  # whatever it is goes into the log
            self.armed = False
            outcome = self.failure(act, exc, closing=writer.closing)
        if delay_s is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if act.name == "fork" and result == 0:
            self.is_cut = self.has_rung  # then its child may refuse to use files
            return 0  # the parent says how it ended
        if outcome.outcome == "done":
            outcome.reply = act.keep(result)
        self.end(id, outcome)
        return result

    async def aplay(self, writer: Writer, act: Act, delay_s: float | None = None, *, bounded: bool = False) -> Any:
        """Play an act in a task of its own, cancelled after a delay if one is given."""
        id, result = self.begin(writer, act), None
        call = act.call if self.plant is None else self.plant.around(act)
        try:
            if delay_s is None:
                result = await call()
            elif bounded:
                async with asyncio.timeout(delay_s):
                    result = await call()
            else:
                task = asyncio.ensure_future(_awaited(call))
                asyncio.get_running_loop().call_later(delay_s, task.cancel)
                result = await task
            outcome = Outcome("done")
        except BaseException as exc:  # noqa: BLE001  # whatever it is goes into the log
            outcome = self.failure(act, exc, closing=writer.closing)
        if outcome.outcome == "done":
            outcome.reply = act.keep(result)
        self.end(id, outcome)
        return result

    # -- what every process does once in a while

    def look(self, writer: Writer) -> None:
        """Show the shared scopes and one's own, through the objects that did all of this."""
        for act in self.looks(writer):
            self.play(writer, act)

    def looks(self, writer: Writer) -> Iterator[Act]:
        """One act for each scope; the checker puts them together."""
        look = f"{writer.name}.{writer.number}"
        own = [f"{kind}-{name}" for kind in ("own", "copy", "side") for name in self.names]
        mine = own if self.job.is_private else [writer.own, writer.copy]
        for scope in (*SHARED, *mine, "~semantic", "~episodic"):
            writer.number += 1
            handle = writer.scope(scope)

            def keep(document: Any, scope: str = scope) -> Any:
                return show({scope: document})

            yield Act("look", scope, {"look": look}, handle.export, keep=keep)

    def probe(self, writer: Writer) -> Iterator[Act]:
        """What must be possible when nobody else is at work, whatever was interrupted before."""
        for draw in (writer.say, writer.bump):
            writer.number += 1
            act = draw()
            act.given["probe"] = True
            yield act

    # -- forks

    def fork(self, writer: Writer, delay_s: float | None = None) -> None:
        """Go on in a child with the same memory, and here."""
        self._forked += 1
        writer.number += 1
        self.has_rung = False
        # An interrupted fork goes on: Python prints what is raised in the hooks before it.
        pid = self.play(writer, Act("fork", "", {}, os.fork), delay_s)
        if pid is None:
            return
        if pid:
            self.children.append(pid)
            return
        status = 1
        try:
            self._go_on_as_child(writer)
            status = 0
        except BaseException as exc:  # noqa: BLE001  # whatever it is goes into the log
            self.log.write("crash", why="".join(traceback.format_exception(exc)))
        finally:
            os._exit(status)

    def _go_on_as_child(self, parent: Writer) -> None:
        name = f"{parent.name}f{self._forked}"
        self._start_beating()
        self.log.write("forked", parent=os.getppid(), group=self.group)
        memory = parent.memory
        if isinstance(memory, wmem.AsyncAgentMemory):
            memory = memory.sync()
        child = Writer(name, memory, self.job.open, self.job.place, self.job.without, self.job.seed)
        for _ in range(FORKED_ACTS):
            self.play(child, child.draw())
        if not self.job.is_private:
            self.look(child)
        if child.chance.random() < 0.5:
            child.number += 1
            self.play(child, Act("close", "", {}, memory.close))

    def reap(self) -> None:
        for pid in self.children:
            os.waitpid(pid, 0)
        self.children.clear()

    # -- the end

    def finish(self, writer: Writer) -> None:
        """Say that this process is idle, and wait for the others."""
        self.log.write("idle")
        while not (self.job.place / "probe").exists():
            time.sleep(BEAT_S)
        for act in self.probe(writer):
            worker = threading.Thread(target=self.play, args=(writer, act), daemon=True)
            worker.start()
            worker.join()
        self.look(writer)
        if self.job.forks:
            self.fork(writer)
            self.reap()
        if self.job.is_private:
            self._tell_bytes()

    def _tell_bytes(self) -> None:
        self.log.write("bytes", tokens=sorted(set(find_tokens(read_store_bytes(self.job.url)))))


async def _awaited(call: Callable[[], Any]) -> Any:
    return await call()


def run_worker(job: Job) -> None:
    """Do all of a job in this process, which is this one's alone."""
    warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads is what this is about
    warnings.simplefilter("ignore", ResourceWarning)  # a cancelled call may leave what it had opened to the collector
    process = _Process(job)
    if job.mode == "async":
        asyncio.run(_arun(process))
    else:
        _run(process)


def _writer(process: _Process, memory: Any, number: int) -> Writer:
    job = process.job
    name = f"{job.name}{'abcdef'[number]}"
    process.names.append(name)
    return Writer(name, memory, job.open, job.place, job.without, job.seed)


# -- threads


def _run(process: _Process) -> None:
    job = process.job
    first = _writer(process, None, 0)
    memory = _open(process, first)
    if memory is None:
        return  # the log says why
    first.memory = memory
    writers = [first, *(_writer(process, memory, number) for number in range(1, job.writers))]
    main, others = writers[0], writers[1:]
    threads = [threading.Thread(target=_write, args=(process, writer), daemon=True) for writer in others]
    for thread in threads:
        thread.start()
    _write_as_main(process, main)
    for thread in threads:
        thread.join()
    process.reap()
    process.finish(main)
    main.number += 1
    process.play(main, Act("close", "", {}, main.memory.close))


def _write(process: _Process, writer: Writer) -> None:
    """Act after act, in a thread that no signal reaches."""
    while time.monotonic() < process.stop_at and writer.number < process.job.acts:
        if process.job.closes and writer.chance.random() < 0.1:
            _use_spare(process, writer)
        process.play(writer, writer.draw())


def _write_as_main(process: _Process, writer: Writer) -> None:
    """Act after act, interrupted and forked."""
    job, chance = process.job, Random(f"{writer.seed}/{writer.name}/trouble")
    while time.monotonic() < process.stop_at and writer.number < job.acts:
        drawn = chance.random()
        if job.forks and drawn < 0.02 and len(process.children) < 4:
            process.fork(writer, _delay_s(job, chance))
        elif drawn < 0.04:
            process.look(writer)
        elif job.closes and drawn < 0.1:
            _use_spare(process, writer)
        elif job.writers == 1 and job.reopens and drawn < 0.06:
            _reopen(process, writer, _delay_s(job, chance))
        else:
            process.play(writer, writer.draw(), _delay_s(job, chance))


def _delay_s(job: Job, chance: Random) -> float | None:
    """Seconds until an act is interrupted: anything between the shortest and the longest."""
    return 10 ** chance.uniform(-5, -2) if job.interrupts and chance.random() < 0.7 else None


def _reopen(process: _Process, writer: Writer, delay_s: float | None) -> None:
    """Close the memory and open another; what was interrupted is done once more."""
    for each_s in (delay_s, None):
        writer.number += 1
        process.play(writer, Act("close", "", {}, writer.memory.close), each_s)
    memory = _open(process, writer, delay_s)
    assert memory is not None, "the log says why it cannot be opened again"
    writer.forget(memory)


def _open(process: _Process, writer: Writer, delay_s: float | None = None) -> wmem.AgentMemory | None:
    """Open another memory, if need be once more: the store may be away, and a signal may come."""
    for each_s in (delay_s, *[None] * OPENINGS):
        writer.number += 1
        memory: wmem.AgentMemory | None = process.play(writer, Act("open", "", {}, process.job.open), each_s)
        if memory is not None:
            return memory
        if each_s is None:
            time.sleep(BEAT_S)
    return None


def _use_spare(process: _Process, writer: Writer) -> None:
    """Work through a second memory on the same store, while another thread closes it."""
    spare = _open(process, writer)
    if spare is None:
        return  # the log says why
    closer = threading.Thread(target=_close_later, args=(spare, writer.chance.random() / 500), daemon=True)
    memory, writer.closing = writer.memory, True
    writer.forget(spare)
    closer.start()
    for _ in range(3):
        try:
            act = writer.draw()
        except wmem.errors.InvalidInputError:
            break  # closed before there was a handle
        process.play(writer, act)
    closer.join()
    writer.closing = False
    writer.forget(memory)  # with no handle on what was disposed of meanwhile


def _close_later(memory: wmem.AgentMemory, delay_s: float) -> None:
    time.sleep(delay_s)
    memory.close()


# -- tasks


async def _arun(process: _Process) -> None:
    job = process.job
    process.loop = asyncio.get_running_loop()
    first = _writer(process, None, 0)
    memory = await _aopen(process, first)
    if memory is None:
        return  # the log says why
    first.memory = memory
    writers = [first, *(_writer(process, memory, number) for number in range(1, job.writers))]
    # A thread beside the tasks, through the other face of the same memory.
    beside = _writer(process, memory.sync(), job.writers)
    thread = threading.Thread(target=_write, args=(process, beside), daemon=True)
    thread.start()
    await asyncio.gather(*(_awrite(process, writer, first=writer is writers[0]) for writer in writers))
    await asyncio.to_thread(thread.join)
    process.reap()
    for act in process.looks(writers[0]):
        await process.aplay(writers[0], act)
    main = _writer(process, memory.sync(), job.writers + 1)
    await asyncio.to_thread(process.finish, main)
    writers[0].number += 1
    await process.aplay(writers[0], Act("close", "", {}, memory.close))


async def _aopen(process: _Process, writer: Writer) -> wmem.AsyncAgentMemory | None:
    """See `_open`."""
    job = process.job
    key = wmem.KeyRing(*job.keys) if job.keys else None
    act = Act("open", "", {}, lambda: wmem.aopen(job.url, agent_id="agent", key=key))
    for _ in range(OPENINGS):
        writer.number += 1
        memory: wmem.AsyncAgentMemory | None = await process.aplay(writer, act)
        if memory is not None:
            return memory
        await asyncio.sleep(BEAT_S)
    return None


async def _awrite(process: _Process, writer: Writer, *, first: bool) -> None:
    job, chance = process.job, Random(f"{writer.seed}/{writer.name}/trouble")
    while time.monotonic() < process.stop_at and writer.number < job.acts:
        drawn = chance.random()
        if first and job.forks and drawn < 0.02 and len(process.children) < 4:
            process.fork(writer)
        elif drawn < 0.03:
            for act in process.looks(writer):
                await process.aplay(writer, act)
        else:
            delay_s = 10 ** chance.uniform(-4.5, -2) if job.cancellations and chance.random() < 0.5 else None
            await process.aplay(writer, writer.draw(), delay_s, bounded=chance.random() < 0.5)
