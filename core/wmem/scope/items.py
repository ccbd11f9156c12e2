"""Session memories: items with a priority, a time to live and an importance that use raises."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, Unpack

from wmem.flow import Flow
from wmem.model.checks import checked_id, checked_limit
from wmem.model.item import MemoryItem, Priority
from wmem.model.outcomes import Bulk, Hits
from wmem.policy import Policy
from wmem.rules.ttl import DEFAULT_TTL, DefaultTtl
from wmem.scope import item_flows as flows
from wmem.scope import item_reads as reads
from wmem.scope import lifetime_flows, promotion_flows, search
from wmem.scope.erasure import cleared
from wmem.scope.handle import Handle, Read
from wmem.scope.item_flows import ItemFields
from wmem.scope.promotion_flows import IfPromoted
from wmem.scope.search import Order

__all__ = ["AsyncItems", "ItemReads", "Items"]

R = TypeVar("R")


class ItemReads:
    """The reads of a facet of items, however a read is run; none of them counts as an access."""

    __slots__ = ("_absent", "_policy", "_run")

    def __init__(
        self, run: Callable[[Read[Any]], Any], absent: Callable[[], None], policy: Callable[[], Policy]
    ) -> None:
        self._run = run
        self._absent = absent
        self._policy = policy

    def get(self, id: str) -> MemoryItem | None:  # the field's own name
        """The item, or None when it is not there, expired or softly deleted."""
        found: MemoryItem | None = self._run(reads.one(checked_id(id)))
        if found is None:
            self._absent()
        return found

    def exists(self, id: str) -> bool:  # see `get`
        """Whether the item is there and its time is not over."""
        return self.get(id) is not None

    def all(self, include_expired: bool = False, include_promoted: bool = False) -> list[MemoryItem]:  # noqa: FBT001, FBT002  # as its document
        """The items in the order they were added; promoted ones only if asked for."""
        found: list[MemoryItem] = self._run(
            reads.listed(include_expired=include_expired, include_promoted=include_promoted)
        )
        return found

    def recent(self, limit: int = 10) -> list[MemoryItem]:
        """The newest items, newest first."""
        found: list[MemoryItem] = self._run(reads.listed(newest=checked_limit(limit)))
        return found

    def count(self) -> int:
        """How many items `all` would list."""
        count: int = self._run(reads.counted)
        return count

    def search(
        self,
        query: str | None = None,
        *,
        tags: Iterable[str] = (),
        priority: Priority | None = None,
        metadata: Mapping[str, Any] | None = None,
        min_confidence: float | str | None = None,
        include_expired: bool = False,
        include_promoted: bool = False,
        order: Order | None = None,
        limit: int = 10,
    ) -> Hits:
        """The items that match everything asked for, best first.

        Args:
            query: Text; None or blank asks for the filters alone. Case makes no difference.
            tags: At least one of these, case included.
            priority: Exactly this one.
            metadata: All of these pairs.
            min_confidence: 0 to 1, or low, medium, high; an item without confidence fails any.
            order: ``relevance`` finds items that hold the query as it stands; ``recency`` and
                ``importance`` find those that hold any of its words; ``recall`` ranks by BM25.
                By default what the scope's policy says.
            limit: How many at most; `Hits.total` counts all.

        Raises:
            InvalidInputError: Anything out of range.
        """
        found: Hits = self._run(
            search.found(
                self._policy,
                query,
                tags=tags,
                priority=priority,
                metadata=metadata,
                min_confidence=min_confidence,
                include_expired=include_expired,
                include_promoted=include_promoted,
                order=order,
                limit=limit,
            )
        )
        return found

    def expired(self) -> list[MemoryItem]:
        """The items whose time is over and that cleanup has not taken yet."""
        found: list[MemoryItem] = self._run(reads.expired)
        return found

    def promoted(self) -> list[MemoryItem]:
        """The items that long-term memory has too, until they expire here."""
        found: list[MemoryItem] = self._run(reads.promoted)
        return found

    def pending(self) -> list[MemoryItem]:
        """The items that a rule of promotion names and that are not promoted yet."""
        found: list[MemoryItem] = self._run(reads.pending(self._policy))
        return found


class Items(ItemReads):
    """Items of one scope."""

    __slots__ = ("_drive", "_handle")

    def __init__(self, handle: Handle, drive: Callable[[Flow[Any]], Any]) -> None:
        super().__init__(
            lambda read: drive(handle.read(read, alone=True)),
            lambda: handle.check_intact(alone=True),
            lambda: handle.policy,
        )
        self._handle = handle
        self._drive = drive

    def add(
        self,
        content: str,
        *,
        priority: Priority = "medium",
        ttl_s: float | DefaultTtl | None = DEFAULT_TTL,
        **fields: Unpack[ItemFields],
    ) -> MemoryItem:
        """Remember a text.

        Args:
            content: 1 character to 100 KiB of UTF-8 (policy).
            ttl_s: Seconds until it expires, None for ever; by default the policy's for the priority.
            fields: See `ItemFields`.

        Raises:
            InvalidInputError: Anything out of range; nothing was stored.
        """
        added: MemoryItem = self._drive(flows.add(self._handle, content, priority=priority, ttl_s=ttl_s, fields=fields))
        return added

    def fetch(self, id: str) -> MemoryItem:  # the field's own name
        """The item, counted as an access, with its importance as of now.

        Raises:
            NotFoundError: There is no such item.
            ExpiredError: Its time is over.
        """
        found: MemoryItem = self._drive(promotion_flows.fetch(self._handle, id))
        return found

    def update(
        self,
        id: str,  # the field's own name
        *,
        content: str | None = None,
        priority: Priority | None = None,
        ttl_s: float | DefaultTtl | None = DEFAULT_TTL,
        **fields: Unpack[ItemFields],
    ) -> MemoryItem:
        """Change what is given and leave the rest, expiry included.

        Args:
            fields: See `ItemFields`; None takes away what may be None, an `importance` to be computed again.

        Raises:
            NotFoundError: There is no such item.
            ExpiredError: Its time is over.
        """
        updated: MemoryItem = self._drive(
            flows.update(self._handle, id, content=content, priority=priority, ttl_s=ttl_s, fields=fields)
        )
        return updated

    def remove(self, id: str) -> bool:  # the field's own name
        """Remove an item for good; False when there is none that could be seen."""
        removed: bool = self._drive(flows.remove(self._handle, id))
        return removed

    def clear(self) -> int:
        """Remove all items; returns how many were visible."""
        count: int = self._drive(cleared(self._handle, "items"))
        return count

    def expire(self, id: str) -> MemoryItem:  # the field's own name
        """End an item's time now; until cleanup takes it, `expired` lists it and `extend_ttl` revives it.

        Raises:
            NotFoundError: There is no such item.
        """
        ended: MemoryItem = self._drive(lifetime_flows.expire(self._handle, id))
        return ended

    def extend_ttl(
        self,
        id: str,  # the field's own name
        ttl_s: float | DefaultTtl | None = DEFAULT_TTL,
    ) -> MemoryItem:
        """Add time to an item's life, by default as much as its priority has; one that expired begins again from now.

        Args:
            ttl_s: Seconds to add; None for ever.

        Raises:
            NotFoundError: There is no such item, or cleanup took it.
            CapacityError: It had expired, and there is no room for it any more.
        """
        extended: MemoryItem = self._drive(lifetime_flows.extend_ttl(self._handle, id, ttl_s))
        return extended

    def undelete(self, id: str) -> MemoryItem:  # the field's own name
        """Take a soft deletion back.

        Raises:
            NotFoundError: There is no such item, or it was removed for good.
            ExpiredError: Its time is over.
            CapacityError: There is no room for it any more.
        """
        back: MemoryItem = self._drive(lifetime_flows.undelete(self._handle, id))
        return back

    def relate(
        self,
        id: str,  # the field's own name
        type: str,  # the field's own name
        target_id: str,
        metadata: Mapping[str, Any] | None = None,
    ) -> MemoryItem:
        """Let an item point to another element; the relation goes with it to long-term memory.

        Args:
            type: Such as ``references`` or ``depends_on``.
            target_id: Of any element, here or elsewhere.

        Raises:
            NotFoundError: There is no such item.
            ExpiredError: Its time is over.
        """
        related: MemoryItem = self._drive(lifetime_flows.relate(self._handle, id, type, target_id, metadata))
        return related

    def promote(self, id: str, *, if_promoted: IfPromoted = "return") -> MemoryItem:  # the field's own name
        """Copy an item to long-term memory, where it stays; here it is marked and stays until it expires.

        Once, however often and by how many processes at a time it is asked for.

        Args:
            if_promoted: ``"error"`` takes a second promotion for a mistake.

        Returns:
            The item as long-term memory has it.

        Raises:
            NotFoundError: There is no such item.
            ExpiredError: Its time is over.
            AlreadyPromotedError: It was promoted before, and that was to be an error.
        """
        kept: MemoryItem = self._drive(promotion_flows.promote(self._handle, id, if_promoted=if_promoted))
        return kept

    def promote_many(self, ids: Sequence[str]) -> Bulk:
        """Promote several items, each by itself: a failure stops none of the others."""
        bulk: Bulk = self._drive(promotion_flows.promote_many(self._handle, ids))
        return bulk


class AsyncItems:
    """See `Items`."""

    __slots__ = ("_drive", "_handle")

    def __init__(self, handle: Handle, drive: Callable[[Flow[Any]], Awaitable[Any]]) -> None:
        self._handle = handle
        self._drive = drive

    async def _read(self, read: Read[R]) -> R:
        result: R = await self._drive(self._handle.read(read, alone=True))
        return result

    async def get(self, id: str) -> MemoryItem | None:  # the field's own name
        """See `ItemReads.get`."""
        found = await self._read(reads.one(checked_id(id)))
        if found is None:
            self._handle.check_intact(alone=True)
        return found

    async def exists(self, id: str) -> bool:  # the field's own name
        """See `ItemReads.exists`."""
        return await self.get(id) is not None

    async def all(self, include_expired: bool = False, include_promoted: bool = False) -> list[MemoryItem]:  # noqa: FBT001, FBT002  # see `ItemReads.all`
        """See `ItemReads.all`."""
        return await self._read(reads.listed(include_expired=include_expired, include_promoted=include_promoted))

    async def recent(self, limit: int = 10) -> list[MemoryItem]:
        """See `ItemReads.recent`."""
        return await self._read(reads.listed(newest=checked_limit(limit)))

    async def count(self) -> int:
        """See `ItemReads.count`."""
        return await self._read(reads.counted)

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
        order: Order | None = None,
        limit: int = 10,
    ) -> Hits:
        """See `ItemReads.search`."""
        return await self._read(
            search.found(
                lambda: self._handle.policy,
                query,
                tags=tags,
                priority=priority,
                metadata=metadata,
                min_confidence=min_confidence,
                include_expired=include_expired,
                include_promoted=include_promoted,
                order=order,
                limit=limit,
            )
        )

    async def expired(self) -> list[MemoryItem]:
        """See `ItemReads.expired`."""
        return await self._read(reads.expired)

    async def promoted(self) -> list[MemoryItem]:
        """See `ItemReads.promoted`."""
        return await self._read(reads.promoted)

    async def pending(self) -> list[MemoryItem]:
        """See `ItemReads.pending`."""
        return await self._read(reads.pending(lambda: self._handle.policy))

    async def add(
        self,
        content: str,
        *,
        priority: Priority = "medium",
        ttl_s: float | DefaultTtl | None = DEFAULT_TTL,
        **fields: Unpack[ItemFields],
    ) -> MemoryItem:
        """See `Items.add`."""
        added: MemoryItem = await self._drive(
            flows.add(self._handle, content, priority=priority, ttl_s=ttl_s, fields=fields)
        )
        return added

    async def fetch(self, id: str) -> MemoryItem:  # the field's own name
        """See `Items.fetch`."""
        found: MemoryItem = await self._drive(promotion_flows.fetch(self._handle, id))
        return found

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
        updated: MemoryItem = await self._drive(
            flows.update(self._handle, id, content=content, priority=priority, ttl_s=ttl_s, fields=fields)
        )
        return updated

    async def remove(self, id: str) -> bool:  # the field's own name
        """See `Items.remove`."""
        removed: bool = await self._drive(flows.remove(self._handle, id))
        return removed

    async def clear(self) -> int:
        """See `Items.clear`."""
        count: int = await self._drive(cleared(self._handle, "items"))
        return count

    async def expire(self, id: str) -> MemoryItem:  # the field's own name
        """See `Items.expire`."""
        ended: MemoryItem = await self._drive(lifetime_flows.expire(self._handle, id))
        return ended

    async def extend_ttl(
        self,
        id: str,  # the field's own name
        ttl_s: float | DefaultTtl | None = DEFAULT_TTL,
    ) -> MemoryItem:
        """See `Items.extend_ttl`."""
        extended: MemoryItem = await self._drive(lifetime_flows.extend_ttl(self._handle, id, ttl_s))
        return extended

    async def undelete(self, id: str) -> MemoryItem:  # the field's own name
        """See `Items.undelete`."""
        back: MemoryItem = await self._drive(lifetime_flows.undelete(self._handle, id))
        return back

    async def relate(
        self,
        id: str,  # the field's own name
        type: str,  # the field's own name
        target_id: str,
        metadata: Mapping[str, Any] | None = None,
    ) -> MemoryItem:
        """See `Items.relate`."""
        related: MemoryItem = await self._drive(lifetime_flows.relate(self._handle, id, type, target_id, metadata))
        return related

    async def promote(self, id: str, *, if_promoted: IfPromoted = "return") -> MemoryItem:  # the field's own name
        """See `Items.promote`."""
        kept: MemoryItem = await self._drive(promotion_flows.promote(self._handle, id, if_promoted=if_promoted))
        return kept

    async def promote_many(self, ids: Sequence[str]) -> Bulk:
        """See `Items.promote_many`."""
        bulk: Bulk = await self._drive(promotion_flows.promote_many(self._handle, ids))
        return bulk
