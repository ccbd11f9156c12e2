"""What is done to all scopes of an agent at once, wholly or not at all: a restore, a clear.

What is intended is one record of the agent's scope ``~pending``, and from then on it is going to be done: whoever reads
or writes there meanwhile does it first, scope by scope, under record ids made from the intent, so that it does no harm
to do it twice. When all is done the pending scope is deleted, and only then anything of it is seen.

A restored scope begins a new incarnation, so that no write is stored that was decided before; the agent's own one,
below which all others are, is replaced where it is, last of all. A scope that is cleared stays in its incarnation.
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from wmem.codec.link import NO_PLACE, Link
from wmem.engine.ports import TimedCallback
from wmem.engine.replica import Replica
from wmem.engine.retention import retention_s
from wmem.engine.write_queue import Pause, backoff
from wmem.errors import ConflictError, CorruptionError, UnknownOutcomeError, WrongKeyError
from wmem.flow import Flow, ask
from wmem.journal.port import Append, AppendAll, Appended, Journal, Tail
from wmem.model.change import (
    Change,
    Checkpoint,
    Cleared,
    ClearedScope,
    ClearIntended,
    EndedScope,
    Erased,
    IntentReached,
    RestoreIntended,
    RestorePrepared,
    ScopeContent,
    ScopeReplaced,
)
from wmem.model.history import ORIGIN, Incarnation, Path, index_path, is_cache, is_pending, pending_path
from wmem.rules.routing import CONVERSATION, EPISODIC, SEMANTIC
from wmem.state import State

if TYPE_CHECKING:
    from wmem.engine.engine import Engine

P = TypeVar("P")
R = TypeVar("R")

_LONG_TERM = frozenset((SEMANTIC, EPISODIC, CONVERSATION))
_READ_BATCH = 256  # scopes read in one call
_WRITE_BATCH = 64  # scopes written in one call, if the journal can
_WRITE_BATCH_BYTES = 1024 * 1024
_ROWS_BESIDE_LOOP = 200  # more of them are encoded in a thread while a loop goes on
_MAX_TRIES = 16
_MAX_REPLACED = 16  # incarnations that a restored scope remembers


class _Superseded(Exception):  # noqa: N818  # no failure: what was to be done is done
    """Another process has done what was pending."""


def finish_pending(engine: "Engine[P]", agent_id: str, *, drops_damage: bool = False) -> Flow[None]:
    """Do what is pending for an agent's scopes, if anything is.

    Args:
        drops_damage: Delete what cannot be read: it will never be done, and all is about to be restored.
    """
    path = pending_path((agent_id,))
    tail = (yield from ask(Journal.read, {path: ORIGIN}))[path]
    if tail.head != ORIGIN and drops_damage:
        yield from _finish_other(engine, path, tail)
    elif tail.head != ORIGIN:
        yield from roll_forward(engine, path, tail)


def intend(engine: "Engine[P]", agent_id: str, intent: RestoreIntended | ClearIntended) -> Flow[None]:
    """Store what is intended, and do it.

    Raises:
        ConflictError: Others intended something else each time; nothing was changed.
        UnknownOutcomeError: A reply was lost; what was intended is going to be done, or not at all.
    """
    path = pending_path((agent_id,))
    payload = yield from beside_loop(
        lambda: engine.codec.encode_record([intent], path, intent.intent, _first_place(engine.codec.chained))
    )
    for tries in range(_MAX_TRIES):
        try:
            reply: Appended[P] = yield from ask(Journal.append, path, intent.intent, payload, ORIGIN, None)
        except UnknownOutcomeError:
            if tries == _MAX_TRIES - 1:
                raise
            if (yield from _is_done(engine, intent)):
                return
        else:
            if reply.cursor is not None:
                yield from _finish(engine, path, reply.incarnation)
                return
        tail = (yield from ask(Journal.read, {path: ORIGIN}))[path]
        if tail.head != ORIGIN and tail.records and tail.records[0].id == intent.intent:
            yield from _finish(engine, path, tail.incarnation)  # only the reply was lost
            return
        if tail.head != ORIGIN:
            yield from _finish_other(engine, path, tail)
        yield from ask(Pause.sleep, backoff(tries))
    raise ConflictError(f"the memory of agent {agent_id!r} is being restored or cleared by others: try again")


def _finish(engine: "Engine[P]", path: Path, incarnation: Incarnation | None) -> Flow[None]:
    """Do what is pending in one incarnation, together with whoever else does it."""
    while True:
        tail = (yield from ask(Journal.read, {path: ORIGIN}))[path]
        if tail.head == ORIGIN or tail.incarnation != incarnation:
            return
        yield from roll_forward(engine, path, tail)


def _finish_other(engine: "Engine[P]", path: Path, tail: Tail[P]) -> Flow[None]:
    """Do what others intended; what cannot be read will never be done, and to restore is what helps."""
    try:
        yield from roll_forward(engine, path, tail)
    except CorruptionError:
        yield from ask(Journal.delete, path, tail.incarnation)


def _is_done(engine: "Engine[P]", intent: RestoreIntended | ClearIntended) -> Flow[bool]:
    """Whether the scopes show that this was done."""
    paths = [scope.path for scope in intent.scopes[:1]]
    replicas = (yield from engine.sync_pending(paths)) if paths else []
    return any(each.state.intent == intent.intent for each in replicas)


def roll_forward(engine: "Engine[P]", path: Path, tail: Tail[P]) -> Flow[None]:
    """Do what is pending, or wait a moment while somebody else in this process does it.

    Args:
        path: The pending scope.
        tail: What it holds.

    Raises:
        CorruptionError: What is pending cannot be read.
    """
    mine: list[object] = []
    try:
        engine.claim([path], mine)
        if not mine:
            yield from ask(Pause.sleep, backoff(1))
            return
        for tries in range(_MAX_TRIES):
            try:
                yield from _advance(engine, path, tail)
            except _Superseded:
                return
            except UnknownOutcomeError:
                if tries == _MAX_TRIES - 1:
                    raise
                yield from ask(Pause.sleep, backoff(tries))
            now = (yield from ask(Journal.read, {path: ORIGIN}))[path]
            if now.head == ORIGIN or now.incarnation != tail.incarnation:
                return
            tail = now
    finally:
        engine.release(mine)


def _advance(engine: "Engine[P]", path: Path, tail: Tail[P]) -> Flow[None]:
    intent, prepared = yield from beside_loop(partial(_decode, engine, path, tail))
    if isinstance(intent, ClearIntended):
        yield from _clear(engine, intent)
    else:
        if prepared is None:
            prepared = yield from _prepare(engine, path, tail, intent)
            if prepared is None:
                return  # others did
        yield from _Restore(engine, path, tail, intent, prepared).run()
    # Whoever intended it may be gone: then maintenance lets the bytes leave. Of what is restored, all but the agent's
    # own scope began anew.
    engine.unpurged_agents.add(path[0])
    engine.unpurged_scopes |= {each.path for each in intent.scopes} if isinstance(intent, ClearIntended) else {path[:1]}
    yield from ask(Journal.delete, path, tail.incarnation)


def _decode(
    engine: "Engine[P]", path: Path, tail: Tail[P]
) -> tuple[RestoreIntended | ClearIntended, RestorePrepared | None]:
    content = Replica(path, engine.codec).decode_tail(tail)
    changes = [each for record in content.records if isinstance(record, tuple) for each in record]
    intents = [each for each in changes if isinstance(each, RestoreIntended | ClearIntended)]
    if not intents:
        what = f"the memory of agent {path[0]!r} was being restored or cleared"
        msg = f"{what}, and the record of that is damaged: restore a snapshot"
        raise CorruptionError(msg)
    return intents[0], next((each for each in changes if isinstance(each, RestorePrepared)), None)


# -- a restore


def _prepare(engine: "Engine[P]", path: Path, tail: Tail[P], intent: RestoreIntended) -> Flow[RestorePrepared | None]:
    """Store what is there and is to end, once: it tells each scope's incarnation, and what was erased from it."""
    contents = dict(intent.scopes)
    listed = yield from ask(Journal.paths, path[:1])
    paths = [each for each in listed if not is_cache(each) and not is_pending(each)]
    ended: list[EndedScope] = []
    for begin in range(0, len(paths), _READ_BATCH):
        ended += yield from _list_ended(engine, paths[begin : begin + _READ_BATCH], contents)
    prepared = RestorePrepared(intent.intent, tuple(ended))
    record_id = _derive_id(intent.intent, path, "prepared")
    place = Link().after(Link().place(1), intent.intent).place(2) if engine.codec.chained else NO_PLACE
    payload = engine.codec.encode_record([prepared], path, record_id, place)
    reply: Appended[P] = yield from ask(Journal.append, path, record_id, payload, tail.head, None)
    return None if reply.cursor is None else prepared


