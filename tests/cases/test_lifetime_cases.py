"""What other memories got wrong about deleting and time, as promises of this one; each keeps the id of its case."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

import wmem
from tests.conformance.conftest import NOON, Call, Clock, MemoryOpener
from wmem import Policy, Scope, StoreError
from wmem.clock import SteadyClock
from wmem.testing.store_bytes import read_store_bytes

HOUR = 3_600.0
TEN_YEARS = 10 * 365 * 86_400.0


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


# -- B31, B41: taking away what was asked for, and that alone


def test_B31_deleting_all_of_a_scope_takes_it_and_its_descendants_and_touches_no_other(
    open_memory: MemoryOpener, call: Call
) -> None:
    memory = open_memory()
    paths = [("u1",), ("u1", "a"), ("u1", "a", "b"), ("u10",), ("u",), ("u1/a",), ("u2", "u1"), ("U1",)]
    for path in paths:
        scope = memory.scope(*path)
        call(scope.items.add, "a needle", priority="critical")
        call(scope.entries.set, "k", "a needle")
        call(scope.messages.append, said("a needle"))
        call(scope.items.search, "needle", order="recall")
    other = open_memory("u1").scope("u1")
    call(other.items.add, "a needle")
    kept = [memory.scope(*path) for path in paths[3:]] + [other]
    before = [call(scope.export) for scope in kept]
    call(memory.scope("u1").dispose)
    assert [call(scope.export) for scope in kept] == before
    for scope in kept[:-1]:
        assert (call(scope.stats).active_count, len(call(scope.items.pending))) == (1, 1)
        for order in ("relevance", "recall"):
            assert len(call(scope.items.search, "needle", order=order)) == 1
        assert "needle" in (call(scope.pack, "needle", budget=500).note or "")
    for reader in (memory, open_memory.in_other_process()):
        assert call(reader.working.children) == ["U1", "u", "u1/a", "u10", "u2"]
        for path in paths[:3]:
            scope = reader.scope(*path)
            assert (call(scope.items.all), call(scope.messages.count), call(scope.entries.keys)) == ([], 0, [])


def test_B41_nothing_of_what_was_cleared_clings_to_what_comes_under_the_same_ids(
    open_memory: MemoryOpener, call: Call
) -> None:
    memory = open_memory()
    scope = memory.scope("s")
    item = call(scope.items.add, "an old needle", priority="critical")
    promoted = call(scope.items.add, "an old needle in long-term memory", priority="high")
    call(scope.items.promote, promoted.id)
    call(scope.queue.advance_step)
    call(scope.entries.set, "k", "old", tags=["old"], metadata={"old": 1})
    call(scope.messages.append, [said("old", id="m1"), said("older", id="m2")])
    document = call(scope.export)
    for _ in range(2):
        call(scope.items.search, "needle")
        call(scope.pack, "needle", budget=500)
    there = open_memory.in_other_process().scope("s")
    assert call(there.items.count) == 1
    assert call(scope.clear) == 5
    # At once, under the very ids.
    anew = {"id": item.id, "content": "a new thing", "access_count": 1}
    call(scope.import_, {"format": "wmem-scope", "version": 1, "memories": [anew]})
    call(scope.messages.append, said("new", id="m1"))
    call(scope.entries.set, "k", "new")
    for each in (scope, there):
        assert [found.id for found in call(each.items.all, include_promoted=True)] == [item.id]
        assert call(each.items.get, item.id).access_count == 1
        assert (call(each.items.pending), call(each.items.promoted)) == ([], [])
        assert call(each.items.search, "needle", order="relevance") == ()
        assert call(each.items.search, "needle", order="recall") == ()
        assert [message.text for message in call(each.messages.all)] == ["new"]
        entry = call(each.entries.entry, "k")
        assert (entry.value, entry.tags, entry.metadata) == ("new", (), {})
        assert "old" not in str(call(each.pack, "needle", budget=500, long_term=False).to_openai())
        stats = call(each.stats)
        assert (stats.total_count, stats.promoted_count, stats.entries, stats.messages) == (1, 0, 1, 1)
    assert call(scope.items.fetch, item.id).access_count == 2
    assert len(call(memory.episodic.items.all)) == 1
    call(scope.clear)
    assert call(scope.import_, document) == 5


def test_B41_a_clear_that_fails_in_the_middle_changes_nothing(
    memory: wmem.AgentMemory, call: Call, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = memory.scope("s")
    call(scope.items.add, "x", priority="critical")
    call(scope.messages.append, said("hi"))
    before = call(scope.export)

    def away(*_: Any) -> Any:
        msg = "the store is away"
        raise StoreError(msg)

    async def aaway(*_: Any) -> Any:
        away()

    opened: Any = memory._core
    ports = opened.ports.sync if mode == "sync" else opened.ports.aio
    monkeypatch.setitem(ports, "Journal.append", away if mode == "sync" else aaway)
    for clear in (scope.clear, scope.items.clear, scope.messages.clear):
        with pytest.raises(StoreError, match="away"):
            call(clear)
    monkeypatch.undo()
    assert call(scope.export) == before
    assert len(call(scope.items.pending)) == 1


# -- B92, B95, B96, B128: time


def test_B92_what_has_expired_is_invisible_at_once_though_no_sweeper_ran(
    memory: wmem.AgentMemory, call: Call, clock: Clock
) -> None:
    scope = memory.scope("s")
    item = call(scope.items.add, "the needle of an item", ttl_s=60)
    call(scope.entries.set, "k", "the needle of an entry", ttl_s=60)
    clock.advance(60)
    assert (call(scope.items.get, item.id), call(scope.entries.get, "k")) == (None, None)
    assert call(scope.items.search, "needle") == ()
    assert (call(scope.items.all), call(scope.entries.keys)) == ([], [])
    assert (call(scope.items.count), call(scope.entries.count)) == (0, 0)
    assert "needle" not in str(call(scope.pack, "needle", budget=500).to_openai())


@pytest.fixture(params=["America/Los_Angeles", "Pacific/Kiritimati"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A host whose local time is far from UTC."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("zone")
def test_B95_instants_are_compared_as_numbers_wherever_the_host_is_and_whatever_offset_they_came_with(
    memory: wmem.AgentMemory, call: Call, clock: Clock
) -> None:
    assert datetime.fromtimestamp(NOON).astimezone().utcoffset() != datetime.fromtimestamp(NOON, UTC).utcoffset()
    scope = memory.scope("s")
    # NOON is 2025-11-28T00:00:00Z: all of these are an hour later.
    instants = ["2025-11-28T01:00:00Z", "2025-11-27T17:00:00-08:00", "2025-11-28T06:30:00+05:30", "2025-11-28T01:00:00"]
    told = [{"id": str(number), "content": "x", "expires_at": at} for number, at in enumerate(instants)]
    call(scope.import_, {"format": "wmem-scope", "version": 1, "memories": told})
    added = call(scope.items.add, "x", ttl_s=HOUR)
    assert {item.expires_at for item in call(scope.items.all)} == {added.expires_at} == {NOON + HOUR}
    kept = call(scope.items.promote, added.id)
    assert kept.id.endswith("_20251128-000000")
    clock.advance(HOUR - 0.001)
    assert call(scope.items.count) == 4
    clock.advance(0.001)
    assert call(scope.items.count) == 0
    assert call(memory.maintain).expired == 5
    stored = call(scope.messages.append, said("hi", created_at="2025-11-27T16:00:00-08:00"))
    assert stored.created_at == NOON


def test_B96_no_upkeep_extends_a_time_to_live(open_memory: MemoryOpener, call: Call, clock: Clock) -> None:
    memory = open_memory()
    scope = memory.scope("s")
    for number in range(5):
        call(scope.items.add, f"needle {number}", ttl_s=100 + number)
        call(scope.entries.set, str(number), "needle", ttl_s=100 + number)

    def expiries(scope: Scope) -> list[float | None]:
        document = call(scope.export)
        return [told.get("expires_at") for told in document["memories"] + document["entries"]]

    before = expiries(scope)
    clock.advance(50)
    acts: list[Callable[[], Any]] = [
        memory.maintain,
        scope.erase,  # compacts
        memory.rotate,
        memory.maintain,
        scope.view,
        scope.export,
        lambda: scope.items.search("needle"),
        lambda: scope.pack("needle", budget=500),
        lambda: scope.items.fetch(told["id"]),
        lambda: scope.messages.append(said("hi")),
    ]
    (told, *_) = call(scope.export)["memories"]
    for act in acts:
        call(act)
        assert expiries(scope) == before
    call(memory.close)
    again = open_memory.in_other_process()
    call(again.maintain)
    assert expiries(again.scope("s")) == before
    clock.advance(50)
    assert call(again.maintain).expired == 2
    assert call(again.scope("s").items.count) == 4


class SystemClock:
    """The system's clock, which somebody sets."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self._real = time.time

    def __call__(self) -> float:
        return self._real() + self.ahead


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> SystemClock:
    """Stands in for `time.time`."""
    made = SystemClock()
    monkeypatch.setattr(time, "time", made)
    return made


