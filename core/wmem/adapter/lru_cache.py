"""A thread-safe cache of the entries used last."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from wmem.fork import new_renewed_lock

K = TypeVar("K")
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """At most `max_entries` values by key; the one used longest ago is evicted first."""

    def __init__(self, max_entries: int) -> None:
        self._max_entries = max_entries
        self._lock = new_renewed_lock()
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """The value of a key; None if there is none or it was evicted."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: K, value: V) -> V:
        """Store a value and return it."""
        with self._lock:
            self._values[key] = value
            return self._use(key)

    def setdefault(self, key: K, value: V) -> V:
        """The value of a key, which is `value` unless another thread was first."""
        with self._lock:
            self._values.setdefault(key, value)
            return self._use(key)

    def _use(self, key: K) -> V:
        self._values.move_to_end(key)
        if len(self._values) > self._max_entries:
            self._values.popitem(last=False)
        return self._values[key]

    def select(self, matches: Callable[[K], bool]) -> list[V]:
        """The values of the keys that match, the one used longest ago first."""
        with self._lock:
            return [value for key, value in self._values.items() if matches(key)]

    def discard(self, matches: Callable[[K], bool]) -> None:
        """Drop every key that matches."""
        with self._lock:
            for key in [key for key in self._values if matches(key)]:
                del self._values[key]
