"""Session memories: items with a priority, a time to live and an importance that use raises."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, Unpack

from wmem.flow import Flow
from wmem.model.checks import checked_id, checked_limit
from wmem.model.item import MemoryItem, Priority
from wmem.rules.ttl import DEFAULT_TTL, DefaultTtl
from wmem.scope import item_flows as flows
from wmem.scope.handle import Handle, Read
from wmem.scope.item_flows import ItemFields

__all__ = ["AsyncItems", "ItemReads", "Items"]

R = TypeVar("R")


class ItemReads:
    """The reads of a facet of items, however a read is run; none of them counts as an access."""

    __slots__ = ("_absent", "_run")

    def __init__(self, run: Callable[[Read[Any]], Any], absent: Callable[[], None]) -> None:
        self._run = run
        self._absent = absent

    def get(self, id: str) -> MemoryItem | None:  # the field's own name
        """The item, or None when it is not there, expired or softly deleted."""
        found: MemoryItem | None = self._run(flows.one(checked_id(id)))
        if found is None:
            self._absent()
        return found

    def exists(self, id: str) -> bool:  # see `get`
        """Whether the item is there and its time is not over."""
        return self.get(id) is not None

    def all(self, *, include_expired: bool = False, include_promoted: bool = False) -> list[MemoryItem]:
        """The items in the order they were added; promoted ones only if asked for."""
        found: list[MemoryItem] = self._run(
            flows.listed(include_expired=include_expired, include_promoted=include_promoted)
        )
        return found

    def recent(self, limit: int = 10) -> list[MemoryItem]:
        """The newest items, newest first."""
        found: list[MemoryItem] = self._run(flows.listed(newest=checked_limit(limit)))
        return found

    def count(self) -> int:
        """How many items `all` would list."""
        count: int = self._run(flows.counted)
        return count


class Items(ItemReads):
    """Items of one scope."""

    __slots__ = ("_drive", "_handle")

    def __init__(self, handle: Handle, drive: Callable[[Flow[Any]], Any]) -> None:
        super().__init__(lambda read: drive(handle.read(read, alone=True)), lambda: handle.check_intact(alone=True))
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
        found: MemoryItem = self._drive(flows.fetch(self._handle, id))
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
        count: int = self._drive(flows.clear(self._handle))
        return count


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
        found = await self._read(flows.one(checked_id(id)))
        if found is None:
            self._handle.check_intact(alone=True)
        return found

    async def exists(self, id: str) -> bool:  # the field's own name
        """See `ItemReads.exists`."""
        return await self.get(id) is not None

    async def all(self, *, include_expired: bool = False, include_promoted: bool = False) -> list[MemoryItem]:
        """See `ItemReads.all`."""
        return await self._read(flows.listed(include_expired=include_expired, include_promoted=include_promoted))

    async def recent(self, limit: int = 10) -> list[MemoryItem]:
        """See `ItemReads.recent`."""
        return await self._read(flows.listed(newest=checked_limit(limit)))

    async def count(self) -> int:
        """See `ItemReads.count`."""
        return await self._read(flows.counted)

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
        found: MemoryItem = await self._drive(flows.fetch(self._handle, id))
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
        count: int = await self._drive(flows.clear(self._handle))
        return count
