"""Calls are held up while the process forks, so that no connection is copied half used.

SQLite keeps a process's locks in its memory: a child that inherits them half held is
locked out for ever, and believes to hold others that it does not. So whoever has a
file open waits for the calls under way, closes every connection, and either side
connects anew.
"""

import os
import threading
import weakref
from typing import Protocol

__all__ = ["Connected", "Gate", "watch_forks"]


class Gate:
    """Entered by every call; while it is shut, calls wait outside."""

    def __init__(self) -> None:
        self._inside = 0
        self._is_shut = False
        self._fresh()

    def _fresh(self) -> None:
        self._lock = threading.Lock()
        self._turn = threading.Condition(self._lock)

    def __enter__(self) -> None:
        with self._lock:
            while self._is_shut:
                self._turn.wait()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._is_shut:
                self._turn.notify_all()

    def shut(self) -> None:
        """Let nobody in, and wait for those inside; the caller alone may `open` it again."""
        self._lock.acquire()
        self._is_shut = True
        while self._inside:
            self._turn.wait()

    def open(self, *, child: bool) -> None:
        """Let calls pass again, after `shut`."""
        self._is_shut = False
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

    def disconnect(self) -> None:
        """Close every connection; nobody is inside the gate."""
        ...


def watch_forks(holder: Connected) -> None:
    """Disconnect `holder` around every fork for as long as it lives."""
    _holders.add(holder)


_holders: weakref.WeakSet[Connected] = weakref.WeakSet()
_held: list[Connected] = []


def _before_fork() -> None:
    _held.extend(_holders)
    for holder in _held:
        holder.gate.shut()
        holder.disconnect()


def _after_fork(*, child: bool) -> None:
    while _held:
        _held.pop().gate.open(child=child)


os.register_at_fork(
    before=_before_fork,
    after_in_parent=lambda: _after_fork(child=False),
    after_in_child=lambda: _after_fork(child=True),
)
