"""Head row of the file-based journals, and verification of stored records against the hash chain."""

import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from wmem.journal.port import Record, chain_after
from wmem.model.history import ORIGIN, Birth, Cursor

__all__ = ["Found", "Head", "in_place"]

Found: TypeAlias = tuple[int, int, bytes] | None
"""A record as stored: id, chain and payload; None where it is missing or foreign."""

_FIELDS = struct.Struct(">QQQQQQ")
_CHECKED = struct.Struct(">QQQQQQI")


class Head(NamedTuple):
    """Metadata of a journal, stored beside its records; `tail_bytes` counts the records after its base."""

    head: Cursor
    base: Cursor
    birth: Birth
    tail_bytes: int

    @classmethod
    def born(cls, cursor: Cursor) -> "Head":
        """The head of a new journal whose first record has `cursor`; its `tail_bytes` do not count that record yet."""
        return cls(cursor, ORIGIN, Birth(cursor.chain), 0)

    def packed(self, seal: int) -> bytes:
        """Encode as bytes, bound to one journal by `seal`, a checksum of its name."""
        (version, chain), (base, base_chain), (birth,), tail_bytes = self
        fields = _FIELDS.pack(version, chain, base, base_chain, birth, tail_bytes)
        return fields + zlib.crc32(fields, seal).to_bytes(4, "big")

    @classmethod
    def unpacked(cls, stored: bytes, seal: int) -> "Head":
        """Decode a stored head.

        Raises:
            ValueError: It is damaged, or belongs to another journal.
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
    """The records after `base`; one that is missing, foreign or breaks the chain gets the payload b"".

    No codec accepts an empty payload, so such a record is reported as damaged.
    """
    before: int | None = base.chain
    for version, record in enumerate(found, base.version + 1):
        if record is None:
            before = None  # the next record's chain cannot be verified
            yield Record(0, b"")
            continue
        record_id, chain, payload = record
        # The first record's chain starts from a salt that is not stored; it is compared with the incarnation.
        due = birth.chain if version == 1 else None if before is None else chain_after(before, record_id)
        if due in (None, chain):
            before = chain
            yield Record(record_id, payload)
        else:
            before = None
            yield Record(record_id, b"")
