"""Events of one engine: its listeners, and the outbox from which they are delivered in order."""

import threading
from collections import deque
from collections.abc import Callable

from wmem.log import find_logger, log_callback_failure
from wmem.model.change import Event
from wmem.model.checks import check_listener
from wmem.model.history import is_reserved

_log = find_logger("wmem.engine")

Listener = Callable[[Event], None]


class EventFeed:
    """The listeners, and the events that wait for them; replicas append to `outbox` under their locks."""

    def __init__(self) -> None:
        self.listeners: list[tuple[str, Listener, bool]] = []
        self.outbox: deque[Event] = deque()
        self._deliverer: object | None = None
        """The call that delivers at the moment; guarded by `_lock`."""
        self._lock = threading.Lock()

    def reset_after_fork(self) -> None:
        """Reset after a fork, in the child process: the parent delivers what was waiting."""
        self.outbox.clear()
        self._deliverer = None
        self._lock = threading.Lock()

    def subscribe(self, root: str, listener: Listener, *, reserved: bool = False) -> Callable[[], None]:
        """Call a listener with every change below `root` from now on; returns the function that stops it.

        Args:
            reserved: Also with those of reserved scopes.
        """
        check_listener(listener)
        entry = (root, listener, reserved)
        self.listeners.append(entry)

        def stop() -> None:
            if entry in self.listeners:
                self.listeners.remove(entry)

        return stop

    def deliver(self) -> None:
        """Deliver the events of the outbox to the listeners, in order, one caller at a time."""
        deliverer = object()
        while self.outbox and self._deliverer is None:
            # Claimed inside the `try`: an interrupt between claim and `try` would stop deliveries for ever.
            try:
                with self._lock:
                    if self._deliverer is None:
                        self._deliverer = deliverer
                while self._deliverer is deliverer and self.outbox:
                    event = self.outbox.popleft()
                    for root, listener, reserved in tuple(self.listeners):
                        if event.path[0] == root and (reserved or not is_reserved(event.path)):
                            _notify(listener, event)
            finally:
                if self._deliverer is deliverer:
                    self._deliverer = None


def _notify(listener: Listener, event: Event) -> None:
    try:
        listener(event)
    except Exception as exc:  # noqa: BLE001  # a user's function must not break the engine
        what = type(event.change).__name__
        log_callback_failure(_log, "a listener failed on %s of scope %r", what, event.path, exc=exc)
