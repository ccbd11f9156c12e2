"""Suite of erasure: a hard forget, a clear, a disposal and `erase` leave no byte of the content in any copy."""

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

import wmem
from wmem import DisposedError, Erased, InvalidInputError, NotFoundError, Scope
from wmem.testing.suite import Call, Clock, FacetSuite, MemoryOpener

__all__ = ["ErasureSuite"]

SECRET = "zqXvKw9PjLmTrB"  # noqa: S105  # short and of no pattern, so that no compression takes it apart

ExpectErased: TypeAlias = Callable[[Callable[[], Any]], Any]


class ErasureSuite(FacetSuite):
    """What is left in a store after an erasure; in encrypted stores, what can still be read."""

    @pytest.fixture
    def expect_erased(self, store_bytes: Callable[[], bytes], is_plaintext: bool) -> ExpectErased:
        """Runs an erasure, and asserts that the secret was stored before and is not after."""

        def run(act: Callable[[], Any]) -> Any:
            assert not is_plaintext or SECRET.encode() in store_bytes()
            done = act()
            assert SECRET.encode() not in store_bytes()
            return done

        return run

    # -- each way of erasing

    def test_what_is_erased_by_id_leaves_nothing(self, session: Scope, call: Call, expect_erased: ExpectErased) -> None:
        item = call(session.items.add, f"item {SECRET}", metadata={"m": SECRET}, tags=[SECRET])
        call(session.entries.set, "k", SECRET)
        call(session.messages.append, {"role": "user", "content": SECRET, "id": "m"})
        entry = call(session.entries.entry, "k")
        kept = call(session.items.add, "stays")
        done = expect_erased(lambda: call(session.erase, item.id, entry.id, "m"))
        assert done == Erased(complete=True, remaining=(), ids=(item.id, entry.id, "m"))
        assert call(session.items.get, item.id) is None
        assert (call(session.entries.get, "k"), call(session.messages.all)) == (None, [])
        assert [each.id for each in call(session.items.all)] == [kept.id]

    @pytest.mark.parametrize("facet", ["entries", "items", "messages"])
    def test_clearing_a_facet_leaves_nothing_of_it_and_all_of_the_others(
        self, session: Scope, call: Call, expect_erased: ExpectErased, facet: str
    ) -> None:
        said = {name: SECRET if name == facet else "stays" for name in ("entries", "items", "messages")}
        call(session.entries.set, "k", said["entries"])
        call(session.items.add, said["items"])
        call(session.messages.append, {"role": "user", "content": said["messages"]})
        assert expect_erased(lambda: call(getattr(session, facet).clear)) == 1
        counts = {name: call(getattr(session, name).count) for name in said}
        assert counts == {name: int(name != facet) for name in said}

    def test_clearing_a_scope_leaves_nothing(self, session: Scope, call: Call, expect_erased: ExpectErased) -> None:
        call(session.entries.set, "k", SECRET)
        call(session.entries.set, "k", "overwritten")
        item = call(session.items.add, SECRET)
        call(session.items.update, item.id, content="overwritten")
        call(session.messages.append, {"role": "user", "content": SECRET})
        call(session.messages.pop)
        assert expect_erased(lambda: call(session.clear)) == 2

    def test_clearing_an_empty_scope_leaves_nothing_of_what_was_removed_before(
        self, session: Scope, call: Call, expect_erased: ExpectErased
    ) -> None:
        call(session.items.remove, call(session.items.add, SECRET).id)
        assert expect_erased(lambda: call(session.items.clear)) == 0

    def test_disposing_of_a_scope_leaves_nothing_of_it_or_below(
        self, session: Scope, call: Call, expect_erased: ExpectErased
    ) -> None:
        call(session.items.add, SECRET)
        call(session.child("c").child("d").entries.set, "k", SECRET)
        expect_erased(lambda: call(session.dispose))

    def test_closing_a_memory_and_disposing_of_it_leaves_nothing_of_the_agent(
        self, open_memory: MemoryOpener, call: Call, expect_erased: ExpectErased
    ) -> None:
        memory = open_memory()
        call(memory.scope("a").items.add, SECRET)
        call(memory.scope("b", "c").entries.set, "k", SECRET)
        expect_erased(lambda: call(memory.close, dispose=True))

    def test_closing_a_memory_and_disposing_of_it_leaves_nothing_but_long_term_memory(
        self, open_memory: MemoryOpener, call: Call, expect_erased: ExpectErased
    ) -> None:
        memory = open_memory()
        call(memory.working.entries.set, "k", SECRET)
        call(memory.scope("a").messages.append, {"role": "user", "content": SECRET})
        call(memory.scope("b", "c").items.promote, call(memory.scope("b", "c").items.add, "stays", type="fact").id)
        call(memory.scope("b").entries.set, "k", SECRET)
        expect_erased(lambda: call(memory.close, dispose=True))
        assert [item.content for item in call(open_memory().semantic.items.all)] == ["stays"]

    def test_erasing_all_of_an_agent_leaves_nothing_in_long_term_memory_either(
        self, open_memory: MemoryOpener, call: Call, expect_erased: ExpectErased
    ) -> None:
        memory = open_memory()
        call(memory.working.entries.set, "k", SECRET)
        for type in ("fact", "observation"):
            call(memory.scope("a").items.promote, call(memory.scope("a").items.add, SECRET, type=type).id)
        assert expect_erased(lambda: call(memory.erase_all)).ids == ()

    def test_a_hard_forget_leaves_nothing_and_a_soft_one_until_it_is_erased(
        self,
        session: Scope,
        call: Call,
        store_bytes: Callable[[], bytes],
        is_plaintext: bool,
        expect_erased: ExpectErased,
    ) -> None:
        first = call(session.queue.memorize, f"first {SECRET}").item
        call(session.queue.memorize, "second")
        call(session.queue.forget, "oldest")
        assert not is_plaintext or SECRET.encode() in store_bytes()
        call(session.items.undelete, first.id)
        told = expect_erased(lambda: call(session.queue.forget, "oldest", "hard"))
        assert (told.ids, told.items) == ((first.id,), 1)
        with pytest.raises(NotFoundError):
            call(session.items.undelete, first.id)

    def test_erasing_without_ids_leaves_nothing_of_what_was_removed_overwritten_evicted_or_expired(
        self, open_memory: MemoryOpener, call: Call, clock: Clock, expect_erased: ExpectErased
    ) -> None:
        memory = open_memory()
        scope = memory.scope("s", policy=wmem.Policy.buffer(max_items=2))
        call(scope.items.add, f"evicted {SECRET}")
        call(scope.items.add, f"expires {SECRET}", ttl_s=1)
        call(scope.items.add, "stays")
        call(scope.entries.set, "k", SECRET)
        call(scope.entries.set, "k", 1)
        clock.advance(1)
        call(memory.maintain)
        assert expect_erased(lambda: call(scope.erase)) == Erased(complete=True, remaining=())
        assert [item.content for item in call(scope.items.all)] == ["stays"]

    def test_why_something_was_evicted_tells_nothing_of_what_it_was(
        self, open_memory: MemoryOpener, call: Call, expect_erased: ExpectErased
    ) -> None:
        scope = open_memory().scope("q", policy=wmem.Policy.queue(max_items=1))
        call(scope.queue.memorize, SECRET)
        call(scope.queue.memorize, "stays")
        expect_erased(lambda: call(scope.erase))
        (decision,) = call(scope.queue.decisions)
        assert SECRET not in repr(decision)

    # -- every copy

    def test_a_copy_in_long_term_memory_goes_with_it(
        self, memory: wmem.AgentMemory, session: Scope, call: Call, expect_erased: ExpectErased
    ) -> None:
        item = call(session.items.add, SECRET, metadata={"m": SECRET})
        other = call(session.items.add, "stays")
        kept = call(session.items.promote, item.id)
        call(session.items.promote, other.id)
        done = expect_erased(lambda: call(session.erase, item.id))
        assert set(done.ids) == {item.id, kept.id}
        assert [each.content for each in call(memory.episodic.items.all)] == ["stays"]

    def test_an_original_goes_with_its_copy_in_long_term_memory(
        self, memory: wmem.AgentMemory, session: Scope, call: Call, expect_erased: ExpectErased
    ) -> None:
        child = session.child("a/b")
        kept = call(child.items.promote, call(child.items.add, SECRET, type="fact").id)
        expect_erased(lambda: call(memory.semantic.erase, kept.id))
        assert call(child.items.promoted) == []

    def test_a_copy_that_was_removed_from_long_term_memory_leaves_nothing_there(
        self, memory: wmem.AgentMemory, session: Scope, call: Call, expect_erased: ExpectErased
    ) -> None:
        item = call(session.items.add, SECRET)
        kept = call(session.items.promote, item.id)
        call(memory.episodic.items.remove, kept.id)
        call(session.items.remove, item.id)
        expect_erased(lambda: call(session.erase, item.id))

    @pytest.mark.parametrize("kind", ["item", "entry"])
    @pytest.mark.parametrize("depth", [0, 1, 2])
    def test_what_was_merged_up_two_levels_goes_from_all_of_them_wherever_it_is_erased(
        self, session: Scope, call: Call, expect_erased: ExpectErased, kind: str, depth: int
    ) -> None:
        scopes = [session, session.child("c"), session.child("c").child("d")]
        lowest = scopes[-1]
        if kind == "item":
            call(lowest.items.add, SECRET)
        else:
            call(lowest.entries.set, "k", SECRET)
        call(lowest.items.add, "stays")
        call(lowest.merge_to_parent, items=True)
        call(scopes[1].merge_to_parent, items=True)
        found = {item.content: item.id for item in call(scopes[depth].items.all)}
        wanted = found[SECRET] if kind == "item" else call(scopes[depth].entries.local.entry, "k").id
        expect_erased(lambda: call(scopes[depth].erase, wanted))
        for scope in scopes:
            assert [item.content for item in call(scope.items.all)] == ["stays"]
            assert call(scope.entries.local.keys) == []

    def test_what_a_parent_has_set_anew_since_a_merge_stays_and_what_was_merged_leaves_nothing(
        self, session: Scope, call: Call, expect_erased: ExpectErased
    ) -> None:
        child = session.child("c")
        call(child.entries.set, "k", SECRET)
        call(child.merge_to_parent)
        call(session.entries.set, "k", "the parent's own")
        expect_erased(lambda: call(child.erase, call(child.entries.entry, "k").id))
        assert call(session.entries.get, "k") == "the parent's own"

    def test_a_copy_in_a_scope_that_merged_and_was_promoted_from_there_goes_too(
        self, memory: wmem.AgentMemory, session: Scope, call: Call, expect_erased: ExpectErased
    ) -> None:
        child = session.child("c")
        item = call(child.items.add, SECRET)
        call(child.merge_to_parent, items=True)
        call(session.items.promote, item.id)
        expect_erased(lambda: call(child.erase, item.id))
        assert call(memory.episodic.items.all) == call(session.items.all, include_promoted=True) == []

    def test_what_was_made_from_it_goes_and_what_it_was_made_from_stays(
        self, session: Scope, call: Call, expect_erased: ExpectErased
    ) -> None:
        raw = call(session.items.add, "raw")
        item = call(session.items.add, SECRET, lineage_ids=[raw.id])
        call(session.items.add, f"summary of {SECRET}", lineage_ids=[item.id])
        expect_erased(lambda: call(session.erase, item.id))
        assert [each.id for each in call(session.items.all)] == [raw.id]

    # -- concurrent calls

    def test_another_process_that_has_the_store_open_sees_and_keeps_nothing(
        self, open_memory: MemoryOpener, call: Call, expect_erased: ExpectErased
    ) -> None:
        here, there = open_memory().scope("s"), open_memory.in_other_process().scope("s")
        item = call(here.items.add, SECRET)
        assert call(there.items.get, item.id) == item
        call(there.items.fetch, item.id)
        assert expect_erased(lambda: call(here.erase, item.id)).complete is True
        assert call(there.items.get, item.id) is None
        assert call(there.items.search, SECRET) == ()
        assert call(there.items.add, "goes on").id in {each.id for each in call(here.items.all)}

    def test_erasing_while_others_write_leaves_nothing_and_loses_nothing(
        self, open_memory: MemoryOpener, call: Call, expect_erased: ExpectErased
    ) -> None:
        here, there = open_memory().scope("s"), open_memory.in_other_process().scope("s")
        items = [call(here.items.add, f"{SECRET} {number}") for number in range(3)]

        def erasing(item_id: str) -> Callable[[], Any]:
            return lambda: here.erase(item_id)

        def adding(number: int) -> Callable[[], Any]:
            return lambda: there.items.add(f"stays {number}")

        acts = [erasing(item.id) for item in items] + [adding(number) for number in range(6)]
        expect_erased(lambda: call.run_concurrently(acts))
        assert {item.content for item in call(here.items.all)} == {f"stays {number}" for number in range(6)}

    # -- replies

    def test_erasing_what_is_not_there_says_so_by_erasing_nothing(self, session: Scope, call: Call) -> None:
        call(session.items.add, "stays")
        assert call(session.erase, "nothing") == Erased(complete=True, remaining=(), ids=("nothing",))
        assert call(session.erase) == Erased(complete=True, remaining=())
        assert call(session.child("unwritten").erase, "nothing").complete is True
        assert call(session.items.count) == 1
        bad: list[Any] = ["", " ", None, 5, ["a"]]
        for wanted in bad:
            with pytest.raises(InvalidInputError, match="an id"):
                call(session.erase, wanted)

    def test_what_is_imported_again_can_be_erased_again(
        self, session: Scope, call: Call, expect_erased: ExpectErased
    ) -> None:
        item = call(session.items.add, SECRET)
        document = call(session.export)
        call(session.erase, item.id)
        call(session.import_, document)
        assert call(session.items.exists, item.id) is True
        expect_erased(lambda: call(session.erase, item.id))
        assert call(session.items.exists, item.id) is False

    def test_a_disposed_scope_erases_nothing(self, session: Scope, call: Call) -> None:
        item = call(session.items.add, "x")
        call(session.dispose)
        with pytest.raises(DisposedError):
            call(session.erase, item.id)
