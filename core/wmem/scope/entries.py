"""Scoped key-value: values by key, read through to the parents, written here.

Reads are pure functions over the states of a scope and its parents; the faces run
them sync, async or on a frozen view.
"""

import inspect
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast, overload

from wmem.engine import RETRY_S, Callback, Decide, Pause, backoff
from wmem.errors import CapacityError, ConflictError, InvalidInputError, NotFoundError
from wmem.flow import Flow, ask
from wmem.model.change import Change, Cleared, ItemPut, ItemRemoved
from wmem.model.checks import as_tags, checked_key
from wmem.model.ids import new_ulid
from wmem.model.item import ItemKind, MemoryItem, item_of, rest_of
from wmem.model.row import Row
from wmem.model.values import dump_value, load_value, type_name_of
from wmem.rules.importance import importance as importance_of
from wmem.rules.ttl import expiry
from wmem.scope.handle import Handle, Read, Unknown, nearest
from wmem.state import State

__all__ = ["AsyncEntries", "AsyncLocalEntries", "Entries", "EntryReads", "LocalEntries", "ViewedEntries"]

T = TypeVar("T")
R = TypeVar("R")

_NEARLY_FULL = 0.95  # of a scope's entries: from here on each new key is counted afresh
_NATURAL = (str, int, float, bool, list, dict, type(None))


class _Missing:
    """The type of a default that was not given."""


_MISSING = _Missing()


# -- reads


def _get(key: str) -> Read[Row | None]:
    return lambda states, now: nearest(key, states, now)


def _local_and_nearest(key: str) -> Read[tuple[Row | None, Row | None]]:
    return lambda states, now: (states[0].entry(key, now), nearest(key, states, now))


def _merged(states: Sequence[State], now: float) -> dict[str, Row]:
    """The visible entries by key, nearest scope first; what is shadowed is left out."""
    found: dict[str, Row] = {}
    for state in states:
        for row in state.visible(state.entries.values(), now):
            found.setdefault(cast("str", row.key), row)
    return found


def _items(states: Sequence[State], now: float) -> dict[str, MemoryItem]:
    return {key: item_of(row, importance_of(row, now)) for key, row in _merged(states, now).items()}


def _rows(keys: Sequence[str]) -> Read[dict[str, Row]]:
    def read(states: Sequence[State], now: float) -> dict[str, Row]:
        found = {key: _get(key)(states, now) for key in keys}
        return {key: row for key, row in found.items() if row is not None}

    return read


def _checked_keys(keys: Iterable[str]) -> list[str]:
    if isinstance(keys, str) or not isinstance(keys, Iterable):
        msg = f"keys must be a list of keys, got {keys!r:.80}"
        raise InvalidInputError(msg)
    return [checked_key(key) for key in keys]


def _revived(row: Row | None, default: Any, as_type: Any, key: str) -> Any:
    return default if row is None else load_value(row.content, as_type, key=key)


# -- writes, as flows


class _Draft(NamedTuple):
    """A checked value on its way to a row."""

    key: str
    content: bytes
    rest: bytes | None
    tags: tuple[str, ...]
    importance: float
    ttl_s: float | None


def _draft(
    handle: Handle,
    key: str,
    value: object,
    *,
    tags: Iterable[str] = (),
    importance: float = 0.5,
    metadata: Mapping[str, Any] | None = None,
    kind: ItemKind = "fact",
    ttl_s: float | None = None,
) -> _Draft:
    key = checked_key(key)
    content = dump_value(value, key=key)
    limit = handle.policy.max_entry_bytes
    if len(content) > limit:
        msg = f"the value of {key!r} takes {len(content)} bytes as JSON, more than the {limit} an entry may take"
        raise CapacityError(msg)
    if isinstance(importance, bool) or not isinstance(importance, int | float) or not 0 <= importance <= 1:
        msg = f"importance must be a number from 0 to 1, got {importance!r:.80}"
        raise InvalidInputError(msg)
    rest = None
    if metadata or kind != "fact" or type(value) not in _NATURAL:
        fields: dict[str, Any] = {"metadata": metadata or None, "kind": kind}
        if type(value) not in _NATURAL:
            fields["type_name"] = type_name_of(value)
        rest, _ = rest_of(fields, now=0.0)
    return _Draft(key, content, rest, as_tags(tags) if tags != () else (), float(importance), ttl_s)


