"""Where recall indexes are stored: of each large scope in a reserved scope below it, which goes when it goes.

An index is a cache. It is written after the fact, when a memory is closed or maintained, and with a write when half of
it is new, for a process may never be closed. It is read before the first question of a process; what is missing or
damaged, or was made by another version, is computed again. An erasure deletes it, for it holds words of the texts.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from wmem.codec.codec import IdentityCodec
from wmem.engine.engine import COMPACT_INLINE_BYTES, Engine
from wmem.engine.ports import Callback, TimedCallback
from wmem.engine.replica import Replica
from wmem.engine.retention import retention_s
from wmem.engine.write_queue import Pause
from wmem.errors import StoreError
from wmem.flow import Flow, ask
from wmem.journal.port import Journal, Purge, new_record_id
from wmem.log import find_logger
from wmem.model.change import ItemPut
from wmem.model.history import ORIGIN, Path, index_path, is_cache, to_scope_id
from wmem.model.row import Row
from wmem.retrieval.index_codec import Dump, Fingerprints, StoredIndex, decode_index, dump_index, encode_index
from wmem.retrieval.recall_index import RecallIndex

MIN_TEXTS = 256  # an index of fewer is made as fast as it is read
MIN_WRITTEN = 1_024  # changes for which a scope that nobody asked is indexed by who wrote them
_MIN_SHARE = 8  # one is written again when 1/8 of it changed
_MIN_GROWN_SHARE = 2  # and when so much of it did by who writes to the scope, who waits for it
_MAX_BYTES = 64 * 1024 * 1024
_STEP_BYTES = 16 * 1024  # of rows that are indexed before a loop gets its turn: some 3 ms
_STEP_ROWS = 4_096  # whose fingerprints are compared before a loop gets its turn
_MAX_NEW_BYTES = 16 * 1024 * 1024  # of scopes that nobody asked here, and that are indexed all the same: a second
_ROW_ID = "index"

_log = find_logger("wmem.scope")


# -- before a question


def prepare_index(engine: Engine[Any], replicas: Sequence[Replica[Any]]) -> Flow[None]:
    """Make indexes ready for a question: read what is stored of them, and let a loop go on while the rest is made."""
    for replica in replicas:
        known = replica.find_derived(RecallIndex)
        changed = len(replica.state.rows) if known is None else known[1]
        if changed < MIN_TEXTS:
            continue
        if known is None:
            try:
                yield from _load_index(engine, replica)
            except StoreError as exc:
                _log_failure(engine, replica.path, exc)
        if not (yield from ask(Callback.blocks)):
            yield from _complete_index(engine, replica)


def _load_index(engine: Engine[Any], replica: Replica[Any]) -> Flow[None]:
    """Adopt the stored index of a scope if there is one that fits."""
    if isinstance(engine.codec, IdentityCodec):
        return
    index = yield from _read_index(engine, replica.path)
    with replica.lock:
        state, incarnation = replica.state, replica.incarnation
        rows, reorderings = list(state.rows.values()), state.reorderings
    if index is None or index.incarnation != incarnation:
        return
    comparison = _Comparison(index)
    for begin in range(0, len(rows), _STEP_ROWS):
        comparison.add(rows[begin : begin + _STEP_ROWS])
        yield from ask(Pause.sleep, 0.0)
    if comparison.in_order and (replica.state, state.reorderings) == (state, reorderings):
        replica.adopt_derived(RecallIndex, index.recall, index.ids, comparison.current)
    if not state.erased.keys().isdisjoint(index.ids):
        yield from drop_index(engine, replica.path, purge=True)  # whoever wrote it was stopped before a last look


def _read_index(engine: Engine[Any], path: Path) -> Flow[StoredIndex | None]:
    where = index_path(path)
    # Not one of the engine's replicas: it is read once.
    replica: Replica[Any] = Replica(where, engine.codec)
    tail = (yield from ask(Journal.read, {where: ORIGIN}))[where]
    yield from ask(TimedCallback.within, partial(replica.apply_tail, ORIGIN, tail), math.inf)
    row = replica.state.rows.get(_ROW_ID)
    if row is None or replica.damage:
        return None
    steps = decode_index(row.content, engine.analyzer)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            index: StoredIndex | None = done.value
            return index
        yield from ask(Pause.sleep, 0.0)


class _Comparison:
    """Compares rows with those that an index was made of.

    Attributes:
        current: The rows, by id, of which the index holds what is to be indexed.
        in_order: Whether the index has the rows in their order, and none but at the end is missing: what is computed
            depends on it.
    """

    def __init__(self, index: StoredIndex) -> None:
        self.current: dict[str, Row] = {}
        self.in_order = True
        self._fingerprints = Fingerprints()
        self._known = dict(zip(index.ids, enumerate(index.fingerprints), strict=True))
        self._last_place = -1
        self._is_past_end = False

    def add(self, rows: Sequence[Row]) -> None:
        """Compare the next rows, in the order of the state."""
        for row in rows:
            if row.withdrawn_at is not None:
                continue
            known = self._known.get(row.id)
            if known is None:
                self._is_past_end = True
                continue
            place, fingerprint = known
            self.in_order = self.in_order and place > self._last_place and not self._is_past_end
            self._last_place = place
            if fingerprint == self._fingerprints.of(row):
                self.current[row.id] = row


# -- after the fact


def keep_indexes(engine: Engine[Any], root: str, now: float) -> Flow[int]:
    """Store the indexes of an agent's scopes of which much is new; returns how many were stored."""
    if isinstance(engine.codec, IdentityCodec):
        return 0
    count, left = 0, _MAX_NEW_BYTES
    for path, replica in list(engine.replicas.items()):
        if path[0] != root or is_cache(path) or replica.incarnation is None or len(replica.state.rows) < MIN_TEXTS:
            continue
        if replica.find_derived(RecallIndex) is None:
            # It was never asked: index what was written here, so that whoever asks it first need not.
            if replica.written < MIN_WRITTEN or replica.state.bytes > left:
                continue
            left -= replica.state.bytes
        try:
            count += yield from _keep_index(engine, path, now)
        except StoreError as exc:
            _log_failure(engine, path, exc)
    return count


