"""The filters of `items.search` and `queue.remember`, beside their query."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.model.checks import check_flag
from wmem.model.checksum import is_intact
from wmem.model.item import Priority
from wmem.model.row import Row
from wmem.model.values import load_json
from wmem.policy import PRIORITIES
from wmem.rules.json_equality import json_equal


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFilter:
    """What an item must have to be listed; softly deleted ones never are, nor what is damaged.

    Attributes:
        tags: At least one of these must match; none accepts all.
        metadata: All of these pairs must match.
        priority: None accepts all; so do those below.
        min_confidence: 0 to 1; an item without confidence fails any.
        agent_id: Exactly this one must match; so must `task_id`.
        include_invalid: Whether what does not hold at the time in question passes, see `MemoryItem.valid_from`.
        may_answer: Whether what an item says holds then; None to ask of none.
    """

    tags: frozenset[str]
    metadata: Mapping[str, Any]
    priority: Priority | None = None
    min_confidence: float | None = None
    agent_id: str | None = None
    task_id: str | None = None
    include_expired: bool = False
    include_promoted: bool
    include_invalid: bool = False
    may_answer: Callable[[Row], bool] | None = None

    def __post_init__(self) -> None:
        check_flag(self.include_invalid, "include_invalid")
        if self.priority is not None and self.priority not in PRIORITIES:
            raise InvalidInputError(f"priority must be one of {', '.join(PRIORITIES)}, got {describe(self.priority)}")
        for name in ("agent_id", "task_id"):
            if (value := getattr(self, name)) is not None and not isinstance(value, str):
                raise InvalidInputError(f"{name} must be text, got {describe(value)}")

    def at_time(self, may_answer: Callable[[Row], bool]) -> "ItemFilter":
        """The same filter, which also asks of each item whether it holds, unless all of them are to pass."""
        return self if self.include_invalid else replace(self, may_answer=may_answer)

    def apply(self, rows: Iterable[Row], now: float) -> Iterator[Row]:
        """The rows that pass; written out for speed, for it runs on every match."""
        expired, promoted, tags, priority = self.include_expired, self.include_promoted, self.tags, self.priority
        optional = (self.min_confidence, self.agent_id, self.task_id)
        may_answer = self.may_answer
        plain = not self.metadata and optional == (None, None, None)
        for row in rows:
            until = row.expires_at
            if row.deleted_at is not None or (until is not None and now >= until and not expired):
                continue
            if may_answer is not None and not may_answer(row):
                continue
            if (row.promoted_to is not None and not promoted) or (priority is not None and row.priority != priority):
                continue
            if row.rest is not None and not is_intact(row):
                continue
            if not (tags and tags.isdisjoint(row.tags)) and (plain or self._accepts(load_json(row.rest or b"{}"))):
                yield row

    def accepts(self, row: Row, now: float) -> bool:
        """Whether a row passes."""
        return next(self.apply((row,), now), None) is not None

    def _accepts(self, rest: Mapping[str, Any]) -> bool:
        confidence = rest.get("confidence")
        if self.min_confidence is not None and (confidence is None or confidence < self.min_confidence):
            return False
        if self.agent_id not in (None, rest.get("agent_id")) or self.task_id not in (None, rest.get("task_id")):
            return False
        known = rest.get("metadata", {})
        return all(name in known and json_equal(known[name], value) for name, value in self.metadata.items())
