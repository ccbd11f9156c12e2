"""Key-value entries of a scope: reads fall back to the parents, writes stay here.

The pure reads, which also run on a frozen view, are in the module `reads`, the writes in `flows`.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, overload

from wmem.describe import describe_name
from wmem.errors import NotFoundError
from wmem.log import find_logger
from wmem.model.checks import check_key
from wmem.model.item import ItemKind, MemoryItem, to_item
from wmem.model.row import Row
from wmem.model.values import load_value
from wmem.scope.entries import flows, reads
from wmem.scope.erasure import clear
from wmem.scope.handle import CacheMiss, Handle
from wmem.scope.ports import Drive, RunRead

_log = find_logger("wmem.scope")
_DEBUG = logging.DEBUG

T = TypeVar("T")


class EntryReads:
    """Reads of entries, independent of how a read is run.

    Args:
        run_read: Runs a pure read and returns its result.
        check_intact: Called before a key is reported absent; raises if a damaged record could hold it.
    """

    __slots__ = ("_check_intact", "_run")

    def __init__(self, run_read: RunRead, check_intact: Callable[[], None]) -> None:
        self._run = run_read
        self._check_intact = check_intact

    @overload
    def get(self, key: str, default: object = None) -> Any: ...
    @overload
    def get(self, key: str, default: T | None = None, *, as_type: type[T]) -> T: ...
    def get(self, key: str, default: Any = None, *, as_type: Any = None) -> Any:
        """The value under a key, from the nearest scope that has it.

        Args:
            default: Returned for an absent key.
            as_type: Load as this type, by pydantic; values of user classes need it.

        Raises:
            SerializationError: The value is not of `as_type`, or needs one.
            CorruptionError: Not found, and a damaged record could hold it.
        """
        row = self._find_row(key)
        return default if row is None else load_value(row.content, as_type, key=key)

    def _find_row(self, key: str) -> Row | None:
        row: Row | None = self._run(reads.row_at(check_key(key)))
        if row is None:
            self._check_intact()
        return row

    def get_many(self, keys: Iterable[str]) -> dict[str, Any]:
        """The values of those keys that exist."""
        rows = self._run(reads.rows_at(reads.check_keys(keys)))
        return {key: load_value(row.content, key=key) for key, row in rows.items()}

    def entry(self, key: str) -> MemoryItem | None:
        """The whole item under a key, with its metadata."""
        row = self._find_row(key)
        return None if row is None else to_item(row, row.importance or 0.0)

    def contains(self, key: str) -> bool:
        """Whether a key exists."""
        return self._find_row(key) is not None

    def keys(self) -> list[str]:
        """All keys, those of the nearest scope first."""
        return list(self._run(reads.visible_rows))

    def all(self) -> dict[str, MemoryItem]:
        """All items by key."""
        return self._run(reads.visible_items)

    def count(self) -> int:
        """How many keys there are."""
        return len(self._run(reads.visible_rows))

    def __getitem__(self, key: str) -> Any:  # sync only
        row = self._find_row(key)
        if row is None:
            raise NotFoundError(f"no entry {describe_name(key)}")
        return load_value(row.content, key=key)

    def __contains__(self, key: object) -> bool:  # sync only
        return isinstance(key, str) and self.contains(key)


class LocalEntries(EntryReads):
    """Reads of one scope without its parents."""

    __slots__ = ()


class EntriesView(EntryReads):  # sync only
    """Reads of a frozen view.

    Attributes:
        local: The same without the parents.
    """

    __slots__ = ("local",)

    def __init__(self, run_read: RunRead, run_local: RunRead, check_intact: Callable[[], None]) -> None:
        super().__init__(run_read, check_intact)
        self.local = LocalEntries(run_local, check_intact)


class Entries(EntryReads):
    """Values by key in one scope: reads fall back to the parents, writes stay here."""

    __slots__ = ("_drive", "_handle", "_has_metrics")

    def __init__(self, handle: Handle, drive: Drive) -> None:
        super().__init__(lambda read: drive(handle.read(read)), handle.check_intact)
        self._handle = handle
        self._drive = drive
        self._has_metrics = handle.settings.metrics is not None

    def _find_row(self, key: str) -> Row | None:
        began = time.perf_counter() if self._has_metrics else 0.0
        row = self._handle.find_cached_entry(check_key(key))
        if isinstance(row, CacheMiss):
            row = self._drive(self._handle.lookup(key))
        if self._has_metrics or _log.isEnabledFor(_DEBUG):
            reads.log_lookup(self._handle, key, row, began)
        if row is None:
            self._check_intact()
        return row

    @property
    def local(self) -> LocalEntries:
        """The same reads without the parents."""
        handle, drive = self._handle, self._drive
        return LocalEntries(
            lambda read: drive(handle.read(read, local_only=True)), lambda: handle.check_intact(local_only=True)
        )

    def set(
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
        """Store a value under a key, replacing the one that exists.

        Args:
            importance: 0 to 1.
            ttl_s: Seconds until it expires; None for never.

        Raises:
            InvalidInputError: A key that is blank or holds control characters, or a bad number.
            SerializationError: The value cannot be stored without loss.
            CapacityError: The value or the scope is larger than the policy allows.
        """
        fields = flows.EntryFields(tags, importance, metadata, kind, ttl_s)
        self._drive(flows.put(self._handle, key, value, fields))

    def update(self, key: str, fn: Callable[[Any], Any], default: Any = flows.MISSING, *, as_type: Any = None) -> Any:
        """Replace a value by ``fn(value)`` and return the new one; concurrent updates all count.

        Args:
            fn: Must be pure: it runs again when another writer came first.
            default: Passed to `fn` for an absent key; without it an absent key raises.

        Raises:
            NotFoundError: The key is absent and there is no default.
            ConflictError: Others kept writing first for 5 s.
        """
        return self._drive(flows.update(self._handle, key, fn, default, as_type))

    def get_or_set(
        self,
        key: str,
        factory: Callable[[], T],  # async: factory: Callable[[], T | Awaitable[T]],
        *,
        as_type: Any = None,
    ) -> T:
        """The value under a key; if absent, the factory's, stored before it is returned.

        Of several concurrent callers in a process, one runs its factory, and the others wait for its value;
        if it fails, its caller gets the error and the next one runs its own. A factory that is still running
        after 300 s is waited for no longer, and one that in turn misses the same key does not wait for itself.
        Of several processes, each runs a factory, one stores its value, and all return that one.
        """  # async: See `Entries.get_or_set`; the factory may be a coroutine function.
        value: T = self._drive(flows.get_or_set(self._handle, key, factory, as_type))
        return value

    def remove(self, key: str) -> bool:
        """Remove a key from this scope; a parent's value becomes visible again."""
        return self._drive(flows.remove(self._handle, key))

    def clear(self) -> int:
        """Remove all keys of this scope; returns how many there were."""
        return self._drive(clear(self._handle, "entries"))

    def __setitem__(self, key: str, value: object) -> None:  # sync only
        self.set(key, value)

    def __delitem__(self, key: str) -> None:  # sync only
        if not self.remove(key):
            raise NotFoundError(f"no entry {describe_name(key)} in scope {self._handle.path!r}")
