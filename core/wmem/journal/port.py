"""What the engine asks of a store: five methods over append-only journals.

A journal belongs to one path. It is a base with a snapshot, and the records
appended since. A cursor names a history and not a position: its chain commits
to every record before it, so a journal that was deleted and grew again, was
rolled back or restored is never taken for the one a reader knows.
"""

import hashlib
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from wmem.model.history import Birth, Cursor, Path

__all__ = [
    "CHAIN_BITS",
    "MISSED_MAX",
    "Appended",
    "AsyncJournal",
    "Journal",
    "Purge",
    "Record",
    "Tail",
    "chain_after",
    "new_record_id",
    "new_salt",
    "quick_chain_after",
]

P = TypeVar("P")

CHAIN_BITS = 52  # what a double holds exactly, so that Lua on Redis computes the same
MISSED_MAX = 256  # records that a refused append brings along; beyond, the writer reads


class Record(NamedTuple, Generic[P]):
    """One committed transaction; its id was made once, before the first try."""

    id: int
    payload: P


class Tail(NamedTuple, Generic[P]):
    """What a reader lacks.

    Attributes:
        joined: Whether the reader's cursor is part of this history. If not, it
            starts again from `snapshot` (None: from nothing).
        base: Where `records` begin: the reader's cursor when joined, else the snapshot's.
        snapshot: The state at `base`, only when not joined.
        records: The records after `base`, oldest first.
        head: The cursor after the last record; `ORIGIN` when there is no journal.
        birth: The life of this journal; None when there is none.
    """

    joined: bool
    base: Cursor
    snapshot: P | None
    records: tuple[Record[P], ...]
    head: Cursor
    birth: Birth | None


class Appended(NamedTuple, Generic[P]):
    """What became of an append.

    Attributes:
        cursor: The new head; None when the append was refused and changed nothing.
        previous: The head it was appended after; on a refusal, the head it met.
        missed: On a refusal, what the writer lacks if it is at most `MISSED_MAX` records.
        tail_bytes: How many bytes of records the journal holds after its base.
        birth: The life of the journal; None when there is none.
        certain: Whether a refusal tells that this record is not there. A client that repeats
            a call by itself may be refused what it had been granted before, and not heard of.
    """

    cursor: Cursor | None
    previous: Cursor
    missed: Tail[P] | None
    tail_bytes: int
    birth: Birth | None
    certain: bool = True


class Journal(Protocol[P]):
    """The port, in the colour of threads. Every method is atomic; each raises only `StoreError`.

    An exception leaves a write unknown: all of it is stored, or nothing.
    """

    def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[P]]:
        """What comes after each cursor; paths of one root, at one instant, in one round trip."""
        ...

    def append(
        self, path: Path, record_id: int, record: P, expected: Cursor | Birth | None, keep_s: float | None, /
    ) -> Appended[P]:
        """Append one record.

        Args:
            expected: A cursor appends only at exactly that head (`ORIGIN`: only if there
                is no journal); a birth only in that life; None always.
            keep_s: Seconds for which the journal must at least be kept from now on,
                None for ever. It only ever lengthens.
        """
        ...

    def compact(self, path: Path, upto: Cursor, snapshot: P, keep_s: float | None, /) -> bool:
        """Put `snapshot` in place of the records up to `upto`; False changes nothing."""
        ...

    def delete(self, path: Path, life: Birth | None, /) -> None:
        """Delete a journal and those of all its descendants in one step.

        Args:
            life: Delete nothing if the journal is in another life than this; None for
                whichever there is, or none.
        """
        ...

    def paths(self, prefix: Path, /) -> Iterable[Path]:
        """The existing paths at or below `prefix`, whole segments, from a register."""
        ...


class Purge(Protocol):
    """What a journal offers beside the port when deleted bytes outlive their deletion in its store."""

    def purge(self, path: Path, /) -> Sequence[str]:
        """Make what was compacted away or deleted unreadable, as far as the store lets a client.

        Args:
            path: The scope whose content it was; the whole store may be purged.

        Returns:
            One sentence for each thing that still keeps such bytes, and what the operator
            must do about it; empty when nothing does.
        """
        ...


class AsyncJournal(Protocol[P]):
    """The port in the colour of coroutines; see `Journal`."""

    async def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[P]]: ...
    async def append(
        self, path: Path, record_id: int, record: P, expected: Cursor | Birth | None, keep_s: float | None, /
    ) -> Appended[P]: ...
    async def compact(self, path: Path, upto: Cursor, snapshot: P, keep_s: float | None, /) -> bool: ...
    async def delete(self, path: Path, life: Birth | None, /) -> None: ...
    async def paths(self, prefix: Path, /) -> Iterable[Path]: ...


_pair = struct.Struct(">QQ").pack
_CHAIN_MASK = (1 << CHAIN_BITS) - 1


def chain_after(chain: int, record_id: int) -> int:
    """The chain of a record: 52 bits that commit to it and to everything before it."""
    digest = hashlib.blake2b(_pair(chain, record_id), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> (64 - CHAIN_BITS)


def quick_chain_after(chain: int, record_id: int) -> int:
    """The same from Python's own hash of integers: for journals that no other process reads."""
    return hash((chain, record_id)) & _CHAIN_MASK


def new_salt() -> int:
    """The chain before the first record: random, so that no two lives share a birth."""
    return int.from_bytes(os.urandom(7), "big") >> (56 - CHAIN_BITS)


def new_record_id() -> int:
    """63 random bits from the system: a seeded generator would repeat ids in two processes."""
    try:
        return _drawn.pop()
    except IndexError:
        _drawn.extend(number >> 1 for number in _IDS.unpack(os.urandom(_IDS.size)))
        return new_record_id()


# Drawn in advance, for the system call costs more than an append; a child must not draw its parent's.
_IDS = struct.Struct(">64Q")
_drawn: list[int] = []
os.register_at_fork(after_in_child=_drawn.clear)
