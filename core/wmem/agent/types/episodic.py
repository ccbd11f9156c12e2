"""Episodic memory as a memory type: an append-only log of experience, in threads and episodes."""

from collections.abc import Mapping, Sequence
from typing import Any

from wmem.agent.types.draft import ItemDraft
from wmem.agent.types.episodes import find_open_episode, group_episodes, link_metadata, to_link, to_part
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
from wmem.model.checks import check_id, check_metadata
from wmem.model.episodes import Episode, Link
from wmem.model.filters import Filters
from wmem.model.item import MemoryItem, to_item
from wmem.model.results import Forgotten, Memorized, Remembered, Summary
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.policy import Capacity
from wmem.rules.episodes import EpisodeLimits, choose_episode
from wmem.rules.importance import importance as importance_of
from wmem.rules.routing import is_experience
from wmem.scope.handle import Handle
from wmem.scope.items.lifetime import relate
from wmem.state import State


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
        handle = yield from self.location.locate_to_write()
        row, now = yield from draft_row(handle, draft.with_defaults(thread_id=self._thread_id))
        rest = load_json(row.rest or b"{}")
        part = to_part(row, rest.get("episode_id") or None)

        # Decided on the state that it is appended to: two processes never begin two episodes at once.
        def decide(state: State) -> tuple[Sequence[Change], Row]:
            episode_id = choose_episode(find_open_episode(state, rest.get("thread_id") or None), part, self.limits)
            put = handle.redact(row._replace(rest=dump_json({**rest, "episode_id": episode_id})))
            return [ItemPut(put)], put

        put = yield from handle.commit(decide, now)
        return to_memorized(handle, to_item(put, importance_of(put, now)), now)

    def remember(self, query: str, filters: Filters, limit: int, /) -> Flow[list[Remembered]]:
        return (yield from remember_in((yield from self.location.locate()), query, filters, limit))

    def forget(self, ids: Sequence[str], /) -> Flow[Forgotten]:
        return (yield from forget_in((yield from self.location.locate()), ids))

    def summarize(self, token_limit: int, episode_id: str | None = None, /) -> Flow[Summary]:
        handle = yield from self.location.locate()
        if episode_id is None:
            return (yield from summarize_in(handle, token_limit))
        ids = frozenset(row.id for row in (yield from self._list_rows(handle, check_id(episode_id))))
        return (yield from summarize_in(handle, token_limit, ids))

    def capacity(self) -> Flow[Capacity]:
        return (yield from capacity_of((yield from self.location.locate())))

    # -- episodes, threads and links

    def list_episodes(self, thread_id: str | None) -> Flow[list[Episode]]:
        """The episodes of all threads, or those with items of one, in the order in which they began."""
        if thread_id is not None:
            check_id(thread_id)
        handle = yield from self.location.locate()
        episodes = yield from handle.read(lambda states, now: self._group(states[0], now), local_only=True)
        return [each for each in episodes if thread_id is None or thread_id in each.thread_ids]

    def list_items(self, episode_id: str) -> Flow[list[MemoryItem]]:
        """The items of an episode, oldest first; none if there is no such episode."""
        handle = yield from self.location.locate()
        rows = yield from self._list_rows(handle, check_id(episode_id))
        now = handle.settings.clock()
        return [to_item(row, importance_of(row, now)) for row in rows]

    def link(self, source_id: str, target_id: str, relation: str, metadata: Mapping[str, Any] | None) -> Flow[Link]:
        """Link an item or an episode to another element."""
        handle = yield from self.location.locate()
        source, extra = check_id(source_id), check_metadata(metadata)
        # An episode is no row: its first item holds its links.
        rows = yield from self._list_rows(handle, source)
        holder, told = (rows[0].id, link_metadata(extra, source)) if rows else (source, link_metadata(extra, None))
        yield from relate(handle, holder, relation, target_id, told)
        return Link(source, relation, target_id, {**extra})

    def list_links(self, id: str) -> Flow[list[Link]]:  # the field's own name
        """The links from and to an item or an episode."""
        wanted = check_id(id)
        handle = yield from self.location.locate()

        def read(states: Sequence[State], now: float) -> list[Link]:
            rows = states[0].visible(states[0].items, now)
            items = [to_item(row, 0.0) for row in rows if row.rest is not None and b'"relations"' in row.rest]
            links = [to_link(item.id, each) for item in items for each in item.relations]
            return [link for link in links if wanted in (link.source_id, link.target_id)]

        return (yield from handle.read(read, local_only=True))

    def _list_rows(self, handle: Handle, episode_id: str) -> Flow[list[Row]]:
        """The rows of an episode; none if there is no such episode."""

        def read(states: Sequence[State], now: float) -> list[Row]:
            found = [each for each in self._group(states[0], now) if each.id == episode_id]
            return [states[0].rows[id] for each in found for id in each.item_ids]

        return (yield from handle.read(read, local_only=True))

    def _group(self, state: State, now: float) -> list[Episode]:
        return group_episodes(state.visible(state.items, now), self.limits)
