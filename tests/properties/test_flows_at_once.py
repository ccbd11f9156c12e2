"""Flows of one process at one scope at once: each is refused once at most, and nobody is held up for ever.

They are stepped by hand, with the clock: a request is served, and its reply told, when the test says so.
"""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Self

import pytest

import wmem.engine.write_queue
from wmem.codec.codec import IdentityCodec
from wmem.engine import writing
from wmem.engine.engine import Engine
from wmem.engine.ports import async_ports, sync_ports
from wmem.engine.write_queue import WriteQueue
from wmem.errors import ConflictError
from wmem.flow import Flow, arun, bind, run
from wmem.journal.memory import MemoryJournal
from wmem.model.change import ItemPut, ScopeOpened
from wmem.model.history import ORIGIN, Incarnation, Path
from wmem.model.row import Row
from wmem.state import State

PATH: Path = ("agent", "session")
NOW = 1_764_288_000.0
OPENING = (ScopeOpened("{}", NOW), ItemPut(Row("count", b"0", NOW, NOW)))


class Clock:
    seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(writing, "time", clock)
    monkeypatch.setattr(wmem.engine.write_queue, "time", clock)
    return clock


class Actor:
    """One flow, and what it waits for."""

    def __init__(self, flow: Flow[Any], journal: MemoryJournal[Any]) -> None:
        self.ports = bind(Journal=journal)
        self.refused = self.slept = self.reads = 0
        self.flow = flow
        self.reply: object = None
        self.asked: tuple[str, tuple[Any, ...]] | None = self.flow.send(None)

    def until(self, name: str) -> Self:
        """Have everything served up to a request of this name."""
        while self.asked is not None and self.asked[0] != name:
            self.step()
        return self

    def step(self) -> None:
        self.serve()
        self.tell()

    def serve(self) -> None:
        """Have the store do what is asked; the flow does not hear of it yet."""
        assert self.asked is not None
        name, args = self.asked
        if name.startswith("Pause."):
            self.slept += 1
            self.reply = None
            return
        self.reply = reply = self.ports[name](*args)
        self.reads += name == "Journal.read"
        self.refused += name == "Journal.append" and reply.cursor is None

    def tell(self) -> None:
        try:
            self.asked = self.flow.send(self.reply)
        except StopIteration:
            self.asked = None


class Writer(Actor):
    """Adds one to what it finds."""

    def __init__(self, engine: Engine[Any], journal: MemoryJournal[Any]) -> None:
        super().__init__(writing.commit(engine, PATH, add_one, opening=OPENING, incarnation=None, now=NOW), journal)


class Poster(Actor):
    """Writes whatever there is."""

    def __init__(self, engine: Engine[Any], journal: MemoryJournal[Any], name: str) -> None:
        row = Row(name, b"", NOW, NOW)
        super().__init__(writing.post(engine, PATH, born(journal), (ItemPut(row),), now=NOW), journal)


class Reader(Actor):
    def __init__(self, engine: Engine[Any], journal: MemoryJournal[Any]) -> None:
        super().__init__(engine.sync([PATH]), journal)


def born(journal: MemoryJournal[Any]) -> Incarnation:
    birth = journal.read({PATH: ORIGIN})[PATH].incarnation
    assert birth is not None
    return birth


def add_one(state: State) -> tuple[tuple[ItemPut, ...], None]:
    count = int(state.rows["count"].content) if "count" in state.rows else 0
    return (ItemPut(Row("count", b"%d" % (count + 1), NOW, NOW)),), None


Store = tuple[Engine[Any], MemoryJournal[Any]]


@pytest.fixture
def store() -> Store:
    codec = IdentityCodec()
    return Engine(codec), MemoryJournal(codec.size)


def count(store: Store) -> int:
    engine, journal = store
    replica = engine.replica(PATH)
    replica.apply_tail(replica.cursor, journal.read({PATH: replica.cursor})[PATH])
    return int(replica.state.rows["count"].content)


