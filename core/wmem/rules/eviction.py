"""Which items leave first when a scope is full.

A rule is a pure function: no clock, no journal, no randomness of its own. The rows it is
given stand in the order of their journal, which is what old and new mean here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from wmem.model.row import Row
from wmem.policy import Policy
from wmem.rules.informative import importances

__all__ = ["Room", "Rule", "Victim", "leaving", "recent", "stale", "victims"]

Rule: TypeAlias = Literal["expired", "deleted", "oldest", "stale", "low", "middle", "guarded"]

_ORDER = ("stale", "low", "middle")


class Room(NamedTuple):
    """So many items, and so many tokens."""

    items: int = 0
    tokens: int = 0


class Victim(NamedTuple):
    """An item that leaves, the rule that names it, and the numbers that decided."""

    row: Row
    rule: Rule
    parts: Mapping[str, float]


def stale(row: Row, policy: Policy, *, step: int, now: float) -> bool:
    """Whether an item is too old, in steps or in seconds, to be kept when room is needed.

    Source: bounded store document, "Time-to-Live": a soft one, it hides nothing.
    """
    if policy.step_ttl is not None and row.step_index is not None and step - row.step_index > policy.step_ttl:
        return True
    return policy.wall_ttl_s is not None and now - row.created_at > policy.wall_ttl_s


def recent(row: Row, policy: Policy, *, step: int) -> bool:
    """Whether an item came in one of the last steps, the current one included."""
    return row.step_index is not None and step - row.step_index < policy.recent_steps


def leaving(rows: Iterable[Row], policy: Policy, *, step: int, now: float) -> list[Victim]:
    """All items that may leave, first to last; pinned ones may not.

    Expired and softly deleted items come first. Then, unless the policy wants the oldest,
    what is not protected: stale, of low, of middle importance; those of the last steps
    after the others. Then what is protected by its importance, stale first. The oldest
    come first among equals.

    Source: bounded store document, "Eviction Policy"; buffer document, "Size Limits and Eviction".
    """
    rows = list(rows)
    guarded = policy.eviction != "oldest"
    scores = importances((row for row in rows if row.visible(now)), policy.guard_high) if guarded else {}
    ranked: list[tuple[int, Victim]] = []
    for row in rows:
        if row.expired(now):
            ranked.append((0, Victim(row, "expired", {})))
        elif row.deleted_at is not None:
            ranked.append((1, Victim(row, "deleted", {"age_s": now - row.created_at})))
        elif row.pinned:
            continue
        elif guarded:
            ranked.append(_guarded(row, scores[row.id], policy, step=step, now=now))
        else:
            ranked.append((2, Victim(row, "oldest", {"age_s": now - row.created_at})))
    ranked.sort(key=lambda each: each[0])  # stable: the journal's order decides among equals
    return [victim for _, victim in ranked]


def _guarded(row: Row, score: float, policy: Policy, *, step: int, now: float) -> tuple[int, Victim]:
    old, late = stale(row, policy, step=step, now=now), recent(row, policy, step=step)
    rule: Rule
    if score >= policy.guard_high:
        rank, rule = 8 if old else 9, "guarded"
    else:
        rule = "stale" if old else "low" if score < policy.guard_low else "middle"
        rank = (5 if late else 2) + _ORDER.index(rule)
    parts = {"importance": score, "age_s": now - row.created_at, "recent": float(late), "stale": float(old)}
    if row.step_index is not None:
        parts["steps"] = float(step - row.step_index)
    return rank, Victim(row, rule, parts)


def victims(order: Sequence[Victim], needed: Room, wanted: Room) -> list[Victim]:
    """The first that have to leave.

    Args:
        order: Whoever may leave, first to last.
        needed: What has to become free.
        wanted: What should, so that not every write has to make room; nothing that its
            importance protects leaves for it.

    Returns:
        All of them when even that does not make the room that is needed.
    """
    chosen: list[Victim] = []
    tokens = 0
    for items, victim in enumerate(order):
        if items >= needed.items and tokens >= needed.tokens:
            enough = items >= wanted.items and tokens >= wanted.tokens
            if enough or victim.rule == "guarded":
                break
        chosen.append(victim)
        tokens += victim.row.tokens or 0
    return chosen
