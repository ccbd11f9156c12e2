"""Backends by URL scheme: each makes a sync and an async journal and closes them.

Where possible a backend is made without waiting for its store; its driver is imported
at that time. To add one: a class here, and a line in `BACKENDS`.
"""

import inspect
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from urllib.parse import quote, unquote

from wmem.codec.codec import IdentityCodec
from wmem.engine.pool import Pool
from wmem.engine.ports import InPlaceJournal, PooledJournal
from wmem.errors import InvalidInputError, MissingExtraError, StoreError
from wmem.journal.memory import MemoryJournal
from wmem.journal.redis_url import parse_redis_url
from wmem.model.history import Cursor
from wmem.model.history import Path as ScopePath

PRIVATE_URL = "memory://"
_DISK_FILE = "cache.db"  # diskcache's name for it; the driver is not imported to ask
_POOL_THREADS = 4  # of one engine, for async calls of a file journal


class Backend:
    """A connected backend.

    Attributes:
        is_blocking: Whether opening and closing wait for files or a server. One that does not
            stores payloads as Python objects, without a codec.
        head: Returns a journal's head cursor, for a store that answers without waiting.
        backup_advice: How to copy a store whose journal cannot.
    """

    is_blocking: ClassVar[bool] = True
    backup_advice: ClassVar[str] = "copy it with the means of the journal that was passed as client"

    @property
    def head(self) -> Callable[[ScopePath], Cursor] | None:
        return None

    def is_current(self) -> bool:
        """Whether it still uses what its URL names: False when its file was removed, moved or replaced."""
        return True

    def sync_journal(self) -> Any:
        """The sync journal."""
        raise NotImplementedError

    def async_journal(self) -> Any:
        """The async journal, for any event loop."""
        raise NotImplementedError

    def close(self) -> None:
        """Close connections and files, from a thread."""

    async def aclose(self) -> None:
        """Close connections and files, from the loop that used them."""

    def reset_after_fork(self) -> None:
        """Reset after a fork, in the child process."""


class MemoryBackend(Backend):
    """`memory://` is private; `memory://name` is shared in the process until it ends."""

    is_blocking: ClassVar[bool] = False
    backup_advice: ClassVar[str] = "it ends with this process: export its scopes, and import_ them elsewhere"
    shared_journals: ClassVar[dict[str, MemoryJournal[object]]] = {}

    def __init__(self, name: str, client: object | None) -> None:
        _check_no_client(name, client)
        fresh: MemoryJournal[object] = MemoryJournal(IdentityCodec().size)
        self._journal = fresh if name == PRIVATE_URL else self.shared_journals.setdefault(name, fresh)

    @property
    def head(self) -> Callable[[ScopePath], Cursor]:
        return self._journal.head

    def sync_journal(self) -> Any:
        return self._journal

    def async_journal(self) -> Any:
        return InPlaceJournal(self._journal)

    def reset_after_fork(self) -> None:
        self._journal.reset_after_fork()


class _PooledBackend(Backend):
    """A journal of files, or of the caller, which is never closed here; a sync one is called in a small thread pool."""

    def __init__(self, journal: Any, *, owned: bool = True) -> None:
        self._journal = journal
        self._owned = owned
        self._is_async = inspect.iscoroutinefunction(journal.append)
        self._pool = Pool(_POOL_THREADS)

    def is_current(self) -> bool:
        return not self._owned or bool(self._journal.is_current())

    def sync_journal(self) -> Any:
        if self._is_async:
            raise InvalidInputError(f"the journal {type(self._journal).__name__!r} is for coroutines: use wmem.aopen")
        return self._journal

    def async_journal(self) -> Any:
        return self._journal if self._is_async else PooledJournal(self._journal, self._pool)

    def close(self) -> None:
        self._pool.close()
        if self._owned:
            self._journal.close()

    async def aclose(self) -> None:
        import asyncio

        # The last reference waits for its threads and for the file, cancelled or not.
        await asyncio.shield(asyncio.to_thread(self.close))

    def reset_after_fork(self) -> None:
        self._pool.reset_after_fork()


def _connect_disk(name: str, client: object | None) -> Backend:
    """`disk:///dir`, with diskcache."""
    _check_no_client(name, client)
    directory, durable = _parse_file_url(name)
    try:
        from wmem.journal.disk import DiskJournal
    except ImportError as exc:
        raise MissingExtraError("disk:// needs the extra 'disk': pip install 'wmem[disk]'") from exc
    return _PooledBackend(DiskJournal(directory, durable=durable))


def _connect_sqlite(name: str, client: object | None) -> Backend:
    """`sqlite:///file`, with the standard library."""
    _check_no_client(name, client)
    from wmem.journal.sqlite import SqliteJournal

    file, durable = _parse_file_url(name)
    return _PooledBackend(SqliteJournal(file, durable=durable))


