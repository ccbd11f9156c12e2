"""Of those in one process who write to one scope at once, each is refused once at most, and no one is held up for ever.

The flows are stepped by hand, with the clock: a request is served when the test says so.
"""

from typing import Any

import pytest

import wmem.engine
from wmem.engine import Engine
from wmem.errors import ConflictError
from wmem.flow import Flow, bind
from wmem.journal.codec import IdentityCodec
from wmem.journal.memory import MemoryJournal
from wmem.model.change import ItemPut, ScopeOpened
from wmem.model.history import Path
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
    monkeypatch.setattr(wmem.engine, "time", clock)
    return clock


class Writer:
    """One flow that adds one, and what it waits for."""

    def __init__(self, engine: Engine[Any], journal: MemoryJournal[Any]) -> None:
        self.ports = bind(Journal=journal)
        self.refused = self.slept = 0
        self.flow: Flow[Any] = engine.commit(PATH, add_one, opening=OPENING, birth=None, now=NOW)
        self.asked: tuple[str, tuple[Any, ...]] | None = self.flow.send(None)

    def until(self, name: str) -> "Writer":
        """Have everything served up to a request of this name."""
        while self.asked is not None and self.asked[0] != name:
            self.step()
        return self

    def step(self) -> None:
        assert self.asked is not None
        name, args = self.asked
        reply = None
        if name == "Pause.sleep":
            self.slept += 1
        else:
            reply = self.ports[name](*args)
            self.refused += name == "Journal.append" and reply.cursor is None
        try:
            self.asked = self.flow.send(reply)
        except StopIteration:
            self.asked = None


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
    replica.adopt(replica.cursor, journal.read({PATH: replica.cursor})[PATH])
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
    assert late.asked[0] == "Pause.sleep"
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
    assert clock.seconds > 4 * wmem.engine.RETRY_S
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
    store[0].forked()
    child = Writer(*store)
    child.until("nothing")
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
