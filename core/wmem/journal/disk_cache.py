"""Strict diskcache directory: only bytes under text keys, typed errors, safe across forks."""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import diskcache

from wmem.errors import ConflictError, CorruptionError, StoreError
from wmem.journal.fork_guard import ForkGuard, disconnect_on_fork
from wmem.journal.sqlite_database import translate_errors, vacuum_file


class SafeDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache has no types
    """Stores only bytes under text keys, inside the database; refuses rows of any other form."""

    def put(self, key: object) -> tuple[str, bool]:
        if type(key) is not str:
            raise TypeError(f"keys are text, not {type(key).__name__!r}")
        return key, True

    def get(self, key: object, raw: object) -> str:
        if not raw or type(key) is not str:
            raise ValueError("a foreign key row")
        return key

    def store(self, value: object, read: bool, key: object = None) -> Any:  # noqa: FBT001  # diskcache's signature
        if read or type(value) is not bytes:
            raise TypeError(f"values are bytes, not {type(value).__name__!r}")
        return super().store(value, read=False, key=key)

    def fetch(self, mode: int, filename: str | None, value: object, read: bool) -> bytes:  # noqa: FBT001  # see `store`
        if mode != 1 or filename is not None or read or type(value) is not bytes:
            raise ValueError("a foreign value row")
        return value

    def remove(self, _file_path: str) -> None:
        """Does nothing: values are never in files, so no row can cause one to be deleted."""


class SafeCache:
    """One directory for all threads of this process and of its children.

    Args:
        directory: Created with mode 0700 when missing.
        wait_s: Seconds a call waits for another process's write before it raises `ConflictError`.

    Raises:
        StoreError: The directory cannot be created.
    """

    def __init__(self, directory: str, *, wait_s: float) -> None:
        self._directory = directory
        self._wait_s = wait_s
        if directory.startswith("~") or os.path.expandvars(directory) != directory:
            # diskcache expands both and would open another directory than the one created here.
            msg = f"cannot use the directory {directory!r}: '~' in front and '$' with a variable's name are expanded"
            raise StoreError(msg)
        try:
            path = Path(directory)
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if next(path.iterdir(), None) is None:
                path.chmod(0o700)
        except OSError as exc:
            raise StoreError(f"cannot make the directory {directory!r}: {exc.strerror or exc}") from exc
        self.fork_guard = ForkGuard()
        self._connect_lock = threading.Lock()
        self.cache: Any = None
        """The open diskcache; only inside `use`."""
        disconnect_on_fork(self)

    @contextmanager
    def use(self) -> Iterator[Any]:
        """The open diskcache; errors of calls inside are raised as typed errors.

        Raises:
            ConflictError: Other writers held the store for `wait_s` seconds.
            CorruptionError: The directory is not a store, or damaged.
            StoreError: Anything else; nothing was changed.
        """
        with self.fork_guard, translate_errors(self._directory, self._wait_s):
            if self.cache is None:
                with self._connect_lock:
                    if self.cache is None:
                        self.cache = self._connect()
            try:
                yield self.cache
            except diskcache.Timeout as exc:
                msg = f"{self._directory!r} was locked by other writers for {self._wait_s} s; try again"
                raise ConflictError(msg) from exc

    def vacuum(self) -> Sequence[str]:
        """See `vacuum_file`."""
        with self.fork_guard:
            return vacuum_file(os.path.abspath(Path(self._directory) / diskcache.core.DBNAME), self._wait_s)  # noqa: PTH100  # links stay

    def close(self) -> None:
        """Close the connections of this thread and of ended threads; the next use reconnects."""
        with self.fork_guard, self._connect_lock:
            if self.cache is not None:
                self.cache.close()

    def disconnect(self) -> bool:
        """See `ConnectionOwner`; connections are in reference cycles, and only their own thread could close them."""
        was_open, self.cache = self.cache is not None, None
        return was_open

    def _connect(self) -> Any:
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
        except (TypeError, ValueError) as exc:  # invalid rows in its table of settings
            raise CorruptionError(f"the store in {self._directory!r} has damaged settings: {exc}") from exc