def _row(handle: Handle, state: State, draft: _Draft, now: float, fresh_id: str | None = None) -> Row:
    """The row of a draft, in the place of the entry that is there or under a fresh id.

    Raises:
        CapacityError: The scope is full and the key is new.
    """
    held = state.entries.get(draft.key)
    if held is None and len(state.entries) >= handle.policy.max_entries:
        live = len(state.visible(state.entries.values(), now))
        if live >= handle.policy.max_entries:
            msg = f"scope {handle.path!r} is full: {live} of {handle.policy.max_entries} entries; remove some"
            raise CapacityError(msg)
    expires_at = None
    if draft.ttl_s is not None:
        expires_at = expiry(handle.policy, "medium", draft.ttl_s, now, pinned=False)
    there = None if held is None else state.rows.get(held)
    return Row(
        held or fresh_id or new_ulid(now),
        draft.content,
        now if there is None else there.created_at,
        now,
        draft.key,
        None,
        "fact",
        "medium",
        draft.tags,
        draft.importance,
        expires_at=expires_at,
        rest=draft.rest,
    )


def _set(
    handle: Handle,
    key: str,
    value: object,
    *,
    tags: Iterable[str],
    importance: float,
    metadata: Mapping[str, Any] | None,
    kind: ItemKind,
    ttl_s: float | None,
) -> Flow[None]:
    key = checked_key(key)
    handle.check()
    if handle.birth is None:
        yield from handle.replica()
    draft = _draft(handle, key, value, tags=tags, importance=importance, metadata=metadata, kind=kind, ttl_s=ttl_s)
    now = handle.settings.clock()
    # The place of a key that is there is known from the last catch-up; where it is not, the fold decides.
    replica = handle.engine.replica(handle.path)
    if key not in replica.state.entries and (
        replica.behind or len(replica.state.entries) >= _NEARLY_FULL * handle.policy.max_entries
    ):
        yield from handle.replica()
    yield from handle.post((ItemPut(_row(handle, replica.state, draft, now)),), now)


def _update(handle: Handle, key: str, function: Callable[[Any], Any], default: Any, as_type: Any) -> Flow[Any]:
    key = checked_key(key)
    _checked_callable("function", function)
    now = handle.settings.clock()
    fresh_id = new_ulid(now)
    deadline = time.monotonic() + RETRY_S
    tries = 0
    while True:
        local, before = yield from handle.read(_local_and_nearest(key))
        if before is None:
            _intact(handle, alone=False)
            if isinstance(default, _Missing):
                msg = f"no entry {key!r} in scope {handle.path!r}; pass default= to begin with"
                raise NotFoundError(msg)
        # Outside every lock: the function may take its time, and read and write this very scope.
        value = _applied(function, _revived(before, default, as_type, key))
        draft = _draft(handle, key, value)
        decide = _put_unless_changed(handle, draft, local=local, before=before, fresh_id=fresh_id, now=now)
        if (yield from handle.commit(decide, now)):
            return value
        tries += 1
        if time.monotonic() > deadline:
            msg = f"entry {key!r} of scope {handle.path!r} changed under each of {tries} updates; nothing was changed"
            raise ConflictError(msg)
        yield from ask(Pause.sleep, backoff(tries))


def _put_unless_changed(
    handle: Handle, draft: _Draft, *, local: Row | None, before: Row | None, fresh_id: str, now: float
) -> Decide[bool]:
    """Put a draft in the place of the row it was made from; False when another is there by now."""

    def decide(state: State) -> tuple[Sequence[Change], bool]:
        if state.entry(draft.key, now) != local:
            return [], False
        row = _row(handle, state, draft, now, fresh_id)
        if before is not None:
            row = row._replace(
                tags=before.tags,
                importance=before.importance,
                expires_at=before.expires_at,
                rest=draft.rest or before.rest,
            )
        return [ItemPut(row)], True

    return decide


