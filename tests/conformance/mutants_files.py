"""Faults in the journals of files, sqlite and disk.

A fault that only shows in a race waits between its two steps, so that the race is lost every time.
"""

from collections.abc import Mapping
from functools import partial

from tests.conformance.mutants import Mutant, MutantSuite

__all__ = ["DISK", "SQLITE", "DiskMutantSuite", "SqliteMutantSuite"]

_head = partial(Mutant, "wmem.journal.head")
_database = partial(Mutant, "wmem.journal.sqlite_database")
_maintenance = partial(Mutant, "wmem.journal.sqlite_maintenance")
_cache = partial(Mutant, "wmem.journal.disk_cache")
_sqlite = partial(Mutant, "wmem.journal.sqlite")
_disk = partial(Mutant, "wmem.journal.disk")


class SqliteMutantSuite(MutantSuite):
    modules = (
        "wmem.journal.head",
        "wmem.journal.sqlite_maintenance",
        "wmem.journal.sqlite_database",
        "wmem.journal.sqlite",
    )
    kind = "SqliteJournal"


class DiskMutantSuite(MutantSuite):
    modules = (
        "wmem.journal.head",
        "wmem.journal.sqlite_maintenance",
        "wmem.journal.sqlite_database",
        "wmem.journal.disk_cache",
        "wmem.journal.disk",
    )
    kind = "DiskJournal"


DECISIONS: Mapping[str, Mutant] = {
    "AppendsToAnyHead": _head(
        {"if expected is None or expected == head or": "if not isinstance(expected, Incarnation) or"},
        ("test_a_stale_append_changes_nothing_and_brings_what_was_missed",),
    ),
    "AppendsInAnyIncarnation": _head(
        {"expected == journal.incarnation)": "isinstance(expected, Incarnation))"},
        ("test_an_append_in_another_life_is_refused_and_changes_nothing",),
    ),
    "AppendsByVersionAlone": _head(
        {"expected == head or": "(isinstance(expected, Cursor) and expected.version == head.version) or"},
        ("test_an_append_from_another_history_is_refused_and_never_joined",),
    ),
    "CutsWhatWasMissed": _head(
        {"return Appended(None, journal.head, missed,": "return Appended(None, journal.head, None,"},
        ("test_a_stale_append_changes_nothing_and_brings_what_was_missed",),
    ),
    "BringsOneRecordLess": _head(
        {"<= MISSED_MAX else None": "< MISSED_MAX else None"},
        ("test_a_refusal_brings_so_many_records_and_no_more",),
    ),
}
"""Faults in what both have in common."""

