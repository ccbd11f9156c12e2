"""Memory types as flows, which the sync and async faces run, and the steps that types over a scope share."""

from collections.abc import Collection, Sequence
from itertools import islice
from typing import Any, Protocol

from wmem.agent.types.draft import ItemDraft
from wmem.describe import describe
from wmem.engine.replica import Replica
from wmem.errors import InvalidInputError
from wmem.flow import Flow
from wmem.model.change import StepAdvanced
from wmem.model.checks import check_id, check_limit
from wmem.model.features import check_long_term
from wmem.model.filters import Filters
from wmem.model.gate import Minima
from wmem.model.history import Path
from wmem.model.item import MemoryItem, to_item
from wmem.model.results import Forgotten, Memorized, Remembered, Summary
from wmem.model.row import Row
from wmem.model.zones import to_zone
from wmem.policy import Capacity
from wmem.retrieval.question_time import QuestionTime
from wmem.retrieval.retriever import CANDIDATE_LIMIT, Query, search
from wmem.rules.eviction import Size
from wmem.rules.importance import importance as importance_of
from wmem.scope.embedding_backfill import embed_query
from wmem.scope.erasure import erase, log_remaining
from wmem.scope.gate import Weighed
from wmem.scope.handle import Handle
from wmem.scope.index_store import prepare_index
from wmem.scope.items.filters import ItemFilter
from wmem.scope.items.flows import draft_item
from wmem.scope.items.promotion import long_term_handle
from wmem.scope.items.reads import to_current_item
from wmem.scope.items.totals import ItemTotals
from wmem.scope.queue import flows as queue_flows


class TypeFlows(Protocol):
    """A memory type for one session of the agent, or for the agent's own scope; its verbs are flows.

    Attributes:
        pool: How many candidates it gives for a context at most.
        is_external: Whether its items lie outside of wmem's scopes, so that only itself can find them.
    """

    @property
    def name(self) -> str: ...
    @property
    def pool(self) -> int: ...
    @property
    def is_external(self) -> bool: ...
    def accepts(self, draft: ItemDraft, /) -> bool: ...
    def memorize(self, draft: ItemDraft, /, *, gated: bool = True) -> Flow[Memorized]:
        """Store an item.

        Args:
            gated: Whether it must have what the gate asks for; not what tells what has happened.
        """
        ...

    def remember(self, query: str, filters: Filters, limit: int, /) -> Flow[Sequence[Remembered]]: ...
    def forget(self, ids: Sequence[str], /) -> Flow[Forgotten]: ...
    def summarize(self, token_limit: int, /) -> Flow[Summary]: ...
    def capacity(self) -> Flow[Capacity]: ...


class ScopeFlows(TypeFlows, Protocol):
    """A memory type whose items lie in a scope, which `location` finds."""

    @property
    def location(self) -> "Location": ...


class Location(Protocol):
    """Where the items of a memory type lie."""

    @property
    def handle(self) -> Handle:
        """The handle of the scope, as far as it is known without asking the store.

        Raises:
            InvalidInputError: It is not known.
        """
        ...

    def locate(self) -> Flow[Handle]:
        """The handle of the scope."""
        ...


class OwnScope:
    """The session itself, or the agent's own scope."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle

    def locate(self) -> Flow[Handle]:
        yield from ()
        return self.handle


class LongTermScope:
    """Where a session's long-term memory of one kind is: the agent's, or that of the first scope its policy names.

    Args:
        session: The session, or the agent's own scope.
        name: Such as ``~semantic``.
    """

    _handles: dict[Path, Handle]

    def __init__(self, session: Handle, name: str) -> None:
        self._session = session
        self._name = name
        self._handles = {}

    def locate(self) -> Flow[Handle]:
        if self._session.incarnation is None:
            yield from self._session.replica()
        return self._find_handle()

    def locate_to_write(self) -> Flow[Handle]:
        """As `locate`; a session whose policy names a scope is created, so that whoever opens it finds that policy."""
        handle = yield from self.locate()
        if self._session.incarnation is None and self._session.long_term_scopes:
            now = self._session.settings.clock()
            yield from self._session.commit(lambda _: ([StepAdvanced(0, now)], None), now)
        return handle

    @property
    def handle(self) -> Handle:
        if self._session.incarnation is None and self._session.parent is not None:
            msg = (
                f"the policy of session {self._session.path!r}, which may name a scope for its long-term memory, is "
                "not known before one of the methods of this memory type was called"
            )
            raise InvalidInputError(msg)
        return self._find_handle()

    def _find_handle(self) -> Handle:
        check_long_term(self._session.settings.features)
        scope = next(iter(self._session.long_term_scopes), self._session.path[:1])
        if scope not in self._handles:
            self._handles[scope] = long_term_handle(self._session, scope, self._name)
        return self._handles[scope]


def check_question(query: object, filters: object, limit: object) -> tuple[str, int]:
    """Check the arguments of `MemoryType.remember`; returns the query, and how many results to return at most."""
    if not isinstance(query, str):
        raise InvalidInputError(f"query must be text, got {describe(query)}")
    if not isinstance(filters, Filters):
        raise InvalidInputError(f"filters must be wmem.Filters, not {describe(filters)}")
    most = check_limit(limit)
    return query, most if filters.top_k is None else min(most, filters.top_k)


def check_ids(ids: object) -> dict[str, None]:
    """Check the ids of `MemoryType.forget`; keep their order and remove duplicates."""
    if isinstance(ids, str | bytes) or not isinstance(ids, Sequence):
        raise InvalidInputError(f"ids must be a list of ids, got {describe(ids)}")
    return dict.fromkeys(map(check_id, ids))


def to_item_filter(filters: Filters) -> ItemFilter:
    """The filter of a scope's items; those that were promoted pass."""
    return ItemFilter(
        tags=frozenset(filters.tags),
        metadata={},
        agent_id=filters.agent_id,
        task_id=filters.task_id,
        include_promoted=True,
    )


