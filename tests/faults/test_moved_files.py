"""A file removed, moved or replaced under an open store is told at the next call; no write goes into nowhere."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import wmem
from wmem import StoreError
from wmem.model.history import ORIGIN

if TYPE_CHECKING:
    from tests.faults.conftest import Kind, Rows, Script, Spawn

PATH = ("agent", "session")
MOVED = r"removed, moved or replaced.*open it again"


def _copy(directory: Path, to: Path) -> Path:
    return Path(shutil.copytree(directory, to))


def _remove_directory(directory: Path, _file: Path) -> None:
    shutil.rmtree(directory)


def _move_directory(directory: Path, _file: Path) -> None:
    directory.rename(directory.with_name("elsewhere"))


def _replace_directory(directory: Path, _file: Path) -> None:
    directory.rename(directory.with_name("elsewhere"))
    directory.mkdir()


def _restore_directory(directory: Path, _file: Path) -> None:
    directory.rename(directory.with_name("elsewhere"))
    directory.with_name("backup").rename(directory)


def _link_directory(directory: Path, _file: Path) -> None:
    directory.rename(directory.with_name("elsewhere"))
    directory.symlink_to(directory.with_name("backup"))


def _remove_file(_directory: Path, file: Path) -> None:
    file.unlink()


def _restore_file(directory: Path, file: Path) -> None:
    (directory.with_name("backup") / file.name).rename(file)


def _link_file(directory: Path, file: Path) -> None:
    file.rename(directory.with_name("moved.db"))
    file.symlink_to(directory.with_name("moved.db"))


def _hard_link_file(directory: Path, file: Path) -> None:
    file.unlink()
    file.hardlink_to(directory.with_name("backup") / file.name)


MOVES = {
    move.__name__.strip("_"): move
    for move in (
        _remove_directory,
        _move_directory,
        _replace_directory,
        _restore_directory,
        _link_directory,
        _remove_file,
        _restore_file,
        _link_file,
        _hard_link_file,
    )
}

VERBS: dict[str, Callable[[Any], object]] = {
    "read": lambda journal: journal.read({PATH: ORIGIN}),
    "append": lambda journal: journal.append(PATH, 9, b"lost", None, None),
    "compact": lambda journal: journal.compact(PATH, ORIGIN, b"s", None),
    "delete": lambda journal: journal.delete(PATH, None),
    "paths": lambda journal: journal.paths(()),
    "purge": lambda journal: journal.purge(PATH),
    "backup": lambda journal: journal.backup(f"{journal._database.file}.backup"),
}


@pytest.fixture
def journal(kind: "Kind", directory: Path) -> Iterator[Any]:
    made = kind.journal(directory, 5.0)
    made.append(PATH, 1, b"before", None, None)
    made.backup(str(directory.with_name("copy")))
    backup = directory.with_name("backup")
    if directory.with_name("copy").is_dir():
        directory.with_name("copy").rename(backup)
    else:
        backup.mkdir()
        directory.with_name("copy").rename(backup / "store.db")
    made.append(PATH, 2, b"after the backup", None, None)
    yield made
    made.close()


def _payloads(journal: Any) -> list[bytes]:
    return [record.payload for record in journal.read({PATH: ORIGIN})[PATH].records]


@pytest.mark.parametrize("verb", VERBS)
def test_the_next_call_of_any_kind_says_what_happened_and_what_to_do(
    verb: str, journal: Any, rows: "Rows", directory: Path
) -> None:
    _restore_directory(directory, rows.file)
    for _ in range(2):
        with pytest.raises(StoreError, match=MOVED) as told:
            VERBS[verb](journal)
        assert str(rows.file) in str(told.value)


@pytest.mark.parametrize("move", MOVES)
def test_what_is_there_then_is_read_after_opening_again_and_nothing_foreign_was_written(
    move: str, kind: "Kind", journal: Any, rows: "Rows", directory: Path
) -> None:
    MOVES[move](directory, rows.file)
    files = sorted(each for each in directory.rglob("*") if each.is_file())
    if "file" not in move:  # in the place of the file alone its old log still lies beside
        assert not [each for each in files if each.name.endswith(("-wal", "-shm"))]
    for verb in VERBS.values():
        with pytest.raises(StoreError, match=MOVED):
            verb(journal)
    journal.close()
    elsewhere = directory.with_name("elsewhere")
    if elsewhere.exists():
        moved = kind.journal(elsewhere, 5.0)
        assert _payloads(moved) == [b"before", b"after the backup"]
        moved.close()
    if move in ("restore_directory", "link_directory"):
        restored = kind.journal(directory, 5.0)
        assert _payloads(restored) == [b"before"]
        restored.append(PATH, 3, b"goes on", None, None)
        assert _payloads(restored) == [b"before", b"goes on"]
        restored.close()
        with closing(sqlite3.connect(rows.file)) as other:
            assert other.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_write_after_the_log_alone_was_removed_is_not_acknowledged(
    journal: Any, rows: "Rows", directory: Path
) -> None:
    Path(f"{rows.file}-wal").unlink()
    with pytest.raises(StoreError, match=MOVED):
        journal.append(PATH, 9, b"lost", None, None)


def test_closing_a_store_that_was_moved_leaves_the_one_in_its_place_alone(
    kind: "Kind", journal: Any, directory: Path
) -> None:
    _restore_directory(directory, directory)
    other = kind.journal(directory, 5.0)
    other.append(PATH, 3, b"of the other", None, None)
    journal.close()
    other.append(PATH, 4, b"and again", None, None)
    third = kind.journal(directory, 5.0)
    assert _payloads(third) == [b"before", b"of the other", b"and again"]
    other.close()
    third.close()


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_memory_says_so_at_every_verb_and_a_new_opening_reads_the_restored_store(
    is_async: bool, url: str, directory: Path
) -> None:
    memory = wmem.open(url, agent_id="agent")
    stays_open = wmem.open(url, agent_id="another")
    session = memory.scope("s")
    session.entries.set("k", "backed up")
    backup = directory.with_name("backup")
    if url.startswith("sqlite"):
        backup.mkdir()
    memory.backup(backup / "store.db" if url.startswith("sqlite") else backup)
    session.entries.set("k", "later")
    _restore_directory(directory, directory)
    asynchronous = memory.aio().scope("s")
    for _ in range(2):
        with pytest.raises(StoreError, match=MOVED):
            await asynchronous.entries.get("k") if is_async else session.entries.get("k")
        with pytest.raises(StoreError, match=MOVED):
            await asynchronous.entries.set("k", 1) if is_async else session.entries.set("k", 1)
        with pytest.raises(StoreError, match=MOVED):
            await asynchronous.items.add("x") if is_async else session.items.add("x")
        with pytest.raises(StoreError, match=MOVED):
            await asynchronous.messages.all() if is_async else session.messages.all()
    memory.close()
    with wmem.open(url, agent_id="agent") as again:
        assert again.scope("s").entries.get("k") == "backed up"
        again.scope("s").entries.set("k", "goes on")
    with pytest.raises(StoreError, match=MOVED):
        stays_open.scope("s").entries.get("k")
    stays_open.close()
    with wmem.open(url, agent_id="agent") as again:
        assert again.scope("s").entries.get("k") == "goes on"


def test_a_child_of_a_fork_looks_too(url: str, directory: Path, script: "Script") -> None:
    code = """
    import os, pathlib, signal, sys, wmem
    memory = wmem.open(sys.argv[1], agent_id="agent")
    session = memory.scope("s")
    session.entries.set("k", 1)
    pathlib.Path(sys.argv[2]).rename(sys.argv[2] + ".elsewhere")
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        for call in (lambda: session.entries.get("k"), lambda: session.entries.set("k", 2)):
            try:
                call()
            except wmem.StoreError as exc:
                print("moved or replaced" in str(exc), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    print(os.path.exists(sys.argv[2]))
    """
    assert script(code, url, str(directory)).split() == ["True", "True", "False"]


def test_writers_of_two_processes_acknowledge_nothing_that_the_moved_store_does_not_hold(
    kind: "Kind", url: str, directory: Path, spawn: "Spawn"
) -> None:
    code = """
    import sys, wmem
    with wmem.open(sys.argv[1], agent_id="agent") as memory:
        messages = memory.scope(sys.argv[2]).messages
        try:
            for number in range(1_000_000):
                messages.append({"role": "user", "content": str(number)})
                print(number, flush=True)
        except wmem.StoreError as exc:
            print("moved or replaced" in str(exc), flush=True)
    """
    writers = {name: spawn(code, url, name) for name in ("a", "b")}
    acknowledged: dict[str, int] = {}
    for writer in writers.values():
        assert writer.stdout is not None
        while writer.stdout.readline().strip() != "5":
            pass
    elsewhere = directory.with_name("elsewhere")
    directory.rename(elsewhere)
    directory.mkdir()
    for name, writer in writers.items():
        assert writer.stdout is not None
        lines = ["5", *writer.stdout.read().split()]
        assert lines[-1] == "True"
        acknowledged[name] = int(lines[-2])
    assert list(directory.iterdir()) == []
    with wmem.open(kind.url(elsewhere), agent_id="agent") as memory:
        for name, last in acknowledged.items():
            texts = [message.text for message in memory.scope(name).messages.all()]
            # One more may be there, whose writer was told that it does not know.
            assert len(texts) - 1 in (last, last + 1)
            assert texts == [str(number) for number in range(len(texts))]
