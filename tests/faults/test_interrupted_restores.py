"""A restore or a clear that ends in its middle, as with its process, is done wholly or not at all, for everybody."""

import asyncio
import os
import random
from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

import wmem
from tests.broken_flows import break_off
from tests.faults.test_cancellation import _Stepped as Stepped
from tests.interrupts import Interrupted, interrupt_at
from wmem.engine.ports import CallCancelledError
from wmem.flow import Flow, run
from wmem.journal.port import new_record_id
from wmem.testing.store_bytes import read_store_bytes

if TYPE_CHECKING:
    from tests.faults.conftest import Rows, Spawn

KEY = bytes(range(160, 192))
KEYS = pytest.mark.parametrize("key", [None, KEY], ids=["clear", "key"])
OLD, NEW = "old", "new"
INTERRUPTS = 40
Together: TypeAlias = Callable[[str, list[tuple[str, ...]]], list[str]]


def fill(memory: wmem.AgentMemory, state: str) -> None:
    """A memory of which each scope tells in which state it is; some scopes are there in one of them alone."""
    for names in ((), ("both",), ("both", "task"), ("also",), (f"only {state}",), (f"only {state}", "task")):
        scope = memory.scope(*names)
        scope.entries.set("state", state)
        scope.messages.append({"role": "user", "content": f"said when {state}"})
    memory.semantic.items.add(f"known when {state}", id="known")


def look(memory: wmem.AgentMemory) -> set[str]:
    """The states that can be seen, by every way of looking."""
    seen = set()
    children = memory.working.children()
    for names in [("both",), ("both", "task"), ("also",), *((name,) for name in children), ()]:
        scope = memory.scope(*names)
        seen.add(str(scope.entries.local.get("state")))
        seen |= {message.text.removeprefix("said when ") for message in scope.messages.all()}
    seen |= {item.content.removeprefix("known when ") for item in memory.semantic.items.all()}
    state = min(seen)
    assert children == ["also", "both", f"only {state}"]
    assert memory.scope(f"only {state}").children() == ["task"]
    return seen


LOOKS: dict[str, Callable[[wmem.AgentMemory], object]] = {
    "child": lambda memory: memory.scope("both", "task").entries.get("state"),
    "session": lambda memory: memory.scope("also").messages.all(),
    "absent": lambda memory: memory.scope("only new").entries.get("state"),
    "root": lambda memory: memory.working.entries.get("state"),
    "recall": lambda memory: memory.scope("both").recall("known said"),
    "long-term": lambda memory: memory.semantic.items.all(),
    "children": lambda memory: memory.working.children(),
    "stats": lambda memory: memory.stats(),
    "changes": lambda memory: memory.changes(reserved=True),
    "snapshot": lambda memory: memory.snapshot(),
    "maintain": lambda memory: memory.maintain(),
    "write": lambda memory: memory.scope("both").entries.set("other", 1),
    "update": lambda memory: memory.scope("also").entries.update("state", lambda state: state),
    "create": lambda memory: memory.scope("both", "task").items.add("x"),
}


@pytest.fixture
def saved() -> dict[str, bytes]:
    """Snapshots of both states."""
    made = {}
    for state in (OLD, NEW):
        with wmem.open("memory://", agent_id="agent") as memory:
            fill(memory, state)
            made[state] = bytes(memory.snapshot(key=KEY))
    return made


def acts(saved: dict[str, bytes]) -> dict[str, Callable[[wmem.AgentMemory], Flow[Any]]]:
    return {
        "restore": lambda memory: memory._core.restore(saved[NEW], KEY),
        "clear": lambda memory: memory._core.clear(working=True, context=True, long_term=True),
    }


@KEYS
def test_a_restore_that_breaks_off_anywhere_is_seen_wholly_or_not_at_all(
    any_url: str, key: bytes | None, saved: dict[str, bytes]
) -> None:
    """By who has read before and by who has not, whatever is looked at first."""
    looks = list(LOOKS.items())
    with ExitStack() as stack:

        def opened() -> wmem.AgentMemory:
            return stack.enter_context(wmem.open(any_url, agent_id="agent", key=key))

        keeper, writer, warm = opened(), opened(), opened()
        states = []
        for asks in count(1):
            keeper.restore(saved[OLD], key=KEY)
            assert look(warm) == {OLD}
            complete = break_off(writer._core.restore(saved[NEW], KEY), writer._core.ports.sync, asks)
            name, first = looks[asks % len(looks)]
            first(warm)
            seen = look(warm)
            assert seen in ({OLD}, {NEW}), f"after {asks} calls, looking first at {name}"
            with wmem.open(any_url, agent_id="agent", key=key) as cold:
                assert look(cold) == seen
            assert look(keeper) == seen
            if seen == {NEW}:
                _expect_purged(warm, any_url, key)
            states.append(seen)
            if complete:
                break
        assert states == sorted(states, key=lambda seen: seen == {NEW}), "from one call on it is going to be done"
        assert len(states) > 8
        assert states[0] == {OLD}