def test_B128_a_system_clock_that_jumps_ends_no_time_to_live_and_lets_none_go_on_for_ever(
    open_memory: MemoryOpener, call: Call, system: SystemClock
) -> None:
    memory = open_memory(clock=None)
    scope = memory.scope("s")
    items = [call(scope.items.add, str(number), ttl_s=600) for number in range(5)]
    call(scope.entries.set, "k", 1, ttl_s=600)
    began = time.time()
    for ahead in (-HOUR, TEN_YEARS, 0.0):
        system.ahead = ahead
        assert call(memory.maintain).expired == 0
        assert [item.id for item in call(scope.items.all)] == [item.id for item in items]
        assert call(scope.entries.get, "k") == 1
        fresh = call(scope.items.add, "fresh", ttl_s=600)
        assert 0 <= fresh.created_at - began < HOUR / 2
        assert fresh.expires_at == pytest.approx(fresh.created_at + 600)
        assert call(scope.items.remove, fresh.id) is True


def test_B128_what_was_stored_under_a_clock_ten_years_ahead_lives_as_long_as_it_was_given(
    open_memory: MemoryOpener, call: Call, system: SystemClock
) -> None:
    system.ahead = TEN_YEARS
    wrong = open_memory(clock=None)
    item = call(wrong.scope("s").items.add, "x", ttl_s=600)
    call(wrong.scope("s").entries.set, "k", 1, ttl_s=600)
    system.ahead = 0.0
    right = open_memory.in_other_process(clock=None)
    for _ in range(2):
        call(right.maintain)
        found = call(right.scope("s").items.get, item.id)
        assert found.expires_at is not None
        assert 0 < found.expires_at - time.time() <= 600
    assert call(right.scope("s").entries.get, "k") == 1


