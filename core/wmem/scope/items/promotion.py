"""Promotion of items to long-term memory: copied there first, then marked here; idempotent."""

import dataclasses
from collections.abc import Mapping, Sequence
from itertools import chain, count
from typing import Any, Literal, TypeAlias

from wmem.describe import describe
from wmem.errors import AlreadyPromotedError, InvalidInputError, NotFoundError, RejectedError, WmemError
from wmem.flow import Flow
from wmem.log import find_logger
from wmem.model.change import Change, ItemPromoted, ItemPut
from wmem.model.checks import check_id
from wmem.model.features import check_long_term
from wmem.model.history import RESERVED_PREFIX, Path, to_scope_id
from wmem.model.ids import to_promoted_id
from wmem.model.item import MemoryItem, to_item
from wmem.model.origin import append_origin
from wmem.model.results import BulkPromotion, Promoted
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.policy import Policy
from wmem.rules.gate import fresh_importance
from wmem.rules.importance import importance as importance_of
from wmem.rules.merging import merge_rows
from wmem.rules.routing import EPISODIC, SEMANTIC, Subject, find_route, normalize_type, route
from wmem.scope.copies import create_empty, find_promoted, is_erased
from wmem.scope.erasure import erase
from wmem.scope.gate import Weighed, weigh
from wmem.scope.handle import Handle
from wmem.scope.items.flows import find_item, touch
from wmem.scope.items.reads import get_item, to_current_item
from wmem.state import State

IfPromoted: TypeAlias = Literal["return", "error"]

_log = find_logger("wmem.scope")
_LONG_TERM_POLICY = Policy.entries(name="long-term")  # no expiry


def long_term_handle(handle: Handle, scope: Path, name: str) -> Handle:
    """The handle of one of the long-term memories of a scope: the agent's own, or one that a policy names.

    Whoever gives access to it checks `check_long_term`; what is forgotten is forgotten there in any case.
    """
    settings = dataclasses.replace(handle.settings, policy=_LONG_TERM_POLICY)
    return Handle(handle.engine, settings, (*scope, name), policy=None, parent=None)


def promote(handle: Handle, item_id: str, *, if_promoted: IfPromoted, rule: str | None = None) -> Flow[MemoryItem]:
    """Copy an item to long-term memory; see `Items.promote`.

    Args:
        rule: The promotion rule that triggered it; None for a caller's request.
    """
    check_long_term(handle.settings.features)
    item_id = check_id(item_id)
    if if_promoted not in ("return", "error"):
        raise InvalidInputError(f"if_promoted must be 'return' or 'error', got {describe(if_promoted)}")
    now = handle.settings.clock()
    replica, state = yield from handle.replica()
    with replica.lock:
        unwritten, at = state.unwritten_touches.get(item_id, (0, None))
        row = _with_last_access(find_item(handle, state, item_id, now), at)
    if row.promoted_to is not None and if_promoted == "error":
        raise AlreadyPromotedError(f"item {item_id!r} is in long-term memory as {row.promoted_to!r} already")
    if handle.path[-1] in (SEMANTIC, EPISODIC):
        if if_promoted == "error":
            raise AlreadyPromotedError(f"item {item_id!r} is in long-term memory")
        return to_item(row, importance_of(row, now))
    handle.settings.retentions.check_long_term(row)
    rest = load_json(row.rest or b"{}")
    scope = next(iter(handle.long_term_scopes), handle.path[:1])
    target = long_term_handle(handle, scope, _find_target(handle, row, rest))
    draft = _to_promoted_row(handle, row, rest, now, unwritten=unwritten, rule=rule, to=target.path)
    draft = target.redact(draft, whole=True)
    weighed = Weighed(draft)
    if row.promoted_to is None:
        minima = handle.settings.gates.minima(target.path[-1].removeprefix(RESERVED_PREFIX))
        weighed = yield from weigh(target, draft, now, minima, lambda: importance_of(row, now, unwritten))
    # Copy first, mark second: after a crash in between it is pending, and the next attempt finds the copy.
    kept = yield from _copy(handle, target, row, weighed, now)

    def mark(own: State) -> tuple[Sequence[Change], bool]:
        held = own.rows.get(item_id)
        if held is None or held.promoted_to == kept.id:
            return [], held is None and item_id in own.erased
        parts = {"accesses": float(row.access_count + unwritten), "importance": importance_of(row, now, unwritten)}
        return [ItemPromoted(item_id, kept.id, now, rule or "manual", parts)], False

    if (yield from handle.commit(mark, now)):
        # It was erased while it was copied: erase the copy too.
        yield from erase(handle, [item_id])
        raise NotFoundError(f"item {item_id!r} in scope {handle.path!r} was erased meanwhile")
    if row.promoted_to is None:
        if (metrics := handle.settings.metrics) is not None:
            metrics.promoted.add(1, {"rule": rule or "manual"})
        _log.info("promoted item %s of scope %s as %s (%s)", item_id, handle.id, kept.id, rule or "manual")
    return kept


def _find_target(handle: Handle, row: Row, rest: Mapping[str, Any]) -> str:
    """The reserved scope that an item is promoted to: by the user's first rule that applies, if it names one."""
    kind, dynamic_type = rest.get("kind", "fact"), rest.get("dynamic_type")
    if routes := handle.settings.gates.gate.routes:
        importance = row.importance
        if importance is None:
            importance = fresh_importance(load_json(row.content), row.priority, handle.engine.analyzer)
        type_name, source = normalize_type(row.type, dynamic_type), rest.get("source") or ""
        named = find_route(Subject(type_name, kind, row.tags, source, importance), routes)
        for store in () if named is None else named.stores:
            if (name := f"{RESERVED_PREFIX}{store.strip().casefold()}") in (SEMANTIC, EPISODIC):
                return name
    return route(row, kind, dynamic_type)


