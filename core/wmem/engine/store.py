"""Open stores: one engine per URL and process, shared by sync and async, reference-counted."""

import os
import threading
import weakref
from typing import Any

from wmem.clock import SteadyClock
from wmem.codec.codec import Codec, IdentityCodec, JsonCodec
from wmem.describe import describe, describe_field
from wmem.engine.backends import BACKENDS, PRIVATE_URL, Backend, Scheme
from wmem.engine.engine import Engine
from wmem.engine.ports import async_ports, sync_ports
from wmem.errors import InvalidInputError, NotFoundError
from wmem.flow import Ports
from wmem.fork import cached_property
from wmem.journal.redis_url import RedisUrl
from wmem.model.building import build_models


class Store:
    """One opening of a store; all openings of one URL in a process share an engine.

    It counts for as long as it is referenced and not closed: what an interrupt left half
    opened or half closed does not.

    Attributes:
        url: The normalised URL, which opens the same store again.
        is_blocking: Whether opening and closing wait for files or a server.
        clock: UTC epoch seconds, for agents that were opened without a clock of their own.
    """

    def __init__(self, shared: "_SharedStore") -> None:
        self.url = shared.url
        self.engine = shared.engine
        self.is_blocking = shared.backend.is_blocking
        self.clock = shared.clock
        self._backend = shared.backend
        self._shared = shared

    @cached_property
    def sync_ports(self) -> Ports:
        """The sync ports."""
        return sync_ports(self._backend.sync_journal(), self._backend.backup_advice)

    def async_ports(self) -> Ports:
        """The async ports."""
        return async_ports(self._backend.async_journal(), self._backend.backup_advice)

    def reopen(self) -> "Store | None":
        """Another opening of the same engine and backend; None once this one is closed."""
        with _registry.lock:
            return self._shared.open() if self in self._shared.openings else None

    def close(self) -> None:
        """End this opening; with the last one the store is closed."""
        if self._release():
            self._shared.close()

    async def aclose(self) -> None:
        """See `close`."""
        if self._release():
            await self._backend.aclose()
            self.engine.clear()

    def _release(self) -> bool:
        with _registry.lock:
            self._shared.openings.discard(self)
            if self._shared.openings:
                return False
            _registry.forget(self._shared)
            return True


class _SharedStore:
    """What all openings of one URL share."""

    def __init__(self, url: str, registry_key: object, engine: Engine[Any], backend: Backend) -> None:
        self.url = url
        self.registry_key = registry_key
        self.engine = engine
        self.backend = backend
        self.clock = SteadyClock()
        self.openings: weakref.WeakSet[Store] = weakref.WeakSet()

    def open(self) -> Store:
        """Another opening."""
        opened = Store(self)
        self.openings.add(opened)
        return opened

    def close(self) -> None:
        """Close connections and files, and forget what was read."""
        self.backend.close()
        self.engine.clear()

    def reset_after_fork(self) -> None:
        """Reset after a fork, in the child process."""
        self.engine.reset_after_fork()
        self.backend.reset_after_fork()


class _Registry:
    """The open stores of this process; a forked child starts with new locks."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.stores: dict[object, _SharedStore] = {}
        self.all: weakref.WeakSet[_SharedStore] = weakref.WeakSet()

    def forget(self, store: _SharedStore) -> None:
        """Have the next opening of its URL connect anew. The caller holds the lock."""
        if self.stores.get(store.registry_key) is store:
            del self.stores[store.registry_key]

    def close_unused(self) -> None:
        """Close the stores that nobody closed and nobody can use any more."""
        with self.lock:
            unused = [store for store in self.stores.values() if not store.openings]
            for store in unused:
                self.forget(store)
        for store in unused:
            store.close()

    def reset_after_fork(self) -> None:
        self.lock = threading.Lock()
        for store in list(self.all):
            store.reset_after_fork()


_registry = _Registry()
os.register_at_fork(after_in_child=_registry.reset_after_fork)
# A fork while another thread builds one leaves a child that waits for it for ever.
os.register_at_fork(before=build_models)


def open_store(
    url: str, *, codec: Codec[bytes] | None = None, client: object | None = None, create: bool = True
) -> Store:
    """Open the store of a URL, or join the one that is open in this process.

    A store whose file was removed, moved or replaced since is not joined: what has its name now is opened.

    Args:
        codec: Encodes changes as bytes; JSON by default. Equal codecs share an engine.
        client: A driver's client that the caller owns; it is never closed here.
        create: Whether to make a file or directory that is not there.

    Raises:
        InvalidInputError: wmem knows no such URL.
        NotFoundError: There is no such store, and it is not to be created.
        MissingExtraError: The backend's driver is not installed.
        StoreError: The store cannot be opened.
    """
    scheme = _find_scheme(url)
    name = scheme.normalise(url)
    if scheme.resolve is not None:
        name = scheme.resolve(name)
    if not create and scheme.exists is not None and not scheme.exists(name):
        raise NotFoundError(f"there is no store at {name!r}, and none is to be created")
    # By identity: two clients may use two servers. The store holds the client, so its id is not reused.
    key = (name, codec, None if client is None else id(client))
    _registry.close_unused()
    with _registry.lock:
        store = None if name == PRIVATE_URL else _registry.stores.get(key)
        if store is None or not store.backend.is_current():
            backend = scheme.connect(name, client)
            used_codec: Codec[Any] = (codec or JsonCodec()) if backend.is_blocking else IdentityCodec()
            store = _SharedStore(name, key, Engine(used_codec, head=backend.head), backend)
            _registry.all.add(store)
            if name != PRIVATE_URL:
                _registry.stores[key] = store
        return store.open()


def _find_scheme(url: object) -> Scheme:
    if not isinstance(url, str):
        msg = f"a store's URL is text such as 'disk:///dir' or 'memory://', not {type(url).__name__!r}"
        raise InvalidInputError(msg)
    scheme, separator, _ = url.partition("://")
    if scheme not in BACKENDS or not separator:
        # Neither host nor query is shown: each may hold a password.
        shown = f"'{describe_field(scheme)}://…'" if separator else describe(url)
        raise InvalidInputError(f"unknown store {shown}; known: {', '.join(f'{known}://' for known in BACKENDS)}")
    return BACKENDS[scheme]


def check_url(url: str) -> str:
    """A URL that `open_store` takes, in a form that shows no password but opens the same store in this process.

    It asks neither disk nor server: adapters are made in event loops, too.

    Raises:
        InvalidInputError: wmem knows no such URL.
    """
    name = _find_scheme(url).normalise(url)
    return name if isinstance(name, RedisUrl) else url


def is_blocking(url: object) -> bool:
    """Whether opening a store of this URL waits for files or a server; async callers then use a thread."""
    return isinstance(url, str) and not url.startswith(PRIVATE_URL)
