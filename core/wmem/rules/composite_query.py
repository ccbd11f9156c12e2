"""The composite query of a turn: what its agent aims at and just did, as texts beside the question."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from wmem.model.row import Row
from wmem.model.values import load_json

PLAN = "plan"
"""Type of an item that says what an agent is about to do."""
_GOAL_SHARE, _PLAN_SHARE, _RECENT_SHARE = 1.0, 1.0, 0.5
_RECENT_ITEMS = 4  # newest items whose words are looked for: what an agent did before them is another step
_MOST_CHARS = 600  # of a text beside a question: a long one is a document, not an aim


class BesideText(NamedTuple):
    """A text that is looked for beside the question.

    Attributes:
        share: Of the profile's weight of such words, see `RecallProfile.beside`.
        is_stored: Whether it is itself in memory: a word that no other text has finds nothing then.
    """

    text: str
    share: float
    is_stored: bool


def compose_query(goals: Sequence[str], items: Iterable[Row]) -> tuple[BesideText, ...]:
    """The goals, the last plan, and the newest items of working memory.

    Args:
        items: Working memory, newest first.

    Source: memory system document, read path, "Build composite query".
    """
    beside = [BesideText(goal[:_MOST_CHARS], _GOAL_SHARE, is_stored=False) for goal in goals]
    plan: Row | None = None
    recent: list[Row] = []
    for row in items:
        if plan is None and row.type == PLAN:
            plan = row
        elif len(recent) < _RECENT_ITEMS:
            recent.append(row)
        elif plan is not None:
            break
    found = ([] if plan is None else [(plan, _PLAN_SHARE)]) + [(row, _RECENT_SHARE) for row in recent]
    beside += [BesideText(load_json(row.content)[:_MOST_CHARS], share, is_stored=True) for row, share in found]
    return tuple(beside)