def _copy(handle: Handle, target: Handle, row: Row, weighed: Weighed, now: float) -> Flow[MemoryItem]:
    """Copy a row to long-term memory, unless a copy is there; what says the same as an item there is joined to it.

    Args:
        weighed: The copy, but for its id.

    Raises:
        RejectedError: It is refused.
    """
    life = handle.identity

    def decide(there: State, own: State) -> tuple[Sequence[Change], MemoryItem | None]:
        if is_erased(own, row.id):
            raise NotFoundError(f"item {row.id!r} in scope {handle.path!r} was erased meanwhile")
        if there.policy is None:
            return create_empty(now)
        # Looked up by its source: an earlier attempt, of any process, may have copied it.
        copy = find_promoted(there, target.path, row, handle.path, life)
        if copy is not None:
            return [], to_current_item(there, copy, now)
        made = weighed.row._replace(id=_free_promoted_id(there, row.id, now))
        current = weighed.compare_with_newer(there, now)
        if (fault := current.rejected) is None:
            return [ItemPut(made)], to_current_item(there, made, now)
        same = there.rows.get(current.same_id)
        if same is None or not same.visible(now) or target.incarnation is None:
            msg = f"item {row.id!r} was not promoted to {target.id!r}: {fault.reason} {fault.value:.4g} is below"
            raise RejectedError(f"{msg} {fault.minimum:.4g}")
        joined = target.redact(merge_rows(same, [made], path=target.path, incarnation=target.incarnation.chain))
        return [ItemPut(joined)], to_current_item(there, joined, now)

    kept = None
    while kept is None:
        kept = yield from target.commit_beside(decide, now, handle)
    return kept


def _with_last_access(row: Row, last_accessed_at: float | None) -> Row:
    """The row with the time of its last fetch, which may not be in the journal yet."""
    return (
        row
        if last_accessed_at is None
        else row._replace(last_accessed_at=max(last_accessed_at, row.last_accessed_at or last_accessed_at))
    )


def _free_promoted_id(there: State, item_id: str, now: float) -> str:
    """The id for an item in long-term memory: by its own id, unless another scope's item of that id has it."""
    first = to_promoted_id(item_id, now)
    for id in chain([first], (f"{first}-{number}" for number in count(2))):
        if id not in there.rows and id not in there.erased:
            return id
    raise AssertionError("there is always a next number")


def _to_promoted_row(
    handle: Handle, row: Row, rest: dict[str, Any], now: float, *, unwritten: int, rule: str | None, to: Path
) -> Row:
    """The row for long-term memory, under the item's own id: all of its fields, and metadata on its promotion."""
    assert handle.incarnation is not None  # it holds the row
    told = {
        "promoted_from_working": "true",
        "working_memory_id": row.id,
        "working_memory_session": to_scope_id(handle.path[1:] or handle.path),
        "promotion_reason": "manual" if rule is None else "auto",
        "access_count_at_promotion": str(row.access_count + unwritten),
        "importance_at_promotion": f"{importance_of(row, now, unwritten):.2f}",
    }
    if rule is not None:
        told["promotion_rule"] = rule
    known = rest.get("metadata")
    lineage = rest.get("lineage_ids")
    kept = {
        **rest,
        "metadata": {**(known if isinstance(known, dict) else {}), **told},
        "lineage_ids": [*(lineage if isinstance(lineage, list) else []), row.id],
        "origins": append_origin(rest, row, path=handle.path, incarnation=handle.identity, to=to),
    }
    return row._replace(
        expires_at=handle.settings.retentions.find_expiry(row),
        access_count=row.access_count + unwritten,
        promoted_to=None,
        promoted_at=None,
        rest=dump_json(kept),
    )


def promote_many(handle: Handle, ids: Sequence[str]) -> Flow[BulkPromotion]:
    """Promote several items one by one; see `Items.promote_many`."""
    if isinstance(ids, str | bytes) or not isinstance(ids, Sequence):
        raise InvalidInputError(f"ids must be a list of ids, got {describe(ids)}")
    handle.check_usable()
    check_long_term(handle.settings.features)
    results = []
    for each in ids:
        try:
            kept = yield from promote(handle, each, if_promoted="return")
        except WmemError as exc:
            results.append(Promoted(each, success=False, error=str(exc)))
        else:
            results.append(Promoted(each, success=True, long_term_id=kept.id))
    success = sum(result.success for result in results)
    return BulkPromotion(success, len(results) - success, tuple(results))


def fetch(handle: Handle, item_id: str) -> Flow[MemoryItem]:
    """Read an item, count the access, and promote it when a rule is met; see `Items.fetch`."""
    fetched, rule, write = yield from touch(handle, item_id)
    if rule is not None:
        try:
            yield from promote(handle, item_id, if_promoted="return", rule=rule)
        except WmemError as exc:
            if handle.engine.warn_once(("promotion", handle.path, item_id)):
                _log.warning("item %s of scope %s stays pending: %s", item_id, handle.id, exc)
        else:
            return (yield from handle.read(get_item(item_id), local_only=True)) or fetched
    if write:
        yield from handle.post((), handle.settings.clock())
    return fetched
