"""Journals that keep all promises but one, and the promises that must catch each."""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.conformance.own_journal import AsyncDictJournal, DictJournal, Kept
from wmem.journal.port import Appended, Tail
from wmem.model.history import ORIGIN, Cursor, Incarnation, Path
from wmem.testing import Connect

__all__ = ["BROKEN", "SEEN_ABOVE", "UNSEEN", "Broken", "Slow"]


class Broken(DictJournal):
    """What each breaks is in its name."""

    @classmethod
    def connector(cls) -> Connect:
        made = cls()
        return lambda: made


class TakesStaleAppends(Broken):
    def is_met(self, expected: Cursor | Incarnation | None, kept: Kept | None) -> bool:
        return not isinstance(expected, Incarnation) or super().is_met(expected, kept)


class TakesAppendsOfEveryLife(Broken):
    def is_met(self, expected: Cursor | Incarnation | None, kept: Kept | None) -> bool:
        return isinstance(expected, Incarnation) or super().is_met(expected, kept)


class ComparesVersionsOnly(Broken):
    def is_met(self, expected: Cursor | Incarnation | None, kept: Kept | None) -> bool:
        if isinstance(expected, Cursor):
            return expected.version == (kept.head.version if kept else 0)
        return super().is_met(expected, kept)


class CountsForAChain(Broken):
    """A position is taken for a history."""

    def chain(self, before: int, record_id: int) -> int:
        return 7


class TellsRefusalsNothing(Broken):
    def append(self, *call: Any) -> Appended[bytes]:
        return super().append(*call)._replace(missed=None)


class TellsRefusalsEverything(Broken):
    def append(self, path: Path, record_id: int, record: bytes, expected: Any, keep_s: float | None, /) -> Any:
        reply = super().append(path, record_id, record, expected, keep_s)
        missed = self.tail(path, expected) if reply.cursor is None and isinstance(expected, Cursor) else None
        return reply._replace(missed=missed)


class RegistersRefusals(Broken):
    def append(self, path: Path, *call: Any) -> Appended[bytes]:
        reply = super().append(path, *call)
        self.kept.setdefault(path, Kept(Incarnation(9)))
        return reply


class StoresRefusals(Broken):
    def append(self, path: Path, record_id: int, record: bytes, expected: Any, keep_s: float | None, /) -> Any:
        reply = super().append(path, record_id, record, expected, keep_s)
        if reply.cursor is None and path in self.kept:
            super().append(path, record_id, record, None, keep_s)
        return reply


class CompactsUpToAnything(Broken):
    def compact(self, path: Path, upto: Cursor, snapshot: bytes, keep_s: float | None, /) -> bool:
        known = path in self.kept and upto in self.kept[path].cursors[1:]
        if path in self.kept and not known:
            self.kept[path].snapshot = snapshot
        return super().compact(path, upto, snapshot, keep_s) or path in self.kept


class CompactsTwice(Broken):
    def compact(self, path: Path, upto: Cursor, snapshot: bytes, keep_s: float | None, /) -> bool:
        if path in self.kept and self.kept[path].base == upto != ORIGIN:
            self.kept[path].snapshot = snapshot
            return True
        return super().compact(path, upto, snapshot, keep_s)


class CountsCompactedBytes(Broken):
    def __init__(self) -> None:
        super().__init__()
        self.gone: dict[Incarnation, int] = {}

    def compact(self, path: Path, upto: Cursor, snapshot: bytes, keep_s: float | None, /) -> bool:
        kept = self.kept.get(path)
        before = super().tail_bytes(kept)
        done = super().compact(path, upto, snapshot, keep_s)
        if kept and done:
            self.gone[kept.birth] = self.gone.get(kept.birth, 0) + before - super().tail_bytes(kept)
        return done

    def tail_bytes(self, kept: Kept | None) -> int:
        return super().tail_bytes(kept) + (self.gone.get(kept.birth, 0) if kept else 0)


