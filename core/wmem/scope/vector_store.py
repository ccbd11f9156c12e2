"""Vector store of an agent: a reserved scope that holds embeddings by the fingerprint of their text.

It is a cache: a missing vector is computed again. Vectors whose text the agent no longer has
are pruned, for a vector reveals its text.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from wmem.engine.replica import Replica
from wmem.errors import CorruptionError, DisposedError, StoreError, WrongKeyError
from wmem.flow import Flow, ask
from wmem.journal.port import Journal
from wmem.log import find_logger
from wmem.model.change import ItemPut, ItemRemoved
from wmem.model.history import VECTOR_SCOPE, is_cache, is_pending, is_trace
from wmem.model.row import Row
from wmem.retrieval.embedder import fingerprint
from wmem.retrieval.vectors import decode_vector, encode_vector
from wmem.scope.handle import Handle
from wmem.scope.redaction import clean_text

if TYPE_CHECKING:
    from wmem.retrieval.vectors import Floats

_log = find_logger("wmem.scope")


def vector_store_handle(handle: Handle) -> Handle:
    """A handle on the vector store of a handle's agent."""
    store = Handle(handle.engine, handle.settings, (handle.path[0], VECTOR_SCOPE), policy=None, parent=None)
    store.incarnation = handle.engine.evicted_caches.get(store.path)
    return store


def load_store(store: Handle, *, text_count: int, few_texts: int) -> Flow[Replica[Any] | None]:
    """The replica of the vector store, to look up texts in; None when the store fails, logged once.

    Also None for a few texts if the replica was too large to stay in memory: reading it again
    takes longer than embedding them again.
    """
    if (
        text_count <= few_texts
        and store.incarnation is not None
        and store.engine.find_synced_replica(store.path) is None
    ):
        return None
    try:
        replica, _ = yield from store.replica()
    except (DisposedError, StoreError) as exc:
        _log_failure(store, exc)
        return None
    return replica


def find_vectors(replica: Replica[Any] | None, ids: Iterable[str], width: int) -> Mapping[str, "Floats"]:
    """The stored vectors of these ids, by id."""
    if replica is None:
        return {}
    with replica.lock:
        told = [(id, row.content) for id in ids if (row := replica.state.rows.get(id)) is not None]
    return {id: vector for id, content in told if (vector := decode_vector(content, width)) is not None}


def store_vectors(store: Handle, vectors: Mapping[str, "Floats"]) -> Flow[bool]:
    """Store vectors by id, in one record; False when the store fails, logged once: they are made again later."""
    now = store.settings.clock()
    rows = [
        Row(id, encode_vector(vector), created_at=now, updated_at=now, type="vector", pinned=False)
        for id, vector in vectors.items()
    ]
    try:
        yield from store.post([ItemPut(row) for row in rows], now)
    except (DisposedError, StoreError) as exc:
        _log_failure(store, exc)
        return False
    return True


def prune_vectors(store: Handle, replica: Replica[Any] | None = None) -> Flow[bool]:
    """Remove the vectors of texts that none of the agent's scopes holds any more.

    If something stored cannot be read, all vectors are deleted: its text is unknown.

    Args:
        replica: The store's, caught up after the texts were removed; None reads it.

    Returns:
        Whether the store exists: bytes of removed vectors are in its journal until that is compacted.
    """
    try:
        if replica is None:
            (replica,) = yield from store.engine.sync([store.path])
        state = store.bind(replica)
        damaged = bool(replica.damage)
    except (CorruptionError, WrongKeyError):
        damaged = True
    if damaged:
        _log.warning("vectors of agent %s cannot be read: they are deleted and made again", store.path[0])
        yield from ask(Journal.delete, store.path, None)
        store.engine.drop_replicas(store.path)
        return False
    if store.incarnation is None:
        return False
    if state.rows:
        paths = yield from ask(Journal.paths, store.path[:1])
        replicas = yield from store.engine.sync_readable(
            [path for path in paths if not (is_cache(path) or is_trace(path) or is_pending(path))]
        )
        live: set[str] = set()
        for each in replicas:
            with each.lock:
                rows = [] if each.state.disposed else list(each.state.rows.values())
            live.update(fingerprint(clean_text(store.settings.redaction, row)) for row in rows)
        now = store.settings.clock()
        if gone := [id for id in list(state.rows) if id.partition("-")[0] not in live]:
            # Without tombstones: an id is made from the text.
            yield from store.post([ItemRemoved(id, now) for id in gone], now)
    return True


def _log_failure(store: Handle, exc: Exception) -> None:
    if isinstance(exc, DisposedError):
        store.engine.evicted_caches.pop(store.path, None)  # the store was reset
    elif store.engine.warn_once(("vectors", store.path)):
        _log.warning("vectors of agent %s are kept in memory alone: %s", store.path[0], exc)
