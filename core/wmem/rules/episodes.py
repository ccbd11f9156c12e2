"""Where an episode ends and the next begins: by an explicit id, an idle gap, its steps or its tokens."""

from collections.abc import Iterable
from typing import NamedTuple


class EpisodeLimits(NamedTuple):
    """When an episode ends.

    Attributes:
        gap_s: Seconds without an item, after which the next one begins an episode; None: never.
        max_steps: Steps of one episode; None: any number.
        max_tokens: Tokens of one episode; None: any number.
    """

    gap_s: float | None
    max_steps: int | None
    max_tokens: int | None


class EpisodePart(NamedTuple):
    """What the rule reads of an item.

    Attributes:
        episode_id: The episode that it names; None if the rule has to choose.
        at: When it was created, UTC epoch seconds.
        step: Its step; an item without one is a step of its own.
    """

    id: str
    episode_id: str | None
    at: float
    tokens: int
    step: int | None


class OpenEpisode(NamedTuple):
    """An episode of a thread as of its newest item, at `last_at`."""

    id: str
    last_at: float
    tokens: int
    steps: int
    last_step: int | None

    @classmethod
    def begin(cls, id: str, part: EpisodePart) -> "OpenEpisode":
        """The episode that an item begins."""
        return cls(id, part.at, part.tokens, 1, part.step)

    def extend(self, part: EpisodePart) -> "OpenEpisode":
        """The episode with one item more; items of one step in a row are one step."""
        steps = self.steps + (part.step is None or part.step != self.last_step)
        return OpenEpisode(self.id, part.at, self.tokens + part.tokens, steps, part.step)


def choose_episode(newest: OpenEpisode | None, part: EpisodePart, limits: EpisodeLimits) -> str:
    """The id of the episode that the next item of a thread belongs to.

    It is the one the item names; else that of the item before it, unless it comes too late, or
    would make that one too large; else a new one, named after the item.

    Args:
        newest: The episode of the newest item of the thread; None for a new thread.

    Source: memory system document, compaction of episodic memory.
    """
    if part.episode_id is not None:
        return part.episode_id
    if newest is None or is_idle(newest.last_at, part.at, limits):
        return f"episode-{part.id}"
    grown = newest.extend(part)
    if limits.max_steps is not None and grown.steps > limits.max_steps:
        return f"episode-{part.id}"
    if limits.max_tokens is not None and grown.tokens > limits.max_tokens:
        return f"episode-{part.id}"
    return newest.id


def is_idle(last_at: float, now: float, limits: EpisodeLimits) -> bool:
    """Whether an episode is over because nothing came for so long: the next item would begin another."""
    return limits.gap_s is not None and now - last_at > limits.gap_s


def assign_episodes(parts: Iterable[EpisodePart], limits: EpisodeLimits) -> list[str]:
    """The ids of the episodes of a thread's items, oldest first, one for each."""
    episodes: dict[str, OpenEpisode] = {}
    newest: OpenEpisode | None = None
    assigned: list[str] = []
    for part in parts:
        id = choose_episode(newest, part, limits)
        newest = episodes[id].extend(part) if id in episodes else OpenEpisode.begin(id, part)
        episodes[id] = newest
        assigned.append(id)
    return assigned
