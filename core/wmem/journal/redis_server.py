"""Checks of a Redis server: its version and settings, and where it still keeps deleted bytes."""

import re
from collections.abc import Mapping, Sequence

from wmem.errors import StoreError
from wmem.flow import Flow, ask
from wmem.journal.redis_client import Server
from wmem.journal.redis_roots import KnownStore, look_up_id
from wmem.journal.redis_url import RedisUrl
from wmem.log import find_logger

_log = find_logger("wmem.journal.redis")

_MIN_VERSION = (6, 2)
_NO_EVICTION = "noeviction"


def _fetch_info() -> Flow[Mapping[str, str]]:
    """The fields of the INFO command."""
    reply = yield from ask(Server.query, "INFO")
    if not isinstance(reply, Mapping):
        text = reply if isinstance(reply, str) else bytes(reply).decode("utf-8", "replace")
        told = (line.partition(":") for line in text.splitlines())
        return {name: value for name, _, value in told}
    # The client has parsed it already; a cluster client may return one mapping per node.
    nodes = [each for each in reply.values() if isinstance(each, Mapping) and "redis_version" in each]
    return {str(name): str(value) for name, value in (nodes[0] if nodes else reply).items()}


def check_server(url: str, store: KnownStore) -> Flow[None]:
    """Check the server's version, and warn of settings that lose data.

    Args:
        store: Learns the store's id.

    Raises:
        StoreError: It cannot be reached, is too old, or is part of a cluster and opened without one.
    """
    yield from ask(Server.query, "PING")
    yield from look_up_id(store)
    try:
        info = yield from _fetch_info()
    except StoreError as exc:
        _log.debug("%s may not be asked for its settings: %s", url, exc)
        return
    version_text = info.get("redis_version", "")
    numbers = tuple(int(part) for part in version_text.split(".")[:2] if part.isdecimal())
    if numbers and numbers < _MIN_VERSION:
        raise StoreError(f"{url} runs version {version_text}; wmem needs Redis 6.2 or newer, or Valkey")
    if not store.is_cluster and info.get("cluster_enabled") == "1" and (yield from _has_other_nodes()):
        raise StoreError(f"{url} is one node of a cluster: open it with '?cluster=true'")
    policy = info.get("maxmemory_policy", _NO_EVICTION)
    if policy != _NO_EVICTION:
        told = "%s has maxmemory-policy %r: when its memory is full it drops what is stored; set %r"
        _log.warning(told, url, policy, _NO_EVICTION)
    if info.get("aof_enabled") == "0" and (yield from _writes_rdb()) is False:
        _log.warning("%s persists nothing: a restart loses all that is stored; set 'appendonly yes'", url)


def _has_other_nodes() -> Flow[bool]:
    """Whether other nodes of a cluster serve slots, too; False if it does not allow the question."""
    try:
        reply = yield from ask(Server.query, "CLUSTER", "INFO")
    except StoreError:
        return False
    text = reply.decode("utf-8", "replace") if isinstance(reply, bytes) else str(reply)
    match = re.search(r"cluster_size'?:\s*'?(\d+)", text)
    return match is not None and int(match[1]) > 1


def purge_server(url: RedisUrl) -> Flow[Sequence[str]]:
    """Start a rewrite of the append-only file where allowed, and list what still keeps deleted bytes.

    The server's memory is not among them: deleted and compacted records are gone from it.
    """
    if url.is_cluster:
        return (f"each node of {url}: append-only files keep it until BGREWRITEAOF, RDB files until BGSAVE",)
    try:
        info = yield from _fetch_info()
    except StoreError:
        return (f"{url} does not tell how it persists: see BGREWRITEAOF, BGSAVE and its replicas",)
    remaining = []
    if info.get("aof_enabled") == "1":
        remaining.append((yield from _rewrite_aof(url, running=info.get("aof_rewrite_in_progress") == "1")))
    if (yield from _writes_rdb()) is not False:
        remaining.append(
            f"the last RDB file of {url} is older than the deletion: run BGSAVE, and delete copies of the file"
        )
    if (replicas := info.get("connected_slaves", "0")) != "0":
        remaining.append(f"{url} has {replicas} replicas: what holds for its files holds for theirs")
    if info.get("repl_backlog_active") == "1":
        remaining.append(
            f"the replication backlog of {url} holds its last {info.get('repl_backlog_histlen')} bytes of writes"
        )
    return tuple(remaining)


def _rewrite_aof(url: str, *, running: bool) -> Flow[str]:
    rewrite = "the append-only file of {} keeps it until it is rewritten: run BGREWRITEAOF"
    if not running:
        try:
            yield from ask(Server.write, "BGREWRITEAOF")
        except StoreError as exc:
            _log.debug("%s may not be asked to rewrite its append-only file: %s", url, exc)
        else:
            rewrite = "the append-only file of {} is being rewritten, and keeps it until that ends"
    return rewrite.format(url)


def _writes_rdb() -> Flow[bool | None]:
    """Whether the server writes RDB files; None if it does not allow the question."""
    try:
        reply = yield from ask(Server.query, "CONFIG", "GET", "save")
    except StoreError:
        return None
    values = reply.values() if isinstance(reply, Mapping) else reply[1::2]
    return any(values)
