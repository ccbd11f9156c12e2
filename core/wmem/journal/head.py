"""The head of a local journal: the decision on an append, its stored form, and the check of records against it."""

import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from wmem.journal.port import MISSED_MAX, Appended, Record, Tail, chain_after
from wmem.model.history import ORIGIN, Cursor, Incarnation

P = TypeVar("P")

StoredRecord: TypeAlias = tuple[int, int, bytes] | None
"""A record as stored: id, chain and payload; None where it is missing or foreign."""

_FIELDS = struct.Struct(">QQQQQQ")
_CHECKED_FIELDS = struct.Struct(">QQQQQQI")


class Head(NamedTuple):
    """Metadata of a journal, stored beside its records; `tail_bytes` counts the records after its base."""

    head: Cursor
    base: Cursor
    incarnation: Incarnation
    tail_bytes: int

    @classmethod
    def initial(cls, cursor: Cursor) -> "Head":
        """The head of a new journal whose first record has `cursor`; its `tail_bytes` do not count that record yet."""
        return cls(cursor, ORIGIN, Incarnation(cursor.chain), 0)

    def to_bytes(self, name_checksum: int) -> bytes:
        """Encode as bytes, bound to one journal by a checksum of its name."""
        (version, chain), (base, base_chain), (incarnation,), tail_bytes = self
        fields = _FIELDS.pack(version, chain, base, base_chain, incarnation, tail_bytes)
        return fields + zlib.crc32(fields, name_checksum).to_bytes(4, "big")

    @classmethod
    def from_bytes(cls, stored: bytes, name_checksum: int) -> "Head":
        """Decode a stored head.

        Raises:
            ValueError: It is damaged, or belongs to another journal.
        """
        if len(stored) != _CHECKED_FIELDS.size:
            raise ValueError("size")
        version, chain, base, base_chain, incarnation, tail_bytes, check = _CHECKED_FIELDS.unpack(stored)
        if check != zlib.crc32(stored[: _FIELDS.size], name_checksum):
            raise ValueError("checksum")
        return cls(Cursor(version, chain), Cursor(base, base_chain), Incarnation(incarnation), tail_bytes)


class JournalHead(Protocol):
    """What a decision needs to know of a journal that exists."""

    @property
    def head(self) -> Cursor: ...
    @property
    def incarnation(self) -> Incarnation: ...
    @property
    def tail_bytes(self) -> int: ...


def decide_append(journal: JournalHead | None, expected: Cursor | Incarnation | None) -> tuple[bool, Cursor | None]:
    """Whether to append; if not, the cursor after which to return what the writer missed, unless it is too much.

    Args:
        journal: None when there is no such journal.
        expected: See `Journal.append`.
    """
    head = ORIGIN if journal is None else journal.head
    if expected is None or expected == head or (journal is not None and expected == journal.incarnation):
        return True, None
    return False, expected if isinstance(expected, Cursor) and head.version - expected.version <= MISSED_MAX else None


def refuse_append(journal: JournalHead | None, missed: Tail[P] | None) -> Appended[P]:
    """The reply to a refused append; a tail that begins with a snapshot is left out, for the writer to read."""
    if missed is not None and missed.snapshot is not None:
        missed = None
    if journal is None:
        return Appended(None, ORIGIN, missed, 0, None)
    return Appended(None, journal.head, missed, journal.tail_bytes, journal.incarnation)


def verify_chain(stored: Iterable[StoredRecord], base: Cursor, incarnation: Incarnation) -> Iterator[Record[bytes]]:
    """The records after `base`; one that is missing, foreign or breaks the chain gets the payload b"".

    No codec accepts an empty payload, so such a record is reported as damaged.
    """
    before: int | None = base.chain
    for version, record in enumerate(stored, base.version + 1):
        if record is None:
            before = None  # the next record's chain cannot be verified
            yield Record(0, b"")
            continue
        record_id, chain, payload = record
        # The first record's chain starts from a salt that is not stored; it is compared with the incarnation.
        due = incarnation.chain if version == 1 else None if before is None else chain_after(before, record_id)
        if due in (None, chain):
            before = chain
            yield Record(record_id, payload)
        else:
            before = None
            yield Record(record_id, b"")
