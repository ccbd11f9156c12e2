"""The job `close-episodes`: each episode that is over gets one summary, beside pointers to what it is made of.

Episodes of items are those of `EpisodicMemory.episodes`; those of a conversation are the turns of a closed session,
parted by the same rule. Originals stay where they are.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from wmem.agent.consolidation.jobs import JobContext, JobReport
from wmem.agent.consolidation.summary_items import (
    Readable,
    Round,
    choose_id,
    draft_summary,
    find_readable,
    is_current,
    is_taken_back,
    list_covered,
    plan_rounds,
    take_back,
    to_changes,
    to_detail,
    to_summary_row,
)
from wmem.agent.types.episodes import CLOSE_EPISODES, EpisodeRows, group_rows, is_episode_summary
from wmem.agent.types.transcripts import TurnEpisode, group_turns, list_closed_threads
from wmem.agent.types.turn_pointers import is_alive, list_turns
from wmem.engine.replica import Replica
from wmem.flow import Flow
from wmem.model.change import Change
from wmem.model.coverage import Coverage
from wmem.model.history import Cursor, Path, to_scope_id
from wmem.model.row import Row
from wmem.model.values import load_json
from wmem.rules.episodes import EpisodeLimits
from wmem.rules.routing import CONVERSATION, EPISODIC
from wmem.scope.copies import create_empty
from wmem.scope.handle import Handle
from wmem.scope.items.promotion import long_term_handle
from wmem.state import State

_READ_BATCH = 64  # sessions read in one call


class _Look(NamedTuple):
    """How far an earlier pass looked: as of which cursors, and until when nothing is over that was not then."""

    episodic: Cursor
    conversation: Cursor
    due: float


def close_episodes(context: JobContext) -> Flow[JobReport]:
    """Sum up what is over, in the agent's long-term memory and in that of each scope that a policy names."""
    tally: Counter[str] = Counter()
    for scope in sorted({path[:-1] for path in context.paths if path[1:][-1:] in ((EPISODIC,), (CONVERSATION,))}):
        yield from _close_in(context, scope, tally)
    return JobReport(tally["summarized"], to_detail(tally))


def _close_in(context: JobContext, scope: Path, tally: Counter[str]) -> Flow[None]:
    handle = long_term_handle(context.root, scope, EPISODIC)
    found = yield from context.engine.sync_readable([handle.path, (*scope, CONVERSATION)])
    by_path = {replica.path: replica for replica in found}
    if len(by_path) < 2 or by_path[handle.path].state.disposed:  # noqa: PLR2004  # one of the two is damaged
        return
    episodic, conversation = by_path[handle.path], by_path[*scope, CONVERSATION]
    key = (CLOSE_EPISODES, handle.path)
    look = context.store.values.get(key)
    cursors = episodic.cursor, conversation.cursor
    if isinstance(look, _Look) and look[:2] == cursors and context.now <= look.due:
        return
    settings = context.types.episodic
    limits = EpisodeLimits(settings.gap_s, settings.max_steps, settings.max_tokens)
    failed = tally["failed"]
    closer = _Closer(context, handle, limits, settings.summary_tokens, tally)
    turns = list_turns(conversation)
    yield from closer.close_items(episodic, list_closed_threads(turns))
    yield from closer.close_turns(episodic, group_turns(turns, limits))
    if tally["failed"] == failed:
        context.store.values[key] = _Look(*cursors, closer.due)