@pytest.mark.parametrize("many", [2, 40, 300])
def test_of_many_at_once_each_is_refused_once_at_most(store: Store, clock: Clock, many: int) -> None:
    writers = [Writer(*store).until("Journal.append") for _ in range(many)]
    while waiting := [each for each in writers if each.asked is not None]:
        for each in waiting:
            each.step()
        clock.seconds += 0.001
    assert sorted(each.refused for each in writers) == [0] + [1] * (many - 1)
    assert count(store) == many


def test_who_comes_later_waits_behind_those_who_were_refused(store: Store, clock: Clock) -> None:
    first, second = (Writer(*store).until("Journal.append") for _ in range(2))
    first.step()
    second.until("Pause.sleep").step()
    late = Writer(*store)
    assert late.asked is not None
    assert late.asked[0] == "Pause.until"
    for _ in range(10):
        late.step()
    second.until("nothing")
    late.until("nothing")
    assert (second.refused, late.refused, count(store)) == (1, 0, 3)


def test_time_in_the_line_is_no_time_of_trying(store: Store, clock: Clock) -> None:
    first, *others = (Writer(*store).until("Journal.append") for _ in range(30))
    first.step()
    for each in others:
        each.until("Pause.sleep").step()
    for each in others:
        clock.seconds += 0.9
        for waiting in others:
            if waiting.asked is not None and waiting is not each:
                waiting.step()
        each.until("nothing")
    assert clock.seconds > 4 * wmem.engine.write_queue.RETRY_S
    assert count(store) == 30


def test_one_who_is_left_where_it_is_holds_nobody_up_for_long(store: Store, clock: Clock) -> None:
    first, left, second = (Writer(*store).until("Journal.append") for _ in range(3))
    first.step()
    for each in (left, second):
        each.until("Pause.sleep").step()
    left.until("Journal.append")
    began = clock.seconds
    while second.asked is not None:
        second.step()
        clock.seconds += 0.001
    assert clock.seconds - began == pytest.approx(1.0, abs=0.01)
    left.until("nothing")  # it was not gone after all
    assert count(store) == 3
    began = clock.seconds
    Writer(*store).until("nothing")
    assert (count(store), clock.seconds) == (4, began)


def test_who_stands_at_an_entry_may_write_to_its_scope_meanwhile(store: Store, clock: Clock) -> None:
    lines = store[0].write_queue
    with lines.ticket(PATH, "key") as outer, lines.ticket(PATH, "key") as next_one:
        assert run(lines.wait_turn(outer, 1), {}) == 0.0
        assert next(lines.wait_turn(next_one, 0))[0] == "Pause.until"
        assert Writer(*store).until("nothing").slept == 0
    with lines.ticket(PATH, "key") as later:
        assert run(lines.wait_turn(later, 0), {}) == 0.0


def test_one_who_gives_up_lets_the_next_one_go(store: Store, clock: Clock) -> None:
    first, cancelled, second = (Writer(*store).until("Journal.append") for _ in range(3))
    first.step()
    for each in (cancelled, second):
        each.until("Pause.sleep").step()
    cancelled.flow.close()
    second.until("nothing")
    assert (second.slept, count(store)) == (2, 2)


def test_a_child_process_waits_for_nobody_of_its_parent(store: Store, clock: Clock) -> None:
    first, left = (Writer(*store).until("Journal.append") for _ in range(2))
    first.step()
    left.until("Pause.sleep").step()
    lines = store[0].write_queue
    with lines.ticket(PATH) as forking, ThreadPoolExecutor(1) as other_thread:
        held = other_thread.submit(lines._lock.acquire)
        assert held.result()
        store[0].reset_after_fork()
        child = Writer(*store)
        child.until("nothing")
        lines.leave(forking)  # by the one thread that goes on
    assert (child.slept, count(store)) == (0, 2)


