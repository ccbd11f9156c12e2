"""Episodic memory as a memory type: an append-only log of experience, in threads and episodes."""

from collections.abc import Sequence
from itertools import islice

from wmem.agent.types.draft import ItemDraft
from wmem.agent.types.flows import (
    LongTermScope,
    capacity_of,
    draft_row,
    forget_in,
    is_important_enough,
    remember_in,
    summarize_in,
    to_memorized,
)
from wmem.agent.types.settings import EpisodicSettings
from wmem.flow import Flow
from wmem.model.change import Change, ItemPut
from wmem.model.filters import Filters
from wmem.model.item import to_item
from wmem.model.results import Forgotten, Memorized, Remembered, Summary
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.policy import Capacity
from wmem.rules.episodes import EpisodeLimits, EpisodePart, OpenEpisode, choose_episode
from wmem.rules.importance import importance as importance_of
from wmem.rules.routing import is_experience
from wmem.state import State

_LOOK_BACK = 1_024
"""Items among which the newest episode of a thread is looked for; one before them has ended."""


class EpisodicFlows:
    """Experience: what was promoted as such, and what is memorized here; nothing leaves it but by erasure."""

    is_external = False

    def __init__(self, location: LongTermScope, settings: EpisodicSettings, thread_id: str | None) -> None:
        self.location = location
        self.settings = settings
        self.name = settings.name
        self.pool = settings.pool
        self.limits = EpisodeLimits(settings.gap_s, settings.max_steps, settings.max_tokens)
        self._thread_id = thread_id
        """The thread of items that name none."""

    def accepts(self, draft: ItemDraft, /) -> bool:
        return is_experience(draft.type, draft.kind) and is_important_enough(draft, self.settings.min_importance)

    def memorize(self, draft: ItemDraft, /) -> Flow[Memorized]:
        handle = yield from self.location.locate()
        row, now = yield from draft_row(handle, draft.with_defaults(thread_id=self._thread_id))
        rest = load_json(row.rest or b"{}")
        part = to_part(row, rest.get("episode_id"))

        # Decided on the state that it is appended to: two processes never begin two episodes at once.
        def decide(state: State) -> tuple[Sequence[Change], Row]:
            episode_id = choose_episode(find_open_episode(state, rest.get("thread_id")), part, self.limits)
            put = row._replace(rest=dump_json({**rest, "episode_id": episode_id}))
            return [ItemPut(put)], put

        put = yield from handle.commit(decide, now)
        return to_memorized(handle, to_item(put, importance_of(put, now)), now)

    def remember(self, query: str, filters: Filters, limit: int, /) -> Flow[list[Remembered]]:
        return (yield from remember_in((yield from self.location.locate()), query, filters, limit))

    def forget(self, ids: Sequence[str], /) -> Flow[Forgotten]:
        return (yield from forget_in((yield from self.location.locate()), ids))

    def summarize(self, token_limit: int, /) -> Flow[Summary]:
        return (yield from summarize_in((yield from self.location.locate()), token_limit))

    def capacity(self) -> Flow[Capacity]:
        return (yield from capacity_of((yield from self.location.locate())))


def to_part(row: Row, episode_id: str | None) -> EpisodePart:
    """What the rule of episodes reads of a row."""
    return EpisodePart(row.id, episode_id, row.created_at, row.tokens or 0, row.step_index)


def find_open_episode(state: State, thread_id: str | None) -> OpenEpisode | None:
    """The episode of the newest item of a thread that names its episode; under the lock."""
    parts: list[EpisodePart] = []
    for row in map(state.rows.__getitem__, islice(reversed(state.items), _LOOK_BACK)):
        if row.rest is None or b'"episode_id"' not in row.rest:
            continue
        rest = load_json(row.rest)
        episode_id = rest.get("episode_id")
        if rest.get("thread_id") == thread_id and episode_id is not None:
            if parts and parts[0].episode_id != episode_id:
                continue
            parts.append(to_part(row, episode_id))
    if not parts:
        return None
    oldest, *others = reversed(parts)
    episode = OpenEpisode.begin(oldest.episode_id or "", oldest)
    for part in others:
        episode = episode.extend(part)
    return episode
