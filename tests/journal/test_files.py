"""Journals in files say what the journal in memory says, to each process alike, and keep nothing that was deleted."""

import gc
import json
import os
import random
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import diskcache
import pytest

import wmem.journal.disk
import wmem.journal.disk_cache
import wmem.journal.sqlite_maintenance
from tests.faults.conftest import FILES, Kind, Rows, connected
from tests.journal.test_redis import NAMES, Twins
from wmem.engine.pool import Pool
from wmem.engine.ports import PooledJournal
from wmem.errors import ConflictError, CorruptionError, StoreError
from wmem.journal.disk import DiskJournal
from wmem.journal.port import MISSED_MAX, new_record_id
from wmem.journal.sqlite import SqliteJournal
from wmem.model.history import ORIGIN, Cursor
from wmem.model.history import Path as Scope
from wmem.testing import Call

PATH: Scope = ("agent", "session")


pytestmark = pytest.mark.backends(*FILES)


@pytest.fixture
def kind(backend: str) -> Kind:
    return FILES[backend]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def rows(kind: Kind, directory: Path) -> Rows:
    return kind.rows(directory)


@pytest.fixture
def files(kind: Kind, directory: Path) -> Iterator[Callable[[], Any]]:
    """Makes journals of one store, as threads use them."""
    made = []

    def make(wait_s: float = 5.0) -> Any:
        made.append(kind.journal(directory, wait_s))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def journal(files: Callable[[], Any], mode: str) -> Iterator[Any]:
    """One journal of the store, in the mode of the test."""
    if mode == "sync":
        yield files()
        return
    pool = Pool(2)
    yield PooledJournal(files(), pool)
    pool.close()


# -- as the journal in memory


@pytest.mark.parametrize("seed", range(3))
def test_random_calls_are_answered_as_in_memory(seed: int, call: Call, journal: Any) -> None:
    twins = Twins(call, journal, random.Random(seed))
    for _ in range(250):
        twins.step()
    assert len(twins.met) > 50


@pytest.mark.parametrize("more", [0, 1])
def test_a_refused_append_brings_at_most_so_many_records(more: int, call: Call, journal: Any) -> None:
    first = call(journal.append, PATH, 1, b"1", None, None).cursor
    for number in range(MISSED_MAX + more):
        call(journal.append, PATH, number, b"%d" % number, None, None)
    refused = call(journal.append, PATH, 2, b"2", first, None)
    assert refused.cursor is None
    assert (refused.missed is None) is bool(more)


def test_record_ids_of_63_bits_and_payloads_of_any_bytes_arrive_as_they_were(call: Call, journal: Any) -> None:
    payloads = {2**63 - 1: bytes(range(256)), 2**53 + 1: b"", 0: os.urandom(100_000)}
    for each, payload in payloads.items():
        appended = call(journal.append, PATH, each, payload, None, None)
    tail = call(journal.read, {PATH: ORIGIN})[PATH]
    assert [(record.id, record.payload) for record in tail.records] == list(payloads.items())
    assert tail.head == appended.cursor
    assert appended.tail_bytes == 100_256


def test_a_cursor_that_is_none_of_its_own_is_no_part_of_a_journal(call: Call, journal: Any) -> None:
    call(journal.append, PATH, 1, b"1", None, None)
    for strange in (Cursor(-1, 5), Cursor(1, 2**80), Cursor(2**70, 1), Cursor(1, 1)):
        assert not call(journal.read, {PATH: strange})[PATH].joined
        assert call(journal.append, PATH, 2, b"2", strange, None).cursor is None
        assert call(journal.compact, PATH, strange, b"s", None) is False


def test_more_paths_than_one_statement_asks_for_are_read_at_once(call: Call, journal: Any) -> None:
    paths = [("agent", str(number)) for number in range(30)]
    for path in paths[::2]:
        call(journal.append, path, 1, b"1", None, None)
    tails = call(journal.read, dict.fromkeys(paths, ORIGIN))
    assert list(tails) == paths
    assert [len(tail.records) for tail in tails.values()] == [1, 0] * 15
    assert call(journal.read, {}) == {}


