"""What a pack of a scope computes and the next one uses again: decoded messages, quotes, the requests in force."""

import marshal
from collections.abc import Container, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

from wmem.analysis.analyzer import Analyzer
from wmem.engine.derived import Derived
from wmem.fork import new_renewed_lock
from wmem.model.message import Message
from wmem.model.row import Row
from wmem.model.sendable import to_sendable
from wmem.model.standing import StandingRequest
from wmem.pack.excerpt import LongMemory
from wmem.pack.request import Candidate, Quote
from wmem.rules.standing import read_in_force

if TYPE_CHECKING:
    from wmem.engine.replica import Replica
    from wmem.state import State

T = TypeVar("T")
_MAX_QUOTES = 1_024
_MAX_CHARACTERS = 1_000  # a longer quote is not cached
_MAX_LONG_CHARACTERS = 2_000_000  # of the long memories that are cached, whose bytes are some three times as many
_MAX_STANDING = 256  # messages with standing requests that a pack looks at, the newest


class DecodedMessage(NamedTuple):
    """A decoded message, its row and, once a second pack has read it, what it is as a candidate.

    Attributes:
        counter: The name of the counter that counted the candidate.
        seal: What its JSON was when it was decoded, which whoever got the message may have changed; None without any.
    """

    row: Row
    message: Message
    counter: str
    candidate: Candidate | None = None
    seal: bytes | None = None

    @classmethod
    def of(cls, row: Row, message: Message, counter: str) -> Self:
        """The message as it was just decoded."""
        return cls(row, message, counter, seal=_seal(message))

    @property
    def is_intact(self) -> bool:
        """Whether nobody has changed the message's JSON since."""
        return self.seal is None or self.seal == _seal(self.message)


def _seal(message: Message) -> bytes | None:
    """The JSON that a message holds, in bytes; None if it holds none."""
    held = [
        message.metadata,
        message.native and message.native.data,
        [part.data for part in message.parts if part.data],
    ]
    return marshal.dumps(held, 2) if any(held) else None


class DecodedMessages(Derived):
    """The messages that the last pack decoded, by id; one budget bounds them."""

    __slots__ = ("messages",)

    begins_empty = True

    def __init__(self) -> None:
        self.messages: Mapping[str, DecodedMessage] = {}

    def replace(self, messages: Mapping[str, DecodedMessage]) -> None:
        """Keep these messages, and no others."""
        self.messages = messages

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        if not changed.keys().isdisjoint(self.messages):
            self.messages = {id: each for id, each in self.messages.items() if id not in changed}


class _MadeOfRow(NamedTuple, Generic[T]):
    """Something made of a row for a counter and a zone of these names, and its size."""

    row: Row
    made_for: tuple[str, str]
    value: T
    size: int


class _RowCache(Generic[T]):
    """The newest of what was made of rows, up to a total size."""

    __slots__ = ("_lock", "_made", "_most", "_size")

    def __init__(self, most: int) -> None:
        self._made: dict[str, _MadeOfRow[T]] = {}
        self._most = most
        self._size = 0
        self._lock = new_renewed_lock()

    def get(self, row: Row, made_for: tuple[str, str]) -> T | None:
        """What was made of this row for a counter and a zone of these names."""
        held = self._made.get(row.id)
        return held.value if held is not None and held.row is row and held.made_for == made_for else None

    def put(self, row: Row, made_for: tuple[str, str], value: T, size: int = 1) -> None:
        """Store what was made of a row, in place of what came first if there is too much."""
        with self._lock:
            self._discard(row.id)
            self._made[row.id] = _MadeOfRow(row, made_for, value, size)
            self._size += size
            while self._size > self._most:
                self._discard(next(iter(self._made)))

    def remove(self, ids: AbstractSet[str]) -> None:
        """Drop what was made of rows of these ids."""
        with self._lock:
            for id in ids & self._made.keys():
                self._discard(id)

    def _discard(self, id: str) -> None:
        if (made := self._made.pop(id, None)) is not None:
            self._size -= made.size


