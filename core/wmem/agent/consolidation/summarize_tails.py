"""The job `summarize-tails`: what fell out of the newest items and messages of a session is told by one summary item.

It rolls: the next round covers what it covered and what fell out since. Originals stay where they are; the summary
outlives those that are evicted, and none that expires.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

from wmem.agent.consolidation.jobs import JobContext, JobReport
from wmem.agent.consolidation.summary_items import (
    MAX_SUMMARIES,
    Round,
    SummaryDraft,
    are_there,
    choose_id,
    draft_summary,
    find_readable,
    is_current,
    list_covered,
    plan_rounds,
    take_back,
    to_changes,
    to_detail,
    to_summary_row,
)
from wmem.agent.types.settings import WorkingSettings
from wmem.engine.replica import Replica
from wmem.errors import CapacityError, ConflictError, CorruptionError, DisposedError, WrongKeyError
from wmem.flow import Flow
from wmem.log import find_logger
from wmem.model.change import Change
from wmem.model.coverage import SUMMARY, Coverage, find_coverage, find_job
from wmem.model.history import Path, is_reserved, to_scope_id
from wmem.model.row import Row
from wmem.policy import Policy, parse_policy
from wmem.scope.handle import Handle
from wmem.scope.items.capacity import log_evictions, make_room
from wmem.state import State

_log = find_logger("wmem.agent")

SUMMARIZE_TAILS = "summarize-tails"
_READ_BATCH = 256  # scopes read in one call
_STEP_DIVISOR = 8  # of the bound, that has to fall out before the summary is made anew
_SYSTEM_ROLES = ("system", "developer")


class Bounds(NamedTuple):
    """How many of the newest items stay without a summary, and how many tokens of items and of messages; None: all."""

    items: int | None
    item_tokens: int | None
    message_tokens: int | None

    @classmethod
    def of(cls, settings: WorkingSettings, policy: Policy) -> "Bounds":
        """The bounds of a scope; of one that evicts half of what it holds, so that nothing leaves it untold."""
        items, tokens = settings.tail_items, None
        if policy.eviction is not None:
            items = _least(items, None if policy.max_items is None else policy.max_items // 2)
            tokens = None if policy.max_tokens is None else policy.max_tokens // 2
        return cls(items, tokens, settings.tail_tokens)

    def may_be_exceeded(self, state: State) -> bool:
        """Whether it is worth while to look."""
        if self.message_tokens is not None and state.message_tokens > self.message_tokens:
            return True
        if self.items is not None and len(state.items) > self.items:
            return True
        return self.item_tokens is not None and sum(state.rows[id].tokens or 0 for id in state.items) > self.item_tokens


def _least(*limits: int | None) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)


def summarize_tails(context: JobContext) -> Flow[JobReport]:
    """Sum up what fell out in all sessions of the agent, and in its own scope."""
    tally: Counter[str] = Counter()
    known, standing = context.store.values, context.standing
    changed = (
        path for path in context.paths if path not in standing or known.get((SUMMARIZE_TAILS, path)) != standing[path]
    )
    sessions = sorted(path for path in changed if not is_reserved(path))
    for begin in range(0, len(sessions), _READ_BATCH):
        replicas = yield from context.engine.sync_readable(sessions[begin : begin + _READ_BATCH])
        for replica in replicas:
            key = (SUMMARIZE_TAILS, replica.path)
            if replica.incarnation is None or context.store.values.get(key) == replica.cursor:
                continue
            if tally["summarized"] >= MAX_SUMMARIES:
                break
            cursor, failed = replica.cursor, tally["failed"]
            bounds = Bounds.of(context.types.working, _find_policy(context, replica))
            with replica.lock:
                is_due = not replica.state.disposed and bounds.may_be_exceeded(replica.state)
            if is_due:
                try:
                    yield from _Session(context, replica, bounds, tally).summarize()
                except (CapacityError, ConflictError, CorruptionError, DisposedError, WrongKeyError) as exc:
                    _log.debug("a job leaves scope %s to the next pass: %s", to_scope_id(replica.path), exc)
                    tally["left"] += 1
                    continue
            if tally["failed"] == failed and tally["summarized"] < MAX_SUMMARIES:  # else there is more in the next pass
                context.store.values[key] = cursor
    return JobReport(tally["summarized"], to_detail(tally))


def _find_policy(context: JobContext, replica: Replica[Any]) -> Policy:
    stored = replica.state.policy
    try:
        return context.settings.policy if stored is None else parse_policy(stored)
    except ValueError:  # damaged, or of a newer version: whoever opens the scope is told
        return context.settings.policy


class _Session:
    """One pass over one session."""

    def __init__(self, context: JobContext, replica: Replica[Any], bounds: Bounds, tally: Counter[str]) -> None:
        self._context = context
        self._replica = replica
        self._bounds = bounds
        self._tally = tally
        self._most = context.types.working.summary_tokens
        self._handle = _open(context.root, replica.path)
        self._taken: set[str] = set()
        """The ids of what is or was there when it began, and of the summaries that it made."""

    def summarize(self) -> Flow[None]:
        """Sum up what fell out, unless it is too little."""
        now, names = self._context.now, self._replica.path[1:]
        with self._replica.lock:
            rows = {
                row.id: row for row in self._replica.state.rows.values() if row.key is None and not row.expired(now)
            }
            self._taken = {*self._replica.state.rows, *self._replica.state.erased}
        sums = list(filter(is_tail_summary, rows.values()))
        # What `Scope.summarize` has told is told.
        covered = list_covered((row for row in rows.values() if row.type == SUMMARY), names)
        former = next((row for row in reversed(sums) if row.deleted_at is None), None)
        mine = [id for id, row in covered.items() if former is not None and row.id == former.id]
        readable = find_readable(rows, mine, now)
        fresh = [row for row in list_fallen(rows.values(), self._bounds, now) if row.id not in covered]
        if not self._is_enough(fresh) and not readable.is_stale:
            return
        for each in plan_rounds(former, readable, fresh):
            if self._tally["summarized"] >= MAX_SUMMARIES:
                return
            ids = (*each.old.ids, *(row.id for row in each.rows[len(each.old.rows) :]))
            yield from self._store(each, _cover(names, self._find_life(), ids, rows))

    def _is_enough(self, fresh: Sequence[Row]) -> bool:
        """Whether so much fell out that it is worth a summary."""
        bounds, items = self._bounds, [row for row in fresh if row.role is None]
        said = sum(row.tokens or 0 for row in fresh if row.role is not None)
        return (
            len(items) > (bounds.items or 0) // _STEP_DIVISOR
            or sum(row.tokens or 0 for row in items) > (bounds.item_tokens or len(items) * 1_000) // _STEP_DIVISOR
            or said > (bounds.message_tokens or 0) // _STEP_DIVISOR
        )

    def _find_life(self) -> int:
        return self._replica.identity

    def _store(self, each: Round, coverage: Coverage) -> Flow[None]:
        now = self._context.now
        draft = yield from draft_summary(self._handle, each, self._most)
        if not draft.text:
            self._tally["failed" if draft.warning else "skipped"] += 1
            if each.old.is_stale:
                yield from self._handle.commit(lambda state: (take_back(state, each, SUMMARIZE_TAILS, now), None), now)
            return
        id = choose_id(self._taken, ["tail", *coverage.path]) if each.former is None else each.former.id
        self._taken.add(id)
        room = yield from self._handle.commit(partial(self._decide, each, coverage, draft, id), now)
        if room is None:
            self._tally["left"] += 1
            return
        log_evictions(self._handle, room)
        self._tally["summarized"] += 1
        self._tally["covered"] += len(coverage.ids)

    def _decide(
        self, each: Round, coverage: Coverage, draft: SummaryDraft, id: str, state: State
    ) -> tuple[Sequence[Change], Sequence[Change] | None]:
        handle, now = self._handle, self._context.now
        if not (is_current(state, each.former, id) and are_there(state, each.rows)):
            return [], None
        row = to_summary_row(
            handle,
            id,
            draft,
            coverage=[coverage],
            job=SUMMARIZE_TAILS,
            now=now,
            created_at=max(row.created_at for row in each.rows),
        )
        guarded = handle.policy.guard_high if handle.policy.eviction is not None else None
        row = row._replace(importance=guarded, expires_at=_first_expiry(each.rows))
        room = make_room(handle, state, [row], now)
        return [*room, *to_changes(row, draft, SUMMARIZE_TAILS, now)], room


def is_tail_summary(row: Row) -> bool:
    """Whether this job made a row."""
    return row.type == SUMMARY and find_job(row) == SUMMARIZE_TAILS


def list_fallen(rows: Iterable[Row], bounds: Bounds, now: float) -> list[Row]:
    """The items and messages that are older than what stays without a summary, oldest first.

    What every pack holds is not among them, pinned ones and system text, and no summary is.

    Args:
        rows: All of a session, oldest first.
    """
    seen = [row for row in rows if row.visible(now) and not row.pinned and not find_coverage(row)]
    seen = [row for row in seen if row.promoted_to is None and row.role not in _SYSTEM_ROLES]
    items, said = ([row for row in seen if (row.role is None) is is_item] for is_item in (True, False))
    stays = {row.id for row in _list_newest(items, bounds.items, bounds.item_tokens)}
    stays |= {row.id for row in _list_newest(said, None, bounds.message_tokens)}
    return [row for row in seen if row.id not in stays]


def _list_newest(rows: Sequence[Row], most: int | None, tokens: int | None) -> Iterator[Row]:
    """The newest rows within so many, and so many tokens."""
    newest = rows[::-1] if most is None else rows[::-1][:most]
    sums = accumulate(row.tokens or 0 for row in newest)
    return (row for row, total in zip(newest, sums, strict=True) if tokens is None or total <= tokens)


def _cover(path: Path, incarnation: int, ids: Sequence[str], rows: Mapping[str, Row]) -> Coverage:
    messages = tuple(id for id in ids if id in rows and rows[id].role is not None)
    others = frozenset(messages)
    return Coverage(path, incarnation, tuple(id for id in ids if id not in others), messages)


def _first_expiry(rows: Sequence[Row]) -> float | None:
    return min((row.expires_at for row in rows if row.expires_at is not None), default=None)


def _open(root: Handle, path: Path) -> Handle:
    handle = root
    for name in path[1:]:
        handle = handle.child(name)
    return handle
