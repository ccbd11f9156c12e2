"""From a URL to an engine: one per store and process, shared by both colours, counted by its users."""

import os
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Protocol
from urllib.parse import quote, unquote

from wmem.engine import Engine
from wmem.errors import InvalidInputError, MissingExtraError
from wmem.flow import Ports
from wmem.journal.codec import IdentityCodec, JsonCodec
from wmem.journal.memory import MemoryJournal
from wmem.ports import InPlaceJournal, Pool, PooledJournal, async_ports, sync_ports

__all__ = ["Store", "opened", "waits"]

_PRIVATE = "memory://"
_THREADS = 4  # of one engine, for a journal of files under coroutines


class Store:
    """One open store: its engine, its ports, and how many hold it open."""

    def __init__(self, url: str, engine: Engine[Any], backend: "_Backend") -> None:
        self.url = url
        self.engine = engine
        self.users = 1
        self._backend = backend
        self.sync_ports = sync_ports(backend.journal)

    def async_ports(self) -> Ports:
        """The ports for coroutines."""
        return async_ports(self._backend.async_journal())

    def close(self) -> None:
        """Give one hold back; the last one closes the store."""
        with _registry.lock:
            self.users -= 1
            if self.users > 0:
                return
            _registry.stores.pop(self.url, None)
        self._backend.close()

    def forked(self) -> None:
        """Start over in a child process."""
        self.engine.forked()
        self._backend.forked()


class _Backend(Protocol):
    """A connected backend: its journal in both colours."""

    journal: Any

    def async_journal(self) -> Any: ...
    def close(self) -> None: ...
    def forked(self) -> None: ...


class _MemoryBackend:
    """`memory://` is private; `memory://name` is shared in the process and lives as long as it."""

    def __init__(self, name: str) -> None:
        fresh: MemoryJournal[object] = MemoryJournal(IdentityCodec().size)
        self.journal = fresh if name == _PRIVATE else _registry.named.setdefault(name, fresh)

    def async_journal(self) -> Any:
        return InPlaceJournal(self.journal)

    def close(self) -> None:
        """Nothing is held."""

    def forked(self) -> None:
        self.journal.forked()


class _DiskBackend:
    """`disk:///dir`, by diskcache, under coroutines through a small pool."""

    def __init__(self, name: str) -> None:
        try:
            from wmem.journal.disk import DiskJournal
        except ImportError as exc:
            msg = "disk:// needs the extra 'disk': pip install 'wmem[disk]'"
            raise MissingExtraError(msg) from exc
        self.journal = DiskJournal(unquote(name.removeprefix("disk://")))
        self._pool = Pool(_THREADS)

    def async_journal(self) -> Any:
        return PooledJournal(self.journal, self._pool)

    def close(self) -> None:
        self._pool.close()
        self.journal.close()

    def forked(self) -> None:
        self._pool.forked()


class _Registry:
    """The open stores of this process; a forked child begins with none of its parent's locks."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.stores: dict[str, Store] = {}
        self.named: dict[str, MemoryJournal[object]] = {}
        self.all: weakref.WeakSet[Store] = weakref.WeakSet()

    def forked(self) -> None:
        self.lock = threading.Lock()
        for store in list(self.all):
            store.forked()


_registry = _Registry()
os.register_at_fork(after_in_child=_registry.forked)


def opened(url: str) -> Store:
    """The store of a URL, shared with everybody in this process who holds it open.

    Raises:
        InvalidInputError: The URL is none that wmem knows.
        MissingExtraError: The backend's driver is not installed.
        StoreError: The store cannot be opened.
    """
    if not isinstance(url, str):
        msg = f"a store's URL is text such as 'disk:///dir' or 'memory://', not {type(url).__name__!r}"
        raise InvalidInputError(msg)
    scheme = url.partition("://")[0]
    if scheme not in _BACKENDS or "://" not in url:
        msg = f"unknown store {url!r}; known: {', '.join(f'{known}://' for known in _BACKENDS)}"
        raise InvalidInputError(msg)
    normal, codec, connect = _BACKENDS[scheme]
    name = normal(url)
    with _registry.lock:
        if name != _PRIVATE and (store := _registry.stores.get(name)) is not None:
            store.users += 1
            return store
        backend = connect(name)
        store = Store(name, Engine(codec(), head=getattr(backend.journal, "head", None)), backend)
        _registry.all.add(store)
        if name != _PRIVATE:
            _registry.stores[name] = store
        return store


def waits(url: object) -> bool:
    """Whether opening and closing a store of this URL waits for files: a coroutine leaves that to a thread."""
    return isinstance(url, str) and not url.startswith(_PRIVATE)


def _memory_name(url: str) -> str:
    name = url.removeprefix(_PRIVATE)
    if name and not name.strip("/ "):
        msg = f"{url!r} names no store; write 'memory://name', or 'memory://' for a private one"
        raise InvalidInputError(msg)
    return _PRIVATE + name.rstrip("/")


def _disk_name(url: str) -> str:
    told = url.removeprefix("disk://")
    directory = unquote(told)
    if "?" in told or "#" in told:
        msg = f"{url!r} holds '?' or '#'; in the name of a directory write them as %3F and %23"
        raise InvalidInputError(msg)
    if not directory.strip("/ ") or "\0" in directory:
        msg = f"{url!r} names no directory; write 'disk:///path/to/dir'"
        raise InvalidInputError(msg)
    # Quoted again, so that the name opens the same directory.
    return f"disk://{quote(os.path.realpath(directory))}"


_BACKENDS: Mapping[str, tuple[Callable[[str], str], Callable[[], Any], Callable[[str], _Backend]]] = {
    "memory": (_memory_name, IdentityCodec, _MemoryBackend),
    "disk": (_disk_name, JsonCodec, _DiskBackend),
}
