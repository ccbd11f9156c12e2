"""One flow, two drivers: what it asks is answered, what fails is thrown into it, and it is always closed."""

import asyncio
import inspect
import itertools
import pathlib
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol, assert_type

import pytest

import wmem
from wmem import Message
from wmem.codec.codec import IdentityCodec
from wmem.engine import writing
from wmem.engine.derived import Derived
from wmem.engine.engine import Engine
from wmem.engine.ports import InPlaceJournal, async_ports
from wmem.engine.replica import Replica
from wmem.errors import CorruptionError, StoreError
from wmem.flow import Flow, Ports, arun, ask, bind, run
from wmem.journal.memory import MemoryJournal
from wmem.journal.port import Journal
from wmem.model.change import ItemPut
from wmem.model.history import Path
from wmem.model.row import Row

PATH: Path = ("agent", "session")


class Shop(Protocol):
    """A port."""

    def price(self, name: str, /) -> int: ...
    def buy(self, name: str, count: int, /) -> str: ...


class OpenShop:
    """The port, answering without waiting."""

    def price(self, name: str, /) -> int:
        if name == "moon":
            raise StoreError("not for sale")
        return len(name)

    def buy(self, name: str, count: int, /) -> str:
        return f"{count} {name}"


class SlowShop:
    """The port in the mode of coroutines."""

    async def price(self, name: str, /) -> int:
        await asyncio.sleep(0)
        return OpenShop().price(name)

    async def buy(self, name: str, count: int, /) -> str:
        await asyncio.sleep(0)
        return OpenShop().buy(name, count)


@pytest.fixture(params=["sync", "async"])
def drive(request: pytest.FixtureRequest) -> Callable[[Flow[Any]], Any]:
    """Drives a flow through a shop, in either mode."""
    if request.param == "sync":
        return lambda flow: run(flow, bind(Shop=OpenShop()))
    return lambda flow: asyncio.run(arun(flow, bind(Shop=SlowShop())))


def _spend(name: str) -> Flow[tuple[int, str]]:
    price = yield from ask(Shop.price, name)
    bought = yield from ask(Shop.buy, name, price)
    return price, bought


@contextmanager
def _noted(closed: list[str]) -> Iterator[None]:
    try:
        yield
    finally:
        closed.append("closed")


# -- asking


def test_a_question_is_the_methods_name_and_its_arguments() -> None:
    flow = _spend("tea")
    assert flow.send(None) == ("Shop.price", ("tea",))
    assert flow.send(3) == ("Shop.buy", ("tea", 3))
    with pytest.raises(StopIteration) as done:
        flow.send("3 tea")
    assert done.value.value == (3, "3 tea")


def test_a_reply_has_the_type_of_the_method_asked() -> None:
    def flow() -> Flow[int]:
        price = yield from ask(Shop.price, "tea")
        assert_type(price, int)
        assert_type((yield from ask(Shop.buy, "tea", price)), str)
        return price

    assert_type(run(flow(), bind(Shop=OpenShop())), int)


def test_every_public_method_of_a_port_is_bound_under_its_question() -> None:
    ports = bind(Journal=MemoryJournal[object](lambda _: 1), Shop=OpenShop())
    assert set(ports) >= {"Shop.price", "Shop.buy", "Journal.read", "Journal.append", "Journal.compact"}
    assert not any("._" in name for name in ports)
    assert Journal.read.__qualname__ in ports


# -- driving


def test_a_flow_ends_with_its_result(drive: Callable[[Flow[Any]], Any]) -> None:
    assert drive(_spend("tea")) == (3, "3 tea")


def test_a_flow_that_asks_nothing_ends_with_its_result(drive: Callable[[Flow[Any]], Any]) -> None:
    def flow() -> Flow[str]:
        yield from ()
        return "nothing asked"

    assert drive(flow()) == "nothing asked"


def test_a_ports_failure_can_be_handled_by_the_flow(drive: Callable[[Flow[Any]], Any]) -> None:
    def flow() -> Flow[tuple[int, str]]:
        try:
            yield from ask(Shop.price, "moon")
        except StoreError:
            return (yield from _spend("tea"))
        raise AssertionError("the failure did not arrive")

    assert drive(flow()) == (3, "3 tea")


def test_a_ports_failure_that_nobody_handles_reaches_the_caller(drive: Callable[[Flow[Any]], Any]) -> None:
    closed: list[str] = []

    def flow() -> Flow[None]:
        with _noted(closed):
            yield from ask(Shop.price, "moon")

    with pytest.raises(StoreError, match="not for sale"):
        drive(flow())
    assert closed == ["closed"]


def test_a_question_to_no_port_closes_the_flow(drive: Callable[[Flow[Any]], Any]) -> None:
    closed: list[str] = []

    def flow() -> Flow[None]:
        with _noted(closed):
            yield "Shop.steal", ()

    with pytest.raises(KeyError):
        drive(flow())
    assert closed == ["closed"]


def test_a_flow_that_asks_nonsense_is_closed(drive: Callable[[Flow[Any]], Any]) -> None:
    def nonsense() -> Iterator[Any]:
        yield "no question at all"

    flow: Any = nonsense()
    with pytest.raises(ValueError, match="unpack"):
        drive(flow)
    assert inspect.getgeneratorstate(flow) == inspect.GEN_CLOSED


def test_a_flows_own_failure_reaches_the_caller(drive: Callable[[Flow[Any]], Any]) -> None:
    closed: list[str] = []

    def flow() -> Flow[None]:
        with _noted(closed):
            yield from ask(Shop.price, "tea")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        drive(flow())
    assert closed == ["closed"]