def test_many_paths_of_a_root_are_read_at_one_instant(files: Callable[[], Any]) -> None:
    reader, writer = files(), files()
    paths = [("agent", str(number)) for number in range(3)]
    done = threading.Event()

    def write() -> None:
        for _ in range(150):
            for path in paths:
                writer.append(path, new_record_id(), b"1", None, None)
        done.set()

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        while not done.is_set() and not writing.done():
            first, *_, last = counts = [
                len(tail.records) for tail in reader.read(dict.fromkeys(paths, ORIGIN)).values()
            ]
            assert sorted(counts, reverse=True) == counts
            assert first - last <= 1
        writing.result()


# -- cases


def test_B16_a_prefix_means_whole_segments(call: Call, journal: Any) -> None:
    for path in (("t", "a"), ("t", "ab"), ("t", "a", "x"), ("t", "a\0b"), ("t", 'a"', "x"), ("ta",), ("t",)):
        call(journal.append, path, 1, b"1", None, None)
    assert sorted(call(journal.paths, ("t", "a"))) == [("t", "a"), ("t", "a", "x")]
    call(journal.delete, ("t", "a"), None)
    assert sorted(call(journal.paths, ())) == [("t",), ("t", "a\0b"), ("t", 'a"', "x"), ("t", "ab"), ("ta",)]


def test_B17_B28_signs_of_patterns_are_letters_and_every_path_comes_back(call: Call, journal: Any) -> None:
    names = [*NAMES, "", "\0", "\0\0", "a\0", "\ud800", "\U0010ffff", "/", "\x7f", "e\u0301", "\u00e9", "_", "%", "?"]
    for place, name in enumerate(names):
        for path in ((name, "session"), ("agent", name)):
            call(journal.append, path, place, name.encode("utf-8", "surrogatepass"), None, None)
    for name in names:
        for path in ((name, "session"), ("agent", name)):
            (record,) = call(journal.read, {path: ORIGIN})[path].records
            assert record.payload == name.encode("utf-8", "surrogatepass")
            assert list(call(journal.paths, path)) == [path]
        call(journal.delete, ("agent", name), None)
        assert list(call(journal.paths, ("agent", name))) == []
    assert set(call(journal.paths, ())) == {(name, "session") for name in names}


def test_B22_a_scope_that_is_not_there_is_empty_and_nobody_elses(call: Call, journal: Any) -> None:
    call(journal.append, ("agent",), 1, b"1", None, None)
    call(journal.append, ("agent", "other"), 1, b"1", None, None)
    for path in (PATH, (), ("agent", "other", "child"), ("Agent",), ("agent ",), ("agent", "")):
        tail = call(journal.read, {path: ORIGIN})[path]
        assert (tail.joined, tail.records, tail.head, tail.incarnation) == (True, (), ORIGIN, None)


def test_B31_deleting_one_user_leaves_the_others_alone(call: Call, journal: Any, rows: Rows) -> None:
    for user in ("u1", "u10", "u2"):
        for name in ("s1", "s2"):
            call(journal.append, (user, name), 1, b"1", None, None)
    before = {key: rows.value(key) for user in ("u10", "u2") for key in _rows_of(rows, (user, "s1"))}
    assert len(before) == 4
    call(journal.delete, ("u1",), None)
    assert {key: rows.value(key) for key in before} == before
    assert sorted(call(journal.paths, ())) == [("u10", "s1"), ("u10", "s2"), ("u2", "s1"), ("u2", "s2")]


def _rows_of(rows: Rows, path: Scope) -> list[Any]:
    name = json.dumps(path, separators=(",", ":"))
    return [rows.head(name), *rows.records(name)]


def test_B125_fifty_threads_on_one_journal_write_all_and_leave_no_connection(
    files: Callable[[], Any], rows: Rows
) -> None:
    journal = files()
    with ThreadPoolExecutor(50) as pool:
        done = list(pool.map(lambda me: journal.append((f"a{me % 5}",), me, b"%d" % me, None, None), range(200)))
    assert all(each.cursor is not None for each in done)
    for group in range(5):
        records = journal.read({(f"a{group}",): ORIGIN})[f"a{group}",].records
        assert sorted(int(record.payload) for record in records) == list(range(group, 200, 5))
    journal.close()
    gc.collect()  # diskcache leaves the connections of threads that ended to the collector
    assert _open_files(rows.file) == 0


