"""Suite of limits: the capacity of a scope, and the policy that sets it."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import wmem
from wmem import CapacityError, InvalidInputError, MemoryItem, Policy, SerializationError
from wmem.testing.suite import NOON, Call, Clock, FacetSuite, MemoryOpener, ToSync

__all__ = ["LimitsSuite"]


class LimitsSuite(FacetSuite):
    """Policies are stored with their scope, and writes to a full scope raise."""

    def test_a_policy_is_stored_and_another_is_refused(self, open_memory: MemoryOpener, call: Call) -> None:
        queue = Policy.queue(max_items=7)
        call(open_memory().scope("s", policy=queue).entries.set, "k", 1)
        for memory in (open_memory(), open_memory.in_other_process()):
            scope = memory.scope("s")
            call(scope.entries.get, "k")
            assert scope.policy == queue
            call(memory.scope("s", policy=Policy.queue(max_items=7)).entries.set, "k", 2)
            other = memory.scope("s", policy=Policy.queue(max_items=8))
            with pytest.raises(InvalidInputError, match="policy"):
                call(other.entries.get, "k")
            with pytest.raises(InvalidInputError, match="policy"):
                call(other.entries.set, "k", 3)
            with pytest.raises(InvalidInputError, match="policy"):
                call(other.messages.append, {"role": "user", "content": "x"})
        assert call(open_memory().scope("s").entries.get, "k") == 2

    def test_of_two_who_begin_a_scope_with_other_numbers_the_second_is_told_and_writes_nothing(
        self, open_memory: MemoryOpener, call: Call, to_sync: ToSync
    ) -> None:
        first = to_sync(open_memory.in_other_process().scope("s", policy=Policy.queue(max_items=7)))
        second = open_memory().scope("s", policy=Policy.queue(max_items=8))

        def meanwhile(value: int) -> int:
            first.entries.set("k", 7)
            return value + 1

        with pytest.raises(InvalidInputError, match=r"max_items 7 not 8$"):
            call(second.entries.update, "k", meanwhile, 0)
        assert first.entries.get("k") == 7

    def test_a_session_has_room_for_so_many_children(self, memory: wmem.AgentMemory, call: Call) -> None:
        session = memory.scope("s", policy=Policy.session(max_child_scopes=2))
        call(session.entries.set, "k", 1)
        call(session.child("a").entries.set, "k", 1)
        call(memory.scope("s", "b").entries.set, "k", 1)
        with pytest.raises(CapacityError, match="2 of 2"):
            call(session.child("c").entries.set, "k", 1)
        with pytest.raises(CapacityError, match="2 of 2"):
            call(memory.scope("s").child("d").entries.set, "k", 1)
        call(session.child("a").entries.set, "j", 1)
        call(session.child("a").dispose)
        call(session.child("c").entries.set, "k", 1)

    def test_a_full_scope_refuses_a_new_key_and_takes_an_old_one(self, memory: wmem.AgentMemory, call: Call) -> None:
        scope = memory.scope("s", policy=Policy.session(max_entries=2))
        call(scope.entries.set, "a", 1)
        call(scope.entries.set, "b", 1)
        with pytest.raises(CapacityError, match="2 of 2"):
            call(scope.entries.set, "c", 1)
        with pytest.raises(CapacityError):
            call(scope.entries.update, "c", lambda value: value, 1)
        with pytest.raises(CapacityError):
            call(scope.entries.get_or_set, "c", lambda: 1)
        call(scope.entries.set, "a", 2)
        assert call(scope.entries.keys) == ["a", "b"]
        call(scope.entries.remove, "b")
        call(scope.entries.set, "c", 1)

    def test_expired_entries_do_not_fill_a_scope(self, memory: wmem.AgentMemory, call: Call, clock: Clock) -> None:
        scope = memory.scope("s", policy=Policy.session(max_entries=1))
        call(scope.entries.set, "a", 1, ttl_s=1)
        clock.advance(1)
        call(scope.entries.set, "b", 1)
        assert call(scope.entries.keys) == ["b"]

    def test_two_processes_that_only_write_exceed_a_full_scope_by_one_write_each_at_most(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        scopes = [
            memory.scope("s", policy=Policy.session(max_entries=4))
            for memory in (open_memory(), open_memory.in_other_process())
        ]
        refused = 0
        for number in range(10):
            for name, scope in enumerate(scopes):
                try:
                    call(scope.entries.set, f"{name}-{number}", 1)
                except CapacityError:
                    refused += 1
        assert call(scopes[0].entries.count) <= 6
        assert refused >= 14

    def test_a_new_handle_follows_the_stored_limits_at_once(self, memory: wmem.AgentMemory, call: Call) -> None:
        call(memory.scope("s", policy=Policy.session(max_entry_bytes=10)).entries.set, "k", 1)
        with pytest.raises(CapacityError):
            call(memory.scope("s").entries.set, "k", "x" * 50)

    def test_a_new_handle_follows_the_stored_times_at_once(self, memory: wmem.AgentMemory, call: Call) -> None:
        short = Policy.session(ttl_s=dict.fromkeys(("low", "medium", "high", "critical"), 10.0), max_content_bytes=20)
        call(memory.scope("s", policy=short).items.add, "x")
        assert call(memory.scope("s").items.add, "x").expires_at == NOON + 10
        with pytest.raises(InvalidInputError, match="20"):
            call(memory.scope("s").items.add, "x" * 21)

    def test_a_new_handle_counts_by_the_stored_rules_at_once(self, memory: wmem.AgentMemory, call: Call) -> None:
        eager = Policy.session(promote_importance=0.1)
        call(memory.scope("s", policy=eager).items.add, "x", importance=0.5)
        assert call(memory.scope("s").stats).pending_promotion == 1
        assert len(call(memory.scope("s").items.pending)) == 1
        assert len(call(memory.scope("s").view).items.pending()) == 1

    @pytest.mark.parametrize("limit", [None, 1_000], ids=str)
    def test_metadata_has_a_limit_and_what_exceeds_it_changes_nothing(
        self, memory: wmem.AgentMemory, call: Call, limit: int | None
    ) -> None:
        numbers = {} if limit is None else {"max_metadata_bytes": limit}
        scope, most = memory.scope("s", policy=Policy.session(**numbers)), limit or 256 * 1_024
        fits, too_much = "x" * (most - 100), "x" * (most + 1)
        item = call(scope.items.add, "a", metadata={"note": fits})
        call(scope.entries.set, "k", 1, metadata={"note": fits})
        call(scope.messages.append, {"role": "user", "content": "hi", "metadata": {"note": fits}})
        before = call(scope.export)
        for fields in ({"metadata": {"note": too_much}}, {"tags": [too_much]}, {"participants": [too_much]}):
            with pytest.raises(CapacityError, match=f"{most} allowed"):
                call(scope.items.add, "b", **fields)
            with pytest.raises(CapacityError):
                call(scope.items.update, item.id, **fields)
        for given in ({"metadata": {"note": too_much}}, {"tags": [too_much]}):
            with pytest.raises(CapacityError):
                call(scope.entries.set, "k", 2, **given)
        with pytest.raises(CapacityError):
            call(scope.items.update, item.id, participants=["x" * 200])  # with the metadata that is there
        with pytest.raises(CapacityError):
            call(scope.items.relate, item.id, "about", "x" * 200)
        with pytest.raises(CapacityError):
            call(scope.messages.append, {"role": "user", "content": "hi", "metadata": {"note": too_much}})
        assert call(scope.export) == before
        call(memory.scope("copy").import_, before)

    def test_a_new_key_id_or_name_has_a_greatest_length(self, memory: wmem.AgentMemory, call: Call) -> None:
        session, longest = memory.scope("s"), "k" * 1_024
        call(session.entries.set, longest, 1)
        call(memory.scope(longest).entries.set, "k", 1)
        call(session.messages.append, wmem.Message.of("user", "hi", id=longest))
        before = call(session.export)
        writes: list[Callable[[], object]] = [
            lambda: call(session.entries.set, f"{longest}k", 1),
            lambda: call(memory.scope(f"{longest}k").entries.set, "k", 1),
            lambda: call(session.messages.append, wmem.Message.of("user", "hi", id=f"{longest}k")),
        ]
        for write in writes:
            with pytest.raises(InvalidInputError, match="1024 characters"):
                write()
        assert call(session.export) == before

    @pytest.mark.parametrize("depth", [300, 1_000, 100_000])
    def test_json_that_is_nested_too_deep_is_refused_with_a_typed_error(
        self, session: wmem.Scope, call: Call, depth: int
    ) -> None:
        deep: Any = 1
        for _ in range(depth):
            deep = [deep]
        cyclic: list[Any] = []
        cyclic += [cyclic, cyclic]
        item = call(session.items.add, "a")
        for value in (deep, cyclic):
            for fields in ({"metadata": {"d": value}}, {"sources": [{"d": value}]}):
                with pytest.raises(InvalidInputError, match="recursion"):
                    call(session.items.add, "b", **fields)
            with pytest.raises(InvalidInputError):
                call(session.items.relate, item.id, "about", "x", {"d": value})
            with pytest.raises(SerializationError):
                call(session.entries.set, "k", value)
            with pytest.raises(InvalidInputError, match="metadata"):
                call(session.messages.append, {"role": "user", "content": "hi", "metadata": {"d": value}})
        arguments = "[" * depth + "]" * depth
        called = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
        call(session.messages.append, {"role": "assistant", "content": None, "tool_calls": [called]})
        (message,) = call(session.messages.all)
        assert message.tool_calls[0].args is None  # no object, or nested too deep to read
        assert message.tool_calls[0].arguments == arguments
        assert call(session.items.all) == [item]

    @pytest.mark.parametrize("limit", [{"max_items": 2}, {"max_tokens": 10}], ids=str)
    def test_the_item_too_many_is_refused_and_nothing_changes(
        self, memory: wmem.AgentMemory, call: Call, limit: dict[str, int]
    ) -> None:
        scope = memory.scope("s", policy=Policy.session(**limit))
        kept = [call(scope.items.add, text) for text in ("one", "two")]
        there = call(scope.view).cursor
        with pytest.raises(CapacityError, match=f"of {next(iter(limit.values()))} {next(iter(limit))[4:]}"):
            call(scope.items.add, "a third one, which is of more than ten tokens by any count of tokens")
        assert call(scope.view).cursor == there
        assert call(scope.items.all) == kept
        call(scope.items.remove, kept[0].id)
        call(scope.items.add, "three")

    def test_of_items_added_at_once_a_capped_scope_holds_no_more_than_it_may(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        policy = Policy.session(max_items=3)
        scopes = [open_memory().scope("s", policy=policy), open_memory.in_other_process().scope("s", policy=policy)]

        def adding(number: int) -> Callable[[], Any]:
            return lambda: _try_add(lambda: scopes[number % 2].items.add(f"item {number}"))

        told = call.run_concurrently([adding(number) for number in range(8)])
        added = {each.id for each in told if each is not None}
        assert len(added) == 3
        assert {each.id for each in call(open_memory.in_other_process().scope("s").items.all)} == added

    def test_merged_items_do_not_overfill_the_parent(self, memory: wmem.AgentMemory, call: Call) -> None:
        scope = memory.scope("s", policy=Policy.session(max_items=1))
        call(scope.items.add, "one")
        child = scope.child("c", policy=Policy.session())
        call(child.items.add, "two")
        with pytest.raises(CapacityError):
            call(child.merge_to_parent, items=True)
        assert call(scope.items.count) == 1

    def test_an_updated_item_does_not_overfill_its_scope(self, memory: wmem.AgentMemory, call: Call) -> None:
        scope = memory.scope("s", policy=Policy.session(max_tokens=10))
        item = call(scope.items.add, "one")
        with pytest.raises(CapacityError):
            call(scope.items.update, item.id, content="word " * 100)
        assert call(scope.items.get, item.id).content == "one"

    def test_opening_with_other_numbers_names_those_that_differ(self, open_memory: MemoryOpener, call: Call) -> None:
        call(open_memory().scope("s", policy=Policy.session(max_items=7)).entries.set, "k", 1)
        other = open_memory.in_other_process().scope("s", policy=Policy.session(max_items=8))
        with pytest.raises(InvalidInputError, match=r": max_items 7 not 8$"):
            call(other.entries.get, "k")


def _try_add(add: Callable[[], MemoryItem | Awaitable[MemoryItem]]) -> Any:
    try:
        made = add()
    except CapacityError:
        return None
    return _await_add(made) if inspect.isawaitable(made) else made


async def _await_add(write: Awaitable[MemoryItem]) -> MemoryItem | None:
    try:
        return await write
    except CapacityError:
        return None
