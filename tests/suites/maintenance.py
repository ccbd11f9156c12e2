"""Suite of maintenance: expired items are removed once, nothing else changes, and it runs from start to stop."""

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import wmem
import wmem.journal.sqlite_maintenance
from wmem import InvalidInputError, Policy
from wmem.model.change import Event, ItemExpired
from wmem.testing.suite import NOON, Call, Clock, FacetSuite, MemoryOpener

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MaintenanceSuite"]

LOOKS = 30_000
TASK_NAME = "wmem-maintenance"  # name of its thread or task


class MaintenanceSuite(FacetSuite):
    """`maintain`, and `Maintenance`, which repeats it."""

    # -- one pass

    @pytest.mark.backends("sqlite")  # the file of the other one shrinks with each transaction
    def test_a_large_file_is_written_anew_by_the_next_pass_after_an_erasure(
        self, memory: wmem.AgentMemory, call: Call, store_bytes: "Callable[[], bytes]", monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(wmem.journal.sqlite_maintenance, "_VACUUM_NOW_MAX_BYTES", 1)
        scope = memory.scope("a")
        words = " ".join(f"{number * 7919:x}" for number in range(10_000))  # not to be compressed to nothing
        item = call(scope.items.add, f"The word of the day is xylophonist. {words}")
        call(memory.scope("b").items.add, "stays")
        (told,) = call(scope.erase, item.id).remaining
        assert "`maintain()`" in told
        before = len(store_bytes())
        call(memory.maintain)
        assert len(store_bytes()) < before
        assert b"xylophonist" not in store_bytes()
        assert call(memory.scope("b").items.count) == 1

    def test_a_scope_that_another_process_disposes_meanwhile_is_left_to_it(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        theirs = open_memory().scope("a")
        doomed: list[wmem.Scope] = []

        def read_clock() -> float:
            while doomed:  # a pass reads the clock once it has read the scope
                doomed.pop().dispose()
            return clock()

        memory = open_memory.in_other_process(clock=read_clock)
        for name in ("a", "b"):
            call(memory.scope(name).items.add, "goes", ttl_s=10)
        clock.advance(10)
        call(theirs.items.count)
        doomed.append(open_memory.to_sync(theirs))
        assert call(memory.maintain).expired == 1
        assert not doomed
        assert call(memory.maintain).expired == 0

    def test_a_pass_takes_out_what_expired_in_every_scope_and_tells_how_much(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory()
        for name in ("a", "b"):
            scope = memory.scope(name)
            call(scope.items.add, "goes", ttl_s=10)
            call(scope.items.add, "stays", ttl_s=11)
            call(scope.entries.set, "goes", 1, ttl_s=10)
            call(scope.entries.set, "stays", 1)
        call(memory.scope("a", "below").items.add, "goes", ttl_s=10)
        call(open_memory("other").scope("a").items.add, "another agent's", ttl_s=10)
        clock.advance(10)
        done = call(memory.maintain)
        assert (done.scopes, done.expired, done.deleted) == (3, 5, 0)
        for name in ("a", "b"):
            assert call(memory.scope(name).items.expired) == []
            listed = call(memory.scope(name).items.all, include_expired=True)
            assert [item.content for item in listed] == ["stays"]
        assert len(call(open_memory("other").scope("a").items.expired)) == 1
        again = call(memory.maintain)
        assert (again.expired, again.compacted, again.deleted) == (0, 0, 0)

    def test_what_was_taken_out_cannot_be_revived(
        self, memory: wmem.AgentMemory, session: wmem.Scope, call: Call, clock: Clock
    ) -> None:
        item = call(session.items.add, "x", ttl_s=1)
        clock.advance(1)
        call(memory.maintain)
        with pytest.raises(wmem.NotFoundError):
            call(session.items.extend_ttl, item.id)

    def test_a_memory_without_scopes_has_nothing_to_maintain(self, memory: wmem.AgentMemory, call: Call) -> None:
        done = call(memory.maintain)
        assert (done[:5], {report.changed for report in done.jobs.values()} | {0}) == ((0, 0, 0, 0, 0), {0})

    def test_two_processes_take_an_item_out_once_and_announce_it_once(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        here, there = open_memory(), open_memory.in_other_process()
        for number in range(8):
            call(here.scope("s").items.add, str(number), ttl_s=1)
        call(there.scope("s").items.all)
        heard: list[Event] = []
        here.subscribe(heard.append)
        clock.advance(1)
        passes: list[Callable[[], Any]] = [here.maintain, there.maintain, here.maintain, there.maintain]
        done = call.run_concurrently(passes)
        assert sum(each.expired for each in done) == 8
        call(here.scope("s").items.all)
        gone = [event.change.id for event in heard if isinstance(event.change, ItemExpired)]
        assert len(gone) == len(set(gone)) == 8

    def test_a_pass_spares_what_was_given_more_time_meanwhile(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        here, there = open_memory(), open_memory.in_other_process()
        item = call(here.scope("s").items.add, "x", ttl_s=1)
        clock.advance(1)
        call(there.scope("s").items.extend_ttl, item.id)
        assert call(here.maintain).expired == 0
        assert call(here.scope("s").items.exists, item.id) is True

    def test_a_pass_changes_nothing_of_what_lives(
        self, memory: wmem.AgentMemory, session: wmem.Scope, call: Call, clock: Clock
    ) -> None:
        call(session.items.add, "x", ttl_s=100)
        call(session.items.add, "y", pinned=True)
        call(session.entries.set, "k", 1, ttl_s=100)
        call(session.messages.append, {"role": "user", "content": "hi"})
        before, cursor = call(session.export), call(session.view).cursor
        clock.advance(99)
        call(memory.maintain)
        after = call(session.export)
        for document in (before, after):
            for told in document["memories"] + document["entries"]:
                del told["importance_score"]  # it follows the clock
        assert (after, call(session.view).cursor) == (before, cursor)

    def test_long_term_memory_is_kept_by_any_number_of_passes(
        self, memory: wmem.AgentMemory, session: wmem.Scope, call: Call, clock: Clock
    ) -> None:
        kept = call(session.items.promote, call(session.items.add, "x").id)
        for _ in range(3):
            clock.advance(1e7)
            call(memory.maintain)
        assert call(memory.episodic.items.get, kept.id) == kept

    # -- a clock that ran ahead

    def test_what_was_stored_under_a_clock_that_ran_ahead_does_not_live_for_ever(
        self, memory: wmem.AgentMemory, session: wmem.Scope, call: Call, clock: Clock
    ) -> None:
        clock.advance(10 * 365 * 86_400)
        item = call(session.items.add, "x", ttl_s=60)
        long = call(session.items.add, "x", ttl_s=20 * 365 * 86_400)
        call(session.items.add, "for ever", ttl_s=None)
        clock.now = NOON
        assert call(memory.maintain).expired == 0
        assert call(session.items.get, item.id).expires_at == NOON + 60
        clock.advance(30)
        assert call(memory.maintain).expired == 0
        assert call(session.items.get, item.id).expires_at == NOON + 60
        clock.advance(30)
        assert call(session.items.exists, item.id) is False
        assert call(memory.maintain).expired == 1
        assert call(session.items.get, long.id).expires_at == NOON + 20 * 365 * 86_400
        assert [each.content for each in call(session.items.all)] == ["x", "for ever"]

    def test_whatever_is_done_with_what_was_stored_under_a_clock_that_ran_ahead_counts_its_time_from_now(
        self, session: wmem.Scope, call: Call, clock: Clock
    ) -> None:
        clock.advance(10 * 365 * 86_400)
        items = [call(session.items.add, name, ttl_s=60) for name in ("updated", "related", "extended", "forgotten")]
        call(session.entries.set, "k", 1, ttl_s=60)
        clock.now = NOON
        updated, related, extended, forgotten = (item.id for item in items)
        assert call(session.items.update, updated, tags=["t"]).expires_at == NOON + 60
        assert call(session.items.relate, related, "references", "x").expires_at == NOON + 60
        assert call(session.items.extend_ttl, extended, 60).expires_at == NOON + 120
        call(session.queue.forget, "position:3")
        assert call(session.items.undelete, forgotten).expires_at == NOON + 60
        call(session.entries.update, "k", lambda value: value + 1)
        assert call(session.entries.entry, "k").expires_at == NOON + 60

    # -- repetition

    def test_nothing_runs_until_it_is_started_and_nothing_after_it_is_stopped(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory()
        repeated = memory.maintenance(every_s=0.01)
        call(memory.scope("s").items.add, "x", ttl_s=1)
        clock.advance(1)
        assert (repeated.runs, repeated.last, _count_running(repeated, call)) == (0, None, 0)
        with call.enter(repeated) as running:
            assert running is repeated
            _wait_for_runs(repeated, 2, call)
            assert _count_running(repeated, call) == 1
        assert _count_running(repeated, call) == 0
        assert repeated.last is not None
        assert call(memory.scope("s").items.all, include_expired=True) == []
        call(repeated.stop)

    def test_starting_twice_runs_one_and_it_can_be_started_again(self, open_memory: MemoryOpener, call: Call) -> None:
        repeated = open_memory().maintenance(every_s=1_000)
        for runs in (1, 2):
            _start(repeated, call)
            _start(repeated, call)
            _wait_for_runs(repeated, runs, call)
            assert _count_running(repeated, call) == 1
            call(repeated.stop)
        assert (repeated.runs, _count_running(repeated, call)) == (2, 0)

    def test_closing_the_memory_ends_it(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        repeated = memory.maintenance(every_s=0.01)
        _start(repeated, call)
        _wait_for_runs(repeated, 1, call)
        call(memory.close)
        assert _count_running(repeated, call) == 0

    def test_its_pace_is_the_policys_unless_it_is_told_another(self, open_memory: MemoryOpener) -> None:
        assert open_memory("a").maintenance().every_s == 300
        assert open_memory("b", policy=Policy.session(cleanup_every_s=5)).maintenance().every_s == 5
        bad: list[Any] = [0, -1, "5", True, float("inf"), float("nan")]
        memory = open_memory("c")
        for every_s in bad:
            with pytest.raises(InvalidInputError, match="every_s"):
                memory.maintenance(every_s=every_s)


def _start(maintenance: Any, call: Call) -> None:
    async def within_the_loop() -> None:
        maintenance.start()

    call(maintenance.start if isinstance(maintenance, wmem.Maintenance) else within_the_loop)


def _count_running(maintenance: Any, call: Call) -> int:
    """Number of running maintenance threads or tasks."""

    async def tasks() -> int:
        await asyncio.sleep(0)  # lets cancelled tasks end
        return sum(task.get_name() == TASK_NAME for task in asyncio.all_tasks())

    if not isinstance(maintenance, wmem.Maintenance):
        counted: Any = call(tasks)
        return int(counted)
    return sum(thread.name == TASK_NAME for thread in threading.enumerate())


def _wait_for_runs(maintenance: Any, runs: int, call: Call) -> None:
    """Wait for that many completed passes."""

    async def turn() -> None:
        await asyncio.sleep(0.001)

    for _ in range(LOOKS):
        if maintenance.runs >= runs:
            return
        call(lambda: time.sleep(0.001) if isinstance(maintenance, wmem.Maintenance) else turn())
    pytest.fail("waited in vain for maintenance")
