"""`Episode` and `Link`: how episodic memory groups its items, and what points from one to another."""

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue


class Episode(NamedTuple):
    """Items of episodic memory that belong together.

    Attributes:
        thread_ids: The threads of its items, mostly one; none for items without a thread.
        item_ids: Of the items that are there, oldest first.
        started_at: When its oldest item was created, UTC epoch seconds.
        ended_at: When its newest item was created.
        tokens: Of all its items together.
        steps: How many steps its items took: items of one step in a row are one, any other item is one of its own.
    """

    id: str
    thread_ids: tuple[str, ...]
    item_ids: tuple[str, ...]
    started_at: float
    ended_at: float
    tokens: int
    steps: int


class Link(NamedTuple):
    """A pointer from an item or an episode to another element.

    Attributes:
        type: Such as ``continues`` or ``caused_by``.
        metadata: What was said of it.
    """

    source_id: str
    type: str
    target_id: str
    metadata: Mapping[str, JsonValue]
