"""Suite of the scoped key-value document: its scenarios, events, log lines, limits and numbers."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

import wmem
from tests.logs import own_records
from wmem import CapacityError, InvalidInputError, Policy, SerializationError
from wmem.observe import EntriesCleared, EntryRemoved, EntrySet, ScopeCreated, ScopeDisposed, entry_events
from wmem.testing.suite import NOON, Call, Clock, FacetSuite, MemoryOpener

__all__ = ["Document1Suite"]


@dataclass
class Address:
    """A value of a user's own class."""

    street: str
    number: int


def record_events(memory: wmem.AgentMemory) -> list[Any]:
    """A list that receives the events of entries and scopes from now on."""
    events: list[Any] = []
    memory.subscribe(entry_events(events.append))
    return events


def log_lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """Level and message of each line the scopes logged."""
    return [(record.levelname, record.getMessage()) for record in caplog.records if record.name == "wmem.scope"]


def _try_set(set_: Callable[[], Awaitable[None] | None]) -> Any:
    """Write unless the scope is full; whether there was room, awaitable if the write is."""
    try:
        made = set_()
    except CapacityError:
        return False
    return True if made is None else _await_set(made)


async def _await_set(write: Awaitable[None]) -> bool:
    try:
        await write
    except CapacityError:
        return False
    return True


