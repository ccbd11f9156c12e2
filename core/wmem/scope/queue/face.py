"""`scope.queue`: the sync and async face of the bounded queue, a view over the scope's items."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias, TypeVar, Unpack

from wmem.flow import Flow
from wmem.model.item import MemoryItem, Priority
from wmem.model.results import Forgotten, Memorized, Summary
from wmem.policy import Capacity
from wmem.rules.ttl import DEFAULT_TTL, DefaultTtl
from wmem.scope.handle import Handle, Read
from wmem.scope.items.flows import ItemFields
from wmem.scope.queue import flows
from wmem.state import Decision

__all__ = ["AsyncQueue", "Queue", "QueueReads"]

R = TypeVar("R")

ForgetMode: TypeAlias = Literal["soft", "hard"]
SummarySpan: TypeAlias = Literal["all", "recent"]


class QueueReads:
    """The read methods of `scope.queue`, sync or async.

    `importance` here is the given one, or else computed from the item's words against those
    of the other items; it decides what is evicted.
    """

    __slots__ = ("_handle", "_run")

    def __init__(self, handle: Handle, run: Callable[[Read[Any]], Any]) -> None:
        self._handle = handle
        self._run = run

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
            metadata: All of these pairs must match.
            limit: How many at most, None for all.
        """
        found: list[MemoryItem] = self._run(
            flows.remember(
                self._handle,
                prompt,
                tags=tags,
                agent_id=agent_id,
                metadata=metadata,
                min_importance=min_importance,
                limit=limit,
            )
        )
        return found

    def summarize(self, span: SummarySpan = "all", token_limit: int = 256) -> Summary:
        """Extractive summary: the most informative sentences, verbatim, of important items first.

        Args:
            span: All items, or those of the last steps that count as recent (policy).
            token_limit: Maximum tokens of the text; at least 1.
        """
        made: Summary = self._run(flows.summarize(self._handle, span, token_limit))
        return made

    def capacity(self) -> Capacity:
        """How full the queue is."""
        told: Capacity = self._run(flows.capacity(self._handle))
        return told

    def decisions(self, limit: int | None = None) -> list[Decision]:
        """Why items were evicted, newest first, as many as the scope keeps; never their content."""
        told: list[Decision] = self._run(flows.list_decisions(limit))
        return told


class Queue(QueueReads):
    """The queue of one scope; `Policy.queue` has the numbers of its document."""

    __slots__ = ("_drive",)

    def __init__(self, handle: Handle, drive: Callable[[Flow[Any]], Any]) -> None:
        super().__init__(handle, lambda read: drive(handle.read(read, local_only=True)))
        self._drive = drive

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
        told: Memorized = self._drive(
            flows.memorize(self._handle, content, priority=priority, ttl_s=ttl_s, fields=fields)
        )
        return told

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
        told: Forgotten = self._drive(flows.forget(self._handle, instruction, mode))
        return told

    def advance_step(self, steps: int = 1) -> int:
        """Begin a new step (a turn of the agent) and return its number; the first step is 0."""
        step: int = self._drive(flows.advance_step(self._handle, steps))
        return step

    def evict_to(self, *, items: int | None = None, tokens: int | None = None) -> list[MemoryItem]:
        """Evict the least important items until at most so many are left; returns them, first to last.

        Raises:
            CapacityError: Pinned items alone are more; nothing was evicted.
        """
        left: list[MemoryItem] = self._drive(flows.evict_to(self._handle, items=items, tokens=tokens))
        return left


class AsyncQueue:
    """See `Queue`."""

    __slots__ = ("_drive", "_handle")

    def __init__(self, handle: Handle, drive: Callable[[Flow[Any]], Awaitable[Any]]) -> None:
        self._handle = handle
        self._drive = drive

    async def _read(self, read: Read[R]) -> R:
        result: R = await self._drive(self._handle.read(read, local_only=True))
        return result

    async def remember(
        self,
        prompt: str | None = None,
        *,
        tags: Iterable[str] = (),
        agent_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        min_importance: float = 0.0,
        limit: int | None = None,
    ) -> list[MemoryItem]:
        """See `QueueReads.remember`."""
        return await self._read(
            flows.remember(
                self._handle,
                prompt,
                tags=tags,
                agent_id=agent_id,
                metadata=metadata,
                min_importance=min_importance,
                limit=limit,
            )
        )

    async def summarize(self, span: SummarySpan = "all", token_limit: int = 256) -> Summary:
        """See `QueueReads.summarize`."""
        return await self._read(flows.summarize(self._handle, span, token_limit))

    async def capacity(self) -> Capacity:
        """See `QueueReads.capacity`."""
        return await self._read(flows.capacity(self._handle))

    async def decisions(self, limit: int | None = None) -> list[Decision]:
        """See `QueueReads.decisions`."""
        return await self._read(flows.list_decisions(limit))

    async def memorize(
        self,
        content: str,
        *,
        priority: Priority = "medium",
        ttl_s: float | DefaultTtl | None = DEFAULT_TTL,
        **fields: Unpack[ItemFields],
    ) -> Memorized:
        """See `Queue.memorize`."""
        told: Memorized = await self._drive(
            flows.memorize(self._handle, content, priority=priority, ttl_s=ttl_s, fields=fields)
        )
        return told

    async def forget(self, instruction: str, mode: ForgetMode = "soft") -> Forgotten:
        """See `Queue.forget`."""
        told: Forgotten = await self._drive(flows.forget(self._handle, instruction, mode))
        return told

    async def advance_step(self, steps: int = 1) -> int:
        """See `Queue.advance_step`."""
        step: int = await self._drive(flows.advance_step(self._handle, steps))
        return step

    async def evict_to(self, *, items: int | None = None, tokens: int | None = None) -> list[MemoryItem]:
        """See `Queue.evict_to`."""
        left: list[MemoryItem] = await self._drive(flows.evict_to(self._handle, items=items, tokens=tokens))
        return left
