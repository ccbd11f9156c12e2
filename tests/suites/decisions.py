"""Suite of decisions and events: why an item expired, was promoted or evicted, once and in order."""

from typing import Any

import pytest

import wmem
from wmem import Scope, events
from wmem.testing.suite import NOON, Call, Clock, FacetSuite, MemoryOpener

__all__ = ["DecisionsSuite"]


def item_events(heard: list[Any], *ids: str) -> list[tuple[str, str]]:
    """By public name: what happened to some items."""
    named = [(type(change).__name__, getattr(getattr(change, "row", change), "id", "")) for change in changes_of(heard)]
    return [(name, id) for name, id in named if id in ids]


def changes_of(heard: list[Any]) -> list[Any]:
    return [event.change for event in heard]


class DecisionsSuite(FacetSuite):
    """`queue.decisions`, and what listeners hear of items."""

    def test_an_expiry_says_when_once_it_is_cleaned_up(
        self, memory: wmem.AgentMemory, session: Scope, call: Call, clock: Clock
    ) -> None:
        item = call(session.items.add, "x", ttl_s=10)
        entry = call(session.entries.entry, call(session.entries.set, "k", 1, ttl_s=20) or "k")
        clock.advance(15)
        assert call(session.queue.decisions) == []
        call(memory.maintain)
        (decision,) = call(session.queue.decisions)
        assert (decision.kind, decision.id, decision.rule) == ("expired", item.id, "expired")
        assert (decision.at, decision.tokens, decision.parts) == (NOON + 15, item.tokens, {"expires_at": NOON + 10})
        clock.advance(15)
        call(memory.maintain)
        call(memory.maintain)
        assert [each.id for each in call(session.queue.decisions)] == [entry.id, item.id]

    def test_a_promotion_says_by_which_rule(self, session: Scope, call: Call) -> None:
        asked, due = call(session.items.add, "x"), call(session.items.add, "y", priority="critical")
        call(session.items.promote, asked.id)
        call(session.items.promote, asked.id)
        call(session.items.fetch, due.id)
        last, first = call(session.queue.decisions)
        assert (first.kind, first.id, first.rule, first.at, first.tokens) == (
            "promoted",
            asked.id,
            "manual",
            NOON,
            asked.tokens,
        )
        assert first.parts == {"accesses": 1, "importance": pytest.approx(asked.importance)}
        assert (last.kind, last.id, last.rule, last.parts["accesses"]) == ("promoted", due.id, "critical", 2)

    def test_an_eviction_says_its_rule_and_an_expired_item_that_made_room_is_no_eviction(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        buffer = memory.scope("b", policy=wmem.Policy.buffer(max_items=2))
        ids = [call(buffer.items.add, "old", ttl_s=5).id, call(buffer.items.add, "older", ttl_s=None).id]
        clock.advance(5)
        call(buffer.items.add, "c")
        call(buffer.items.add, "d")
        assert [(each.kind, each.id) for each in call(buffer.queue.decisions)] == [
            ("evicted", ids[1]),
            ("expired", ids[0]),
        ]

    def test_decisions_are_the_same_in_another_process_and_after_a_compaction(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory()
        session = memory.scope("s")
        call(session.items.add, "x", ttl_s=1)
        call(session.items.promote, call(session.items.add, "y", ttl_s=None).id)
        clock.advance(1)
        call(memory.maintain)
        here = call(session.queue.decisions)
        assert [each.kind for each in here] == ["expired", "promoted"]
        assert call(open_memory.in_other_process().scope("s").queue.decisions) == here
        call(session.erase)  # compacts
        assert call(open_memory.in_other_process().scope("s").queue.decisions) == here

    def test_an_export_brings_decisions_of_every_kind_and_no_event_of_them(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        source = memory.scope("a", policy=wmem.Policy.buffer(max_items=2))
        call(source.items.add, "x", ttl_s=1)
        call(source.items.promote, call(source.items.add, "y", ttl_s=None).id)
        clock.advance(1)
        call(memory.maintain)
        for text in "cd":
            call(source.items.add, text)
        heard: list[Any] = []
        memory.subscribe(heard.append)
        target = memory.scope("b")
        call(target.import_, call(source.export))
        assert [each.kind for each in call(source.queue.decisions)] == ["evicted", "expired", "promoted"]
        assert call(target.queue.decisions) == call(source.queue.decisions)
        kinds = {type(event.change) for event in heard}
        assert events.Decided in kinds
        assert kinds.isdisjoint({events.ItemEvicted, events.ItemExpired, events.ItemPromoted})

    def test_a_listener_hears_of_each_item_once_and_in_order(
        self, memory: wmem.AgentMemory, call: Call, clock: Clock
    ) -> None:
        heard: list[Any] = []
        memory.subscribe(heard.append)
        scope = memory.scope("q", policy=wmem.Policy.buffer(max_items=3, ttl_s=None))
        fades = call(scope.items.add, "a", ttl_s=5)
        kept, goes = (call(scope.items.add, text, ttl_s=None) for text in "bc")
        call(scope.items.update, kept.id, content="b2")
        copied = call(scope.items.promote, kept.id)
        clock.advance(5)
        call(memory.maintain)
        call(scope.items.remove, goes.id)
        for text in "def":
            call(scope.items.add, text)
        for _ in range(2):  # nothing is told again
            call(memory.maintain)
            call(scope.items.all)
        assert item_events(heard, fades.id) == [("ItemPut", fades.id), ("ItemExpired", fades.id)]
        assert item_events(heard, kept.id) == [
            ("ItemPut", kept.id),
            ("ItemPut", kept.id),
            ("ItemPromoted", kept.id),
            ("ItemEvicted", kept.id),
        ]
        assert item_events(heard, goes.id) == [("ItemPut", goes.id), ("ItemRemoved", goes.id)]
        assert item_events(heard, copied.id) == []  # long-term memory is heard where it is asked for
        of_scope = [event.cursor.version for event in heard if event.path == scope.path]
        assert of_scope == sorted(of_scope)
        by_kind = {type(event.change): event for event in heard}
        assert by_kind[events.ItemExpired].before.id == fades.id
        promoted, evicted = by_kind[events.ItemPromoted].change, by_kind[events.ItemEvicted].change
        assert (promoted.to, promoted.rule, promoted.at) == (copied.id, "manual", NOON)
        assert (evicted.rule, evicted.at) == ("oldest", NOON + 5)

    def test_what_several_processes_promote_and_clean_up_is_told_once_to_each(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memories = [open_memory(), open_memory.in_other_process()]
        heard: list[list[Any]] = [[], []]
        for memory, events_heard in zip(memories, heard, strict=True):
            memory.subscribe(events_heard.append)
            call(memory.scope("s").items.count)  # from here on it hears of each change
        item = call(memories[0].scope("s").items.add, "x", ttl_s=None)
        fades = call(memories[0].scope("s").items.add, "y", ttl_s=1)
        call.run_concurrently([lambda m=m: m.scope("s").items.promote(item.id) for m in memories * 3])  # type: ignore[misc]  # mypy's lambda
        clock.advance(1)
        call.run_concurrently([lambda m=m: m.maintain() for m in memories])  # type: ignore[misc]  # mypy's lambda
        for memory, events_heard in zip(memories, heard, strict=True):
            call(memory.scope("s").items.all)
            assert item_events(events_heard, item.id) == [("ItemPut", item.id), ("ItemPromoted", item.id)]
            assert item_events(events_heard, fades.id) == [("ItemPut", fades.id), ("ItemExpired", fades.id)]
            assert len(call(memory.scope("s").queue.decisions)) == 2