def _applied(function: Callable[[Any], Any], value: Any) -> Any:
    made = function(value)
    if inspect.iscoroutine(made):
        made.close()
        msg = "an update's function must be a plain function: it may run again"
        raise InvalidInputError(msg)
    return made


def _get_or_set(handle: Handle, key: str, factory: Callable[[], Any], as_type: Any) -> Flow[Any]:
    key = checked_key(key)
    _checked_callable("factory", factory)
    found = yield from handle.read(_get(key))
    if found is not None:
        return load_value(found.content, as_type, key=key)
    _intact(handle, alone=False)
    value = yield from ask(Callback.call, factory)
    if handle.birth is None:
        yield from handle.replica()
    draft = _draft(handle, key, value)
    now = handle.settings.clock()
    fresh_id = new_ulid(now)

    def decide(state: State) -> tuple[Sequence[Change], Row | None]:
        if (there := state.entry(key, now)) is not None:
            return [], there
        return [ItemPut(_row(handle, state, draft, now, fresh_id))], None

    there = yield from handle.commit(decide, now)
    return value if there is None else load_value(there.content, as_type, key=key)


def _remove(handle: Handle, key: str) -> Flow[bool]:
    key = checked_key(key)
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], bool]:
        held = state.entries.get(key)
        if held is None:
            return [], False
        # An expired entry goes too, although nobody could see it.
        return [ItemRemoved(held)], state.entry(key, now) is not None

    return (yield from handle.commit(decide, now))


def _clear(handle: Handle) -> Flow[int]:
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], int]:
        count = len(state.visible(state.entries.values(), now))
        return ([Cleared("entries", count, now)], count) if state.entries else ([], 0)

    return (yield from handle.commit(decide, now))


def _checked_callable(name: str, given: object) -> None:
    if not callable(given):
        msg = f"{name} must be callable, not {type(given).__name__!r}"
        raise InvalidInputError(msg)


def _intact(handle: Handle, *, alone: bool) -> None:
    handle.check_intact(alone=alone)


# -- faces


class EntryReads:
    """The reads of a facet of entries, however a read is run.

    Args:
        run: Runs a pure read and returns its result.
        absent: Called before an absence is reported; raises when it could be damage.
    """

    __slots__ = ("_absent", "_run")

    def __init__(self, run: Callable[[Read[Any]], Any], absent: Callable[[], None]) -> None:
        self._run = run
        self._absent = absent

    @overload
    def get(self, key: str, default: object = None) -> Any: ...
    @overload
    def get(self, key: str, default: T | None = None, *, as_type: type[T]) -> T: ...
    def get(self, key: str, default: Any = None, *, as_type: Any = None) -> Any:
        """The value under a key, from the nearest scope that has it.

        Args:
            default: What an absent key reads as.
            as_type: Revive as this type, by pydantic; values of user classes need it.

        Raises:
            SerializationError: The value is not of `as_type`, or needs one.
            CorruptionError: Not found, and a damaged record could hold it.
        """
        row = self._row(key)
        if row is None:
            self._absent()
            return default
        return load_value(row.content, as_type, key=key)

    def _row(self, key: str) -> Row | None:
        row: Row | None = self._run(_get(checked_key(key)))
        return row

    def get_many(self, keys: Iterable[str]) -> dict[str, Any]:
        """The values of those keys that are there."""
        rows = self._run(_rows(_checked_keys(keys)))
        return {key: load_value(row.content, key=key) for key, row in rows.items()}

    def entry(self, key: str) -> MemoryItem | None:
        """The item under a key, with everything known of it."""
        row = self._row(key)
        if row is None:
            self._absent()
            return None
        return item_of(row, row.importance or 0.0)

    def contains(self, key: str) -> bool:
        """Whether a key is there."""
        if self._row(key) is None:
            self._absent()
            return False
        return True

    def keys(self) -> list[str]:
        """All keys, those of the nearest scope first."""
        return list(self._run(_merged))

    def all(self) -> dict[str, MemoryItem]:
        """All items by key."""
        found: dict[str, MemoryItem] = self._run(_items)
        return found

    def count(self) -> int:
        """How many keys there are."""
        return len(self._run(_merged))

    def __getitem__(self, key: str) -> Any:
        row = self._row(key)
        if row is None:
            self._absent()
            msg = f"no entry {key!r}"
            raise NotFoundError(msg)
        return load_value(row.content, key=key)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.contains(key)


