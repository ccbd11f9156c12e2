"""Flows that write entries; the log names the key, never the value."""

import inspect
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from wmem.engine.ports import Callback
from wmem.engine.write_queue import RETRY_S, Pause, backoff
from wmem.engine.writing import Decide
from wmem.errors import CapacityError, ConflictError, InvalidInputError, NotFoundError, SerializationError
from wmem.flow import Flow, ask
from wmem.log import find_logger
from wmem.model.change import Change, ItemPut, ItemRemoved
from wmem.model.checks import check_fraction, check_key, check_new_names, check_tags
from wmem.model.ids import new_ulid
from wmem.model.item import ItemKind, encode_fields
from wmem.model.row import Row
from wmem.model.values import dump_json, dump_value, full_type_name, load_json, load_value
from wmem.rules.ttl import clamp_expiry, expiry
from wmem.scope.entries.quota import has_ample_room, store_within_limit
from wmem.scope.entries.reads import local_and_nearest, row_at
from wmem.scope.handle import Handle
from wmem.scope.metadata_limit import check_metadata_size
from wmem.state import State

_log = find_logger("wmem.scope")
_WRITE_LOG = "Working memory %s for key %s by agent %s"
_JSON_TYPES = (str, int, float, bool, list, dict, type(None))


class Missing:
    """The type of `MISSING`, a default that was not given."""


MISSING = Missing()


class EntryFields(NamedTuple):
    """What is stored beside the value of an entry; see `Entries.set`."""

    tags: Iterable[str] = ()
    importance: float = 0.5
    metadata: Mapping[str, Any] | None = None
    kind: ItemKind = "fact"
    ttl_s: float | None = None


class _Draft(NamedTuple):
    """A checked and serialized value, from which a row is made."""

    key: str
    content: bytes
    rest: bytes | None
    tags: tuple[str, ...]
    importance: float
    ttl_s: float | None
    is_redacted: bool = False
    """Whether what is stored is not the whole value."""

    def load(self, value: object, as_type: Any) -> Any:
        """The value as it is stored; an object that only `as_type` could revive as it was passed."""
        if not self.is_redacted or (as_type is None and type(value) not in _JSON_TYPES):
            return value
        return load_value(self.content, as_type, key=self.key)


def _to_draft(handle: Handle, key: str, value: object, fields: EntryFields) -> _Draft:
    tags, importance, metadata, kind, ttl_s = fields
    try:
        content = dump_value(value, key=key)
    except SerializationError as exc:
        # Required in the log by the document; the message names classes, never content.
        _log.error("Failed to serialize value for key %s: %s", key, exc)  # no traceback: the caller gets it
        raise
    limit = handle.policy.max_entry_bytes
    if len(content) > limit:
        msg = f"the value of {key!r} takes {len(content)} bytes as JSON, more than the {limit} an entry may take"
        raise CapacityError(msg)
    fraction = check_fraction(importance, "importance")
    rest = None
    if metadata is not None or kind != "fact" or type(value) not in _JSON_TYPES:
        type_name = None if type(value) in _JSON_TYPES else full_type_name(value)
        rest, _ = encode_fields({"metadata": metadata, "kind": kind}, now=0.0, type_name=type_name)
    checked_tags = check_tags(tags) if tags != () else ()
    if rest is not None or checked_tags:
        check_metadata_size(handle.policy, rest, {"tags": checked_tags})
    draft = _Draft(key, content, rest, checked_tags, fraction, ttl_s)
    return draft if handle.redaction is None else _redact_draft(handle, draft)


def _redact_draft(handle: Handle, draft: _Draft) -> _Draft:
    row = handle.redact(Row("", draft.content, 0.0, 0.0, draft.key, tags=draft.tags, rest=draft.rest))
    changed = row.content != draft.content
    return draft._replace(content=row.content, rest=row.rest, tags=row.tags, is_redacted=changed)


