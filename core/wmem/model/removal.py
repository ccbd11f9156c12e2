"""How maintenance took an item away; it can be brought back by `items.undelete` until it is purged."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from wmem.model.row import Row
from wmem.model.values import dump_json, load_json

_EMPTY = b'""'
MERGE_JOB = "merge-duplicates"
"""The job that takes away what says the same as another item."""
SKILLS_JOB = "extract-skills"
"""The job that takes away skills that became part of others, or that nothing shows any more."""
RETENTION_JOB = "apply-retention"
EVICT_JOB = "evict-long-term"
THIN_JOB = "thin-episodic"


class Removal(BaseModel):
    """Which job softly deleted an item. An item that was brought back keeps it: the job leaves that one alone.

    Attributes:
        job: The job's name, as "merge-duplicates".
        at: When, in UTC epoch seconds.
        into: The id of the item that it went into, in the same scope; empty for none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)

    job: str
    at: float
    into: str = ""


def find_removal(row: Row) -> Removal | None:
    """How a job took an item away, even if it was brought back since; None if none ever did."""
    if row.rest is None or b'"removal"' not in row.rest:
        return None
    stored = load_json(row.rest).get("removal")
    return None if stored is None else Removal.model_validate(stored)


def find_current_removal(row: Row) -> Removal | None:
    """How a job took away an item that is softly deleted; None if it is not, or if a caller did so."""
    if row.deleted_at is None or (removal := find_removal(row)) is None or removal.at != row.deleted_at:
        return None
    return removal


def follow_merges(rows: Mapping[str, Row], row: Row) -> Row:
    """The item that an item was merged into, and that one into the next; the item itself if it was not."""
    seen = {row.id}  # documents of others may lead in a circle
    while (removal := find_current_removal(row)) is not None:
        if removal.job not in (MERGE_JOB, SKILLS_JOB) or removal.into not in rows or removal.into in seen:
            break
        row = rows[removal.into]
        seen.add(row.id)
    return row


def bring_back(row: Row) -> Row:
    """An item as if no job had taken it away: one may do so again."""
    rest = {name: value for name, value in load_json(row.rest or b"{}").items() if name != "removal"}
    return row._replace(deleted_at=None, rest=dump_json(rest) if rest else None)


def to_tombstone(row: Row) -> Row:
    """What is left of a promoted copy that is purged: where it came from, and nothing of what it said."""
    rest = load_json(row.rest or b"{}")
    told = {name: rest[name] for name in ("origins", "removal") if name in rest}
    for step in told.get("origins", ()):
        step.pop("tags", None)
    return Row(
        id=row.id,
        content=_EMPTY,
        created_at=row.created_at,
        updated_at=row.updated_at,
        type=row.type,
        deleted_at=row.deleted_at,
        rest=dump_json(told),
    )


def is_tombstone(row: Row) -> bool:
    """Whether nothing is left of a row but where it came from."""
    return row.content == _EMPTY and row.deleted_at is not None
