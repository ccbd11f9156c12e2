"""Suite of lifetimes: expiry at its exact instant for every verb, ending, extending, reviving, undeleting."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from wmem import CapacityError, ExpiredError, InvalidInputError, MemoryItem, NotFoundError, Policy, Scope
from wmem.testing.suite import NOON, Call, Clock, FacetSuite, MemoryOpener

__all__ = ["LifetimesSuite"]

HOUR = 3_600
HOURS: dict[Any, int] = {"low": 1, "medium": 4, "high": 12, "critical": 24}
EPS = 0.001


class LifetimesSuite(FacetSuite):
    """TTLs of items and entries."""

    # -- expiry

    def test_what_expires_is_seen_by_every_verb_until_its_instant_and_by_none_from_it_on(
        self, session: Scope, call: Call, clock: Clock
    ) -> None:
        item = call(session.items.add, "needle in a dog", ttl_s=60, tags=["t"], confidence=1, importance=0.9)
        call(session.entries.set, "key", "needle of a cat", ttl_s=60, tags=["t"])
        child = session.child("c")
        call(child.entries.set, "own", 1)
        clock.advance(60 - EPS)
        for name, seen in _visibility_checks(session, child, item, call).items():
            assert seen(), f"{name} does not see what has not expired yet"
        clock.advance(EPS)
        for name, seen in _visibility_checks(session, child, item, call).items():
            assert not seen(), f"{name} shows what has expired"
        # The four cases named in the design.
        assert [each.id for each in call(session.items.all, include_expired=True)] == [item.id]
        assert [each.id for each in call(session.items.search, "needle", include_expired=True)] == [item.id]
        assert [each.id for each in call(session.items.expired)] == [item.id]
        assert [each["id"] for each in call(session.export)["memories"]] == [item.id]

    def test_what_expired_can_be_neither_changed_nor_fetched_nor_brought_to_a_parent(
        self, session: Scope, call: Call, clock: Clock
    ) -> None:
        child = session.child("c")
        item = call(child.items.add, "x", ttl_s=1)
        call(child.entries.set, "k", 1, ttl_s=1)
        clock.advance(1)
        refused: list[Callable[[], Any]] = [
            lambda: call(child.items.fetch, item.id),
            lambda: call(child.items.update, item.id, content="y"),
            lambda: call(child.items.relate, item.id, "references", "z"),
            lambda: call(child.items.promote, item.id),
        ]
        for act in refused:
            with pytest.raises(ExpiredError):
                act()
        assert call(child.items.promote_many, [item.id]).failed == 1
        assert call(child.queue.forget, "oldest").ids == ()
        assert call(child.merge_to_parent, items=True) == 0
        assert call(child.items.remove, item.id) is False
        assert call(child.entries.remove, "k") is False
        with pytest.raises(NotFoundError):
            call(child.entries.update, "k", lambda value: value)

    def test_what_expired_here_is_expired_in_another_process(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        here, there = open_memory().scope("s"), open_memory.in_other_process().scope("s")
        item = call(here.items.add, "x", ttl_s=5)
        assert call(there.items.get, item.id) == item
        clock.advance(5)
        assert call(there.items.get, item.id) is None
        assert [each.id for each in call(there.items.expired)] == [item.id]

    def test_what_never_expires_outlives_all_that_does(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        memory = open_memory()
        scope = memory.scope("s")
        for number in range(3):
            call(scope.items.add, f"late {number}", ttl_s=number + 1)
        call(scope.items.add, "for ever", ttl_s=None)
        call(scope.items.add, "pinned", pinned=True)
        call(scope.entries.set, "k", 1)
        call(scope.items.add, "last", ttl_s=1)
        clock.advance(1e8)
        assert call(memory.maintain).expired == 4
        for each in (memory, open_memory.in_other_process()):
            assert [item.content for item in call(each.scope("s").items.all)] == ["for ever", "pinned"]
            assert call(each.scope("s").entries.get, "k") == 1

    # -- ending a TTL

    def test_an_item_that_is_ended_is_gone_at_once_and_can_still_be_listed_and_revived(
        self, session: Scope, call: Call, clock: Clock
    ) -> None:
        item = call(session.items.add, "x")
        clock.advance(10)
        ended = call(session.items.expire, item.id)
        assert ended.expires_at == NOON + 10
        assert call(session.items.get, item.id) is None
        assert [each.id for each in call(session.items.expired)] == [item.id]
        clock.advance(5)
        assert call(session.items.expire, item.id).expires_at == NOON + 10
        assert call(session.items.extend_ttl, item.id).expires_at == NOON + 15 + 4 * HOUR
        assert call(session.items.get, item.id).content == "x"

    def test_even_what_is_for_ever_or_pinned_can_be_ended(self, session: Scope, call: Call) -> None:
        fields: list[Mapping[str, Any]] = [{"ttl_s": None}, {"pinned": True}]
        for each in fields:
            item = call(session.items.add, "x", **each)
            call(session.items.expire, item.id)
            assert call(session.items.exists, item.id) is False

    def test_what_is_pinned_comes_back_for_ever(self, session: Scope, call: Call) -> None:
        item = call(session.items.add, "x", pinned=True)
        call(session.items.expire, item.id)
        assert call(session.items.extend_ttl, item.id).expires_at is None
        assert call(session.items.exists, item.id) is True

    # -- extending a TTL

    @pytest.mark.parametrize("priority", HOURS)
    def test_an_extension_adds_as_much_as_the_priority_has_and_again(
        self, session: Scope, call: Call, clock: Clock, priority: Any
    ) -> None:
        item = call(session.items.add, "x", priority=priority)
        clock.advance(100)
        for times in (2, 3):
            assert call(session.items.extend_ttl, item.id).expires_at == NOON + times * HOURS[priority] * HOUR
        assert call(session.items.get, item.id).access_count == 1

    def test_an_extension_may_name_its_seconds_or_for_ever(self, session: Scope, call: Call) -> None:
        item = call(session.items.add, "x", ttl_s=10)
        assert call(session.items.extend_ttl, item.id, 5).expires_at == NOON + 15
        assert call(session.items.extend_ttl, item.id, ttl_s=None).expires_at is None
        assert call(session.items.extend_ttl, item.id).expires_at is None
        bad: list[Any] = [0, -1, "5", True, float("inf"), float("nan")]
        other = call(session.items.add, "y", ttl_s=10)
        for ttl_s in bad:
            with pytest.raises(InvalidInputError, match="ttl_s"):
                call(session.items.extend_ttl, other.id, ttl_s)
        assert call(session.items.get, other.id) == other
        assert call(session.items.extend_ttl, other.id, 1e308).expires_at == 1e308
        assert call(session.items.extend_ttl, other.id, 1e308).expires_at is None

    def test_an_expired_item_begins_again_from_now(self, session: Scope, call: Call, clock: Clock) -> None:
        item = call(session.items.add, "x", ttl_s=10)
        clock.advance(1_000)
        assert call(session.items.extend_ttl, item.id, 5).expires_at == NOON + 1_005
        assert call(session.items.exists, item.id) is True
        assert call(session.items.expired) == []

    def test_what_comes_back_needs_room(self, open_memory: MemoryOpener, call: Call, clock: Clock) -> None:
        full = open_memory().scope("full", policy=Policy.session(max_items=1))
        item = call(full.items.add, "x", ttl_s=5)
        clock.advance(5)
        call(full.items.add, "y")
        with pytest.raises(CapacityError):
            call(full.items.extend_ttl, item.id)
        assert [each.id for each in call(full.items.expired)] == [item.id]
        buffer = open_memory().scope("buffer", policy=Policy.buffer(max_items=2))
        first = call(buffer.items.add, "1")
        call(buffer.items.add, "2")
        call(buffer.items.expire, first.id)
        call(buffer.items.extend_ttl, first.id)
        assert [each.content for each in call(buffer.items.all)] == ["1", "2"]

    # -- undeleting, relations

    def test_a_soft_deletion_hides_from_all_and_is_taken_back_in_its_place(self, session: Scope, call: Call) -> None:
        items = [call(session.items.add, name) for name in "abc"]
        call(session.queue.forget, "position:1")
        wanted = items[1].id
        assert [each.content for each in call(session.items.all, include_expired=True)] == ["a", "c"]
        assert (call(session.items.get, wanted), call(session.items.expired)) == (None, [])
        refused: list[Callable[[], Any]] = [
            lambda: call(session.items.fetch, wanted),
            lambda: call(session.items.update, wanted, content="y"),
            lambda: call(session.items.expire, wanted),
            lambda: call(session.items.extend_ttl, wanted),
            lambda: call(session.items.relate, wanted, "references", "z"),
            lambda: call(session.items.promote, wanted),
        ]
        for act in refused:
            with pytest.raises(NotFoundError):
                act()
        assert call(session.items.undelete, wanted).deleted_at is None
        assert [each.content for each in call(session.items.all)] == ["a", "b", "c"]
        assert call(session.items.undelete, wanted).content == "b"

    def test_items_are_softly_deleted_by_id_and_what_is_not_there_is_passed_over(
        self, session: Scope, call: Call
    ) -> None:
        first, second, third = (call(session.items.add, text) for text in "abc")
        call(session.messages.append, {"role": "user", "content": "hello", "id": "m"})
        entry = call(session.entries.set, "k", 1)
        assert call(session.items.forget, third.id, first.id, "absent", "m", "k", first.id) == (
            third.id,
            first.id,
        )
        assert [each.id for each in call(session.items.all)] == [second.id]
        assert call(session.items.forget, first.id) == call(session.items.forget) == ()
        assert (call(session.messages.count), call(session.entries.get, "k"), entry) == (1, 1, None)
        assert call(session.items.undelete, first.id).content == "a"
        with pytest.raises(InvalidInputError):
            call(session.items.forget, second.id, " ")
        assert call(session.items.get, second.id) is not None

    def test_a_soft_deletion_does_not_stop_the_time(self, session: Scope, call: Call, clock: Clock) -> None:
        item = call(session.items.add, "x", ttl_s=10)
        call(session.queue.forget, "oldest")
        clock.advance(10)
        with pytest.raises(ExpiredError):
            call(session.items.undelete, item.id)

    def test_a_relation_is_added_once_and_beside_the_others(self, session: Scope, call: Call, clock: Clock) -> None:
        item = call(session.items.add, "x", metadata={"a": 1}, relations=[{"type": "is", "target_id": "first"}])
        clock.advance(1)
        for _ in range(2):
            related = call(session.items.relate, item.id, "references", "skill", {"confidence": "high"})
        assert [(each.type, each.target_id) for each in related.relations] == [("is", "first"), ("references", "skill")]
        assert (related.relations[1].metadata, related.metadata) == ({"confidence": "high"}, {"a": 1})
        assert related.expires_at == item.expires_at
        assert call(session.items.get, item.id) == related
        assert len(call(session.items.relate, item.id, "references", "skill").relations) == 3

    def test_two_relations_at_once_are_both_there(self, open_memory: MemoryOpener, call: Call) -> None:
        here, there = open_memory().scope("s"), open_memory.in_other_process().scope("s")
        item = call(here.items.add, "x")

        def relating(scope: Scope, number: int) -> Callable[[], MemoryItem]:
            return lambda: scope.items.relate(item.id, "references", f"target {number}")

        call.run_concurrently([relating(scope, number) for number in range(3) for scope in (here, there)])
        relations = call(here.items.get, item.id).relations
        assert sorted(each.target_id for each in relations) == ["target 0", "target 1", "target 2"]

    def test_a_relation_to_nothing_and_acts_on_nothing_are_refused(self, session: Scope, call: Call) -> None:
        item = call(session.items.add, "x")
        bad: list[tuple[Any, ...]] = [
            ("", "t"),
            ("references", " "),
            (None, "t"),
            ("references", 5),
            ("references", "t", {"a": object()}),
            ("references", "t", ["a"]),
        ]
        for told in bad:
            with pytest.raises(InvalidInputError):
                call(session.items.relate, item.id, *told)
        assert call(session.items.get, item.id) == item
        call(session.messages.append, {"role": "user", "content": "hi", "id": "m"})
        for wanted in ("nothing", "m"):
            for verb in (session.items.expire, session.items.extend_ttl, session.items.undelete, session.items.fetch):
                with pytest.raises(NotFoundError):
                    call(verb, wanted)
            with pytest.raises(NotFoundError):
                call(session.items.relate, wanted, "references", "t")


def _visibility_checks(scope: Scope, child: Scope, item: MemoryItem, call: Call) -> Mapping[str, Callable[[], bool]]:
    """For each verb that reads, a check whether it shows the item, or the entry ``key``."""
    view = call(scope.view)
    below = call(child.view)

    def packed(which: Scope, query: str | None, text: str) -> Callable[[], bool]:
        return lambda: text in str(call(which.pack, query, budget=2_000).to_openai())

    def holds(found: Any) -> bool:
        return any(each.id == item.id for each in found)

    sights: dict[str, Callable[[], bool]] = {
        "items.get": lambda: call(scope.items.get, item.id) is not None,
        "items.exists": lambda: call(scope.items.exists, item.id),
        "items.all": lambda: holds(call(scope.items.all)),
        "items.all with promoted": lambda: holds(call(scope.items.all, include_promoted=True)),
        "items.recent": lambda: holds(call(scope.items.recent)),
        "items.count": lambda: call(scope.items.count) == 1,
        "items.pending": lambda: holds(call(scope.items.pending)),
        "search by filters": lambda: holds(call(scope.items.search, tags=["t"], min_confidence=0.5)),
        "queue.remember": lambda: holds(call(scope.queue.remember)),
        "queue.remember by words": lambda: holds(call(scope.queue.remember, "needle")),
        "queue.summarize": lambda: "needle" in call(scope.queue.summarize, token_limit=50).text,
        "queue.capacity": lambda: call(scope.queue.capacity).items == 1,
        "stats of items": lambda: call(scope.stats).active_count == 1,
        "stats of tokens": lambda: call(scope.stats).tokens > 0,
        "stats of pending": lambda: call(scope.stats).pending_promotion == 1,
        "stats of entries": lambda: call(scope.stats).entries == 1,
        "entries.get": lambda: call(scope.entries.get, "key") is not None,
        "entries.get_many": lambda: bool(call(scope.entries.get_many, ["key"])),
        "entries.entry": lambda: call(scope.entries.entry, "key") is not None,
        "entries.contains": lambda: call(scope.entries.contains, "key"),
        "entries.keys": lambda: "key" in call(scope.entries.keys),
        "entries.all": lambda: "key" in call(scope.entries.all),
        "entries.count": lambda: call(scope.entries.count) == 1,
        "entries.local.get": lambda: call(scope.entries.local.get, "key") is not None,
        "entries.local.keys": lambda: "key" in call(scope.entries.local.keys),
        "entries of a child": lambda: call(child.entries.get, "key") is not None,
        "keys of a child": lambda: "key" in call(child.entries.keys),
        "a view's items": lambda: holds(view.items.all()) or holds(view.items.recent()),
        "a view's item": lambda: view.items.get(item.id) is not None,
        "a view's search": lambda: holds(view.items.search("needle")),
        "a view's entries": lambda: view.entries.get("key") is not None,
        "a view's queue": lambda: holds(view.queue.remember()),
        "a child's view": lambda: below.entries.get("key") is not None,
        "pack of an item": packed(scope, "needle dog", "needle in a dog"),
        "pack of an entry": packed(scope, "needle cat", "needle of a cat"),
        "a child's pack of an item": packed(child, "needle dog", "needle in a dog"),
        "a child's pack of an entry": packed(child, "needle cat", "needle of a cat"),
    }

    def found(order: Any) -> Callable[[], bool]:
        return lambda: holds(call(scope.items.search, "needle", order=order))

    for order in ("relevance", "recency", "importance", "recall"):
        sights[f"search by {order}"] = found(order)
    return sights
