"""Episodic memory as a memory type: an append-only log of experience, in threads and episodes."""

from collections.abc import Mapping, Sequence
from typing import Any

from wmem.agent.types.draft import ItemDraft
from wmem.agent.types.episodes import (
    CLOSED,
    EpisodeRows,
    find_open_episode,
    group_rows,
    link_metadata,
    to_episode,
    to_link,
    to_part,
)
from wmem.agent.types.flows import (
    LongTermScope,
    capacity_of,
    draft_row,
    find_minima,
    forget_in,
    is_important_enough,
    remember_in,
    summarize_in,
    to_memorized,
)
from wmem.agent.types.settings import EpisodicSettings
from wmem.agent.types.transcripts import group_turns, transcribe_items, transcribe_turns
from wmem.agent.types.turn_pointers import list_closed_threads, list_turns
from wmem.describe import describe_name
from wmem.errors import NotFoundError
from wmem.flow import Flow
from wmem.model.change import Change, ItemPut
from wmem.model.checks import check_id, check_metadata
from wmem.model.episodes import Episode, Link, Transcript
from wmem.model.filters import Filters
from wmem.model.item import MemoryItem, to_item
from wmem.model.results import Forgotten, Memorized, Remembered, Summary
from wmem.model.row import Row
from wmem.model.values import dump_json, load_json
from wmem.policy import Capacity
from wmem.rules.episodes import EpisodeLimits, choose_episode
from wmem.rules.importance import importance as importance_of
from wmem.rules.routing import is_experience
from wmem.scope.gate import Weighed, weigh
from wmem.scope.handle import Handle
from wmem.scope.items.lifetime import relate
from wmem.state import State


class EpisodicFlows:
    """Experience: what was promoted as such, and what is memorized here; nothing leaves it but by erasure."""

    is_external = False

    def __init__(
        self, location: LongTermScope, settings: EpisodicSettings, thread_id: str | None, turns: LongTermScope
    ) -> None:
        self.location = location
        self.turns = turns
        self.settings = settings
        self.name = settings.name
        self.pool = settings.pool
        self.limits = EpisodeLimits(settings.gap_s, settings.max_steps, settings.max_tokens)
        self._thread_id = thread_id
        """The thread of items that name none."""

    def accepts(self, draft: ItemDraft, /) -> bool:
        return is_experience(draft.type, draft.kind) and is_important_enough(draft, self.settings.min_importance)

    def memorize(self, draft: ItemDraft, /, *, gated: bool = True) -> Flow[Memorized]:
        handle = yield from self.location.locate_to_write()
        drafted, now = yield from draft_row(handle, draft.with_defaults(thread_id=self._thread_id))
        weighed = yield from weigh(handle, drafted, now, find_minima(handle, self.name, gated=gated))
        if weighed.rejected is not None:
            return to_memorized(handle, weighed, now)
        row = weighed.row
        rest = load_json(row.rest or b"{}")
        part = to_part(row, rest.get("episode_id") or None)

        # Decided on the state that it is appended to: two processes never begin two episodes at once.
        def decide(state: State) -> tuple[Sequence[Change], Weighed]:
            current = weighed.compare_with_newer(state, now)
            if current.rejected is not None:
                return [], current
            episode_id = choose_episode(find_open_episode(state, rest.get("thread_id") or None), part, self.limits)
            put = handle.redact(
                handle.keep_redacted(row, row._replace(rest=dump_json({**rest, "episode_id": episode_id})))
            )
            return [ItemPut(put)], weighed._replace(row=put)

        return to_memorized(handle, (yield from handle.commit(decide, now)), now)

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
        full = yield from capacity_of((yield from self.location.locate()))
        return full.within(self.settings.max_items, self.settings.max_log_tokens)

    # -- episodes, threads and links

    def list_episodes(self, thread_id: str | None) -> Flow[list[Episode]]:
        """The episodes of all threads, or those with items of one, in the order in which they began."""
        if thread_id is not None:
            check_id(thread_id)
        handle = yield from self.location.locate()
        replica, _ = yield from (yield from self.turns.locate()).replica()
        closed = list_closed_threads(replica)
        groups, now = (yield from self._group(handle)), handle.settings.clock()
        episodes = (to_episode(group, self.limits, now, closed) for group in groups)
        return [each for each in episodes if each is not None and (thread_id is None or thread_id in each.thread_ids)]

    def list_items(self, episode_id: str) -> Flow[list[MemoryItem]]:
        """The items of an episode, oldest first; none if there is no such episode."""
        handle = yield from self.location.locate()
        rows = yield from self._list_rows(handle, check_id(episode_id))
        now = handle.settings.clock()
        return [to_item(row, importance_of(row, now)) for row in rows]

    def transcribe(self, episode_id: str) -> Flow[Transcript]:
        """See `EpisodicMemory.transcript`."""
        check_id(episode_id)
        handle = yield from self.location.locate()
        group = next((each for each in (yield from self._group(handle)) if each.id == episode_id), None)
        if group is not None and group.rows:
            return transcribe_items(group, handle.settings.clock())
        replica, _ = yield from (yield from self.turns.locate()).replica()
        episodes = group_turns(list_turns(replica), self.limits)
        episode = next((each for each in reversed(episodes) if each.id == episode_id), None)
        if episode is not None:
            found = yield from handle.engine.sync_readable([(handle.path[0], *episode.session.names)])
            return transcribe_turns(episode, next(iter(found), None), group)
        if group is None:
            raise NotFoundError(f"there is no episode {describe_name(episode_id)}")
        return transcribe_items(group, handle.settings.clock())

    def link(self, source_id: str, target_id: str, relation: str, metadata: Mapping[str, Any] | None) -> Flow[Link]:
        """Link an item or an episode to another element."""
        handle = yield from self.location.locate()
        source, extra = check_id(source_id), check_metadata(metadata)
        # An episode is no row: its first item holds its links.
        rows = yield from self._list_rows(handle, source)
        holder, told = (rows[0].id, link_metadata(extra, source)) if rows else (source, link_metadata(extra, None))
        yield from relate(handle, holder, relation, target_id, told)
        return Link(source, relation, target_id, {**extra})

    def close_episode(self, episode_id: str) -> Flow[bool]:
        """See `EpisodicMemory.close_episode`."""
        check_id(episode_id)
        handle = yield from self.location.locate()
        group = next((each for each in (yield from self._group(handle)) if each.id == episode_id), None)
        rows = [] if group is None else [row for row in group.rows if row.visible(handle.settings.clock())]
        if group is None:
            raise NotFoundError(f"there is no episode {describe_name(episode_id)}")
        if not rows or group.is_sealed:
            return False
        # The newest item holds the link: one that comes later opens the episode again.
        yield from relate(handle, rows[-1].id, CLOSED, episode_id, link_metadata({}, episode_id))
        return True

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
        """The visible rows of an episode; none if there is no such episode."""
        groups, now = (yield from self._group(handle)), handle.settings.clock()
        return [row for group in groups if group.id == episode_id for row in group.rows if row.visible(now)]

    def _group(self, handle: Handle) -> Flow[list[EpisodeRows]]:
        def read(states: Sequence[State], now: float) -> list[EpisodeRows]:
            state = states[0]
            rows = map(state.rows.__getitem__, state.items)
            return group_rows((row for row in rows if not row.expired(now)), self.limits)

        return (yield from handle.read(read, local_only=True))
