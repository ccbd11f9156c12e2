"""`scope.queue`: the bounded queue, a view over the scope's items."""

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from wmem.model.change import Decision
from wmem.model.checks import check_metadata, check_tags
from wmem.model.item import ItemFields, MemoryItem, Priority
from wmem.model.results import Forgotten, Memorized, Summary
from wmem.policy import Capacity
from wmem.rules.ttl import DEFAULT_TTL, DefaultTtl
from wmem.scope.handle import Handle
from wmem.scope.items.filters import ItemFilter
from wmem.scope.items.flows import draft_item
from wmem.scope.ports import Drive, RunRead
from wmem.scope.queue import flows
from wmem.scope.queue.flows import ForgetMode, SummarySpan


class QueueReads:
    """The read methods of `scope.queue`.

    `importance` here is the given one, or else computed from the item's words against those
    of the other items; it decides what is evicted.
    """

    __slots__ = ("_handle", "_run")

    def __init__(self, handle: Handle, run_read: RunRead) -> None:
        self._handle = handle
        self._run = run_read

    def remember(
        self,
        prompt: str | None = None,
        *,
        tags: Iterable[str] = (),
        agent_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        min_importance: float = 0.0,
        limit: int | None = None,
    ) -> list[MemoryItem]:
        """The items that share a word with a prompt, best first.

        They are ranked by importance plus position in the queue, both from 0 to 1 (the newest).

        Args:
            prompt: None or blank matches all.
            tags: At least one of these must match.
            agent_id: Exactly this one must match.
            metadata: All of these pairs must match.
            min_importance: 0 to 1.
            limit: How many at most, None for all.
        """
        wanted = ItemFilter(
            tags=frozenset(check_tags(tags)),
            metadata=check_metadata(metadata),
            agent_id=agent_id,
            include_promoted=True,
        )
        return self._run(flows.remember(self._handle, prompt, wanted, min_importance, limit))

    def summarize(self, span: SummarySpan = "all", token_limit: int = 256) -> Summary:
        """Extractive summary: the sentences that tell most, verbatim, of important items first.

        Args:
            span: All items, or those of the last steps that count as recent (policy).
            token_limit: Maximum tokens of the text; at least 1.
        """
        return self._run(flows.summarize(self._handle, span, token_limit))

    def capacity(self) -> Capacity:
        """How full the queue is."""
        return self._run(flows.capacity(self._handle))

    def decisions(self, limit: int | None = None) -> list[Decision]:
        """Why items were evicted, expired or promoted, newest first, as many as the scope keeps (1,000).

        Each has a `kind`, the rule, and the numbers that decided, never content. What expired has one from when it
        was cleaned up.
        """
        return self._run(flows.list_decisions(limit))


class Queue(QueueReads):
    """The queue of one scope; `Policy.queue` has the numbers of its document."""

    __slots__ = ("_drive",)

    def __init__(self, handle: Handle, drive: Drive) -> None:
        super().__init__(handle, lambda read: drive(handle.read(read, local_only=True)))
        self._drive = drive

    def summarize(self, span: SummarySpan = "all", token_limit: int = 256) -> Summary:
        """Summary of the items: by the memory's summarizer, or else by the sentences that tell most, verbatim.

        Args:
            span: All items, or those of the last steps that count as recent (policy).
            token_limit: Maximum tokens of the text; at least 1.
        """
        return self._drive(flows.summarize_items(self._handle, span, token_limit))

    def memorize(
        self,
        content: str,
        *,
        priority: Priority = "medium",
        ttl_s: float | DefaultTtl | None = DEFAULT_TTL,
        **fields: Unpack[ItemFields],
    ) -> Memorized:
        """Add an item at the end; evictions to make room are part of the same record.

        Args:
            fields: See `ItemFields`; without `importance` it is computed from the words.

        Raises:
            CapacityError: It exceeds the queue's limits by itself, or all else is pinned.
            InvalidInputError: Anything out of range; nothing was stored.
        """
        draft = draft_item(self._handle, content, priority=priority, ttl_s=ttl_s, fields=fields)
        return self._drive(flows.memorize(self._handle, draft))

    def forget(self, instruction: str, mode: ForgetMode = "soft") -> Forgotten:
        """Forget the items that an instruction selects; selecting none is no error.

        Args:
            instruction: ``oldest``, ``least important``, ``position:N`` (0 is the oldest) or
                ``before:step_N`` (all of the steps before it).
            mode: ``soft`` hides them until room is needed, `items.undelete` restores them;
                ``hard`` removes them.

        Raises:
            InvalidInputError: The instruction is none of the four; the message lists them.
        """
        return self._drive(flows.forget(self._handle, instruction, mode))

    def advance_step(self, steps: int = 1, *, turn_id: str | None = None) -> int:
        """Begin a new step (a turn of the agent) and return its number; the first step is 0.

        Args:
            turn_id: The turn that ended: it is one step, however often and by whomever this is called, as long as
                it is one of the last 256 of the scope.
        """
        return self._drive(flows.advance_step(self._handle, steps, turn_id))

    def evict_to(self, *, items: int | None = None, tokens: int | None = None) -> list[MemoryItem]:
        """Evict the least important items until at most so many are left; returns them, first to last.

        Raises:
            CapacityError: Pinned items alone are more; nothing was evicted.
        """
        return self._drive(flows.evict_to(self._handle, items=items, tokens=tokens))
