"""Writing to a scope: unconditional appends, compare-and-append, and their retries.

A write syncs the replica, decides, appends and applies; nothing waits between append
and apply. A refused or lost append is retried under the same record id.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from wmem.codec.link import NO_PLACE
from wmem.engine.engine import Engine
from wmem.engine.records import is_chained
from wmem.engine.replica import Replica
from wmem.engine.retention import retention_s
from wmem.engine.write_queue import RETRY_S, Pause, Ticket, backoff
from wmem.errors import ConflictError, StoreError, StoreFullError, UnknownOutcomeError
from wmem.flow import Flow, ask
from wmem.journal.port import Append, AppendAll, Appended, Journal, new_record_id
from wmem.log import find_logger
from wmem.model.change import Change, ItemTouched
from wmem.model.history import ORIGIN, Cursor, Incarnation, Path
from wmem.state import APPLIED_MAX, State

P = TypeVar("P")
R = TypeVar("R")
S = TypeVar("S")

_log = find_logger("wmem.engine")

COMPACT_MIN_BYTES = 64 * 1024
_FULL_TRIES = 8  # of a write to a store that is full: about 50 ms in all
POST_RETRY_S = 60.0  # the same for a write that depends on no state, where it cannot be unconditional

Decide = Callable[[State], tuple[Sequence[Change], R]]
DecideBeside = Callable[[State, State], tuple[Sequence[Change], R]]
"""As `Decide`, in the light of the state of another scope."""


def post(
    engine: Engine[P], path: Path, incarnation: Incarnation, changes: Sequence[Change], *, now: float
) -> Flow[bool]:
    """Append on the sole condition that the scope is still in this incarnation; it never conflicts.

    A record that states its place is appended there, and waits for its turn.

    Returns:
        False when that incarnation is over; nothing was changed then.

    Raises:
        ConflictError: To a record that states its place, other writers came first for `POST_RETRY_S` seconds.
    """
    if engine.codec.chained and is_chained(engine.codec, path):  # in this order: it saves most a call
        return (yield from _post_in_turn(engine, path, incarnation, changes, now=now))
    record_id = new_record_id()
    yield from engine.write_queue.yield_to_starving(path)
    replica = engine.replicas.get(path)
    if replica is None or replica.torn:
        replica = engine.replica(path)
    since = replica.cursor
    full = tuple(changes)
    if replica.state.unwritten_touches:
        with replica.lock:
            # Never put back: from here on they may be stored, and to count twice is worse than not at all.
            full = (*full, *replica.take_touches())
    payload = engine.codec.encode_record(full, path, record_id)
    deadline, fulls = time.monotonic() + RETRY_S, 0
    while True:
        try:
            reply: Appended[P] = yield from ask(
                Journal.append, path, record_id, payload, incarnation, retention_s(changes, now)
            )
        except StoreFullError:
            fulls += 1
            if not (yield from _make_room(engine, path, now, fulls)):
                raise
            continue
        except UnknownOutcomeError:
            if time.monotonic() > deadline:
                raise
            yield from ask(Pause.sleep, backoff(0))
            (replica,) = yield from _sync_to_write(engine, [path], unknown=True)
            if record_id in replica.state.applied or (
                replica.cursor.version > since.version + APPLIED_MAX
                and (yield from _is_stored(engine, path, record_id, since))
            ):
                return True
            continue
        break
    if reply.cursor is None:
        return False
    yield from _apply_appended(engine, replica, reply, record_id, full, now=now)
    return not replica.state.disposed


def append_together(first: Flow[R], second: Flow[S]) -> Flow[tuple[R, S]]:
    """Run two flows, the second after the first; where both begin with an append, in one round trip if the store can.

    The second must not depend on what the first appends.
    """
    one = _Resumable(first)
    if one.call is not None and one.call[0] == Journal.append.__qualname__:
        two = _Resumable(second)
        if two.call is not None and two.call[0] == Journal.append.__qualname__:
            appends = [Append(*one.call[1]), Append(*two.call[1])]
            try:
                replies = yield from ask(AppendAll.append_all, appends)
            except BaseException as exc:  # noqa: BLE001  # each of them decides what a failure means
                one.fail(exc)
                two.fail(exc)
            else:
                if replies:
                    one.send(replies[0])
                    two.send(replies[1])
        try:
            result = yield from one.run()
        except BaseException:
            two.close()
            raise
        return result, (yield from two.run())
    return (yield from one.run()), (yield from second)


class _Resumable(Generic[R]):
    """A flow up to its next call, whose reply may come from elsewhere.

    Attributes:
        call: What it asks for; None once it has ended.
    """

    def __init__(self, flow: Flow[R]) -> None:
        self._flow = flow
        self._failure: BaseException | None = None
        self._results: list[R] = []
        self.call: tuple[str, tuple[Any, ...]] | None = None
        self._step(lambda: flow.send(None))

    def send(self, reply: object) -> None:
        """Answer its call."""
        self._step(lambda: self._flow.send(reply))

    def fail(self, exc: BaseException) -> None:
        """Let its call fail."""
        self._step(lambda: self._flow.throw(exc))

    def close(self) -> None:
        """End it where it is."""
        self._flow.close()

    def run(self) -> Flow[R]:
        """Run it to its end."""
        while self.call is not None:
            try:
                reply = yield self.call
            except BaseException as exc:  # noqa: BLE001  # the flow decides what a failure means
                self.fail(exc)
            else:
                self.send(reply)
        if self._failure is not None:
            raise self._failure
        return self._results[0]

    def _step(self, step: Callable[[], tuple[str, tuple[Any, ...]]]) -> None:
        self.call = None
        try:
            self.call = step()
        except StopIteration as done:
            self._results.append(done.value)
        except BaseException as exc:  # noqa: BLE001  # raised when it is run: the other flow goes first
            self._failure = exc


def _post_in_turn(
    engine: Engine[P], path: Path, incarnation: Incarnation, changes: Sequence[Change], *, now: float
) -> Flow[bool]:
    """See `post`; for records that state their place, so that one that was refused is encoded anew."""

    def decide(state: State) -> tuple[Sequence[Change], None]:
        if state.disposed:
            raise StaleIncarnation(path)
        return changes, None

    try:
        with engine.write_queue.ticket(path) as ticket:
            yield from _commit_in_turn(
                engine,
                ticket,
                decide,
                opening=(),
                incarnation=incarnation,
                now=now,
                blind=True,
            )
    except StaleIncarnation:
        return False
    return True


def commit(
    engine: Engine[P],
    path: Path,
    decide: Decide[R] | DecideBeside[R],
    *,
    opening: Sequence[Change],
    incarnation: Incarnation | None,
    now: float,
    beside: Path | None = None,
) -> Flow[tuple[R, Incarnation | None]]:
    """Decide on the current state and append the changes only if the state is still the same.

    Args:
        decide: Maps the state to changes and a result; pure, may run several times.
        beside: Another scope, whose state `decide` is given as well, of the same instant or a later one. It may
            change before the append, and is not locked: only look up single rows in it.
        opening: Changes that precede the others in the first record of a scope.
        incarnation: The incarnation the caller expects; None for any.

    Returns:
        The result, and the scope's incarnation (None: there is no such scope).

    Raises:
        StaleIncarnation: The scope is not in the expected incarnation.
        ConflictError: Other writers came first for `RETRY_S` seconds; nothing was changed.
        UnknownOutcomeError: A reply was lost, and no later try showed whether the record is stored.
    """
    with engine.write_queue.ticket(path) as ticket:
        return (
            yield from _commit_in_turn(
                engine, ticket, decide, opening=opening, incarnation=incarnation, now=now, beside=beside
            )
        )


def _commit_in_turn(
    engine: Engine[P],
    ticket: Ticket,
    decide: Decide[R] | DecideBeside[R],
    *,
    opening: Sequence[Change],
    incarnation: Incarnation | None,
    now: float,
    blind: bool = False,
    beside: Path | None = None,
) -> Flow[tuple[R, Incarnation | None]]:
    """See `commit`.

    Args:
        blind: The changes do not depend on the state: append them even if there are none, and try
            first where the replica is, without reading.
    """
    path = ticket.path
    record_id = new_record_id()
    patience_s = POST_RETRY_S if blind else RETRY_S
    deadline = time.monotonic() + patience_s
    tries, unknown = 0, False
    step: _Attempt[R] | None = None
    while True:
        # Blind writers line up at once: of many that try at the same place, all but one are refused.
        deadline += yield from engine.write_queue.wait_turn(ticket, tries or blind)
        replica, *others = yield from _sync_to_write(
            engine,
            [path] if beside is None else [path, beside],
            unknown=unknown,
            blind_in=incarnation if blind else None,
        )
        earlier = step
        step = _decide(
            replica, decide, record_id, incarnation, step, blind=blind, others=[each.state for each in others]
        )
        if step is None:
            assert earlier is not None  # only an earlier try can be in doubt
            if (yield from _is_stored(engine, path, record_id, earlier.expected)):
                return earlier.result, replica.incarnation
            unknown = False  # others took its place: it can no longer be stored
            continue
        if step.done:
            return step.result, step.incarnation
        # At the origin the scope is new, or new again: a store may drop one whose every item had expired.
        full = (*(opening if step.expected == ORIGIN else ()), *step.changes, *step.touches)
        payload = engine.codec.encode_record(full, path, record_id, step.place)
        tries += 1
        reply: Appended[P] | None = None
        try:
            reply = yield from _append(engine, path, record_id, payload, expected=step.expected, changes=full, now=now)
        except UnknownOutcomeError:
            unknown = True
            deadline = min(deadline, time.monotonic() + RETRY_S)
            if time.monotonic() > deadline:
                raise
        if reply is not None and reply.cursor is not None:
            engine.write_queue.leave(ticket)  # before a listener may write here
            yield from _apply_appended(engine, replica, reply, record_id, full, now=now, place=step.place)
            return step.result, reply.incarnation
        if reply is not None:
            if tries == 1:
                deadline = time.monotonic() + patience_s  # a conflict only from here on: the first try took its time
            _handle_refusal(replica, step, reply)
            if reply.certain and not unknown:
                step = None  # certainly not stored
        if time.monotonic() > deadline:
            raise _retry_error(path, tries, patience_s, unknown=unknown)
        yield from ask(Pause.sleep, backoff(tries))


def _sync_to_write(
    engine: Engine[P], paths: Sequence[Path], *, unknown: bool, blind_in: Incarnation | None = None
) -> Flow[list[Replica[P]]]:
    """Sync replicas before a write to the first; a failure after a lost reply leaves the outcome unknown.

    Args:
        blind_in: The write depends on no state: as long as the replica is in this incarnation, and
            not known to be behind, it is not synced.
    """
    if blind_in is not None and not unknown:
        replica = engine.replica(paths[0])
        if replica.has_synced and not replica.stale and replica.incarnation == blind_in:
            return [replica]
    try:
        return (yield from engine.sync(paths))
    except StoreError as exc:
        if not unknown:
            raise
        msg = f"scope {paths[0]!r}: the reply to a write was lost, and then the store failed: {exc}"
        raise UnknownOutcomeError(msg) from exc


def _append(
    engine: Engine[P],
    path: Path,
    record_id: int,
    payload: P,
    *,
    expected: Cursor,
    changes: Sequence[Change],
    now: float,
) -> Flow[Appended[P]]:
    """Append on a condition; in a store that is full, make room first."""
    keep_s = retention_s(changes, now)
    fulls = 0
    while True:
        try:
            return (yield from ask(Journal.append, path, record_id, payload, expected, keep_s))
        except StoreFullError:
            fulls += 1
            if not (yield from _make_room(engine, path, now, fulls)):
                raise


def _make_room(engine: Engine[P], path: Path, now: float, tries: int) -> Flow[bool]:
    """Compact what this process knows of an agent, for a store that is full; False after the last try."""
    if tries == 1:
        yield from engine.sync([path])
    for replica in list(engine.replicas.values()):
        if replica.path[0] == path[0] and replica.tail_bytes:
            yield from engine.compact(replica, now, limit=None)
    # Some servers free what was deleted a moment later, in a thread of their own.
    yield from ask(Pause.sleep, backoff(tries))
    return tries < _FULL_TRIES


def _is_stored(engine: Engine[P], path: Path, record_id: int, since: Cursor) -> Flow[bool]:
    """Whether the journal holds the record `record_id` after `since`.

    Raises:
        UnknownOutcomeError: The records were compacted, and too many came since to tell.
    """
    tail = (yield from ask(Journal.read, {path: since}))[path]
    if any(record.id == record_id for record in tail.records):
        return True
    if tail.joined or tail.snapshot is None:
        return False
    if record_id in engine.codec.decode_checkpoint(tail.snapshot, path, tail.base).applied:
        return True
    if tail.base.version > since.version + APPLIED_MAX:
        msg = f"scope {path!r}: the reply to a write was lost, and too much came since to tell; read to see"
        raise UnknownOutcomeError(msg)
    return False


def _apply_appended(
    engine: Engine[P],
    replica: Replica[P],
    reply: Appended[P],
    record_id: int,
    changes: Sequence[Change],
    *,
    now: float,
    place: bytes = NO_PLACE,
) -> Flow[None]:
    """Apply an appended record, and compact the journal if its tail has grown enough."""
    before = replica.state.bytes
    replica.apply_appended(reply, record_id, changes, place)
    if engine.events.outbox:
        engine.events.deliver()
    if (grown := replica.state.bytes - before) > 0:
        engine.track_growth(grown)
    # Another process may have compacted, and the snapshot's size be unknown here: estimate it from the state.
    snapshot_bytes = replica.snapshot_bytes or replica.state.bytes // 2
    if reply.tail_bytes < COMPACT_MIN_BYTES or reply.tail_bytes < snapshot_bytes:
        return
    if not replica.has_synced and replica.path in engine.evicted_caches:
        return  # a cache that was evicted is not read again for this: maintenance compacts it
    try:
        if replica.stale:
            (replica,) = yield from engine.sync([replica.path])
        yield from engine.compact(replica, now)
    except StoreError as exc:
        # The write itself is stored; a later one compacts.
        _log.warning("scope %r was not compacted: %s", replica.path, exc)


def flush_touches(engine: Engine[P], root: str, now: float) -> Flow[None]:
    """Write the touches of an agent's items that are not yet in the journal."""
    for path, replica in list(engine.replicas.items()):
        if path[0] == root and replica.state.unwritten_touches and replica.incarnation is not None:
            yield from post(engine, path, replica.incarnation, (), now=now)


