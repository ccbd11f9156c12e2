"""Statistics of a scope and of a whole memory: pure reads, and the flows that load the states."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING

from wmem.engine.replacement import finish_pending
from wmem.flow import Flow, ask
from wmem.journal.port import Journal
from wmem.model.history import is_index, is_pending, is_trace
from wmem.policy import PRIORITIES, Policy
from wmem.rules.importance import importance
from wmem.rules.promotion import promotion_rule
from wmem.rules.routing import EPISODIC, SEMANTIC
from wmem.scope.handle import Handle, Read
from wmem.scope.items.reads import is_forgotten
from wmem.state import State

if TYPE_CHECKING:
    from wmem.model.row import Row

_LONG_TERM = frozenset((EPISODIC, SEMANTIC))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeStats:
    """Statistics of one scope alone, without its parents and children.

    The first eight are about session memories (plain items), without soft-deleted ones.

    Attributes:
        total_count: Stored items, including expired ones that await cleanup.
        active_count: Visible items.
        expired_count: Expired items.
        promoted_count: Items that are in long-term memory too.
        pending_promotion: Items due for promotion, not promoted yet.
        avg_access_count: Mean fetches per item, over all of `total_count`; 0 without items.
        avg_importance: Mean importance as of now, 0 to 1, over all of `total_count`; 0 without items.
        by_priority: How many of `total_count` have each priority.
        entries: Visible keys.
        messages: Messages of the conversation.
        tokens: Of visible items and messages, as counted when written.
        bytes: Approximate size of the scope in memory.
        step: How many turns the agent has taken here.
        oldest: When the oldest visible row was created, UTC epoch seconds; None without any.
        newest: When the newest visible row was created.
        children: Live scopes directly below.
        forgotten: Softly deleted items, which can be restored.
    """

    total_count: int
    active_count: int
    expired_count: int
    promoted_count: int
    pending_promotion: int
    avg_access_count: float
    avg_importance: float
    by_priority: Mapping[str, int]
    entries: int
    messages: int
    tokens: int
    bytes: int
    step: int
    oldest: float | None
    newest: float | None
    children: int = 0
    forgotten: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStats:
    """Statistics of all scopes of one agent.

    Attributes:
        total_entries_working: Keys in working memory: the agent's own scope and all below it.
        active_working_scopes: Live scopes below the agent's own.
        total_entries_long_term: Items in long-term memory.
        total_entries_forgotten: Softly deleted items, which can be restored.
        storage_bytes_used: Approximate size of all scopes in memory.
        storage_bytes_limit: Always None: there is no limit.
        oldest_entry: When the oldest visible row was created, UTC epoch seconds; None without any.
        newest_entry: When the newest visible row was created.
        items: Session memories in working memory.
        messages: Messages in working memory.
        context_tokens_used: Of the last prompt that this memory's sessions packed in this process; 0 before the first.
        context_tokens_max: The budget of that prompt.
    """

    total_entries_working: int
    active_working_scopes: int
    total_entries_long_term: int
    total_entries_forgotten: int
    storage_bytes_used: int
    storage_bytes_limit: int | None
    oldest_entry: float | None
    newest_entry: float | None
    items: int
    messages: int
    context_tokens_used: int = 0
    context_tokens_max: int = 0

    @property
    def storage_percent_used(self) -> float:
        """Share of the limit used, 0 to 100; 0 without a limit."""
        return 100 * self.storage_bytes_used / self.storage_bytes_limit if self.storage_bytes_limit else 0.0


def stats_read(policy: Callable[[], Policy]) -> Read[ScopeStats]:
    """Statistics of the first state; `children` stays 0, as a state does not know them."""

    def read(states: Sequence[State], now: float) -> ScopeStats:
        state, follows = states[0], policy()
        unwritten = {each: count for each, (count, _) in state.unwritten_touches.items()}
        rows = [row for row in map(state.rows.__getitem__, state.items) if row.deleted_at is None]
        seen = [row for row in state.rows.values() if row.visible(now)]
        expired = sum(row.expired(now) for row in rows)
        return ScopeStats(
            total_count=len(rows),
            active_count=len(rows) - expired,
            expired_count=expired,
            promoted_count=sum(row.promoted_to is not None for row in rows),
            pending_promotion=sum(
                promotion_rule(row, unwritten.get(row.id, 0), now, follows) is not None for row in rows
            ),
            avg_access_count=_mean(row.access_count + unwritten.get(row.id, 0) for row in rows),
            avg_importance=_mean(importance(row, now, unwritten.get(row.id, 0)) for row in rows),
            by_priority={name: sum(row.priority == name for row in rows) for name in PRIORITIES},
            entries=sum(row.key is not None for row in seen),
            messages=sum(row.role is not None for row in seen),
            tokens=sum(row.tokens or 0 for row in seen),
            bytes=state.bytes,
            step=state.step,
            oldest=min((row.created_at for row in seen), default=None),
            newest=max((row.created_at for row in seen), default=None),
            forgotten=sum(is_forgotten(state.rows[each], now) for each in state.items),
        )

    return read


def scope_stats(handle: Handle) -> Flow[ScopeStats]:
    """Statistics of a scope now; see `ScopeStats`."""
    numbers = yield from handle.read(stats_read(lambda: handle.policy), local_only=True)
    children = yield from handle.children()
    return replace(numbers, children=len(children))


def memory_stats(root: Handle) -> Flow[MemoryStats]:
    """Statistics of all scopes of the agent as of one instant, read in one call; see `MemoryStats`.

    Args:
        root: The agent's own scope.
    """
    root.check_usable()
    now = root.settings.clock()
    yield from finish_pending(root.engine, root.path[0])
    listed = yield from ask(Journal.paths, root.path)
    paths = [path for path in listed if not (is_index(path) or is_trace(path) or is_pending(path))]
    replicas = (yield from root.engine.sync(paths)) if paths else []
    working: list[Row] = []
    long_term: list[Row] = []
    scopes = used = forgotten = 0
    for replica in replicas:
        with replica.lock:
            state = replica.state
            if state.disposed:
                continue
            rows = list(state.rows.values())
            used += state.bytes
        own = [segment for segment in replica.path if segment.startswith("~")]
        scopes += not own and len(replica.path) > 1 and replica.incarnation is not None
        if own and _LONG_TERM.isdisjoint(own):
            continue  # of wmem's own
        forgotten += sum(is_forgotten(row, now) for row in rows)
        (long_term if own else working).extend(row for row in rows if row.visible(now))
    created = [row.created_at for row in working + long_term]
    window = root.settings.latest_context.window(root.engine)
    return MemoryStats(
        total_entries_working=sum(row.key is not None for row in working),
        active_working_scopes=scopes,
        total_entries_long_term=len(long_term),
        total_entries_forgotten=forgotten,
        storage_bytes_used=used,
        storage_bytes_limit=None,
        oldest_entry=min(created, default=None),
        newest_entry=max(created, default=None),
        items=sum(row.key is None and row.role is None for row in working),
        messages=sum(row.role is not None for row in working),
        context_tokens_used=window.used_tokens,
        context_tokens_max=window.max_tokens,
    )


def _mean(numbers: Iterable[float]) -> float:
    listed = list(numbers)
    return fmean(listed) if listed else 0.0
