"""The journal port: five methods over append-only journals, which every storage backend implements.

A journal belongs to one path: a snapshot at a base cursor, and the records appended
since. A cursor identifies a history, not just a position: its chain is a hash over every
record before it, so a journal that was deleted and recreated, rolled back or restored is
never mistaken for the one a reader knows.
"""

import hashlib
import json
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Generic, NamedTuple, Protocol, TypeVar

from wmem.model.history import Cursor, Incarnation, Path

P = TypeVar("P")

CHAIN_BITS = 52  # a double holds them exactly, so Lua on Redis computes the same chain
KEEP_GRACE_S = 900.0
"""Retention in seconds of a record that holds nothing that lives, only removals and marks; others are kept longer.

For so long, too, an expired item can be listed and revived: until cleanup, which runs every 300 s.
"""
MISSED_MAX = 256  # records returned with a refused append; if there are more, the writer reads


class Record(NamedTuple, Generic[P]):
    """One committed transaction; its id is generated once, before the first attempt, and reused by retries."""

    id: int
    payload: P


class Tail(NamedTuple, Generic[P]):
    """The records (and snapshot, if needed) that a reader at some cursor is missing.

    Attributes:
        joined: Whether the reader's cursor is part of this history. If not, the reader
            rebuilds from `snapshot` (None: from an empty state).
        base: Where `records` begin: the reader's cursor when joined, else the snapshot's.
        snapshot: The state at `base`, only when not joined.
        records: The records after `base`, oldest first.
        head: The cursor after the last record; `ORIGIN` when there is no journal.
        incarnation: The incarnation of this journal; None when there is no journal.
    """

    joined: bool
    base: Cursor
    snapshot: P | None
    records: tuple[Record[P], ...]
    head: Cursor
    incarnation: Incarnation | None


class Appended(NamedTuple, Generic[P]):
    """Result of an append.

    Attributes:
        cursor: The new head; None when the append was refused and changed nothing.
        previous: The head before the append; on a refusal, the journal's current head.
        missed: On a refusal, the records the writer is missing, if at most `MISSED_MAX`.
        tail_bytes: Total bytes of the records after the base.
        incarnation: The incarnation of the journal; None when there is no journal.
        certain: Whether a refusal proves that this record was not stored. False for a client with
            its own retries: its first attempt may have been stored and its reply lost.
    """

    cursor: Cursor | None
    previous: Cursor
    missed: Tail[P] | None
    tail_bytes: int
    incarnation: Incarnation | None
    certain: bool = True


class Append(NamedTuple, Generic[P]):
    """The arguments of one `Journal.append`."""

    path: Path
    record_id: int
    record: P
    expected: Cursor | Incarnation | None
    keep_s: float | None


class Journal(Protocol[P]):
    """The sync journal port. Every method is atomic and raises only `StoreError`.

    After an exception the outcome of a write is unknown: either all of it is stored, or nothing.
    """

    def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[P]]:
        """The tail after each cursor; all paths share one root and are read at one instant, in one round trip."""
        ...

    def append(
        self, path: Path, record_id: int, record: P, expected: Cursor | Incarnation | None, keep_s: float | None, /
    ) -> Appended[P]:
        """Append one record.

        Args:
            expected: With a cursor, append only if it is the head (`ORIGIN`: only if there is no
                journal); with an `Incarnation`, only to that incarnation; None: always.
            keep_s: Minimum retention of the journal in seconds from now, None for ever.
                It only ever extends the retention. A store that is full should yet take what is to be
                kept for `KEEP_GRACE_S` or less: it removes, so that memory can be freed.
        """
        ...

    def compact(self, path: Path, upto: Cursor, snapshot: P, keep_s: float | None, /) -> bool:
        """Replace the records up to `upto` by `snapshot`; False means that nothing was changed."""
        ...

    def delete(self, path: Path, incarnation: Incarnation | None, /) -> None:
        """Delete a journal and those of all its descendants atomically.

        Args:
            incarnation: Delete only this one, nothing if the journal has another; None deletes
                whatever exists.
        """
        ...

    def paths(self, prefix: Path, /) -> Iterable[Path]:
        """The existing paths at or below `prefix` (compared by whole segments), from a register, never a scan."""
        ...


