"""What an agent's memory is, said plainly: dictionaries of rows by scope, and one method for each operation.

It has no journal, no replicas and no cursors, and nothing of wmem in it. A row has the
fields that `Scope.export` tells. An operation that is refused raises `Refused`.
"""

import copy
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.soak.plain import (
    Path,
    Policy,
    Row,
    due,
    expired,
    importance,
    leaving,
    policy_of,
    scores,
    visible,
)

__all__ = ["PATHS", "Model", "Refused", "told"]

PATHS: tuple[Path, ...] = (
    (),
    ("one",),
    ("one", "left"),
    ("one", "right"),
    ("two",),
    ("queue",),
    ("buffer",),
    ("~semantic",),
    ("~episodic",),
)
_DAY = 86_400.0
_SAID = ("role", "parts", "turn_id", "withdrawn_at")
"""What makes a message another than the one that is stored."""
_UNTOLD = {"type": "observation", "priority": "medium", "access_count": 0}
"""What an export leaves out, for it goes without saying."""


class Refused(Exception):  # noqa: N818  # a signal, named after what wmem raises
    """An operation that raises; the text is the name of the error."""


@dataclass
class Held:
    """One scope that exists."""

    rows: dict[str, Row] = field(default_factory=dict)
    step: int = 0
    profile: str = "evidence"
    version: int = 0
    born: int = 0
    suffix: str | None = None
    """What follows the id of an item that its parent has under another id."""
    erased: set[str] = field(default_factory=set)
    merged: dict[tuple[Path, bool, bool], int] = field(default_factory=dict)
    decisions: list[Any] = field(default_factory=list)

    def items(self) -> list[Row]:
        return [row for row in self.rows.values() if "key" not in row and "role" not in row]

    def entries(self) -> dict[str, Row]:
        return {row["key"]: row for row in self.rows.values() if "key" in row}

    def messages(self) -> list[Row]:
        return [row for row in self.rows.values() if "role" in row and "withdrawn_at" not in row]

    def withdrawn(self) -> list[Row]:
        return [row for row in self.rows.values() if "withdrawn_at" in row]

    def put(self, row: Row) -> None:
        """In the place of what is under its id, or its key; place and birth stay."""
        held = self.entries().get(row["key"]) if "key" in row else None
        before = held or self.rows.get(row["id"])
        kept = row if before is None else {**row, "id": before["id"], "created_at": before["created_at"]}
        self.rows[kept["id"]] = kept


def told(row: Row, now: float) -> dict[str, Any]:
    """What an operation's result says of an item."""
    names = ("id", "content", "access_count", "expires_at", "promoted_to")
    return {**{name: row.get(name) for name in names}, "importance": importance(row, now)}