def test_B128_one_bad_reading_of_the_clock_deletes_nothing(
    open_memory: MemoryOpener, call: Call, system: SystemClock, caplog: pytest.LogCaptureFixture
) -> None:
    memory = open_memory(clock=None)
    for name in ("a", "b"):
        call(memory.scope(name).items.add, "x", ttl_s=600)
    system.ahead = TEN_YEARS
    wrong = open_memory.in_other_process(clock=None)
    system.ahead = 0.0
    assert call(wrong.maintain).expired == 0
    assert "clock that ran ahead" in caplog.text
    assert [call(memory.scope(name).items.count) for name in ("a", "b")] == [1, 1]


def test_B128_the_clock_can_be_given(open_memory: MemoryOpener, call: Call, clock: Clock) -> None:
    scope = open_memory().scope("s", policy=Policy.session())
    assert call(scope.items.add, "x", ttl_s=5).expires_at == NOON + 5
    clock.now = NOON - HOUR
    assert call(scope.items.count) == 1
    clock.now = NOON + 5
    assert call(scope.items.count) == 0


def test_B128_the_default_clock_only_runs_forward(system: SystemClock) -> None:
    clock = SteadyClock()
    began = clock()
    assert abs(began - time.time()) < HOUR / 2
    for ahead in (-HOUR, TEN_YEARS, -TEN_YEARS):
        system.ahead = ahead
        assert 0 <= clock() - began < HOUR / 2
        assert clock.is_ahead() is (ahead == -TEN_YEARS)


def test_B128_a_clear_needs_no_clock_to_leave_nothing(
    open_memory: MemoryOpener, call: Call, url: str, clock: Clock
) -> None:
    scope = open_memory().scope("s")
    call(scope.items.add, "zqXvKw9PjLmTrB", ttl_s=5)
    clock.now = NOON - HOUR
    call(scope.clear)
    assert b"zqXvKw9PjLmTrB" not in read_store_bytes(url)