def test_others_who_always_write_first_end_it_after_five_seconds(store: Store, clock: Clock) -> None:
    engine, journal = store
    writer, rival = Writer(engine, journal), Engine(engine.codec)

    def always_second() -> None:
        while writer.asked is not None:
            if writer.asked[0] == "Journal.append":
                Writer(rival, journal).until("nothing")
                clock.seconds += 0.1
            writer.step()

    with pytest.raises(ConflictError, match=r"other writers came first for 5\.0 s"):
        always_second()
    assert 5.0 < clock.seconds < 5.3
    Writer(engine, journal).until("nothing")


# --- Those who write without a condition ------------------------------------------------------------------------------


def test_who_never_waits_lets_one_who_starves_go_first(store: Store, clock: Clock) -> None:
    Writer(*store).until("nothing")
    starving = Writer(*store)
    for number in range(3):
        starving.until("Journal.append")
        Poster(*store, f"post {number}").until("nothing")
        starving.step()
    starving.until("Journal.append")
    poster = Poster(*store, "post 3")
    for _ in range(5):
        assert poster.asked is not None
        assert poster.asked[0] == "Pause.sleep"
        poster.step()
        clock.seconds += 0.001
    starving.until("nothing")
    poster.until("nothing")
    assert (starving.refused, count(store)) == (3, 2)
    assert Poster(*store, "post 4").until("nothing").slept == 0


def test_who_starves_and_never_comes_back_costs_one_short_wait(store: Store, clock: Clock) -> None:
    Writer(*store).until("nothing")
    left = Writer(*store)
    for number in range(3):
        left.until("Journal.append")
        Poster(*store, f"post {number}").until("nothing")
        left.step()
    left.until("Journal.append")
    poster = Poster(*store, "post 3")
    began = clock.seconds
    while poster.asked is not None:
        poster.step()
        clock.seconds += 0.001
    assert clock.seconds - began == pytest.approx(0.025, abs=0.003)
    assert Poster(*store, "post 4").until("nothing").slept == 0


# --- Readers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", range(4))
@pytest.mark.parametrize("after", range(4))
def test_what_lands_while_a_reader_waits_does_not_make_it_ask_again(store: Store, before: int, after: int) -> None:
    """Some of it the reply tells of, some of it came later."""
    engine, journal = store
    Writer(*store).until("nothing")
    reader = Reader(*store).until("Journal.read")
    posts = [Poster(*store, f"post {number}") for number in range(before + after)]
    for each in posts[:before]:
        each.serve()
    Poster(Engine(engine.codec), journal, "of another process").until("nothing")
    reader.serve()
    for each in posts[before:]:
        each.serve()
    for each in posts[:before]:
        each.tell()
    reader.tell()
    for each in posts[before:]:
        each.tell()
    assert (reader.asked, reader.reads) == (None, 1)
    assert engine.replica(PATH).state.rows.keys() == {
        "count",
        "of another process",
        *(f"post {number}" for number in range(before + after)),
    }
    assert engine.replica(PATH).cursor == journal.head(PATH)


@pytest.mark.parametrize("many", [1, 7, 300])
def test_a_reader_who_hears_of_less_than_has_landed_is_done(store: Store, many: int) -> None:
    engine, journal = store
    Writer(*store).until("nothing")
    reader = Reader(*store).until("Journal.read")
    reader.serve()
    for number in range(many):
        Poster(*store, f"post {number}").until("nothing")
    reader.tell()
    assert (reader.asked is None) == (many < 256)  # beyond, it is not remembered, and the reader asks again
    reader.until("nothing")
    assert engine.replica(PATH).cursor == journal.head(PATH)