class _RedisBackend(Backend):
    """A Redis server, with its own sync and async clients, or the one client of the caller."""

    backup_advice: ClassVar[str] = "run BGSAVE on the server and copy its dump file, or keep a replica of it"

    def __init__(self, name: str, client: object | None) -> None:
        from wmem.journal.redis import RedisJournal
        from wmem.journal.redis_async_face import AsyncRedisJournal

        self._client = client
        coroutines = inspect.iscoroutinefunction(getattr(client, "execute_command", None))
        self._sync = None if coroutines else RedisJournal(name, client=client)
        self._async = AsyncRedisJournal(name, client=client) if coroutines or client is None else None
        if self._sync is not None:
            try:
                self._sync.check()
            except StoreError:
                self._sync.close()
                raise
            if self._async is not None:
                self._async.store = self._sync.store

    def sync_journal(self) -> Any:
        if self._sync is None:
            raise InvalidInputError(f"the client {type(self._client).__name__!r} is for coroutines: use wmem.aopen")
        return self._sync

    def async_journal(self) -> Any:
        if self._async is None:
            msg = f"the client {type(self._client).__name__!r} is for threads: use wmem.open, or one of redis.asyncio"
            raise InvalidInputError(msg)
        return self._async

    def close(self) -> None:
        if self._sync is not None:
            self._sync.close()
        if self._async is not None:
            self._async.close()

    async def aclose(self) -> None:
        if self._async is not None:
            await self._async.aclose()
        self.close()

    def reset_after_fork(self) -> None:
        if self._sync is not None:
            self._sync.reset_after_fork()
        if self._async is not None:
            self._async.reset_after_fork()


def _connect_redis(name: str, client: object | None) -> Backend:
    """`redis://`, `rediss://` and `unix://`, with redis-py."""
    try:
        return _RedisBackend(name, client)
    except ImportError as exc:
        msg = f"{name.partition('://')[0]}:// needs the extra 'redis': pip install 'wmem[redis]'"
        raise MissingExtraError(msg) from exc


def _connect_journal(name: str, client: object | None) -> Backend:
    """`journal://`: a journal of the caller, sync or async."""
    lacks = [verb for verb in _JOURNAL_METHODS if not callable(getattr(client, verb, None))]
    if lacks:
        msg = f"{name!r} needs a journal as client; {type(client).__name__!r} lacks {', '.join(lacks)}"
        raise InvalidInputError(msg)
    return _PooledBackend(client, owned=False)


_JOURNAL_METHODS = ("read", "append", "compact", "delete", "paths")


def _check_no_client(name: str, client: object | None) -> None:
    if client is not None:
        raise InvalidInputError(f"{name!r} takes no client")


def _memory_name(url: str) -> str:
    name = url.removeprefix(PRIVATE_URL)
    if name and not name.strip("/ "):
        raise InvalidInputError(f"{url!r} names no store; write 'memory://name', or 'memory://' for a private one")
    return PRIVATE_URL + name.rstrip("/")


def _file_url(kind: str, url: str) -> str:
    """The URL of a file or directory, quoted again; the disk is not asked.

    A durable store has another name, so an engine and connections of its own: in one process, as between
    processes, each opening says for its own writes whether they are durable.
    """
    scheme, _, rest = url.partition("://")
    quoted, question_mark, options = rest.partition("?")
    if "#" in rest or (question_mark and options not in _FILE_OPTIONS):
        # What follows may be a password, and what comes before '@' another one.
        msg = f"a {scheme}:// URL may end in '?durable=true' and in nothing else; in the name of a {kind} "
        raise InvalidInputError(msg + "write '?' and '#' as %3F and %23")
    if "@" in quoted.partition("/")[0]:
        raise InvalidInputError(f"a {scheme}:// URL has no user or password; in the name of a {kind} write '@' as %40")
    path = unquote(quoted)
    if not path.strip("/ ") or "\0" in path:
        raise InvalidInputError(f"{url!r} names no {kind}; write '{scheme}:///path/to/{kind}'")
    return f"{scheme}://{quote(path)}{'?durable=true' if _FILE_OPTIONS.get(options) else ''}"


def _real_path_url(name: str) -> str:
    """The same with the real path, so that every name of a file or directory opens one store."""
    scheme, _, rest = name.partition("://")
    quoted, question_mark, options = rest.partition("?")
    return f"{scheme}://{quote(os.path.realpath(unquote(quoted)))}{question_mark}{options}"


_FILE_OPTIONS: Mapping[str, bool] = {"durable=true": True, "durable=false": False}
"""What may follow the '?' in the URL of a file, and whether it makes the store durable."""


def _parse_file_url(name: str) -> tuple[str, bool]:
    """The path in a normalised URL of a file or directory, and whether the store is durable."""
    quoted, _, options = name.partition("://")[2].partition("?")
    return unquote(quoted), _FILE_OPTIONS.get(options, False)


def _has_file(below: str, name: str) -> bool:
    """Whether a normalised URL names a file that holds something, or a directory that has such a file."""
    file, _ = _parse_file_url(name)
    try:
        return Path(file, below).stat().st_size > 0
    except OSError:
        return False


class Scheme(NamedTuple):
    """What a URL's scheme stands for.

    Attributes:
        normalise: Checks a URL and writes it as equal ones are, without waiting for anything.
        connect: Connects the backend of a name.
        resolve: The name of the store that a normalised URL stands for now, if the disk must be asked.
        exists: Whether there is a store of that name, where opening it would make one.
    """

    normalise: Callable[[str], str]
    connect: Callable[[str, object | None], Backend]
    resolve: Callable[[str], str] | None = None
    exists: Callable[[str], bool] | None = None


BACKENDS: Mapping[str, Scheme] = {
    "memory": Scheme(_memory_name, MemoryBackend, exists=MemoryBackend.shared_journals.__contains__),
    "disk": Scheme(partial(_file_url, "directory"), _connect_disk, _real_path_url, partial(_has_file, _DISK_FILE)),
    "sqlite": Scheme(partial(_file_url, "file"), _connect_sqlite, _real_path_url, partial(_has_file, "")),
    "redis": Scheme(parse_redis_url, _connect_redis),
    "rediss": Scheme(parse_redis_url, _connect_redis),
    "unix": Scheme(parse_redis_url, _connect_redis),
    "journal": Scheme(str, _connect_journal),
}
