"""Journals on a Redis or Valkey server, for any number of processes and machines.

A scope is a hash (head, base, birth, snapshot) and a stream of records; a root has a register of
its scopes and stores their births. All keys of a root share one cluster slot, so each call is one
atomic script and one round trip. Needs Redis 6.2, or any Valkey; no modules.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from wmem.flow import Flow, arun, ask, bind, run
from wmem.journal.port import MISSED_MAX, Appended, Record, Tail, new_salt, path_name
from wmem.journal.redis_async import PerLoopServer, loop_client_factory
from wmem.journal.redis_client import ScriptMissingError, Server, Word, server_client
from wmem.journal.redis_scripts import APPEND, COMPACT, DELETE, PATHS, READ, Script
from wmem.journal.redis_server import check_server, purge_server
from wmem.journal.redis_url import parse_redis_url
from wmem.model.history import ORIGIN, Cursor, Incarnation, Path

_ROOTS_KEY = "wmem:roots"
_MAX_KEEP_MS = 1 << 50  # about 36,000 years: keeps the sum with the server's clock in range
_MAX_STREAM_ID = "18446744073709551615-18446744073709551615"  # the largest stream id: never a record's
_STREAM_ID_LIMIT = 1 << 64


class RedisJournal:
    """A sync `Journal` of bytes on a Redis server.

    Args:
        url: ``redis://user:password@host:port/db``, ``rediss://…`` or ``unix://…``; with
            ``?cluster=true`` the cluster that the host is part of.
        client: A ``redis.Redis`` or ``redis.RedisCluster`` that the caller owns: it is used
            as it is, and never closed. The URL then only names the store.

    Raises:
        InvalidInputError: The URL names no server, or `client` is not a sync client.
    """

    def __init__(self, url: str, *, client: object | None = None) -> None:
        self.url = parse_redis_url(url)
        self._client = client
        self._sends_once = client is None and not self.url.is_cluster  # see `Appended.certain`
        self.reset_after_fork()

    def reset_after_fork(self) -> None:
        """Start with new connections; also called in a forked child."""
        self._server = server_client(self.url, self._client)
        self._ports = bind(Server=self._server)

    def check(self) -> None:
        """Check the server's version, and warn of settings that lose data.

        Raises:
            StoreError: It cannot be reached, or is too old.
        """
        run(check_server(self.url), self._ports)

    def close(self) -> None:
        """Close the connections that wmem made."""
        self._server.close()

    def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[bytes]]:
        return run(_read(after), self._ports)

    def append(
        self, path: Path, record_id: int, record: bytes, expected: Cursor | Incarnation | None, keep_s: float | None, /
    ) -> Appended[bytes]:
        return run(_append(path, record_id, record, expected, keep_s, certain=self._sends_once), self._ports)

    def compact(self, path: Path, upto: Cursor, snapshot: bytes, keep_s: float | None, /) -> bool:
        return run(_compact(path, upto, snapshot, keep_s), self._ports)

    def delete(self, path: Path, incarnation: Incarnation | None, /) -> None:
        run(_delete(path, incarnation), self._ports)

    def paths(self, prefix: Path, /) -> Iterable[Path]:
        return run(_list_paths(prefix), self._ports)

    def purge(self, _path: Path, /) -> Sequence[str]:
        return run(purge_server(self.url), self._ports)


class AsyncRedisJournal:
    """An async `Journal` of bytes on a Redis server, for any event loop; see `RedisJournal`.

    Each loop has one connection that all its tasks share. A caller's `client` belongs to the loop
    it was first used in, as redis-py requires.
    """

    def __init__(self, url: str, *, client: object | None = None) -> None:
        self.url = parse_redis_url(url)
        self._sends_once = client is None and not self.url.is_cluster  # see `Appended.certain`
        self._server = PerLoopServer(self.url, loop_client_factory(self.url, client))
        self._ports = bind(Server=self._server)

    def reset_after_fork(self) -> None:
        """See `RedisJournal.reset_after_fork`."""
        self._server.reset_after_fork()

    async def check(self) -> None:
        """See `RedisJournal.check`."""
        await arun(check_server(self.url), self._ports)

    def close(self) -> None:
        """Have every loop close its connections; callable from any thread."""
        self._server.close()

    async def aclose(self) -> None:
        """Close the running loop's connections that wmem made, and have other loops close theirs."""
        await self._server.aclose()

    async def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[bytes]]:
        return await arun(_read(after), self._ports)

    async def append(
        self, path: Path, record_id: int, record: bytes, expected: Cursor | Incarnation | None, keep_s: float | None, /
    ) -> Appended[bytes]:
        return await arun(_append(path, record_id, record, expected, keep_s, certain=self._sends_once), self._ports)

    async def compact(self, path: Path, upto: Cursor, snapshot: bytes, keep_s: float | None, /) -> bool:
        return await arun(_compact(path, upto, snapshot, keep_s), self._ports)

    async def delete(self, path: Path, incarnation: Incarnation | None, /) -> None:
        await arun(_delete(path, incarnation), self._ports)

    async def paths(self, prefix: Path, /) -> Iterable[Path]:
        return await arun(_list_paths(prefix), self._ports)

    async def purge(self, _path: Path, /) -> Sequence[str]:
        return await arun(purge_server(self.url), self._ports)


