# Generated from core/wmem/scope/items/face.py by `make generate` (scripts/generate_async.py); do not edit.
"""Async twin of `wmem.scope.items.face`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Unpack

from wmem.model.checks import check_id, check_limit, check_metadata, check_tags
from wmem.model.item import ItemFields, MemoryItem, Priority, parse_confidence
from wmem.model.results import BulkPromotion, SearchResults
from wmem.policy import Policy
from wmem.rules.ttl import DEFAULT_TTL, DefaultTtl
from wmem.scope.erasure import clear
from wmem.scope.handle import Handle
from wmem.scope.items import flows, reads
from wmem.scope.items import lifetime as lifetime_flows
from wmem.scope.items import promotion as promotion_flows
from wmem.scope.items.filters import ItemFilter
from wmem.scope.items.promotion import IfPromoted
from wmem.scope.items.search import AsyncRunSearch, Order, parse_search, search_items
from wmem.scope.ports import AsyncDrive, AsyncRunRead


class AsyncItemReads:
    """See `ItemReads`."""

    __slots__ = ("_check_intact", "_policy", "_run", "_run_search")

    def __init__(
        self,
        run_read: AsyncRunRead,
        run_search: AsyncRunSearch,
        check_intact: Callable[[], None],
        policy: Callable[[], Policy],
    ) -> None:
        self._run = run_read
        self._run_search = run_search
        self._check_intact = check_intact
        self._policy = policy

    async def get(self, id: str) -> MemoryItem | None:  # the field's own name
        """See `ItemReads.get`."""
        found: MemoryItem | None = await self._run(reads.get_item(check_id(id)))
        if found is None:
            self._check_intact()
        return found

    async def exists(self, id: str) -> bool:  # see `get`
        """See `ItemReads.exists`."""
        return await self.get(id) is not None

    async def all(
        self,
        include_expired: bool = False,  # noqa: FBT001, FBT002  # as its document
        include_promoted: bool = False,  # noqa: FBT001, FBT002
        *,
        limit: int | None = None,
        after: str | None = None,
    ) -> list[MemoryItem]:
        """See `ItemReads.all`."""
        return await self._run(
            reads.list_items(
                include_expired=include_expired,
                include_promoted=include_promoted,
                limit=None if limit is None else check_limit(limit),
                after=None if after is None else check_id(after),
            )
        )

    async def recent(self, limit: int = 10) -> list[MemoryItem]:
        """See `ItemReads.recent`."""
        return await self._run(reads.list_recent(check_limit(limit)))

    async def count(self) -> int:
        """See `ItemReads.count`."""
        return await self._run(reads.count_items)

    async def search(
        self,
        query: str | None = None,
        *,
        tags: Iterable[str] = (),
        priority: Priority | None = None,
        metadata: Mapping[str, Any] | None = None,
        min_confidence: float | str | None = None,
        include_expired: bool = False,
        include_promoted: bool = False,
        include_invalid: bool = False,
        order: Order | None = None,
        limit: int = 10,
    ) -> SearchResults:
        """See `ItemReads.search`."""
        wanted = ItemFilter(
            tags=frozenset(check_tags(tags)),
            metadata=check_metadata(metadata),
            priority=priority,
            min_confidence=None if min_confidence is None else parse_confidence(min_confidence),
            include_expired=include_expired,
            include_promoted=include_promoted,
            include_invalid=include_invalid,
        )
        return await self._run_search(parse_search(query, wanted, order, limit))

    async def expired(self) -> list[MemoryItem]:
        """See `ItemReads.expired`."""
        return await self._run(reads.list_expired)

    async def forgotten(self) -> list[MemoryItem]:
        """See `ItemReads.forgotten`."""
        return await self._run(reads.list_forgotten)

    async def promoted(self) -> list[MemoryItem]:
        """See `ItemReads.promoted`."""
        return await self._run(reads.list_promoted)

    async def pending(self) -> list[MemoryItem]:
        """See `ItemReads.pending`."""
        return await self._run(reads.list_pending(self._policy))


class AsyncItems(AsyncItemReads):
    """See `Items`."""

    __slots__ = ("_drive", "_handle")

    def __init__(self, handle: Handle, drive: AsyncDrive) -> None:
        super().__init__(
            lambda read: drive(handle.read(read, local_only=True)),
            lambda search: drive(search_items(handle, search)),
            lambda: handle.check_intact(local_only=True),
            lambda: handle.policy,
        )
        self._handle = handle
        self._drive = drive

    async def add(
        self,
        content: str,
        *,
        id: str | None = None,  # the field's own name
        priority: Priority = "medium",
        ttl_s: float | DefaultTtl | None = DEFAULT_TTL,
        **fields: Unpack[ItemFields],
    ) -> MemoryItem:
        """See `Items.add`."""
        draft = flows.draft_item(self._handle, content, priority=priority, ttl_s=ttl_s, fields=fields)
        return await self._drive(flows.add(self._handle, draft, id))

    async def fetch(self, id: str) -> MemoryItem:  # the field's own name
        """See `Items.fetch`."""
        return await self._drive(promotion_flows.fetch(self._handle, id))

    async def update(
        self,
        id: str,  # the field's own name
        *,
        content: str | None = None,
        priority: Priority | None = None,
        ttl_s: float | DefaultTtl | None = DEFAULT_TTL,
        **fields: Unpack[ItemFields],
    ) -> MemoryItem:
        """See `Items.update`."""
        return await self._drive(
            flows.update(self._handle, id, content=content, priority=priority, ttl_s=ttl_s, fields=fields)
        )

    async def remove(self, id: str) -> bool:  # the field's own name
        """See `Items.remove`."""
        return await self._drive(flows.remove(self._handle, id))

    async def clear(self) -> int:
        """See `Items.clear`."""
        return await self._drive(clear(self._handle, "items"))

    async def expire(self, id: str) -> MemoryItem:  # the field's own name
        """See `Items.expire`."""
        return await self._drive(lifetime_flows.expire(self._handle, id))

    async def extend_ttl(
        self,
        id: str,  # the field's own name
        ttl_s: float | DefaultTtl | None = DEFAULT_TTL,
    ) -> MemoryItem:
        """See `Items.extend_ttl`."""
        return await self._drive(lifetime_flows.extend_ttl(self._handle, id, ttl_s))

    async def forget(self, *ids: str) -> tuple[str, ...]:
        """See `Items.forget`."""
        return await self._drive(lifetime_flows.forget(self._handle, ids))

    async def undelete(self, id: str) -> MemoryItem:  # the field's own name
        """See `Items.undelete`."""
        return await self._drive(lifetime_flows.undelete(self._handle, id))

    async def relate(
        self,
        id: str,  # the field's own name
        type: str,  # the field's own name
        target_id: str,
        metadata: Mapping[str, Any] | None = None,
    ) -> MemoryItem:
        """See `Items.relate`."""
        return await self._drive(lifetime_flows.relate(self._handle, id, type, target_id, metadata))

    async def promote(self, id: str, *, if_promoted: IfPromoted = "return") -> MemoryItem:  # the field's own name
        """See `Items.promote`."""
        return await self._drive(promotion_flows.promote(self._handle, id, if_promoted=if_promoted))

    async def promote_many(self, ids: Sequence[str]) -> BulkPromotion:
        """See `Items.promote_many`."""
        return await self._drive(promotion_flows.promote_many(self._handle, ids))
