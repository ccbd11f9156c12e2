"""Job ``purge``: what a job of maintenance took away longer than `SemanticSettings.undo_s` ago is gone for good.

By the eighth part of that time later, and within a week: a process purges no more often, unless it is asked to by name.
What a live item still points to stays. Of a promoted copy a tombstone with its origins stays, by which the promotion of
its source finds that it was here: the newest `MAX_TOMBSTONES` of each scope. The bytes leave the store at once.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from wmem.agent.consolidation.jobs import Job, JobContext, JobReport, run_in_each
from wmem.agent.types.pointers import Pointers
from wmem.engine.derived import Derived
from wmem.flow import Flow
from wmem.model.change import Change, ItemPut, ItemRemoved
from wmem.model.origin import has_origins, list_merged_ids
from wmem.model.removal import MERGE_JOB, find_current_removal, is_tombstone, to_tombstone
from wmem.model.row import Row
from wmem.rules.routing import EPISODIC, SEMANTIC
from wmem.scope.erasure import purge_unpurged
from wmem.scope.handle import Handle
from wmem.state import State

PURGE_JOB = "purge"
MAX_TOMBSTONES = 10_000
_STEP = 256  # items that one record purges
_PAUSE_SHARE, _MAX_PAUSE_S = 1 / 8, 7 * 86_400.0
"""Of the time for which a removal can be undone, and seconds, that pass at least between two purges of a process. To
take bytes away is to write whole journals anew, and a file: not each night for the few items of a day."""


class _Removed(Derived):
    """What jobs took away and may yet be brought back, with the time of that; and the tombstones of what may not."""

    __slots__ = ("removed", "tombstones")

    def __init__(self) -> None:
        self.removed: dict[str, float] = {}
        self.tombstones: dict[str, float] = {}

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        for id, row in changed.items():
            self.removed.pop(id, None)
            self.tombstones.pop(id, None)
            if row is None or row.deleted_at is None or (removal := find_current_removal(row)) is None:
                continue
            (self.tombstones if is_tombstone(row) else self.removed)[id] = removal.at

    def list_due(self, until: float) -> list[str]:
        """What was taken away up to an instant, and the oldest tombstones beyond the bound."""
        due = [id for id, at in self.removed.items() if at <= until]
        beyond = len(self.tombstones) - MAX_TOMBSTONES
        oldest = sorted(self.tombstones, key=self.tombstones.__getitem__)[:beyond] if beyond > 0 else []
        return [*due, *oldest]


def _purge_in(context: JobContext, handle: Handle) -> Flow[Mapping[str, int]]:
    undo_s = context.types.semantic.undo_s
    replica, _ = yield from handle.replica()
    key = (PURGE_JOB, handle.path)
    if key not in context.store.values and replica.tail_bytes:
        has_purged = bool(replica.state.gone) or replica.use_derived(_Removed, lambda data: bool(data.tombstones))
        if has_purged:
            # A pass of an earlier process may have been interrupted before the bytes left.
            context.engine.unpurged_scopes.add(handle.path)
    due = [] if undo_s is None else replica.use_derived(_Removed, lambda data: data.list_due(context.now - undo_s))
    if not due:
        context.store.values.setdefault(key, None)
        return {}
    both = yield from context.engine.sync_readable([(*handle.path[:-1], each) for each in (SEMANTIC, EPISODIC)])
    cursors = tuple(each.cursor for each in both)
    if len(both) < 2 or context.store.values.get(key) == (cursors, due):  # noqa: PLR2004  # the other one is damaged
        return {}
    pointed: set[str] = set()
    for each in both:
        pointed |= each.use_derived(Pointers, lambda pointers: pointers.list_held(due, context.now))
    count = 0
    for begin in range(0, len(due), _STEP):
        ids = [id for id in due[begin : begin + _STEP] if id not in pointed]
        if ids:
            context.engine.unpurged_scopes.add(handle.path)
            count += yield from handle.commit(partial(_decide, ids, context.now), context.now)
    left = replica.use_derived(_Removed, lambda data: data.list_due(context.now - (undo_s or 0.0)))
    context.store.values[key] = (tuple(each.cursor for each in both), left)
    return {"purged": count}


def _decide(ids: Sequence[str], now: float, state: State) -> tuple[Sequence[Change], int]:
    changes: list[Change] = []
    count = 0
    for row in (state.rows[id] for id in ids if id in state.items):
        removal = find_current_removal(row)
        if removal is None:
            continue  # it was brought back
        # The item that it was merged into has its origins, unless that is gone or had too many.
        heir = state.rows.get(removal.into) if removal.job == MERGE_JOB else None
        has_heir = heir is not None and row.id in list_merged_ids(heir)
        if is_tombstone(row) or has_heir or not has_origins(row):
            changes.append(ItemRemoved(row.id, now))
        else:
            changes.append(ItemPut(to_tombstone(row)))
        count += not is_tombstone(row)
    return changes, count


def _run(context: JobContext) -> Flow[JobReport]:
    undo_s, since = context.types.semantic.undo_s, context.now - context.store.purged_at
    if undo_s is not None and not context.named and 0 <= since < min(undo_s * _PAUSE_SHARE, _MAX_PAUSE_S):
        return JobReport()
    scopes = [*context.long_term(SEMANTIC), *context.long_term(EPISODIC)]
    report = yield from run_in_each(scopes, partial(_purge_in, context))
    if (yield from purge_unpurged(context.root, "purged")):
        context.store.purged_at = context.now
    return report


PURGE = Job(PURGE_JOB, _run)