def _to_row(handle: Handle, state: State, draft: _Draft, now: float, fresh_id: str | None = None) -> Row:
    """The row of a draft, under the id of the existing entry or a fresh id.

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


def put(handle: Handle, key: str, value: object, fields: EntryFields) -> Flow[None]:
    """Store a value under a key; see `Entries.set`."""
    key = check_key(key)
    metrics = handle.settings.metrics
    began = 0.0 if metrics is None else time.perf_counter()
    if handle.incarnation is None:
        yield from handle.replica()
    draft = _to_draft(handle, key, value, fields)
    now = handle.settings.clock()
    # The id of an existing key is known from the last catch-up; otherwise the fold decides.
    replica = handle.engine.replica(handle.path)
    held = key in replica.state.entries
    if not held:
        check_new_names(key)
        if replica.stale:
            yield from handle.replica()
    passing, token = handle.settings.entry_counts.uncounted_writes, object()
    try:
        passing.add(token)  # before the decision not to count, so that any count from here on includes it
        plenty = held or has_ample_room(handle, len(replica.state.entries))
        if plenty:
            row = _to_row(handle, replica.state, draft, now)
            if held and handle.engine.fresh((handle.path,)) is None:
                # Another writer may have removed the key: then this is a new entry. Else the fold reuses its id.
                row = row._replace(id=new_ulid(now), created_at=now)
            yield from handle.post((ItemPut(row),), now)
    finally:
        passing.discard(token)
    if not plenty:
        fresh_id = new_ulid(now)

        def decide(state: State) -> tuple[Sequence[Change], None]:
            return [ItemPut(_to_row(handle, state, draft, now, fresh_id))], None

        yield from store_within_limit(handle, key, lambda: handle.commit(decide, now), now)
    if _log.isEnabledFor(logging.DEBUG):
        _log.debug(_WRITE_LOG, "updated" if held else "set", key, handle.path[0])
    if metrics is not None:
        metrics.set_ms.record((time.perf_counter() - began) * 1_000)


def update(handle: Handle, key: str, fn: Callable[[Any], Any], default: Any, as_type: Any) -> Flow[Any]:
    """Replace a value by the result of a function; see `Entries.update`."""
    key = check_key(key)
    check_new_names(key)
    _check_callable("fn", fn)
    now = handle.settings.clock()
    fresh_id = new_ulid(now)
    deadline = time.monotonic() + RETRY_S
    tries = 0
    with handle.engine.write_queue.ticket(handle.path, key) as place:
        while True:
            # Wait before reading: a writer ahead in the queue would change the value read.
            deadline += yield from handle.engine.write_queue.wait_turn(place, tries)
            local, before = yield from handle.read(local_and_nearest(key))
            if before is None:
                handle.check_intact()
                if isinstance(default, Missing):
                    raise NotFoundError(f"no entry {key!r} in scope {handle.path!r}; pass default= to begin with")
            # Outside all locks: the function may be slow, and may read and write this same scope.
            value = _apply_fn(fn, default if before is None else load_value(before.content, as_type, key=key))
            draft = _to_draft(handle, key, value, EntryFields())
            decide = _put_unless_changed(handle, draft, local=local, before=before, fresh_id=fresh_id, now=now)
            if (yield from store_within_limit(handle, key, partial(handle.commit, decide, now), now)):
                _log.debug(_WRITE_LOG, "set" if local is None else "updated", key, handle.path[0])
                return draft.load(value, as_type)
            tries += 1
            if handle.settings.metrics is not None:
                handle.settings.metrics.conflicts.add(1)
            if tries == 1:
                # The first try may have queued for long before its one refusal: that is no repeated conflict.
                deadline = max(deadline, time.monotonic() + RETRY_S)
            elif time.monotonic() > deadline:
                raise ConflictError(
                    f"entry {key!r} of scope {handle.path!r} changed under each of {tries} updates; nothing was changed"
                )
            yield from ask(Pause.sleep, backoff(tries))


def _put_unless_changed(
    handle: Handle, draft: _Draft, *, local: Row | None, before: Row | None, fresh_id: str, now: float
) -> Decide[bool]:
    """Replace the row that a draft was made from; False if that row has changed since."""

    def decide(state: State) -> tuple[Sequence[Change], bool]:
        if state.entry(draft.key, now) != local:
            return [], False
        row = _to_row(handle, state, draft, now, fresh_id)
        if before is not None:
            row = row._replace(
                tags=before.tags,
                importance=before.importance,
                expires_at=clamp_expiry(before, now),
                rest=_merge_rest(before, draft),
            )
        return [ItemPut(row)], True

    return decide


def _merge_rest(before: Row, draft: _Draft) -> bytes | None:
    """The metadata of the entry before, with the type name of the new value."""
    kept = load_json(before.rest or b"{}")
    kept.pop("type_name", None)
    kept |= load_json(draft.rest or b"{}")
    return dump_json(kept) if kept else None


def _apply_fn(fn: Callable[[Any], Any], value: Any) -> Any:
    made = fn(value)
    if inspect.iscoroutine(made):
        made.close()
        raise InvalidInputError("an update's function must be a plain function: it may run again")
    return made


def get_or_set(handle: Handle, key: str, factory: Callable[[], Any], as_type: Any) -> Flow[Any]:
    """The value under a key, or the factory's; see `Entries.get_or_set`."""
    key = check_key(key)
    check_new_names(key)
    _check_callable("factory", factory)
    flights = handle.engine.single_flight
    landings = flights.landings
    row = yield from handle.read(row_at(key))
    if row is not None:
        return load_value(row.content, as_type, key=key)
    handle.check_intact()
    with flights.flight(handle.path, key) as flight:
        while row is None and not flight.has_turn:
            yield from flights.wait_turn(flight)
            if not flight.has_turn or flights.landings != landings:  # another may have stored the key since
                landings = flights.landings
                row = yield from handle.read(row_at(key))
        if row is None:
            with flight.factory():
                value = yield from ask(Callback.call, factory)
            row, value = yield from _store_unless_present(handle, key, value, as_type)
            flight.stored = True
    return value if row is None else load_value(row.content, as_type, key=key)