SQLITE: Mapping[str, Mutant] = {
    **DECISIONS,
    "LeavesTheRecordsOfTheDeleted": _sqlite(
        {'connection.execute("DELETE FROM record WHERE place >= ? AND place < ?", places)': "pass"},
        ("test_no_byte_of_a_deleted_journal_is_left",),
    ),
    "LeavesTheScopeOfTheDeleted": _sqlite(
        {'connection.execute("DELETE FROM scope WHERE number = ?", (number,))': "pass"},
        ("test_a_deletion_takes_the_descendants_along_and_nobody_else",),
    ),
    "LeavesDescendants": _sqlite(
        {'AND path < ?", _subtree_range(path)': 'AND path < ?", (_path_key(path), _path_key(path) + b"\\0")'},
        ("test_a_deletion_takes_the_descendants_along_and_nobody_else",),
    ),
    "DeletesAnyIncarnation": _sqlite(
        {"if scope is None or scope.head.incarnation != incarnation:": "if scope is None:"},
        ("test_a_deletion_that_means_another_life_deletes_nothing",),
    ),
    "PurgesNothing": _sqlite(
        {"return self._database.vacuum()": "return ()"},
        ("test_no_byte_of_a_deleted_journal_is_left", "test_no_byte_of_compacted_records_is_left"),
    ),
    "LeavesTheLog": _maintenance(
        {"PRAGMA wal_checkpoint(TRUNCATE)": "PRAGMA wal_checkpoint(PASSIVE)"},
        ("test_no_byte_of_a_deleted_journal_is_left",),
    ),
    "LeavesCompactedRecords": _sqlite(
        {
            '"DELETE FROM record WHERE place >= ? AND place <= ?", (base, place)': (
                '"DELETE FROM record WHERE place = ? OR place = ?", (base, place)'
            )
        },
        ("test_no_byte_of_compacted_records_is_left",),
    ),
    "LeavesTheEarlierSnapshot": _sqlite(
        {
            '"DELETE FROM record WHERE place >= ? AND place <= ?", (base, place)': (
                '"DELETE FROM record WHERE place > ? AND place <= ?", (base, place)'
            )
        },
        ("test_no_byte_of_an_earlier_snapshot_is_left",),
    ),
    "ForgetsTheBase": _sqlite(
        {"_replace(base=upto, tail_bytes": "_replace(tail_bytes"},
        ("test_a_snapshot_takes_the_place_of_the_records_up_to_it",),
    ),
    "CompactsAgain": _sqlite(
        {"upto.version <= scope.head.base.version or not": "not"},
        ("test_nothing_is_compacted_up_to_what_is_not_in_the_journal_or_not_newer",),
    ),
    "CountsCompactedBytes": _sqlite(
        {"tail_bytes=max(0, scope.head.tail_bytes -": "tail_bytes=max(0, scope.head.tail_bytes - 0 *"},
        ("test_the_bytes_of_the_tail_are_those_after_the_snapshot",),
    ),
    "CountsNoBytes": _sqlite(
        {"scope.head.tail_bytes + len(record)": "scope.head.tail_bytes + 1"},
        ("test_each_record_follows_the_one_before",),
    ),
    "ChainsWithoutTheRecordId": _sqlite(
        {"else new_salt(), record_id))": "else new_salt(), 0))"},
        ("test_what_was_appended_is_read_back_in_order",),
    ),
    "BeginsEveryLifeAlike": _sqlite(
        {"if known else new_salt(), record_id": "if known else 0, record_id"},
        ("test_no_two_lives_share_a_chain",),
    ),
    "MovesTheHeadInATransactionOfItsOwn": _sqlite(
        {
            "        connection.execute(_UPDATE_HEAD, (head.to_bytes(scope.key_checksum), scope.number))\n"
            "        return Appended(": (
                '        connection.execute("COMMIT")\n'
                "        __import__('time').sleep(0.001)\n"
                '        connection.execute("BEGIN IMMEDIATE")\n'
                "        connection.execute(_UPDATE_HEAD, (head.to_bytes(scope.key_checksum), scope.number))\n"
                "        return Appended("
            )
        },
        ("test_appends_over_two_connections_at_once_all_land_once",),
    ),
    "LocksAfterItLooked": _database(
        {
            'self._writer.execute("BEGIN IMMEDIATE")': (
                'self._writer.execute("BEGIN")\n'
                '        self._writer.execute("SELECT count(*) FROM scope").fetchall()\n'
                "        time.sleep(0.0005)"
            )
        },
        ("test_appends_over_two_connections_at_once_all_land_once",),
    ),
    "ReadsPathByPath": _sqlite(
        {
            '        connection.execute("BEGIN")\n        paths = iter(after)': "        paths = iter(after)",
            '        connection.execute("COMMIT")\n        return tails': "        return tails",
            "self._read_tail(connection, row, after[path]) for path, row in zip(part, scopes, strict=True)": (
                "__import__('time').sleep(0.0001)\n"
                "                or self._read_tail(connection, self._fetch_scope(connection, path), after[path])\n"
                "                for path in part"
            ),
        },
        ("test_several_paths_are_read_as_of_one_instant",),
    ),
    "ListsNoPrefix": _sqlite(
        {"AS TEXT)) FROM scope WHERE path >= ?": "AS TEXT)) FROM scope WHERE path > ?"},
        ("test_a_prefix_means_whole_segments",),
    ),
    "ReadsNoSnapshot": _sqlite(
        {"if not joined and base != ORIGIN:": "if joined and base != ORIGIN:"},
        ("test_a_snapshot_takes_the_place_of_the_records_up_to_it",),
    ),
}

