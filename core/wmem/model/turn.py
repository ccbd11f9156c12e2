"""Values of a turn: its budget, what it wrote, and what its commit returns."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from wmem.model.checks import check_count, check_seconds
from wmem.model.gate import NO_COUNTS, Rejected
from wmem.model.item import MemoryItem
from wmem.model.results import Memorized

_MAX_SECONDS = 10 * 365 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnBudget:
    """What one turn of an agent may take; None sets no limit.

    Attributes:
        tokens: Of the prompts that it assembles, together.
        events: How many items it may memorize, tool calls track, contexts assemble and progress report, together.
        seconds: From its beginning, by the clock of the memory.

    Raises:
        InvalidInputError: A value out of range.
    """

    tokens: int | None = None
    events: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("tokens", "events"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, check_count(value, name))
        if self.seconds is not None:
            object.__setattr__(self, "seconds", check_seconds(self.seconds, "seconds", _MAX_SECONDS))


class BudgetStatus(NamedTuple):
    """What a turn has taken so far, and what is left of its budget; None where it has no limit.

    Attributes:
        tokens: Of the prompts that were assembled.
        events: Items memorized, tool calls tracked, contexts assembled and progress reported.
        seconds: Since the turn began; of one that ended, until then.
        exceeded: The limits that are reached: ``tokens``, ``events``, ``seconds``.
    """

    tokens: int
    events: int
    seconds: float
    tokens_left: int | None
    events_left: int | None
    seconds_left: float | None
    exceeded: tuple[str, ...]


class Routed(NamedTuple):
    """Result of memorizing an item in a turn.

    Attributes:
        item: As it is stored, in the first of the memory types that hold it; None if none took it.
        stored: What each of these says, by its name.
        rejected: Why the others that it was routed to did not take it, by their names.
        routes: The name of the rule by which it went to each memory type, taken or not. Of the built-in table:
            ``reasoning``, ``message``, ``experience``, ``knowledge-type``, ``knowledge-kind``; ``own-type`` for a
            type of one's own that accepts it, ``fallback`` where none does, ``named`` for one that was asked for;
            else that of a `Route`.
        redactions: How many texts of each kind were redacted in it.
        evicted: What was evicted for it, of all the memory types that hold it.
    """

    item: MemoryItem | None
    stored: Mapping[str, Memorized]
    rejected: Mapping[str, Rejected] = MappingProxyType({})
    routes: Mapping[str, str] = MappingProxyType({})
    redactions: Mapping[str, int] = NO_COUNTS
    evicted: tuple[MemoryItem, ...] = ()

    def explain(self) -> str:
        """What became of the item, in words: a line for each memory type that it was routed to."""
        lines = []
        for store, rule in self.routes.items():
            if (fault := self.rejected.get(store)) is None:
                gone = len(self.stored[store].evicted)
                lines.append(f"{store}: stored (rule {rule}{f', {gone} evicted' if gone else ''})")
            else:
                bound = "at most" if fault.reason == "size" else "at least"
                told = f"{fault.reason} {fault.value:.4g}, {bound} {fault.minimum:.4g} is asked for"
                lines.append(f"{store}: not stored, {told} (rule {rule})")
        if self.redactions:
            lines.append("redacted: " + ", ".join(f"{count} {kind}" for kind, count in self.redactions.items()))
        return "\n".join(lines)


class TurnWrite(NamedTuple):
    """An item that a turn wrote, and the name of the memory type that holds it."""

    store: str
    item: MemoryItem


class GoalProgress(NamedTuple):
    """A step towards a goal.

    Attributes:
        delta: How far, as a share of the whole; negative for a setback.
        note: What was done, in words.
        at: UTC epoch seconds.
    """

    goal: str
    delta: float
    note: str
    at: float


class TurnExports(NamedTuple):
    """What a turn hands to whoever works with memory elsewhere.

    Attributes:
        episodic: What went to episodic memory.
        semantic: What went to semantic memory.
        goals: The progress that was reported.
    """

    episodic: tuple[MemoryItem, ...]
    semantic: tuple[MemoryItem, ...]
    goals: tuple[GoalProgress, ...]


class Committed(NamedTuple):
    """Result of committing a turn.

    Attributes:
        turn_id: The turn.
        step: The number of the session's step now.
        writes: What the turn wrote, in order.
        stores: How many items it wrote to each memory type.
        exports: What it hands on.
        budget: What it took.
        rejected: How many items each memory type did not take.
        redactions: How many texts of each kind were redacted.
        evicted: How many items were evicted for what it wrote.
    """

    turn_id: str
    step: int
    writes: tuple[TurnWrite, ...]
    stores: Mapping[str, int]
    exports: TurnExports
    budget: BudgetStatus
    rejected: Mapping[str, int] = NO_COUNTS
    redactions: Mapping[str, int] = NO_COUNTS
    evicted: int = 0
