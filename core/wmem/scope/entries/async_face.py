# Generated from core/wmem/scope/entries/face.py by `make generate` (scripts/generate_async.py); do not edit.
"""Async twin of `wmem.scope.entries.face`."""

import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar, overload

from wmem.log import find_logger
from wmem.model.checks import check_key
from wmem.model.item import ItemKind, MemoryItem, to_item
from wmem.model.row import Row
from wmem.model.values import load_value
from wmem.scope.entries import flows, reads
from wmem.scope.erasure import clear
from wmem.scope.handle import CacheMiss, Handle
from wmem.scope.ports import AsyncDrive, AsyncRunRead

_log = find_logger("wmem.scope")
_DEBUG = logging.DEBUG

T = TypeVar("T")


class AsyncEntryReads:
    """See `EntryReads`."""

    __slots__ = ("_check_intact", "_run")

    def __init__(self, run_read: AsyncRunRead, check_intact: Callable[[], None]) -> None:
        self._run = run_read
        self._check_intact = check_intact

    @overload
    async def get(self, key: str, default: object = None) -> Any: ...
    @overload
    async def get(self, key: str, default: T | None = None, *, as_type: type[T]) -> T: ...
    async def get(self, key: str, default: Any = None, *, as_type: Any = None) -> Any:
        """See `EntryReads.get`."""
        row = await self._find_row(key)
        return default if row is None else load_value(row.content, as_type, key=key)

    async def _find_row(self, key: str) -> Row | None:
        row: Row | None = await self._run(reads.row_at(check_key(key)))
        if row is None:
            self._check_intact()
        return row

    async def get_many(self, keys: Iterable[str]) -> dict[str, Any]:
        """See `EntryReads.get_many`."""
        rows = await self._run(reads.rows_at(reads.check_keys(keys)))
        return {key: load_value(row.content, key=key) for key, row in rows.items()}

    async def entry(self, key: str) -> MemoryItem | None:
        """See `EntryReads.entry`."""
        row = await self._find_row(key)
        return None if row is None else to_item(row, row.importance or 0.0)

    async def contains(self, key: str) -> bool:
        """See `EntryReads.contains`."""
        return await self._find_row(key) is not None

    async def keys(self) -> list[str]:
        """See `EntryReads.keys`."""
        return list(await self._run(reads.visible_rows))

    async def all(self) -> dict[str, MemoryItem]:
        """See `EntryReads.all`."""
        return await self._run(reads.visible_items)

    async def count(self) -> int:
        """See `EntryReads.count`."""
        return len(await self._run(reads.visible_rows))


class AsyncLocalEntries(AsyncEntryReads):
    """See `LocalEntries`."""

    __slots__ = ()


class AsyncEntries(AsyncEntryReads):
    """See `Entries`."""

    __slots__ = ("_drive", "_handle", "_has_metrics")

    def __init__(self, handle: Handle, drive: AsyncDrive) -> None:
        super().__init__(lambda read: drive(handle.read(read)), handle.check_intact)
        self._handle = handle
        self._drive = drive
        self._has_metrics = handle.settings.metrics is not None

    async def _find_row(self, key: str) -> Row | None:
        began = time.perf_counter() if self._has_metrics else 0.0
        row = self._handle.find_cached_entry(check_key(key))
        if isinstance(row, CacheMiss):
            row = await self._drive(self._handle.lookup(key))
        if self._has_metrics or _log.isEnabledFor(_DEBUG):
            reads.log_lookup(self._handle, key, row, began)
        if row is None:
            self._check_intact()
        return row

    @property
    def local(self) -> AsyncLocalEntries:
        """See `Entries.local`."""
        handle, drive = self._handle, self._drive
        return AsyncLocalEntries(
            lambda read: drive(handle.read(read, local_only=True)), lambda: handle.check_intact(local_only=True)
        )

    async def set(
        self,
        key: str,
        value: object,
        *,
        tags: Iterable[str] = (),
        importance: float = 0.5,
        metadata: Mapping[str, Any] | None = None,
        kind: ItemKind = "fact",
        ttl_s: float | None = None,
    ) -> None:
        """See `Entries.set`."""
        fields = flows.EntryFields(tags, importance, metadata, kind, ttl_s)
        await self._drive(flows.put(self._handle, key, value, fields))

    async def update(
        self, key: str, fn: Callable[[Any], Any], default: Any = flows.MISSING, *, as_type: Any = None
    ) -> Any:
        """See `Entries.update`."""
        return await self._drive(flows.update(self._handle, key, fn, default, as_type))

    async def get_or_set(
        self,
        key: str,
        factory: Callable[[], T | Awaitable[T]],
        *,
        as_type: Any = None,
    ) -> T:
        """See `Entries.get_or_set`; the factory may be a coroutine function."""
        value: T = await self._drive(flows.get_or_set(self._handle, key, factory, as_type))
        return value

    async def remove(self, key: str) -> bool:
        """See `Entries.remove`."""
        return await self._drive(flows.remove(self._handle, key))

    async def clear(self) -> int:
        """See `Entries.clear`."""
        return await self._drive(clear(self._handle, "entries"))