class Document1Suite(FacetSuite):
    """The scoped key-value document: its test scenarios and acceptance criteria."""

    # -- its scenarios

    def test_scenario_store_and_retrieve_value(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory("A")
        events = record_events(memory)
        call(memory.working.entries.set, "user_id", "user-123")
        assert call(memory.working.entries.get, "user_id") == "user-123"
        assert events == [EntrySet(agent_id="A", key="user_id", type_name="str", at=NOON)]

    def test_scenario_retrieve_non_existent_key(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory("A")
        assert call(memory.working.entries.get, "non_existent") is None
        assert call(memory.working.entries.get, "non_existent", 0, as_type=int) == 0

    def test_scenario_scope_isolation(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory("A")
        call(memory.working.entries.set, "global_key", "global_value")
        scope = memory.scope("task-1")
        call(scope.entries.set, "global_key", "local_value")
        assert call(scope.entries.get, "global_key") == "local_value"
        assert call(memory.working.entries.get, "global_key") == "global_value"

    def test_scenario_scope_parent_fallback(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory("A")
        call(memory.working.entries.set, "parent_key", "parent_value")
        assert call(memory.scope("task-1").entries.get, "parent_key") == "parent_value"

    def test_scenario_scope_disposal(self, open_memory: MemoryOpener, call: Call) -> None:
        memory = open_memory("A")
        scope = memory.scope("task-1")
        for number in range(5):
            call(scope.entries.set, f"key {number}", number)
        assert call(memory.working.children) == ["task-1"]
        events = record_events(memory)
        assert call(scope.dispose) == 5
        assert events == [
            ScopeDisposed(agent_id="A", scope_name="task-1", scope_id="A/task-1", entries_cleared=5, at=NOON)
        ]
        assert call(memory.working.children) == []

    def test_scenario_full_working_memory_lifecycle(self, memory: wmem.AgentMemory, call: Call) -> None:
        for number in range(100):
            call(memory.working.entries.set, f"key {number}", number)
        scopes = [memory.scope(*("conversation", "subtask", "step")[:depth]) for depth in (1, 2, 3)]
        for depth, scope in enumerate(scopes):
            call(scope.entries.set, "depth", depth)
            call(scope.entries.set, f"key {depth}", "shadowed")
        for depth, scope in enumerate(scopes):
            assert call(scope.entries.get, "depth") == depth
            for number in range(100):
                expected = "shadowed" if number <= depth else number
                assert call(scope.entries.get, f"key {number}") == expected
        stats = call(memory.stats)
        assert (stats.total_entries_working, stats.active_working_scopes) == (106, 3)
        assert (stats.total_entries_long_term, stats.total_entries_forgotten) == (0, 0)
        assert call(scopes[0].dispose) == 2
        assert call(memory.stats).total_entries_working == 100
        assert call(memory.stats).active_working_scopes == 0

    def test_scenario_concurrent_access(self, memory: wmem.AgentMemory, call: Call) -> None:
        session = memory.scope("session")
        call(session.entries.set, "count", 0)

        def setting(number: int) -> Callable[[], Any]:
            return lambda: session.entries.set(f"key {number}", number)

        def getting(number: int) -> Callable[[], Any]:
            return lambda: session.entries.get(f"key {number}")

        def counting() -> Any:
            return session.entries.update("count", lambda count: count + 1)

        for round_ in range(3):
            call.run_concurrently([setting(number) for number in range(10)])
            read = call.run_concurrently([getting(number) for number in range(10)] + [counting] * 10)
            assert read[:10] == list(range(10))
            assert call(session.entries.get, "count") == 10 * (round_ + 1)
        assert call(session.entries.count) == 11

    # -- its acceptance criteria

    def test_a_value_comes_back_as_the_type_that_is_asked_for(self, session: wmem.Scope, call: Call) -> None:
        call(session.entries.set, "home", Address("Quay", 3))
        assert call(session.entries.get, "home", as_type=Address) == Address("Quay", 3)
        with pytest.raises(SerializationError):
            call(session.entries.get, "home", as_type=int)

    def test_an_entry_carries_what_was_said_of_it(self, session: wmem.Scope, call: Call) -> None:
        call(
            session.entries.set,
            "home",
            Address("Quay", 3),
            tags=["place"],
            importance=0.9,
            metadata={"seen": 2},
            kind="preference",
        )
        entry = call(session.entries.entry, "home")
        assert (
            entry.content
            == '{"~wmem":"object","type":"tests.suites.document_1.Address","value":{"street":"Quay","number":3}}'
        )
        assert (entry.type_name, entry.kind, entry.importance) == ("tests.suites.document_1.Address", "preference", 0.9)
        assert (entry.tags, entry.metadata, entry.created_at) == (("place",), {"seen": 2}, NOON)
        assert (entry.access_count, entry.last_accessed_at) == (0, None)

    # -- events

    def test_every_event_of_a_scope_says_everything(self, memory: wmem.AgentMemory, call: Call, clock: Clock) -> None:
        events = record_events(memory)
        scope = memory.scope("s", "c")
        where: Any = {"agent_id": "agent", "scope_name": "c", "scope_id": "agent/s/c"}
        call(scope.entries.set, "k", 1)
        clock.advance(1)
        call(scope.entries.set, "k", [Address("Quay", 3)])
        call(scope.entries.remove, "k")
        call(scope.entries.set, "j", None)
        clock.advance(1)
        call(scope.entries.clear)
        call(scope.dispose)
        assert events == [
            ScopeCreated(**where, parent_scope_id="agent/s", at=NOON),
            EntrySet(**where, key="k", type_name="int", at=NOON),
            EntrySet(**where, key="k", type_name="list", at=NOON + 1, is_update=True),
            EntryRemoved(**where, key="k", at=NOON + 1),
            EntrySet(**where, key="j", type_name="NoneType", at=NOON + 1),
            EntriesCleared(**where, entries_cleared=1, at=NOON + 2),
            ScopeDisposed(**where, entries_cleared=0, at=NOON + 2),
        ]

    def test_nothing_is_told_of_items_and_messages(self, memory: wmem.AgentMemory, call: Call) -> None:
        call(memory.working.entries.set, "k", 1)
        events = record_events(memory)
        item = call(memory.working.items.add, "x")
        call(memory.working.messages.append, {"role": "user", "content": "x"})
        call(memory.working.items.remove, item.id)
        call(memory.working.messages.clear)
        assert events == []

    def test_updating_and_beginning_a_key_are_told_like_setting_it(
        self, session: wmem.Scope, memory: wmem.AgentMemory, call: Call
    ) -> None:
        call(session.entries.set, "k", 1)
        events = record_events(memory)
        call(session.entries.update, "k", lambda value: value + 1)
        call(session.entries.get_or_set, "j", lambda: 2)
        call(session.entries.get_or_set, "j", lambda: 3)
        assert [(event.key, event.is_update) for event in events] == [("k", True), ("j", False)]

    def test_removing_what_has_expired_is_told_as_its_expiry(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        call(memory.working.entries.set, "k", 1, ttl_s=5)
        clock.advance(60)
        events = record_events(memory)
        assert call(memory.working.entries.remove, "k") is False
        assert events == [EntryRemoved(agent_id="agent", key="k", at=NOON + 5, reason="expired")]
        call(memory.working.entries.set, "j", 1, ttl_s=5)
        clock.advance(60)
        call(memory.working.entries.set, "j", 2)
        assert events[-1].is_update is False

    def test_a_merge_is_told_as_the_parents_keys_being_set(
        self, session: wmem.Scope, memory: wmem.AgentMemory, call: Call
    ) -> None:
        call(session.entries.set, "k", 1)
        child = session.child("c")
        call(child.entries.set, "k", 2)
        call(child.entries.set, "j", 3)
        events = record_events(memory)
        call(child.merge_to_parent)
        assert [(event.scope_name, event.key, event.is_update) for event in events] == [
            ("session", "k", True),
            ("session", "j", False),
        ]

    def test_what_another_process_did_is_told_when_this_one_catches_up(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        here, there = open_memory(), open_memory.in_other_process()
        call(here.working.entries.set, "k", 1)
        events = record_events(here)
        clock.advance(1)
        call(there.working.entries.remove, "k")
        clock.advance(1)
        call(here.working.entries.count)
        assert events == [EntryRemoved(agent_id="agent", key="k", at=NOON + 1)]

    # -- log lines

    def test_the_log_speaks_in_the_documents_templates(
        self, open_memory: MemoryOpener, call: Call, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG, "wmem")
        memory = open_memory("A")
        assert [record.getMessage() for record in own_records(caplog)] == ["Working memory initialized for agent A"]
        assert own_records(caplog)[0].levelno == logging.INFO
        scope = memory.scope("s", "task-1")
        call(scope.entries.set, "k", "a secret value")
        call(scope.entries.set, "k", "another secret value")
        call(scope.entries.get, "k")
        call(scope.entries.get, "j")
        call(scope.entries.remove, "k")
        call(scope.entries.remove, "k")
        call(scope.entries.set, "k", "a secret value")
        call(scope.entries.clear)
        call(scope.entries.set, "k", "a secret value")
        call(scope.clear)
        call(scope.entries.set, "k", "a secret value")
        call(scope.dispose)
        call(scope.dispose)
        with pytest.raises(SerializationError):
            call(memory.working.entries.set, "k", ["a secret value", object()])
        assert log_lines(caplog) == [
            ("DEBUG", "Created working memory scope task-1 (A/s/task-1) for agent A"),
            ("DEBUG", "Working memory set for key k by agent A"),
            ("DEBUG", "Working memory updated for key k by agent A"),
            ("DEBUG", "Working memory scope task-1 (A/s/task-1) lookup for key k: True"),
            ("DEBUG", "Working memory scope task-1 (A/s/task-1) lookup for key j: False"),
            ("DEBUG", "Working memory removed for key k by agent A"),
            ("DEBUG", "Working memory set for key k by agent A"),
            ("INFO", "Working memory cleared for agent A, removed 1 entries"),
            ("DEBUG", "Working memory set for key k by agent A"),
            ("INFO", "Working memory cleared for agent A, removed 1 entries"),
            ("DEBUG", "Working memory set for key k by agent A"),
            ("DEBUG", "Disposed working memory scope task-1 (A/s/task-1), cleared 1 entries"),
            ("WARNING", "Working memory scope A/s/task-1 already disposed, operation ignored"),
            (
                "ERROR",
                (
                    "Failed to serialize value for key k: cannot store the value of 'k': no way to store 'object' "
                    "without loss; use JSON types, the standard types, a pydantic model, a dataclass or an enum"
                ),
            ),
        ]
        assert "secret" not in caplog.text

    # -- limits

    def test_an_agent_has_room_for_so_many_entries_in_all_its_scopes(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory(policy=Policy.entries(max_entries=6))
        scopes = [memory.working, memory.scope("s"), memory.scope("s", "c")]
        for number in range(6):
            call(scopes[number % 3].entries.set, f"key {number}", 1)
        for scope in [*scopes, memory.scope("another")]:
            with pytest.raises(CapacityError, match="6 of 6"):
                call(scope.entries.set, "new", 1)
            with pytest.raises(CapacityError, match="6 of 6"):
                call(scope.entries.update, "new", lambda value: value, 1)
            with pytest.raises(CapacityError, match="6 of 6"):
                call(scope.entries.get_or_set, "new", lambda: 1)
        call(scopes[0].entries.set, "key 0", 2)
        call(open_memory("another agent", policy=Policy.entries(max_entries=6)).working.entries.set, "k", 1)
        call(scopes[2].entries.remove, "key 5")
        call(scopes[1].entries.set, "new", 1)
        with pytest.raises(CapacityError):
            call(scopes[1].entries.set, "one more", 1)
        call(scopes[2].dispose)
        call(scopes[1].entries.set, "one more", 1)

    def test_expired_entries_take_no_room_of_the_agent(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory(policy=Policy.entries(max_entries=2))
        call(memory.scope("a").entries.set, "k", 1, ttl_s=1)
        call(memory.scope("b").entries.set, "k", 1)
        clock.advance(1)
        call(memory.scope("b").entries.set, "j", 1)
        with pytest.raises(CapacityError):
            call(memory.scope("a").entries.set, "j", 1)

    @pytest.mark.parametrize("limit", [10, 40])
    def test_processes_that_write_in_scopes_of_their_own_exceed_the_agents_limit_by_one_write_each_at_most(
        self, open_memory: MemoryOpener, call: Call, limit: int
    ) -> None:
        policy = Policy.entries(max_entries=limit)
        memories = [
            open_memory(policy=policy),
            open_memory.in_other_process(policy=policy),
            open_memory.in_other_process(policy=policy),
        ]
        refused = 0
        for number in range(limit):
            for name, memory in enumerate(memories):
                try:
                    call(memory.scope(f"session {name}").entries.set, f"key {number}", 1)
                except CapacityError:
                    refused += 1
        stored = call(memories[0].stats).total_entries_working
        assert limit <= stored <= limit + len(memories)
        assert refused == 3 * limit - stored

    @pytest.mark.parametrize("scopes", [1, 12])
    def test_writers_of_one_process_fill_an_agent_to_the_last_entry_and_no_further(
        self, open_memory: MemoryOpener, call: Call, scopes: int
    ) -> None:
        memory = open_memory(policy=Policy.entries(max_entries=30))

        def writing(number: int) -> Callable[[], Any]:
            scope = memory.scope(f"session {number % scopes}")
            return lambda: _try_set(lambda: scope.entries.set(f"key {number}", number))

        stored = call.run_concurrently([writing(number) for number in range(48)])
        assert stored.count(True) == 30
        assert call(memory.stats).total_entries_working == 30

    # -- cases

    def test_B22_each_agent_and_each_scope_stands_alone_and_nobody_is_everybody(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        ada, bob = open_memory("ada"), open_memory("bob")
        for memory in (ada, bob):
            for scope in (memory.working, memory.scope("s"), memory.scope("s", "c"), memory.scope("t")):
                call(scope.entries.set, "whose", scope.id)
                call(scope.items.add, scope.id)
                call(scope.messages.append, {"role": "user", "content": scope.id})
        for memory in (ada, bob):
            for scope in (memory.working, memory.scope("s"), memory.scope("s", "c"), memory.scope("t")):
                assert call(scope.entries.get, "whose") == scope.id
                assert [item.content for item in call(scope.items.all)] == [scope.id]
                assert [message.text for message in call(scope.messages.all)] == [scope.id]
        call(ada.working.dispose)
        assert call(bob.working.children) == ["s", "t"]
        for nobody in ("", " ", None):
            with pytest.raises(InvalidInputError):
                open_memory(nobody)  # type: ignore[arg-type]  # what a caller without an identity passes
            with pytest.raises(InvalidInputError):
                bob.scope(nobody)  # type: ignore[arg-type]  # the same
            with pytest.raises(InvalidInputError):
                bob.scope("s", nobody)  # type: ignore[arg-type]  # the same

    def test_B41_an_id_may_be_used_again_at_once_after_a_clear(self, memory: wmem.AgentMemory, call: Call) -> None:
        session = memory.scope("s")
        call(session.messages.append, {"role": "user", "content": "before", "id": "m"})
        item = call(session.items.add, "before", priority="critical")
        call(session.items.fetch, item.id)
        call(session.entries.set, "k", "before")
        assert call(session.clear) >= 3
        assert (call(session.messages.count), call(session.items.count), call(session.entries.count)) == (0, 0, 0)
        assert call(session.stats).pending_promotion == 0
        assert call(session.items.search, "before").total == 0
        call(session.messages.append, {"role": "user", "content": "after", "id": "m"})
        call(session.entries.set, "k", "after")
        assert [message.text for message in call(session.messages.all)] == ["after"]
        assert call(session.entries.get, "k") == "after"
        context = call(session.pack, "before", budget=500)
        assert "before" not in str(context.to_openai())

    def test_B98_reading_and_removing_what_is_not_there_leaves_nothing_behind(
        self, memory: wmem.AgentMemory, call: Call
    ) -> None:
        for number in range(250):
            missing = memory.scope(f"missing {number}")
            assert call(missing.entries.get, "k") is None
            assert call(missing.entries.remove, "k") is False
            assert call(missing.items.remove, "x") is False
            assert call(missing.messages.count) == 0
        assert call(memory.working.children) == []
        assert call(memory.changes).cursors == {}

    def test_B98_removing_the_last_item_takes_a_scope_off_the_list(self, open_memory: MemoryOpener, call: Call) -> None:
        here, there = open_memory(), open_memory.in_other_process()
        session = here.scope("s")
        call(session.entries.set, "k", 1)
        item = call(session.items.add, "x")
        call(session.entries.remove, "k")
        assert call(here.working.children) == ["s"]
        call(session.items.remove, item.id)
        assert call(here.working.children) == []
        call(there.scope("s").entries.set, "k", 2)
        assert call(here.working.children) == ["s"]
        assert session.is_disposed is False
        call(session.entries.remove, "k")
        call(session.child("c").entries.set, "k", 1)
        assert call(here.working.children) == ["s"]

    # -- numbers

    def test_a_scopes_numbers_are_those_of_what_it_holds(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        session = memory.scope("s")
        assert call(session.stats).total_count == 0
        assert (call(session.stats).avg_importance, call(session.stats).oldest) == (0.0, None)
        call(session.entries.set, "k", 1)
        clock.advance(1)
        low = call(session.items.add, "x", priority="low", importance=0.2)
        call(session.items.add, "y", priority="high", importance=0.4, ttl_s=5)
        critical = call(session.items.add, "z", priority="critical", importance=0.6)
        call(session.items.fetch, low.id)
        call(session.items.fetch, low.id)
        call(session.messages.append, [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
        call(session.child("c").items.add, "elsewhere")
        clock.advance(5)
        stats = call(session.stats)
        assert (stats.total_count, stats.active_count, stats.expired_count) == (3, 2, 1)
        # A critical item qualifies for promotion at once, and is promoted by its first fetch.
        assert (stats.promoted_count, stats.pending_promotion) == (0, 1)
        assert stats.avg_access_count == pytest.approx((critical.access_count * 3 + 2) / 3)
        assert stats.avg_importance == pytest.approx(0.4)
        assert stats.by_priority == {"low": 1, "medium": 0, "high": 1, "critical": 1}
        assert (stats.entries, stats.messages, stats.children) == (1, 2, 1)
        assert (stats.oldest, stats.newest) == (NOON, NOON + 1)
        assert stats.tokens > 0
        assert stats.bytes > 0

    def test_a_memorys_numbers_are_those_of_all_its_scopes(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory()
        empty = call(memory.stats)
        assert (empty.total_entries_working, empty.oldest_entry, empty.storage_bytes_used) == (0, None, 0)
        assert (empty.storage_bytes_limit, empty.storage_percent_used) == (None, 0.0)
        call(memory.working.entries.set, "k", 1)
        clock.advance(5)
        call(memory.scope("s").entries.set, "k", 1)
        call(memory.scope("s", "c").items.add, "x")
        call(memory.scope("t").messages.append, {"role": "user", "content": "a"})
        call(open_memory("another").working.entries.set, "k", 1)
        for asked in (memory, open_memory.in_other_process()):
            stats = call(asked.stats)
            assert (stats.total_entries_working, stats.items, stats.messages) == (2, 1, 1)
            assert stats.active_working_scopes == 3
            assert (stats.oldest_entry, stats.newest_entry) == (NOON, NOON + 5)
            assert stats.storage_bytes_used > 0
