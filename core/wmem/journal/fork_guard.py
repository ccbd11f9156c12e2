"""Fork guard: holds up calls while the process forks and closes every SQLite connection before it.

SQLite keeps a process's locks in its memory: a child that inherits them half held is
locked out for ever, and believes to hold others that it does not. So a fork waits some
seconds for running calls to end and closes all connections; parent and child reconnect
when needed. If a call does not end, the child refuses to use stores of files.

A signal's handler may raise between any two steps of Python, but not within one call of a
C function. So who is inside is a dictionary, whose `pop` leaves it in one such call, and
what must happen after a fork is done by C functions alone.
"""

import os
import sys
import threading
import time
import weakref
from functools import partial
from typing import Final, Protocol

from wmem.errors import StoreError
from wmem.log import find_logger

_log = find_logger("wmem.journal")

_WAIT_S = 5.0  # a fork waits so long for running calls
_PAUSE_S = 0.001


class ConnectionOwner(Protocol):
    """Owner of connections that must not survive a fork."""

    def disconnect(self) -> None:
        """Close every connection; no call is running. It may be interrupted, and is called again then."""
        ...


class ForkGuard:
    """The calls that use SQLite in this process, and the owners of its connections."""

    def __init__(self) -> None:
        self._calls: dict[object, int] = {}
        """The threads that are inside, each under its call's token."""
        self.leave: Final = self._calls.pop
        """``leave(token, None)``: to be called first in the ``finally`` of a ``try`` that holds `enter`."""
        self._owners: weakref.WeakValueDictionary[int, ConnectionOwner] = weakref.WeakValueDictionary()
        self._forking: dict[int, bool] = {}
        """The thread that forks; finalizers that it runs while it closes connections may still call."""
        self._lock = threading.RLock()
        """Held by the thread that forks."""
        self._problems: list[str] = []
        """Why a child of the fork under way could not use its files."""
        self._refusals: list[str] = []
        """Why this process, a child, cannot."""

    def add_owner(self, owner: ConnectionOwner) -> None:
        """Disconnect `owner` before every fork, for as long as it exists."""
        self._owners[id(owner)] = owner

    def enter(self, token: object) -> None:
        """Begin a call; while another thread forks, wait.

        Raises:
            StoreError: This process was forked in the middle of a call.
        """
        me = threading.get_ident()
        while True:
            self._calls[token] = me
            # In this order: whoever forks first announces it and then looks who is inside.
            if not self._forking or me in self._forking:
                break
            self._calls.pop(token, None)
            with self._lock:
                pass
        if self._refusals:
            msg = f"stores of files cannot be used in this process: {self._refusals[0]}; start it anew, with 'spawn'"
            raise StoreError(msg)

    @property
    def is_refusing(self) -> bool:
        """Whether `enter` raises in this process."""
        return bool(self._refusals)

    def register_hooks(self) -> None:
        """Register the hooks of this guard; the last that is registered is the first to be called before a fork."""
        os.register_at_fork(
            before=self.before_fork, after_in_parent=self._forking.clear, after_in_child=self._calls.clear
        )
        os.register_at_fork(
            before=partial(self._problems.append, "a signal interrupted the fork before the files were closed"),
            after_in_parent=self._problems.clear,
            after_in_child=partial(self._refusals.extend, self._problems),
        )
        os.register_at_fork(after_in_child=self._problems.clear)
        os.register_at_fork(after_in_child=self._forking.clear)
        os.register_at_fork(
            before=self._lock.acquire, after_in_parent=self._lock.release, after_in_child=self._lock.release
        )

    def before_fork(self) -> None:
        """Wait for running calls and close every connection, however often a signal interrupts it."""
        deadline = time.monotonic() + _WAIT_S
        interruption: BaseException | None = None
        while True:
            try:
                self._quiesce(deadline)
                break
            except BaseException as exc:  # noqa: BLE001  # a fork cannot be stopped, and its child needs closed files
                interruption = exc
                if time.monotonic() > deadline:
                    break
        if interruption is not None:
            raise interruption  # Python prints it and forks

    def _quiesce(self, deadline: float) -> None:
        me = threading.get_ident()
        self._forking[me] = True
        while True:
            # A thread that has ended is in no call, whatever ended it.
            inside = set(self._calls.values()) & sys._current_frames().keys()  # noqa: SLF001  # documented for such uses
            if not inside:
                break
            if me in inside or time.monotonic() > deadline:
                self._report(inside, me)
                return
            time.sleep(_PAUSE_S)
        for owner in [reference() for reference in self._owners.valuerefs()]:
            if owner is not None:
                owner.disconnect()
        self._problems.clear()

    def _report(self, inside: set[int], me: int) -> None:
        names = [each.name for each in threading.enumerate() if each.ident in inside and each.ident != me]
        threads = ", ".join(repr(name) for name in names) or "this thread itself"
        self._problems[:] = [f"it was forked while a call of wmem was under way in {threads}"]
        _log.warning(
            "forked while a call of wmem is under way in %s: the child process cannot use stores of files", threads
        )


fork_guard: Final = ForkGuard()
"""The one guard of this process."""

fork_guard.register_hooks()
