"""Faults in the async faces of sync journals: the one that calls a pool of threads, and the one that calls in place."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from typing import Any

import pytest

from tests.conformance.mutants import Mutant, MutantSuite, load_with_fault
from wmem import ConflictError, StoreError, testing
from wmem.journal.memory import MemoryJournal
from wmem.journal.sqlite import SqliteJournal
from wmem.model.history import ORIGIN
from wmem.testing.journal.client import PATH, JournalClient
from wmem.testing.store_bytes import read_object_bytes

__all__ = ["IN_PLACE", "POOLED", "InPlaceMutantSuite", "PooledMutantSuite"]

PATIENCE_S = 5.0

_ports = partial(Mutant, "wmem.engine.ports")
_pool = partial(Mutant, "wmem.engine.pool")


async def begin_append(journal: Any) -> asyncio.Task[Any]:
    """Start an append to a pooled journal, and wait until a thread runs it."""
    append_now, begun = journal._journal.append, threading.Event()

    def append(*call: Any) -> Any:
        begun.set()
        return append_now(*call)

    journal._journal.append = append
    task = asyncio.create_task(journal.append(PATH, 1, b"x", None, None))
    while not begun.is_set():  # noqa: ASYNC110  # a thread sets it
        await asyncio.sleep(0)
    return task


class PooledMutantSuite(MutantSuite):
    """The journal suite over a pooled journal of a file, and what is promised of a pool."""

    modules = ("wmem.engine.pool", "wmem.engine.ports")
    kind = "PooledJournal"

    @pytest.fixture
    def ports(self) -> Any:
        return load_with_fault(self.modules, self.mutant)

    @pytest.fixture
    def pool(self, ports: Any) -> Iterator[Any]:
        pool = ports.Pool(4)
        yield pool
        pool.close()

    @pytest.fixture
    def open_file(self, place: str, ports: Any, pool: Any) -> Iterator[Callable[..., Any]]:
        made = []

        def opened(wait_s: float = PATIENCE_S) -> Any:
            made.append(SqliteJournal(place, wait_s=wait_s))
            return ports.PooledJournal(made[-1], pool)

        yield opened
        pool.close()
        for journal in made:
            journal.close()

    @pytest.fixture
    def connect(self, open_file: Callable[..., Any]) -> testing.Connect:
        return open_file

    @pytest.fixture
    def writer(self, client: JournalClient, place: str) -> Iterator[sqlite3.Connection]:
        """Another process's transaction on the file, which every other writer waits for."""
        with closing(sqlite3.connect(place, isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            yield writer

    def test_the_loop_goes_on_while_a_call_waits(
        self, open_file: Callable[..., Any], writer: sqlite3.Connection, loop: asyncio.Runner
    ) -> None:
        async def waiting() -> Any:
            append = asyncio.create_task(open_file().append(PATH, 1, b"x", None, None))
            await asyncio.sleep(0)
            writer.execute("COMMIT")
            return await append

        assert loop.run(waiting()).previous == ORIGIN

    def test_what_fails_in_a_thread_is_raised_to_the_caller(
        self, open_file: Callable[..., Any], writer: sqlite3.Connection, loop: asyncio.Runner
    ) -> None:
        with pytest.raises(ConflictError):
            loop.run(open_file(wait_s=0.01).append(PATH, 1, b"x", None, None))

    def test_a_call_after_a_cancelled_one_sees_what_became_of_it(
        self, open_file: Callable[..., Any], writer: sqlite3.Connection, loop: asyncio.Runner
    ) -> None:
        journal = open_file()

        async def read_after_cancelling() -> Any:
            append = await begin_append(journal)
            append.cancel()
            reading = asyncio.create_task(journal.read({PATH: ORIGIN}))
            await asyncio.wait([append, reading], timeout=0.2)  # what does not wait for the writer is done by then
            writer.execute("COMMIT")
            return append.cancelled(), (await reading)[PATH]

        cancelled, tail = loop.run(read_after_cancelling())
        assert cancelled
        assert [record.payload for record in tail.records] == [b"x"]

    def test_a_cancelled_call_that_fails_later_fails_nobody_else(
        self, open_file: Callable[..., Any], writer: sqlite3.Connection, loop: asyncio.Runner, pool: Any
    ) -> None:
        journal = open_file(wait_s=0.01)

        async def read_after_cancelling() -> Any:
            append = await begin_append(journal)
            append.cancel()
            await asyncio.wait([append])
            return await journal.read({PATH: ORIGIN})

        assert loop.run(read_after_cancelling())[PATH].records == ()
        assert pool.abandoned == set()

    def test_a_closed_pool_says_that_nothing_was_changed(self, client: JournalClient, pool: Any) -> None:
        client.append_many(PATH, b"x")
        pool.close()
        with pytest.raises(StoreError, match="nothing was changed"):
            client.append(PATH, b"x")

    def test_closing_waits_for_calls_under_way(self, pool: Any) -> None:
        go_on = threading.Event()
        call = pool.submit(go_on.wait, PATIENCE_S)
        threading.Timer(0.05, go_on.set).start()
        pool.close()
        assert call.ended

    def test_a_forked_child_has_neither_the_threads_nor_their_calls(self, client: JournalClient, pool: Any) -> None:
        client.append_many(PATH, b"x")
        threads = pool._workers
        pool.abandoned.add(object())  # a call of the parent, whose end the child never learns
        pool.reset_after_fork()
        assert pool._workers is not threads
        assert pool.abandoned == set()
        threads._queue.put(None)


class InPlaceMutantSuite(MutantSuite):
    """The journal suite over a journal in memory, called in place."""

    modules = ("wmem.engine.ports",)
    kind = "InPlaceJournal"

    @pytest.fixture
    def in_memory(self) -> MemoryJournal[bytes]:
        return MemoryJournal(len)

    @pytest.fixture
    def connect(self, in_memory: MemoryJournal[bytes]) -> testing.Connect:
        kind = load_with_fault(self.modules, self.mutant).InPlaceJournal
        return lambda: kind(in_memory)

    @pytest.fixture
    def store_bytes(self, in_memory: MemoryJournal[bytes]) -> Callable[[], bytes]:
        return lambda: read_object_bytes(in_memory)


POOLED: Mapping[str, Mutant] = {
    "RunsInTheCallersThread": _ports(
        {"call = pool.submit(function, *args)": "call = pool.submit(lambda done: done, function(*args))"},
        ("test_the_loop_goes_on_while_a_call_waits",),
    ),
    "SwallowsErrors": _pool(
        {"raise self._outcome": "return None"},
        ("test_what_fails_in_a_thread_is_raised_to_the_caller",),
    ),
    "ForgetsCancelledCalls": _ports(
        {"pool.abandoned.add(call)": "pass"},
        ("test_a_call_after_a_cancelled_one_sees_what_became_of_it",),
    ),
    "WaitsForNoCancelledCall": _ports(
        {"await earlier.wait()": "pass"},
        ("test_a_call_after_a_cancelled_one_sees_what_became_of_it",),
    ),
    "RemembersCancelledCallsForEver": _ports(
        {"pool.abandoned.discard(earlier)": "pass"},
        ("test_a_cancelled_call_that_fails_later_fails_nobody_else",),
    ),
    "RaisesWhatACancelledCallMet": _ports(
        {"await earlier.wait()": "await earlier.result()"},
        ("test_a_cancelled_call_that_fails_later_fails_nobody_else",),
    ),
    "RepeatsCancelledCalls": _ports(
        {
            "                pool.abandoned.add(call)": (
                "                pool.submit(function, *args)\n"
                "                pool.abandoned.add(pool.submit(function, *args))"
            )
        },
        ("test_a_cancelled_append_is_stored_once_or_not_at_all",),
    ),
    "ClosesBeforeCallsEnd": _pool(
        {"each.acquire()": "pass"},
        ("test_closing_waits_for_calls_under_way",),
    ),
    "RaisesAnErrorOfItsOwn": _pool(
        {'raise StoreError("the store was closed': 'raise RuntimeError("the store was closed'},
        ("test_a_closed_pool_says_that_nothing_was_changed",),
    ),
    "TakesTheParentsThreads": _pool(
        {"        self._begin()\n        self.abandoned = set()": "        self.abandoned = set()"},
        ("test_a_forked_child_has_neither_the_threads_nor_their_calls",),
    ),
    "WaitsForTheParentsCalls": _pool(
        {"        self._begin()\n        self.abandoned = set()": "        self._begin()"},
        ("test_a_forked_child_has_neither_the_threads_nor_their_calls",),
    ),
    "ReadsPathByPath": _ports(
        {
            "return await self._run_in_pool(self._journal.read, after)": (
                "return {path: (await self._run_in_pool(self._journal.read, {path: cursor}))[path] "
                "for path, cursor in after.items()}"
            )
        },
        ("test_several_paths_are_read_as_of_one_instant",),
    ),
    "AppendsUnconditionally": _ports(
        {
            "_run_in_pool(self._journal.append, path, record_id, record, expected,": (
                "_run_in_pool(self._journal.append, path, record_id, record, None,"
            )
        },
        ("test_a_stale_append_changes_nothing_and_brings_what_was_missed",),
    ),
    "DeletesAnyIncarnation": _ports(
        {"self._journal.delete, path, incarnation)": "self._journal.delete, path, None)"},
        ("test_a_deletion_that_means_another_life_deletes_nothing",),
    ),
    "ListsEverything": _ports(
        {"self._journal.paths, prefix)": "self._journal.paths, ())"},
        ("test_a_prefix_means_whole_segments",),
    ),
    "PurgesNothing": _ports(
        {"return () if purge is None else await self._run_in_pool(purge, path)": "return ()"},
        ("test_no_byte_of_a_deleted_journal_is_left", "test_no_byte_of_compacted_records_is_left"),
    ),
}

IN_PLACE: Mapping[str, Mutant] = {
    "AppendsUnconditionally": _ports(
        {
            "self._journal.append(path, record_id, record, expected,": (
                "self._journal.append(path, record_id, record, None,"
            )
        },
        ("test_a_stale_append_changes_nothing_and_brings_what_was_missed",),
    ),
    "AppendsLater": _ports(
        {
            "return self._journal.append(path, record_id, record, expected, keep_s)": (
                "import asyncio\n\n"
                "        head = self._journal.read({path: Cursor(0, 0)})[path].head\n"
                "        await asyncio.sleep(0)\n"
                "        return self._journal.append(\n"
                "            path, record_id, record, None if expected == head else expected, keep_s\n"
                "        )"
            )
        },
        ("test_of_many_that_begin_at_one_head_one_is_taken",),
    ),
    "DeletesAnyIncarnation": _ports(
        {"self._journal.delete(path, incarnation)": "self._journal.delete(path, None)"},
        ("test_a_deletion_that_means_another_life_deletes_nothing",),
    ),
    "CompactsNothing": _ports(
        {"return self._journal.compact(path, upto, snapshot, keep_s)": "return True"},
        ("test_no_byte_of_compacted_records_is_left",),
    ),
    "ReadsPathByPath": _ports(
        {
            "return self._journal.read(after)": (
                "import asyncio\n\n"
                "        tails = {}\n"
                "        for path, cursor in after.items():\n"
                "            await asyncio.sleep(0)\n"
                "            tails |= self._journal.read({path: cursor})\n"
                "        return tails"
            )
        },
        ("test_several_paths_are_read_as_of_one_instant",),
    ),
    "ListsEverything": _ports(
        {"return self._journal.paths(prefix)": "return self._journal.paths(())"},
        ("test_a_prefix_means_whole_segments",),
    ),
}