class Purge(Protocol):
    """Optional method of a journal whose store may keep deleted bytes on disk after deletion."""

    def purge(self, path: Path, /) -> Sequence[str]:
        """Remove compacted and deleted records physically, as far as a client of the store can.

        Args:
            path: The scope whose content was deleted; the whole store may be purged.

        Returns:
            One sentence for each place that still keeps deleted bytes, with what the operator
            must do about it; empty when there is none.
        """
        ...


class Sweep(Protocol):
    """Optional method of a journal whose store leaves something to maintenance."""

    def sweep(self, path: Path, /) -> int:
        """Forget what is left of the scopes of an agent that lapsed long ago, in bounded steps; returns how many.

        A purge that was put off is made up for.
        """
        ...


class Roots(Protocol):
    """Optional method of a journal that can list its roots without listing the paths below them."""

    def roots(self) -> Iterable[str]:
        """The first segments of all existing paths, each once, from a register, never a scan."""
        ...


class AppendAll(Protocol[P]):
    """Optional method of a journal to which each call is a round trip."""

    def append_all(self, appends: Sequence[Append[P]], /) -> Sequence[Appended[P]]:
        """Append to several paths of one root, in order, in one round trip; none of them depends on another.

        Returns:
            What each of them did; none if this journal takes one append at a time, and did nothing.
        """
        ...


class Backup(Protocol):
    """Optional method of a journal that can copy its whole store while others write."""

    def backup(self, target: str, /) -> None:
        """Write the whole store, as of one instant, into a new file or directory that opens as it does.

        What was committed before the call is in it. When it fails or is interrupted, there is no target.

        Raises:
            InvalidInputError: There is something at `target` already, or this store cannot copy itself.
        """
        ...


class AsyncJournal(Protocol[P]):
    """The async journal port; see `Journal`."""

    async def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[P]]: ...
    async def append(
        self, path: Path, record_id: int, record: P, expected: Cursor | Incarnation | None, keep_s: float | None, /
    ) -> Appended[P]: ...
    async def compact(self, path: Path, upto: Cursor, snapshot: P, keep_s: float | None, /) -> bool: ...
    async def delete(self, path: Path, incarnation: Incarnation | None, /) -> None: ...
    async def paths(self, prefix: Path, /) -> Iterable[Path]: ...


_pack_pair = struct.Struct(">QQ").pack
_CHAIN_MASK = (1 << CHAIN_BITS) - 1


def chain_after(chain: int, record_id: int) -> int:
    """The chain after a record: a 52-bit hash of the previous chain and the record id."""
    digest = hashlib.blake2b(_pack_pair(chain, record_id), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> (64 - CHAIN_BITS)


def quick_chain_after(chain: int, record_id: int) -> int:
    """Like `chain_after`, but with Python's `hash`: faster, for journals that no other process reads."""
    return hash((chain, record_id)) & _CHAIN_MASK


def new_salt() -> int:
    """The chain before the first record: 52 random bits, so that each incarnation has its own `Incarnation`."""
    return int.from_bytes(os.urandom(7), "big") >> (56 - CHAIN_BITS)


@lru_cache(1024)
def path_name(path: Path) -> str:
    """Unique name of a path: its JSON."""
    return json.dumps(path, separators=(",", ":"))


def new_record_id() -> int:
    """63 random bits from the operating system: a seeded generator could repeat ids in two processes."""
    try:
        return _spare_ids.pop()
    except IndexError:
        _spare_ids.extend(number >> 1 for number in _ID_BATCH.unpack(os.urandom(_ID_BATCH.size)))
        return new_record_id()


# Generated in batches: the system call costs more than an append. A forked child must not reuse its parent's.
_ID_BATCH = struct.Struct(">64Q")
_spare_ids: list[int] = []
os.register_at_fork(after_in_child=_spare_ids.clear)
