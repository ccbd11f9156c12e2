"""The port's methods as flows over a Redis server, with the names of keys and the encoding of arguments and replies."""

import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from wmem.flow import Flow
from wmem.journal.port import KEEP_GRACE_S, MISSED_MAX, Append, Appended, Record, Tail, new_salt, path_name
from wmem.journal.redis_client import Word
from wmem.journal.redis_roots import (
    KnownStore,
    check_absent,
    check_same_store,
    confirm_root,
    eval_script,
    forget_root,
    identify,
    list_root,
    list_roots,
)
from wmem.journal.redis_scripts import APPEND, APPEND_ALL, COMPACT, DELETE, PATHS, READ, SWEEP
from wmem.model.history import ORIGIN, Cursor, Incarnation, Path

_MAX_KEEP_MS = 1 << 50  # about 36,000 years: keeps the sum with the server's clock in range
_MAX_STREAM_ID = "18446744073709551615-18446744073709551615"  # the largest stream id: never a record's
_STREAM_ID_LIMIT = 1 << 64
_SWEEP_BATCH = 256  # lapsed scopes that one call of a script forgets
_UNLISTED: Sequence[Any] = ([], [b"ended"])  # answers of an append whose root must be listed first
_ENDED = 2  # a script's answer: the root has no scope left


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


def read(store: KnownStore, after: Mapping[Path, Cursor]) -> Flow[Mapping[Path, Tail[bytes]]]:
    """See `Journal.read`."""
    if not after:
        return {}
    first = next(iter(after))
    root = _root_keys(first[0])
    keys = [root.incarnations, root.register, root.names]
    names = list(map(path_name, after))
    for name in names:
        keys += (root.hash_prefix + name, root.stream_prefix + name)
    args = (*names, *map(_encode_cursor, after.values()))
    reply = yield from eval_script(READ, keys, args, path=first, writes=False)
    if reply == 0:
        yield from check_absent(store, first[0], root.incarnations)
        return {path: Tail(cursor == ORIGIN, ORIGIN, None, (), ORIGIN, None) for path, cursor in after.items()}
    replies = reply if isinstance(reply, list) else reply.split(b" ")
    tails = {
        path: _decode_tail(reply)
        if isinstance(reply, list)
        else Tail(
            joined=True, base=cursor, snapshot=None, records=(), head=cursor, incarnation=_decode_incarnation(reply)
        )
        for (path, cursor), reply in zip(after.items(), replies, strict=True)
    }
    if store.id is None:
        yield from identify(store, *[first[0]][: any(tail.incarnation for tail in tails.values())])
    elif any(not tail.joined and after[path] != ORIGIN for path, tail in tails.items()):
        yield from check_same_store(store)
    return tails


def append(store: KnownStore, call: Append[bytes]) -> Flow[Appended[bytes]]:
    """See `Journal.append`."""
    root = _root_keys(call.path[0])
    keys, args = _append_words(root, call)
    reply = yield from eval_script(APPEND, keys, (*args, ""), path=call.path, writes=True)
    if reply in _UNLISTED:
        if not reply:
            yield from check_absent(store, call.path[0], root.incarnations)
        # The set of roots has its own cluster slot. A root is added before its first scope, so none is ever unlisted.
        # The store has its id before any root, and this client knows it before it writes.
        if store.id is None:
            yield from identify(store)
        yield from list_root(call.path[0])
        reply = yield from eval_script(APPEND, keys, (*args, "rooted"), path=call.path, writes=True)
        yield from confirm_root(call.path[0])
    elif store.id is None:
        exists = not isinstance(reply, list) or bool(reply[2])  # a refusal may find no scope at all
        yield from identify(store, *[call.path[0]][:exists])
    return _decode_appended(store, reply)


