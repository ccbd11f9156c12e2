"""Cache of quotes as rendered for a pack: packs of a session quote the same memories repeatedly."""

import threading
from collections.abc import Mapping

from wmem.model.row import Row
from wmem.pack import Candidate, Quote

__all__ = ["Quoted", "Quoting"]

_MOST = 1_024
_CHARS = 1_000
"""A longer quote is not cached."""


class Quoted:
    """The newest 1,024 quotes, by row and counter; `forget` leaves nothing of a row."""

    __slots__ = ("_held", "_lock")

    def __init__(self) -> None:
        self._held: dict[str, tuple[Row, str, Quote]] = {}
        self._lock = threading.Lock()

    def get(self, row: Row, counter: str) -> Quote | None:
        """The quote of a row, its tokens counted by the counter of that name."""
        held = self._held.get(row.id)
        return held[2] if held is not None and held[0] is row and held[1] == counter else None

    def put(self, row: Row, counter: str, quote: Quote) -> None:
        """Store the quote of a row; drops the oldest when full."""
        if len(quote.block) > _CHARS:
            return
        with self._lock:
            self._held[row.id] = row, counter, quote
            if len(self._held) > _MOST:
                del self._held[next(iter(self._held))]

    def forget(self, id: str) -> None:
        """Drop the quote of a row that changed, or is gone."""
        if id in self._held:
            with self._lock:
                self._held.pop(id, None)


class Quoting:
    """The cached quotes for one pack: of these rows, under one counter."""

    def __init__(self, quoted: Quoted, counter: str, rows: Mapping[str, Row]) -> None:
        self._quoted = quoted
        self._counter = counter
        self._rows = rows

    def get(self, candidate: Candidate, /) -> Quote | None:
        row = self._rows.get(candidate.id)
        return None if row is None else self._quoted.get(row, self._counter)

    def put(self, candidate: Candidate, quote: Quote, /) -> None:
        row = self._rows.get(candidate.id)
        if row is not None:
            self._quoted.put(row, self._counter, quote)