class LocalEntries(EntryReads):
    """The reads of one scope alone, without its parents."""

    __slots__ = ()


class ViewedEntries(EntryReads):
    """The reads of a frozen view.

    Attributes:
        local: The same without the parents.
    """

    __slots__ = ("local",)

    def __init__(
        self, run: Callable[[Read[Any]], Any], alone: Callable[[Read[Any]], Any], absent: Callable[[], None]
    ) -> None:
        super().__init__(run, absent)
        self.local = LocalEntries(alone, absent)


class Entries(EntryReads):
    """Values by key in one scope: reads fall back to the parents, writes stay here."""

    __slots__ = ("_drive", "_handle")

    def __init__(self, handle: Handle, drive: Callable[[Flow[Any]], Any]) -> None:
        super().__init__(lambda read: drive(handle.read(read)), lambda: _intact(handle, alone=False))
        self._handle = handle
        self._drive = drive

    def _row(self, key: str) -> Row | None:
        row = self._handle.entry(checked_key(key))
        if isinstance(row, Unknown):
            row = self._drive(self._handle.lookup(key))
        return row

    @property
    def local(self) -> LocalEntries:
        """The same reads without the parents."""
        handle, drive = self._handle, self._drive
        return LocalEntries(lambda read: drive(handle.read(read, alone=True)), lambda: _intact(handle, alone=True))

    def set(
        self,
        key: str,
        value: object,
        *,
        tags: Iterable[str] = (),
        importance: float = 0.5,
        metadata: Mapping[str, Any] | None = None,
        kind: ItemKind = "fact",
        ttl_s: float | None = None,
    ) -> None:
        """Store a value under a key, in place of the one that is there.

        Args:
            importance: 0 to 1.
            ttl_s: Seconds until it is invisible; None for ever.

        Raises:
            InvalidInputError: A key that is blank or holds control characters, or a bad number.
            SerializationError: A value that cannot be stored without loss.
            CapacityError: The value or the scope is larger than the policy allows.
        """
        self._drive(
            _set(self._handle, key, value, tags=tags, importance=importance, metadata=metadata, kind=kind, ttl_s=ttl_s)
        )

    def update(self, key: str, function: Callable[[Any], Any], default: Any = _MISSING, *, as_type: Any = None) -> Any:
        """Replace a value by ``function(value)`` and return the new one; concurrent updates all count.

        Args:
            function: Pure: it runs again when another writer came first.
            default: What an absent key begins with; without it an absent key raises.

        Raises:
            NotFoundError: The key is absent and there is no default.
            ConflictError: Others kept writing first for 5 s.
        """
        return self._drive(_update(self._handle, key, function, default, as_type))

    def get_or_set(self, key: str, factory: Callable[[], T], *, as_type: Any = None) -> T:
        """The value under a key; when absent, the factory's, stored before it is returned.

        Of several callers at once one value is stored, and all return that one.
        """
        value: T = self._drive(_get_or_set(self._handle, key, factory, as_type))
        return value

    def remove(self, key: str) -> bool:
        """Remove a key from this scope; a parent's value becomes visible again."""
        removed: bool = self._drive(_remove(self._handle, key))
        return removed

    def clear(self) -> int:
        """Remove all keys of this scope; returns how many there were."""
        count: int = self._drive(_clear(self._handle))
        return count

    def __setitem__(self, key: str, value: object) -> None:
        self.set(key, value)

    def __delitem__(self, key: str) -> None:
        if not self.remove(key):
            msg = f"no entry {key!r} in scope {self._handle.path!r}"
            raise NotFoundError(msg)


