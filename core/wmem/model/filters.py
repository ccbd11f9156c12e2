"""`Filters`: which memory types are asked for a context, how much they give, and which items count."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from wmem.describe import describe
from wmem.errors import InvalidInputError
from wmem.model.checks import check_count, check_tags
from wmem.model.item import MemoryItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What memory is asked for beside a query; an item must pass all of them.

    Attributes:
        include: The names of the memory types to ask; None for all that are registered.
        top_k: How many items at most; None leaves it to the budget.
        task_id: Exactly this one must match; None accepts all.
        agent_id: Exactly this one must match; None accepts all.
        tags: At least one of these must match, case-sensitive; none accepts all.

    Raises:
        InvalidInputError: A value out of range.

    Source: memory system document, `ReadContext`.
    """

    include: Collection[str] | None = None
    top_k: int | None = None
    task_id: str | None = None
    agent_id: str | None = None
    tags: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.include is not None:
            object.__setattr__(self, "include", _check_names(self.include))
        if self.top_k is not None:
            object.__setattr__(self, "top_k", check_count(self.top_k, "top_k"))
        for name in ("task_id", "agent_id"):
            if (value := getattr(self, name)) is not None and not isinstance(value, str):
                raise InvalidInputError(f"{name} must be text, got {describe(value)}")
        object.__setattr__(self, "tags", check_tags(self.tags))

    def includes(self, name: str) -> bool:
        """Whether the memory type of this name is asked."""
        return self.include is None or name in self.include

    @property
    def accepts_all(self) -> bool:
        """Whether every item passes."""
        return not self.tags and self.task_id is None and self.agent_id is None

    def accepts(self, item: MemoryItem) -> bool:
        """Whether an item passes: its task, its agent and its tags."""
        return (
            self.task_id in (None, item.task_id)
            and self.agent_id in (None, item.agent_id)
            and not (self.tags and frozenset(self.tags).isdisjoint(item.tags))
        )


def _check_names(names: object) -> tuple[str, ...]:
    listed = () if isinstance(names, str) or not isinstance(names, Collection) else tuple(names)
    if not listed or not all(isinstance(name, str) and name.strip() for name in listed):
        raise InvalidInputError(f"include must list names of memory types, or be None for all, got {describe(names)}")
    return tuple(dict.fromkeys(listed))


NO_FILTERS = Filters()
"""Accepts all."""
