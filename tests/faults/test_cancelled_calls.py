"""Every write of every facet, cancelled in each of its calls to the store, leaves each of its records whole or absent.

A call is cancelled before it is sent, while it is under way, or when it has succeeded and
its reply is not there yet. Afterwards every engine on the store sees the same.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import pytest

import wmem
from tests.soak.world import Names
from wmem.testing import Clock as StandingClock
from wmem.testing.opener import _without_open_stores as apart

Fate: TypeAlias = Literal["before", "during", "after"]

# Coverage, which takes nearly as long as the calls, is taken where most is left to do: after a call that succeeded.
FATES = [pytest.param(fate, marks=() if fate == "after" else pytest.mark.no_cover) for fate in get_args(Fate)]
_SCOPES: tuple[tuple[str, ...], ...] = ((), ("s",), ("s", "draft"), ("s", "fresh"), ("queue",))
_QUEUE = wmem.Policy.queue(max_items=2)
_MOST_CALLS = 60


class Scene(NamedTuple):
    """One agent's memory in which there is something of everything."""

    memory: wmem.AsyncAgentMemory
    session: wmem.AsyncScope
    queue: wmem.AsyncScope
    critical: str
    plain: str
    forgotten: str
    document: Mapping[str, Any]
    clock: StandingClock


Act: TypeAlias = Callable[[Scene], Awaitable[object]]


async def _worked(scene: Scene) -> None:
    async with scene.session.temporary("work", merge=True) as scope:
        await scope.entries.set("found", 1)
        await scope.items.add("an insight", ttl_s=None)


SINGLE: dict[str, Act] = {
    "entries.set": lambda at: at.session.entries.set("k", 2),
    "entries.update": lambda at: at.session.entries.update("k", lambda value: value + 1),
    "entries.get_or_set": lambda at: at.session.entries.get_or_set("absent", lambda: 5),
    "entries.remove": lambda at: at.session.entries.remove("k"),
    "entries.clear": lambda at: at.session.entries.clear(),
    "items.add": lambda at: at.session.items.add("another"),
    "items.update": lambda at: at.session.items.update(at.plain, content="changed"),
    "items.remove": lambda at: at.session.items.remove(at.plain),
    "items.expire": lambda at: at.session.items.expire(at.plain),
    "items.extend_ttl": lambda at: at.session.items.extend_ttl(at.plain, 60.0),
    "items.undelete": lambda at: at.session.items.undelete(at.forgotten),
    "items.relate": lambda at: at.session.items.relate(at.plain, "about", at.critical),
    "items.clear": lambda at: at.session.items.clear(),
    "queue.memorize": lambda at: at.queue.queue.memorize("a third"),
    "queue.forget, soft": lambda at: at.queue.queue.forget("oldest"),
    "queue.advance_step": lambda at: at.queue.queue.advance_step(),
    "queue.evict_to": lambda at: at.queue.queue.evict_to(items=0),
    "messages.append": lambda at: at.session.messages.append([{"role": "user", "content": f"{n}"} for n in range(3)]),
    "messages.replace": lambda at: at.session.messages.replace([{"role": "user", "content": f"{n}"} for n in range(3)]),
    "messages.pop": lambda at: at.session.messages.pop(),
    "messages.remove": lambda at: at.session.messages.remove("m1"),
    "messages.clear": lambda at: at.session.messages.clear(),
    "a scope's birth": lambda at: at.session.child("fresh").entries.set("k", 1),
    "merge_to_parent": lambda at: at.session.child("draft").merge_to_parent(items=True),
    "clear": lambda at: at.session.clear(),
    "import_": lambda at: at.session.child("fresh").import_(at.document),
    "temporary": _worked,
}
"""What writes one record: all of it is there, or nothing."""

