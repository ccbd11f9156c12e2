"""Values of a turn: its budget, what it wrote, and what its commit returns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from wmem.model.checks import check_count, check_seconds
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
        item: As it is stored, in the first of the memory types that hold it.
        stored: What each of these says, by its name.
    """

    item: MemoryItem
    stored: Mapping[str, Memorized]

    @property
    def evictions(self) -> tuple[MemoryItem, ...]:
        """What was evicted for it, of all the memory types that hold it."""
        return tuple(item for each in self.stored.values() for item in each.evicted)


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
    """

    turn_id: str
    step: int
    writes: tuple[TurnWrite, ...]
    stores: Mapping[str, int]
    exports: TurnExports
    budget: BudgetStatus