@KEYS
def test_a_clear_that_breaks_off_anywhere_is_seen_wholly_or_not_at_all(
    any_url: str, key: bytes | None, saved: dict[str, bytes]
) -> None:
    with ExitStack() as stack:

        def opened() -> wmem.AgentMemory:
            return stack.enter_context(wmem.open(any_url, agent_id="agent", key=key))

        writer, warm = opened(), opened()
        for asks in count(1):
            writer.restore(saved[OLD], key=KEY)
            assert look(warm) == {OLD}
            clear = writer._core.clear(working=True, context=True, long_term=True)
            complete = break_off(clear, writer._core.ports.sync, asks)
            held = [count_all(warm)]
            with wmem.open(any_url, agent_id="agent", key=key) as cold:
                held.append(count_all(cold))
            assert held in ([13, 13], [0, 0]), f"after {asks} calls"
            if held == [0, 0]:
                _expect_purged(warm, any_url, key)
            if complete:
                assert held == [0, 0]
                return


def _expect_purged(memory: wmem.AgentMemory, url: str, key: bytes | None) -> None:
    """Whoever did it at last, maintenance of its process leaves no bytes of what was there."""
    memory.maintain()
    assert key is not None or b"said when old" not in read_store_bytes(url)


def count_all(memory: wmem.AgentMemory) -> int:
    """How many rows can be read, beginning with what is cleared first: nothing is done before somebody meets it."""
    rows = 0
    for names in (("also",), ("both",), ("both", "task"), ("only old",), ("only old", "task"), ()):
        scope = memory.scope(*names)
        rows += len(scope.entries.local.all()) + len(scope.messages.all())
    return rows + len(memory.semantic.items.all())


@pytest.mark.parametrize("scheme", ["memory", "sqlite", "disk"])
async def test_a_restore_that_is_cancelled_at_any_await_is_seen_wholly_or_not_at_all(
    scheme: str, saved: dict[str, bytes], directory: Path
) -> None:
    url = f"{scheme}://{directory}"
    async with await wmem.aopen(url, agent_id="agent") as writer:
        for step in count():
            await writer.restore(saved[OLD], key=KEY)
            stepped = Stepped(writer.restore(saved[NEW], key=KEY), step)
            with suppress(asyncio.CancelledError, CallCancelledError):
                await stepped
            assert await asyncio.to_thread(look, writer.sync()) in ({OLD}, {NEW}), f"at await {step}"
            if not stepped.cancelled:
                assert step > (-1 if scheme == "memory" else 8)
                return


@pytest.mark.parametrize("scheme", ["memory", "sqlite"])
def test_a_restore_that_a_signal_interrupts_anywhere_is_seen_wholly_or_not_at_all(
    scheme: str, saved: dict[str, bytes], directory: Path
) -> None:
    chance = random.Random(11)
    with wmem.open(f"{scheme}://{directory}", agent_id="agent") as memory:
        interrupted = 0
        for _ in range(INTERRUPTS):
            memory.restore(saved[OLD], key=KEY)
            with suppress(Interrupted):
                interrupt_at(chance.randrange(6_000), lambda: memory.restore(saved[NEW], key=KEY))
            seen = look(memory)
            assert seen in ({OLD}, {NEW})
            interrupted += seen == {OLD}
        assert interrupted > INTERRUPTS / 20


class _Forestalled(dict[str, Any]):
    """The ports of a memory whose replacement of its own scope comes too late a few times: another process writes.

    Attributes:
        read: How many records each read of the scope replied.
        sent: What was to be appended there.
    """

    def __init__(self, memory: wmem.AgentMemory, times: int) -> None:
        super().__init__(memory._core.ports.sync)
        self._codec, self._path, self._left = memory._core.store.engine.codec, memory.scope().path, times
        self.read: list[int] = []
        self.sent: list[object] = []

    def __getitem__(self, name: str) -> Any:
        method = super().__getitem__(name)

        def call(*args: Any) -> Any:
            if name == "Journal.append" and args[0] == self._path:
                self.sent.append(args[2])
                if len(self.sent) <= self._left:
                    id = new_record_id()
                    method(self._path, id, self._codec.encode_record([], self._path, id), None, None)
            reply = method(*args)
            if name == "Journal.read" and [*args[0]] == [self._path] and len(self.sent) <= self._left:
                self.read.append(len(reply[self._path].records))
            return reply

        return call