SEVERAL: dict[str, Act] = {
    "items.promote": lambda at: at.session.items.promote(at.plain),
    "items.promote_many": lambda at: at.session.items.promote_many([at.plain, at.critical]),
    "queue.forget, hard": lambda at: at.queue.queue.forget("before:step_1", mode="hard"),
    "erase": lambda at: at.session.erase(at.plain),
    "dispose": lambda at: _disposed(at.memory.scope("s", "draft")),
    "maintain": lambda at: at.memory.maintain(),
}
"""What writes several: asking again brings it to its end, as if nothing had been."""


async def _disposed(scope: wmem.AsyncScope) -> None:
    await scope.dispose()


@dataclass
class Cutter:
    """Cancels the task that makes a certain call."""

    call: int
    fate: Fate
    calls: int = 0
    cut: bool = False

    def around(self, port: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def called(*args: Any) -> Any:
            self.calls += 1
            if self.cut or self.calls <= self.call:
                return await port(*args)
            self.cut = True
            task = asyncio.current_task()
            assert task is not None
            if self.fate != "after":
                task.cancel()
            if self.fate == "before":
                await asyncio.sleep(0)
            reply = await port(*args)
            task.cancel()  # nothing waited in a store that answers at once
            await asyncio.sleep(0)
            return reply

        return called


@lru_cache(1)
def _documents() -> dict[tuple[str, ...], dict[str, Any]]:
    """What every scene begins with, by scope; written once, imported for each."""
    clock = StandingClock()
    with wmem.open("memory://", agent_id="agent", clock=clock) as memory:
        session, queue = memory.scope("s"), memory.scope("queue", policy=_QUEUE)
        session.messages.append([{"role": "user", "content": "one", "id": "m1"}, {"role": "user", "content": "two"}])
        session.entries.set("k", 1)
        session.entries.set("brief", 1, ttl_s=1.0)
        session.items.add("matters", priority="critical")
        session.items.add("is there", type="fact")
        session.items.add("forgotten")
        session.queue.forget("position:2")
        session.child("draft").entries.set("k", "theirs")
        session.child("draft").items.add("a finding", ttl_s=None)
        for number in range(2):
            queue.queue.memorize(f"item {number}")
        return {scope.path[1:]: scope.export() for scope in (session, session.child("draft"), queue)}


async def _scene(url: str, agent: str, clock: StandingClock) -> Scene:
    memory = await wmem.aopen(url, agent_id=agent, clock=clock)
    documents = _documents()
    for path, document in documents.items():
        await memory.scope(*path, policy=_QUEUE if path == ("queue",) else None).import_(document)
    clock.advance(2.0)
    critical, plain, forgotten = (memory["id"] for memory in documents["s",]["memories"])
    queue = memory.scope("queue", policy=_QUEUE)
    return Scene(memory, memory.scope("s"), queue, critical, plain, forgotten, documents["s", "draft"], clock)


async def _shown(memory: wmem.AsyncAgentMemory) -> str:
    """Everything that is there, the same for equal states."""
    scopes = [memory.scope(*path, policy=_QUEUE if path == ("queue",) else None) for path in _SCOPES]
    return Names().told([await scope.export() for scope in (*scopes, memory.semantic, memory.episodic)])


class Case:
    """One write on one store, with an agent of its own for every try."""

    def __init__(self, name: str, act: Act, url: str) -> None:
        self._act = act
        self._url = url
        self._agents = (f"{name} {number}" for number in itertools.count())

    async def scene(self) -> tuple[Scene, str, StandingClock]:
        agent, clock = next(self._agents), StandingClock()
        return await _scene(self._url, agent, clock), agent, clock

    async def act(self, scene: Scene) -> None:
        await self._act(scene)

    async def bounds(self) -> tuple[str, str]:
        """What is shown before the write, and after it."""
        scene, _, _ = await self.scene()
        none = await _shown(scene.memory)
        await self.act(scene)
        whole = await _shown(scene.memory)
        await scene.memory.close()
        return none, whole

    async def cut(self, number: int, fate: Fate, then: Act | None = None) -> str | None:
        """What two engines show after a try whose call was cancelled; None when it made no such call."""
        scene, agent, clock = await self.scene()
        modes = scene.memory._core.ports
        cutter, ports = Cutter(number, fate), modes.aio
        modes.aio = {name: cutter.around(port) for name, port in ports.items()}
        task = asyncio.create_task(self.act(scene))
        await asyncio.wait([task])
        assert task.cancelled() is cutter.cut
        modes.aio = ports
        if not task.cancelled():
            task.result()
        if then is not None:
            await then(scene)
        shown = await _shown(scene.memory)
        with apart():
            other = await wmem.aopen(self._url, agent_id=agent, clock=clock)
        assert await _shown(other) == shown, "two engines disagree"
        await other.close()
        # The same engine goes on.
        await scene.session.entries.set("next", 1)
        assert await scene.session.entries.get("next") == 1
        await scene.memory.close()
        return shown if cutter.cut else None

    async def each_cut(self, fate: Fate, then: Act | None = None) -> AsyncIterator[str]:
        """What is shown after each try, the first call cancelled, then the second, until it makes no more."""
        for number in range(_MOST_CALLS):
            if (shown := await self.cut(number, fate, then)) is None:
                assert number > 0
                return
            yield shown
        pytest.fail("it never came to an end")


@pytest.fixture
async def store(any_url: str) -> AsyncIterator[str]:
    """A store whose engine all scenes share."""
    async with await wmem.aopen(any_url, agent_id="holder"):
        yield any_url


@pytest.mark.parametrize("fate", FATES)
@pytest.mark.parametrize("name", SINGLE)
async def test_B86_a_write_cancelled_in_any_call_is_there_whole_or_not_at_all(
    name: str, fate: Fate, store: str
) -> None:
    case = Case(name, SINGLE[name], store)
    bounds = await case.bounds()
    assert bounds[0] != bounds[1]
    async for shown in case.each_cut(fate):
        assert shown in bounds


@pytest.mark.parametrize("fate", FATES)
@pytest.mark.parametrize("name", SEVERAL)
async def test_B86_an_act_of_several_records_cancelled_in_any_call_can_be_asked_for_again(
    name: str, fate: Fate, store: str
) -> None:
    case = Case(name, SEVERAL[name], store)
    none, whole = await case.bounds()
    assert none != whole
    async for shown in case.each_cut(fate, then=case.act):
        assert shown == whole


@pytest.mark.parametrize("fate", FATES)
async def test_B86_a_fetch_cancelled_in_any_call_promotes_once_and_counts_nothing_twice(fate: Fate, store: str) -> None:
    async def then(scene: Scene) -> None:
        scene.clock.advance(2.0)  # long-term ids tell the second: a second copy would have another
        item = await scene.session.items.fetch(scene.critical)
        assert item.access_count in (2, 3)  # a count may be lost with what it was to be stored with
        (copy,) = await scene.memory.episodic.items.all()
        assert copy.id == item.promoted_to
        await scene.session.entries.set("k", "written, and with it what was counted")

    case = Case("items.fetch", lambda at: at.session.items.fetch(at.critical), store)
    assert [shown async for shown in case.each_cut(fate, then)]


async def test_the_cutter_cuts_where_it_says() -> None:
    done: list[str] = []

    async def port(name: str) -> None:
        done.append(f"{name} sent")
        await asyncio.sleep(0)
        done.append(f"{name} done")

    async def told(fate: Fate) -> list[str]:
        done.clear()
        called = Cutter(1, fate).around(port)
        await called("first")
        task = asyncio.create_task(_awaited(called, "second"))
        await asyncio.wait([task])
        assert task.cancelled()
        return done[2:]

    assert await told("before") == []
    assert await told("during") == ["second sent"]
    assert await told("after") == ["second sent", "second done"]


async def _awaited(called: Callable[..., Awaitable[None]], name: str) -> None:
    await called(name)