class AsyncLocalEntries:
    """See `LocalEntries`."""

    __slots__ = ("_absent", "_run")

    def __init__(self, run: Callable[[Read[Any]], Awaitable[Any]], absent: Callable[[], None]) -> None:
        self._run = run
        self._absent = absent

    async def _reads(self, read: Read[R]) -> EntryReads:
        """The reads over a result that is there already."""
        result = await self._run(read)
        return EntryReads(lambda _: result, self._absent)

    @overload
    async def get(self, key: str, default: object = None) -> Any: ...
    @overload
    async def get(self, key: str, default: T | None = None, *, as_type: type[T]) -> T: ...
    async def get(self, key: str, default: Any = None, *, as_type: Any = None) -> Any:
        """See `EntryReads.get`."""
        return (await self._reads(_get(checked_key(key)))).get(key, default, as_type=as_type)

    async def get_many(self, keys: Iterable[str]) -> dict[str, Any]:
        """See `EntryReads.get_many`."""
        asked = _checked_keys(keys)
        return (await self._reads(_rows(asked))).get_many(asked)

    async def entry(self, key: str) -> MemoryItem | None:
        """See `EntryReads.entry`."""
        return (await self._reads(_get(checked_key(key)))).entry(key)

    async def contains(self, key: str) -> bool:
        """See `EntryReads.contains`."""
        return (await self._reads(_get(checked_key(key)))).contains(key)

    async def keys(self) -> list[str]:
        """See `EntryReads.keys`."""
        return (await self._reads(_merged)).keys()

    async def all(self) -> dict[str, MemoryItem]:
        """See `EntryReads.all`."""
        return (await self._reads(_items)).all()

    async def count(self) -> int:
        """See `EntryReads.count`."""
        return (await self._reads(_merged)).count()


class AsyncEntries(AsyncLocalEntries):
    """See `Entries`."""

    __slots__ = ("_drive", "_handle")

    def __init__(self, handle: Handle, drive: Callable[[Flow[Any]], Awaitable[Any]]) -> None:
        super().__init__(lambda read: drive(handle.read(read)), lambda: _intact(handle, alone=False))
        self._handle = handle
        self._drive = drive

    @property
    def local(self) -> AsyncLocalEntries:
        """See `Entries.local`."""
        handle, drive = self._handle, self._drive
        return AsyncLocalEntries(lambda read: drive(handle.read(read, alone=True)), lambda: _intact(handle, alone=True))

    async def set(
        self,
        key: str,
        value: object,
        *,
        tags: Iterable[str] = (),
        importance: float = 0.5,
        metadata: Mapping[str, Any] | None = None,
        kind: ItemKind = "fact",
        ttl_s: float | None = None,
    ) -> None:
        """See `Entries.set`."""
        await self._drive(
            _set(self._handle, key, value, tags=tags, importance=importance, metadata=metadata, kind=kind, ttl_s=ttl_s)
        )

    async def update(
        self, key: str, function: Callable[[Any], Any], default: Any = _MISSING, *, as_type: Any = None
    ) -> Any:
        """See `Entries.update`."""
        return await self._drive(_update(self._handle, key, function, default, as_type))

    async def get_or_set(self, key: str, factory: Callable[[], T | Awaitable[T]], *, as_type: Any = None) -> T:
        """See `Entries.get_or_set`; the factory may be a coroutine function."""
        value: T = await self._drive(_get_or_set(self._handle, key, factory, as_type))
        return value

    async def remove(self, key: str) -> bool:
        """See `Entries.remove`."""
        removed: bool = await self._drive(_remove(self._handle, key))
        return removed

    async def clear(self) -> int:
        """See `Entries.clear`."""
        count: int = await self._drive(_clear(self._handle))
        return count
