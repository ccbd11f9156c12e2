"""Job ``apply-retention``: what its retention no longer keeps leaves long-term memory, softly.

A retention counts from an item's creation, for what was stored before it was registered, too. What names a retention
that this memory does not know is kept, and logged.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from wmem.agent.consolidation.jobs import Job, JobContext, JobReport, run_in_each
from wmem.engine.derived import Derived
from wmem.flow import Flow
from wmem.log import find_logger
from wmem.model.change import Change, ItemPut
from wmem.model.removal import RETENTION_JOB
from wmem.model.row import Row
from wmem.rules.precedence import is_item
from wmem.rules.retention import PERMANENT, Retentions, find_retention_id, is_permanent
from wmem.rules.routing import EPISODIC, SEMANTIC
from wmem.scope.handle import Handle
from wmem.scope.items.removal import remove_softly, was_restored
from wmem.state import State

_STEP = 256  # items that one record takes away

_log = find_logger("wmem.agent")


class _Item(NamedTuple):
    """What the job reads of an item.

    Attributes:
        retention: The id that it names.
        expires: Whether it has an expiry.
    """

    retention: str
    created_at: float
    expires: bool


class _Named(Derived):
    """The items that name a retention, unless they were taken away or brought back."""

    __slots__ = ("items",)

    def __init__(self) -> None:
        self.items: dict[str, _Item] = {}

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        for id, row in changed.items():
            retention = None if row is None or not is_item(row) else find_retention_id(row)
            if row is None or retention is None or row.deleted_at is not None or was_restored(row, RETENTION_JOB):
                self.items.pop(id, None)
            else:
                self.items[id] = _Item(retention, row.created_at, row.expires_at is not None)


def _apply_in(handle: Handle, now: float) -> Flow[Mapping[str, int]]:
    retentions = handle.settings.retentions
    replica, _ = yield from handle.replica()

    def list_due(named: _Named) -> list[str]:
        return [id for id, each in named.items.items() if _is_due(each, retentions, now)]

    due = replica.use_derived(_Named, list_due)
    names = replica.use_derived(_Named, lambda named: {each.retention for each in named.items.values()})
    for name in sorted(names):
        if not retentions.is_known(name) and handle.engine.warn_once((RETENTION_JOB, handle.path, name)):
            _log.warning("scope %s has items of a retention that is not registered here: they are kept", handle.id)
    expired = 0
    for begin in range(0, len(due), _STEP):
        expired += yield from handle.commit(partial(_decide, retentions, due[begin : begin + _STEP], now), now)
    return {"expired": expired}


def _is_due(item: _Item, retentions: Retentions, now: float) -> bool:
    keep_s = retentions.keep_s(item.retention)
    return (keep_s is not None and item.created_at + keep_s <= now) or (item.expires and item.retention == PERMANENT.id)


def _decide(retentions: Retentions, ids: Sequence[str], now: float, state: State) -> tuple[Sequence[Change], int]:
    changes: list[Change] = []
    expired = 0
    for row in (state.rows[id] for id in ids if id in state.items):
        if row.deleted_at is not None or was_restored(row, RETENTION_JOB):
            continue
        until = retentions.find_expiry(row)
        if is_permanent(row) and row.expires_at is not None:
            changes.append(ItemPut(row._replace(expires_at=None)))
        elif until is not None and until <= now:
            plain = row._replace(expires_at=None)  # else it could not be brought back
            changes += remove_softly(plain, RETENTION_JOB, "expired", now, parts={"expires_at": until})
            expired += 1
    return changes, expired


def _run(context: JobContext) -> Flow[JobReport]:
    scopes = [*context.long_term(SEMANTIC), *context.long_term(EPISODIC)]
    return (yield from run_in_each(scopes, lambda handle: _apply_in(handle, context.now)))


APPLY_RETENTION = Job(RETENTION_JOB, _run)