# -- keys


class _RootKeys(NamedTuple):
    """The keys of a root, and the prefixes of its scopes' hashes and streams."""

    incarnations: str
    register: str
    names: str
    hash_prefix: str
    stream_prefix: str


@lru_cache(256)
def _root_keys(root: str) -> _RootKeys:
    # A hash tag ends at the first closing brace, so braces are escaped in the JSON.
    tag = json.dumps(root).replace("{", "\\u007b").replace("}", "\\u007d")
    key = f"wmem:{{{tag}}}:"
    return _RootKeys(f"{key}births", f"{key}register", f"{key}names", f"{key}h", f"{key}s")


# -- the port as flows, for sync and async


def _eval_script(script: Script, keys: Sequence[str], args: Sequence[Word], *, writes: bool) -> Flow[Any]:
    words: tuple[Word, ...] = (len(keys), *keys, *args)
    send = Server.write if writes else Server.query
    try:
        return (yield from ask(send, "EVALSHA", script.sha, *words))
    except ScriptMissingError:
        # The script was not executed; EVAL executes and caches it.
        return (yield from ask(send, "EVAL", script.text, *words))


def _read(after: Mapping[Path, Cursor]) -> Flow[Mapping[Path, Tail[bytes]]]:
    if not after:
        return {}
    root = _root_keys(next(iter(after))[0])
    keys = [root.incarnations]
    args: list[str] = []
    for path, cursor in after.items():
        name = path_name(path)
        keys += (root.hash_prefix + name, root.stream_prefix + name)
        args += (name, _encode_cursor(cursor))
    reply = yield from _eval_script(READ, keys, args, writes=False)
    replies = reply if isinstance(reply, list) else reply.split(b" ")
    return {
        path: _decode_tail(reply)
        if isinstance(reply, list)
        else Tail(
            joined=True, base=cursor, snapshot=None, records=(), head=cursor, incarnation=_decode_incarnation(reply)
        )
        for (path, cursor), reply in zip(after.items(), replies, strict=True)
    }


def _append(
    path: Path,
    record_id: int,
    record: bytes,
    expected: Cursor | Incarnation | None,
    keep_s: float | None,
    *,
    certain: bool,
) -> Flow[Appended[bytes]]:
    root, name = _root_keys(path[0]), path_name(path)
    keys = (root.incarnations, root.hash_prefix + name, root.stream_prefix + name, root.register, root.names)
    wanted = ""
    if expected is not None:
        wanted = f"c{_encode_cursor(expected)}" if isinstance(expected, Cursor) else f"b{expected.chain}"
    args = (name, record_id, record, wanted, _to_milliseconds(keep_s), new_salt(), MISSED_MAX)
    reply = yield from _eval_script(APPEND, keys, (*args, ""), writes=True)
    if reply == []:
        # The set of roots has its own cluster slot. A root is added before its first scope, so none is ever unlisted.
        yield from ask(Server.write, "SADD", _ROOTS_KEY, path[0].encode("utf-8", "surrogatepass"))
        reply = yield from _eval_script(APPEND, keys, (*args, "rooted"), writes=True)
    if isinstance(reply, list):
        head, size, incarnation, missed = reply
        tail = None if missed is None else _decode_tail(missed)
        return Appended(None, _decode_cursor(head), tail, int(size), _decode_incarnation(incarnation), certain)
    cursor, head, size, incarnation = reply.split(b" ")
    return Appended(_decode_cursor(cursor), _decode_cursor(head), None, int(size), _decode_incarnation(incarnation))