def test_an_interrupt_is_thrown_into_the_flow_and_goes_on() -> None:
    closed: list[str] = []

    class Interrupted:
        def price(self, _name: str, /) -> int:
            raise KeyboardInterrupt

    def flow() -> Flow[None]:
        with _noted(closed):
            yield from ask(Shop.price, "tea")

    with pytest.raises(KeyboardInterrupt):
        run(flow(), bind(Shop=Interrupted()))
    assert closed == ["closed"]


# -- cancelling


@pytest.mark.parametrize("waits", range(3))
async def test_a_cancelled_task_closes_its_flow_at_every_await(waits: int) -> None:
    closed: list[str] = []
    asked: list[str] = []
    stalled, never = asyncio.Event(), asyncio.Event()

    class Patient:
        async def price(self, name: str, /) -> int:
            asked.append(name)
            if len(asked) > waits:
                stalled.set()
                await never.wait()
            return len(name)

    def flow() -> Flow[int]:
        total = 0
        with _noted(closed):
            for name in ("tea", "milk", "honey"):
                total += yield from ask(Shop.price, name)
        return total

    task = asyncio.create_task(arun(flow(), bind(Shop=Patient())))
    await stalled.wait()
    assert closed == []
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed == ["closed"]
    assert len(asked) == waits + 1


def _stalling(ports: Ports, at: int, *, served: bool, stalled: asyncio.Event) -> Ports:
    """The ports, whose call number `at` never comes back: before it was served, or after."""
    calls = itertools.count(1)

    def stalling(port: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def call(*args: Any) -> Any:
            if next(calls) != at:
                return await port(*args)
            if served:
                await port(*args)
            stalled.set()
            return await asyncio.Event().wait()

        return call

    return {name: stalling(port) for name, port in ports.items()}


@pytest.mark.parametrize("served", [False, True])
@pytest.mark.parametrize(("at", "asked"), [(1, "read"), (2, "append"), (3, "compact")])
async def test_a_write_cancelled_anywhere_is_there_or_not_and_the_next_one_works(
    at: int, asked: str, served: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "COMPACT_MIN_BYTES", 1)
    codec = IdentityCodec()
    journal: MemoryJournal[object] = MemoryJournal(codec.size)
    engine: Engine[object] = Engine(codec)
    ports = async_ports(InPlaceJournal(journal))

    def put(name: str) -> Flow[Any]:
        return writing.commit(
            engine, PATH, lambda _: ([ItemPut(Row(name, b"", 0.0, 0.0))], None), opening=(), incarnation=None, now=0.0
        )

    stalled = asyncio.Event()
    flow = put("cancelled")
    task = asyncio.create_task(arun(flow, _stalling(ports, at, served=served, stalled=stalled)))
    await stalled.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert inspect.getgeneratorstate(flow) == inspect.GEN_CLOSED
    assert engine.replica(PATH).compactor is None

    await arun(put("next"), ports)
    (replica,) = await arun(engine.sync([PATH]), ports)
    there = asked == "compact" or (asked == "append" and served)
    assert list(replica.state.rows) == (["cancelled", "next"] if there else ["next"])
    assert replica.cursor == journal.head(PATH)


# -- modes


async def test_async_in_memory_needs_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def hop(*_: object) -> None:
        raise AssertionError("a call was handed to a thread")

    monkeypatch.setattr(asyncio.get_running_loop(), "run_in_executor", hop)
    before = threading.active_count()
    async with await wmem.aopen("memory://", agent_id="agent") as memory:
        session = memory.scope("session")
        await session.entries.set("key", "value")
        await session.messages.append(Message.of("user", "hello"))
        assert await session.entries.get("key") == "value"
        assert [message.text for message in await session.messages.all()] == ["hello"]
        assert threading.active_count() == before


@pytest.mark.parametrize("place", ["memory://", "disk://"])
def test_sync_starts_and_borrows_no_event_loop(
    place: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin(*_: object) -> None:
        raise AssertionError("an event loop was made")

    def borrow() -> None:
        raise AssertionError("an event loop was looked for")

    monkeypatch.setattr(asyncio.base_events.BaseEventLoop, "__init__", begin)
    monkeypatch.setattr(asyncio, "get_running_loop", borrow)
    monkeypatch.setattr(asyncio, "get_event_loop", borrow)
    with wmem.open(f"{place}{tmp_path}" if place == "disk://" else place, agent_id="agent") as memory:
        session = memory.scope("session")
        session.entries.set("key", "value")
        session.messages.append(Message.of("user", "hello"))
        assert session.entries.get("key") == "value"
        assert [message.text for message in session.messages.all()] == ["hello"]


async def test_sync_inside_a_running_loop_needs_nothing_of_it() -> None:
    with wmem.open("memory://", agent_id="agent") as memory:
        session = memory.scope("session")
        session.entries.set("key", "value")
        assert session.entries.get("key") == "value"


def test_derived_data_that_stops_at_a_damaged_row_is_computed_again() -> None:
    class Texts(Derived):
        def __init__(self) -> None:
            self.ids: list[str] = []

        def apply(self, changed: Mapping[str, Row | None], /) -> None:
            for id in changed:
                self.ids.append(id)
                if id == "damaged" and id not in repaired:
                    raise CorruptionError(id)

    repaired: set[str] = set()
    replica: Replica[Any] = Replica(PATH, IdentityCodec())
    replica.state.fold(1, [ItemPut(Row(id, b"", 0.0, 0.0)) for id in ("first", "damaged", "last")])
    with pytest.raises(CorruptionError):
        replica.use_derived(Texts, lambda texts: texts.ids)
    repaired.add("damaged")
    assert replica.use_derived(Texts, lambda texts: texts.ids) == ["first", "damaged", "last"]
