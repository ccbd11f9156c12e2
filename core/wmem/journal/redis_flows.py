"""The port's methods as flows over a Redis server, with the names of keys and the encoding of arguments and replies."""

import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from wmem.flow import Flow, ask
from wmem.journal.port import MISSED_MAX, Appended, Record, Tail, new_salt, path_name
from wmem.journal.redis_client import ScriptMissingError, Server, Word
from wmem.journal.redis_scripts import APPEND, COMPACT, DELETE, PATHS, READ, Script
from wmem.model.history import ORIGIN, Cursor, Incarnation, Path

_ROOTS_KEY = "wmem:roots"
_MAX_KEEP_MS = 1 << 50  # about 36,000 years: keeps the sum with the server's clock in range
_MAX_STREAM_ID = "18446744073709551615-18446744073709551615"  # the largest stream id: never a record's
_STREAM_ID_LIMIT = 1 << 64


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


def read(after: Mapping[Path, Cursor]) -> Flow[Mapping[Path, Tail[bytes]]]:
    """See `Journal.read`."""
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


def append(
    path: Path,
    record_id: int,
    record: bytes,
    expected: Cursor | Incarnation | None,
    keep_s: float | None,
    *,
    certain: bool,
) -> Flow[Appended[bytes]]:
    """See `Journal.append`."""
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


def compact(path: Path, upto: Cursor, snapshot: bytes, keep_s: float | None) -> Flow[bool]:
    """See `Journal.compact`."""
    root, name = _root_keys(path[0]), path_name(path)
    keys = (root.hash_prefix + name, root.stream_prefix + name, root.register)
    done = yield from _eval_script(
        COMPACT, keys, (name, _encode_cursor(upto), snapshot, _to_milliseconds(keep_s)), writes=True
    )
    return bool(done)


def delete(path: Path, incarnation: Incarnation | None) -> Flow[None]:
    """See `Journal.delete`."""
    root, name = _root_keys(path[0]), path_name(path)
    keys = (root.incarnations, root.register, root.names, root.hash_prefix + name, root.stream_prefix + name)
    args = (name, name[:-1], "" if incarnation is None else incarnation.chain, root.hash_prefix, root.stream_prefix)
    yield from _eval_script(DELETE, keys, args, writes=True)


def list_paths(prefix: Path) -> Flow[list[Path]]:
    """See `Journal.paths`."""
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
