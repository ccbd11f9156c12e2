"""Soft deletion of items by a job of maintenance."""

from collections.abc import Mapping

from wmem.model.change import Change, Decided, DecisionKind
from wmem.model.removal import Removal, find_removal
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.scope.items.lifetime import hide_item
from wmem.state import State


def remove_softly(
    row: Row, job: str, kind: DecisionKind, now: float, *, into: str = "", parts: Mapping[str, float] | None = None
) -> list[Change]:
    """The changes by which a job takes an item away: it is in `items.forgotten()`, and a decision says why.

    Args:
        into: The id of the item that it went into, in the same scope.
        parts: The numbers that decided.
    """
    removal = Removal(job=job, at=now, into=into).model_dump(mode="json", exclude_defaults=True)
    rest = dump_json({**load_json(row.rest or b"{}"), "removal": removal})
    return [
        hide_item(row._replace(rest=rest), now),
        Decided(kind, row.id, job, row.tokens or 0, now, dict(parts or {}), into),
    ]


def was_restored(row: Row, job: str) -> bool:
    """Whether a job took an item away and it was brought back: the job leaves it alone."""
    return row.deleted_at is None and (removal := find_removal(row)) is not None and removal.job == job


def find_unchanged(state: State, row: Row) -> Row | None:
    """The row that a job chose, as it is now, if nothing but fetches came since; None if anything else did."""
    current = state.rows.get(row.id)
    if current is None:
        return None
    before = current._replace(access_count=row.access_count, last_accessed_at=row.last_accessed_at)
    return current if before == row else None
