"""The vectors of an agent's texts as they are stored: a scope of wmem's own, by the fingerprint of the text.

It is a cache: whatever is missing from it is made again. What no text of the agent has any
longer is pruned, for a vector tells of its text.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from wmem.errors import CorruptionError, DisposedError, StoreError, WrongKeyError
from wmem.flow import Flow, ask
from wmem.journal.port import Journal
from wmem.model.change import ItemPut, ItemRemoved
from wmem.model.history import VECTORS
from wmem.model.row import Row
from wmem.replica import Replica
from wmem.scope.handle import Handle
from wmem.scope.recall import text_of
from wmem.text.embedding import fingerprint
from wmem.text.vectors import read_vector, written_vector

if TYPE_CHECKING:
    from wmem.text.vectors import Floats

__all__ = ["kept", "looked", "pruned", "store_of", "stored"]

_log = logging.getLogger("wmem.scope")


def store_of(handle: Handle) -> Handle:
    """The scope in which the vectors of a handle's agent are."""
    store = Handle(handle.engine, handle.settings, (handle.path[0], VECTORS), policy=None, parent=None)
    store.birth = handle.engine.let_go.get(store.path)
    return store


def looked(store: Handle, *, texts: int, few: int) -> Flow[Replica[Any] | None]:
    """What is stored, to look up some texts in; None when the store fails, which is told once.

    None, too, for a few texts where all of it was too large to stay in memory: to read it again
    takes longer than to make them again.
    """
    if texts <= few and store.birth is not None and store.engine.known(store.path) is None:
        return None
    try:
        replica, _ = yield from store.replica()
    except (DisposedError, StoreError) as exc:
        _lost(store, exc)
        return None
    return replica


def kept(replica: Replica[Any] | None, ids: Iterable[str], width: int) -> Mapping[str, "Floats"]:
    """Those of some vectors that are stored, by id."""
    if replica is None:
        return {}
    with replica.lock:
        told = [(id, row.content) for id in ids if (row := replica.state.rows.get(id)) is not None]
    return {id: vector for id, content in told if (vector := read_vector(content, width)) is not None}


def stored(store: Handle, made: Mapping[str, "Floats"]) -> Flow[bool]:
    """Store vectors by id, in one record; a store that fails is told once: they are made again some day."""
    now = store.settings.clock()
    rows = [
        Row(id, written_vector(vector), created_at=now, updated_at=now, type="vector", pinned=False)
        for id, vector in made.items()
    ]
    try:
        yield from store.post([ItemPut(row) for row in rows], now)
    except (DisposedError, StoreError) as exc:
        _lost(store, exc)
        return False
    return True


def pruned(store: Handle, replica: Replica[Any] | None = None) -> Flow[bool]:
    """Take out the vectors of texts that the agent has no longer, in any of its scopes.

    Where something stored cannot be read, all of them go: nobody can tell what it is about.

    Args:
        replica: What is stored, caught up after the texts had left; None reads it.

    Returns:
        Whether there are any: bytes of what left are in the journal until that is compacted.
    """
    try:
        if replica is None:
            (replica,) = yield from store.engine.caught_up([store.path])
        state = store.met(replica)
        damaged = bool(replica.damage)
    except (CorruptionError, WrongKeyError):
        damaged = True
    if damaged:
        yield from _begun_anew(store)
        return False
    if store.birth is None:
        return False
    if state.rows:
        paths = yield from ask(Journal.paths, store.path[:1])
        replicas = yield from store.engine.readable([path for path in paths if path != store.path])
        live: set[str] = set()
        for each in replicas:
            with each.lock:
                rows = [] if each.state.disposed else list(each.state.rows.values())
            live.update(fingerprint(text_of(row)) for row in rows)
        now = store.settings.clock()
        if gone := [id for id in list(state.rows) if id.partition("-")[0] not in live]:
            # Without tombstones: an id is made from the text.
            yield from store.post([ItemRemoved(id, now) for id in gone], now)
    return True


def _begun_anew(store: Handle) -> Flow[None]:
    _log.warning("vectors of agent %s cannot be read: they are deleted and made again", store.path[0])
    yield from ask(Journal.delete, store.path, None)
    store.engine.forget(store.path)


def _lost(store: Handle, exc: Exception) -> None:
    if isinstance(exc, DisposedError):
        store.engine.let_go.pop(store.path, None)  # they began anew
    elif store.engine.first_time(("vectors", store.path)):
        _log.warning("vectors of agent %s are kept in memory alone: %s", store.path[0], exc)
