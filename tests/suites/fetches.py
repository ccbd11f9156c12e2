"""Suite of access counts: a fetch counts at once in the reply, a little later in the journal, never twice."""

from typing import TYPE_CHECKING, Any

import wmem
from wmem import Scope
from wmem.testing.suite import NOON, Call, Clock, FacetSuite, MemoryOpener

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FetchesSuite"]


class FetchesSuite(FacetSuite):
    """How fetches are counted, written, summed and preserved."""

    def test_a_fetch_counts_and_says_so_at_once(self, session: Scope, call: Call, clock: Clock) -> None:
        item = call(session.items.add, "x")
        clock.advance(5)
        assert [call(session.items.fetch, item.id).access_count for _ in range(6)] == [2, 3, 4, 5, 6, 7]
        assert call(session.items.fetch, item.id).last_accessed_at == NOON + 5

    def test_get_lists_and_packs_count_nothing(self, session: Scope, call: Call) -> None:
        item = call(session.items.add, "a dog called Biscuit")
        for _ in range(5):
            call(session.items.get, item.id)
            call(session.items.exists, item.id)
            call(session.items.all)
            call(session.items.recent)
            call(session.pack, "dog", budget=500)
        assert call(session.items.fetch, item.id).access_count == 2

    def test_fetches_are_written_with_the_scopes_next_append(self, open_memory: MemoryOpener, call: Call) -> None:
        here, there = open_memory().scope("s"), open_memory.in_other_process().scope("s")
        item = call(here.items.add, "x")
        call(here.items.fetch, item.id)
        call(here.items.fetch, item.id)
        assert call(there.items.get, item.id).access_count == 1
        call(here.entries.set, "k", 1)
        assert call(there.items.get, item.id).access_count == 3

    def test_fetches_that_are_not_written_yet_outlive_a_new_start_from_a_snapshot(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        here, there = open_memory().scope("s"), open_memory.in_other_process().scope("s")
        item = call(here.items.add, "x")
        call(here.items.fetch, item.id)
        call(there.items.add, "y")
        call(there.erase)  # compacts: what this process has read is not in the journal any more
        assert call(here.items.get, item.id).access_count == 2
        call(here.entries.set, "k", 1)
        assert call(there.items.get, item.id).access_count == 2

    def test_many_fetches_write_few_records(self, session: Scope, memory: wmem.AgentMemory, call: Call) -> None:
        item = call(session.items.add, "x")
        before = call(session.view).cursor.version
        for _ in range(64):
            call(session.items.fetch, item.id)
        assert call(session.view).cursor.version - before <= 12
        assert call(session.items.fetch, item.id).access_count == 66

    def test_a_fetch_a_second_after_the_last_unwritten_one_writes_both(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        here, there = open_memory().scope("s"), open_memory.in_other_process().scope("s")
        item = call(here.items.add, "x")
        call(here.items.fetch, item.id)
        clock.advance(1)
        call(here.items.fetch, item.id)
        assert call(there.items.get, item.id).access_count == 3

    def test_fetches_in_two_processes_add_up(self, open_memory: MemoryOpener, call: Call) -> None:
        here, there = open_memory().scope("s"), open_memory.in_other_process().scope("s")
        item = call(here.items.add, "x")
        for scope in (here, there):
            call(scope.items.fetch, item.id)
            call(scope.items.fetch, item.id)
        call(here.entries.set, "k", 1)
        call(there.entries.set, "k", 1)
        assert call(here.items.get, item.id).access_count == 5

    def test_closing_a_memory_writes_the_fetches_it_still_holds(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        item = call(memory.scope("s").items.add, "x")
        call(memory.scope("s").items.fetch, item.id)
        call(memory.close)
        assert call(open_memory.in_other_process().scope("s").items.get, item.id).access_count == 2

    def test_a_merge_brings_the_fetches_that_are_not_yet_written(self, session: Scope, call: Call) -> None:
        child = session.child("c")
        item = call(child.items.add, "x")
        call(child.items.fetch, item.id)
        call(child.merge_to_parent, items=True)
        assert call(session.items.get, item.id).access_count == 2

    def test_fetches_are_written_at_close_and_counted_by_the_next_opener(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory()
        item = call(memory.scope("s").items.add, "x")
        for _ in range(2):
            call(memory.scope("s").items.fetch, item.id)
        assert call(open_memory.in_other_process().scope("s").items.get, item.id).access_count == 1
        call(memory.close)
        again = call(open_memory.in_other_process().scope("s").items.get, item.id)
        assert (again.access_count, again.last_accessed_at) == (3, NOON)

    def test_fetches_are_written_before_a_merge_and_counted_in_the_parent(
        self, session: wmem.Scope, call: Call
    ) -> None:
        child = session.child("sub")
        item = call(child.items.add, "found out")
        for _ in range(2):
            call(child.items.fetch, item.id)
        call(child.merge_to_parent, items=True)
        assert call(session.items.get, item.id).access_count == 3
        assert call(child.items.get, item.id).access_count == 3

    def test_fetches_go_with_the_next_write_of_any_kind(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        scope = memory.scope("s")
        item = call(scope.items.add, "x")
        writes: list[Callable[[], Any]] = [
            lambda: call(scope.messages.append, {"role": "user", "content": "a"}),
            lambda: call(scope.entries.set, "k", 1),
            lambda: call(scope.entries.remove, "k"),
            lambda: call(scope.messages.pop),
            lambda: call(scope.items.add, "y"),
        ]
        for count, write in enumerate(writes, start=2):
            call(scope.items.fetch, item.id)
            write()
            assert call(open_memory.in_other_process().scope("s").items.get, item.id).access_count == count

    def test_fetches_are_not_forgotten_by_an_update(self, open_memory: MemoryOpener, call: Call, clock: Clock) -> None:
        memory = open_memory()
        item = call(memory.scope("s").items.add, "x")
        clock.advance(0.5)
        call(memory.scope("s").items.fetch, item.id)
        assert call(memory.scope("s").items.update, item.id, content="y").access_count == 2
        for each in (memory, open_memory.in_other_process()):
            again = call(each.scope("s").items.get, item.id)
            assert (again.access_count, again.last_accessed_at) == (2, NOON + 0.5)
