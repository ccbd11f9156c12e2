"""Suite of stored vectors: kept in a scope of their own, not part of memory, and erased with their texts."""

from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest

import wmem
from tests.suites.embedders import PUPPY, RAIN, WIDTH, Embedder, EmbedderSuite, list_recalled_texts, vector
from wmem import Scope
from wmem.model.change import Event, ItemPut
from wmem.model.history import VECTOR_SCOPE
from wmem.model.row import Row
from wmem.retrieval.embedder import fingerprint
from wmem.retrieval.recall_index import RecallIndex
from wmem.retrieval.vectors import encode_vector, to_unit_rows
from wmem.testing.suite import Call, Clock, MemoryOpener

__all__ = ["VectorsSuite"]


class VectorsSuite(EmbedderSuite):
    """Which vectors are stored, where they are visible, and what removes them."""

    def test_vectors_are_no_part_of_what_is_remembered(
        self, session: Scope, memory: wmem.AgentMemory, call: Call
    ) -> None:
        self.add_facts(session, call)
        before = call(memory.stats)
        call(session.pack, "dog", budget=1_000)
        after = call(memory.stats)
        assert (after.items, after.active_working_scopes, after.total_entries_long_term) == (3, 1, 0)
        assert after.oldest_entry == before.oldest_entry
        assert call(memory.working.children) == ["session"]
        assert call(memory.maintain).scopes == 1
        assert call(session.items.count) == 3

    def test_listeners_and_changes_tell_nothing_of_vectors(
        self, session: Scope, memory: wmem.AgentMemory, open_memory: MemoryOpener, embedder: Embedder, call: Call
    ) -> None:
        heard: list[Event] = []
        memory.subscribe(heard.append, reserved=True)
        self.add_facts(session, call)
        call(memory.semantic.items.add, "a dog is a pet", type="fact")
        call(session.pack, "dog", budget=1_000)
        call(open_memory.in_other_process(embedder=embedder).scope("session").items.add, "a car", type="fact")
        call(session.pack, "dog", budget=1_000)
        call(session.clear)
        told = call(memory.changes, reserved=True)
        own = {("agent", "session"), ("agent", "~semantic")}
        assert {event.path for event in heard} == {event.path for event in told.events} == {*told.cursors} == own
        assert {*call(memory.changes).cursors} == {("agent", "session")}, "long-term memory is told on request"
        call(memory.changes, {**told.cursors, ("agent", VECTOR_SCOPE): told.cursors["agent", "session"]}, reserved=True)

    def _vector_scope(self, open_memory: MemoryOpener) -> Scope:
        """The scope of vectors, as in another process."""
        memory = open_memory.in_other_process()
        opened = memory._core  # vectors have no public door
        return type(memory.working)(opened.long_term_handle(VECTOR_SCOPE), opened.ports)

    def _count_vectors(self, open_memory: MemoryOpener, call: Call) -> int:
        """Number of vectors that another process finds."""
        return len(call(self._vector_scope(open_memory).items.all))

    def test_what_is_erased_leaves_no_vector_unless_another_has_the_text(
        self, session: Scope, embedder: Embedder, open_memory: MemoryOpener, call: Call
    ) -> None:
        self.add_facts(session, call)
        call(session.messages.append, {"role": "user", "content": "my dog is Biscuit", "id": "m"})
        (rain,) = [item.id for item in call(session.items.all) if item.content == RAIN]
        twin = call(session.items.add, RAIN, type="fact")
        call(session.pack, "dog", budget=1_000)
        assert self._count_vectors(open_memory, call) == 4
        call(session.erase, rain)
        assert self._count_vectors(open_memory, call) == 4
        assert call(session.erase, twin.id, "m").complete
        assert self._count_vectors(open_memory, call) == 2
        embedder.pop_texts()
        call(session.pack, "dog", budget=1_000)
        assert embedder.pop_texts() == ["dog"]

    def test_what_is_cleared_or_disposed_leaves_no_vector(
        self, session: Scope, memory: wmem.AgentMemory, open_memory: MemoryOpener, call: Call
    ) -> None:
        self.add_facts(session, call)
        other = memory.scope("other")
        call(other.items.add, "a car", type="fact")
        for each in (session, other):
            call(each.pack, "dog", budget=1_000)
        assert self._count_vectors(open_memory, call) == 4
        call(session.items.clear)
        assert self._count_vectors(open_memory, call) == 1
        call(other.dispose)
        assert self._count_vectors(open_memory, call) == 0

    def test_the_vectors_of_what_expired_go_with_maintenance(
        self, session: Scope, memory: wmem.AgentMemory, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        call(session.items.add, "the puppy sleeps", type="fact", ttl_s=60)
        call(session.items.add, RAIN, type="fact", ttl_s=None)
        call(session.pack, "dog", budget=1_000)
        clock.advance(61)
        call(memory.maintain)
        assert self._count_vectors(open_memory, call) == 1

    @pytest.fixture
    def expect_vector_erased(
        self, store_bytes: Callable[[], bytes], is_plaintext: bool
    ) -> Callable[[Callable[[], Any]], Any]:
        """Runs an erasure, and asserts that the puppy's vector was stored before and is not after."""
        told = encode_vector(to_unit_rows([vector(PUPPY)], 1)[0])[1:-1]

        def run(act: Callable[[], Any]) -> Any:
            assert not is_plaintext or told in store_bytes()
            done = act()
            assert told not in store_bytes()
            return done

        return run

    @pytest.mark.parametrize("way", ["erase", "clear", "clear items", "dispose", "dispose the parent", "maintain"])
    def test_no_byte_of_a_vector_is_left(
        self,
        way: str,
        session: Scope,
        memory: wmem.AgentMemory,
        call: Call,
        expect_vector_erased: Callable[[Callable[[], Any]], Any],
    ) -> None:
        child = session.child("task")
        self.add_facts(child, call)
        call(session.items.add, "a car", type="fact")
        call(child.pack, "dog", budget=1_000)
        puppy = next(item.id for item in call(child.items.all) if item.content == PUPPY)
        if way == "maintain":
            call(child.dispose, purge=False)
        ways: dict[str, Callable[[], Any]] = {
            "erase": lambda: call(child.erase, puppy),
            "clear": lambda: call(child.clear),
            "clear items": lambda: call(child.items.clear),
            "dispose": lambda: call(child.dispose),
            "dispose the parent": lambda: call(session.dispose),
            "maintain": lambda: call(memory.maintain),
        }
        expect_vector_erased(ways[way])

    def test_what_another_process_let_go_of_leaves_no_vector_after_maintenance(
        self, session: Scope, open_memory: MemoryOpener, embedder: Embedder, call: Call
    ) -> None:
        self.add_facts(session, call)
        call(session.pack, "dog", budget=1_000)
        there = open_memory.in_other_process(embedder=embedder)
        for _ in range(2):  # the first pass of a process prunes vectors; a later one only after a scope was removed
            call(there.maintain)
            assert self._count_vectors(open_memory, call) == 3
        call(session.dispose, purge=False)
        call(there.maintain)
        assert self._count_vectors(open_memory, call) == 0

    def test_what_is_erased_leaves_no_vector_in_the_memory_of_the_process(
        self, session: Scope, memory: wmem.AgentMemory, call: Call
    ) -> None:
        self.add_facts(session, call)
        call(session.pack, "dog", budget=1_000)
        (puppy,) = [item.id for item in call(session.items.all) if item.content == PUPPY]
        call(session.erase, puppy)
        held = memory._core.store.engine.replica(session.path)._followers[RecallIndex].data  # nothing public shows it
        assert isinstance(held, RecallIndex)
        assert [len(shelf.vectors) for shelf in held.vector_caches.values()] == [2]
        assert held.index.count == 2

    @pytest.mark.parametrize("way", ["erase", "clear", "dispose"])
    def test_what_goes_while_its_vector_is_made_leaves_none(
        self, way: str, session: Scope, embedder: Embedder, open_memory: MemoryOpener, call: Call
    ) -> None:
        self.add_facts(session, call)
        (puppy,) = [item.id for item in call(session.items.all) if item.content == PUPPY]
        there = open_memory.to_sync(open_memory.in_other_process().scope("session"))

        def meanwhile(made: list[list[float]]) -> list[list[float]]:
            if len(made) > 1:
                _: object = there.erase(puppy) if way == "erase" else getattr(there, way)()
            return made

        embedder.fault = meanwhile
        call(session.pack, "dog", budget=1_000)
        assert self._count_vectors(open_memory, call) == (2 if way == "erase" else 0)

    # -- foreign or corrupt rows

    @pytest.mark.parametrize(
        "content",
        [
            b'"not base 64"',
            b'"AAA"',
            b"{}",
            b"[1, 2]",
            b'"%s"' % b64encode(to_unit_rows([[1.0] * 8], 1).tobytes()),
            b'"%s"' % b64encode(to_unit_rows([[1.0] * WIDTH], 1).tobytes()[:-4] + b"\0\0\xc0\x7f"),
            b'"%s"' % b64encode(to_unit_rows([[1.0] * WIDTH], 1).tobytes()[:-4] + b"\0\0\x80\x7f"),
        ],
        ids=["text", "no whole", "an object", "a list", "another width", "NaN", "infinity"],
    )
    def test_a_foreign_vector_is_made_again(
        self, content: bytes, session: Scope, embedder: Embedder, open_memory: MemoryOpener, call: Call
    ) -> None:
        self.add_facts(session, call)
        self._store_rows(open_memory, call, {PUPPY: content})
        for _ in range(2):
            found = call(session.pack, "dog", budget=1_000)
            assert (found.warnings, list_recalled_texts(found)[:1]) == ((), [PUPPY])
        assert len(embedder.pop_texts()) == 5
        assert self._count_vectors(open_memory, call) == 3

    def test_a_foreign_vector_of_another_length_weighs_no_more_than_others(
        self, session: Scope, embedder: Embedder, open_memory: MemoryOpener, call: Call
    ) -> None:
        self.add_facts(session, call)
        long = to_unit_rows([vector("a dog in the rain which is expected now")], 1)[0] * 1e20
        self._store_rows(open_memory, call, {RAIN: encode_vector(long)})
        assert list_recalled_texts(call(session.pack, "dog", budget=1_000)) == [PUPPY, RAIN]
        assert RAIN not in embedder.pop_texts()

    def test_a_vector_of_zeros_is_near_nothing(
        self, session: Scope, embedder: Embedder, open_memory: MemoryOpener, call: Call
    ) -> None:
        self.add_facts(session, call)
        self._store_rows(open_memory, call, {PUPPY: encode_vector(to_unit_rows([[0.0] * WIDTH], 1)[0])})
        found = call(session.pack, "dog petrol", budget=1_000)
        assert (found.warnings, PUPPY in list_recalled_texts(found), PUPPY in embedder.pop_texts()) == (
            (),
            False,
            False,
        )

    def _store_rows(self, open_memory: MemoryOpener, call: Call, contents: dict[str, bytes]) -> None:
        """Store given bytes under the fingerprints of texts."""
        store = self._vector_scope(open_memory)
        call(store.items.remove, call(store.items.add, "opens the scope").id)
        changes = [
            ItemPut(Row(fingerprint(text, "words"), content, created_at=0.0, updated_at=0.0, type="vector"))
            for text, content in contents.items()
        ]
        twin: Any = store
        handle = twin._handle  # no verb stores such a row
        call(lambda: twin._drive(handle.post(changes, 0.0)))  # see above