def is_important_enough(draft: ItemDraft, minimum: float) -> bool:
    """Whether an item that comes with an importance reaches a minimum; one without does."""
    return draft.importance is None or draft.importance >= minimum


def draft_row(handle: Handle, draft: ItemDraft) -> Flow[tuple[Row, float]]:
    """Make the row of an item in a scope, not stored yet; returns it and its time."""
    return draft_item(handle, draft.content, priority=draft.priority, ttl_s=draft.ttl_s, fields=draft.fields)


def remember_in(handle: Handle, query: str, filters: Filters, limit: int) -> Flow[list[Remembered]]:
    """The items of a scope that recall finds and that pass the filters, best first; for a blank query the newest."""
    text, most = check_question(query, filters, limit)
    wanted = to_item_filter(filters)
    replicas = yield from handle.replicas(local_only=True)
    [replica], now = replicas, handle.settings.clock()

    def accepts(row: Row) -> bool:
        return row.key is None and row.role is None and wanted.accepts(row, now)

    if not text.strip():
        with replica.lock:
            state = replica.state
            asked, held = QuestionTime("", now, to_zone(handle.policy.zone)), state.rows
            rows = map(state.rows.__getitem__, reversed(state.items))
            newest = (row for row in rows if accepts(row) and asked.accepts_alone(row, held))
            return [Remembered(to_current_item(state, row, now), 0.0) for row in islice(newest, most)]
    yield from prepare_index(handle.engine, replicas)
    profile = handle.policy.recall_profile
    vector, _ = (yield from embed_query(handle, replicas, text)) if profile.vector else (None, ())
    others = len(replica.state.rows) - len(replica.state.items)
    candidates = count_candidates(replicas, most, filters, others)
    zone = to_zone(handle.policy.zone)
    hits = list(islice(search(replicas, Query(text, now, profile, candidates, vector, accepts, zone)), most))
    with replica.lock:
        return [Remembered(to_current_item(replica.state, hit.row, now), hit.score, hit.parts()) for hit in hits]


def count_candidates(replicas: Sequence[Replica[Any]], most: int, filters: Filters, others: int) -> int:
    """How many candidates a search has to choose: they are chosen before what is not wanted is left out.

    Args:
        others: How many rows are of another kind than what is remembered.
    """
    if filters.accepts_all:
        return max(most, CANDIDATE_LIMIT) + others
    return sum(len(replica.state.rows) for replica in replicas)


def forget_in(handle: Handle, ids: Sequence[str]) -> Flow[Forgotten]:
    """Erase the items of a scope under these ids, with all their copies; others are passed over."""
    wanted = check_ids(ids)
    now = handle.settings.clock()
    replica, state = yield from handle.replica()
    with replica.lock:
        present = [id for id in wanted if id in state.items and state.rows[id].visible(now)]
    if present:
        log_remaining(handle, "forgotten", (yield from erase(handle, present)).remaining)
    else:
        handle.check_intact(local_only=True)
    return Forgotten(tuple(present), *current_size(handle, now))


def summarize_in(handle: Handle, token_limit: int, ids: Collection[str] | None = None) -> Flow[Summary]:
    """A summary of a scope's items, or of those under these ids."""
    return queue_flows.summarize_items(handle, "all", token_limit, ids)


def capacity_of(handle: Handle) -> Flow[Capacity]:
    """How full a scope is."""
    yield from handle.replica()
    return Capacity.of(*current_size(handle, handle.settings.clock()), handle.policy)


def current_size(handle: Handle, now: float) -> Size:
    """The size of a scope's items as of the last write or read of this process."""
    return handle.engine.replica(handle.path).use_derived(ItemTotals, lambda totals: totals.size(now))


def to_memorized(handle: Handle, weighed: Weighed, now: float, evicted: Sequence[MemoryItem] = ()) -> Memorized:
    """The result of adding an item at the end of a scope of long-term memory."""
    items, tokens = current_size(handle, now)
    item = to_item(weighed.row, importance_of(weighed.row, now))
    position = items - (weighed.rejected is None)
    return Memorized(item, position, tuple(evicted), items, tokens, weighed.rejected, weighed.redactions)


def find_minima(handle: Handle, store: str, *, gated: bool) -> Minima:
    """What an item must have to enter a memory type."""
    return handle.settings.gates.minima(store) if gated else Minima()
