"""Reads every byte of a store, to check that erased content is gone."""

import gc
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any
from urllib.parse import unquote

from wmem.engine.backends import MemoryBackend
from wmem.model.history import ORIGIN
from wmem.testing.calls import Call

__all__ = ["read_journal_bytes", "read_object_bytes", "read_store_bytes"]


def read_store_bytes(url: str) -> bytes:
    """All bytes that the store at a URL of a built-in backend holds now, concatenated."""
    scheme, _, rest = url.partition("://")
    if scheme == "memory":
        return repr(list(_memory_journals(url))).encode("ascii", "backslashreplace")
    if scheme in ("disk", "sqlite"):
        place = Path(unquote(rest))
        files = place.rglob("*") if place.is_dir() else place.parent.glob(f"{place.name}*")
        return b"\n".join(each.read_bytes() for each in sorted(files) if each.is_file())
    return b"\n".join(_redis_values(url))


def read_journal_bytes(journal: Any, call: Call) -> bytes:
    """All bytes that a sync or async journal returns through the port, concatenated."""
    kept = [call(journal.read, {path: ORIGIN}) for path in call(journal.paths, ())]
    return b"\n".join(
        payload
        for tails in kept
        for tail in tails.values()
        for payload in (tail.snapshot or b"", *(record.payload for record in tail.records))
    )


def read_object_bytes(root: object) -> bytes:
    """All bytes that can be reached from an object, without its code, concatenated."""
    reachable = {id(root): root}
    for each in (queue := [root]):  # grows while iterating
        if not isinstance(each, type | FunctionType | ModuleType):
            fresh = {id(other): other for other in gc.get_referents(each) if id(other) not in reachable}
            reachable |= fresh
            queue += fresh.values()
    return b"\n".join(each for each in queue if isinstance(each, bytes))


def _memory_journals(url: str) -> Iterator[Any]:
    journal = MemoryBackend.shared_journals[url]
    for path in journal.paths(()):
        yield path, journal.read({path: ORIGIN})


def _redis_values(url: str) -> Iterator[bytes]:
    """Every key of a Redis database, with its dump, which may be compressed, and its value."""
    import redis

    with redis.Redis.from_url(url) as client:
        for key in client.scan_iter():
            yield key
            yield client.dump(key) or b""
            kind = client.type(key)
            if kind == b"hash":
                told: Any = client.hgetall(key)
            elif kind == b"stream":
                told = client.xrange(key)
            elif kind == b"zset":
                told = client.zrange(key, 0, -1, withscores=True)
            elif kind == b"set":
                told = client.smembers(key)
            else:
                told = client.get(key)
            yield repr(told).encode("ascii", "backslashreplace")