def test_a_restore_that_comes_too_late_reads_and_writes_again_only_what_is_new(
    url: str, saved: dict[str, bytes]
) -> None:
    with wmem.open(url, agent_id="agent") as memory:
        for number in range(50):
            memory.scope().messages.append({"role": "user", "content": f"message {number}"})
        ports = _Forestalled(memory, 5)
        run(memory._core.restore(saved[NEW], KEY), ports)
        assert look(memory) == {NEW}
        assert (len(ports.sent), len({id(each) for each in ports.sent})) == (6, 1)
        assert [each for each in ports.read if each] == [50, 1, 1, 1, 1, 1]


def test_a_scope_that_holds_damage_is_named_by_a_snapshot_and_mended_by_a_restore(url: str, rows: "Rows") -> None:
    with wmem.open(url, agent_id="agent") as memory:
        for names in (("s",), ()):
            memory.scope(*names).entries.set("first", 1)
            memory.scope(*names).entries.set("second", 2)
        whole = memory.snapshot(key=KEY)
    for name in ('["agent","s"]', '["agent"]'):
        rows.forge(rows.records(name)[-1], b"not what was written")
        with wmem.open(url, agent_id="agent") as memory:
            with pytest.raises(wmem.CorruptionError, match="damaged"):
                memory.snapshot()
            memory.restore(whole, key=KEY)
            for names in (("s",), ()):
                assert memory.scope(*names).entries.local.keys() == ["first", "second"]
                assert memory.scope(*names).entries.get("third") is None
            assert memory.snapshot(key=KEY).items == whole.items


def test_an_intent_that_cannot_be_read_refuses_reads_until_a_snapshot_is_restored(
    url: str, rows: "Rows", saved: dict[str, bytes]
) -> None:
    with wmem.open(url, agent_id="agent") as memory:
        memory.restore(saved[OLD], key=KEY)
        for asks in count(1):
            break_off(memory._core.restore(saved[NEW], KEY), memory._core.ports.sync, asks)
            if ("agent", "~pending") in memory._core.store.sync_ports["Journal.paths"](("agent",)):
                break
    rows.forge(rows.records('["agent","~pending"]')[0], b"not what was written")
    with wmem.open(url, agent_id="agent") as memory:
        with pytest.raises(wmem.CorruptionError, match="restored or cleared"):
            memory.scope("both").entries.get("state")
        memory.restore(saved[NEW], key=KEY)
        assert look(memory) == {NEW}


# Forks one process for each line it reads, which is killed after so many calls of its ports.
NURSERY = """
    import os, signal, sys
    import wmem, wmem.journal.disk, wmem.journal.sqlite
    from pathlib import Path

    url, key, snapshot = sys.argv[1], bytes.fromhex(sys.argv[2]) or None, Path(sys.argv[3]).read_bytes()

    with wmem.open("memory://", agent_id="agent") as memory:  # imports, once for all
        memory.restore(snapshot, key=bytes.fromhex(sys.argv[4]))
        memory.clear()

    def run(act, asks):
        memory = wmem.open(url, agent_id="agent", key=key)
        core = memory._core
        flow = core.restore(snapshot, bytes.fromhex(sys.argv[4]))
        if act == "clear":
            flow = core.clear(working=True, context=True, long_term=True)
        reply = None
        for _ in range(asks):
            try:
                name, args = flow.send(reply)
            except StopIteration:
                os.write(1, b"complete\\n")
                break
            reply = core.ports.sync[name](*args)
        os.kill(os.getpid(), signal.SIGKILL)

    for line in sys.stdin:
        act, asks = line.split()
        pid = os.fork()
        if pid == 0:
            run(act, int(asks))
        os.waitpid(pid, 0)
        os.write(1, b"dead\\n")
"""


