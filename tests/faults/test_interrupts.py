"""A signal's handler that raises anywhere leaves no lock, no transaction and no count, in this process or another."""

import gc
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import wmem
from tests.interrupts import interruptions
from tests.matrix import PLAIN, make_url
from wmem.engine.store import _registry
from wmem.journal.fork_guard import fork_guard
from wmem.journal.port import new_record_id
from wmem.model.history import ORIGIN

if TYPE_CHECKING:
    from tests.faults.conftest import Kind, Rows, Script

PATH = ("agent", "session")
PROBE = ("agent", "probe")
PATIENCE_S = 60.0

VERBS: dict[str, Callable[[Any, int], object]] = {
    "append": lambda journal, n: journal.append(PATH, n, b"x", None, None),
    "a refused append": lambda journal, n: journal.append(PATH, n, b"x", ORIGIN, None),
    "read": lambda journal, _: journal.read({PATH: ORIGIN}),
    "compact": lambda journal, _: journal.compact(PATH, journal.read({PATH: ORIGIN})[PATH].head, b"s", None),
    "delete": lambda journal, _: journal.delete(("agent", "gone"), None),
    "paths": lambda journal, _: journal.paths(("agent",)),
    "purge": lambda journal, _: journal.purge(PATH),
    "close": lambda journal, _: journal.close(),
}


@pytest.fixture
def journal(kind: "Kind", directory: Path) -> Iterator[Any]:
    made = kind.journal(directory, 2.0)
    yield made
    made.close()


def _in_a_thread(call: Callable[[], object]) -> None:
    """A call from another thread, which must come to its end."""
    failures: list[BaseException] = []

    def work() -> None:
        try:
            call()
        except BaseException as exc:  # noqa: BLE001  # for the test's own thread
            failures.append(exc)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert not thread.is_alive(), "a lock was left behind"
    if failures:
        raise failures[0]


