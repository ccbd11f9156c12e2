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
        is_closed: Whether it is over: nothing came for too long, another one of its thread has begun, its session was
            closed, or somebody closed it. An item that names it opens it again.
        summary_id: The id of the summary that covers it; None for none.
    """

    id: str
    thread_ids: tuple[str, ...]
    item_ids: tuple[str, ...]
    started_at: float
    ended_at: float
    tokens: int
    steps: int
    is_closed: bool = False
    summary_id: str | None = None


class Transcript(NamedTuple):
    """An episode read back through its pointers: what is there now, as text, and what is not.

    Attributes:
        session: The names of the session whose messages it is made of, below the agent's; None for an episode of items.
        ids: Of its messages, or its items, that are there, oldest first.
        missing: The ids of those that are gone: removed, taken back, erased, or no longer kept beside their summary.
        text: What was said, a paragraph each; a line in brackets says how many are gone.
        summary_id: The id of the summary that covers it; None for none.
    """

    episode_id: str
    session: tuple[str, ...] | None
    ids: tuple[str, ...]
    missing: tuple[str, ...]
    text: str
    summary_id: str | None = None


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
