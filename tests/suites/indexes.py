"""Suite of stored indexes: a process is answered from what an earlier one has indexed, and an erasure leaves none."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

import wmem
from wmem import Scope
from wmem.engine.replica import Replica
from wmem.flow import run
from wmem.model.history import index_path
from wmem.retrieval.recall_index import RecallIndex
from wmem.scope import index_store
from wmem.testing.suite import Call, Clock, FacetSuite, MemoryOpener

__all__ = ["IndexesSuite"]

STORED = ("disk", "sqlite", "redis", "disk+key")
ENOUGH = index_store.MIN_TEXTS
SECRET = "zqXvKw9PjLmTrB"  # no word of any text; what is indexed of it is in small letters
HALVES = SECRET[:7].lower().encode(), SECRET[7:].lower().encode()  # a file may go on with a word on another page
WORDS = ("harbour", "ferry", "lantern", "orchard", "violin", "glacier", "teapot", "compass")


def is_left(stored: bytes) -> bool:
    """Whether a store's bytes hold the secret as it is indexed."""
    return any(half in stored for half in HALVES)


def say(session: Scope, call: Call, count: int = ENOUGH, begin: int = 0) -> None:
    """Append messages, each with a number and some words."""
    call(
        session.messages.append,
        [
            {
                "id": f"m{number}",
                "role": ("user", "assistant")[number % 2],
                "content": f"{WORDS[number % 8]} and {WORDS[number % 7]} number {number}",
            }
            for number in range(begin, begin + count)
        ],
    )


async def count_turns(call: Callable[[], Any]) -> int:
    """How often a loop's other tasks get their turn during a call."""
    turns = 0

    async def tick() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    task = asyncio.create_task(tick())
    await call()
    task.cancel()
    return turns


def ask(session: Scope, call: Call) -> list[tuple[str, str, float]]:
    """What is recalled for a few questions, best first, with its scores."""
    return [
        (question, hit.id, hit.score)
        for question in ("a violin in the harbour", "which glacier was number 77?", "the secret teapot")
        for hit in call(session.recall, question, limit=20)
    ]