@KEYS
def test_a_process_that_is_killed_at_any_step_leaves_the_agent_wholly_old_or_wholly_new(
    shared_url: str, key: bytes | None, saved: dict[str, bytes], spawn: "Spawn", tmp_path: Path
) -> None:
    # A process for each step takes long: the steps are the same on each store, and taken in turns.
    stride = int(os.environ.get("WMEM_KILLED_STEPS", "5"))
    file = tmp_path / "snapshot"
    file.write_bytes(saved[NEW])
    nursery = spawn(NURSERY, shared_url, (key or b"").hex(), str(file), KEY.hex())
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    for act in ("restore", "clear"):
        complete = False
        for asks in count(1 + len(shared_url) % stride, stride):
            with wmem.open(shared_url, agent_id="agent", key=key) as memory:
                memory.restore(saved[OLD], key=KEY)
            nursery.stdin.write(f"{act} {asks}\n")
            nursery.stdin.flush()
            while (line := nursery.stdout.readline().strip()) != "dead":
                assert line, nursery.communicate()[1]
                complete = complete or line == "complete"
            with wmem.open(shared_url, agent_id="agent", key=key) as memory:
                if act == "restore":
                    assert look(memory) in ({OLD}, {NEW}), f"killed after {asks} calls"
                else:
                    assert count_all(memory) in (13, 0), f"killed after {asks} calls"
            if complete:
                break
    assert asks > 4


RESTORER = """
    import sys
    import wmem
    from pathlib import Path

    url, file, key, rounds = sys.argv[1], Path(sys.argv[2]), bytes.fromhex(sys.argv[3]), int(sys.argv[4])
    memory = wmem.open(url, agent_id="agent")
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(rounds):
        memory.restore(file.read_bytes(), key=key)
    print("done")
"""

READER = """
    import sys
    import wmem

    memory = wmem.open(sys.argv[1], agent_id="agent")
    print("ready", flush=True)
    sys.stdin.readline()
    names = [("both",), ("both", "task"), ("also",)]
    for number in range(int(sys.argv[2])):
        scope = memory.scope(*names[number % 3])
        view = scope.view()
        seen = {view.entries.local.get("state"), *[m.text.removeprefix("said when ") for m in view.messages.all()]}
        assert len(seen) == 1, seen
        hits = [hit.text for hit in scope.recall("said known")]
        hits = {text.split(" when ")[1] for text in hits if " when " in text}
        assert len(hits) == 1, hits
    print("done")
"""


def test_processes_that_restore_at_once_leave_one_of_their_states_and_no_reader_sees_two(
    shared_url: str,
    saved: dict[str, bytes],
    together: Together,
    tmp_path: Path,
) -> None:
    files = {state: tmp_path / state for state in saved}
    for state, file in files.items():
        file.write_bytes(saved[state])
    with wmem.open(shared_url, agent_id="agent") as memory:
        memory.restore(saved[OLD], key=KEY)
    both = f"""
    import sys
    if len(sys.argv) > 3:
        exec({_text(RESTORER)!r})
    else:
        exec({_text(READER)!r})
    """
    restorers = [(shared_url, str(file), KEY.hex(), "12") for file in files.values()]
    assert together(both, [*restorers, (shared_url, "60"), (shared_url, "60")]) == ["done\n"] * 4
    with wmem.open(shared_url, agent_id="agent") as memory:
        assert look(memory) in ({OLD}, {NEW})


def _text(code: str) -> str:
    return "\n".join(line[4:] for line in code.splitlines())


WRITER = """
    import sys
    import wmem
    from wmem.errors import ConflictError, DisposedError

    memory = wmem.open(sys.argv[1], agent_id="agent")
    scopes = [memory.scope("both"), memory.scope("also"), memory.scope("both", "task")]
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(sys.argv[2])):
        scopes[number % 3].messages.append({"role": "user", "content": str(number), "id": f"w{number}"})
    print("done")
"""


def test_of_a_writers_writes_a_restore_takes_the_earlier_ones_and_leaves_the_later_ones(
    shared_url: str,
    saved: dict[str, bytes],
    together: Together,
    tmp_path: Path,
) -> None:
    """Whatever scopes they went to: none after one that stayed is gone."""
    (tmp_path / "new").write_bytes(saved[NEW])
    with wmem.open(shared_url, agent_id="agent") as memory:
        memory.restore(saved[OLD], key=KEY)
    both = f"""
    import sys
    if len(sys.argv) > 3:
        exec({_text(RESTORER)!r})
    else:
        exec({_text(WRITER)!r})
    """
    writes = 300
    together(both, [(shared_url, str(tmp_path / "new"), KEY.hex(), "3"), (shared_url, str(writes))])
    with wmem.open(shared_url, agent_id="agent") as memory:
        held = [memory.scope(*names).messages.all() for names in (("both",), ("also",), ("both", "task"))]
        stayed = sorted(int(message.text) for messages in held for message in messages if message.text.isdigit())
        assert stayed == list(range(writes - len(stayed), writes))
