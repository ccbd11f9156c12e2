"""Journals on a Redis or Valkey server, for any number of processes and machines.

A scope is a hash (head, base, birth, snapshot) and a stream of records; a root has a register of
its scopes and stores their births and names: by these three, what is lost is told from what lapsed. All
keys of a root share one cluster slot, so each call is one
atomic script and one round trip. Needs Redis 6.2, or any Valkey; no modules.
"""

from collections.abc import Iterable, Mapping, Sequence

from wmem.flow import bind, run
from wmem.journal.port import Append, Appended, Tail
from wmem.journal.redis_client import server_client  # async: from wmem.journal.redis_async import PerLoopServer
from wmem.journal.redis_flows import append, append_all, compact, delete, list_paths, read, sweep
from wmem.journal.redis_roots import KnownStore, list_roots
from wmem.journal.redis_server import check_server, purge_server
from wmem.journal.redis_url import parse_redis_url
from wmem.model.history import Cursor, Incarnation, Path


class RedisJournal:
    """A sync `Journal` of bytes on a Redis server.

    Args:
        url: ``redis://user:password@host:port/db``, ``rediss://…`` or ``unix://…``; with
            ``?cluster=true`` the cluster that the host is part of.
        client: A ``redis.Redis`` or ``redis.RedisCluster`` that the caller owns: it is used
            as it is, and never closed. The URL then only names the store.

    Raises:
        InvalidInputError: The URL names no server, or `client` is not a sync client.
    """  # async: See `RedisJournal`, for any event loop; each loop has one connection that all its tasks share.

    def __init__(self, url: str, *, client: object | None = None) -> None:
        self.url = parse_redis_url(url)
        self.store = KnownStore(self.url, client)
        self._client = client  # async: self._server = PerLoopServer(self.url, client)
        self.reset_after_fork()  # async: self._ports = bind(Server=self._server)

    def reset_after_fork(self) -> None:
        """Start with new connections; also called in a forked child."""
        self._server = server_client(self.url, self._client)  # async: self._server.reset_after_fork()
        self._ports = bind(Server=self._server)  # sync only

    def check(self) -> None:
        """Check the server's version, and warn of settings that lose data.

        Raises:
            StoreError: It cannot be reached, or is too old.
        """
        run(check_server(self.url, self.store), self._ports)

    def close(self) -> None:
        """Close the connections that wmem made."""  # async: Have every loop close them; callable from any thread.
        self._server.close()

    # async: async def aclose(self) -> None:
    # async:     """Close the running loop's connections, and have other loops close theirs."""
    # async:     await self._server.aclose()

    def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[bytes]]:
        return run(read(self.store, after), self._ports)

    def append(
        self, path: Path, record_id: int, record: bytes, expected: Cursor | Incarnation | None, keep_s: float | None, /
    ) -> Appended[bytes]:
        return run(append(self.store, Append(path, record_id, record, expected, keep_s)), self._ports)

    def append_all(self, appends: Sequence[Append[bytes]], /) -> Sequence[Appended[bytes]]:
        return run(append_all(self.store, appends), self._ports)

    def compact(self, path: Path, upto: Cursor, snapshot: bytes, keep_s: float | None, /) -> bool:
        return run(compact(path, upto, snapshot, keep_s), self._ports)

    def delete(self, path: Path, incarnation: Incarnation | None, /) -> None:
        run(delete(path, incarnation), self._ports)

    def paths(self, prefix: Path, /) -> Iterable[Path]:
        return run(list_paths(self.store, prefix), self._ports)

    def roots(self) -> Iterable[str]:
        return run(list_roots(), self._ports)

    def purge(self, _path: Path, /) -> Sequence[str]:
        return run(purge_server(self.url), self._ports)

    def sweep(self, path: Path, /) -> int:
        return run(sweep(path), self._ports)
