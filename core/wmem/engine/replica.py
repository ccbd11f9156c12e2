"""A process's replica of one scope, and the check before a journal's reply is applied.

A reply is applied if the replica is still at the cursor it was requested from, or has
since applied only records that the reply contains, too. Otherwise nothing is applied
and the flow reads again. The lock covers this check and the fold, never IO. A replica that an
exception stopped while it moved is `torn`: the engine replaces it by one at the origin.
"""

import operator
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

from wmem.analysis.analyzer import Analyzer
from wmem.codec.codec import Codec
from wmem.codec.link import NO_PLACE, Link
from wmem.engine.derived import D, Derived, Follower
from wmem.engine.records import Damage, Decoded, decode_records, decode_snapshot, follow_records, is_chained
from wmem.errors import WmemError
from wmem.journal.port import Appended, Record, Tail
from wmem.log import find_logger
from wmem.model.change import Change, Event, IntentChange, ItemTouched, Resynced, ScopeReplaced
from wmem.model.history import ORIGIN, Cursor, Incarnation, Path
from wmem.model.row import Row
from wmem.state import State

A = ParamSpec("A")
P = TypeVar("P")
R = TypeVar("R")

_log = find_logger("wmem.replica")

_ID = operator.attrgetter("id")
_COMPACT = operator.methodcaller("compact")
_ROW_BYTES = 420  # what a row takes without its content
_RECENT_RECORDS_MAX = 256  # records that may be applied here while a read is under way


