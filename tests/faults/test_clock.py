"""A clock that jumps an hour either way while everybody writes loses nothing that was acknowledged, on any store."""

import asyncio
import random
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import wmem
from wmem.testing import NOON
from wmem.testing.opener import _without_open_stores as apart

WRITERS, EACH = 4, 12
_QUEUE = wmem.Policy.queue(max_items=4)


class JumpingClock:
    """An hour back, or on, or right, as chance has it; it stands when it is told to."""

    def __init__(self) -> None:
        self._chance = random.Random(11)
        self.standing: float | None = None

    def __call__(self) -> float:
        return NOON + self._chance.choice([-3_600.0, 0.0, 3_600.0]) if self.standing is None else self.standing


def _acts(me: int, number: int) -> list[Callable[[Any], Any]]:
    """What a writer does in one round; each is a call of a session's face."""
    name = f"{me}-{number}"
    return [
        lambda scope: scope.messages.append({"role": "user", "content": name, "id": f"m{name}"}),
        lambda scope: scope.entries.set(f"e{name}", name),
        lambda scope: scope.entries.update("count", lambda count: count + 1, 0),
        lambda scope: scope.items.add(name, ttl_s=None),
        lambda scope: scope.items.add(f"long {name}", ttl_s=20_000.0),
        lambda scope: scope.queue.advance_step(),
        lambda scope: scope.child(f"c{me}").entries.set(f"e{number}", number, ttl_s=20_000.0),
    ]


def _with_threads(memories: list[wmem.AgentMemory]) -> None:
    def write(me: int) -> None:
        memory = memories[me % 2]
        for number in range(EACH):
            for act in _acts(me, number):
                act(memory.scope("s"))
            memory.scope("queue", policy=_QUEUE).queue.memorize(f"{me}-{number}")
            memory.maintain()

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))


def _with_coroutines(memories: list[wmem.AgentMemory]) -> None:
    async def write(me: int) -> None:
        memory = memories[me % 2].aio()
        for number in range(EACH):
            for act in _acts(me, number):
                await act(memory.scope("s"))
            await memory.scope("queue", policy=_QUEUE).queue.memorize(f"{me}-{number}")
            await memory.maintain()

    async def main() -> None:
        await asyncio.gather(*map(write, range(WRITERS)))

    asyncio.run(main())


def _shown(memory: wmem.AgentMemory) -> list[Any]:
    session = memory.scope("s")
    scopes = [session, memory.scope("queue", policy=_QUEUE), *(session.child(f"c{me}") for me in range(WRITERS))]
    return [scope.export() for scope in scopes]


@pytest.mark.parametrize("writing", [_with_threads, _with_coroutines])
def test_a_clock_that_jumps_an_hour_either_way_loses_nothing(
    writing: Callable[[list[wmem.AgentMemory]], None], any_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wmem.engine.writing.COMPACT_MIN_BYTES", 4_000)
    clock = JumpingClock()
    memories = []
    for _ in range(3):
        with apart():
            memories.append(wmem.open(any_url, agent_id="agent", clock=clock))
    writing(memories[:2])
    clock.standing = NOON
    shown = _shown(memories[0])
    # The third has not read a thing until now.
    assert shown == _shown(memories[1]) == _shown(memories[2])

    session = memories[2].scope("s")
    names = [f"{me}-{number}" for me in range(WRITERS) for number in range(EACH)]
    assert session.entries.get("count") == len(names)
    assert session.stats().step == len(names)
    said = [message.id or "" for message in session.messages.all()]
    assert sorted(said) == sorted(f"m{name}" for name in names)
    for me in range(WRITERS):
        assert [id for id in said if id.startswith(f"m{me}-")] == [f"m{me}-{number}" for number in range(EACH)]
        assert session.child(f"c{me}").entries.local.count() == EACH
    contents = [item.content for item in session.items.all()]
    assert sorted(contents) == sorted([*names, *(f"long {name}" for name in names)])
    assert set(session.entries.keys()) == {"count", *(f"e{name}" for name in names)}
    assert memories[2].scope("queue", policy=_QUEUE).queue.capacity().items == 4
    for memory in memories:
        memory.close()


def test_what_a_clock_ahead_stored_expires_when_its_time_is_over_by_a_clock_that_is_right(any_url: str) -> None:
    clock = JumpingClock()
    with wmem.open(any_url, agent_id="agent", clock=clock) as memory:
        session = memory.scope("s")
        clock.standing = NOON + 3_600
        ahead = session.items.add("stored ahead", ttl_s=60.0)
        clock.standing = NOON
        right = session.items.add("stored right", ttl_s=60.0)
        assert session.items.exists(ahead.id)
        assert session.items.exists(right.id)
        clock.standing = NOON + 60
        assert not session.items.exists(right.id)
        assert memory.maintain().expired == 1
        # An hour is what clocks may differ by: it goes when its own time comes, and not a second later.
        clock.standing = NOON + 3_659.9
        assert session.items.exists(ahead.id)
        clock.standing = NOON + 3_660
        assert not session.items.exists(ahead.id)
        assert [item.id for item in session.items.expired()] == [ahead.id]
        assert memory.maintain().expired == 1


def test_an_item_that_a_clock_ahead_saw_expire_is_there_again_when_the_clock_is_set_right(any_url: str) -> None:
    clock = JumpingClock()
    with wmem.open(any_url, agent_id="agent", clock=clock) as memory:
        session = memory.scope("s")
        clock.standing = NOON
        item = session.items.add("for ten minutes", ttl_s=600.0)
        session.entries.set("k", 1, ttl_s=600.0)
        clock.standing = NOON + 3_600
        assert session.items.get(item.id) is None
        assert session.entries.get("k") is None
        clock.standing = NOON
        assert session.items.get(item.id) is not None
        assert session.entries.get("k") == 1


REFUSED_CLOCK = """
import time
time.CLOCK_BOOTTIME = 4_095  # no kernel has it: refused like a clock that a sandbox does not allow
try:
    time.clock_gettime(time.CLOCK_BOOTTIME)
except OSError:
    import wmem
    with wmem.open("memory://", agent_id="a") as memory:
        memory.working.entries.set("k", 1, ttl_s=60)
        age = time.time() - memory.working.entries.entry("k").created_at
        assert -5 < age < 60, age
    print("stored")
"""


def test_a_system_that_refuses_the_clock_which_counts_sleep_is_served_by_another() -> None:
    done = subprocess.run([sys.executable, "-c", REFUSED_CLOCK], check=False, capture_output=True, text=True)
    assert done.stdout.strip() == "stored", done.stderr
