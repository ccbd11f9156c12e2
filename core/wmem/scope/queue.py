"""The bounded queue: a view over the items of a scope, in the words of its document."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias, TypeVar, Unpack

from wmem.flow import Flow
from wmem.model.item import MemoryItem, Priority
from wmem.model.replies import Forgotten, Memorized, Summary
from wmem.policy import Capacity
from wmem.rules.ttl import DEFAULT_TTL, DefaultTtl
from wmem.scope import queue_flows as flows
from wmem.scope.handle import Handle, Read
from wmem.scope.item_flows import ItemFields
from wmem.state import Decision

__all__ = ["AsyncQueue", "Queue", "QueueReads"]

R = TypeVar("R")

Mode: TypeAlias = Literal["soft", "hard"]
Span: TypeAlias = Literal["all", "recent"]


class QueueReads:
    """The reads of a queue, however a read is run.

    `importance` is here what an item was given, or what its words tell among those of the
    other items; it decides what leaves.
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
        """The items that share a word with a prompt, the important and the new ones first.

        Rank is the sum of importance and of the place in the queue, both from 0 to 1.

        Args:
            prompt: None or blank asks for all.
            tags: Any one of them is enough.
            metadata: All of these pairs.
            limit: How many at most, None for all.
        """
        found: list[MemoryItem] = self._run(
            flows.remembered(
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

    def summarize(self, span: Span = "all", token_limit: int = 256) -> Summary:
        """The sentences that say most, of the important items first, as they were said.

        Args:
            span: All items, or those of the last steps that count as recent (policy).
            token_limit: How many tokens the text may take; at least 1.
        """
        made: Summary = self._run(flows.summarized(self._handle, span, token_limit))
        return made

    def capacity(self) -> Capacity:
        """How full the queue is."""
        told: Capacity = self._run(flows.capacity(self._handle))
        return told

    def decisions(self, limit: int | None = None) -> list[Decision]:
        """Why items left, newest first, as far back as the scope remembers; never what they said."""
        told: list[Decision] = self._run(flows.decided(limit))
        return told


class Queue(QueueReads):
    """The queue of one scope; `Policy.queue` gives it the numbers of its document."""

    __slots__ = ("_drive",)

    def __init__(self, handle: Handle, drive: Callable[[Flow[Any]], Any]) -> None:
        super().__init__(handle, lambda read: drive(handle.read(read, alone=True)))
        self._drive = drive

    def memorize(
        self,
        content: str,
        *,
        priority: Priority = "medium",
        ttl_s: float | DefaultTtl | None = DEFAULT_TTL,
        **fields: Unpack[ItemFields],
    ) -> Memorized:
        """Add an item at the end; what has to leave for it goes in the same step.

        Args:
            fields: See `ItemFields`; without an `importance` its words decide it.

        Raises:
            CapacityError: It is larger than the whole queue may be, or all else is pinned.
            InvalidInputError: Anything out of range; nothing was stored.
        """
        told: Memorized = self._drive(
            flows.memorize(self._handle, content, priority=priority, ttl_s=ttl_s, fields=fields)
        )
        return told

    def forget(self, instruction: str, mode: Mode = "soft") -> Forgotten:
        """Forget what an instruction means; nothing there to forget is no error.

        Args:
            instruction: ``oldest``, ``least important``, ``position:N`` (0 is the oldest) or
                ``before:step_N`` (all of the steps before it).
            mode: ``soft`` hides it until room is needed, `items.undelete` brings it back;
                ``hard`` removes it.

        Raises:
            InvalidInputError: The instruction is none of the four; the message lists them.
        """
        told: Forgotten = self._drive(flows.forget(self._handle, instruction, mode))
        return told

    def advance_step(self, steps: int = 1) -> int:
        """Begin a new step, a turn of the agent; returns its number. The first step is 0."""
        step: int = self._drive(flows.advanced(self._handle, steps))
        return step

    def evict_to(self, *, items: int | None = None, tokens: int | None = None) -> list[MemoryItem]:
        """Evict what matters least until no more is left; returns who left, first to last.

        Raises:
            CapacityError: Pinned items alone are more; nothing was evicted.
        """
        left: list[MemoryItem] = self._drive(flows.evicted(self._handle, items=items, tokens=tokens))
        return left


class AsyncQueue:
    """See `Queue`."""

    __slots__ = ("_drive", "_handle")

    def __init__(self, handle: Handle, drive: Callable[[Flow[Any]], Awaitable[Any]]) -> None:
        self._handle = handle
        self._drive = drive

    async def _read(self, read: Read[R]) -> R:
        result: R = await self._drive(self._handle.read(read, alone=True))
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
            flows.remembered(
                self._handle,
                prompt,
                tags=tags,
                agent_id=agent_id,
                metadata=metadata,
                min_importance=min_importance,
                limit=limit,
            )
        )

    async def summarize(self, span: Span = "all", token_limit: int = 256) -> Summary:
        """See `QueueReads.summarize`."""
        return await self._read(flows.summarized(self._handle, span, token_limit))

    async def capacity(self) -> Capacity:
        """See `QueueReads.capacity`."""
        return await self._read(flows.capacity(self._handle))

    async def decisions(self, limit: int | None = None) -> list[Decision]:
        """See `QueueReads.decisions`."""
        return await self._read(flows.decided(limit))

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

    async def forget(self, instruction: str, mode: Mode = "soft") -> Forgotten:
        """See `Queue.forget`."""
        told: Forgotten = await self._drive(flows.forget(self._handle, instruction, mode))
        return told

    async def advance_step(self, steps: int = 1) -> int:
        """See `Queue.advance_step`."""
        step: int = await self._drive(flows.advanced(self._handle, steps))
        return step

    async def evict_to(self, *, items: int | None = None, tokens: int | None = None) -> list[MemoryItem]:
        """See `Queue.evict_to`."""
        left: list[MemoryItem] = await self._drive(flows.evicted(self._handle, items=items, tokens=tokens))
        return left
