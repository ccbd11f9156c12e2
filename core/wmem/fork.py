"""Locks that a forked child can take.

A child has no thread but the one that forked: a lock that another thread held stays taken there for ever.
"""

import functools
import importlib._bootstrap  # only it knows which imports are under way
import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, Final, TypeVar

T = TypeVar("T")

_IMPORTS_WAIT_S: Final = 5.0  # a fork waits so long for imports of other threads
_PAUSE_S: Final = 0.001

_renewed_locks: "weakref.WeakSet[threading.Lock]" = weakref.WeakSet()
_abandoned_imports: "weakref.WeakSet[Any]" = weakref.WeakSet()
"""The locks of imports for which a fork waited in vain."""


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


class cached_property(functools.cached_property[T]):  # noqa: N801  # as the one that it stands for
    """`functools.cached_property`, whose lock, shared by all objects until Python 3.11, is free in a forked child."""

    def __init__(self, func: Callable[[Any], T]) -> None:
        super().__init__(func)
        if (lock := getattr(self, "lock", None)) is not None:
            _renewed_locks.add(lock)


def wait_for_imports() -> None:
    """Wait some seconds for imports of other threads: a child that needs one that was under way waits for ever."""
    deadline = time.monotonic() + _IMPORTS_WAIT_S
    interruption: BaseException | None = None
    while locks := _list_imports():
        try:
            time.sleep(_PAUSE_S)
        except BaseException as exc:  # noqa: BLE001  # a fork cannot be stopped, and its child needs whole modules
            interruption = exc
        if time.monotonic() > deadline:
            _abandoned_imports.update(locks)
            break
    if interruption is not None:
        raise interruption  # Python prints it and forks


def _list_imports() -> list[Any]:
    """The locks of modules that other threads import."""
    known = getattr(importlib._bootstrap, "_module_locks", {})  # noqa: SLF001  # as above
    locks = [reference() for reference in list(known.values())]
    others = [lock for lock in locks if getattr(lock, "owner", None) not in (None, threading.get_ident())]
    return [lock for lock in others if lock not in _abandoned_imports]


def _renew_locks() -> None:
    for lock in list(_renewed_locks):
        lock._at_fork_reinit()  # type: ignore[attr-defined]  # noqa: SLF001  # as the standard library does with its own


os.register_at_fork(before=wait_for_imports, after_in_child=_renew_locks)
