"""Signals that raise in the middle of a call: the next call reads its own reply, and nothing stays taken."""

import asyncio
import logging
import math
import random
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

import pytest
import redis
import redis.asyncio

from tests.conformance.conftest import call, mode
from tests.unmeasured import unmeasured
from wmem.errors import StoreError
from wmem.journal.port import Appended, Tail
from wmem.journal.redis import RedisJournal
from wmem.journal.redis_async_face import AsyncRedisJournal
from wmem.journal.redis_url import parse_redis_url
from wmem.model.history import ORIGIN, Path

__all__ = ["call", "mode"]

PATHS: list[Path] = [("agent", f"session-{number}") for number in range(3)]
CALLS = 1_200
PATIENCE_S = 60.0
SOONEST, LATEST = -11.0, -4.5  # of e**x seconds: before it is sent, on its way, while a new connection is made, never

# A signal in the driver's own code loses a socket now and then, which is then closed by the garbage collector.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class Interrupted(BaseException):
    """What the handler of a signal raises, as Ctrl-C and the limits of task queues do."""


@pytest.fixture
def alarm() -> Iterator[Callable[[float], object]]:
    """Sets a timer that raises `Interrupted`; 0 ends it."""

    def handle(_number: int, _frame: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, handle)
    with unmeasured():
        yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
        signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    # Python's own logging takes a lock in a way that a signal can interrupt: other threads would wait for it for ever.
    lock: Any = vars(logging)["_lock"]
    while lock._is_owned():
        lock.release()


def _check(reply: Any, path: Path, written: set[bytes]) -> None:
    """A reply is the one to its own call, whatever became of the calls before it."""
    if isinstance(reply, Appended):
        assert reply.cursor is not None
        return
    assert list(reply) == [path]
    tail: Tail[bytes] = reply[path]
    payloads = [record.payload for record in tail.records]
    assert all(payload.startswith(path[1].encode()) for payload in payloads)
    assert {each for each in written if each.startswith(path[1].encode() + b" ")} <= set(payloads)


def _next(rng: random.Random, number: int) -> tuple[Path, bytes | None]:
    path = rng.choice(PATHS)
    return path, b"%s %d" % (path[1].encode(), number) if rng.random() < 0.2 else None


@pytest.mark.parametrize("kind", ["own", "caller's"])
def test_after_a_signal_that_raises_a_sync_call_reads_its_own_reply(
    kind: str, valkey_url: str, alarm: Callable[[float], object]
) -> None:
    rng, written, interrupted = random.Random(9), set[bytes](), 0
    client = redis.Redis.from_url(parse_redis_url(valkey_url).driver_url) if kind != "own" else None
    journal = RedisJournal(valkey_url, client=client)
    for number in range(CALLS):
        path, payload = _next(rng, number)
        try:
            try:
                # One call in ten is let be: on a busy machine each takes longer than the latest alarm.
                alarm(0 if number % 10 == 0 else math.exp(rng.uniform(SOONEST, LATEST)))
                reply = (
                    journal.read({path: ORIGIN})
                    if payload is None
                    else journal.append(path, number, payload, None, None)
                )
            finally:
                alarm(0)
        except (Interrupted, StoreError):
            interrupted += 1
            continue
        _check(reply, path, written)
        written |= {payload} if payload else set()
    assert 50 < interrupted < CALLS - 50
    journal.close()
    if client is not None:
        client.close()


class RaiseAtLine:
    """A tracer that raises `Interrupted` at the n-th line that is run in these files, once."""

    def __init__(self, line: int, files: Sequence[str]) -> None:
        self.left = line
        self.files = files
        self.where = ""

    def __call__(self, frame: FrameType, event: str, _arg: object) -> Any:
        if not any(each in frame.f_code.co_filename for each in self.files):
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                self.where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                raise Interrupted
        return self


@pytest.mark.parametrize("kind", ["own", "caller's"])
def test_after_an_interrupt_at_any_line_the_tasks_of_a_loop_read_their_own_replies(kind: str, valkey_url: str) -> None:
    # By line and not by a signal: one that raises in the loop itself may lose a callback of asyncio's own.
    async def main() -> int:
        client = redis.asyncio.Redis.from_url(parse_redis_url(valkey_url).driver_url) if kind != "own" else None
        journal = AsyncRedisJournal(valkey_url, client=client)
        for number, path in enumerate(PATHS):
            await journal.append(path, number, path[1].encode(), None, None)

        async def read(path: Path) -> None:
            _check(await journal.read({path: ORIGIN}), path, set())

        # The pool of the caller's own client has a lock that only redis-py could make safe.
        files = ["journal/redis", "redis/_parsers", *(["redis/asyncio"] if client is None else [])]
        line, raised = 0, True
        while raised:
            line += 4 if client is None else 7
            tracer = RaiseAtLine(line, files)
            before = sys.gettrace()
            tasks = [asyncio.create_task(read(path)) for path in PATHS[:2]]
            sys.settrace(tracer)
            try:
                _, waiting = await asyncio.wait(tasks, timeout=PATIENCE_S)
            finally:
                sys.settrace(before)
            assert not waiting, f"nobody answers a call after an interrupt in {tracer.where}"
            ends = [task.exception() for task in tasks]
            raised = tracer.left <= 0
            for end in ends:
                assert end is None or isinstance(end, Interrupted | StoreError), repr(end)
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.gather(*map(read, PATHS))
        await journal.aclose()
        if client is not None:
            await client.aclose()
        return line

    assert asyncio.run(main()) > 50