def has_grown(engine: Engine[Any], path: Path) -> bool:
    """Whether half of what is indexed of a scope here is not stored, so that who writes to it stores the index.

    What is stored at least grows by half from one time to the next.
    """
    replica = engine.replicas.get(path)
    known = None if replica is None else replica.find_derived(RecallIndex)
    if replica is None or known is None or known[0].changes < MIN_TEXTS:
        return False
    grown = known[0].changes * _MIN_GROWN_SHARE >= known[0].index.count
    return grown and replica.state.bytes <= COMPACT_INLINE_BYTES and not isinstance(engine.codec, IdentityCodec)


def keep_grown_index(engine: Engine[Any], path: Path, now: float) -> Flow[None]:
    """Store the index of a scope that has grown; a failure is logged, and tried again when it has grown again."""
    known = engine.replicas[path].find_derived(RecallIndex) if path in engine.replicas else None
    if known is None:
        return
    known[0].changes = 0  # first: of several writers one stores it
    try:
        (replica,) = yield from engine.sync([path])
        yield from _complete_index(engine, replica)
        if replica.incarnation is not None and not replica.state.disposed:
            yield from _store_index(engine, replica, now)
    except StoreError as exc:
        _log_failure(engine, path, exc)


def _keep_index(engine: Engine[Any], path: Path, now: float) -> Flow[bool]:
    """Bring the index of a scope up to date, and store it if much of it is new."""
    # What others erased since must not be stored again.
    (replica,) = yield from engine.sync([path])
    if replica.incarnation is None or replica.state.disposed:
        return False
    if replica.find_derived(RecallIndex) is None:
        yield from _load_index(engine, replica)
    yield from _complete_index(engine, replica)
    known = replica.find_derived(RecallIndex)
    if known is None or known[0].changes < max(MIN_TEXTS, known[0].index.count // _MIN_SHARE):
        return False
    return (yield from _store_index(engine, replica, now))


def _complete_index(engine: Engine[Any], replica: Replica[Any]) -> Flow[None]:
    while replica.update_derived(RecallIndex, _STEP_BYTES, engine.analyzer):
        yield from ask(Pause.sleep, 0.0)


def _store_index(engine: Engine[Any], replica: Replica[Any], now: float) -> Flow[bool]:
    path, where = replica.path, index_path(replica.path)
    incarnation = replica.incarnation
    dump = replica.use_derived(RecallIndex, partial(_dump, replica), engine.analyzer)
    if incarnation is None or sum(map(len, dump.blocks)) > _MAX_BYTES:
        return False
    row = Row(_ROW_ID, b"", created_at=now, updated_at=now, type="index", expires_at=dump.expires_at)
    record_id = new_record_id()

    def encode() -> Any:
        put = ItemPut(row._replace(content=encode_index(dump, incarnation)))
        return engine.codec.encode_record([put], where, record_id)

    payload = yield from ask(TimedCallback.within, encode, math.inf)  # beside a loop
    yield from ask(Journal.delete, where, None)
    yield from ask(Journal.append, where, record_id, payload, ORIGIN, retention_s([ItemPut(row)], now))
    # What was erased meanwhile is in it, and whoever erased it may have looked before it was there.
    (replica,) = yield from engine.sync([path])
    with replica.lock:
        rows = replica.state.rows
        whole = replica.incarnation == incarnation and all(each.id in rows for each in dump.rows)
    if not whole:
        yield from drop_index(engine, path, purge=True)
    return whole


def _dump(replica: Replica[Any], index: RecallIndex) -> Dump:
    with replica.lock:
        replica.catch_up(RecallIndex, index)
        rows = list(replica.state.rows.values())
    index.changes = 0
    return dump_index(index, rows)


def drop_index(engine: Engine[Any], path: Path, *, purge: bool = False) -> Flow[None]:
    """Delete the stored index of a scope; whoever has it in memory keeps it there.

    Args:
        purge: Remove its bytes, too.
    """
    yield from ask(Journal.delete, index_path(path), None)
    replica = engine.replicas.get(path)
    known = None if replica is None else replica.find_derived(RecallIndex)
    if known is not None:
        known[0].changes += known[0].index.count  # nothing of it is stored any more
    if purge:
        yield from ask(Purge.purge, path)


def _log_failure(engine: Engine[Any], path: Path, exc: Exception) -> None:
    if engine.warn_once(("index", path)):
        _log.warning("the index of scope %s is kept in memory alone: %s", to_scope_id(path), exc)