def _open_files(file: Path) -> int:
    """How many descriptors of this process lead to a file."""
    links = []
    for each in Path("/proc/self/fd").iterdir():
        try:
            links.append(str(each.readlink()))
        except FileNotFoundError:
            continue  # the one this loop itself had open
    return sum(link.startswith(str(file)) for link in links)


def test_a_closed_journal_holds_no_file_and_connects_again_when_it_is_used(
    files: Callable[[], Any], rows: Rows
) -> None:
    journal = files()
    for number in range(3):
        journal.append(PATH, number, b"1", None, None)
        assert _open_files(rows.file) > 0
        journal.close()
        assert _open_files(rows.file) == 0
        assert len(journal.read({PATH: ORIGIN})[PATH].records) == number + 1
        journal.close()


# -- what is deleted is gone


def _store_bytes(directory: Path) -> bytes:
    return b"".join(each.read_bytes() for each in sorted(directory.iterdir()))


def _worn(journal: Any, rng: random.Random) -> tuple[set[bytes], set[bytes]]:
    """Write, compact and delete until rows have moved from page to page: the words that went, and those still there."""
    there: dict[Scope, list[bytes]] = {}
    gone: set[bytes] = set()
    turns: list[Scope] = [("agent", str(number % 100)) for number in range(1_000)]
    rng.shuffle(turns)
    for number, path in enumerate(turns):
        word = b"<%d>" % (number + 10_000)
        journal.append(path, number, word * rng.randrange(2, 200), None, None)
        there.setdefault(path, []).append(word)
    chosen = rng.sample(sorted(there), 60)
    for number, path in enumerate(chosen[:20]):
        word = b"<%d>" % (number + 90_000)
        assert journal.compact(path, journal.read({path: ORIGIN})[path].head, word * 50, None)
        gone.update(there[path])
        there[path] = [word]
    for path in chosen[10:]:
        journal.delete(path, None)
        gone.update(there.pop(path))
    return gone, {word for words in there.values() for word in words}


@pytest.mark.parametrize("seed", range(4))
def test_after_a_purge_nothing_of_what_was_deleted_is_in_any_file(
    seed: int, files: Callable[[], Any], directory: Path
) -> None:
    journal = files()
    gone, there = _worn(journal, random.Random(seed))
    assert journal.purge(PATH) == []
    journal.close()
    found = _store_bytes(directory)
    assert [word for word in gone if word in found] == []
    assert all(word in found for word in there)


def test_a_purge_goes_on_while_others_have_the_store_open(files: Callable[[], Any], directory: Path) -> None:
    ours, other = files(), files()
    ours.append(PATH, 1, b"<a secret>", None, None)
    other.append(("other",), 1, b"<kept>", None, None)
    ours.delete(PATH, None)
    assert ours.purge(PATH) == []
    assert b"<a secret>" not in _store_bytes(directory)
    assert other.read({("other",): ORIGIN})["other",].records[0].payload == b"<kept>"
    assert other.append(PATH, 1, b"again", ORIGIN, None).cursor is not None
    assert ours.read({PATH: ORIGIN})[PATH].records[0].payload == b"again"


@pytest.mark.parametrize("begin", ["BEGIN", "BEGIN IMMEDIATE"])
def test_a_purge_that_a_reader_or_a_writer_hinders_says_so(
    begin: str, files: Callable[..., Any], rows: Rows, directory: Path
) -> None:
    journal = files(0.2)
    journal.append(PATH, 1, b"<a secret>", None, None)
    with closing(sqlite3.connect(rows.file, isolation_level=None)) as other:
        other.execute(begin)
        other.execute("SELECT * FROM sqlite_master").fetchall()
        journal_deleted = begin == "BEGIN"
        if journal_deleted:
            journal.delete(PATH, None)
        told = journal.purge(PATH)
        assert told
        assert all(str(rows.file) in each for each in told)
        assert any("purge" in each for each in told)
    if not journal_deleted:
        journal.delete(PATH, None)
    assert journal.purge(PATH) == []
    journal.close()
    assert b"<a secret>" not in _store_bytes(directory)