def _list_ended(engine: "Engine[P]", paths: Sequence[Path], contents: dict[Path, Checkpoint]) -> Flow[list[EndedScope]]:
    try:
        replicas = yield from engine.sync_pending(paths)
    except (CorruptionError, WrongKeyError):
        if len(paths) == 1:
            return [EndedScope(paths[0], 0, (), ())]  # whatever it is
        half = len(paths) // 2
        first = yield from _list_ended(engine, paths[:half], contents)
        return [*first, *(yield from _list_ended(engine, paths[half:], contents))]
    ended = []
    for replica in replicas:
        with replica.lock:
            if replica.incarnation is None:
                continue
            state, chain = replica.state, replica.incarnation.chain
            known = contents[replica.path].erased if replica.path in contents else ()
            erased = tuple(state.erased.keys() - known) if replica.path in contents else ()
            ended.append(EndedScope(replica.path, chain, (*state.replaces, chain)[-_MAX_REPLACED:], erased))
    return ended


class _New(NamedTuple):
    """A scope that is to begin, and the record that it begins with."""

    append: Append[Any]
    size: int


class _Restore:
    """Ends all scopes of an agent and begins those that it is to have."""

    def __init__(
        self, engine: "Engine[Any]", path: Path, tail: Tail[Any], intent: RestoreIntended, prepared: RestorePrepared
    ) -> None:
        self._engine = engine
        self._path = path
        self._incarnation = tail.incarnation
        self._intent = intent
        self._root = path[:1]
        self._contents = {scope.path: scope for scope in intent.scopes}
        self._ended = {scope.path: scope for scope in prepared.ended}
        self._in_place: tuple[bytes, _New] | None = None
        """The record that replaces the agent's own scope, and the place that it states."""

    def run(self) -> Flow[None]:
        for names in _group(self._contents.keys() | self._ended.keys()):
            yield from self._end([self._ended[each] for each in names if each in self._ended])
            yield from self._begin([self._contents[each] for each in names if each in self._contents])
        yield from self._replace_root()
        yield from self._end_others()

    def _end(self, scopes: Sequence[EndedScope]) -> Flow[None]:
        """End these scopes, parents first, in the incarnations that they had: nothing that was begun since."""
        gone: set[Path] = set()
        for path, chain, _, _ in scopes:
            if not any(path[:depth] in gone for depth in range(1, len(path))):
                yield from ask(Journal.delete, path, Incarnation(chain) if chain else None)
                gone.add(path)

    def _begin(self, scopes: Sequence[ScopeContent]) -> Flow[None]:
        batch: list[_New] = []
        for scope in scopes:
            batch.append((yield from self._encode(scope)))
            if len(batch) >= _WRITE_BATCH or sum(each.size for each in batch) >= _WRITE_BATCH_BYTES:
                yield from self._append(batch)
                batch = []
        if batch:
            yield from self._append(batch)

    def _encode(self, scope: ScopeContent, place: bytes | None = None) -> Flow[_New]:
        """The record that a scope begins with.

        Args:
            place: What it states of its place; None: that of a first record.
        """
        place = _first_place(self._engine.codec.chained) if place is None else place
        record_id = _derive_id(self._intent.intent, scope.path, "restored")
        changes = self._list_changes(scope)

        def encode() -> Any:
            return self._engine.codec.encode_record(changes, scope.path, record_id, place)

        payload = encode() if len(scope.content.rows) < _ROWS_BESIDE_LOOP else (yield from beside_loop(encode))
        keep_s = retention_s(changes, self._intent.at)
        return _New(Append(scope.path, record_id, payload, ORIGIN, keep_s), self._engine.codec.size(payload))

    def _list_changes(self, scope: ScopeContent) -> Sequence[Change]:
        """What a restored scope begins with: what was erased since is erased."""
        ended, content = self._ended.get(scope.path), scope.content
        if ended is not None:
            if ended.erased:
                state = State.from_checkpoint(content)
                state.fold(0, [Erased(ended.erased)])
                content = state.checkpoint()._replace(applied=())
            content = content._replace(replaces=ended.replaces)
        at = self._intent.at
        return ScopeReplaced(content, at), IntentReached(self._intent.intent, at)

    def _append(self, batch: Sequence[_New]) -> Flow[None]:
        appends = [each.append for each in batch]
        replies: Sequence[Appended[Any]] = ()
        if len(appends) > 1:
            replies = yield from ask(AppendAll.append_all, appends)
        for number, append in enumerate(appends):
            reply = replies[number] if replies else (yield from _append(append))
            if reply.cursor is None:
                yield from self._append_instead(append)

    def _append_instead(self, append: Append[Any]) -> Flow[None]:
        """Begin a scope where there is one: another process began it, or it was created a moment ago."""
        for _ in range(_MAX_TRIES):
            (replica,) = yield from self._engine.sync_pending([append.path])
            if replica.state.intent == self._intent.intent:
                return
            yield from self._check_pending()
            if replica.incarnation is not None:
                yield from ask(Journal.delete, append.path, replica.incarnation)
            reply: Appended[Any] = yield from _append(append)
            if reply.cursor is not None:
                return
        raise ConflictError(f"scope {append.path!r} cannot be restored while others keep creating it")

    def _replace_root(self) -> Flow[None]:
        scope = self._contents.get(self._root)
        # Kept from try to try: of a large scope, only the first one reads all of it.
        replica: Replica[Any] = Replica(self._root, self._engine.codec)

        def append() -> Flow[bool]:
            since = replica.cursor
            tail = (yield from ask(Journal.read, {self._root: since}))[self._root]
            if tail.head == ORIGIN:
                if scope is None:
                    return True
                new = yield from self._encode(scope)
                reply: Appended[Any] = yield from _append(new.append)
                return reply.cursor is not None
            yield from beside_loop(partial(replica.apply_tail, since, tail))
            if replica.state.intent == self._intent.intent:
                return True
            return (yield from self._replace_in_place(replica, scope))

        if not (yield from self._engine.write_queue.try_first(self._root, append)):
            raise _to_conflict(self._root, "restored")
        yield from ask(Journal.delete, index_path(self._root), None)

    def _replace_in_place(self, replica: Replica[Any], scope: ScopeContent | None) -> Flow[bool]:
        place = replica.place(replica.cursor.version + 1)
        if scope is None:  # it cannot be deleted without all that is below it
            empty = State()
            empty.policy, empty.identity = replica.state.policy, replica.identity
            new = yield from self._encode(ScopeContent(self._root, empty.checkpoint()), place)
        elif self._in_place is not None and self._in_place[0] == place:
            new = self._in_place[1]
        else:
            new = yield from self._encode(scope, place)
            self._in_place = place, new
        reply: Appended[Any] = yield from _append(new.append._replace(expected=replica.cursor))
        return reply.cursor is not None

    def _end_others(self) -> Flow[None]:
        """End what was created while the restore began."""
        listed = yield from ask(Journal.paths, self._root)
        others = [
            path
            for path in sorted(listed, key=len)
            if len(path) > 1 and path not in self._contents and not is_cache(path) and not is_pending(path)
        ]
        for path in others:
            tail = (yield from ask(Journal.read, {path: ORIGIN}))[path]
            yield from self._check_pending()
            if tail.incarnation is not None:
                yield from ask(Journal.delete, path, tail.incarnation)

    def _check_pending(self) -> Flow[None]:
        """Raise `_Superseded` if the restore is done: what is there now is not its business."""
        tail = (yield from ask(Journal.read, {self._path: ORIGIN}))[self._path]
        if tail.incarnation != self._incarnation:
            raise _Superseded


