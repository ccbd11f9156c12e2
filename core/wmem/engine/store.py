"""Open stores: one engine per URL and process, shared by sync and async, reference-counted."""

import os
import threading
import weakref
from collections.abc import Callable
from functools import cached_property
from typing import Any

from wmem.clock import SteadyClock
from wmem.codec.codec import Codec, IdentityCodec, JsonCodec
from wmem.describe import describe, describe_field
from wmem.engine.backends import BACKENDS, PRIVATE_URL, Backend
from wmem.engine.engine import Engine
from wmem.engine.ports import async_ports, sync_ports
from wmem.errors import InvalidInputError
from wmem.flow import Ports
from wmem.journal.redis_url import RedisUrl


class Store:
    """One open store: its engine, its ports and its reference count.

    Attributes:
        url: The normalised URL, which opens the same store again.
        is_blocking: Whether opening and closing wait for files or a server.
        clock: UTC epoch seconds, for agents that were opened without a clock of their own.
    """

    def __init__(self, url: str, registry_key: object, engine: Engine[Any], backend: Backend) -> None:
        self.url = url
        self.engine = engine
        self.users = 1
        self.is_blocking = backend.is_blocking
        self.clock = SteadyClock()
        self._registry_key = registry_key
        self._backend = backend

    @cached_property
    def sync_ports(self) -> Ports:
        """The sync ports."""
        return sync_ports(self._backend.sync_journal())

    def async_ports(self) -> Ports:
        """The async ports."""
        return async_ports(self._backend.async_journal())

    def close(self) -> None:
        """Release one reference; the last one closes the store."""
        if self._release():
            self._backend.close()
            self.engine.clear()

    async def aclose(self) -> None:
        """See `close`."""
        if self._release():
            await self._backend.aclose()
            self.engine.clear()

    def _release(self) -> bool:
        with _registry.lock:
            self.users -= 1
            if self.users > 0:
                return False
            if _registry.stores.get(self._registry_key) is self:
                del _registry.stores[self._registry_key]
            return True

    def reset_after_fork(self) -> None:
        """Reset after a fork, in the child process."""
        self.engine.reset_after_fork()
        self._backend.reset_after_fork()


class _Registry:
    """The open stores of this process; a forked child starts with new locks."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.stores: dict[object, Store] = {}
        self.all: weakref.WeakSet[Store] = weakref.WeakSet()

    def reset_after_fork(self) -> None:
        self.lock = threading.Lock()
        for store in list(self.all):
            store.reset_after_fork()


_registry = _Registry()
os.register_at_fork(after_in_child=_registry.reset_after_fork)


def open_store(url: str, *, codec: Codec[bytes] | None = None, client: object | None = None) -> Store:
    """Open the store of a URL, or take another reference to the one that is open in this process.

    Args:
        codec: Encodes changes as bytes; JSON by default. Equal codecs share an engine.
        client: A driver's client that the caller owns; it is never closed here.

    Raises:
        InvalidInputError: wmem knows no such URL.
        MissingExtraError: The backend's driver is not installed.
        StoreError: The store cannot be opened.
    """
    name, connect = _find_backend(url)
    # By identity: two clients may use two servers. The store holds the client, so its id is not reused.
    key = (name, codec, None if client is None else id(client))
    with _registry.lock:
        if name != PRIVATE_URL and (store := _registry.stores.get(key)) is not None:
            store.users += 1
            return store
        backend = connect(name, client)
        used_codec: Codec[Any] = (codec or JsonCodec()) if backend.is_blocking else IdentityCodec()
        store = Store(name, key, Engine(used_codec, head=backend.head), backend)
        _registry.all.add(store)
        if name != PRIVATE_URL:
            _registry.stores[key] = store
        return store


def _find_backend(url: object) -> tuple[str, Callable[[str, object | None], Backend]]:
    if not isinstance(url, str):
        msg = f"a store's URL is text such as 'disk:///dir' or 'memory://', not {type(url).__name__!r}"
        raise InvalidInputError(msg)
    scheme, separator, _ = url.partition("://")
    if scheme not in BACKENDS or not separator:
        # Neither host nor query is shown: each may hold a password.
        shown = f"'{describe_field(scheme)}://…'" if separator else describe(url)
        raise InvalidInputError(f"unknown store {shown}; known: {', '.join(f'{known}://' for known in BACKENDS)}")
    normal, connect = BACKENDS[scheme]
    return normal(url), connect


def check_url(url: str) -> str:
    """A URL that `open_store` takes, in a form that shows no password but opens the same store in this process.

    Raises:
        InvalidInputError: wmem knows no such URL.
    """
    name, _ = _find_backend(url)
    return name if isinstance(name, RedisUrl) else url


def is_blocking(url: object) -> bool:
    """Whether opening a store of this URL waits for files or a server; async callers then use a thread."""
    return isinstance(url, str) and not url.startswith(PRIVATE_URL)
