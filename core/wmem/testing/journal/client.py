"""A sync or async journal as tests call it, and the fixtures of the journal suite."""

import asyncio
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import pytest

from wmem.engine.ports import async_ports, sync_ports
from wmem.flow import Flow, arun, run
from wmem.journal.port import Appended, AsyncJournal, Journal, Tail, new_record_id
from wmem.model.history import ORIGIN, Cursor, Incarnation, Path
from wmem.testing.calls import Call
from wmem.testing.connect import Connect, close_connection, is_async
from wmem.testing.store_bytes import read_journal_bytes

__all__ = ["PATH", "JournalClient", "JournalFixtures"]

T = TypeVar("T")

PATH: Path = ("agent", "session")
PATIENCE_S = 10.0


class JournalClient:
    """Calls the methods of a sync or async journal, and returns their results.

    Args:
        journal: A `Journal[bytes]` or an `AsyncJournal[bytes]`.
        loop: Where coroutines run.
    """

    def __init__(self, journal: Journal[bytes] | AsyncJournal[bytes], loop: asyncio.Runner) -> None:
        self.journal: Any = journal
        self._is_async = is_async(journal)
        self._call = Call(loop if self._is_async else None)

    def read(self, path: Path, after: Cursor = ORIGIN) -> Tail[bytes]:
        """The tail after a cursor."""
        return self.read_many({path: after})[path]

    def read_many(self, after: Mapping[Path, Cursor]) -> Mapping[Path, Tail[bytes]]:
        """The tail after each cursor, by path."""
        tails: Mapping[Path, Tail[bytes]] = self._call(self.journal.read, after)
        return tails

    def append(
        self,
        path: Path,
        payload: bytes,
        *,
        record_id: int | None = None,
        expected: Cursor | Incarnation | None = None,
        keep_s: float | None = None,
    ) -> Appended[bytes]:
        """Append a record, with a new id if none is given."""
        chosen = new_record_id() if record_id is None else record_id
        reply: Appended[bytes] = self._call(self.journal.append, path, chosen, payload, expected, keep_s)
        return reply

    def append_many(self, path: Path, *payloads: bytes) -> list[Cursor]:
        """Append records unconditionally; return the head after each."""
        cursors = []
        for payload in payloads:
            reply = self.append(path, payload)
            assert reply.cursor is not None, "an append without a condition is never refused"
            cursors.append(reply.cursor)
        return cursors

    def compact(self, path: Path, upto: Cursor, snapshot: bytes = b"state") -> bool:
        """Replace the records up to a cursor by a snapshot."""
        done: bool = self._call(self.journal.compact, path, upto, snapshot, None)
        return done

    def delete(self, path: Path, incarnation: Incarnation | None = None) -> None:
        """Delete a journal with its descendants."""
        self._call(self.journal.delete, path, incarnation)

    def paths(self, prefix: Path = ()) -> list[Path]:
        """The paths at or below a prefix, sorted."""
        return sorted(self._call(self.journal.paths, prefix))

    def call_optional(self, name: str, *args: Any) -> Any:
        """Call an optional method, which is not in the port; skips the test if the journal has none."""
        method = getattr(self.journal, name, None)
        if method is None:
            pytest.skip(f"the journal offers no `{name}`")
        return self._call(method, *args)

    def purge(self, path: Path) -> Sequence[str]:
        """Purge a path if the journal can; return what it says remains."""
        remaining: Sequence[str] = self._call(self.journal.purge, path) if hasattr(self.journal, "purge") else ()
        return remaining

    def append_cancelled(self, path: Path, payload: bytes, *, turns: int, record_id: int | None = None) -> None:
        """Begin an append and cancel it after so many turns of the loop; skips the test if the journal is sync."""
        if not self._is_async:
            pytest.skip("a sync call cannot be cancelled")
        chosen = new_record_id() if record_id is None else record_id

        async def begin() -> None:
            task = asyncio.create_task(self.journal.append(path, chosen, payload, None, None))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task], timeout=PATIENCE_S)
            assert task.done(), "a cancelled call is let go at once"

        self._call.run_concurrently([begin])

    def run_concurrently(self, flows: Sequence[Flow[T]], *, other: "JournalClient | None" = None) -> list[T]:
        """Run flows concurrently, in threads or as tasks; every second one on another connection, if one is given."""
        clients = itertools.cycle([self, other or self])
        return self._call.run_concurrently([client.start(flow) for client, flow in zip(clients, flows, strict=False)])

    def start(self, flow: Flow[T]) -> Callable[[], T]:
        """A call that runs a flow on the journal."""
        ports = async_ports(self.journal) if self._is_async else sync_ports(self.journal)
        drive: Any = arun if self._is_async else run
        return lambda: drive(flow, ports)

    def read_bytes(self) -> bytes:
        """All payloads and snapshots that the port returns, concatenated."""
        return read_journal_bytes(self.journal, self._call)

    def close(self) -> None:
        """Close the connection if it can be closed."""
        close_connection(self.journal, self._call)


class JournalFixtures:
    """Fixtures; a subclass overrides `connect`, or `journal` if there can be only one connection.

    A journal with `aclose` or `close` is closed at the end of a test.
    """

    @pytest.fixture
    def connect(self) -> Connect | None:
        """Opens a new connection to an empty store each time; for a store in memory, returns the same journal."""
        return None

    @pytest.fixture
    def loop(self) -> Iterator[asyncio.Runner]:
        """Where coroutines run."""
        loop = asyncio.Runner()  # creates its loop only when needed
        yield loop
        loop.close()

    @pytest.fixture
    def journal(self, connect: Connect | None, loop: asyncio.Runner) -> Any:
        """A journal in which nothing is stored yet."""
        if connect is None:
            pytest.fail("a suite needs a journal: override the fixture `connect`, or `journal`", pytrace=False)
        return Call(loop)(connect)

    @pytest.fixture
    def client(self, journal: Any, loop: asyncio.Runner) -> Iterator[JournalClient]:
        """The journal, wrapped to be called from a test."""
        book = JournalClient(journal, loop)
        yield book
        book.close()

    @pytest.fixture
    def store_bytes(self, client: JournalClient) -> Callable[[], bytes]:
        """Reads every byte of the store; unless overridden, what the port returns."""
        return client.read_bytes

    @pytest.fixture
    def other_client(
        self, client: JournalClient, connect: Connect | None, loop: asyncio.Runner
    ) -> Iterator[JournalClient]:
        """Another connection to the same store."""
        if connect is None:
            pytest.skip("there is no second connection: override the fixture `connect`")
        other = JournalClient(Call(loop)(connect), loop)
        yield other
        if other.journal is not client.journal:
            other.close()
