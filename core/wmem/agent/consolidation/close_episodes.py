"""The job `close-episodes`: each episode that is over gets one summary, beside pointers to what it is made of.

Episodes of items are those of `EpisodicMemory.episodes`; those of a conversation are the turns of a closed session,
parted by the same rule. Originals stay where they are.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from wmem.agent.consolidation.jobs import JobContext, JobReport, run_in_each
from wmem.agent.consolidation.summary_items import (
    MAX_SUMMARIES,
    Readable,
    Round,
    are_there,
    choose_id,
    draft_summary,
    find_readable,
    is_current,
    is_taken_back,
    list_covered,
    plan_rounds,
    take_back,
    to_changes,
    to_summary_row,
)
from wmem.agent.types.episodes import (
    CLOSE_EPISODES,
    EpisodeNames,
    EpisodeRows,
    EpisodeSummaries,
    PlaceName,
    find_episode,
    group_rows,
)
from wmem.agent.types.transcripts import group_turns
from wmem.agent.types.turn_pointers import ClosedTurns, SessionLife, TurnPointer, is_alive, list_closed_threads
from wmem.engine.replica import Replica
from wmem.flow import Flow
from wmem.model.change import Change
from wmem.model.coverage import Coverage, find_coverage
from wmem.model.history import Cursor, to_scope_id
from wmem.model.row import Row
from wmem.rules.episodes import EpisodeLimits
from wmem.rules.routing import CONVERSATION, EPISODIC
from wmem.scope.copies import create_empty
from wmem.scope.handle import Handle
from wmem.scope.items.promotion import long_term_handle
from wmem.state import State

_READ_BATCH = 16  # sessions read in one call


class _Look(NamedTuple):
    """How far an earlier pass looked.

    Attributes:
        episodic: As of which cursor of episodic memory.
        conversation: As of which cursor of the closed turns.
        due: Until when no episode is over that was not then.
        lives: What was known then of summaries and of closed turns; another value where it was read anew, as after a
            restore, or summaries were lost.
        settled: The sessions that need no look, as of which of their versions.
    """

    episodic: Cursor
    conversation: Cursor
    due: float
    lives: tuple[object, ...]
    settled: dict[SessionLife, int]


def close_episodes(context: JobContext) -> Flow[JobReport]:
    """Sum up what is over, in the agent's long-term memory and in that of each scope that a policy names."""
    scopes = sorted({path[:-1] for path in context.paths if path[1:][-1:] in ((EPISODIC,), (CONVERSATION,))})
    handles = [long_term_handle(context.root, scope, EPISODIC) for scope in scopes]
    report = yield from run_in_each(handles, partial(_close_in, context))
    return report._replace(changed=report.detail.get("summarized", 0))


def _close_in(context: JobContext, handle: Handle) -> Flow[Mapping[str, int]]:
    tally: Counter[str] = Counter()
    scope = handle.path[:-1]
    found = yield from context.engine.sync_readable([handle.path, (*scope, CONVERSATION)])
    by_path = {replica.path: replica for replica in found}
    if len(by_path) < 2 or by_path[handle.path].state.disposed:  # noqa: PLR2004  # one of the two is damaged
        return tally
    episodic, conversation = by_path[handle.path], by_path[*scope, CONVERSATION]
    key = (CLOSE_EPISODES, handle.path)
    look = context.store.values.get(key)
    cursors = episodic.cursor, conversation.cursor
    if isinstance(look, _Look) and look[:2] == cursors and context.now <= look.due:
        return tally
    settings = context.types.episodic
    limits = EpisodeLimits(settings.gap_s, settings.max_steps, settings.max_tokens)
    turns = conversation.use_derived(ClosedTurns, lambda turns: turns.life)
    lives = (turns, *episodic.use_derived(EpisodeSummaries, lambda sums: (sums.life, sums.losses)))
    settled = look.settled if isinstance(look, _Look) and look.lives == lives else {}
    closer = _Closer(context, handle, limits, settings.summary_tokens, tally)
    yield from closer.close_items(episodic, list_closed_threads(conversation))
    yield from closer.close_turns(episodic, conversation, settled)
    if not tally["failed"]:  # else it is tried again in the next pass
        due = -math.inf if closer.is_full else closer.due
        context.store.values[key] = _Look(*cursors, due, lives, settled)
    return tally


