# Generated from core/wmem/scope/queue/face.py by `make generate` (scripts/generate_async.py); do not edit.
"""Async twin of `wmem.scope.queue.face`."""

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
from wmem.scope.ports import AsyncDrive, AsyncRunRead
from wmem.scope.queue import flows
from wmem.scope.queue.flows import ForgetMode, SummarySpan


class AsyncQueueReads:
    """See `QueueReads`."""

    __slots__ = ("_handle", "_run")

    def __init__(self, handle: Handle, run_read: AsyncRunRead) -> None:
        self._handle = handle
        self._run = run_read

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
        wanted = ItemFilter(
            tags=frozenset(check_tags(tags)),
            metadata=check_metadata(metadata),
            agent_id=agent_id,
            include_promoted=True,
        )
        return await self._run(flows.remember(self._handle, prompt, wanted, min_importance, limit))

    async def summarize(self, span: SummarySpan = "all", token_limit: int = 256) -> Summary:
        """See `QueueReads.summarize`."""
        return await self._run(flows.summarize(self._handle, span, token_limit))

    async def capacity(self) -> Capacity:
        """See `QueueReads.capacity`."""
        return await self._run(flows.capacity(self._handle))

    async def decisions(self, limit: int | None = None) -> list[Decision]:
        """See `QueueReads.decisions`."""
        return await self._run(flows.list_decisions(limit))


class AsyncQueue(AsyncQueueReads):
    """See `Queue`."""

    __slots__ = ("_drive",)

    def __init__(self, handle: Handle, drive: AsyncDrive) -> None:
        super().__init__(handle, lambda read: drive(handle.read(read, local_only=True)))
        self._drive = drive

    async def summarize(self, span: SummarySpan = "all", token_limit: int = 256) -> Summary:
        """See `Queue.summarize`."""
        return await self._drive(flows.summarize_items(self._handle, span, token_limit))

    async def memorize(
        self,
        content: str,
        *,
        priority: Priority = "medium",
        ttl_s: float | DefaultTtl | None = DEFAULT_TTL,
        **fields: Unpack[ItemFields],
    ) -> Memorized:
        """See `Queue.memorize`."""
        draft = draft_item(self._handle, content, priority=priority, ttl_s=ttl_s, fields=fields)
        return await self._drive(flows.memorize(self._handle, draft))

    async def forget(self, instruction: str, mode: ForgetMode = "soft") -> Forgotten:
        """See `Queue.forget`."""
        return await self._drive(flows.forget(self._handle, instruction, mode))

    async def advance_step(self, steps: int = 1, *, turn_id: str | None = None) -> int:
        """See `Queue.advance_step`."""
        return await self._drive(flows.advance_step(self._handle, steps, turn_id))

    async def evict_to(self, *, items: int | None = None, tokens: int | None = None) -> list[MemoryItem]:
        """See `Queue.evict_to`."""
        return await self._drive(flows.evict_to(self._handle, items=items, tokens=tokens))