def append_all(store: KnownStore, appends: Sequence[Append[bytes]]) -> Flow[list[Appended[bytes]]]:
    """See `AppendAll.append_all`."""
    words = [_append_words(_root_keys(each.path[0]), each) for each in appends]
    keys = [key for each, _ in words for key in each]
    args = [word for _, each in words for word in (*each, "")]
    replies: Sequence[Any] = [None] * len(appends)
    if store.id is not None:  # else the first append has to learn it
        replies = yield from eval_script(APPEND_ALL, keys, (len(words), *args), path=appends[0].path, writes=True)
    made: list[Appended[bytes]] = []
    for each, reply in zip(appends, replies, strict=True):
        if not reply or reply in _UNLISTED:
            made.append((yield from append(store, each)))
        else:
            made.append(_decode_appended(store, reply))
    return made


def _append_words(root: _RootKeys, call: Append[bytes]) -> tuple[tuple[str, ...], tuple[Word, ...]]:
    """The keys and arguments of an append, but for the last one: whether its root is known to be listed."""
    path, record_id, record, expected, keep_s = call
    name = path_name(path)
    keys = (root.incarnations, root.hash_prefix + name, root.stream_prefix + name, root.register, root.names)
    wanted = ""
    if expected is not None:
        wanted = f"c{_encode_cursor(expected)}" if isinstance(expected, Cursor) else f"b{expected.chain}"
    # What holds nothing that lives removes or marks: a full server must take it, so that memory can be freed.
    frees = int(keep_s is not None and keep_s <= KEEP_GRACE_S)
    return keys, (name, record_id, record, wanted, _to_milliseconds(keep_s), new_salt(), MISSED_MAX, frees)


def _decode_appended(store: KnownStore, reply: Any) -> Appended[bytes]:
    if isinstance(reply, list):
        head, size, incarnation, missed = reply
        tail = None if missed is None else _decode_tail(missed)
        return Appended(None, _decode_cursor(head), tail, int(size), _decode_incarnation(incarnation), store.sends_once)
    cursor, head, size, incarnation = reply.split(b" ")
    return Appended(_decode_cursor(cursor), _decode_cursor(head), None, int(size), _decode_incarnation(incarnation))


def compact(path: Path, upto: Cursor, snapshot: bytes, keep_s: float | None) -> Flow[bool]:
    """See `Journal.compact`."""
    root, name = _root_keys(path[0]), path_name(path)
    keys = (root.incarnations, root.hash_prefix + name, root.stream_prefix + name, root.register, root.names)
    args = (name, _encode_cursor(upto), snapshot, _to_milliseconds(keep_s))
    return bool((yield from eval_script(COMPACT, keys, args, path=path, writes=True)))


def delete(path: Path, incarnation: Incarnation | None) -> Flow[None]:
    """See `Journal.delete`."""
    root, name = _root_keys(path[0]), path_name(path)
    keys = (root.incarnations, root.register, root.names, root.hash_prefix + name, root.stream_prefix + name)
    args = (name, name[:-1], "" if incarnation is None else incarnation.chain, root.hash_prefix, root.stream_prefix)
    done = yield from eval_script(DELETE, keys, args, path=path, writes=True)
    if done == _ENDED:
        yield from forget_root(path[0], root.incarnations)


def list_paths(store: KnownStore, prefix: Path) -> Flow[list[Path]]:
    """See `Journal.paths`."""
    paths: list[Path] = []
    for each in [prefix[0]] if prefix else (yield from list_roots()):
        root = _root_keys(each)
        args = (path_name(prefix)[:-1] if len(prefix) > 1 else "", path_name((each,)))
        keys = (root.incarnations, root.register, root.names)
        reply = yield from eval_script(PATHS, keys, args, path=(each,), writes=False)
        if reply == 0:
            yield from check_absent(store, each, root.incarnations)
        else:
            paths += map(tuple, json.loads(reply))
    return paths


def sweep(path: Path) -> Flow[int]:
    """See `Sweep.sweep`."""
    root = _root_keys(path[0])
    keys = (root.incarnations, root.register, root.names)
    args = (root.hash_prefix, root.stream_prefix, _SWEEP_BATCH)
    forgotten = 0
    while True:
        count: int
        count, done = yield from eval_script(SWEEP, keys, args, path=path, writes=True)
        forgotten += count
        if done == _ENDED:
            yield from forget_root(path[0], root.incarnations)
        if count < _SWEEP_BATCH:
            return forgotten


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
