# Generated from core/wmem/journal/redis.py by `make generate` (scripts/generate_async.py); do not edit.
"""Async twin of `wmem.journal.redis`."""

from collections.abc import Iterable, Mapping, Sequence

from wmem.flow import arun, bind
from wmem.journal.port import Append, Appended, Tail
from wmem.journal.redis_async import PerLoopServer
from wmem.journal.redis_flows import append, append_all, compact, delete, list_paths, read, sweep
from wmem.journal.redis_roots import KnownStore, list_roots
from wmem.journal.redis_server import check_server, purge_server
from wmem.journal.redis_url import parse_redis_url
from wmem.model.history import Cursor, Incarnation, Path


class AsyncRedisJournal:
    """See `RedisJournal`, for any event loop; each loop has one connection that all its tasks share."""

    def __init__(self, url: str, *, client: object | None = None) -> None:
        self.url = parse_redis_url(url)
        self.store = KnownStore(self.url, client)
        self._server = PerLoopServer(self.url, client)
        self._ports = bind(Server=self._server)

    def reset_after_fork(self) -> None:
        """See `RedisJournal.reset_after_fork`."""
        self._server.reset_after_fork()

    async def check(self) -> None:
        """See `RedisJournal.check`."""
        await arun(check_server(self.url, self.store), self._ports)

    def close(self) -> None:
        """Have every loop close them; callable from any thread."""
        self._server.close()

    async def aclose(self) -> None:
        """Close the running loop's connections, and have other loops close theirs."""
        await self._server.aclose()

    async def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[bytes]]:
        return await arun(read(self.store, after), self._ports)

    async def append(
        self, path: Path, record_id: int, record: bytes, expected: Cursor | Incarnation | None, keep_s: float | None, /
    ) -> Appended[bytes]:
        return await arun(append(self.store, Append(path, record_id, record, expected, keep_s)), self._ports)

    async def append_all(self, appends: Sequence[Append[bytes]], /) -> Sequence[Appended[bytes]]:
        return await arun(append_all(self.store, appends), self._ports)

    async def compact(self, path: Path, upto: Cursor, snapshot: bytes, keep_s: float | None, /) -> bool:
        return await arun(compact(path, upto, snapshot, keep_s), self._ports)

    async def delete(self, path: Path, incarnation: Incarnation | None, /) -> None:
        await arun(delete(path, incarnation), self._ports)

    async def paths(self, prefix: Path, /) -> Iterable[Path]:
        return await arun(list_paths(self.store, prefix), self._ports)

    async def roots(self) -> Iterable[str]:
        return await arun(list_roots(), self._ports)

    async def purge(self, _path: Path, /) -> Sequence[str]:
        return await arun(purge_server(self.url), self._ports)

    async def sweep(self, path: Path, /) -> int:
        return await arun(sweep(path), self._ports)
