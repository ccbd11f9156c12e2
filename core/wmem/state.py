"""The state of a scope: the fold of its changes, as rows.

Folding applies no rule and reads no clock. A state is not safe for threads: its
replica's lock guards it. An exception in the middle of a fold leaves it between two states; its
replica is thrown away then. Until that happens every index still names rows that are there.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from itertools import takewhile
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, cast

from wmem.model.change import (
    Change,
    Checkpoint,
    Cleared,
    ClearIntended,
    Decided,
    Decision,
    DecisionKind,
    Erased,
    IntentReached,
    ItemEvicted,
    ItemExpired,
    ItemPromoted,
    ItemPut,
    ItemRemoved,
    ItemTouched,
    MessagesRestored,
    MessagesWithdrawn,
    Places,
    PolicyChanged,
    RestoreIntended,
    RestorePrepared,
    RowPlace,
    ScopeDisposed,
    ScopeMerged,
    ScopeOpened,
    ScopeReplaced,
    StepAdvanced,
    TurnEnded,
    TurnTraced,
)
from wmem.model.ids import parse_promoted_id
from wmem.model.origin import names_merged
from wmem.model.row import Row
from wmem.model.values import load_json
from wmem.order import Orders

if TYPE_CHECKING:
    from wmem.model.history import Cursor, Path

APPLIED_MAX = 256  # record ids a fold remembers, to apply a repeated record only once
DECISIONS_MAX = 1_000
MERGED_MAX = 1_000  # merged sources that a scope remembers
TURNS_MAX = 256  # ended turns that a scope remembers, so that none is a second step
GONE_MAX = 1_000  # removed rows of which a scope remembers place and id
_TRACE_BYTES = 40  # that a turn takes beside its events
_SYSTEM_ROLES = ("system", "developer")


@dataclass(frozen=True, slots=True)
class RepeatedSystemText:
    """The ids of messages that only repeat the leading system text."""

    rows: Mapping[str, Row]
    places: Mapping[str, int]
    leading: Mapping[str, bytes]
    contents: frozenset[bytes]
    other: int | None
    """Place of the first message of another system text."""

    def __contains__(self, id: object) -> bool:
        row = self.rows.get(id) if isinstance(id, str) else None
        if row is None or row.content not in self.contents or row.id in self.leading or not _is_system_text(row):
            return False
        return self.other is None or self.places.get(row.id, self.other) < self.other


class State:
    """Rows by id in the order of the journal, with lookups by key and kind."""

    def __init__(self) -> None:  # noqa: PLR0915  # a statement for each field
        self.rows: dict[str, Row] = {}
        self.entries: dict[str, str] = {}
        self.items: dict[str, int] = {}
        """Their places among the items."""
        self.messages: dict[str, int] = {}
        """Their places in the journal: later ones have larger ones. A place is never given to another message."""
        self.withdrawn: dict[str, int] = {}
        """Messages that were taken back, with the places they had, by which they are not sorted."""
        self.reorderings = 0
        """How often messages came back before other rows: what was computed from the order is out of date then."""
        self._latest_place = 0
        self._latest_item_place = 0
        self.gone: dict[int, str] = {}
        """The ids of the rows that were removed last, by their places; those of items are negative."""
        self._orders = Orders()
        self.traces: list[TurnTraced] = []
        """What a trace tells of turns, oldest first."""
        self.trace_bytes = 0
        """Bytes of these."""
        self.message_tokens = 0
        """Tokens of all messages, as counted when they were written."""
        self.pinned_messages: dict[str, None] = {}
        """Pinned messages, which every pack holds."""
        self.system_messages: dict[str, None] = {}
        """Messages of system text."""
        self._system_texts: dict[bytes, int] | None = {}
        """The place of the first message of each system text, in order; None if they must be sought anew."""
        self.pinned_items: dict[str, None] = {}
        """Pinned items that are no messages, which every pack holds."""
        self.standing_messages: dict[str, None] = {}
        """Messages of the user with standing requests."""
        self.origins: dict[str, tuple[str, ...]] = {}
        """Of items promoted to here: their id where they were, to their ids here, or to those of the items into which
        they were merged here; several scopes may use one id."""
        self.policy: str | None = None
        self.disposed = False
        self.applied: set[int] = set()
        self.applied_order: deque[int] = deque()
        """The ids in `applied`, oldest first."""
        self.merged: dict[tuple[Path, bool, bool], Cursor] = {}
        """Cursor of the last merge by (source, overwrite, with items)."""
        self.decisions: list[Decision] = []
        self.erased: dict[str, int] = {}
        """What was erased, and its place as in `gone`; 0 where it had none."""
        self.unfinished: dict[str, tuple[RowPlace, ...]] = {}
        """Of what was erased by an erasure that is not finished: where else it goes."""
        self.step = 0
        """How many turns its agent has taken."""
        self.turns: dict[str, None] = {}
        """The ids of the turns that ended last, oldest first."""
        self.identity = 0
        """Of a scope that was restored, the chain of its first incarnation; 0 for that of its journal."""
        self.replaces: tuple[int, ...] = ()
        """The incarnations in whose place it was restored, the last ones."""
        self.intent = 0
        """What was last done to all scopes of the agent and is done to this one."""
        self.renewed_at = 0.0
        """When a scope with a lease, or one below such a scope, was last written; when any other was opened."""
        self.bytes = 0
        self.unwritten_touches: dict[str, tuple[int, float]] = {}
        """Fetches of this process that are not yet in the journal: id to (count, last at)."""
        self.feeds: list[dict[str, bool]] = []
        """For each follower of this state, the ids put or removed since it was updated; what is new in the order of the
        rows. Whether the row was dropped: one that has its id then is another, and stands elsewhere."""

    def copy(self) -> "State":
        """A copy that shares the rows, which never change, and has no followers."""
        twin = State()
        for name, value in vars(self).items():
            if name != "feeds":
                setattr(twin, name, copy(value))
        return twin

    # -- reading

    def entry(self, key: str, now: float) -> Row | None:
        """The visible entry under a key."""
        found = self.entries.get(key)
        # Two atomic lookups, so that a reader needs no lock: a row removed in between is absent.
        row = None if found is None else self.rows.get(found)
        return row if row is not None and row.visible(now) else None

    def visible(self, ids: Iterable[str], now: float) -> list[Row]:
        """The visible rows among ids, in the order given."""
        return [row for row in map(self.rows.__getitem__, ids) if row.visible(now)]

    def others_of(self, ids: Iterable[str]) -> list[tuple[RowPlace, ...]]:
        """Where else the unfinished erasures of these ids go."""
        found = (self.unfinished[each] for each in ids if each in self.unfinished)
        return list({id(others): others for others in found}.values())

    def newest_messages(self) -> Iterator[Row]:
        """Messages, newest first; to be consumed under the lock."""
        return map(self.rows.__getitem__, reversed(self.messages))

    def items_after(self, id: str) -> Iterator[Row]:
        """Items after one, oldest first; it may be gone. To be consumed under the lock.

        Raises:
            KeyError: Nothing is known of it.
        """
        place = self._find_past_place(id)
        if place >= 0:
            raise KeyError(id)
        return map(self.rows.__getitem__, self._orders.find("items", self.items).after(-place, self.items))

    def messages_before(self, id: str) -> Iterator[Row]:
        """Messages before one, newest first; it may be withdrawn or gone. See `items_after`."""
        place = self._find_past_place(id)
        if place <= 0:
            raise KeyError(id)
        return map(self.rows.__getitem__, self._orders.find("messages", self.messages).before(place, self.messages))

    def leading_system_text(self) -> list[Row]:
        """The system messages that the conversation begins with, which every pack holds."""
        return list(takewhile(_is_system_text, map(self.rows.__getitem__, self.messages)))

    def find_repeated_system_text(self) -> "RepeatedSystemText":
        """The messages that repeat the leading system text before any other was said, as each session may begin.

        Later ones are conversation: after another text a repetition takes effect again.
        """
        leading = {row.id: row.content for row in self.leading_system_text()}
        contents = frozenset(leading.values())
        if self._system_texts is None:
            placed = sorted((self.messages[each], self.rows[each].content) for each in self.system_messages)
            self._system_texts = {}
            for place, content in placed:
                self._system_texts.setdefault(content, place)
        # In the order of their places: the first that the leading ones do not have is soon found.
        other = next((place for content, place in self._system_texts.items() if content not in contents), None)
        return RepeatedSystemText(self.rows, self.messages, leading, contents, other)

    # -- folding

    def fold(self, record_id: int, changes: Iterable[Change]) -> list[Row | None] | None:
        """Apply one record; None when it was applied before.

        Returns:
            For each change, the row it replaced or removed, if any.
        """
        if record_id in self.applied:
            return None
        self.applied.add(record_id)
        self.applied_order.append(record_id)
        if len(self.applied_order) > APPLIED_MAX:
            self.applied.discard(self.applied_order.popleft())
        befores: list[Row | None] = []
        for change in changes:
            befores.append(self._FOLDS[type(change)](self, change))  # noqa: PERF401  # up to Python 3.11 a comprehension is one more call
        return befores

    def _put(self, change: ItemPut) -> Row | None:
        row = change.row
        before = self.rows.get(row.id)
        if row.key is not None and (held := self.entries.get(row.key)) is not None and held != row.id:
            # Two writers set a new key at once: the later value wins, under the earlier id.
            before = self.rows[held]
            row = row._replace(id=held)
        if before is not None and (
            (before.key is None) is not (row.key is None) or (before.role is None) is not (row.role is None)
        ):
            # Two writers used one id for rows of two kinds: both stay, the later one under another id.
            row = row._replace(id=f"{row.id}~{row.type}")
            before = self.rows.get(row.id)
        if before is None:
            self.rows[row.id] = row
            self._index(row)
            for feed in self.feeds:
                feed[row.id] = feed.pop(row.id, False)
        else:
            self.bytes -= before.size_bytes
            if row.created_at != before.created_at:
                row = row._replace(created_at=before.created_at)
            if (before.withdrawn_at is None) is not (row.withdrawn_at is None):
                self._withdraw_or_restore((row.id,), row.withdrawn_at)
            self.rows[row.id] = row
            if before.key != row.key:
                self._unindex(before)
                self._index(row)
            elif row.key is None and row.withdrawn_at is None:
                self._update(row, before)
            for feed in self.feeds:
                feed.setdefault(row.id, False)
        self.bytes += row.size_bytes
        return before

    def _update(self, row: Row, before: Row) -> None:
        """Take over what lookups hold of an item or message that replaced one."""
        if row.role is not None:
            self.message_tokens += (row.tokens or 0) - (before.tokens or 0)
        elif row.rest != before.rest and (names_merged(before) or names_merged(row)):
            self._unindex_sources(before)
            self._index_sources(row)
        if before.content != row.content and (_is_system_text(before) or _is_system_text(row)):
            self._system_texts = None
        self._update_pinned(row)
        self._sort_pinned(row)
        self._update_standing(row, before)

    def _index(self, row: Row) -> None:
        if row.key is not None:
            self.entries[row.key] = row.id
        elif row.role is not None:
            self._latest_place += 1
            if row.withdrawn_at is not None:
                self.withdrawn[row.id] = self._latest_place
                return
            self.messages[row.id] = self._latest_place
            if self._orders:
                self._orders.extend("messages", row.id, self._latest_place)
            self._index_message(row)
        else:
            self._latest_item_place += 1
            self.items[row.id] = self._latest_item_place
            if self._orders:
                self._orders.extend("items", row.id, self._latest_item_place)
            self._update_pinned(row)
            self._index_sources(row)

    def _index_sources(self, row: Row) -> None:
        for source in _source_ids(row):
            self.origins[source] = (*self.origins.get(source, ()), row.id)

    def _unindex_sources(self, row: Row) -> None:
        for source in _source_ids(row):
            self.origins[source] = tuple(each for each in self.origins[source] if each != row.id)
            if not self.origins[source]:
                del self.origins[source]

    def _index_message(self, row: Row) -> None:
        self.message_tokens += row.tokens or 0
        self._update_pinned(row)
        if row.standing:
            self.standing_messages[row.id] = None

    def _update_pinned(self, row: Row) -> None:
        held = self.pinned_items if row.role is None else self.pinned_messages
        if row.pinned:
            held[row.id] = None
        else:
            held.pop(row.id, None)
        if _is_system_text(row):
            if self._system_texts is not None:
                self._system_texts.setdefault(row.content, self.messages[row.id])
            self.system_messages[row.id] = None
        elif self.system_messages:
            self.system_messages.pop(row.id, None)

    def _sort_pinned(self, row: Row) -> None:
        """Keep pinned rows in the order they were added, not the order they were pinned."""
        held, places = (self.pinned_items, self.items) if row.role is None else (self.pinned_messages, self.messages)
        if row.id in held and next(reversed(held)) == row.id:
            ordered = [each for each in places if each in held]
            held.clear()
            held.update(dict.fromkeys(ordered))

    def _update_standing(self, row: Row, before: Row) -> None:
        if not row.standing:
            self.standing_messages.pop(row.id, None)
        elif not before.standing:
            held = {*self.standing_messages, row.id}
            self.standing_messages = {each: None for each in self.messages if each in held}

    def _unindex(self, row: Row) -> None:
        if row.key is not None:
            self.entries.pop(row.key, None)
        elif row.withdrawn_at is not None:
            self.withdrawn.pop(row.id, None)
        elif row.role is not None:
            self.messages.pop(row.id, None)
            self.message_tokens -= row.tokens or 0
            self.pinned_messages.pop(row.id, None)
            self.standing_messages.pop(row.id, None)
            if self.system_messages.pop(row.id, self) is None:
                self._system_texts = None
        else:
            self.items.pop(row.id, None)
            self.pinned_items.pop(row.id, None)
            self._unindex_sources(row)

    def _remove(self, change: ItemRemoved) -> Row | None:
        return self._drop(change.id)

    def _expire(self, change: ItemExpired) -> Row | None:
        row = self._drop(change.id)
        if row is not None and change.at is not None:
            parts = {} if row.expires_at is None else {"expires_at": row.expires_at}
            self._decide(Decision(row.id, "expired", row.tokens or 0, change.at, parts, "expired"))
        return row

    def _decide(self, decision: Decision) -> None:
        self.decisions.append(decision)
        del self.decisions[:-DECISIONS_MAX]

    def _drop(self, item_id: str) -> Row | None:
        row = self.rows.get(item_id)
        if row is None:
            return None
        if place := self.find_place(item_id):
            self.gone[place] = item_id
            if len(self.gone) > GONE_MAX:
                del self.gone[next(iter(self.gone))]
        self._unindex(row)
        del self.rows[item_id]
        self.bytes -= row.size_bytes
        if self.unwritten_touches:
            self.unwritten_touches.pop(item_id, None)  # a later item under this id must not inherit its fetches
        for feed in self.feeds:
            feed[item_id] = True
        return row

    def find_place(self, id: str) -> int:
        """Where a row stands, as in `gone`; 0 for an entry, and for what is not there."""
        return self.messages.get(id) or self.withdrawn.get(id) or -self.items.get(id, 0)

    def _find_past_place(self, id: str) -> int:
        """Where a row stands, or stood, as in `gone`; 0 for an entry, and where that is not remembered."""
        gone = reversed(self.gone.items())
        return self.find_place(id) or self.erased.get(id) or next((place for place, each in gone if each == id), 0)

    def _touch(self, change: ItemTouched) -> Row | None:
        row = self.rows.get(change.id)
        if row is None:
            return None
        last = change.at if row.last_accessed_at is None else max(row.last_accessed_at, change.at)
        self.rows[change.id] = row._replace(access_count=row.access_count + change.times, last_accessed_at=last)
        return row

    def _promote(self, change: ItemPromoted) -> Row | None:
        row = self.rows.get(change.id)
        if row is None:
            return None
        self.rows[change.id] = row._replace(promoted_to=change.to, promoted_at=change.at)
        if change.rule:
            self._decide(Decision(row.id, change.rule, row.tokens or 0, change.at, change.parts or {}, "promoted"))
        return row

    def _evict(self, change: ItemEvicted) -> Row | None:
        self._decide(Decision(change.id, change.rule, change.tokens, change.at, change.parts))
        return self._drop(change.id)

    def _take_over(self, change: Decided) -> None:
        self._decide(Decision(*change[1:-1], kind=cast("DecisionKind", change.kind), into=change.into))

    def _erase(self, change: Erased) -> None:
        for each in change.ids:
            place = self.find_place(each)
            self._drop(each)
            self.gone.pop(place, None)  # remembered for good
            if place and (earlier := self.erased.get(each)):
                self.gone[earlier] = each
            self.erased[each] = place or self.erased.get(each, 0)
            if change.others:
                self.unfinished[each] = change.others
            elif change.others is not None:
                self.unfinished.pop(each, None)

    def _withdraw(self, change: MessagesWithdrawn) -> None:
        self._withdraw_or_restore(change.ids, change.at)

    def _restore(self, change: MessagesRestored) -> None:
        self._withdraw_or_restore(change.ids, None)

    def _withdraw_or_restore(self, ids: Iterable[str], withdrawn_at: float | None) -> None:
        """Take messages out of the conversation, or with None back into their places in it."""
        come, go = (self.messages, self.withdrawn) if withdrawn_at is None else (self.withdrawn, self.messages)
        newest = next(reversed(self.messages.values()), 0)
        places = sorted((go[each], each) for each in dict.fromkeys(ids) if each in go)
        for place, each in places:
            row = self.rows[each]
            self._unindex(row)
            self.rows[each] = row = row._replace(withdrawn_at=withdrawn_at)
            come[each] = place
            if withdrawn_at is None:
                self._index_message(row)
            for feed in self.feeds:
                feed.pop(each, None)
                feed[each] = True
        if withdrawn_at is None and places:
            self._orders.drop("messages")
            if places[0][0] < newest:
                self._sort_messages()
            self._count_reordering({each for _, each in places})

    def _sort_messages(self) -> None:
        """Put messages that came back before others into their places, here and in what follows their order."""
        self.messages = dict(sorted(self.messages.items(), key=itemgetter(1)))
        self.pinned_messages = dict.fromkeys(filter(self.pinned_messages.__contains__, self.messages))
        self.standing_messages = dict.fromkeys(filter(self.standing_messages.__contains__, self.messages))
        self._system_texts = None

    def _count_reordering(self, restored: set[str]) -> None:
        """Count messages that came back unless nothing but they is at the end of the rows."""
        for row in reversed(self.rows.values()):
            if row.id in restored:
                restored.remove(row.id)
                if not restored:
                    return
            elif row.withdrawn_at is None:
                self.reorderings += 1
                return

    def _set_policy(self, change: ScopeOpened | PolicyChanged) -> None:
        self.policy = change.policy
        self.renewed_at = max(self.renewed_at, change.at)

    def _dispose(self, _: ScopeDisposed) -> None:
        self.disposed = True

    def _clear(self, change: Cleared) -> None:
        if change.facet == "all":
            self.merged.clear()  # merged content is gone: it may be merged again
        for name in ("entries", "items", "messages") if change.facet == "all" else (change.facet,):
            facet: dict[str, Any] = getattr(self, name)
            for each in list(facet.values() if name == "entries" else facet):
                self._drop(each)
            for each in list(self.withdrawn) if name == "messages" else ():
                self._drop(each)

    def _merge(self, change: ScopeMerged) -> None:
        mark = (change.source, change.overwrite, change.with_items)
        self.merged.pop(mark, None)
        self.merged[mark] = change.cursor
        if len(self.merged) > MERGED_MAX:
            # Most sources are scopes of short tasks, which are disposed by then.
            del self.merged[next(iter(self.merged))]

    def _advance(self, change: StepAdvanced) -> None:
        self.step = max(self.step, change.step)
        self.renewed_at = max(self.renewed_at, change.at)

    def _end_turn(self, change: TurnEnded) -> None:
        self.renewed_at = max(self.renewed_at, change.at)
        if change.turn_id in self.turns:
            return
        self.step += 1
        self.turns[change.turn_id] = None
        if len(self.turns) > TURNS_MAX:
            del self.turns[next(iter(self.turns))]

    def _trace(self, change: TurnTraced) -> None:
        before, traces = self.trace_bytes, self.traces
        if change.turn_id:
            traces.append(change)
            self.trace_bytes += _trace_bytes(change)
        while traces and (
            traces[0].at < change.at - change.keep_s
            or len(traces) > change.keep_turns
            or (self.trace_bytes > change.keep_bytes and len(traces) > 1)
        ):
            self.trace_bytes -= _trace_bytes(traces.pop(0))
        self.bytes += self.trace_bytes - before

    def _replace(self, change: ScopeReplaced) -> None:
        own = ("applied", "applied_order", "feeds", "reorderings")  # of the journal, and of followers
        for name, value in vars(State.from_checkpoint(change.content)).items():
            if name not in own:
                setattr(self, name, value)
        self.reorderings += 1

    def _reach(self, change: IntentReached) -> None:
        self.intent = change.intent

    def _ignore(self, _: RestoreIntended | ClearIntended | RestorePrepared) -> None:
        """What is intended changes no scope but those that it is about."""

    _FOLDS: ClassVar[Mapping[type, Callable[["State", Any], Row | None]]] = {
        ItemPut: _put,
        ItemRemoved: _remove,
        ItemTouched: _touch,
        ItemExpired: _expire,
        ItemPromoted: _promote,
        ItemEvicted: _evict,
        Decided: _take_over,
        Erased: _erase,
        MessagesWithdrawn: _withdraw,
        MessagesRestored: _restore,
        ScopeOpened: _set_policy,
        ScopeDisposed: _dispose,
        Cleared: _clear,
        PolicyChanged: _set_policy,
        ScopeMerged: _merge,
        StepAdvanced: _advance,
        TurnEnded: _end_turn,
        TurnTraced: _trace,
        ScopeReplaced: _replace,
        IntentReached: _reach,
        RestoreIntended: _ignore,
        ClearIntended: _ignore,
        RestorePrepared: _ignore,
    }

    # -- checkpoints

    def checkpoint(self) -> Checkpoint:
        """This state as a checkpoint."""
        return Checkpoint(
            rows=tuple(self.rows.values()),
            policy=self.policy,
            disposed=self.disposed,
            applied=tuple(self.applied_order),
            merged=tuple(self.merged.items()),
            decisions=tuple(self.decisions),
            erased=tuple(self.erased),
            step=self.step,
            renewed_at=self.renewed_at,
            unfinished=tuple(Erased(tuple(ids), others) for ids, others in self._group_unfinished()),
            turns=tuple(self.turns),
            places=self._list_places(),
            traces=tuple(self.traces),
            identity=self.identity,
            replaces=self.replaces,
            intent=self.intent,
        )

    def _list_places(self) -> Places | None:
        """The places to store; None if counting the rows gives them."""
        messages = _list_gaps(place for id in self.rows if (place := self.find_place(id)) > 0)
        items = _list_gaps(self.items.values())
        latest = self._latest_place, self._latest_item_place
        counts = len(self.messages) + len(self.withdrawn), len(self.items)
        erased = tuple(self.erased.values()) if any(self.erased.values()) else ()
        if not (messages or items or self.gone or erased) and latest == counts:
            return None
        return Places(messages, items, latest, tuple(self.gone.items()), erased)

    def _group_unfinished(self) -> Iterable[tuple[list[str], tuple[RowPlace, ...]]]:
        """The ids in `unfinished` that were erased together, with where else that erasure goes."""
        groups: dict[int, tuple[list[str], tuple[RowPlace, ...]]] = {}
        for each, others in self.unfinished.items():
            groups.setdefault(id(others), ([], others))[0].append(each)
        return groups.values()

    @classmethod
    def from_checkpoint(cls, checkpoint: Checkpoint | None) -> "State":
        """The state of a checkpoint; None: the empty state of a scope that does not exist."""
        state = cls()
        if checkpoint is not None:
            places = _PlaceReader(checkpoint.places)
            for row in checkpoint.rows:
                state.rows[row.id] = row
                if places.has_gaps:
                    state._latest_place, state._latest_item_place = places.before(
                        row, (state._latest_place, state._latest_item_place)
                    )  # of its own class
                state._index(row)  # of its own class
                state.bytes += row.size_bytes
            state.policy, state.disposed = checkpoint.policy, checkpoint.disposed
            state.applied_order.extend(checkpoint.applied)
            state.applied.update(checkpoint.applied)
            state.merged = dict(checkpoint.merged)
            state.decisions = list(checkpoint.decisions)
            state._adopt_places(checkpoint)  # of its own class
            state.traces = list(checkpoint.traces)
            state.trace_bytes = sum(map(_trace_bytes, state.traces))
            state.bytes += state.trace_bytes
            state.step, state.renewed_at = checkpoint.step, checkpoint.renewed_at
            state.turns = dict.fromkeys(checkpoint.turns)
            state.identity, state.replaces, state.intent = checkpoint.identity, checkpoint.replaces, checkpoint.intent
            state.unfinished = {id: each.others for each in checkpoint.unfinished for id in each.ids if each.others}
        return state

    def _adopt_places(self, checkpoint: Checkpoint) -> None:
        """Take over what a checkpoint knows of the places of what is no longer there."""
        self.erased = dict.fromkeys(checkpoint.erased, 0)
        if checkpoint.places is None:
            return
        _, _, (self._latest_place, self._latest_item_place), gone, erased = checkpoint.places
        self.gone = dict(gone)
        if erased:
            self.erased = dict(zip(checkpoint.erased, erased, strict=True))


class _PlaceReader:
    """Tells the places of a checkpoint's rows, one by one, where counting does not give them."""

    def __init__(self, places: Places | None) -> None:
        messages, items = ((), ()) if places is None else places[:2]
        self.has_gaps = bool(messages or items)
        self._gaps = dict(messages), dict(items)
        self._counts = [0, 0]

    def before(self, row: Row, latest: tuple[int, int]) -> tuple[int, int]:
        """The places of a message and an item after which the next ones come, for this row to get its own."""
        if row.key is not None:
            return latest
        is_item = row.role is None
        place = self._gaps[is_item].get(self._counts[is_item])
        self._counts[is_item] += 1
        if place is None:
            return latest
        return (latest[0], place - 1) if is_item else (place - 1, latest[1])


def _list_gaps(places: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Where places are not the ones after those before them."""
    due, gaps = 1, []
    for number, place in enumerate(places):
        if place != due:
            gaps.append((number, place))
        due = place + 1
    return tuple(gaps)


def _trace_bytes(turn: TurnTraced) -> int:
    return _TRACE_BYTES + len(turn.events)


def _is_system_text(row: Row) -> bool:
    return row.role in _SYSTEM_ROLES


def _source_ids(row: Row) -> Iterable[str]:
    """The ids under which a promoted row was in working memory, and what was merged into it; none for any other row."""
    source = parse_promoted_id(row.id)
    has_merged = names_merged(row)
    if source is None and not has_merged:
        return ()
    own = () if source is None else (source,)
    if row.rest is None or (not has_merged and row.rest.count(b'"incarnation"') < 2):  # noqa: PLR2004  # copied once, under its own id
        return own
    origins = load_json(row.rest).get("origins", ())
    return dict.fromkeys((*own, *(each["id"] for each in origins)))
