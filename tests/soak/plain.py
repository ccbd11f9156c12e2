"""The numbers of the documents over plain dictionaries: what is seen, matters, is promoted, and leaves first.

Written from the documents, with nothing of wmem in it: this is what wmem is compared with.
"""

import math
import re
from collections import Counter
from typing import Any, TypeAlias

__all__ = [
    "BUFFER",
    "LONG_TERM",
    "POLICIES",
    "QUEUE",
    "SESSION",
    "Path",
    "Policy",
    "Row",
    "due",
    "expired",
    "importance",
    "leaving",
    "policy_of",
    "scores",
    "visible",
]

Row: TypeAlias = dict[str, Any]
"""An entry (it has a `key`), a message (it has a `role`) or an item."""
Policy: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str, ...]

_HOUR = 3_600.0
_AROUND = 4  # tokens that stand around what a prompt quotes
_PRIORITIES = ("low", "medium", "high", "critical")

SESSION: Policy = {
    "ttl_s": {"low": _HOUR, "medium": 4 * _HOUR, "high": 12 * _HOUR, "critical": 24 * _HOUR},
    "accesses": {"low": 10, "medium": 15, "high": 20, "critical": 10},
    "promotes": True,
    "max_items": math.inf,
    "max_tokens": math.inf,
    "guarded": True,
    "counts_steps": False,
    "step_ttl": math.inf,
    "wall_ttl_s": math.inf,
    "recent_steps": 5,
}
QUEUE: Policy = {
    **SESSION,
    "ttl_s": dict.fromkeys(_PRIORITIES),
    "promotes": False,
    "max_items": 6,
    "max_tokens": 24,
    "counts_steps": True,
    "step_ttl": 3,
    "wall_ttl_s": 1_800.0,
    "recent_steps": 2,
}
BUFFER: Policy = {
    **SESSION,
    "ttl_s": dict.fromkeys(_PRIORITIES, _HOUR),
    "promotes": False,
    "max_items": 5,
    "guarded": False,
}
LONG_TERM: Policy = {**SESSION, "ttl_s": dict.fromkeys(_PRIORITIES), "promotes": False}

POLICIES: dict[Path, Policy] = {
    ("queue",): QUEUE,
    ("buffer",): BUFFER,
    ("~semantic",): LONG_TERM,
    ("~episodic",): LONG_TERM,
}


def policy_of(path: Path) -> Policy:
    return POLICIES.get(path, SESSION)


def expired(row: Row, now: float) -> bool:
    return row.get("expires_at") is not None and bool(now >= row["expires_at"])


def visible(row: Row, now: float) -> bool:
    return row.get("deleted_at") is None and not expired(row, now)


def importance(row: Row, now: float) -> float:
    """What was given, else what use, age, priority and length say."""
    if row.get("importance") is not None:
        return float(row["importance"])
    fresh, until = 1.0, row.get("expires_at")
    if until is not None and until > row["created_at"]:
        fresh = min(1.0, max(0.0, 1.0 - (now - row["created_at"]) / (until - row["created_at"])))
    weight = {"low": 0.25, "medium": 0.5, "high": 0.75, "critical": 1.0}[row["priority"]]
    used, long = min(row["access_count"] / 10, 1.0), min(len(row["content"]) / 1_000, 1.0)
    return float(0.4 * used + 0.3 * fresh + 0.2 * weight + 0.1 * long)


def due(row: Row, now: float, policy: Policy) -> str | None:
    """The rule that promotes an item now."""
    if row.get("promoted_to") is not None or not visible(row, now):
        return None
    accesses = row["access_count"]
    if accesses >= policy["accesses"][row["priority"]]:
        return "accesses"
    if row["priority"] == "critical" and accesses >= 1:
        return "critical"
    if importance(row, now) >= 0.8:
        return "importance"
    if accesses >= 5 and now - row["created_at"] > 6 * _HOUR:
        return "age"
    return None


def scores(rows: list[Row]) -> dict[str, float]:
    """What each item of a queue was given, else its place among the others by how rare its words are."""
    told = {row["id"]: row["importance"] for row in rows if row.get("importance") is not None}
    words = {row["id"]: re.findall(r"[a-z0-9]+", row["content"].lower()) for row in rows}
    held_by = Counter(word for each in words.values() for word in set(each))
    rare = {word: math.log(1 + (len(rows) - count + 0.5) / (count + 0.5)) for word, count in held_by.items()}
    unscored = [row["id"] for row in rows if row["id"] not in told]
    values = {each: math.fsum(rare[word] for word in words[each]) / (_AROUND + len(words[each])) for each in unscored}
    for each, value in values.items():
        below = sum(other < value for other in values.values())
        same = sum(other == value for other in values.values())
        told[each] = min((2 * below + same) / 2 / len(values), math.nextafter(0.7, 0.0))
    return told


def leaving(rows: list[Row], policy: Policy, step: int, now: float) -> list[tuple[str, Row, dict[str, float]]]:
    """Who may leave a full scope, first to last: the rule, the item, and the numbers that decided."""
    told = scores([row for row in rows if visible(row, now)]) if policy["guarded"] else {}
    ranked: list[tuple[int, str, Row, dict[str, float]]] = []
    for row in rows:
        age = now - row["created_at"]
        if expired(row, now):
            ranked.append((0, "expired", row, {}))
        elif row.get("deleted_at") is not None:
            ranked.append((1, "deleted", row, {"age_s": age}))
        elif row.get("pinned"):
            continue
        elif not policy["guarded"]:
            ranked.append((2, "oldest", row, {"age_s": age}))
        else:
            score, behind = told[row["id"]], step - row.get("step_index", step)
            stale = behind > policy["step_ttl"] or age > policy["wall_ttl_s"]
            late = behind < policy["recent_steps"] if "step_index" in row else False
            parts = {"age_s": age, "importance": score, "stale": float(stale), "recent": float(late)}
            if "step_index" in row:
                parts["steps"] = float(behind)
            if score >= 0.7:
                ranked.append((8 if stale else 9, "guarded", row, parts))
            else:
                rule = "stale" if stale else "low" if score < 0.3 else "middle"
                ranked.append(((5 if late else 2) + ["stale", "low", "middle"].index(rule), rule, row, parts))
    ranked.sort(key=lambda each: each[0])
    return [(rule, row, parts) for _, rule, row, parts in ranked]