def test_what_lands_is_remembered_while_somebody_reads_and_no_longer(store: Store) -> None:
    replica = store[0].replica(PATH)
    Writer(*store).until("nothing")
    Poster(*store, "alone").until("nothing")
    assert len(replica._recent_records) == 0
    reader, thrown_away = (Reader(*store).until("Journal.read") for _ in range(2))
    Poster(*store, "while two read").until("nothing")
    assert len(replica._recent_records) == 1
    reader.until("nothing")
    thrown_away.flow.close()
    assert replica.readers == set()
    Poster(*store, "alone again").until("nothing")
    assert len(replica._recent_records) == 0


def test_a_reader_is_not_taken_for_done_by_another_history(store: Store) -> None:
    engine, journal = store
    Writer(*store).until("nothing")
    reader = Reader(*store).until("Journal.read")
    Poster(*store, "lost").until("nothing")
    log = journal._logs[PATH]
    del log.entries[-1]  # a server that is rolled back
    log.head = log.entries[-1][1]
    Poster(Engine(engine.codec), journal, "kept").until("nothing")
    reader.until("nothing")
    assert engine.replica(PATH).cursor == journal.head(PATH)
    assert engine.replica(PATH).state.rows.keys() == {"count", "kept"}


# --- Who goes before all others ---------------------------------------------------------------------------------------


def _try(clock: Clock, seconds: float, outcomes: list[bool]) -> Flow[bool]:
    """An attempt that takes so long and ends as the next of these."""
    yield "Journal.read", ()
    clock.seconds += seconds
    return outcomes.pop(0)


def test_who_goes_first_is_waited_for_however_long_a_try_takes(clock: Clock) -> None:
    lines = WriteQueue()
    first = lines.try_first(PATH, partial(_try, clock, 4.0, [False, True]))
    assert next(first)[0] == "Journal.read"
    post, turn = lines.yield_to_starving(PATH), lines.wait_turn(lines.ticket(PATH), 1)
    for _ in range(4):
        assert (next(post)[0], next(turn)[0]) == ("Pause.sleep", "Pause.until")
        clock.seconds += 0.9
    assert first.send(None)[0] == "Pause.sleep"  # it was refused
    assert first.send(None)[0] == "Journal.read"
    assert next(turn)[0] == "Pause.until"
    with pytest.raises(StopIteration, match="True"):
        first.send(None)
    assert (list(post), list(turn)) == ([], [])


def test_who_goes_first_and_is_never_resumed_is_waited_for_once(clock: Clock) -> None:
    lines = WriteQueue()
    first = lines.try_first(PATH, partial(_try, clock, 0.0, [True]))
    assert next(first)[0] == "Journal.read"
    post, turn = lines.yield_to_starving(PATH), lines.wait_turn(lines.ticket(PATH), 1)
    assert (next(post)[0], next(turn)[0]) == ("Pause.sleep", "Pause.until")
    clock.seconds += wmem.engine.write_queue.RETRY_S
    assert (list(post), [name for name, _ in turn]) == ([], ["Pause.until"])
    assert run(lines.yield_to_starving(PATH), {}) is None
    first.close()


def test_a_first_try_that_takes_long_is_no_conflict_with_others(clock: Clock) -> None:
    lines, seconds = WriteQueue(), 2 * wmem.engine.write_queue.RETRY_S
    ports = bind(Journal=_Nothing(), Pause=_Nothing())
    assert run(lines.try_first(PATH, partial(_try, clock, seconds, [False, True])), ports) is True
    assert run(lines.try_first(PATH, partial(_try, clock, seconds, [False, False, True])), ports) is False


def test_a_mark_that_another_thread_takes_away_meanwhile_is_no_error(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wmem.engine.write_queue, "_YIELD_S", 0.0)
    others: list[threading.Thread] = []

    class Marks(dict[Path, Any]):
        """Between two looks of a thread, another one yields, and takes the mark away if it can."""

        def get(self, path: Path, default: Any = None) -> Any:
            found = super().get(path, default)
            if not others:
                others.append(threading.Thread(target=run, args=(lines.yield_to_starving(path), {})))
                others[0].start()
                others[0].join(0.2)
            return found

    lines = WriteQueue()
    with lines.ticket(PATH) as place:
        run(lines.wait_turn(place, wmem.engine.write_queue._STARVED_TRIES), {})
        lines._starving = Marks(lines._starving)
    others[0].join(60)
    assert (len(others), lines._starving, lines._queues) == (1, {}, {})


