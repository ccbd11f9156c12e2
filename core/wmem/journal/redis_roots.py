"""How scripts are run, and what tells a Redis that was emptied or has lost an agent from one that never held it.

The set of roots and the hash of agents have cluster slots of their own, so that they change in steps
of their own: a root is listed before its first scope begins, confirmed with a token after it, and
taken off after its last scope is gone. An agent whose keys are all absent while its token stands is
lost. The hash also has an id of the whole store, older than any root: where the list has a root and
there is no id, the hash is lost, and whoever gives it a new one confirms anew what is listed. A client
that knows the id notices a store that was emptied, as by a restart of a server that keeps nothing.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from wmem.errors import CorruptionError, StoreError, StoreFullError, UnknownOutcomeError
from wmem.flow import Flow, ask
from wmem.journal.port import new_salt
from wmem.journal.redis_client import ForeignKeyError, LostKeyError, ScriptMissingError, Server, Word
from wmem.journal.redis_scripts import CONFIRM, END_ROOT, HAS_SCOPES, LIST_ROOTS, LOOK_UP, Script
from wmem.journal.redis_url import RedisUrl
from wmem.log import find_logger
from wmem.model.history import Path

_log = find_logger("wmem.journal.redis")

_ROOTS_KEY = "wmem:roots"
_AGENTS_KEY = "wmem:agents"
_KEY_TYPES = {"births": "hash", "register": "zset", "names": "zset", "h": "hash", "s": "stream", "agents": "hash"}


class KnownStore:
    """What a client knows of the store it uses.

    Attributes:
        is_cluster: Whether commands go through a client of a cluster.
        sends_once: Whether no driver repeats a command; see `Appended.certain`.
        id: The store's id; None until it is known, b"" where it cannot be.
    """

    def __init__(self, url: RedisUrl, client: object | None) -> None:
        self.is_cluster = url.is_cluster if client is None else hasattr(client, "nodes_manager")
        self.sends_once = client is None and not self.is_cluster
        self.id: bytes | None = None


def eval_script(script: Script, keys: Sequence[str], args: Sequence[Word], *, path: Path, writes: bool) -> Flow[Any]:
    """Run a script; an error names the scope.

    Raises:
        CorruptionError: A key of a scope is lost, or belongs to another program.
    """
    words: tuple[Word, ...] = (len(keys), *keys, *args)
    send = Server.write if writes else Server.query
    try:
        try:
            return (yield from ask(send, "EVALSHA", script.sha, *words))
        except ScriptMissingError:
            # The script was not executed; EVAL executes and caches it.
            return (yield from ask(send, "EVAL", script.text, *words))
    except LostKeyError as exc:
        raise CorruptionError(_describe_loss(exc)) from exc
    except ForeignKeyError as exc:
        told = yield from _describe_foreign_key(keys, exc)
        raise CorruptionError(f"scope {path!r}: {told}" if path else told) from exc
    except StoreError as exc:
        if not path:
            raise
        raise type(exc)(f"scope {path!r}: {exc}") from exc


def _describe_loss(exc: LostKeyError) -> str:
    what = (
        f"its {exc.kind} key"
        if exc.kind in ("hash", "stream")
        else f"the {exc.kind} key of its agent, or a part of it,"
    )
    return (
        f"{exc.url}: scope {tuple(json.loads(exc.path))!r} has lost data: {what} is gone, though the scope was neither "
        "deleted nor has expired: the server evicted it, or another program removed it; nothing was changed. Restore "
        "the key from a backup, or dispose the scope to begin anew"
    )


def _describe_foreign_key(keys: Sequence[str], exc: StoreError) -> Flow[str]:
    """Name the key that is of another type than the one that wmem stores there."""
    for key in keys:
        wanted = _KEY_TYPES[key.rpartition("}:")[2].partition("[")[0].removeprefix("wmem:")]
        found = yield from ask(Server.query, "TYPE", key)
        kind = found.decode() if isinstance(found, bytes) else str(found)
        if kind not in (wanted, "none"):
            return f"the key {key!r} is a {kind}, where wmem keeps a {wanted}: another program uses it ({exc})"
    return str(exc)


# -- whether an agent is absent or lost


def identify(store: KnownStore, *roots: str) -> Flow[None]:
    """Learn the id of a store; one that has none gets one.

    Args:
        roots: Have scopes, also where the list of roots is lost.
    """
    try:
        store.id = yield from _confirm("", *roots)
    except (StoreFullError, UnknownOutcomeError) as exc:
        _log.debug("the store's id is not known yet: %s", exc)
    except StoreError as exc:
        _log.debug("the store cannot be told from one that was emptied: %s", exc)
        store.id = b""


def _confirm(root: str, *roots: str) -> Flow[bytes]:
    """Note that a root has scopes; the store's id. A store that has none, or has lost it, gets one."""
    token = new_salt()
    store_id: bytes | None = yield from _eval_on_agents(CONFIRM, _encode_root(root), token, "", writes=True)
    if store_id is None:
        listed = yield from _ask_list(Server.query, "SMEMBERS")
        args = (_encode_root(root), token, new_salt(), *listed, *map(_encode_root, roots))
        store_id = yield from _eval_on_agents(CONFIRM, *args, writes=True)
    return store_id or b""