class _Closing:
    """A closed session that may have to be told.

    Attributes:
        sums: The summaries of its episodes, taken away since or not.
        pointed: The messages that its turns point to.
        covered: The summaries by the messages that they cover.
        stale: Summaries of this life that are there and cover what was taken back.
        is_due: Whether something is covered by none, or by one that is stale.
    """

    def __init__(self, session: SessionLife, turns: Sequence[TurnPointer], sums: Sequence[Row]) -> None:
        self.session = session
        self.turns = turns
        self.sums = sums
        self.pointed = {id: None for turn in turns for id in turn.message_ids}
        self.covered = list_covered(sums, session.names)
        self.stale = [
            row for row in sums if row.deleted_at is None and any(id not in self.pointed for id in self.own_ids(row))
        ]
        self.is_due = bool(self.stale) or any(id not in self.covered for id in self.pointed)

    def own_ids(self, summary: Row) -> list[str]:
        """The messages of this life of the session that a summary covers."""
        mine = (each for each in find_coverage(summary) if each[:2] == (self.session.names, self.session.incarnation))
        return [id for each in mine for id in each.message_ids]


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
        self._taken: set[str] = set()
        """The ids of summaries that are or were there when it began, and of those that it made."""
        self.due = math.inf
        """Until when no episode is over that is not over now."""

    @property
    def is_full(self) -> bool:
        """Whether it has made as many summaries as one pass may."""
        return self._tally["summarized"] >= MAX_SUMMARIES

    def close_items(self, replica: Replica[Any], closed_threads: Mapping[str, float]) -> Flow[None]:
        """Sum up the episodes of items that are over."""
        now, path = self._context.now, self._handle.path[1:]
        sums, others, covered = replica.use_derived(
            EpisodeSummaries, lambda sums: (set(sums.of_items), set(sums.threads), sums.list_covered(path))
        )

        def take_rows(known: EpisodeNames) -> tuple[list[Row], dict[str, PlaceName]]:
            """The rows of all episodes that may be pending."""
            with replica.lock:
                replica.catch_up(EpisodeNames, known)
                self._taken |= {*sums, *others, *replica.state.erased}
                rows = replica.state.rows
                ids = [id for id in replica.state.items if id not in others]
                # By comparisons, not by calls: a memory may hold many thousands, of which few are new.
                fresh = [
                    id
                    for id in ids
                    if id not in sums and (id not in covered or (row := rows[id]).deleted_at or row.withdrawn_at)
                ]
                pending = [id for id in fresh if _is_pending(rows[id], covered, now)]
                related = known.list_related(pending, ids) if pending else []
                return [row for id in related if not (row := rows[id]).expired(now)], {
                    id: known.of[id] for id in related
                }

        rows, names = replica.use_derived(EpisodeNames, take_rows)
        for group in group_rows(rows, self._limits, names):
            if self.is_full:
                return
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

    def close_turns(
        self, replica: Replica[Any], conversation: Replica[Any], settled: dict[SessionLife, int]
    ) -> Flow[None]:
        """Sum up the episodes of closed sessions' turns.

        Args:
            settled: The sessions that need no look, as of which version; grows.
        """

        def list_pending(turns: ClosedTurns) -> dict[SessionLife, tuple[int, list[TurnPointer]]]:
            versions = turns.versions.items()
            return {
                session: (version, [*turns.sessions.get(session, {}).values()])
                for session, version in versions
                if settled.get(session) != version
            }

        pending = conversation.use_derived(ClosedTurns, list_pending)
        threads = {life: to_scope_id(life.names) for life in pending}
        sums = replica.use_derived(
            EpisodeSummaries,
            lambda sums: {life: [*sums.of_turns.get(each, {}).values()] for life, each in threads.items()},
        )
        closings = [_Closing(life, turns, sums[life]) for life, (_, turns) in pending.items()]
        agent = self._handle.path[:1]
        for begin in range(0, len(closings), _READ_BATCH):
            part = closings[begin : begin + _READ_BATCH]
            paths = dict.fromkeys((*agent, *each.session.names) for each in part if each.is_due)
            found = (yield from self._context.engine.sync_readable(list(paths))) if paths else []
            by_path = {session.path: session for session in found}
            for each in part:
                if self.is_full:
                    return
                left = self._tally["failed"] + self._tally["left"]
                session = by_path.get((*agent, *each.session.names))
                if session is not None and each.is_due and is_alive(session, each.session.incarnation):
                    yield from self._close_session(each, session)
                if self._tally["failed"] + self._tally["left"] == left and not (each.is_due and self.is_full):
                    settled[each.session] = pending[each.session][0]

    def _close_session(self, closing: "_Closing", session: Replica[Any]) -> Flow[None]:
        names, incarnation = closing.session
        with session.lock:
            state = session.state
            there = {id: state.rows[id] for id in closing.pointed if id in state.messages}
        threads = (to_scope_id(names),)
        # What was taken back is covered no longer.
        for row in closing.stale:
            kept = [id for id in closing.own_ids(row) if id in closing.pointed]
            readable = Readable(kept, [there[id] for id in kept if id in there], is_whole=True, is_stale=True)
            coverage = Coverage(names, incarnation, (), tuple(kept))
            yield from self._store(find_episode(row), threads, Round.of(row, (), readable), coverage)
        for episode in group_turns(closing.turns, self._limits):
            fresh = [there[id] for id in episode.message_ids if id in there and id not in closing.covered]
            sums = [row for row in closing.sums if row.deleted_at is None and find_episode(row) == episode.id]
            former = sums[-1] if fresh and sums else None
            old = [] if former is None else closing.own_ids(former)
            rows = [there[id] for id in old if id in there]
            for each in plan_rounds(former, Readable(old, rows, len(rows) == len(old), is_stale=False), fresh):
                ids = (*each.old.ids, *(row.id for row in each.rows[len(each.old.rows) :]))
                yield from self._store(episode.id, threads, each, Coverage(names, incarnation, (), ids))

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

        key = ["episode", *handle.path[1:], episode_id]
        id = choose_id(self._taken, key) if each.former is None else each.former.id
        self._taken.add(id)

        def decide(there: State, own: State) -> tuple[Sequence[Change], bool | None]:
            if there.policy is None:
                return create_empty(now)
            if not (is_current(there, each.former, id) and are_there(own, each.rows)):
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
        return self._context.engine.replica(self._handle.path).identity


def _is_pending(row: Row, covered: Mapping[str, Row], now: float) -> bool:
    """Whether a row asks for a summary: it has none, or it was taken back from it."""
    return row.id not in covered if row.visible(now) else row.id in covered and is_taken_back(row)
