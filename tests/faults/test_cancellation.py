"""A cancelled task leaves all of a write or none, and an engine that works."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import wmem
from wmem.engine.pool import Pool
from wmem.engine.ports import PooledJournal
from wmem.journal.sqlite import SqliteJournal
from wmem.model.history import ORIGIN

Act = Callable[[wmem.AsyncScope], Awaitable[object]]

ACTS: dict[str, Act] = {
    "append": lambda scope: scope.messages.append([{"role": "user", "content": f"{part}"} for part in range(3)]),
    "set": lambda scope: scope.entries.set("key", "value"),
    "update": lambda scope: scope.entries.update("count", lambda count: count + 1, 0),
    "add": lambda scope: scope.items.add("item"),
    "replace": lambda scope: scope.messages.replace([{"role": "user", "content": f"{part}"} for part in range(3)]),
    "birth": lambda scope: scope.child("fresh").messages.append(
        [{"role": "user", "content": f"{n}"} for n in range(3)]
    ),
    "merge": lambda scope: scope.child("draft").merge_to_parent(),
    "dispose": lambda scope: scope.child("draft").dispose(),
    "compaction": lambda scope: scope.messages.append([{"role": "user", "content": "x" * 30_000} for _ in range(3)]),
}


class _Stepped:
    """Awaits something step by step and throws a cancellation in before a given step."""

    def __init__(self, awaited: Awaitable[object], cancel_at: int) -> None:
        self._steps = awaited.__await__()
        self._left = cancel_at
        self.cancelled = False

    def __await__(self) -> Any:
        reply: object = None
        while True:
            try:
                if self._left == 0:
                    self.cancelled = True
                    waited = self._steps.throw(asyncio.CancelledError())
                else:
                    waited = self._steps.send(reply)
            except StopIteration as done:
                return done.value
            self._left -= 1
            reply = yield waited


async def _told(scope: wmem.AsyncScope) -> tuple[object, ...]:
    return (
        [message.text for message in await scope.messages.all()],
        {key: item.content for key, item in (await scope.entries.all()).items()},
        [item.content for item in await scope.items.all()],
        await scope.children(),
        [message.text for message in await scope.child("fresh").messages.all()],
    )


async def _prepared(url: str) -> wmem.AsyncAgentMemory:
    memory = await wmem.aopen(url, agent_id="agent")
    scope = memory.scope("session")
    await scope.messages.append({"role": "user", "content": "before"})
    await scope.child("draft").entries.set("found", 1)
    return memory


@pytest.mark.parametrize("scheme", ["disk", "sqlite", "memory"])
@pytest.mark.parametrize("name", ACTS)
async def test_B86_a_task_cancelled_at_any_await_leaves_all_of_a_write_or_none(
    name: str, scheme: str, directory: Path
) -> None:
    act = ACTS[name]
    base = f"{scheme}://{directory}"
    memory = await _prepared(f"{base}/whole")
    none = await _told(memory.scope("session"))
    await act(memory.scope("session"))
    whole = await _told(memory.scope("session"))
    assert whole != none
    await memory.close()

    for step in range(60):
        memory = await _prepared(f"{base}/{step}")
        scope = memory.scope("session")
        stepped = _Stepped(act(scope), step)
        try:
            await stepped
        except asyncio.CancelledError:
            assert stepped.cancelled
        # The same engine goes on, whatever became of the write.
        await scope.messages.append({"role": "user", "content": "the next"})
        after = await _told(scope)
        await memory.close()
        memory = await wmem.aopen(f"{base}/{step}", agent_id="agent")
        there = await _told(memory.scope("session"))
        await memory.close()
        assert there == after
        texts = [text for text in there[0] if text != "the next"]  # type: ignore[attr-defined]  # a list of texts
        # `replace` may land before or after the next append: it takes it along or not.
        assert (texts, *there[1:]) in ((none[0], *none[1:]), (whole[0], *whole[1:])), f"torn at await {step}"
        if not stepped.cancelled:
            assert step > (-1 if scheme == "memory" else 0)
            return
    pytest.fail("it never came to an end")


async def test_B86_tasks_cancelled_in_the_middle_of_many_writes_break_nothing(any_url: str) -> None:
    async with await wmem.aopen(any_url, agent_id="agent") as memory:
        session = memory.scope("session")
        acknowledged: list[str] = []

        async def write(me: int) -> None:
            for number in range(200):
                id = f"{me}-{number}"
                await session.messages.append([{"role": "user", "content": "x", "id": f"{id}.{part}"} for part in "ab"])
                acknowledged.append(id)
                await session.entries.update("count", lambda count: count + 1, 0)

        tasks = [asyncio.create_task(write(me)) for me in range(6)]
        for task in tasks:
            while not task.done() and len(acknowledged) < 5 * (tasks.index(task) + 1):  # noqa: ASYNC110  # any turn of the loop
                await asyncio.sleep(0)
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        ids = [message.id or "" for message in await session.messages.all()]
        assert len(ids) == len(set(ids))
        assert {f"{id}.{part}" for id in acknowledged for part in "ab"} <= set(ids)
        assert {id[:-2] for id in ids if id.endswith(".a")} == {id[:-2] for id in ids if id.endswith(".b")}
        await session.entries.set("after", 1)
        assert await session.entries.get("after") == 1


async def test_a_call_after_a_cancelled_one_sees_what_became_of_it(tmp_path: Path) -> None:
    class Slow(SqliteJournal):
        begun, go_on = threading.Event(), threading.Event()

        def append(self, *args: Any) -> Any:
            self.begun.set()
            assert self.go_on.wait(10)
            return super().append(*args)

    slow, pool = Slow(str(tmp_path / "store.db")), Pool(4)
    journal = PooledJournal(slow, pool)
    path = ("agent", "session")
    task = asyncio.create_task(journal.append(path, 1, b"late", None, None))
    await asyncio.to_thread(slow.begun.wait, 10)
    task.cancel()
    await asyncio.wait([task], timeout=10)
    assert task.cancelled(), "a cancelled call is let go at once"
    forked = Pool(4)
    forked.abandoned = set(pool.abandoned)
    forked.reset_after_fork()  # as in a child process, which has none of these threads
    elsewhere = await asyncio.wait_for(PooledJournal(slow, forked).read({path: ORIGIN}), 10)
    assert elsewhere[path].records == ()
    forked.close()
    reading = asyncio.create_task(journal.read({path: ORIGIN}))
    await asyncio.sleep(0.05)
    slow.go_on.set()
    assert [record.payload for record in (await reading)[path].records] == [b"late"]
    pool.close()
    slow.close()