def look_up_id(store: KnownStore) -> Flow[None]:
    """Learn the id of a store if it has one."""
    try:
        store.id, _ = yield from _look_up("")
    except StoreError as exc:
        _log.debug("the store cannot be told from one that was emptied: %s", exc)


def _look_up(root: str) -> Flow[tuple[bytes | None, bytes | None]]:
    store_id, token = yield from _eval_on_agents(LOOK_UP, _encode_root(root), writes=False)
    return store_id, token


def _eval_on_agents(script: Script, *args: Word, writes: bool) -> Flow[Any]:
    return (yield from eval_script(script, [_AGENTS_KEY], args, path=(), writes=writes))


def check_same_store(store: KnownStore) -> Flow[None]:
    """Check, where a scope is not as it was, that the store is still the one that this client knows."""
    if known := store.id:
        store_id, _ = yield from _look_up("")
        _compare_ids(known, store_id)


def _compare_ids(known: bytes | None, store_id: bytes | None) -> None:
    """Compare the id that was known before the question with the reply: another call may learn it meanwhile."""
    if known and store_id != known:
        msg = (
            "the server was restarted or emptied, and has kept nothing of what this memory had stored; set it up to "
            "persist (appendonly yes). To begin anew, close every memory of this store, then open it again"
        )
        raise CorruptionError(msg)


def check_absent(store: KnownStore, root: str, births: str) -> Flow[None]:
    """Check that an agent without a single key was deleted, or never was; learn the store's id, if it has one.

    Raises:
        CorruptionError: Its keys are lost, or the whole store is.
    """
    before: bytes | None = None
    while True:
        known = store.id
        store_id, token = yield from _look_up(root)
        _compare_ids(known, store_id)
        if store.id is None:
            store.id = store_id
        if token is None:
            # The id is older than any root on the list: where there is none, it is lost with all tokens.
            if store_id or not (yield from _is_listed(root)):
                return
            token = b""
        if token == before:
            # The same life before and after the look at its keys.
            msg = (
                f"agent {root!r} has lost data: all keys of its register are gone, though it was not deleted: the "
                "server evicted them, or another program removed them; nothing was changed. Restore them from a "
                "backup, or dispose the agent to begin anew"
            )
            raise CorruptionError(msg)
        before = token
        if (yield from eval_script(HAS_SCOPES, [births], (), path=(root,), writes=False)):
            return  # it begins just now, or is just being deleted


# -- the list of roots


def list_root(root: str) -> Flow[None]:
    """Add a root to the list, before its first scope begins."""
    yield from _ask_list(Server.write, "SADD", _encode_root(root))


def _ask_list(send: Callable[..., object], command: str, *args: Word) -> Flow[Any]:
    try:
        return (yield from ask(send, command, _ROOTS_KEY, *args))
    except ForeignKeyError as exc:
        raise CorruptionError(f"the key {_ROOTS_KEY!r} is not a set: another program uses it ({exc})") from exc


def _is_listed(root: str) -> Flow[bool]:
    return bool((yield from _ask_list(Server.query, "SISMEMBER", _encode_root(root))))


def confirm_root(root: str) -> Flow[None]:
    """Note that a root has scopes, after the first one has begun."""
    try:
        yield from _confirm(root)
    except StoreError as exc:
        # The scope has begun: raising would look as if it had not.
        _log.debug("agent %r is not noted as one that has scopes: %s", root, exc)


def forget_root(root: str, births: str) -> Flow[None]:
    """Take a root that has no scope left off the list, unless one begins meanwhile."""
    name = _encode_root(root)
    yield from ask(Server.write, "HDEL", _AGENTS_KEY, b"=" + name)
    yield from _ask_list(Server.write, "SREM", name)
    if not (yield from eval_script(END_ROOT, [births], (), path=(root,), writes=True)):
        yield from list_root(root)
        yield from confirm_root(root)


def list_roots() -> Flow[list[str]]:
    """All roots, sorted.

    Raises:
        CorruptionError: The list has lost some.
    """
    before: set[bytes] = set()
    while True:
        confirmed = set((yield from _eval_on_agents(LIST_ROOTS, writes=False)))
        listed = set((yield from _ask_list(Server.query, "SMEMBERS")))
        if not (missing := confirmed - listed):
            return sorted(each.decode("utf-8", "surrogatepass") for each in listed)
        if missing & before:
            msg = (
                f"the list of agents ({_ROOTS_KEY}) has lost {len(missing & before)} of them; restore it from a backup"
            )
            raise CorruptionError(msg)
        before = missing  # or they were deleted meanwhile: look again


def _encode_root(root: str) -> bytes:
    return root.encode("utf-8", "surrogatepass")
