"""The vectors of an agent's texts as they are stored: a scope of wmem's own, by the fingerprint of the text.

It is a cache: whatever is missing from it is made again. What no text of the agent has any
longer is pruned, for a vector tells of its text.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from wmem.errors import StoreError
from wmem.flow import Flow, ask
from wmem.journal.port import Journal
from wmem.model.change import ItemPut, ItemRemoved
from wmem.model.row import Row
from wmem.scope.handle import Handle
from wmem.scope.recall import text_of
from wmem.text.embedding import fingerprint
from wmem.text.vectors import read_vector, written_vector

if TYPE_CHECKING:
    from wmem.text.vectors import Floats

__all__ = ["kept", "pruned", "store_of", "stored"]

VECTORS = "~vectors"

_log = logging.getLogger("wmem.scope")


def store_of(handle: Handle) -> Handle:
    """The scope in which the vectors of a handle's agent are."""
    return Handle(handle.engine, handle.settings, (handle.path[0], VECTORS), policy=None, parent=None)


def kept(handle: Handle, ids: Iterable[str], width: int) -> Flow[Mapping[str, "Floats"]]:
    """Those of some vectors that are stored, by id; none when the store fails, which is told once."""
    store = store_of(handle)
    try:
        replica, state = yield from store.replica()
    except StoreError as exc:
        _tell(store, exc)
        return {}
    with replica.lock:
        told = [(id, row.content) for id in ids if (row := state.rows.get(id)) is not None]
    return {id: vector for id, content in told if (vector := read_vector(content, width)) is not None}


def stored(handle: Handle, made: Mapping[str, "Floats"]) -> Flow[None]:
    """Store vectors by id, in one record; a store that fails is told once: they are made again some day."""
    store = store_of(handle)
    now = handle.settings.clock()
    rows = [
        Row(id, written_vector(vector), created_at=now, updated_at=now, type="vector", pinned=False)
        for id, vector in made.items()
    ]
    try:
        yield from store.post([ItemPut(row) for row in rows], now)
    except StoreError as exc:
        _tell(store, exc)


def pruned(handle: Handle) -> Flow[Sequence[Handle]]:
    """Take out the vectors of texts that the agent has no longer, in any of its scopes.

    Returns:
        The scope of vectors if there is one: bytes of what left it are in its journal until that is compacted.
    """
    store = store_of(handle)
    _, state = yield from store.replica()
    if store.birth is None:
        return ()
    if state.rows:
        paths = yield from ask(Journal.paths, store.path[:1])
        replicas = yield from store.engine.readable([path for path in paths if path != store.path])
        live: set[str] = set()
        for replica in replicas:
            with replica.lock:
                rows = [] if replica.state.disposed else list(replica.state.rows.values())
            live.update(fingerprint(text_of(row)) for row in rows)
        now = handle.settings.clock()
        if gone := [id for id in list(state.rows) if id.partition("-")[0] not in live]:
            # Without tombstones: an id is made from the text.
            yield from store.post([ItemRemoved(id, now) for id in gone], now)
    return (store,)


def _tell(store: Handle, exc: StoreError) -> None:
    if store.engine.first_time(("vectors", store.path)):
        _log.warning("vectors of agent %s are kept in memory alone: %s", store.path[0], exc)
