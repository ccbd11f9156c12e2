"""What a process that never had the store open finds in it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import wmem
from tests.chaos.acts import SHARED, show
from tests.chaos.log import find_tokens
from wmem.testing.store_bytes import read_store_bytes

__all__ = ["inspect_store"]

_LONG_TERM = ("~semantic", "~episodic")


def inspect_store(url: str, keys: Sequence[bytes], scopes: Sequence[str], backups: Sequence[str], told: Path) -> None:
    """Read all of a store, write to it, purge it, and tell what was there as JSON in a file.

    Told are: ``shown`` by scope; ``bytes``, the tokens in the store's bytes before it was opened; ``purged``, those
    after a purge, or None if the purge was not complete; ``rotated``, what is shown with the newest key alone;
    ``backups`` by path.
    """
    found: dict[str, Any] = {"bytes": _tokens(url), "purged": None, "rotated": None}
    with _opened(url, keys) as memory:
        found["shown"] = _export(memory, scopes)
        session = memory.scope(SHARED[0])
        session.entries.set("after", 1)
        assert session.entries.get("after") == 1
        session.entries.remove("after")
        warnings = session.pack("amber basin", budget=500).warnings
        assert not warnings, warnings
        memory.maintain()
        complete = [_scope(memory, scope).erase().complete for scope in (*scopes, *_LONG_TERM)]
    if all(complete):
        found["purged"] = _tokens(url)
    if keys:
        with _opened(url, (keys[-1], *keys[:-1])) as memory:
            memory.rotate()
        with _opened(url, keys[-1:]) as memory:
            found["rotated"] = _export(memory, scopes)
    found["backups"] = {path: _restored(url, path, keys, scopes) for path in backups}
    told.write_text(json.dumps(found))


def _opened(url: str, keys: Sequence[bytes]) -> wmem.AgentMemory:
    return wmem.open(url, agent_id="agent", key=wmem.KeyRing(*keys) if keys else None)


def _scope(memory: wmem.AgentMemory, name: str) -> wmem.Scope:
    return {"~semantic": lambda: memory.semantic, "~episodic": lambda: memory.episodic}.get(
        name, lambda: memory.scope(*name.split("/"))
    )()


def _export(memory: wmem.AgentMemory, scopes: Sequence[str]) -> dict[str, Any]:
    return show({scope: _scope(memory, scope).export() for scope in (*scopes, *_LONG_TERM)})


def _restored(url: str, path: str, keys: Sequence[bytes], scopes: Sequence[str]) -> Mapping[str, Any]:
    with _opened(f"{url.partition('://')[0]}://{path}", keys) as memory:
        return _export(memory, scopes)


def _tokens(url: str) -> list[str]:
    return sorted(set(find_tokens(read_store_bytes(url))))