def test_what_a_reader_kept_a_purge_from_is_gone_after_the_next_maintenance(
    files: Callable[..., Any], rows: Rows, directory: Path
) -> None:
    journal = files(0.2)
    journal.append(PATH, 1, b"<a secret>", None, None)
    with closing(sqlite3.connect(rows.file, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM sqlite_master").fetchall()
        journal.delete(PATH, None)
        assert journal.purge(PATH)
        journal.sweep(PATH)
        assert b"<a secret>" in _store_bytes(directory)
    before = _read_schema_version(rows)
    journal.sweep(PATH)
    assert b"<a secret>" not in _store_bytes(directory)
    assert _read_schema_version(rows) == before, "the log alone was left"


def test_a_purge_that_fails_is_made_up_for_by_the_next_maintenance(
    files: Callable[[], Any], rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    journal = files()
    journal.append(PATH, 1, b"<a secret>", None, None)
    journal.delete(PATH, None)
    with monkeypatch.context() as broken:
        broken.setattr(wmem.journal.sqlite_database, "vacuum_file", fail)
        with pytest.raises(StoreError, match="full"):
            journal.purge(PATH)
        assert journal.sweep(PATH) == 0
    for counted in (1, 0):
        before = _read_schema_version(rows)
        journal.sweep(PATH)
        assert _read_schema_version(rows) == before + counted


@pytest.mark.parametrize("can_be", [True, False])
def test_a_large_store_is_written_anew_by_maintenance_or_says_what_to_run(
    files: Callable[[], Any], rows: Rows, directory: Path, monkeypatch: pytest.MonkeyPatch, *, can_be: bool
) -> None:
    monkeypatch.setattr(wmem.journal.sqlite_maintenance, "_VACUUM_NOW_MAX_BYTES", 1)
    if not can_be:
        monkeypatch.setattr(wmem.journal.sqlite_maintenance, "VACUUM_MAX_BYTES", 1)
    journal = files()
    for number in range(200):
        journal.append(PATH, number + 1, b"<a secret>" * 100, None, None)
    journal.delete(PATH, None)
    (told,) = journal.purge(PATH)
    assert ("`maintain()`" if can_be else "VACUUM") in told
    assert str(rows.file) in told
    assert b"<a secret>" not in _store_bytes(directory), "what did not move is gone all the same"
    for counted in (int(can_be), 0):  # once is enough
        before = _read_schema_version(rows)
        assert journal.sweep(PATH) == 0
        assert _read_schema_version(rows) == before + counted
    journal.append(PATH, 1, b"1", None, None)
    journal.close()


def _read_schema_version(rows: Rows) -> int:
    """A number to which each VACUUM adds one."""
    with closing(sqlite3.connect(rows.file)) as connection:
        ((version,),) = connection.execute("PRAGMA schema_version").fetchall()
    return int(version)


def test_diskcache_itself_finds_nothing_wrong_with_what_was_written_past_it(tmp_path: Path) -> None:
    place = tmp_path / "store"
    journal = DiskJournal(str(place))
    _worn(journal, random.Random(0))
    journal.backup(str(tmp_path / "backup"))
    journal.close()
    for each in (place, tmp_path / "backup"):
        with diskcache.Cache(each) as cache:
            assert cache.check() == []
            ((rows,),) = cache._sql("SELECT count(*) FROM Cache").fetchall()
            assert len(cache) == rows > 100
            assert cache["wmem-format"] == b"1"
    journal = DiskJournal(str(place))
    assert journal.append(PATH, 1, b"1", None, None).cursor is not None
    journal.close()


# -- the file


def test_a_new_file_belongs_to_its_owner_alone(files: Callable[[], Any], directory: Path) -> None:
    files().append(PATH, 1, b"1", None, None)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert len(list(directory.iterdir())) == 3
    if (directory / "store.db").exists():
        assert {stat.S_IMODE(each.stat().st_mode) for each in directory.iterdir()} == {0o600}


def test_directories_that_are_made_on_the_way_are_private_too(tmp_path: Path) -> None:
    journal = SqliteJournal(str(tmp_path / "a" / "b" / "store.db"))
    journal.close()
    assert [stat.S_IMODE((tmp_path / each).stat().st_mode) for each in ("a", "a/b")] == [0o700, 0o700]


def test_the_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    for name, make in {
        "tables": ("CREATE TABLE scope (a)", "CREATE TABLE record (b)"),
        "owner": ("PRAGMA application_id=7", "PRAGMA user_version=1"),
        "both": ("PRAGMA application_id=7", "CREATE TABLE scope (a)", "CREATE TABLE record (b)"),
    }.items():
        file = tmp_path / name
        with connected(file) as other:
            for each in make:
                other.execute(each)
        before = file.read_bytes()
        with pytest.raises(CorruptionError, match=f"{name}.*another program"):
            SqliteJournal(str(file))
        assert file.read_bytes() == before
        assert [each.name for each in tmp_path.iterdir() if each.name.startswith(name)] == [name]


@pytest.mark.parametrize("kind", [SqliteJournal, DiskJournal])
def test_damage_that_is_no_text_where_names_should_be_is_told_as_damage(kind: Any, tmp_path: Path) -> None:
    place = tmp_path / "store"
    kind(str(place)).close()
    file = place / "cache.db" if place.is_dir() else place
    with connected(file) as raw:
        raw.execute("PRAGMA writable_schema=ON")
        raw.execute("UPDATE sqlite_master SET name = CAST(x'CBFF' AS TEXT), sql = 'none' WHERE type = 'table'")
    with pytest.raises(CorruptionError, match="damaged"):
        kind(str(place))


def test_a_store_that_lost_a_table_is_damaged_and_not_begun_anew(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    SqliteJournal(str(file)).close()
    with connected(file) as other:
        other.execute("DROP TABLE record")
    with pytest.raises(CorruptionError, match="lacks a table"):
        SqliteJournal(str(file))


@pytest.mark.parametrize("place", ["a directory", "a file/below", "gone"])
def test_a_place_where_no_file_can_be_is_a_typed_error(place: str, tmp_path: Path) -> None:
    (tmp_path / "a directory").mkdir()
    (tmp_path / "a file").write_text("text")
    if place == "gone":
        journal = SqliteJournal(str(tmp_path / place))
        journal.close()
        (tmp_path / place).unlink()
        with pytest.raises(StoreError, match="gone"):
            journal.append(PATH, 1, b"1", None, None)
        assert not (tmp_path / place).exists(), "a store that was taken away is not replaced by an empty one"
    else:
        with pytest.raises(StoreError, match=place):
            SqliteJournal(str(tmp_path / place))


@pytest.mark.parametrize("name", [":memory:", "file:store?mode=memory", "~", "$HOME", "100%", "a b#?.db", "ünï", "-"])
def test_no_name_means_anything_but_a_file_of_that_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(2):
        journal = SqliteJournal(name)
        journal.append(PATH, number, b"1", None, None)
        assert len(journal.read({PATH: ORIGIN})[PATH].records) == number + 1
        journal.close()
        assert [each.name for each in tmp_path.iterdir()] == [name]


def test_B49_a_store_that_another_process_keeps_to_itself_is_waited_for_and_no_longer(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    SqliteJournal(str(file)).close()
    with connected(file) as other:
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ConflictError, match=r"0\.2 s"):
            SqliteJournal(str(file), wait_s=0.2)
    journal = SqliteJournal(str(file), wait_s=0.2)
    assert journal.append(PATH, 1, b"1", None, None).cursor is not None
    journal.close()


def test_B49_a_new_store_that_another_process_keeps_to_itself_for_a_moment_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locks: list[sqlite3.Connection] = []

    def make_and_lock(directory: str, wait_s: float) -> None:
        wmem.journal.disk_cache.make_tables(directory, wait_s)
        if not locks:
            locks.append(sqlite3.connect(Path(directory) / diskcache.core.DBNAME, isolation_level=None))
            locks[0].execute("PRAGMA locking_mode=EXCLUSIVE")
            locks[0].execute("BEGIN EXCLUSIVE")

    monkeypatch.setattr(wmem.journal.disk, "make_tables", make_and_lock)
    # Its own `time`, not everybody's: other threads of this process sleep as well.
    pausing = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _seconds: locks[0].close())
    monkeypatch.setattr(wmem.journal.sqlite_database, "time", pausing)
    with closing(DiskJournal(str(tmp_path / "store"), wait_s=60)) as journal:
        assert len(locks) == 1
        assert journal.read({PATH: ORIGIN})[PATH].head == ORIGIN


def test_B49_a_thread_that_writes_for_long_is_waited_for_and_no_longer(tmp_path: Path) -> None:
    journal = SqliteJournal(str(tmp_path / "store.db"), wait_s=0.2)
    with ThreadPoolExecutor(1) as pool:

        def write_for_long(_: sqlite3.Connection) -> None:
            written = pool.submit(journal.append, PATH, 1, b"1", None, None)
            with pytest.raises(ConflictError, match=r"0\.2 s"):
                written.result()
            assert journal.read({PATH: ORIGIN})[PATH].records == (), "readers do not wait"

        journal._database.write(write_for_long)
        assert pool.submit(journal.append, PATH, 1, b"1", None, None).result().cursor is not None
    journal.close()


def test_a_write_that_fails_halfway_changes_nothing_and_the_next_one_works(tmp_path: Path) -> None:
    journal = SqliteJournal(str(tmp_path / "store.db"))
    first = journal.append(PATH, 1, b"1", None, None)
    with pytest.raises(OverflowError):
        journal.append(PATH, 2**63, b"2", None, None)  # no id that wmem makes
    with pytest.raises(OverflowError):
        journal.append(("unborn",), 2**63, b"2", None, None)
    assert journal.read({PATH: ORIGIN})[PATH].head == first.cursor
    assert list(journal.paths(())) == [PATH]
    assert journal.append(PATH, 2, b"2", first.cursor, None).cursor is not None
    journal.close()


def test_an_append_meets_what_lies_beyond_a_head_and_leaves_it(tmp_path: Path) -> None:
    journal = SqliteJournal(str(tmp_path / "store.db"))
    journal.append(PATH, 1, b"1", None, None)
    with connected(tmp_path / "store.db") as other:
        head = other.execute("SELECT head FROM scope").fetchone()[0]
        journal.append(PATH, 2, b"2", None, None)
        other.execute("UPDATE scope SET head = ?", (head,))
        with pytest.raises(CorruptionError, match="beyond its head"):
            journal.append(PATH, 3, b"3", None, None)
        assert other.execute("SELECT count(*) FROM record").fetchone() == (2,)
    journal.close()


def test_the_remains_of_a_scope_that_lost_its_row_are_never_anothers(tmp_path: Path) -> None:
    journal = SqliteJournal(str(tmp_path / "store.db"))
    journal.append(PATH, 1, b"1", None, None)
    journal.append(PATH, 2, b"2", None, None)
    with connected(tmp_path / "store.db") as other:
        other.execute("DELETE FROM scope")
        journal.append(("another",), 1, b"3", None, None)
        assert [each.payload for each in journal.read({("another",): ORIGIN})["another",].records] == [b"3"]
        assert other.execute("SELECT count(*) FROM record").fetchone() == (3,)
    journal.close()


@pytest.mark.parametrize("path", [b"\xfe\0", b"a\xfe\0", b"a", b"", b"\xc3\0", b"a\0\xfe"])
def test_a_damaged_register_is_never_taken_for_a_sound_one(path: bytes, tmp_path: Path) -> None:
    journal = SqliteJournal(str(tmp_path / "store.db"))
    journal.append(PATH, 1, b"1", None, None)
    journal.append(("another",), 1, b"1", None, None)
    with connected(tmp_path / "store.db") as other:
        other.execute("UPDATE scope SET path = ? WHERE number = 1", (path,))
    with pytest.raises(CorruptionError, match="register"):
        list(journal.paths(()))
    assert len(journal.read({("another",): ORIGIN})["another",].records) == 1
    journal.close()