class _Nothing:
    """Ports that do nothing."""

    def read(self) -> None: ...

    def sleep(self, _seconds: float) -> None: ...


# --- Bells ------------------------------------------------------------------------------------------------------------


def test_who_comes_first_is_woken_and_only_then() -> None:
    lines, rung = WriteQueue(), list[str]()
    places = {name: lines.ticket(PATH) for name in "abcd"}
    asked = {name: next(lines.wait_turn(place, 1), None) for name, place in places.items()}
    for name in "bcd":
        request = asked[name]
        assert request is not None
        request[1][0](partial(rung.append, name))
    assert (asked["a"], rung) == (None, [])
    lines.leave(places["c"])
    assert rung == []
    lines.leave(places["a"])
    assert rung == ["b"]
    lines.leave(places["b"])
    assert rung == ["b", "d"]


def test_a_bell_that_is_hung_up_too_late_rings_at_once() -> None:
    lines, rung = WriteQueue(), list[str]()
    first, second = lines.ticket(PATH), lines.ticket(PATH)
    run(lines.wait_turn(first, 1), {})
    _, (hang, _) = next(lines.wait_turn(second, 1))
    lines.leave(first)
    hang(partial(rung.append, "second"))
    lines.leave(second)
    hang(partial(rung.append, "gone"))
    assert rung == ["second", "gone"]


def test_threads_and_loops_wait_in_one_line_and_each_is_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    # On a busy machine a place is held for longer than a second, after which it would be taken for one left behind.
    monkeypatch.setattr(wmem.engine.write_queue, "_STUCK_S", 3_600.0)
    lines, at, entered = WriteQueue(), list[int](), threading.Lock()
    no_journal: Any = None

    waits: list[str] = []

    def counted(flow: Flow[Any]) -> Flow[Any]:
        reply = None
        while True:
            try:
                asked = flow.send(reply)
            except StopIteration as end:
                return end.value
            waits.append(asked[0])
            reply = yield asked

    def hold(number: int) -> None:
        assert entered.acquire(blocking=False)
        at.append(number)
        entered.release()

    def in_a_thread(number: int) -> None:
        with lines.ticket(PATH) as place:
            run(counted(lines.wait_turn(place, 1)), sync_ports(no_journal))
            hold(number)

    async def in_a_loop(number: int) -> None:
        with lines.ticket(PATH) as place:
            await arun(counted(lines.wait_turn(place, 1)), async_ports(no_journal))
            hold(number)

    async def many(numbers: range) -> None:
        await asyncio.gather(*map(in_a_loop, numbers))

    threads = [threading.Thread(target=in_a_thread, args=(number,), daemon=True) for number in range(20)]
    threads += [
        threading.Thread(target=asyncio.run, args=(many(range(first, first + 20)),), daemon=True)
        for first in (20, 40, 60)
    ]
    with lines.ticket(PATH) as first:
        run(lines.wait_turn(first, 1), {})
        for each in threads:
            each.start()
        time.sleep(0.2)  # most wait by now
    for each in threads:
        each.join(60)
    assert sorted(at) == list(range(80)), "somebody was not woken"
    assert len(waits) < 5 * 80


def test_a_flow_that_is_collected_in_the_midst_of_another_leaves_its_line() -> None:
    lines = WriteQueue()
    left = lines.ticket(PATH)
    with lines._lock:  # as when the collector runs while the line is looked at
        run(lines.wait_turn(left, 1), {})
        lines.leave(left)
    with lines.ticket(PATH) as later:
        assert run(lines.wait_turn(later, 0), {}) == 0.0
