"""Suite of traces: what happened in a turn is told in ids and numbers, to whoever asks, and counted nowhere."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import pytest

import wmem
from wmem import NotFoundError, Policy, Scope
from wmem.model.trace import (
    ConsolidationTraced,
    EvictionTraced,
    ExpiryTraced,
    ForgetTraced,
    MemorizeTraced,
    PromotionTraced,
    RedactionTraced,
    RejectionTraced,
    RouteTraced,
    ToolCallTraced,
    TraceEvent,
)
from wmem.scope.trace import append_trace
from wmem.testing.suite import Call, Clock, FacetSuite, MemoryOpener

__all__ = ["TracesSuite"]

EVENTS: Sequence[TraceEvent] = (
    ToolCallTraced("01JDWXYZ0123456789ABCDEFGH", failed=True, tokens=70_000),
    MemorizeTraced("run--0b7cd4a8-9d0e-4c9e-8a53-0d0a8b8f9f11-0", "semantic"),
    MemorizeTraced("call_1", "my own type"),
    ForgetTraced(("a", "b"), hard=True),
    EvictionTraced("a", "stale", 12, {"importance": 0.25, "age": 3600.0}),
    ExpiryTraced(("x",)),
    PromotionTraced("x", "memory_promoted_x_20261129-120000"),
    RejectionTraced("semantic", "novelty", 0.25, 0.5),
    RedactionTraced("x", {"email": 2, "own kind": 1}),
    RouteTraced("x", "semantic", "knowledge-type"),
    RouteTraced("x", "my own type", "my own rule"),
    ConsolidationTraced("merge-duplicates", ("x", "y"), "z"),
    ConsolidationTraced("purge", ("x",)),
)


def trace(call: Call, scope: Scope, turn_id: str, events: Sequence[TraceEvent] = EVENTS) -> None:
    """Append to the trace of a scope, as the end of a turn does."""
    handle: Any = scope._handle
    call(scope._drive, append_trace(handle, turn_id, events, handle.settings.clock()))


class TracesSuite(FacetSuite):
    """The trace of a turn is one record, and outlives its process."""

    def test_what_happened_in_a_turn_is_told_in_its_order_in_another_process(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory()
        session = memory.scope("s", "below")
        call(session.messages.append, {"role": "user", "content": "Hello"})
        trace(call, session, "t1", EVENTS[:3])
        clock.advance(1)
        trace(call, session, "t2")
        trace(call, session, "t1", EVENTS[3:])
        for each in (memory, open_memory.in_other_process()):
            told = call(each.trace, "t1")
            assert told.events == tuple(EVENTS)
            assert (told.id, told.path, told.at) == ("t1", session.path, clock())
            assert call(each.trace, "t1", session=("s", "below")) == told
            assert [turn.id for turn in call(each.traces, "s", "below")] == ["t1", "t2"]
            assert call(each.traces, "s") == []

    def test_a_turn_that_no_trace_has_is_not_found(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        with pytest.raises(NotFoundError, match="'t1'"):
            call(memory.trace, "t1")
        trace(call, memory.scope("s"), "t1")
        assert call(memory.trace, "t1", session="s").id == "t1"
        for session in ("other", ("s", "below")):
            with pytest.raises(NotFoundError, match="'t1'"):
                call(memory.trace, "t1", session=session)
        refused: Sequence[Any] = ("", 3)
        for turn in refused:
            with pytest.raises(wmem.InvalidInputError):
                call(memory.trace, turn)

    def test_a_trace_is_heard_by_nobody_and_counted_nowhere_unless_asked(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory()
        session = memory.scope("s")
        heard: list[Any] = []
        reserved: list[Any] = []
        call(session.messages.append, {"role": "user", "content": "Hello"})
        before = call(memory.stats), call(session.stats), call(memory.maintain)
        stops = [memory.subscribe(heard.append), memory.subscribe(reserved.append, reserved=True)]
        trace(call, session, "t1")
        assert heard == []
        assert {event.path for event in reserved} == {(*session.path, "~trace")}
        assert (call(memory.stats), call(session.stats), call(memory.maintain)) == before
        assert call(session.children) == []
        assert call(memory.working.children) == ["s"]
        assert {event.path for event in call(memory.changes).events} == {session.path}
        more = call(memory.changes, reserved=True)
        assert {event.path for event in more.events} == {session.path, (*session.path, "~trace")}
        for stop in stops:
            stop()

    def test_a_full_session_has_room_for_its_trace(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        session = memory.scope("s", policy=Policy.session(max_child_scopes=1))
        call(session.entries.set, "k", 1)
        call(session.child("only").entries.set, "k", 1)
        trace(call, session, "t1")
        assert call(memory.trace, "t1").path == session.path

    def test_a_trace_goes_with_its_scope(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        session = memory.scope("s")
        call(session.messages.append, {"role": "user", "content": "Hello"})
        trace(call, session, "t1")
        call(session.dispose)
        with pytest.raises(NotFoundError):
            call(memory.trace, "t1")
        with pytest.raises(wmem.DisposedError):
            trace(call, session, "t2")
        again = memory.scope("s")
        trace(call, again, "t3")
        assert [turn.id for turn in call(memory.traces, "s")] == ["t3"]

    def test_old_turns_leave_the_trace(self, open_memory: MemoryOpener, call: Call, clock: Clock) -> None:
        memory = open_memory()
        session = memory.scope("s", policy=Policy.session(trace_s=60, trace_turns=3))
        call(session.messages.append, {"role": "user", "content": "Hello"})
        for number in range(5):
            trace(call, session, f"t{number}")
        assert [turn.id for turn in call(memory.traces, "s")] == ["t2", "t3", "t4"]
        clock.advance(61)
        trace(call, session, "t5")
        assert [turn.id for turn in call(open_memory.in_other_process().traces, "s")] == ["t5"]

    def test_maintenance_lets_old_turns_leave_the_trace(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory()
        session = memory.scope("s", policy=Policy.session(trace_s=60))
        call(session.messages.append, {"role": "user", "content": "Hello"})
        trace(call, session, "t1")
        clock.advance(50)
        trace(call, session, "t2")
        call(memory.maintain)
        assert [turn.id for turn in call(memory.traces, "s")] == ["t1", "t2"]
        clock.advance(11)
        call(memory.maintain)
        for each in (memory, open_memory.in_other_process()):
            assert [turn.id for turn in call(each.traces, "s")] == ["t2"]

    def test_a_trace_takes_no_more_than_its_share(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        session = memory.scope("s")
        call(session.messages.append, {"role": "user", "content": "Hello"})
        many = [ForgetTraced(tuple(str(uuid4()) for _ in range(1_200)))]  # of 16 bytes, and a byte more
        for number in range(8):
            trace(call, session, f"t{number}", many)
        told = [turn.id for turn in call(memory.traces, "s")]
        assert told == ["t5", "t6", "t7"], "64 KiB, for the session has less than twenty times as much"

    def test_no_trace_is_written_if_the_policy_has_none(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory()
        trace(call, memory.scope("s", policy=Policy.session(trace_turns=0)), "t1")
        assert call(memory.traces, "s") == []
