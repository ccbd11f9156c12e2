"""When what an item says holds: from `valid_from` up to `valid_to`, by the caller or by a newer item of the same."""

import math
from typing import NamedTuple

from wmem.model.row import Row
from wmem.model.values import load_json

SUPERSEDE_JOB = "mark-superseded"
"""The job that says until when an item held of which a newer one says otherwise."""
SUPERSEDED_BY = "superseded_by"
"""The relation of an item to the newer one of the same."""


class Validity(NamedTuple):
    """A range of time, in UTC epoch seconds: the start belongs to it, the end does not."""

    start: float = -math.inf
    end: float = math.inf

    def includes(self, at: float) -> bool:
        """Whether an instant lies in it."""
        return self.start <= at < self.end

    def overlaps(self, other: "Validity") -> bool:
        """Whether any instant lies in both."""
        return self.start < other.end and other.start < self.end


ALWAYS = Validity()


def find_validity(row: Row) -> Validity:
    """When what a row says holds; most rows say nothing of that, and hold always."""
    if row.rest is None or b'"valid_' not in row.rest:
        return ALWAYS
    rest = load_json(row.rest)
    start, end = rest.get("valid_from"), rest.get("valid_to")
    return Validity(-math.inf if start is None else start, math.inf if end is None else end)


def holds(row: Row, now: float) -> bool:
    """Whether what a row says holds now, as far as it tells."""
    return row.rest is None or b'"valid_' not in row.rest or find_validity(row).includes(now)


def find_successor(row: Row) -> str | None:
    """The id of the newer item by which maintenance marked an item as superseded; None if it did not."""
    if row.rest is None or b'"superseded_by"' not in row.rest:
        return None
    relations = load_json(row.rest).get("relations", ())
    marks = (each for each in relations if each["type"] == SUPERSEDED_BY)
    return next((each["target_id"] for each in marks if each.get("metadata", {}).get("job") == SUPERSEDE_JOB), None)