class Model:
    """The memory of one agent; `now` is moved by `pass_time`."""

    def __init__(self, now: float) -> None:
        self.now = now
        self.scopes: dict[Path, Held] = {}
        self.kept: dict[int, tuple[Path, Held]] = {}
        self.lives = 0

    # -- what everything is made of

    def held(self, path: Path) -> Held:
        """A scope as it is, an empty one where there is none."""
        return self.scopes.get(path) or Held()

    def _written(self, path: Path) -> Held:
        scope = self.scopes.setdefault(path, Held(born=self.lives + 1))
        self.lives += 1
        scope.version = self.lives
        return scope

    def _lineage(self, path: Path) -> list[Held]:
        return [self.held(path[:depth]) for depth in range(len(path), -1, -1)]

    def _nearest(self, path: Path, key: str) -> Row | None:
        found = (scope.entries().get(key) for scope in self._lineage(path))
        return next((row for row in found if row is not None and visible(row, self.now)), None)

    def _item(self, path: Path, wanted: str, *, anyhow: bool = False) -> Row:
        row = self.held(path).rows.get(wanted)
        if row is None or "key" in row or "role" in row:
            raise Refused("NotFoundError")
        if not anyhow:
            if row.get("deleted_at") is not None:
                raise Refused("NotFoundError")
            if expired(row, self.now):
                raise Refused("ExpiredError")
        return row

    def _put_changed(self, path: Path, row: Row, *, growing: bool = False, **changed: Any) -> Any:
        fresh = {**row, **changed, "updated_at": self.now}
        gone = self._room(path, [fresh]) if growing else []
        self._leave(path, gone)
        self._written(path).put(fresh)
        return told(fresh, self.now)

    # -- entries

    def store(self, path: Path, key: str, value: Any, id: str, **given: Any) -> None:
        ttl_s = given.pop("ttl_s", None)
        row = {
            "id": id,
            "key": key,
            "content": json.dumps(value, separators=(",", ":")),
            "type_name": type(value).__name__,
            "type": "fact",
            "created_at": self.now,
            "updated_at": self.now,
            "importance": 0.5,
            **given,
        }
        if ttl_s is not None:
            row["expires_at"] = self.now + ttl_s
        self._written(path).put(row)

    def get(self, path: Path, key: str) -> Any:
        row = self._nearest(path, key)
        return None if row is None else json.loads(row["content"])

    def keys(self, path: Path) -> list[str]:
        found: dict[str, None] = {}
        for scope in self._lineage(path):
            found |= {key: None for key, row in scope.entries().items() if visible(row, self.now)}
        return list(found)

    def bump(self, path: Path, key: str, id: str) -> Any:
        """One more, of what is read here, or from 0."""
        before = self._nearest(path, key)
        value = self.get(path, key)
        value = value + 1 if isinstance(value, int) else 1
        kept = ("tags", "importance", "expires_at", "metadata", "kind", "lineage_ids", "origins")
        given = {} if before is None else {name: before[name] for name in kept if name in before}
        self.store(path, key, value, id, **given)
        return value

    def get_or_set(self, path: Path, key: str, value: Any, id: str) -> Any:
        if self._nearest(path, key) is None:
            self.store(path, key, value, id)
        return self.get(path, key)

    def unset(self, path: Path, key: str) -> bool:
        row = self.held(path).entries().get(key)
        if row is None:
            return False
        del self._written(path).rows[row["id"]]
        return visible(row, self.now)

    # -- items

    def add(self, path: Path, content: str, id: str, **given: Any) -> Any:
        return told(self._added(path, content, id, **given)[0], self.now)

    def _added(self, path: Path, content: str, id: str, *, queued: bool = False, **given: Any) -> tuple[Row, list[Row]]:
        policy = policy_of(path)
        ttl_s = given.pop("ttl_s", policy["ttl_s"][given.get("priority", "medium")])
        row = {
            "type": "observation",
            "priority": "medium",
            "access_count": 1,
            **given,
            "id": id,
            "content": content,
            "created_at": self.now,
            "updated_at": self.now,
            "tokens": len(content.split()),
            "counter": "words",
        }
        if ttl_s is not None and not given.get("pinned"):
            row["expires_at"] = self.now + ttl_s
        if queued or policy["counts_steps"]:
            row["step_index"] = self.held(path).step
        gone = self._room(path, [row])
        left = self._leave(path, gone)
        self._written(path).put(row)
        return row, left

    def fetch(self, path: Path, wanted: str, times: int, id: str) -> Any:
        """So many times, and then a note of it: fetches of a process are stored with its next write."""
        result: Any = None
        for _ in range(times):
            row = self._item(path, wanted)
            row["access_count"] += 1
            row["last_accessed_at"] = max(row.get("last_accessed_at") or self.now, self.now)
            result = told(row, self.now)
            rule = due(row, self.now, policy_of(path))
            if rule is not None and policy_of(path)["promotes"]:
                self._promoted(path, row, rule)
                result = told(row, self.now)
        self.store(path, "fetched", times, id)
        return result

    def change(self, path: Path, wanted: str, **given: Any) -> Any:
        row = self._item(path, wanted)
        growing = "content" in given
        if growing:
            given["tokens"] = len(given["content"].split())
        priority, pinned = given.get("priority", row["priority"]), given.get("pinned", row.get("pinned"))
        if "ttl_s" in given:
            ttl_s = given.pop("ttl_s")
            given["expires_at"] = None if ttl_s is None or pinned else self.now + ttl_s
        elif pinned:
            given["expires_at"] = None
        return self._put_changed(path, row, growing=growing, **{**given, "priority": priority})

    def drop(self, path: Path, wanted: str) -> bool:
        try:
            row = self._item(path, wanted, anyhow=True)
        except Refused:
            return False
        del self._written(path).rows[wanted]
        return visible(row, self.now)

    def expire(self, path: Path, wanted: str) -> Any:
        row = self._item(path, wanted, anyhow=True)
        if row.get("deleted_at") is not None:
            raise Refused("NotFoundError")
        return told(row, self.now) if expired(row, self.now) else self._put_changed(path, row, expires_at=self.now)

    def extend(self, path: Path, wanted: str, **given: Any) -> Any:
        row = self._item(path, wanted, anyhow=True)
        if row.get("deleted_at") is not None:
            raise Refused("NotFoundError")
        more, until = given.get("ttl_s", policy_of(path)["ttl_s"][row["priority"]]), row.get("expires_at")
        longer = None if more is None or until is None or row.get("pinned") else max(until, self.now) + more
        if longer == until:
            return told(row, self.now)
        return self._put_changed(path, row, growing=not visible(row, self.now), expires_at=longer)

    def undelete(self, path: Path, wanted: str) -> Any:
        row = self._item(path, wanted, anyhow=True)
        if expired(row, self.now):
            raise Refused("ExpiredError")
        if row.get("deleted_at") is None:
            return told(row, self.now)
        return self._put_changed(path, row, growing=True, deleted_at=None)

    def relate(self, path: Path, wanted: str, target: str) -> Any:
        row = self._item(path, wanted)
        made = {"type": "about", "target_id": target, "metadata": {}}
        known = row.get("relations", [])
        return told(row, self.now) if made in known else self._put_changed(path, row, relations=[*known, made])

    def listed(self, path: Path) -> Any:
        rows, now = self.held(path).items(), self.now
        there = [row for row in rows if row.get("deleted_at") is None]
        seen = [row for row in there if not expired(row, now)]
        return {
            "all": [row["id"] for row in seen if row.get("promoted_to") is None],
            "everything": [row["id"] for row in there],
            "expired": [row["id"] for row in there if expired(row, now)],
            "promoted": [row["id"] for row in seen if row.get("promoted_to") is not None],
            "pending": [row["id"] for row in seen if due(row, now, policy_of(path)) is not None],
            "forgotten": [row["id"] for row in rows if row.get("deleted_at") is not None and not expired(row, now)],
        }

    def search(self, path: Path, query: str, order: str, limit: int, *, tags: list[str], priority: str | None) -> Any:
        rows = [row for row in self.held(path).items() if visible(row, self.now) and row.get("promoted_to") is None]
        if tags:
            rows = [row for row in rows if set(tags) & set(row.get("tags", ()))]
        if priority is not None:
            rows = [row for row in rows if row["priority"] == priority]
        if query and order == "relevance":
            rows = [row for row in rows if query in row["content"].lower()]
        elif query:
            rows = [row for row in rows if set(query.split()) & set(row["content"].lower().split())]
        rows.reverse()
        if order != "recency":
            rows.sort(key=lambda row: -self._rank(row, query, order))
        return {"ids": [row["id"] for row in rows[:limit]], "total": len(rows)}

    def _rank(self, row: Row, query: str, order: str) -> float:
        value = importance(row, self.now)
        if order == "importance":
            return value
        at = max(0, row["content"].lower().find(query)) if query else 0
        place = 1.0 - min(1.0, at / max(1, len(row["content"])))
        return float(0.5 * place + 0.2 * min(row["access_count"] / 10, 1.0) + 0.3 * value)

    # -- what recall finds

    def weigh(self, path: Path, profile: str) -> str:
        """By another profile from now on; a scope that is not there begins with it."""
        if path not in self.scopes or self.held(path).profile != profile:
            self._written(path).profile = profile
        return profile

    def weighs(self, path: Path) -> str:
        return self.held(path).profile

    # -- long-term memory

    def promote(self, path: Path, wanted: str) -> Any:
        return told(self._promoted(path, self._item(path, wanted), None), self.now)

    def _promoted(self, path: Path, row: Row, rule: str | None) -> Row:
        knowledge = row["type"] in ("fact", "skill") or row.get("kind") in ("insight", "preference")
        target = ("~semantic",) if knowledge else ("~episodic",)
        there = self.held(target)
        own = {(path, self.held(path).born, row["id"]), *map(_identity, _origins(row, path))}
        kept = None
        for source in (row["id"], *(each["id"] for each in _origins(row, path))):
            for each in there.items():
                steps = _origins(each, target)
                paired = row.get("promoted_to") == each["id"]
                same = own & set(map(_identity, steps)) or (
                    paired and (path, row["id"]) in [(step["path"], step["id"]) for step in steps]
                )
                if kept is None and same and source in _sources(each):
                    kept = each
        if kept is None:
            reason = (
                {"promotion_reason": "manual"} if rule is None else {"promotion_reason": "auto", "promotion_rule": rule}
            )
            stamp = f"memory_promoted_{row['id']}_{datetime.fromtimestamp(self.now, UTC):%Y%m%d-%H%M%S}"
            free = (name for name in (stamp, *(f"{stamp}-{n}" for n in range(2, 99))))
            kept = copy.deepcopy(row) | {
                "id": next(name for name in free if name not in there.rows and name not in there.erased),
                "origins": self._steps(row, path, target),
                "updated_at": row["updated_at"],
                "expires_at": None,
                "promoted_to": None,
                "promoted_at": None,
                "lineage_ids": [*row.get("lineage_ids", []), row["id"]],
                "metadata": {
                    **row.get("metadata", {}),
                    **reason,
                    "promoted_from_working": "true",
                    "working_memory_id": row["id"],
                    "working_memory_session": "/".join(path) or "agent",
                    "access_count_at_promotion": str(row["access_count"]),
                    "importance_at_promotion": f"{importance(row, self.now):.2f}",
                },
            }
            self._written(target).put(kept)
        mine = self.held(path).rows.get(row["id"])
        if mine is not None and mine.get("promoted_to") != kept["id"]:
            self._written(path)
            mine["promoted_to"], mine["promoted_at"] = kept["id"], self.now
            parts = {"accesses": float(row["access_count"]), "importance": importance(row, self.now)}
            self.held(path).decisions.append(
                [row["id"], rule or "manual", row.get("tokens") or 0, self.now, parts, "promoted"]
            )
        return kept

    def _steps(self, row: Row, path: Path, to: Path) -> list[dict[str, Any]]:
        """How a copy of a row comes into another scope."""
        steps = _origins(row, path)
        lineage = _own_lineage(row, steps)
        step = {"path": path, "born": self.held(path).born, "id": row["id"], "to": to, "lineage_ids": lineage}
        return [*copy.deepcopy(steps), step]

    # -- room

    def _room(self, path: Path, rows: list[Row]) -> list[tuple[str, Row, dict[str, float]]]:
        """Who must leave so that these fit."""
        policy, fresh = policy_of(path), {row["id"]: row for row in rows}
        others = [row for row in self.held(path).items() if row["id"] not in fresh]
        needed = self._over(policy, [*others, *fresh.values()])
        if needed == (0, 0):
            return []
        if self._over(policy, list(fresh.values())) != (0, 0):
            raise Refused("CapacityError")
        return self._first_to_go(path, others, needed)

    def _over(self, policy: Policy, rows: list[Row]) -> tuple[float, float]:
        tokens = sum(row["tokens"] for row in rows)
        return max(0, len(rows) - policy["max_items"]), max(0, tokens - policy["max_tokens"])

    def _first_to_go(self, path: Path, rows: list[Row], needed: tuple[float, float]) -> list[Any]:
        gone: list[Any] = []
        tokens = 0
        for each in leaving(rows, policy_of(path), self.held(path).step, self.now):
            if len(gone) >= needed[0] and tokens >= needed[1]:
                break
            gone.append(each)
            tokens += each[1]["tokens"]
        if len(gone) < needed[0] or tokens < needed[1]:
            raise Refused("CapacityError")
        return gone

    def _leave(self, path: Path, gone: list[tuple[str, Row, dict[str, float]]]) -> list[Row]:
        if not gone:
            return []
        scope = self._written(path)
        for rule, row, parts in gone:
            del scope.rows[row["id"]]
            if rule == "expired":
                scope.decisions.append(expiry(row, self.now))
            else:
                scope.decisions.append([row["id"], rule, row["tokens"], self.now, parts, "evicted"])
        return [row for rule, row, _ in gone if rule != "expired"]

    # -- the queue

    def memorize(self, path: Path, content: str, id: str, **given: Any) -> Any:
        row, left = self._added(path, content, id, queued=True, **given)
        seen = [each for each in self.held(path).items() if visible(each, self.now)]
        return {
            "id": row["id"],
            "position": len(seen) - 1,
            "evicted": [each["id"] for each in left],
            "items": len(seen),
            "tokens": sum(each["tokens"] for each in seen),
        }

    def forget(self, path: Path, instruction: str, mode: str) -> Any:
        scope = self.held(path)
        seen = [row for row in scope.items() if visible(row, self.now)]
        if instruction == "oldest":
            gone = seen[:1]
        elif instruction == "least important":
            values = scores(seen)
            gone = [min(seen, key=lambda row: values[row["id"]])] if seen else []
        elif instruction.startswith("position:"):
            at = int(instruction.removeprefix("position:"))
            gone = seen[at : at + 1]
        else:
            before = int(instruction.removeprefix("before:step_"))
            gone = [row for row in seen if row.get("step_index", before) < before]
        if gone:
            self._written(path)
        for row in gone:
            if mode == "hard":
                self._erase(path, row["id"])
            else:
                row["deleted_at"] = row["updated_at"] = self.now
        left = [row for row in seen if row not in gone]
        return {"ids": [row["id"] for row in gone], "items": len(left), "tokens": sum(row["tokens"] for row in left)}

    def advance(self, path: Path, steps: int) -> int:
        scope = self._written(path)
        scope.step += steps
        return scope.step

    def evict_to(self, path: Path, items: int) -> list[str]:
        rows = self.held(path).items()
        needed = (max(0, len(rows) - items), 0)
        gone = [] if needed == (0, 0) else self._first_to_go(path, rows, needed)
        return [row["id"] for row in self._leave(path, gone)]

    def decisions(self, path: Path) -> Any:
        return self.held(path).decisions[::-1]

    # -- messages

    def say(self, path: Path, messages: list[dict[str, Any]]) -> list[str]:
        for message in messages:
            self._say(path, message)
        return [message["id"] for message in messages]

    def _say(self, path: Path, message: dict[str, Any]) -> None:
        row = {
            "id": message["id"],
            "role": message["role"],
            "parts": [{"text": message["content"]}],
            "turn_id": message.get("turn_id"),
            "created_at": self.now,
            "updated_at": self.now,
            "access_count": 0,
        }
        there = self.held(path).rows.get(row["id"])
        if there is None or any(there.get(name) != row.get(name) for name in _SAID):
            self._written(path).put(row)

    def rewrite(self, path: Path, messages: list[dict[str, Any]]) -> None:
        """Other messages in place of all; a history that goes on where this one ends is only added to."""
        before = [row["id"] for row in self.held(path).messages()]
        if [message["id"] for message in messages][: len(before)] != before:
            for row in [*self.held(path).messages(), *(self.held(path).withdrawn() if before else ())]:
                del self._written(path).rows[row["id"]]
        self.say(path, messages)

    def pop(self, path: Path) -> str | None:
        newest = [row["id"] for row in self.held(path).messages()][-1:]
        for each in newest:
            del self._written(path).rows[each]
        return newest[0] if newest else None

    def unsay(self, path: Path, wanted: str) -> bool:
        if "role" not in self.held(path).rows.get(wanted, {}):
            return False
        del self._written(path).rows[wanted]
        return True

    def withdraw(self, path: Path, wanted: list[str]) -> int:
        there = [row for row in self.held(path).messages() if row["id"] in wanted]
        for row in there:
            self._written(path).rows[row["id"]] = {**row, "withdrawn_at": self.now}
        return len(there)

    def restore(self, path: Path, wanted: list[str]) -> int:
        there = [row for row in self.held(path).withdrawn() if row["id"] in wanted]
        for row in there:
            del self._written(path).rows[row["id"]]["withdrawn_at"]
        return len(there)

    def withdrawn(self, path: Path) -> list[str]:
        return [row["id"] for row in self.held(path).withdrawn()]

    def turns(self, path: Path) -> list[list[str]]:
        turns: list[list[str]] = []
        named: dict[str, list[str]] = {}
        loose: list[str] | None = None
        for row in self.held(path).messages():
            turn = row["turn_id"]
            if turn is not None:
                if turn not in named:
                    named[turn] = []
                    turns.append(named[turn])
                named[turn].append(row["id"])
                loose = None
            elif loose is None or row["role"] == "user":
                loose = [row["id"]]
                turns.append(loose)
            else:
                loose.append(row["id"])
        return turns

    # -- scopes

    def clear(self, path: Path, facet: str) -> int:
        scope = self.held(path)
        messages = [*scope.messages(), *scope.withdrawn()]
        facets = {"entries": list(scope.entries().values()), "items": scope.items(), "messages": messages}
        gone = [row for name, rows in facets.items() if facet in (name, "all") for row in rows]
        if not gone:
            return 0
        for row in gone:
            del self._written(path).rows[row["id"]]
        if facet == "all":
            scope.merged.clear()
        return sum(visible(row, self.now) and "withdrawn_at" not in row for row in gone)

    def children(self, path: Path) -> list[str]:
        below = [each for each, scope in self.scopes.items() if each[: len(path)] == path and scope.rows]
        return sorted({each[len(path)] for each in below if len(each) > len(path) and each[-1][0] != "~"})

    def merge(self, path: Path, overwrite: bool, items: bool, id: str, parent: Path | None = None) -> int:
        source, above = self.held(path), path[:-1] if parent is None else parent
        rows = [
            row for row in [*source.entries().values(), *(source.items() if items else ())] if visible(row, self.now)
        ]
        how = (path, overwrite, items)
        if not rows or self.held(above).merged.get(how) == source.version:
            return 0
        puts: list[Row] = []
        there = self.held(above)
        for number, row in enumerate(rows):
            place, held = f"{id}{number:02d}", there.entries().get(row.get("key", ""))
            if "key" not in row:
                place, held = self._place(above, path, row, {each["id"] for each in puts}, f"{id}99")
            if held is not None and not overwrite and visible(held, self.now):
                continue
            made = copy.deepcopy(row) | {"id": place, "origins": self._steps(row, path, above)}
            if "key" in row:
                made["lineage_ids"] = list(dict.fromkeys([*row.get("lineage_ids", []), row["id"]]))
            elif held is not None:
                for name in ("access_count", "last_accessed_at"):
                    made[name] = max(row.get(name) or 0, held.get(name) or 0) or None
                for name in ("promoted_to", "promoted_at"):
                    made[name] = row.get(name) or held.get(name)
            puts.append(made)
        self._leave(above, self._room(above, [row for row in puts if "key" not in row]))
        target = self._written(above)
        for row in puts:
            target.put(row)
        target.merged[how] = source.version
        return len(puts)

    def _place(self, above: Path, path: Path, row: Row, taken: set[str], fresh: str) -> tuple[str, Row | None]:
        """Where an item goes in the parent, and the copy that an earlier merge put there."""
        source, there = self.held(path), self.held(above)
        other = None if source.suffix is None else f"{row['id']}~{source.suffix}"
        for place in (other, row["id"]):
            held = None if place is None else there.rows.get(place)
            steps = [] if held is None else _origins(held, above)
            if place is not None and steps and _identity(steps[-1]) == (path, source.born, row["id"]):
                return place, held
        if row["id"] not in there.rows and row["id"] not in taken:
            return row["id"], None
        source.suffix = source.suffix or fresh
        place = f"{row['id']}~{source.suffix}"
        if place in there.rows or place in taken:
            raise Refused("InvalidInputError")
        return place, None

    def work(self, path: Path, entries: dict[str, Any], content: str, merge: bool, id: str) -> Any:
        """A temporary scope below another: it is filled, perhaps merged, and gone."""
        below = (*path, id)
        for number, (key, value) in enumerate(entries.items()):
            self.store(below, key, value, f"{id}{number:02d}")
        self.add(below, content, f"{id}88")
        try:
            if merge:
                self.merge(below, overwrite=True, items=True, id=f"{id[:-1]}Y", parent=path)
        finally:
            self.scopes.pop(below, None)

    def dispose(self, path: Path) -> int:
        count = sum(visible(row, self.now) for row in self.held(path).entries().values())
        for each in [each for each in self.scopes if each[: len(path)] == path]:
            del self.scopes[each]
        return count

    def keep(self, path: Path, slot: int) -> None:
        """Export a scope and put the document aside."""
        self.kept[slot] = path, copy.deepcopy(self.held(path))

    def bring(self, path: Path, slot: int) -> int:
        """Import the document that was put aside."""
        there, kept = copy.deepcopy(self.kept.get(slot, (path, Held())))
        rows = list(kept.rows.values())
        rows.sort(key=lambda row: ("key" not in row) + ("role" in row))
        plain = [row for row in rows if "key" not in row and "role" not in row and visible(row, self.now)]
        gone = self._room(path, plain)
        self._leave(path, gone)
        past = path not in self.scopes and bool(kept.erased or kept.merged or kept.decisions)
        if rows or past or kept.step > self.held(path).step:
            scope = self._written(path)
            if past:
                scope.erased, scope.decisions = kept.erased, kept.decisions
                merged = {((*path, *source[len(there) :]), *how): at for (source, *how), at in kept.merged.items()}
                scope.merged = merged  # type: ignore[assignment]  # a path and two flags again
            scope.step = max(scope.step, kept.step)
            for row in rows:
                scope.put(row)
        return len(rows)

    def erase(self, path: Path, id: str, wanted: str | None = None, key: str | None = None) -> None:
        """Take away what is under an id or a key, and every copy of it."""
        if key is not None:
            wanted = self.held(path).entries().get(key, {}).get("id")
        if wanted is not None:
            self._erase(path, wanted)
        self.store(path, "erased", 1, id)

    def _erase(self, path: Path, wanted: str) -> None:
        here = self.held(path)
        ids: set[Any] = {(path, here.born if wanted in here.rows else None, wanted)}
        # Of what is not here, also the copy that has this id elsewhere.
        pairs: set[Any] = set() if wanted in here.rows else {(wanted, path, None)}
        scopes = [path]
        while True:
            before = len(ids) + len(pairs) + len(scopes)
            for each in list(scopes):
                for row in self.held(each).rows.values():
                    if self._leads(each, row, ids, pairs):
                        steps = _origins(row, each)
                        ids |= {(each, self.held(each).born, row["id"]), *map(_identity, steps)}
                        pairs |= {(row["id"], step["path"], step["id"]) for step in steps}
                        pairs |= {(row["promoted_to"], each, row["id"])} if row.get("promoted_to") else set()
                near = [each[:depth] for depth in range(len(each))] + [("~semantic",), ("~episodic",)]
                near += [source for source, _, _ in self.held(each).merged] + [place for place, _, _ in ids]
                scopes += [there for there in dict.fromkeys(near) if there not in scopes]
            if len(ids) + len(pairs) + len(scopes) == before:
                break
        for each in scopes:
            gone = [row["id"] for row in self.held(each).rows.values() if self._leads(each, row, ids, pairs)]
            for there in gone:
                scope = self._written(each)
                del scope.rows[there]
                scope.erased.add(there)
        if path in self.scopes:
            self.scopes[path].erased.add(wanted)

    def _leads(self, path: Path, row: Row, ids: set[Any], pairs: set[Any]) -> bool:
        def meant(where: Path, born: int | None, id: str) -> bool:
            return (where, born, id) in ids or (where, None, id) in ids

        steps, born = _origins(row, path), self.held(path).born
        return (
            meant(path, born, row["id"])
            or (row.get("promoted_to"), path, row["id"]) in pairs
            or any((row["id"], step["path"], id) in pairs for step in steps for id in (step["id"], None))
            or any(meant(step["path"], step["born"], id) for step in steps for id in (step["id"], *step["lineage_ids"]))
            or any(meant(path, born, id) for id in _own_lineage(row, steps))
        )

    # -- the whole memory

    def maintain(self, path: Path) -> Any:
        taken, scopes = 0, len(self.scopes)
        for each, scope in self.scopes.items():
            for row in list(scope.rows.values()):
                until, written = row.get("expires_at"), max(row["created_at"], row["updated_at"])
                if expired(row, self.now):
                    del self._written(each).rows[row["id"]]
                    scope.decisions.append(expiry(row, self.now))
                    taken += 1
                elif until is not None and written > self.now + _DAY:
                    self._written(each)
                    row["expires_at"] = self.now + max(0.0, until - written)
        return {"scopes": scopes, "expired": taken, "deleted": 0}

    def pass_time(self, path: Path, seconds: float) -> None:
        self.now += seconds

    def reopen(self, path: Path) -> None:
        """Nothing is forgotten when a process ends."""

    def save_and_restore(self, path: Path) -> None:
        """What is saved and restored at once is as it was."""

    def pack(self, path: Path, query: str, budget: int) -> None:
        """Not modelled: the stores are compared with each other."""

    def export(self, path: Path) -> dict[str, Any]:
        scope = self.held(path)
        rows = [
            row
            if "role" in row
            else {
                **{name: value for name, value in row.items() if _UNTOLD.get(name) != value},
                "importance_score": importance(row, self.now),
            }
            for row in scope.rows.values()
        ]
        return {
            "step": scope.step,
            "entries": [row for row in rows if "key" in row],
            "memories": [row for row in rows if "key" not in row and "role" not in row],
            "messages": [row for row in rows if "role" in row],
        }


def expiry(row: Row, now: float) -> list[Any]:
    """The decision that is stored when an expired row is removed."""
    return [row["id"], "expired", row.get("tokens") or 0, now, {"expires_at": row["expires_at"]}, "expired"]


def _origins(row: Row, path: Path) -> list[dict[str, Any]]:
    """How a row came into its scope; nothing of what it says of another, from which it was imported."""
    steps: list[dict[str, Any]] = row.get("origins") or []
    return steps if steps and steps[-1]["to"] == path else []


def _identity(step: dict[str, Any]) -> tuple[Path, int, str]:
    return step["path"], step["born"], step["id"]


def _own_lineage(row: Row, steps: list[dict[str, Any]]) -> list[str]:
    foreign = {id for step in steps for id in (step["id"], *step["lineage_ids"])}
    return [id for id in row.get("lineage_ids", ()) if id not in foreign]


def _sources(row: Row) -> set[str]:
    """The ids that a promoted item had before."""
    if not row["id"].startswith("memory_promoted_"):
        return set()
    steps = row.get("origins") or []
    named = {step["id"] for step in steps} if len(steps) > 1 else set()
    return {row["id"].removeprefix("memory_promoted_").rpartition("_")[0], *named}