def _store_unless_present(handle: Handle, key: str, value: object, as_type: Any) -> Flow[tuple[Row | None, Any]]:
    """Store a value under a key that is absent: the row of another's if that came first, and the own as stored."""
    if handle.incarnation is None:
        yield from handle.replica()
    draft = _to_draft(handle, key, value, EntryFields())
    now = handle.settings.clock()
    fresh_id = new_ulid(now)

    def decide(state: State) -> tuple[Sequence[Change], Row | None]:
        if (there := state.entry(key, now)) is not None:
            return [], there
        return [ItemPut(_to_row(handle, state, draft, now, fresh_id))], None

    there = yield from store_within_limit(handle, key, lambda: handle.commit(decide, now), now)
    if there is None:
        _log.debug(_WRITE_LOG, "set", key, handle.path[0])
    return there, draft.load(value, as_type)


def remove(handle: Handle, key: str) -> Flow[bool]:
    """Remove a key; False when it was not visible."""
    key = check_key(key)
    now = handle.settings.clock()

    def decide(state: State) -> tuple[Sequence[Change], bool]:
        held = state.entries.get(key)
        if held is None:
            return [], False
        # An expired entry is removed too, although it was not visible.
        return [ItemRemoved(held, now)], state.entry(key, now) is not None

    removed = yield from handle.commit(decide, now)
    if removed:
        _log.debug(_WRITE_LOG, "removed", key, handle.path[0])
    return removed


def _check_callable(name: str, value: object) -> None:
    if not callable(value):
        raise InvalidInputError(f"{name} must be callable, not {type(value).__name__!r}")
