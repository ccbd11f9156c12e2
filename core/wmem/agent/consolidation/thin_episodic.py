"""The job `thin-episodic`: of a log above its bound a sample stays, in which the important are more likely.

It takes first what a summary tells, then anything else, and at last, if that helps, summaries of episodes. The newest
items stay, those that are pinned, that their retention exempts, that link to others or are linked to, and those that
were brought back. If that leaves more than the bound, the report says so.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from wmem.agent.consolidation.jobs import JobContext, JobReport, run_in_each
from wmem.agent.consolidation.summary_items import list_covered
from wmem.agent.types.episodes import is_episode_summary
from wmem.agent.types.pointers import list_pointed
from wmem.agent.types.settings import EpisodicSettings
from wmem.engine.replica import Replica
from wmem.flow import Flow
from wmem.log import find_logger
from wmem.model.change import Change
from wmem.model.history import Cursor
from wmem.model.removal import THIN_JOB
from wmem.model.row import Row
from wmem.model.values import load_json
from wmem.rules.eviction import Size
from wmem.rules.importance import importance
from wmem.rules.reservoir import LogItem, choose_to_thin
from wmem.rules.routing import EPISODIC, SEMANTIC
from wmem.rules.utility import count_newest, excess_of
from wmem.scope.handle import Handle
from wmem.scope.items.removal import remove_softly, was_restored
from wmem.scope.items.totals import ItemTotals
from wmem.state import State

_log = find_logger("wmem.agent")

_THIN_TO = 0.95  # of the bound: not every pass has to take something
_STEP = 256  # items that one record takes away


class _Miss(NamedTuple):
    """As of which cursors nothing more could be taken, though the bound was exceeded."""

    episodic: Cursor
    semantic: Cursor


def thin_episodic(context: JobContext) -> Flow[JobReport]:
    """Take away what is above the bound, in the agent's long-term memory and in that of each scope a policy names."""
    report = yield from run_in_each(context.long_term(EPISODIC), partial(_thin, context))
    return report._replace(changed=report.detail.get("thinned", 0))


def _thin(context: JobContext, handle: Handle) -> Flow[Mapping[str, int]]:
    settings, now = context.types.episodic, context.now
    found = yield from context.engine.sync_readable([handle.path, (*handle.path[:-1], SEMANTIC)])
    if len(found) < 2 or found[0].state.disposed:  # noqa: PLR2004  # one of the two is damaged: it may point to items
        return {}
    episodic, semantic = found
    size = episodic.use_derived(ItemTotals, lambda totals: totals.size(now))
    if excess_of(size, settings.max_items, settings.max_log_tokens) == Size():
        return {}
    cursors = _Miss(episodic.cursor, semantic.cursor)
    if context.store.values.get((THIN_JOB, handle.path)) == cursors:
        return {"target_missed": 1}
    excess = excess_of(size, settings.max_items, settings.max_log_tokens, _THIN_TO)
    exempts = handle.settings.retentions.is_exempt_from_thinning
    chosen = _choose_rows(episodic, semantic, settings, excess, now, exempts=exempts)
    into = _list_into(episodic, chosen)
    gone: list[Row] = []
    for begin in range(0, len(chosen), _STEP):
        gone += yield from handle.commit(partial(_decide, chosen[begin : begin + _STEP], into, now), now)
    left = episodic.use_derived(ItemTotals, lambda totals: totals.size(now))
    is_missed = excess_of(left, settings.max_items, settings.max_log_tokens) != Size()
    if is_missed:
        context.store.values[THIN_JOB, handle.path] = _Miss(episodic.cursor, semantic.cursor)
        if handle.engine.warn_once((THIN_JOB, handle.path)):
            _log.warning("scope %s exceeds its bounds, and nothing else in it may go", handle.id)
    return {"thinned": len(gone), "tokens": sum(row.tokens or 0 for row in gone), "target_missed": int(is_missed)}


def _choose_rows(
    episodic: Replica[Any],
    semantic: Replica[Any],
    settings: EpisodicSettings,
    excess: Size,
    now: float,
    *,
    exempts: Callable[[Row], bool],
) -> list[Row]:
    """The rows that go, in order."""
    with episodic.lock:
        rows = episodic.state.visible(episodic.state.items, now)
    with semantic.lock:
        others = semantic.state.visible(semantic.state.items, now)
    pointed = list_pointed((*rows, *others))
    sums = {row.id: row for row in rows if is_episode_summary(row)}
    covered = list_covered(sums.values(), episodic.path[1:])
    log = [row for row in rows if row.id not in sums]
    newest = count_newest(log, settings.keep_items, settings.max_items, settings.max_log_tokens)
    older = log[: max(0, len(log) - newest)]
    free = {row.id: row for row in (*older, *sums.values()) if not (_stays(row, pointed) or exempts(row))}
    items = [_to_log_item(row, is_summarized=id in covered) for id, row in free.items() if id not in sums]
    gone = choose_to_thin(items, excess, settings.half_life_s)
    left = Size(max(0, excess.items - len(gone)), max(0, excess.tokens - sum(item.tokens for item in gone)))
    last = choose_to_thin([_to_log_item(free[id]) for id in free if id in sums], left, settings.half_life_s)
    if len(last) >= left.items and sum(item.tokens for item in last) >= left.tokens:
        gone += last  # else that would not help either, and they are all that is left of what they tell
    return [free[item.id] for item in gone]


def _to_log_item(row: Row, *, is_summarized: bool = False) -> LogItem:
    # Its importance when it was new: that of an item which expires falls with time.
    return LogItem(row.id, row.created_at, importance(row, row.created_at), row.tokens or 0, is_summarized)


def _stays(row: Row, pointed: set[str]) -> bool:
    """Whether a row may not go: somebody holds on to it, or to its episode, or it holds on to something."""
    if row.pinned or row.id in pointed or was_restored(row, THIN_JOB):
        return True
    if row.rest is None or not any(mark in row.rest for mark in (b'"relations"', b'"episode_id"')):
        return False
    rest = load_json(row.rest)
    return bool(rest.get("relations")) or rest.get("episode_id") in pointed


def _list_into(episodic: Replica[Any], rows: Iterable[Row]) -> dict[str, str]:
    """The summaries that tell of these rows, by the rows' ids."""
    with episodic.lock:
        sums = [row for row in map(episodic.state.rows.__getitem__, episodic.state.items) if is_episode_summary(row)]
    covered = list_covered((row for row in sums if row.deleted_at is None), episodic.path[1:])
    return {row.id: covered[row.id].id for row in rows if row.id in covered}


def _decide(
    rows: Sequence[Row], into: Mapping[str, str], now: float, state: State
) -> tuple[Sequence[Change], Sequence[Row]]:
    """Take away those rows that are still as they were."""
    there = [row for row in rows if state.rows.get(row.id) == row]
    changes: list[Change] = []
    for row in there:
        parts = {"importance": importance(row, row.created_at), "age_s": now - row.created_at}
        changes += remove_softly(row, THIN_JOB, "thinned", now, into=into.get(row.id, ""), parts=parts)
    return changes, there
