"""Fork guard: blocks calls while the process forks and closes every SQLite connection before it.

SQLite keeps a process's locks in its memory: a child that inherits them half held is
locked out for ever, and believes to hold others that it does not. So before a fork the
guard waits for running calls to end and closes all connections; parent and child
reconnect when needed.
"""

import gc
import os
import threading
import weakref
from typing import Protocol


class ForkGuard:
    """Context manager around every call; while the process forks, new calls wait here."""

    def __init__(self) -> None:
        self._active_calls = 0
        self._blocked_by: int | None = None
        """The thread that called `block`: finalizers it runs while closing connections may still call."""
        self._reset_lock()

    def _reset_lock(self) -> None:
        self._lock = threading.Lock()
        self._condition = threading.Condition(self._lock)

    def __enter__(self) -> None:
        if self._blocked_by == threading.get_ident():
            return
        with self._lock:
            while self._blocked_by is not None:
                self._condition.wait()
            self._active_calls += 1

    def __exit__(self, *_: object) -> None:
        if self._blocked_by == threading.get_ident():
            return
        with self._lock:
            self._active_calls -= 1
            if self._blocked_by is not None:
                self._condition.notify_all()

    def block(self) -> None:
        """Block new calls and wait for running ones; only the calling thread may `unblock` again."""
        self._lock.acquire()
        self._blocked_by = threading.get_ident()
        while self._active_calls:
            self._condition.wait()

    def unblock(self, *, child: bool) -> None:
        """Admit calls again, after `block`."""
        self._blocked_by = None
        if child:
            self._reset_lock()  # the old lock refers to threads that exist only in the parent
        else:
            self._condition.notify_all()
            self._lock.release()


class ConnectionOwner(Protocol):
    """Owner of connections that must not survive a fork."""

    @property
    def fork_guard(self) -> ForkGuard:
        """The guard that every use of a connection enters."""
        ...

    def disconnect(self) -> bool:
        """Close every connection; no call is running.

        Returns:
            Whether some connections are closed only by garbage collection.
        """
        ...


def disconnect_on_fork(owner: ConnectionOwner) -> None:
    """Disconnect `owner` before every fork, for as long as it exists."""
    with _fork_hooks.lock:
        _fork_hooks.owners.add(owner)


class _ForkHooks:
    """Fork hooks that disconnect all registered owners; one thread forks at a time."""

    def __init__(self) -> None:
        self.owners: weakref.WeakSet[ConnectionOwner] = weakref.WeakSet()
        self.blocked: list[ConnectionOwner] = []
        self.lock = threading.RLock()

    def before_fork(self) -> None:
        self.lock.acquire()
        self.blocked.extend(self.owners)
        for each in self.blocked:
            each.fork_guard.block()
        needs_collection = [each.disconnect() for each in self.blocked]
        if any(needs_collection):
            gc.collect()  # once for all owners: a collection visits every object of the process

    def after_fork(self, *, child: bool) -> None:
        while self.blocked:
            self.blocked.pop().fork_guard.unblock(child=child)
        if child:
            self.lock = threading.RLock()
        else:
            self.lock.release()


_fork_hooks = _ForkHooks()


os.register_at_fork(
    before=_fork_hooks.before_fork,
    after_in_parent=lambda: _fork_hooks.after_fork(child=False),
    after_in_child=lambda: _fork_hooks.after_fork(child=True),
)