class QuoteCache(Derived):
    """The newest 1,024 quotes, and what the newest long memories were quoted from, by row, counter and zone."""

    __slots__ = ("long", "short")

    begins_empty = True

    def __init__(self) -> None:
        self.short: _RowCache[Quote] = _RowCache(_MAX_QUOTES)
        self.long: _RowCache[LongMemory] = _RowCache(_MAX_LONG_CHARACTERS)

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        if changed:
            self.short.remove(changed.keys())
            self.long.remove(changed.keys())


class StandingCache(Derived):
    """The requests of the stored messages and which are in force, computed once until one of these changes."""

    __slots__ = ("_analyzer", "_clauses", "_counts", "_ids")

    begins_empty = True

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._clauses: Sequence[tuple[Row, StandingRequest, str]] | None = None
        self._ids: frozenset[str] = frozenset()
        self._counts: dict[str, dict[str, int]] = {}

    def read(self, replica: "Replica[Any]") -> Sequence[tuple[Row, StandingRequest, str]]:
        """The clauses, newest first, each with why it is not in force; "" if it is."""
        if self._clauses is None:
            rows = list_standing_rows(replica)
            self._clauses = tuple(read_in_force([(row, to_sendable_requests(row)) for row in rows], self._analyzer))
            self._ids = frozenset([row.id for row in rows])
        return self._clauses

    def counts(self, counter: str) -> dict[str, int]:
        """Tokens of clauses under a counter of this name, as far as a pack has counted them."""
        return self._counts.setdefault(counter, {})

    def apply(self, changed: Mapping[str, Row | None], /) -> None:
        if any((row is not None and row.standing) or id in self._ids for id, row in changed.items()):
            self._clauses = None
            self._counts = {}  # a pack that still writes does so into the old ones


def list_standing_rows(replica: "Replica[Any]") -> list[Row]:
    """The newest messages of a scope with standing requests, newest first."""
    with replica.lock:
        state = replica.state
        return list(islice(map(state.rows.__getitem__, reversed(state.standing_messages)), _MAX_STANDING))


def to_sendable_requests(row: Row) -> list[StandingRequest]:
    """The requests of a row as they can be sent."""
    return [each._replace(text=to_sendable(each.text)) for each in row.standing]


class PackQuotes:
    """The cached quotes for one pack, under one counter and zone: of these rows, and of the scope's messages.

    Args:
        hits: What recall found in the scope itself.
        state: The scope's.
        changed: Ids of what this pack sends otherwise than it is stored; they may become more meanwhile.
    """

    def __init__(
        self,
        cache: QuoteCache,
        made_for: tuple[str, str],
        *,
        hits: Mapping[str, Row],
        state: "State",
        changed: Sequence[Container[str]],
    ) -> None:
        self._cache = cache
        self._made_for = made_for
        self._hits = hits
        self._state = state
        self._changed = changed

    def get(self, candidate: Candidate, /) -> Quote | None:
        row = self._find_row(candidate.id)
        return None if row is None else self._cache.short.get(row, self._made_for)

    def put(self, candidate: Candidate, quote: Quote, /) -> None:
        if len(quote.block) <= _MAX_CHARACTERS and (row := self._find_row(candidate.id)) is not None:
            self._cache.short.put(row, self._made_for, quote)

    def get_long(self, candidate: Candidate, /) -> LongMemory | None:
        row = self._find_row(candidate.id)
        return None if row is None else self._cache.long.get(row, self._made_for)

    def put_long(self, candidate: Candidate, memory: LongMemory, /) -> None:
        if (row := self._find_row(candidate.id)) is not None:
            self._cache.long.put(row, self._made_for, memory, memory.characters)

    def _find_row(self, id: str) -> Row | None:
        for each in self._changed:  # not `any`: there is one look for each quote
            if id in each:
                return None
        if (row := self._hits.get(id)) is not None:
            return row
        # No lock: a look-up is atomic. Messages are never the parents'.
        return self._state.rows.get(id) if id in self._state.messages else None
