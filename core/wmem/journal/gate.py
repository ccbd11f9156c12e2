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

__all__ = ["Connected", "Gate", "watch_forks"]


class Gate:
    """Context manager around every call; while the process forks, new calls wait here."""

    def __init__(self) -> None:
        self._inside = 0
        self._shut_by: int | None = None
        """The thread that shut the gate: finalizers it runs while closing connections may still call."""
        self._fresh()

    def _fresh(self) -> None:
        self._lock = threading.Lock()
        self._turn = threading.Condition(self._lock)

    def __enter__(self) -> None:
        if self._shut_by == threading.get_ident():
            return
        with self._lock:
            while self._shut_by is not None:
                self._turn.wait()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        if self._shut_by == threading.get_ident():
            return
        with self._lock:
            self._inside -= 1
            if self._shut_by is not None:
                self._turn.notify_all()

    def shut(self) -> None:
        """Block new calls and wait for running ones; only the calling thread may `open` the gate again."""
        self._lock.acquire()
        self._shut_by = threading.get_ident()
        while self._inside:
            self._turn.wait()

    def open(self, *, child: bool) -> None:
        """Admit calls again, after `shut`."""
        self._shut_by = None
        if child:
            self._fresh()  # the old lock refers to threads that exist only in the parent
        else:
            self._turn.notify_all()
            self._lock.release()


class Connected(Protocol):
    """Owner of connections that must not survive a fork."""

    @property
    def gate(self) -> Gate:
        """The guard that every use of a connection enters."""
        ...

    def disconnect(self) -> bool:
        """Close every connection; no call is running.

        Returns:
            Whether some connections are closed only by garbage collection.
        """
        ...


def watch_forks(holder: Connected) -> None:
    """Disconnect `holder` before every fork, for as long as it exists."""
    with _forks.turn:
        _forks.holders.add(holder)


class _Forks:
    """Fork hooks that disconnect all registered owners; one thread forks at a time."""

    def __init__(self) -> None:
        self.holders: weakref.WeakSet[Connected] = weakref.WeakSet()
        self.held: list[Connected] = []
        self.turn = threading.RLock()

    def before(self) -> None:
        self.turn.acquire()
        self.held.extend(self.holders)
        for holder in self.held:
            holder.gate.shut()
        left = [holder.disconnect() for holder in self.held]
        if any(left):
            gc.collect()  # once for all owners: a collection visits every object of the process

    def after(self, *, child: bool) -> None:
        while self.held:
            self.held.pop().gate.open(child=child)
        if child:
            self.turn = threading.RLock()
        else:
            self.turn.release()


_forks = _Forks()


os.register_at_fork(
    before=_forks.before,
    after_in_parent=lambda: _forks.after(child=False),
    after_in_child=lambda: _forks.after(child=True),
)
