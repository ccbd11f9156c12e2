"""Suite of temporary scopes whose block never ends: their lease, what renews it, and who disposes them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import wmem
from wmem import CapacityError, DisposedError, InvalidInputError, Policy, Scope
from wmem.testing.suite import Call, Clock, FacetSuite, MemoryOpener

__all__ = ["TemporarySuite"]

HOUR = 3_600

WRITES: dict[str, Callable[[Call, Scope], Any]] = {
    "set": lambda call, scope: call(scope.entries.set, "k", 2),
    "remove": lambda call, scope: call(scope.entries.remove, "k"),
    "item": lambda call, scope: call(scope.items.add, "x"),
    "message": lambda call, scope: call(scope.messages.append, {"role": "user", "content": "hi"}),
    "step": lambda call, scope: call(scope.queue.advance_step, 1),
    "clear": lambda call, scope: call(scope.clear),
    "erase": lambda call, scope: call(scope.erase, call(scope.entries.entry, "k").id),
    "import": lambda call, scope: call(scope.import_, {**call(scope.export), "step": 7}),
    "below": lambda call, scope: call(scope.child("d").child("e").entries.set, "k", 1),
}


class TemporarySuite(FacetSuite):
    """A temporary scope that its process has left, and one whose process works on."""

    @pytest.fixture
    def enter(self, session: Scope, call: Call) -> Iterator[Callable[..., Scope]]:
        """Enters the block of a temporary scope, which ends with the test."""
        with ExitStack() as stack:

            def enter(**given: Any) -> Scope:
                block = call.enter(session.temporary("work", **given))
                stack.callback(lambda: block.__exit__(None, None, None))
                return block.__enter__()

            yield enter

    @pytest.fixture
    def left(self, enter: Callable[..., Scope], call: Call) -> Scope:
        """A scope as a process leaves it that dies in its block."""
        scope = enter()
        call(scope.entries.set, "k", 1)
        call(scope.child("d").items.add, "x")
        return scope

    def test_maintenance_of_any_process_disposes_it_when_its_lease_has_ended(
        self, open_memory: MemoryOpener, session: Scope, left: Scope, call: Call, clock: Clock
    ) -> None:
        call(session.entries.set, "stays", 1)
        other = open_memory.in_other_process()
        clock.advance(HOUR - 1)
        assert call(other.maintain).deleted == 0
        assert call(left.entries.get, "k") == 1
        clock.advance(1)
        assert call(other.maintain).deleted == 1
        assert call(other.scope("session").children) == []
        assert call(other.scope("session").entries.get, "stays") == 1
        with pytest.raises(DisposedError):
            call(left.entries.get, "k")
        assert call(other.maintain).deleted == 0

    @pytest.mark.parametrize("write", WRITES)
    def test_every_write_in_it_or_below_renews_the_lease(
        self, open_memory: MemoryOpener, left: Scope, call: Call, clock: Clock, write: str
    ) -> None:
        other = open_memory.in_other_process()
        clock.advance(HOUR - 1)
        WRITES[write](call, left)
        clock.advance(HOUR - 1)
        assert call(other.maintain).deleted == 0
        call(left.entries.set, "goes", "on")
        clock.advance(HOUR)
        assert call(other.maintain).deleted == 1

    def test_a_lease_is_kept_in_what_a_compaction_leaves(
        self, open_memory: MemoryOpener, left: Scope, call: Call, clock: Clock
    ) -> None:
        clock.advance(HOUR - 1)
        call(left.clear)  # it compacts
        clock.advance(HOUR - 1)
        other = open_memory.in_other_process()
        assert call(other.maintain).deleted == 0
        clock.advance(1)
        assert call(other.maintain).deleted == 1

    @pytest.mark.parametrize("lease_s", [5, None])
    def test_the_lease_is_as_long_as_one_asks(
        self, memory: wmem.AgentMemory, enter: Callable[..., Scope], call: Call, clock: Clock, lease_s: float | None
    ) -> None:
        scope = enter(lease_s=lease_s)
        call(scope.entries.set, "k", 1)
        clock.advance(5)
        assert call(memory.maintain).deleted == (lease_s is not None)
        clock.advance(1e9)
        assert call(memory.maintain).deleted == 0

    def test_a_lease_that_is_none_is_refused(self, session: Scope, call: Call) -> None:
        bad: list[Any] = [0, -1, float("nan"), float("inf"), True, "1"]
        for lease_s in bad:
            with pytest.raises(InvalidInputError, match="lease_s"), call.enter(session.temporary("w", lease_s=lease_s)):
                pass
        assert call(session.children) == []

    def test_other_scopes_have_no_lease(
        self, memory: wmem.AgentMemory, session: Scope, call: Call, clock: Clock
    ) -> None:
        call(session.entries.set, "k", 1)
        call(session.child("c").entries.set, "k", 1)
        clock.advance(1e9)
        assert call(memory.maintain).deleted == 0
        assert call(session.children) == ["c"]

    def test_one_that_its_parent_refuses_stays_without_a_lease(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        session = memory.scope("s", policy=Policy.session(max_entries=1))
        call(session.entries.set, "k", 1)

        def work() -> None:
            with call.enter(session.temporary("work", merge=True)) as scope:
                call(scope.entries.set, "found", 2)

        with pytest.raises(CapacityError):
            work()
        clock.advance(1e9)
        assert call(memory.maintain).deleted == 0
        (name,) = call(session.children)
        call(session.entries.remove, "k")
        assert call(session.child(name).merge_to_parent) == 1

    def test_what_was_exported_from_one_has_no_lease_where_it_is_imported(
        self, memory: wmem.AgentMemory, left: Scope, call: Call, clock: Clock
    ) -> None:
        scope = memory.scope("kept")
        call(scope.import_, call(left.export))
        clock.advance(1e9)
        assert call(memory.maintain).deleted == 1
        assert call(scope.entries.get, "k") == 1

    def test_one_that_is_written_while_maintenance_runs_stays_whole_or_goes_whole(
        self, open_memory: MemoryOpener, session: Scope, left: Scope, call: Call, clock: Clock
    ) -> None:
        other = open_memory.in_other_process()
        clock.advance(HOUR)

        acts: list[Callable[[], Any]] = [lambda: left.entries.set("late", 1), other.maintain]
        try:
            call.run_concurrently(acts)
        except DisposedError:
            assert call(session.children) == []
        else:
            assert (call(left.entries.get, "k"), call(left.entries.get, "late")) == (1, 1)
