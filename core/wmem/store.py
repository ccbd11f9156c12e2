"""From a URL to an engine: one per store and process, shared by both colours, counted by its users."""

import os
import threading
import weakref
from typing import Any

from wmem.backends import BACKENDS, PRIVATE, Backend
from wmem.clock import SteadyClock
from wmem.engine import Engine
from wmem.errors import InvalidInputError
from wmem.flow import Ports
from wmem.journal.codec import Codec, IdentityCodec, JsonCodec
from wmem.ports import async_ports, sync_ports

__all__ = ["Store", "opened", "waits"]


class Store:
    """One open store: its engine, its ports, and how many hold it open.

    Attributes:
        url: The form that opens it again.
        waits: Whether opening and closing wait for files or a server.
        clock: UTC epoch seconds for all who hold it open and bring none of their own.
    """

    def __init__(self, url: str, place: object, engine: Engine[Any], backend: Backend) -> None:
        self.url = url
        self.engine = engine
        self.users = 1
        self.waits = backend.waits
        self.clock = SteadyClock()
        self._place = place
        self._backend = backend
        self._sync: Ports | None = None

    @property
    def sync_ports(self) -> Ports:
        """The ports for threads."""
        if self._sync is None:
            self._sync = sync_ports(self._backend.sync_journal())
        return self._sync

    def async_ports(self) -> Ports:
        """The ports for coroutines."""
        return async_ports(self._backend.async_journal())

    def close(self) -> None:
        """Give one hold back; the last one closes the store."""
        if self._released():
            self._backend.close()

    async def aclose(self) -> None:
        """See `close`."""
        if self._released():
            await self._backend.aclose()

    def _released(self) -> bool:
        with _registry.lock:
            self.users -= 1
            if self.users > 0:
                return False
            if _registry.stores.get(self._place) is self:
                del _registry.stores[self._place]
            return True

    def forked(self) -> None:
        """Start over in a child process."""
        self.engine.forked()
        self._backend.forked()


class _Registry:
    """The open stores of this process; a forked child begins with none of its parent's locks."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.stores: dict[object, Store] = {}
        self.all: weakref.WeakSet[Store] = weakref.WeakSet()

    def forked(self) -> None:
        self.lock = threading.Lock()
        for store in list(self.all):
            store.forked()


_registry = _Registry()
os.register_at_fork(after_in_child=_registry.forked)


def opened(url: str, *, codec: Codec[bytes] | None = None, client: object | None = None) -> Store:
    """The store of a URL, shared with everybody in this process who holds it open.

    Args:
        codec: How changes become bytes; JSON by default. Codecs that are equal share an engine.
        client: A driver's client that the caller owns: it is used and never closed.

    Raises:
        InvalidInputError: The URL is none that wmem knows.
        MissingExtraError: The backend's driver is not installed.
        StoreError: The store cannot be opened.
    """
    if not isinstance(url, str):
        msg = f"a store's URL is text such as 'disk:///dir' or 'memory://', not {type(url).__name__!r}"
        raise InvalidInputError(msg)
    scheme = url.partition("://")[0]
    if scheme not in BACKENDS or "://" not in url:
        # A password that stands in it is nobody's business.
        told = url if "@" not in url else f"{scheme}://…@{url.rpartition('@')[2]}"
        msg = f"unknown store {told!r}; known: {', '.join(f'{known}://' for known in BACKENDS)}"
        raise InvalidInputError(msg)
    normal, connect = BACKENDS[scheme]
    name = normal(url)
    # By identity: two clients may lead to two servers. The store keeps the client, so its id is not used again.
    place = (name, codec, None if client is None else id(client))
    with _registry.lock:
        if name != PRIVATE and (store := _registry.stores.get(place)) is not None:
            store.users += 1
            return store
        backend = connect(name, client)
        chosen: Codec[Any] = IdentityCodec() if backend.plain else codec or JsonCodec()
        store = Store(name, place, Engine(chosen, head=backend.head), backend)
        _registry.all.add(store)
        if name != PRIVATE:
            _registry.stores[place] = store
        return store


def waits(url: object) -> bool:
    """Whether opening a store of this URL waits for files or a server: a coroutine leaves that to a thread."""
    return isinstance(url, str) and not url.startswith(PRIVATE)