DISK: Mapping[str, Mutant] = {
    **DECISIONS,
    "LeavesTheRecordsOfTheDeleted": _disk(
        {"delete_row(connection, _record_key(name, meta.incarnation, version))": "pass"},
        ("test_no_byte_of_a_deleted_journal_is_left",),
    ),
    "LeavesTheSnapshotOfTheDeleted": _disk(
        {'delete_row(connection, f"s{name}")': "pass"},
        ("test_no_byte_of_a_deleted_journal_is_left",),
    ),
    "LeavesTheHeadOfTheDeleted": _disk(
        {'delete_row(connection, f"m{name}")': "pass"},
        ("test_a_deletion_takes_the_descendants_along_and_nobody_else",),
    ),
    "ListsTheDeleted": _disk(
        {"self._unlist(connection, _shard_key(path), list(path))": "pass"},
        ("test_a_deletion_takes_the_descendants_along_and_nobody_else",),
    ),
    "LeavesDescendants": _disk(
        {"gone = [each for each in paths if each[: len(path)] == path]": "gone = [path]"},
        ("test_a_deletion_takes_the_descendants_along_and_nobody_else",),
    ),
    "DeletesAnyIncarnation": _disk(
        {".incarnation != incarnation:": ".incarnation is None:"},
        ("test_a_deletion_that_means_another_life_deletes_nothing",),
    ),
    "PurgesNothing": _disk(
        {"return self._database.vacuum()": "return ()"},
        ("test_no_byte_of_a_deleted_journal_is_left", "test_no_byte_of_compacted_records_is_left"),
    ),
    "LeavesCompactedRecords": _disk(
        {"delete_row(connection, row)": "pass"},
        ("test_no_byte_of_compacted_records_is_left",),
    ),
    "ForgetsTheBase": _disk(
        {"_replace(base=upto, tail_bytes": "_replace(tail_bytes"},
        ("test_a_snapshot_takes_the_place_of_the_records_up_to_it",),
    ),
    "CompactsAgain": _disk(
        {"upto.version <= meta.base.version or not": "not"},
        ("test_nothing_is_compacted_up_to_what_is_not_in_the_journal_or_not_newer",),
    ),
    "CountsCompactedBytes": _disk(
        {"tail_bytes=max(0, meta.tail_bytes -": "tail_bytes=max(0, meta.tail_bytes - 0 *"},
        ("test_the_bytes_of_the_tail_are_those_after_the_snapshot",),
    ),
    "ChainsWithoutTheRecordId": _disk(
        {"else new_salt(), record_id))": "else new_salt(), 0))"},
        ("test_what_was_appended_is_read_back_in_order",),
    ),
    "BeginsEveryLifeAlike": _disk(
        {"if meta else new_salt(), record_id": "if meta else 0, record_id"},
        ("test_no_two_lives_share_a_chain",),
    ),
    "AppendsOutsideATransaction": _disk(
        {
            "return self._database.write(partial(self._append, path, record_id, record, expected))": (
                "return self._database.read(partial(self._append, path, record_id, record, expected))"
            ),
            "accepted, missed_after": "__import__('time').sleep(0.0005)\n        accepted, missed_after",
        },
        ("test_appends_at_once_all_land_once_and_where_they_were_told",),
    ),
    "ReadsPathByPath": _disk(
        {
            '        connection.execute("BEGIN")\n        tails = {': "        tails = {",
            '        connection.execute("COMMIT")\n        return tails': "        return tails",
            "for path, name in [(path, path_name(path)) for path in after]": (
                "for path, name in [(path, path_name(path)) for path in after] if not __import__('time').sleep(0.0001)"
            ),
        },
        ("test_several_paths_are_read_as_of_one_instant",),
    ),
    "ReplacesNoRow": _cache(
        {"ON CONFLICT (key, raw) DO UPDATE SET store_time": "ON CONFLICT (key, raw) DO NOTHING --"},
        ("test_each_record_follows_the_one_before",),
    ),
    "ListsHalfTheShards": _disk(
        {
            "for number in range(_SHARDS)\n            for path": (
                "for number in range(_SHARDS // 2)\n            for path"
            )
        },
        ("test_every_segment_names_a_journal_of_its_own",),
    ),
}
