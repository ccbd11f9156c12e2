"""What a pack of a scope computes and the next one uses again: decoded messages, and quotes as rendered."""

from collections.abc import Mapping
from typing import NamedTuple

from wmem.engine.derived import Derived
from wmem.fork import new_renewed_lock
from wmem.model.row import Row
from wmem.pack.request import Candidate, Quote

_MAX_QUOTES = 1_024
_MAX_CHARACTERS = 1_000  # a longer quote is not cached


class DecodedMessage(NamedTuple):
    """A decoded message as a candidate of packs, its row, and the name of the counter that counted it."""

    row: Row
    counter: str
    candidate: Candidate


class DecodedMessages(Derived):
    """The messages that the last pack decoded, by id; one budget bounds them."""

    __slots__ = ("messages",)

    def __init__(self) -> None:
        self.messages: Mapping[str, DecodedMessage] = {}

    def replace(self, messages: Mapping[str, DecodedMessage]) -> None:
        """Keep these messages, and no others."""
        self.messages = messages

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        if not changed.keys().isdisjoint(self.messages):
            self.messages = {id: each for id, each in self.messages.items() if id not in changed}


class QuoteCache(Derived):
    """The newest 1,024 quotes, by row, counter and zone."""

    __slots__ = ("_lock", "_quotes")

    def __init__(self) -> None:
        self._quotes: dict[str, tuple[Row, tuple[str, str], Quote]] = {}
        self._lock = new_renewed_lock()

    def get(self, row: Row, made_for: tuple[str, str]) -> Quote | None:
        """The quote of a row, made for a counter and a zone of these names."""
        held = self._quotes.get(row.id)
        return held[2] if held is not None and held[0] is row and held[1] == made_for else None

    def put(self, row: Row, made_for: tuple[str, str], quote: Quote) -> None:
        """Store the quote of a row; drops the oldest when full."""
        if len(quote.block) > _MAX_CHARACTERS:
            return
        with self._lock:
            self._quotes[row.id] = row, made_for, quote
            if len(self._quotes) > _MAX_QUOTES:
                del self._quotes[next(iter(self._quotes))]

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        with self._lock:
            for id in changed.keys() & self._quotes.keys():
                del self._quotes[id]


class PackQuotes:
    """The cached quotes for one pack: of these rows, under one counter and zone."""

    def __init__(self, cache: QuoteCache, made_for: tuple[str, str], rows: Mapping[str, Row]) -> None:
        self._cache = cache
        self._made_for = made_for
        self._rows = rows

    def get(self, candidate: Candidate, /) -> Quote | None:
        row = self._rows.get(candidate.id)
        return None if row is None else self._cache.get(row, self._made_for)

    def put(self, candidate: Candidate, quote: Quote, /) -> None:
        row = self._rows.get(candidate.id)
        if row is not None:
            self._cache.put(row, self._made_for, quote)
