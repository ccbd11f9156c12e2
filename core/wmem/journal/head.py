"""What a journal of files keeps beside its records: where it stands, and how a record is known to be in its place."""

import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from wmem.journal.port import Record, chain_after
from wmem.model.history import ORIGIN, Birth, Cursor

__all__ = ["Found", "Head", "in_place"]

Found: TypeAlias = tuple[int, int, bytes] | None
"""A record as it was found: its id, its chain and its payload; None where it is missing or foreign."""

_FIELDS = struct.Struct(">QQQQQQ")
_CHECKED = struct.Struct(">QQQQQQI")


class Head(NamedTuple):
    """What is known of a journal without reading its records; `tail_bytes` are those after its base."""

    head: Cursor
    base: Cursor
    birth: Birth
    tail_bytes: int

    @classmethod
    def born(cls, cursor: Cursor) -> "Head":
        """Of a journal whose first record made `cursor`, before that record's bytes are counted."""
        return cls(cursor, ORIGIN, Birth(cursor.chain), 0)

    def packed(self, seal: int) -> bytes:
        """As bytes that belong to one journal; `seal` is a checksum of its name."""
        (version, chain), (base, base_chain), (birth,), tail_bytes = self
        fields = _FIELDS.pack(version, chain, base, base_chain, birth, tail_bytes)
        return fields + zlib.crc32(fields, seal).to_bytes(4, "big")

    @classmethod
    def unpacked(cls, stored: bytes, seal: int) -> "Head":
        """What `packed` packed for the same journal.

        Raises:
            ValueError: Something else.
        """
        if len(stored) != _CHECKED.size:
            msg = "size"
            raise ValueError(msg)
        version, chain, base, base_chain, birth, tail_bytes, check = _CHECKED.unpack(stored)
        if check != zlib.crc32(stored[: _FIELDS.size], seal):
            msg = "checksum"
            raise ValueError(msg)
        return cls(Cursor(version, chain), Cursor(base, base_chain), Birth(birth), tail_bytes)


def in_place(found: Iterable[Found], base: Cursor, birth: Birth) -> Iterator[Record[bytes]]:
    """The records that follow `base`, with no bytes for one that is missing, foreign or not in its place.

    No codec takes that for a payload, so the record is reported as damaged.
    """
    before: int | None = base.chain
    for version, record in enumerate(found, base.version + 1):
        if record is None:
            before = None  # what comes after it cannot be told from this one
            yield Record(0, b"")
            continue
        record_id, chain, payload = record
        # The chain says that the record is in its place; the first one's begins with a salt that nobody keeps.
        due = birth.chain if version == 1 else None if before is None else chain_after(before, record_id)
        if due in (None, chain):
            before = chain
            yield Record(record_id, payload)
        else:
            before = None
            yield Record(record_id, b"")