class Replica(Generic[P]):
    """The state of `path` as of `cursor`. Every attribute is guarded by `lock`.

    Args:
        listeners: The engine's listeners; while there are none, no events are made.
        outbox: Receives each change as an event, in order, under the lock.
    """

    def __init__(
        self,
        path: Path,
        codec: Codec[P],
        listeners: Sequence[object] = (),
        outbox: deque[Event] | None = None,
        analyzer: Analyzer | None = None,
    ) -> None:
        self.path = path
        self.codec = codec
        self.analyzer = analyzer or Analyzer()
        self._listeners = listeners
        self._outbox = deque() if outbox is None else outbox
        # Reentrant: a thread that an exception threw out of a block at its very end can still enter the next one.
        self.lock = threading.RLock()
        self.torn = False
        """Whether an exception stopped a move half-way: what it holds is neither the old state nor the new one."""
        self.cursor = ORIGIN
        self.chained = is_chained(codec, path)
        self.link = Link()
        """What is known of the history up to `cursor`, if it is chained."""
        self._recent_records: deque[tuple[Cursor | None, int]] = deque(maxlen=_RECENT_RECORDS_MAX)
        """Records applied during a read, without a gap: the cursor before each, where known, and its id."""
        self.readers: set[object] = set()
        """Reads under way. Added and discarded without the lock, for a garbage-collected flow discards its own."""
        self.incarnation: Incarnation | None = None
        self.state = State()
        self.damage: list[Damage] = []
        self.has_synced = False
        """Whether it has synced once; what was stored before that is no event."""
        self.is_settled = False
        """Whether what was last done to all scopes of the agent is known to be done to all of them."""
        self._intent = 0
        """That which `is_settled` is about."""
        self.compactor: object | None = None
        """Whoever compacts its journal at the moment."""
        self.snapshot_bytes = 0
        self.tail_bytes = 0
        """Bytes of records that its journal holds after its base, as far as this process knows."""
        self.stale = False
        """Whether the journal is known to hold records that are not applied here."""
        self.written = 0
        """Changes that this process appended."""
        self.last_use = 0
        """The engine's use counter at the last use."""
        self.unwritten_since: float | None = None
        self._followers: dict[Callable[..., Any], Follower[Any]] = {}
        """What was computed from the state, by what makes it."""

    def retire(self) -> None:
        """Stop making events: another replica replaces this one, and a change must reach a listener once."""
        self._listeners = ()  # one step, without the lock: called under the engine's

    def decode_tail(self, tail: Tail[P]) -> "DecodedTail":
        """Decode what the journal replied; touches nothing of the replica, so that another thread may do it."""
        decoded = decode_records(self.codec, self.path, tail.records)
        return DecodedTail(decoded, None if tail.joined else self._restore(tail))

    def apply_tail(self, since: Cursor, tail: Tail[P], content: "DecodedTail | None" = None) -> bool:
        """Apply the journal's reply to a read from the cursor `since`; False when it must be read again.

        Other replies may have advanced the replica meanwhile: no record is applied twice.

        Args:
            content: What the tail decodes to, if that is known.
        """
        if tail.joined and not tail.records:
            return self._apply_empty_tail(since, tail)
        decoded, restored = self.decode_tail(tail) if content is None else content
        with self.lock:
            landed = self._already_applied(since, tail)
            if landed is None:
                return False
            if landed and landed == len(tail.records):
                return True
            try:
                self._move(restored, tail, tail.records[landed:], decoded[landed:])
            except BaseException:
                self.torn, self.has_synced = True, False
                raise
            return True

    def _move(
        self, restored: "_Restored | None", tail: Tail[P], records: Sequence[Record[P]], decoded: list[Decoded]
    ) -> None:
        """Apply what is new in a tail, and stand at its head. Under the lock."""
        before = self.cursor if restored is None else tail.base
        silent = restored is not None or not self.has_synced
        if restored is not None:
            self._replace_state(restored, tail)
        if self.chained:
            self.link = follow_records(self.codec, self.path, records, decoded, link=self.link, base=before)
        if (begin := _find_replacement(decoded)) is not None:
            self.damage = []  # of what was before nothing is left
        self._log_damage([each for each in decoded[begin:] if isinstance(each, Damage)])
        if not self.has_synced and restored is None and records:
            self._emit_resync(tail.head)
        for record, changes in zip(records, decoded, strict=True):
            if not isinstance(changes, Damage):
                self._fold(record.id, changes, tail.head, silent=silent)
        self._remember_records(before, map(_ID, records))
        self.tail_bytes += sum(self.codec.size(record.payload) for record in records)
        self._stand_at(tail)

    def _apply_empty_tail(self, since: Cursor, tail: Tail[P]) -> bool:
        """See `apply_tail`; nothing is new, as in the reply to most reads."""
        with self.lock:
            if self.cursor == since and not self.torn:
                self._stand_at(tail)
                return True
            return self._already_applied(since, tail) is not None

    def _stand_at(self, tail: Tail[P]) -> None:
        """All of a tail is applied. Under the lock."""
        self.incarnation = tail.incarnation
        self.stale = False
        self.cursor = tail.head
        if self.state.intent != self._intent:
            self._intent, self.is_settled = self.state.intent, False
        self.has_synced = True  # last: from here on it is read without asking the journal

    def _replace_state(self, restored: "_Restored", tail: Tail[P]) -> None:
        """Start again from the state of a tail's snapshot. Under the lock."""
        if tail.incarnation == self.incarnation:
            restored.state.unwritten_touches = self.state.unwritten_touches
        self.state, self.link = restored.state, restored.link
        self._followers = {}  # they followed another history
        self.damage = []
        self._log_damage(restored.damage)
        self.snapshot_bytes = 0 if tail.snapshot is None else self.codec.size(tail.snapshot)
        self.tail_bytes = 0
        self._recent_records.clear()
        if tail.head != ORIGIN or self.has_synced:
            self._emit_resync(tail.head)

    def _restore(self, tail: Tail[P]) -> "_Restored":
        checkpoint, link, damage = decode_snapshot(self.codec, self.path, tail)
        return _Restored(State.from_checkpoint(checkpoint), link, damage)

    def _already_applied(self, since: Cursor, tail: Tail[P]) -> int | None:
        """How many records of a tail are already applied; None when that is unknown. Under the lock."""
        if self.torn:
            return None
        if self.cursor == since:
            return 0
        if not tail.joined or since == ORIGIN:  # every incarnation begins there
            return None
        ids: list[int] = []
        for before, record_id in reversed(self._recent_records):
            ids.append(record_id)
            if before == since:
                break
        else:
            return None
        theirs = [record.id for record in tail.records]
        return min(len(ids), len(theirs)) if all(map(operator.eq, reversed(ids), theirs)) else None

    def _remember_records(self, before: Cursor | None, record_ids: Iterable[int]) -> None:
        """Remember applied records while a read that may return them again is under way. Under the lock."""
        if not self.readers:
            self._recent_records.clear()
            return
        for record_id in record_ids:
            self._recent_records.append((before, record_id))
            before = None  # cursors within a tail are unknown

    def place(self, version: int) -> bytes:
        """What a payload at a version states of its place, if this replica is right before it. Under the lock."""
        return self.link.place(version) if self.chained else NO_PLACE

    def apply_appended(
        self, reply: Appended[P], record_id: int, changes: Sequence[Change], place: bytes = NO_PLACE
    ) -> bool:
        """Apply the record this process just appended; False, applying nothing, if others precede it.

        Args:
            place: What the record states.
        """
        assert reply.cursor is not None  # only what was appended is applied
        with self.lock:
            if self.cursor != reply.previous or self.torn:
                self.stale = True
                return False
            try:
                if self._listeners:
                    self._fold(record_id, changes, reply.cursor, silent=False)
                else:
                    self.state.fold(record_id, changes)
                if place is not NO_PLACE:
                    self.link = self.link.after(place, record_id)
                self._remember_records(self.cursor, (record_id,))
                self.written += len(changes)
                self.incarnation = reply.incarnation
                self.tail_bytes = reply.tail_bytes
                self.cursor = reply.cursor
                self.has_synced = True
            except BaseException:
                self.torn, self.has_synced = True, False
                raise
            return True

    def _fold(self, record_id: int, changes: Sequence[Change], head: Cursor, *, silent: bool) -> None:
        befores = self.state.fold(record_id, changes)
        if changes and type(changes[0]) is ScopeReplaced and befores is not None:
            if not silent:
                self._emit_resync(head)
            return
        if befores is None or silent or not self._listeners:
            return
        for change, before in zip(changes, befores, strict=True):
            if not isinstance(change, IntentChange):
                self._outbox.append(Event(self.path, head, change, before))

    def _emit_resync(self, head: Cursor) -> None:
        if self._listeners:
            self._outbox.append(Event(self.path, head, Resynced()))

    def _log_damage(self, damage: Sequence[Damage]) -> None:
        for each in damage:
            _log.warning(
                "scope %r holds a damaged record %s: it was skipped and left where it is", self.path, each.record_id
            )
        self.damage.extend(damage)

    # -- what is done to all scopes of an agent

    @property
    def identity(self) -> int:
        """The chain of its incarnation, or of the first one of a restored scope; 0 if there is none."""
        return self.state.identity or (0 if self.incarnation is None else self.incarnation.chain)

    def settle_at(self, cursor: Cursor) -> None:
        """Remember that nothing was pending when the journal stood at a cursor."""
        with self.lock:
            if self.cursor == cursor:
                self.is_settled = self.has_synced

    # -- derived data

    def use_derived(self, kind: Callable[A, D], use: Callable[[D], R], /, *args: A.args, **named: A.kwargs) -> R:
        """Call a function with data of a kind, computed from the rows: up to date, and locked until it returns.

        An exception may leave the data half changed: it is dropped then, and computed again.

        Args:
            args: What the data is made with, the first time.
            named: The same, by name.
        """
        while True:
            with self.lock:
                follower = self._followers.get(kind)
                if follower is None:
                    data = kind(*args, **named)
                    follower = self._follow(kind, data, () if data.begins_empty else self.state.rows)
            if (result := self._use(kind, follower, use)) is not None:
                return result[0]

    def find_derived(self, kind: Callable[..., D]) -> tuple[D, int] | None:
        """Data of a kind, and how many rows changed since it was updated; None if there is none. Not locked."""
        follower = self._followers.get(kind)
        return None if follower is None else (follower.data, len(follower.pending))

    def update_derived(self, kind: Callable[A, D], most_bytes: int, /, *args: A.args, **named: A.kwargs) -> bool:
        """Apply a part of the changed rows to data of a kind; returns whether there are more.

        Args:
            most_bytes: Of all rows of the part, unless it is a single one.
        """
        with self.lock:
            follower = self._followers.get(kind) or self._follow(kind, kind(*args, **named), self.state.rows)
        return self._use(kind, follower, bool, most_bytes) is None or bool(follower.pending)

    def adopt_derived(self, kind: Callable[..., D], data: D, ids: Iterable[str], current: Mapping[str, Row]) -> bool:
        """Begin to follow with data that was computed before; False if there is some already.

        Args:
            ids: All rows that it was computed from.
            current: Those of them that are unchanged, by id; others are applied when it is used.
        """
        with self.lock:
            if kind in self._followers:
                return False
            rows = self.state.rows
            gone = [id for id in ids if id not in rows]
            self._follow(kind, data, [*gone, *(id for id, row in rows.items() if current.get(id) is not row)])
            return True

    def _follow(self, kind: Callable[..., D], data: D, changed: Iterable[str]) -> Follower[D]:
        """Make data of a kind follow the state. Under the lock."""
        follower = Follower(data, changed, self.state.reorderings)
        # Its feed first: without one it would miss changes; a feed without a follower is dropped here.
        self.state.feeds = [*(each.pending for each in self._followers.values()), follower.pending]
        self._followers[kind] = follower
        return follower

    def _use(
        self, kind: Callable[..., Any], follower: Follower[D], use: Callable[[D], R], most_bytes: int | None = None
    ) -> tuple[R] | None:
        """See `use_derived`; None if the data must be computed anew."""
        with follower.lock:
            if follower.in_use:
                self._drop_follower(kind, follower)
                return None
            follower.in_use = True
            result = None
            if self._update(kind, follower, most_bytes):
                try:
                    result = (use(follower.data),)
                except WmemError:  # raised before anything is changed
                    follower.in_use = False
                    raise
            follower.in_use = False
            return result

    def _update(self, kind: Callable[..., Any], follower: Follower[Any], most_bytes: int | None) -> bool:
        """Apply the changed rows, or a part of them, to a follower, under its own lock.

        Returns:
            False if the state was replaced or reordered.
        """
        with self.lock:
            if self._followers.get(kind) is not follower:
                return False
            if follower.reorderings != self.state.reorderings:
                self._drop_follower(kind, follower)
                return False
            parts = self._take_changed(follower, most_bytes)
        for changed in parts:
            follower.data.apply(changed)
        return True

    def _take_changed(self, follower: Follower[Any], most_bytes: int | None = None) -> list[dict[str, Row | None]]:
        """The changed rows; before them as gone those of which others have the ids now."""
        rows, pending = self.state.rows, follower.pending
        ids = list(pending if most_bytes is None else self._iter_part(pending, most_bytes))
        # A message that was withdrawn is gone for whatever is computed from the conversation.
        changed = {id: None if (row := rows.get(id)) is None or row.withdrawn_at is not None else row for id in ids}
        others: dict[str, Row | None] = {id: None for id in ids if pending[id] and changed[id] is not None}
        if len(ids) == len(pending):
            pending.clear()
        for id in ids if pending else ():
            del pending[id]
        return [others, changed] if others else [changed]

    def _iter_part(self, ids: Iterable[str], most_bytes: int) -> Iterator[str]:
        """The first of these ids, one at least, as long as their rows have so many bytes."""
        size = 0
        for id in ids:
            row = self.state.rows.get(id)
            if size and size + _ROW_BYTES > most_bytes:
                return
            size += _ROW_BYTES if row is None else row.size_bytes
            yield id

    def catch_up(self, kind: Callable[..., D], data: D) -> None:
        """Apply rows changed since `use_derived` updated its data: for one who takes `lock` inside its call, too."""
        follower = self._followers.get(kind)
        for changed in self._take_changed(follower) if follower is not None and follower.data is data else ():
            data.apply(changed)

    def _drop_follower(self, kind: Callable[..., Any], follower: Follower[Any]) -> None:
        with self.lock:
            if self._followers.get(kind) is follower:
                del self._followers[kind]
                self.state.feeds = [each.pending for each in self._followers.values()]

    def compact_derived(self) -> None:
        """Leave nothing of removed rows in what was computed from them."""
        for kind, follower in list(self._followers.items()):
            self._use(kind, follower, _COMPACT)

    @property
    def derived_bytes(self) -> int:
        """Bytes of all that was computed from the rows."""
        data: list[Derived] = [follower.data for follower in list(self._followers.values())]
        return sum(each.bytes for each in data)

    # -- touches

    def touch(self, item_id: str, now: float) -> int:
        """Count a fetch locally; returns how many of this item are not yet written. Under the lock."""
        unwritten = self.state.unwritten_touches
        count = unwritten.get(item_id, (0, now))[0] + 1
        unwritten[item_id] = (count, now)
        if self.unwritten_since is None:
            self.unwritten_since = now
        return count

    def take_touches(self) -> tuple[ItemTouched, ...]:
        """Remove and return the unwritten fetches, as changes. Under the lock."""
        if not self.state.unwritten_touches:
            return ()
        taken = tuple(ItemTouched(each, count, at) for each, (count, at) in self.state.unwritten_touches.items())
        self.state.unwritten_touches = {}
        self.unwritten_since = None
        return taken

    def return_touches(self, touches: Sequence[ItemTouched]) -> None:
        """Put back what `take_touches` took: the append changed nothing. Under the lock."""
        unwritten = self.state.unwritten_touches
        for touch in touches:
            count, at = unwritten.get(touch.id, (0, touch.at))
            unwritten[touch.id] = (count + touch.times, max(at, touch.at))
            self.unwritten_since = at if self.unwritten_since is None else self.unwritten_since


class DecodedTail(NamedTuple):
    """What a tail decodes to: its records, and its snapshot where it begins a history anew."""

    records: list[Decoded]
    restored: "_Restored | None"


class _Restored(NamedTuple):
    """What a tail's snapshot holds; an empty state, and damage, if it cannot be read."""

    state: State
    link: Link
    damage: Sequence[Damage]


def _find_replacement(decoded: Sequence[Decoded]) -> int | None:
    """The last record that replaces all that the scope held before it, by its number; None if there is none."""
    for number in range(len(decoded) - 1, -1, -1):
        changes = decoded[number]
        if changes and type(changes[0]) is ScopeReplaced:
            return number
    return None