class _Closer:
    """One pass over one long-term memory."""

    def __init__(
        self, context: JobContext, handle: Handle, limits: EpisodeLimits, most: int, tally: Counter[str]
    ) -> None:
        self._context = context
        self._handle = handle
        self._limits = limits
        self._most = most
        self._tally = tally
        self.due = math.inf
        """Until when no episode is over that is not over now."""

    def close_items(self, replica: Replica[Any], closed_threads: Mapping[str, float]) -> Flow[None]:
        """Sum up the episodes of items that are over."""
        now, path = self._context.now, self._handle.path[1:]
        with replica.lock:
            rows = [row for row in map(replica.state.rows.__getitem__, replica.state.items) if not row.expired(now)]
        covered = list_covered(_list_summaries(rows), path)
        for group in group_rows(rows, self._limits):
            if not any(_is_pending(row, covered, now) for row in group.rows):
                continue
            if group.is_closed(now, self._limits, closed_threads):
                yield from self._close_group(group, covered)
            elif self._limits.gap_s is not None:
                self.due = min(self.due, group.rows[-1].created_at + self._limits.gap_s)

    def _close_group(self, group: EpisodeRows, covered: Mapping[str, Row]) -> Flow[None]:
        former, now = (group.summaries[-1] if group.summaries else None), self._context.now
        mine = [id for id, row in covered.items() if former is not None and row.id == former.id]
        readable = find_readable({row.id: row for row in group.rows}, mine, now)
        fresh = [row for row in group.rows if row.id not in covered and row.visible(now)]
        for each in plan_rounds(former, readable, fresh):
            ids = (*each.old.ids, *(row.id for row in each.rows[len(each.old.rows) :]))
            coverage = Coverage(self._handle.path[1:], self._find_life(), ids)
            yield from self._store(group.id, group.thread_ids, each, coverage)

    def close_turns(self, replica: Replica[Any], episodes: Sequence[TurnEpisode]) -> Flow[None]:
        """Sum up the episodes of closed sessions' turns."""
        with replica.lock:
            summaries = _list_summaries(map(replica.state.rows.__getitem__, replica.state.items))
        of_episode: dict[str | None, list[Row]] = {}
        for row in summaries:
            of_episode.setdefault(find_episode(row), []).append(row)
        pending = [
            each
            for each in episodes
            if each.message_ids.keys() != list_covered(of_episode.get(each.id, ()), each.session.names).keys()
        ]
        agent = self._handle.path[:1]
        for begin in range(0, len(pending), _READ_BATCH):
            part = pending[begin : begin + _READ_BATCH]
            paths = dict.fromkeys((*agent, *each.session.names) for each in part)
            sessions = yield from self._context.engine.sync_readable(list(paths))
            by_path = {session.path: session for session in sessions}
            for each in part:
                session = by_path.get((*agent, *each.session.names))
                if session is not None and is_alive(session, each.session.incarnation):
                    yield from self._close_turns_of(each, session, of_episode.get(each.id, ()))

    def _close_turns_of(self, episode: TurnEpisode, session: Replica[Any], summaries: Sequence[Row]) -> Flow[None]:
        names, life = episode.session
        covered = list_covered(summaries, names)
        former = next((row for row in reversed(summaries) if row.deleted_at is None), None)
        with session.lock:
            state = session.state
            there = {id: state.rows[id] for id in episode.message_ids if id in state.messages}
        mine = [id for id, row in covered.items() if former is not None and row.id == former.id]
        # What was taken back, or is part of another turn, is covered no longer.
        kept = [id for id in mine if id in episode.message_ids]
        rows = [there[id] for id in kept if id in there]
        is_stale = len(kept) < len(mine)
        readable = Readable(kept, rows, is_stale or len(rows) == len(kept), is_stale)
        for each in plan_rounds(former, readable, [row for row in there.values() if row.id not in covered]):
            ids = (*each.old.ids, *(row.id for row in each.rows[len(each.old.rows) :]))
            yield from self._store(episode.id, (to_scope_id(names),), each, Coverage(names, life, (), ids))

    def _store(self, episode_id: str, threads: Sequence[str], each: Round, coverage: Coverage) -> Flow[None]:
        """Make and store one summary, unless there is nothing to say or another process was faster."""
        handle, now = self._handle, self._context.now
        draft = yield from draft_summary(handle, each, self._most)
        if not draft.text:
            self._tally["failed" if draft.warning else "skipped"] += 1
            if each.old.is_stale:
                yield from handle.commit(lambda state: (take_back(state, each, CLOSE_EPISODES, now), None), now)
            return
        kind = "conversation" if coverage.message_ids else "event"

        def decide(there: State, own: State) -> tuple[Sequence[Change], bool | None]:
            if there.policy is None:
                return create_empty(now)
            key = ["episode", *handle.path[1:], episode_id]
            id = choose_id(there, key) if each.former is None else each.former.id
            is_same = is_current(there, each.former, id, coverage)
            if not (is_same and own.erased.keys().isdisjoint(coverage.ids)):
                return [], False
            row = to_summary_row(
                handle,
                id,
                draft,
                coverage=[coverage],
                job=CLOSE_EPISODES,
                now=now,
                created_at=max(row.created_at for row in each.rows),
                kind=kind,
                thread_id=threads[0] if threads else None,
                episode_id=episode_id,
            )
            return to_changes(row, draft, CLOSE_EPISODES, now), True

        done: bool | None = None
        while done is None:
            if coverage.path == handle.path[1:]:
                done = yield from handle.commit(lambda state: decide(state, state), now)
            else:
                done = yield from handle.commit_beside(decide, now, self._open_session(coverage.path))
        self._tally["summarized" if done else "left"] += 1
        if done:
            self._tally["covered"] += len(coverage.ids)

    def _open_session(self, names: Sequence[str]) -> Handle:
        handle = self._context.root
        for name in names:
            handle = handle.child(name)
        return handle

    def _find_life(self) -> int:
        life = self._context.engine.replica(self._handle.path).incarnation
        return 0 if life is None else life.chain


def _is_pending(row: Row, covered: Mapping[str, Row], now: float) -> bool:
    """Whether a row asks for a summary: it has none, or it was taken back from it."""
    return row.id not in covered if row.visible(now) else row.id in covered and is_taken_back(row)


def _list_summaries(rows: Iterable[Row]) -> list[Row]:
    """The summaries that this job made, taken away since or not."""
    return list(filter(is_episode_summary, rows))


def find_episode(row: Row) -> str | None:
    """The id of the episode that a summary is of."""
    id = load_json(row.rest or b"{}").get("episode_id")
    return id if isinstance(id, str) else None