def _in_a_child(call: Callable[[], object]) -> None:
    """A call in a forked child, which must come to its end."""
    child = os.fork()
    if child == 0:
        signal.alarm(int(PATIENCE_S))
        try:
            call()
        finally:
            os._exit(0 if sys.exc_info()[0] is None else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("verb", VERBS)
def test_a_call_that_is_interrupted_at_any_point_leaves_the_store_usable_by_everybody(
    verb: str, journal: Any, rows: "Rows"
) -> None:
    for number in range(3):
        journal.append(PATH, number, b"before", None, None)
    acknowledged: list[int] = []
    probes = 0

    def call(number: int) -> None:
        VERBS[verb](journal, 1_000 + number)
        if verb == "append":
            acknowledged.append(1_000 + number)

    interrupted = 0
    for number, was_interrupted in interruptions(call):
        interrupted += was_interrupted
        assert not fork_guard._calls, f"a fork would wait, after an interruption at {number}"
        with closing(sqlite3.connect(rows.file, timeout=0, isolation_level=None)) as other_process:
            other_process.execute("BEGIN IMMEDIATE")
            other_process.execute("ROLLBACK")
        journal.append(PROBE, new_record_id(), b"after", None, None)
        probes += 1
        if number % 20 == 0 or not was_interrupted:
            _in_a_thread(lambda: journal.append(PROBE, new_record_id(), b"thread", None, None))
            _in_a_child(lambda: journal.append(PROBE, new_record_id(), b"child", None, None))
            probes += 2
    assert interrupted > 5
    assert len(journal.read({PROBE: ORIGIN})[PROBE].records) == probes
    ids = [record.id for record in journal.read({PATH: ORIGIN})[PATH].records]
    assert len(ids) == len(set(ids))
    assert set(acknowledged) <= set(ids)
    if verb != "compact":
        assert ids[:3] == [0, 1, 2]
    _in_a_thread(journal.close)


@pytest.mark.parametrize("open_again", [False, True])
def test_an_opening_that_is_interrupted_at_any_point_can_be_repeated(
    open_again: bool, kind: "Kind", directory: Path
) -> None:
    if open_again:
        kind.journal(directory / "0", 2.0).close()

    def open_and_close(number: int) -> None:
        kind.journal(directory / ("0" if open_again else str(number)), 2.0).close()

    for number, _ in interruptions(open_and_close):
        assert not fork_guard._calls
        made = kind.journal(directory / ("0" if open_again else str(number)), 2.0)
        assert made.append(PATH, number, b"x", None, None).cursor is not None
        made.close()


HANDLER = """
import signal

class Interrupted(KeyboardInterrupt):
    pass

armed, fired = [], []

def handler(_, frame):
    # Not within this text: what it does about an interrupt is not what is tried.
    if armed and frame is not None and frame.f_code.co_filename != "<string>":
        fired.append(1)
        raise Interrupted

signal.signal(signal.SIGALRM, handler)
"""

SIGNALS = """
import os, random, signal, sqlite3, sys, threading, time
from wmem.errors import StoreError
from wmem.journal.disk import DiskJournal
from wmem.journal.sqlite import SqliteJournal
from wmem.model.history import ORIGIN

kind, place, calls, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
rng = random.Random(seed)
make = {"disk": DiskJournal, "sqlite": SqliteJournal}[kind]
journal = make(place, wait_s=2.0)
PATH = ("agent", "session")

acknowledged, unknown = [], []

def append(number):
    unknown.append(number)
    journal.append(PATH, number, b"x" * rng.randrange(300), None, None)
    acknowledged.append(unknown.pop())

acts = [append] * 6 + [
    lambda _: journal.read({PATH: ORIGIN}),
    lambda _: journal.paths(("agent",)),
    lambda _: journal.append(("agent", "gone"), 1, b"", None, None),
    lambda _: journal.delete(("agent", "gone"), None),
    lambda _: journal.close(),
]
for number in range(100):
    began = time.perf_counter()
    append(number)
    # The least of them: a mean of a busy machine's would be so long that most signals came after their call.
    typical_s = min(typical_s, time.perf_counter() - began) if number else 1.0
interrupted = 0
for number in range(100, calls + 100):
    try:
        armed.append(1)
        if rng.random() < 0.7:
            # The second signal may come while the first one is cleaned up after.
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 3 * typical_s), rng.choice([0, 20e-6]))
        try:
            rng.choice(acts)(number)
        finally:
            armed.clear()
    except Interrupted:
        interrupted += 1
    armed.clear()
    signal.setitimer(signal.ITIMER_REAL, 0)

def probe():
    unknown.append(-1 + 2**40)
    journal.append(PATH, 2**40 - 1, b"thread", None, None)

thread = threading.Thread(target=probe, daemon=True)
thread.start()
thread.join(60)
assert not thread.is_alive(), "a thread waits for ever"
child = os.fork()
if child == 0:
    signal.alarm(60)
    journal.append(PATH, 2**40, b"child", None, None)  # refused if the fork waited in vain for a call to end
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
with_file = place if kind == "sqlite" else place + "/cache.db"
other = sqlite3.connect(with_file, timeout=0, isolation_level=None)
other.execute("BEGIN IMMEDIATE")
other.execute("ROLLBACK")
assert other.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
other.close()
ids = [record.id for record in journal.read({PATH: ORIGIN})[PATH].records]
assert len(ids) == len(set(ids)), "doubled"
assert set(acknowledged) <= set(ids), "lost"
assert ids == sorted(ids), "out of order"
closing = threading.Thread(target=journal.close, daemon=True)
closing.start()
closing.join(60)
assert not closing.is_alive(), "close waits for ever"
print(interrupted, len(acknowledged))
"""
CALLS = int(os.environ.get("WMEM_INTERRUPTED_CALLS", "400"))


@pytest.mark.parametrize("seed", [0])
def test_signals_at_random_places_leave_the_store_usable_by_everybody(
    seed: int, backend: str, kind: "Kind", directory: Path, unmeasured_script: "Script"
) -> None:
    place = kind.url(directory).partition("://")[2]
    printed = unmeasured_script(HANDLER + SIGNALS, backend, place, str(CALLS), str(seed))
    interrupted, acknowledged = map(int, printed.split())
    assert interrupted > CALLS / 20
    assert acknowledged > 100


FORK_IN_A_CALL = """
import logging, os, signal, sys, threading, time
import wmem
from wmem.journal import fork_guard

fork_guard._WAIT_S = 0.2
logging.basicConfig(stream=sys.stdout, format="%(message)s", level=logging.WARNING)
memory = wmem.open(sys.argv[1], agent_id="agent")
memory.scope("s").entries.set("k", 1)
inside, go_on = threading.Event(), threading.Event()

def wait_inside(connection):
    inside.set()
    go_on.wait(60)

database = memory._core.store._backend._journal._database
if sys.argv[2] == "thread":
    call = threading.Thread(target=database.write, args=(wait_inside,), name="slow writer")
    call.start()
    inside.wait(60)

def fork_now(*_):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        for use in (lambda: memory.scope("s").entries.get("k"), lambda: memory.scope("s").entries.set("k", 2)):
            try:
                use()
            except wmem.StoreError as exc:
                print("refused:", exc, flush=True)
        memory.close()
        os._exit(0)
    print("child", os.waitpid(child, 0)[1], flush=True)

if sys.argv[2] == "thread":
    fork_now()
    go_on.set()
    call.join()
else:
    signal.signal(signal.SIGALRM, fork_now)

    def fork_inside(connection):
        signal.raise_signal(signal.SIGALRM)

    database.write(fork_inside)
memory.scope("s").entries.set("k", 3)
child = os.fork()
if child == 0:
    signal.alarm(60)
    os._exit(memory.scope("s").entries.get("k") - 3)
print("child", os.waitpid(child, 0)[1])
"""


@pytest.mark.parametrize("inside", ["thread", "signal"])
def test_a_fork_in_the_middle_of_a_call_waits_for_a_while_says_why_and_its_child_is_refused(
    inside: str, url: str, script: "Script"
) -> None:
    warning, first, second, child, later = script(FORK_IN_A_CALL, url, inside).splitlines()
    assert ("'slow writer'" if inside == "thread" else "this thread itself") in warning
    assert first.startswith("refused: ")
    assert "forked while a call" in first
    assert second.startswith("refused: ")
    assert child == later == "child 0"


def _file_is_open(file: Path) -> bool:
    gc.collect()  # a connection that an interrupt left to nobody is in a cycle of Python's own
    return any(str(each.readlink()).startswith(str(file)) for each in Path("/proc/self/fd").iterdir() if each.exists())


def test_a_memory_whose_opening_or_closing_is_interrupted_at_any_point_is_not_open_for_ever(
    url: str, rows: "Rows"
) -> None:
    def open_and_close(_: int) -> None:
        memory = wmem.open(url, agent_id="agent")
        memory.scope("s").entries.set("k", 1)
        memory.close()

    for _ in interruptions(open_and_close, package="wmem.engine.store", every=1_000):
        gc.collect()  # a scope that was dropped is in a cycle, and keeps its store for as long
        open_and_close(0)  # joins no opening that an interrupt left behind
        assert not any(store.openings for store in _registry.stores.values())
        assert not _file_is_open(rows.file)
    for _ in interruptions(open_and_close, package="wmem.agent"):
        gc.collect()
        open_and_close(0)
    assert not _file_is_open(rows.file)


async def test_a_memory_stays_open_while_others_are_interrupted_at_opening_and_closing(url: str, rows: "Rows") -> None:
    def open_and_close(_: int) -> None:
        wmem.open(url, agent_id="agent").close()

    stays = await wmem.aopen(url, agent_id="agent")
    for number, _ in interruptions(open_and_close, package="wmem.engine.store", every=1_000):
        await stays.scope("s").entries.set("k", number)
        assert await stays.scope("s").entries.get("k") == number
    gc.collect()
    await stays.close()
    assert not _file_is_open(rows.file)


LOGGERS_WITHOUT_LOCKS = """
import asyncio, logging, sys
import wmem

if sys.version_info < (3, 13):
    # A signal that raises while `logging` acquires its lock leaves it taken (CPython's gh-106238), also where asyncio
    # tells that a task of a dropped loop was destroyed. Then every thread hangs that logs at a level for the first
    # time, or in which the garbage collector meets the next such task. A logger that is disabled takes no lock.
    for name in list(logging.root.manager.loggerDict):
        logging.getLogger(name).disabled = True
"""

MEMORY_SIGNALS = """
import os, random, signal, subprocess, sys, threading, time
import wmem

url, calls, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = random.Random(seed)
memory = wmem.open(url, agent_id="agent")
session = memory.scope("s")

acknowledged = []

def append(number):
    session.messages.append({"role": "user", "content": "x" * rng.randrange(300), "id": str(number)})
    acknowledged.append(str(number))

acts = [append] * 4 + [
    lambda n: session.entries.set(f"k{n % 5}", n),
    lambda n: session.entries.update("count", lambda count: count + 1, 0),
    lambda n: session.entries.get("count"),
    lambda n: session.items.add(f"item {n % 50}"),
    lambda n: session.messages.all(),
    lambda n: session.pack("item", budget=500),
    lambda n: session.child(f"c{n % 3}").dispose(),
    lambda n: session.child(f"c{n % 3}").entries.set("k", n),
    lambda n: memory.maintain(),
]
for number in range(50):
    began = time.perf_counter()
    append(number)
    typical_s = min(typical_s, time.perf_counter() - began) if number else 1.0
interrupted = 0
for number in range(50, calls + 50):
    fired.clear()
    try:
        armed.append(1)
        if rng.random() < 0.7:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 4 * typical_s), rng.choice([0, 20e-6]))
        try:
            rng.choice(acts)(number)
        finally:
            armed.clear()
    except BaseException:
        if not fired:  # pydantic makes an error of its own of what is raised in a serializer
            raise
        interrupted += 1
    armed.clear()
    signal.setitimer(signal.ITIMER_REAL, 0)

def use(name):
    scope = memory.scope("s")
    scope.messages.append({"role": "user", "content": name, "id": name})
    acknowledged.append(name)
    scope.entries.set("probe", name)
    assert scope.entries.get("probe") == name

thread = threading.Thread(target=use, args=("thread",), daemon=True)
thread.start()
thread.join(60)
assert acknowledged[-1] == "thread", "a thread waits for ever"
if not url.startswith("memory"):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        use("child")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    acknowledged.append("child")
    code = "import sys, wmem; wmem.open(sys.argv[1], agent_id='agent').scope('s').entries.set('probe', 'other')"
    subprocess.run([sys.executable, "-c", code, url], timeout=300, check=True)
    assert session.entries.get("probe") == "other"
ids = [message.id for message in session.messages.all()]
assert len(ids) == len(set(ids)), "doubled"
assert set(acknowledged) <= set(ids), "lost"
closing = threading.Thread(target=memory.close, daemon=True)
closing.start()
closing.join(60)
assert not closing.is_alive(), "close waits for ever"
if not url.startswith("memory"):
    with wmem.open(url, agent_id="agent") as again:
        assert [message.id for message in again.scope("s").messages.all()] == ids
print(interrupted)
"""


@pytest.mark.parametrize("everywhere", PLAIN)
def test_signals_at_random_places_of_a_memory_lose_nothing_and_block_nobody(
    everywhere: str, request: pytest.FixtureRequest, tmp_path: Path, unmeasured_script: "Script"
) -> None:
    url = make_url(everywhere, request, tmp_path)
    calls = CALLS // 2
    assert int(unmeasured_script(HANDLER + LOGGERS_WITHOUT_LOCKS + MEMORY_SIGNALS, url, str(calls), "1")) > calls / 20


LOOP_SIGNALS = """
import asyncio, logging, os, random, signal, sys, time, warnings
import wmem
warnings.simplefilter('ignore')
logging.disable(logging.CRITICAL)
url, calls, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = random.Random(seed)
memory = wmem.open(url, agent_id="agent").aio()
session = memory.scope("s")

acknowledged = []

async def append(number):
    await session.messages.append({"role": "user", "content": "x" * rng.randrange(300), "id": str(number)})
    acknowledged.append(str(number))

acts = [append] * 4 + [
    lambda n: session.entries.set(f"k{n % 5}", n),
    lambda n: session.entries.get("count"),
    lambda n: session.items.add(f"item {n % 50}"),
    lambda n: session.messages.all(),
]
runner = asyncio.new_event_loop()
for number in range(50):
    began = time.perf_counter()
    runner.run_until_complete(append(number))
    typical_s = min(typical_s, time.perf_counter() - began) if number else 1.0
interrupted = 0
for number in range(50, calls + 50):
    fired.clear()
    runner = asyncio.new_event_loop()
    try:
        armed.append(1)
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 4 * typical_s), rng.choice([0, 20e-6]))
        try:
            runner.run_until_complete(rng.choice(acts)(number))
        finally:
            armed.clear()
    except BaseException:
        if not fired: raise
        interrupted += 1
    armed.clear()
    signal.setitimer(signal.ITIMER_REAL, 0)
for number in range(8):
    asyncio.run(asyncio.wait_for(append(10**9 + number), 60))
child = os.fork()
if child == 0:
    signal.alarm(60)
    asyncio.run(append("child"))
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
acknowledged.append("child")
ids = [message.id for message in asyncio.run(session.messages.all())]
assert len(ids) == len(set(ids)), "doubled"
assert set(acknowledged) <= set(ids), "lost"
asyncio.run(asyncio.wait_for(memory.close(), 60))
print(interrupted)
"""


def test_loops_that_a_signal_ends_at_random_places_leave_the_threads_of_a_store_usable(
    url: str, unmeasured_script: "Script"
) -> None:
    calls = CALLS // 2
    assert int(unmeasured_script(HANDLER + LOGGERS_WITHOUT_LOCKS + LOOP_SIGNALS, url, str(calls), "1")) > calls / 20
