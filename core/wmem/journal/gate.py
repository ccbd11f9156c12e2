"""Calls are held up while the process forks, so that no connection is copied half used.

SQLite keeps a process's locks in its memory: a child that inherits them half held is
locked out for ever, and believes to hold others that it does not. So whoever has a
file open waits for the calls under way, closes every connection, and either side
connects anew.
"""

import gc
import os
import threading
import weakref
from typing import Protocol

__all__ = ["Connected", "Gate", "watch_forks"]


class Gate:
    """Entered by every call; while it is shut, calls wait outside."""

    def __init__(self) -> None:
        self._inside = 0
        self._shut_by: int | None = None
        """The thread that shut it: what ends while that closes connections may call once more."""
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
        """Let nobody in, and wait for those inside; the caller alone may `open` it again."""
        self._lock.acquire()
        self._shut_by = threading.get_ident()
        while self._inside:
            self._turn.wait()

    def open(self, *, child: bool) -> None:
        """Let calls pass again, after `shut`."""
        self._shut_by = None
        if child:
            self._fresh()  # the old one knows threads that only the parent has
        else:
            self._turn.notify_all()
            self._lock.release()


class Connected(Protocol):
    """What holds connections that must not be carried over a fork."""

    @property
    def gate(self) -> Gate:
        """Entered by every use of a connection."""
        ...

    def disconnect(self) -> bool:
        """Let go of every connection; nobody else is inside the gate.

        Returns:
            Whether some are closed only when garbage is collected.
        """
        ...


def watch_forks(holder: Connected) -> None:
    """Disconnect `holder` around every fork for as long as it lives."""
    with _forks.turn:
        _forks.holders.add(holder)


class _Forks:
    """Who is disconnected around forks; one thread forks at a time."""

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
            gc.collect()  # once for all: it takes as long as the process has objects

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