class HandsSnapshotsToEverybody(Broken):
    def tail(self, path: Path, after: Cursor) -> Tail[bytes]:
        tail = super().tail(path, after)
        return tail._replace(snapshot=self.kept[path].snapshot) if path in self.kept else tail


class JoinsNobodyBehindTheHead(Broken):
    def tail(self, path: Path, after: Cursor) -> Tail[bytes]:
        tail = super().tail(path, after)
        kept = self.kept.get(path)
        if kept is None or after == kept.head or kept.snapshot is None:
            return tail
        return super().tail(path, Cursor(1, 0))


class JoinsStrangers(Broken):
    def tail(self, path: Path, after: Cursor) -> Tail[bytes]:
        return super().tail(path, after)._replace(joined=True)


class ForgetsSnapshotsLate(Broken):
    """What was compacted in one life shows in the next."""

    def __init__(self) -> None:
        super().__init__()
        self.snapshots: dict[Path, bytes] = {}

    def compact(self, path: Path, upto: Cursor, snapshot: bytes, keep_s: float | None, /) -> bool:
        done = super().compact(path, upto, snapshot, keep_s)
        if done:
            self.snapshots[path] = snapshot
        return done

    def tail(self, path: Path, after: Cursor) -> Tail[bytes]:
        tail = super().tail(path, after)
        return tail if tail.joined and after != ORIGIN else tail._replace(snapshot=self.snapshots.get(path))


class LeavesDescendants(Broken):
    def delete(self, path: Path, life: Incarnation | None, /) -> None:
        if life is None or (path in self.kept and self.kept[path].birth == life):
            self.kept.pop(path, None)


class DeletesWhicheverLife(Broken):
    def delete(self, path: Path, _life: Incarnation | None, /) -> None:
        super().delete(path, None)


class BeginsAgainWhereItEnded(Broken):
    def __init__(self) -> None:
        super().__init__()
        self.ended: dict[Path, Cursor] = {}

    def delete(self, path: Path, life: Incarnation | None, /) -> None:
        before = {each: kept.head for each, kept in self.kept.items()}
        super().delete(path, life)
        self.ended |= {each: head for each, head in before.items() if each not in self.kept}

    def append(self, path: Path, *call: Any) -> Appended[bytes]:
        if path not in self.kept and path in self.ended:
            kept = Kept(Incarnation(self.ended[path].chain), base=self.ended.pop(path))
            self.kept[path] = kept
        return super().append(path, *call)


class TakesPrefixesForText(Broken):
    def paths(self, prefix: Path, /) -> Iterable[Path]:
        return [path for path in self.kept if "/".join(path).startswith("/".join(prefix))]


class JoinsSegments(Broken):
    def append(self, path: Path, *call: Any) -> Appended[bytes]:
        return super().append(tuple("/".join(path).split("/")), *call)

    def tail(self, path: Path, after: Cursor) -> Tail[bytes]:
        return super().tail(tuple("/".join(path).split("/")), after)


class FoldsCase(Broken):
    def append(self, path: Path, *call: Any) -> Appended[bytes]:
        known = {tuple(segment.casefold() for segment in each): each for each in self.kept}
        return super().append(known.get(tuple(segment.casefold() for segment in path), path), *call)


class CutsLongNames(Broken):
    def append(self, path: Path, *call: Any) -> Appended[bytes]:
        return super().append(tuple(segment[:200] for segment in path), *call)


class TakesPayloadsForText(Broken):
    def append(self, path: Path, record_id: int, record: bytes, *call: Any) -> Appended[bytes]:
        return super().append(path, record_id, record.decode(errors="replace").encode(), *call)


class CutsPayloadsAtNul(Broken):
    def append(self, path: Path, record_id: int, record: bytes, *call: Any) -> Appended[bytes]:
        return super().append(path, record_id, record.partition(b"\0")[0], *call)


class RoundsRecordIds(Broken):
    def append(self, path: Path, record_id: int, *call: Any) -> Appended[bytes]:
        return super().append(path, int(float(record_id)), *call)


