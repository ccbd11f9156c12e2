"""A network that loses requests and replies, at every step: nothing acknowledged is lost, nothing is done twice."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import redis
import redis.asyncio

import wmem
from tests.conformance.conftest import call, clock, mode
from tests.proxy import Fate, Proxy
from tests.servers import RedisServer
from tests.suites.embedders import Embedder
from wmem.errors import CorruptionError, StoreError, UnknownOutcomeError
from wmem.journal import Append
from wmem.journal.port import new_record_id
from wmem.journal.redis import RedisJournal
from wmem.journal.redis_async_face import AsyncRedisJournal
from wmem.model.history import ORIGIN, Path
from wmem.testing import Call, Clock, MemoryOpener

__all__ = ["call", "clock", "mode"]

PATH: Path = ("agent", "session")
FATES: tuple[Fate, ...] = ("request", "reply", "half")


@pytest.fixture
def proxy(valkey_server: RedisServer) -> Iterator[Proxy]:
    with Proxy(valkey_server.port) as made:
        yield made


@pytest.fixture
def url(proxy: Proxy, valkey_url: str) -> str:
    return proxy.url(valkey_url)


@pytest.fixture
def open_memory(url: str, call: Call, mode: str, clock: Clock) -> Iterator[MemoryOpener]:
    made = MemoryOpener(url, {}, call, mode, clock)
    yield made
    made.close()


# -- how many round trips


def _said(proxy: Proxy, call: Call, act: Any, *args: Any, **named: Any) -> list[str]:
    before = len(proxy.commands)
    call(act, *args, **named)
    return proxy.commands[before:]


def test_an_append_is_one_round_trip_and_so_is_a_read_at_depth_three(
    open_memory: MemoryOpener, call: Call, proxy: Proxy
) -> None:
    session = open_memory().scope("session")
    deep = session.child("task").child("step")
    for scope in (session, deep):
        call(scope.entries.set, "key", "value")
        call(scope.messages.append, {"role": "user", "content": "hello"})
    assert _said(proxy, call, session.messages.append, {"role": "user", "content": "again"}) == ["EVALSHA"]
    assert _said(proxy, call, deep.entries.get, "key") == ["EVALSHA"]
    assert _said(proxy, call, deep.entries.get, "nowhere") == ["EVALSHA"]


def test_a_cold_open_of_a_thousand_items_takes_at_most_two_round_trips(
    open_memory: MemoryOpener, call: Call, proxy: Proxy
) -> None:
    session = open_memory().scope("session")
    for first in range(0, 1000, 100):
        call(session.messages.append, [{"role": "user", "content": f"{first + n}"} for n in range(100)])
    elsewhere = open_memory.in_other_process().scope("session")
    before = len(proxy.commands)
    assert len(call(elsewhere.messages.all)) == 1000
    assert len(proxy.commands) - before <= 2


@pytest.mark.parametrize(("verb", "round_trips"), [("clear", 8), ("dispose", 7)])
def test_what_takes_everything_away_asks_for_vectors_in_no_round_trip_of_their_own(
    verb: str, round_trips: int, open_memory: MemoryOpener, call: Call, proxy: Proxy
) -> None:
    # Reads, the mark, the deletion or the checkpoint, and what the server tells of its files: without vectors no less.
    # What stays after `clear` loses its stored index, which `dispose` deletes with all that is below.
    memory = open_memory()
    for name in ("known to the server", "another", "session"):
        session = memory.scope(name)
        call(session.entries.set, "key", "value")
        if name == "known to the server":
            call(getattr(session, verb))
    assert len(_said(proxy, call, getattr(session, verb))) == round_trips


def test_a_pack_asks_for_vectors_when_there_is_something_new_alone(
    open_memory: MemoryOpener, call: Call, proxy: Proxy
) -> None:
    session = open_memory(embedder=Embedder()).scope("session")
    for text in ("a dog", "a car"):
        call(session.items.add, text, type="fact")
        call(session.pack, "puppy", budget=500)
    assert _said(proxy, call, session.pack, "puppy", budget=500) == ["EVALSHA"]
    call(session.items.add, "a sofa", type="fact")
    # The scope, what is stored, what is new, and whether its text is still there.
    assert _said(proxy, call, session.pack, "puppy", budget=500) == ["EVALSHA"] * 4


# -- every step, every fate


def _at(step: int, fate: Fate, place: int) -> Fate:
    return fate if place == step else "pass"


@pytest.mark.parametrize("fate", FATES)
def test_a_connection_dropped_at_any_step_loses_and_doubles_nothing(
    fate: Fate, open_memory: MemoryOpener, call: Call, proxy: Proxy
) -> None:
    for step in range(6):
        session = open_memory(f"agent-{step}").scope("session")
        call(session.messages.append, {"role": "user", "content": "begin"})
        call(session.entries.set, "count", 0)
        begun = len(proxy.commands)
        proxy.fate = partial(_at, begun + step, fate)
        sure, unsure = 0, 0
        for number in range(4):
            try:
                call(session.entries.update, "count", lambda count: count + 1, 0)
                call(session.messages.append, {"role": "user", "content": f"{number}"})
            except StoreError:
                unsure += 1
            else:
                sure += 1
        proxy.fate = lambda _: "pass"
        count = call(session.entries.get, "count")
        texts = Counter(message.text for message in call(session.messages.all))
        assert sure >= 3
        assert sure <= count <= sure + unsure
        assert max(texts.values()) == 1
        assert sure + 1 <= len(texts) <= sure + unsure + 1
        elsewhere = open_memory.in_other_process(f"agent-{step}").scope("session")
        assert call(elsewhere.entries.get, "count") == count
        assert Counter(message.text for message in call(elsewhere.messages.all)) == texts


@pytest.mark.parametrize("fate", FATES)
def test_a_lost_write_is_unknown_and_a_lost_read_a_failure(
    fate: Fate, call: Call, mode: str, url: str, proxy: Proxy
) -> None:
    journal: Any = RedisJournal(url) if mode == "sync" else AsyncRedisJournal(url)
    head = call(journal.append, PATH, 1, b"1", None, None).cursor
    proxy.fate = lambda _: fate
    writes: list[tuple[Any, ...]] = [
        (journal.append, PATH, 2, b"2", None, None),
        (journal.compact, PATH, head, b"state", None),
        (journal.delete, PATH, None),
    ]
    for act, *args in writes:
        with pytest.raises(UnknownOutcomeError):
            call(act, *args)
    reads: list[tuple[Any, ...]] = [(journal.read, {PATH: ORIGIN}), (journal.paths, PATH)]
    for act, *args in reads:
        with pytest.raises(StoreError) as failed:
            call(act, *args)
        assert not isinstance(failed.value, UnknownOutcomeError)
    proxy.fate = lambda _: "pass"
    assert call(journal.read, {PATH: ORIGIN})[PATH].head != head or fate == "request"
    call(journal.close if mode == "sync" else journal.aclose)


def test_a_server_that_cannot_be_reached_has_changed_nothing(call: Call, mode: str, new_server: Any) -> None:
    server: RedisServer = new_server("--appendonly", "yes", "--appendfsync", "always")
    journal: Any = RedisJournal(server.url) if mode == "sync" else AsyncRedisJournal(server.url)
    call(journal.append, PATH, 1, b"1", None, None)
    server.kill()
    for _ in range(2):
        with pytest.raises(StoreError, match=r"nothing was changed|lost") as failed:
            call(journal.append, PATH, 2, b"2", None, None)
    assert not isinstance(failed.value, UnknownOutcomeError)
    server.start()
    assert call(journal.append, PATH, 3, b"3", None, None).cursor.version == 2
    call(journal.close if mode == "sync" else journal.aclose)


def test_a_client_that_repeats_by_itself_stores_nothing_twice(
    proxy: Proxy, valkey_url: str, mode: str, call: Call, clock: Clock
) -> None:
    # The caller's own, with the driver's default retries, and every third reply lost.
    number = itertools.count()
    proxy.fate = lambda _: "reply" if next(number) % 3 == 2 else "pass"
    kind: Any = redis.Redis if mode == "sync" else redis.asyncio.Redis
    client = kind(port=proxy.port, db=int(valkey_url.rpartition("/")[2]))
    opening = MemoryOpener("redis://", {"client": client}, call, mode, clock)
    session = opening().scope("session")
    for each in range(20):
        call(session.messages.append, {"role": "user", "content": f"{each}"})
        call(session.entries.update, "count", lambda count: count + 1, 0)
    proxy.fate = lambda _: "pass"
    with RedisJournalReader(valkey_url) as stored:
        assert len(stored) > 40, "the network lost nothing"  # what the driver repeated is there twice, and read once
    assert [message.text for message in call(session.messages.all)] == [f"{each}" for each in range(20)]
    assert call(session.entries.get, "count") == 20
    again = opening.in_other_process().scope("session")
    assert [message.text for message in call(again.messages.all)] == [f"{each}" for each in range(20)]
    opening.close()
    assert call(client.ping)
    call(client.close if mode == "sync" else client.aclose)


class RedisJournalReader:
    """The records of the session as they are stored."""

    def __init__(self, url: str) -> None:
        self._journal = RedisJournal(url)

    def __enter__(self) -> tuple[Any, ...]:
        return self._journal.read({PATH: ORIGIN})[PATH].records

    def __exit__(self, *_: object) -> None:
        self._journal.close()


# -- cancelled


def test_a_cancelled_call_leaves_no_reply_for_the_next(url: str) -> None:
    async def main() -> None:
        journal = AsyncRedisJournal(url)
        await journal.append(PATH, 1, b"1", None, None)
        for steps in range(12):
            tasks = [asyncio.create_task(journal.append(("a", f"{n}"), n, b"%d" % n, None, None)) for n in range(3)]
            for _ in range(steps):
                await asyncio.sleep(0)
            tasks[steps % 3].cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            tail = (await journal.read({PATH: ORIGIN}))[PATH]
            assert [record.payload for record in tail.records] == [b"1"]
        for n in range(3):
            found = (await journal.read({("a", f"{n}"): ORIGIN}))["a", f"{n}"]
            assert {record.payload for record in found.records} == {b"%d" % n}
        await journal.aclose()

    asyncio.run(main())


def test_a_timeout_on_one_task_disturbs_no_other(url: str) -> None:
    async def main() -> None:
        journal = AsyncRedisJournal(url)

        async def one(number: int) -> int:
            path = ("agent", f"session-{number}")
            async with asyncio.timeout(None if number % 3 else 0.0):
                await journal.append(path, 1, b"%d" % number, None, None)
            return int((await journal.read({path: ORIGIN}))[path].records[0].payload)

        done = await asyncio.gather(*(one(number) for number in range(60)), return_exceptions=True)
        assert [each for number, each in enumerate(done) if number % 3] == [n for n in range(60) if n % 3]
        assert all(isinstance(each, TimeoutError) for each in done[::3])
        await journal.aclose()

    asyncio.run(main())


# -- many


@pytest.mark.no_cover  # what it runs is covered by every test of a server
@pytest.mark.parametrize("whose", ["wmem's", "the caller's"])
def test_a_thousand_sessions_at_once_on_one_server(whose: str, valkey_url: str) -> None:
    # On a busy machine the loop takes longer over what all of them do than a server may take to answer.
    url = f"{valkey_url}?socket_timeout=300&socket_connect_timeout=300"

    async def main() -> None:
        client = redis.asyncio.Redis.from_url(url) if whose == "the caller's" else None
        async with await wmem.aopen(url, agent_id="agent", client=client) as memory:

            async def converse(number: int) -> list[str]:
                session = memory.scope(f"session-{number}")
                for turn in range(3):
                    await session.messages.append({"role": "user", "content": f"{number}.{turn}"})
                return [message.text for message in await session.messages.all()]

            told = await asyncio.gather(*(converse(number) for number in range(1000)))
        assert told == [[f"{number}.{turn}" for turn in range(3)] for number in range(1000)]
        if client is not None:
            assert await client.ping()
            await client.aclose()

    asyncio.run(main())


# -- forks


def test_a_child_process_has_connections_of_its_own(valkey_url: str, script: Any) -> None:
    code = """
        import os, signal, sys, wmem
        with wmem.open(sys.argv[1], agent_id="agent") as memory:
            session = memory.scope("session")
            session.entries.set("count", 0)
            children = []
            for _ in range(3):
                child = os.fork()
                if child == 0:
                    signal.alarm(60)
                    code = 1
                    try:
                        for _ in range(20):
                            session.entries.update("count", lambda count: count + 1, 0)
                        code = 0
                    finally:
                        os._exit(code)
                children.append(child)
            for _ in range(20):
                session.entries.update("count", lambda count: count + 1, 0)
            assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    """
    script(code, valkey_url)  # in a process of its own: this one has threads of frameworks, which no fork survives
    with wmem.open(valkey_url, agent_id="agent") as memory:
        assert memory.scope("session").entries.get("count") == 80


def test_records_that_arrive_twice_are_there_once(valkey_url: str) -> None:
    journal = RedisJournal(valkey_url)
    with wmem.open(valkey_url, agent_id="agent") as memory:
        session = memory.scope("session")
        session.messages.append({"role": "user", "content": "once"})
        (record,) = journal.read({PATH: ORIGIN})[PATH].records
        journal.append(PATH, record.id, record.payload, None, None)
        journal.append(PATH, new_record_id(), b"foreign", None, None)
        assert [message.text for message in session.messages.all()] == ["once"]
    journal.close()


def test_a_context_of_a_turn_is_one_round_trip_with_all_of_long_term_memory(
    open_memory: MemoryOpener, call: Call, proxy: Proxy
) -> None:
    memory = open_memory()
    with call.enter(memory.turn("s", goals=["Get to Basel"])) as turn:
        call(turn.memorize, {"role": "user", "content": "When does the train to Basel leave?"})
        call(turn.memorize, {"content": "The train to Basel leaves at noon", "type": "fact"})
        call(turn.memorize, {"content": "Look it up", "type": "plan"})
        call(turn.track_tool_invocation, "find_trains", {"to": "Basel"}, "noon")
        call(turn.assemble_context, "When does the train to Basel leave?", budget=500)
        question = "Which train goes to Basel?"
        assert _said(proxy, call, turn.assemble_context, question, budget=500) == ["EVALSHA"]
        memory_of_others = open_memory.in_other_process()
        call(memory_of_others.semantic.items.add, "The train to Basel leaves at one", type="fact")
        assert _said(proxy, call, turn.assemble_context, question, budget=500) == ["EVALSHA"]


def test_a_message_of_a_turn_is_one_round_trip_and_so_is_its_commit_with_step_and_trace(
    open_memory: MemoryOpener, call: Call, proxy: Proxy
) -> None:
    memory = open_memory()
    call(memory.turn("s").commit)
    for number in range(3):  # the first begins the trace, the second makes the script known to the server
        turn = memory.turn("s")
        said = _said(proxy, call, turn.memorize, {"role": "user", "content": f"hello {number}"})
        # Another turn knows nothing of the scope yet: it looks what there is.
        assert said == ["EVALSHA"] * 2
        assert _said(proxy, call, turn.memorize, {"role": "assistant", "content": "hello"}) == ["EVALSHA"]
        commit = _said(proxy, call, turn.commit)
    assert commit == ["EVALSHA"]


@pytest.mark.parametrize("fate", FATES)
def test_a_turn_is_one_step_and_told_once_whatever_the_network_loses(
    fate: Fate, open_memory: MemoryOpener, call: Call, proxy: Proxy
) -> None:
    for step in range(4):
        memory = open_memory(f"agent-{step}")
        for number in range(2):
            before = memory.turn("s")
            call(before.memorize, {"role": "user", "content": f"begin {number}"})
            call(before.commit)
        turn = memory.turn("s")
        item = call(turn.memorize, {"role": "user", "content": "hello"}).item
        proxy.fate = partial(_at, len(proxy.commands) + step, fate)
        try:
            done = call(turn.commit)
        except StoreError:
            done = call(turn.commit)
        proxy.fate = lambda _: "pass"
        assert done.step == 3
        elsewhere = open_memory.in_other_process(f"agent-{step}")
        assert call(elsewhere.scope("s").queue.advance_step) == 4
        told = [
            (type(event).__name__, event.id) for event in call(elsewhere.trace, turn.id).events if hasattr(event, "id")
        ]
        assert told == [("MemorizeTraced", item.id), ("RouteTraced", item.id)]


def test_of_appends_together_one_that_fails_changes_nothing_and_is_told(
    call: Call, mode: str, valkey_url: str, valkey_server: RedisServer
) -> None:
    journal: Any = RedisJournal(valkey_url) if mode == "sync" else AsyncRedisJournal(valkey_url)
    first, second = ("agent", "one"), ("agent", "two")
    call(journal.append, first, 1, b"1", None, None)
    made = call(journal.append_all, [Append(first, 2, b"2", None, None), Append(second, 3, b"3", None, None)])
    assert [each.cursor.version for each in made] == [2, 1]
    stale = Append(first, 4, b"4", ORIGIN, None)
    refused, appended = call(journal.append_all, [stale, Append(second, 5, b"5", None, None)])
    assert (refused.cursor, refused.previous, appended.cursor.version) == (None, made[0].cursor, 2)
    with valkey_server.client() as client:
        client.select(int(valkey_url.rpartition("/")[2]))
        [stream] = [key for key in client.scan_iter("*") if b":s" in key and b"two" in key]
        client.delete(stream)
    for appends in (
        [Append(first, 6, b"6", None, None), Append(second, 7, b"7", None, None)],
        [Append(second, 8, b"8", None, None)],
    ):
        with pytest.raises(CorruptionError, match="two"):
            call(journal.append_all, appends)
    tail = call(journal.read, {first: ORIGIN})[first]
    assert [record.payload for record in tail.records] == [b"1", b"2", b"6"]
    call(journal.close if mode == "sync" else journal.aclose)
