"""Cache of quotes as rendered for a pack: packs of a session quote the same memories repeatedly."""

import threading
from collections.abc import Mapping

from wmem.model.row import Row
from wmem.pack import Candidate, Quote

__all__ = ["PackQuotes", "QuoteCache"]

_MAX_QUOTES = 1_024
_MAX_CHARACTERS = 1_000
"""A longer quote is not cached."""


class QuoteCache:
    """The newest 1,024 quotes, by row and counter; `forget` leaves nothing of a row."""

    __slots__ = ("_lock", "_quotes")

    def __init__(self) -> None:
        self._quotes: dict[str, tuple[Row, str, Quote]] = {}
        self._lock = threading.Lock()

    def get(self, row: Row, counter: str) -> Quote | None:
        """The quote of a row, its tokens counted by the counter of that name."""
        held = self._quotes.get(row.id)
        return held[2] if held is not None and held[0] is row and held[1] == counter else None

    def put(self, row: Row, counter: str, quote: Quote) -> None:
        """Store the quote of a row; drops the oldest when full."""
        if len(quote.block) > _MAX_CHARACTERS:
            return
        with self._lock:
            self._quotes[row.id] = row, counter, quote
            if len(self._quotes) > _MAX_QUOTES:
                del self._quotes[next(iter(self._quotes))]

    def forget(self, id: str) -> None:
        """Drop the quote of a row that changed, or is gone."""
        if id in self._quotes:
            with self._lock:
                self._quotes.pop(id, None)


class PackQuotes:
    """The cached quotes for one pack: of these rows, under one counter."""

    def __init__(self, cache: QuoteCache, counter: str, rows: Mapping[str, Row]) -> None:
        self._cache = cache
        self._counter = counter
        self._rows = rows

    def get(self, candidate: Candidate, /) -> Quote | None:
        row = self._rows.get(candidate.id)
        return None if row is None else self._cache.get(row, self._counter)

    def put(self, candidate: Candidate, quote: Quote, /) -> None:
        row = self._rows.get(candidate.id)
        if row is not None:
            self._cache.put(row, self._counter, quote)
