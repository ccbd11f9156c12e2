"""Which items leave first when a scope is full.

A rule is a pure function: no clock, no journal, no randomness of its own. Rows come in
journal order, which defines old and new here.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias

from wmem.analysis.analyzer import Analyzer
from wmem.model.row import Row
from wmem.policy import Policy
from wmem.rules.retention import is_permanent
from wmem.rules.tfidf_importance import importance_by_id

Rule: TypeAlias = Literal["expired", "deleted", "oldest", "stale", "low", "middle", "guarded"]

_RULES: tuple[Rule, ...] = (
    "expired",
    "deleted",
    "oldest",
    *("stale", "low", "middle"),  # of earlier steps
    *("stale", "low", "middle"),  # of the last steps
    *("guarded", "guarded"),  # the stale, the others
)
"""Rules in the order in which they evict; an item's rank is an index of this, see `_rank`."""
_EXPIRED, _DELETED, _OLDEST, _EARLIER, _RECENT, _GUARDED = 0, 1, 2, 3, 6, 9


class Size(NamedTuple):
    """A number of items and a number of tokens."""

    items: int = 0
    tokens: int = 0


class Victim(NamedTuple):
    """An item to evict, the rule that chose it, and the numbers behind the decision."""

    row: Row
    rule: Rule
    parts: Mapping[str, float]


def is_stale(row: Row, policy: Policy, *, step: int, now: float) -> bool:
    """Whether an item is past its soft TTL, in steps or in seconds: it is evicted early when room is needed.

    Source: bounded store document, "Time-to-Live": a soft one, it hides nothing.
    """
    if policy.step_ttl is not None and row.step_index is not None and step - row.step_index > policy.step_ttl:
        return True
    return policy.wall_ttl_s is not None and now - row.created_at > policy.wall_ttl_s


def is_recent(row: Row, policy: Policy, *, step: int) -> bool:
    """Whether an item was added in one of the last steps, the current one included."""
    return row.step_index is not None and step - row.step_index < policy.recent_steps


def eviction_order(
    rows: Iterable[Row], policy: Policy, *, step: int, now: float, analyzer: Analyzer | None = None
) -> Iterator[Victim]:
    """All items that may be evicted, in eviction order; pinned ones may not, and what is kept permanently.

    Expired and soft-deleted items come first. Then, unless the policy evicts the oldest,
    unprotected items: stale, low, middle importance; those of the last steps after the
    others. Then items protected by their importance, stale first. Among equals the
    oldest come first.

    Source: bounded store document, "Eviction Policy"; buffer document, "Size Limits and Eviction".
    """
    rows = list(rows)
    scores: Mapping[str, float] = {}
    if policy.eviction != "oldest":
        scores = importance_by_id([row for row in rows if row.visible(now)], policy.guard_high, analyzer)
    ranked = [
        (_rank(row, scores.get(row.id), policy, step, now), index)
        for index, row in enumerate(rows)
        if not ((row.pinned or is_permanent(row)) and row.visible(now))
    ]
    for rank, index in sorted(ranked):
        row = rows[index]
        yield Victim(row, _RULES[rank], _parts(row, scores.get(row.id), policy, step, now))


def _rank(row: Row, score: float | None, policy: Policy, step: int, now: float) -> int:
    """The index of an item's rule in `_RULES`."""
    if row.expired(now):
        return _EXPIRED
    if row.deleted_at is not None:
        return _DELETED
    if score is None:
        return _OLDEST
    old = is_stale(row, policy, step=step, now=now)
    if score >= policy.guard_high:
        return _GUARDED if old else _GUARDED + 1
    first = _RECENT if is_recent(row, policy, step=step) else _EARLIER
    return first if old else first + 1 if score < policy.guard_low else first + 2


def _parts(row: Row, score: float | None, policy: Policy, step: int, now: float) -> Mapping[str, float]:
    """The numbers behind the decision."""
    parts = {"age_s": now - row.created_at}
    if score is not None:
        parts["importance"] = score
        parts["recent"] = float(is_recent(row, policy, step=step))
        parts["stale"] = float(is_stale(row, policy, step=step, now=now))
        if row.step_index is not None:
            parts["steps"] = float(step - row.step_index)
    return parts


def select_victims(candidates: Iterable[Victim], needed: Size, target: Size) -> list[Victim]:
    """The items to evict, from the front of `candidates`.

    Args:
        candidates: All items that may be evicted, in eviction order.
        needed: The room that must become free.
        target: The room that should, so that not every write has to evict; no item
            protected by its importance is evicted for it.

    Returns:
        All of them when even that does not free `needed`.
    """
    chosen: list[Victim] = []
    tokens = 0
    for items, victim in enumerate(candidates):
        if items >= needed.items and tokens >= needed.tokens:
            enough = items >= target.items and tokens >= target.tokens
            if enough or victim.rule == "guarded":
                break
        chosen.append(victim)
        tokens += victim.row.tokens or 0
    return chosen