class IndexesSuite(FacetSuite):
    """When an index is stored and read, where it is visible, and what removes it."""

    def _replica(self, memory: wmem.AgentMemory) -> Replica[Any]:
        return memory._core.store.engine.replica(("agent", "session"))  # indexes have no public door

    def _count_indexed(self, memory: wmem.AgentMemory) -> int:
        """How many texts a process has indexed itself since it read a stored index."""
        known = self._replica(memory).find_derived(RecallIndex)
        assert known is not None
        return known[0].changes

    def _is_stored(self, memory: wmem.AgentMemory) -> bool:
        core = memory._core
        sync = core.ports.sync
        return index_path(("agent", "session")) in set(sync["Journal.paths"](("agent",)))

    # -- what a later process finds

    @pytest.mark.backends(*STORED)
    def test_what_one_process_has_indexed_the_next_one_need_not(self, open_memory: MemoryOpener, call: Call) -> None:
        first = open_memory()
        say(first.scope("session"), call)
        told = ask(first.scope("session"), call)
        call(first.close)
        later = open_memory.in_other_process()
        assert ask(later.scope("session"), call) == told
        assert self._count_indexed(later) == 0

    @pytest.mark.backends(*STORED)
    def test_what_was_never_asked_is_indexed_by_who_wrote_it(self, open_memory: MemoryOpener, call: Call) -> None:
        first = open_memory()
        say(first.scope("session"), call, index_store.MIN_WRITTEN)
        call(first.close)
        later = open_memory.in_other_process()
        assert ask(later.scope("session"), call)
        assert self._count_indexed(later) == 0

    @pytest.mark.backends(*STORED)
    def test_what_was_written_changed_and_removed_since_is_indexed_anew_and_nothing_else(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        first = open_memory()
        session = first.scope("session")
        say(session, call)
        item = call(session.items.add, "a teapot")
        call(session.entries.set, "place", "harbour")
        ask(session, call)
        call(first.close)
        second = open_memory.in_other_process()
        session = second.scope("session")
        call(session.items.update, item.id, content="a secret teapot")
        call(session.entries.set, "place", "orchard")
        call(session.messages.withdraw, "m3")
        call(session.erase, "m4")
        say(session, call, 2, begin=ENOUGH)
        told = ask(session, call)
        call(second.close)
        third = open_memory.in_other_process()
        session = third.scope("session")
        assert [score for *_, score in ask(session, call)] == pytest.approx([score for *_, score in told])
        assert {"m3", "m4"}.isdisjoint(hit.id for hit in call(session.recall, "lantern orchard", limit=ENOUGH))

    @pytest.mark.backends(*STORED)
    def test_maintenance_stores_an_index_and_one_that_grew_little_is_not_written_again(
        self, session: Scope, memory: wmem.AgentMemory, open_memory: MemoryOpener, call: Call
    ) -> None:
        say(session, call)
        ask(session, call)
        assert not self._is_stored(memory)
        assert call(memory.maintain).scopes == 1
        assert self._is_stored(memory)
        say(session, call, 5, begin=ENOUGH)
        told = ask(session, call)
        call(memory.maintain)
        later = open_memory.in_other_process()
        assert ask(later.scope("session"), call) == told
        assert self._count_indexed(later) == 5

    @pytest.mark.backends(*STORED)
    @pytest.mark.slow
    def test_who_lived_through_edits_finds_and_packs_what_others_do(
        self, open_memory: MemoryOpener, call: Call, clock: Clock
    ) -> None:
        session = open_memory().scope("session")
        say(session, call)
        item = call(session.items.add, "a teapot in the harbour", ttl_s=None)
        ask(session, call)
        edited = {"role": "user", "content": "the violin in the harbour was number 77"}
        steps: list[Callable[[], Any]] = [
            lambda: call(session.messages.append, {**edited, "id": "m3", "role": "assistant"}),
            lambda: call(session.messages.withdraw, "m9", f"m{ENOUGH - 1}"),
            lambda: call(session.items.update, item.id, content="a violin in the harbour"),
            lambda: call(session.messages.restore, "m9"),
            lambda: call(session.messages.remove, "m4"),
            lambda: call(session.messages.append, {**edited, "id": "m4"}),
            lambda: say(session, call, 9, begin=ENOUGH),
            lambda: call(session.erase, "m11"),
        ]
        for step in steps:
            step()
            clock.advance(60)
            other = open_memory.in_other_process().scope("session")
            assert ask(session, call) == ask(other, call)
            packs = [call(each.pack, "a violin in the harbour", budget=500) for each in (session, other)]
            assert packs[0].note == packs[1].note
            assert packs[0].messages == packs[1].messages
            found = [call(each.items.search, "the violin in the harbour") for each in (session, other)]
            assert (found[0], found[0].scores) == (found[1], found[1].scores)

    @pytest.mark.backends(*STORED)
    def test_a_process_that_is_never_closed_stores_what_it_has_indexed_when_it_writes(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        first = open_memory()
        session = first.scope("session")
        say(session, call)
        ask(session, call)
        call(session.pack, "a violin in the harbour", budget=500)
        assert not self._is_stored(first), "a question writes nothing"
        say(session, call, 1, begin=ENOUGH)
        assert self._is_stored(first)
        told = ask(session, call)
        later = open_memory.in_other_process()
        assert ask(later.scope("session"), call) == told
        assert self._count_indexed(later) == 0

    @pytest.mark.backends(*STORED)
    def test_who_writes_stores_an_index_only_when_half_of_it_is_new(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        memory = open_memory()
        session = memory.scope("session")
        say(session, call)
        read, path = memory._core.ports.sync["Journal.read"], index_path(("agent", "session"))
        stored: list[int] = []
        for begin in range(ENOUGH, 4 * ENOUGH, 32):
            call(session.recall, "a violin in the harbour")
            say(session, call, 32, begin=begin)
            records = read({path: wmem.model.history.ORIGIN})[path].records
            if records and records[-1].id not in stored[-1:]:
                stored.append(records[-1].id)
        assert 2 <= len(stored) <= 3, "at each growth by a factor of two"

    def test_a_small_scope_stores_none_and_a_process_memory_never(
        self, backend: str, session: Scope, memory: wmem.AgentMemory, call: Call
    ) -> None:
        say(session, call, ENOUGH if backend == "memory" else ENOUGH - 1)
        ask(session, call)
        call(memory.maintain)
        assert not self._is_stored(memory)

    @pytest.mark.backends(*STORED)
    def test_an_index_is_no_part_of_what_is_remembered(
        self, session: Scope, memory: wmem.AgentMemory, call: Call
    ) -> None:
        say(session, call)
        ask(session, call)
        before = (call(memory.stats), call(session.export), call(memory.changes))
        call(memory.maintain)
        assert self._is_stored(memory)
        assert (call(memory.stats), call(session.export), call(memory.changes)) == before
        assert call(session.children) == []
        assert call(memory.working.children) == ["session"]

    @pytest.mark.backends(*STORED)
    def test_two_processes_that_store_one_leave_one_that_either_can_read(
        self, open_memory: MemoryOpener, call: Call
    ) -> None:
        here, there = open_memory(), open_memory.in_other_process()
        say(here.scope("session"), call)
        say(there.scope("session"), call, begin=ENOUGH)
        told = ask(here.scope("session"), call)
        assert ask(there.scope("session"), call) == told
        call.run_concurrently([here.maintain, there.maintain])
        later = open_memory.in_other_process()
        assert ask(later.scope("session"), call) == told
        assert self._count_indexed(later) == 0

    @pytest.mark.backends(*STORED)
    @pytest.mark.parametrize("damage", ["no index", "a part", "another version", "another life", "not read"])
    def test_what_cannot_be_used_is_made_again(self, damage: str, open_memory: MemoryOpener, call: Call) -> None:
        first = open_memory()
        say(first.scope("session"), call)
        told = ask(first.scope("session"), call)
        call(first.close)
        spoiler = open_memory.in_other_process()
        self._spoil(spoiler, damage)
        later = open_memory.in_other_process()
        assert ask(later.scope("session"), call) == told
        assert self._count_indexed(later) == ENOUGH
        call(later.close)
        last = open_memory.in_other_process()
        assert ask(last.scope("session"), call) == told
        assert self._count_indexed(last) == 0

    def _spoil(self, memory: wmem.AgentMemory, damage: str) -> None:
        """Change what is stored of the session's index."""
        ports, codec = memory._core.ports.sync, memory._core.store.engine.codec
        path = index_path(("agent", "session"))
        tail = ports["Journal.read"]({path: wmem.model.history.ORIGIN})[path]
        (record,) = tail.records
        put: Any
        (put,) = codec.decode_record(record.payload, path, record.id)
        content = put.row.content
        changed = {
            "no index": b"",
            "a part": content[:-9],
            "another version": content.replace(b'"made by":[', b'"made by":[0,', 1),
            "another life": content.replace(b'"incarnation":', b'"incarnation":1', 1),
            "not read": content,
        }[damage]
        payload = codec.encode_record([put._replace(row=put.row._replace(content=changed))], path, record.id)
        if damage == "not read":
            payload = payload[:-1] + bytes([payload[-1] ^ 1])
        ports["Journal.delete"](path, None)
        ports["Journal.append"](path, record.id, payload, None, None)

    # -- what removes it

    @pytest.mark.backends(*STORED)
    @pytest.mark.parametrize(
        "way", ["erase", "erase the rest", "clear", "clear messages", "dispose", "dispose the parent", "maintain"]
    )
    def test_no_word_of_what_is_erased_is_left_in_an_index(  # noqa: PLR0917  # fixtures
        self,
        way: str,
        open_memory: MemoryOpener,
        call: Call,
        clock: Clock,
        store_bytes: Callable[[], bytes],
        is_plaintext: bool,
    ) -> None:
        first = open_memory()
        session = first.scope("session")
        say(session, call)
        call(session.messages.append, {"role": "user", "content": SECRET, "id": "m"})
        item = call(session.items.add, f"expires {SECRET}", ttl_s=60)
        ask(session, call)
        call(first.close)
        assert not is_plaintext or is_left(store_bytes())
        memory = open_memory.in_other_process()
        session = memory.scope("session")
        if way == "maintain":
            call(session.erase, "m")
            ask(session, call)
            call(memory.maintain)
            assert not is_plaintext or is_left(store_bytes())
            clock.advance(61)
        elif way == "erase the rest":
            call(session.messages.withdraw, "m")
            call(session.items.remove, item.id)
        ways: dict[str, Callable[[], Any]] = {
            "erase": lambda: call(session.erase, "m", item.id),
            "erase the rest": lambda: call(session.erase),
            "clear": lambda: call(session.clear),
            "clear messages": lambda: [call(session.messages.clear), call(session.items.clear)],
            "dispose": lambda: call(session.dispose),
            "dispose the parent": lambda: call(memory.working.dispose),
            "maintain": lambda: call(memory.maintain),
        }
        ways[way]()
        if way != "maintain":  # what expired is in the journal until that is compacted
            assert not is_left(store_bytes())
        assert not self._is_stored(memory) or way == "maintain"
        call(memory.close)
        assert not is_left(store_bytes())

    @pytest.mark.backends(*STORED)
    def test_who_does_not_know_of_an_erasure_stores_no_word_of_it(
        self, open_memory: MemoryOpener, call: Call, store_bytes: Callable[[], bytes]
    ) -> None:
        here, there = open_memory(), open_memory.in_other_process()
        say(here.scope("session"), call)
        call(here.scope("session").messages.append, {"role": "user", "content": SECRET, "id": "m"})
        ask(there.scope("session"), call)
        assert call(here.scope("session").erase, "m").complete
        call(there.maintain)
        assert not is_left(store_bytes())
        ask(there.scope("session"), call)
        call(there.maintain)
        assert self._is_stored(there)
        assert not is_left(store_bytes())

    @pytest.mark.backends(*STORED)
    @pytest.mark.parametrize("way", ["erase", "clear", "dispose"])
    def test_what_is_erased_while_an_index_is_stored_is_not_left_in_it(
        self, way: str, open_memory: MemoryOpener, call: Call, store_bytes: Callable[[], bytes]
    ) -> None:
        here, there = open_memory(), open_memory.in_other_process()
        say(here.scope("session"), call)
        call(here.scope("session").messages.append, {"role": "user", "content": SECRET, "id": "m"})
        ask(there.scope("session"), call)
        ports, session = there._core.ports.sync, here.scope("session")
        appended = 0

        def append(*args: Any) -> Any:
            nonlocal appended
            appended += 1
            call(session.erase, "m") if way == "erase" else call(getattr(session, way))
            return ports["Journal.append"](*args)

        engine = there._core.store.engine
        run(index_store.keep_indexes(engine, "agent", 0.0), {**ports, "Journal.append": append})
        assert appended == 1
        assert not is_left(store_bytes())

    # -- a loop goes on

    @pytest.mark.backends("memory")
    @pytest.mark.parametrize("mode", ["async"])
    def test_a_loop_goes_on_while_a_first_question_is_indexed(
        self, memory: wmem.AgentMemory, session: Any, call: Call
    ) -> None:
        say(session, call, 1_000)
        turns: Any = call(count_turns, lambda: session.pack("a violin in the harbour", budget=500))
        size = sum(row.size_bytes for row in self._replica(memory).state.rows.values())
        assert turns >= size // index_store._STEP_BYTES - 1 > 1

    @pytest.mark.backends("sqlite")
    @pytest.mark.parametrize("mode", ["async"])
    def test_a_large_scope_is_decoded_beside_the_loop(self, open_memory: MemoryOpener, call: Call) -> None:
        say(open_memory().scope("session"), call, 2_000)
        loop = threading.get_ident()
        decoders: set[int] = set()
        later: Any = open_memory.in_other_process()
        codec = later._core.store.engine.codec

        class Watched(type(codec)):  # type: ignore[misc]  # the real one, whose thread is asked
            def decode_checkpoint(self, *args: Any) -> Any:
                decoders.add(threading.get_ident())
                return super().decode_checkpoint(*args)

        later._core.store.engine.codec = Watched()
        assert call(later.scope("session").messages.count) == 2_000
        assert decoders
        assert loop not in decoders