class _Attempt(NamedTuple, Generic[R]):
    """What one try decided.

    Attributes:
        done: Whether there is nothing to append.
        expected: The head after which the record is to be appended.
        place: What the record states of that place.
        incarnation: The scope's incarnation at that head.
    """

    result: R
    changes: Sequence[Change]
    touches: tuple[ItemTouched, ...]
    expected: Cursor
    incarnation: Incarnation | None
    place: bytes
    done: bool


def _decide(
    replica: Replica[Any],
    decide: Callable[..., tuple[Sequence[Change], R]],
    record_id: int,
    incarnation: Incarnation | None,
    earlier: _Attempt[R] | None,
    *,
    blind: bool,
    others: Sequence[State],
) -> _Attempt[R] | None:
    """Decide on a state; None when only the journal can tell whether an earlier try was stored."""
    with replica.lock:
        state, expected, current = replica.state, replica.cursor, replica.incarnation
        if earlier is not None and record_id in state.applied:
            # The earlier try was stored; only its reply was lost.
            return _Attempt(earlier.result, (), (), expected, current, NO_PLACE, done=True)
        # On Redis the incarnation outlasts a journal that lapsed: at the origin a scope is opened, by `commit`.
        if incarnation is not None and (current != incarnation or (blind and expected == ORIGIN)):
            raise StaleIncarnation(replica.path)
        if earlier is not None and expected.version > earlier.expected.version + APPLIED_MAX:
            return None  # a fold remembers only the last ids
        changes, result = decide(state, *others)
        done = not changes and not blind
        touches = replica.take_touches() if not done and current is not None else ()
        place = replica.place(expected.version + 1)
        return _Attempt(result, changes, touches, expected, current, place, done)


def _handle_refusal(replica: Replica[P], step: _Attempt[Any], reply: Appended[P]) -> None:
    """Put touches back after a refusal, and apply the records it brought."""
    if step.touches:
        # Only a refusal says that they are not stored; after a failure, not counting beats counting twice.
        with replica.lock:
            replica.return_touches(step.touches)
    if reply.missed is None or not replica.apply_tail(step.expected, reply.missed):
        replica.stale = True


class StaleIncarnation(Exception):  # noqa: N818  # a signal inside the engine, never seen outside
    """The scope was disposed, and perhaps created anew, since a handle last read it."""


def _retry_error(path: Path, tries: int, patience_s: float, *, unknown: bool) -> StoreError:
    conflict = f"scope {path!r}: other writers came first for {patience_s} s ({tries} tries)"
    if unknown:
        return UnknownOutcomeError(f"{conflict}, and the reply to one try was lost: read to see whether it arrived")
    return ConflictError(f"{conflict}; nothing was changed")