def _group(paths: Iterable[Path]) -> list[list[Path]]:
    """Paths below an agent's own by their topmost scope, each with its parents first; long-term memory comes last."""
    below = sorted(path for path in paths if len(path) > 1)
    groups = [sorted(group, key=len) for _, group in groupby(below, key=lambda path: path[1])]
    return sorted(groups, key=lambda group: any(not _LONG_TERM.isdisjoint(path) for path in group))


# -- a clear


def _clear(engine: "Engine[P]", intent: ClearIntended) -> Flow[None]:
    for scope in intent.scopes:
        yield from _clear_scope(engine, intent, scope)


def _clear_scope(engine: "Engine[P]", intent: ClearIntended, scope: ClearedScope) -> Flow[None]:
    path = scope.path
    record_id = _derive_id(intent.intent, path, "cleared")

    def append() -> Flow[bool]:
        (replica,) = yield from engine.sync_pending([path])
        with replica.lock:
            state = replica.state
            if replica.incarnation is None or state.disposed or state.intent == intent.intent:
                return True
            counts = {facet: count_visible(state, facet, intent.at) for facet in scope.facets}
            cleared: list[Change] = [Cleared(facet, count, intent.at) for facet, count in counts.items()]
            changes = [*cleared, IntentReached(intent.intent, intent.at)]
            cursor, place = replica.cursor, replica.place(replica.cursor.version + 1)
        payload = engine.codec.encode_record(changes, path, record_id, place)
        keep_s = retention_s(changes, intent.at)
        reply: Appended[P] = yield from ask(Journal.append, path, record_id, payload, cursor, keep_s)
        return reply.cursor is not None

    if not (yield from engine.write_queue.try_first(path, append)):
        raise _to_conflict(path, "cleared")


