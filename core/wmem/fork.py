"""Locks that a forked child can take.

A child has no thread but the one that forked: a lock that another thread held stays taken there for ever.
"""

import os
import threading
import weakref

_renewed_locks: "weakref.WeakSet[threading.Lock]" = weakref.WeakSet()


def new_renewed_lock() -> threading.Lock:
    """A lock that is free in a forked child, for data of which each step is whole."""
    lock = threading.Lock()
    _renewed_locks.add(lock)
    return lock


def new_held_lock() -> "threading.RLock":
    """A lock that nobody else holds during a fork, which waits for it: for what must not be copied half-way."""
    lock = threading.RLock()
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock


def _renew_locks() -> None:
    for lock in list(_renewed_locks):
        lock._at_fork_reinit()  # type: ignore[attr-defined]  # noqa: SLF001  # as the standard library does with its own


os.register_at_fork(after_in_child=_renew_locks)