class ReadsOnePage(Broken):
    def tail(self, path: Path, after: Cursor) -> Tail[bytes]:
        tail = super().tail(path, after)
        return tail._replace(records=tail.records[:1_000])


class ListsOnePage(Broken):
    def paths(self, prefix: Path, /) -> Iterable[Path]:
        return list(super().paths(prefix))[:1_000]


class ReadsOnePageOfPaths(Broken):
    def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[bytes]]:
        told = super().read(after)
        return {**told, **{path: told[path]._replace(records=()) for path in list(told)[1_000:]}}


class CreatesByReading(Broken):
    def tail(self, path: Path, after: Cursor) -> Tail[bytes]:
        self.kept.setdefault(path, Kept(Incarnation(9)))
        return super().tail(path, after)


class KeepsAsLongAsAskedLast(Broken):
    def __init__(self) -> None:
        super().__init__()
        self.ends: dict[Path, float] = {}

    def append(self, path: Path, record_id: int, record: bytes, expected: Any, keep_s: float | None, /) -> Any:
        self.lapse()
        reply = super().append(path, record_id, record, expected, keep_s)
        if reply.cursor is not None:
            self.ends[path] = float("inf") if keep_s is None else time.monotonic() + keep_s
        return reply

    def tail(self, path: Path, after: Cursor) -> Tail[bytes]:
        self.lapse()
        return super().tail(path, after)

    def lapse(self) -> None:
        for path in [path for path, end in self.ends.items() if end < time.monotonic()]:
            self.kept.pop(path, None)


class KeepsAsLongAsAskedFirst(KeepsAsLongAsAskedLast):
    def append(self, path: Path, *call: Any) -> Any:
        self.lapse()
        known = self.ends.get(path)
        reply = super().append(path, *call)
        if known is not None and path in self.ends:
            self.ends[path] = known
        return reply


class LeavesDeletedPayloads(Broken):
    def __init__(self) -> None:
        super().__init__()
        self.free: list[Kept] = []

    def delete(self, path: Path, life: Incarnation | None, /) -> None:
        self.free += self.kept.values()
        super().delete(path, life)


class PurgesNothing(LeavesDeletedPayloads):
    def purge(self, _path: Path, /) -> Sequence[str]:
        return ()


class LeavesCompactedPayloads(Broken):
    def __init__(self) -> None:
        super().__init__()
        self.free: list[object] = []

    def compact(self, path: Path, *call: Any) -> bool:
        if path in self.kept:
            self.free += [*self.kept[path].records, self.kept[path].snapshot]
        return super().compact(path, *call)


class Caches(Broken):
    """Each connection believes what it read before."""

    def __init__(self, shared: DictJournal) -> None:
        super().__init__()
        self.kept = shared.kept
        self.read_before: dict[tuple[Path, Cursor], Tail[bytes]] = {}

    @classmethod
    def connector(cls) -> Connect:
        shared = DictJournal()
        return lambda: cls(shared)

    def tail(self, path: Path, after: Cursor) -> Tail[bytes]:
        return self.read_before.setdefault((path, after), super().tail(path, after))

    def append(self, path: Path, *call: Any) -> Appended[bytes]:
        self.read_before.clear()
        return super().append(path, *call)


class Slow(AsyncDictJournal):
    """For coroutines; lets others in between its steps."""

    @classmethod
    def connector(cls) -> Connect:
        made = cls()
        return lambda: made


class ReadsPathByPath(Slow):
    async def read(self, after: Mapping[Path, Cursor], /) -> Mapping[Path, Tail[bytes]]:
        tails = {}
        for path, cursor in after.items():
            await asyncio.sleep(0)
            tails[path] = self.inner.tail(path, cursor)
        return tails


class LooksBeforeItAppends(Slow):
    async def append(
        self, path: Path, record_id: int, record: bytes, expected: Cursor | Incarnation | None, keep_s: float | None, /
    ) -> Appended[bytes]:
        met = self.inner.is_met(expected, self.inner.kept.get(path))
        await asyncio.sleep(0)
        return self.inner.append(path, record_id, record, None if met else expected, keep_s)