def _compact(path: Path, upto: Cursor, snapshot: bytes, keep_s: float | None) -> Flow[bool]:
    root, name = _root_keys(path[0]), path_name(path)
    keys = (root.hash_prefix + name, root.stream_prefix + name, root.register)
    done = yield from _eval_script(
        COMPACT, keys, (name, _encode_cursor(upto), snapshot, _to_milliseconds(keep_s)), writes=True
    )
    return bool(done)


def _delete(path: Path, incarnation: Incarnation | None) -> Flow[None]:
    root, name = _root_keys(path[0]), path_name(path)
    keys = (root.incarnations, root.register, root.names, root.hash_prefix + name, root.stream_prefix + name)
    args = (name, name[:-1], "" if incarnation is None else incarnation.chain, root.hash_prefix, root.stream_prefix)
    yield from _eval_script(DELETE, keys, args, writes=True)


def _list_paths(prefix: Path) -> Flow[list[Path]]:
    if prefix:
        roots = [prefix[0]]
    else:
        listed = yield from ask(Server.query, "SMEMBERS", _ROOTS_KEY)
        roots = sorted(each.decode("utf-8", "surrogatepass") for each in listed)
    paths: list[Path] = []
    for each in roots:
        args = (path_name(prefix)[:-1] if len(prefix) > 1 else "",)
        keys = (_root_keys(each).register, _root_keys(each).names)
        reply = yield from _eval_script(PATHS, keys, args, writes=False)
        paths += map(tuple, json.loads(reply))
    return paths


# -- encoding arguments and decoding replies


def _encode_cursor(cursor: Cursor) -> str:
    version, chain = cursor
    return f"{version}-{chain}" if 0 <= version < _STREAM_ID_LIMIT and 0 <= chain < _STREAM_ID_LIMIT else _MAX_STREAM_ID


def _to_milliseconds(keep_s: float | None) -> Word:
    """Seconds as milliseconds, at least one; '' for ever."""
    return "" if keep_s is None else max(1, math.ceil(min(keep_s * 1000, _MAX_KEEP_MS)))


def _decode_cursor(reply: bytes) -> Cursor:
    version, _, chain = reply.partition(b"-")
    return Cursor(int(version), int(chain))


def _decode_incarnation(reply: bytes) -> Incarnation | None:
    return Incarnation(int(reply)) if reply else None


def _decode_tail(reply: list[Any]) -> Tail[bytes]:
    joined, base_id, snapshot, entries, head_id, incarnation = reply
    base, head = _decode_cursor(base_id), _decode_cursor(head_id)
    if not joined and base != ORIGIN and snapshot is None:
        snapshot = b""  # missing: no codec accepts it as a payload
    records = [(_decode_cursor(entry).version, _decode_record(fields)) for entry, fields in entries]
    if len(records) != head.version - base.version:
        by_version = dict(records)
        # A missing record counts as damage at its version.
        missing = Record(0, b"")
        records = [(each, by_version.get(each, missing)) for each in range(base.version + 1, head.version + 1)]
    payloads = tuple(record for _, record in records)
    return Tail(bool(joined), base, snapshot, payloads, head, _decode_incarnation(incarnation))


def _decode_record(fields: list[bytes]) -> Record[bytes]:
    try:
        _, record_id, _, payload = fields
        return Record(int(record_id), payload)
    except (TypeError, ValueError):
        return Record(0, b"")  # foreign