def _to_conflict(path: Path, what: str) -> ConflictError:
    msg = f"scope {path!r} is not {what} yet, for others keep writing to it: whoever uses it next goes on with that"
    return ConflictError(msg)


def count_visible(state: State, facet: str, now: float) -> int:
    """How many rows of a facet, or of all, are visible."""
    facets: dict[str, Iterable[str]] = {
        "entries": state.entries.values(),
        "items": state.items,
        "messages": state.messages,
    }
    chosen = facets.values() if facet == "all" else (facets[facet],)
    return sum(len(state.visible(ids, now)) for ids in chosen)


# -- both


def _first_place(is_chained: bool) -> bytes:  # noqa: FBT001  # it is the codec's
    """What the first record of a scope states of its place."""
    return Link().place(1) if is_chained else NO_PLACE


def _append(append: Append[P]) -> Flow[Appended[P]]:
    path, record_id, record, expected, keep_s = append
    return (yield from ask(Journal.append, path, record_id, record, expected, keep_s))


def _derive_id(intent: int, path: Path, what: str) -> int:
    """The id of a record that is part of an intent: the same in every process."""
    digest = hashlib.blake2b(repr((intent, path, what)).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def beside_loop(function: Callable[[], R]) -> Flow[R]:
    """Call a function that takes long: in a thread, while a loop goes on."""
    return ask(TimedCallback.within, function, math.inf)