class DeletesOneByOne(Slow):
    async def delete(self, path: Path, life: Incarnation | None, /) -> None:
        kept = self.inner.kept.get(path)
        for each in list(self.inner.paths(path)) if life in (None, kept and kept.birth) else ():
            await asyncio.sleep(0)
            self.inner.kept.pop(each, None)


class FinishesCancelledAppendsLater(Slow):
    def __init__(self) -> None:
        super().__init__()
        self.appends: set[asyncio.Future[Any]] = set()

    async def append(self, *call: Any) -> Appended[bytes]:
        append = asyncio.ensure_future(self.append_late(call))
        self.appends.add(append)
        return await asyncio.shield(append)

    async def append_late(self, call: Any) -> Appended[bytes]:
        for _ in range(50):
            await asyncio.sleep(0)
        return self.inner.append(*call)


class RepeatsCancelledAppends(Slow):
    async def append(self, *call: Any) -> Appended[bytes]:
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.inner.append(*call)
            self.inner.append(*call)
            raise
        return self.inner.append(*call)


BROKEN: Mapping[type[Broken | Slow], tuple[str, ...]] = {
    TakesStaleAppends: ("test_a_stale_append_changes_nothing_and_brings_what_was_missed",),
    TakesAppendsOfEveryLife: (
        "test_an_append_in_another_life_is_refused_and_changes_nothing",
        "test_an_append_in_a_life_that_is_over_begins_no_other",
    ),
    ComparesVersionsOnly: ("test_an_append_from_another_history_is_refused_and_never_joined",),
    CountsForAChain: (
        "test_no_two_lives_share_a_chain",
        "test_no_cursor_of_a_life_that_is_over_is_joined_again",
        "test_a_chain_is_a_number_that_a_double_holds_and_no_other_record_has",
    ),
    TellsRefusalsNothing: ("test_a_stale_append_changes_nothing_and_brings_what_was_missed",),
    TellsRefusalsEverything: ("test_a_refusal_brings_so_many_records_and_no_more",),
    RegistersRefusals: ("test_an_append_that_expects_a_journal_is_refused_where_none_is",),
    StoresRefusals: ("test_a_stale_append_changes_nothing_and_brings_what_was_missed",),
    CompactsUpToAnything: ("test_nothing_is_compacted_up_to_what_is_not_in_the_journal_or_not_newer",),
    CompactsTwice: ("test_nothing_is_compacted_up_to_what_is_not_in_the_journal_or_not_newer",),
    CountsCompactedBytes: ("test_the_bytes_of_the_tail_are_those_after_the_snapshot",),
    HandsSnapshotsToEverybody: ("test_a_reader_beyond_the_snapshot_notices_nothing",),
    JoinsNobodyBehindTheHead: ("test_a_reader_beyond_the_snapshot_notices_nothing",),
    JoinsStrangers: ("test_a_cursor_of_another_history_starts_again", "test_a_cursor_into_nothing_is_not_joined"),
    ForgetsSnapshotsLate: ("test_a_life_that_begins_after_a_snapshot_has_none",),
    LeavesDescendants: ("test_a_deletion_takes_the_descendants_along_and_nobody_else",),
    DeletesWhicheverLife: ("test_a_deletion_that_means_another_life_deletes_nothing",),
    BeginsAgainWhereItEnded: ("test_what_begins_anew_begins_at_the_beginning",),
    TakesPrefixesForText: ("test_a_prefix_means_whole_segments",),
    JoinsSegments: ("test_segments_are_not_joined_into_others",),
    FoldsCase: ("test_every_segment_names_a_journal_of_its_own", "test_every_segment_names_a_root_of_its_own"),
    CutsLongNames: ("test_every_segment_names_a_journal_of_its_own",),
    TakesPayloadsForText: ("test_payloads_come_back_byte_for_byte[no text]",),
    CutsPayloadsAtNul: ("test_payloads_come_back_byte_for_byte[NULs inside]",),
    RoundsRecordIds: ("test_a_record_id_may_take_63_bits[9223372036854775807]",),
    ReadsOnePage: ("test_a_journal_is_read_whole_however_long_it_is",),
    ListsOnePage: ("test_scopes_are_listed_and_read_whole_however_many_they_are",),
    ReadsOnePageOfPaths: ("test_scopes_are_listed_and_read_whole_however_many_they_are",),
    CreatesByReading: ("test_reading_creates_nothing",),
    KeepsAsLongAsAskedLast: (
        "test_what_is_kept_for_ever_outlives_a_shorter_wish",
        "test_what_is_kept_longer_outlives_a_shorter_wish",
    ),
    KeepsAsLongAsAskedFirst: (
        "test_a_longer_wish_outlives_a_shorter_one_before_it[None]",
        "test_a_longer_wish_outlives_a_shorter_one_before_it[3600.0]",
    ),
    LeavesDeletedPayloads: ("test_no_byte_of_a_deleted_journal_is_left",),
    PurgesNothing: ("test_no_byte_of_a_deleted_journal_is_left",),
    LeavesCompactedPayloads: (
        "test_no_byte_of_compacted_records_is_left",
        "test_no_byte_of_an_earlier_snapshot_is_left",
    ),
    FinishesCancelledAppendsLater: ("test_what_is_read_after_a_cancelled_append_is_final",),
    RepeatsCancelledAppends: ("test_a_cancelled_append_is_stored_once_or_not_at_all",),
    Caches: ("test_another_connection_compacts_and_deletes_for_all",),
    ReadsPathByPath: ("test_several_paths_are_read_as_of_one_instant",),
    LooksBeforeItAppends: ("test_of_many_that_begin_at_one_head_one_is_taken",),
    DeletesOneByOne: ("test_a_deletion_takes_all_or_nothing_of_a_family",),
}

