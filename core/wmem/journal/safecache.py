"""A diskcache directory opened strictly: bytes under text keys, typed errors, and forks survived.

SQLite keeps a process's locks in its memory: a child that inherits them half held is
locked out for ever, and believes to hold others that it does not. So calls are held up
while the process forks, every connection is closed, and either side connects anew.
"""

import gc
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import diskcache

from wmem.errors import ConflictError, CorruptionError, StoreError

__all__ = ["SafeCache", "SafeDisk"]


class SafeDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache has no types
    """Bytes under text keys inside the database, and nothing else, whoever wrote the row."""

    def put(self, key: object) -> tuple[str, bool]:
        if type(key) is not str:
            msg = f"keys are text, not {type(key).__name__!r}"
            raise TypeError(msg)
        return key, True

    def get(self, key: object, raw: object) -> str:
        if not raw or type(key) is not str:
            msg = "a foreign key row"
            raise ValueError(msg)
        return key

    def store(self, value: object, read: bool, key: object = None) -> Any:  # noqa: FBT001  # diskcache's signature
        if read or type(value) is not bytes:
            msg = f"values are bytes, not {type(value).__name__!r}"
            raise TypeError(msg)
        return super().store(value, read=False, key=key)

    def fetch(self, mode: int, filename: str | None, value: object, read: bool) -> bytes:  # noqa: FBT001  # see `store`
        if mode != 1 or filename is not None or read or type(value) is not bytes:
            msg = "a foreign value row"
            raise ValueError(msg)
        return value

    def remove(self, _file_path: str) -> None:
        """Values never live in files, so no row can make one disappear."""


class SafeCache:
    """One directory for all threads of this process and of its children.

    Args:
        directory: Made with mode 0700 when missing.
        wait_s: Seconds a call waits for another process's write before it raises `ConflictError`.

    Raises:
        StoreError: The directory cannot be made.
    """

    def __init__(self, directory: str, *, wait_s: float) -> None:
        self._directory = directory
        self._wait_s = wait_s
        if directory.startswith("~") or os.path.expandvars(directory) != directory:
            # diskcache expands both and would open another directory than the one made here.
            msg = f"cannot use the directory {directory!r}: '~' in front and '$' with a variable's name are expanded"
            raise StoreError(msg)
        try:
            place = Path(directory)
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            if next(place.iterdir(), None) is None:
                place.chmod(0o700)
        except OSError as exc:
            msg = f"cannot make the directory {directory!r}: {exc.strerror or exc}"
            raise StoreError(msg) from exc
        self._gate = threading.Condition()
        self._inside = 0
        self._forking = False
        self.cache: Any
        """The open diskcache; only inside `used`."""
        self._disconnect()
        _open.add(self)

    @contextmanager
    def used(self) -> Iterator[Any]:
        """The open diskcache, for calls whose failures come as typed errors.

        Raises:
            ConflictError: Other writers held the store for `wait_s` seconds.
            CorruptionError: What is there is no store, or damaged.
            StoreError: Anything else; nothing was changed.
        """
        with self._gate:
            while self._forking:
                self._gate.wait()
            self._inside += 1
        try:
            if self.cache is None:
                with self._gate:
                    if self.cache is None:
                        self.cache = self._connected()
            yield self.cache
        except diskcache.Timeout as exc:
            msg = f"{self._directory!r} was locked by other writers for {self._wait_s} s; try again"
            raise ConflictError(msg) from exc
        except sqlite3.DatabaseError as exc:
            text = str(exc)
            if "malformed" in text or "not a database" in text:
                msg = f"the store in {self._directory!r} is damaged: {text}"
                raise CorruptionError(msg) from exc
            msg = f"the store in {self._directory!r} failed, nothing was changed: {text}"
            raise StoreError(msg) from exc
        except OSError as exc:
            msg = f"the store in {self._directory!r} failed, nothing was changed: {exc}"
            raise StoreError(msg) from exc
        finally:
            with self._gate:
                self._inside -= 1
                if self._forking:
                    self._gate.notify_all()

    def close(self) -> None:
        """Close this thread's connection, and those of threads that ended; the next use connects again."""
        with self._gate:
            if self.cache is not None:
                self.cache.close()

    def _connected(self) -> Any:
        try:
            return diskcache.Cache(
                self._directory,
                timeout=self._wait_s,
                disk=SafeDisk,
                disk_min_file_size=2**40,
                eviction_policy="none",
                cull_limit=0,
                size_limit=2**62,
                sqlite_secure_delete=1,
            )
        except (TypeError, ValueError) as exc:  # what somebody else put into its table of settings
            msg = f"the store in {self._directory!r} has damaged settings: {exc}"
            raise CorruptionError(msg) from exc

    def _disconnect(self) -> None:
        self.cache = None

    def before_fork(self) -> None:
        """Hold up new calls, wait for those under way, and close every thread's connection."""
        self._gate.acquire()
        self._forking = True
        while self._inside:
            self._gate.wait()
        self._disconnect()

    def after_fork(self, *, child: bool) -> None:
        """Let calls pass again; the next one connects."""
        self._forking = False
        if child:
            self._gate = threading.Condition()  # the old one knows threads that only the parent has
        else:
            self._gate.notify_all()
            self._gate.release()


_open: weakref.WeakSet[SafeCache] = weakref.WeakSet()
_held: list[SafeCache] = []


def _before_fork() -> None:
    _held.extend(_open)
    for store in _held:
        store.before_fork()
    if _held:
        # Closes the connections of all threads: each refers to itself, and none but its thread may close it.
        gc.collect()


def _after_fork(*, child: bool) -> None:
    while _held:
        _held.pop().after_fork(child=child)


os.register_at_fork(
    before=_before_fork,
    after_in_parent=lambda: _after_fork(child=False),
    after_in_child=lambda: _after_fork(child=True),
)
