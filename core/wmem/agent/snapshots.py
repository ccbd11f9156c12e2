"""How the whole memory of an agent is saved, restored and cleared."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from wmem.agent.disposal import list_named_scopes
from wmem.codec.snapshots import SnapshotContent, decode_snapshot, encode_snapshot
from wmem.describe import describe
from wmem.engine.replacement import beside_loop, count_visible, finish_pending, intend
from wmem.engine.writing import flush_touches
from wmem.errors import CorruptionError, InvalidInputError, MissingExtraError, StoreError
from wmem.flow import Flow, ask
from wmem.journal.port import Journal, new_record_id
from wmem.log import find_logger
from wmem.model.change import (
    Checkpoint,
    ClearedScope,
    ClearIntended,
    Erased,
    RestoreIntended,
    ScopeContent,
)
from wmem.model.checks import check_flag
from wmem.model.features import check_long_term
from wmem.model.history import ORIGIN, Cursor, Path, is_cache, is_pending, is_reserved
from wmem.model.snapshot import ClearedMemory, Restored, Snapshot
from wmem.policy import parse_policy
from wmem.rules.redaction import Redaction
from wmem.rules.routing import CONVERSATION, EPISODIC, SEMANTIC
from wmem.scope.copies import CopyTrace
from wmem.scope.erasure import compact_and_purge, log_remaining
from wmem.scope.handle import Handle, Settings
from wmem.scope.merge import AS_RESTORED, is_merged
from wmem.scope.redaction import WITHHELD, HeldBackError, redact_row, redacts_at
from wmem.state import State
from wmem.tokens.counter import Counter as TokenCounter

if TYPE_CHECKING:
    from wmem.codec.keyring import KeyRing

_LONG_TERM = frozenset((SEMANTIC, EPISODIC, CONVERSATION))
_READ_BATCH = 256  # scopes read in one call
_LONG_AGO = Cursor(0, 1)  # where no journal is
_LOOKS = 4  # for scopes that are created while a snapshot is taken

_log = find_logger("wmem.agent")


# -- saving


def take_snapshot(root: Handle, keys: "KeyRing | None") -> Flow[Snapshot]:
    """See `AgentMemory.snapshot`.

    Args:
        keys: What to encrypt it with; None redacts it, unless redaction is off.
    """
    root.check_usable()
    settings, agent_id, now = root.settings, root.path[0], root.settings.clock()
    yield from flush_touches(root.engine, agent_id, now)
    scopes = yield from _read_scopes(root)
    redaction = settings.redaction if keys is None else None
    counter = settings.counter()

    def write() -> Snapshot:
        is_redacted = redaction is not None and redaction.active
        made, counts = _redact(scopes, redaction, counter) if redaction is not None and is_redacted else (scopes, {})
        content = SnapshotContent(agent_id, now, is_redacted, counts, tuple(made))
        document = encode_snapshot(content)
        snapshot = Snapshot(document if keys is None else _seal(document, keys))
        snapshot.agent_id, snapshot.created_at = agent_id, now
        snapshot.scopes, snapshot.items = len(made), sum(len(scope.content.rows) for scope in made)
        snapshot.is_encrypted = keys is not None
        snapshot.is_redacted, snapshot.redactions = content.is_redacted, dict(counts)
        return snapshot

    return (yield from beside_loop(write))


def _read_scopes(root: Handle) -> Flow[list[ScopeContent]]:
    """All scopes of an agent as of one instant.

    Raises:
        CorruptionError: One holds damage: a snapshot without it would look whole.
        WrongKeyError: One is under another key.
    """
    paths: list[Path] = []
    for _ in range(_LOOKS):
        listed = yield from _list_scopes(root)
        if set(listed) <= set(paths):
            break  # none was created meanwhile
        paths = listed
        replicas = yield from root.engine.sync(paths)
    scopes: list[ScopeContent] = []
    cursors: dict[Path, tuple[Cursor, int]] = {}
    for replica in replicas if paths else ():
        with replica.lock:
            if replica.damage:
                raise CorruptionError(
                    f"scope {replica.path!r} holds {len(replica.damage)} damaged records, and a snapshot would lack "
                    f"what they hold ({replica.damage[0].reason})"
                )
            if replica.incarnation is not None and not replica.state.disposed:
                kept = replica.state.checkpoint()._replace(applied=(), replaces=(), intent=0, identity=replica.identity)
                cursors[replica.path] = replica.cursor, replica.state.identity
                scopes.append(ScopeContent(replica.path, kept))
    return [scope._replace(content=_mark_merged(scope.content, cursors)) for scope in scopes]


def _mark_merged(content: Checkpoint, cursors: Mapping[Path, tuple[Cursor, int]]) -> Checkpoint:
    """Say of what was merged whether it is what its source holds, instead of how far its journal was."""
    merged = []
    for mark, cursor in content.merged:
        source, identity = cursors.get(mark[0], (ORIGIN, 0))
        merged.append((mark, AS_RESTORED if is_merged(cursor, source, identity) else _LONG_AGO))
    return content._replace(merged=tuple(merged))


def _list_scopes(root: Handle) -> Flow[list[Path]]:
    """The scopes of an agent in the order in which they are restored, without caches."""
    listed = yield from ask(Journal.paths, root.path)
    paths = [path for path in listed if not (is_cache(path) or is_pending(path))]
    return sorted(paths, key=lambda path: (len(path) == 1, not _LONG_TERM.isdisjoint(path), path))


def _redact(
    scopes: Iterable[ScopeContent], redaction: Redaction, counter: TokenCounter
) -> tuple[list[ScopeContent], Mapping[str, int]]:
    total: Counter[str] = Counter()
    made = []
    for path, content in scopes:
        rows = []
        for row in content.rows:
            redacted, counts = redact_row(redaction, row, counter)
            if counts:
                total.update(counts)
            rows.append(redacted)
        made.append(ScopeContent(path, content._replace(rows=tuple(rows))))
    return made, dict(total)


def _redact_to_store(scope: ScopeContent, settings: Settings) -> ScopeContent:
    """A scope with its rows as they are stored: where what is written is redacted, what is restored is, too."""
    redaction = settings.redaction
    if redaction is None or not redacts_at(redaction, scope.path):
        return scope
    [made], counts = _redact([scope], redaction, settings.counter())
    if WITHHELD in counts:
        raise HeldBackError("a recognizer of the redaction failed: nothing was restored, and what there is stays")
    return made


def _seal(document: bytes, keys: "KeyRing") -> bytes:
    try:
        from wmem.codec.encryption import seal_snapshot
    except ImportError as exc:
        raise MissingExtraError("key= needs the extra 'crypto': pip install 'wmem[crypto]'") from exc
    return seal_snapshot(document, keys)


# -- restoring


def restore_snapshot(root: Handle, snapshot: object, keys: "KeyRing | None") -> Flow[Restored]:
    """See `AgentMemory.restore`."""
    root.check_usable()
    if not isinstance(snapshot, bytes | bytearray | memoryview):
        raise InvalidInputError(f"a snapshot is the bytes that `snapshot` returned, not {describe(snapshot)}")
    document, agent_id = bytes(snapshot), root.path[0]
    content = yield from beside_loop(lambda: decode_snapshot(_unseal(document, keys)))
    if content.agent_id != agent_id:
        raise InvalidInputError(
            f"this snapshot is of agent {content.agent_id!r}, and this is the memory of {agent_id!r}"
        )
    now = root.settings.clock()
    yield from finish_pending(root.engine, agent_id, drops_damage=True)
    before, erased = yield from _list_erased(root)
    scopes, gone = yield from beside_loop(
        lambda: _erase([_renew_lease(_redact_to_store(each, root.settings), now) for each in content.scopes], erased)
    )
    yield from intend(root.engine, agent_id, RestoreIntended(new_record_id(), now, tuple(scopes)))
    ended = before - {scope.path for scope in scopes}
    yield from _refresh(root, ended)
    _log.info("restored the memory of agent %s: %d scopes", agent_id, len(scopes))
    items = sum(len(scope.content.rows) for scope in scopes)
    return Restored(len(scopes), items, gone, len(ended), content.is_redacted)


def _unseal(snapshot: bytes, keys: "KeyRing | None") -> bytes:
    if snapshot.startswith(b"{"):
        return snapshot
    try:
        from wmem.codec.encryption import is_sealed, open_snapshot
    except ImportError as exc:
        raise MissingExtraError("an encrypted snapshot needs the extra 'crypto': pip install 'wmem[crypto]'") from exc
    return open_snapshot(snapshot, keys) if is_sealed(snapshot) else snapshot


def _renew_lease(scope: ScopeContent, now: float) -> ScopeContent:
    """A lease begins anew: who held it does not know of the restore."""
    policy = scope.content.policy
    if policy is None or '"lease_s"' not in policy or parse_policy(policy).lease_s is None:
        return scope
    return scope._replace(content=scope.content._replace(renewed_at=now))


def _list_erased(root: Handle) -> Flow[tuple[set[Path], dict[Path, State]]]:
    """The scopes that there are, and the states of those from which anything was erased, as far as they can be read."""
    paths = yield from _list_scopes(root)
    states: dict[Path, State] = {}
    for begin in range(0, len(paths), _READ_BATCH):
        for replica in (yield from root.engine.sync_readable(paths[begin : begin + _READ_BATCH])):
            with replica.lock:
                if replica.state.erased:
                    states[replica.path] = State()
                    states[replica.path].erased = dict(replica.state.erased)
                    states[replica.path].unfinished = dict(replica.state.unfinished)
                    states[replica.path].identity = replica.identity
    return set(paths), states


def _erase(scopes: Sequence[ScopeContent], erased: Mapping[Path, State]) -> tuple[list[ScopeContent], int]:
    """Leave out what was erased since, and copies of it; returns the scopes, and how many rows are left out."""
    trace = CopyTrace()
    known = {scope.path: frozenset(scope.content.erased) for scope in scopes}
    for path, state in erased.items():
        for id in state.erased.keys() - known.get(path, frozenset()):
            trace.add_id(id, path, state.identity)
        for place in (each for others in state.unfinished.values() for each in others):
            trace.add_id(place.id, (path[0], *place.path), place.incarnation)
    if not len(trace):
        return list(scopes), 0
    gone: dict[Path, dict[str, None]] = {scope.path: {} for scope in scopes}
    size = -1
    while size != len(trace):
        size = len(trace)
        for path, content in scopes:
            merged = tuple(dict.fromkeys(source for (source, _, _), _ in content.merged))
            for row in content.rows:
                if row.id not in gone[path] and trace.includes(row, path, content.identity, merged):
                    trace.add(row, path, content.identity, merged)
                    gone[path][row.id] = None
    made = [scope._replace(content=_leave_out(scope.content, gone[scope.path])) for scope in scopes]
    return made, sum(map(len, gone.values()))


def _leave_out(content: Checkpoint, ids: Iterable[str]) -> Checkpoint:
    if not (erased := tuple(ids)):
        return content
    state = State.from_checkpoint(content)
    state.fold(0, [Erased(erased)])
    return state.checkpoint()._replace(applied=())


def _refresh(root: Handle, ended: Iterable[Path]) -> Flow[None]:
    """Let this process see what is there now: its listeners hear of it."""
    engine, agent_id = root.engine, root.path[0]
    engine.forget_texts()
    engine.unpurged_agents.add(agent_id)
    known = [path for path in list(engine.replicas) if path[0] == agent_id and not (is_cache(path) or is_pending(path))]
    for begin in range(0, len(known), _READ_BATCH):
        yield from engine.sync_readable(known[begin : begin + _READ_BATCH])
    for path in ended:
        if len(path) > 1:
            engine.drop_replicas(path)


# -- clearing


def clear_memory(root: Handle, *, working: bool, context: bool, long_term: bool) -> Flow[ClearedMemory]:
    """See `AgentMemory.clear`."""
    flags = {"working": working, "context": context, "long_term": long_term}
    for name, flag in flags.items():
        check_flag(flag, name)
    if long_term:
        check_long_term(root.settings.features)
    root.check_usable()
    yield from finish_pending(root.engine, root.path[0])
    paths = yield from _list_scopes(root)
    named = yield from list_named_scopes(root, paths)
    own = ("all",) if working and context else ("entries", "items") * working + ("messages",) * context
    facets = {
        path: ("all",) * long_term if path in named or path[-1] in _LONG_TERM else () if is_reserved(path) else own
        for path in paths
    }
    cleared = [ClearedScope(path, chosen) for path, chosen in facets.items() if chosen]
    now = root.settings.clock()
    counts = yield from _count(root, cleared, now)
    if cleared:
        yield from intend(root.engine, root.path[0], ClearIntended(new_record_id(), now, tuple(cleared)))
    yield from _refresh(root, ())
    remaining = yield from _purge(root, [scope.path for scope in cleared])
    _log.info("Working memory cleared for agent %s, removed %d entries", root.path[0], counts["entries"])
    return ClearedMemory(
        counts["entries"], counts["items"], counts["messages"], counts["long_term"], len(cleared), tuple(remaining)
    )


def _count(root: Handle, cleared: Sequence[ClearedScope], now: float) -> Flow[Counter[str]]:
    """How many rows are going to be cleared, by kind."""
    total: Counter[str] = Counter()
    facets = {scope.path: scope.facets for scope in cleared}
    named = yield from list_named_scopes(root, list(facets))
    paths = list(facets)
    for begin in range(0, len(paths), _READ_BATCH):
        for replica in (yield from root.engine.sync(paths[begin : begin + _READ_BATCH])):
            is_long_term = replica.path in named or replica.path[-1] in _LONG_TERM
            chosen = ("entries", "items", "messages") if "all" in facets[replica.path] else facets[replica.path]
            with replica.lock:
                for facet in chosen:
                    total["long_term" if is_long_term else facet] += count_visible(replica.state, facet, now)
    return total


def _purge(root: Handle, paths: Sequence[Path]) -> Flow[list[str]]:
    handles = [Handle(root.engine, root.settings, path, policy=None, parent=None) for path in paths]
    try:
        remaining = yield from compact_and_purge(root, handles)
    except StoreError as exc:
        remaining = [f"the store failed before its bytes were gone ({exc}): clear again"]
    log_remaining(root, "cleared", remaining)
    return remaining