SEEN_ABOVE: Mapping[str, tuple[str, type[Broken | Slow]]] = {
    "test_increments_at_once_are_counted_exactly": ("UpdatesSuite", LooksBeforeItAppends),
    "test_of_items_added_at_once_a_capped_scope_holds_no_more_than_it_may": ("LimitsSuite", LooksBeforeItAppends),
    "test_descendants_end_with_their_parent": ("ScopesSuite", LeavesDescendants),
    "test_a_prefix_means_whole_segments": ("ScopesSuite", TakesPrefixesForText),
    "test_a_handle_notices_that_another_disposed_its_scope": ("ScopesSuite", TakesAppendsOfEveryLife),
    "test_jumping_over_a_checkpoint_says_resynced": ("MemorySuite", JoinsStrangers),
    "test_changes_are_what_came_after_the_cursors": ("MemorySuite", JoinsStrangers),
    "test_fetches_in_two_processes_add_up": ("FetchesSuite", RoundsRecordIds),
    "test_an_item_written_here_reads_the_same_in_another_process": ("ItemsSuite", RoundsRecordIds),
    "test_a_message_that_another_process_changed_reads_as_it_was_appended_last": ("MessagesSuite", RoundsRecordIds),
}
"""By a test of what wmem makes of a journal: its suite, and a broken journal that it must not pass."""

UNSEEN = (
    Caches,
    CutsLongNames,
    DeletesOneByOne,
    FinishesCancelledAppendsLater,
    FoldsCase,
    JoinsSegments,
    KeepsAsLongAsAskedFirst,
    KeepsAsLongAsAskedLast,
    LeavesCompactedPayloads,
    LeavesDeletedPayloads,
    ListsOnePage,
    LooksBeforeItAppends,
    PurgesNothing,
    ReadsOnePage,
    ReadsOnePageOfPaths,
    ReadsPathByPath,
    RepeatsCancelledAppends,
    RoundsRecordIds,
    TellsRefusalsEverything,
)
"""What random calls on four paths do not show: odd names, other connections, time, absences, large numbers, rubbish."""
